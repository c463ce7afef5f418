/* Sums over anchors (sum.h), a block of rows at a time. Products are of the run's precision; what they add up to is
 * double, so that the error does not grow with the number of points. */
#include "method/sum.h"

#include "core/crew.h"
#include "core/threads.h"
#include "core/vector.h"

#include <math.h>
#include <string.h>

/* ---- the numbers */

ep_status ep_sum_new(ep_sum *out, ptrdiff_t m, bool whitened) {
  *out = (ep_sum){0};
  ep_status st = ep_mat_new(&out->C, EP_DOUBLE, m, m);
  if (!st && whitened) st = ep_mat_new(&out->B, EP_DOUBLE, m, m);
  if (!st && whitened) st = ep_mat_new(&out->psi, EP_DOUBLE, 1, m);
  if (st) ep_sum_free(out);
  return st;
}

static ep_status new_parts(ep_sum *out, ep_dist *spread, bool lent) {
  *out = (ep_sum){.spread = spread, .lent = lent};
  ep_status st = ep_mat_new(&out->C, EP_DOUBLE, spread->cols, spread->rows);
  if (!st) st = ep_mat_new(&out->B, EP_DOUBLE, spread->cols, spread->rows);
  if (!st) st = ep_mat_new(&out->psi, EP_DOUBLE, 1, spread->order);
  if (st) ep_sum_free(out);
  return st;
}

ep_status ep_sum_new_spread(ep_sum *out, ep_dist *spread) { return new_parts(out, spread, false); }

ep_status ep_sum_new_like(ep_sum *out, const ep_sum *like) {
  return like->spread ? new_parts(out, like->spread, true)
                      : ep_sum_new(out, like->C.rows, ep_sum_is_whitened(like));
}

ptrdiff_t ep_sum_features(const ep_sum *s) { return s->spread ? s->spread->order : s->C.rows; }

void ep_sum_free(ep_sum *s) {
  if (!s->lent) ep_dist_free(s->spread);
  s->spread = NULL;
  ep_mat_free(&s->psi);
  ep_mat_free(&s->B);
  ep_mat_free(&s->C);
}

bool ep_sum_is_whitened(const ep_sum *s) { return s->B.data; }

void ep_sum_add(const ep_sum *to, const ep_sum *from) {
  ep_mat_axpy(&to->C, 1, &from->C);
  if (!ep_sum_is_whitened(to)) return;
  ep_mat_axpy(&to->B, 1, &from->B);
  ep_mat_axpy(&to->psi, 1, &from->psi);
}

void ep_sum_count(ep_sum *to, const ep_sum *from) {
  to->anchors += from->anchors;
  to->views += from->views;
  to->pairs += from->pairs;
}

double ep_sum_bytes(ptrdiff_t m, bool whitened) {
  return sizeof(double) * (double)m * (double)m * (whitened ? 2 : 1);
}

/* ---- products that add up in double */

enum {
  ROWS = 2048,
  FLUSH = 8192
}; /* rows a block; rows that a product of the run's precision sums */

typedef struct {
  ep_mat to;             /* (M, M) double */
  ep_mat part;           /* (M, M): `to` itself where the run is double */
  ptrdiff_t rows;        /* in the part */
  const ep_dist *spread; /* NULL: all of it; else `to` is this rank's part, and: */
  ep_mat left, right;    /* (block, cols), (block, rows) those columns of the features */
} adding;

double ep_sum_scratch(ptrdiff_t m, ep_precision prec) {
  const double size = (double)ep_sizeof(prec), parts = prec == EP_SINGLE ? 2 : 0;
  return size * (double)m * (parts * (double)m + 2 * ROWS);
}

double ep_sum_spread_bytes(const ep_dist *s, const ep_mat *X) {
  const double part = (double)s->rows * (double)s->cols, size = (double)ep_sizeof(X->prec);
  const double columns =
      2 * (double)(s->order + X->cols) + (double)s->rows + (double)s->cols; /* points, packed */
  return 16 * part + size * ((X->prec == EP_SINGLE ? 2 : 0) * part + ROWS * columns);
}

