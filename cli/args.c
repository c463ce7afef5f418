#include "commands.h"
#include "core/file.h"
#include "core/mem.h"
#include "core/words.h"

#include <eigenpair/json.h>
#include <string.h>
#include <strings.h>

const ep_option cli_options[] = {CLI_OPTIONS(EP_OPT_ROW, cli_config){0}};

static ep_status unknown(const ep_option_group *groups, const char *name) {
  const char *best = NULL;
  size_t least = 4;
  for (const ep_option_group *g = groups; g->table; g++)
    for (const ep_option *o = g->table; o->name; o++) ep_word_nearer(&best, &least, name, o->name);
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

static ep_status config_text(char **text, const char *path) {
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  const ep_status st = ep_npz_get_text(text, file, "config");
  ep_npz_close(file);
  return st;
}

static ep_status read_config(json_t **out, const char *path, double room) {
  unsigned char *bytes;
  char *text;
  size_t size;
  if (strlen(path) > 4 && strcmp(path + strlen(path) - 4, ".npz") == 0) {
    EP_TRY(config_text(&text, path));
    const ep_status st = ep_json_parse(out, text, room, path);
    ep_npz_text_free(text);
    return st;
  }
  EP_TRY(ep_file_read(&bytes, &size, path));
  const ep_status st = ep_json_parse(out, (char *)bytes, room, path);
  ep_release(bytes);
  return st;
}

/* --memory holds for what is read before there is a run, too */
static ep_status early_room(double *room, const ep_option_group *groups, int argc, char **argv) {
  const ep_option_group *g = NULL;
  const ep_option *row = find_option(&g, groups, "memory");
  const char *given = args_peek(argc, argv, "--memory");
  const bool ours = row && g->table == ep_run_options;
  const ep_run_config usual = {.memory = 0};
  if (ours && given) EP_TRY(ep_options_set(row, g->config, given));
  *room = ep_run_memory(ours && given ? g->config : &usual);
  return EP_OK;
}

/* Files to write are named on the command line alone: a config, or a model, may come from a stranger. `embedding` is written by
 * the command that has a trajectory, and read by others. */
static void leave_outputs(json_t *config, const ep_option *table) {
  static const char *const written[] = {"out",      "labels_out", "history", "checkpoint", "report",
                                        "variance", "trajectory", "basis",   "distances"};
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) json_object_del(config, written[i]);
  if (ep_options_find(table, "trajectory")) json_object_del(config, "embedding");
}

/* A result has its config in it, which may be that of another command: what these tables do not know is left. */
static ep_status take_config(const ep_option_group *groups, const char *path, double room) {
  json_t *all = NULL;
  EP_TRY(read_config(&all, path, room));
  json_t *inner = json_object_get(all, "config");
  ep_status st = json_is_object(all) ? EP_OK : EP_FAIL(EP_ERR_INPUT, "%s: holds no options", path);
  if (!st) st = config_keep(inner ? inner : all);
  for (const ep_option_group *g = groups; !st && g->table; g++) {
    leave_outputs(inner ? inner : all, g->table);
    if (g->table != cli_options)
      st = ep_options_from_json(g->table, g->config, inner ? inner : all);
  }
  json_decref(all);
  return st;
}

/* the name in the list, however it is written; NULL: none */
static const char *among(const char *(*names)(int i), const char *word) {
  for (int i = 0; names && names(i); i++)
    if (strcasecmp(names(i), word) == 0) return names(i);
  return NULL;
}

/* A loss in the place of a method: what trains with it. */
static ep_status check_method(const ep_option *row, const char *value, const char *name) {
  const char *loss = among(ep_loss_name, name);
  EP_CHECK(strcmp(row->name, "method") != 0 || among(row->names, name) || !loss, EP_ERR_ARG,
           "--method '%s' is a loss here: --method gd --loss %s trains with it", value, loss);
  return EP_OK;
}

/* Names that people know, and what they are here. */
static const char *alias(const ep_option *row, const char *value) {
  static const char *const known[][3] = {
      {"loss", "infonce", "softmax"},       {"loss", "simclr", "ntxent"},
      {"loss", "nt-xent", "ntxent"},        {"loss", "barlow-twins", "barlow"},
      {"method", "infonce", "softmax"},     {"method", "simclr", "ntxent"},
      {"method", "training", "gd"},         {"method", "sgd", "gd"},
      {"method", "ntk", "kernel"},          {"method", "nngp", "infinite"},
      {"activation", "identity", "linear"}, {"activation", "logistic", "sigmoid"}};
  const char *own =
      row->kind == EP_OPT_CHOICE || row->kind == EP_OPT_NAME ? among(row->names, value) : NULL;
  if (own) return own;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(row->name, known[i][0]) == 0 && strcasecmp(value, known[i][1]) == 0)
      return known[i][2];
  return value;
}

static ep_status set_option(const ep_option *row, void *config, const char *value) {
  const char *name = alias(row, value);
  EP_TRY(check_method(row, value, name));
  if (strcmp(name, value) != 0)
    fprintf(stderr, "note: --%s %s is %s here\n", row->name, value, name);
  return ep_options_set(row, config, name);
}

ep_status args_parse(const ep_option_group *groups, int argc, char **argv, const char **positional,
                     int most, int *count) {
  bool taken = false;
  const char *config = args_peek(argc, argv, "--config");
  if (count) *count = 0;
  if (config) {
    double room;
    EP_TRY(early_room(&room, groups, argc, argv));
    EP_TRY(take_config(groups, config, room));
  }
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
    EP_TRY(set_option(row, g->config, value));
  }
  return EP_OK;
}

/* Who looks at the tables in the place of printing them. */
static struct {
  void (*look)(const ep_option_group *groups, void *data);
  void *data;
} watch;

ep_status args_tables(const command *c, void (*look)(const ep_option_group *groups, void *data),
                      void *data) {
  FILE *nowhere = fopen("/dev/null", "w");
  EP_CHECK(nowhere, EP_ERR_IO, "/dev/null: cannot be opened");
  watch.look = look, watch.data = data;
  c->help(nowhere);
  watch.look = NULL;
  fclose(nowhere);
  return EP_OK;
}

void args_help(const ep_option_group *groups, FILE *to) {
  if (watch.look) return watch.look(groups, watch.data);
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
