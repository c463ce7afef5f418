/* Augmentations. A point is worked on in double, in a row of scratch, and stored in the matrix's
 * precision; everything random comes from the point's own generator, so any thread may take it. */
#include <eigenpair/augment.h>
#include <eigenpair/options.h>
#include <eigenpair/random.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One output pixel along one axis: (1 - w) in[near] + w in[far]. */
typedef struct {
  int near, far;
  double w;
} tap;

/* A point on its way through the chain, and one thread's scratch. */
typedef struct {
  ep_image_shape shape;
  ptrdiff_t cols;
  double *x, *y;         /* cols each: the point, changed in place, and a spare row */
  double *kernel, *line; /* blur: the kernel, and one image line with its reflections */
  tap *taps;             /* crop: one a column, then one a row; pad: one a column */
  const ep_augment *chain;
} frame;

typedef enum { NO_PARAMETER, DEVIATION, SHARES } parameter_kind; /* "", "S", "LO-HI" */

struct ep_augmentation {
  const char *name;
  void (*apply)(frame *f, ep_random *r, double a, double b);
  bool needs_image;
  parameter_kind parameter;
  double a, b; /* defaults */
  double max;  /* largest value allowed */
  const char *help;
};

static bool is_plain(ep_image_shape s) { return !s.channels && !s.height && !s.width; }

static const double aspect_lo = 3.0 / 4, aspect_hi = 4.0 / 3;

/* ---- crop */

static double between(ep_random *r, double lo, double hi) {
  return lo + (hi - lo) * ep_random_uniform(r);
}

/* The fallback of RandomResizedCrop: the central box nearest to the image in aspect ratio. */
static ep_crop central(int H, int W) {
  const double ratio = (double)W / H;
  int h = H, w = W;
  if (ratio < aspect_lo) h = (int)rint(W / aspect_lo);
  else if (ratio > aspect_hi) w = (int)rint(H * aspect_hi);
  return (ep_crop){.top = (H - h) / 2, .left = (W - w) / 2, .height = h, .width = w};
}

/* RandomResizedCrop.get_params: area = H W U(lo, hi), aspect = exp U(log 3/4, log 4/3),
 * w = round sqrt(area aspect), h = round sqrt(area / aspect), halves to even as in Python; ten
 * tries to fit into the image. Drawn in this order: area and aspect of each try, then top, then
 * left. */
static ep_crop draw_crop(ep_image_shape shape, double lo, double hi, ep_random *r) {
  const int H = shape.height, W = shape.width;
  for (int attempt = 0; attempt < 10; attempt++) {
    const double area = (double)H * W * between(r, lo, hi);
    const double aspect = exp(between(r, log(aspect_lo), log(aspect_hi)));
    const double w = rint(sqrt(area * aspect)), h = rint(sqrt(area / aspect));
    if (!(w > 0 && w <= W && h > 0 && h <= H)) continue;
    ep_crop c = {.height = (int)h, .width = (int)w};
    c.top = (int)ep_random_below(r, H - c.height + 1);
    c.left = (int)ep_random_below(r, W - c.width + 1);
    return c;
  }
  return central(H, W);
}

/* Half-pixel centres (align_corners = False): src = max(0, (dst + 1/2) in / out - 1/2). */
static void place_taps(tap *t, int out, int in) {
  const double scale = (double)in / out;
  for (int i = 0; i < out; i++) {
    const double src = fmax(0, (i + 0.5) * scale - 0.5);
    const int near = (int)src < in ? (int)src : in - 1;
    t[i] = (tap){.near = near, .far = near + 1 < in ? near + 1 : near, .w = src - near};
  }
}

