/* .npz: where a stored member lies in its file. Nothing is believed: the directory is held against what libzip read, the
 * member's own header against the directory, both against the file, and the bytes against their checksum. */
#include "core/mem.h"
#include "data/npz_place.h"

#include <eigenpair/run.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

typedef struct {
  int file;
  uint64_t size;
} source;

/* what a header says of a member */
typedef struct {
  uint64_t flags, method, crc, packed, size, place, names, extra;
} said;

enum { CIPHERED = 1, SIZES_BEHIND = 8, STORED = 0, ALL_ONES_16 = 0xffff };
#define ALL_ONES 0xffffffffu /* in the place of a number of 32 bits that needs 64 */

static uint64_t little(const unsigned char *p, int bytes) {
  uint64_t x = 0;
  for (int i = bytes; i > 0; i--) x = x << 8 | p[i - 1];
  return x;
}

static bool get(unsigned char *to, const source *s, uint64_t at, size_t bytes) {
  if (at > s->size || bytes > s->size - at) return false;
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pread(s->file, to + done, bytes - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* ---- the directory */

/* The end of the directory: the last that fits, with a comment or none behind it. */
static bool find_end(uint64_t *at, const source *s) {
  enum { END = 22, COMMENT = 0xffff };
  unsigned char end[END];
  for (uint64_t comment = 0; comment <= COMMENT && comment + END <= s->size; comment++) {
    *at = s->size - END - comment;
    if (!get(end, s, *at, 4)) return false;
    if (memcmp(end, "PK\5\6", 4) == 0 && get(end, s, *at, END) && little(end + 20, 2) == comment)
      return true;
  }
  return false;
}

static bool find_directory(uint64_t *at, uint64_t *count, const source *s) {
  unsigned char end[22], locator[20], large[56];
  uint64_t where;
  if (!find_end(&where, s) || !get(end, s, where, sizeof end)) return false;
  *count = little(end + 10, 2);
  *at = little(end + 16, 4);
  if (*count != ALL_ONES_16 && *at != ALL_ONES) return true;
  if (where < sizeof locator || !get(locator, s, where - sizeof locator, sizeof locator) ||
      memcmp(locator, "PK\6\7", 4) != 0 || !get(large, s, little(locator + 8, 8), sizeof large) ||
      memcmp(large, "PK\6\6", 4) != 0)
    return false;
  *count = little(large + 32, 8);
  *at = little(large + 48, 8);
  return true;
}

/* Numbers that are all ones stand in an extra field, those alone, in this order. */
static bool widen(uint64_t *const value[], int count, const source *s, uint64_t at,
                  uint64_t length) {
  unsigned char head[4], wide[24];
  size_t wanted = 0;
  for (int i = 0; i < count; i++) wanted += *value[i] == ALL_ONES ? 8 : 0;
  for (const uint64_t end = at + length; wanted && at + 4 <= end;) {
    if (!get(head, s, at, 4)) return false;
    const uint64_t n = little(head + 2, 2);
    if (little(head, 2) == 1) {
      if (n < wanted || at + 4 + n > end || !get(wide, s, at + 4, wanted)) return false;
      const unsigned char *next = wide;
      for (int i = 0; i < count; i++)
        if (*value[i] == ALL_ONES) *value[i] = little(next, 8), next += 8;
      return true;
    }
    at += 4 + n;
  }
  return wanted == 0;
}

static bool read_entry(said *e, const source *s, uint64_t index) {
  unsigned char h[46];
  uint64_t at, count;
  if (!find_directory(&at, &count, s) || index >= count) return false;
  for (uint64_t i = 0; i <= index; i++) {
    if (!get(h, s, at, sizeof h) || memcmp(h, "PK\1\2", 4) != 0) return false;
    *e = (said){little(h + 8, 2),  little(h + 10, 2), little(h + 16, 4), little(h + 20, 4),
                little(h + 24, 4), little(h + 42, 4), little(h + 28, 2), little(h + 30, 2)};
    if (i < index) at += sizeof h + e->names + e->extra + little(h + 32, 2);
  }
  uint64_t *const numbers[] = {&e->size, &e->packed, &e->place};
  return widen(numbers, 3, s, at + sizeof h + e->names, e->extra);
}

/* ---- the member */

/* Its own header says the same, and all its bytes are in the file. */
static bool read_header(uint64_t *offset, const source *s, const said *e) {
  unsigned char h[30];
  if (!get(h, s, e->place, sizeof h) || memcmp(h, "PK\3\4", 4) != 0) return false;
  said own = {little(h + 6, 2),  little(h + 8, 2), little(h + 14, 4), little(h + 18, 4),
              little(h + 22, 4), e->place,         little(h + 26, 2), little(h + 28, 2)};
  uint64_t *const numbers[] = {&own.size, &own.packed};
  const uint64_t extra = e->place + sizeof h + own.names;
  if (own.method != e->method || own.names != e->names || (own.flags & CIPHERED)) return false;
  if (!(own.flags & SIZES_BEHIND) &&
      (!widen(numbers, 2, s, extra, own.extra) || own.size != e->size || own.packed != e->size ||
       own.crc != e->crc))
    return false;
  *offset = extra + own.extra;
  return *offset <= s->size && e->size <= s->size - *offset;
}

static ep_status check_bytes(const source *s, const said *e, uint64_t offset, unsigned char *chunk,
                             size_t room, const char *name) {
  uLong crc = crc32(0, NULL, 0);
  for (uint64_t done = 0; done < e->size;) {
    const size_t n = e->size - done < room ? (size_t)(e->size - done) : room;
    EP_CHECK(get(chunk, s, offset + done, n), EP_ERR_IO, "%s: cannot be read: %s", name,
             errno ? strerror(errno) : "the file was cut short");
    crc = crc32(crc, chunk, (uInt)n);
    done += n;
    if (done < e->size) EP_TRY(ep_run_step("reading", (double)done, (double)e->size));
  }
  EP_CHECK(crc == e->crc, EP_ERR_INPUT, "%s: is damaged; save it again", name);
  return EP_OK;
}

ep_status ep_npz_find(uint64_t *offset, bool *stored, int file, uint64_t all, uint64_t index,
                      uint64_t size, const char *name) {
  enum { CHUNK = 1 << 18 };
  const source s = {file, all};
  said e;
  *stored = false;
  if (!read_entry(&e, &s, index) || e.method != STORED || (e.flags & CIPHERED)) return EP_OK;
  EP_CHECK(e.size == size && e.packed == size && read_header(offset, &s, &e), EP_ERR_INPUT,
           "%s: its header is damaged; save it again", name);
  unsigned char *chunk = ep_alloc(CHUNK, 1);
  EP_CHECK(chunk, EP_ERR_NOMEM, "%s: no memory to open it", name);
  errno = 0;
  const ep_status st = check_bytes(&s, &e, *offset, chunk, CHUNK, name);
  ep_release(chunk);
  *stored = !st;
  return st;
}
