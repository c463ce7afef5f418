/* WIDE's figures on photographs, the check that the paper's summary names next. */
#include "study/wide.h"

#include <string.h>

static const struct {
  const char *name;
  wide_check_on *check;
  bool quick;
} figures[] = {{"fig1", wide_fig1_on, true},    {"fig3", wide_fig3_on, false},
               {"fig4l", wide_fig4l_on, false}, {"fig4m", wide_fig4m_on, false},
               {"fig4r", wide_fig4r_on, false}, {"fig5l", wide_fig5l_on, true},
               {"fig5m", wide_fig5m_on, false}};
enum { FIGURES = sizeof figures / sizeof *figures };

/* The results of one figure become part of all of them, its name before theirs. */
static ep_status take(ep_claim_result *r, const ep_claim_result *one, const char *name) {
  char full[160];
  json_t *value;
  size_t i;
  for (const ep_claim_number *n = one->measured; n < one->measured + one->numbers; n++) {
    snprintf(full, sizeof full, "%s: %.140s", name, n->name);
    EP_TRY(ep_claim_measure_as(r, full, n));
  }
  json_array_foreach(one->figures, i, value) {
    snprintf(full, sizeof full, "%s-%s", name, json_string_value(json_object_get(value, "name")));
    EP_TRY(ep_json_put(value, "name", json_string(full)));
    EP_TRY(ep_claim_figure(r, json_incref(value)));
  }
  json_array_foreach(one->notes, i, value) {
    snprintf(full, sizeof full, "%s: ", name);
    json_t *note = json_sprintf("%s%s", full, json_string_value(value));
    EP_TRY(ep_json_append(r->notes, note));
  }
  EP_TRY(ep_claim_measure(r, name, one->pass));
  r->pass = r->pass && one->pass;
  return EP_OK;
}

/* the sizes are those of the quick run, on images four times as large; --paper has the paper's */
ep_status wide_cifar(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const bool quick = size == EP_CLAIM_QUICK;
  const char *images = quick ? "sphere:20" : "cifar10";
  r->pass = true;
  for (int i = 0; i < FIGURES; i++) {
    ep_claim_result one;
    if (quick && !figures[i].quick) continue;
    EP_TRY(ep_run_step("figures", i, FIGURES));
    EP_TRY(ep_claim_result_new(&one));
    ep_status st =
        figures[i].check(&one, size == EP_CLAIM_PAPER ? size : EP_CLAIM_QUICK, run, images);
    if (!st) st = take(r, &one, figures[i].name);
    if (!st)
      st = ep_claim_found(r, "%s on %s: %s by its own criterion.", figures[i].name, images,
                          one.pass ? "holds" : "does not hold");
    ep_claim_result_free(&one);
    EP_TRY(st);
  }
  return EP_OK;
}
