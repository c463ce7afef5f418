/* Stacks of layers of whitened patches (theory: section 11): layers one behind the other, several such rows side by side.
 *
 *   stack:KxP[,one|two][,active=F][,zca=R][,near=r][,keep=L][,pool=g][,mirror][,root]     K filters of P x P pixels; then
 *     /  the next layer, whose image is what the one before pooled to g x g
 *     +  another scale, from the image again; the outputs of all scales stand side by side */
#include "core/crew.h"
#include "core/mem.h"
#include "map/map.h"

#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = EP_STACK_LAYERS, IMAGES = 2000 };
typedef ep_stack stack;

static const stack *cast(const ep_map *map) { return (const void *)map; }

/* ---- the text */

static const char *const how =
    "write stack:KxP[,one|two][,active=F][,zca=R][,near=r][,keep=L][,pool=g][,mirror][,root], "
    "layers with / and scales with + between them, such as stack:512x6,near=3,keep=128,pool=3";

static bool number(double *out, const char *text, double lo, double hi, bool whole) {
  char *end;
  const double x = strtod(text, &end);
  if (end == text || *end || !(x >= lo && x <= hi) || (whole && x != floor(x))) return false;
  *out = x;
  return true;
}

/* a word behind the sizes: name, or name=value */
static bool set_word(ep_coder *l, const char *word) {
  double x = 0;
  bool fine = true;
  if (strcmp(word, "one") == 0) l->two = false;
  else if (strcmp(word, "two") == 0) l->two = true;
  else if (strcmp(word, "mirror") == 0) l->mirror = true;
  else if (strcmp(word, "root") == 0) l->root = true;
  else if (strncmp(word, "active=", 7) == 0)
    fine = number(&x, word + 7, 1e-6, 0.5, false), l->active = x;
  else if (strncmp(word, "zca=", 4) == 0) fine = number(&x, word + 4, 0, 1e6, false), l->zca = x;
  else if (strncmp(word, "near=", 5) == 0)
    fine = number(&x, word + 5, 1, 1000, true), l->near = (ptrdiff_t)x;
  else if (strncmp(word, "keep=", 5) == 0)
    fine = number(&x, word + 5, 1, 1e6, true), l->keep = (ptrdiff_t)x;
  else if (strncmp(word, "pool=", 5) == 0)
    fine = number(&x, word + 5, 1, 1000, true), l->grid = (ptrdiff_t)x;
  else fine = false;
  return fine;
}

static ep_status parse_layer(ep_coder *l, char *text, const char *all) {
  char *rest = text, *sizes = strsep(&rest, ",");
  int K = 0, P = 0, end = 0;
  *l = (ep_coder){.two = true, .active = 0.1, .zca = 0.01, .grid = 3};
  EP_CHECK(sscanf(sizes, "%7dx%4d%n", &K, &P, &end) == 2 && !sizes[end] && K > 0 && P > 0,
           EP_ERR_ARG, "--features '%s': '%s' is not KxP; %s", all, sizes, how);
  l->filters = K, l->size = P;
  for (char *word; (word = strsep(&rest, ","));)
    EP_CHECK(set_word(l, word), EP_ERR_ARG, "--features '%s': '%s' is wrong; %s", all, word, how);
  if (l->near && !l->keep) l->keep = l->filters / 4 > 0 ? l->filters / 4 : 1;
  EP_CHECK(!l->keep || l->near, EP_ERR_ARG, "--features '%s': keep goes with near=r; %s", all, how);
  return EP_OK;
}

/* ---- active=auto */

static const char open_share[] = "active=auto";

bool ep_features_share_open(const ep_feature_config *config) {
  return strstr(config->features, open_share) != NULL;
}

void ep_features_set_share(ep_feature_config *config, const char *open, double share) {
  char *to = config->features;
  for (const char *at; (at = strstr(open, open_share)); open = at + sizeof open_share - 1)
    to += sprintf(to, "%.*sactive=%.4g", (int)(at - open), open, share); /* no longer than auto */
  strcpy(to, open);
}

