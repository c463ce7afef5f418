#include "report/draw.h"

#include "core/embed.h"
#include "core/file.h"

#include <eigenpair/matrix.h>
#include <eigenpair/run.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef EP_RENDER
EP_EMBED(ep_report_render, EP_RENDER);
#else
static const char ep_report_render[] = "";
#endif

/* What node and rsvg-convert are resident with, 90 and 40 MB, and some more. Where --memory does not leave that, figures are
 * not drawn, as where there is no node; the page has them all. */
static const double drawing_bytes = 150e6;

/* node with its standard error in `to`; -1: it is not there */
static pid_t start(const char *const argv[], int to) {
  extern char **environ;
  posix_spawn_file_actions_t files;
  pid_t child = -1;
  if (posix_spawn_file_actions_init(&files)) return -1;
  const bool ready = !posix_spawn_file_actions_addopen(&files, 0, "/dev/null", 0, 0) &&
                     !posix_spawn_file_actions_adddup2(&files, to, 1) &&
                     !posix_spawn_file_actions_adddup2(&files, to, 2);
  if (!ready ||
      posix_spawnp(&child, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ))
    child = -1;
  posix_spawn_file_actions_destroy(&files);
  return child;
}

/* The first line of what comes out of the pipe; the rest is read and dropped, so that nobody waits. */
static void first_line(char line[200], int from) {
  char bytes[1024];
  size_t used = 0;
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR);)
    for (ssize_t i = 0; i < n && used < 199; i++) line[used++] = bytes[i];
  line[used] = '\0';
  line[strcspn(line, "\n")] = '\0';
}

/* Runs node to its end; *there is false where there is none. */
static ep_status run(bool *there, const char *const argv[], const char *folder) {
  char said[200];
  int ends[2], state = 0;
  EP_CHECK(pipe(ends) == 0, EP_ERR_IO, "no pipe for drawing: %s", strerror(errno));
  const pid_t child = start(argv, ends[1]);
  close(ends[1]);
  first_line(said, ends[0]);
  close(ends[0]);
  *there = child >= 0;
  if (child < 0) return EP_OK;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {}
  const int signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  EP_CHECK(signal != SIGINT && signal != SIGTERM, EP_ERR_INTERRUPTED, "drawing was interrupted");
  EP_CHECK(!signal && WEXITSTATUS(state) == 0, EP_ERR_IO, "%s: figures could not be drawn: %s",
           folder, said);
  return EP_OK;
}

/* NAME.svg and NAME.png of every figure, in the document's order, in the making; node writes to their temporary names. */
static ep_status open_drawings(ep_file *files, size_t *count, const char *folder,
                               const json_t *document) {
  static const char *const ends[] = {"svg", "png"};
  size_t i, k;
  const json_t *s, *f;
  json_array_foreach(json_object_get(document, "sections"), i, s)
      json_array_foreach(json_object_get(s, "figures"), k, f) for (int e = 0; e < 2; e++) {
    char path[1200];
    snprintf(path, sizeof path, "%.1000s/%.100s.%s", folder,
             json_string_value(json_object_get(f, "name")), ends[e]);
    EP_TRY(ep_file_open(&files[*count], path));
    ++*count;
  }
  return EP_OK;
}

static ep_status draw(ep_file *files, const char **argv, size_t *count, const char *page,
                      const char *folder, const json_t *document) {
  const char *const first[] = {"node",
                               "--optimize-for-size",
                               "--max-semi-space-size=1",
                               "--input-type=module",
                               "-e",
                               (const char *)ep_report_render,
                               "--",
                               page};
  struct stat info;
  bool there;
  memcpy(argv, first, sizeof first);
  EP_TRY(open_drawings(files, count, folder, document));
  for (size_t i = 0; i < *count; i++) argv[sizeof first / sizeof *first + i] = files[i].temporary;
  EP_TRY(run(&there, argv, folder));
  for (size_t i = 0; there && i < *count; i++) /* an empty one was not drawn: no rsvg-convert */
    if (fstat(fileno(files[i].stream), &info) == 0 && info.st_size > 0)
      EP_TRY(ep_file_commit(&files[i]));
  return EP_OK;
}

ep_status ep_report_draw(const char *page, const char *folder, const json_t *document) {
  size_t most = 0, count = 0, i;
  const json_t *s;
  ep_work work = {0};
  ep_file *files;
  const char **argv;
  json_array_foreach(json_object_get(document, "sections"), i, s) most +=
      2 * json_array_size(json_object_get(s, "figures"));
  if (most == 0 || ep_run_room() < drawing_bytes) return EP_OK;
  ep_status st = ep_work_get(&work, &files, (ptrdiff_t)most, sizeof *files);
  if (!st) st = ep_work_get(&work, &argv, (ptrdiff_t)most + 12, sizeof *argv);
  if (!st) st = draw(files, argv, &count, page, folder, document);
  for (i = 0; i < count; i++) ep_file_discard(&files[i]);
  ep_work_free(&work);
  return st;
}
