/* One epoch of full-batch gradient descent: 1,000 triplets of MNIST digits, D = 784, Z = 10, cosine and
 * linear loss, single precision.
 *
 *   products   the two large products of an epoch alone, on the same packed points
 *   passes     forward and backward through the network: products, activations, output layer
 *   epoch      all of it: loss, checks, update, history
 */
#include "bench.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <eigenpair/stream.h>

enum { WIDTHS = 3, ROUNDS = 7, MOST_EPOCHS = 4096 };
static const long widths[WIDTHS] = {100, 1000, 10000};

typedef struct {
  double products, passes, epoch, blas; /* seconds, medians over the rounds */
  double memory, theory; /* bytes: peak beyond the data; weights + gradient + activations */
} timing;

static void make_setup(ep_setup *s, long width, long epochs) {
  ep_setup_default(s);
  strcpy(s->data.data, "digits");
  s->data.samples = 1000;
  s->net.width = width;
  s->net.outputs = 10;
  s->fit.epochs = epochs;
}

/* ---- an epoch, timed from one call of the progress function to the next */

static double ticks[MOST_EPOCHS];
static int ticked;

static void tick(void *user, const char *what, double done, double total) {
  (void)user, (void)what, (void)done, (void)total;
  if (ticked < MOST_EPOCHS) ticks[ticked++] = bench_now();
}

static double time_epochs(timing *out, const ep_points *p, ep_setup *s) {
  ep_model *model;
  ep_fit_info info;
  double gap[MOST_EPOCHS];
  ep_run *const run = ep_run_current();
  ep_run_set_hooks(run, &(ep_run_hooks){.progress = tick});
  ticked = 0;
  const double before = (double)ep_memory_current();
  ep_memory_peak_reset();
  bench_must(ep_fit(NULL, &model, &info, p, s));
  ep_run_set_hooks(run, NULL);
  out->memory = (double)ep_memory_peak() - before;
  const double parameters = (double)ep_net_parameters(&ep_model_net(model)->shape);
  out->theory = sizeof(float) * (2 * parameters + (double)info.block * (double)s->net.width);
  ep_fit_info_free(&info);
  ep_model_free(model);
  for (int i = 1; i < ticked; i++) gap[i - 1] = ticks[i] - ticks[i - 1];
  return bench_median(gap, ticked - 1);
}

/* ---- its parts */

static double time_products(const ep_mat *A, const ep_mat *G, const ep_packed *X, const ep_mat *V,
                            int repeats) {
  const double begin = bench_now();
  for (int r = 0; r < repeats; r++) {
    ep_packed_mul_nt(A, 1, X, V);
    ep_packed_mul_tn(G, 1, A, X, 0);
  }
  return (bench_now() - begin) / repeats;
}

static double time_blas(const ep_mat *A, const ep_mat *G, const ep_mat *X, const ep_mat *V,
                        int repeats) {
  const double begin = bench_now();
  for (int r = 0; r < repeats; r++) {
    ep_mat_mul(A, 1, X, EP_N, V, EP_T, 0);
    ep_mat_mul(G, 1, A, EP_T, X, EP_N, 0);
  }
  return (bench_now() - begin) / repeats;
}

static double time_passes(ep_stream *stream, const ep_net *net, ep_net *grad, const ep_mat *F,
                          int repeats) {
  const double begin = bench_now();
  for (int r = 0; r < repeats; r++) {
    ep_stream_forward(F, stream, net);
    ep_stream_backward(grad, stream, net, F);
  }
  return (bench_now() - begin) / repeats;
}

