/* Closed forms: all of MNIST through pca, beside the products it contains; the same small problem in NumPy and SciPy. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { M = 4096, Z = 64 };

static void make_setup(ep_setup *s, const char *method, long samples, const char *memory) {
  ep_setup_default(s);
  strcpy(s->data.data, "mnist");
  strcpy(s->fit.method, method);
  s->data.samples = samples;
  s->net.width = M;
  s->net.outputs = Z;
  bench_must(ep_options_set(ep_options_find(ep_run_options, "memory"), &s->run, memory));
}

/* ---- time and memory against the number of anchors */

typedef struct {
  double seconds, load, peak, product;
} point;

/* the product that C takes, 2 N M^2 operations, alone */
static double product_seconds(double anchors) {
  enum { ROWS = 2048 };
  ep_mat A, B, C;
  bench_must(ep_mat_new(&A, EP_SINGLE, ROWS, M));
  bench_must(ep_mat_new(&B, EP_SINGLE, ROWS, M));
  bench_must(ep_mat_new(&C, EP_SINGLE, M, M));
  ep_random_fill_normal(&A, 1, EP_STREAM_DATA, 0);
  ep_random_fill_normal(&B, 1, EP_STREAM_DATA, 1);
  ep_mat_mul(&C, 1, &A, EP_T, &B, EP_N, 0);
  const double begin = bench_now();
  for (int k = 0; k < 3; k++) ep_mat_mul(&C, 1, &A, EP_T, &B, EP_N, 1);
  const double seconds = (bench_now() - begin) / (3 * ROWS) * anchors;
  ep_mat_free(&A), ep_mat_free(&B), ep_mat_free(&C);
  return seconds;
}

static point measure(long anchors, const char *memory) {
  static ep_setup s;
  ep_points p;
  ep_model *model;
  ep_fit_info info;
  point out;
  make_setup(&s, "pca", anchors, memory);
  double begin = bench_now();
  bench_must(ep_points_load(NULL, &p, &s.data, &s.pair, "triplet", &s.run));
  out.load = bench_now() - begin;
  ep_memory_peak_reset();
  begin = bench_now();
  bench_must(ep_fit(NULL, &model, &info, &p, &s));
  out.seconds = bench_now() - begin;
  out.peak = (double)ep_memory_peak();
  printf("%8ld %8s %7.2f s %7.2f s %8.0f MiB  %-8s", anchors, memory, out.load, out.seconds,
         out.peak / 1048576, json_string_value(json_object_get(info.numbers, "path")));
  ep_model_free(model);
  ep_fit_info_free(&info);
  ep_points_free(&p);
  out.product = product_seconds((double)anchors);
  printf(" %7.2f s\n", out.product);
  return out;
}

