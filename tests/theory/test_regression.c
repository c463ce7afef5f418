/* Regression and Gaussian processes against each other; networks beside their linearisation. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/lee.h>
#include <eigenpair/powerlaw.h>
#include <eigenpair/regress.h>
#include <eigenpair/regression.h>
#include <string.h>

enum { N = 9, M = 4, Z = 2 };

/* K of N points and M new ones as one positive definite matrix of rank 20 */
static void kernels(ep_mat *all, ep_mat *K, ep_mat *Kx, double diagonal[M], uint32_t sub) {
  ep_mat A = random_mat(EP_DOUBLE, N + M, 20, sub);
  CHECK_OK(ep_mat_new(all, EP_DOUBLE, N + M, N + M));
  CHECK_OK(ep_mat_new(K, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(Kx, EP_DOUBLE, M, N));
  ep_mat_gram(all, 0.1, &A, 0);
  for (int i = 0; i < N + M; i++)
    for (int j = 0; j < N; j++) *(i < N ? ep_d(K, i, j) : ep_d(Kx, i - N, j)) = *ep_d(all, i, j);
  for (int i = 0; i < M; i++) diagonal[i] = *ep_d(all, N + i, N + i);
  ep_mat_free(&A);
}

/* (K + ridge) C = Y, by Cholesky and by eigenvalues; ridges many, one decomposition */
static void ridges(void **state) {
  (void)state;
  ep_mat all, K, Kx, Y = random_mat(EP_DOUBLE, N, Z, 3), C, E, R;
  double diagonal[M];
  ep_squared *s;
  kernels(&all, &K, &Kx, diagonal, 4);
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, N, Z));
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, N, Z));
  CHECK_OK(ep_squared_new(&s, &K));
  for (double ridge = 0; ridge < 100; ridge = 10 * ridge + 0.01) {
    CHECK_OK(ep_regression_ridge(&C, &K, &Y, ridge));
    CHECK_OK(ep_squared_ridge(&E, s, &Y, ridge));
    CHECK_NEAR(mat_gap(&C, &E), 0, 1e-11 * (1 + ep_mat_max(&C)));
    ep_mat_copy(&R, &Y);
    ep_mat_axpy(&R, -ridge, &C);
    ep_mat_mul(&R, -1, &K, EP_N, &C, EP_N, 1);
    CHECK_NEAR(ep_mat_max(&R), 0, 1e-12);
  }
  CHECK_STATUS(ep_regression_ridge(&C, &K, &Y, -1), EP_ERR_ARG);
  CHECK_STATUS(ep_squared_ridge(&C, s, &Y, -1), EP_ERR_ARG);
  ep_mat_fill(&K, 1);
  CHECK_STATUS(ep_regression_ridge(&C, &K, &Y, 0), EP_ERR_NUMERIC);
  ep_squared_free(s); /* singular: the pseudo-inverse, the mean of Y over N */
  CHECK_OK(ep_squared_new(&s, &K));
  CHECK_OK(ep_squared_ridge(&C, s, &Y, 0));
  double mean = 0;
  for (int i = 0; i < N; i++) mean += *ep_d(&Y, i, 1) / N;
  for (int i = 0; i < N; i++) CHECK_NEAR(*ep_d(&C, i, 1), mean / N, 1e-14);
  ep_squared_free(s);
  for (int i = 0; i < 7; i++) ep_mat_free((ep_mat *[]){&all, &K, &Kx, &Y, &C, &E, &R}[i]);
}

/* The posterior of one new point after another is the joint one: with P = (K_all + noise on the data)^{-1}, the new
 * points' block of P inverts to their covariance */
