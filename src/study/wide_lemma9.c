/* WIDE Lemma 9, summed as it is printed: held against descent of the network, and integrated against the frozen kernel. */
#include "study/wide.h"

#include "core/vector.h"

#include <math.h>
#include <string.h>

/* ---- the right-hand side, term by term: no code of the objective or of the methods is used */

typedef struct {
  const ep_pairs *pairs;
  const ep_mat *K; /* (n, P Z^2): K_zi(x, y) of n points with the pair points */
  ptrdiff_t Z;
  bool cosine, softmax;
  double delta, tau;
} lemma9;

static double similarity(const lemma9 *l, const double *f, const double *g) {
  const double s = ep_dot(f, g, l->Z);
  return l->cosine
             ? s / ((sqrt(ep_dot(f, f, l->Z)) + l->delta) * (sqrt(ep_dot(g, g, l->Z)) + l->delta))
             : s;
}

/* g_i(x, y) = ds(x, y) / df_i(x) */
static double g_of(const lemma9 *l, const double *f, const double *g, ptrdiff_t i) {
  if (!l->cosine) return g[i];
  const double nf = sqrt(ep_dot(f, f, l->Z)), ng = sqrt(ep_dot(g, g, l->Z)), d = l->delta;
  const double along = nf > 0 ? similarity(l, f, g) * f[i] / (nf * (nf + d)) : 0;
  return g[i] / ((nf + d) * (ng + d)) - along;
}

/* dl / ds_q of anchor n: -a_q (linear), (share_q - 1{positive}) / tau (softmax, one positive) */
static double slope_of(const lemma9 *l, const double *F, ptrdiff_t n, ptrdiff_t q) {
  const ep_pairs *p = l->pairs;
  if (!l->softmax) return -p->sign[q];
  double all = 0, own = 0;
  for (ptrdiff_t k = p->start[n]; k < p->start[n + 1]; k++) {
    const double e = exp(similarity(l, F + p->anchor[n] * l->Z, F + p->partner[k] * l->Z) / l->tau);
    all += e;
    if (k == q) own = e;
  }
  return (own / all - (p->sign[q] > 0)) / l->tau;
}

/* dF (n x Z) = df(x)/dt at the n points of K, F (P x Z) the outputs at the pair points */
static void right_side(double *dF, const double *F, const lemma9 *l) {
  const ep_pairs *p = l->pairs;
  const ptrdiff_t Z = l->Z;
  memset(dF, 0, (size_t)(l->K->rows * Z) * sizeof *dF);
  for (ptrdiff_t n = 0; n < p->anchors; n++)
    for (ptrdiff_t q = p->start[n]; q < p->start[n + 1]; q++) {
      const ptrdiff_t a = p->anchor[n], b = p->partner[q];
      const double weight = slope_of(l, F, n, q) / (double)p->anchors;
      for (ptrdiff_t i = 0; i < Z; i++) {
        const double at_a = g_of(l, F + a * Z, F + b * Z, i);
        const double at_b = g_of(l, F + b * Z, F + a * Z, i);
        for (ptrdiff_t x = 0; x < l->K->rows; x++)
          for (ptrdiff_t z = 0; z < Z; z++)
            dF[x * Z + z] -= weight * (*ep_d(l->K, x, (a * Z + z) * Z + i) * at_a +
                                       *ep_d(l->K, x, (b * Z + z) * Z + i) * at_b);
      }
    }
}

/* F(t) by the classical Runge-Kutta method */
static ep_status integrate(double *F, ep_work *work, const lemma9 *l, double time, int steps) {
  const ptrdiff_t size = l->K->rows * l->Z;
  const double h = time / steps, at[4] = {0, h / 2, h / 2, h}, weight[4] = {1, 2, 2, 1};
  double *k, *sum, *y;
  EP_TRY(ep_work_get(work, &k, size, sizeof *k));
  EP_TRY(ep_work_get(work, &sum, size, sizeof *sum));
  EP_TRY(ep_work_get(work, &y, size, sizeof *y));
  for (int step = 0; step < steps; step++) {
    memset(k, 0, (size_t)size * sizeof *k);
    memset(sum, 0, (size_t)size * sizeof *sum);
    for (int stage = 0; stage < 4; stage++) {
      for (ptrdiff_t i = 0; i < size; i++) y[i] = F[i] + at[stage] * k[i];
      right_side(k, y, l);
      for (ptrdiff_t i = 0; i < size; i++) sum[i] += weight[stage] * k[i];
    }
    for (ptrdiff_t i = 0; i < size; i++) F[i] += h / 6 * sum[i];
  }
  return EP_OK;
}

