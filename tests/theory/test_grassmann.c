/* An orthogonal output layer: descent on it, iterating PCA, the drift of C. */
#include "theory/closed.h"

/* ---- grassmann, iterate, --track c */

static void grassmann(void **state) {
  (void)state;
  static ep_setup s;
  for (int polar = 0; polar < 2; polar++)
    for (int cosine = 0; cosine < 2; cosine++) {
      ep_points p = make_points(&kinds[0]);
      ep_model *m, *reference;
      ep_fit_info info;
      make_setup(&s, "pca");
      s.objective.similarity = cosine ? EP_SIMILARITY_COSINE : EP_SIMILARITY_DOT;
      fit(&reference, &info, &p, &s);
      ep_mat Psi = all_psi(ep_model_net(reference), &p.X, cosine, s.objective.delta);
      ep_mat C = covariance(&Psi, &p.pairs);
      double lambda[64];
      CHECK_OK(ep_mat_eig_sym(&C, lambda));
      ep_fit_info_free(&info);
      strcpy(s.fit.method, "grassmann");
      s.closed.retraction = polar ? EP_RETRACT_POLAR : EP_RETRACT_QR;
      s.closed.frozen = true;
      s.fit.rate = 0.4 / lambda[C.rows - 1];
      s.fit.epochs = 4000;
      fit(&m, &info, &p, &s);
      CHECK_NEAR(mat_gap(&ep_model_net(m)->V[0], &ep_model_net(reference)->V[0]), 0, 0);
      CHECK_NEAR(outside(&ep_model_net(m)->W, &C), 0, 1e-6); /* sines of the principal angles */
      CHECK_NEAR(orthonormality(&ep_model_net(m)->W), 0, 1e-10);
      CHECK_NEAR(info.loss, -(lambda[39] + lambda[38] + lambda[37] + lambda[36]), 1e-10);
      drop(m, &info);
      s.closed.frozen = false; /* V moves too, and the loss falls further */
      s.fit.epochs = 50;
      const double frozen = -(lambda[39] + lambda[38] + lambda[37] + lambda[36]);
      s.fit.epochs = 3000;
      fit(&m, &info, &p, &s);
      CHECK_NEAR(orthonormality(&ep_model_net(m)->W), 0, 1e-10);
      assert_true(info.loss < frozen);
      drop(m, &info);
      ep_mat_free(&Psi), ep_mat_free(&C);
      ep_model_free(reference);
      ep_points_free(&p);
    }
}

/* One iteration by hand: W0 = PCA of C(V0), V1 = V0 - eta dL/dV, W1 = PCA of C(V1). The derivative by differences. */
static void iterate(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[0]);
  ep_model *m, *start;
  ep_fit_info info;
  const double eta = 0.7, h = 1e-6;
  make_setup(&s, "pca");
  strcpy(s.net.activation, "tanh");
  s.net.width = 12;
  fit(&start, &info, &p, &s);
  ep_fit_info_free(&info);
  strcpy(s.fit.method, "iterate");
  s.fit.rate = eta;
  s.fit.epochs = 1;
  fit(&m, &info, &p, &s);
  double worst = 0;
  for (ptrdiff_t i = 0; i < ep_model_net(start)->V[0].rows * D; i++) {
    double value[2], *v = ep_d(&ep_model_net(start)->V[0], 0, i), keep = *v;
    for (int side = 0; side < 2; side++) { /* -Tr(W0'C(V)W0) */
      *v = keep + (side ? h : -h);
      ep_mat Psi = all_psi(ep_model_net(start), &p.X, true, s.objective.delta),
             C = covariance(&Psi, &p.pairs);
      value[side] = 0;
      for (ptrdiff_t z = 0; z < 4; z++)
        for (ptrdiff_t a = 0; a < 12; a++)
          for (ptrdiff_t b = 0; b < 12; b++)
            value[side] -= ep_get(&ep_model_net(start)->W, a, z) * *ep_d(&C, a, b) *
                           ep_get(&ep_model_net(start)->W, b, z);
      ep_mat_free(&Psi), ep_mat_free(&C);
    }
    *v = keep;
    worst = fmax(worst, fabs(keep - eta * (value[1] - value[0]) / (2 * h) -
                             *ep_d(&ep_model_net(m)->V[0], 0, i)));
  }
  CHECK_NEAR(worst, 0, 1e-8);
  ep_mat Psi = all_psi(ep_model_net(m), &p.X, true, s.objective.delta),
         C = covariance(&Psi, &p.pairs);
  double lambda[64];
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  CHECK_NEAR(outside(&ep_model_net(m)->W, &C), 0, 1e-7);
  CHECK_NEAR(info.loss, -(lambda[11] + lambda[10] + lambda[9] + lambda[8]), 1e-10);
  ep_mat_free(&Psi), ep_mat_free(&C);
  drop(m, &info);
  ep_model_free(start);
  ep_points_free(&p);
}

static void tracked(void **state) {
  (void)state;
  static ep_setup s;
  for (int c = 0; c < 4; c++) {
    ep_points p = make_points(&kinds[c == 3 ? 1 : 0]);
    ep_model *m;
    ep_fit_info info;
    ep_net start;
    make_setup(&s, c == 2 ? "gd" : c == 3 ? "iterate" : "grassmann");
    s.objective.similarity = c ? EP_SIMILARITY_COSINE : EP_SIMILARITY_DOT;
    strcpy(s.fit.track, "c");
    s.net.width = c == 1 || c == 2 ? 60 : 40; /* more features than points, and fewer */
    s.fit.epochs = 3;
    fit(&m, &info, &p, &s);
    assert_string_equal(info.history.name[2], "c_frobenius");
    CHECK_NEAR(info.history.value[2], 0, 0);
    CHECK_OK(ep_net_start(&start, &s.net, D, 0, EP_DOUBLE));
    ep_mat P0 = all_psi(&start, &p.X, c > 0, s.objective.delta), C0 = covariance(&P0, &p.pairs);
    ep_mat P1 = all_psi(ep_model_net(m), &p.X, c > 0, s.objective.delta),
           C1 = covariance(&P1, &p.pairs);
    const double drift = sqrt(ep_mat_distance2(&C0, &C1));
    CHECK_NEAR(info.history.value[3 * 3 + 2], drift, 1e-10 * drift);
    assert_true(drift > 1e-8);
    ep_mat_free(&P0), ep_mat_free(&P1), ep_mat_free(&C0), ep_mat_free(&C1);
    ep_net_free(&start);
    drop(m, &info);
    ep_points_free(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(grassmann), cmocka_unit_test(iterate),
                                     cmocka_unit_test(tracked)};
  RUN_CLOSED(tests);
}