/* One channel: x = V box(x) H', H and V two taps a row. The box's rows, widened, wait in y. */
static void stretch(double *x, double *y, ep_crop c, int height, int width, const tap *taps) {
  const tap *across = taps, *down = taps + width;
  for (int i = 0; i < c.height; i++) {
    const double *in = x + (ptrdiff_t)(c.top + i) * width + c.left;
    double *out = y + (ptrdiff_t)i * width;
    for (int j = 0; j < width; j++) {
      const tap t = across[j];
      out[j] = (1 - t.w) * in[t.near] + t.w * in[t.far];
    }
  }
  for (int i = 0; i < height; i++) {
    const double w = down[i].w;
    const double *near = y + (ptrdiff_t)down[i].near * width;
    const double *far = y + (ptrdiff_t)down[i].far * width;
    double *out = x + (ptrdiff_t)i * width;
    for (int j = 0; j < width; j++) out[j] = (1 - w) * near[j] + w * far[j];
  }
}

static void apply_crop(frame *f, ep_random *r, double lo, double hi) {
  const int H = f->shape.height, W = f->shape.width;
  const ep_crop c = draw_crop(f->shape, lo, hi, r);
  place_taps(f->taps, W, c.width);
  place_taps(f->taps + W, H, c.height);
  for (int k = 0; k < f->shape.channels; k++) {
    const ptrdiff_t plane = (ptrdiff_t)k * H * W;
    stretch(f->x + plane, f->y + plane, c, H, W, f->taps);
  }
}

/* ---- flips and noise */

static void exchange(double *a, double *b) {
  const double t = *a;
  *a = *b;
  *b = t;
}

/* x_j <- x_{W-1-j} in every line, with probability 1/2 */
static void apply_flip(frame *f, ep_random *r, double a, double b) {
  (void)a, (void)b;
  if (ep_random_uniform(r) >= 0.5) return;
  const ptrdiff_t lines = (ptrdiff_t)f->shape.channels * f->shape.height, W = f->shape.width;
  for (ptrdiff_t i = 0; i < lines; i++)
    for (ptrdiff_t j = 0; j < W / 2; j++) exchange(f->x + i * W + j, f->x + i * W + W - 1 - j);
}

/* line i <- line H-1-i in every channel, with probability 1/2 */
static void apply_vflip(frame *f, ep_random *r, double a, double b) {
  (void)a, (void)b;
  if (ep_random_uniform(r) >= 0.5) return;
  const ptrdiff_t H = f->shape.height, W = f->shape.width;
  for (ptrdiff_t k = 0; k < f->shape.channels; k++) {
    double *x = f->x + k * H * W;
    for (ptrdiff_t i = 0; i < H / 2; i++)
      for (ptrdiff_t j = 0; j < W; j++) exchange(x + i * W + j, x + (H - 1 - i) * W + j);
  }
}

/* x_j += S N(0, 1), times the spread of column j where it is known */
static void apply_noise(frame *f, ep_random *r, double S, double b) {
  const double *spread = f->chain->spread;
  (void)b;
  for (ptrdiff_t j = 0; j < f->cols; j++)
    f->x[j] += S * (spread ? spread[j] : 1) * ep_random_normal(r);
}

/* ---- tables and series */

/* each group of columns with probability P from a point of the sample, drawn anew for each: the columns' own
 * distributions, without what ties them (SCARF) */
static void apply_corrupt(frame *f, ep_random *r, double P, double b) {
  const int *group = f->chain->group;
  const ep_mat *sample = f->chain->sample;
  ptrdiff_t from = -1;
  (void)b;
  for (ptrdiff_t j = 0; j < f->cols; j++) {
    if (j == 0 || !group || group[j] != group[j - 1])
      from = ep_random_uniform(r) < P ? (ptrdiff_t)ep_random_below(r, sample->rows) : -1;
    if (from >= 0) f->x[j] = ep_get(sample, from, j);
  }
}

static double mean_of(const double *x, ptrdiff_t n) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < n; j++) sum += x[j];
  return sum / (double)n;
}

