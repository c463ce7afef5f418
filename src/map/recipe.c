/* --features auto: a recipe from the size of the images and their number, within time and memory. Nothing is measured, so that
 * the same options give the same model everywhere: a thread is taken to do 20 Gflop/s in single precision, half in double.
 *
 *   colour   whitened patches of a fifth of the image's side, pooled to 2 x 2; grey: less whitened (zca 1), pooled to 3 x 3
 *   both     roots of what is pooled; averaged with the mirror image where views are flipped
 *   K        1024, 512, .. filters: the first that has no more features than points, whose features, sums and eigenproblem take
 *            less than the time, and whose sums fit the memory */
#include "map/map.h"

#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rate = 2e10; /* flops a second and thread */
enum { MOST = 1024, LEAST = 32 };

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
  const double size = (double)ep_sizeof(a->prec), slow = a->prec == EP_DOUBLE ? 2 : 1;
  const double flops = slow * ((views + n) * ep_coder_flops(l) + (views + n) * m * m) +
                       2 * 6 * m * m * m; /* the eigenproblem is double */
  *seconds = flops / rate / (double)ep_run_threads();
  *bytes = m * m * (2 * size + 16 + 40) + 2 * 2048 * m * size;
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
  const bool colour = a->shape.channels > 1;
  ep_coder l = {.in = a->shape, .two = true, .active = 0.1, .grid = colour ? 2 : 3};
  l.mirror = a->flips;
  l.size = (side + 2) / 5 < 8 ? (side + 2) / 5 : 8;
  if (l.size < 3) l.size = 3;
  for (l.filters = MOST;; l.filters /= 2) {
    cost(&seconds, &bytes, &l, a);
    const bool known = ep_coder_codes(&l) * l.grid * l.grid <= a->anchors;
    if (l.filters == LEAST || (known && seconds <= limit && bytes <= a->memory)) break;
  }
  snprintf(text, sizeof(ep_opt_NAME), "stack:%tdx%td%s,pool=%td,root%s", l.filters, l.size,
           colour ? "" : ",zca=1", l.grid, l.mirror ? ",mirror" : "");
  snprintf(why, EP_DESCRIPTION,
           "features %s: %s for %td points in %td views: about %.3g s (--time %s) and %.0f MiB",
           text,
           l.filters == MOST    ? "the largest recipe"
           : l.filters == LEAST ? "the smallest recipe"
                                : "the largest recipe that fits time, memory and points,",
           a->anchors, a->views, seconds, a->time, bytes / 1048576);
  return EP_OK;
}
