#pragma once
/* One row a setting. The same table gives a config struct its fields, defaults and range checks, the
 * program its --flags and help, models and reports their JSON, and Python its keyword arguments.
 *
 *   #define EP_THING_OPTIONS(X, S) \
 *     X(S, INT, rank, "2", 1, 1e6, NULL, "number of components kept")
 *   typedef struct { EP_THING_OPTIONS(EP_OPT_FIELD, ) } ep_thing_config;
 *   const ep_option ep_thing_options[] = {EP_THING_OPTIONS(EP_OPT_ROW, ep_thing_config) {0}};
 *
 * A field written `input_scale` is the flag --input-scale. */
#include <eigenpair/status.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

EP_BEGIN

typedef enum {
  EP_OPT_INT,    /* whole number */
  EP_OPT_REAL,   /* finite number */
  EP_OPT_BYTES,  /* whole number with K, M, G or T behind it (powers of 1024) */
  EP_OPT_FLAG,   /* on when given; takes no value on the command line */
  EP_OPT_CHOICE, /* one of a list of names, kept as its place in the list */
  EP_OPT_NAME, /* one of a list of names, kept as text; hi = 1: parameters may follow behind a colon */
  EP_OPT_TEXT, /* any text, such as a path */
  EP_OPT_LIST  /* texts; every use of the flag adds one; kept one a line */
} ep_opt_kind;
typedef long ep_opt_INT;
typedef double ep_opt_REAL;
typedef double ep_opt_BYTES;
typedef bool ep_opt_FLAG;
typedef int ep_opt_CHOICE;
typedef char ep_opt_NAME[256];
typedef char ep_opt_TEXT[1024];
typedef char ep_opt_LIST[8192];

/* What a setting of a fit bears on. Every row of a fit's tables says it, so that no list of options is written elsewhere.
 * about: --method auto goes by it: does it speak of training, of a network or of closed forms, and of nothing else? */
typedef enum {
  EP_ABOUT_UNSAID,
  EP_ABOUT_ANY,
  EP_ABOUT_TRAINING,
  EP_ABOUT_NETWORK,
  EP_ABOUT_CLOSED
} ep_opt_about;
/* Do sums over anchors depend on it? Names of files do not count, what is in them does. */
typedef enum { EP_DECIDES_UNSAID, EP_DECIDES_NO_SUMS, EP_DECIDES_SUMS } ep_opt_decides;
/* May a fit that goes on change it? Where files go, how far, how fast. The weights of --init are in the checkpoint's
 * fingerprint, whatever their file is called. */
typedef enum { EP_RESUMED_UNSAID, EP_RESUMED_SAME, EP_RESUMED_FREE } ep_opt_resumed;

typedef struct {
  const char *name; /* field name; NULL ends the table */
  ep_opt_kind kind;
  size_t offset;
  const char *def; /* as text, read like a value on the command line */
  double lo, hi;
  const char *(*names)(
      int i); /* CHOICE, NAME: the i-th allowed name, NULL past the last; INT, REAL: a word that may stand for
                                  the number (ep_auto_name), kept as EP_AUTO */
  const char *help;
  ep_opt_about about; /* these three by EP_FOR; unsaid: not a setting of a fit */
  ep_opt_decides decides;
  ep_opt_resumed resumed;
} ep_option;

enum { EP_AUTO = -1 }; /* below the range of every number that may be left to the program */

/* Behind the help of a row: EP_FOR(ANY|TRAINING|NETWORK|CLOSED, SUMS|NO_SUMS, SAME|FREE) */
#define EP_FOR(about_, decides_, resumed_) \
  .about = EP_ABOUT_##about_, .decides = EP_DECIDES_##decides_, .resumed = EP_RESUMED_##resumed_
#define EP_OPT_FIELD(S, kind, name, def, lo, hi, names, ...) ep_opt_##kind name;
#define EP_OPT_ROW(S, kind_, name_, def_, lo_, hi_, names_, ...) \
  {.name = #name_,                                               \
   .kind = EP_OPT_##kind_,                                       \
   .offset = offsetof(S, name_),                                 \
   .def = def_,                                                  \
   .lo = lo_,                                                    \
   .hi = hi_,                                                    \
   .names = names_,                                              \
   .help = __VA_ARGS__},

/* A table together with the struct it describes. */
typedef struct {
  const char *title; /* heading of the group in the help; NULL ends a list of groups */
  const ep_option *table;
  void *config;
} ep_option_group;

void ep_options_default(const ep_option *table, void *config);
/* The row called `name` (flag or field spelling), or NULL. */
const ep_option *ep_options_find(const ep_option *table, const char *name);
ep_status ep_options_set(const ep_option *row, void *config, const char *value);
ep_status ep_options_to_json(json_t *object, const ep_option *table, const void *config);
/* Takes the members of `object` that the table knows; others are left to other tables. */
ep_status ep_options_from_json(const ep_option *table, void *config, const json_t *object);

/* "name" or "name:parameters" -> index of the name in the list, parameters behind the colon or NULL.
 * An unknown name is an error that lists the known ones. */
ep_status ep_options_name(int *index, const char **parameters, const char *what, const char *text,
                          const char *(*names)(int i));

EP_END
