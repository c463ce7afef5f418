/* Points through a network, in blocks. For a block of n points (rows):
 *
 *   forward   A_1 = s_1 X V_1' + t_1 b_1,  A_{l+1} = s_{l+1} phi_l(A_l) V_{l+1}' + t_{l+1} b_{l+1},  F = s phi_L(A_L) W + t c
 *   backward  G = s dF:  dW = phi_L(A_L)' G,  dc = t 1'dF,   dA_L = (G W') . phi_L'(A_L)
 *             dV_{l+1} = s_{l+1} dA_{l+1}' phi_l(A_l),  dA_l = s_{l+1} (dA_{l+1} V_{l+1}) . phi_l'(A_l),  db_l = t_l 1'dA_l
 *             dV_1 = s_1 dA_1' X
 *
 * Normalised (WIDE section 4; no c), with d = delta / s and h = phi_L(A_L) of one point:
 *   forward   u = W'h / (|h| + d)
 *   backward  G = du / (|h| + d):  dW = h G',  dh = W G - k h,  k = (du . u) / (|h| (|h| + d)), 0 where h = 0
 *
 * Only the A_l are kept; phi(A_l) is made again where it is needed, and dA_l takes the place of A_l. The
 * skinny products with W (M x Z) go tile by tile, so that phi(A_L) never leaves the cache. */
#include "core/crew.h"
#include "core/loops.h"
#include "core/mem.h"
#include "core/threads.h"
#include "core/vector.h"

#include <eigenpair/run.h>
#include <eigenpair/stream.h>
#include <math.h>

struct ep_stream {
  ep_mat X;
  ep_net_shape shape;
  ptrdiff_t block, blocks;
  ptrdiff_t loaded; /* block whose activations are in A, -1: none */
  ep_pass pass;
  bool pack;              /* there is memory for packed points */
  ep_packed **packed;     /* (blocks) */
  ep_mat A[EP_MAX_DEPTH]; /* (block, M_l), views of: */
  ep_mat owned[EP_MAX_DEPTH];
  ep_mat T;     /* (block, max M_l) phi of a layer, for depth > 1 */
  ep_mat dA[2]; /* (block, max M_l) for tangents: of one layer and of the next */
  ep_mat G;     /* (block, Z) scaled dF */
  ep_mat Wt;    /* (Z, M) transpose of W */
  ep_mat tiles; /* (threads * TILE_ROWS, TILE_COLS) */
  /* normalised outputs; norm is NULL without */
  double delta; /* d */
  double *norm; /* (P) |phi(A_L)| of the last forward pass */
  double *pull; /* (P) k of the backward pass */
  ep_mat U;     /* (P, Z) outputs of the last forward pass */
};

enum { TILE_ROWS = 128, TILE_COLS = 256, ROWS_AT_ONCE = 16 };

static const ep_activation *top_phi(const ep_stream *s) {
  return ep_net_phi(&s->shape, s->shape.depth - 1);
}

static double top_scale(const ep_stream *s) { return ep_net_scale(&s->shape, s->shape.depth); }

/* view of the part of A with rows i0.. and columns j0.. */
static ep_mat part(const ep_mat *A, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols) {
  const ep_mat B = ep_mat_rows(A, i0, rows);
  return ep_mat_cols(&B, j0, cols);
}

/* scratch tile of the calling thread, cut to size */
static ep_mat tile(const ep_stream *s, ptrdiff_t rows, ptrdiff_t cols) {
  ep_mat t = ep_mat_rows(&s->tiles, ep_crew_thread() * TILE_ROWS, rows);
  t.cols = t.ld = cols;
  return t;
}

/* the first entries of a buffer as a matrix */
static ep_mat shaped(const ep_mat *buffer, ptrdiff_t rows, ptrdiff_t cols) {
  return ep_mat_view(buffer->prec, rows, cols, buffer->data);
}

/* an activation and a few products an entry */
static bool worth_threads(const ep_mat *A) {
  return ep_worth_threads(20. * (double)A->rows * (double)A->cols);
}

/* A loop over the rows of A, or over tiles of it, is shared out; what it works with: */
typedef struct {
  const ep_mat *A, *other; /* the matrix it goes over, and one of the same rows */
  const ep_activation *phi;
  const volatile int *stop;
  const ep_mat *vector; /* of biases */
  double scale;
} rows_loop;

static bool stopped(const volatile int *stop) { return stop && *stop; }

