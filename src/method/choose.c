/* Ridge and outputs of `whitened` chosen without labels (theory: section 11): a tenth of the anchors is held out, W is found from the
 * others, and what counts is the correlation of outputs across views of points that it has not seen,
 *
 *   rho_k = w_k'A_h w_k / w_k'B_h w_k,   A_h, B_h the covariances of the held-out anchors.
 *
 * ridge    the one with the largest mean of rho; where the outputs are open too, of what rho has above its noise
 * outputs  how many rho are above their noise, three deviations 1 / sqrt(anchors held out)
 *
 * The sums of both parts are those of all, so that the fit itself costs nothing more. */
#include "method/choose.h"

#include "core/mem.h"
#include "method/methods.h"

#include <eigenpair/views.h>
#include <math.h>
#include <stdlib.h>

static const double ridges[] = {1e-4, 1e-3, 1e-2, 1e-1, 1};
enum { RIDGES = sizeof ridges / sizeof *ridges, SEGMENTS = 10, MOST_OUTPUTS = 1024 };

bool ep_choice_open(const ep_setup *s) {
  return s->closed.ridge == EP_AUTO || s->net.outputs == EP_AUTO;
}

double ep_choice_bytes(double sums, const ep_setup *s) { return ep_choice_open(s) ? 2 * sums : 0; }

ptrdiff_t ep_choice_outputs(ptrdiff_t m, const ep_setup *s) {
  const ptrdiff_t most = m < MOST_OUTPUTS ? m : MOST_OUTPUTS;
  return s->net.outputs == EP_AUTO ? most : s->net.outputs;
}

/* a tenth of every tenth is held out: data may be sorted */
ep_status ep_choice_sums(ep_sum *fit, ep_sum *held, const ep_map *map, const ep_points *points) {
  const ptrdiff_t n = points->pairs.anchors;
  EP_CHECK(
      n >= 10 * SEGMENTS, EP_ERR_INPUT,
      "%td anchors are too few: some are held out, which takes %d; fit with numbers for --ridge "
      "and --outputs holds none",
      n, 10 * SEGMENTS);
  for (ptrdiff_t k = 0; k < SEGMENTS; k++) {
    const ptrdiff_t a = n * k / SEGMENTS, b = n * (k + 1) / SEGMENTS, cut = b - (b - a) / 10;
    EP_TRY(ep_sum_whitened_some(fit, map, points, (ep_share){a, cut - a}));
    EP_TRY(ep_sum_whitened_some(held, map, points, (ep_share){cut, b - cut}));
  }
  return EP_OK;
}

/* T = S W */
static ep_status times(const ep_mat *T, const ep_mat *S, const ep_mat *W, ep_dist *spread) {
  if (spread) return spread->mul(spread, T, S->data, W);
  ep_mat_mul(T, 1, S, EP_N, W, EP_N, 0);
  return EP_OK;
}

/* rho[k] of the columns of W; T (M x Z) is scratch. w'A w = (w'Cw - w'Bw) / pairs - (w'm)^2 */
static ep_status correlations(double *rho, const ep_mat *W, const ep_mat *T, const ep_sum *held) {
  for (int pass = 0; pass < 2; pass++) {
    EP_TRY(times(T, pass ? &held->C : &held->B, W, held->spread));
    for (ptrdiff_t k = 0; k < W->cols; k++) {
      double square = 0, mean = 0;
      for (ptrdiff_t i = 0; i < W->rows; i++) {
        square += *ep_d(W, i, k) * *ep_d(T, i, k);
        mean += *ep_d(W, i, k) * *ep_d(&held->psi, 0, i) / held->views;
      }
      if (pass == 0) rho[k] = square;
      else {
        const double total = rho[k] / held->views - mean * mean;
        const double across = (square - rho[k]) / held->pairs - mean * mean;
        rho[k] = total > 0 ? across / total : 0;
      }
    }
  }
  return EP_OK;
}

typedef struct {
  ep_sum sum; /* of one ridge: lost in solving */
  ep_mat W, T;
  double *lambda, *rho;
} attempt;

static ep_status solve(attempt *t, const ep_sum *fit, double ridge, const ep_setup *s) {
  double unused;
  ep_eigen_info info;
  ep_mat_copy(&t->sum.B, &fit->B);
  ep_mat_copy(&t->sum.C, &fit->C);
  ep_mat_copy(&t->sum.psi, &fit->psi);
  t->sum.views = fit->views, t->sum.pairs = fit->pairs, t->sum.anchors = fit->anchors;
  t->sum.prec = fit->prec;
  return ep_whitened_eigenpairs(&t->W, t->lambda, &info, &unused, &t->sum, ridge, s);
}

/* of spread sums both triangles are there; what is added up later is the upper one */
static void fill_in(const ep_sum *held) {
  if (held->spread) return;
  ep_mat_mirror(&held->B);
  ep_mat_mirror(&held->C);
}

static double score(const double *rho, ptrdiff_t z, double noise, bool open, ptrdiff_t *above) {
  double mean = 0, surplus = 0;
  *above = 0;
  for (ptrdiff_t k = 0; k < z; k++) {
    mean += rho[k] / (double)z;
    surplus += fmax(rho[k] - noise, 0);
    *above += rho[k] > noise;
  }
  return open ? surplus : mean;
}

