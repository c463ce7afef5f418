/* Tangent kernel of a network from Gram matrices, block of points by block of points.
 *
 * Of a block: H_0 = X, H_l = phi_l(A_l), S_l = phi_l'(A_l), and, from the top layer down,
 *
 *   B_L[i] = s W_i . S_L,    B_l[i] = s_{l+1} (B_{l+1}[i] V_{l+1}) . S_l
 *
 * Of a pair of blocks and a layer: K += (s_l^2 H_{l-1} H_{l-1}' + t_l^2) . (B_l B_l').
 *
 * In the top layer B_i(x)'B_j(y) = s^2 sum_m (W_mi W_mj) (S_xm S_ym): symmetric in i and j, so the Z(Z+1)/2 products of
 * columns of W meet the products of rows of S, at half the operations of the Gram matrix of B; the mean over i = j is
 * one weighted product. */
#include "kernel/empirical.h"

#include "core/crew.h"
#include "core/mem.h"
#include "core/vector.h"

#include <eigenpair/stream.h>
#include <eigenpair/kernel.h>
#include <math.h>

const char *ep_layout_name(int i) {
  static const char *const names[] = {"full", "diagonal", "trace", NULL};
  return names[i];
}

ptrdiff_t ep_layout_entries(ep_layout layout, ptrdiff_t z) {
  return layout == EP_FULL ? z * z : layout == EP_DIAGONAL ? z : 1;
}

/* Features of a block of points; B and S belong to one layer at a time. */
typedef struct {
  ptrdiff_t n;            /* points in it now */
  ep_mat X;               /* (n, D) view of the data */
  ep_mat A[EP_MAX_DEPTH]; /* (block, M_l) pre-activations */
  ep_mat H[EP_MAX_DEPTH]; /* (block, M_l) phi of them */
  ep_mat S_room, S;       /* (block, max M_l); of it (n, M_l) phi' of one layer */
  ep_mat B_room[2];       /* (Z block, max M_l) of this layer and the one above */
  ep_mat B;               /* (Z n, M_l) this layer's, in: */
  int now;
} features;

typedef struct {
  const ep_net *net;
  const ep_mat *X, *Y;
  ep_layout layout;
  ep_ntk_cost cost;
  features f[2];
  ep_mat Wt;    /* (Z, M) */
  ep_mat WW;    /* (products, M) W_mi W_mj: i <= j (full), i = j (diagonal), their mean (trace) */
  ep_mat H, T;  /* Gram matrices of a pair of blocks */
  ep_mat tiles; /* of the threads, for products of rows of S */
  ep_mat weighted; /* (block, M) */
} kernel_work;

/* ---- planning */

/* Is the top layer's part of a full kernel made from products of rows? Making those costs about four operations. */
static bool in_pairs(const ep_net *net, ep_layout layout) {
  const double z = (double)net->shape.outputs;
  return layout == EP_FULL && z * (z + 1) / 2 + 2 < z * z;
}

static ptrdiff_t products(const ep_net *net, ep_layout layout) {
  const ptrdiff_t z = net->shape.outputs;
  return layout == EP_FULL ? z * (z + 1) / 2 : layout == EP_DIAGONAL ? z : 1;
}

/* Sets of B that a block needs: none where the top layer is the only one and goes without */
static int b_buffers(const ep_net *net, ep_layout layout) {
  if (net->shape.depth > 1) return 2;
  return layout == EP_FULL && !in_pairs(net, layout);
}

/* rows of the Gram matrix of B: all outputs at once only in the full layout */
static ptrdiff_t gram_rows(const ep_net *net, ep_layout layout) {
  if (!b_buffers(net, layout)) return 1;
  return layout == EP_FULL ? net->shape.outputs : 1;
}

/* a tile of products of rows of S: at most so large */
static ptrdiff_t tile_rows(ptrdiff_t block) { return ep_least(block * block, 360); }
static ptrdiff_t tile_cols(const ep_net *net) { return ep_least(net->shape.width, 256); }

