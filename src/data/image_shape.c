/* How the numbers of a point are an image: as an option says, or as the shape of an array does. */
#include "data/parse.h"

#include <eigenpair/dataset.h>
#include <stdio.h>

ep_status ep_image_shape_parse(ep_image_shape *shape, const char *text, ptrdiff_t dimension) {
  int c = 1, h = 0, w = 0, end = 0;
  const bool three = sscanf(text, "%9dx%9dx%9d%n", &c, &h, &w, &end) == 3 && !text[end];
  const bool two = !three && sscanf(text, "%9dx%9d%n", &h, &w, &end) == 2 && !text[end];
  if (two) c = 1;
  EP_CHECK((two || three) && c > 0 && h > 0 && w > 0 && c < 1024 && h < 65536 && w < 65536,
           EP_ERR_ARG, "--image '%s' is not HxW or CxHxW, such as 28x28", text);
  EP_CHECK((ptrdiff_t)c * h * w == dimension, EP_ERR_SHAPE,
           "--image %s makes %td pixels, but a point has %td numbers", text, (ptrdiff_t)c * h * w,
           dimension);
  *shape = (ep_image_shape){c, h, w};
  return EP_OK;
}

/* 1, 3 or 4 at the end and not in the place of channels */
int ep_channels_last(const ep_array *a) {
  const ptrdiff_t c = a->ndim == 4 ? a->shape[3] : 0, second = a->shape[1];
  const bool first = second == 1 || second == 3 || second == 4;
  return (c == 1 || c == 3 || c == 4) && !first ? (int)c : 0;
}

/* (n, h, w), (n, c, h, w) and (n, h, w, c) are images */
ep_image_shape ep_image_shape_of(const ep_array *a) {
  for (int i = 1; i < a->ndim; i++)
    if (a->shape[i] > 65535) return (ep_image_shape){0, 0, 0}; /* no image is that large */
  if (ep_channels_last(a))
    return (ep_image_shape){ep_channels_last(a), (int)a->shape[1], (int)a->shape[2]};
  if (a->ndim == 3) return (ep_image_shape){1, (int)a->shape[1], (int)a->shape[2]};
  if (a->ndim == 4) return (ep_image_shape){(int)a->shape[1], (int)a->shape[2], (int)a->shape[3]};
  return (ep_image_shape){0, 0, 0};
}
