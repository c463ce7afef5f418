#pragma once
/* Hot loops are written once against `real` and compiled twice. A file named *_real.c is built with
 * EP_REAL_SINGLE and again without; its public functions are named R(name), which gives name_s and
 * name_d. Callers declare both with EP_REAL_FN and choose with EP_PICK. */
#include <eigenpair/matrix.h>

#ifdef EP_REAL_SINGLE
typedef float real;
#define R(name) name##_s
#else
typedef double real;
#define R(name) name##_d
#endif

#define EP_REAL_FN(type, name, ...) \
  type name##_s(__VA_ARGS__);       \
  type name##_d(__VA_ARGS__)
#define EP_PICK(prec, name) ((prec) == EP_SINGLE ? name##_s : name##_d)

static inline real *at(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  return (real *)A->data + i * A->ld + j;
}