/* round(P n) values from a place on that all places are equally likely to be become the mean of the row */
static void apply_mask(frame *f, ep_random *r, double P, double b) {
  const ptrdiff_t length = (ptrdiff_t)rint(P * (double)f->cols);
  const ptrdiff_t first = (ptrdiff_t)ep_random_below(r, f->cols - length + 1);
  const double mean = mean_of(f->x, f->cols);
  (void)b;
  for (ptrdiff_t j = first; j < first + length; j++) f->x[j] = mean;
}

static const double series_jitter = 0.1; /* default of jitter for plain vectors */

/* x += S sd(x) N(0, I), sd within the row */
static void jitter_series(frame *f, ep_random *r, double S) {
  const double mean = mean_of(f->x, f->cols);
  double sum = 0;
  for (ptrdiff_t j = 0; j < f->cols; j++) sum += (f->x[j] - mean) * (f->x[j] - mean);
  const double sd = sqrt(sum / (double)f->cols);
  for (ptrdiff_t j = 0; j < f->cols; j++) f->x[j] += S * sd * ep_random_normal(r);
}

/* ---- shifts and rotations */

/* x(i, j), 0 outside the image */
static double pixel(const double *x, int H, int W, int i, int j) {
  return i >= 0 && i < H && j >= 0 && j < W ? x[(ptrdiff_t)i * W + j] : 0;
}

/* every channel: y(p) = x(R (p - c) + c + t), c the centre, bilinear, dark outside */
static void warp(frame *f, double cosine, double sine, double down, double right) {
  const int H = f->shape.height, W = f->shape.width;
  const double ci = (H - 1) / 2.0, cj = (W - 1) / 2.0;
  for (int k = 0; k < f->shape.channels; k++) {
    double *x = f->x + (ptrdiff_t)k * H * W, *y = f->y + (ptrdiff_t)k * H * W;
    for (int i = 0; i < H; i++)
      for (int j = 0; j < W; j++) {
        const double u = cosine * (i - ci) + sine * (j - cj) + ci + down;
        const double v = -sine * (i - ci) + cosine * (j - cj) + cj + right;
        const int a = (int)floor(u), b = (int)floor(v);
        const double p = u - a, q = v - b;
        y[(ptrdiff_t)i * W + j] =
            (1 - p) * ((1 - q) * pixel(x, H, W, a, b) + q * pixel(x, H, W, a, b + 1)) +
            p * ((1 - q) * pixel(x, H, W, a + 1, b) + q * pixel(x, H, W, a + 1, b + 1));
      }
    memcpy(x, y, (size_t)H * (size_t)W * sizeof *x);
  }
}

/* by U(-S, S) pixels down and to the right */
static void apply_shift(frame *f, ep_random *r, double S, double b) {
  (void)b;
  const double down = between(r, -S, S), right = between(r, -S, S);
  warp(f, 1, 0, down, right);
}

/* by U(-S, S) degrees about the centre */
static void apply_rotate(frame *f, ep_random *r, double S, double b) {
  (void)b;
  const double angle = between(r, -S, S) * acos(-1) / 180;
  warp(f, cos(angle), sin(angle), 0, 0);
}

/* ---- blur */

static int blur_radius(double S) { return (int)ceil(3 * S); }

/* Reflection about the edge pixels, d c b [a b c d] c b a, as torchvision pads; repeated as often
 * as a wide kernel needs. */
static int reflect(int i, int n) {
  if (n == 1) return 0;
  const int period = 2 * (n - 1);
  i = abs(i % period);
  return i < n ? i : period - i;
}

/* g_k = exp(-k^2 / 2S^2) / sum, |k| <= R */
static void gaussian(double *g, int R, double S) {
  double sum = 0;
  for (int k = -R; k <= R; k++) {
    const double t = R ? k / S : 0; /* S = 0 leaves one weight */
    sum += g[k + R] = exp(-t * t / 2);
  }
  for (int k = 0; k <= 2 * R; k++) g[k] /= sum;
}

