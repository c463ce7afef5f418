#pragma once
/* What the closed forms share: rows of features, and the top eigenpairs of C = Psi'S Psi by three paths. */
#include "method/model.h"

#include <eigenpair/eigen.h>

/* psi(x_i) of the points, in blocks; as many as memory allows are made once and kept. */
typedef struct {
  const ep_map *map;
  const ep_points *points;
  ptrdiff_t first, rows; /* these of the points; row 0 below is the first of them */
  ptrdiff_t block;       /* points at a time */
  ep_mat kept;           /* (kept rows, M): whole blocks from the first on */
  ptrdiff_t filled;      /* rows of it that are made */
  ep_mat buffer;         /* (block, M) for the others; none if all are kept */
  ep_mat x;              /* (block, D) points that are not in memory */
} ep_psi_rows;
ep_status ep_psi_rows_new(ep_psi_rows *out, ep_work *work, const ep_map *map,
                          const ep_points *points, ep_share part, bool keep, double memory);
/* Views of the rows first .. first + block (fewer at the end); `first` is a multiple of the block. Valid until the
 * next call. */
ep_status ep_psi_rows_get(ep_mat *out, ep_psi_rows *rows, ptrdiff_t first);
bool ep_psi_rows_all_kept(const ep_psi_rows *rows);
/* H (n x M) = psi of the points index[0 .. n-1], none of them looked up; `x` (n x D) is scratch. */
ep_status ep_psi_rows_gather(const ep_mat *H, const ep_map *map, const ep_points *points,
                             const ptrdiff_t *index, const ep_mat *x);

typedef struct {
  ep_closed_path path;                     /* never auto, of which the arrays say nothing */
  double flops[EP_PATHS], bytes[EP_PATHS]; /* estimates; flops of double counted twice in single */
  bool fits[EP_PATHS];
  double features; /* share of them that `free` keeps */
} ep_plan;
/* Chooses setup->closed.path, or the cheapest that fits. */
ep_status ep_plan_make(ep_plan *plan, const ep_map *map, const ep_points *points, ptrdiff_t outputs,
                       const ep_setup *setup);
ep_status ep_plan_explain(ep_fit_info *info, const ep_plan *plan, const ep_map *map,
                          const ep_points *points, const ep_setup *setup);

/* W (M x Z, double): orthonormal columns, lambda[Z] falling: top eigenpairs of C = Psi'S Psi. */
ep_status ep_closed_pca(const ep_mat *W, double *lambda, ep_eigen_info *info, ep_plan *plan,
                        const ep_map *map, const ep_points *points, const ep_setup *setup);
/* The same from G = Psi Psi' (P x P, double; overwritten): Y (P x Z) with Y'GY = I, S G Y = Y Lambda. *positive: how many
 * of the Z eigenvalues are above `least` times the largest; if not all, Y is not filled in. */
ep_status ep_closed_dual(const ep_mat *Y, double *lambda, ep_eigen_info *info, ptrdiff_t *positive,
                         const ep_mat *G, const ep_pairs *pairs, double least,
                         const ep_setup *setup);

/* The stages of the map, where it has some. */
ep_status ep_closed_explain_map(ep_fit_info *info, const ep_map *map);

/* The eigensolver's options; single-precision products carry no tolerance below 3e-6. */
ep_eigen_config ep_closed_eigen(const ep_setup *setup, ep_precision prec);
/* The similarity that psi is made with; refuses losses that have no such form. */
ep_status ep_closed_psi(ep_psi *psi, const ep_setup *setup);
/* Fills in the method's own numbers: eigenvalues, gap, residual; says aloud what is wrong with them. */
ep_status ep_closed_report(ep_fit_info *info, const double *lambda, ptrdiff_t count,
                           const ep_eigen_info *eigen, const char *path);

/* What a map of the points is made from; `kernel` is of landmarks, NULL: none. */
ep_map_plan ep_closed_plan(const ep_points *points, ep_psi psi, const ep_analytic *kernel,
                           const ep_setup *setup);
/* infinite.c: the kernel that the options name. */
ep_status ep_closed_kernel(ep_analytic *kernel, const ep_points *points, const ep_setup *setup);
/* W is for so many outputs. */
ptrdiff_t ep_closed_outputs(const ep_map *map, const ep_setup *setup);
