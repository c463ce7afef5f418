/* Augmentations of colour images, one after the other and the usual chain of them: images a second and core. */
#include "bench.h"

#include <eigenpair/augment.h>
#include <omp.h>

enum { IMAGES = 4000, TURNS = 3 };
static const double asked = 100; /* thousands of images a second and core */

/* thousands of views a second, the best of a few turns */
static double rate(const ep_mat *out, const ep_mat *X, const char *text, ep_image_shape shape) {
  ep_augment chain;
  double best = 0;
  bench_must(ep_augment_parse(&chain, text, shape));
  for (int k = 0; k < TURNS; k++) {
    const double begin = bench_now();
    bench_must(ep_augment_apply(out, X, &chain, shape, 0, 0, 1));
    const double found = 1e-3 * IMAGES / (bench_now() - begin);
    if (found > best) best = found;
  }
  return best;
}

void bench_augment(const char *peers) {
  static const char *const chains[] = {"flip",    "vflip",     "grey:1",    "crop:0.5-1", "pad",
                                       "cutout",  "light",     "jitter",    "blur:0.5",   "blur:1",
                                       "shift:2", "rotate:10", "elastic:2", "noise:0.1"};
  const char *usual = "crop:0.5-1,flip,jitter:0.4,grey:0.2";
  const ep_image_shape shape = {3, 32, 32};
  const int threads = omp_get_max_threads();
  double least = 1e300;
  ep_mat X, out;
  (void)peers;
  omp_set_num_threads(1);
  bench_must(ep_mat_new(&X, EP_SINGLE, IMAGES, 3072));
  bench_must(ep_mat_new(&out, EP_SINGLE, IMAGES, 3072));
  ep_random r = ep_random_new(1, EP_STREAM_DATA, 0);
  for (ptrdiff_t i = 0; i < IMAGES; i++)
    for (ptrdiff_t j = 0; j < X.cols; j++) ep_set(&X, i, j, ep_random_uniform(&r));
  ep_mat_fill(&out, 1);
  printf("thousands of images of 3 x 32 x 32 a second and core\n");
  for (size_t k = 0; k < sizeof chains / sizeof *chains; k++) {
    const double found = rate(&out, &X, chains[k], shape);
    printf("  %-40s %6.0f\n", chains[k], found);
    if (k + 1 < sizeof chains / sizeof *chains && found < least)
      least = found; /* noise is random numbers */
  }
  const double together = rate(&out, &X, usual, shape);
  printf("  %-40s %6.0f\n\n", usual, together);
  bench_row("the slowest augmentation of 3 x 32 x 32, thousands of images a second", AT_LEAST,
            asked, least);
  bench_row("crop, flip, jitter and grey together, thousands of images a second", AT_LEAST, asked,
            together);
  omp_set_num_threads(threads);
  ep_mat_free(&X);
  ep_mat_free(&out);
}
