/* phi(x) = x. */
#include "map/map.h"

typedef struct {
  ep_map head;
  ep_precision prec;
} raw;

static ep_status new_raw(ep_map **out, ptrdiff_t inputs, ep_psi psi, ep_precision prec) {
  EP_TRY(ep_map_new(out, sizeof(raw), &ep_map_raw, inputs, inputs, psi));
  ((raw *)(void *)*out)->prec = prec;
  return EP_OK;
}

static ep_status make(ep_map **out, const ep_map_plan *plan) {
  return new_raw(out, plan->points->X.cols, plan->psi, plan->points->X.prec);
}

static ep_status rows(const ep_mat *Phi, const ep_map *map, const ep_mat *X) {
  (void)map;
  ep_mat_copy(Phi, X);
  return EP_OK;
}

static double none(const ep_map *map) { return 0 * (double)map->count; }
static double nothing(const ep_map *map, ep_precision prec) { return (void)prec, none(map); }

static ep_status keep(ep_term *out, ep_map *map, const ep_mat *W) {
  return ep_term_of_weights(out, map, W, ((const raw *)(const void *)map)->prec);
}

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  (void)config;
  return ep_npz_add_matrix(file, "W", &term->C, false);
}

static ep_status read(ep_term *out, const ep_term_source *from) {
  EP_TRY(ep_term_matrix(&out->C, from, "W"));
  out->outputs = out->C.cols;
  return new_raw(&out->map, out->C.rows, from->psi, from->prec);
}

static void describe(char text[EP_DESCRIPTION], const ep_term *term) {
  snprintf(text, EP_DESCRIPTION, "features as they are: %td -> %td", term->map->count,
           term->outputs);
}

const ep_map_kind ep_map_raw = {.name = "raw",
                                .help = "raw: the points as they are",
                                .make = make,
                                .rows = rows,
                                .scaled = true,
                                .similarity = true,
                                .flops = none,
                                .scratch = nothing,
                                .keep = keep,
                                .write = write,
                                .read = read,
                                .describe = describe};
