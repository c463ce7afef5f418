/* Augmentations, against slow references written here and against hand-computed cases. */
#include "check.h"
#include "core/mem.h"

#include <eigenpair/augment.h>
#include <eigenpair/random.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

static const ep_image_shape plain = {0, 0, 0};

static ep_augment chain_of(const char *text, ep_image_shape shape) {
  ep_augment c;
  CHECK_OK(ep_augment_parse(&c, text, shape));
  return c;
}

static ep_mat noise_images(ep_precision prec, ptrdiff_t n, ptrdiff_t cols) {
  ep_mat X;
  CHECK_OK(ep_mat_new(&X, prec, n, cols));
  ep_random_fill_normal(&X, 77, EP_STREAM_DATA, 0);
  return X;
}

/* out = views of X by the chain in `text`, all of them or row by row */
static ep_mat views(const ep_mat *X, const char *text, ep_image_shape shape, int view) {
  const ep_augment c = chain_of(text, shape);
  ep_mat out;
  CHECK_OK(ep_mat_new(&out, X->prec, X->rows, X->cols));
  CHECK_OK(ep_augment_apply(&out, X, &c, shape, 11, 0, view));
  return out;
}

static ep_random generator(ptrdiff_t point, int view) {
  ep_random r = ep_random_new(11, EP_STREAM_AUGMENT, (uint32_t)point);
  r.next = (uint64_t)view << 32;
  return r;
}

/* ---- crop */

static long python_round(double x) {
  const double f = floor(x), rest = x - f;
  if (rest != 0.5) return (long)(rest < 0.5 ? f : f + 1);
  return (long)(fmod(f, 2) == 0 ? f : f + 1);
}

/* torchvision.transforms.RandomResizedCrop.get_params, line by line */
static ep_crop reference_crop(int height, int width, double lo, double hi, ep_random *r) {
  const double log_lo = log(3.0 / 4.0), log_hi = log(4.0 / 3.0);
  for (int k = 0; k < 10; k++) {
    const double target_area = height * width * (lo + (hi - lo) * ep_random_uniform(r));
    const double aspect_ratio = exp(log_lo + (log_hi - log_lo) * ep_random_uniform(r));
    const long w = python_round(sqrt(target_area * aspect_ratio));
    const long h = python_round(sqrt(target_area / aspect_ratio));
    if (0 < w && w <= width && 0 < h && h <= height) {
      const int i = (int)ep_random_below(r, height - h + 1);
      const int j = (int)ep_random_below(r, width - w + 1);
      return (ep_crop){i, j, (int)h, (int)w};
    }
  }
  const double in_ratio = (double)width / height;
  long w = width, h = height;
  if (in_ratio < 3.0 / 4.0) h = python_round(w / (3.0 / 4.0));
  else if (in_ratio > 4.0 / 3.0) w = python_round(h * (4.0 / 3.0));
  return (ep_crop){(int)(height - h) / 2, (int)(width - w) / 2, (int)h, (int)w};
}

static bool same_crop(ep_crop a, ep_crop b) { return memcmp(&a, &b, sizeof a) == 0; }

static void test_crop_is_where_torchvision_cuts(void **state) {
  (void)state;
  const ep_image_shape shapes[] = {{1, 28, 28}, {3, 32, 32}, {1, 9, 30}, {2, 31, 12}, {1, 1, 1}};
  const double range[][2] = {{0.08, 1}, {0.2, 1}, {1, 1}, {0.9, 1}, {1e-4, 1e-3}};
  for (int s = 0; s < 5; s++)
    for (int k = 0; k < 5; k++)
      for (int i = 0; i < 300; i++) {
        ep_random r = generator(i, k);
        const ep_image_shape shape = shapes[s];
        const ep_crop c = ep_augment_crop(shape, range[k][0], range[k][1], 11, i, k);
        assert_true(
            same_crop(c, reference_crop(shape.height, shape.width, range[k][0], range[k][1], &r)));
        assert_true(c.height > 0 && c.width > 0 && c.top >= 0 && c.left >= 0);
        assert_true(c.top + c.height <= shape.height && c.left + c.width <= shape.width);
      }
}

