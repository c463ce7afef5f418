/* All of MNIST from the raw images to an accuracy: whitened patches, embeddings, a linear probe, four programs one after the
 * other, beside the products they contain. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  FILTERS = 256,
  SIZE = 7,
  GRID = 4,
  SIDE = 28,
  M = FILTERS * GRID * GRID,
  Z = 64,
  ROWS = 2048
};

/* share of the places of images whose patch is not all zeros */
static double share_of_places(const ep_mat *X) {
  enum { EVERY = 60, ACROSS = SIDE - SIZE + 1 };
  double seen = 0, all = 0;
  for (ptrdiff_t i = 0; i < X->rows; i += EVERY)
    for (int p = 0; p < ACROSS * ACROSS; p++, all++) {
      bool any = false;
      for (int k = 0; k < SIZE * SIZE && !any; k++)
        any = ep_get(X, i, (p / ACROSS + k / SIZE) * SIDE + p % ACROSS + k % SIZE) != 0;
      seen += any;
    }
  return seen / all;
}

static double seconds_of(const ep_mat *C, const ep_mat *A, const ep_mat *B, bool gram) {
  double best = INFINITY;
  for (int r = 0; r < 4; r++) {
    const double begin = bench_now();
    if (gram) ep_mat_gram_cols(C, 1, A, 1);
    else ep_mat_mul(C, 1, A, EP_N, B, EP_N, 0);
    best = fmin(best, bench_now() - begin);
  }
  return best;
}

/* seconds of the products alone: responses at places that are not blank, two sums over anchors, the embeddings */
static double product_seconds(const ep_dataset *train, double tests) {
  enum { PLACES = (SIDE - SIZE + 1) * (SIDE - SIZE + 1), MANY = 64 * PLACES };
  const double n = (double)train->X.rows, share = share_of_places(&train->X);
  ep_mat H, C, W, E, P, F, R;
  bench_must(ep_mat_new(&H, EP_SINGLE, ROWS, M));
  bench_must(ep_mat_new(&C, EP_SINGLE, M, M));
  bench_must(ep_mat_new(&W, EP_SINGLE, M, Z));
  bench_must(ep_mat_new(&E, EP_SINGLE, ROWS, Z));
  bench_must(ep_mat_new(&P, EP_SINGLE, MANY, SIZE * SIZE));
  bench_must(ep_mat_new(&F, EP_SINGLE, SIZE * SIZE, FILTERS));
  bench_must(ep_mat_new(&R, EP_SINGLE, MANY, FILTERS));
  ep_random_fill_normal(&H, 1, EP_STREAM_DATA, 0);
  ep_random_fill_normal(&P, 1, EP_STREAM_DATA, 1);
  ep_random_fill_normal(&F, 1, EP_STREAM_DATA, 2);
  const double responses = seconds_of(&R, &P, &F, false) / 64 * share * (3 * n + tests);
  const double sums = seconds_of(&C, &H, NULL, true) / ROWS * 2 * n;
  const double embed = seconds_of(&E, &H, &W, false) / ROWS * (n + tests);
  printf(
      "products: responses %.1f s (%.0f %% of the places are not blank), sums %.1f s, embeddings "
      "%.1f s\n",
      responses, 100 * share, sums, embed);
  ep_mat_free(&H), ep_mat_free(&C), ep_mat_free(&W), ep_mat_free(&E);
  ep_mat_free(&P), ep_mat_free(&F), ep_mat_free(&R);
  return responses + sums + embed;
}

/* runs a step in the folder; its seconds */
static double step(const char *program, const char *arguments) {
  char command[2100];
  snprintf(command, sizeof command, "%s %s", program, arguments);
  fflush(stdout);
  const double begin = bench_now();
  const int status = system(command);
  const double seconds = bench_now() - begin;
  printf("%-6.*s %6.1f s%s\n", (int)strcspn(arguments, " "), arguments, seconds,
         status ? ": FAILED" : "");
  return status ? NAN : seconds;
}

static void in_folder(const char *folder, const char *program) {
  static const char *const steps[] = {
      "fit --data mnist --method whitened --features patches:256,7,4 --views 2 --augment "
      "shift:2,rotate:10 --ridge 0.001 --eigen-tolerance 0.01 --outputs 64 --out %s/m.npz >%s/log",
      "embed --model %s/m.npz --data mnist --out %s/train.npy >/dev/null",
      "embed --model %s/m.npz --data mnist:test --out %s/test.npy >/dev/null",
      "probe --embedding %s/train.npy --labels mnist --test-embedding %s/test.npy --test-labels "
      "mnist:test"};
  ep_data_config config;
  const ep_run_config run = ep_run_default();
  ep_dataset train;
  double all = 0;
  ep_options_default(ep_data_options, &config);
  strcpy(config.data, "mnist");
  bench_must(ep_dataset_load(NULL, &train, &config, &run));
  const double products = product_seconds(&train, 10000);
  ep_dataset_free(&train);
  for (int i = 0; i < 4; i++) {
    char arguments[1000];
    snprintf(arguments, sizeof arguments, steps[i], folder, folder);
    all += step(program, arguments);
  }
  printf("in all %.1f s, %.2f times the products\n\n", all, all / products);
  bench_row("MNIST, 60,000 images, fit + embed + probe, over the products contained", AT_MOST, 1.5,
            all / products);
  bench_row("MNIST, 60,000 images, fit + embed + probe, seconds", AT_MOST, 35, all);
}

void bench_mnist(const char *peers) {
  char place[1024], folder[] = "/tmp/eigenpair-bench-XXXXXX";
  (void)peers;
  if (!ep_dataset_folder(place, "mnist")) {
    printf("mnist: MNIST is not here; get it with: eigenpair data fetch mnist\n");
    return;
  }
  const ssize_t length = readlink("/proc/self/exe", place, sizeof place - 20);
  if (length < 0 || !mkdtemp(folder)) return;
  place[length] = '\0';
  strcpy(strrchr(place, '/'), "/eigenpair");
  printf(
      "MNIST, whitened patches:256,7,4, two views, Z = 64, then embeddings and a linear probe\n");
  in_folder(folder, place);
  static const char *const names[] = {"m.npz", "log", "train.npy", "test.npy"};
  for (int i = 0; i < 4; i++) {
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  rmdir(folder);
}
