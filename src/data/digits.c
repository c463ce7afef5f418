/* The embedded digits: the files of data/digits, put into the library as they are. */
#include "data/digits.h"

/* name: the bytes of a file; name_end: one past them */
#define EMBED(name, file)                          \
  __asm__(                                         \
      ".pushsection .rodata\n"                     \
      ".balign 16\n"                               \
      ".hidden " #name                             \
      "\n"                                         \
      ".hidden " #name                             \
      "_end\n"                                     \
      ".global " #name                             \
      "\n"                                         \
      ".global " #name "_end\n" #name              \
      ":\n"                                        \
      ".incbin \"" EP_DIGITS "/" file "\"\n" #name \
      "_end:\n"                                    \
      ".byte 0\n"                                  \
      ".popsection\n");                            \
  extern const unsigned char name[], name##_end[]

EMBED(ep_digits_train_images, "train-images-idx3-ubyte.gz");
EMBED(ep_digits_train_labels, "train-labels-idx1-ubyte.gz");
EMBED(ep_digits_test_images, "t10k-images-idx3-ubyte.gz");
EMBED(ep_digits_test_labels, "t10k-labels-idx1-ubyte.gz");

const unsigned char *ep_digits(size_t *size, bool test, bool labels) {
  const unsigned char *const bytes[2][2][2] = {
      {{ep_digits_train_images, ep_digits_train_images_end},
       {ep_digits_train_labels, ep_digits_train_labels_end}},
      {{ep_digits_test_images, ep_digits_test_images_end},
       {ep_digits_test_labels, ep_digits_test_labels_end}}};
  *size = (size_t)(bytes[test][labels][1] - bytes[test][labels][0]);
  return bytes[test][labels][0];
}
