/* Patch features of images (theory: section 6): filters that are the data's own patches, their responses averaged over
 * a grid. Coates, Lee and Ng's single layer, without labels and without training. */
#include "core/crew.h"
#include "map/map.h"

#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "patches", "patches:K", "patches:K,p", "patches:K,p,g" */
static ep_status parse(ep_patches *p, const char *text) {
  ptrdiff_t *const field[] = {&p->filters, &p->size, &p->grid};
  p->filters = 256;
  p->size = 5;
  p->grid = 4;
  const char *at = strchr(text, ':');
  for (int i = 0; at && i < 3; i++) {
    char *end;
    const long value = strtol(at + 1, &end, 10);
    const bool fine = end > at + 1 && value >= 1 && value <= 1000000 && (*end == ',' || !*end);
    EP_CHECK(fine && !(i == 2 && *end), EP_ERR_ARG,
             "--features '%s' is wrong: write patches[:K[,p[,g]]], such as patches:256,5,4", text);
    *field[i] = value;
    at = *end ? end : NULL;
  }
  return EP_OK;
}

static ptrdiff_t numbers_a_patch(const ep_patches *p) {
  return p->shape.channels * p->size * p->size;
}

static ep_status check(const ep_patches *p) {
  EP_CHECK(p->shape.height > 0, EP_ERR_INPUT,
           "patches need images, and the data are plain vectors; give --image HxW or use dense "
           "features");
  const ptrdiff_t least = p->shape.height < p->shape.width ? p->shape.height : p->shape.width;
  EP_CHECK(p->size + p->grid - 1 <= least, EP_ERR_ARG,
           "patches of %td x %td pixels on a %td x %td grid do not fit images of %d x %d", p->size,
           p->size, p->grid, p->grid, p->shape.height, p->shape.width);
  EP_CHECK(!p->F.data || (p->F.rows == p->filters && p->F.cols == numbers_a_patch(p) &&
                          p->theta.cols == p->filters),
           EP_ERR_SHAPE, "filters of %td x %td do not fit patches of %td numbers", p->F.rows,
           p->F.cols, numbers_a_patch(p));
  return EP_OK;
}

/* ---- filters */

/* where patches are drawn from */
typedef struct {
  const ep_points *points;
  ep_mat row; /* (1, D) scratch */
} pool_of_points;

/* a patch of a random point at a random place */
static ep_status draw_patch(const ep_mat *to, const ep_patches *p, const pool_of_points *from,
                            ep_random *r) {
  const ptrdiff_t i =
      ep_points_place(from->points, ep_random_below(r, ep_points_drawn(from->points)));
  const ptrdiff_t H = p->shape.height, W = p->shape.width;
  ep_mat x;
  EP_TRY(ep_points_block(&x, from->points, i, 1, &from->row));
  const ptrdiff_t top = ep_random_below(r, H - p->size + 1);
  const ptrdiff_t left = ep_random_below(r, W - p->size + 1);
  ptrdiff_t k = 0;
  for (ptrdiff_t c = 0; c < p->shape.channels; c++)
    for (ptrdiff_t a = 0; a < p->size; a++)
      for (ptrdiff_t b = 0; b < p->size; b++)
        ep_set(to, 0, k++, ep_get(&x, 0, (c * H + top + a) * W + left + b));
  return EP_OK;
}

/* x <- (x - mean) / |x - mean|; the norm before; 0 and unchanged for a blank patch */
static double normalise(const ep_mat *x) {
  double mean = 0, norm = 0;
  for (ptrdiff_t j = 0; j < x->cols; j++) mean += ep_get(x, 0, j) / (double)x->cols;
  for (ptrdiff_t j = 0; j < x->cols; j++) norm += pow(ep_get(x, 0, j) - mean, 2);
  norm = sqrt(norm);
  for (ptrdiff_t j = 0; norm > 0 && j < x->cols; j++)
    ep_set(x, 0, j, (ep_get(x, 0, j) - mean) / norm);
  return norm;
}