static ep_status new_adding(adding *a, ep_work *work, const ep_mat *to, ep_precision prec) {
  *a = (adding){.to = *to, .part = *to};
  return prec == EP_DOUBLE ? EP_OK : ep_work_mat(work, &a->part, prec, to->rows, to->cols);
}

static double beta(const adding *a) { return a->part.data == a->to.data || a->rows > 0; }

static void flush_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const adding *a = of;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = 0; j < a->to.cols; j++) *ep_d(&a->to, i, j) += (double)*ep_s(&a->part, i, j);
}

static void flush(adding *a, bool now) {
  if (a->part.data == a->to.data || a->rows == 0 || (!now && a->rows < FLUSH)) return;
  ep_crew_rows(&a->to, flush_rows, a);
  a->rows = 0;
}

static ep_status new_spread(adding *a, ep_work *work, const ep_dist *s, ptrdiff_t block) {
  a->spread = s;
  if (!s) return EP_OK;
  EP_TRY(ep_work_mat(work, &a->left, a->part.prec, block, s->cols));
  return ep_work_mat(work, &a->right, a->part.prec, block, s->rows);
}

typedef struct {
  ep_mat to;
  const ep_mat *A;
  const ptrdiff_t *index;
} pick_loop;

static void pick_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const pick_loop *l = of;
  const ep_mat *to = &l->to, *A = l->A;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = 0; j < to->cols; j++)
      if (to->prec == EP_SINGLE) *ep_s(to, i, j) = *ep_s(A, i, l->index[j]);
      else *ep_d(to, i, j) = *ep_d(A, i, l->index[j]);
}

/* these columns of A */
static ep_mat pick(const ep_mat *room, const ep_mat *A, const ptrdiff_t *index) {
  pick_loop l = {ep_mat_rows(room, 0, A->rows), A, index};
  ep_crew_rows(&l.to, pick_rows, &l);
  return l.to;
}

/* += A'A, upper triangle, or this rank's part of it; += A'B */
static void add_gram(adding *a, const ep_mat *A) {
  if (a->spread) {
    const ep_mat left = pick(&a->left, A, a->spread->col),
                 right = pick(&a->right, A, a->spread->row);
    ep_mat_mul(&a->part, 1, &left, EP_T, &right, EP_N, beta(a));
  } else {
    ep_mat_gram_cols(&a->part, 1, A, beta(a));
  }
  a->rows += A->rows;
  flush(a, false);
}

static void add_product(adding *a, const ep_mat *A, const ep_mat *B) {
  ep_mat_mul(&a->part, 1, A, EP_T, B, EP_N, beta(a));
  a->rows += A->rows;
  flush(a, false);
}

/* What was there before is whole on every rank, and counts once. */
static void ranks_begin(ep_sum *sum) {
  if (sum->spread || sum->anchors == 0 || ep_comm_rank() == 0) return;
  sum->anchors = sum->views = sum->pairs = 0;
  ep_mat_fill(&sum->C, 0);
  if (!ep_sum_is_whitened(sum)) return;
  ep_mat_fill(&sum->B, 0);
  ep_mat_fill(&sum->psi, 0);
}

/* over the shares of all ranks */
static ep_status ranks_sum(ep_sum *sum) {
  double counts[] = {sum->anchors, sum->views, sum->pairs};
  if (sum->spread) return EP_OK; /* all were seen by every rank */
  const ep_mat N = ep_mat_view(EP_DOUBLE, 1, 3, counts);
  EP_TRY(ep_comm_sum(&N));
  sum->anchors = counts[0], sum->views = counts[1], sum->pairs = counts[2];
  EP_TRY(ep_comm_sum(&sum->C));
  if (!ep_sum_is_whitened(sum)) return EP_OK;
  EP_TRY(ep_comm_sum(&sum->B));
  return ep_comm_sum(&sum->psi);
}