static double block_bytes(const ep_net *net, ep_layout layout, double b, int sets) {
  const ep_net_shape *s = &net->shape;
  const double m = (double)s->width, z = (double)s->outputs, widest = (double)ep_net_widest(s);
  const double g = (double)gram_rows(net, layout);
  double row = widest * (1 + b_buffers(net, layout) * z) + (layout != EP_FULL) * m;
  for (int l = 0; l < s->depth; l++) row += 2 * (double)ep_net_width(s, l);
  const double one = b * row;
  const double e = (double)products(net, layout);
  const double tiles =
      (double)(ep_run_threads() * tile_rows((ptrdiff_t)b)) * ((double)tile_cols(net) + e);
  return (sets * one + (z + e) * m + b * b * (1 + g * g) + tiles) *
         (double)ep_sizeof(net->theta.prec);
}

static void count_flops(ep_ntk_cost *c, const ep_net *net, double n, double n2, ep_layout layout) {
  const ep_net_shape *s = &net->shape;
  const double z = (double)s->outputs, d = (double)s->inputs;
  const double zz = layout == EP_FULL ? z * z : z, half = c->symmetric ? 0.5 : 1;
  const double top = in_pairs(net, layout) ? z * (z + 1) / 2 + 2 : layout == EP_TRACE ? 1 : zz;
  double point = 2 * d * (double)ep_net_width(s, 0), pair = d; /* forward, and B downwards */
  for (int l = 0; l < s->depth; l++) {
    const double m = (double)ep_net_width(s, l);
    if (l > 0) point += 2 * m * (double)ep_net_width(s, l - 1) * (1 + z);
    pair += m * (1 + (l < s->depth - 1 ? zz : top));
  }
  const double grams = 2 * half * n * n2 * pair;
  const double passes =
      c->symmetric ? n * (double)(c->blocks[0] + 1) / 2 : n + n2 * (double)c->blocks[0];
  c->features = point * passes;
  c->flops = grams + c->features;
}

ep_status ep_ntk_plan(ep_ntk_cost *c, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                      ep_layout layout, double memory) {
  const ptrdiff_t n = X->rows, n2 = Y ? Y->rows : n, most = n > n2 ? n : n2;
  EP_CHECK(X->cols == net->shape.inputs && (!Y || Y->cols == X->cols), EP_ERR_SHAPE,
           "the network takes points of dimension %td, the data have %td", net->shape.inputs,
           X->cols != net->shape.inputs ? X->cols : Y->cols);
  /* a pair of blocks is at most half a second of work or so: there is something to tell, and a place to stop */
  const double entries = (double)ep_layout_entries(layout, net->shape.outputs);
  const double at_once =
      fmax(128, sqrt(2e10 / (entries * (double)ep_net_widest(&net->shape) * net->shape.depth +
                             (double)X->cols)));
  *c = (ep_ntk_cost){.symmetric = !Y, .block = (double)most < at_once ? most : (ptrdiff_t)at_once};
  int sets = Y || c->block < most ? 2 : 1; /* one block of one set needs one set of features */
  while (c->block > 1 && block_bytes(net, layout, (double)c->block, sets) > memory) {
    c->block = (c->block + 1) / 2;
    sets = 2;
  }
  c->bytes = block_bytes(net, layout, (double)c->block, sets);
  EP_CHECK(c->bytes <= memory, EP_ERR_ARG,
           "--memory is too small: a block of one point needs %.1f MiB beside the result",
           c->bytes / 1048576);
  c->blocks[0] = (n + c->block - 1) / c->block;
  c->blocks[1] = (n2 + c->block - 1) / c->block;
  count_flops(c, net, (double)n, (double)n2, layout);
  return EP_OK;
}

/* ---- features */

