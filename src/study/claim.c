/* What a claim's check hands back. */
#include <eigenpair/claim.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static ep_status nomem(void) { return EP_FAIL(EP_ERR_NOMEM, "no memory for a claim's result"); }

ep_status ep_claim_result_new(ep_claim_result *out) {
  *out = (ep_claim_result){.measured = json_object(),
                           .figures = json_array(),
                           .notes = json_array(),
                           .found = json_array()};
  if (out->measured && out->figures && out->notes && out->found) return EP_OK;
  ep_claim_result_free(out);
  return nomem();
}

void ep_claim_result_free(ep_claim_result *r) {
  json_decref(r->measured);
  json_decref(r->figures);
  json_decref(r->notes);
  json_decref(r->found);
  *r = (ep_claim_result){0};
}

ep_status ep_claim_measure(ep_claim_result *r, const char *name, double value) {
  return json_object_set_new(r->measured, name, ep_json_number(value)) ? nomem() : EP_OK;
}

ep_status ep_claim_measure_all(ep_claim_result *r, const char *name, const double *value,
                               ptrdiff_t count) {
  return json_object_set_new(r->measured, name, ep_json_numbers(value, count)) ? nomem() : EP_OK;
}

ep_status ep_claim_measure_within(ep_claim_result *r, const char *name, double value, double low,
                                  double high) {
  char end[160];
  EP_TRY(ep_claim_measure(r, name, value));
  snprintf(end, sizeof end, "%s_low", name);
  EP_TRY(ep_claim_measure(r, end, low));
  snprintf(end, sizeof end, "%s_high", name);
  return ep_claim_measure(r, end, high);
}

ep_status ep_claim_figure(ep_claim_result *r, json_t *figure) {
  return json_array_append_new(r->figures, figure) ? nomem() : EP_OK;
}

ep_status ep_claim_note(ep_claim_result *r, const char *sentence) {
  return json_array_append_new(r->notes, json_string(sentence)) ? nomem() : EP_OK;
}

ep_status ep_claim_found(ep_claim_result *r, const char *format, ...) {
  char sentence[800];
  va_list values;
  va_start(values, format);
  vsnprintf(sentence, sizeof sentence, format, values);
  va_end(values);
  return json_array_append_new(r->found, json_string(sentence)) ? nomem() : EP_OK;
}