/* y_j = sum_k g_k x_{j+k} */
static void blur_line(double *restrict y, const double *x, int n, const double *g, int R,
                      double *restrict line) {
  for (int j = -R; j < n + R; j++) line[j + R] = x[reflect(j, n)];
  for (int j = 0; j < n; j++) y[j] = 0;
  for (int k = 0; k <= 2 * R; k++)
    for (int j = 0; j < n; j++) y[j] += g[k] * line[j + k];
}

/* every channel: x = G_H x G_W' */
static void apply_blur(frame *f, ep_random *r, double S, double b) {
  (void)r, (void)b;
  const int H = f->shape.height, W = f->shape.width, R = blur_radius(S);
  gaussian(f->kernel, R, S);
  for (int c = 0; c < f->shape.channels; c++) {
    double *x = f->x + (ptrdiff_t)c * H * W, *y = f->y + (ptrdiff_t)c * H * W;
    for (ptrdiff_t i = 0; i < H; i++) blur_line(y + i * W, x + i * W, W, f->kernel, R, f->line);
    for (int i = 0; i < H; i++) {
      double *out = x + (ptrdiff_t)i * W;
      for (int j = 0; j < W; j++) out[j] = 0;
      for (int k = -R; k <= R; k++) {
        const double g = f->kernel[k + R], *in = y + (ptrdiff_t)reflect(i + k, H) * W;
        for (int j = 0; j < W; j++) out[j] += g * in[j];
      }
    }
  }
}

/* ---- colours: pixels in [0, 1]; all that jitter does to a pixel is one matrix */

static double luma(const double rgb[3]) { return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]; }

static double in_range(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

/* x <- b x, then x <- m + c (x - m) with m the mean; b, c ~ U(1 - S, 1 + S) */
static void apply_light(frame *f, ep_random *r, double S, double unused) {
  (void)unused;
  const double b = between(r, 1 - S, 1 + S), c = between(r, 1 - S, 1 + S);
  const double scale = b * c, offset = (1 - c) * b * mean_of(f->x, f->cols);
  for (ptrdiff_t j = 0; j < f->cols; j++) f->x[j] = in_range(scale * f->x[j] + offset);
}

/* M = T^{-1} diag(1, s R(angle)) T: luma stays, chroma (I, Q of television) is scaled by s and turned */
static void chroma_matrix(double M[3][3], double s, double angle) {
  static const double T[3][3] = {
      {0.299, 0.587, 0.114}, {0.596, -0.274, -0.322}, {0.211, -0.523, 0.312}};
  double C[3][3], P[3][3]; /* cofactors of T; diag(..) T */
  const double cosine = s * cos(angle), sine = s * sin(angle);
  double det = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
      C[i][j] = T[a][c] * T[b][d] - T[a][d] * T[b][c];
      if (i == 0) det += T[0][j] * C[0][j];
    }
  for (int j = 0; j < 3; j++) {
    P[0][j] = T[0][j];
    P[1][j] = cosine * T[1][j] - sine * T[2][j];
    P[2][j] = sine * T[1][j] + cosine * T[2][j];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      M[i][j] = (C[0][i] * P[0][j] + C[1][i] * P[1][j] + C[2][i] * P[2][j]) / det;
}

/* brightness, contrast (about the mean luma), saturation ~ U(1 - 0.8 S, 1 + 0.8 S), hue by U(-0.2 S, 0.2 S) of a turn;
 * drawn in this order, clipped once at the end */
static void apply_jitter(frame *f, ep_random *r, double S, double unused) {
  (void)unused;
  if (is_plain(f->shape)) {
    jitter_series(f, r, S);
    return;
  }
  const ptrdiff_t n = (ptrdiff_t)f->shape.height * f->shape.width;
  const double lo = 1 - 0.8 * S, hi = 1 + 0.8 * S;
  const double b = between(r, lo, hi), c = between(r, lo, hi), s = between(r, lo, hi);
  const double angle = 2 * acos(-1) * between(r, -0.2 * S, 0.2 * S);
  double *x = f->x, *y = x + n, *z = y + n, M[3][3];
  const double mean[3] = {mean_of(x, n), mean_of(y, n), mean_of(z, n)};
  const double offset = (1 - c) * b * luma(mean);
  chroma_matrix(M, s, angle);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) M[i][j] *= b * c;
  for (ptrdiff_t j = 0; j < n; j++) {
    const double R = x[j], G = y[j], B = z[j];
    x[j] = in_range(M[0][0] * R + M[0][1] * G + M[0][2] * B + offset);
    y[j] = in_range(M[1][0] * R + M[1][1] * G + M[1][2] * B + offset);
    z[j] = in_range(M[2][0] * R + M[2][1] * G + M[2][2] * B + offset);
  }
}