static ep_status new_features(ep_work *work, features *f, const ep_net *net, ptrdiff_t block,
                              int b_sets) {
  const ep_precision prec = net->theta.prec;
  const ptrdiff_t widest = ep_net_widest(&net->shape), z = net->shape.outputs;
  for (int l = 0; l < net->shape.depth; l++) {
    EP_TRY(ep_work_mat(work, &f->A[l], prec, block, ep_net_width(&net->shape, l)));
    EP_TRY(ep_work_mat(work, &f->H[l], prec, block, ep_net_width(&net->shape, l)));
  }
  EP_TRY(ep_work_mat(work, &f->S_room, prec, block, widest));
  for (int i = 0; i < b_sets; i++)
    EP_TRY(ep_work_mat(work, &f->B_room[i], prec, block * z, widest));
  return EP_OK;
}

typedef void map_fn(const ep_mat *, const ep_activation *, const ep_mat *);
typedef struct {
  const ep_mat *to, *A;
  const ep_activation *phi;
  map_fn *map;
} map_loop;

static void map_some(void *of, ptrdiff_t first, ptrdiff_t end) {
  const map_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat t = ep_mat_rows(l->to, i, 1), a = ep_mat_rows(l->A, i, 1);
    l->map(&t, l->phi, &a);
  }
}

static void map_rows(const ep_mat *to, const ep_activation *phi, const ep_mat *A, map_fn *map) {
  ep_crew_loop(A->rows, 8, true, map_some, &(map_loop){to, A, phi, map});
}

static ep_mat shaped(const ep_mat *buffer, ptrdiff_t rows, ptrdiff_t cols) {
  return ep_mat_view(buffer->prec, rows, cols, buffer->data);
}

/* A_1 = s_1 X V_1' + t_1 b_1,  A_{l+1} = s_{l+1} H_l V_{l+1}' + t_{l+1} b_{l+1},  H_l = phi_l(A_l), for points first.. of X */
static ep_status load(features *f, const ep_net *net, const ep_mat *X, ptrdiff_t first,
                      ptrdiff_t count) {
  ep_packed *packed;
  f->n = count;
  f->X = ep_mat_rows(X, first, count);
  const ep_net_shape *shape = &net->shape;
  EP_TRY(ep_packed_new(&packed, &f->X, (double)ep_net_width(shape, 0)));
  for (int l = 0; l < shape->depth; l++) {
    const ep_mat A = ep_mat_rows(&f->A[l], 0, count), H = ep_mat_rows(&f->H[l], 0, count);
    const double s = ep_net_scale(shape, l);
    if (l == 0) ep_packed_mul_nt(&A, s, packed, &net->V[0]);
    else {
      const ep_mat below = ep_mat_rows(&f->H[l - 1], 0, count);
      ep_mat_mul(&A, s, &below, EP_N, &net->V[l], EP_T, 0);
    }
    ep_net_add_bias(&A, ep_net_bias_scale(shape, l), &net->b[l]);
    map_rows(&H, ep_net_phi(shape, l), &A, ep_activation_values);
  }
  ep_packed_free(packed);
  return EP_OK;
}

/* S and B of layer l: from W at the top, from the layer above otherwise */
static void descend(features *f, const kernel_work *w, int l) {
  const ep_net *net = w->net;
  const ep_mat A = ep_mat_rows(&f->A[l], 0, f->n);
  f->S = shaped(&f->S_room, f->n, A.cols);
  map_rows(&f->S, ep_net_phi(&net->shape, l), &A, ep_activation_slopes);
  if (!f->B_room[0].data) return;
  const ptrdiff_t rows = f->n * net->shape.outputs;
  const double s = ep_net_scale(&net->shape, l + 1);
  const bool top = l == net->shape.depth - 1;
  const ep_mat above = f->B;
  f->now = top ? 0 : !f->now;
  f->B = shaped(&f->B_room[f->now], rows, A.cols);
  if (top) {
    EP_PICK(f->B.prec, ep_ntk_top)(&f->B, s, &w->Wt, &f->S);
  } else {
    ep_mat_mul(&f->B, s, &above, EP_N, &net->V[l + 1], EP_N, 0);
    EP_PICK(f->B.prec, ep_ntk_mask)(&f->B, &f->S);
  }
}

/* ---- Gram matrices of a pair of blocks */

