#pragma once
/* Many numbers and pictures inside a page: bytes as base64. */
#include <eigenpair/augment.h>
#include <eigenpair/json.h>
#include <eigenpair/matrix.h>

typedef enum { EP_PACK_U16, EP_PACK_U32, EP_PACK_F32 } ep_pack_type;

/* Arrays one behind the other. Begins as {0}; ends with ep_pack_free. */
typedef struct {
  unsigned char *data;
  size_t size, room;
  json_t *arrays; /* name -> {"type": "u16", "at": first byte, "count": ..} */
} ep_pack;
ep_status ep_pack_add(ep_pack *pack, const char *name, ep_pack_type type, const void *values,
                      ptrdiff_t count);
/* {"arrays": .., "bytes": base64 of all of them, deflated}; *out is the caller's. */
ep_status ep_pack_json(json_t **out, const ep_pack *pack);
void ep_pack_free(ep_pack *pack);

/* All rows of X as pictures in one PNG, row by row of the sheet, made smaller where they are larger than 64 pixels or the
 * sheet would have more than 16 million: {"png": base64, "columns": pictures a row, "width": .., "height": of one}.
 * Values from 0 to 1 are black to white; others are stretched from their least to their largest. */
ep_status ep_pack_pictures(json_t **out, const ep_mat *X, ep_image_shape shape);
