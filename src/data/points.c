/* Data -> the distinct points and the pairs among them. */
#include "core/hash.h"
#include "core/mem.h"
#include "data/parse.h"

#include <eigenpair/dataset.h>
#include <math.h>
#include <string.h>

/* ---- pairs drawn from a data set: anchors, then each view of all anchors */

static ep_status parse_chain(ep_augment *chain, const ep_pair_config *config,
                             ep_image_shape shape) {
  const char *text = config->augment;
  if (!*text) text = shape.height > 0 ? "crop" : "noise:0.1";
  return ep_augment_parse(chain, text, shape);
}

static ep_status views(ep_points *out, const ep_dataset *set, const ep_augment *chain,
                       const ep_pair_plan *plan, const ep_run_config *run) {
  const ptrdiff_t n = set->X.rows;
  EP_TRY(ep_mat_new(&out->X, set->X.prec, n * (1 + plan->positives), set->X.cols));
  const ep_mat anchors = ep_mat_rows(&out->X, 0, n);
  ep_mat_copy(&anchors, &set->X);
  for (int v = 1; v <= plan->positives; v++) {
    const ep_mat view = ep_mat_rows(&out->X, v * n, n);
    EP_TRY(ep_augment_apply(&view, &set->X, chain, set->shape, (uint64_t)run->seed, 0, v));
  }
  return EP_OK;
}

static ep_status draw(ep_points *out, const ep_data_config *data, const ep_pair_config *config,
                      const char *default_pairs, const ep_run_config *run) {
  ep_dataset set;
  ep_pair_plan plan;
  ep_augment chain;
  EP_TRY(ep_pair_plan_parse(&plan, config->pairs[0] ? config->pairs : default_pairs));
  EP_CHECK(config->views == 0 || !config->pairs[0], EP_ERR_ARG,
           "give --pairs or --views, not both: --views R is R - 1 positives a point");
  EP_CHECK(config->views != 1, EP_ERR_ARG, "--views 1 makes no pair: two views at least");
  if (config->views > 0) plan.positives = (int)config->views - 1;
  EP_TRY(ep_dataset_load(&set, data, run));
  out->shape = set.shape;
  out->unit = ep_dataset_is_unit(&set, data);
  ep_status st = parse_chain(&chain, config, set.shape);
  if (!st) st = ep_pairs_draw(&out->pairs, set.X.rows, &plan, run->seed);
  if (!st) st = views(out, &set, &chain, &plan, run);
  ep_dataset_free(&set);
  return st;
}

/* ---- ready pairs: matrices of anchors, positives, negatives, stacked */

enum { MOST_FILES = 64 };
typedef struct {
  int count, positives; /* file 0: anchors, then positives, then negatives */
  ep_array array[MOST_FILES];
  char path[MOST_FILES][1024];
} pair_files;

static ep_status add_files(pair_files *f, const char *lines) {
  while (*lines) {
    const size_t length = strcspn(lines, "\n");
    EP_CHECK(f->count < MOST_FILES, EP_ERR_ARG, "more than %d files of pairs", MOST_FILES);
    EP_CHECK(length < sizeof f->path[0], EP_ERR_ARG, "path is too long: %.80s...", lines);
    memcpy(f->path[f->count], lines, length);
    EP_TRY(ep_array_read(&f->array[f->count], f->path[f->count]));
    f->count++;
    lines += length + (lines[length] == '\n');
  }
  return EP_OK;
}

static ep_status check_files(const pair_files *f) {
  const ep_array *a = &f->array[0];
  EP_CHECK(a->ndim >= 1 && ep_array_count(a) > 0, EP_ERR_INPUT, "%s: holds no points", f->path[0]);
  for (int i = 1; i < f->count; i++) {
    const ep_array *b = &f->array[i];
    EP_CHECK(b->ndim >= 1 && b->shape[0] == a->shape[0], EP_ERR_SHAPE,
             "%s has %td rows, but %s has %td: pairs are row by row", f->path[i],
             b->ndim ? b->shape[0] : 0, f->path[0], a->shape[0]);
    EP_CHECK(ep_array_row_length(b) == ep_array_row_length(a), EP_ERR_SHAPE,
             "%s has points of dimension %td, but %s of %td", f->path[i], ep_array_row_length(b),
             f->path[0], ep_array_row_length(a));
  }
  return EP_OK;
}

