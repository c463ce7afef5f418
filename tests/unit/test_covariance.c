/* Contrastive covariance against the double sum of its definition; its gradient against the losses it stands for. */
#include "core/mem.h"
#include "objective/gauss.h"
#include "random_mat.h"

#include <eigenpair/covariance.h>
#include <string.h>

static const char *const kinds[] = {"uniform",       "gaussian:0.3", "infonce:0.4", "infonce:0.4,1",
                                    "infonce:2,0.5", "triplet:0.7",  "triplet:-0.5"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double half_distance2(const ep_mat *F, ptrdiff_t i, const ep_mat *G, ptrdiff_t j) {
  double sum = 0;
  for (ptrdiff_t z = 0; z < F->cols; z++) sum += pow(ep_get(F, i, z) - ep_get(G, j, z), 2);
  return sum / 2;
}

/* row i of alpha straight from covariance.h, nothing shared with the code but the nearest distance taken out of
 * InfoNCE's exponents */
static void naive_row(double *row, const ep_alpha *a, const ep_mat *F, const ep_mat *F2,
                      ptrdiff_t i) {
  const double twin = F2 ? half_distance2(F, i, F2, i) : 0;
  double least = a->epsilon > 0 ? twin : INFINITY, sum = 0;
  for (ptrdiff_t j = 0; j < F->rows; j++)
    if (j != i) least = fmin(least, half_distance2(F, i, F, j));
  if (a->epsilon > 0) sum = a->epsilon * exp(-(twin - least) / a->tau);
  for (ptrdiff_t j = 0; j < F->rows; j++) {
    const double d = half_distance2(F, i, F, j);
    row[j] = 1;
    if (a->kind == EP_ALPHA_GAUSSIAN) row[j] = exp(-2 * d / (2 * a->tau));
    if (a->kind == EP_ALPHA_TRIPLET) row[j] = i != j && twin - d + a->tau > 0;
    if (a->kind == EP_ALPHA_GIVEN) row[j] = ep_get(&a->given, i, j);
    if (a->kind == EP_ALPHA_INFONCE) sum += row[j] = i == j ? 0 : exp(-(d - least) / a->tau);
  }
  for (ptrdiff_t j = 0; j < F->rows && a->kind == EP_ALPHA_INFONCE; j++) row[j] /= sum;
}

/* C = 1/(2N^2) sum_ij alpha_ij [ (a_i-a_j)(b_i-b_j)' - (a_i-a'_i)(b_i-b'_i)' ] */
static ep_mat naive(const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2, const ep_mat *a,
                    const ep_mat *a2, const ep_mat *b, const ep_mat *b2) {
  ep_mat C;
  const double n = (double)a->rows;
  double row[300];
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, a->cols, b->cols));
  for (ptrdiff_t i = 0; i < a->rows; i++) {
    naive_row(row, alpha, F, F2, i);
    for (ptrdiff_t j = 0; j < a->rows; j++) {
      const double w = row[j] / (2 * n * n);
      for (ptrdiff_t p = 0; p < a->cols; p++)
        for (ptrdiff_t q = 0; q < b->cols; q++) {
          double sum = (ep_get(a, i, p) - ep_get(a, j, p)) * (ep_get(b, i, q) - ep_get(b, j, q));
          if (a2)
            sum -= (ep_get(a, i, p) - ep_get(a2, i, p)) * (ep_get(b, i, q) - ep_get(b2, i, q));
          *ep_d(&C, p, q) += w * sum;
        }
    }
  }
  return C;
}

