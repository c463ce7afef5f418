/* Configs of models and checkpoints: JSON to a setup, and back */
#include "tree.h"
#include "use.h"

#include <eigenpair/json.h>
#include <eigenpair/method.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char *text = malloc(size + 1);
  json_t *object, *a, *b;
  ep_setup s, again;
  if (size) memcpy(text, bytes, size);
  text[size] = 0;
  ep_setup_default(&s);
  ep_setup_default(&again);
  if (!ep_json_parse(&object, text, 1e9, "x")) {
    if (!ep_setup_from_json(&s, object)) {
      if (ep_setup_to_json(&a, &s) || ep_setup_from_json(&again, a) || ep_setup_to_json(&b, &again))
        abort();
      if (!json_equal(a, b)) abort();
      json_decref(a);
      json_decref(b);
    }
    json_decref(object);
  }
  free(text);
  if (ep_mem_current() != 0) abort();
  return 0;
}
