/* A layer of whitened patches, found from images alone (theory: section 11):
 *
 *   floor   a tenth of the mean variance of patches;  mean, whiten = (C + zca tr C / d I)^{-1/2}: of patches with that contrast
 *   F       K patches of the data, whitened, of length 1;  theta: so that a share `active` of the outputs is above 0
 *   E       maximises Tr(E'AE) subject to E'(B + r I)E = I: A the covariance of the codes of a place and of its neighbours
 *           r pixels to the right and below, B that of all; the closed form of `whitened`, with neighbours as views */
#include "core/mem.h"
#include "core/threads.h"
#include "map/map.h"

#include <eigenpair/eigen.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>

static const double floor_share = 0.1, near_ridge = 1e-3;
enum { SAMPLE = 30000, JUDGED = 2048, GROUPS = 30000, BLOCK = 1024 };

/* ---- sizes */

ptrdiff_t ep_coder_numbers(const ep_coder *l) { return l->in.channels * l->size * l->size; }
ptrdiff_t ep_coder_codes(const ep_coder *l) { return l->filters * (l->two ? 2 : 1); }
ptrdiff_t ep_coder_channels(const ep_coder *l) { return l->keep ? l->keep : ep_coder_codes(l); }
ep_image_shape ep_coder_out(const ep_coder *l) {
  return (ep_image_shape){(int)ep_coder_channels(l), (int)l->grid, (int)l->grid};
}

ep_image_shape ep_coder_places(const ep_coder *l) {
  const int size = (int)l->size;
  return (ep_image_shape){1, l->in.height - size + 1, l->in.width - size + 1};
}

double ep_coder_flops(const ep_coder *l) {
  const double d = (double)ep_coder_numbers(l), K = (double)l->filters;
  const double seen = l->active * (double)ep_coder_codes(l) * (double)l->keep;
  const ep_image_shape at = ep_coder_places(l);
  return (l->mirror ? 4 : 2) * (double)at.height * (double)at.width * (d * d / 2 + d * K + seen);
}

double ep_coder_bytes(const ep_coder *l, ep_precision prec) {
  const double d = (double)ep_coder_numbers(l);
  return (double)ep_sizeof(prec) * (d * (2 * d + 1 + 2 * (double)l->filters) +
                                    (double)(ep_coder_codes(l) + 1) * (double)l->keep);
}

ep_status ep_coder_check(const ep_coder *l) {
  const ptrdiff_t least = l->in.height < l->in.width ? l->in.height : l->in.width;
  EP_CHECK(l->size + l->grid - 1 <= least, EP_ERR_ARG,
           "patches of %td x %td pixels pooled to %td x %td do not fit images of %d x %d", l->size,
           l->size, l->grid, l->grid, l->in.height, l->in.width);
  EP_CHECK(l->size + l->near <= least, EP_ERR_ARG,
           "neighbours of patches of %td x %td pixels at distance %td do not fit images of %d x %d",
           l->size, l->size, l->near, l->in.height, l->in.width);
  EP_CHECK(ep_coder_numbers(l) >= 2, EP_ERR_ARG, "a patch of one number has no contrast");
  EP_CHECK(ep_coder_numbers(l) <= 8192, EP_ERR_ARG,
           "a patch has %td numbers: 8,192 at most can be whitened; take smaller ones",
           ep_coder_numbers(l));
  EP_CHECK(l->keep <= ep_coder_codes(l), EP_ERR_ARG, "keep=%td of %td codes", l->keep,
           ep_coder_codes(l));
  return EP_OK;
}

void ep_coder_free(ep_coder *l) {
  ep_mat_free(&l->mean);
  ep_mat_free(&l->whiten);
  ep_mat_free(&l->F);
  ep_mat_free(&l->E);
  ep_mat_free(&l->shift);
  ep_mat_free(&l->L);
  ep_mat_free(&l->cosine);
}

/* ---- patches of images */

/* a random image, and a random place with room for neighbours */
typedef struct {
  ptrdiff_t image, top, left;
} place;