static void share_rows(ep_turns *turns, const ep_mat *A, const ep_activation *phi,
                       const ep_mat *other) {
  rows_loop l = {.A = A, .other = other, .phi = phi, .stop = ep_run_loose_stop()};
  ep_crew_loop(A->rows, ROWS_AT_ONCE, worth_threads(A), turns, &l);
}

/* H = phi(A) */
static void activate_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t i = first; i < end && !stopped(l->stop); i++) {
    const ep_mat h = ep_mat_rows(l->other, i, 1), a = ep_mat_rows(l->A, i, 1);
    ep_activation_values(&h, l->phi, &a);
  }
}

static void activate(const ep_mat *H, const ep_activation *phi, const ep_mat *A) {
  share_rows(activate_rows, A, phi, H);
}

/* A_i += t b for every row; t = 0: there are no biases */
static void bias_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat a = ep_mat_rows(l->A, i, 1);
    ep_net_add_bias(&a, l->scale, l->vector);
  }
}

static void add_bias(const ep_mat *A, double t, const ep_mat *b) {
  rows_loop l = {.A = A, .vector = b, .scale = t};
  if (t != 0) ep_crew_loop(A->rows, ROWS_AT_ONCE, worth_threads(A), bias_rows, &l);
}

/* db = t sum_i dA_i + beta db. Columns are shared out, BIASES at a time, rows summed in their order. */
enum { BIASES = 64 };
static void bias_back_columns(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t j = first * BIASES; j < ep_least(end * BIASES, l->A->cols); j += BIASES) {
    const ptrdiff_t m = ep_least(BIASES, l->A->cols - j);
    const ep_mat to = ep_mat_cols(l->vector, j, m);
    for (ptrdiff_t i = 0; i < l->A->rows; i++) {
      const ep_mat from = part(l->A, i, 1, j, m);
      ep_mat_axpy(&to, l->scale, &from);
    }
  }
}

static void bias_back(const ep_mat *db, double t, const ep_mat *dA, double beta) {
  rows_loop l = {.A = dA, .vector = db, .scale = t};
  if (t == 0) return;
  if (beta == 0) ep_mat_fill(db, 0);
  ep_crew_loop((dA->cols + BIASES - 1) / BIASES, 1, worth_threads(dA), bias_back_columns, &l);
}

/* Y_ij *= X_ij for small tiles */
static void multiply(const ep_mat *Y, const ep_mat *X) {
  for (ptrdiff_t i = 0; i < Y->rows; i++)
    if (Y->prec == EP_SINGLE) {
      float *restrict y = ep_s(Y, i, 0);
      const float *restrict x = ep_s(X, i, 0);
      for (ptrdiff_t j = 0; j < Y->cols; j++) y[j] *= x[j];
    } else {
      double *restrict y = ep_d(Y, i, 0);
      const double *restrict x = ep_d(X, i, 0);
      for (ptrdiff_t j = 0; j < Y->cols; j++) y[j] *= x[j];
    }
}

/* Y_ij *= c_i X_ij for small tiles */
static void multiply_scaled(const ep_mat *Y, const double *c, const ep_mat *X) {
  multiply(Y, X);
  for (ptrdiff_t i = 0; i < Y->rows; i++)
    for (ptrdiff_t j = 0; j < Y->cols; j++)
      if (Y->prec == EP_SINGLE) *ep_s(Y, i, j) *= (float)c[i];
      else *ep_d(Y, i, j) *= c[i];
}

/* norm2_i += sum_j h_ij^2 for small tiles */
static void add_norms(double *norm2, const ep_mat *H) {
  for (ptrdiff_t i = 0; i < H->rows; i++) {
    const ep_mat h = ep_mat_rows(H, i, 1);
    norm2[i] += ep_mat_norm2(&h);
  }
}

/* C = alpha op(A) B + beta C for a tile: with few outputs by loops that treat all of them alike, else by BLAS */
enum { FEW_OUTPUTS = 64 };
static void mul_outputs(const ep_mat *C, double alpha, const ep_mat *A, ep_trans t, const ep_mat *B,
                        double beta) {
  if (C->cols > FEW_OUTPUTS) ep_mat_mul(C, alpha, A, t, B, EP_N, beta);
  else if (t == EP_N) EP_PICK(C->prec, ep_skinny_mul)(C, alpha, A, B, beta);
  else EP_PICK(C->prec, ep_skinny_mul_t)(C, alpha, A, B, beta);
}

