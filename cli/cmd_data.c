#include "commands.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

#define DATA_OPTIONS(X, S)                                                                      \
  X(S, TEXT, out, "", 0, 0, NULL,                                                               \
    "file to write: .npy, or IDX when it ends in ubyte, .idx or .gz")                           \
  X(S, TEXT, labels_out, "", 0, 0, NULL, "also write the labels, .npy or IDX by the same rule") \
  X(S, FLAG, yes, NULL, 0, 0, NULL, "fetch: do not ask before using sudo")
typedef struct {
  DATA_OPTIONS(EP_OPT_FIELD, )
} data_config;
static const ep_option data_options[] = {DATA_OPTIONS(EP_OPT_ROW, data_config){0}};

typedef struct {
  data_config files;
  ep_data_config data;
  ep_run_config run;
  cli_config cli;
} setup_data;

static void groups_of(ep_option_group groups[5], setup_data *s) {
  const ep_option_group all[5] = {{"Files", data_options, &s->files},
                                  {"Data", ep_data_options, &s->data},
                                  {"Run", ep_run_options, &s->run},
                                  {"Output", cli_options, &s->cli},
                                  {0}};
  memcpy(groups, all, sizeof all);
}

void help_data(FILE *to) {
  setup_data s;
  ep_option_group groups[5];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair data list                               what is there, how to get what is "
          "not\n"
          "  eigenpair data describe digits                    size, range, zeros, labels\n"
          "  eigenpair data fetch mnist                        puts all 70,000 images in place\n"
          "  eigenpair data convert --data mnist --samples 1000 --out x.npy --labels-out y.npy\n"
          "  eigenpair data make moons:500 --out moons.npy     a data set by formula\n\n"
          "Fetched sets go to $EIGENPAIR_DATA, else to eigenpair/ in the user's data folder.\n");
  args_help(groups, to);
}

/* ---- list */

static ep_status list(const setup_data *s) {
  json_t *all = json_array();
  if (!s->cli.json) printf("Images and words\n");
  for (int i = 0; ep_dataset_list(i); i++) {
    const ep_dataset_entry *e = ep_dataset_list(i);
    char folder[1024];
    const bool here = !e->how || ep_dataset_folder(folder, e->name);
    json_array_append_new(all, json_pack("{s:s,s:s,s:b,s:s?}", "name", e->name, "what", e->what,
                                         "here", here, "how", e->how));
    if (s->cli.json) continue;
    printf("  %-12s %s\n%15s%s%s\n", e->name, e->what, "",
           here ? "here" : "get it with: ", here ? (e->how ? "" : ", always") : e->how);
  }
  if (!s->cli.json) printf("Made by formula\n");
  for (int i = 0; ep_synthetic_name(i); i++) {
    json_array_append_new(all, json_pack("{s:s,s:s,s:b}", "name", ep_synthetic_name(i), "what",
                                         ep_synthetic_help(i), "here", 1));
    if (!s->cli.json) printf("  %s\n", ep_synthetic_help(i));
  }
  if (s->cli.json) return print_json(all);
  json_decref(all);
  printf(
      "Files: IDX (plain or gzipped), .npy, .npz, CSV, CIFAR-10 binary; or a folder of IDX "
      "files, of CIFAR-10's batches, or of PNG and JPEG pictures (sub-folders are labels)\n");
  return EP_OK;
}

/* ---- describe */

typedef struct {
  double low, high, mean_norm;
  ptrdiff_t zero_rows, active_columns;
  double zeros; /* share of entries */
} summary;

static ep_status summarise(summary *out, const ep_mat *X) {
  *out = (summary){.low = INFINITY, .high = -INFINITY};
  bool *active = ep_alloc(X->cols, sizeof *active);
  EP_CHECK(active, EP_ERR_NOMEM, "no memory for a summary");
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    double square = 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) {
      const double x = ep_get(X, i, j);
      out->low = fmin(out->low, x);
      out->high = fmax(out->high, x);
      square += x * x;
      out->zeros += x == 0;
      active[j] = active[j] || x != 0;
    }
    out->mean_norm += sqrt(square) / (double)X->rows;
    out->zero_rows += square == 0;
  }
  out->zeros /= (double)(X->rows * X->cols);
  for (ptrdiff_t j = 0; j < X->cols; j++) out->active_columns += active[j];
  ep_release(active);
  return EP_OK;
}

static void print_labels(const int *labels, ptrdiff_t n) {
  enum { MOST = 20 };
  ptrdiff_t count[MOST] = {0}, other = 0;
  for (ptrdiff_t i = 0; i < n; i++)
    if (labels[i] >= 0 && labels[i] < MOST) count[labels[i]]++;
    else other++;
  printf("labels     ");
  for (int l = 0; l < MOST; l++)
    if (count[l]) printf("%d: %td  ", l, count[l]);
  if (other) printf("others: %td", other);
  printf("\n");
}

static ep_status describe(const setup_data *s) {
  ep_dataset set;
  summary m;
  EP_TRY(ep_dataset_load(NULL, &set, &s->data, &s->run));
  ep_status st = summarise(&m, &set.X);
  const ep_mat *X = &set.X;
  if (!st && s->cli.json)
    st = print_json(json_pack(
        "{s:s,s:I,s:I,s:[iii],s:f,s:f,s:f,s:f,s:I,s:I,s:b}", "data", s->data.data, "points",
        (json_int_t)X->rows, "dimension", (json_int_t)X->cols, "image", set.shape.channels,
        set.shape.height, set.shape.width, "low", m.low, "high", m.high, "mean_norm", m.mean_norm,
        "zeros", m.zeros, "zero_rows", (json_int_t)m.zero_rows, "active_columns",
        (json_int_t)m.active_columns, "labels", set.labels != NULL));
  else if (!st) {
    printf("points     ");
    print_count(stdout, (double)X->rows);
    printf(" of dimension %td", X->cols);
    if (set.shape.height)
      printf(" (images %d x %d x %d)", set.shape.channels, set.shape.height, set.shape.width);
    printf("\nrange      %g to %g, mean norm %.4g\n", m.low, m.high, m.mean_norm);
    printf(
        "zeros      %.1f %% of the entries; %td of %td columns are ever non-zero; %td zero rows\n",
        100 * m.zeros, m.active_columns, X->cols, m.zero_rows);
    if (set.labels) print_labels(set.labels, X->rows);
  }
  ep_dataset_free(&set);
  return st;
}

