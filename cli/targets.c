/* What is to be learnt: values in a file, or labels as columns. */
#include "commands.h"

ep_status read_values(ep_mat *F, const char *path) {
  ep_array a = {0};
  EP_TRY(ep_array_read(&a, path));
  ep_status st = (a.ndim == 1 || a.ndim == 2) && ep_array_count(&a) > 0
                     ? ep_array_to_matrix(F, &a, NULL, a.shape[0], 1, EP_DOUBLE, path)
                     : EP_FAIL(EP_ERR_SHAPE, "%s: a target has a row a point", path);
  ep_array_free(&a);
  return st;
}

ep_status label_range(int *low, ptrdiff_t *columns, const int *labels, ptrdiff_t n) {
  int high = *low = labels[0];
  for (ptrdiff_t i = 0; i < n; i++) {
    *low = labels[i] < *low ? labels[i] : *low;
    high = labels[i] > high ? labels[i] : high;
  }
  EP_CHECK(high > *low && high - *low < 10000, EP_ERR_INPUT,
           "labels from %d to %d make no target: give the values of one", *low, high);
  *columns = high - *low + 1;
  return EP_OK;
}

ep_status label_columns(ep_mat *F, const int *labels, ptrdiff_t n, int low, ptrdiff_t columns) {
  EP_TRY(ep_mat_new(F, EP_DOUBLE, n, columns));
  for (ptrdiff_t i = 0; i < n; i++)
    if (labels[i] >= low && labels[i] - low < columns) *ep_d(F, i, labels[i] - low) = 1;
  return EP_OK;
}

void centre_columns(const ep_mat *F, double *mean) {
  for (ptrdiff_t z = 0; z < F->cols; z++) {
    double sum = 0;
    for (ptrdiff_t i = 0; i < F->rows; i++) sum += *ep_d(F, i, z) / (double)F->rows;
    for (ptrdiff_t i = 0; i < F->rows; i++) *ep_d(F, i, z) -= sum;
    if (mean) mean[z] = sum;
  }
}