static place draw_place(const ep_coder *l, const ep_mat *images, ptrdiff_t room, ep_random *r) {
  place p;
  p.image = ep_random_below(r, images->rows);
  p.top = ep_random_below(r, l->in.height - l->size - room + 1);
  p.left = ep_random_below(r, l->in.width - l->size - room + 1);
  return p;
}

static void take(const ep_mat *X, ptrdiff_t i, const ep_coder *l, const ep_mat *images, place p) {
  const ptrdiff_t H = l->in.height, W = l->in.width;
  ptrdiff_t k = 0;
  for (ptrdiff_t c = 0; c < l->in.channels; c++)
    for (ptrdiff_t a = 0; a < l->size; a++)
      for (ptrdiff_t b = 0; b < l->size; b++)
        ep_set(X, i, k++, ep_get(images, p.image, (c * H + p.top + a) * W + p.left + b));
}

/* ---- contrast and whitening */

static double variance(const ep_mat *X, ptrdiff_t i) {
  const double n = (double)X->cols;
  double mean = 0, square = 0;
  for (ptrdiff_t j = 0; j < X->cols; j++) mean += ep_get(X, i, j) / n;
  for (ptrdiff_t j = 0; j < X->cols; j++) square += pow(ep_get(X, i, j) - mean, 2) / n;
  return square;
}

/* whiten = U (lambda + ridge)^{-1/2} U' of the covariance of X, whose mean becomes the layer's */
static ep_status whitening(ep_work *work, ep_coder *l, const ep_mat *X) {
  const ptrdiff_t d = X->cols;
  const double n = (double)X->rows;
  ep_mat G, C, V, T;
  double *lambda, trace = 0;
  EP_TRY(ep_work_mat(work, &G, X->prec, d, d));
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, d, d));
  EP_TRY(ep_work_get(work, &lambda, d, sizeof *lambda));
  for (ptrdiff_t j = 0; j < d; j++) {
    double sum = 0;
    for (ptrdiff_t i = 0; i < X->rows; i++) sum += ep_get(X, i, j);
    ep_set(&l->mean, 0, j, sum / n);
  }
  ep_mat_gram_cols(&G, 1 / n, X, 0);
  ep_mat_mirror(&G);
  ep_mat_copy(&C, &G);
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++)
      *ep_d(&C, i, j) -= ep_get(&l->mean, 0, i) * ep_get(&l->mean, 0, j);
  for (ptrdiff_t i = 0; i < d; i++) trace += *ep_d(&C, i, i);
  EP_TRY(ep_mat_eig_sym(&C, lambda));
  const double ridge = fmax(l->zca, 1e-6) * trace / (double)d;
  EP_CHECK(ridge > 0, EP_ERR_NUMERIC, "patches of these images are all the same");
  for (ptrdiff_t k = 0; k < d; k++)
    for (ptrdiff_t j = 0; j < d; j++)
      *ep_d(&V, k, j) = *ep_d(&C, k, j) / sqrt(fmax(lambda[k], 0) + ridge);
  ep_mat_mul(&T, 1, &V, EP_T, &C, EP_N, 0);
  ep_mat_copy(&l->whiten, &T);
  return EP_OK;
}

/* ---- filters and threshold */

