#pragma once
/* Data sets by name or file, and the points and pairs that methods work on. Theory: section 1. */
#include <eigenpair/array.h>
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>
#include <eigenpair/run.h>
#include <stdbool.h>
#include <stdint.h>

EP_BEGIN

/* Rows of a matrix as images: channel after channel, each row by row; all zero for plain vectors. */
typedef struct {
  int channels, height, width;
} ep_image_shape;

/* Pairs: which points should land close (sign +1) and which apart (-1). Theory: section 1. */

/* Points are rows of one matrix; anchors, positives and negatives are indices into it, so a point that
 * plays several parts is stored once. The partners of anchor n are start[n] .. start[n+1]-1. */
typedef struct {
  ptrdiff_t anchors;  /* N */
  ptrdiff_t points;   /* P: indices are below it */
  ptrdiff_t *anchor;  /* (N) */
  ptrdiff_t *start;   /* (N + 1) */
  ptrdiff_t *partner; /* (start[N]) */
  signed char *sign;  /* (start[N]); the positives of an anchor come first */
  bool all_others;    /* besides the list: every view of every other anchor is a negative */
} ep_pairs;

/* Allocates for `anchors` anchors and `count` partners in all. */
ep_status ep_pairs_new(ep_pairs *out, ptrdiff_t anchors, ptrdiff_t points, ptrdiff_t count,
                       bool all_others);
void ep_pairs_free(ep_pairs *pairs);

/* "triplet", "positives", "all", or "P+Q": P positives and Q negatives an anchor. */
typedef struct {
  int positives, negatives;
  bool all_others;
  bool by_label; /* labels:P+Q */
} ep_pair_plan;
ep_status ep_pair_plan_parse(ep_pair_plan *out, const char *text);

/* Anchor n is point n < N; its positives are points N + n, 2N + n, ..; its negatives are other anchors,
 * drawn at random with the seed. Points: N (1 + positives). */
ep_status ep_pairs_draw(ep_pairs *out, ptrdiff_t anchors, const ep_pair_plan *plan, long seed);

/* Points 0 .. n-1 in groups: the first point of a group is its anchor, the others are its positives, its negatives
 * (plan->negatives of them) anchors of other groups, drawn at random with the seed. group[i]: any number. Groups are
 * numbered in the order of their first points. plan->positives is not used: a group has what it has. */
ep_status ep_pairs_group(ep_pairs *out, const ptrdiff_t *group, ptrdiff_t points,
                         const ep_pair_plan *plan, long seed);

typedef enum { EP_MISSING_MEAN, EP_MISSING_DROP, EP_MISSING_ERROR } ep_missing;
typedef enum { EP_SCALE_AUTO, EP_SCALE_RAW, EP_SCALE_UNIT, EP_SCALE_STANDARD } ep_scale;

/* Tables: CSV files with names, text, dates, missing values. */
#define EP_TABLE_OPTIONS(X, S)                                                                    \
  X(S, TEXT, label_column, "", 0, 0, NULL, "tables: the column of labels, by name or number",     \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, TEXT, columns, "", 0, 0, NULL, "tables: learn from these columns only: a,b,c",             \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, TEXT, drop, "", 0, 0, NULL, "tables: leave these columns out: a,b,c",                      \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, CHOICE, missing, "mean", 0, 0, ep_missing_name,                                            \
    "tables: a missing value becomes the mean of its column, leaves its row out, or is an error", \
    EP_FOR(ANY, SUMS, SAME))

