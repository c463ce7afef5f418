#include "core/file.h"

#include "core/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static ep_status read_stream(unsigned char *data, size_t size, FILE *in, const char *path) {
  EP_CHECK(fread(data, 1, size, in) == size, EP_ERR_INPUT, "%s: cannot be read: %s", path,
           ferror(in) ? strerror(errno) : "it became shorter");
  return EP_OK;
}

static ep_status read_raw(unsigned char **data, size_t *size, const char *path, FILE *in) {
  struct stat info;
  EP_CHECK(fstat(fileno(in), &info) == 0, EP_ERR_INPUT, "%s: %s", path, strerror(errno));
  EP_CHECK(S_ISREG(info.st_mode), EP_ERR_INPUT, "%s: not a regular file", path);
  *size = (size_t)info.st_size;
  *data = ep_alloc((ptrdiff_t)*size + 1, 1);
  EP_CHECK(*data, EP_ERR_NOMEM, "%s: no memory for its %zu bytes", path, *size);
  const ep_status st = read_stream(*data, *size, in, path);
  if (st) ep_release(*data), *data = NULL;
  return st;
}

/* Unpacks into `out`, growing it; gzip members may follow one another. */
static ep_status inflate_all(unsigned char **out, size_t *out_size, z_stream *z, const char *name) {
  size_t room = 0, used = 0;
  for (int end = Z_OK;;) {
    if (room - used < 65536) {
      const size_t more = room ? room * 2 : 1 << 20;
      unsigned char *bigger = ep_alloc((ptrdiff_t)more + 1, 1);
      EP_CHECK(bigger, EP_ERR_NOMEM, "%s: no memory to unpack it", name);
      if (used) memcpy(bigger, *out, used);
      ep_release(*out);
      *out = bigger;
      room = more;
    }
    if (end == Z_STREAM_END) {
      if (z->avail_in == 0) break;
      EP_CHECK(inflateReset(z) == Z_OK, EP_ERR_INPUT, "%s: gzip data is damaged", name);
    }
    const size_t chunk = room - used < INT_MAX ? room - used : INT_MAX;
    z->next_out = *out + used;
    z->avail_out = (unsigned)chunk;
    end = inflate(z, Z_NO_FLUSH);
    used += chunk - z->avail_out;
    EP_CHECK(end == Z_OK || end == Z_STREAM_END, EP_ERR_INPUT, "%s: gzip data is %s", name,
             end == Z_BUF_ERROR ? "cut short" : "damaged");
    EP_CHECK(end == Z_STREAM_END || z->avail_in > 0 || z->avail_out == 0, EP_ERR_INPUT,
             "%s: gzip data is cut short", name);
  }
  *out_size = used;
  (*out)[used] = 0;
  return EP_OK;
}

ep_status ep_gunzip(unsigned char **out, size_t *out_size, const unsigned char *data, size_t size,
                    const char *name) {
  z_stream z = {0};
  *out = NULL;
  EP_CHECK(size <= UINT_MAX, EP_ERR_INPUT, "%s: packed files above 4 GiB are not read", name);
  EP_CHECK(inflateInit2(&z, 16 + MAX_WBITS) == Z_OK, EP_ERR_NOMEM, "no memory for zlib");
  z.next_in = (unsigned char *)(uintptr_t)data;
  z.avail_in = (unsigned)size;
  const ep_status st = inflate_all(out, out_size, &z, name);
  inflateEnd(&z);
  if (st) ep_release(*out), *out = NULL;
  return st;
}

ep_status ep_file_read(unsigned char **data, size_t *size, const char *path) {
  *data = NULL;
  FILE *in = fopen(path, "rb");
  EP_CHECK(in, EP_ERR_INPUT, "%s: %s", path, strerror(errno));
  ep_status st = read_raw(data, size, path, in);
  fclose(in);
  if (st || *size < 2 || (*data)[0] != 0x1f || (*data)[1] != 0x8b) return st;
  unsigned char *packed = *data;
  st = ep_gunzip(data, size, packed, *size, path);
  ep_release(packed);
  return st;
}

ep_status ep_file_open_path(ep_file *f, const char *path) {
  *f = (ep_file){.stream = NULL};
  EP_CHECK(*path, EP_ERR_ARG, "the name of an output file is empty");
  EP_CHECK(strlen(path) < sizeof f->path, EP_ERR_ARG, "path is too long: %.80s...", path);
  strcpy(f->path, path);
  snprintf(f->temporary, sizeof f->temporary, "%s.%ld.tmp", path, (long)getpid());
  return EP_OK;
}

ep_status ep_file_open(ep_file *f, const char *path) {
  EP_TRY(ep_file_open_path(f, path));
  f->stream = fopen(f->temporary, "wb");
  EP_CHECK(f->stream, EP_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
  return EP_OK;
}

static ep_status sync_and_rename(ep_file *f) {
  if (f->stream) {
    const int bad = ferror(f->stream) | fflush(f->stream);
    const int lost = fclose(f->stream);
    f->stream = NULL;
    EP_CHECK(!bad && !lost, EP_ERR_IO, "%s: cannot be written: %s", f->path, strerror(errno));
  }
  const int fd = open(f->temporary, O_RDONLY);
  const int bad = fd < 0 || fsync(fd) != 0;
  if (fd >= 0) close(fd);
  EP_CHECK(!bad, EP_ERR_IO, "%s: cannot be written: %s", f->path, strerror(errno));
  EP_CHECK(rename(f->temporary, f->path) == 0, EP_ERR_IO, "%s: cannot be written: %s", f->path,
           strerror(errno));
  f->temporary[0] = '\0';
  return EP_OK;
}

ep_status ep_file_commit(ep_file *f) {
  const ep_status st = sync_and_rename(f);
  ep_file_discard(f);
  return st;
}

void ep_file_discard(ep_file *f) {
  if (f->stream) fclose(f->stream);
  f->stream = NULL;
  if (f->temporary[0]) unlink(f->temporary);
  f->temporary[0] = '\0';
}

ep_status ep_file_check_writable(const char *path) {
  ep_file f;
  struct stat info;
  EP_CHECK(stat(path, &info) != 0 || !S_ISDIR(info.st_mode), EP_ERR_ARG,
           "%s: is a directory; give the name of a file", path);
  const ep_status st = ep_file_open(&f, path);
  ep_file_discard(&f);
  return st == EP_ERR_IO ? EP_ERR_ARG : st; /* known before any work: the input is bad */
}

ep_status ep_file_write_text(const char *path, const char *text) {
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  fputs(text, f.stream);
  return ep_file_commit(&f);
}

ep_status ep_folder_make(const char *path) {
  char part[1024];
  struct stat info;
  EP_CHECK(*path, EP_ERR_ARG, "the name of a folder is empty");
  EP_CHECK(strlen(path) < sizeof part, EP_ERR_ARG, "path is too long: %.80s...", path);
  for (size_t i = 1; i <= strlen(path); i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    EP_CHECK(mkdir(part, 0777) == 0 || errno == EEXIST, EP_ERR_IO, "%s: cannot be made: %s", part,
             strerror(errno));
  }
  EP_CHECK(stat(path, &info) == 0 && S_ISDIR(info.st_mode), EP_ERR_IO, "%s: is not a folder", path);
  return EP_OK;
}

void ep_folder_remove(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *e; (e = readdir(folder));) {
    char name[1400];
    if (snprintf(name, sizeof name, "%s/%s", path, e->d_name) < (int)sizeof name) unlink(name);
  }
  closedir(folder);
  rmdir(path);
}