/* Y (n x d): patches, whitened; var[n]: as they were. Low contrast says little: such are taken last. */
static ep_status choose_filters(ep_coder *l, const ep_mat *Y, const double *var) {
  ptrdiff_t found = 0;
  for (int poor = 0; poor < 2; poor++)
    for (ptrdiff_t i = 0; i < Y->rows && found < l->filters; i++) {
      const ep_mat to = ep_mat_rows(&l->F, found, 1), from = ep_mat_rows(Y, i, 1);
      if ((var[i] <= 2 * l->floor) != (poor == 1) || ep_mat_norm2(&from) == 0) continue;
      ep_mat_copy(&to, &from);
      found++;
    }
  EP_CHECK(found == l->filters, EP_ERR_INPUT,
           "%td patches with any contrast were found, too few for %td filters", found, l->filters);
  return EP_OK;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* theta: of all outputs on these patches (rows of Y, whitened) a share `active` is above 0 */
static ep_status threshold(ep_work *work, ep_coder *l, const ep_mat *Y) {
  const ptrdiff_t n = Y->rows, K = l->filters, step = 1 + n * K / 1000000;
  const ptrdiff_t all = (n * K + step - 1) / step;
  ep_mat Z;
  double *z;
  EP_TRY(ep_work_mat(work, &Z, Y->prec, n, K));
  EP_TRY(ep_work_get(work, &z, all, sizeof *z));
  ep_mat_mul(&Z, 1, Y, EP_N, &l->F, EP_T, 0);
  for (ptrdiff_t i = 0; i < all; i++) {
    const double x = ep_get(&Z, i * step / K, i * step % K);
    z[i] = l->two ? fabs(x) : x;
  }
  qsort(z, (size_t)all, sizeof *z, by_size);
  const double above = (l->two ? 2 : 1) * l->active * (double)all;
  const ptrdiff_t at = all - 1 - (ptrdiff_t)above;
  l->theta = at > 0 ? fmax(z[at], 0) : 0;
  return EP_OK;
}

static ep_status first_steps(ep_work *work, ep_coder *l, const ep_mat *images, uint64_t seed,
                             uint32_t stream) {
  const ptrdiff_t d = ep_coder_numbers(l);
  ptrdiff_t n = SAMPLE > 40 * d ? SAMPLE : 40 * d;
  if (n < 4 * l->filters) n = 4 * l->filters;
  ep_mat X, Y;
  double *var, mean = 0;
  EP_TRY(ep_work_mat(work, &X, images->prec, n, d));
  EP_TRY(ep_work_mat(work, &Y, images->prec, n, d));
  EP_TRY(ep_work_get(work, &var, n, sizeof *var));
  ep_random r = ep_random_new(seed, EP_STREAM_PATCH, stream);
  for (ptrdiff_t i = 0; i < n; i++) {
    take(&X, i, l, images, draw_place(l, images, 0, &r));
    mean += (var[i] = variance(&X, i)) / (double)n;
  }
  EP_CHECK(mean > 1e-12 * pow(ep_mat_max(&X), 2), EP_ERR_INPUT,
           "the images are blank: no patch has any contrast");
  l->floor = floor_share * mean;
  ep_mat_copy(&Y, &X);
  EP_PICK(X.prec, ep_coder_contrast)(&Y, l); /* the mean is still 0 */
  EP_TRY(whitening(work, l, &Y));
  EP_PICK(X.prec, ep_coder_whiten)(&Y, &X, l);
  EP_TRY(choose_filters(l, &Y, var));
  const ep_mat judged = ep_mat_rows(&Y, n - JUDGED, JUDGED);
  return threshold(work, l, &judged);
}

/* ---- neighbours */

typedef struct {
  ep_mat X, Y, Z, A, G; /* (3 BLOCK, d) twice, K, M; (BLOCK, M) sums of groups */
  ep_mat B, S;          /* (M, M) upper triangles of the sums over places and over groups */
  double *mean;         /* (M) */
} near_sums;

static void add_block(near_sums *s, const ep_coder *l, const ep_mat *images, ep_random *r,
                      bool more) {
  for (ptrdiff_t i = 0; i < BLOCK; i++) {
    place p = draw_place(l, images, l->near, r);
    const place right = {p.image, p.top, p.left + l->near},
                below = {p.image, p.top + l->near, p.left};
    take(&s->X, 3 * i, l, images, p);
    take(&s->X, 3 * i + 1, l, images, right);
    take(&s->X, 3 * i + 2, l, images, below);
  }
  EP_PICK(s->X.prec, ep_coder_cosines)(&s->Z, &s->X, &s->Y, l);
  EP_PICK(s->X.prec, ep_coder_code)(&s->A, &s->Z, l);
  ep_mat_fill(&s->G, 0);
  for (ptrdiff_t i = 0; i < 3 * BLOCK; i++) {
    const ep_mat g = ep_mat_rows(&s->G, i / 3, 1), a = ep_mat_rows(&s->A, i, 1);
    ep_mat_axpy(&g, 1, &a);
  }
  for (ptrdiff_t i = 0; i < BLOCK; i++)
    for (ptrdiff_t j = 0; j < s->G.cols; j++) s->mean[j] += ep_get(&s->G, i, j);
  ep_mat_gram_cols(&s->B, 1, &s->A, more);
  ep_mat_gram_cols(&s->S, 1, &s->G, more);
}

static ep_status open_sums(near_sums *s, ep_work *work, const ep_coder *l, ep_precision prec) {
  const ptrdiff_t d = ep_coder_numbers(l), M = ep_coder_codes(l), n = 3 * (ptrdiff_t)BLOCK;
  const double need = (double)M * (double)M * (2 * (double)ep_sizeof(prec) + 24);
  EP_CHECK(
      need <= ep_run_room(), EP_ERR_ARG,
      "the neighbours of %td codes take %.0f MiB, more than --memory: fewer filters, or no near", M,
      ceil(need / 1048576));
  EP_TRY(ep_work_mat(work, &s->X, prec, n, d));
  EP_TRY(ep_work_mat(work, &s->Y, prec, n, d));
  EP_TRY(ep_work_mat(work, &s->Z, prec, n, l->filters));
  EP_TRY(ep_work_mat(work, &s->A, prec, n, M));
  EP_TRY(ep_work_mat(work, &s->G, prec, BLOCK, M));
  EP_TRY(ep_work_mat(work, &s->B, prec, M, M));
  EP_TRY(ep_work_mat(work, &s->S, prec, M, M));
  return ep_work_get(work, &s->mean, M, sizeof *s->mean);
}

/* A = (S - B) / pairs - mm', B = B / views - mm', ridge included */
static void centre(const ep_mat *A, const ep_mat *B, const near_sums *s, double groups) {
  double trace = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = i; j < A->cols; j++) {
      const double b = ep_get(&s->B, i, j), mm = s->mean[i] * s->mean[j];
      *ep_d(A, i, j) = (ep_get(&s->S, i, j) - b) / (6 * groups) - mm;
      *ep_d(B, i, j) = b / (3 * groups) - mm;
    }
  for (ptrdiff_t i = 0; i < A->rows; i++) trace += *ep_d(B, i, i);
  for (ptrdiff_t i = 0; i < A->rows; i++) *ep_d(B, i, i) += near_ridge * trace / (double)A->rows;
  ep_mat_mirror(A);
  ep_mat_mirror(B);
}

