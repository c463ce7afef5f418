#include <eigenpair/retraction.h>
#include <math.h>

static ep_status by_qr(const ep_mat *W) {
  ep_mat R;
  EP_TRY(ep_mat_new(&R, EP_DOUBLE, W->cols, W->cols));
  const ep_status st = ep_mat_qr(W, &R);
  ep_mat_free(&R);
  return st;
}

/* W = P S Q' -> P Q'; through singular values, since W'W would lose half of the digits */
static ep_status nearest(ep_work *work, const ep_mat *W) {
  ep_mat P, Qt;
  double *sigma;
  EP_TRY(ep_work_mat(work, &P, EP_DOUBLE, W->rows, W->cols));
  EP_TRY(ep_work_mat(work, &Qt, EP_DOUBLE, W->cols, W->cols));
  EP_TRY(ep_work_get(work, &sigma, W->cols, sizeof *sigma));
  EP_TRY(ep_mat_svd(&P, sigma, &Qt, W)); /* W is scratch now */
  ep_mat_mul(W, 1, &P, EP_N, &Qt, EP_N, 0);
  return EP_OK;
}

static ep_status by_polar(const ep_mat *W) {
  ep_work work = {0};
  const ep_status st = nearest(&work, W);
  ep_work_free(&work);
  return st;
}

static const struct {
  const char *name;
  ep_status (*retract)(const ep_mat *W);
} retractions[] = {[EP_RETRACT_QR] = {"qr", by_qr}, [EP_RETRACT_POLAR] = {"polar", by_polar}};
enum { RETRACTIONS = sizeof retractions / sizeof *retractions };

const char *ep_retraction_name(int i) {
  return i >= 0 && i < RETRACTIONS ? retractions[i].name : NULL;
}

ep_status ep_retract(const ep_mat *W, int which) {
  EP_CHECK(which >= 0 && which < RETRACTIONS, EP_ERR_ARG, "there is no retraction %d", which);
  EP_CHECK(W->prec == EP_DOUBLE && W->rows >= W->cols, EP_ERR_SHAPE,
           "%td columns of length %td cannot be made orthonormal in double", W->cols, W->rows);
  EP_CHECK(isfinite(ep_mat_max(W)), EP_ERR_NUMERIC, "a step led to weights that are not finite");
  return retractions[which].retract(W);
}
