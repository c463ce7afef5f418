#include "learnability.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *learn_kernel_name(int i) {
  static const char *const names[] = {"analytic", "nngp", NULL};
  return names[i];
}

static const ep_option learn_options[] = {LEARN_OPTIONS(EP_OPT_ROW, learn_config){0}};

static void groups_of(ep_option_group groups[6], setup_learn *s) {
  const ep_option_group all[6] = {{"Learnability", learn_options, &s->learn},
                                  {"Data", ep_data_options, &s->data},
                                  {"Infinite width", ep_variance_options, &s->analytic},
                                  {"Run", ep_run_options, &s->run},
                                  {"Output", cli_options, &s->cli},
                                  {0}};
  memcpy(groups, all, sizeof all);
}

void help_learnability(FILE *to) {
  static setup_learn s;
  ep_option_group groups[6];
  groups_of(groups, &s);
  fprintf(
      to,
      "\n  eigenpair learnability --data cube:8 --train 32 --target degree:1,2 --measure 50\n"
      "  eigenpair learnability --data digits --samples 1000 --measure 5       your own data: a "
      "curve, and a sentence\n"
      "  eigenpair learnability --kernel-matrix K.npy --target f.npy --train 100 --json\n\n"
      "--data circle:M, cube:d and sphere:d are whole domains, on the unit sphere unless --scale "
      "raw: their spectra\n"
      "come by symmetry, so that circle:1048576 and cube:20 cost nothing. Any other data set is "
      "a domain of its\n"
      "points. In JSON, `eigenvalues` (of K/M) and `learnability` have an entry a mode; "
      "`predicted_mse` is the\n"
      "mean over the domain; `measured` holds what --measure found, under the same names. "
      "Everything is double.\n");
  args_help(groups, to);
}

/* ---- the domain */

static ep_status check_memory(const setup_learn *s, double M) {
  const double bytes = M * M * sizeof(double) + ep_domain_sample_bytes(M);
  EP_CHECK((double)ep_memory_current() + bytes < ep_run_memory(&s->run), EP_ERR_ARG,
           "--memory is too small for the eigenproblem of %.0f points (%.0f MiB): use --samples", M,
           bytes / 1048576);
  return EP_OK;
}

static ep_status matrix_domain(learn_work *w, const setup_learn *s) {
  const char *path = s->learn.kernel_matrix;
  ep_array a = {0};
  ep_mat K = {0};
  EP_CHECK(!s->data.data[0], EP_ERR_ARG, "--kernel-matrix and --data: give one of them");
  EP_TRY(ep_array_read(&a, path));
  ep_status st = a.ndim == 2 && a.shape[0] == a.shape[1] && a.shape[0] > 0
                     ? check_memory(s, (double)a.shape[0])
                     : EP_FAIL(EP_ERR_SHAPE, "%s: a kernel is a square matrix", path);
  if (!st) st = ep_array_to_matrix(&K, &a, NULL, a.shape[0], 1, EP_DOUBLE, path);
  const double precision = a.dtype == EP_F32 ? FLT_EPSILON : DBL_EPSILON;
  ep_array_free(&a);
  EP_TRY(st);
  snprintf(w->name, sizeof w->name, "%s", path);
  return ep_domain_sample(&w->domain, &K, precision);
}

static ep_status domain_kernel(ep_domain_kernel *k, const setup_learn *s, ptrdiff_t D) {
  *k = (ep_domain_kernel){.kind = s->learn.kernel == LEARN_NNGP ? EP_NNGP : EP_NTK, .radius = 1};
  k->network = (ep_analytic){.depth = (int)s->learn.depth, .config = s->analytic};
  k->network.input_scale = s->learn.input_scale ? 1 / sqrt((double)D) : 1;
  return ep_activation_parse(&k->network.phi, s->learn.activation);
}

/* circle:M, cube:d, sphere:d, and all of it */
static bool is_whole(ep_domain_kind *kind, long *size, const setup_learn *s) {
  struct stat info;
  if (s->data.samples || stat(s->data.data, &info) == 0) return false;
  for (int i = 0; ep_domain_name(i); i++) {
    const size_t n = strlen(ep_domain_name(i));
    if (strncmp(s->data.data, ep_domain_name(i), n) != 0 || s->data.data[n] != ':') continue;
    char *end;
    *kind = (ep_domain_kind)i;
    *size = strtol(s->data.data + n + 1, &end, 10);
    return end > s->data.data + n + 1 && !*end;
  }
  return false;
}

static ep_status whole_domain(learn_work *w, const setup_learn *s, ep_domain_kind kind, long size) {
  ep_domain_kernel k;
  EP_TRY(domain_kernel(&k, s, kind == EP_CIRCLE ? 2 : size));
  if (kind == EP_CUBE && s->data.scale == EP_SCALE_RAW && size > 0) k.radius = sqrt((double)size);
  const double bytes =
      kind == EP_CIRCLE ? 100 * (double)size : 0; /* a row of the kernel, its transform */
  EP_CHECK(bytes < ep_run_memory(&s->run), EP_ERR_ARG, "--memory is too small for %s (%.0f MiB)",
           s->data.data, bytes / 1048576);
  EP_CHECK(!s->data.labels[0], EP_ERR_ARG, "%s has no labels; give --target", s->data.data);
  return ep_domain_new(&w->domain, kind, size, &k);
}