static ep_status neighbours(ep_work *work, ep_coder *l, const ep_mat *images, uint64_t seed,
                            uint32_t stream) {
  const ptrdiff_t M = ep_coder_codes(l), L = l->keep;
  const ptrdiff_t groups = GROUPS > 12 * M ? GROUPS : 12 * M, blocks = (groups + BLOCK - 1) / BLOCK;
  near_sums s = {0};
  ep_mat A, B, E;
  double *lambda;
  ep_eigen_info info;
  ep_eigen_config config;
  ep_random r = ep_random_new(seed, EP_STREAM_PATCH, stream);
  EP_TRY(open_sums(&s, work, l, images->prec));
  for (ptrdiff_t b = 0; b < blocks; b++) {
    EP_TRY(ep_run_step("neighbours", (double)(b * BLOCK), (double)groups));
    add_block(&s, l, images, &r, b > 0);
  }
  for (ptrdiff_t j = 0; j < M; j++) s.mean[j] /= 3 * (double)(blocks * BLOCK);
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, M, M));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, M, M));
  EP_TRY(ep_work_mat(work, &E, EP_DOUBLE, M, L));
  EP_TRY(ep_work_get(work, &lambda, L, sizeof *lambda));
  centre(&A, &B, &s, (double)(blocks * BLOCK));
  EP_CHECK(ep_mat_cholesky(&B) == EP_OK, EP_ERR_NUMERIC, "the codes of patches are all the same");
  ep_options_default(ep_eigen_options, &config);
  config.eigen_tolerance = images->prec == EP_SINGLE ? 1e-4 : 1e-10;
  EP_TRY(ep_eigen_generalised(&E, lambda, &info, &A, &B, &config, seed));
  ep_mat_copy(&l->E, &E);
  for (ptrdiff_t k = 0; k < L; k++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < M; j++) sum += s.mean[j] * *ep_d(&E, j, k);
    ep_set(&l->shift, 0, k, sum);
  }
  return EP_OK;
}

