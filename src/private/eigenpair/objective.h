#pragma once
#include "../../../include/eigenpair/objective.h"
#include <eigenpair/pairs.h>

const char *ep_similarity_option(int i); /* auto, dot, cosine */
const char *ep_loss_name(int i);
const char *ep_loss_help(int i);
const char *ep_loss_options(
    int i); /* of the objective, those that are for it and not for all; NULL: none */

extern const ep_option ep_objective_options[];

/* From now on similarities are products of the outputs, whatever the loss prescribes: their norm is dealt with already. */
void ep_objective_products(ep_objective *objective);
/* Do these pairs have what the loss needs (negatives, a positive for each anchor, two anchors)? */
ep_status ep_objective_check(const ep_objective *objective, const ep_pairs *pairs);
const char *ep_objective_similarity(
    const ep_objective *objective); /* the one in use; "no" for none */

bool ep_objective_is_cosine(const ep_objective *objective);
bool ep_objective_is_trace(const ep_objective *objective); /* of C: PCA of C is its optimum */
bool ep_objective_whitens(const ep_objective *objective);  /* its closed form is whitened's */
bool ep_objective_of_views(const ep_objective *objective); /* and of no similarities */

/* c_l = sup |dl/ds| over similarities in [-1, 1]; INFINITY for a loss that is no function of similarities. */
double ep_objective_slope(const ep_objective *objective);
/* Q: the most partners that l of one anchor takes, every view of the others counted where it does. */
double ep_objective_partners(const ep_objective *objective, const ep_pairs *pairs);

/* Fewest anchors a batch can have. */
ptrdiff_t ep_objective_least_anchors(const ep_objective *objective, const ep_pairs *pairs);
/* *loss = L(F), dF = dL/dF (NULL: value only). F and dF are double, pairs->points x Z. */
ep_status ep_objective_value(double *loss, const ep_mat *dF, const ep_mat *F, const ep_pairs *pairs,
                             const ep_objective *objective);
/* Bytes of scratch that ep_objective_value takes. */
double ep_objective_memory(const ep_objective *objective, const ep_pairs *pairs, ptrdiff_t outputs);
