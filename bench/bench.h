#pragma once
/* Benches print, in one run, what was measured beside the physical limit (the products alone) and beside
 * what a user would run instead. */
#include <eigenpair/eigenpair.h>
#include <stdbool.h>

void bench_train(const char *peers); /* peers: folder of the scripts, or NULL */
void bench_kernel(const char *peers);
void bench_closed(const char *peers);
void bench_dynamics(const char *peers);
void bench_learnability(const char *peers);
void bench_quality(const char *peers);
void bench_optima(const char *peers);
void bench_mnist(const char *peers);
void bench_augment(const char *peers);

/* ---- bench.c */
double bench_now(void);
double bench_median(double *x, int n); /* sorts x */
void bench_must(ep_status st);         /* ends the program on an error */

/* A row of the table that the program ends with: what was asked, what was measured. */
typedef enum { AT_MOST, AT_LEAST } bench_sense;
void bench_row(const char *what, bench_sense sense, double asked, double measured);
/* Seconds of `run` beside one busy process over those alone; medians, in turns. */
double bench_busy(double (*run)(void *), void *what, int turns);
/* FOLDER of the scripts, by where this program is; false: they are not there. */
bool bench_scripts(char *folder, size_t size);
const char *bench_python(void); /* what runs the peers: PYTHON, or Debian's */