/* ---- whitened: views and groups of them */

/* A rotation takes the R views of a group to u = s / sqrt(R) and R - 1 differences,
 *
 *   v_k = (h_1 + .. + h_k - k h_{k+1}) / sqrt(k (k + 1)),   sum_v h_v h_v' = ss' / R + sum_k v_k v_k'
 *
 * and ss' is summed anyway: with the largest group of R0 views B = C / R0 + sum v v', where groups of fewer views add a row
 * s sqrt(1/R - 1/R0). Two views so take two products where three were. */
typedef struct {
  ep_sum *sum;
  adding B, C;
  ep_mat H, G, x; /* (block, M) features of views, (block, M) sums, then differences, (block, D) */
  ptrdiff_t most; /* R0 */
  ptrdiff_t *point;
  ptrdiff_t *view, *row; /* (block + 1) of a group: its first view, its first row of differences */
} grouping;

/* views of whole groups from anchor `first` on that fill a block; how many anchors that is */
static ptrdiff_t next_block(grouping *g, const ep_points *p, ptrdiff_t first, ptrdiff_t end) {
  ptrdiff_t n = 0, rows = 0, anchors = 0;
  g->view[0] = g->row[0] = 0;
  for (ptrdiff_t i = first; i < end; i++) {
    const ptrdiff_t size = ep_points_views(p, i), more = size - (size == g->most);
    if (anchors + 1 + rows + more > g->G.rows) break;
    for (ptrdiff_t v = 0; v < size; v++) g->point[n + v] = ep_points_view(p, i, v);
    g->view[++anchors] = n += size;
    g->row[anchors] = rows += more;
    g->sum->views += (double)size;
    g->sum->pairs += (double)size * (double)(size - 1);
  }
  g->sum->anchors += (double)anchors;
  return anchors;
}

/* to = a x + b y */
static void combine(const ep_mat *to, double a, const ep_mat *x, double b, const ep_mat *y) {
  ep_mat_fill(to, 0);
  ep_mat_axpy(to, a, x);
  ep_mat_axpy(to, b, y);
}

typedef struct {
  const ep_mat *S, *V, *H;
  const grouping *g;
} groups_loop;

static void turn_some(void *of, ptrdiff_t first, ptrdiff_t end) {
  const groups_loop *l = of;
  const ep_mat *S = l->S, *V = l->V, *H = l->H;
  const grouping *g = l->g;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat s = ep_mat_rows(S, i, 1), h1 = ep_mat_rows(H, g->view[i], 1);
    const ptrdiff_t size = g->view[i + 1] - g->view[i];
    ep_mat_copy(&s, &h1);
    for (ptrdiff_t k = 1; k < size; k++) {
      const ep_mat h = ep_mat_rows(H, g->view[i] + k, 1), v = ep_mat_rows(V, g->row[i] + k - 1, 1);
      const double c = 1 / sqrt((double)k * (double)(k + 1));
      combine(&v, c, &s, -c * (double)k, &h);
      ep_mat_axpy(&s, 1, &h);
    }
    if (size == g->most) continue;
    const ep_mat v = ep_mat_rows(V, g->row[i] + size - 1, 1);
    combine(&v, sqrt(1 / (double)size - 1 / (double)g->most), &s, 0, &s);
  }
}

/* rows of G: s of every group, then the differences V */
static void turn_groups(const ep_mat *S, const ep_mat *V, const ep_mat *H, const grouping *g) {
  ep_crew_loop(S->rows, 8, ep_worth_entries(H), turn_some, &(groups_loop){S, V, H, g});
}

enum { MEANS = 64 }; /* a turn */
typedef struct {
  double *mean;
  const ep_mat *G;
} mean_loop;

