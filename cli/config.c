/* The config of a result: every option, which of them were given, and the words beside them; --config of it repeats the run. */
#include "commands.h"

#include <string.h>

static json_t *kept; /* what --config said */

ep_status config_keep(const json_t *config) {
  json_decref(kept);
  return ep_json_copy(&kept, config);
}

bool config_gives(const char *option) {
  size_t i;
  const json_t *name;
  json_array_foreach(json_object_get(kept, "given"), i, name) {
    if (json_is_string(name) && strcmp(json_string_value(name), option) == 0) return true;
  }
  return false;
}

void config_words(const char **words, int most, int *count) {
  size_t i;
  const json_t *word;
  if (*count > 0) return;
  json_array_foreach(json_object_get(kept, "words"), i, word) {
    if (json_is_string(word) && *count < most) words[(*count)++] = json_string_value(word);
  }
}

static ep_status fill(json_t *config, const ep_option_group *groups, const char *const *words,
                      int count, int argc, char **argv) {
  json_t *given = json_array(), *beside = json_array();
  EP_TRY(ep_json_put(config, "given", given));
  EP_TRY(ep_json_put(config, "words", beside));
  for (const ep_option_group *g = groups; g->table; g++) {
    if (g->table == cli_options) continue;
    EP_TRY(ep_options_to_json(config, g->table, g->config));
    for (const ep_option *o = g->table; o->name; o++)
      if (args_has(argc, argv, o->name)) EP_TRY(ep_json_append(given, json_string(o->name)));
  }
  for (int i = 0; i < count; i++) EP_TRY(ep_json_append(beside, json_string(words[i])));
  return EP_OK;
}

json_t *config_of_run(const ep_option_group *groups, const char *const *words, int count, int argc,
                      char **argv) {
  json_t *config = json_object();
  if (config && fill(config, groups, words, count, argc, argv)) json_decref(config), config = NULL;
  return config;
}
