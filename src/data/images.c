/* A folder of pictures as a data set: its sub-folders, in the order of their names, are labels 0, 1, .. */
#include "core/crew.h"
#include "core/file.h"
#include "core/mem.h"
#include "core/words.h"
#include "data/parse.h"
#include "data/rows.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { LONGEST = 1024, OWN_SIDE = 64, MOST_NAMED = 10 };

/* What was found. Names are relative to the folder. */
typedef struct {
  const char *folder;
  char (*name)[LONGEST];
  int *label;
  ptrdiff_t count, room;
  int labels;      /* sub-folders with pictures */
  json_t *classes; /* their names */
  ptrdiff_t plain; /* pictures that are in none */
} listing;

bool ep_picture_name(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *end = strrchr(name, '.');
  return name[0] != '.' && end &&
         (strcasecmp(end, ".png") == 0 || strcasecmp(end, ".jpg") == 0 ||
          strcasecmp(end, ".jpeg") == 0);
}

static ep_status add(listing *l, const char *within, const char *name, int label) {
  if (l->count == l->room) {
    const ptrdiff_t room = l->room ? 2 * l->room : 256;
    char(*names)[LONGEST] = ep_alloc(room, sizeof *names);
    int *labels = names ? ep_alloc(room, sizeof *labels) : NULL;
    if (!labels) ep_release(names);
    EP_CHECK(labels, EP_ERR_NOMEM, "%s: no memory for a list of pictures", l->folder);
    if (l->count) memcpy(names, l->name, (size_t)l->count * sizeof *names);
    if (l->count) memcpy(labels, l->label, (size_t)l->count * sizeof *labels);
    ep_release(l->name), ep_release(l->label);
    l->name = names, l->label = labels, l->room = room;
  }
  const int n = snprintf(l->name[l->count], LONGEST, "%s%s%s", within, *within ? "/" : "", name);
  EP_CHECK(n < LONGEST, EP_ERR_INPUT, "%s: a name in it is too long", l->folder);
  l->label[l->count++] = label;
  return EP_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_folder(const char *folder, const char *name) {
  char path[2 * LONGEST];
  struct stat info;
  const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  return name[0] != '.' && n < (int)sizeof path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* a sub-folder that has pictures; one whose name is no UTF-8, or would speak to the terminal, goes by its number */
static ep_status add_class(listing *l, const char *name) {
  json_t *word = ep_word_printable(name) && !strpbrk(name, "\n\t") ? json_string(name) : NULL;
  if (!word) word = json_sprintf("%d", l->labels);
  EP_CHECK(json_array_append_new(l->classes, word) == 0, EP_ERR_NOMEM,
           "%s: no memory for the names of folders", l->folder);
  l->labels++;
  return EP_OK;
}

/* pictures of one folder; with `deeper`, those of its sub-folders too */
static ep_status list(listing *l, const char *within, int label, bool deeper) {
  char path[2 * LONGEST];
  struct dirent **entry = NULL;
  ep_status st = EP_OK;
  snprintf(path, sizeof path, "%s%s%s", l->folder, *within ? "/" : "", within);
  const int n = scandir(path, &entry, NULL, by_name);
  EP_CHECK(n >= 0, EP_ERR_IO, "%s: the folder cannot be read", path);
  for (int i = 0; !st && i < n; i++) {
    const char *name = entry[i]->d_name;
    if (deeper && is_folder(path, name)) {
      const ptrdiff_t before = l->count;
      st = list(l, name, l->labels, false);
      if (!st && l->count > before) st = add_class(l, name);
    } else if (ep_picture_name(name)) {
      st = add(l, within, name, label);
      l->plain += !*within;
    }
  }
  for (int i = 0; i < n; i++) free(entry[i]);
  free(entry);
  return st;
}

/* ---- reading */

static ep_status read_picture(ep_array *a, const listing *l, ptrdiff_t i) {
  char path[2 * LONGEST];
  unsigned char *bytes;
  size_t size;
  snprintf(path, sizeof path, "%s/%s", l->folder, l->name[i]);
  EP_TRY(ep_file_read(&bytes, &size, path));
  const ep_status st = ep_parse_picture(a, bytes, size, path);
  ep_release(bytes);
  return st;
}

static ep_status read_fitted(unsigned char *out, const listing *l, ptrdiff_t i,
                             ep_image_shape shape) {
  ep_array picture;
  EP_TRY(read_picture(&picture, l, i));
  const ep_status st = ep_picture_fit(out, &picture, shape);
  ep_array_free(&picture);
  return st;
}

/* --image HxW or CxHxW; what it leaves open is the first readable picture's, sides of 64 at most */
static ep_status choose_shape(ep_image_shape *shape, const listing *l, const char *image) {
  int c = 0, h = 0, w = 0, end = 0;
  ep_array first = {0};
  ep_status st = EP_ERR_INPUT;
  const bool three = sscanf(image, "%9dx%9dx%9d%n", &c, &h, &w, &end) == 3 && !image[end];
  const bool two = !three && sscanf(image, "%9dx%9d%n", &h, &w, &end) == 2 && !image[end];
  if (!three) c = 0;
  EP_CHECK(!*image ||
               ((two || (three && (c == 1 || c == 3))) && h > 0 && w > 0 && h < 65536 && w < 65536),
           EP_ERR_ARG, "--image '%s' is not HxW, 1xHxW or 3xHxW, such as 3x32x32", image);
  for (ptrdiff_t i = 0; !three && st && i < l->count; i++) st = read_picture(&first, l, i);
  char why[1024];
  snprintf(why, sizeof why, "%s", three || !st ? "" : ep_last_error());
  EP_CHECK(three || !st, st, "%s: none of its %td pictures can be read; the last: %s", l->folder,
           l->count, why);
  if (!c) c = (int)first.shape[2];
  if (!*image) {
    h = (int)(first.shape[0] < OWN_SIDE ? first.shape[0] : OWN_SIDE);
    w = (int)(first.shape[1] < OWN_SIDE ? first.shape[1] : OWN_SIDE);
  }
  ep_array_free(&first);
  *shape = (ep_image_shape){c, h, w};
  return EP_OK;
}

typedef struct {
  unsigned char *out;
  listing *l;
  ep_image_shape shape;
  ptrdiff_t first; /* picture of the loop */
} pictures_loop;

static void read_pictures(void *of, ptrdiff_t first, ptrdiff_t end) {
  const pictures_loop *p = of;
  const ptrdiff_t pixels = (ptrdiff_t)p->shape.channels * p->shape.height * p->shape.width;
  for (ptrdiff_t i = p->first + first; i < p->first + end; i++)
    if (read_fitted(p->out + i * pixels, p->l, i, p->shape)) p->l->label[i] = -1;
}

/* the i-th into the i-th place; what cannot be read is marked by label -1 (plain: all other labels are 0) */
static ep_status read_all(unsigned char *out, listing *l, ep_image_shape shape) {
  enum { BLOCK = 256 };
  for (ptrdiff_t first = 0; first < l->count; first += BLOCK) {
    const ptrdiff_t left = l->count - first;
    EP_TRY(ep_run_step("pictures", (double)first, (double)l->count));
    ep_crew_loop(left < BLOCK ? left : BLOCK, 1, true, read_pictures,
                 &(pictures_loop){out, l, shape, first});
  }
  return EP_OK;
}

/* why picture i was not read: it is read once more, for the reason */
static ep_status reason(char text[1024], const listing *l, ptrdiff_t i) {
  ep_array a = {0};
  ep_status st = read_picture(&a, l, i);
  ep_array_free(&a);
  if (!st) st = EP_FAIL(EP_ERR_NOMEM, "no memory to read %s/%s", l->folder, l->name[i]);
  snprintf(text, 1024, "%s", ep_last_error());
  return st;
}

/* names the pictures that were not read, or makes the first an error; the others move together */
static ep_status drop_unread(unsigned char *images, listing *l, ep_image_shape shape, bool strict) {
  const size_t pixels = (size_t)shape.channels * (size_t)shape.height * (size_t)shape.width;
  char why[1024];
  ptrdiff_t kept = 0;
  const ptrdiff_t all = l->count;
  for (ptrdiff_t i = 0; i < all; i++) {
    if (l->label[i] < 0) {
      const ep_status st = reason(why, l, i);
      EP_CHECK(st != EP_ERR_NOMEM, st, "%s", why);
      EP_CHECK(!strict, st, "%s (--strict: nothing is skipped)", why);
      if (i - kept < MOST_NAMED) ep_run_note("skipped %s", why);
      continue;
    }
    if (kept < i) memcpy(images + (size_t)kept * pixels, images + (size_t)i * pixels, pixels);
    l->label[kept++] = l->label[i];
  }
  EP_CHECK(kept > 0, EP_ERR_INPUT, "%s: none of its %td pictures can be read", l->folder, all);
  if (kept < all)
    ep_run_note("%td of %td pictures in %s could not be read", all - kept, all, l->folder);
  l->count = kept;
  return EP_OK;
}

static ep_status make(ep_array *a, listing *l, const char *image, bool strict) {
  ep_image_shape shape;
  EP_TRY(list(l, "", 0, true));
  EP_CHECK(l->count > 0, EP_ERR_INPUT,
           "%s: no file train-images-idx3-ubyte (or .gz), no data_batch_1.bin and no PNG or JPEG "
           "picture in this folder or a sub-folder",
           l->folder);
  EP_CHECK(!l->labels || !l->plain, EP_ERR_INPUT,
           "%s: has pictures of its own and in sub-folders, which are labels; move %td of them",
           l->folder, l->plain);
  EP_TRY(choose_shape(&shape, l, image));
  *a = (ep_array){.dtype = EP_U8, .ndim = 4};
  a->shape[1] = shape.channels, a->shape[2] = shape.height, a->shape[3] = shape.width;
  a->owner = ep_alloc(l->count * shape.channels, (size_t)shape.height * (size_t)shape.width);
  EP_CHECK(a->owner, EP_ERR_NOMEM, "%s: no memory for %td pictures", l->folder, l->count);
  a->data = a->owner;
  EP_TRY(read_all(a->owner, l, shape));
  EP_TRY(drop_unread(a->owner, l, shape, strict));
  a->shape[0] = l->count;
  return EP_OK;
}

ep_status ep_images_read(ep_array *a, int **labels, json_t **classes, const char *folder,
                         const char *image, bool strict) {
  listing l = {.folder = folder, .classes = json_array()};
  *a = (ep_array){.owner = NULL};
  *labels = NULL;
  *classes = NULL;
  const ep_status st = make(a, &l, image, strict);
  if (!st && l.labels) *labels = l.label, *classes = json_incref(l.classes), l.label = NULL;
  if (st) ep_array_free(a);
  ep_release(l.name);
  ep_release(l.label);
  json_decref(l.classes);
  return st;
}