static void add_some_means(void *of, ptrdiff_t first, ptrdiff_t end) {
  double *mean = ((mean_loop *)of)->mean;
  const ep_mat *G = ((mean_loop *)of)->G;
  for (ptrdiff_t j0 = first * MEANS; j0 < ep_least(end * MEANS, G->cols); j0 += MEANS)
    for (ptrdiff_t i = 0; i < G->rows; i++)
      for (ptrdiff_t j = j0; j < j0 + MEANS && j < G->cols; j++) mean[j] += ep_get(G, i, j);
}

static void add_mean(double *mean, const ep_mat *G) {
  ep_crew_loop((G->cols + MEANS - 1) / MEANS, 1, ep_worth_entries(G), add_some_means,
               &(mean_loop){mean, G});
}

static ep_status new_grouping(grouping *g, ep_work *work, ep_sum *sum, const ep_points *points) {
  const ep_precision prec = points->X.prec;
  const ptrdiff_t k = sum->psi.cols, most = ep_points_most_views(points);
  const ptrdiff_t block = most + 1 > ROWS ? most + 1 : ROWS;
  *g = (grouping){.sum = sum, .most = most};
  sum->prec = prec;
  EP_TRY(new_adding(&g->B, work, &sum->B, prec));
  EP_TRY(new_adding(&g->C, work, &sum->C, prec));
  EP_TRY(new_spread(&g->B, work, sum->spread, block));
  g->C.spread = g->B.spread, g->C.left = g->B.left, g->C.right = g->B.right;
  EP_TRY(ep_work_mat(work, &g->H, prec, block, k));
  EP_TRY(ep_work_mat(work, &g->G, prec, block, k));
  EP_TRY(ep_work_mat(work, &g->x, prec, block, points->X.cols));
  EP_TRY(ep_work_get(work, &g->point, block, sizeof *g->point));
  EP_TRY(ep_work_get(work, &g->view, block + 1, sizeof *g->view));
  return ep_work_get(work, &g->row, block + 1, sizeof *g->row);
}

/* H: features of the views of a block. Spread matrices meet all of them: every rank makes its share. */
static ep_status view_rows(const ep_mat *H, const grouping *g, const ep_map *map,
                           const ep_points *points) {
  ep_share mine = {0, H->rows};
  if (g->sum->spread) mine = ep_comm_share(H->rows);
  const ep_mat x = ep_mat_rows(&g->x, 0, mine.count), own = ep_mat_rows(H, mine.first, mine.count);
  EP_TRY(ep_psi_rows_gather(&own, map, points, g->point + mine.first, &x));
  return g->sum->spread ? ep_comm_gather(H) : EP_OK;
}

static ep_status sum_groups(ep_work *work, ep_sum *sum, const ep_map *map, const ep_points *points,
                            ep_share anchors) {
  grouping g;
  EP_TRY(new_grouping(&g, work, sum, points));
  ep_share mine = {0, anchors.count};
  if (!sum->spread) mine = ep_comm_share(anchors.count);
  mine.first += anchors.first;
  const ptrdiff_t end = mine.first + mine.count;
  ranks_begin(sum);
  ep_mat_axpy(&sum->B, -1 / (double)g.most, &sum->C); /* what was there is whole already */
  for (ptrdiff_t i = mine.first, count; i < end; i += count) {
    EP_TRY(ep_run_step("anchors", (double)(i - mine.first), (double)mine.count));
    count = next_block(&g, points, i, end);
    const ep_mat H = ep_mat_rows(&g.H, 0, g.view[count]), S = ep_mat_rows(&g.G, 0, count);
    const ep_mat V = ep_mat_rows(&g.G, count, g.row[count]);
    EP_TRY(view_rows(&H, &g, map, points));
    turn_groups(&S, &V, &H, &g);
    add_mean(sum->psi.data, &S);
    if (V.rows > 0) add_gram(&g.B, &V);
    add_gram(&g.C, &S);
  }
  flush(&g.B, true);
  flush(&g.C, true);
  ep_mat_axpy(&sum->B, 1 / (double)g.most, &sum->C);
  return ranks_sum(sum);
}