static timing measure(const ep_points *p, long width) {
  static ep_setup s;
  timing out = {0};
  double products[ROUNDS], passes[ROUNDS], epoch[ROUNDS], blas[ROUNDS];
  const int repeats = width <= 100 ? 100 : width <= 1000 ? 20 : 3;
  ep_net net, grad;
  ep_mat A, F;
  ep_packed *X;
  ep_stream *stream;
  make_setup(&s, width, repeats);
  bench_must(ep_net_start(&net, &s.net, p->X.cols, 0, EP_SINGLE));
  bench_must(ep_net_new(&grad, &net.shape, EP_SINGLE));
  bench_must(ep_packed_new(&X, &p->X, 1e6));
  bench_must(ep_stream_new(&stream, &p->X, &net.shape, 1e6, EP_PASS_BACKWARD, 8e9));
  bench_must(ep_mat_new(&A, EP_SINGLE, p->X.rows, width));
  bench_must(ep_mat_new(&F, EP_SINGLE, p->X.rows, net.shape.outputs));
  s.fit.epochs = repeats + 1;
  for (int r = 0; r < ROUNDS;
       r++) { /* in turns, so that a slow moment of the machine hits all alike */
    epoch[r] = time_epochs(&out, p, &s);
    products[r] = time_products(&A, &grad.V[0], X, &net.V[0], repeats);
    passes[r] = time_passes(stream, &net, &grad, &F, repeats);
    blas[r] = time_blas(&A, &grad.V[0], &p->X, &net.V[0], repeats);
  }
  out.epoch = bench_median(epoch, ROUNDS);
  out.products = bench_median(products, ROUNDS);
  out.passes = bench_median(passes, ROUNDS);
  out.blas = bench_median(blas, ROUNDS);
  ep_stream_free(stream);
  ep_packed_free(X);
  ep_net_free(&net);
  ep_net_free(&grad);
  ep_mat_free(&A);
  ep_mat_free(&F);
  return out;
}

/* ---- other activations: forward and backward pass beside those of relu, the fastest of many rounds taken in turns */

enum { KINDS = 6, TURNS = 30 };

static void bench_activations(const ep_points *p) {
  static const char *const names[KINDS] = {"relu", "tanh", "erf", "gelu", "sigmoid", "sin"};
  static ep_setup s;
  ep_net net[KINDS], grad[KINDS];
  ep_stream *stream[KINDS];
  ep_mat F;
  double best[KINDS];
  make_setup(&s, 1000, 1);
  bench_must(ep_mat_new(&F, EP_SINGLE, p->X.rows, s.net.outputs));
  for (int k = 0; k < KINDS; k++) {
    strcpy(s.net.activation, names[k]);
    best[k] = INFINITY;
    bench_must(ep_net_start(&net[k], &s.net, p->X.cols, 0, EP_SINGLE));
    bench_must(ep_net_new(&grad[k], &net[k].shape, EP_SINGLE));
    bench_must(ep_stream_new(&stream[k], &p->X, &net[k].shape, 1e6, EP_PASS_BACKWARD, 8e9));
  }
  for (int r = 0; r < TURNS; r++)
    for (int k = 0; k < KINDS; k++)
      best[k] = fmin(best[k], time_passes(stream[k], &net[k], &grad[k], &F, 1));
  for (int k = 1; k < 4; k++) {
    char what[80];
    snprintf(what, sizeof what, "epoch's passes with %s over relu, M = 1,000", names[k]);
    bench_row(what, AT_MOST, 1.15, best[k] / best[0]);
  }
  printf("passes at M = 1000 over those of relu (%.2f ms):", 1e3 * best[0]);
  for (int k = 1; k < KINDS; k++) printf(" %s %.3f", names[k], best[k] / best[0]);
  printf("\n\n");
  for (int k = 0; k < KINDS; k++) {
    ep_stream_free(stream[k]);
    ep_net_free(&net[k]);
    ep_net_free(&grad[k]);
  }
  ep_mat_free(&F);
}

/* ---- the same epoch elsewhere */

static void write_part(const char *path, const ep_points *p, int part) {
  ep_mat Y;
  bench_must(ep_mat_new(&Y, EP_SINGLE, p->pairs.anchors, p->X.cols));
  for (ptrdiff_t n = 0; n < Y.rows; n++) {
    const ptrdiff_t i = part ? p->pairs.partner[p->pairs.start[n] + part - 1] : p->pairs.anchor[n];
    const ep_mat to = ep_mat_rows(&Y, n, 1), from = ep_mat_rows(&p->X, i, 1);
    ep_mat_copy(&to, &from);
  }
  bench_must(ep_npy_write(path, &Y));
  ep_mat_free(&Y);
}