static ep_status stack_files(ep_points *out, const pair_files *f, ep_precision prec) {
  const ptrdiff_t n = f->array[0].shape[0];
  EP_TRY(ep_mat_new(&out->X, prec, n * f->count, ep_array_row_length(&f->array[0])));
  for (int i = 0; i < f->count; i++) {
    ep_mat one;
    const double factor = f->array[i].dtype == EP_U8 ? 1 / 255. : 1;
    EP_TRY(ep_array_to_matrix(&one, &f->array[i], NULL, n, factor, prec, f->path[i]));
    const ep_mat to = ep_mat_rows(&out->X, i * n, n);
    ep_mat_copy(&to, &one);
    ep_mat_free(&one);
  }
  return EP_OK;
}

static ep_status pair_up(ep_pairs *pairs, const pair_files *f) {
  const ptrdiff_t n = f->array[0].shape[0], partners = f->count - 1;
  EP_TRY(ep_pairs_new(pairs, n, n * f->count, n * partners, false));
  for (ptrdiff_t i = 0; i < n; i++) {
    pairs->anchor[i] = i;
    pairs->start[i + 1] = (i + 1) * partners;
    for (ptrdiff_t q = 0; q < partners; q++) {
      pairs->partner[i * partners + q] = (q + 1) * n + i;
      pairs->sign[i * partners + q] = q < f->positives ? 1 : -1;
    }
  }
  return EP_OK;
}

static ep_status read_files(ep_points *out, pair_files *f, const ep_data_config *data,
                            const ep_pair_config *config, const ep_run_config *run) {
  EP_TRY(add_files(f, config->anchors));
  EP_TRY(add_files(f, config->positives));
  f->positives = f->count - 1;
  EP_TRY(add_files(f, config->negatives));
  EP_TRY(check_files(f));
  EP_TRY(stack_files(out, f, ep_run_precision(run)));
  out->shape = ep_image_shape_of(&f->array[0]);
  if (data->image[0]) EP_TRY(ep_image_shape_parse(&out->shape, data->image, out->X.cols));
  return pair_up(&out->pairs, f);
}

static ep_status ready(ep_points *out, const ep_data_config *data, const ep_pair_config *config,
                       const ep_run_config *run) {
  EP_CHECK(!data->data[0], EP_ERR_ARG, "give --data or --anchors, not both");
  EP_CHECK(config->anchors[0] && config->positives[0], EP_ERR_ARG,
           "ready pairs need both --anchors and --positives");
  EP_CHECK(!config->pairs[0] && !config->augment[0] && data->samples == 0 && config->views == 0,
           EP_ERR_ARG,
           "--pairs, --views, --augment and --samples go with --data; ready pairs are taken as "
           "they are");
  pair_files *f = ep_alloc(1, sizeof *f);
  EP_CHECK(f, EP_ERR_NOMEM, "no memory for a list of files");
  const ep_status st = read_files(out, f, data, config, run);
  out->unit = strcmp(data->scale, "unit") == 0;
  for (int i = 0; i < MOST_FILES; i++) ep_array_free(&f->array[i]);
  ep_release(f);
  return st;
}

ep_status ep_points_load(ep_points *out, const ep_data_config *data, const ep_pair_config *pairs,
                         const char *default_pairs, const ep_run_config *run) {
  *out = (ep_points){0};
  const bool from_files = pairs->anchors[0] || pairs->positives[0] || pairs->negatives[0];
  ep_status st =
      from_files ? ready(out, data, pairs, run) : draw(out, data, pairs, default_pairs, run);
  if (!st && out->unit) ep_scale_to_unit(&out->X);
  if (!st) st = ep_pairs_merge_equal(&out->X, &out->pairs);
  if (st) ep_points_free(out);
  return st;
}

void ep_points_free(ep_points *p) {
  ep_mat_free(&p->X);
  ep_pairs_free(&p->pairs);
}

uint64_t ep_points_fingerprint(const ep_points *p) {
  uint64_t h = EP_HASH_START;
  const ptrdiff_t n = p->pairs.anchors, count = p->pairs.start[n];
  for (ptrdiff_t i = 0; i < p->X.rows; i++)
    h = ep_hash(h, ep_mat_rows(&p->X, i, 1).data, (size_t)p->X.cols * ep_sizeof(p->X.prec));
  h = ep_hash(h, p->pairs.anchor, (size_t)n * sizeof *p->pairs.anchor);
  h = ep_hash(h, p->pairs.partner, (size_t)count * sizeof *p->pairs.partner);
  return ep_hash(h, p->pairs.sign, (size_t)count);
}