/* F = one column a label, 1 where it is the point's, then centred */
static ep_status label_target(learn_work *w, const int *labels, ptrdiff_t n) {
  int low;
  ptrdiff_t Z;
  EP_TRY(label_range(&low, &Z, labels, n));
  EP_TRY(label_columns(&w->target.F, labels, n, low, Z));
  centre_columns(&w->target.F, NULL);
  w->labels = true;
  return EP_OK;
}

static ep_status kernel_of_points(learn_work *w, const setup_learn *s, const ep_dataset *set) {
  ep_domain_kernel k;
  ep_mat K = {0};
  ep_domain_kind kind = EP_SAMPLE;
  EP_TRY(check_memory(s, (double)set->X.rows));
  EP_TRY(domain_kernel(&k, s, set->X.cols));
  for (int i = 0; ep_domain_name(i); i++)
    if (strncmp(s->data.data, ep_domain_name(i), strlen(ep_domain_name(i))) == 0) kind = i;
  const bool raw = s->data.scale == EP_SCALE_RAW;
  if (ep_dataset_is_unit(set, &s->data) || (kind != EP_SAMPLE && !raw)) ep_scale_to_unit(&set->X);
  EP_TRY(ep_mat_new(&K, EP_DOUBLE, set->X.rows, set->X.rows));
  const ep_status st = ep_analytic_kernel(NULL, &K, &k.network, k.kind, &set->X, NULL);
  if (!st) return ep_domain_sample(&w->domain, &K, DBL_EPSILON);
  ep_mat_free(&K);
  return st;
}

static ep_status data_domain(learn_work *w, const setup_learn *s) {
  ep_domain_kind kind;
  long size;
  snprintf(w->name, sizeof w->name, "%s", s->data.data);
  if (is_whole(&kind, &size, s)) return whole_domain(w, s, kind, size);
  ep_run_config run = s->run;
  ep_dataset set;
  run.precision = EP_DOUBLE;
  EP_TRY(ep_dataset_load(NULL, &set, &s->data, &run));
  ep_status st = kernel_of_points(w, s, &set);
  if (!st && set.labels && !s->learn.target[0]) st = label_target(w, set.labels, set.X.rows);
  ep_dataset_free(&set);
  return st;
}

/* ---- the target */

static ep_status read_degrees(learn_work *w, const char *text) {
  while (*text) {
    char *end;
    const long k = strtol(text, &end, 10);
    EP_CHECK(end > text && (*end == ',' || !*end) && k >= 0 && k < 1000000000 &&
                 w->target.degrees < LEARN_DEGREES,
             EP_ERR_ARG, "--target degree:%s: degrees are whole numbers with commas between", text);
    w->degree[w->target.degrees++] = (int)k;
    text = *end ? end + 1 : end;
  }
  w->target.degree = w->degree;
  EP_CHECK(w->target.degrees > 0, EP_ERR_ARG, "--target degree: says no degree");
  return EP_OK;
}

static ep_status read_target(learn_work *w, const setup_learn *s) {
  const char *text = s->learn.target;
  const ep_spectrum *spectrum = ep_domain_spectrum(w->domain);
  if (strncmp(text, "degree:", 7) == 0) EP_TRY(read_degrees(w, text + 7));
  else if (text[0]) EP_TRY(read_values(&w->target.F, text));
  if (s->learn.kernel_matrix[0] && s->data.labels[0] && !text[0]) {
    int *labels;
    ptrdiff_t n;
    EP_TRY(ep_labels_read(&labels, &n, s->data.labels));
    const ep_status st = (double)n == spectrum->size
                             ? label_target(w, labels, n)
                             : EP_FAIL(EP_ERR_SHAPE, "%s: %td labels for a kernel of %.0f points",
                                       s->data.labels, n, spectrum->size);
    ep_labels_free(labels);
    EP_TRY(st);
  }
  w->white = !w->target.F.data && w->target.degrees == 0;
  w->total = 1;
  if (w->white) return EP_OK;
  ep_mat room;
  EP_TRY(ep_mat_new(&room, EP_DOUBLE, 1, spectrum->levels));
  w->power = room.data;
  EP_TRY(ep_domain_power(w->power, w->domain, &w->target));
  w->total = 0;
  for (ptrdiff_t k = 0; k < spectrum->levels; k++) w->total += w->power[k];
  EP_CHECK(w->total > 0 && isfinite(w->total), EP_ERR_INPUT, "the target is 0 everywhere");
  return EP_OK;
}

/* ---- the numbers of training points */

