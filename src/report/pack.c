#include "report/pack.h"

#include "core/crew.h"
#include "core/mem.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* ---- base64 */

static ep_status base64(json_t **out, const unsigned char *data, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t length = (size + 2) / 3 * 4;
  char *text = ep_alloc((ptrdiff_t)length + 1, 1), *t = text;
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for %zu bytes of a page", length);
  for (size_t i = 0; i < size; i += 3) {
    const unsigned b = (unsigned)data[i] << 16 | (i + 1 < size ? (unsigned)data[i + 1] << 8 : 0) |
                       (i + 2 < size ? data[i + 2] : 0);
    *t++ = digits[b >> 18];
    *t++ = digits[b >> 12 & 63];
    *t++ = i + 1 < size ? digits[b >> 6 & 63] : '=';
    *t++ = i + 2 < size ? digits[b & 63] : '=';
  }
  *out = json_stringn_nocheck(text, length);
  ep_release(text);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for %zu bytes of a page", length);
  return EP_OK;
}

static ep_status deflated(unsigned char **out, size_t *size, const unsigned char *data, size_t n) {
  uLongf length = compressBound((uLong)n);
  *out = ep_alloc((ptrdiff_t)length, 1);
  EP_CHECK(*out && compress2(*out, &length, data, (uLong)n, 6) == Z_OK, EP_ERR_NOMEM,
           "no memory to deflate %zu bytes", n);
  *size = length;
  return EP_OK;
}

/* ---- arrays */

static ep_status make_room(ep_pack *p, size_t more) {
  if (p->size + more <= p->room) return EP_OK;
  const size_t room = 2 * p->room > p->size + more ? 2 * p->room : p->size + more;
  unsigned char *data = ep_alloc((ptrdiff_t)room, 1);
  EP_CHECK(data, EP_ERR_NOMEM, "no memory for %zu bytes of a page", room);
  if (p->size) memcpy(data, p->data, p->size);
  ep_release(p->data);
  p->data = data, p->room = room;
  return EP_OK;
}

ep_status ep_pack_add(ep_pack *p, const char *name, ep_pack_type type, const void *values,
                      ptrdiff_t count) {
  static const char *const names[] = {"u16", "u32", "f32"};
  static const size_t sizes[] = {2, 4, 4};
  const size_t bytes = (size_t)count * sizes[type], whole = (bytes + 3) / 4 * 4;
  if (!p->arrays) p->arrays = json_object();
  EP_TRY(make_room(p, whole));
  json_t *entry = json_pack("{s:s,s:I,s:I}", "type", names[type], "at", (json_int_t)p->size,
                            "count", (json_int_t)count);
  EP_CHECK(json_object_set_new(p->arrays, name, entry) == 0, EP_ERR_NOMEM, "no memory for a page");
  memcpy(p->data + p->size, values, bytes);
  p->size += whole;
  return EP_OK;
}

ep_status ep_pack_json(json_t **out, const ep_pack *p) {
  unsigned char *small = NULL;
  size_t size = 0;
  json_t *text = NULL;
  ep_status st = deflated(&small, &size, p->data, p->size);
  if (!st) st = base64(&text, small, size);
  ep_release(small);
  if (st) return st;
  *out = json_pack("{s:O,s:o}", "arrays", p->arrays, "bytes", text);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a page");
  return EP_OK;
}

void ep_pack_free(ep_pack *p) {
  ep_release(p->data);
  json_decref(p->arrays);
  *p = (ep_pack){0};
}

/* ---- PNG */

static void put32(unsigned char *to, size_t x) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(x >> (24 - 8 * i));
}

static unsigned char *put_chunk(unsigned char *to, const char *name, const unsigned char *data,
                                size_t size) {
  put32(to, size);
  memcpy(to + 4, name, 4);
  if (size) memcpy(to + 8, data, size);
  put32(to + 8 + size, crc32(0, to + 4, (uInt)(size + 4)));
  return to + size + 12;
}

/* raw: every line a zero (no filter) and its bytes */
static ep_status png(json_t **out, const unsigned char *raw, ptrdiff_t width, ptrdiff_t height,
                     int channels) {
  static const unsigned char sign[] = {137, 'P', 'N', 'G', '\r', '\n', 26, '\n'};
  unsigned char *small = NULL, *file = NULL, *end, head[13] = {0};
  size_t size = 0;
  ep_status st = deflated(&small, &size, raw, (size_t)(height * (width * channels + 1)));
  if (!st && !(file = ep_alloc((ptrdiff_t)size + 100, 1)))
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for pictures");
  if (!st) {
    put32(head, (size_t)width);
    put32(head + 4, (size_t)height);
    head[8] = 8;                     /* bits */
    head[9] = channels == 3 ? 2 : 0; /* colours, or grey */
    memcpy(file, sign, sizeof sign);
    end = put_chunk(file + sizeof sign, "IHDR", head, sizeof head);
    end = put_chunk(end, "IDAT", small, size);
    end = put_chunk(end, "IEND", NULL, 0);
    st = base64(out, file, (size_t)(end - file));
  }
  ep_release(small);
  ep_release(file);
  return st;
}

