/* One picture, PNG or JPEG, as 8-bit grey or RGB; and fitted into an image of another size. The only door to libpng and
 * libjpeg. */
#include "core/mem.h"
#include "data/parse.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { MOST_SIDE = 65535 };
static const double most_pixels = 1 << 26; /* a small file may claim to be a huge picture */

bool ep_picture_magic(const unsigned char *bytes, size_t size) {
  return (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) ||
         (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0);
}

/* room for (H, W, C) bytes */
static ep_status make_room(ep_array *a, double height, double width, int channels,
                           const char *name) {
  EP_CHECK(height >= 1 && width >= 1 && height <= MOST_SIDE && width <= MOST_SIDE &&
               height * width <= most_pixels,
           EP_ERR_INPUT, "%s: a picture of %.0f x %.0f pixels is not read", name, height, width);
  *a = (ep_array){.dtype = EP_U8, .ndim = 3};
  a->shape[0] = (ptrdiff_t)height, a->shape[1] = (ptrdiff_t)width, a->shape[2] = channels;
  a->data = a->owner = ep_alloc(a->shape[0] * a->shape[1], (size_t)channels);
  EP_CHECK(a->owner, EP_ERR_NOMEM, "%s: no memory for a picture", name);
  return EP_OK;
}

/* ---- PNG */

static ep_status read_png(ep_array *a, png_image *image, const unsigned char *bytes, size_t size,
                          const char *name) {
  static const png_color white = {255, 255, 255}; /* what lets light through stands before white */
  EP_CHECK(png_image_begin_read_from_memory(image, bytes, size), EP_ERR_INPUT, "%s: %s", name,
           image->message);
  const bool colour = image->format & PNG_FORMAT_FLAG_COLOR;
  EP_TRY(make_room(a, image->height, image->width, colour ? 3 : 1, name));
  image->format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  EP_CHECK(png_image_finish_read(image, &white, a->owner, 0, NULL), EP_ERR_INPUT, "%s: %s", name,
           image->message);
  EP_CHECK(!PNG_IMAGE_FAILED(*image) && !image->warning_or_error, EP_ERR_INPUT, "%s: %s", name,
           image->message);
  return EP_OK;
}

static ep_status parse_png(ep_array *a, const unsigned char *bytes, size_t size, const char *name) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  const ep_status st = read_png(a, &image, bytes, size, name);
  png_image_free(&image);
  return st;
}

/* ---- JPEG */

typedef struct {
  struct jpeg_error_mgr head;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
} jpeg_trouble;

static void jpeg_fails(j_common_ptr info) {
  jpeg_trouble *t = (void *)info->err;
  t->head.format_message(info, t->message);
  longjmp(t->back, 1);
}

/* bytes that are missing or spoilt are filled in with grey and warned of: such a picture is refused */
static void jpeg_tells(j_common_ptr info, int level) {
  if (level < 0) jpeg_fails(info);
}

/* nothing in here is allocated but by libjpeg and make_room, both of which the caller sets free */
static ep_status read_jpeg(ep_array *a, struct jpeg_decompress_struct *info, jpeg_trouble *trouble,
                           const unsigned char *bytes, size_t size, const char *name) {
  if (setjmp(trouble->back)) return EP_FAIL(EP_ERR_INPUT, "%s: %s", name, trouble->message);
  jpeg_create_decompress(info);
  jpeg_mem_src(info, bytes, (unsigned long)size);
  jpeg_read_header(info, TRUE);
  info->out_color_space = info->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  const int channels = info->num_components == 1 ? 1 : 3;
  EP_TRY(make_room(a, info->image_height, info->image_width, channels, name));
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    JSAMPROW row =
        (unsigned char *)a->owner + (ptrdiff_t)info->output_scanline * a->shape[1] * channels;
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
  return EP_OK;
}

static ep_status parse_jpeg(ep_array *a, const unsigned char *bytes, size_t size,
                            const char *name) {
  struct jpeg_decompress_struct info = {0};
  jpeg_trouble trouble;
  info.err = jpeg_std_error(&trouble.head);
  trouble.head.error_exit = jpeg_fails;
  trouble.head.emit_message = jpeg_tells;
  const ep_status st = read_jpeg(a, &info, &trouble, bytes, size, name);
  jpeg_destroy_decompress(&info);
  return st;
}

