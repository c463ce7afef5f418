/* Chains of augmentations: reading them, applying them. A point is worked on in double, in a row of scratch, and stored
 * in the matrix's precision; any thread may take it. */
#include "core/crew.h"
#include "core/threads.h"
#include "data/augmentations.h"
#include "data/pixels.h"

#include <eigenpair/options.h>
#include <eigenpair/run.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading */

const char *ep_augment_name(int i) {
  const ep_augmentation *row = ep_augmentation_row(i);
  return row ? row->name : NULL;
}

static ep_status check_colour(const ep_augmentation *kind, ep_image_shape shape) {
  EP_CHECK(!kind->colour || ep_is_plain(shape) || shape.channels == 3, EP_ERR_ARG,
           "augmentation %s needs colour images (3 channels), and these have %d%s", kind->name,
           shape.channels, kind->instead);
  return EP_OK;
}

/* none stands behind the last */
static const char *name_or_none(int i) {
  const bool behind = i > 0 && !ep_augmentation_row(i) && ep_augmentation_row(i - 1);
  return behind ? "none" : ep_augment_name(i);
}

/* A plain decimal number: no blanks, no hexadecimal, no nan; *text moves behind it. What is left
 * over, and infinity, are for the caller to refuse. */
static bool read_number(double *out, const char **text) {
  const char *start = *text + (**text == '-' || **text == '+');
  char *end;
  if (!*start || !strchr("0123456789.", *start) || (*start == '0' && (start[1] | 32) == 'x'))
    return false;
  *out = strtod(*text, &end);
  *text = end;
  return true;
}

/* The text behind the colon into a and b. */
static bool read_parameters(const ep_augmentation *kind, double *a, double *b, const char *text) {
  switch (kind->parameter) {
    case EP_ONE_NUMBER: return read_number(a, &text) && !*text && *a >= 0 && *a <= kind->max;
    case EP_SHARES:
      return read_number(a, &text) && *text++ == '-' && read_number(b, &text) && !*text && *a > 0 &&
             *a <= *b && *b <= kind->max;
    default: return false;
  }
}

static ep_status check_shape(ep_image_shape s) {
  EP_CHECK(ep_is_plain(s) || (s.channels > 0 && s.height > 0 && s.width > 0), EP_ERR_ARG,
           "an image of %d channels, %d rows and %d columns is no image", s.channels, s.height,
           s.width);
  return EP_OK;
}

/* One step without its comma; `none` is no step, and the only one. */
static ep_status add_step(ep_augment *chain, const char *step, bool alone, ep_image_shape shape) {
  int index;
  const char *parameters;
  EP_CHECK(*step, EP_ERR_ARG,
           "an augmentation is empty; write none, or steps with commas such as crop,flip");
  EP_TRY(ep_options_name(&index, &parameters, "augmentation", step, name_or_none));
  const ep_augmentation *kind = ep_augmentation_row(index);
  if (!kind) {
    EP_CHECK(alone && !parameters, EP_ERR_ARG, "augmentation none stands alone, without others");
    return EP_OK;
  }
  double a = ep_is_plain(shape) && kind->plain > 0 ? kind->plain : kind->a, b = kind->b;
  EP_CHECK(!parameters || read_parameters(kind, &a, &b, parameters), EP_ERR_ARG,
           "augmentation '%s' is wrong: write %s", step, kind->help);
  EP_CHECK(!kind->needs_image || !ep_is_plain(shape), EP_ERR_ARG,
           "augmentation %s needs images, and the data are plain vectors; use noise", kind->name);
  EP_TRY(check_colour(kind, shape));
  EP_CHECK(chain->count < EP_AUGMENT_STEPS, EP_ERR_ARG, "more than %d augmentations in a chain",
           (int)EP_AUGMENT_STEPS);
  chain->step[chain->count].kind = kind;
  chain->step[chain->count].a = a;
  chain->step[chain->count++].b = b;
  return EP_OK;
}

bool ep_augment_needs_sample(const ep_augment *chain) {
  for (int k = 0; k < chain->count; k++)
    if (chain->step[k].kind->needs_sample) return true;
  return false;
}

ep_status ep_augment_parse(ep_augment *out, const char *text, ep_image_shape shape) {
  ep_augment chain = {0};
  *out = chain;
  EP_TRY(check_shape(shape));
  const bool alone = !strchr(text, ',');
  for (const char *at = text;; at++) {
    char step[64];
    const size_t length = strcspn(at, ",");
    EP_CHECK(length < sizeof step, EP_ERR_ARG, "augmentation '%.40s...' is too long", at);
    memcpy(step, at, length);
    step[length] = '\0';
    EP_TRY(add_step(&chain, step, alone, shape));
    at += length;
    if (!*at) break;
  }
  *out = chain;
  return EP_OK;
}

/* ---- applying */

/* Point i of the data set, view v: numbers v 2^32, v 2^32 + 1, ... of its stream. */
static ep_random point_random(uint64_t seed, ptrdiff_t point, int view) {
  ep_random r = ep_random_new(seed, EP_STREAM_AUGMENT, (uint32_t)point);
  r.next = (uint64_t)view << 32;
  return r;
}

static void load(double *x, const ep_mat *X, ptrdiff_t i) {
  if (X->prec == EP_SINGLE) EP_PICK_DOUBLE(ep_pixels_load)(x, ep_s(X, i, 0), X->cols);
  else memcpy(x, ep_d(X, i, 0), (size_t)X->cols * sizeof *x);
}

static void store(const ep_mat *X, ptrdiff_t i, const double *x) {
  if (X->prec == EP_SINGLE) EP_PICK_DOUBLE(ep_pixels_store)(ep_s(X, i, 0), x, X->cols);
  else memcpy(ep_d(X, i, 0), x, (size_t)X->cols * sizeof *x);
}