/* every channel <- luma, with probability P */
static void apply_grey(frame *f, ep_random *r, double P, double unused) {
  (void)unused;
  const ptrdiff_t n = (ptrdiff_t)f->shape.height * f->shape.width;
  if (ep_random_uniform(r) >= P) return;
  for (ptrdiff_t j = 0; j < n; j++) {
    const double pixel[3] = {f->x[j], f->x[n + j], f->x[2 * n + j]};
    f->x[j] = f->x[n + j] = f->x[2 * n + j] = luma(pixel);
  }
}

/* ---- what is hidden or moved */

static int larger(int a, int b) { return a > b ? a : b; }
static int smaller(int a, int b) { return a < b ? a : b; }

/* a square of S pixels about a random pixel, as far as it lies in the image, becomes the channel's mean */
static void apply_cutout(frame *f, ep_random *r, double S, double unused) {
  (void)unused;
  const int H = f->shape.height, W = f->shape.width, side = (int)S;
  const int top = (int)ep_random_below(r, H) - side / 2,
            left = (int)ep_random_below(r, W) - side / 2;
  const int bottom = smaller(H, top + side), right = smaller(W, left + side);
  for (int c = 0; c < f->shape.channels; c++) {
    double *x = f->x + (ptrdiff_t)c * H * W;
    const double mean = mean_of(x, (ptrdiff_t)H * W);
    for (int i = larger(0, top); i < bottom; i++)
      for (int j = larger(0, left); j < right; j++) x[(ptrdiff_t)i * W + j] = mean;
  }
}

/* S reflected pixels are put round the image, which is cut out again at a random place */
static void apply_pad(frame *f, ep_random *r, double S, double unused) {
  (void)unused;
  const int H = f->shape.height, W = f->shape.width, most = (int)S;
  const int down = (int)ep_random_below(r, 2 * most + 1) - most,
            right = (int)ep_random_below(r, 2 * most + 1) - most;
  for (int j = 0; j < W; j++) f->taps[j].near = reflect(j + right, W);
  for (int c = 0; c < f->shape.channels; c++) {
    double *x = f->x + (ptrdiff_t)c * H * W, *y = f->y + (ptrdiff_t)c * H * W;
    for (int i = 0; i < H; i++) {
      const double *in = x + (ptrdiff_t)reflect(i + down, H) * W;
      double *out = y + (ptrdiff_t)i * W;
      for (int j = 0; j < W; j++) out[j] = in[f->taps[j].near];
    }
    memcpy(x, y, (size_t)H * (size_t)W * sizeof *x);
  }
}

/* ---- the table */