/* ---- convert, make */

static bool ends_in(const char *path, const char *end) {
  const size_t n = strlen(path), m = strlen(end);
  return n >= m && strcmp(path + n - m, end) == 0;
}

static bool is_idx(const char *path) {
  return ends_in(path, "ubyte") || ends_in(path, ".idx") || ends_in(path, ".gz");
}

/* pixels back to bytes */
static ep_status write_idx(const char *path, const ep_dataset *set) {
  const ep_mat *X = &set->X;
  const bool image = set->shape.height > 0 && set->shape.channels == 1;
  const ptrdiff_t shape[3] = {X->rows, image ? set->shape.height : X->cols, set->shape.width};
  uint8_t *bytes = ep_alloc(X->rows * X->cols, 1);
  EP_CHECK(bytes, EP_ERR_NOMEM, "no memory for %td pixels", X->rows * X->cols);
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; i < X->rows * X->cols && !st; i++) {
    const double x = 255 * ep_get(X, i / X->cols, i % X->cols);
    if (!(x > -0.5 && x < 255.5)) st = EP_FAIL(EP_ERR_INPUT, "IDX holds pixels in [0, 1] only");
    else bytes[i] = (uint8_t)lrint(x);
  }
  if (!st) st = ep_idx_write(path, bytes, image ? 3 : 2, shape);
  ep_release(bytes);
  return st;
}

static ep_status write_idx_labels(const char *path, const int *labels, ptrdiff_t n) {
  uint8_t *bytes = ep_alloc(n, 1);
  EP_CHECK(bytes, EP_ERR_NOMEM, "no memory for %td labels", n);
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; i < n && !st; i++) {
    if (labels[i] < 0 || labels[i] > 255)
      st = EP_FAIL(EP_ERR_INPUT, "IDX holds labels from 0 to 255 only");
    else bytes[i] = (uint8_t)labels[i];
  }
  if (!st) st = ep_idx_write(path, bytes, 1, &n);
  ep_release(bytes);
  return st;
}

static ep_status write_set(const setup_data *s, const ep_dataset *set) {
  const char *out = s->files.out, *labels = s->files.labels_out;
  const ptrdiff_t n = set->X.rows;
  EP_CHECK(!*labels || set->labels, EP_ERR_INPUT, "%s has no labels", s->data.data);
  if (s->data.scale == EP_SCALE_UNIT) ep_scale_to_unit(&set->X);
  EP_TRY(is_idx(out) ? write_idx(out, set) : ep_npy_write(out, &set->X));
  if (*labels)
    EP_TRY(is_idx(labels) ? write_idx_labels(labels, set->labels, n)
                          : ep_npy_write_labels(labels, set->labels, n));
  if (s->cli.json)
    return print_json(json_pack("{s:s,s:I,s:I}", "out", out, "points", (json_int_t)n, "dimension",
                                (json_int_t)set->X.cols));
  print_count(stdout, (double)n);
  printf(" points of dimension %td: %s\n", set->X.cols, out);
  return EP_OK;
}

static ep_status convert(const setup_data *s) {
  ep_dataset set;
  const ep_option_group inputs[] = {{"Data", ep_data_options, (void *)(uintptr_t)&s->data}, {0}};
  EP_CHECK(s->files.out[0], EP_ERR_ARG, "give --out FILE");
  const char *const outputs[] = {s->files.out, s->files.labels_out, NULL};
  EP_TRY(check_outputs(outputs, inputs));
  EP_TRY(ep_dataset_load(NULL, &set, &s->data, &s->run));
  const ep_status st = write_set(s, &set);
  ep_dataset_free(&set);
  return st;
}

/* ---- */

static ep_status fetch(const setup_data *s) {
  return data_fetch(s->data.data, s->cli.json, s->files.yes);
}

static ep_status dispatch(setup_data *s, const char *verb) {
  static const struct {
    const char *verb;
    ep_status (*run)(const setup_data *s);
  } verbs[] = {{"list", list},
               {"describe", describe},
               {"fetch", fetch},
               {"convert", convert},
               {"make", convert}};
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(verb, verbs[i].verb) == 0) return verbs[i].run(s);
  return EP_FAIL(EP_ERR_ARG, "'%s' is none of: list, describe, fetch, convert, make", verb);
}

ep_status cmd_data(int argc, char **argv) {
  static setup_data s;
  ep_option_group groups[5];
  const char *words[2];
  int count;
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, words, 2, &count));
  EP_CHECK(count >= 1, EP_ERR_ARG, "say what: list, describe, fetch, convert or make");
  EP_CHECK(count < 2 || !s.data.data[0], EP_ERR_ARG, "'%s' and --data both name a data set",
           words[1]);
  if (count == 2) {
    EP_CHECK(strlen(words[1]) < sizeof s.data.data, EP_ERR_ARG, "the name is too long");
    strcpy(s.data.data, words[1]);
  }
  EP_TRY(work_begin(&s.run, false));
  return dispatch(&s, words[0]);
}
