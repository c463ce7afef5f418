#pragma once
/* Augmentations: how a positive is made from a point. Seeded per point: point i gets the same view
 * whatever the thread count and the order of the calls. */
#include <eigenpair/dataset.h>

typedef struct ep_augmentation ep_augmentation; /* a row of the table in augmentations.c */
enum { EP_AUGMENT_STEPS = 8 };

/* A chain of steps, applied from left to right. */
typedef struct {
  int count;
  struct {
    const ep_augmentation *kind;
    double a, b;
  } step[EP_AUGMENT_STEPS];
  /* of the data, set after reading; lent; NULL: not known */
  const double *spread; /* (D): noise is relative to the spread of a column */
  const int *group;     /* (D): columns of one number are corrupted together */
  const ep_mat *sample; /* (m, D): points that corrupt takes values from */
} ep_augment;

const char *ep_augment_name(int i); /* names of the table, NULL past the last */

/* Reads "crop:0.2-1,flip,noise:0.1". Steps: crop[:LO-HI] random resized crop with area share in
 * [LO, HI] (default 0.08-1) and aspect ratio in [3/4, 4/3], resized back bilinearly; flip left-right
 * with probability 1/2; vflip upside-down with probability 1/2; noise[:S] adds N(0, S^2) (default 0.1);
 * shift[:S] by up to S pixels each way (default 2) and rotate[:S] by up to S degrees (default 10), both bilinear, dark
 * where nothing was; elastic[:S] draws the image on a sheet that is held at 5 x 5 places, each moved by up to S pixels (default 2);
 * blur[:S] Gaussian blur with standard deviation S pixels (default 1);
 * light[:S] brightness and contrast, each by a factor in 1 -+ S (default 0.4); jitter[:S] of colour images: brightness,
 * contrast and saturation by a factor in 1 -+ 0.8 S, hue by up to 0.2 S of a turn (default 0.5); grey[:P] with probability P
 * (default 0.2); cutout[:S] a square of S pixels becomes the mean (default 8); pad[:S] S reflected pixels round the image,
 * cut back to its size at a random place (default 4); corrupt[:P] every column with probability P (default 0.3) from
 * another point, drawn for each column by itself (SCARF); mask[:P] a stretch of that share of the row (default 0.25) becomes
 * the row's mean; jitter[:S] of plain vectors adds N(0, (S sd)^2), sd the deviation within the row (default 0.1). `none` is an
 * empty chain.
 * Image steps on plain vectors, and colours on grey images, are an error. */
ep_status ep_augment_parse(ep_augment *out, const char *text, ep_image_shape shape);
/* The chain that a text stands for: empty is crop, or noise:0.1 for plain vectors; auto is what served these best
 * (docs/representations.md). */
const char *ep_augment_text(const char *text, ep_image_shape shape);
bool ep_augment_flips(const char *text, ep_image_shape shape); /* may a view be the mirror image? */
bool ep_augment_needs_sample(const ep_augment *chain);

/* out row i = a view of X row i (same shape and precision; out may not be X). `first` is the index of
 * row 0 in the data set and `view` the number of the view: row i uses random stream
 * (seed, EP_STREAM_AUGMENT, first + i) from counter view * 2^32 on. */
ep_status ep_augment_apply(const ep_mat *out, const ep_mat *X, const ep_augment *chain,
                           ep_image_shape shape, uint64_t seed, ptrdiff_t first, int view);

/* Where torchvision's RandomResizedCrop would cut: ten tries, then the central crop. */
typedef struct {
  int top, left, height, width;
} ep_crop;
ep_crop ep_augment_crop(ep_image_shape shape, double lo, double hi, uint64_t seed, ptrdiff_t point,
                        int view);
