#include "commands.h"

#include "core/file.h"
#include "core/mem.h"

#include <string.h>
#include <unistd.h>

#define REPORT_OPTIONS(X, S) \
  X(S, TEXT, out, "report", 0, 0, NULL, "folder for the page, the result and the figures")
typedef struct {
  REPORT_OPTIONS(EP_OPT_FIELD, )
} report_config;
static const ep_option report_options[] = {REPORT_OPTIONS(EP_OPT_ROW, report_config){0}};

void help_report(FILE *to) {
  report_config config;
  cli_config cli;
  const ep_option_group groups[] = {
      {"Report", report_options, &config}, {"Output", cli_options, &cli}, {0}};
  fprintf(to,
          "\n  eigenpair report run/document.json --out again\n\n"
          "Makes a report from a saved document (`compare` and `reproduce` save theirs as "
          "document.json):\n"
          "OUT/report.html, complete in itself; OUT/result.json; OUT/figures/NAME.csv, and "
          "NAME.svg and NAME.png\n"
          "where node and rsvg-convert are installed.\n");
  args_help(groups, to);
}

static ep_status read_document(json_t **out, const char *path) {
  unsigned char *bytes;
  size_t size;
  json_error_t error;
  EP_TRY(ep_file_read(&bytes, &size, path));
  const ep_status st = ep_json_check((const char *)bytes, size, ep_run_room(), path);
  *out = st ? NULL : json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &error);
  ep_release(bytes);
  EP_TRY(st);
  EP_CHECK(*out, EP_ERR_INPUT, "%s: line %d, column %d: %s", path, error.line, error.column,
           error.text);
  return EP_OK;
}

/* How many figures there are, and how many of them have a file of this kind. */
static int figures_with(const char *folder, const json_t *document, const char *end, int *all) {
  size_t i, k;
  const json_t *s, *f;
  char path[1200];
  int found = *all = 0;
  json_array_foreach(json_object_get(document, "sections"), i, s)
      json_array_foreach(json_object_get(s, "figures"), k, f) {
    snprintf(path, sizeof path, "%s/figures/%s%s", folder,
             json_string_value(json_object_get(f, "name")), end);
    found += access(path, F_OK) == 0;
    ++*all;
  }
  return found;
}

static ep_status tell(const report_config *config, const cli_config *cli, const json_t *document) {
  int all;
  const int svg = figures_with(config->out, document, ".svg", &all);
  const int png = figures_with(config->out, document, ".png", &all);
  char page[1100];
  snprintf(page, sizeof page, "%s/report.html", config->out);
  if (cli->json)
    return print_json(json_pack("{s:s,s:i,s:i,s:i,s:s}", "report", page, "figures", all, "svg", svg,
                                "png", png, "version", ep_version()));
  printf("report   %s\n", page);
  printf("figures  %d as CSV, %d as SVG, %d as PNG%s\n", all, svg, png,
         all && !svg   ? " (drawing needs node)"
         : all && !png ? " (PNG needs rsvg-convert)"
                       : "");
  return EP_OK;
}

ep_status cmd_report(int argc, char **argv) {
  report_config config;
  cli_config cli;
  const ep_option_group groups[] = {
      {"Report", report_options, &config}, {"Output", cli_options, &cli}, {0}};
  const char *path;
  int count;
  json_t *document = NULL;
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, &path, 1, &count));
  EP_CHECK(count == 1, EP_ERR_ARG, "which document? Such as: eigenpair report document.json");
  ep_status st = read_document(&document, path);
  if (!st) st = ep_report_write(config.out, document);
  if (!st) st = tell(&config, &cli, document);
  json_decref(document);
  return st;
}
