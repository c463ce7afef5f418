/* Sums: archives in memory as they are (first byte even), or made from a description (odd): what the config says of method,
 * map and shards is put together from the next bytes, so that it is JSON and nearly right; the members follow (archive.h).
 * What is read is written again, and merged with itself as read once more */
#include "archive.h"
#include "use.h"

#include <eigenpair/sums.h>

static const char *const members[] = {"sample.npy",    "V.npy",       "W.npy",       "sum_C.npy",
                                      "sum_B.npy",     "sum_psi.npy", "sum_C.1.npy", "sum_B.1.npy",
                                      "sum_psi.1.npy", "F.npy",       "X.npy",       "config.npy"};

enum { HEAD = 16 }; /* bytes that choose */

static const char *pick(uint8_t byte) {
  static const char *const numbers[] = {
      "1", "2", "3",   "0",    "4",   "9",    "6.0",  "-1",    "8",
      "7", "5", "0.5", "1e16", "1e9", "null", "\"\"", "1e308", "4611686018427387904",
      "16"};
  return numbers[byte % (sizeof numbers / sizeof *numbers)];
}

static int node(char *to, size_t room, const uint8_t *b) {
  return snprintf(to, room, "{\"first\":%s,\"count\":%s,\"anchors\":%s,\"views\":%s,\"pairs\":%s}",
                  pick(b[0]), pick(b[1]), pick(b[2]), pick(b[3]), pick(b[4]));
}

static void add_config(archive *a, const uint8_t *b) {
  static const char *const methods[] = {"whitened", "pca", "gd", "linear"};
  static const char *const terms[] = {"network", "patches", "kappa", "stack", "empirical"};
  char text[2000], nodes[2][300];
  node(nodes[0], sizeof nodes[0], b + 4);
  node(nodes[1], sizeof nodes[1], b + 9);
  const int n = snprintf(text, sizeof text,
                         "{\"method\":\"%s\",\"precision\":\"%s\",\"width\":3,\"outputs\":2,"
                         "\"terms\":[\"%s\"],\"unit\":false,\"sums\":{\"shards\":%s,\"total\":%s,"
                         "\"prints\":[%s],\"nodes\":[%s%s%s]}}",
                         methods[b[0] % 4], b[0] & 64 ? "double" : "single", terms[b[1] % 5],
                         pick(b[2]), pick(b[3]), b[14] % 8 == 1 ? "\"p\"" : "", nodes[0],
                         b[15] % 2 ? "," : "", b[15] % 2 ? nodes[1] : "");
  archive_text(a, "config.npy", text, (size_t)n);
}

static void look(const uint8_t *bytes, size_t size) {
  ep_sums *a, *b;
  unsigned char *again;
  size_t length;
  if (ep_sums_from_bytes(&a, bytes, size, "x.npz")) return;
  sink = ep_sums_anchors(a);
  if (ep_sums_to_bytes(&again, &length, a) == EP_OK) {
    if (ep_sums_from_bytes(&b, again, length, "y.npz")) abort(); /* what was written is read */
    if (ep_sums_anchors(b) != ep_sums_anchors(a)) abort();
    if (ep_sums_merge(a, b) == EP_OK && ep_sums_anchors(b) > 0) abort(); /* the same shards twice */
    ep_sums_free(b);
    ep_bytes_free(again);
  }
  ep_sums_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  (void)use; /* sums have their own */
  archive a;
  if (size < 1) return 0;
  if (bytes[0] % 2 && size > HEAD) {
    archive_begin(&a);
    add_config(&a, bytes + 1);
    archive_members(&a, bytes + 1 + HEAD, size - 1 - HEAD, members,
                    sizeof members / sizeof *members);
    archive_end(&a);
    look(a.data, a.used);
  } else look(bytes + 1, size - 1);
  if (ep_mem_current() != 0) abort();
  return 0;
}