static void posterior(void **state) {
  (void)state;
  ep_mat all, K, Kx, Y = random_mat(EP_DOUBLE, N, Z, 3), mean, C;
  double diagonal[M], variance[M];
  kernels(&all, &K, &Kx, diagonal, 4);
  CHECK_OK(ep_mat_new(&mean, EP_DOUBLE, M, Z));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, N, Z));
  for (int noisy = 0; noisy < 2; noisy++) {
    CHECK_OK(ep_gp_posterior(&mean, variance, &K, &Kx, diagonal, &Y, 0.3 * noisy));
    CHECK_OK(ep_regression_ridge(&C, &K, &Y, 0.3 * noisy));
    for (int i = 0; i < M; i++) {
      /* conditioning by elimination: K and one new point, N steps of Gauss */
      double A[N + 1][N + 1];
      for (int r = 0; r <= N; r++)
        for (int c = 0; c <= N; c++) {
          const int a = r < N ? r : N + i, b = c < N ? c : N + i;
          A[r][c] = *ep_d(&all, a, b) + (r == c && r < N ? 0.3 * noisy : 0);
        }
      for (int p = 0; p < N; p++)
        for (int r = p + 1; r <= N; r++) {
          const double e = A[r][p] / A[p][p];
          for (int c = p; c <= N; c++) A[r][c] -= e * A[p][c];
        }
      CHECK_NEAR(variance[i], A[N][N], 1e-11);
      assert_true(variance[i] > 0 && variance[i] < diagonal[i]);
      for (int z = 0; z < Z; z++) {
        double sum = 0;
        for (int j = 0; j < N; j++) sum += *ep_d(&Kx, i, j) * *ep_d(&C, j, z);
        CHECK_NEAR(*ep_d(&mean, i, z), sum, 1e-11);
      }
    }
  }
  for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&all, &K, &Kx, &Y, &mean, &C}[i]);
}

/* Trained networks: at t = 0 the prior; when only the last layer learns (tangent kernel = NNGP), at t = infinity the
 * posterior without noise; in between, random linear models f_t = f_0 + B (Y - f_0) drawn one by one */
static void trained(void **state) {
  (void)state;
  enum { DRAWS = 40000 };
  ep_mat all, K, Kx, tall, T, Tx, Y = random_mat(EP_DOUBLE, N, 1, 3), mean, same;
  double diagonal[M], ntk_diagonal[M], variance[M], other[M];
  ep_squared *s, *k;
  kernels(&all, &K, &Kx, diagonal, 4);
  kernels(&tall, &T, &Tx, ntk_diagonal, 5);
  CHECK_OK(ep_mat_new(&mean, EP_DOUBLE, M, 1));
  CHECK_OK(ep_mat_new(&same, EP_DOUBLE, M, 1));
  CHECK_OK(ep_squared_new(&s, &T));
  CHECK_OK(ep_squared_new(&k, &K));
  CHECK_OK(ep_gp_trained(&mean, variance, s, &Tx, &K, &Kx, diagonal, &Y, 0.5, 0));
  for (int i = 0; i < M; i++) CHECK_NEAR(variance[i], diagonal[i], 1e-14);
  CHECK_NEAR(ep_mat_max(&mean), 0, 1e-14);
  CHECK_OK(ep_gp_trained(&mean, variance, k, &Kx, &K, &Kx, diagonal, &Y, 0.5, INFINITY));
  CHECK_OK(ep_gp_posterior(&same, other, &K, &Kx, diagonal, &Y, 0));
  CHECK_NEAR(mat_gap(&mean, &same), 0, 1e-10);
  for (int i = 0; i < M; i++) CHECK_NEAR(variance[i], other[i], 1e-10);

  CHECK_OK(ep_gp_trained(&mean, variance, s, &Tx, &K, &Kx, diagonal, &Y, 0.5, 2));
  ep_mat A = random_mat(EP_DOUBLE, N + M, 20, 4), F0, C, G, f;
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, 20, DRAWS));
  CHECK_OK(ep_mat_new(&f, EP_DOUBLE, N + M, DRAWS)); /* columns ~ N(0, K_all) */
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, N, DRAWS));
  CHECK_OK(ep_mat_new(&F0, EP_DOUBLE, N, DRAWS));
  ep_random_fill_normal(&G, 1, 78, 0);
  ep_mat_mul(&f, sqrt(0.1), &A, EP_N, &G, EP_N, 0);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < DRAWS; j++) *ep_d(&F0, i, j) = *ep_d(&Y, i, 0);
  const ep_mat start = ep_mat_rows(&f, 0, N), new = ep_mat_rows(&f, N, M);
  CHECK_OK(ep_squared_coefficients(&C, s, &start, &F0, 0.5, 2, 0));
  ep_mat_mul(&new, 1, &Tx, EP_N, &C, EP_N, 1);
  for (int i = 0; i < M; i++) {
    double m = 0, v = 0;
    for (int j = 0; j < DRAWS; j++) m += *ep_d(&new, i, j) / DRAWS;
    for (int j = 0; j < DRAWS; j++) v += pow(*ep_d(&new, i, j) - m, 2) / DRAWS;
    CHECK_NEAR(m, *ep_d(&mean, i, 0), 4 * sqrt(variance[i] / DRAWS));
    CHECK_NEAR(v / variance[i], 1, 0.03);
  }
  ep_squared_free(s);
  ep_squared_free(k);
  for (int i = 0; i < 14; i++)
    ep_mat_free(
        (ep_mat *[]){&all, &K, &Kx, &tall, &T, &Tx, &Y, &mean, &same, &A, &F0, &C, &G, &f}[i]);
}

