/* Augmentations of colour images, against slow references written here. */
#include "check.h"

#include <eigenpair/augment.h>
#include <eigenpair/random.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const ep_image_shape shape = {3, 7, 9};
enum { H = 7, W = 9, PIXELS = H * W, N = 40 };

static ep_mat images(ptrdiff_t n) {
  ep_mat X;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, n, 3 * PIXELS));
  ep_random r = ep_random_new(5, EP_STREAM_DATA, 0);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < X.cols; j++) *ep_d(&X, i, j) = ep_random_uniform(&r);
  return X;
}

static ep_mat views(const ep_mat *X, const char *text) {
  ep_augment chain;
  ep_mat out;
  CHECK_OK(ep_augment_parse(&chain, text, shape));
  CHECK_OK(ep_mat_new(&out, X->prec, X->rows, X->cols));
  CHECK_OK(ep_augment_apply(&out, X, &chain, shape, 11, 0, 1));
  return out;
}

static ep_random generator(ptrdiff_t point) {
  ep_random r = ep_random_new(11, EP_STREAM_AUGMENT, (uint32_t)point);
  r.next = (uint64_t)1 << 32;
  return r;
}

static double draw(ep_random *r, double lo, double hi) {
  return lo + (hi - lo) * ep_random_uniform(r);
}
static double clip(double x) { return fmin(fmax(x, 0), 1); }
static double grey_of(const double p[3]) { return 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]; }

/* saturation and hue of one pixel, step by step: luma and chroma, the chroma turned, and back by solving T p = yiq */
static void turn(double p[3], double saturation, double angle) {
  const double Y = grey_of(p), I = 0.596 * p[0] - 0.274 * p[1] - 0.322 * p[2],
               Q = 0.211 * p[0] - 0.523 * p[1] + 0.312 * p[2];
  const double i = saturation * (cos(angle) * I - sin(angle) * Q),
               q = saturation * (sin(angle) * I + cos(angle) * Q);
  double a[3][4] = {
      {0.299, 0.587, 0.114, Y}, {0.596, -0.274, -0.322, i}, {0.211, -0.523, 0.312, q}};
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < 3; k++) {
      const double factor = a[k][c] / a[c][c];
      for (int j = 0; k != c && j < 4; j++) a[k][j] -= factor * a[c][j];
    }
  for (int c = 0; c < 3; c++) p[c] = a[c][3] / a[c][c];
}

static void jitter_is_four_steps(void **state) {
  (void)state;
  ep_mat X = images(N), E = views(&X, "jitter:0.6");
  double changed = 0;
  for (ptrdiff_t n = 0; n < N; n++) {
    ep_random r = generator(n);
    const double lo = 1 - 0.8 * 0.6, hi = 1 + 0.8 * 0.6;
    const double b = draw(&r, lo, hi), c = draw(&r, lo, hi), s = draw(&r, lo, hi),
                 angle = 2 * acos(-1) * draw(&r, -0.12, 0.12);
    double mean = 0, pixel[PIXELS][3];
    for (int j = 0; j < PIXELS; j++) {
      for (int k = 0; k < 3; k++) pixel[j][k] = b * *ep_d(&X, n, k * PIXELS + j);
      mean += grey_of(pixel[j]) / PIXELS;
    }
    for (int j = 0; j < PIXELS; j++) {
      for (int k = 0; k < 3; k++) pixel[j][k] = mean + c * (pixel[j][k] - mean);
      turn(pixel[j], s, angle);
      for (int k = 0; k < 3; k++) {
        CHECK_NEAR(*ep_d(&E, n, k * PIXELS + j), clip(pixel[j][k]), 1e-12);
        changed += fabs(clip(pixel[j][k]) - *ep_d(&X, n, k * PIXELS + j));
      }
    }
  }
  assert_true(changed / N / PIXELS > 0.05);
  ep_mat_free(&E);
  E = views(&X, "jitter:0"); /* no strength, no change */
  for (ptrdiff_t j = 0; j < X.cols; j++) CHECK_NEAR(*ep_d(&E, 3, j), *ep_d(&X, 3, j), 1e-12);
  ep_mat_free(&E), ep_mat_free(&X);
}

