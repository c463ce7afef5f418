#pragma once
#include "../../../include/eigenpair/dataset.h"
#include <eigenpair/augment.h>
#include <eigenpair/pairs.h>

const char *ep_scale_name(int i);
const char *ep_missing_name(int i); /* mean, drop, error */

/* A table is treated as the one that `table` was learnt on; NULL: it is learnt from. */
ep_status ep_dataset_load_as(ep_dataset *out, const ep_data_config *config,
                             const ep_run_config *run, const json_t *table);
/* config->scale with auto resolved; then applied. Zero rows stay zero. */
bool ep_dataset_is_unit(const ep_dataset *set, const ep_data_config *config);
bool ep_scale_is_unit(const ep_data_config *config, ep_image_shape shape);

/* A view of points first .. first + n: of X itself, or of `buffer` (n x D or more rows), into which they are read. */
ep_status ep_points_block(ep_mat *view, const ep_points *p, ptrdiff_t first, ptrdiff_t n,
                          const ep_mat *buffer);
/* The points as they were drawn, equal ones counted as often as they came: how many, and which row the i-th is. What is
 * drawn from these does not depend on whether there was room to lay them out. */
ptrdiff_t ep_points_drawn(const ep_points *p);
ptrdiff_t ep_points_place(const ep_points *p, ptrdiff_t i);
/* For whoever goes through the views of every anchor once, in blocks: points are made when they are asked for, however few they
 * are, and where pairs are but views of a point they are not listed (pairs.anchor is NULL), so that what this takes does not
 * grow with the points. shard {0, 0}: all of them. Such points are for ep_sum_whitened. */
ep_status ep_points_load_views(ep_points *out, const ep_data_config *data,
                               const ep_pair_config *pairs, const char *default_pairs,
                               const ep_run_config *run, ep_shard shard);
/* Anchor i and its positives, listed or not: how many, and which point the v-th is; the most of any anchor; is there nothing
 * else? */
ptrdiff_t ep_points_views(const ep_points *p, ptrdiff_t i);
ptrdiff_t ep_points_view(const ep_points *p, ptrdiff_t i, ptrdiff_t v);
ptrdiff_t ep_points_most_views(const ep_points *p);
bool ep_points_are_views(const ep_points *p);
/* Changes when a point or a pair does. */
ep_status ep_points_fingerprint(uint64_t *print, const ep_points *p);

/* The sets with a name, for `data list` and `data fetch`. */
enum { EP_DATASET_FILES = 6 };
typedef struct {
  const char *name, *what, *how; /* how to get it when it is not there; NULL: always there */
  struct {
    const char *name, *sha256; /* of what is in the file, unpacked; NULL past the last */
  } file[EP_DATASET_FILES];
  bool images; /* positives are crops unless something else is said */
  bool judged; /* compare scores on its test part, and --quick takes 500 points of it */
} ep_dataset_entry;
const ep_dataset_entry *ep_dataset_list(int i);            /* NULL past the last */
const ep_dataset_entry *ep_dataset_find(const char *name); /* NULL: none of that name */
/* The folder its files are in (or would be put in by a fetch); false if they are not all there. */
bool ep_dataset_folder(char folder[1024], const char *name);
/* A table is treated as the one that `table` was learnt on; NULL: it is learnt from. */
ep_status ep_points_load_as(ep_points *out, const ep_data_config *data, const ep_pair_config *pairs,
                            const char *default_pairs, const ep_run_config *run,
                            const json_t *table);