/* LL' = whiten whiten' */
static ep_status factor(ep_work *work, const ep_mat *L, const ep_mat *whiten) {
  ep_mat W, P;
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, L->rows, L->rows));
  EP_TRY(ep_work_mat(work, &P, EP_DOUBLE, L->rows, L->rows));
  ep_mat_copy(&W, whiten);
  ep_mat_gram(&P, 1, &W, 0);
  EP_CHECK(ep_mat_cholesky(&P) == EP_OK, EP_ERR_INPUT, "the whitening of patches is singular");
  ep_mat_copy(L, &P);
  return EP_OK;
}

ep_status ep_coder_ready(ep_coder *l) {
  ep_work work = {0};
  EP_TRY(ep_mat_new(&l->L, l->F.prec, l->F.cols, l->F.cols));
  EP_TRY(ep_mat_new(&l->cosine, l->F.prec, l->F.rows, l->F.cols));
  ep_mat_mul(&l->cosine, 1, &l->F, EP_N, &l->whiten, EP_N, 0);
  const ep_status st = factor(&work, &l->L, &l->whiten);
  ep_work_free(&work);
  return st;
}

static ep_status make_room(ep_coder *l, ep_precision prec) {
  const ptrdiff_t d = ep_coder_numbers(l);
  EP_TRY(ep_mat_new(&l->mean, prec, 1, d));
  EP_TRY(ep_mat_new(&l->whiten, prec, d, d));
  EP_TRY(ep_mat_new(&l->F, prec, l->filters, d));
  if (!l->keep) return EP_OK;
  EP_TRY(ep_mat_new(&l->E, prec, ep_coder_codes(l), l->keep));
  return ep_mat_new(&l->shift, prec, 1, l->keep);
}

ep_status ep_coder_fit(ep_coder *l, const ep_mat *images, uint64_t seed, int number) {
  const uint32_t stream = UINT32_MAX - 1 - 2 * (uint32_t)number; /* far from those of `patches` */
  ep_work work = {0};
  EP_TRY(ep_coder_check(l));
  EP_TRY(make_room(l, images->prec));
  EP_TRY(ep_run_step("patches", 0, 0));
  ep_status st = first_steps(&work, l, images, seed, stream);
  ep_work_free(&work);
  if (!st) st = ep_coder_ready(l);
  if (!st && l->keep) st = neighbours(&work, l, images, seed, stream - 1);
  ep_work_free(&work);
  return st;
}

/* ---- scratch of a thread */

ep_status ep_coder_scratch_new(ep_coder_scratch *s, ep_work *work, const ep_coder *l,
                               ep_precision prec) {
  const ep_image_shape at = ep_coder_places(l);
  const ptrdiff_t n = (at.height + l->grid - 1) / l->grid * at.width, d = ep_coder_numbers(l);
  const ptrdiff_t pixels = (ptrdiff_t)l->in.channels * l->in.height * l->in.width;
  EP_TRY(ep_work_mat(work, &s->X, prec, n, d));
  EP_TRY(ep_work_mat(work, &s->Y, prec, n, d));
  EP_TRY(ep_work_mat(work, &s->R, prec, n, l->filters));
  EP_TRY(ep_work_get(work, &s->row, n, sizeof *s->row));
  EP_TRY(ep_work_mat(work, &s->cell, prec, 1, ep_coder_channels(l)));
  EP_TRY(ep_work_mat(work, &s->h, prec, 1, l->keep ? l->keep : 1));
  EP_TRY(ep_work_mat(work, &s->value, prec, 1, ep_coder_codes(l) + 1));
  EP_TRY(ep_work_mat(work, &s->flipped, prec, 1, l->mirror ? pixels : 1));
  EP_TRY(ep_work_mat(work, &s->more, prec, 1,
                     l->mirror ? ep_coder_channels(l) * l->grid * l->grid : 1));
  return ep_work_get(work, &s->index, ep_coder_codes(l) + 1, sizeof *s->index);
}