static ep_status add_train(learn_work *w, double n) {
  const double M = ep_domain_spectrum(w->domain)->size;
  EP_CHECK(n >= 1 && n == floor(n) && n < 1e9, EP_ERR_ARG,
           "%g training points: give a whole number", n);
  EP_CHECK(n <= M || (w->target.F.data && ep_domain_kind_of(w->domain) == EP_SAMPLE), EP_ERR_ARG,
           "%g training points: the domain has %.0f", n, M);
  EP_CHECK(w->curve < LEARN_CURVE, EP_ERR_ARG, "--trains takes at most %d numbers",
           LEARN_CURVE - 1);
  int at = 0;
  while (at < w->curve && w->n[at] < n) at++;
  if (at == w->curve || w->n[at] != n) {
    memmove(&w->n[at + 1], &w->n[at], (size_t)(w->curve - at) * sizeof *w->n);
    w->n[at] = n;
    w->curve++;
  }
  return EP_OK;
}

static ep_status read_trains(learn_work *w, const setup_learn *s) {
  const double M = ep_domain_spectrum(w->domain)->size, most = fmax(1, fmin(floor(M / 2), 1000));
  for (const char *text = s->learn.trains; *text;) {
    char *end;
    const double n = strtod(text, &end);
    EP_CHECK(end > text && (*end == ',' || !*end), EP_ERR_ARG,
             "--trains %s: numbers with commas between", s->learn.trains);
    EP_TRY(add_train(w, n));
    text = *end ? end + 1 : end;
  }
  const double steps[] = {1, 2, 5};
  /* a page of one n shows what is around it */
  const double end = s->learn.train ? fmin(M, 4 * (double)s->learn.train + 1) : most;
  const bool wanted = !s->learn.trains[0] && (!s->learn.train || s->learn.report[0]);
  for (int i = 0; wanted && i < 9; i++) {
    const int decade = 1 + i / 3;
    const double n = steps[i % 3] * pow(10, decade);
    if (n < end) EP_TRY(add_train(w, n));
  }
  EP_CHECK((double)s->learn.train <= M, EP_ERR_ARG,
           "--train %ld: there are %.0f points; --trains %ld says what more would bring",
           s->learn.train, M, s->learn.train);
  if (s->learn.train) EP_TRY(add_train(w, (double)s->learn.train));
  else if (w->curve == 0 || w->n[0] > M) EP_TRY(add_train(w, most));
  else if (!s->learn.trains[0]) EP_TRY(add_train(w, most));
  while (w->within < w->curve && w->n[w->within] <= M) w->within++;
  w->at = w->within - 1;
  for (int i = 0; i < w->within; i++)
    if (w->n[i] == (double)s->learn.train) w->at = i;
  return EP_OK;
}

/* ---- the work */

/* n beyond the points there are */
static ep_status learn_beyond(learn_work *w, const setup_learn *s) {
  ep_learn_law law;
  if (w->within == w->curve) return EP_OK;
  EP_TRY(ep_learn_beyond(&law, w->domain, &w->target, s->learn.ridge,
                         s->learn.noise * s->learn.noise, (uint64_t)s->run.seed,
                         ep_run_memory_left(&s->run)));
  for (int i = w->within; i < w->curve; i++)
    ep_learn_beyond_at(&w->predicted[i], &w->low[i], &w->high[i], &law, w->n[i]);
  return EP_OK;
}

static ep_status learn(learn_work *w, const setup_learn *s) {
  const ep_spectrum *spectrum = ep_domain_spectrum(w->domain);
  ep_mat room;
  EP_TRY(ep_mat_new(&room, EP_DOUBLE, 1, spectrum->levels));
  w->L = room.data;
  if (s->learn.measure) EP_TRY(ep_mat_new(&room, EP_DOUBLE, 1, spectrum->levels));
  if (s->learn.measure) w->T = room.data;
  for (int i = 0; i < w->within; i++) {
    const ep_training_set t = {w->n[i], s->learn.ridge, s->learn.noise * s->learn.noise};
    EP_TRY(ep_learn_predict(&w->predicted[i], i == w->at ? w->L : NULL, spectrum, w->power, &t));
    if (!s->learn.measure) continue;
    EP_TRY(ep_domain_measure(&w->measured[i], i == w->at ? w->T : NULL, w->domain, &w->target, &t,
                             (int)s->learn.measure, (uint64_t)s->run.seed,
                             ep_run_memory_left(&s->run)));
  }
  return learn_beyond(w, s);
}

static void release(learn_work *w) {
  ep_mat room[] = {ep_mat_view(EP_DOUBLE, 1, 1, w->L), ep_mat_view(EP_DOUBLE, 1, 1, w->T),
                   ep_mat_view(EP_DOUBLE, 1, 1, w->power)};
  for (int i = 0; i < 3; i++) ep_mat_free(&room[i]);
  ep_mat_free(&w->target.F);
  ep_domain_free(w->domain);
}

ep_status cmd_learnability(int argc, char **argv) {
  static setup_learn s;
  static learn_work w;
  ep_option_group groups[6];
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  const char *const outputs[] = {s.learn.out, NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  ep_status st = s.learn.kernel_matrix[0] ? matrix_domain(&w, &s) : data_domain(&w, &s);
  if (!st) st = read_target(&w, &s);
  if (!st) st = read_trains(&w, &s);
  if (!st) st = make_report_folder(s.learn.report);
  if (!st) st = learn(&w, &s);
  if (!st) st = learn_report(&w, &s, groups, argc, argv);
  release(&w);
  return st;
}