static void check(const ep_alpha *alpha, ptrdiff_t n, ptrdiff_t m, bool views, double spread) {
  ep_mat F = random_mat(EP_DOUBLE, n, m, 1), F2 = random_mat(EP_DOUBLE, n, m, 2);
  ep_mat a = random_mat(EP_DOUBLE, n, 3, 3), a2 = random_mat(EP_DOUBLE, n, 3, 4);
  ep_mat b = random_mat(EP_DOUBLE, n, 2, 5), b2 = random_mat(EP_DOUBLE, n, 2, 6), C;
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t z = 0; z < m; z++) { /* outliers every ninth point */
      ep_set(&F, i, z, spread * ep_get(&F, i, z) * (i % 9 ? 1 : 7));
      ep_set(&F2, i, z, ep_get(&F, i, z) + 0.3 * ep_get(&F2, i, z));
    }
  const ep_mat *x2 = views ? &F2 : NULL;
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, 3, 2));
  CHECK_OK(ep_covariance(&C, alpha, &F, x2, &a, views ? &a2 : NULL, &b, views ? &b2 : NULL));
  ep_mat reference = naive(alpha, &F, x2, &a, views ? &a2 : NULL, &b, views ? &b2 : NULL);
  CHECK_NEAR(mat_gap(&C, &reference), 0, 1e-13);
  for (int i = 0; i < 8; i++)
    ep_mat_free((ep_mat *[]){&F, &F2, &a, &a2, &b, &b2, &C, &reference}[i]);
}

/* every kind of weights, few and many points, features on the line (sums over the line) and in space (blocks) */
static void double_sum(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    ep_alpha alpha;
    CHECK_OK(ep_alpha_load(&alpha, kinds[k], ""));
    for (int views = 0; views < 2; views++)
      for (ptrdiff_t m = 1; m <= 4; m += 3) {
        check(&alpha, 2, m, views, 1);
        check(&alpha, 31, m, views, 1);
        check(&alpha, 300, m, views, 0.3);
        check(&alpha, 300, m, views, 3);
      }
  }
  ep_alpha given = {.kind = EP_ALPHA_GIVEN, .given = random_mat(EP_DOUBLE, 31, 31, 9)};
  check(&given, 31, 1, true, 1);
  check(&given, 31, 4, false, 1);
  ep_alpha_free(&given);
}

/* uniform weights: Cov[a, b] - 1/(2N) sum (a-a')(b-b')' */
static void uniform_is_covariance(void **state) {
  (void)state;
  enum { N = 50 };
  const ep_alpha alpha = {.kind = EP_ALPHA_UNIFORM};
  ep_mat a = random_mat(EP_DOUBLE, N, 2, 3), a2 = random_mat(EP_DOUBLE, N, 2, 4), C;
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, 2, 2));
  CHECK_OK(ep_covariance(&C, &alpha, &a, NULL, &a, &a2, &a, &a2));
  for (int p = 0; p < 2; p++)
    for (int q = 0; q < 2; q++) {
      double mp = 0, mq = 0, c = 0, intra = 0;
      for (int i = 0; i < N; i++) mp += ep_get(&a, i, p) / N, mq += ep_get(&a, i, q) / N;
      for (int i = 0; i < N; i++) {
        c += (ep_get(&a, i, p) - mp) * (ep_get(&a, i, q) - mq) / N;
        intra += (ep_get(&a, i, p) - ep_get(&a2, i, p)) * (ep_get(&a, i, q) - ep_get(&a2, i, q));
      }
      CHECK_NEAR(ep_get(&C, p, q), c - intra / (2 * N), 1e-14);
    }
  ep_mat_free(&a);
  ep_mat_free(&a2);
  ep_mat_free(&C);
}