/* ---- pictures */

typedef struct {
  ep_image_shape from;
  ptrdiff_t width, height, columns, rows; /* of one picture; pictures of the sheet */
  int channels;
  double low, factor; /* byte = (x - low) * factor */
} sheet;

static sheet sheet_of(const ep_mat *X, ep_image_shape from) {
  enum { SIDE = 64, PIXELS = 1 << 24 };
  sheet s = {.from = from, .channels = from.channels >= 3 ? 3 : 1, .low = INFINITY};
  const double n = (double)X->rows, w = from.width, h = from.height;
  const double scale = fmin(1, fmin(SIDE / fmax(w, h), sqrt(PIXELS / (n * w * h))));
  s.width = (ptrdiff_t)fmax(1, floor(w * scale));
  s.height = (ptrdiff_t)fmax(1, floor(h * scale));
  s.columns = (ptrdiff_t)ceil(sqrt(n * (double)s.height / (double)s.width));
  s.rows = (X->rows + s.columns - 1) / s.columns;
  double high = -INFINITY;
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t j = 0; j < X->cols; j++) {
      const double x = ep_get(X, i, j);
      s.low = x < s.low ? x : s.low;
      high = x > high ? x : high;
    }
  if (s.low >= 0 && high <= 1) s.low = 0, high = 1;
  s.factor = high > s.low ? 255 / (high - s.low) : 0;
  return s;
}

/* mean of the pixels of channel c that fall on pixel (y, x) of the small picture */
static double mean_pixel(const sheet *s, const ep_mat *X, ptrdiff_t i, int c, ptrdiff_t y,
                         ptrdiff_t x) {
  const ptrdiff_t w = s->from.width, h = s->from.height;
  const ptrdiff_t y0 = y * h / s->height, y1 = (y + 1) * h / s->height;
  const ptrdiff_t x0 = x * w / s->width, x1 = (x + 1) * w / s->width;
  double sum = 0;
  for (ptrdiff_t a = y0; a < y1; a++)
    for (ptrdiff_t b = x0; b < x1; b++) sum += ep_get(X, i, (c * h + a) * w + b);
  return sum / (double)((y1 - y0) * (x1 - x0));
}

static void put_picture(unsigned char *raw, const sheet *s, const ep_mat *X, ptrdiff_t i) {
  const ptrdiff_t line = s->columns * s->width * s->channels + 1;
  for (ptrdiff_t y = 0; y < s->height; y++) {
    unsigned char *to =
        raw + (i / s->columns * s->height + y) * line + 1 + i % s->columns * s->width * s->channels;
    for (ptrdiff_t x = 0; x < s->width; x++)
      for (int c = 0; c < s->channels; c++)
        *to++ = (unsigned char)lrint((mean_pixel(s, X, i, c, y, x) - s->low) * s->factor);
  }
}

typedef struct {
  unsigned char *raw;
  const sheet *s;
  const ep_mat *X;
} pictures_loop;

static void put_pictures(void *of, ptrdiff_t first, ptrdiff_t end) {
  const pictures_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) put_picture(l->raw, l->s, l->X, i);
}

ep_status ep_pack_pictures(json_t **out, const ep_mat *X, ep_image_shape shape) {
  const sheet s = sheet_of(X, shape);
  const ptrdiff_t width = s.columns * s.width, height = s.rows * s.height;
  unsigned char *raw = ep_alloc(height, (size_t)(width * s.channels + 1));
  json_t *text = NULL;
  EP_CHECK(raw, EP_ERR_NOMEM, "no memory for a sheet of %td x %td pixels", width, height);
  ep_crew_loop(X->rows, 16, true, put_pictures, &(pictures_loop){raw, &s, X});
  const ep_status st = png(&text, raw, width, height, s.channels);
  ep_release(raw);
  if (st) return st;
  *out = json_pack("{s:o,s:I,s:I,s:I}", "png", text, "columns", (json_int_t)s.columns, "width",
                   (json_int_t)s.width, "height", (json_int_t)s.height);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for pictures");
  return EP_OK;
}
