/* The loops over pixels of augmentations, for every level of processor. */
#ifndef EP_DATA_PIXELS_H
#define EP_DATA_PIXELS_H

#include "core/real.h"

EP_DOUBLE_FN(void, ep_pixels_load, double *x, const float *from, ptrdiff_t n);
EP_DOUBLE_FN(void, ep_pixels_store, float *to, const double *x, ptrdiff_t n);
EP_DOUBLE_FN(double, ep_pixels_mean, const double *x, ptrdiff_t n);
/* x <- scale x + offset, within [0, 1] */
EP_DOUBLE_FN(void, ep_pixels_light, double *x, ptrdiff_t n, double scale, double offset);
/* (x, y, z) <- M (x, y, z) + offset, within [0, 1] */
EP_DOUBLE_FN(void, ep_pixels_turn, double *x, double *y, double *z, ptrdiff_t n,
             const double M[3][3], double offset);
/* y_j = sum_k g_k line_{j+k}, j < n, |k| <= half: g has 2 half + 1 weights, the same to either side, line n + 2 half numbers */
EP_DOUBLE_FN(void, ep_pixels_across, double *y, const double *line, int n, const double *g,
             int half);
/* y_j = sum_k g_k x_{k j}, j < n: rows[2 half + 1] are the lines that weigh in */
EP_DOUBLE_FN(void, ep_pixels_down, double *y, const double *const *rows, int n, const double *g,
             int half);
/* u_j = u + du j, v_j = v + dv j, j < n */
EP_DOUBLE_FN(void, ep_pixels_line, double *to_u, double *to_v, int n, double u, double du, double v,
             double dv);
/* Places (u, v) of an image of H x W that has one dark line before and two behind it, both ways: u and v become how far
 * beyond the pixel from[j] of that they are. What is further outside is dark as well. */
EP_DOUBLE_FN(void, ep_pixels_places, int *from, double *u, double *v, int n, int H, int W);
/* y_j = bilinear between the four pixels of x from from[j] on, lines of x `line` apart */
EP_DOUBLE_FN(void, ep_pixels_between, double *y, const double *x, const int *from, const double *u,
             const double *v, int n, ptrdiff_t line);
/* y_j = (1 - w_j) x_k + w_j x_{k+1}, k = from[j] */
EP_DOUBLE_FN(void, ep_pixels_widen, double *y, const double *x, const int *from, const double *w,
             int n);
/* y = (1 - w) a + w b */
EP_DOUBLE_FN(void, ep_pixels_mix, double *y, const double *a, const double *b, int n, double w);

#endif