static void light_and_grey(void **state) {
  (void)state;
  ep_mat X = images(400), E = views(&X, "light:0.4"), G = views(&X, "grey:0.3");
  ptrdiff_t grey = 0;
  for (ptrdiff_t n = 0; n < 400; n++) {
    ep_random r = generator(n);
    const double b = draw(&r, 0.6, 1.4), c = draw(&r, 0.6, 1.4);
    double mean = 0;
    for (ptrdiff_t j = 0; j < X.cols; j++) mean += b * *ep_d(&X, n, j) / (double)X.cols;
    for (ptrdiff_t j = 0; j < X.cols; j++)
      CHECK_NEAR(*ep_d(&E, n, j), clip(mean + c * (b * *ep_d(&X, n, j) - mean)), 1e-12);
    ep_random again = generator(n);
    const bool is_grey = ep_random_uniform(&again) < 0.3;
    grey += is_grey;
    for (int j = 0; j < PIXELS; j++) {
      const double p[3] = {*ep_d(&X, n, j), *ep_d(&X, n, PIXELS + j), *ep_d(&X, n, 2 * PIXELS + j)};
      for (int k = 0; k < 3; k++)
        CHECK_NEAR(*ep_d(&G, n, k * PIXELS + j), is_grey ? grey_of(p) : p[k], 1e-15);
    }
  }
  assert_in_range(grey, 80, 160); /* 120 +- 4.4 deviations */
  ep_mat_free(&E), ep_mat_free(&G), ep_mat_free(&X);
}

/* d c b [a b c d] c b a, by walking */
static int walk(int i, int n) {
  int at = 0, step = 1;
  for (int k = 0; k < abs(i); k++) {
    if (at + step < 0 || at + step >= n) step = -step;
    at += step;
  }
  return at; /* the image is mirrored about its first pixel: -i is i */
}

static void pad_reflects(void **state) {
  (void)state;
  ep_mat X = images(N), E = views(&X, "pad:5");
  bool moved = false;
  for (ptrdiff_t n = 0; n < N; n++) {
    ep_random r = generator(n);
    const int down = (int)ep_random_below(&r, 11) - 5, right = (int)ep_random_below(&r, 11) - 5;
    moved = moved || down || right;
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
          assert_true(*ep_d(&E, n, (k * H + i) * W + j) ==
                      *ep_d(&X, n, (k * H + walk(i + down, H)) * W + walk(j + right, W)));
  }
  assert_true(moved);
  ep_mat_free(&E), ep_mat_free(&X);
}

static void cutout_hides_a_square(void **state) {
  (void)state;
  ep_mat X = images(N), E = views(&X, "cutout:4");
  for (ptrdiff_t n = 0; n < N; n++) {
    ep_random r = generator(n);
    const int top = (int)ep_random_below(&r, H) - 2, left = (int)ep_random_below(&r, W) - 2;
    for (int k = 0; k < 3; k++) {
      double mean = 0;
      for (int j = 0; j < PIXELS; j++) mean += *ep_d(&X, n, k * PIXELS + j) / PIXELS;
      for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
          const bool hidden = i >= top && i < top + 4 && j >= left && j < left + 4;
          const ptrdiff_t at = (k * H + i) * W + j;
          CHECK_NEAR(*ep_d(&E, n, at), hidden ? mean : *ep_d(&X, n, at), 1e-14);
        }
    }
  }
  ep_mat_free(&E), ep_mat_free(&X);
}

static void colours_need_colour(void **state) {
  (void)state;
  ep_augment chain;
  const ep_image_shape grey = {1, 7, 9};
  static const char *const bad[] = {"jitter", "grey:0.5", "crop,jitter"};
  for (int i = 0; i < 3; i++) CHECK_STATUS(ep_augment_parse(&chain, bad[i], grey), EP_ERR_ARG);
  static const char *const wrong[] = {"jitter:2", "grey:1.5", "pad:-1", "cutout:x", "light:1.1"};
  for (int i = 0; i < 5; i++) CHECK_STATUS(ep_augment_parse(&chain, wrong[i], shape), EP_ERR_ARG);
  CHECK_OK(ep_augment_parse(&chain, "light,pad:2,cutout:3", grey));
  CHECK_OK(ep_augment_parse(&chain, "jitter", shape)); /* made for colour, applied to grey */
  ep_mat X, Y;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, 2, 63));
  CHECK_OK(ep_mat_new(&Y, EP_DOUBLE, 2, 63));
  CHECK_STATUS(ep_augment_apply(&Y, &X, &chain, grey, 0, 0, 1), EP_ERR_ARG);
  ep_mat_free(&X), ep_mat_free(&Y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(jitter_is_four_steps), cmocka_unit_test(light_and_grey),
      cmocka_unit_test(pad_reflects), cmocka_unit_test(cutout_hides_a_square),
      cmocka_unit_test(colours_need_colour)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
