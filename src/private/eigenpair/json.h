#pragma once
/* JSON whose every call that can fail says so. */
#include <eigenpair/status.h>
#include <jansson.h>
#include <stddef.h>

/* Numbers: null where they are not finite. */
json_t *ep_json_number(double x);
json_t *ep_json_numbers(const double *x, ptrdiff_t count); /* NULL: no memory */
/* Sets object[name] = value, or appends it (taken over); a failed allocation anywhere ends here. */
ep_status ep_json_put(json_t *object, const char *name, json_t *value);
ep_status ep_json_append(json_t *array, json_t *value);
/* All of it, or no memory: jansson's own copies leave members out then. */
ep_status ep_json_copy(json_t **out, const json_t *value);
/* As text, for free, or NULL: jansson's own leaves names out when memory ends. */
char *ep_json_text(const json_t *value, size_t flags);
/* Text to an object, or the reason why not: `what` (a file) is not JSON, or out of memory. */
ep_status ep_json_parse(json_t **out, const char *text, double room, const char *what);
/* At most so many bytes of memory once it is read: "[]," are three bytes of text, an empty list is 130. */
double ep_json_becomes(const char *text, size_t size);
/* Is there room for what it becomes? Asked before it is read. */
ep_status ep_json_check(const char *text, size_t size, double room, const char *what);
