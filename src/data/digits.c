/* The embedded digits: the files of data/digits, put into the library as they are. */
#include "data/digits.h"

#include "core/embed.h"

EP_EMBED(ep_digits_train_images, EP_DIGITS "/train-images-idx3-ubyte.gz");
EP_EMBED(ep_digits_train_labels, EP_DIGITS "/train-labels-idx1-ubyte.gz");
EP_EMBED(ep_digits_test_images, EP_DIGITS "/t10k-images-idx3-ubyte.gz");
EP_EMBED(ep_digits_test_labels, EP_DIGITS "/t10k-labels-idx1-ubyte.gz");

const unsigned char *ep_digits(size_t *size, bool test, bool labels) {
  const unsigned char *const bytes[2][2][2] = {
      {{ep_digits_train_images, ep_digits_train_images_end},
       {ep_digits_train_labels, ep_digits_train_labels_end}},
      {{ep_digits_test_images, ep_digits_test_images_end},
       {ep_digits_test_labels, ep_digits_test_labels_end}}};
  *size = (size_t)(bytes[test][labels][1] - bytes[test][labels][0]);
  return bytes[test][labels][0];
}
