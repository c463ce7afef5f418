#include "commands.h"
#include "core/words.h"

#include <string.h>

const ep_option cli_options[] = {CLI_OPTIONS(EP_OPT_ROW, cli_config){0}};

static ep_status unknown(const ep_option_group *groups, const char *name) {
  const char *best = NULL;
  size_t least = 4;
  for (const ep_option_group *g = groups; g->table; g++)
    for (const ep_option *o = g->table; o->name; o++)
      if (ep_word_edits(name, o->name) < least)
        least = ep_word_edits(name, o->name), best = o->name;
  char nearest[64] = "";
  for (size_t i = 0; best && best[i] && i < 63; i++)
    nearest[i] = best[i] == '_' ? '-' : best[i], nearest[i + 1] = '\0';
  return best ? EP_FAIL(EP_ERR_ARG, "no option --%s; did you mean --%s?", name, nearest)
              : EP_FAIL(EP_ERR_ARG, "no option --%s (see --help)", name);
}

/* --name, or the one letter of -k: where the name begins; NULL: no flag */
static const char *flag_name(const char *word) {
  if (strncmp(word, "--", 2) == 0) return word + 2;
  return word[0] == '-' && word[1] >= 'a' && word[1] <= 'z' && !word[2] ? word + 1 : NULL;
}

static const ep_option *find_option(const ep_option_group **group, const ep_option_group *groups,
                                    const char *name) {
  for (const ep_option_group *g = groups; g->table; g++) {
    const ep_option *row = ep_options_find(g->table, name);
    if (row) return *group = g, row;
  }
  return NULL;
}

/* The first word that is no option is --data; probe, which has none, takes labels from it. */
static ep_status take_data(const ep_option_group *groups, const char *word, bool *taken, int argc,
                           char **argv) {
  const ep_option_group *g = NULL;
  const ep_option *row = find_option(&g, groups, "data");
  const bool data = row;
  if (!row) row = find_option(&g, groups, "labels");
  EP_CHECK(row && !*taken, EP_ERR_ARG, "'%s' is not an option (options begin with --)", word);
  EP_CHECK(!args_peek(argc, argv, data ? "--data" : "--labels"), EP_ERR_ARG,
           "'%s' and --%s both say what the data are; give one", word, row->name);
  *taken = true;
  return ep_options_set(row, g->config, word);
}

ep_status args_parse(const ep_option_group *groups, int argc, char **argv, const char **positional,
                     int most, int *count) {
  bool taken = false;
  if (count) *count = 0;
  for (int i = 1; i < argc; i++) {
    const char *flag = flag_name(argv[i]);
    if (!flag && !count) {
      EP_TRY(take_data(groups, argv[i], &taken, argc, argv));
      continue;
    }
    if (!flag) {
      EP_CHECK(*count < most, EP_ERR_ARG, "'%s' is not an option (options begin with --)", argv[i]);
      positional[(*count)++] = argv[i];
      continue;
    }
    char name[64];
    const size_t length = strcspn(flag, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), flag);
    const char *value = flag[length] ? flag + length + 1 : NULL;
    const ep_option_group *g = groups;
    const ep_option *row = find_option(&g, groups, name);
    EP_CHECK(name[0], EP_ERR_ARG, "'%s' names no option", argv[i]);
    if (!row) return unknown(groups, name);
    if (row->kind == EP_OPT_FLAG) {
      EP_CHECK(!value, EP_ERR_ARG, "--%s takes no value", name);
      value = "true";
    } else if (!value) {
      EP_CHECK(i + 1 < argc, EP_ERR_ARG, "--%s needs a value", name);
      value = argv[++i];
    }
    EP_TRY(ep_options_set(row, g->config, value));
  }
  return EP_OK;
}

void args_help(const ep_option_group *groups, FILE *to) {
  for (const ep_option_group *g = groups; g->table; g++) {
    fprintf(to, "\n%s\n", g->title);
    ep_options_help(g->table, to);
  }
}

const char *args_peek(int argc, char **argv, const char *flag) {
  const size_t n = strlen(flag);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], flag) == 0 && i + 1 < argc) return argv[i + 1];
    if (strncmp(argv[i], flag, n) == 0 && argv[i][n] == '=') return argv[i] + n + 1;
  }
  return NULL;
}