/* ---- descent */

static ep_net_config network(const char *phi, long width, long depth, long outputs) {
  ep_net_config c;
  ep_options_default(ep_net_options, &c);
  snprintf(c.activation, sizeof c.activation, "%s", phi);
  c.width = width, c.depth = depth, c.outputs = outputs;
  return c;
}

/* With only W trained the model is linear: compare a net with linear activation and depth 1 by hand: two steps */
static void steps_by_hand(void **state) {
  (void)state;
  enum { W = 3, D = 2, P = 4 };
  ep_mat X = random_mat(EP_DOUBLE, P, D, 1), Y = random_mat(EP_DOUBLE, P, 1, 2), F, F0;
  const ep_net_config c = network("tanh", W, 1, 1);
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, P, 1));
  CHECK_OK(ep_mat_new(&F0, EP_DOUBLE, P, 1));
  for (int centred = 0; centred < 2; centred++) {
    ep_supervised *d;
    double v[W][D], w[W], loss, start[P], hand = 0;
    CHECK_OK(ep_supervised_new(&d, &c, &X, &Y, centred, 3));
    const ep_net *net = ep_supervised_net(d);
    for (int m = 0; m < W; m++) {
      w[m] = *ep_d(&net->W, m, 0);
      for (int j = 0; j < D; j++) v[m][j] = *ep_d(&net->V[0], m, j);
    }
    CHECK_OK(ep_supervised_outputs(&F0, d, &X));
    for (int step = 0; step <= 2; step++) {
      double dv[W][D] = {{0}}, dw[W] = {0};
      hand = 0;
      for (int p = 0; p < P; p++) {
        double f = 0, h[W];
        for (int m = 0; m < W; m++) {
          h[m] = tanh(v[m][0] * *ep_d(&X, p, 0) + v[m][1] * *ep_d(&X, p, 1));
          f += w[m] * h[m] / sqrt(W);
        }
        if (step == 0) start[p] = centred ? f : 0;
        const double e = f - start[p] - *ep_d(&Y, p, 0);
        hand += 0.5 * e * e;
        if (step == 2) *ep_d(&F0, p, 0) = f - start[p];
        for (int m = 0; m < W; m++) {
          dw[m] += e * h[m] / sqrt(W);
          for (int j = 0; j < D; j++)
            dv[m][j] += e * w[m] * (1 - h[m] * h[m]) * *ep_d(&X, p, j) / sqrt(W);
        }
      }
      for (int m = 0; m < W && step < 2; m++) {
        w[m] -= 0.3 * dw[m];
        for (int j = 0; j < D; j++) v[m][j] -= 0.3 * dv[m][j];
      }
    }
    CHECK_OK(ep_supervised_steps(&loss, d, 0.3, 2, INFINITY));
    CHECK_OK(ep_supervised_outputs(&F, d, &X));
    CHECK_NEAR(mat_gap(&F, &F0), 0, 1e-13);
    CHECK_OK(ep_supervised_steps(&loss, d, 0.3, 1, INFINITY));
    CHECK_NEAR(loss, hand, 1e-13);
    CHECK_OK(ep_supervised_steps(&loss, d, 1e3, 100, 1e6)); /* diverges, and stops */
    assert_true(!(loss <= 1e6));
    ep_supervised_free(d);
  }
  for (int i = 0; i < 4; i++) ep_mat_free((ep_mat *[]){&X, &Y, &F, &F0}[i]);
}