static ep_status try_all(ep_choice *out, ep_fit_info *info, attempt *t, const ep_sum *fit,
                         const ep_sum *held, const ep_setup *s) {
  const bool open = s->net.outputs == EP_AUTO, given = s->closed.ridge != EP_AUTO;
  const double noise = 3 / sqrt(held->anchors);
  double best = -INFINITY;
  for (int k = 0; k < (given ? 1 : RIDGES); k++) {
    const double ridge = given ? s->closed.ridge : ridges[k];
    ptrdiff_t above;
    EP_TRY(ep_run_step("ridges", k, given ? 1 : RIDGES));
    EP_TRY(solve(t, fit, ridge, s));
    EP_TRY(correlations(t->rho, &t->W, &t->T, held));
    const double found = score(t->rho, t->W.cols, noise, open, &above);
    EP_TRY(ep_fit_explain(
        info,
        "ridge %-7g cross-view correlation of %.0f held-out anchors: %s %.4g over "
        "%td outputs, %td above noise (%.3g)",
        ridge, held->anchors, open ? "surplus" : "mean", found, t->W.cols, above, noise));
    if (!(found > best)) continue;
    best = found;
    out->ridge = ridge;
    out->outputs = open ? (above > 0 ? above : 1) : t->W.cols;
  }
  return EP_OK;
}

static ep_status choose(ep_work *work, attempt *t, ep_choice *out, ep_fit_info *info,
                        const ep_sum *fit, const ep_sum *held, const ep_setup *s) {
  const ptrdiff_t m = ep_sum_features(fit), most = ep_choice_outputs(m, s);
  const ptrdiff_t few = (ptrdiff_t)(fit->anchors / 4);
  const ptrdiff_t outputs = s->net.outputs == EP_AUTO && few < most ? few : most;
  EP_CHECK(outputs <= m, EP_ERR_ARG, "--outputs %td is more than the %td features", outputs, m);
  EP_TRY(ep_work_mat(work, &t->W, EP_DOUBLE, m, outputs));
  EP_TRY(ep_work_mat(work, &t->T, EP_DOUBLE, m, outputs));
  EP_TRY(ep_work_get(work, &t->lambda, outputs, sizeof *t->lambda));
  EP_TRY(ep_work_get(work, &t->rho, outputs, sizeof *t->rho));
  EP_CHECK(fit->pairs > 0 && held->pairs > 0, EP_ERR_INPUT,
           "method whitened needs two views of a point: a positive");
  fill_in(held);
  EP_TRY(try_all(out, info, t, fit, held, s));
  if (s->closed.ridge == EP_AUTO)
    EP_TRY(ep_fit_note(info, "ridge %g: the best of %d on a tenth of the anchors, held out",
                       out->ridge, RIDGES));
  if (s->net.outputs == EP_AUTO)
    EP_TRY(ep_fit_note(info, "%td outputs: what two views share of points that were held out",
                       out->outputs));
  return ep_fit_number(info, "ridge_share", json_real(out->ridge));
}

ep_status ep_choice_make(ep_choice *out, ep_fit_info *info, const ep_sum *fit, const ep_sum *held,
                         const ep_setup *setup) {
  ep_work work = {0};
  attempt t = {0};
  ep_status st = ep_sum_new_like(&t.sum, fit);
  if (!st) st = choose(&work, &t, out, info, fit, held, setup);
  ep_sum_free(&t.sum);
  ep_work_free(&work);
  return st;
}

/* ---- the spectrum itself, for `views` */

static int falling(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

static ep_status find_spectrum(ep_work *work, attempt *t, ep_view_spectrum *out, const ep_map *map,
                               const ep_points *points, const ep_setup *s) {
  const ptrdiff_t m = map->count, z = out->outputs;
  ep_sum fit = {0}, held = {0};
  EP_TRY(ep_work_mat(work, &t->W, EP_DOUBLE, m, z));
  EP_TRY(ep_work_mat(work, &t->T, EP_DOUBLE, m, z));
  EP_TRY(ep_work_get(work, &t->lambda, z, sizeof *t->lambda));
  ep_status st = ep_sum_new(&fit, m, true);
  if (!st) st = ep_sum_new(&held, m, true);
  if (!st) st = ep_sum_new(&t->sum, m, true);
  if (!st) st = ep_choice_sums(&fit, &held, map, points);
  if (!st) st = solve(t, &fit, s->closed.ridge, s);
  if (!st) {
    fill_in(&held);
    st = correlations(out->rho, &t->W, &t->T, &held);
    out->held = held.anchors;
  }
  ep_sum_free(&t->sum);
  ep_sum_free(&held);
  ep_sum_free(&fit);
  return st;
}

static void judge(ep_view_spectrum *out) {
  qsort(out->rho, (size_t)out->outputs, sizeof *out->rho, falling);
  out->noise = 3 / sqrt(out->held);
  out->mean = score(out->rho, out->outputs, out->noise, false, &out->above);
  out->shared = score(out->rho, out->outputs, out->noise, true, &out->above);
}

ep_status ep_view_spectrum_new(ep_view_spectrum *out, const ep_points *points, const ep_setup *s) {
  ep_work work = {0};
  attempt t = {0};
  ep_map *map = NULL;
  *out = (ep_view_spectrum){.outputs = s->net.outputs};
  EP_CHECK(s->closed.ridge != EP_AUTO && out->outputs > 0, EP_ERR_ARG,
           "a spectrum takes a ridge and outputs by number");
  EP_TRY(ep_whitened_map(&map, NULL, points, s));
  ep_status st = EP_OK;
  if (out->outputs > map->count) out->outputs = map->count;
  if (!(out->rho = ep_alloc((size_t)out->outputs, sizeof *out->rho)))
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for a spectrum");
  if (!st) st = find_spectrum(&work, &t, out, map, points, s);
  if (!st) judge(out);
  else ep_view_spectrum_free(out);
  ep_map_free(map);
  ep_work_free(&work);
  return st;
}

void ep_view_spectrum_free(ep_view_spectrum *s) {
  ep_release(s->rho);
  s->rho = NULL;
}