static const ep_augmentation table[] = {
    {"crop", apply_crop, true, SHARES, 0.08, 1, 1,
     "crop[:LO-HI], with 0 < LO <= HI <= 1 the share of the area that is kept"},
    {"flip", apply_flip, true, NO_PARAMETER, 0, 0, 0, "flip, without a parameter"},
    {"vflip", apply_vflip, true, NO_PARAMETER, 0, 0, 0, "vflip, without a parameter"},
    {"noise", apply_noise, false, DEVIATION, 0.1, 0, 1e30,
     "noise[:S], with 0 <= S <= 1e30 the standard deviation"},
    {"corrupt", apply_corrupt, false, DEVIATION, 0.3, 0, 1,
     "corrupt[:P], with 0 <= P <= 1 the probability that a column is taken from another point"},
    {"mask", apply_mask, false, DEVIATION, 0.25, 0, 1,
     "mask[:P], with 0 <= P <= 1 the share of the row that becomes its mean"},
    {"shift", apply_shift, true, DEVIATION, 2, 0, 1000,
     "shift[:S], with 0 <= S <= 1000 the most pixels in each direction"},
    {"rotate", apply_rotate, true, DEVIATION, 10, 0, 180,
     "rotate[:S], with 0 <= S <= 180 the most degrees to either side"},
    {"blur", apply_blur, true, DEVIATION, 1, 0, 1000,
     "blur[:S], with 0 <= S <= 1000 the standard deviation in pixels"},
    {"light", apply_light, true, DEVIATION, 0.4, 0, 1,
     "light[:S], with 0 <= S <= 1 how far brightness and contrast go from 1"},
    {"jitter", apply_jitter, false, DEVIATION, 0.5, 0, 1,
     "jitter[:S], with 0 <= S <= 1 its strength"},
    {"grey", apply_grey, true, DEVIATION, 0.2, 0, 1, "grey[:P], with 0 <= P <= 1 how often"},
    {"cutout", apply_cutout, true, DEVIATION, 8, 0, 1000,
     "cutout[:S], with 0 <= S <= 1000 the side of the square in pixels"},
    {"pad", apply_pad, true, DEVIATION, 4, 0, 1000,
     "pad[:S], with 0 <= S <= 1000 the pixels on every side"},
};
enum { KINDS = sizeof table / sizeof *table };

const char *ep_augment_name(int i) { return i >= 0 && i < KINDS ? table[i].name : NULL; }

/* ---- reading */

/* colours are those of three channels */
static ep_status check_colour(const ep_augmentation *kind, ep_image_shape shape) {
  const bool colour = kind->apply == apply_jitter || kind->apply == apply_grey;
  const bool series = kind->apply == apply_jitter && is_plain(shape);
  EP_CHECK(!colour || series || shape.channels == 3, EP_ERR_ARG,
           "augmentation %s needs colour images (3 channels), and these have %d%s", kind->name,
           shape.channels, kind->apply == apply_jitter ? "; use light" : "");
  return EP_OK;
}

static const char *name_or_none(int i) { return i == KINDS ? "none" : ep_augment_name(i); }

/* A plain decimal number: no blanks, no hexadecimal, no nan; *text moves behind it. What is left
 * over, and infinity, are for the caller to refuse. */
static bool read_number(double *out, const char **text) {
  const char *start = *text + (**text == '-' || **text == '+');
  char *end;
  if (!*start || !strchr("0123456789.", *start) || (*start == '0' && (start[1] | 32) == 'x'))
    return false;
  *out = strtod(*text, &end);
  *text = end;
  return true;
}

/* The text behind the colon into a and b. */
static bool read_parameters(const ep_augmentation *kind, double *a, double *b, const char *text) {
  switch (kind->parameter) {
    case DEVIATION: return read_number(a, &text) && !*text && *a >= 0 && *a <= kind->max;
    case SHARES:
      return read_number(a, &text) && *text++ == '-' && read_number(b, &text) && !*text && *a > 0 &&
             *a <= *b && *b <= kind->max;
    default: return false;
  }
}

static ep_status check_shape(ep_image_shape s) {
  EP_CHECK(is_plain(s) || (s.channels > 0 && s.height > 0 && s.width > 0), EP_ERR_ARG,
           "an image of %d channels, %d rows and %d columns is no image", s.channels, s.height,
           s.width);
  return EP_OK;
}