/* all layers, each with the shape of what goes into it */
static ep_status parse(stack *s, const char *text) {
  const char *at = strchr(text, ':');
  char part[sizeof s->text];
  snprintf(s->text, sizeof s->text, "%s", text);
  EP_CHECK(at, EP_ERR_ARG, "--features stack says nothing of its layers; %s", how);
  EP_CHECK(
      !strstr(text, open_share), EP_ERR_ARG,
      "--features '%s': active=auto goes with a fit by method whitened, which holds points out "
      "to choose it; give a share",
      text);
  EP_CHECK(s->shape.height > 0, EP_ERR_INPUT,
           "a stack needs images, and the data are plain vectors; give --image HxW or use dense "
           "features");
  for (char end = '+'; end; s->layers++) {
    const size_t n = strcspn(++at, "+/");
    EP_CHECK(s->layers < MOST_LAYERS, EP_ERR_ARG, "a stack has %d layers at most", MOST_LAYERS);
    memcpy(part, at, n);
    part[n] = '\0';
    ep_coder *l = &s->layer[s->layers];
    EP_TRY(parse_layer(l, part, text));
    s->starts[s->layers] = end == '+';
    l->in = end == '+' ? s->shape : ep_coder_out(l - 1);
    EP_TRY(ep_coder_check(l));
    at += n;
    end = *at;
  }
  s->starts[s->layers] = true;
  return EP_OK;
}

static ptrdiff_t size_of(ep_image_shape s) { return (ptrdiff_t)s.channels * s.height * s.width; }
static bool is_last(const stack *s, int k) { return s->starts[k + 1]; }

static void set_head(stack *s) {
  s->head.inputs = size_of(s->shape);
  s->head.count = 0;
  for (int k = 0; k < s->layers; k++)
    if (is_last(s, k)) s->head.count += size_of(ep_coder_out(&s->layer[k]));
}

/* ---- images through layers first .. last */

typedef struct {
  ep_coder_scratch scratch[MOST_LAYERS];
  ep_mat between[MOST_LAYERS]; /* (1, outputs of the layer) for the next one */
} bench;

static ep_status open_benches(ep_work *work, bench **out, const stack *s, int first, int last) {
  const int threads = ep_run_threads();
  EP_TRY(ep_work_get(work, out, threads, sizeof **out));
  for (int t = 0; t < threads; t++)
    for (int k = first; k <= last; k++) {
      bench *b = *out + t;
      EP_TRY(ep_coder_scratch_new(&b->scratch[k], work, &s->layer[k], s->prec));
      if (k < last && !is_last(s, k))
        EP_TRY(ep_work_mat(work, &b->between[k], s->prec, 1, size_of(ep_coder_out(&s->layer[k]))));
    }
  return EP_OK;
}

static void one_image(const ep_mat *phi, const stack *s, const ep_mat *image, int first, int last,
                      const bench *b) {
  ptrdiff_t at = 0;
  for (int k = first; k <= last; k++) {
    const ep_coder *l = &s->layer[k];
    const ptrdiff_t n = size_of(ep_coder_out(l));
    const ep_mat *in = k == first || s->starts[k] ? image : &b->between[k - 1];
    const bool ends = k == last || is_last(s, k);
    const ep_mat to = ends ? ep_mat_cols(phi, at, n) : b->between[k];
    EP_PICK(s->prec, ep_coder_image)(&to, l, in, &b->scratch[k]);
    if (ends) at += n;
  }
}

typedef struct {
  const ep_mat *Phi, *X;
  const stack *s;
  int first, last; /* layer */
  const bench *benches;
} images_loop;

static void some_images(void *of, ptrdiff_t first, ptrdiff_t end) {
  const images_loop *l = of;
  const bench *own = l->benches + ep_crew_thread();
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat phi = ep_mat_rows(l->Phi, i, 1), x = ep_mat_rows(l->X, i, 1);
    one_image(&phi, l->s, &x, l->first, l->last, own);
  }
}

static ep_status through(const ep_mat *Phi, const stack *s, const ep_mat *X, int first, int last) {
  ep_work work = {0};
  bench *benches = NULL;
  const ep_status st = open_benches(&work, &benches, s, first, last);
  images_loop l = {Phi, X, s, first, last, benches};
  if (!st) ep_crew_loop(X->rows, 1, true, some_images, &l);
  ep_work_free(&work);
  return st;
}

static ep_status rows(const ep_mat *Phi, const ep_map *map, const ep_mat *X) {
  const stack *s = cast(map);
  return through(Phi, s, X, 0, s->layers - 1);
}

/* ---- from points */

/* a draw of the points, at most IMAGES of them */
static ep_status draw_images(ep_work *work, ep_mat *X, const ep_map_plan *plan) {
  const ptrdiff_t all = ep_points_drawn(plan->points), n = all < IMAGES ? all : IMAGES;
  ptrdiff_t *order;
  EP_TRY(ep_work_mat(work, X, plan->points->X.prec, n, plan->points->X.cols));
  EP_TRY(ep_work_get(work, &order, n, sizeof *order));
  ep_random r = ep_random_new(plan->seed, EP_STREAM_PATCH, UINT32_MAX - 100);
  ep_random_some(&r, order, n, all);
  for (ptrdiff_t i = 0; i < n; i++) order[i] = ep_points_place(plan->points, order[i]);
  return ep_points_rows(X, plan->points, order, 0);
}