ep_status ep_parse_picture(ep_array *a, const unsigned char *bytes, size_t size, const char *name) {
  *a = (ep_array){.owner = NULL};
  EP_CHECK(ep_picture_magic(bytes, size), EP_ERR_INPUT, "%s: is neither PNG nor JPEG", name);
  const ep_status st =
      bytes[0] == 0x89 ? parse_png(a, bytes, size, name) : parse_jpeg(a, bytes, size, name);
  if (st) ep_array_free(a);
  return st;
}

/* ---- fitting: the largest central box of the asked shape, resampled by a triangle as wide as one pixel of the coarser of
 * the two grids */

/* of one output pixel: weights of the source's from `first` on */
typedef struct {
  ptrdiff_t first, count;
} span;

static span span_of(float *w, ptrdiff_t i, ptrdiff_t out, ptrdiff_t in, double step) {
  const double centre = ((double)in - step * (double)out) / 2 + ((double)i + 0.5) * step - 0.5;
  const double reach = step > 1 ? step : 1;
  const ptrdiff_t lo = (ptrdiff_t)fmax(0, ceil(centre - reach)),
                  hi = (ptrdiff_t)fmin((double)in - 1, floor(centre + reach));
  double sum = 0;
  for (ptrdiff_t k = lo; k <= hi; k++)
    sum += w[k - lo] = (float)fmax(0, 1 - fabs((double)k - centre) / reach);
  for (ptrdiff_t k = lo; k <= hi; k++) w[k - lo] /= (float)sum;
  return (span){lo, hi - lo + 1};
}

/* one value of a pixel in the channels asked for; grey is 0.299 R + 0.587 G + 0.114 B */
static float value(const unsigned char *pixel, ptrdiff_t have, int want, int c) {
  if (have == 1) return pixel[0];
  if (want == 3) return pixel[c];
  return 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
}

static void widen(float *rows, const ep_array *picture, ep_image_shape to, double step, float *w) {
  const ptrdiff_t h = picture->shape[0], width = picture->shape[1], have = picture->shape[2];
  for (ptrdiff_t j = 0; j < to.width; j++) {
    const span s = span_of(w, j, to.width, width, step);
    for (ptrdiff_t i = 0; i < h; i++)
      for (int c = 0; c < to.channels; c++) {
        const unsigned char *in = picture->data + (i * width + s.first) * have;
        float sum = 0;
        for (ptrdiff_t k = 0; k < s.count; k++)
          sum += w[k] * value(in + k * have, have, to.channels, c);
        rows[(c * h + i) * to.width + j] = sum;
      }
  }
}

static void heighten(unsigned char *out, const float *rows, ptrdiff_t h, ep_image_shape to,
                     double step, float *w) {
  for (ptrdiff_t i = 0; i < to.height; i++) {
    const span s = span_of(w, i, to.height, h, step);
    for (ptrdiff_t c = 0; c < to.channels; c++)
      for (ptrdiff_t j = 0; j < to.width; j++) {
        const float *in = rows + (c * h + s.first) * to.width + j;
        float sum = 0;
        for (ptrdiff_t k = 0; k < s.count; k++) sum += w[k] * in[k * to.width];
        out[(c * to.height + i) * to.width + j] = (unsigned char)lrintf(fminf(fmaxf(sum, 0), 255));
      }
  }
}

ep_status ep_picture_fit(unsigned char *out, const ep_array *picture, ep_image_shape to) {
  const ptrdiff_t h = picture->shape[0], w = picture->shape[1];
  const double step = fmin((double)h / to.height, (double)w / to.width);
  ep_work work = {0};
  float *rows, *weights;
  ep_status st = ep_work_get(&work, &rows, h * to.width * to.channels, sizeof *rows);
  if (!st) st = ep_work_get(&work, &weights, (h > w ? h : w) + 2, sizeof *weights);
  if (!st) {
    widen(rows, picture, to, step, weights);
    heighten(out, rows, h, to, step, weights);
  }
  ep_work_free(&work);
  return st;
}
