#pragma once
/* Claims whose allocations fail, here and there along the way: an error and no leak. */
#include "check.h"
#include "core/mem.h"

#include <eigenpair/claim.h>

static inline void claim_without_memory(const ep_claim *claim, long most) {
  const ep_run_config run = ep_run_default();
  const size_t before = ep_mem_current();
  for (long n = 0; n < most; n += 1 + n / 8) {
    ep_claim_result r;
    CHECK_OK(ep_claim_result_new(&r));
    ep_alloc_fail_after = n;
    const ep_status st = claim->check(&r, EP_CLAIM_QUICK, &run);
    ep_alloc_fail_after = -1;
    ep_claim_result_free(&r);
    assert_int_equal(ep_mem_current(), before);
    assert_int_equal(st, EP_ERR_NOMEM);
  }
}