static void bench_growth(void) {
  static const long anchors[] = {5000, 10000, 20000, 40000, 60000};
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const int n = sizeof anchors / sizeof *anchors;
  printf("pca of MNIST triplets, M = 4,096, Z = 64, single precision\n");
  printf("%8s %8s %9s %9s %12s  %-8s %9s\n", "anchors", "--memory", "load", "fit", "peak", "path",
         "product");
  for (int i = 0; i < n; i++) {
    const point p = measure(anchors[i], "4G");
    const double x = log((double)anchors[i]), y = log(p.seconds);
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  printf("seconds grow as N^%.2f\n", (n * sxy - sx * sy) / (n * sxx - sx * sx));
  for (int i = 2; i < n; i++) measure(anchors[i], "1G");
  printf(
      "load: decompress, augment, find equal points; product: 2 N M^2 operations of C alone\n\n");
}

static void augment_digits(void) {
  static ep_setup s;
  ep_dataset set;
  ep_augment chain;
  ep_mat out;
  make_setup(&s, "pca", 0, "4G");
  bench_must(ep_dataset_load(NULL, &set, &s.data, &s.run));
  static const char *const chains[] = {"crop", "shift,rotate", "crop,flip,noise:0.1", "blur"};
  bench_must(ep_mat_new(&out, EP_SINGLE, set.X.rows, set.X.cols));
  ep_mat_fill(&out, 1);
  for (int k = 0; k < 4; k++) {
    bench_must(ep_augment_parse(&chain, chains[k], set.shape));
    const double begin = bench_now();
    bench_must(ep_augment_apply(&out, &set.X, &chain, set.shape, 0, 0, 1));
    printf("augmenting %td images, %-20s %.2f s\n", set.X.rows, chains[k], bench_now() - begin);
  }
  printf("\n");
  ep_mat_free(&out);
  ep_dataset_free(&set);
}

/* ---- NumPy and SciPy, another process each */

typedef struct {
  double seconds, megabytes, first, last; /* eigenvalues */
} peer;

/* runs a command that prints one JSON object; the largest size of that process */
static peer child(const char *const argv[]) {
  peer out = {NAN, NAN, NAN, NAN};
  int ends[2], status;
  if (pipe(ends)) return out;
  fflush(stdout);
  const pid_t pid = vfork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execv(argv[0], (char *const *)argv);
    _exit(127);
  }
  close(ends[1]);
  FILE *in = fdopen(ends[0], "r");
  json_t *all = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL);
  while (fgetc(in) != EOF) continue;
  fclose(in);
  waitpid(pid, &status, 0);
  const json_t *lambda = json_object_get(all, "eigenvalues");
  if (all) {
    out.seconds = json_number_value(json_object_get(all, "seconds"));
    out.megabytes = json_number_value(json_object_get(all, "peak_resident")) / 1048576;
    out.first = json_number_value(json_array_get(lambda, 0));
    out.last = json_number_value(json_array_get(lambda, Z - 1));
  }
  json_decref(all);
  return out;
}

