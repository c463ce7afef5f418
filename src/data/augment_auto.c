/* --augment auto, and what a chain says of the data: by its text and the kind of points alone. */
#include <eigenpair/augment.h>
#include <string.h>

const char *ep_augment_text(const char *text, ep_image_shape shape) {
  if (!*text) return shape.height > 0 ? "crop" : "noise:0.1";
  if (strcmp(text, "auto") != 0) return text;
  if (shape.channels == 3) return "crop:0.5-1,flip,jitter:0.4,grey:0.2";
  return shape.height > 0 ? "crop:0.7-1,rotate:10" : "noise:0.1";
}

bool ep_augment_flips(const char *text, ep_image_shape shape) {
  for (const char *at = ep_augment_text(text, shape); *at; at += *at == ',') {
    const size_t n = strcspn(at, ",");
    if (n == 4 && strncmp(at, "flip", 4) == 0) return true;
    at += n;
  }
  return false;
}