/* A very wide network is its linearisation; the three quantities fall with the width */
static void lee(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 8, 5, 1), Y = random_mat(EP_DOUBLE, 8, 1, 2);
  ep_mat T = random_mat(EP_DOUBLE, 6, 5, 3);
  ep_lee_run run[2];
  for (int wide = 0; wide < 2; wide++) {
    const ep_net_config c = network("erf", wide ? 16384 : 64, 1, 1);
    CHECK_OK(ep_lee_follow(&run[wide], &c, &X, &Y, &T, EP_LOSS_SQUARED, 0.5, 100, 7));
    assert_true(run[wide].loss[1] < run[wide].loss[0]);
    assert_true(run[wide].step[0] == 1 && run[wide].step[EP_LEE_TIMES - 1] == 100);
    CHECK_NEAR(run[wide].rate, 0.5 * run[wide].critical, 1e-15);
    for (int i = 1; i < EP_LEE_TIMES; i++) assert_true(run[wide].step[i] > run[wide].step[i - 1]);
  }
  assert_true(run[1].sup.outputs < 0.05 * run[0].sup.outputs && run[1].sup.outputs > 0);
  assert_true(run[1].sup.kernel < 0.1 * run[0].sup.kernel);
  CHECK_NEAR(run[1].sup.parameters / run[0].sup.parameters, 1. / 16, 0.03);
  const double x[] = {1, 2, 4, 8}, y[] = {3, 3 / sqrt(2), 1.5, 1.5 / sqrt(2)};
  CHECK_NEAR(ep_power_law_fit(x, y, 4).exponent, -0.5, 1e-14);
  for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&X, &Y, &T}[i]);
}

/* dL/df against central differences, both losses; far out the logistic one is linear, and finite */
static void residuals(void **state) {
  (void)state;
  ep_mat Y = random_mat(EP_DOUBLE, 6, 2, 5), F = random_mat(EP_DOUBLE, 6, 2, 6), D, G;
  CHECK_OK(ep_mat_new(&D, EP_DOUBLE, 6, 2));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, 6, 2));
  for (int i = 0; i < 12; i++) ((double *)Y.data)[i] = i % 3 ? 1 : -1;
  for (int loss = EP_LOSS_SQUARED; loss <= EP_LOSS_LOGISTIC; loss++) {
    ep_mat_copy(&D, &F);
    ep_supervised_residual(&D, &Y, (ep_supervised_loss)loss);
    for (int i = 0; i < 12; i++) {
      double side[2];
      for (int s = 0; s < 2; s++) {
        ep_mat_copy(&G, &F);
        ((double *)G.data)[i] += s ? 1e-5 : -1e-5;
        side[s] = ep_supervised_residual(&G, &Y, (ep_supervised_loss)loss);
      }
      CHECK_NEAR((side[1] - side[0]) / 2e-5, ((double *)D.data)[i], 1e-9);
    }
  }
  ep_mat_fill(&G, 1000);
  CHECK_NEAR(ep_supervised_residual(&G, &Y, EP_LOSS_LOGISTIC), 4000, 1e-9); /* 4 of 12 are wrong */
  for (int i = 0; i < 4; i++) ep_mat_free((ep_mat *[]){&Y, &F, &D, &G}[i]);
}

