/* CIFAR-10 binary: records of one label byte and 3 x 32 x 32 pixel bytes. */
#include "core/mem.h"
#include "data/parse.h"

#include <string.h>

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS };

bool ep_cifar_fits(const unsigned char *bytes, size_t size) {
  if (size == 0 || size % RECORD != 0) return false;
  for (size_t i = 0; i < size; i += RECORD)
    if (bytes[i] > 9) return false;
  return true;
}

/* From each record `length` bytes at `offset`, one after the other. */
static ep_status gather(ep_array *a, const unsigned char *bytes, size_t records, size_t offset,
                        size_t length, const char *name) {
  unsigned char *copy = ep_alloc((ptrdiff_t)records, length);
  EP_CHECK(copy, EP_ERR_NOMEM, "%s: no memory for %zu records", name, records);
  for (size_t i = 0; i < records; i++)
    memcpy(copy + i * length, bytes + i * RECORD + offset, length);
  a->dtype = EP_U8;
  a->data = a->owner = copy;
  a->shape[0] = (ptrdiff_t)records;
  return EP_OK;
}

static ep_status take_images(ep_array *a, const unsigned char *bytes, size_t n, const char *name) {
  EP_TRY(gather(a, bytes, n, 1, PIXELS, name));
  a->ndim = 4;
  a->shape[1] = 3;
  a->shape[2] = a->shape[3] = 32;
  return EP_OK;
}

static ep_status take_labels(ep_array *a, const unsigned char *bytes, size_t n, const char *name) {
  EP_TRY(gather(a, bytes, n, 0, 1, name));
  a->ndim = 1;
  return EP_OK;
}

ep_status ep_parse_cifar(ep_array *images, ep_array *labels, const unsigned char *bytes,
                         size_t size, const char *name) {
  const size_t n = size / RECORD;
  if (images) *images = (ep_array){.owner = NULL};
  if (labels) *labels = (ep_array){.owner = NULL};
  EP_CHECK(ep_cifar_fits(bytes, size), EP_ERR_INPUT,
           "%s: is not a CIFAR-10 binary (records of %d bytes, each with a label from 0 to 9)",
           name, RECORD);
  if (images) EP_TRY(take_images(images, bytes, n, name));
  const ep_status st = labels ? take_labels(labels, bytes, n, name) : EP_OK;
  if (st && images) ep_array_free(images);
  return st;
}
