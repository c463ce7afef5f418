/* The names of sets that came in packages, and the files these names mean. */
#include "data/packages.h"

#include <eigenpair/dataset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "words", "words:20000" */
static ep_status parse_words(ep_packaged *out, const char *part, const char *data) {
  char *end = NULL;
  out->first = *part ? strtol(part, &end, 10) : 0;
  EP_CHECK(!*part || (out->first > 0 && !*end && part[0] != '+'), EP_ERR_ARG,
           "%s: words:N are the N most frequent ones, such as words:20000", data);
  strcpy(out->points, "words.npy");
  strcpy(out->names, "words.txt");
  return EP_OK;
}

static const char *vendor_of(const char *part, size_t length) {
  for (int i = 0; ep_emoji_vendor(i); i++)
    if (strlen(ep_emoji_vendor(i)) == length && strncmp(part, ep_emoji_vendor(i), length) == 0)
      return ep_emoji_vendor(i);
  return NULL;
}

static void name_emoji(ep_packaged *out, const char *vendor, bool test) {
  const char *part = test ? "-test" : "";
  snprintf(out->points, sizeof out->points, "%s%s.npy", vendor, part);
  snprintf(out->labels, sizeof out->labels, "labels%s.npy", part);
  snprintf(out->names, sizeof out->names, "names%s.txt", part);
}

/* "emoji", "emoji:test", "emoji:twitter", "emoji:twitter:test" */
static ep_status parse_emoji(ep_packaged *out, const char *part, const char *data) {
  const size_t length = strcspn(part, ":");
  const char *vendor = vendor_of(part, length);
  const char *rest = !vendor ? part : part[length] ? part + length + 1 : "";
  if (!vendor) vendor = ep_emoji_vendor(0);
  const bool test = strcmp(rest, "test") == 0;
  EP_CHECK(test || !*rest || strcmp(rest, "train") == 0, EP_ERR_ARG,
           "%s: emoji are emoji:google, emoji:twitter or emoji:facebook, and :test behind it",
           data);
  name_emoji(out, vendor, test);
  return EP_OK;
}

static const struct {
  const char *set;
  ep_status (*parse)(ep_packaged *out, const char *part, const char *data);
} sets[] = {{"words", parse_words}, {"emoji", parse_emoji}};
enum { SETS = sizeof sets / sizeof *sets };

ep_status ep_packaged_parse(ep_packaged *out, const char *data) {
  const size_t length = strcspn(data, ":");
  *out = (ep_packaged){0};
  for (int i = 0; i < SETS; i++) {
    if (strlen(sets[i].set) != length || strncmp(data, sets[i].set, length) != 0) continue;
    out->set = sets[i].set;
    return sets[i].parse(out, data + length + (data[length] == ':'), data);
  }
  return EP_OK;
}

static bool is_file(const char *folder, const char *name) {
  char path[1200];
  struct stat info;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool has_files(const char *folder, const ep_packaged *p) {
  return is_file(folder, p->points) && is_file(folder, p->names) &&
         (!p->labels[0] || is_file(folder, p->labels));
}

bool ep_packaged_whole(const char *folder, const char *set) {
  ep_packaged p;
  bool all = true;
  if (ep_packaged_parse(&p, set) || !p.set) return false;
  if (!p.labels[0]) return has_files(folder, &p);
  for (int i = 0; i < 2 * 3; i++) {
    name_emoji(&p, ep_emoji_vendor(i / 2), i & 1);
    all = all && has_files(folder, &p);
  }
  return all;
}

ep_status ep_packaged_find(ep_packaged *out, char folder[1024], const char *data) {
  EP_TRY(ep_packaged_parse(out, data));
  EP_CHECK(!out->set || ep_dataset_folder(folder, out->set), EP_ERR_INPUT,
           "data set %s is not on this machine; get it with: eigenpair data fetch %s", out->set,
           out->set);
  return EP_OK;
}