#define EP_DATA_OPTIONS(X, S)                                                                     \
  X(S, TEXT, data, "", 0, 0, NULL,                                                                \
    "digits, mnist, fashion, cifar10, emoji (:test for the test part), words, a made-up set, a "  \
    "file, a folder of IDX files, of images",                                                     \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                   \
  X(S, INT, samples, "0", 0, 1e9, NULL, "use so many points, drawn with --seed; 0: all",          \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, TEXT, labels, "", 0, 0, NULL, "labels of a file given as --data",                          \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                   \
  X(S, TEXT, image, "", 0, 0, NULL,                                                               \
    "rows are images of HxW or CxHxW; a folder of pictures is brought to that size",              \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, FLAG, strict, NULL, 0, 0, NULL,                                                            \
    "a folder of pictures: one that cannot be read is an error, not skipped",                     \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, CHOICE, scale, "auto", 0, 0, ep_scale_name,                                                \
    "unit: every point on the unit sphere; standard: every column to mean 0 and spread 1; auto: " \
    "unit for images, standard for tables of mixed units, raw for matrices",                      \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  EP_TABLE_OPTIONS(X, S)

/* How pairs come about: drawn from the data, or ready. */
#define EP_PAIR_OPTIONS(X, S)                                                                     \
  X(S, TEXT, pairs, "", 0, 0, NULL,                                                               \
    "triplet (default), positives, all (every other point a negative), P+Q (so many of each), "   \
    "labels:P+Q (positives have the point's label, negatives another: supervised contrastive)",   \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, INT, views, "0", 0, 1000, NULL,                                                            \
    "views of a point: itself and R - 1 augmented ones, each a positive; 0: as --pairs says",     \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, TEXT, augment, "", 0, 0, NULL,                                                             \
    "how positives are made: "                                                                    \
    "crop[:LO-HI],flip,vflip,shift:S,rotate:S,elastic:S,noise:S,blur:S,light:S,jitter:S,grey:P,"  \
    "cutout:S,pad:S; vectors noise:S,corrupt:P (values of other points); series mask:P,jitter:S " \
    "(default crop; vectors noise:0.1, for tables in spreads of a column; auto: a chain for "     \
    "this kind of images)",                                                                       \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, TEXT, anchors, "", 0, 0, NULL, "ready pairs: matrix of anchors",                           \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                   \
  X(S, LIST, positives, "", 0, 0, NULL, "ready pairs: positives, row by row; may be given again", \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                   \
  X(S, LIST, negatives, "", 0, 0, NULL, "ready pairs: negatives, row by row; may be given again", \
    EP_FOR(ANY, NO_SUMS, SAME))

typedef struct {
  EP_DATA_OPTIONS(EP_OPT_FIELD, )
} ep_data_config;
typedef struct {
  EP_PAIR_OPTIONS(EP_OPT_FIELD, )
} ep_pair_config;
extern const ep_option ep_data_options[], ep_pair_options[];

/* Rows as they come: pixels in [0, 1], not yet scaled to the sphere. */
typedef struct {
  ep_mat X;             /* (n, D), owned */
  int *labels;          /* (n) or NULL, owned */
  ep_image_shape shape; /* zero for plain vectors */
  json_t *table;        /* what was learnt on a table; NULL: none; owned */
  json_t *classes;      /* names that labels are places of; NULL: labels are numbers; owned */
  bool *
      missing; /* (n, columns of the table) the cell was empty and is filled in; NULL: none; owned */
} ep_dataset;

ep_status ep_dataset_load(ep_run *run, ep_dataset *out, const ep_data_config *config,
                          const ep_run_config *settings);
void ep_dataset_free(ep_dataset *set);
void ep_scale_to_unit(const ep_mat *X);

/* Everything a method needs: the points, scaled, and the pairs among them. Where they fit in memory they are laid out,
 * each distinct one once; where they do not, X has a shape and no data, and every row is read and augmented when it is
 * asked for. */
typedef struct {
  ep_mat X;                  /* (P, D), owned */
  struct ep_view_rows *made; /* where X.data is NULL; owned */
  ep_pairs pairs;
  ep_image_shape shape;
  bool unit;       /* rows are on the unit sphere */
  bool lent;       /* X is the caller's */
  ptrdiff_t drawn; /* points before equal ones became one; 0: X.rows */
  ptrdiff_t
      total; /* anchors of all the data, where the pairs are those of a shard; 0: they are all */
  json_t *table; /* what was learnt on a table; NULL: none; owned */
} ep_points;

/* `default_pairs` ("triplet" or "positives") is used when the config leaves --pairs open. */
ep_status ep_points_load(ep_run *run, ep_points *out, const ep_data_config *data,
                         const ep_pair_config *pairs, const char *default_pairs,
                         const ep_run_config *settings);
/* The same from arrays that the caller lends; they stay in place as long as the points do. Whatever the type, the points
 * are those of a file with this array: unsigned bytes are pixels, (n, h, w) and (n, c, h, w) images.
 *   draw   X in the place of --data
 *   pair   ready pairs, row by row: anchors, so many arrays of positives, negatives the rest
 *   group  rows with the same number are views of one thing (ep_pairs_group) */
ep_status ep_points_draw(ep_run *run, ep_points *out, const ep_array *X, const ep_data_config *data,
                         const ep_pair_config *pairs, const char *default_pairs,
                         const ep_run_config *settings);
ep_status ep_points_pair(ep_run *run, ep_points *out, const ep_array *arrays, int count,
                         int positives, const ep_data_config *data, const ep_run_config *settings);
ep_status ep_points_group(ep_run *run, ep_points *out, const ep_array *X, const ptrdiff_t *group,
                          const ep_data_config *data, const ep_pair_config *pairs,
                          const char *default_pairs, const ep_run_config *settings);
/* Number i of n parts of the work: i = 1 .. n. 0 of n is another name of n of n; n = 0: a part without a number. */
typedef struct {
  long number, count;
} ep_shard;
ep_status ep_shard_parse(ep_shard *out, const char *text); /* "3/64" */
/* The points with the pairs of one shard's anchors alone. They are read and augmented when asked for, all of them. */
ep_status ep_points_load_shard(ep_run *run, ep_points *out, const ep_data_config *data,
                               const ep_pair_config *pairs, const char *default_pairs,
                               const ep_run_config *settings, ep_shard shard);
void ep_points_free(ep_points *p);
/* Points in memory that the caller lends: rows of X are anchors, and positives where pairs.partner says so. Nothing is
 * copied; pairs is taken over. */
ep_points ep_points_borrow(const ep_mat *X, ep_pairs *pairs);
/* out (n x D) = points index[0 .. n-1], or from `first` on where index is NULL. */
ep_status ep_points_rows(const ep_mat *out, const ep_points *p, const ptrdiff_t *index,
                         ptrdiff_t first);
static inline bool ep_points_in_memory(const ep_points *p) { return p->X.data || p->X.rows == 0; }

EP_END