/* Patches with less contrast than half the root mean square of patches say little: another is drawn, a hundred times at
 * most; a blank one becomes Gaussian. */
static ep_status draw_filters(ep_patches *p, bool gaussian, const pool_of_points *from,
                              double contrast, uint64_t seed) {
  for (ptrdiff_t k = 0; k < p->filters; k++) {
    const ep_mat f = ep_mat_rows(&p->F, k, 1);
    ep_random r = ep_random_new(seed, EP_STREAM_PATCH, (uint32_t)k);
    double norm = 0;
    for (int attempt = 0; !gaussian && attempt < 100 && norm <= contrast / 2; attempt++) {
      EP_TRY(draw_patch(&f, p, from, &r));
      norm = normalise(&f);
    }
    if (norm > 0) continue;
    for (ptrdiff_t j = 0; j < f.cols; j++) ep_set(&f, 0, j, ep_random_normal(&r));
    EP_CHECK(normalise(&f) > 0, EP_ERR_NUMERIC, "a filter of one pixel has no contrast");
  }
  return EP_OK;
}

/* theta_k = half a standard deviation of filter k's responses to SAMPLE patches; *contrast = root mean square of
 * |x - mean| over the same patches */
enum { SAMPLE = 4096 };

static ep_status sample(ep_work *work, ep_mat *S, double *contrast, const ep_patches *p,
                        const pool_of_points *from, uint64_t seed) {
  ep_mat copy;
  double sum = 0;
  EP_TRY(ep_work_mat(work, S, from->row.prec, SAMPLE, numbers_a_patch(p)));
  EP_TRY(ep_work_mat(work, &copy, from->row.prec, 1, numbers_a_patch(p)));
  ep_random r = ep_random_new(seed, EP_STREAM_PATCH, UINT32_MAX);
  for (ptrdiff_t i = 0; i < SAMPLE; i++) {
    const ep_mat x = ep_mat_rows(S, i, 1);
    EP_TRY(draw_patch(&x, p, from, &r));
    ep_mat_copy(&copy, &x);
    sum += pow(normalise(&copy), 2);
  }
  *contrast = sqrt(sum / SAMPLE);
  return EP_OK;
}

static ep_status thresholds(ep_work *work, ep_patches *p, const ep_mat *S) {
  ep_mat R;
  EP_TRY(ep_work_mat(work, &R, S->prec, SAMPLE, p->filters));
  ep_mat_mul(&R, 1, S, EP_N, &p->F, EP_T, 0);
  for (ptrdiff_t k = 0; k < p->filters; k++) {
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < SAMPLE; i++) mean += ep_get(&R, i, k) / SAMPLE;
    for (ptrdiff_t i = 0; i < SAMPLE; i++) square += pow(ep_get(&R, i, k) - mean, 2) / SAMPLE;
    ep_set(&p->theta, 0, k, sqrt(square) / 2);
  }
  return EP_OK;
}

static ep_status draw(ep_work *work, ep_patches *p, const ep_feature_config *config,
                      const ep_points *points, uint64_t seed) {
  const ep_precision prec = points->X.prec;
  pool_of_points from = {.points = points};
  ep_mat S;
  double contrast;
  EP_TRY(ep_work_mat(work, &from.row, prec, 1, points->X.cols));
  EP_TRY(ep_mat_new(&p->F, prec, p->filters, numbers_a_patch(p)));
  EP_TRY(ep_mat_new(&p->theta, prec, 1, p->filters));
  EP_TRY(sample(work, &S, &contrast, p, &from, seed));
  EP_TRY(draw_filters(p, config->filters == EP_FILTERS_GAUSSIAN, &from, contrast, seed));
  return thresholds(work, p, &S);
}

/* out->shape is given */
static ep_status draw_all(ep_patches *p, const ep_map_plan *plan) {
  ep_work work = {0};
  EP_TRY(parse(p, plan->feature->features));
  EP_TRY(check(p));
  EP_CHECK(plan->points->X.rows > 0, EP_ERR_INPUT, "there are no points to draw patches from");
  const ep_status st = draw(&work, p, plan->feature, plan->points, plan->seed);
  ep_work_free(&work);
  return st;
}