static void gram(const ep_mat *G, const ep_mat *A, const ep_mat *B, double beta) {
  if (A->data == B->data && A->rows == B->rows) ep_mat_gram(G, 1, A, beta);
  else ep_mat_mul(G, 1, A, EP_N, B, EP_T, beta);
}

/* K += c H . (B B') */
static void add_layer(const ep_mat *K, kernel_work *w, double c, const ep_mat *H, const features *x,
                      const features *y) {
  const ptrdiff_t z = w->net->shape.outputs;
  const ep_mat Bx = x->B, By = y->B;
  if (w->layout == EP_FULL) {
    const ep_mat T = shaped(&w->T, z * x->n, z * y->n);
    gram(&T, &Bx, &By, 0);
    EP_PICK(K->prec, ep_ntk_add_full)(K, c, H, &T, z);
    return;
  }
  const ep_mat T = shaped(&w->T, x->n, y->n);
  for (ptrdiff_t i = 0; i < z; i++) {
    const ep_mat bx = ep_mat_rows(&Bx, i * x->n, x->n), by = ep_mat_rows(&By, i * y->n, y->n);
    gram(&T, &bx, &by, w->layout == EP_TRACE && i > 0);
    if (w->layout == EP_DIAGONAL) EP_PICK(K->prec, ep_ntk_add_one)(K, c, H, &T, z, i);
  }
  if (w->layout == EP_TRACE) EP_PICK(K->prec, ep_ntk_add_one)(K, c / (double)z, H, &T, 1, 0);
}

/* Pair number p of a block: row by row, y >= x only where x and y are one block (the rest is mirrored). */
typedef struct {
  ptrdiff_t x, y;
} point_pair;

static ptrdiff_t count_pairs(const features *x, const features *y) {
  return x == y ? x->n * (x->n + 1) / 2 : x->n * y->n;
}

static point_pair pair_at(ptrdiff_t p, const features *x, const features *y) {
  if (x != y) return (point_pair){p / y->n, p % y->n};
  ptrdiff_t row = 0;
  for (; p >= x->n - row; row++) p -= x->n - row;
  return (point_pair){row, row + p};
}

static point_pair next_pair(point_pair p, const features *x, const features *y) {
  if (++p.y < y->n) return p;
  p.x++;
  p.y = x == y ? p.x : 0;
  return p;
}

/* T[p, ij] = sum_m (W_mi W_mj)(S_xm S_ym) for a tile of pairs p = (x, y), then K[x, y, i, j] += c H[x, y] T[p, ij] */
static void pair_tile(const ep_mat *K, const kernel_work *w, double c, const ep_mat *H,
                      const features *x, const features *y, ptrdiff_t first, ptrdiff_t count) {
  const ptrdiff_t rows = tile_rows(w->cost.block), cols = tile_cols(w->net), m = x->S.cols;
  const ptrdiff_t z = w->net->shape.outputs, own = ep_crew_thread() * rows * (cols + w->WW.rows);
  const ep_mat tile = ep_mat_cols(&w->tiles, own, 1);
  const ep_mat T =
      ep_mat_view(tile.prec, count, w->WW.rows, ep_mat_cols(&tile, rows * cols, 1).data);
  for (ptrdiff_t m0 = 0; m0 < m; m0 += cols) {
    const ptrdiff_t k = ep_least(cols, m - m0);
    const ep_mat P = ep_mat_view(tile.prec, count, k, tile.data), ww = ep_mat_cols(&w->WW, m0, k);
    const ep_mat Sx = ep_mat_cols(&x->S, m0, k), Sy = ep_mat_cols(&y->S, m0, k);
    point_pair at = pair_at(first, x, y);
    for (ptrdiff_t p = 0; p < count; p++, at = next_pair(at, x, y)) {
      const ep_mat out = ep_mat_rows(&P, p, 1), sx = ep_mat_rows(&Sx, at.x, 1),
                   sy = ep_mat_rows(&Sy, at.y, 1);
      EP_PICK(P.prec, ep_ntk_row_products)(&out, &sx, &sy);
    }
    ep_mat_mul(&T, 1, &P, EP_N, &ww, EP_T, m0 > 0);
  }
  point_pair at = pair_at(first, x, y);
  for (ptrdiff_t p = 0; p < count; p++, at = next_pair(at, x, y)) {
    const ep_mat row = ep_mat_rows(K, at.x, 1), k = ep_mat_cols(&row, at.y * z * z, z * z);
    const ep_mat h = ep_mat_rows(H, at.x, 1), one = ep_mat_cols(&h, at.y, 1),
                 t = ep_mat_rows(&T, p, 1);
    EP_PICK(K->prec, ep_ntk_add_pairs)(&k, c, &one, &t, z);
  }
}

