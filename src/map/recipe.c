/* --features auto: a recipe from the size of the images and their number, within time and memory. Nothing is measured, so that
 * the same options give the same model everywhere: a thread is taken to do 20 Gflop/s in single precision, half in double.
 *
 *   patches of a fifth of the image's side, neighbours half a patch apart, pooled to 4 x 4 (grey) or 3 x 3;
 *   K = 4096, 2048, .. filters and L = K/4 combinations of them: the first that has no more features than half the points,
 *   whose features, sums and eigenproblem take less than the time, and whose sums fit the memory. */
#include "map/map.h"

#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rate = 2e10; /* flops a second and thread */
enum { MOST = 4096, LEAST = 32 };

ep_status ep_time_parse(double *seconds, const char *text) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
  char *end;
  const double x = strtod(text, &end);
  for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++)
    if (strcmp(end, units[i].unit) == 0 && x > 0 && x < 1e9) {
      *seconds = x * units[i].seconds;
      return EP_OK;
    }
  return EP_FAIL(EP_ERR_ARG, "--time '%s' is no time: write 90s, 10m or 2h", text);
}

/* what a fit on these features takes */
static void cost(double *seconds, double *bytes, const ep_coder *l, const ep_recipe_ask *a) {
  const double m = (double)ep_coder_channels(l) * (double)(l->grid * l->grid);
  const double n = (double)a->anchors, views = n * (double)a->views;
  const double M = (double)ep_coder_codes(l), size = (double)ep_sizeof(a->prec);
  const double slow = a->prec == EP_DOUBLE ? 2 : 1;
  const double neighbours = 4 * fmax(30000, 12 * M) * M * M + 2 * 3 * M * M * M;
  const double flops = slow * ((views + n) * ep_coder_flops(l) + neighbours + (views + n) * m * m) +
                       2 * 6 * m * m * m; /* eigenproblems are double */
  *seconds = flops / rate / (double)ep_run_threads();
  *bytes = fmax(m * m * (2 * size + 16 + 40), M * M * (2 * size + 24 + 40)) + 2 * 2048 * m * size;
}

ep_status ep_features_recipe(char text[sizeof(ep_opt_NAME)], char why[EP_DESCRIPTION],
                             const ep_recipe_ask *a) {
  const int side = a->shape.height < a->shape.width ? a->shape.height : a->shape.width;
  double limit, seconds = 0, bytes = 0;
  EP_TRY(ep_time_parse(&limit, a->time));
  if (side < 8) {
    snprintf(text, sizeof(ep_opt_NAME), "dense");
    snprintf(why, EP_DESCRIPTION, "features dense: %s",
             a->shape.height ? "the images are too small for patches" : "the points are no images");
    return EP_OK;
  }
  ep_coder l = {.in = a->shape, .two = true, .active = 0.1};
  l.size = (side + 2) / 5 < 8 ? (side + 2) / 5 : 8;
  if (l.size < 3) l.size = 3;
  l.near = l.size / 2;
  l.grid = a->shape.channels == 1 ? 4 : 3;
  if (l.size + l.grid - 1 > side) l.grid = 2;
  for (l.filters = MOST; l.filters > LEAST; l.filters /= 2) {
    l.keep = l.filters / 4;
    cost(&seconds, &bytes, &l, a);
    const bool known = 2 * l.keep * l.grid * l.grid <= a->anchors;
    if (known && seconds <= limit && bytes <= a->memory) break;
  }
  l.keep = l.filters / 4;
  cost(&seconds, &bytes, &l, a);
  snprintf(text, sizeof(ep_opt_NAME), "stack:%tdx%td,near=%td,keep=%td,pool=%td", l.filters, l.size,
           l.near, l.keep, l.grid);
  snprintf(why, EP_DESCRIPTION,
           "features %s: %s for %td points in %td views: about %.3g s (--time %s) and %.0f MiB",
           text,
           l.filters == MOST    ? "the largest recipe"
           : l.filters == LEAST ? "the smallest recipe"
                                : "the largest recipe that fits time, memory and points,",
           a->anchors, a->views, seconds, a->time, bytes / 1048576);
  return EP_OK;
}
