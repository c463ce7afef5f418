/* Views, memory, element-wise loops. */
#include "core/loops.h"
#include "core/mem.h"

#include <assert.h>
#include <eigenpair/matrix.h>
#include <stdint.h>
#include <string.h>

struct ep_work_block {
  ep_work_block *next;
};

ep_mat ep_mat_view(ep_precision prec, ptrdiff_t rows, ptrdiff_t cols, void *data) {
  return (ep_mat){.rows = rows, .cols = cols, .ld = cols, .prec = prec, .data = data};
}

/* NULL stays NULL: a matrix may have a shape alone */
static void *address(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  if (!A->data) return NULL;
  return A->prec == EP_SINGLE ? (void *)ep_s(A, i, j) : (void *)ep_d(A, i, j);
}

ep_mat ep_mat_rows(const ep_mat *A, ptrdiff_t first, ptrdiff_t count) {
  ep_mat B = *A;
  B.rows = count;
  B.data = address(A, first, 0);
  return B;
}

ep_mat ep_mat_cols(const ep_mat *A, ptrdiff_t first, ptrdiff_t count) {
  ep_mat B = *A;
  B.cols = count;
  B.data = address(A, 0, first);
  return B;
}

static int fits(ptrdiff_t rows, ptrdiff_t cols) {
  return rows >= 0 && cols >= 0 && (cols == 0 || rows < PTRDIFF_MAX / 16 / cols);
}

ep_status ep_mat_new(ep_mat *out, ep_precision prec, ptrdiff_t rows, ptrdiff_t cols) {
  *out = (ep_mat){.prec = prec};
  EP_CHECK(fits(rows, cols), EP_ERR_ARG, "a matrix of %td x %td is too large", rows, cols);
  void *data = ep_alloc(rows * cols, ep_sizeof(prec));
  EP_CHECK(data, EP_ERR_NOMEM, "no memory for a matrix of %td x %td", rows, cols);
  *out = ep_mat_view(prec, rows, cols, data);
  return EP_OK;
}

void ep_mat_free(ep_mat *A) {
  ep_release(A->data);
  *A = (ep_mat){.prec = A->prec};
}

void ep_mat_copy(const ep_mat *to, const ep_mat *from) {
  assert(to->rows == from->rows && to->cols == from->cols);
  EP_PICK(to->prec, ep_loop_copy_from)(to, from);
}

void ep_mat_fill(const ep_mat *A, double x) { EP_PICK(A->prec, ep_loop_fill)(A, x); }
double ep_mat_norm2(const ep_mat *A) { return EP_PICK(A->prec, ep_loop_norm2)(A); }
double ep_mat_max(const ep_mat *A) { return EP_PICK(A->prec, ep_loop_max)(A); }

double ep_mat_distance2(const ep_mat *A, const ep_mat *B) {
  assert(A->prec == B->prec && A->rows == B->rows && A->cols == B->cols);
  return EP_PICK(A->prec, ep_loop_distance2)(A, B);
}

void ep_mat_axpy(const ep_mat *Y, double a, const ep_mat *X) {
  assert(X->prec == Y->prec && X->rows == Y->rows && X->cols == Y->cols);
  EP_PICK(Y->prec, ep_loop_axpy)(Y, a, X);
}

void ep_mat_symmetrise(const ep_mat *A) { EP_PICK(A->prec, ep_loop_symmetrise)(A); }
void ep_mat_mirror(const ep_mat *G) { EP_PICK(G->prec, ep_loop_mirror)(G); }

ep_status ep_work_get(ep_work *work, void *out, ptrdiff_t count, size_t size) {
  EP_CHECK(count >= 0 && (count == 0 || size < (size_t)PTRDIFF_MAX / 16 / (size_t)count),
           EP_ERR_ARG, "scratch of %td x %zu bytes is too large", count, size);
  const ptrdiff_t head = 64; /* keeps the alignment of ep_alloc */
  unsigned char *b = ep_alloc(head + count * (ptrdiff_t)size, 1);
  EP_CHECK(b, EP_ERR_NOMEM, "no memory for %td x %zu bytes of scratch", count, size);
  ep_work_block *block = (void *)b;
  block->next = work->head;
  work->head = block;
  void *data = b + head;
  memcpy(out, &data, sizeof data); /* all object pointers look alike here */
  return EP_OK;
}

ep_status ep_work_mat(ep_work *work, ep_mat *out, ep_precision prec, ptrdiff_t rows,
                      ptrdiff_t cols) {
  EP_CHECK(fits(rows, cols), EP_ERR_ARG, "a matrix of %td x %td is too large", rows, cols);
  void *data;
  EP_TRY(ep_work_get(work, &data, rows * cols, ep_sizeof(prec)));
  *out = ep_mat_view(prec, rows, cols, data);
  return EP_OK;
}

void ep_work_free(ep_work *work) {
  while (work->head) {
    ep_work_block *b = work->head;
    work->head = b->next;
    ep_release(b);
  }
}
