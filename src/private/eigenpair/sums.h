#pragma once
#include "../../../include/eigenpair/sums.h"

ptrdiff_t ep_sums_features(const ep_sums *sums); /* M */
ptrdiff_t ep_sums_inputs(const ep_sums *sums);   /* D */
long ep_sums_shards(const ep_sums *sums,
                    long *there); /* of how many, and how many are there; 0: without numbers */

/* The setup of the sums in a file, without reading them. */
ep_status ep_sums_peek(ep_setup *setup, const char *path);
/* The model of the sums in a file, as ep_fit_sums; their matrices are whole on every rank or, as --solver says, spread over
 * ranks from the beginning. */
ep_status ep_fit_sums_file(ep_model **model, ep_fit_info *info, const char *path,
                           const ep_setup *setup);
/* The sums in these files, read one after the other; refused as ep_sums_merge does. */
ep_status ep_sums_merge_files(ep_sums **out, const char *const *paths, int count);