/* ---- against the network */

/* largest |a - b| over the largest |b| */
static double apart(const double *a, const double *b, ptrdiff_t n) {
  double worst = 0, top = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    worst = fmax(worst, fabs(a[i] - b[i]));
    top = fmax(top, fabs(b[i]));
  }
  return worst / top;
}

static ep_status kernel_of(ep_mat *K, ep_work *work, const wide_fit *f, const ep_net *net,
                           const ep_mat *X) {
  const ptrdiff_t Z = net->W.cols;
  EP_TRY(ep_work_mat(work, K, EP_DOUBLE, X->rows, f->points.X.rows * Z * Z));
  return ep_ntk_empirical(NULL, K, net, X, &f->points.X, EP_FULL,
                          ep_run_memory(f->run) - (double)ep_memory_current());
}

/* E = (f after one step of length h - f) / h at the points X */
static ep_status by_step(double *out, ep_mat *before, const wide_fit *f, const ep_net *net,
                         const ep_mat *X, double h) {
  ep_model *now = NULL, *next = NULL;
  ep_fit_info info[2] = {{0}, {0}};
  ep_mat A = {0}, B = {0};
  f->setup->fit.rate = h;
  ep_status st = wide_fit_from(&now, &info[0], f, NULL, net, 0);
  if (!st) st = wide_fit_from(&next, &info[1], f, NULL, net, 1);
  if (!st) st = wide_embed(&A, now, X);
  if (!st) st = wide_embed(&B, next, X);
  for (ptrdiff_t i = 0; !st && i < A.rows * A.cols; i++)
    out[i] = (((double *)B.data)[i] - ((double *)A.data)[i]) / h;
  if (!st && before) st = wide_embed(before, now, &f->points.X);
  ep_mat_free(&A);
  ep_mat_free(&B);
  ep_model_free(now);
  ep_model_free(next);
  ep_fit_info_free(&info[0]);
  ep_fit_info_free(&info[1]);
  return st;
}

/* out[0]: Lemma 9 with K(t), out[1]: with K(0), against the slope of descent at new points X, after training */
static ep_status slopes(double out[2], ep_work *work, lemma9 *l, const wide_fit *f,
                        const ep_mat *X) {
  const ptrdiff_t size = X->rows * l->Z;
  const ep_net *const nets[] = {ep_model_net(f->model), ep_model_net(f->start)};
  const double h = 1e-3;
  double *coarse, *fine, *theory;
  ep_mat F = {0}, K;
  EP_TRY(ep_work_get(work, &coarse, size, sizeof *coarse));
  EP_TRY(ep_work_get(work, &fine, size, sizeof *fine));
  EP_TRY(ep_work_get(work, &theory, size, sizeof *theory));
  EP_TRY(by_step(coarse, &F, f, nets[0], X, h));
  ep_status st = by_step(fine, NULL, f, nets[0], X, h / 2);
  for (ptrdiff_t i = 0; i < size; i++) fine[i] = 2 * fine[i] - coarse[i]; /* h -> 0 */
  for (int k = 0; !st && k < 2; k++) {
    st = kernel_of(&K, work, f, nets[k], X);
    l->K = &K;
    if (!st) right_side(theory, F.data, l), out[k] = apart(theory, fine, size);
  }
  ep_mat_free(&F);
  return st;
}

/* ---- against the method kernel */

static ep_status flows(double *out, ep_work *work, lemma9 *l, wide_fit *f, double time) {
  ep_model *frozen = NULL;
  ep_fit_info info = {0};
  ep_mat F = {0}, G = {0}, K;
  EP_TRY(kernel_of(&K, work, f, ep_model_net(f->start), &f->points.X));
  l->K = &K;
  f->setup->fit.integrator = EP_INTEGRATOR_FLOW;
  f->setup->fit.flow_tolerance = 1e-10;
  f->setup->fit.rate = time / 10;
  ep_status st = wide_fit_again(&frozen, &info, f, "kernel", 10);
  if (!st) st = wide_embed(&F, f->start, &f->points.X);
  if (!st) st = wide_embed(&G, frozen, &f->points.X);
  if (!st) st = integrate(F.data, work, l, time, 1000);
  if (!st) *out = apart(F.data, G.data, F.rows * F.cols);
  ep_mat_free(&F);
  ep_mat_free(&G);
  ep_model_free(frozen);
  ep_fit_info_free(&info);
  return st;
}

/* ---- all of it */