/* One step without its comma; `none` is no step, and the only one. */
static ep_status add_step(ep_augment *chain, const char *step, bool alone, ep_image_shape shape) {
  int index;
  const char *parameters;
  EP_CHECK(*step, EP_ERR_ARG,
           "an augmentation is empty; write none, or steps with commas such as crop,flip");
  EP_TRY(ep_options_name(&index, &parameters, "augmentation", step, name_or_none));
  if (index == KINDS) {
    EP_CHECK(alone && !parameters, EP_ERR_ARG, "augmentation none stands alone, without others");
    return EP_OK;
  }
  const ep_augmentation *kind = &table[index];
  double a = kind->apply == apply_jitter && is_plain(shape) ? series_jitter : kind->a, b = kind->b;
  EP_CHECK(!parameters || read_parameters(kind, &a, &b, parameters), EP_ERR_ARG,
           "augmentation '%s' is wrong: write %s", step, kind->help);
  EP_CHECK(!kind->needs_image || !is_plain(shape), EP_ERR_ARG,
           "augmentation %s needs images, and the data are plain vectors; use noise", kind->name);
  EP_TRY(check_colour(kind, shape));
  EP_CHECK(chain->count < EP_AUGMENT_STEPS, EP_ERR_ARG, "more than %d augmentations in a chain",
           (int)EP_AUGMENT_STEPS);
  chain->step[chain->count].kind = kind;
  chain->step[chain->count].a = a;
  chain->step[chain->count++].b = b;
  return EP_OK;
}

bool ep_augment_needs_sample(const ep_augment *chain) {
  for (int k = 0; k < chain->count; k++)
    if (chain->step[k].kind->apply == apply_corrupt) return true;
  return false;
}

ep_status ep_augment_parse(ep_augment *out, const char *text, ep_image_shape shape) {
  ep_augment chain = {0};
  *out = chain;
  EP_TRY(check_shape(shape));
  const bool alone = !strchr(text, ',');
  for (const char *at = text;; at++) {
    char step[64];
    const size_t length = strcspn(at, ",");
    EP_CHECK(length < sizeof step, EP_ERR_ARG, "augmentation '%.40s...' is too long", at);
    memcpy(step, at, length);
    step[length] = '\0';
    EP_TRY(add_step(&chain, step, alone, shape));
    at += length;
    if (!*at) break;
  }
  *out = chain;
  return EP_OK;
}

/* ---- applying */

/* Point i of the data set, view v: numbers v 2^32, v 2^32 + 1, ... of its stream. */
static ep_random point_random(uint64_t seed, ptrdiff_t point, int view) {
  ep_random r = ep_random_new(seed, EP_STREAM_AUGMENT, (uint32_t)point);
  r.next = (uint64_t)view << 32;
  return r;
}

static void load(double *x, const ep_mat *X, ptrdiff_t i) {
  if (X->prec == EP_SINGLE)
    for (ptrdiff_t j = 0; j < X->cols; j++) x[j] = *ep_s(X, i, j);
  else
    for (ptrdiff_t j = 0; j < X->cols; j++) x[j] = *ep_d(X, i, j);
}

static void store(const ep_mat *X, ptrdiff_t i, const double *x) {
  if (X->prec == EP_SINGLE)
    for (ptrdiff_t j = 0; j < X->cols; j++) *ep_s(X, i, j) = (float)x[j];
  else
    for (ptrdiff_t j = 0; j < X->cols; j++) *ep_d(X, i, j) = x[j];
}

/* One frame a thread, all taken before the threads start: there, a failure can still be returned.
 */
