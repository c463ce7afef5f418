#pragma once
/* A model: f(x) = sum_k C_k' psi_k(x) - offset, at most two terms. */
#include "map/map.h"

#include <eigenpair/method.h>

enum { EP_MOST_TERMS = 2 };
struct ep_model {
  int terms;
  ep_term term[EP_MOST_TERMS];
  ep_mat offset;  /* (1, Z) double; empty: none */
  ep_psi psi;     /* the similarity it was made with */
  bool normalise; /* outputs are W'psi, psi with the norm of phi, in the place of M^{-1/2} W'phi */
  bool unit;      /* it was made from points on the unit sphere */
  json_t *config; /* the setup it was made with, owned */
  ep_fit_lent lent; /* while it is fitted */
};

ep_status ep_model_new(ep_model **out);
/* The next term, still empty; the caller fills it in. */
ep_term *ep_model_add(ep_model *model);
/* A network as the next term; *net is to be filled in before ep_model_seal. */
ep_status ep_model_add_network(ep_model *model, ep_net **net);
/* Coefficients W (M x Z, double) of a map (taken over, whatever happens) as the next term. */
ep_status ep_model_keep(ep_model *model, ep_map *map, const ep_mat *W);
/* Its terms into a file and out of it; `config` gets what the settings do not say, and goes in too. */
ep_status ep_model_write(ep_npz *file, json_t *config, const ep_model *model);
ep_status ep_model_read(ep_model *out, ep_npz *file, const char *path, ep_precision prec);
ep_status ep_config_copy(json_t **out, const json_t *config); /* NULL: an empty one */
/* Everything is there: sets what follows from the parts. */
void ep_model_seal(ep_model *model);