static ep_status find_layers(ep_work *work, stack *s, const ep_mat *images, uint64_t seed) {
  ep_mat in = *images;
  for (int k = 0; k < s->layers; k++) {
    if (s->starts[k]) in = *images;
    EP_TRY(ep_coder_fit(&s->layer[k], &in, seed, k));
    if (is_last(s, k)) continue;
    ep_mat next;
    EP_TRY(ep_work_mat(work, &next, s->prec, in.rows, size_of(ep_coder_out(&s->layer[k]))));
    EP_TRY(through(&next, s, &in, k, k));
    in = next;
  }
  return EP_OK;
}

static ep_status build(stack *s, const ep_map_plan *plan) {
  ep_work work = {0};
  ep_mat images;
  s->shape = plan->points->shape;
  s->prec = plan->points->X.prec;
  EP_TRY(parse(s, plan->feature->features));
  EP_CHECK(plan->points->X.rows > 0, EP_ERR_INPUT, "there are no points to draw patches from");
  ep_status st = draw_images(&work, &images, plan);
  if (!st) st = find_layers(&work, s, &images, plan->seed);
  ep_work_free(&work);
  set_head(s);
  return st;
}

static ep_status make(ep_map **out, const ep_map_plan *plan) {
  EP_CHECK(!plan->net->init[0], EP_ERR_ARG, "--init goes with dense features");
  EP_TRY(ep_map_new(out, sizeof(stack), &ep_map_stack, 0, 0, plan->psi));
  const ep_status st = build((void *)*out, plan);
  if (st) ep_map_free(*out), *out = NULL;
  return st;
}

/* ---- what it costs */

static double flops(const ep_map *map) {
  double sum = 0;
  for (int k = 0; k < cast(map)->layers; k++) sum += ep_coder_flops(&cast(map)->layer[k]);
  return sum;
}

static double scratch(const ep_map *map, ep_precision prec) {
  (void)map, (void)prec;
  return 0; /* of a thread, not of a point */
}

static void describe(char text[EP_DESCRIPTION], const ep_term *term) {
  const stack *s = cast(term->map);
  snprintf(text, EP_DESCRIPTION, "features %s: %td -> %td -> %td", s->text, s->head.inputs,
           s->head.count, term->outputs);
}

static bool explain(char text[EP_DESCRIPTION], const ep_map *map, int line) {
  const stack *s = cast(map);
  if (line >= s->layers) return false;
  const ep_coder *l = &s->layer[line];
  const ep_image_shape to = ep_coder_out(l);
  char near[80] = "";
  if (l->near)
    snprintf(near, sizeof near, ", neighbours %td apart: %td -> %td", l->near, ep_coder_codes(l),
             l->keep);
  snprintf(
      text, EP_DESCRIPTION,
      "layer %d  %s%d x %d x %d: %td filters of %td x %td pixels, zca %g, %s, %g %% active above "
      "%.4g%s, pooled to %d x %d x %d%s%s; %.3g Mflop an image, %.1f MiB",
      line + 1, s->starts[line] ? "" : "after that, ", l->in.channels, l->in.height, l->in.width,
      l->filters, l->size, l->size, l->zca, l->two ? "two sides" : "one side", 100 * l->active,
      l->theta, near, to.channels, to.height, to.width, l->mirror ? ", as is its mirror image" : "",
      l->root ? ", roots" : "", ep_coder_flops(l) / 1e6, ep_coder_bytes(l, s->prec) / 1048576);
  return true;
}

/* ---- files: W; of layer k meank, zcak, Fk, levelk (floor and theta), Ek, shiftk; the text in the config */

static ep_status keep(ep_term *out, ep_map *map, const ep_mat *W) {
  return ep_term_of_weights(out, map, W, cast(map)->prec);
}