static void scale_row(const ep_mat *A, ptrdiff_t i, double c) {
  for (ptrdiff_t j = 0; j < A->cols; j++) ep_set(A, i, j, c * ep_get(A, i, j));
}

/* Loops over tiles of the last layer: */
typedef struct {
  const ep_stream *s;
  const ep_mat *A, *F, *W; /* outputs, or dW; and the output layer */
  const ep_mat *G;         /* backward */
  double *norm, c;         /* forward */
  const double *pull;      /* backward */
  ptrdiff_t width;         /* of a tile, backward */
  const volatile int *stop;
} tiles_loop;

static void output_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const tiles_loop *l = of;
  const ep_mat *A = l->A;
  double *norm = l->norm;
  for (ptrdiff_t i = first * TILE_ROWS; i < ep_least(end * TILE_ROWS, A->rows); i += TILE_ROWS) {
    if (stopped(l->stop)) return;
    const ptrdiff_t n = ep_least(TILE_ROWS, A->rows - i);
    const ep_mat f = ep_mat_rows(l->F, i, n);
    for (ptrdiff_t j = 0; j < A->cols; j += TILE_COLS) {
      const ptrdiff_t m = ep_least(TILE_COLS, A->cols - j);
      const ep_mat a = part(A, i, n, j, m), h = tile(l->s, n, m), w = ep_mat_rows(l->W, j, m);
      ep_activation_values(&h, top_phi(l->s), &a);
      if (norm && j == 0)
        for (ptrdiff_t k = 0; k < n; k++) norm[i + k] = 0;
      if (norm) add_norms(norm + i, &h);
      mul_outputs(&f, l->c, &h, EP_N, &w, j > 0);
    }
    for (ptrdiff_t k = 0; norm && k < n; k++) norm[i + k] = sqrt(norm[i + k]);
  }
}

static ptrdiff_t row_tiles(const ep_mat *A) { return (A->rows + TILE_ROWS - 1) / TILE_ROWS; }

/* F = c phi(A) W; with `norm` also the norms of the rows of phi(A) */
static void outputs(const ep_mat *F, double *norm, const ep_stream *s, double c, const ep_mat *A,
                    const ep_mat *W) {
  tiles_loop l = {
      .s = s, .A = A, .F = F, .W = W, .norm = norm, .c = c, .stop = ep_run_loose_stop()};
  ep_crew_loop(row_tiles(A), 1, worth_threads(A), output_rows, &l);
}

static void output_columns(void *of, ptrdiff_t first, ptrdiff_t end) {
  const tiles_loop *l = of;
  const ep_mat *A = l->A;
  for (ptrdiff_t j = first * l->width; j < ep_least(end * l->width, A->cols); j += l->width) {
    const ptrdiff_t m = ep_least(l->width, A->cols - j);
    const ep_mat dw = ep_mat_rows(l->F, j, m), w = ep_mat_cols(&l->s->Wt, j, m);
    for (ptrdiff_t i = 0; i < A->rows && !stopped(l->stop); i += TILE_ROWS) {
      const ptrdiff_t n = ep_least(TILE_ROWS, A->rows - i);
      const ep_mat a = part(A, i, n, j, m), g = ep_mat_rows(l->G, i, n);
      const ep_mat h = tile(l->s, n, m);
      ep_activation_both(&h, &a, top_phi(l->s), &a);
      mul_outputs(&dw, 1, &h, EP_T, &g, 1);
      if (l->pull) multiply_scaled(&h, l->pull + i, &a);
      EP_PICK(a.prec, ep_loop_times_product)(&a, &g, &w);
      if (l->pull) ep_mat_axpy(&a, -1, &h);
    }
  }
}

/* dW += phi(A)' G,  A <- (G W' - k phi(A)) . phi'(A), k NULL for 0.  Columns are shared out, so no two threads meet. */
static void outputs_back(const ep_mat *dW, const ep_stream *s, const ep_mat *A, const ep_mat *W,
                         const ep_mat *G, const double *pull) {
  for (ptrdiff_t m = 0; m < W->rows; m++)
    for (ptrdiff_t z = 0; z < W->cols; z++) ep_set(&s->Wt, z, m, ep_get(W, m, z));
  const ptrdiff_t tasks = 4 * ep_run_threads(), share = (A->cols + tasks - 1) / tasks;
  const ptrdiff_t width = ep_least(TILE_COLS, share < 32 ? 32 : (share + 15) / 16 * 16);
  tiles_loop l = {.s = s, .A = A, .F = dW, .G = G, .pull = pull, .width = width};
  l.stop = ep_run_loose_stop();
  ep_crew_loop((A->cols + width - 1) / width, 1, worth_threads(A), output_columns, &l);
}

