#include "commands.h"
#include "core/file.h"
#include "data/parse.h"

#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

/* Is it one of the files that are called like this? */
static bool matches_file(const char *pattern, const char *output) {
  glob_t found;
  bool same = false;
  if (!strpbrk(pattern, "*?[") || glob(pattern, 0, NULL, &found)) return false;
  for (size_t i = 0; !same && i < found.gl_pathc; i++)
    same = ep_file_same(found.gl_pathv[i], output);
  globfree(&found);
  return same;
}

/* Is it one of the pictures in this folder? */
static bool holds_picture(const char *folder, const char *output) {
  char at[PATH_MAX], of[PATH_MAX];
  if (!ep_picture_name(output) || !realpath(folder, at) || !realpath(output, of)) return false;
  const size_t n = strlen(at);
  return strncmp(at, of, n) == 0 && of[n] == '/';
}

/* Does the text, a path, path:part, pattern or folder, name the file that is at `output` now? */
static bool names_file(const char *text, const char *output) {
  char path[1024];
  snprintf(path, sizeof path, "%s", text);
  char *colon = strrchr(path, ':');
  if (!is_there(path) && matches_file(path, output)) return true;
  if (!is_there(path) && colon) *colon = '\0';
  return is_there(path) && (ep_file_same(path, output) || holds_picture(path, output));
}

static bool is_one_of(const char *const outputs[], const char *field) {
  for (int i = 0; outputs[i]; i++)
    if (outputs[i] == field) return true;
  return false;
}

/* A checkpoint is gone on from and written again: --resume and --checkpoint are no inputs here (fit looks at the first). */
static ep_status check_input(const ep_option *o, const char *text, const char *const outputs[]) {
  if ((o->kind != EP_OPT_TEXT && o->kind != EP_OPT_LIST) || is_one_of(outputs, text) ||
      strcmp(o->name, "resume") == 0 || strcmp(o->name, "checkpoint") == 0)
    return EP_OK;
  for (const char *line = text; *line;) {
    char one[1024], flag[64];
    const size_t n = strcspn(line, "\n");
    snprintf(one, sizeof one, "%.*s", (int)n, line);
    for (int i = 0; *one && outputs[i]; i++) {
      ep_options_flag(flag, o->name);
      EP_CHECK(!outputs[i][0] || !names_file(one, outputs[i]), EP_ERR_ARG,
               "%s: is read as --%s %s and would be overwritten; give the output another name",
               outputs[i], flag, one);
    }
    line += n + (line[n] == '\n');
  }
  return EP_OK;
}

/* --report FOLDER writes these as well. */
static ep_status check_report(const char *folder, const char *const outputs[]) {
  static const char *const names[] = {"report.html", "report.md", "result.json", "document.json"};
  for (int i = 0; *folder && outputs[i]; i++)
    for (size_t k = 0; outputs[i][0] && k < sizeof names / sizeof *names; k++) {
      char path[1100];
      snprintf(path, sizeof path, "%s/%s", folder, names[k]);
      EP_CHECK(!ep_file_same(path, outputs[i]), EP_ERR_ARG,
               "%s: --report writes a file of this name; give the output another", outputs[i]);
    }
  return EP_OK;
}

bool ends_in_csv(const char *path) {
  const size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".csv") == 0;
}

bool is_stdout(const char *path) {
  return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

ep_status check_no_csv(const char *path, const char *ending) {
  EP_CHECK(!ends_in_csv(path), EP_ERR_ARG,
           "%s: what is written is no CSV: name it %s (embed --out NAME.csv writes CSV)", path,
           ending);
  return EP_OK;
}

ep_status check_outputs(const char *const outputs[], const ep_option_group *groups) {
  for (int i = 0; outputs[i]; i++) {
    if (!outputs[i][0]) continue;
    EP_CHECK(!is_stdout(outputs[i]), EP_ERR_ARG,
             "%s: only embed writes to standard output, as CSV; give the name of a file (./- for "
             "one that is called so); --json prints results",
             outputs[i]);
    for (int j = 0; j < i; j++)
      EP_CHECK(!outputs[j][0] || !ep_file_same(outputs[i], outputs[j]), EP_ERR_ARG,
               "%s: two outputs have this name", outputs[i]);
    EP_TRY(ep_file_check_writable(outputs[i]));
  }
  for (const ep_option_group *g = groups; g->table; g++)
    for (const ep_option *o = g->table; o->name; o++) {
      EP_TRY(check_input(o, (const char *)g->config + o->offset, outputs));
      if (strcmp(o->name, "report") == 0)
        EP_TRY(check_report((const char *)g->config + o->offset, outputs));
    }
  return EP_OK;
}

const char *shell_word(char out[2100], const char *path) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+=@%:,";
  size_t n = 0;
  if (*path && strspn(path, plain) == strlen(path)) return path;
  out[n++] = '\'';
  for (; *path && n < 2090; path++) {
    if (*path == '\'') n += (size_t)snprintf(out + n, 6, "'\\''");
    else out[n++] = *path;
  }
  out[n++] = '\'';
  out[n] = '\0';
  return out;
}

