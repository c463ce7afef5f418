#pragma once
/* What the checks of claims share: a quantity along x from several runs, its spread, its exponent, its drawing. */
#include <eigenpair/claim.h>
#include <eigenpair/matrix.h>
#include <eigenpair/powerlaw.h>

/* A quantity along x, for several starts. */
typedef struct {
  ptrdiff_t count;
  int runs;
  double *x;   /* (count) */
  double *all; /* (count, runs) */
} claim_curve;
ep_status claim_curve_new(claim_curve *c, ep_work *work, ptrdiff_t count, int runs);
static inline double *claim_at(const claim_curve *c, ptrdiff_t i, int run) {
  return &c->all[i * c->runs + run];
}
double claim_median(const claim_curve *c, ptrdiff_t i);
double claim_worst(const claim_curve *c, ptrdiff_t i); /* largest over the runs */
double claim_least(const claim_curve *c, ptrdiff_t i);
/* Medians, with the range over the starts where there are several. */
ep_status claim_draw(json_t *figure, const char *name, const char *panel, const claim_curve *c,
                     bool dashed);
/* The same; what is below the floor, which the figure has to name, is drawn there. */
ep_status claim_draw_above(json_t *figure, const char *name, const char *panel,
                           const claim_curve *c, bool dashed, double floor);
#define CLAIM_ROUNDING 1e-12 /* differences of numbers of about 1 mean nothing below it */
/* A figure that belongs to the result at once, so that an error on the way leaks nothing. */
ep_status claim_figure(json_t **figure, ep_claim_result *r, const char *name, ep_figure_kind kind,
                       const char *title, const char *alt, ep_axis x, ep_axis y);
/* slope of log y over log x, by least squares on the medians */
double claim_exponent(const claim_curve *c);
/* the law of all runs, with the interval that their scatter gives */
ep_power_law claim_law(const claim_curve *c);
/* the same where a run is one problem at every x: its own constant is not in the interval */
ep_power_law claim_law_of_runs(const claim_curve *c);
/* Its exponent, within its interval. */
ep_status claim_measure_law(ep_claim_result *r, const char *name, const ep_power_law *law);
bool claim_whole(const claim_curve *c); /* every value is finite */

static inline int claim_pick(ep_claim_size size, int quick, int medium, int paper) {
  return size == EP_CLAIM_QUICK ? quick : size == EP_CLAIM_MEDIUM ? medium : paper;
}
