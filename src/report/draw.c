#include "report/draw.h"

#include "core/embed.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef EP_RENDER
EP_EMBED(ep_report_render, EP_RENDER);
#else
static const char ep_report_render[] = "";
#endif

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

ep_status ep_report_draw(const char *page, const char *folder) {
  const char *const argv[] = {
      "node", "--input-type=module", "-e", (const char *)ep_report_render, "--", page, folder,
      NULL};
  char said[200];
  int ends[2], state = 0;
  EP_CHECK(pipe(ends) == 0, EP_ERR_IO, "no pipe for drawing: %s", strerror(errno));
  const pid_t child = start(argv, ends[1]);
  close(ends[1]);
  first_line(said, ends[0]);
  close(ends[0]);
  if (child < 0) return EP_OK;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {}
  const int signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  EP_CHECK(signal != SIGINT && signal != SIGTERM, EP_ERR_INTERRUPTED, "drawing was interrupted");
  EP_CHECK(!signal && WEXITSTATUS(state) == 0, EP_ERR_IO, "%s: figures could not be drawn: %s",
           folder, said);
  return EP_OK;
}