/* Sums over the line, against the sum as it stands: clustered, spread, all equal, very far apart, cut off by relu. */
static void line(void **state) {
  (void)state;
  enum { N = 900 };
  ep_mat g = random_mat(EP_DOUBLE, N, 1, 11), V = random_mat(EP_DOUBLE, N, 3, 12), S;
  const double spreads[] = {0, 1e-3, 1, 30, 800, 1e6};
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, N, 3));
  for (size_t s = 0; s < 2 * sizeof spreads / sizeof *spreads; s++) {
    double x[N];
    for (int i = 0; i < N; i++)
      x[i] = spreads[s / 2] * (s % 2 ? fmax(0, ep_get(&g, i, 0)) : 5 + ep_get(&g, i, 0));
    CHECK_OK(ep_gauss_sums(&S, x, N, &V, 0.2));
    for (int i = 0; i < N; i += 13)
      for (int k = 0; k < 3; k++) {
        double sum = 0, size = 0;
        for (int j = 0; j < N; j++) {
          const double w = exp(-pow(x[i] - x[j], 2) / 0.4);
          sum += w * ep_get(&V, j, k);
          size += w * fabs(ep_get(&V, j, k));
        }
        CHECK_NEAR(ep_get(&S, i, k), sum, 1e-13 * (1 + size));
      }
  }
  ep_mat_free(&g);
  ep_mat_free(&V);
  ep_mat_free(&S);
}

/* ---- the losses of which tr C_alpha is minus the gradient, times N^2 */

enum { LOSS_N = 7, LOSS_Z = 2 };

static double loss(const ep_alpha *a, const ep_mat *F, const ep_mat *F2) {
  double L = 0;
  for (ptrdiff_t i = 0; i < F->rows; i++) {
    const double twin = half_distance2(F, i, F2, i);
    double sum = a->epsilon * exp(-twin / a->tau);
    for (ptrdiff_t j = 0; j < F->rows; j++) {
      const double d = half_distance2(F, i, F, j);
      if (a->kind == EP_ALPHA_UNIFORM) L += twin - d; /* quadratic: sum_ij d_i - d_ij */
      else if (j == i) continue;
      else if (a->kind == EP_ALPHA_TRIPLET) L += fmax(0, twin - d + a->tau);
      else sum += exp(-d / a->tau);
    }
    /* InfoNCE, OPTIMA eq. 1 */
    if (a->kind == EP_ALPHA_INFONCE) L -= a->tau * (-twin / a->tau - log(sum));
  }
  return L;
}

static void check_gradient(const ep_alpha *alpha) {
  ep_mat F = random_mat(EP_DOUBLE, LOSS_N, LOSS_Z, 21),
         F2 = random_mat(EP_DOUBLE, LOSS_N, LOSS_Z, 22);
  ep_mat dF = random_mat(EP_DOUBLE, LOSS_N, LOSS_Z, 0),
         dF2 = random_mat(EP_DOUBLE, LOSS_N, LOSS_Z, 0);
  double energy;
  CHECK_OK(ep_covariance_energy(&energy, &dF, &dF2, alpha, &F, &F2));
  for (int view = 0; view < 2; view++)
    for (ptrdiff_t k = 0; k < LOSS_N * LOSS_Z; k++) {
      double *x = (double *)(view ? F2 : F).data + k, keep = *x, up, down;
      const double step = 1e-5;
      *x = keep + step, up = loss(alpha, &F, &F2);
      *x = keep - step, down = loss(alpha, &F, &F2);
      *x = keep;
      CHECK_NEAR(((double *)(view ? dF2 : dF).data)[k],
                 -(up - down) / (2 * step) / (LOSS_N * LOSS_N), 1e-9);
    }
  ep_mat C, none; /* the energy is the trace of the covariance */
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, LOSS_Z, LOSS_Z));
  CHECK_OK(ep_covariance(&C, alpha, &F, &F2, &F, &F2, &F, &F2));
  CHECK_NEAR(energy, ep_get(&C, 0, 0) + ep_get(&C, 1, 1), 1e-14);
  CHECK_OK(ep_covariance_energy(&energy, NULL, NULL, alpha, &F, NULL));
  none = naive(alpha, &F, NULL, &F, NULL, &F, NULL);
  CHECK_NEAR(energy, ep_get(&none, 0, 0) + ep_get(&none, 1, 1), 1e-14);
  for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&F, &F2, &dF, &dF2, &C, &none}[i]);
}

