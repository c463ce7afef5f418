#pragma once
/* Numbers as JSON: null where they are not finite. */
#include <jansson.h>
#include <stddef.h>
#include <eigenpair/status.h>

EP_BEGIN

json_t *ep_json_number(double x);
json_t *ep_json_numbers(const double *x, ptrdiff_t count); /* NULL: no memory */

EP_END