/* No box of a long image has its whole area: the middle, 4/3 as long as wide; a square stays whole.
 */
static void test_crop_falls_back_to_the_middle(void **state) {
  (void)state;
  const ep_crop wide = ep_augment_crop((ep_image_shape){1, 3, 40}, 1, 1, 0, 0, 0);
  const ep_crop tall = ep_augment_crop((ep_image_shape){1, 40, 3}, 1, 1, 0, 0, 0);
  const ep_crop square = ep_augment_crop((ep_image_shape){1, 28, 28}, 1, 1, 0, 0, 0);
  assert_true(same_crop(wide, (ep_crop){0, 18, 3, 4}));
  assert_true(same_crop(tall, (ep_crop){18, 0, 4, 3}));
  assert_true(same_crop(square, (ep_crop){0, 0, 28, 28}));
}

/* Over many points: area shares uniform in [LO, HI], positions over the whole range. */
static void test_crop_distribution(void **state) {
  (void)state;
  enum { N = 4000 };
  double area = 0, aspect = 0, place = 0;
  for (int i = 0; i < N; i++) {
    const ep_crop c = ep_augment_crop((ep_image_shape){1, 100, 100}, 0.2, 0.6, 3, i, 0);
    area += c.height * c.width / 1e4 / N;
    aspect += log((double)c.width / c.height) / N;
    place += (c.top + c.left) / (double)(200 - c.height - c.width) / N;
  }
  CHECK_NEAR(area, 0.4, 0.01);
  CHECK_NEAR(aspect, 0, 0.015);
  CHECK_NEAR(place, 0.5, 0.02);
}

/* A quarter of a 4 x 4 image is always 2 x 2; PyTorch's bilinear weights, 2 to 4 and 3 to 6. */
static void test_crop_by_hand(void **state) {
  (void)state;
  static const double two[4][2] = {{1, 0}, {0.75, 0.25}, {0.25, 0.75}, {0, 1}};
  static const double three[6][3] = {{1, 0, 0},       {0.75, 0.25, 0}, {0.25, 0.75, 0},
                                     {0, 0.75, 0.25}, {0, 0.25, 0.75}, {0, 0, 1}};
  for (int in = 2; in <= 3; in++) {
    const int out = 2 * in;
    const double *weight = in == 2 ? two[0] : three[0];
    const ep_image_shape shape = {1, out, out};
    ep_mat X = noise_images(EP_DOUBLE, 20, out * out), Y = views(&X, "crop:0.25-0.25", shape, 0);
    for (int n = 0; n < 20; n++) {
      const ep_crop c = ep_augment_crop(shape, 0.25, 0.25, 11, n, 0);
      assert_true(c.height == in && c.width == in);
      for (int i = 0; i < out * out; i++) {
        double sum = 0;
        for (int k = 0; k < in * in; k++)
          sum += weight[i / out * in + k / in] * weight[i % out * in + k % in] *
                 ep_get(&X, n, (c.top + k / in) * out + c.left + k % in);
        CHECK_NEAR(ep_get(&Y, n, i), sum, 1e-15);
      }
    }
    ep_mat_free(&X);
    ep_mat_free(&Y);
  }
}

/* One output pixel of interpolate(mode = 'bilinear', align_corners = False), from the definition:
 * the tent function around the source position, edges repeated. */
static double reference_pixel(const ep_mat *X, ptrdiff_t n, ptrdiff_t plane, ep_image_shape shape,
                              ep_crop c, int y, int x) {
  const double sy = fmax(0, (y + 0.5) * c.height / shape.height - 0.5);
  const double sx = fmax(0, (x + 0.5) * c.width / shape.width - 0.5);
  double sum = 0;
  for (int i = 0; i <= c.height; i++)
    for (int j = 0; j <= c.width; j++) {
      const double w = fmax(0, 1 - fabs(sy - i)) * fmax(0, 1 - fabs(sx - j));
      const int row = i < c.height ? i : c.height - 1, col = j < c.width ? j : c.width - 1;
      if (w > 0)
        sum += w * ep_get(X, n, plane + (ptrdiff_t)(c.top + row) * shape.width + c.left + col);
    }
  return sum;
}