/* Two outputs do not meet: the linear model of both is that of each, and networks stay near it; cross-entropy likewise */
static void several_outputs(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 8, 5, 1), Y = random_mat(EP_DOUBLE, 8, 2, 2);
  ep_mat T = random_mat(EP_DOUBLE, 6, 5, 3);
  for (int loss = EP_LOSS_SQUARED; loss <= EP_LOSS_LOGISTIC; loss++) {
    ep_lee_run run[2];
    for (int i = 0; i < 16; i++)
      if (loss) ((double *)Y.data)[i] = ((double *)Y.data)[i] > 0 ? 1 : -1;
    for (int wide = 0; wide < 2; wide++) {
      const ep_net_config c = network("tanh", wide ? 8192 : 64, 1, 2);
      CHECK_OK(ep_lee_follow(&run[wide], &c, &X, &Y, &T, (ep_supervised_loss)loss, 0.5, 60, 7));
      assert_true(run[wide].loss[1] < run[wide].loss[0]);
    }
    assert_true(run[1].sup.outputs < 0.1 * run[0].sup.outputs && run[1].sup.outputs > 0);
    assert_true(run[1].sup.kernel < 0.2 * run[0].sup.kernel);
  }
  for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&X, &Y, &T}[i]);
}

/* The constants of the proof by other ways: |J|_F^2 is the trace of the kernel, the kernel's change as ep_lee_follow has it;
 * a linear network of one hidden layer has |J(theta) - J(theta~)|_F <= |X|_F |theta - theta~| / sqrt(M) */
static void constants(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 6, 5, 1), Y = random_mat(EP_DOUBLE, 6, 1, 2), K;
  const ep_net_config c = network("linear", 40, 1, 1), smooth = network("erf", 40, 1, 1);
  ep_lee_bounds b;
  ep_lee_run run;
  ep_net net;
  double trace = 0;
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 6, 6));
  CHECK_OK(ep_net_start(&net, &c, 5, 3, EP_DOUBLE));
  CHECK_OK(ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_TRACE, 1e9));
  for (int i = 0; i < 6; i++) trace += *ep_d(&K, i, i);
  CHECK_OK(ep_lee_check(&b, &c, &X, &Y, 0.2, 50, 3));
  assert_true(b.K >= sqrt(trace) * (1 - 1e-12));
  assert_true(b.K <= fmax(2 * sqrt(trace), sqrt(ep_mat_norm2(&X))));
  CHECK_NEAR(b.width, pow(18 * pow(b.K, 3) * b.R0 / (b.least * b.least), 2), 1e-6 * b.width);
  CHECK_OK(ep_lee_check(&b, &smooth, &X, &Y, 0.2, 64, 3));
  CHECK_OK(ep_lee_follow(&run, &smooth, &X, &Y, &X, EP_LOSS_SQUARED, 0.2, 64, 3));
  CHECK_NEAR(b.measured[1], run.sup.kernel, 0.02 * run.sup.kernel); /* every step, and 16 of them */
  CHECK_NEAR(b.measured[2], run.sup.outputs, 0.02 * run.sup.outputs);
  /* with the network's own steps f_lin is another path to about the same place */
  assert_true(b.difference < 0.5 * b.misprint && b.loss < 1 && b.path < 1 && b.gronwall < 1);
  CHECK_STATUS(ep_lee_check(&b, &smooth, &X, &X, 0.2, 64, 3), EP_ERR_SHAPE); /* five targets */
  CHECK_STATUS(ep_lee_check(&b, &smooth, &X, &Y, 0.2, 3, 3), EP_ERR_SHAPE);
  ep_net_free(&net);
  for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&X, &Y, &K}[i]);
}

/* Several outputs, several layers: |J|_F^2 is the trace of the joint kernel, R_0 and the extreme eigenvalues are its, and the
 * distances are those of ep_lee_follow; a target that no point has twice over is the same problem with twice the output */