/* H = phi(A), A <- phi'(A) */
static void activate_both_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t i = first; i < end && !stopped(l->stop); i++) {
    const ep_mat h = ep_mat_rows(l->other, i, 1), a = ep_mat_rows(l->A, i, 1);
    ep_activation_both(&h, &a, l->phi, &a);
  }
}

/* Y_ij *= X_ij */
static void multiply_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t i = first; i < end && !stopped(l->stop); i++) {
    const ep_mat y = ep_mat_rows(l->A, i, 1), x = ep_mat_rows(l->other, i, 1);
    multiply(&y, &x);
  }
}

/* dA <- dH . phi'(A), in the place of A */
static void hidden_back_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t i = first; i < end && !stopped(l->stop); i++) {
    const ep_mat a = ep_mat_rows(l->A, i, 1), dh = ep_mat_rows(l->other, i, 1);
    ep_activation_slopes(&a, l->phi, &a);
    multiply(&a, &dh);
  }
}

static ptrdiff_t block_rows(const ep_stream *s, ptrdiff_t b) {
  return ep_least(s->block, s->X.rows - b * s->block);
}

static void load_block(ep_stream *s, const ep_net *net, ptrdiff_t b) {
  const ptrdiff_t n = block_rows(s, b);
  const ep_net_shape *shape = &s->shape;
  ep_mat A = ep_mat_rows(&s->A[0], 0, n);
  ep_packed_mul_nt(&A, ep_net_scale(shape, 0), s->packed[b], &net->V[0]);
  add_bias(&A, ep_net_bias_scale(shape, 0), &net->b[0]);
  for (int l = 1; l < shape->depth; l++) {
    const ep_mat T = shaped(&s->T, n, A.cols), next = ep_mat_rows(&s->A[l], 0, n);
    activate(&T, ep_net_phi(shape, l - 1), &A);
    ep_mat_mul(&next, ep_net_scale(shape, l), &T, EP_N, &net->V[l], EP_T, 0);
    add_bias(&next, ep_net_bias_scale(shape, l), &net->b[l]);
    A = next;
  }
  s->loaded = b;
}

static const ep_mat *top_layer(const ep_stream *s) { return &s->A[s->shape.depth - 1]; }

void ep_stream_forward(const ep_mat *F, ep_stream *s, const ep_net *net) {
  for (ptrdiff_t b = 0; b < s->blocks; b++) {
    load_block(s, net, b);
    const ep_mat A = ep_mat_rows(top_layer(s), 0, block_rows(s, b));
    const ep_mat f = ep_mat_rows(F, b * s->block, block_rows(s, b));
    double *norm = s->norm ? s->norm + b * s->block : NULL;
    outputs(&f, norm, s, norm ? 1 : top_scale(s), &A, &net->W);
    if (!norm) add_bias(&f, ep_net_bias_scale(&s->shape, s->shape.depth), &net->c);
    for (ptrdiff_t i = 0; norm && i < f.rows; i++) scale_row(&f, i, 1 / (norm[i] + s->delta));
  }
  if (s->norm) ep_mat_copy(&s->U, F);
}

/* G = du / (|h| + d), k = (du . u) / (|h| (|h| + d)) */
static void normalised_back(ep_stream *s, const ep_mat *G, const ep_mat *dF, ptrdiff_t first) {
  for (ptrdiff_t i = 0; i < G->rows; i++) {
    const double norm = s->norm[first + i], c = 1 / (norm + s->delta);
    double dot = 0;
    for (ptrdiff_t z = 0; z < G->cols; z++) {
      dot += ep_get(dF, i, z) * ep_get(&s->U, first + i, z);
      ep_set(G, i, z, c * ep_get(dF, i, z));
    }
    s->pull[first + i] = norm > 0 ? dot * c / norm : 0;
  }
}