static void check_resize(ep_precision prec, ep_image_shape shape, double tolerance) {
  const int H = shape.height, W = shape.width;
  ep_mat X = noise_images(prec, 30, (ptrdiff_t)shape.channels * H * W);
  ep_mat Y = views(&X, "crop", shape, 2);
  for (ptrdiff_t n = 0; n < X.rows; n++) {
    const ep_crop c = ep_augment_crop(shape, 0.08, 1, 11, n, 2);
    for (ptrdiff_t k = 0; k < X.cols; k++)
      CHECK_NEAR(ep_get(&Y, n, k),
                 reference_pixel(&X, n, k / (H * W) * H * W, shape, c, (int)(k % (H * W) / W),
                                 (int)(k % W)),
                 tolerance);
  }
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void test_crop_against_reference(void **state) {
  (void)state;
  check_resize(EP_DOUBLE, (ep_image_shape){1, 14, 14}, 1e-13);
  check_resize(EP_DOUBLE, (ep_image_shape){3, 8, 13}, 1e-13);
  check_resize(EP_SINGLE, (ep_image_shape){2, 11, 7}, 1e-6);
  check_resize(EP_DOUBLE, (ep_image_shape){2, 1, 5}, 1e-13);
}

/* ---- flips, noise, blur */

static void check_flip(const char *name, bool across) {
  const ep_image_shape shape = {2, 5, 4};
  ep_mat X = noise_images(EP_DOUBLE, 1000, 40), Y = views(&X, name, shape, 0);
  int flipped = 0;
  for (ptrdiff_t n = 0; n < X.rows; n++) {
    const bool still = *ep_d(&Y, n, 0) == *ep_d(&X, n, 0);
    flipped += !still;
    for (int c = 0; c < 2; c++)
      for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4; j++) {
          const int row = across || still ? i : 4 - i, col = !across || still ? j : 3 - j;
          assert_true(*ep_d(&Y, n, 20 * c + 4 * i + j) == *ep_d(&X, n, 20 * c + 4 * row + col));
        }
  }
  assert_in_range(flipped, 420, 580); /* 500 +- 5 standard deviations */
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void test_flips(void **state) {
  (void)state;
  check_flip("flip", true);
  check_flip("vflip", false);
}

static void test_noise(void **state) {
  (void)state;
  ep_mat X = noise_images(EP_DOUBLE, 400, 50), Y = views(&X, "noise:0.25", plain, 0);
  ep_mat D = views(&X, "noise", plain, 0), Z = views(&X, "noise:0", plain, 0);
  double mean = 0, square = 0;
  for (ptrdiff_t i = 0; i < 400; i++) {
    ep_random r = generator(i, 0);
    for (ptrdiff_t j = 0; j < 50; j++) {
      const double e = *ep_d(&Y, i, j) - *ep_d(&X, i, j), z = ep_random_normal(&r);
      CHECK_NEAR(e, 0.25 * z, 1e-14);
      CHECK_NEAR(*ep_d(&D, i, j) - *ep_d(&X, i, j), 0.1 * z, 1e-14); /* the default */
      mean += e / 20000;
      square += e * e / 20000;
    }
  }
  CHECK_NEAR(mean, 0, 5 * 0.25 / sqrt(20000));
  CHECK_NEAR(square, 0.0625, 5 * 0.0625 * sqrt(2.0 / 20000));
  assert_memory_equal(Z.data, X.data, 20000 * sizeof(double));
  ep_mat_free(&X);
  ep_mat_free(&Y);
  ep_mat_free(&D);
  ep_mat_free(&Z);
}

/* d c b [a b c d] c b a, by walking */
static int walk(int i, int step, int n) {
  const int direction = step < 0 ? -1 : 1;
  int d = direction;
  for (int k = 0; k < step * direction && n > 1; k++) {
    if (i + d < 0 || i + d >= n) d = -d;
    i += d;
  }
  return i;
}

/* The double sum over the kernel, not separated. */
static double reference_blur(const ep_mat *X, ptrdiff_t n, int plane, int H, int W, int i, int j,
                             double S) {
  const int R = (int)ceil(3 * S);
  double sum = 0, weight = 0;
  for (int a = -R; a <= R; a++)
    for (int b = -R; b <= R; b++) {
      const double w = exp(-(a * a + b * b) / (2 * S * S));
      weight += w;
      sum += w * ep_get(X, n, plane + walk(i, a, H) * W + walk(j, b, W));
    }
  return sum / weight;
}

static void check_blur(ep_image_shape shape, const char *text, double S) {
  const int H = shape.height, W = shape.width;
  ep_mat X = noise_images(EP_DOUBLE, 3, (ptrdiff_t)shape.channels * H * W);
  ep_mat Y = views(&X, text, shape, 0);
  for (int n = 0; n < 3; n++)
    for (int k = 0; k < X.cols; k++)
      CHECK_NEAR(*ep_d(&Y, n, k),
                 reference_blur(&X, n, k / (H * W) * H * W, H, W, k % (H * W) / W, k % W, S),
                 1e-13);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void test_blur(void **state) {
  (void)state;
  check_blur((ep_image_shape){1, 12, 9}, "blur", 1);
  check_blur((ep_image_shape){3, 6, 7}, "blur:0.5", 0.5);
  check_blur((ep_image_shape){2, 4, 2}, "blur:5.1", 5.1); /* reflected several times over */
  check_blur((ep_image_shape){1, 1, 6}, "blur:1.5", 1.5);
  for (int k = 1; k <= 8; k++) { /* kernels of every width that has code of its own, and wider */
    char text[32];
    snprintf(text, sizeof text, "blur:%g", 0.3 * k);
    check_blur((ep_image_shape){2, 11, 19}, text, 0.3 * k);
  }
  const ep_image_shape shape = {1, 9, 8};
  ep_mat X, Y;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, 2, 72));
  ep_mat_fill(&X, 0.7);
  Y = views(&X, "blur:2,blur:40", shape, 0);
  for (int k = 0; k < 72; k++) CHECK_NEAR(*ep_d(&Y, 1, k), 0.7, 1e-14);
  ep_mat_free(&Y);
  ep_random_fill_normal(&X, 1, 1, 1);
  Y = views(&X, "blur:0,blur:1e-300", shape, 0);
  assert_memory_equal(X.data, Y.data, 144 * sizeof(double));
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* ---- shifts and rotations */

/* Bilinear interpolation is exact for a linear image: the view is that image moved; dark where the place lies outside. */
static void check_moved(const char *text, bool rotates, double most) {
  enum { H = 11, W = 8 };
  const ep_image_shape shape = {2, H, W};
  ep_mat X, Y;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, 5, 2 * H * W));
  for (int n = 0; n < 5; n++)
    for (int k = 0; k < 2 * H * W; k++)
      *ep_d(&X, n, k) = 100 + (k / (H * W) ? -1 : 2) * (k % (H * W) / W) + 3 * (k % W);
  Y = views(&X, text, shape, 2);
  int inside = 0, outside = 0;
  for (int n = 0; n < 5; n++) {
    ep_random r = generator(n, 2);
    const double a = most * (2 * ep_random_uniform(&r) - 1);
    const double b = rotates ? 0 : most * (2 * ep_random_uniform(&r) - 1);
    const double angle = rotates ? a * acos(-1) / 180 : 0;
    for (int k = 0; k < 2 * H * W; k++) {
      const double i = k % (H * W) / W - (H - 1) / 2., j = k % W - (W - 1) / 2.;
      const double u = cos(angle) * i + sin(angle) * j + (H - 1) / 2. + (rotates ? 0 : a);
      const double v = -sin(angle) * i + cos(angle) * j + (W - 1) / 2. + (rotates ? 0 : b);
      const double value = 100 + (k / (H * W) ? -1 : 2) * u + 3 * v;
      const bool in = u >= 0 && u <= H - 1 && v >= 0 && v <= W - 1;
      const bool off = u <= -1 || u >= H || v <= -1 || v >= W;
      if (in) CHECK_NEAR(*ep_d(&Y, n, k), value, 1e-11);
      if (off) CHECK_NEAR(*ep_d(&Y, n, k), 0, 0);
      inside += in;
      outside += off;
    }
  }
  assert_true(inside > 300 && outside > 5);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void test_moved(void **state) {
  (void)state;
  check_moved("shift", false, 2);
  check_moved("shift:4.5", false, 4.5);
  check_moved("rotate:90", true, 90);
  const ep_image_shape shape = {1, 9, 8};
  ep_mat X = noise_images(EP_DOUBLE, 2, 72), Y = views(&X, "shift:0,rotate:0", shape, 0);
  assert_memory_equal(X.data, Y.data, 144 * sizeof(double));
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* Knots of the test: displacements (down, right) at 5 x 5 places, as the augmentation draws them. */
static double drawn_at(const double knot[5][5][2], int axis, double s, double t) {
  const int a = s < 4 ? (int)s : 3, b = t < 4 ? (int)t : 3;
  const double p = s - a, q = t - b;
  return (1 - p) * ((1 - q) * knot[a][b][axis] + q * knot[a][b + 1][axis]) +
         p * ((1 - q) * knot[a + 1][b][axis] + q * knot[a + 1][b + 1][axis]);
}

static void check_elastic(const char *text, int H, int W, double most) {
  const ep_image_shape shape = {3, H, W};
  const int pixels = H * W;
  ep_mat X, Y;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, 4, 3 * (ptrdiff_t)pixels));
  for (int n = 0; n < 4; n++)
    for (int k = 0; k < 3 * pixels; k++)
      *ep_d(&X, n, k) = 50 + k / pixels + 2 * (k % pixels / W) - 3 * (k % W);
  Y = views(&X, text, shape, 1);
  int inside = 0;
  for (int n = 0; n < 4; n++) {
    ep_random r = generator(n, 1);
    double knot[5][5][2];
    for (int k = 0; k < 50; k++)
      knot[k / 10][k / 2 % 5][k % 2] = most * (2 * ep_random_uniform(&r) - 1);
    for (int k = 0; k < 3 * pixels; k++) {
      const int i = k % pixels / W, j = k % W;
      const double s = H > 1 ? 4. * i / (H - 1) : 0, t = W > 1 ? 4. * j / (W - 1) : 0;
      const double u = i + drawn_at(knot, 0, s, t), v = j + drawn_at(knot, 1, s, t);
      const double value = 50 + k / pixels + 2 * u - 3 * v;
      if (u >= 0 && u <= H - 1 && v >= 0 && v <= W - 1) {
        CHECK_NEAR(*ep_d(&Y, n, k), value, 1e-11);
        inside++;
      }
      if (u <= -1 || u >= H || v <= -1 || v >= W) CHECK_NEAR(*ep_d(&Y, n, k), 0, 0);
    }
  }
  assert_true(inside > pixels);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void test_elastic(void **state) {
  (void)state;
  check_elastic("elastic", 28, 28, 2);
  check_elastic("elastic:1.5", 13, 22, 1.5);
  check_elastic("elastic:3", 21, 9, 3);
  check_elastic("elastic:0", 1, 7, 0);
  const ep_image_shape shape = {1, 9, 8};
  ep_mat X = noise_images(EP_DOUBLE, 2, 72), Y = views(&X, "elastic:0", shape, 0);
  assert_memory_equal(X.data, Y.data, 144 * sizeof(double));
  ep_mat_free(&Y);
  Y = views(&X, "elastic:1000", shape, 0); /* nearly all of it comes from outside */
  for (int k = 0; k < 144; k++) assert_true(isfinite(*ep_d(&Y, k / 72, k % 72)));
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* ---- chains */

/* crop, flip and noise of a chain share one generator, from left to right */
static void test_chain_is_one_stream(void **state) {
  (void)state;
  const ep_image_shape shape = {1, 6, 6};
  ep_mat X = noise_images(EP_DOUBLE, 50, 36),
         Y = views(&X, "flip,crop:0.25-0.25,noise:0.5", shape, 3);
  for (int n = 0; n < 50; n++) {
    ep_random r = generator(n, 3);
    double flipped[36];
    const bool turn = ep_random_uniform(&r) < 0.5;
    for (int k = 0; k < 36; k++) flipped[k] = *ep_d(&X, n, turn ? k / 6 * 6 + 5 - k % 6 : k);
    const ep_crop c = reference_crop(6, 6, 0.25, 0.25, &r);
    const ep_mat F = ep_mat_view(EP_DOUBLE, 1, 36, flipped);
    for (int k = 0; k < 36; k++)
      CHECK_NEAR(*ep_d(&Y, n, k),
                 reference_pixel(&F, 0, 0, shape, c, k / 6, k % 6) + 0.5 * ep_random_normal(&r),
                 1e-13);
  }
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static const char *every_step = "crop:0.2-1,flip,vflip,noise:0.1,blur:0.8,elastic:1.5";

static void check_same_bits(ep_precision prec) {
  const ep_image_shape shape = {2, 9, 8};
  const ep_augment c = chain_of(every_step, shape);
  ep_mat X = noise_images(prec, 151, 144), once, again;
  const size_t bytes = 151 * 144 * ep_sizeof(prec), line = 144 * ep_sizeof(prec);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  once = views(&X, every_step, shape, 5);
  for (int threads = 2; threads <= 3; threads++) {
    omp_set_num_threads(threads);
    again = views(&X, every_step, shape, 5);
    assert_memory_equal(once.data, again.data, bytes);
    ep_mat_free(&again);
  }
  omp_set_num_threads(before);
  CHECK_OK(ep_mat_new(&again, prec, 1, 144));
  for (ptrdiff_t i = 0; i < X.rows; i++) {
    const ep_mat x = ep_mat_rows(&X, i, 1), y = ep_mat_rows(&once, i, 1);
    CHECK_OK(ep_augment_apply(&again, &x, &c, shape, 11, i, 5));
    assert_memory_equal(again.data, y.data, line);
  }
  ep_mat_free(&again);
  ep_mat_free(&once);
  ep_mat_free(&X);
}

static void test_threads_and_order_do_not_matter(void **state) {
  (void)state;
  check_same_bits(EP_DOUBLE);
  check_same_bits(EP_SINGLE);
}

/* Single precision is the double result, of the same input, rounded. */
static void test_single_is_rounded(void **state) {
  (void)state;
  const ep_image_shape shape = {2, 9, 8};
  ep_mat S = noise_images(EP_SINGLE, 5, 144), D;
  CHECK_OK(ep_mat_new(&D, EP_DOUBLE, 5, 144));
  ep_mat_copy(&D, &S);
  ep_mat s = views(&S, every_step, shape, 0), d = views(&D, every_step, shape, 0);
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 144; j++) assert_true(*ep_s(&s, i, j) == (float)*ep_d(&d, i, j));
  ep_mat_free(&S);
  ep_mat_free(&D);
  ep_mat_free(&s);
  ep_mat_free(&d);
}

/* Other views, points and seeds differ; strided matrices are respected. */
static void test_views_differ(void **state) {
  (void)state;
  const ep_augment c = chain_of("noise", plain);
  double x[4] = {0}, y[4][4], wide[2][6];
  const ep_mat X = ep_mat_view(EP_DOUBLE, 1, 4, x);
  for (int k = 0; k < 4; k++) {
    const ep_mat Y = ep_mat_view(EP_DOUBLE, 1, 4, y[k]);
    CHECK_OK(ep_augment_apply(&Y, &X, &c, plain, k == 3, k == 2, k == 1));
    for (int l = 0; l < k; l++) assert_memory_not_equal(y[k], y[l], sizeof y[k]);
  }
  for (int k = 0; k < 12; k++) wide[k / 6][k % 6] = 5;
  double two[8] = {0};
  const ep_mat W = ep_mat_view(EP_DOUBLE, 2, 6, wide), in = ep_mat_view(EP_DOUBLE, 2, 4, two);
  const ep_mat out = ep_mat_cols(&W, 1, 4);
  CHECK_OK(ep_augment_apply(&out, &in, &c, plain, 0, 0, 0));
  assert_memory_equal(&wide[0][1], y[0], sizeof y[0]);
  assert_memory_equal(&wide[1][1], y[2], sizeof y[2]);
  for (int i = 0; i < 2; i++) assert_true(wide[i][0] == 5 && wide[i][5] == 5);
}

static void test_none_copies(void **state) {
  (void)state;
  ep_mat X = noise_images(EP_SINGLE, 3, 4), Y = views(&X, "none", plain, 0);
  assert_memory_equal(X.data, Y.data, 12 * sizeof(float));
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* ---- reading */

static void test_parse(void **state) {
  (void)state;
  const ep_image_shape image = {1, 4, 4};
  ep_augment c = chain_of("crop:0.2-1,flip,noise:0.1", image);
  assert_int_equal(c.count, 3);
  assert_true(c.step[0].a == 0.2 && c.step[0].b == 1 && c.step[2].a == 0.1);
  assert_true(c.step[0].kind != c.step[1].kind && c.step[1].kind != c.step[2].kind);
  c = chain_of("crop:1e-3-.5,blur,noise,crop", image);
  assert_true(c.step[0].a == 1e-3 && c.step[0].b == 0.5 && c.step[1].a == 1 && c.step[2].a == 0.1);
  assert_true(c.step[3].a == 0.08 && c.step[3].b == 1 && c.step[3].kind == c.step[0].kind);
  assert_int_equal(chain_of("none", plain).count, 0);
  assert_int_equal(chain_of("flip,flip,flip,flip,flip,flip,flip,flip", image).count,
                   EP_AUGMENT_STEPS);
  int names = 0;
  for (; ep_augment_name(names); names++)
    assert_int_equal(chain_of(ep_augment_name(names), (ep_image_shape){3, 6, 6}).count, 1);
  assert_int_equal(names, 15);
  assert_null(ep_augment_name(-1));
}

static void refused(const char *text, ep_image_shape shape, const char *hint) {
  ep_augment c = {.count = 7};
  CHECK_STATUS(ep_augment_parse(&c, text, shape), EP_ERR_ARG);
  if (!strstr(ep_last_error(), hint)) fail_msg("'%s': %s", text, ep_last_error());
  assert_int_equal(c.count, 0);
}

static void test_parse_refuses(void **state) {
  (void)state;
  const ep_image_shape image = {1, 4, 4};
  static const char *const wrong_crop[] = {
      "crop:0-1",    "crop:0.5-0.2", "crop:0.5-1.1", "crop:-1-1",  "crop:0.5",
      "crop:",       "crop:-",       "crop:a-b",     "crop:0.2-",  "crop:0.2-1x",
      "crop:nan-1",  "crop:0.2-inf", "crop:0x1-1",   "crop:0.2:1", "crop: 0.2-1",
      "crop:0.2--1", "crop:0.2 -1",  "crop:.-1",     "crop:0.2-."};
  for (size_t k = 0; k < sizeof wrong_crop / sizeof *wrong_crop; k++)
    refused(wrong_crop[k], image, "crop[:LO-HI]");
  static const char *const wrong_noise[] = {
      "noise:-0.1", "noise:inf",  "noise:nan",     "noise:1e400", "noise:", "noise:x",
      "noise:1 ",   "noise:1e31", "noise:0.1-0.2", "noise:.",     "noise:-"};
  for (size_t k = 0; k < sizeof wrong_noise / sizeof *wrong_noise; k++)
    refused(wrong_noise[k], image, "noise[:S]");
  refused("blur:-1", image, "blur[:S]");
  refused("blur:1001", image, "blur[:S]");
  refused("flip:0.5", image, "flip, without");
  refused("vflip:", image, "vflip, without");
  refused("", image, "empty");
  refused("crop,", image, "empty");
  refused(",crop", image, "empty");
  refused("crop,,flip", image, "empty");
  refused("none,flip", image, "alone");
  refused("flip,none", image, "alone");
  refused("none:1", image, "alone");
  refused(
      "mirror", image,
      "crop, flip, vflip, noise, corrupt, mask, shift, rotate, elastic, blur, light, jitter, grey, "
      "cutout, pad, "
      "none");
  refused("shift:1001", image, "shift[:S]");
  refused("rotate:181", image, "rotate[:S]");
  refused("elastic:-1", image, "elastic[:S]");
  refused("elastic", plain, "elastic needs images");
  refused("crop flip", image, "choose one of");
  refused("flip,flip,flip,flip,flip,flip,flip,flip,flip", image, "more than 8");
  refused("noise:0.00000000000000000000000000000000000000000000000000000000000001", image, "long");
  refused("noise,crop", plain, "crop needs images");
  refused("vflip", plain, "vflip needs images");
  refused("blur", plain, "blur needs images");
  refused("noise", (ep_image_shape){1, 4, 0}, "no image");
  refused("noise", (ep_image_shape){-1, 4, -4}, "no image");
}

static void test_apply_refuses(void **state) {
  (void)state;
  const ep_image_shape image = {1, 2, 3};
  const ep_augment c = chain_of("flip", image);
  double a[12] = {0}, b[12] = {0};
  const ep_mat X = ep_mat_view(EP_DOUBLE, 2, 6, a), Y = ep_mat_view(EP_DOUBLE, 2, 6, b);
  const ep_mat thin = ep_mat_view(EP_DOUBLE, 3, 4, b), flat = ep_mat_view(EP_SINGLE, 2, 6, b);
  const ep_mat none = ep_mat_view(EP_DOUBLE, 0, 6, NULL);
  CHECK_OK(ep_augment_apply(&Y, &X, &c, image, 0, 0, 0));
  CHECK_OK(ep_augment_apply(&none, &none, &c, image, 0, 0, 0));
  CHECK_OK(ep_augment_apply(&Y, &X, &c, image, 0, ((ptrdiff_t)1 << 32) - 2, INT32_MAX));
  CHECK_STATUS(ep_augment_apply(&thin, &X, &c, image, 0, 0, 0), EP_ERR_SHAPE);
  CHECK_STATUS(ep_augment_apply(&flat, &X, &c, image, 0, 0, 0), EP_ERR_SHAPE);
  CHECK_STATUS(ep_augment_apply(&X, &X, &c, image, 0, 0, 0), EP_ERR_ARG);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, (ep_image_shape){1, 3, 3}, 0, 0, 0), EP_ERR_SHAPE);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, (ep_image_shape){6, 6, 6}, 0, 0, 0), EP_ERR_SHAPE);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, plain, 0, 0, 0), EP_ERR_ARG);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, image, 0, -1, 0), EP_ERR_ARG);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, image, 0, 0, -1), EP_ERR_ARG);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, image, 0, PTRDIFF_MAX, 0), EP_ERR_ARG);
  CHECK_STATUS(ep_augment_apply(&Y, &X, &c, image, 0, ((ptrdiff_t)1 << 32) - 1, 0), EP_ERR_ARG);
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  const ep_image_shape shape = {1, 10, 10};
  const ep_augment c = chain_of(every_step, shape);
  ep_mat X = noise_images(EP_DOUBLE, 120, 100), Y;
  CHECK_OK(ep_mat_new(&Y, EP_DOUBLE, 120, 100));
  const size_t before = ep_mem_current();
  int failures = 0;
  for (;; failures++) {
    ep_alloc_fail_after = failures;
    const ep_status st = ep_augment_apply(&Y, &X, &c, shape, 0, 0, 0);
    ep_alloc_fail_after = -1;
    assert_int_equal(ep_mem_current(), before);
    if (!st) break;
    assert_int_equal(st, EP_ERR_NOMEM);
  }
  assert_int_equal(failures, 1 + 2 * omp_get_max_threads());
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_crop_is_where_torchvision_cuts),
      cmocka_unit_test(test_crop_falls_back_to_the_middle),
      cmocka_unit_test(test_crop_distribution),
      cmocka_unit_test(test_crop_by_hand),
      cmocka_unit_test(test_crop_against_reference),
      cmocka_unit_test(test_flips),
      cmocka_unit_test(test_noise),
      cmocka_unit_test(test_blur),
      cmocka_unit_test(test_chain_is_one_stream),
      cmocka_unit_test(test_threads_and_order_do_not_matter),
      cmocka_unit_test(test_single_is_rounded),
      cmocka_unit_test(test_views_differ),
      cmocka_unit_test(test_none_copies),
      cmocka_unit_test(test_moved),
      cmocka_unit_test(test_elastic),
      cmocka_unit_test(test_parse),
      cmocka_unit_test(test_parse_refuses),
      cmocka_unit_test(test_apply_refuses),
      cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
