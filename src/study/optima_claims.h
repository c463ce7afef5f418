#pragma once
/* What the checks of OPTIMA's claims share. */
#include "study/curve.h"
#include "study/optima_population.h"

#include <eigenpair/claim.h>

ep_optima_config optima_config(long starts);        /* defaults, and so many starts */
long optima_starts(ep_claim_size size, long quick); /* as many, three times, ten times */

typedef ep_status optima_check(ep_claim_result *result, ep_claim_size size,
                               const ep_run_config *run);
optima_check optima_exact, optima_fig1, optima_linear, optima_count, optima_stability, optima_limit,
    optima_weights, optima_basins, optima_joint, optima_ticket, optima_kernel, optima_theorem2,
    optima_theorem3;