static void block_back(ep_net *grad, ep_stream *s, const ep_net *net, const ep_mat *dF, ptrdiff_t b,
                       double beta) {
  const ptrdiff_t n = block_rows(s, b);
  const ep_net_shape *shape = &s->shape;
  const ep_mat G = ep_mat_rows(&s->G, 0, n), df = ep_mat_rows(dF, b * s->block, n);
  if (s->norm) {
    normalised_back(s, &G, &df, b * s->block);
  } else {
    ep_mat_fill(&G, 0);
    ep_mat_axpy(&G, top_scale(s), &df);
    bias_back(&grad->c, ep_net_bias_scale(shape, shape->depth), &df, beta);
  }
  int l = shape->depth - 1;
  ep_mat dA = ep_mat_rows(&s->A[l], 0, n);
  outputs_back(&grad->W, s, &dA, &net->W, &G, s->norm ? s->pull + b * s->block : NULL);
  for (; l > 0; l--) {
    const ep_mat A = ep_mat_rows(&s->A[l - 1], 0, n), T = shaped(&s->T, n, A.cols);
    const double c = ep_net_scale(shape, l);
    share_rows(activate_both_rows, &A, ep_net_phi(shape, l - 1), &T);
    ep_mat_mul(&grad->V[l], c, &dA, EP_T, &T, EP_N, beta);
    bias_back(&grad->b[l], ep_net_bias_scale(shape, l), &dA, beta);
    ep_mat_mul(&T, c, &dA, EP_N, &net->V[l], EP_N, 0);
    share_rows(multiply_rows, &A, NULL, &T);
    dA = A;
  }
  ep_packed_mul_tn(&grad->V[0], ep_net_scale(shape, 0), &dA, s->packed[b], beta);
  bias_back(&grad->b[0], ep_net_bias_scale(shape, 0), &dA, beta);
  s->loaded = -1;
}

/* From the last block, whose activations are still there, to the first. */
void ep_stream_backward(ep_net *grad, ep_stream *s, const ep_net *net, const ep_mat *dF) {
  ep_mat_fill(s->blocks ? &grad->W : &grad->theta, 0);
  if (s->norm && grad->c.data) ep_mat_fill(&grad->c, 0);
  for (ptrdiff_t b = s->blocks - 1; b >= 0; b--) {
    if (s->loaded != b) load_block(s, net, b);
    block_back(grad, s, net, dF, b, b < s->blocks - 1);
  }
}

/* dF += c A W */
static void add_output_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const tiles_loop *l = of;
  const ptrdiff_t i = first * TILE_ROWS, n = ep_least(end * TILE_ROWS, l->A->rows) - i;
  const ep_mat a = ep_mat_rows(l->A, i, n), f = ep_mat_rows(l->F, i, n);
  mul_outputs(&f, l->c, &a, EP_N, l->W, 1);
}

/* tangent along (dV, db, dW, dc):  dA_1 = s_1 X dV_1' + t_1 db_1,  dH_l = phi_l'(A_l) . dA_l,
 * dA_{l+1} = s_{l+1} (phi_l(A_l) dV_{l+1}' + dH_l V_{l+1}') + t_{l+1} db_{l+1},  dF = s (phi_L(A_L) dW + dH_L W) + t dc */
static void block_tangent(const ep_mat *dF, ep_stream *s, const ep_net *net,
                          const ep_net *direction, ptrdiff_t b) {
  const ptrdiff_t n = block_rows(s, b);
  const ep_net_shape *shape = &s->shape;
  ep_mat dA = shaped(&s->dA[0], n, ep_net_width(shape, 0));
  ep_packed_mul_nt(&dA, ep_net_scale(shape, 0), s->packed[b], &direction->V[0]);
  add_bias(&dA, ep_net_bias_scale(shape, 0), &direction->b[0]);
  for (int l = 1; l < shape->depth; l++) {
    const ep_mat A = ep_mat_rows(&s->A[l - 1], 0, n), T = shaped(&s->T, n, A.cols);
    const ep_mat next = shaped(&s->dA[l % 2], n, ep_net_width(shape, l));
    const double c = ep_net_scale(shape, l);
    activate(&T, ep_net_phi(shape, l - 1), &A);
    ep_mat_mul(&next, c, &T, EP_N, &direction->V[l], EP_T, 0);
    share_rows(hidden_back_rows, &A, ep_net_phi(shape, l - 1), &dA); /* A <- dH = phi'(A) . dA */
    ep_mat_mul(&next, c, &A, EP_N, &net->V[l], EP_T, 1);
    add_bias(&next, ep_net_bias_scale(shape, l), &direction->b[l]);
    dA = next;
  }
  const ep_mat A = ep_mat_rows(top_layer(s), 0, n);
  outputs(dF, NULL, s, top_scale(s), &A, &direction->W);
  add_bias(dF, ep_net_bias_scale(shape, shape->depth), &direction->c);
  share_rows(hidden_back_rows, &A, top_phi(s), &dA);
  tiles_loop last = {.A = &A, .F = dF, .W = &net->W, .c = top_scale(s)};
  ep_crew_loop(row_tiles(&A), 1, worth_threads(&A), add_output_rows, &last);
  s->loaded = -1;
}

