#pragma once
/* What the checks of TANGENT's claims share. */
#include "study/curve.h"

#include <eigenpair/domain.h>
#include <eigenpair/lee.h>

enum { TANGENT_MOST = 16 };         /* values of a table */
extern const double tangent_memory; /* of one measurement; all of them are small */

ep_net_config tangent_network(const char *phi, long width, long depth);
ep_status tangent_kernel(ep_domain_kernel *k, const char *phi, int depth, double bias);
/* X (n x D) on the unit sphere */
ep_status tangent_points(ep_work *work, ep_mat *X, ptrdiff_t n, ptrdiff_t D, long seed,
                         uint32_t sub);
/* Adds a line to a figure; hands the figure over, or frees it where something went wrong (st). */
ep_status tangent_line(json_t *figure, const char *name, const double *x, const double *y,
                       ptrdiff_t count, bool dashed);
ep_status tangent_figure(ep_claim_result *r, json_t *figure, ep_status st);

typedef ep_status tangent_check(ep_claim_result *result, ep_claim_size size,
                                const ep_run_config *run);
tangent_check tangent_lee, tangent_bounds, tangent_rate, tangent_loss, tangent_target, tangent_nngp,
    tangent_ensemble, tangent_nofreelunch, tangent_general, tangent_modes, tangent_predict,
    tangent_slips, tangent_finite;
