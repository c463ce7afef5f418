#include "core/mem.h"

#include <eigenpair/status.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[1024];
static _Thread_local char where[256];

const char *ep_last_error(void) { return message; }
const char *ep_last_error_where(void) { return where; }

static const struct {
  const char *text;
  int exit;
} codes[] = {
#define X(code, text, exit) {text, exit},
    EP_STATUS_LIST(X)
#undef X
};

static int known(ep_status st) { return (unsigned)st < sizeof codes / sizeof *codes; }

const char *ep_status_name(ep_status st) { return known(st) ? codes[st].text : "unknown status"; }
int ep_status_exit(ep_status st) { return known(st) ? codes[st].exit : 1; }

/* A name in a message may come from a file or a stranger: what would speak to the terminal becomes '?'. Control characters
 * are bytes below 32, 127, and in UTF-8 the pairs c2 80 .. c2 9f. */
static void make_printable(char *s) {
  for (unsigned char *p = (unsigned char *)s; *p; p++) {
    if (*p < 32 || *p == 127) *p = '?';
    if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) p[0] = p[1] = '?';
  }
}

void ep_fail(const char *file, int line, const char *func, const char *fmt, ...) {
  va_list args;
  snprintf(where, sizeof where, "%s:%d %s", file, line, func);
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  if (ep_alloc_limited() && strstr(message, "no memory"))
    snprintf(message + strlen(message), sizeof message - strlen(message),
             ": --memory leaves no more");
  make_printable(message);
}