void ep_stream_tangent(const ep_mat *dF, ep_stream *s, const ep_net *net, const ep_net *direction) {
  for (ptrdiff_t b = 0; b < s->blocks; b++) {
    const ep_mat df = ep_mat_rows(dF, b * s->block, block_rows(s, b));
    if (s->loaded != b) load_block(s, net, b);
    block_tangent(&df, s, net, direction, b);
  }
}

/* Bytes that packing all points takes at the density that still pays: values and indices of both sides,
 * supports while ordering, scratch of the threads. */
static double packing_bytes(const ep_stream *s) {
  const double n = (double)s->X.rows, d = (double)s->X.cols, size = (double)ep_sizeof(s->X.prec);
  return n * d * 2 * 0.85 * (size + 0.5) + 300 * (n + d) +
         64 * size * (1700 + d) * ep_run_threads();
}

/* numbers of A, T and dA a point */
static double hidden_numbers(const ep_stream *s) {
  const ep_net_shape *n = &s->shape;
  const double widest = (double)ep_net_widest(n);
  double sum = widest * ((n->depth > 1) + 2 * (s->pass == EP_PASS_TANGENT));
  if (s->pass == EP_PASS_FORWARD) return sum + widest * (double)ep_least(n->depth, 2);
  for (int l = 0; l < n->depth; l++) sum += (double)ep_net_width(n, l);
  return sum;
}

/* The largest block within the memory given; points are packed if that leaves room for a fair block. */
static ep_status plan_block(ep_stream *s, double memory) {
  enum { FAIR = 256 };
  const ep_net_shape *n = &s->shape;
  const double size = (double)ep_sizeof(s->X.prec), rows = (double)s->X.rows;
  const double point = size * (hidden_numbers(s) + (double)n->outputs) + 64;
  const double tiles =
      size * (TILE_ROWS * TILE_COLS * ep_run_threads() + (double)(n->width * n->outputs)) + 4096;
  const double fair = rows < FAIR ? rows : FAIR;
  double room = memory - tiles;
  s->pack = room - packing_bytes(s) >= fair * point;
  if (s->pack) room -= packing_bytes(s);
  EP_CHECK(room >= point, EP_ERR_ARG, "--memory is too small: this takes at least %.0f MiB",
           ceil(((double)ep_memory_current() + point + tiles) / 1048576));
  s->block = room / point < rows ? (ptrdiff_t)(room / point) : s->X.rows;
  if (s->block < 1) s->block = 1;
  s->blocks = (s->X.rows + s->block - 1) / s->block;
  return EP_OK;
}

static ep_status allocate(ep_stream *s, double passes) {
  const ep_net_shape *n = &s->shape;
  const ep_precision prec = s->X.prec;
  const ptrdiff_t widest = ep_net_widest(n);
  const bool turns = s->pass == EP_PASS_FORWARD; /* layers take turns in two buffers */
  for (int l = 0; l < n->depth && (!turns || l < 2); l++)
    EP_TRY(ep_mat_new(&s->owned[l], prec, s->block, turns ? widest : ep_net_width(n, l)));
  for (int l = 0; l < n->depth; l++)
    s->A[l] = shaped(&s->owned[turns ? l % 2 : l], s->block, ep_net_width(n, l));
  if (n->depth > 1) EP_TRY(ep_mat_new(&s->T, prec, s->block, widest));
  for (int k = 0; k < 2 && s->pass == EP_PASS_TANGENT; k++)
    EP_TRY(ep_mat_new(&s->dA[k], prec, s->block, widest));
  if (s->pass != EP_PASS_FORWARD) {
    EP_TRY(ep_mat_new(&s->G, prec, s->block, n->outputs));
    EP_TRY(ep_mat_new(&s->Wt, prec, n->outputs, n->width));
  }
  EP_TRY(ep_mat_new(&s->tiles, prec, (ptrdiff_t)TILE_ROWS * ep_run_threads(), TILE_COLS));
  s->packed = ep_alloc(s->blocks, sizeof *s->packed);
  EP_CHECK(s->packed, EP_ERR_NOMEM, "no memory for %td blocks", s->blocks);
  for (ptrdiff_t b = 0; b < s->blocks; b++) {
    const ep_mat X = ep_mat_rows(&s->X, b * s->block, block_rows(s, b));
    EP_TRY(ep_packed_new(&s->packed[b], &X, s->pack ? passes * (double)ep_net_width(n, 0) : 0));
  }
  return EP_OK;
}

