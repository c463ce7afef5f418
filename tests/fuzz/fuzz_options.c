/* Options as on the command line, one "name value" a line; what is accepted survives the way to JSON and back */
#include "archive.h"
#include "use.h"

#include <eigenpair/json.h>
#include <eigenpair/method.h>

static void set(const ep_option_group *groups, const char *name, const char *value) {
  for (const ep_option_group *g = groups; g->table; g++) {
    const ep_option *row = ep_options_find(g->table, name);
    if (row) (void)ep_options_set(row, g->config, value);
  }
}

/* to JSON, back, and to JSON again */
static void there_and_back(const ep_setup *s) {
  json_t *a, *b;
  ep_setup again;
  ep_setup_default(&again);
  if (ep_setup_to_json(&a, s)) return; /* a text that is not UTF-8 */
  if (ep_setup_from_json(&again, a) || ep_setup_to_json(&b, &again) || !json_equal(a, b)) abort();
  json_decref(a);
  json_decref(b);
}

/* what the values are read with later on */
static void parse_names(const ep_setup *s) {
  ep_objective o;
  ep_activation phi;
  (void)ep_objective_parse(&o, &s->objective);
  (void)ep_activation_parse(&phi, s->net.activation);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char line[3000];
  ep_setup s;
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  ep_setup_default(&s);
  ep_setup_groups(groups, &s);
  for (size_t at = 0; at < size;) {
    size_t n = 0;
    while (at + n < size && bytes[at + n] != '\n' && n < sizeof line - 1) n++;
    memcpy(line, bytes + at, n);
    line[n] = 0;
    char *blank = strchr(line, ' ');
    if (blank) *blank = 0, set(groups, line, blank + 1);
    at += n + 1;
  }
  there_and_back(&s);
  parse_names(&s);
  if (ep_mem_current() != 0) abort();
  return 0;
}