static void write_rows(const char *folder, const char *name, const ep_points *p,
                       const ptrdiff_t *index, ptrdiff_t count, ptrdiff_t stride) {
  char path[300];
  ep_mat X;
  bench_must(ep_mat_new(&X, EP_SINGLE, count, p->X.cols));
  for (ptrdiff_t i = 0; i < count; i++) {
    const ep_mat to = ep_mat_rows(&X, i, 1), from = ep_mat_rows(&p->X, index[i * stride], 1);
    ep_mat_copy(&to, &from);
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  bench_must(ep_npy_write(path, &X));
  ep_mat_free(&X);
}

/* dense data: no zero is left */
static void add_noise(const ep_mat *X) {
  ep_mat noise;
  bench_must(ep_mat_new(&noise, X->prec, X->rows, X->cols));
  ep_random_fill_normal(&noise, 2, EP_STREAM_DATA, 0);
  ep_mat_axpy(X, 0.01, &noise);
  ep_mat_free(&noise);
}

enum { TURNS = 5 };

static void compare(const char *program, const char *script, const char *folder,
                    char path[6][320]) {
  static const char *const types[] = {"float32", "float64"}, *const memories[] = {"1G", "144M"};
  static const double asked[] = {1.5, 3};
  double ratio[2][TURNS];
  printf(
      "pca, N = 5,000, M = 2,000, Z = 64, digits with noise (no zeros), the same pairs and "
      "weights; "
      "ours in single precision\n");
  for (int round = 0; round < TURNS; round++) {
    double seconds = NAN;
    for (int m = 1; m >= 0; m--) {
      const char *const ours[] = {program,  "fit",         "--method", "pca",         "--anchors",
                                  path[0],  "--positives", path[1],    "--negatives", path[2],
                                  "--init", path[3],       "--out",    path[4],       "--outputs",
                                  "64",     "--json",      "--memory", memories[m],   NULL};
      const peer a = child(ours);
      printf("eigenpair --memory %s %.2f s %.0f MB, eigenvalues %.6f .. %.6f\n", memories[m],
             a.seconds, a.megabytes, a.first, a.last);
      seconds = a.seconds;
    }
    for (int t = 0; t < 2; t++) {
      const char *const theirs[] = {bench_python(), script, folder, types[t], NULL};
      const peer b = child(theirs);
      ratio[t][round] = b.seconds / seconds;
      printf(
          "  NumPy + SciPy, %s %.2f s %.0f MB: ours is %.2f times faster; eigenvalues %.6f .. "
          "%.6f\n",
          types[t], b.seconds, b.megabytes, b.seconds / seconds, b.first, b.last);
    }
  }
  for (int t = 0; t < 2; t++) {
    char what[80];
    snprintf(what, sizeof what, "pca of dense data, times faster than NumPy + SciPy in %s",
             types[t]);
    const double median = bench_median(ratio[t], TURNS);
    if (isfinite(median)) bench_row(what, AT_LEAST, asked[t], median);
  }
  printf("\n");
}

/* ---- an eigenproblem beside other work */

static double eigenbasis(void *what) {
  ep_mat A, *const X = what;
  double lambda[784];
  bench_must(ep_mat_new(&A, EP_DOUBLE, 784, 784));
  ep_mat_gram(&A, 1, X, 0);
  const double begin = bench_now();
  bench_must(ep_mat_eig_sym(&A, lambda));
  const double seconds = bench_now() - begin;
  ep_mat_free(&A);
  return seconds;
}

static void bench_eigen(void) {
  ep_mat X;
  bench_must(ep_mat_new(&X, EP_DOUBLE, 784, 1000));
  ep_random_fill_normal(&X, 1, EP_STREAM_DATA, 0);
  const double ratio = bench_busy(eigenbasis, &X, 5);
  printf("an eigenbasis of 784 x 784 beside a busy process over alone: %.2f\n\n", ratio);
  bench_row("eigenbasis of 784 x 784 beside one busy process over alone", AT_MOST, 1.45, ratio);
  ep_mat_free(&X);
}

static void bench_peers(const char *peers) {
  enum { N = 5000, WIDTH = 2000 };
  static ep_setup s;
  char folder[] = "/tmp/ep_bench_XXXXXX", program[1024], script[1100], path[6][320];
  static const char *const names[] = {"a.npy",    "p.npy",     "n.npy",
                                      "init.npz", "model.npz", "program"};
  ep_points p;
  ep_model *model = NULL;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 20);
  if (!mkdtemp(folder) || length < 0) return;
  program[length] = '\0';
  strcpy(strrchr(program, '/'), "/eigenpair");
  snprintf(script, sizeof script, "%s/peers_pca.py", peers);
  for (int i = 0; i < 6; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
  make_setup(&s, "pca", N, "4G");
  s.net.width = WIDTH;
  bench_must(ep_points_load(NULL, &p, &s.data, &s.pair, "triplet", &s.run));
  add_noise(&p.X);
  write_rows(folder, names[0], &p, p.pairs.anchor, N, 1);
  write_rows(folder, names[1], &p, p.pairs.partner, N, 2);
  write_rows(folder, names[2], &p, p.pairs.partner + 1, N, 2);
  strcpy(s.fit.method, "gd"); /* no epochs: its start */
  s.fit.epochs = 0;
  ep_fit_info info;
  bench_must(ep_fit(NULL, &model, &info, &p, &s));
  ep_fit_info_free(&info);
  bench_must(ep_model_save(path[3], model));
  ep_model_free(model);
  ep_points_free(&p);
  compare(program, script, folder, path);
  for (int i = 0; i < 5; i++) unlink(path[i]);
  rmdir(folder);
}

void bench_closed(const char *peers) {
  char folder[1024];
  bench_eigen();
  if (!ep_dataset_folder(folder, "mnist")) {
    printf("closed: MNIST is not here; get it with: eigenpair data fetch mnist\n");
    return;
  }
  if (peers || bench_scripts(folder, sizeof folder)) bench_peers(peers ? peers : folder);
  augment_digits();
  bench_growth();
}
