#pragma once
/* What stands between these two is the library's interface, for C and C++: all that is exported. */
#ifdef __cplusplus
#define EP_BEGIN \
  extern "C" {   \
  _Pragma("GCC visibility push(default)")
#define EP_END                  \
  _Pragma("GCC visibility pop") \
  }
#else
#define EP_BEGIN _Pragma("GCC visibility push(default)")
#define EP_END   _Pragma("GCC visibility pop")
#endif

EP_BEGIN

/* Status codes. One list; the enum, the names and the exit statuses are generated from it. */
/*  code                name                                        exit status of the program */
#define EP_STATUS_LIST(X)                          \
  X(EP_OK, "success", 0)                           \
  X(EP_ERR_ARG, "invalid argument", 2)             \
  X(EP_ERR_INPUT, "bad input", 2)                  \
  X(EP_ERR_SHAPE, "shapes do not agree", 2)        \
  X(EP_ERR_NOMEM, "out of memory", 1)              \
  X(EP_ERR_NUMERIC, "numerical routine failed", 1) \
  X(EP_ERR_IO, "file could not be written", 1)     \
  X(EP_ERR_INTERRUPTED, "interrupted", 130)

typedef enum {
#define X(code, text, exit) code,
  EP_STATUS_LIST(X)
#undef X
} ep_status;

const char *ep_status_name(ep_status st);
int ep_status_exit(ep_status st);
const char *ep_last_error(void);       /* the message for a person; per thread */
const char *ep_last_error_where(void); /* "file:line function", for a programmer; per thread */

/* Records where and why; EP_FAIL gives `st` back, so it can stand in a return statement. */
void ep_fail(const char *file, int line, const char *func, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#define EP_FAIL(st, ...) (ep_fail(__FILE__, __LINE__, __func__, __VA_ARGS__), (st))
#define EP_CHECK(cond, st, ...)                   \
  do {                                            \
    if (!(cond)) return EP_FAIL(st, __VA_ARGS__); \
  } while (0)
#define EP_TRY(call)        \
  do {                      \
    ep_status st_ = (call); \
    if (st_) return st_;    \
  } while (0)

EP_END
