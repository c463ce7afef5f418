#pragma once
#include <eigenpair/dataset.h>

bool ep_pairs_has_negatives(const ep_pairs *pairs);
ptrdiff_t ep_pairs_most_partners(const ep_pairs *pairs); /* listed ones */

/* The same of anchors first .. first + count alone: what ep_pairs_draw gives them. */
ep_status ep_pairs_draw_some(ep_pairs *out, ptrdiff_t anchors, ptrdiff_t first, ptrdiff_t count,
                             const ep_pair_plan *plan, long seed);

/* Points 0 .. n-1 are anchors; positives of an anchor are points of its label, negatives of another one, from a place drawn
 * with the seed on. A point alone with its label is its own positive. */
ep_status ep_pairs_by_label(ep_pairs *out, const int *label, ptrdiff_t n, const ep_pair_plan *plan,
                            long seed);

/* The pairs of some anchors, with points renumbered 0, 1, ..; point[i] (room for pairs->points) gets the
 * old number of new point i. `place` is scratch of pairs->points entries, all -1 before and after. */
ep_status ep_pairs_batch(ep_pairs *out, ptrdiff_t *point, const ep_pairs *pairs,
                         const ptrdiff_t *anchors, ptrdiff_t count, ptrdiff_t *place);

/* Rows of X that are equal become one: rewrites the indices, moves the first copies to the front of X
 * and sets X->rows and pairs->points to how many are left. */
ep_status ep_pairs_merge_equal(ep_mat *X, ep_pairs *pairs);

/* The pair matrix of the linear loss (theory: section 6): S symmetric (P x P), S[n,m] = S[m,n] = a/(2N) summed over the
 * pairs, a point paired with itself S[n,n] = a/N. Then Tr(U'SU) = 1/N sum a u_n'u_m = -L for any U (P x Z). */
typedef struct {
  ptrdiff_t points;     /* P */
  ptrdiff_t *start;     /* (P + 1) rows of the sparse part */
  ptrdiff_t *column;    /* (start[P]) */
  double *weight;       /* (start[P]) */
  double *left, *right; /* (P) or NULL: less (left right' + right left') / (2N), for all_others */
  ptrdiff_t anchors;    /* N */
} ep_pair_matrix;
ep_status ep_pair_matrix_new(ep_pair_matrix *out, const ep_pairs *pairs);
void ep_pair_matrix_free(ep_pair_matrix *S);
/* U = S T (P x b, either precision, U not T). Rows are shared out; the result does not depend on the thread count. */
void ep_pair_matrix_mul(const ep_mat *U, const ep_pair_matrix *S, const ep_mat *T);
