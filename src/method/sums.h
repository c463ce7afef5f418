#pragma once
/* Sums of shards, and the setup they belong to. */
#include "method/methods.h"
#include "method/sum.h"

#include <eigenpair/sums.h>

/* The sum of shards first .. first + count - 1, counted from 0; without numbers: of `count` parts. */
typedef struct {
  long first, count;
  ep_sum sum;
} ep_sums_node;

struct ep_sums {
  char name[1024]; /* for messages */
  ep_model
      *model; /* the map as its term, the setup as its config; coefficients are still to come */
  ep_precision prec;
  long shards;   /* of how many; 0: parts have no numbers; -1: nothing was added */
  double total;  /* anchors of all the data; 0: only the parts know their points */
  ep_mat sample; /* (rows, D) some points, to tell other data and other maps */
  ep_sums_node *node;
  int nodes, room;
  json_t *prints; /* of parts without numbers: what tells them apart */
};

static inline ep_map *ep_sums_map(const ep_sums *s) { return s->model->term[0].map; }
const ep_method_row *ep_sums_method(const ep_sums *s); /* NULL: its config names none */
bool ep_sums_whitened(const ep_sums *s);
ep_status ep_sums_alloc(ep_sums **out, const char *name);
/* From a file, for a fit with this setup: the only node may be spread over ranks. */
ep_status ep_sums_load_for(ep_sums **out, const char *path, const ep_setup *setup);
/* Room for one more node; it is empty. */
ep_status ep_sums_grow(ep_sums *sums, ep_sums_node **node);