void command_line(char text[4096], int argc, char **argv) {
  size_t used = (size_t)snprintf(text, 4096, "eigenpair");
  for (int i = 0; i < argc && used < 4000; i++) {
    char word[2100];
    used += (size_t)snprintf(text + used, 4096 - used, " %s", shell_word(word, argv[i]));
  }
}

json_t *number_json(double x) { return isfinite(x) ? json_real(x) : json_null(); }

double resident_peak(void) {
  char line[200];
  double kilobytes = NAN;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, "VmHWM:", 6) == 0) kilobytes = atof(line + 6);
  if (f) fclose(f);
  return kilobytes * 1024;
}

json_t *machine_json(void) {
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  return json_pack("{s:s,s:s,s:i,s:i,s:i,s:f}", "cpu", ep_machine_processor(), "kernels",
                   ep_machine_kernels(), "cores", (int)sysconf(_SC_NPROCESSORS_ONLN), "ranks",
                   ranks()->size, "threads", ep_run_threads(), "memory", memory);
}

static bool lost;
static void *json_memory(size_t size) {
  void *p = malloc(size);
  if (!p) lost = true;
  return p;
}
void watch_json(void) { json_set_alloc_funcs(json_memory, free); }
bool json_was_lost(void) { return lost; }

ep_status write_json_file(const char *path, const json_t *object) {
  char *text = lost ? NULL : ep_json_text(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the result as JSON");
  const ep_status st = ep_file_write_text(path, text);
  free(text);
  return st;
}

ep_status print_json(json_t *object) {
  char *text =
      object && !lost ? ep_json_text(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the result as JSON");
  puts(text);
  free(text);
  return EP_OK; /* main sees to it that it arrives */
}

void print_count(FILE *to, double n) {
  char digits[32];
  const int length = snprintf(digits, sizeof digits, "%.0f", n);
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) fputc(',', to);
    fputc(digits[i], to);
  }
}

ep_status make_report_folder(const char *folder) {
  char figures[1100];
  if (!folder[0]) return EP_OK;
  snprintf(figures, sizeof figures, "%s/figures", folder);
  return ep_folder_make(figures);
}

/* The settings that the command line speaks of; the page folds the others. */
static json_t *given_settings(const json_t *config, int argc, char **argv) {
  json_t *list = json_array();
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)config, name, value) {
    const char *text = json_string_value(value);
    const bool data = strcmp(name, "data") == 0 && text && *text; /* may be a word without a flag */
    if (data || args_has(argc, argv, name)) json_array_append_new(list, json_string(name));
  }
  return list;
}

ep_status write_page(const char *folder, const char *title, json_t *front, json_t *section,
                     const json_t *result, int argc, char **argv) {
  static char line[4096];
  command_line(line, argc, argv);
  json_t *config = json_object_get(result, "config");
  json_t *document =
      json_pack("{s:s,s:[o],s:O,s:o,s:s,s:s,s:o,s:O}", "title", title, "sections", section,
                "settings", config, "changed", given_settings(config, argc, argv), "command", line,
                "version", ep_version(), "machine", machine_json(), "result", result);
  if (document && front && json_object_update(document, front))
    json_decref(document), document = NULL;
  json_decref(front);
  if (document && json_was_lost()) json_decref(document), document = NULL;
  EP_CHECK(document, EP_ERR_NOMEM, "no memory for the report");
  const ep_status st = ep_report_write(folder, document);
  json_decref(document);
  return st;
}

json_t *headline_json(const char *words) {
  return json_pack("{s:{s:s}}", "headline", "words", words);
}

void print_report(const char *label, const char *folder) {
  if (ep_report_has_page()) printf("%s%s/report.html\n", label, folder);
  else
    printf("%s%s/report.md (pages need a build with Node: cmake -DEP_REPORT=ON)\n", label, folder);
}
