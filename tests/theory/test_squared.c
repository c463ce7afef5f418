/* Squared loss in closed form, against plain steps, a fine flow and regression; ode against an exact solution. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/ode.h>
#include <eigenpair/squared.h>

enum { N = 9, Z = 2, TEST = 4 };

/* K = A A' / 6 for N points and TEST new ones, rank 12 */
static void make_kernel(ep_mat *K, ep_mat *Kx, ptrdiff_t rank) {
  ep_mat A = random_mat(EP_DOUBLE, N + TEST, rank, 51);
  const ep_mat X = ep_mat_rows(&A, 0, N), T = ep_mat_rows(&A, N, TEST);
  CHECK_OK(ep_mat_new(K, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(Kx, EP_DOUBLE, TEST, N));
  ep_mat_gram(K, 1. / 6, &X, 0);
  ep_mat_mul(Kx, 1. / 6, &T, EP_N, &X, EP_T, 0);
  ep_mat_free(&A);
}

/* f <- f - rate K (f - y), and the same for new points, t times */
static void steps_by_hand(ep_mat *F, ep_mat *Fx, const ep_mat *K, const ep_mat *Kx, const ep_mat *Y,
                          double rate, int t) {
  ep_mat R;
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, N, Z));
  for (int i = 0; i < t; i++) {
    ep_mat_copy(&R, F);
    ep_mat_axpy(&R, -1, Y);
    ep_mat_mul(F, -rate, K, EP_N, &R, EP_N, 1);
    ep_mat_mul(Fx, -rate, Kx, EP_N, &R, EP_N, 1);
  }
  ep_mat_free(&R);
}

static void check_times(ptrdiff_t rank) {
  ep_mat K, Kx, Y = random_mat(EP_DOUBLE, N, Z, 52), F0 = random_mat(EP_DOUBLE, N, Z, 53);
  ep_mat F0x = random_mat(EP_DOUBLE, TEST, Z, 54), F, Fx, G, Gx, C;
  ep_squared *s;
  make_kernel(&K, &Kx, rank);
  CHECK_OK(ep_squared_new(&s, &K));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&Fx, EP_DOUBLE, TEST, Z));
  CHECK_OK(ep_mat_new(&Gx, EP_DOUBLE, TEST, Z));
  for (int flow = 0; flow < 2; flow++)
    for (int t = 0; t < 40; t += 13) {
      const double rate = 0.9 * ep_squared_critical_rate(s);
      const int fine = flow ? 20000 : 1;
      ep_mat_copy(&F, &F0);
      ep_mat_copy(&Fx, &F0x);
      steps_by_hand(&F, &Fx, &K, &Kx, &Y, rate / fine, t * fine);
      CHECK_OK(ep_squared_train(&G, s, &F0, &Y, rate, t, !flow));
      CHECK_OK(ep_squared_coefficients(&C, s, &F0, &Y, rate, t, !flow));
      ep_mat_copy(&Gx, &F0x);
      ep_mat_mul(&Gx, 1, &Kx, EP_N, &C, EP_N, 1);
      CHECK_NEAR(mat_gap(&F, &G), 0, flow ? 1e-3 : 1e-12);
      CHECK_NEAR(mat_gap(&Fx, &Gx), 0, flow ? 1e-3 : 1e-12);
    }
  ep_squared_free(s);
  for (int i = 0; i < 10; i++)
    ep_mat_free((ep_mat *[]){&K, &Kx, &Y, &F0, &F0x, &F, &Fx, &G, &Gx, &C}[i]);
}

/* full rank, and rank-deficient: what the kernel cannot reach stays */
static void times(void **state) {
  (void)state;
  check_times(12);
  check_times(5);
}

