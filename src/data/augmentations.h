/* What augmentations do to a point. */
#ifndef EP_DATA_AUGMENTATIONS_H
#define EP_DATA_AUGMENTATIONS_H

#include <eigenpair/augment.h>
#include <eigenpair/random.h>
#include <stdbool.h>

/* One output pixel along one axis: (1 - w) in[near] + w in[near + 1]. */
typedef struct {
  int near;
  double w;
} ep_tap;

/* A point on its way through the chain, and one thread's scratch. */
typedef struct {
  ep_image_shape shape;
  ptrdiff_t cols;
  double *x, *y;         /* cols each: the point, changed in place, and a spare row */
  double *kernel, *line; /* blur: the kernel, and one image line with its reflections */
  const double **rows;   /* blur: the lines that weigh in */
  double *edged;         /* what is moved: channels of (height + 3, width + 3) */
  double *u, *v;         /* width each: where a line of pixels comes from */
  int *from;             /* width: the pixels that it lies behind */
  ep_tap *taps;          /* one a column: elastic, pad */
  const ep_augment *chain;
} ep_frame;

typedef enum { EP_NO_PARAMETER, EP_ONE_NUMBER, EP_SHARES } ep_parameter; /* "", "S", "LO-HI" */

/* A row of the table. */
struct ep_augmentation {
  const char *name;
  void (*apply)(ep_frame *f, ep_random *r, double a, double b);
  bool needs_image;  /* plain vectors are refused */
  bool needs_sample; /* takes values from other points */
  bool colour;       /* of images: those of three channels */
  ep_parameter parameter;
  double a, b;           /* defaults */
  double plain;          /* a for plain vectors; 0: a */
  double max;            /* largest value allowed */
  int (*radius)(double); /* a -> pixels beyond an edge that are looked at; NULL: none */
  const char *help;
  const char *instead; /* for images that are not in colour */
};

/* The row by its number; NULL behind the last. */
const ep_augmentation *ep_augmentation_row(int i);

static inline bool ep_is_plain(ep_image_shape s) { return !s.channels && !s.height && !s.width; }

/* The box that crop:LO-HI would take with these numbers. */
ep_crop ep_crop_draw(ep_image_shape shape, double lo, double hi, ep_random *r);

#endif