static void set_head(ep_patches *p) {
  p->head.inputs = (ptrdiff_t)p->shape.channels * p->shape.height * p->shape.width;
  p->head.count = p->filters * p->grid * p->grid;
}

static ep_status make(ep_map **out, const ep_map_plan *plan) {
  EP_CHECK(!plan->net->init[0], EP_ERR_ARG, "--init goes with dense features");
  EP_TRY(ep_map_new(out, sizeof(ep_patches), &ep_map_patches, 0, 0, plan->psi));
  ep_patches *p = (void *)*out;
  p->shape = plan->points->shape;
  const ep_status st = draw_all(p, plan);
  if (st) ep_map_free(*out), *out = NULL;
  else set_head(p);
  return st;
}

/* ---- responses */

static ptrdiff_t places(const ep_patches *p) {
  return (p->shape.height - p->size + 1) * (p->shape.width - p->size + 1);
}
static const ep_patches *cast(const ep_map *map) { return (const void *)map; }

static double flops(const ep_map *map) {
  const ep_patches *p = cast(map);
  return 2 * (double)places(p) * (double)p->filters * (double)(numbers_a_patch(p) + 1);
}

static double scratch(const ep_map *map, ep_precision prec) {
  (void)map, (void)prec;
  return 0; /* of a thread, not of a point */
}

static ep_status new_scratch(ep_patches_scratch *s, ep_work *work, const ep_patches *p,
                             ptrdiff_t threads, ep_precision prec) {
  const ptrdiff_t d = numbers_a_patch(p), panel = EP_PATCH_PANEL / (ptrdiff_t)ep_sizeof(prec);
  const ptrdiff_t wide = (p->filters + panel - 1) / panel * panel, g = p->grid;
  const ptrdiff_t list = places(p) + EP_PATCH_PLACES, H = p->shape.height, W = p->shape.width;
  EP_TRY(ep_work_mat(work, &s->F, prec, wide, d));
  EP_TRY(ep_work_mat(work, &s->theta, prec, 1, wide));
  EP_TRY(ep_work_mat(work, &s->sums, prec, threads * (g * g + 1), wide));
  EP_TRY(ep_work_get(work, &s->offset, d, sizeof *s->offset));
  EP_TRY(ep_work_get(work, &s->place, threads * list, sizeof *s->place));
  EP_TRY(ep_work_get(work, &s->cell, threads * list, sizeof *s->cell));
  for (ptrdiff_t j = 0; j < d; j++) { /* channel after channel, row by row */
    const ptrdiff_t c = j / (p->size * p->size), a = j / p->size % p->size, b = j % p->size;
    s->offset[j] = (c * H + a) * W + b;
  }
  EP_PICK(prec, ep_patches_pack)(&s->F, &s->theta, p);
  return EP_OK;
}

typedef struct {
  const ep_mat *Phi, *X;
  const ep_patches *p;
  ep_patches_scratch all; /* of all threads */
} images_loop;

static void some_images(void *of, ptrdiff_t first, ptrdiff_t end) {
  const images_loop *l = of;
  const ep_patches *p = l->p;
  const ptrdiff_t list = places(p) + EP_PATCH_PLACES, cells = p->grid * p->grid + 1;
  const ptrdiff_t t = ep_crew_thread();
  ep_patches_scratch own = l->all;
  own.sums = ep_mat_rows(&l->all.sums, t * cells, cells);
  own.place += t * list, own.cell += t * list;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat phi = ep_mat_rows(l->Phi, i, 1), x = ep_mat_rows(l->X, i, 1);
    EP_PICK(x.prec, ep_patches_image)(&phi, p, &x, &own);
  }
}