static ep_status make_frames(ep_work *work, frame **out, int threads, const ep_augment *chain,
                             ep_image_shape s, ptrdiff_t cols) {
  int R = 0;
  for (int k = 0; k < chain->count; k++)
    if (chain->step[k].kind->apply == apply_blur && blur_radius(chain->step[k].a) > R)
      R = blur_radius(chain->step[k].a);
  const ptrdiff_t kernel = 2 * (ptrdiff_t)R + 1, room = 2 * cols + 2 * kernel + s.width;
  EP_TRY(ep_work_get(work, out, threads, sizeof(frame)));
  for (int t = 0; t < threads; t++) {
    frame *f = *out + t;
    double *block;
    EP_TRY(ep_work_get(work, &block, room, sizeof *block));
    *f = (frame){.shape = s, .cols = cols, .x = block, .y = block + cols, .chain = chain};
    f->kernel = f->y + cols;
    f->line = f->kernel + kernel;
    EP_TRY(ep_work_get(work, &f->taps, (ptrdiff_t)s.width + s.height, sizeof(tap)));
  }
  return EP_OK;
}

static void apply_rows(const ep_mat *out, const ep_mat *X, const ep_augment *chain, frame *frames,
                       int threads, uint64_t seed, ptrdiff_t first, int view) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    frame *f = frames + omp_get_thread_num();
    ep_random r = point_random(seed, first + i, view);
    load(f->x, X, i);
    for (int k = 0; k < chain->count; k++)
      chain->step[k].kind->apply(f, &r, chain->step[k].a, chain->step[k].b);
    store(out, i, f->x);
  }
}

static ep_status check_apply(const ep_mat *out, const ep_mat *X, const ep_augment *chain,
                             ep_image_shape s, ptrdiff_t first, int view) {
  EP_CHECK(out->rows == X->rows && out->cols == X->cols && out->prec == X->prec, EP_ERR_SHAPE,
           "views of %td x %td from points of %td x %td", out->rows, out->cols, X->rows, X->cols);
  EP_CHECK(out->data != X->data || X->rows == 0 || X->cols == 0, EP_ERR_ARG,
           "the views would overwrite the points");
  EP_TRY(check_shape(s));
  EP_CHECK(is_plain(s) || (X->cols % s.channels == 0 && X->cols / s.channels % s.height == 0 &&
                           X->cols / s.channels / s.height == s.width),
           EP_ERR_SHAPE, "points of %td numbers are no images of %d x %d x %d", X->cols, s.channels,
           s.height, s.width);
  for (int k = 0; k < chain->count; k++) {
    EP_CHECK(!chain->step[k].kind->needs_image || !is_plain(s), EP_ERR_ARG,
             "augmentation %s needs images, and the data are plain vectors",
             chain->step[k].kind->name);
    EP_TRY(check_colour(chain->step[k].kind, s));
  }
  EP_CHECK(!ep_augment_needs_sample(chain) ||
               (chain->sample && chain->sample->rows > 0 && chain->sample->cols == X->cols),
           EP_ERR_ARG, "augmentation corrupt needs points to take values from");
  EP_CHECK(view >= 0, EP_ERR_ARG, "view %d is negative", view);
  EP_CHECK(first >= 0 && first <= (ptrdiff_t)UINT32_MAX + 1 - X->rows, EP_ERR_ARG,
           "%td points from %td on: an index must be in 0 .. 2^32 - 1", X->rows, first);
  return EP_OK;
}

ep_status ep_augment_apply(const ep_mat *out, const ep_mat *X, const ep_augment *chain,
                           ep_image_shape shape, uint64_t seed, ptrdiff_t first, int view) {
  EP_TRY(check_apply(out, X, chain, shape, first, view));
  if (X->rows == 0) return EP_OK;
  int threads = omp_get_max_threads();
  if (X->rows * X->cols < 10000) threads = 1; /* not worth waking anyone */
  ep_work work = {0};
  frame *frames;
  const ep_status st = make_frames(&work, &frames, threads, chain, shape, X->cols);
  if (!st) apply_rows(out, X, chain, frames, threads, seed, first, view);
  ep_work_free(&work);
  return st;
}

ep_crop ep_augment_crop(ep_image_shape shape, double lo, double hi, uint64_t seed, ptrdiff_t point,
                        int view) {
  ep_random r = point_random(seed, point, view);
  return draw_crop(shape, lo, hi, &r);
}
