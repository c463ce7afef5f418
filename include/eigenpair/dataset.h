#pragma once
/* Data sets by name or file, and the points and pairs that methods work on. Theory: section 1. */
#include <eigenpair/array.h>
#include <eigenpair/augment.h>
#include <eigenpair/options.h>
#include <eigenpair/pairs.h>
#include <eigenpair/run.h>

EP_BEGIN

const char *ep_scale_name(int i);

#define EP_DATA_OPTIONS(X, S)                                                                   \
  X(S, TEXT, data, "", 0, 0, NULL,                                                              \
    "digits, mnist, fashion (:test for the test part), a made-up set, a file, a folder of IDX " \
    "files")                                                                                    \
  X(S, INT, samples, "0", 0, 1e9, NULL, "use so many points, drawn with --seed; 0: all")        \
  X(S, TEXT, labels, "", 0, 0, NULL, "labels of a file given as --data")                        \
  X(S, TEXT, image, "", 0, 0, NULL, "rows are images of HxW or CxHxW")                          \
  X(S, NAME, scale, "auto", 0, 0, ep_scale_name,                                                \
    "unit: every point on the unit sphere; auto: unit for images, raw for matrices")

/* How pairs come about: drawn from the data, or ready. */
#define EP_PAIR_OPTIONS(X, S)                                                                     \
  X(S, TEXT, pairs, "", 0, 0, NULL,                                                               \
    "triplet (default), positives, all (every other point a negative), P+Q (so many of each)")    \
  X(S, INT, views, "0", 0, 1000, NULL,                                                            \
    "views of a point: itself and R - 1 augmented ones, each a positive; 0: as --pairs says")     \
  X(S, TEXT, augment, "", 0, 0, NULL,                                                             \
    "how positives are made: crop[:LO-HI],flip,vflip,shift:S,rotate:S,noise:S,blur:S (default "   \
    "crop; vectors noise:0.1)")                                                                   \
  X(S, TEXT, anchors, "", 0, 0, NULL, "ready pairs: matrix of anchors")                           \
  X(S, LIST, positives, "", 0, 0, NULL, "ready pairs: positives, row by row; may be given again") \
  X(S, LIST, negatives, "", 0, 0, NULL, "ready pairs: negatives, row by row; may be given again")

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
} ep_dataset;

ep_status ep_dataset_load(ep_dataset *out, const ep_data_config *config, const ep_run_config *run);
void ep_dataset_free(ep_dataset *set);
/* config->scale with auto resolved; then applied. Zero rows stay zero. */
bool ep_dataset_is_unit(const ep_dataset *set, const ep_data_config *config);
void ep_scale_to_unit(const ep_mat *X);

/* Everything a method needs: the distinct points, scaled, and the pairs among them. */
typedef struct {
  ep_mat X; /* (P, D), owned */
  ep_pairs pairs;
  ep_image_shape shape;
  bool unit; /* rows are on the unit sphere */
} ep_points;

/* `default_pairs` ("triplet" or "positives") is used when the config leaves --pairs open. */
ep_status ep_points_load(ep_points *out, const ep_data_config *data, const ep_pair_config *pairs,
                         const char *default_pairs, const ep_run_config *run);
void ep_points_free(ep_points *p);
uint64_t ep_points_fingerprint(const ep_points *p); /* changes when a point or a pair does */

/* The sets with a name, for `data list`. */
typedef struct {
  const char *name, *what, *how; /* how to get it when it is not there; NULL: always there */
} ep_dataset_entry;
const ep_dataset_entry *ep_dataset_list(int i); /* NULL past the last */
/* The folder its files are in (or would be put in by a fetch); false if they are not all there. */
bool ep_dataset_folder(char folder[1024], const char *name);

EP_END