static int widest(const ep_augment *chain) {
  int R = 0;
  for (int k = 0; k < chain->count; k++) {
    const ep_augmentation *kind = chain->step[k].kind;
    const int radius = kind->radius ? kind->radius(chain->step[k].a) : 0;
    if (radius > R) R = radius;
  }
  return R;
}

/* One frame a thread, all taken before the threads start: there, a failure can still be returned. */
static ep_status make_frames(ep_work *work, ep_frame **out, int threads, const ep_augment *chain,
                             ep_image_shape s, ptrdiff_t cols) {
  const int R = widest(chain);
  const ptrdiff_t kernel = 2 * (ptrdiff_t)R + 1, W = s.width;
  const ptrdiff_t edged = s.channels * ((ptrdiff_t)s.height + 3) * (W + 3);
  const ptrdiff_t room = 2 * cols + 3 * kernel + 4 * W + edged;
  EP_TRY(ep_work_get(work, out, threads, sizeof(ep_frame)));
  for (int t = 0; t < threads; t++) {
    ep_frame *f = *out + t;
    double *block;
    EP_TRY(ep_work_get(work, &block, room, sizeof *block));
    *f = (ep_frame){.shape = s, .cols = cols, .x = block, .y = block + cols, .chain = chain};
    f->kernel = f->y + cols;
    f->line = f->kernel + kernel;
    f->u = f->line + kernel + W;
    f->v = f->u + W;
    f->edged = f->v + W;
    f->rows = (void *)(f->edged + edged);
    f->from = (void *)(f->rows + kernel);
    EP_TRY(ep_work_get(work, &f->taps, W, sizeof(ep_tap)));
  }
  return EP_OK;
}

typedef struct {
  const ep_mat *out, *X;
  const ep_augment *chain;
  ep_frame *frames; /* one a thread */
  uint64_t seed;
  ptrdiff_t first;
  int view;
  const volatile int *stop;
} views_loop;

static void apply_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const views_loop *l = of;
  const ep_augment *chain = l->chain;
  ep_frame *f = l->frames + ep_crew_thread();
  for (ptrdiff_t i = first; i < end && !(l->stop && *l->stop); i++) {
    ep_random r = point_random(l->seed, l->first + i, l->view);
    load(f->x, l->X, i);
    for (int k = 0; k < chain->count; k++)
      chain->step[k].kind->apply(f, &r, chain->step[k].a, chain->step[k].b);
    store(l->out, i, f->x);
  }
}

static ep_status check_apply(const ep_mat *out, const ep_mat *X, const ep_augment *chain,
                             ep_image_shape s, ptrdiff_t first, int view) {
  EP_CHECK(out->rows == X->rows && out->cols == X->cols && out->prec == X->prec, EP_ERR_SHAPE,
           "views of %td x %td from points of %td x %td", out->rows, out->cols, X->rows, X->cols);
  EP_CHECK(out->data != X->data || X->rows == 0 || X->cols == 0, EP_ERR_ARG,
           "the views would overwrite the points");
  EP_TRY(check_shape(s));
  EP_CHECK(ep_is_plain(s) || (X->cols % s.channels == 0 && X->cols / s.channels % s.height == 0 &&
                              X->cols / s.channels / s.height == s.width),
           EP_ERR_SHAPE, "points of %td numbers are no images of %d x %d x %d", X->cols, s.channels,
           s.height, s.width);
  for (int k = 0; k < chain->count; k++) {
    EP_CHECK(!chain->step[k].kind->needs_image || !ep_is_plain(s), EP_ERR_ARG,
             "augmentation %s needs images, and the data are plain vectors",
             chain->step[k].kind->name);
    EP_TRY(check_colour(chain->step[k].kind, s));
  }
  EP_CHECK(!ep_augment_needs_sample(chain) ||
               (chain->sample && chain->sample->rows > 0 && chain->sample->cols == X->cols),
           EP_ERR_ARG, "augmentation corrupt needs points to take values from");
  EP_CHECK(view >= 0, EP_ERR_ARG, "view %d is negative", view);
  EP_CHECK(first >= 0 && first <= (ptrdiff_t)UINT32_MAX + 1 - X->rows, EP_ERR_ARG,
           "%td points from %td on: an index must be in 0 .. 2^32 - 1", X->rows, first);
  return EP_OK;
}

ep_status ep_augment_apply(const ep_mat *out, const ep_mat *X, const ep_augment *chain,
                           ep_image_shape shape, uint64_t seed, ptrdiff_t first, int view) {
  EP_TRY(check_apply(out, X, chain, shape, first, view));
  if (X->rows == 0) return EP_OK;
  const bool worth = X->rows * X->cols >= 10000;
  views_loop l = {.out = out, .X = X, .chain = chain, .seed = seed, .first = first, .view = view};
  if (X->rows > 1) l.stop = ep_run_stop();
  ep_work work = {0};
  ep_status st = make_frames(&work, &l.frames, worth ? ep_run_threads() : 1, chain, shape, X->cols);
  if (!st) ep_crew_loop(X->rows, ep_rows_at_once(X->cols, 4096), worth, apply_rows, &l);
  ep_work_free(&work);
  if (!st && X->rows > 1) st = ep_run_look(); /* of many points: they are whole or not wanted */
  return st;
}

ep_crop ep_augment_crop(ep_image_shape shape, double lo, double hi, uint64_t seed, ptrdiff_t point,
                        int view) {
  ep_random r = point_random(seed, point, view);
  return ep_crop_draw(shape, lo, hi, &r);
}