/* the arrays of a layer, in the order of their names */
enum { ARRAYS = 5 };
static ep_mat *array_of(ep_coder *l, int i, char name[16], int number) {
  static const char *const names[ARRAYS] = {"mean", "zca", "F", "E", "shift"};
  ep_mat *const all[ARRAYS] = {&l->mean, &l->whiten, &l->F, &l->E, &l->shift};
  snprintf(name, 16, "%s%d", names[i], number + 1);
  return i >= 3 && !l->keep ? NULL : all[i];
}

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  stack *s = (void *)term->map;
  json_t *levels = json_array();
  for (int k = 0; k < s->layers; k++)
    (void)json_array_append_new(levels, json_pack("[f,f]", s->layer[k].floor, s->layer[k].theta));
  EP_CHECK(json_object_set_new(config, "stack_levels", levels) == 0 &&
               json_array_size(levels) == (size_t)s->layers &&
               json_object_set_new(config, "stack", json_string(s->text)) == 0 &&
               json_object_set_new(
                   config, "image_shape",
                   json_pack("[i,i,i]", s->shape.channels, s->shape.height, s->shape.width)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  EP_TRY(ep_npz_add_matrix(file, "W", &term->C, false));
  for (int k = 0; k < s->layers; k++)
    for (int i = 0; i < ARRAYS; i++) {
      char name[16];
      const ep_mat *A = array_of(&s->layer[k], i, name, k);
      if (A) EP_TRY(ep_npz_add_matrix(file, name, A, false));
    }
  return EP_OK;
}

static ep_status read_config(stack *s, const ep_term_source *from) {
  const char *text;
  int c, h, w;
  EP_CHECK(json_unpack((json_t *)from->config, "{s:s, s:[i,i,i]}", "stack", &text, "image_shape",
                       &c, &h, &w) == 0 &&
               strlen(text) < sizeof s->text && c > 0 && h > 0 && w > 0 && c < 10000 && h < 65536 &&
               w < 65536,
           EP_ERR_INPUT, "%s: its config does not say what its layers are", from->path);
  s->shape = (ep_image_shape){c, h, w};
  s->prec = from->prec;
  EP_TRY(parse(s, text));
  const json_t *levels = json_object_get(from->config, "stack_levels");
  for (int k = 0; k < s->layers; k++) {
    const json_t *level = json_array_get(levels, (size_t)k);
    ep_coder *l = &s->layer[k];
    l->floor = json_number_value(json_array_get(level, 0));
    l->theta = json_number_value(json_array_get(level, 1));
    EP_CHECK(l->floor > 0 && isfinite(l->floor) && l->theta >= 0 && isfinite(l->theta),
             EP_ERR_INPUT, "%s: layer %d has no contrast or threshold", from->path, k + 1);
  }
  return EP_OK;
}

static ep_status read_layer(ep_coder *l, const ep_term_source *from, int number) {
  const ptrdiff_t d = ep_coder_numbers(l), M = ep_coder_codes(l);
  const ptrdiff_t shape[ARRAYS][2] = {{1, d}, {d, d}, {l->filters, d}, {M, l->keep}, {1, l->keep}};
  for (int i = 0; i < ARRAYS; i++) {
    char name[16];
    ep_mat *A = array_of(l, i, name, number);
    if (!A) continue;
    EP_TRY(ep_term_matrix(A, from, name));
    EP_CHECK(A->rows == shape[i][0] && A->cols == shape[i][1], EP_ERR_SHAPE,
             "%s: %s is %td x %td, its layer needs %td x %td", from->path, name, A->rows, A->cols,
             shape[i][0], shape[i][1]);
  }
  const ep_status st = ep_coder_ready(l);
  EP_CHECK(st != EP_ERR_INPUT, st, "%s: zca%d is no whitening, it is singular", from->path,
           number + 1);
  return st;
}

static ep_status read(ep_term *out, const ep_term_source *from) {
  EP_TRY(ep_map_new(&out->map, sizeof(stack), &ep_map_stack, 0, 0, from->psi));
  stack *s = (void *)out->map;
  EP_TRY(read_config(s, from));
  for (int k = 0; k < s->layers; k++) EP_TRY(read_layer(&s->layer[k], from, k));
  EP_TRY(ep_term_matrix(&out->C, from, "W"));
  set_head(s);
  out->outputs = out->C.cols;
  EP_CHECK(out->C.rows == s->head.count, EP_ERR_SHAPE, "%s: W does not fit its layers", from->path);
  return EP_OK;
}

static void release(ep_map *map) {
  stack *s = (void *)map;
  for (int k = 0; k < MOST_LAYERS; k++) ep_coder_free(&s->layer[k]);
}

const ep_map_kind ep_map_stack = {.name = "stack",
                                  .help = "layers of whitened patches of images",
                                  .make = make,
                                  .rows = rows,
                                  .scaled = true,
                                  .similarity = true,
                                  .flops = flops,
                                  .scratch = scratch,
                                  .keep = keep,
                                  .write = write,
                                  .read = read,
                                  .describe = describe,
                                  .explain = explain,
                                  .free = release};
