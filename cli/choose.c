/* fit without --method: what stands on the command line, for the library to choose by. */
#include "commands.h"
#include "method/methods.h"

#include <string.h>

enum { GIVEN = 256 };

bool args_has(int argc, char **argv, const char *option) {
  char flag[70] = "--";
  ep_options_flag(flag + 2, option);
  const size_t n = strlen(flag);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], flag, n) == 0 && (!argv[i][n] || argv[i][n] == '=')) return true;
  return false;
}

/* the options of a fit that stand on the command line */
static void list_given(const char *given[GIVEN], ep_setup *s, int argc, char **argv) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  int n = 0;
  ep_setup_groups(groups, s);
  for (int g = 0; groups[g].table; g++)
    for (const ep_option *o = groups[g].table; o->name && n < GIVEN - 1; o++)
      if (args_has(argc, argv, o->name)) given[n++] = o->name;
  given[n] = NULL;
}

void choose_method(ep_setup *s, char why[200], int argc, char **argv) {
  const char *given[GIVEN];
  list_given(given, s, argc, argv);
  ep_fit_choose(s, why, given, s->pair.anchors[0], s->pair.negatives[0]);
}

bool choose_features(ep_setup *s, const ep_points *points, int argc, char **argv) {
  const char *given[GIVEN];
  list_given(given, s, argc, argv);
  return ep_fit_choose_features(s, points, given);
}

/* ---- options that were given for nothing */

static ep_status ignored(ep_fit_info *info, const char *const list[], const char *method,
                         const char *why, int argc, char **argv) {
  for (int i = 0; list[i]; i++) {
    char flag[64];
    ep_options_flag(flag, list[i]);
    if (args_has(argc, argv, list[i]))
      EP_TRY(ep_fit_note(info, "--%s means nothing to method %s, which %s", flag, method, why));
  }
  return EP_OK;
}

ep_status note_ignored(ep_fit_info *info, const ep_setup *s, int argc, char **argv) {
  static const char *const epochs[] = {"epochs",   "rate",       "temperature", "tolerance",
                                       "patience", "integrator", NULL};
  static const char *const loss[] = {"loss", NULL}, *const width[] = {"width", "init", NULL};
  static const char *const forms[] = {"ridge",  "power",    "landmarks", "path",
                                      "solver", "features", NULL};
  const ep_method_row *row = ep_method_find(s->fit.method);
  const char *m = row->name;
  if (!row->closed) return ignored(info, forms, m, "trains", argc, argv);
  EP_TRY(ignored(info, epochs, m, "does not train", argc, argv));
  if (row->own_loss) EP_TRY(ignored(info, loss, m, "has one of its own", argc, argv));
  if (row->no_width) EP_TRY(ignored(info, width, m, "has no width", argc, argv));
  return EP_OK;
}

/* a loss that rose, or did not move, is said */
ep_status note_loss(ep_fit_info *info, const ep_setup *s) {
  const double size = info->start < 0 ? -info->start : info->start;
  const ep_method_row *row = ep_method_find(s->fit.method);
  const bool descends = !row->closed && !row->own_loss && info->epochs > 0;
  if (!descends || info->outcome == EP_DIVERGED) return EP_OK;
  if (info->loss > info->start + 1e-6 * size)
    return ep_fit_note(info, "the loss rose from %.6g to %.6g: lower --rate (now %g)", info->start,
                       info->loss, s->fit.rate);
  if (info->start - info->loss < 1e-4 * size)
    return ep_fit_note(info,
                       "the loss hardly moved in %ld epochs: raise --epochs or --rate (now %g)",
                       info->epochs, s->fit.rate);
  return EP_OK;
}