ep_status ep_sum_whitened(ep_sum *sum, const ep_map *map, const ep_points *points) {
  return ep_sum_whitened_some(sum, map, points, (ep_share){0, points->pairs.anchors});
}

ep_status ep_sum_whitened_some(ep_sum *sum, const ep_map *map, const ep_points *points,
                               ep_share anchors) {
  ep_work work = {0};
  EP_CHECK(
      ep_points_are_views(points), EP_ERR_INPUT,
      "method whitened takes views of points, no negatives: use --views R or --pairs positives");
  ep_run_loose_begin();
  ep_status st = sum_groups(&work, sum, map, points, anchors);
  if (ep_run_loose_end()) st = EP_ERR_INTERRUPTED;
  ep_work_free(&work);
  return st;
}

/* ---- pca: anchors and their partners */

typedef struct {
  ep_mat A, T, H,
      x; /* (block, M) anchors' features, their sums of partners, features in transit; (block, D) */
  ptrdiff_t *point; /* (block) */
  ptrdiff_t *row;   /* (block) row of T that a partner goes to */
  double *sign;     /* (block) */
} gathering;

static ep_status new_gathering(gathering *g, ep_work *work, const ep_map *map, const ep_mat *X,
                               ptrdiff_t block) {
  EP_TRY(ep_work_mat(work, &g->A, X->prec, block, map->count));
  EP_TRY(ep_work_mat(work, &g->T, X->prec, block, map->count));
  EP_TRY(ep_work_mat(work, &g->H, X->prec, block, map->count));
  EP_TRY(ep_work_mat(work, &g->x, X->prec, block, X->cols));
  EP_TRY(ep_work_get(work, &g->point, block, sizeof *g->point));
  EP_TRY(ep_work_get(work, &g->row, block, sizeof *g->row));
  return ep_work_get(work, &g->sign, block, sizeof *g->sign);
}

typedef struct {
  const ep_mat *H;
  const gathering *g;
  const ep_mat *kept;
} gather_loop;

static void copy_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const gather_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat to = ep_mat_rows(l->H, i, 1), from = ep_mat_rows(l->kept, l->g->point[i], 1);
    ep_mat_copy(&to, &from);
  }
}

static ep_status some_rows(const ep_mat *H, gathering *g, ep_psi_rows *rows, ptrdiff_t n) {
  const ep_mat x = ep_mat_rows(&g->x, 0, n);
  if (!ep_psi_rows_all_kept(rows))
    return ep_psi_rows_gather(H, rows->map, rows->points, g->point, &x);
  ep_crew_loop(n, ep_rows_at_once(H->cols, 32768), ep_worth_entries(H), copy_rows,
               &(gather_loop){H, g, &rows->kept});
  return EP_OK;
}

/* T_row += sign H; the partners of an anchor stand together, and whose turn the first of them is adds them all */
static void add_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const gather_loop *l = of;
  const gathering *g = l->g;
  const ptrdiff_t n = l->H->rows;
  for (ptrdiff_t i = first; i < end; i++)
    if (i == 0 || g->row[i] != g->row[i - 1])
      for (ptrdiff_t k = i; k < n && g->row[k] == g->row[i]; k++) {
        const ep_mat t = ep_mat_rows(&g->T, g->row[i], 1), h = ep_mat_rows(l->H, k, 1);
        ep_mat_axpy(&t, g->sign[k], &h);
      }
}

static ep_status add_partners(gathering *g, ep_psi_rows *rows, ptrdiff_t n) {
  const ep_mat H = ep_mat_rows(&g->H, 0, n);
  EP_TRY(some_rows(&H, g, rows, n));
  ep_crew_rows(&H, add_rows, &(gather_loop){&H, g, NULL});
  return EP_OK;
}

