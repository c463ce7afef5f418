#include "objective/similarity.h"

#include <math.h>

/* dot: u = f */
static void dot_forward(const ep_mat *U, const ep_mat *F, double delta) {
  (void)delta;
  if (U->data != F->data) ep_mat_copy(U, F);
}

static void dot_backward(const ep_mat *dU, const ep_mat *F, double delta) {
  (void)dU, (void)F, (void)delta;
}

static double row_dot(const double *a, const double *b, ptrdiff_t n) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}

/* cosine: u = f / (|f| + delta) */
static void cosine_forward(const ep_mat *U, const ep_mat *F, double delta) {
  for (ptrdiff_t i = 0; i < F->rows; i++) {
    const double *f = ep_d(F, i, 0);
    const double c = 1 / (sqrt(row_dot(f, f, F->cols)) + delta);
    for (ptrdiff_t j = 0; j < F->cols; j++) *ep_d(U, i, j) = c * f[j];
  }
}

/* df = du / (|f| + delta) - f (f'du) / (|f| (|f| + delta)^2), second term 0 where f = 0 */
static void cosine_backward(const ep_mat *dU, const ep_mat *F, double delta) {
  for (ptrdiff_t i = 0; i < F->rows; i++) {
    const double *f = ep_d(F, i, 0);
    double *du = ep_d(dU, i, 0);
    const double norm = sqrt(row_dot(f, f, F->cols)), c = 1 / (norm + delta);
    const double b = norm > 0 ? row_dot(f, du, F->cols) * c * c / norm : 0;
    for (ptrdiff_t j = 0; j < F->cols; j++) du[j] = c * du[j] - b * f[j];
  }
}

const ep_similarity ep_similarities[EP_SIMILARITIES] = {
    [EP_SIMILARITY_AUTO] = {"auto", NULL, NULL},
    [EP_SIMILARITY_DOT] = {"dot", dot_forward, dot_backward},
    [EP_SIMILARITY_COSINE] = {"cosine", cosine_forward, cosine_backward},
};

const char *ep_similarity_option(int i) {
  return i < EP_SIMILARITIES ? ep_similarities[i].name : NULL;
}