static void constants_of_outputs(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 6, 5, 1), Y = random_mat(EP_DOUBLE, 6, 2, 2), K, F;
  const ep_net_config c = network("tanh", 24, 2, 2);
  ep_lee_bounds b;
  ep_lee_run run;
  ep_supervised *d;
  double trace = 0, lambda[12];
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 12, 12));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, 6, 2));
  CHECK_OK(ep_supervised_new(&d, &c, &X, &Y, false, 3));
  CHECK_OK(ep_ntk_joint(&K, ep_supervised_net(d), &X, NULL, 1e9));
  CHECK_OK(ep_supervised_outputs(&F, d, &X));
  for (int i = 0; i < 12; i++) trace += *ep_d(&K, i, i);
  CHECK_OK(ep_mat_eig_sym(&K, lambda));
  CHECK_OK(ep_lee_check(&b, &c, &X, &Y, 0.2, 64, 3));
  CHECK_OK(ep_lee_follow(&run, &c, &X, &Y, &X, EP_LOSS_SQUARED, 0.2, 64, 3));
  assert_true(b.K >= sqrt(trace) * (1 - 1e-12));
  CHECK_NEAR(b.R0, sqrt(ep_mat_distance2(&F, &Y)), 1e-12);
  CHECK_NEAR(b.least, lambda[0], 1e-10);
  CHECK_NEAR(b.most, lambda[11], 1e-10);
  CHECK_NEAR(b.measured[1], run.sup.kernel, 0.03 * run.sup.kernel);
  CHECK_NEAR(b.measured[2], run.sup.outputs, 0.03 * run.sup.outputs);
  ep_supervised_free(d);
  for (int i = 0; i < 4; i++) ep_mat_free((ep_mat *[]){&X, &Y, &K, &F}[i]);
}

/* every way of `regress` on two outputs, in shapes that do not go together */
static void shapes(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, N, 5, 1), Y = random_mat(EP_DOUBLE, N, Z, 2);
  ep_mat T = random_mat(EP_DOUBLE, M, 5, 3), F, K, J;
  const ep_net_config c = network("tanh", 7, 2, Z), one = network("tanh", 7, 2, 1);
  ep_net net, narrow;
  ep_regress_result r;
  double v[M * Z];
  CHECK_OK(ep_net_start(&net, &c, 5, 1, EP_DOUBLE));
  CHECK_OK(ep_net_start(&narrow, &one, 5, 1, EP_DOUBLE));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, M, Z));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, N * Z, M * Z));
  CHECK_OK(ep_mat_new(&J, EP_DOUBLE, N, M));
  ep_regress_kernel k = {.X = &X, .T = &T, .net = &net};
  ep_regress_config ridge = {.ridge = 1, .time = 1}, bad = {.ridge = -1, .time = 1};
  CHECK_OK(ep_regress(&r, &F, v, &k, &Y, &ridge));
  assert_true(r.order == N * Z && r.rank == N * Z && v[0] > 0 && v[0] != v[1]);
  CHECK_STATUS(ep_regress(&r, &F, v, &k, &Y, &bad), EP_ERR_ARG);
  ridge.method = EP_REGRESS_FLOW;
  CHECK_STATUS(ep_regress(&r, &F, v, &k, &Y, &ridge), EP_ERR_ARG);
  CHECK_STATUS(ep_regress(&r, &F, NULL, &k, &T, &ridge), EP_ERR_SHAPE);
  k.net = &narrow;
  CHECK_STATUS(ep_regress(&r, &F, NULL, &k, &Y, &ridge), EP_ERR_SHAPE);
  k.net = NULL;
  ridge.method = EP_REGRESS_DESCENT;
  CHECK_STATUS(ep_regress(&r, &F, NULL, &k, &Y, &ridge), EP_ERR_ARG);
  /* the joint kernel: its mean over outputs is the trace */
  CHECK_OK(ep_ntk_joint(&K, &net, &X, &T, 1e9));
  CHECK_OK(ep_ntk_empirical(NULL, &J, &net, &X, &T, EP_TRACE, 1e9));
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      CHECK_NEAR(0.5 * (*ep_d(&K, 2 * i, 2 * j) + *ep_d(&K, 2 * i + 1, 2 * j + 1)), *ep_d(&J, i, j),
                 1e-13);
  CHECK_STATUS(ep_ntk_joint(&J, &net, &X, &T, 1e9), EP_ERR_SHAPE);
  ep_net_free(&net);
  ep_net_free(&narrow);
  for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&X, &Y, &T, &F, &K, &J}[i]);
}

