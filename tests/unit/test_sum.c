/* Sums over groups of views against the definition: groups of one to four views in one set, in parts, both precisions. */
#include "method/sum.h"
#include "random_mat.h"

enum { ANCHORS = 37, POINTS = 60, D = 7, M = 11 };

/* anchor i and i % sizes positives */
static ep_pairs groups(ptrdiff_t first, ptrdiff_t anchors, ptrdiff_t sizes) {
  ep_pairs p;
  ptrdiff_t count = 0;
  for (ptrdiff_t i = 0; i < anchors; i++) count += (first + i) % sizes;
  CHECK_OK(ep_pairs_new(&p, anchors, POINTS, count, 0));
  count = 0;
  for (ptrdiff_t i = 0; i < anchors; i++) {
    p.anchor[i] = first + i;
    p.start[i] = count;
    for (ptrdiff_t k = 0; k < (first + i) % sizes; k++, count++) {
      p.partner[count] = (7 * (first + i) + 13 * k + 5) % POINTS;
      p.sign[count] = 1;
    }
  }
  p.start[anchors] = count;
  return p;
}

/* += what the head of sum.h says */
static void plain(ep_sum *s, const ep_mat *Psi, const ep_pairs *p) {
  for (ptrdiff_t i = 0; i < p->anchors; i++) {
    double sum[M] = {0};
    const ptrdiff_t size = 1 + p->start[i + 1] - p->start[i];
    for (ptrdiff_t v = 0; v < size; v++) {
      const ptrdiff_t x = v ? p->partner[p->start[i] + v - 1] : p->anchor[i];
      for (ptrdiff_t j = 0; j < M; j++) {
        sum[j] += ep_get(Psi, x, j);
        for (ptrdiff_t k = j; k < M; k++)
          *ep_d(&s->B, j, k) += ep_get(Psi, x, j) * ep_get(Psi, x, k);
      }
    }
    for (ptrdiff_t j = 0; j < M; j++) {
      *ep_d(&s->psi, 0, j) += sum[j];
      for (ptrdiff_t k = j; k < M; k++) *ep_d(&s->C, j, k) += sum[j] * sum[k];
    }
    s->anchors++, s->views += (double)size, s->pairs += (double)(size * (size - 1));
  }
}

static void check_groups(ep_precision prec, ptrdiff_t sizes) {
  static ep_setup setup;
  const double near = prec == EP_SINGLE ? 2e-5 : 1e-13;
  ep_mat X = random_mat(prec, POINTS, D, 3), Psi;
  ep_sum sum, want;
  ep_map *map;
  ep_setup_default(&setup);
  setup.net.width = M;
  const ep_points all = {.X = X};
  const ep_map_plan plan = {.feature = &setup.feature, .net = &setup.net, .points = &all};
  CHECK_OK(ep_map_make(&map, &plan));
  CHECK_OK(ep_mat_new(&Psi, prec, POINTS, M));
  CHECK_OK(ep_map_rows(&Psi, map, &X));
  CHECK_OK(ep_sum_new(&sum, M, true));
  CHECK_OK(ep_sum_new(&want, M, true));
  for (int part = 0; part < 2; part++) { /* two calls add up, whatever their largest groups are */
    ep_pairs p = groups(part * 20, part ? ANCHORS - 20 : 20, part ? sizes : 1 + sizes / 2);
    const ep_points points = {.X = X, .pairs = p};
    CHECK_OK(ep_sum_whitened(&sum, map, &points));
    plain(&want, &Psi, &p);
    ep_pairs_free(&p);
  }
  CHECK_NEAR(sum.anchors, want.anchors, 0);
  CHECK_NEAR(sum.views, want.views, 0);
  CHECK_NEAR(sum.pairs, want.pairs, 0);
  for (ptrdiff_t j = 0; j < M; j++) {
    CHECK_NEAR(*ep_d(&sum.psi, 0, j), *ep_d(&want.psi, 0, j), near * 50);
    for (ptrdiff_t k = j; k < M; k++) {
      CHECK_NEAR(*ep_d(&sum.B, j, k), *ep_d(&want.B, j, k), near * 50);
      CHECK_NEAR(*ep_d(&sum.C, j, k), *ep_d(&want.C, j, k), near * 50);
    }
  }
  ep_map_free(map);
  ep_sum_free(&sum), ep_sum_free(&want);
  ep_mat_free(&Psi), ep_mat_free(&X);
}

static void views(void **state) {
  (void)state;
  for (ptrdiff_t sizes = 1; sizes <= 4; sizes++)
    for (int prec = EP_SINGLE; prec <= EP_DOUBLE; prec++) check_groups((ep_precision)prec, sizes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(views)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