typedef struct {
  const ep_mat *K, *H;
  const kernel_work *w;
  double c;
  const features *x, *y;
} pairs_loop;

static void pair_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  const pairs_loop *l = of;
  const ptrdiff_t rows = tile_rows(l->w->cost.block), all = count_pairs(l->x, l->y);
  for (ptrdiff_t p = first * rows; p < ep_least(end * rows, all); p += rows)
    pair_tile(l->K, l->w, l->c, l->H, l->x, l->y, p, ep_least(rows, all - p));
}

static void add_pairs(const ep_mat *K, kernel_work *w, double c, const ep_mat *H, const features *x,
                      const features *y) {
  const ptrdiff_t rows = tile_rows(w->cost.block), all = count_pairs(x, y);
  ep_crew_loop((all + rows - 1) / rows, 1, true, pair_tiles, &(pairs_loop){K, H, w, c, x, y});
}

/* diagonal and trace: K[x, y, e] += c H[x, y] sum_m WW_em S_xm S_ym */
static void add_weighted(const ep_mat *K, kernel_work *w, double c, const ep_mat *H,
                         const features *x, const features *y) {
  const ep_mat Sx = x->S, Sy = y->S;
  const ep_mat P = ep_mat_rows(&w->weighted, 0, x->n), T = shaped(&w->T, x->n, y->n);
  for (ptrdiff_t e = 0; e < w->WW.rows; e++) {
    const ep_mat ww = ep_mat_rows(&w->WW, e, 1);
    EP_PICK(P.prec, ep_ntk_row_products)(&P, &ww, &Sx);
    ep_mat_mul(&T, 1, &P, EP_N, &Sy, EP_T, 0);
    EP_PICK(K->prec, ep_ntk_add_one)(K, c, H, &T, w->WW.rows, e);
  }
}

/* G = X Y' + t^2/s^2: times s^2 what a layer's weights and biases give; gives s^2 */
static double layer_gram(const ep_mat *G, const ep_net_shape *shape, int l, const ep_mat *X,
                         const ep_mat *Y) {
  const double s2 = pow(ep_net_scale(shape, l), 2), t2 = pow(ep_net_bias_scale(shape, l), 2);
  gram(G, X, Y, 0);
  if (t2 > 0)
    for (ptrdiff_t i = 0; i < G->rows; i++)
      for (ptrdiff_t j = 0; j < G->cols; j++) ep_set(G, i, j, ep_get(G, i, j) + t2 / s2);
  return s2;
}