/* the median in row[way], or infinity */
static double median_of(const json_t *row, const char *way) {
  const json_t *ms = json_object_get(json_object_get(row, way), "median_ms");
  return json_is_number(ms) ? json_number_value(ms) : INFINITY;
}

static void run_peers(const char *script, const ep_points *p, const timing *ours) {
  static const char *const parts[] = {"anchors", "positives", "negatives"};
  char folder[] = "/tmp/eigenpair-bench-XXXXXX", path[3][64], command[1024], line[1024];
  if (!mkdtemp(folder)) return;
  for (int i = 0; i < 3; i++) {
    snprintf(path[i], sizeof path[i], "%s/%s.npy", folder, parts[i]);
    write_part(path[i], p, i);
  }
  snprintf(command, sizeof command,
           "%s %s/peers.py --anchors %s --positives %s --negatives %s --widths "
           "100,1000,10000",
           bench_python(), script, path[0], path[1], path[2]);
  printf(
      "the same epoch in PyTorch (the better of two ways to write it, medians), and how much "
      "faster "
      "ours is\n");
  printf("%8s %12s %12s %10s\n", "M", "PyTorch ms", "ours ms", "ratio");
  FILE *in = popen(command, "r");
  for (int w = 0; in && fgets(line, sizeof line, in);) {
    json_t *row = json_loads(line, 0, NULL);
    const double theirs = fmin(median_of(row, "separate"), median_of(row, "concatenated"));
    if (isfinite(theirs) && w < WIDTHS) {
      printf("%8ld %12.2f %12.2f %10.2f\n", widths[w], theirs, 1e3 * ours[w].epoch,
             theirs / (1e3 * ours[w].epoch));
      w++;
    }
    json_decref(row);
  }
  if (in) pclose(in);
  for (int i = 0; i < 3; i++) unlink(path[i]);
  rmdir(folder);
}

/* ---- points without a zero, all different: 1,000 digits, another 1,000 and 1,000 more, with noise */

static void bench_dense(const ep_points *p) {
  static const double asked[WIDTHS] = {1.3, 1.15, 1.1};
  const ptrdiff_t n = p->pairs.anchors;
  const ep_pair_plan plan = {.positives = 2};
  ep_mat X, noise;
  ep_pairs pairs;
  bench_must(ep_mat_new(&X, EP_SINGLE, 3 * n, p->X.cols));
  bench_must(ep_mat_new(&noise, EP_SINGLE, 3 * n, p->X.cols));
  ep_random_fill_normal(&noise, 2, EP_STREAM_DATA, 0);
  for (ptrdiff_t i = 0; i < X.rows; i++) {
    const ep_mat to = ep_mat_rows(&X, i, 1), from = ep_mat_rows(&p->X, i % p->X.rows, 1);
    ep_mat_copy(&to, &from);
  }
  ep_mat_axpy(&X, 0.01, &noise);
  bench_must(ep_pairs_draw(&pairs, n, &plan, 0));
  for (ptrdiff_t k = 1; k < 2 * n; k += 2)
    pairs.sign[k] = -1; /* the second partner is a negative */
  ep_points dense = ep_points_borrow(&X, &pairs);
  printf("the same on dense data: %td points, no zeros, all different\n", X.rows);
  for (int w = 0; w < WIDTHS; w++) {
    const timing t = measure(&dense, widths[w]);
    char what[80];
    printf("%8ld %11.3f ms, its two products in BLAS %11.3f ms: %.2f\n", widths[w], 1e3 * t.epoch,
           1e3 * t.blas, t.epoch / t.blas);
    snprintf(what, sizeof what, "epoch on dense data over its two BLAS products, M = %ld",
             widths[w]);
    bench_row(what, AT_MOST, asked[w], t.epoch / t.blas);
  }
  printf("\n");
  ep_points_free(&dense);
  ep_mat_free(&X), ep_mat_free(&noise);
}

/* ---- beside other work */

typedef struct {
  const ep_points *points;
  ep_setup *setup;
} epoch_of;

