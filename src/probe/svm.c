/* Linear support vector machines, one class against the rest. The only door to LIBLINEAR. */
#include "probe/probes.h"

#include <limits.h>
#include <linear.h>
#include <string.h>

/* LIBLINEAR tells what it does by printing; we read it instead. */
static _Thread_local struct {
  long iterations;
  bool warned;
} heard;

static void listen(const char *line) {
  if (strncmp(line, "iter", 4) == 0) heard.iterations++;
  if (strstr(line, "WARNING")) heard.warned = true;
}

/* A dense row as LIBLINEAR's sparse one: its numbers that are not 0, and an end. */
static void row_nodes(struct feature_node *to, const double *x, ptrdiff_t d) {
  for (ptrdiff_t j = 0; j < d; j++)
    if (x[j] != 0) *to++ = (struct feature_node){(int)j + 1, x[j]};
  to->index = -1;
}

/* 16 bytes a number: the points once more, twice as large as in double. */
static ep_status make_nodes(struct problem *p, ep_work *work, const ep_probe_task *t) {
  const ep_rows *rows = &t->train.rows;
  const ptrdiff_t n = rows->count, d = rows->X->cols + 1;
  const double bytes = (double)n * (double)(d + 1) * sizeof(struct feature_node);
  struct feature_node *nodes;
  ep_mat block;
  EP_CHECK(n < INT_MAX && d < INT_MAX, EP_ERR_ARG, "svm: %td x %td numbers are too many", n, d);
  EP_CHECK(bytes + (double)ep_memory_current() <= ep_run_memory(t->run), EP_ERR_NOMEM,
           "svm: LIBLINEAR's copy of %td points takes %.3g bytes, more than --memory leaves; the "
           "linear probe needs none",
           n, bytes);
  EP_TRY(ep_work_mat(work, &block, EP_DOUBLE, 1, d));
  EP_TRY(ep_work_get(work, &nodes, n * (d + 1), sizeof *nodes));
  EP_TRY(ep_work_get(work, &p->x, n, sizeof *p->x));
  EP_TRY(ep_work_get(work, &p->y, n, sizeof *p->y));
  for (ptrdiff_t i = 0; i < n; i++) {
    p->x[i] = nodes + i * (d + 1);
    ep_linear_rows(&block, rows, i);
    row_nodes(p->x[i], ep_d(&block, 0, 0), d);
  }
  p->l = (int)n, p->n = (int)d, p->bias = -1;
  return EP_OK;
}

/* min 1/2 |w|^2 + cost sum_i max(0, 1 - y_i w'x_i)^2, y_i = 1 for class c and -1 for the rest */
static ep_status train_class(double *w, struct problem *p, const struct parameter *how,
                             const ep_part *part, ptrdiff_t c) {
  for (int i = 0; i < p->l; i++) p->y[i] = part->class[i] == c ? 1 : -1;
  const char *wrong = check_parameter(p, how);
  EP_CHECK(!wrong, EP_ERR_NUMERIC, "LIBLINEAR: %s", wrong);
  set_print_string_function(listen);
  struct model *m = train(p, how);
  set_print_string_function(NULL); /* as we found it */
  EP_CHECK(m, EP_ERR_NOMEM, "LIBLINEAR gave no model");
  for (int j = 0; j < p->n; j++) w[j] = m->label[0] == 1 ? m->w[j] : -m->w[j];
  free_and_destroy_model(&m);
  return EP_OK;
}

ep_status ep_svm_fit(ep_mat *W, ep_probe_result *info, ep_work *work, const ep_probe_task *t) {
  struct problem p = {0};
  const struct parameter how = {
      .solver_type = L2R_L2LOSS_SVC, .eps = t->config->tolerance, .C = t->config->cost, .p = 0.1};
  EP_TRY(make_nodes(&p, work, t));
  EP_TRY(ep_work_mat(work, W, EP_DOUBLE, t->classes, p.n));
  memset(&heard, 0, sizeof heard);
  const bool two = t->classes == 2; /* the second is the negative of the first */
  for (ptrdiff_t c = 0; c < (two ? 1 : t->classes); c++) {
    EP_TRY(ep_run_step("svm probe", (double)c, (double)t->classes));
    EP_TRY(train_class(ep_d(W, c, 0), &p, &how, &t->train, c));
  }
  for (ptrdiff_t j = 0; two && j < W->cols; j++) *ep_d(W, 1, j) = -*ep_d(W, 0, j);
  info->iterations = heard.iterations;
  info->converged = !heard.warned;
  return EP_OK;
}