/* K: the part of the result that belongs to the pair of blocks; its columns start at the first y */
static void add_pair(const ep_mat *K, kernel_work *w, features *x, features *y) {
  const ep_net *net = w->net;
  const int depth = net->shape.depth;
  const ptrdiff_t z = net->shape.outputs, entries = ep_layout_entries(w->layout, z);
  const ep_mat H = shaped(&w->H, x->n, y->n);
  const ep_mat top_x = ep_mat_rows(&x->H[depth - 1], 0, x->n),
               top_y = ep_mat_rows(&y->H[depth - 1], 0, y->n);
  const double c2 = layer_gram(&H, &net->shape, depth, &top_x, &top_y);
  EP_PICK(K->prec, ep_ntk_add_last)(K, c2, &H, entries, w->layout == EP_FULL ? z + 1 : 1);
  for (int l = depth - 1; l >= 0; l--) {
    const ep_mat below_x = l ? ep_mat_rows(&x->H[l - 1], 0, x->n) : x->X;
    const ep_mat below_y = l ? ep_mat_rows(&y->H[l - 1], 0, y->n) : y->X;
    descend(x, w, l);
    if (y != x) descend(y, w, l);
    const double scale2 = layer_gram(&H, &net->shape, l, &below_x, &below_y);
    if (l < depth - 1 || (w->layout == EP_FULL && !in_pairs(net, EP_FULL)))
      add_layer(K, w, scale2, &H, x, y);
    else (w->layout == EP_FULL ? add_pairs : add_weighted)(K, w, scale2 * c2, &H, x, y);
  }
}

/* ---- all of it */

/* The other half of a symmetric kernel, by tiles, so that one in a file is never in memory as a whole. */
static ep_status mirror(const ep_mat *K, const kernel_work *w) {
  enum { TILE = 128 };
  const ptrdiff_t n = K->rows, entries = ep_layout_entries(w->layout, w->net->shape.outputs);
  const ptrdiff_t z = w->layout == EP_FULL ? w->net->shape.outputs : 1;
  for (ptrdiff_t y = 0; y < n; y += TILE)
    for (ptrdiff_t x = 0; x <= y; x += TILE) {
      const ptrdiff_t ys[2] = {y, ep_least(n, y + TILE)}, xs[2] = {x, ep_least(n, x + TILE)};
      EP_PICK(K->prec, ep_ntk_mirror)(K, ys, xs, z, entries / z);
      EP_TRY(ep_run_step("pairs of blocks", 1, 1));
    }
  return EP_OK;
}

static ep_status all_pairs(const ep_mat *K, kernel_work *w) {
  const ptrdiff_t b = w->cost.block, entries = ep_layout_entries(w->layout, w->net->shape.outputs);
  const ep_mat *Y = w->Y ? w->Y : w->X;
  const ptrdiff_t *k = w->cost.blocks, all = w->Y ? k[0] * k[1] : k[0] * (k[0] + 1) / 2;
  ptrdiff_t done = 0;
  for (ptrdiff_t x0 = 0; x0 < w->X->rows; x0 += b) {
    const ptrdiff_t nx = ep_least(b, w->X->rows - x0);
    EP_TRY(load(&w->f[0], w->net, w->X, x0, nx));
    for (ptrdiff_t y0 = w->Y ? 0 : x0; y0 < Y->rows; y0 += b) {
      const ptrdiff_t ny = ep_least(b, Y->rows - y0);
      features *y = &w->f[!w->Y && y0 == x0 ? 0 : 1];
      EP_TRY(ep_run_step("pairs of blocks", (double)done++, (double)all));
      if (y == &w->f[1]) EP_TRY(load(y, w->net, Y, y0, ny));
      const ep_mat rows = ep_mat_rows(K, x0, nx),
                   part = ep_mat_cols(&rows, y0 * entries, ny * entries);
      ep_mat_fill(&part, 0);
      add_pair(&part, w, &w->f[0], y);
    }
  }
  return w->Y ? EP_OK : mirror(K, w);
}

static ep_status compute(ep_work *work, kernel_work *w, const ep_mat *K) {
  const ep_net *net = w->net;
  const ep_precision prec = net->theta.prec;
  const ptrdiff_t b = w->cost.block, g = gram_rows(net, w->layout), m = net->W.rows;
  const ptrdiff_t e = products(net, w->layout);
  const bool two = w->Y || w->cost.blocks[0] > 1;
  for (int i = 0; i <= two; i++)
    EP_TRY(new_features(work, &w->f[i], net, b, b_buffers(net, w->layout)));
  EP_TRY(ep_work_mat(work, &w->Wt, prec, net->shape.outputs, m));
  EP_TRY(ep_work_mat(work, &w->WW, prec, e, m));
  EP_TRY(ep_work_mat(work, &w->H, prec, b, b));
  EP_TRY(ep_work_mat(work, &w->T, prec, b * g, b * g));
  if (w->layout != EP_FULL) EP_TRY(ep_work_mat(work, &w->weighted, prec, b, m));
  else
    EP_TRY(ep_work_mat(work, &w->tiles, prec, 1,
                       ep_run_threads() * tile_rows(b) * (tile_cols(net) + e)));
  EP_PICK(prec, ep_ntk_products_of_w)(&w->Wt, &w->WW, &net->W);
  return all_pairs(K, w);
}