static double one_epoch(void *what) {
  const epoch_of *e = what;
  timing unused;
  return time_epochs(&unused, e->points, e->setup);
}

static void bench_beside(const ep_points *p) {
  static ep_setup s;
  for (int w = 0; w < WIDTHS; w++) {
    epoch_of e = {p, &s};
    char what[80];
    make_setup(&s, widths[w], widths[w] <= 100 ? 200 : widths[w] <= 1000 ? 40 : 6);
    const double ratio = bench_busy(one_epoch, &e, 5);
    printf("an epoch at M = %ld beside a busy process over alone: %.2f\n", widths[w], ratio);
    snprintf(what, sizeof what, "epoch beside one busy process over alone, M = %ld", widths[w]);
    bench_row(what, AT_MOST, w ? 1.45 : 1.6, ratio);
  }
  printf("\n");
}

/* ---- more threads: T_n = T_1 (s + (1 - s)/n), the serial share s from one thread and all that there are, in turns */

static void bench_serial(const ep_points *p) {
  enum { ROUNDS_EACH = 9 };
  const int threads = omp_get_max_threads();
  static ep_setup s;
  if (threads < 2) return;
  for (int w = 0; w < WIDTHS; w++) {
    epoch_of e = {p, &s};
    double share[ROUNDS_EACH], one[ROUNDS_EACH];
    make_setup(&s, widths[w], widths[w] <= 100 ? 200 : widths[w] <= 1000 ? 40 : 4);
    for (int r = 0; r < ROUNDS_EACH; r++) {
      omp_set_num_threads(1);
      one[r] = one_epoch(&e);
      omp_set_num_threads(threads);
      share[r] = (threads * one_epoch(&e) / one[r] - 1) / (threads - 1);
    }
    const double serial = bench_median(share, ROUNDS_EACH), most = fmax(serial, 0);
    printf(
        "M = %ld: %.2f ms on one thread, serial share %.3f; so 16 threads are %.1f times as "
        "fast as one, 64 threads %.1f times\n",
        widths[w], 1e3 * bench_median(one, ROUNDS_EACH), serial, 1 / (most + (1 - most) / 16),
        1 / (most + (1 - most) / 64));
  }
  printf("\n");
}

void bench_train(const char *peers) {
  static ep_setup s;
  ep_points p;
  timing t[WIDTHS];
  make_setup(&s, 1000, 1);
  bench_must(ep_points_load(NULL, &p, &s.data, &s.pair, "triplet", &s.run));
  printf(
      "gd, one epoch: N = 1000 triplets (%td distinct points), D = 784, Z = 10, single precision\n",
      p.X.rows);
  printf("%8s %11s %11s %11s %11s %9s %9s %9s %12s %7s\n", "M", "products", "passes", "epoch",
         "dense BLAS", "epoch/", "outside", "epoch/", "peak memory", "of");
  printf("%8s %11s %11s %11s %11s %9s %9s %9s %12s %7s\n", "", "ms", "ms", "ms", "ms", "products",
         "passes", "BLAS", "MiB", "theory");
  for (int w = 0; w < WIDTHS; w++) {
    t[w] = measure(&p, widths[w]);
    printf("%8ld %11.3f %11.3f %11.3f %11.3f %9.2f %8.0f%% %9.2f %12.1f %7.2f\n", widths[w],
           1e3 * t[w].products, 1e3 * t[w].passes, 1e3 * t[w].epoch, 1e3 * t[w].blas,
           t[w].epoch / t[w].products, 100 * (1 - t[w].passes / t[w].epoch), t[w].epoch / t[w].blas,
           t[w].memory / 1048576, t[w].memory / t[w].theory);
    char what[80];
    snprintf(what, sizeof what, "epoch on digits over the same products in dense BLAS, M = %ld",
             widths[w]);
    if (w) bench_row(what, AT_MOST, 0.62, t[w].epoch / t[w].blas);
  }
  printf("\n");
  bench_dense(&p);
  bench_activations(&p);
  bench_beside(&p);
  bench_serial(&p);
  if (peers) run_peers(peers, &p, t);
  ep_points_free(&p);
}