static void gradients(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    ep_alpha alpha;
    CHECK_OK(ep_alpha_load(&alpha, kinds[k], ""));
    if (alpha.kind != EP_ALPHA_GAUSSIAN) check_gradient(&alpha); /* no loss has these weights */
  }
}

/* Large N: the rows of alpha are never all there at once. */
static void memory(void **state) {
  (void)state;
  enum { N = 6000 };
  ep_mat F = random_mat(EP_DOUBLE, N, 3, 31), f = random_mat(EP_DOUBLE, N, 1, 31), LB;
  CHECK_OK(ep_mat_new(&LB, EP_DOUBLE, N, 3));
  for (int k = 0; k < KINDS; k++) {
    ep_alpha alpha;
    CHECK_OK(ep_alpha_load(&alpha, kinds[k], ""));
    const ep_mat *features = k % 2 ? &F : &f;
    ep_mem_peak_reset();
    const double before = (double)ep_mem_current();
    CHECK_OK(ep_alpha_apply(&LB, NULL, NULL, &alpha, features, NULL, &F));
    const double used = (double)ep_mem_peak() - before;
    assert_true(used <= ep_alpha_memory(&alpha, N, features->cols, 3));
    assert_true(used < 8. * N * N / 10);
  }
  ep_mat_free(&F);
  ep_mat_free(&f);
  ep_mat_free(&LB);
}

static void refusals(void **state) {
  (void)state;
  const char *const bad[] = {"cosine",      "uniform:1",   "gaussian:", "gaussian:x",
                             "gaussian:-1", "infonce:0",   "given:2",   "infonce:1,-1",
                             "infonce:1,",  "triplet:nan", "given",     "infonce:1,2,3"};
  ep_alpha alpha;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_STATUS(ep_alpha_load(&alpha, bad[i], ""), EP_ERR_ARG);
  CHECK_STATUS(ep_alpha_load(&alpha, "uniform", "a.npy"), EP_ERR_ARG);
  ep_mat F = random_mat(EP_DOUBLE, 4, 1, 1), LB = random_mat(EP_DOUBLE, 4, 1, 1);
  alpha = (ep_alpha){.kind = EP_ALPHA_GIVEN, .given = random_mat(EP_DOUBLE, 3, 3, 1)};
  CHECK_STATUS(ep_alpha_apply(&LB, NULL, NULL, &alpha, &F, NULL, &F), EP_ERR_SHAPE);
  const ep_mat one = ep_mat_rows(&F, 0, 1), out = ep_mat_rows(&LB, 0, 1);
  ep_alpha_free(&alpha);
  alpha = (ep_alpha){.kind = EP_ALPHA_UNIFORM};
  CHECK_STATUS(ep_alpha_apply(&out, NULL, NULL, &alpha, &one, NULL, &one), EP_ERR_INPUT);
  ep_mat_free(&F);
  ep_mat_free(&LB);
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat F = random_mat(EP_DOUBLE, 200, 1, 1), F2 = random_mat(EP_DOUBLE, 200, 1, 2), C;
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, 1, 1));
  for (int k = 0; k < KINDS; k++) {
    ep_alpha alpha;
    CHECK_OK(ep_alpha_load(&alpha, kinds[k], ""));
    const size_t before = ep_mem_current();
    ep_status st = EP_ERR_NOMEM;
    for (int n = 0; st == EP_ERR_NOMEM; n++) {
      ep_alloc_fail_after = n;
      st = ep_covariance(&C, &alpha, &F, &F2, &F, &F2, &F, &F2);
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
  }
  ep_mat_free(&F);
  ep_mat_free(&F2);
  ep_mat_free(&C);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(double_sum),    cmocka_unit_test(uniform_is_covariance),
      cmocka_unit_test(line),          cmocka_unit_test(gradients),
      cmocka_unit_test(memory),        cmocka_unit_test(refusals),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
