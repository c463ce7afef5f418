#pragma once
/* Benches print, in one run, what was measured beside the physical limit (the products alone) and beside
 * what a user would run instead. */
#include <eigenpair/eigenpair.h>

void bench_train(const char *peers); /* peers: folder of the scripts, or NULL */
void bench_kernel(const char *peers);
void bench_closed(const char *peers);
void bench_dynamics(const char *peers);
void bench_learnability(const char *peers);
void bench_quality(const char *peers);
void bench_optima(const char *peers);

/* ---- bench.c */
double bench_now(void);
double bench_median(double *x, int n); /* sorts x */
void bench_must(ep_status st);         /* ends the program on an error */