/* t = infinity: training targets are met, new points are K(x, X) K^{-1} Y when f_0 = 0 */
static void infinity(void **state) {
  (void)state;
  ep_mat K, Kx, Y = random_mat(EP_DOUBLE, N, Z, 52), F0, F, C, L, S;
  ep_squared *s;
  make_kernel(&K, &Kx, 30);
  CHECK_OK(ep_squared_new(&s, &K));
  CHECK_OK(ep_mat_new(&F0, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&L, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, N, Z));
  CHECK_OK(ep_squared_train(&F, s, &F0, &Y, 1, INFINITY, 0));
  CHECK_NEAR(mat_gap(&F, &Y), 0, 1e-12);
  CHECK_OK(ep_squared_coefficients(&C, s, &F0, &Y, 1, INFINITY, 0));
  ep_mat_copy(&L, &K); /* K^{-1} Y by Cholesky */
  ep_mat_copy(&S, &Y);
  CHECK_OK(ep_mat_cholesky(&L));
  ep_mat_solve_triangular(&S, &L, EP_N);
  ep_mat_solve_triangular(&S, &L, EP_T);
  CHECK_NEAR(mat_gap(&C, &S), 0, 1e-9);
  const double *l = ep_squared_eigenvalues(s);
  CHECK_NEAR(ep_squared_stable_rate(s), 2 / l[N - 1], 0);
  CHECK_NEAR(ep_squared_critical_rate(s), 2 / (l[0] + l[N - 1]), 1e-15);
  CHECK_STATUS(ep_squared_train(&F, s, &F0, &Y, 1.01 * ep_squared_stable_rate(s), INFINITY, 1),
               EP_ERR_ARG);
  ep_squared_free(s);
  for (int i = 0; i < 8; i++) ep_mat_free((ep_mat *[]){&K, &Kx, &Y, &F0, &F, &C, &L, &S}[i]);
}

/* Below 2 / lambda_max steps converge, above they do not. */
static void stability(void **state) {
  (void)state;
  ep_mat K, Kx, Y = random_mat(EP_DOUBLE, N, Z, 52), F0 = random_mat(EP_DOUBLE, N, Z, 53), F;
  ep_squared *s;
  make_kernel(&K, &Kx, 30);
  CHECK_OK(ep_squared_new(&s, &K));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, N, Z));
  CHECK_OK(ep_squared_train(&F, s, &F0, &Y, 0.99 * ep_squared_stable_rate(s), 1e6, 1));
  CHECK_NEAR(mat_gap(&F, &Y), 0, 1e-9);
  CHECK_OK(ep_squared_train(&F, s, &F0, &Y, 1.01 * ep_squared_stable_rate(s), 5000, 1));
  assert_true(mat_gap(&F, &Y) > 1e10);
  ep_squared_free(s);
  for (int i = 0; i < 5; i++) ep_mat_free((ep_mat *[]){&K, &Kx, &Y, &F0, &F}[i]);
}

/* y1' = y2, y2' = -y1;  y' = y^2 blows up at t = 1 */
static ep_status oscillator(double *dy, const double *y, double t, void *user) {
  (void)t, (void)user;
  dy[0] = y[1];
  dy[1] = -y[0];
  return EP_OK;
}
static ep_status blow_up(double *dy, const double *y, double t, void *user) {
  (void)t, (void)user;
  dy[0] = y[0] * y[0];
  return EP_OK;
}
static ep_status failing(double *dy, const double *y, double t, void *user) {
  (void)dy, (void)y, (void)t, (void)user;
  return EP_FAIL(EP_ERR_NUMERIC, "no slope here");
}

static void ode(void **state) {
  (void)state;
  double y[2] = {1, 0};
  ep_ode_info info;
  CHECK_OK(ep_ode_flow(&info, y, 2, 0, 10, oscillator, NULL, 1e-10, 1e-12));
  assert_true(info.reached && info.evaluations > 50);
  CHECK_NEAR(y[0], cos(10), 1e-7);
  CHECK_NEAR(y[1], -sin(10), 1e-7);
  y[0] = 1;
  CHECK_OK(ep_ode_flow(&info, y, 1, 0, 2, blow_up, NULL, 1e-8, 1e-10));
  assert_false(info.reached);
  CHECK_NEAR(info.t, 1, 1e-3);
  CHECK_STATUS(ep_ode_flow(&info, y, 1, 0, 2, failing, NULL, 1e-8, 1e-10), EP_ERR_NUMERIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times),
      cmocka_unit_test(infinity),
      cmocka_unit_test(stability),
      cmocka_unit_test(ode),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
