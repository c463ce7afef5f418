#pragma once
/* cmocka, and the comparisons of floating-point numbers that it lacks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <eigenpair/status.h>
#include <math.h>
#include <stdio.h>

#define CHECK_OK(call)                                               \
  do {                                                               \
    if ((call) != EP_OK) fail_msg("%s: %s", #call, ep_last_error()); \
  } while (0)
#define CHECK_STATUS(call, status)                                                             \
  do {                                                                                         \
    ep_status st_ = (call);                                                                    \
    if (st_ != (status))                                                                       \
      fail_msg("%s: %s (%s)", #call, ep_status_name(st_), st_ ? ep_last_error() : "no error"); \
  } while (0)
#define CHECK_NEAR(a, b, tol)                                                          \
  do {                                                                                 \
    double a_ = (a), b_ = (b);                                                         \
    if (!(fabs(a_ - b_) <= (tol)))                                                     \
      fail_msg("%s = %.17g, %s = %.17g, tolerance %g", #a, a_, #b, b_, (double)(tol)); \
  } while (0)
/* relative to the larger of the two and 1 */
#define CHECK_CLOSE(a, b, tol) \
  CHECK_NEAR(a, b, (tol)*fmax(1, fmax(fabs((double)(a)), fabs((double)(b)))))