ep_status ep_stream_new(ep_stream **out, const ep_mat *X, const ep_net_shape *shape, double passes,
                        ep_pass pass, double memory) {
  *out = NULL;
  EP_CHECK(X->cols == shape->inputs, EP_ERR_SHAPE,
           "the network takes points of dimension %td, the data have %td", shape->inputs, X->cols);
  ep_stream *s = ep_alloc(1, sizeof *s);
  EP_CHECK(s, EP_ERR_NOMEM, "no memory for a stream of points");
  *s = (ep_stream){.X = *X, .shape = *shape, .loaded = -1, .pass = pass};
  ep_status st = plan_block(s, memory);
  if (!st) st = allocate(s, passes);
  if (st) ep_stream_free(s);
  else *out = s;
  return st;
}

ep_status ep_stream_normalise(ep_stream *s, double delta) {
  s->delta = delta / top_scale(s);
  s->pull = ep_alloc(s->X.rows, sizeof *s->pull);
  EP_CHECK(s->pull, EP_ERR_NOMEM, "no memory for %td norms", s->X.rows);
  EP_TRY(ep_mat_new(&s->U, s->X.prec, s->X.rows, s->shape.outputs));
  s->norm = ep_alloc(s->X.rows, sizeof *s->norm);
  EP_CHECK(s->norm, EP_ERR_NOMEM, "no memory for %td norms", s->X.rows);
  return EP_OK;
}

/* Two buffers in turns; the last layer's is H. */
static ep_status hidden(ep_work *work, const ep_mat *H, const ep_net *net, ep_packed *packed) {
  const ep_net_shape *n = &net->shape;
  ep_mat room[2], below;
  for (int k = 0; k < 2 && k < n->depth - 1; k++)
    EP_TRY(ep_work_mat(work, &room[k], H->prec, H->rows, ep_net_widest(n)));
  for (int l = 0; l < n->depth; l++) {
    const ep_mat A = l == n->depth - 1 ? *H : shaped(&room[l % 2], H->rows, ep_net_width(n, l));
    if (l == 0) ep_packed_mul_nt(&A, ep_net_scale(n, 0), packed, &net->V[0]);
    else ep_mat_mul(&A, ep_net_scale(n, l), &below, EP_N, &net->V[l], EP_T, 0);
    add_bias(&A, ep_net_bias_scale(n, l), &net->b[l]);
    activate(&A, ep_net_phi(n, l), &A);
    below = A;
  }
  return EP_OK;
}

ep_status ep_net_hidden(const ep_mat *H, const ep_net *net, const ep_mat *X) {
  ep_packed *packed;
  ep_work work = {0};
  ep_status st = ep_packed_new(&packed, X, (double)ep_net_width(&net->shape, 0));
  if (!st) st = hidden(&work, H, net, packed);
  ep_packed_free(packed);
  ep_work_free(&work);
  return st;
}

void ep_stream_free(ep_stream *s) {
  if (!s) return;
  for (ptrdiff_t b = 0; s->packed && b < s->blocks; b++) ep_packed_free(s->packed[b]);
  ep_release(s->packed);
  for (int l = 0; l < s->shape.depth; l++) ep_mat_free(&s->owned[l]);
  ep_mat_free(&s->T);
  ep_mat_free(&s->G);
  ep_mat_free(&s->Wt);
  ep_mat_free(&s->dA[0]);
  ep_mat_free(&s->dA[1]);
  ep_mat_free(&s->tiles);
  ep_mat_free(&s->U);
  ep_release(s->norm);
  ep_release(s->pull);
  ep_release(s);
}

ptrdiff_t ep_stream_block(const ep_stream *s) { return s->block; }

double ep_stream_density(const ep_stream *s) {
  return s->blocks > 0 ? ep_packed_density(s->packed[0]) : 1;
}
