#pragma once
/* A page to look at an embedding: what it shows is measured here, how it is shown is report/explore.js. */
#include <eigenpair/augment.h>
#include <eigenpair/neighbours.h>
#include <eigenpair/probe.h>

enum { EP_EXPLORE_POINTS = 100000 }; /* that a page holds */

#define EP_EXPLORE_OPTIONS(X, S)                                                                  \
  X(S, CHOICE, metric, "cosine", 0, 0, ep_metric_name,                                            \
    "how near points are, in the embedding and in the data")                                      \
  X(S, INT, neighbours, "10", 1, 100, NULL, "neighbours of a point that are shown and that vote") \
  X(S, INT, clusters, "0", 0, 1000, NULL,                                                         \
    "clusters by k-means; 0: one a label, 10 without labels")                                     \
  X(S, INT, steps, "400", 1, 100000, NULL, "steps of the neighbour map")                          \
  X(S, TEXT, probe, "linear,knn", 0, 0, NULL, "probes, where there are labels; or none")          \
  X(S, INT, probe_points, "20000", 3, 1e9, NULL,                                                  \
    "probes on at most so many points, drawn with --seed")
typedef struct {
  EP_EXPLORE_OPTIONS(EP_OPT_FIELD, )
} ep_explore_config;
extern const ep_option ep_explore_options[];

/* All of it the caller's. */
typedef struct {
  const char *name;      /* of the embedding */
  ep_mat E;              /* (n, Z) */
  ep_mat X;              /* (n, D): the data, row by row; no data: none */
  const int *labels;     /* (n) or NULL */
  const json_t *classes; /* names of the labels 0, 1, ..; NULL: numbers name themselves */
  json_t *pictures;      /* ep_pack_pictures, or NULL */
  json_t *text;          /* n texts, or NULL */
  ep_mat columns;        /* (n, c): further numbers to colour by; no data: none */
  json_t *titles;        /* c texts, of the columns */
  /* of each column: a list of names where it has classes, its numbers are places in it; true where it has dates, days since
   * 1970; else anything, or no list at all */
  json_t *names;
} ep_explore_input;

typedef struct {
  char name[32];
  double accuracy, raw; /* of the embedding; of the data, NAN: there are none */
} ep_explored_probe;
/* What was found, without the points. */
typedef struct {
  ep_metrics scores;
  double kept;              /* share of the neighbours in the data; NAN: there are none */
  ptrdiff_t doubtful;       /* labels that most neighbours contradict; -1: there are none */
  ep_explored_probe *probe; /* (probes), owned */
  int probes;
  json_t *json; /* all of it, for files; owned */
} ep_explored;
/* *page: what the page shows, the caller's. */
ep_status ep_explore(json_t **page, ep_explored *out, const ep_explore_input *input,
                     const ep_explore_config *config, const ep_run_config *run);
void ep_explored_free(ep_explored *e);
/* Has this build the page? */
ep_status ep_explore_check(void);
ep_status ep_explore_write(const char *path, const json_t *page);