/* ridge, flow and descent of one network, and the flow at infinite width with its variance */
static ep_status regressions(const ep_mat *X, const ep_mat *Y) {
  const ep_net_config c = network("relu", 5, 2, 1);
  ep_analytic a = {.depth = 1, .input_scale = 1};
  double v[8], f[8];
  const ep_mat F = ep_mat_view(EP_DOUBLE, 8, 1, f);
  ep_regress_result r;
  ep_net net;
  ep_options_default(ep_variance_options, &a.config);
  EP_TRY(ep_activation_parse(&a.phi, "erf"));
  EP_TRY(ep_net_start(&net, &c, X->cols, 7, EP_DOUBLE));
  const ep_regress_kernel finite = {.X = X, .T = X, .net = &net};
  const ep_regress_kernel wide = {.X = X, .T = X, .analytic = &a, .kind = EP_NTK};
  ep_status st = EP_OK;
  for (int method = 0; !st && method < 3; method++) {
    const ep_regress_config how = {
        .method = (ep_regress_method)method, .ridge = method == 0, .time = 1, .epochs = 2};
    st = ep_regress(&r, &F, method ? NULL : v, &finite, Y, &how);
    if (!st && method == 1) st = ep_regress(&r, &F, v, &wide, Y, &how);
  }
  ep_net_free(&net);
  return st;
}

static ep_status all_of_it(const ep_mat *X, const ep_mat *Y) {
  const ep_net_config c = network("relu", 5, 2, 1);
  ep_lee_run run;
  EP_TRY(ep_lee_follow(&run, &c, X, Y, X, EP_LOSS_SQUARED, 0.5, 16, 7));
  ep_lee_bounds bounds;
  EP_TRY(ep_lee_check(&bounds, &c, X, Y, 0.2, 12, 7));
  EP_TRY(regressions(X, Y));
  double variance[8];
  ep_mat K, mean;
  EP_TRY(ep_mat_new(&K, EP_DOUBLE, 8, 8));
  ep_status st = ep_mat_new(&mean, EP_DOUBLE, 8, 1);
  for (int i = 0; i < 8; i++) *ep_d(&K, i, i) = variance[i] = 1;
  ep_squared *s = NULL;
  if (!st) st = ep_squared_new(&s, &K);
  if (!st) st = ep_gp_posterior(&mean, variance, &K, &K, variance, Y, 1);
  if (!st) st = ep_gp_trained(&mean, variance, s, &K, &K, &K, variance, Y, 1, 1);
  if (!st) st = ep_squared_ridge(&mean, s, Y, 1);
  if (!st) st = ep_regression_ridge(&mean, &K, Y, 1);
  ep_squared_free(s);
  ep_mat_free(&K);
  ep_mat_free(&mean);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 8, 5, 1), Y = random_mat(EP_DOUBLE, 8, 1, 2);
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  int k = 0;
  for (; st; k += 1 + k / 40) { /* the first ones all, later ones here and there */
    assert_true(k < 9000);
    ep_alloc_fail_after = k;
    st = all_of_it(&X, &Y);
    ep_alloc_fail_after = -1;
    assert_true(st == EP_OK || st == EP_ERR_NOMEM);
    assert_int_equal(ep_mem_current(), before);
  }
  assert_true(k > 50);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ridges),        cmocka_unit_test(posterior),
      cmocka_unit_test(trained),       cmocka_unit_test(steps_by_hand),
      cmocka_unit_test(lee),           cmocka_unit_test(shapes),
      cmocka_unit_test(residuals),     cmocka_unit_test(several_outputs),
      cmocka_unit_test(constants),     cmocka_unit_test(constants_of_outputs),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
