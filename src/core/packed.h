#pragma once
/* One operand L (rows x depth) of a product C = L B, packed for the loops of packed_real.c. */
#include "core/real.h"

#include <stdint.h>

enum {
  EP_PANEL_ROWS = 6, /* rows of L that share a list of columns */
  EP_PANEL_COLS =
      64, /* at most so many columns of B pass through at once, in panels of two vectors a row (of four where they are 64 bytes) */
  EP_PANEL_DEPTH = 800 /* the depth is cut into chunks whose part of B stays in cache */
};

typedef struct {
  ptrdiff_t rows, depth, panels, chunks;
  ptrdiff_t *order; /* (panels * EP_PANEL_ROWS) row of L at each place, -1 for padding */
  ptrdiff_t *start; /* (chunks * panels + 1) first entry of a panel of a chunk */
  uint16_t *index;  /* column of the entry within its chunk */
  void *value;      /* real (entries, EP_PANEL_ROWS) */
} ep_side;

/* Numbers of scratch that one thread needs: a chunk of B, and in the transposed product (`sums`) the panels of C. */
static inline ptrdiff_t ep_side_scratch(const ep_side *L, int sums) {
  const ptrdiff_t depth = L->depth < EP_PANEL_DEPTH ? L->depth : EP_PANEL_DEPTH;
  const ptrdiff_t rows = depth + (sums ? L->panels * EP_PANEL_ROWS : 0);
  return rows * EP_PANEL_COLS;
}

/* Fills panels one by one with the row that adds the fewest columns to the panel. bits: the support of each row on at most
 * EP_ORDER_BITS columns, of which so many words are used; left: the n rows to be placed, used up */
enum { EP_ORDER_BITS = 2048 };
EP_REAL_FN(void, ep_side_order, ptrdiff_t *order, const uint64_t *bits, ptrdiff_t *left,
           ptrdiff_t n, int words);
EP_REAL_FN(void, ep_side_values, ep_side *side, const ep_mat *X, int transposed);
EP_REAL_FN(void, ep_side_mul_nt, const ep_mat *A, double alpha, const ep_side *L, const ep_mat *V,
           void *scratch);
EP_REAL_FN(void, ep_side_mul_tn, const ep_mat *G, double alpha, const ep_mat *B, const ep_side *L,
           double beta, void *scratch);