static ep_status ntk_empirical(const ep_mat *K, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                               ep_layout layout, double memory) {
  kernel_work w = {.net = net, .X = X, .Y = Y, .layout = layout};
  const ptrdiff_t n2 = Y ? Y->rows : X->rows;
  EP_TRY(ep_ntk_plan(&w.cost, net, X, Y, layout, memory));
  EP_CHECK(K->rows == X->rows && K->cols == n2 * ep_layout_entries(layout, net->shape.outputs),
           EP_ERR_SHAPE, "the kernel's matrix is %td x %td", K->rows, K->cols);
  ep_work work = {0};
  ep_run_loose_begin();
  ep_status st = compute(&work, &w, K);
  if (ep_run_loose_end()) st = EP_ERR_INTERRUPTED;
  ep_work_free(&work);
  return st;
}

ep_status ep_ntk_empirical(ep_run *run, const ep_mat *K, const ep_net *net, const ep_mat *X,
                           const ep_mat *Y, ep_layout layout, double memory) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = ntk_empirical(K, net, X, Y, layout, memory);
  ep_run_leave(&scope);
  return st;
}

/* ---- without forming it */

ep_status ep_ntk_pull(ep_net *direction, const ep_net *net, const ep_mat *X, const ep_mat *g,
                      double memory) {
  ep_stream *s;
  ep_mat F;
  EP_TRY(ep_stream_new(&s, X, &net->shape, 2, EP_PASS_BACKWARD, memory));
  const ep_status st = ep_mat_new(&F, X->prec, X->rows, net->shape.outputs);
  if (!st) ep_stream_forward(&F, s, net);
  if (!st) ep_stream_backward(direction, s, net, g);
  ep_mat_free(&F);
  ep_stream_free(s);
  return st;
}

ep_status ep_ntk_push(const ep_mat *out, const ep_net *net, const ep_mat *Y,
                      const ep_net *direction, double memory) {
  ep_stream *s;
  EP_TRY(ep_stream_new(&s, Y, &net->shape, 2, EP_PASS_TANGENT, memory));
  ep_stream_tangent(out, s, net, direction);
  ep_stream_free(s);
  return EP_OK;
}

static ep_status ntk_apply(const ep_mat *out, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                           const ep_mat *g, double memory) {
  ep_net direction;
  EP_TRY(ep_net_new(&direction, &net->shape, net->theta.prec));
  ep_status st = ep_ntk_pull(&direction, net, X, g, memory);
  if (!st) st = ep_ntk_push(out, net, Y ? Y : X, &direction, memory);
  ep_net_free(&direction);
  return st;
}

ep_status ep_ntk_apply(ep_run *run, const ep_mat *out, const ep_net *net, const ep_mat *X,
                       const ep_mat *Y, const ep_mat *g, double memory) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = ntk_apply(out, net, X, Y, g, memory);
  ep_run_leave(&scope);
  return st;
}

ep_drift ep_kernel_drift(const ep_mat *A, const ep_mat *B) {
  ep_drift d = {0};
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < A->cols; j++) {
      const double change = fabs(ep_get(A, i, j) - ep_get(B, i, j));
      if (!(change <= d.max)) d.max = change; /* and not a number once there is one */
      if (isnan(d.max)) break;
    }
  d.frobenius = sqrt(ep_mat_distance2(A, B));
  d.relative_frobenius = d.frobenius / sqrt(ep_mat_norm2(A));
  return d;
}
