#pragma once
#include <eigenpair/objective.h>

struct ep_similarity {
  const char *name;
  /* U = u(F), row by row; U may be F */
  void (*forward)(const ep_mat *U, const ep_mat *F, double delta);
  /* dU <- (du/df)' dU, row by row */
  void (*backward)(const ep_mat *dU, const ep_mat *F, double delta);
};
/* of each ep_similarity_kind; auto has no functions */
extern const ep_similarity ep_similarities[EP_SIMILARITIES];
