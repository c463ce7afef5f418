#pragma once
/* Hot loops are written once against `real`, and compiled for single and double and for every level of processor (the
 * x86-64 levels of the ABI; elsewhere only `plain`): a file named *_real.c is built once for each of them, one named
 * *_double.c for double alone. Its public functions are named R(name), which gives name_s_v3 and its like. A header
 * declares them all with EP_REAL_FN or EP_DOUBLE_FN; callers choose with EP_PICK and EP_PICK_DOUBLE. */
#include <eigenpair/matrix.h>

#if defined __x86_64__ && !defined EP_PLAIN
#define EP_LEVELS(X, name) X(name, plain) X(name, v2) X(name, v3) X(name, v4)
enum { EP_LEVEL_COUNT = 4 };
#else
#define EP_LEVELS(X, name) X(name, plain)
enum { EP_LEVEL_COUNT = 1 };
#endif

/* the level in use: the best the processor can, or what EP_KERNELS says (core/machine.c) */
extern int ep_level;

#ifdef EP_REAL_SINGLE
typedef float real;
#define EP_LETTER s
#else
typedef double real;
#define EP_LETTER d
#endif
#define EP_JOIN_(name, letter, level) name##_##letter##_##level
#define EP_JOIN(name, letter, level)  EP_JOIN_(name, letter, level)
#define R(name)                       EP_JOIN(name, EP_LETTER, EP_LEVEL)

/* bytes of a vector register that the level has */
#if defined __AVX512F__
#define EP_VECTOR 64
#elif defined __AVX__
#define EP_VECTOR 32
#else
#define EP_VECTOR 16
#endif

/* a function of every level, and the table name_of of them */
#define EP_LEVEL_DECLARE(name, level) name##_fn name##_##level;
#define EP_LEVEL_ENTRY(name, level)   name##_##level,
#define EP_LEVEL_FN(type, name, ...)                \
  typedef type name##_fn(__VA_ARGS__);              \
  EP_LEVELS(EP_LEVEL_DECLARE, name)                 \
  static name##_fn *const name##_of[EP_LEVEL_COUNT] \
      __attribute__((unused)) = {EP_LEVELS(EP_LEVEL_ENTRY, name)}
#define EP_REAL_FN(type, name, ...)         \
  EP_LEVEL_FN(type, name##_s, __VA_ARGS__); \
  EP_LEVEL_FN(type, name##_d, __VA_ARGS__)
#define EP_DOUBLE_FN(type, name, ...) EP_LEVEL_FN(type, name##_d, __VA_ARGS__)
#define EP_PICK(prec, name)           (((prec) == EP_SINGLE ? name##_s_of : name##_d_of)[ep_level])
#define EP_PICK_DOUBLE(name)          (name##_d_of[ep_level])

static inline real *at(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  return (real *)A->data + i * A->ld + j;
}