static ep_status rows(const ep_mat *Phi, const ep_map *map, const ep_mat *X) {
  ep_work work = {0};
  images_loop l = {.Phi = Phi, .X = X, .p = cast(map)};
  const ep_status st = new_scratch(&l.all, &work, l.p, ep_run_threads(), X->prec);
  if (!st) ep_crew_loop(X->rows, 1 + (ptrdiff_t)(1e6 / flops(map)), true, some_images, &l);
  ep_work_free(&work);
  return st;
}

static ep_status keep(ep_term *out, ep_map *map, const ep_mat *W) {
  return ep_term_of_weights(out, map, W, cast(map)->F.prec);
}

/* ---- files: F, theta, W, and what their numbers mean in the config */

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  const ep_patches *p = cast(term->map);
  EP_CHECK(json_object_set_new(
               config, "image_shape",
               json_pack("[i,i,i]", p->shape.channels, p->shape.height, p->shape.width)) == 0 &&
               json_object_set_new(config, "patch_size", json_integer(p->size)) == 0 &&
               json_object_set_new(config, "patch_grid", json_integer(p->grid)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  EP_TRY(ep_npz_add_matrix(file, "W", &term->C, false));
  EP_TRY(ep_npz_add_matrix(file, "F", &p->F, false));
  return ep_npz_add_matrix(file, "theta", &p->theta, false);
}

static ep_status read_shape(ep_patches *p, const ep_term_source *from) {
  int c, h, w;
  json_int_t size, grid;
  EP_CHECK(json_unpack((json_t *)from->config, "{s:[i,i,i], s:I, s:I}", "image_shape", &c, &h, &w,
                       "patch_size", &size, "patch_grid", &grid) == 0 &&
               c > 0 && h > 0 && w > 0 && c < 10000 && h < 100000 && w < 100000 && size > 0 &&
               size < 100000 && grid > 0 && grid < 100000,
           EP_ERR_INPUT, "%s: its config does not say what its patches are", from->path);
  p->shape = (ep_image_shape){c, h, w};
  p->size = size;
  p->grid = grid;
  return EP_OK;
}

static ep_status read(ep_term *out, const ep_term_source *from) {
  EP_TRY(ep_map_new(&out->map, sizeof(ep_patches), &ep_map_patches, 0, 0, from->psi));
  ep_patches *p = (void *)out->map;
  EP_TRY(read_shape(p, from));
  EP_TRY(ep_term_matrix(&p->F, from, "F"));
  EP_TRY(ep_term_matrix(&p->theta, from, "theta"));
  EP_TRY(ep_term_matrix(&out->C, from, "W"));
  p->filters = p->F.rows;
  set_head(p);
  out->outputs = out->C.cols;
  const ptrdiff_t least = p->shape.height < p->shape.width ? p->shape.height : p->shape.width;
  EP_CHECK(p->theta.rows == 1 && p->theta.cols == p->filters && p->F.cols == numbers_a_patch(p) &&
               out->C.rows == p->head.count && p->size + p->grid - 1 <= least,
           EP_ERR_SHAPE, "%s: F, theta and W do not fit together", from->path);
  return EP_OK;
}

static void describe(char text[EP_DESCRIPTION], const ep_term *term) {
  const ep_patches *p = cast(term->map);
  snprintf(text, EP_DESCRIPTION,
           "features %td filters of %td x %td pixels on a %td x %td grid: %td -> %td", p->filters,
           p->size, p->size, p->grid, p->grid, p->head.count, term->outputs);
}

static void release(ep_map *map) {
  ep_patches *p = (void *)map;
  ep_mat_free(&p->F);
  ep_mat_free(&p->theta);
}

const ep_map_kind ep_map_patches = {
    .name = "patches",
    .help = "patches[:K[,p[,g]]] of images: K filters of p x p pixels, averaged over a g x g grid",
    .make = make,
    .rows = rows,
    .scaled = true,
    .filters = true,
    .similarity = true,
    .flops = flops,
    .scratch = scratch,
    .keep = keep,
    .write = write,
    .read = read,
    .describe = describe,
    .free = release};