enum { CASES = 4, MEASURED = 3 };
static const struct {
  const char *name;
  ep_similarity_kind similarity;
  const char *loss;
  bool softmax;
  double rate; /* 50 steps of it before the slope is looked at; the flow runs for 5 */
} cases[CASES] = {{"cosine_linear", EP_SIMILARITY_COSINE, "linear", false, 1},
                  {"cosine_softmax", EP_SIMILARITY_COSINE, "softmax", true, 1},
                  {"dot_linear", EP_SIMILARITY_DOT, "linear", false, 0.02},
                  {"dot_softmax", EP_SIMILARITY_DOT, "softmax", true, 0.02}};

static ep_status one_case(double out[MEASURED], int k, const char *images, long seed,
                          const ep_run_config *run) {
  const wide_setting s = {.data = images,
                          .similarity = cases[k].similarity,
                          .loss = cases[k].loss,
                          .activation = "tanh",
                          .outputs = 3,
                          .rate = cases[k].rate};
  const wide_size z = {10, 50, 1, 1, {30}};
  ep_dataset more = {0};
  ep_work work = {0};
  wide_fit f;
  ep_status st = wide_begin(&f, &s, &z, z.width[0], seed, run);
  if (!st) st = wide_train(&f);
  if (!st) {
    ep_data_config data = f.setup->data;
    snprintf(data.data, sizeof data.data, "%.500s:test", images);
    st = ep_dataset_load(NULL, &more, &data, &f.setup->run);
  }
  if (!st) {
    lemma9 l = {&f.points.pairs,
                NULL,
                3,
                s.similarity == EP_SIMILARITY_COSINE,
                cases[k].softmax,
                f.setup->objective.delta,
                f.setup->objective.temperature};
    ep_scale_to_unit(&more.X);
    st = slopes(out, &work, &l, &f, &more.X);
    if (!st) st = flows(&out[2], &work, &l, &f, 5 * cases[k].rate);
  }
  ep_dataset_free(&more);
  ep_work_free(&work);
  wide_free(&f);
  return st;
}

static ep_status lemma9_cases(ep_claim_result *r, ep_work *work, const char *images, int seeds,
                              const ep_run_config *run) {
  static const char *const names[MEASURED] = {"slope_error", "control_slope_error_with_K(0)",
                                              "flow_error"};
  claim_curve c[MEASURED];
  json_t *figure;
  r->pass = true;
  for (int q = 0; q < MEASURED; q++) EP_TRY(claim_curve_new(&c[q], work, CASES, seeds));
  for (int k = 0; k < CASES; k++)
    for (int i = 0; i < seeds; i++) {
      double out[MEASURED];
      EP_TRY(ep_run_step("cases", k * seeds + i, CASES * seeds));
      EP_TRY(one_case(out, k, images, run->seed + i, run));
      for (int q = 0; q < MEASURED; q++) c[q].x[k] = k + 1, *claim_at(&c[q], k, i) = out[q];
      r->pass = r->pass && out[0] <= 1e-6 && out[1] > 1e-3 && out[2] <= 1e-6;
    }
  EP_TRY(claim_figure(&figure, r, "errors", EP_FIGURE_SCATTER, "Lemma 9 and the network",
                      "Relative difference of Lemma 9's slope from that of descent with the kernel "
                      "of the moment and with that of the start, and of its integral from the "
                      "frozen-kernel flow; cases 1 to 4: cosine linear, cosine softmax, dot "
                      "linear, dot softmax.",
                      (ep_axis){"case", .log = false},
                      (ep_axis){"relative difference", .log = true}));
  for (int q = 0; q < MEASURED; q++) {
    double worst[CASES];
    for (int k = 0; k < CASES; k++)
      worst[k] = q == 1 ? claim_least(&c[q], k) : claim_worst(&c[q], k);
    EP_TRY(ep_claim_measure_all(r, names[q], worst, CASES));
    EP_TRY(claim_draw(figure, names[q], NULL, &c[q], false));
  }
  char text[300];
  snprintf(text, sizeof text,
           "%s, 10 triplets, width 30, 3 outputs, tanh, double precision, %d seeds. Slopes at 10 "
           "points of the test part after 50 epochs, by steps of 1e-3 and 5e-4; the flow by 1,000 "
           "Runge-Kutta steps of the printed sum, against fit --method kernel --integrator flow.",
           images, seeds);
  return ep_claim_note(r, text);
}

ep_status wide_lemma9(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_run_config in_double = *run;
  ep_work work = {0};
  in_double.precision = EP_DOUBLE;
  const ep_status st =
      lemma9_cases(r, &work, wide_images(size), claim_pick(size, 3, 5, 5), &in_double);
  ep_work_free(&work);
  return st;
}
