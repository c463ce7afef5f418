/* What augmentations do to a point, in double, in place; everything random comes from the point's own generator. */
#include "data/augmentations.h"
#include "data/pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
ep_crop ep_crop_draw(ep_image_shape shape, double lo, double hi, ep_random *r) {
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

/* Half-pixel centres (align_corners = False): src = max(0, (dst + 1/2) in / out - 1/2), between `near` and the pixel behind it;
 * the last pixel is all of that behind the last but one. */
static ep_tap place_tap(int i, int out, int in) {
  const double src = fmax(0, (i + 0.5) * in / out - 0.5);
  const int near = (int)src < in ? (int)src : in - 1;
  if (near + 1 < in) return (ep_tap){.near = near, .w = src - near};
  return in > 1 ? (ep_tap){.near = in - 2, .w = 1} : (ep_tap){.near = 0};
}

/* One channel: x = V box(x) H', H and V two taps a row. The box's rows, widened, wait in y. */
static void stretch(const ep_frame *f, double *x, double *y, ep_crop c) {
  const int H = f->shape.height, W = f->shape.width;
  for (ptrdiff_t i = 0; i < c.height; i++) {
    const double *in = x + (c.top + i) * W + c.left;
    if (c.width > 1) EP_PICK_DOUBLE(ep_pixels_widen)(y + i * W, in, f->from, f->u, W);
    for (int j = 0; c.width == 1 && j < W; j++) y[i * W + j] = in[0];
  }
  for (ptrdiff_t i = 0; i < H; i++) {
    const ep_tap t = place_tap((int)i, H, c.height);
    const double *near = y + (ptrdiff_t)t.near * W, *far = c.height > 1 ? near + W : near;
    EP_PICK_DOUBLE(ep_pixels_mix)(x + i * W, near, far, W, t.w);
  }
}

static void apply_crop(ep_frame *f, ep_random *r, double lo, double hi) {
  const int H = f->shape.height, W = f->shape.width;
  const ep_crop c = ep_crop_draw(f->shape, lo, hi, r);
  for (int j = 0; j < W; j++) {
    const ep_tap t = place_tap(j, W, c.width);
    f->from[j] = t.near;
    f->u[j] = t.w;
  }
  for (int k = 0; k < f->shape.channels; k++) {
    const ptrdiff_t plane = (ptrdiff_t)k * H * W;
    stretch(f, f->x + plane, f->y + plane, c);
  }
}

/* ---- flips and noise */

static void exchange(double *a, double *b) {
  const double t = *a;
  *a = *b;
  *b = t;
}

/* x_j <- x_{W-1-j} in every line, with probability 1/2 */
static void apply_flip(ep_frame *f, ep_random *r, double a, double b) {
  (void)a, (void)b;
  if (ep_random_uniform(r) >= 0.5) return;
  const ptrdiff_t lines = (ptrdiff_t)f->shape.channels * f->shape.height, W = f->shape.width;
  for (ptrdiff_t i = 0; i < lines; i++)
    for (ptrdiff_t j = 0; j < W / 2; j++) exchange(f->x + i * W + j, f->x + i * W + W - 1 - j);
}

/* line i <- line H-1-i in every channel, with probability 1/2 */
static void apply_vflip(ep_frame *f, ep_random *r, double a, double b) {
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
static void apply_noise(ep_frame *f, ep_random *r, double S, double b) {
  const double *spread = f->chain->spread;
  (void)b;
  for (ptrdiff_t j = 0; j < f->cols; j++)
    f->x[j] += S * (spread ? spread[j] : 1) * ep_random_normal(r);
}

/* ---- tables and series */

/* each group of columns with probability P from a point of the sample, drawn anew for each: the columns' own
 * distributions, without what ties them (SCARF) */
static void apply_corrupt(ep_frame *f, ep_random *r, double P, double b) {
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

static double mean_of(const double *x, ptrdiff_t n) { return EP_PICK_DOUBLE(ep_pixels_mean)(x, n); }

/* round(P n) values from a place on that all places are equally likely to be become the mean of the row */
static void apply_mask(ep_frame *f, ep_random *r, double P, double b) {
  const ptrdiff_t length = (ptrdiff_t)rint(P * (double)f->cols);
  const ptrdiff_t first = (ptrdiff_t)ep_random_below(r, f->cols - length + 1);
  const double mean = mean_of(f->x, f->cols);
  (void)b;
  for (ptrdiff_t j = first; j < first + length; j++) f->x[j] = mean;
}

/* x += S sd(x) N(0, I), sd within the row */
static void jitter_series(ep_frame *f, ep_random *r, double S) {
  const double mean = mean_of(f->x, f->cols);
  double sum = 0;
  for (ptrdiff_t j = 0; j < f->cols; j++) sum += (f->x[j] - mean) * (f->x[j] - mean);
  const double sd = sqrt(sum / (double)f->cols);
  for (ptrdiff_t j = 0; j < f->cols; j++) f->x[j] += S * sd * ep_random_normal(r);
}

/* ---- shifts, rotations, elastic sheets */

/* where the pixels of line i come from: place (u_j, v_j) of the image, into f->u and f->v */
typedef void places_of_line(ep_frame *f, int i, const double *how);

/* the image with one dark line before and two behind it, both ways */
static void frame_image(double *edged, const double *x, ep_image_shape s) {
  const ptrdiff_t W = s.width, line = W + 3;
  for (ptrdiff_t c = 0; c < s.channels; c++, edged += 2 * line) {
    memset(edged, 0, (size_t)line * sizeof *edged);
    edged += line;
    for (ptrdiff_t i = 0; i < s.height; i++, edged += line, x += W) {
      edged[0] = edged[W + 1] = edged[W + 2] = 0;
      memcpy(edged + 1, x, (size_t)W * sizeof *x);
    }
    memset(edged, 0, (size_t)(2 * line) * sizeof *edged);
  }
}

/* every channel: y(i, j) = x(u, v), bilinear, dark outside */
static void warp(ep_frame *f, places_of_line *places, const double *how) {
  const int H = f->shape.height, W = f->shape.width;
  const ptrdiff_t line = (ptrdiff_t)W + 3;
  frame_image(f->edged, f->x, f->shape);
  for (int i = 0; i < H; i++) {
    places(f, i, how);
    EP_PICK_DOUBLE(ep_pixels_places)(f->from, f->u, f->v, W, H, W);
    for (ptrdiff_t c = 0; c < f->shape.channels; c++) EP_PICK_DOUBLE(ep_pixels_between)
    (f->x + (c * H + i) * W, f->edged + c * (H + 3) * line, f->from, f->u, f->v, W, line);
  }
}

/* (u, v) = R ((i, j) - c) + c + t, c the centre; how = cosine, sine, t */
static void turned(ep_frame *f, int i, const double *how) {
  const double ci = (f->shape.height - 1) / 2.0, cj = (f->shape.width - 1) / 2.0;
  const double u = how[0] * (i - ci) - how[1] * cj + ci + how[2];
  const double v = -how[1] * (i - ci) - how[0] * cj + cj + how[3];
  EP_PICK_DOUBLE(ep_pixels_line)(f->u, f->v, f->shape.width, u, how[1], v, how[0]);
}

/* by U(-S, S) pixels down and to the right */
static void apply_shift(ep_frame *f, ep_random *r, double S, double b) {
  (void)b;
  const double down = between(r, -S, S), right = between(r, -S, S);
  warp(f, turned, (const double[]){1, 0, down, right});
}

/* by U(-S, S) degrees about the centre */
static void apply_rotate(ep_frame *f, ep_random *r, double S, double b) {
  (void)b;
  const double angle = between(r, -S, S) * acos(-1) / 180;
  warp(f, turned, (const double[]){cos(angle), sin(angle), 0, 0});
}

/* The sheet that an image is drawn on is held at KNOTS x KNOTS places, from corner to corner. */
enum { KNOTS = 5 };

/* where pixel i of n lies between knots */
static ep_tap knot_of(int i, int n) {
  const double t = n > 1 ? (double)i * (KNOTS - 1) / (n - 1) : 0;
  const int near = t < KNOTS - 1 ? (int)t : KNOTS - 2;
  return (ep_tap){.near = near, .w = t - near};
}

/* (u, v) = (i, j) + how far the sheet was drawn there: bilinear between knots; how[KNOTS][KNOTS][2] */
static void drawn(ep_frame *f, int i, const double *how) {
  const ep_tap t = knot_of(i, f->shape.height);
  const double *above = how + (ptrdiff_t)2 * KNOTS * t.near, *below = above + 2 * KNOTS;
  double at[2 * KNOTS]; /* of this line */
  for (int k = 0; k < 2 * KNOTS; k++) at[k] = (1 - t.w) * above[k] + t.w * below[k];
  for (int j = 0; j < f->shape.width; j++) {
    const double q = f->taps[j].w, *knot = at + (ptrdiff_t)2 * f->taps[j].near;
    f->u[j] = i + (1 - q) * knot[0] + q * knot[2];
    f->v[j] = j + (1 - q) * knot[1] + q * knot[3];
  }
}

/* every knot by U(-S, S) pixels down and to the right, line by line */
static void apply_elastic(ep_frame *f, ep_random *r, double S, double b) {
  double moved[2 * KNOTS * KNOTS];
  (void)b;
  for (int k = 0; k < 2 * KNOTS * KNOTS; k++) moved[k] = between(r, -S, S);
  for (int j = 0; j < f->shape.width; j++) f->taps[j] = knot_of(j, f->shape.width);
  warp(f, drawn, moved);
}

/* ---- blur */

static int blur_radius(double S) { return (int)ceil(3 * S); }

/* Reflection about the edge pixels, d c b [a b c d] c b a, as torchvision pads; repeated as often
 * as a wide kernel needs. */
static int reflect(int i, int n) {
  if (i >= 0 && i < n) return i;
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

/* a line with R reflected pixels at either end */
static void reflect_line(double *line, const double *x, int n, int R) {
  memcpy(line + R, x, (size_t)n * sizeof *x);
  for (int k = 1; k <= R; k++) {
    line[R - k] = x[reflect(-k, n)];
    line[R + n - 1 + k] = x[reflect(n - 1 + k, n)];
  }
}

/* every channel: x = G_H x G_W' */
static void apply_blur(ep_frame *f, ep_random *r, double S, double b) {
  (void)r, (void)b;
  const int H = f->shape.height, W = f->shape.width, R = blur_radius(S);
  gaussian(f->kernel, R, S);
  for (int c = 0; c < f->shape.channels; c++) {
    double *x = f->x + (ptrdiff_t)c * H * W, *y = f->y + (ptrdiff_t)c * H * W;
    for (ptrdiff_t i = 0; i < H; i++) {
      reflect_line(f->line, x + i * W, W, R);
      EP_PICK_DOUBLE(ep_pixels_across)(y + i * W, f->line, W, f->kernel, R);
    }
    for (int i = 0; i < H; i++) {
      for (int k = -R; k <= R; k++) f->rows[k + R] = y + (ptrdiff_t)reflect(i + k, H) * W;
      EP_PICK_DOUBLE(ep_pixels_down)(x + (ptrdiff_t)i * W, f->rows, W, f->kernel, R);
    }
  }
}

/* ---- colours: pixels in [0, 1]; all that jitter does to a pixel is one matrix */

static double luma(const double rgb[3]) { return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]; }

/* x <- b x, then x <- m + c (x - m) with m the mean; b, c ~ U(1 - S, 1 + S) */
static void apply_light(ep_frame *f, ep_random *r, double S, double unused) {
  (void)unused;
  const double b = between(r, 1 - S, 1 + S), c = between(r, 1 - S, 1 + S);
  const double scale = b * c, offset = (1 - c) * b * mean_of(f->x, f->cols);
  EP_PICK_DOUBLE(ep_pixels_light)(f->x, f->cols, scale, offset);
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
static void apply_jitter(ep_frame *f, ep_random *r, double S, double unused) {
  (void)unused;
  if (ep_is_plain(f->shape)) {
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
  EP_PICK_DOUBLE(ep_pixels_turn)(x, y, z, n, M, offset);
}

/* every channel <- luma, with probability P */
static void apply_grey(ep_frame *f, ep_random *r, double P, double unused) {
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
static void apply_cutout(ep_frame *f, ep_random *r, double S, double unused) {
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
static void apply_pad(ep_frame *f, ep_random *r, double S, double unused) {
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
    {.name = "crop",
     .apply = apply_crop,
     .needs_image = true,
     .parameter = EP_SHARES,
     .a = 0.08,
     .b = 1,
     .max = 1,
     .help = "crop[:LO-HI], with 0 < LO <= HI <= 1 the share of the area that is kept"},
    {.name = "flip", .apply = apply_flip, .needs_image = true, .help = "flip, without a parameter"},
    {.name = "vflip",
     .apply = apply_vflip,
     .needs_image = true,
     .help = "vflip, without a parameter"},
    {.name = "noise",
     .apply = apply_noise,
     .parameter = EP_ONE_NUMBER,
     .a = 0.1,
     .max = 1e30,
     .help = "noise[:S], with 0 <= S <= 1e30 the standard deviation"},
    {.name = "corrupt",
     .apply = apply_corrupt,
     .needs_sample = true,
     .parameter = EP_ONE_NUMBER,
     .a = 0.3,
     .max = 1,
     .help =
         "corrupt[:P], with 0 <= P <= 1 the probability that a column is taken from another point"},
    {.name = "mask",
     .apply = apply_mask,
     .parameter = EP_ONE_NUMBER,
     .a = 0.25,
     .max = 1,
     .help = "mask[:P], with 0 <= P <= 1 the share of the row that becomes its mean"},
    {.name = "shift",
     .apply = apply_shift,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 2,
     .max = 1000,
     .help = "shift[:S], with 0 <= S <= 1000 the most pixels in each direction"},
    {.name = "rotate",
     .apply = apply_rotate,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 10,
     .max = 180,
     .help = "rotate[:S], with 0 <= S <= 180 the most degrees to either side"},
    {.name = "elastic",
     .apply = apply_elastic,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 2,
     .max = 1000,
     .help =
         "elastic[:S], with 0 <= S <= 1000 the most pixels that a part moves in each direction"},
    {.name = "blur",
     .apply = apply_blur,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 1,
     .max = 1000,
     .radius = blur_radius,
     .help = "blur[:S], with 0 <= S <= 1000 the standard deviation in pixels"},
    {.name = "light",
     .apply = apply_light,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 0.4,
     .max = 1,
     .help = "light[:S], with 0 <= S <= 1 how far brightness and contrast go from 1"},
    {.name = "jitter",
     .apply = apply_jitter,
     .colour = true,
     .parameter = EP_ONE_NUMBER,
     .a = 0.5,
     .plain = 0.1,
     .max = 1,
     .help = "jitter[:S], with 0 <= S <= 1 its strength",
     .instead = "; use light"},
    {.name = "grey",
     .apply = apply_grey,
     .needs_image = true,
     .colour = true,
     .parameter = EP_ONE_NUMBER,
     .a = 0.2,
     .max = 1,
     .help = "grey[:P], with 0 <= P <= 1 how often",
     .instead = ""},
    {.name = "cutout",
     .apply = apply_cutout,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 8,
     .max = 1000,
     .help = "cutout[:S], with 0 <= S <= 1000 the side of the square in pixels"},
    {.name = "pad",
     .apply = apply_pad,
     .needs_image = true,
     .parameter = EP_ONE_NUMBER,
     .a = 4,
     .max = 1000,
     .help = "pad[:S], with 0 <= S <= 1000 the pixels on every side"},
};

const ep_augmentation *ep_augmentation_row(int i) {
  return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}
