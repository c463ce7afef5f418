#pragma once
/* Closed forms of more data than one process sees. pca and whitened are sums over anchors followed by an eigenproblem, so
 * the sums can be made in parts, anywhere, and merged:
 *
 *   ep_sums_new, ep_sums_add     the sums of a part, with the setup and the map they belong to
 *   ep_sums_merge                parts of one setup, in any order; others are refused by name
 *   ep_fit_sums                  the model of all of them
 *
 * Shards that have numbers are added up along one fixed tree: any order of merging gives the same bits. The model is that
 * of a fit on everything, to the rounding of sums (docs/scale.md). */
#include <eigenpair/method.h>

EP_BEGIN

typedef struct ep_sums ep_sums;

/* Empty sums of setup->fit.method. The map is made from the points: from all the data where they are a shard's
 * (ep_points_load_shard), else from these, and other parts then begin with ep_sums_like. */
ep_status ep_sums_new(ep_run *run, ep_sums **out, const ep_points *points, const ep_setup *setup);
/* Empty sums of the same setup and map. */
ep_status ep_sums_like(ep_sums **out, const ep_sums *sums);
void ep_sums_free(ep_sums *sums); /* NULL is fine */

/* Adds the pairs of the points as this shard; {0, 0}: a part without a number, of which there may be any number. After a
 * failure the sums are as they were. */
ep_status ep_sums_add(ep_run *run, ep_sums *sums, const ep_points *points, ep_shard shard);
/* into += from; `from` stays as it is. Refused, and `into` as it was: sums of another setup, map, data or version, and
 * shards that are there already. */
ep_status ep_sums_merge(ep_sums *into, const ep_sums *from);
/* Are all shards there? If not, the message names those that are missing. */
ep_status ep_sums_check(const ep_sums *sums);

/* The model. `setup` may differ from ep_sums_setup in what the sums do not depend on: outputs, ridge, eigensolver, files. */
ep_status ep_fit_sums(ep_run *run, ep_model **model, ep_fit_info *info, const ep_sums *sums,
                      const ep_setup *setup);
ep_status ep_sums_setup(ep_setup *setup, const ep_sums *sums);
double ep_sums_anchors(const ep_sums *sums); /* summed so far */

/* As an .npz (config, the map's arrays, sum_psi, sum_B, sum_C), in a file or in memory. */
ep_status ep_sums_save(const char *path, const ep_sums *sums);
ep_status ep_sums_load(ep_sums **out, const char *path);
ep_status ep_sums_to_bytes(unsigned char **bytes, size_t *size, const ep_sums *sums);
ep_status ep_sums_from_bytes(ep_sums **out, const unsigned char *bytes, size_t size,
                             const char *name); /* name: for messages */
void ep_bytes_free(unsigned char *bytes);

EP_END