/* t_n of the anchors first .. first + n */
static ep_status partner_sums(gathering *g, ep_psi_rows *rows, const ep_pairs *p, ptrdiff_t first,
                              ptrdiff_t n) {
  const ep_mat T = ep_mat_rows(&g->T, 0, n);
  ptrdiff_t waiting = 0;
  ep_mat_fill(&T, 0);
  for (ptrdiff_t i = first; i < first + n; i++)
    for (ptrdiff_t k = p->start[i]; k < p->start[i + 1]; k++) {
      g->point[waiting] = p->partner[k];
      g->row[waiting] = i - first;
      g->sign[waiting++] = p->sign[k];
      if (waiting < g->H.rows) continue;
      EP_TRY(add_partners(g, rows, waiting));
      waiting = 0;
    }
  return waiting ? add_partners(g, rows, waiting) : EP_OK;
}

/* all features, where there is room for them: every rank makes its share */
static ep_status keep_rows(ep_psi_rows *rows) {
  const ep_share mine = ep_comm_share(rows->points->X.rows);
  if (!ep_psi_rows_all_kept(rows)) return EP_OK;
  for (ptrdiff_t i = 0, n; i < mine.count; i += n) {
    ep_mat x;
    n = ep_least(rows->block, mine.count - i);
    const ep_mat to = ep_mat_rows(&rows->kept, mine.first + i, n);
    EP_TRY(ep_run_step("features", (double)i, (double)mine.count));
    EP_TRY(ep_points_block(&x, rows->points, mine.first + i, n, &rows->x));
    EP_TRY(ep_map_rows(&to, rows->map, &x));
  }
  return ep_comm_gather(&rows->kept);
}

static ep_status sum_anchors(ep_work *work, ep_sum *sum, ep_psi_rows *rows, const ep_pairs *p) {
  gathering g;
  adding C;
  EP_TRY(keep_rows(rows));
  EP_TRY(new_gathering(&g, work, rows->map, &rows->points->X, rows->block));
  EP_TRY(new_adding(&C, work, &sum->C, rows->points->X.prec));
  const ep_share mine = ep_comm_share(p->anchors);
  const ptrdiff_t end = mine.first + mine.count;
  ranks_begin(sum);
  for (ptrdiff_t i = mine.first; i < end; i += rows->block) {
    const ptrdiff_t n = ep_least(rows->block, end - i);
    const ep_mat A = ep_mat_rows(&g.A, 0, n), T = ep_mat_rows(&g.T, 0, n);
    EP_TRY(ep_run_step("anchors", (double)(i - mine.first), (double)mine.count));
    memcpy(g.point, p->anchor + i, (size_t)n * sizeof *g.point);
    EP_TRY(some_rows(&A, &g, rows, n));
    EP_TRY(partner_sums(&g, rows, p, i, n));
    add_product(&C, &A, &T);
  }
  flush(&C, true);
  sum->prec = rows->points->X.prec;
  sum->anchors += (double)mine.count;
  sum->pairs += (double)(p->start[end] - p->start[mine.first]);
  return ranks_sum(sum);
}

ep_status ep_sum_pca(ep_sum *sum, const ep_map *map, const ep_points *points, double memory) {
  ep_work work = {0};
  ep_psi_rows rows;
  const ep_pairs *p = &points->pairs;
  const double m = (double)map->count, size = (double)ep_sizeof(points->X.prec);
  /* three blocks of rows are needed besides; features are kept where points are met more than once, all or none */
  const double left = memory - (size < 8 ? size * m * m : 0);
  const bool keep = p->anchors + p->start[p->anchors] > points->X.rows &&
                    size * (double)points->X.rows * m < 0.6 * left;
  EP_CHECK(!p->all_others, EP_ERR_ARG,
           "sums over anchors take listed pairs; for --pairs all use fit with --path free or dual");
  ep_status st =
      ep_psi_rows_new(&rows, &work, map, points, (ep_share){0, points->X.rows}, keep, left * 0.6);
  ep_run_loose_begin();
  if (!st) st = sum_anchors(&work, sum, &rows, p);
  if (ep_run_loose_end()) st = EP_ERR_INTERRUPTED;
  ep_work_free(&work);
  return st;
}
