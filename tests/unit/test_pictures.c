/* PNG and JPEG pictures: read, refused, fitted. */
#include "check.h"
#include "core/mem.h"
#include "data/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { H = 23, W = 17 };

/* smooth, every channel its own */
static unsigned char pixel(int i, int j, int c) {
  return (unsigned char)(20 + 6 * i + 3 * j + 10 * c);
}

static void fill(unsigned char *p, int channels) {
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      for (int c = 0; c < channels; c++) *p++ = pixel(i, j, c);
}

static void write_png(unsigned char out[8192], size_t *size, int channels) {
  unsigned char raw[H * W * 3];
  png_image image = {.version = PNG_IMAGE_VERSION, .width = W, .height = H};
  fill(raw, channels);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  *size = 8192;
  assert_true(png_image_write_to_memory(&image, out, size, 0, raw, 0, NULL));
}

static void write_jpeg(unsigned char **out, size_t *size, int channels) {
  unsigned char raw[H * W * 3];
  unsigned long length = 0;
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors;
  fill(raw, channels);
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, out, &length);
  info.image_width = W, info.image_height = H, info.input_components = channels;
  info.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int i = 0; i < H; i++) {
    JSAMPROW row = raw + i * W * channels;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  *size = length;
}

static void check_pixels(const ep_array *a, int channels, int off) {
  assert_int_equal(a->ndim, 3);
  assert_int_equal(a->shape[0], H);
  assert_int_equal(a->shape[1], W);
  assert_int_equal(a->shape[2], channels);
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      for (int c = 0; c < channels; c++)
        assert_true(abs(a->data[(i * W + j) * channels + c] - pixel(i, j, c)) <= off);
}

/* every beginning of the file that lacks more than its last `tail` bytes, which are not of pixels, is refused; nothing
 * leaks */
static void check_refused(const unsigned char *bytes, size_t size, size_t tail) {
  ep_array a;
  for (size_t n = 0; n < size; n += n < 200 ? 1 : 17) {
    unsigned char *exact = malloc(n ? n : 1); /* a byte too far is seen by the sanitizer */
    memcpy(exact, bytes, n);
    if (size - n > tail) CHECK_STATUS(ep_parse_picture(&a, exact, n, "cut"), EP_ERR_INPUT);
    free(exact);
  }
  assert_int_equal(ep_mem_current(), 0);
}

static void pictures(void **state) {
  (void)state;
  for (int channels = 1; channels <= 3; channels += 2) {
    unsigned char png[8192], *jpeg = NULL;
    size_t size;
    ep_array a;
    write_png(png, &size, channels);
    CHECK_OK(ep_parse_picture(&a, png, size, "x.png"));
    check_pixels(&a, channels, 0);
    ep_array_free(&a);
    check_refused(png, size, 24);
    write_jpeg(&jpeg, &size, channels);
    CHECK_OK(ep_parse_picture(&a, jpeg, size, "x.jpg"));
    check_pixels(&a, channels, 6);
    ep_array_free(&a);
    check_refused(jpeg, size, 2);
    free(jpeg);
  }
  ep_array a;
  CHECK_STATUS(ep_parse_picture(&a, (const unsigned char *)"hello", 5, "x"), EP_ERR_INPUT);
  /* a header alone that claims 60,000 x 60,000 pixels: refused before memory is asked for */
  unsigned char huge[8192];
  size_t size;
  write_png(huge, &size, 1);
  memcpy(huge + 16, "\0\0\xea\x60\0\0\xea\x60", 8);
  CHECK_STATUS(ep_parse_picture(&a, huge, size, "x"), EP_ERR_INPUT);
}

/* the definition: weights of a triangle about the place of an output pixel in the source, in two dimensions at once */
static double resampled(const ep_array *p, ep_image_shape to, int i, int j, int c) {
  const double h = (double)p->shape[0], w = (double)p->shape[1];
  const double step = fmin(h / to.height, w / to.width), reach = fmax(step, 1);
  const double y = (h - step * to.height) / 2 + (i + 0.5) * step - 0.5,
               x = (w - step * to.width) / 2 + (j + 0.5) * step - 0.5;
  double sum = 0, weight = 0;
  for (int a = 0; a < p->shape[0]; a++)
    for (int b = 0; b < p->shape[1]; b++) {
      const double u = fmax(0, 1 - fabs(a - y) / reach) * fmax(0, 1 - fabs(b - x) / reach);
      const unsigned char *q = p->data + (a * p->shape[1] + b) * p->shape[2];
      const double v = p->shape[2] == 1   ? q[0]
                       : to.channels == 3 ? q[c]
                                          : 0.299 * q[0] + 0.587 * q[1] + 0.114 * q[2];
      sum += u * v, weight += u;
    }
  return sum / weight;
}

static void fitting(void **state) {
  (void)state;
  static const ep_image_shape shapes[] = {{3, 23, 17}, {3, 8, 8},  {1, 8, 8}, {3, 40, 31},
                                          {1, 5, 30},  {3, 23, 2}, {1, 1, 1}, {3, 64, 64}};
  for (int channels = 1; channels <= 3; channels += 2)
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
      unsigned char raw[H * W * 3], out[3 * 64 * 64];
      const ep_image_shape to = shapes[k];
      ep_array a = {.dtype = EP_U8, .ndim = 3, .shape = {H, W, channels}, .data = raw};
      fill(raw, channels);
      for (int i = 0; i < H * W * channels; i += 3) raw[i] = (unsigned char)(7 * i); /* rough */
      CHECK_OK(ep_picture_fit(out, &a, to));
      for (int c = 0; c < to.channels; c++)
        for (int i = 0; i < to.height; i++)
          for (int j = 0; j < to.width; j++)
            CHECK_NEAR(out[(c * to.height + i) * to.width + j], resampled(&a, to, i, j, c), 0.501);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pictures), cmocka_unit_test(fitting)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
