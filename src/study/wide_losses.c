/* WIDE beyond its loss: does the tangent kernel stay under other losses? All are looked at where each has made the same share
 * of its own way, so that none passes by standing still. */
#include "study/wide.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *name, *loss;
  ep_similarity_kind similarity; /* auto: the usual one */
  const char *pairs;
  double rate;
  const char *augment;
} candidate;
/* The controls come first: Prop. 10 proves that its kernel does not stay, and at the second rate it has hardly begun to move
 * when the epochs end. The others at rates at which the way is made in the epochs there
 * are and no loss rises; a loss with a floor takes any of them. */
static const candidate candidates[] = {
    {"dot product, linear", "linear", EP_SIMILARITY_DOT, NULL, 0.1, NULL},
    {"dot product, linear, rate 0.01", "linear", EP_SIMILARITY_DOT, NULL, 0.01, NULL},
    {"linear", "linear", EP_SIMILARITY_AUTO, NULL, 10, NULL},
    {"softmax", "softmax", EP_SIMILARITY_AUTO, NULL, 10, NULL},
    {"softmax, pairs by label", "softmax", EP_SIMILARITY_AUTO, "labels:2+4", 10, NULL},
    {"softmax, local views", "softmax", EP_SIMILARITY_AUTO, "4+4", 10, "crop:0.1-0.3"},
    {"ntxent", "ntxent", EP_SIMILARITY_AUTO, NULL, 10, NULL},
    {"barlow", "barlow", EP_SIMILARITY_AUTO, NULL, 1, NULL},
    {"vicreg", "vicreg", EP_SIMILARITY_AUTO, NULL, 0.2, NULL},
    {"spectral", "spectral", EP_SIMILARITY_AUTO, NULL, 0.01, NULL},
    {"spectral, all negatives", "spectral", EP_SIMILARITY_AUTO, "all", 0.01, NULL},
};
enum { CONTROLS = 2, CANDIDATES = sizeof candidates / sizeof *candidates };

/* Where a run of one loss is. */
enum { HALF, NINE_TENTHS, LATE, LOST, QUANTITIES };

/* the first row at which the loss has made this share of its whole fall */
static ptrdiff_t row_of(const ep_fit_info *info, double share) {
  const double first = wide_history(info, "loss", 0), last = wide_history(info, "loss", -1);
  ptrdiff_t row = 0;
  while (row < info->history.rows - 1 &&
         !(wide_history(info, "loss", row) <= first - share * (first - last)))
    row++;
  return row;
}

/* the drift after half and nine tenths of the fall; the share of it that the last quarter of the epochs brings */
static ep_status measure_progress(double *out, wide_fit *f, bool first_seed, void *user) {
  const ep_fit_info *i = &f->info;
  const double first = wide_history(i, "loss", 0), last = wide_history(i, "loss", -1);
  (void)first_seed;
  (void)user;
  out[HALF] = wide_history(i, "ntk_max", row_of(i, 0.5));
  out[NINE_TENTHS] = wide_history(i, "ntk_max", row_of(i, 0.9));
  out[LATE] = (wide_history(i, "loss", i->history.rows * 3 / 4) - last) / (first - last);
  out[LOST] = wide_diverged(f);
  return EP_OK;
}

typedef struct {
  ep_power_law law; /* of the drift after nine tenths of the fall */
  double late;      /* worst over runs */
  int lost;
  bool stays;
} verdict;

static ep_status say(ep_claim_result *r, const char *name, const verdict *v) {
  if (v->lost)
    return ep_claim_found(
        r, "%s: %d runs are lost; there is no end at which its kernel has stayed.", name, v->lost);
  if (!(v->late <= 0.1))
    return ep_claim_found(r,
                          "%s: its fall has not ended; the last quarter of the epochs brings %.0f "
                          "%% of it (exponent of the drift so far %.2f).",
                          name, 100 * v->late, v->law.exponent);
  return ep_claim_found(r, "%s: the kernel %s, exponent %.2f (%.2f to %.2f).", name,
                        v->stays ? "stays nearly constant" : "does not stay constant",
                        v->law.exponent, v->law.low, v->law.high);
}

static ep_status one_loss(verdict *v, ep_claim_result *r, ep_work *work, json_t *figure,
                          const candidate *c, const wide_size *z, const char *images,
                          const ep_run_config *run) {
  const wide_setting s = {.data = images,
                          .loss = c->loss,
                          .similarity = c->similarity,
                          .pairs = c->pairs,
                          .augment = c->augment,
                          .rate = c->rate,
                          .track = "ntk",
                          .track_every = 2};
  claim_curve q[QUANTITIES];
  ep_power_law half;
  char name[96];
  EP_TRY(wide_sweep(q, QUANTITIES, work, &s, z, measure_progress, NULL, run));
  *v = (verdict){.late = -INFINITY};
  for (ptrdiff_t i = 0; i < q->count; i++) {
    v->late = fmax(v->late, claim_worst(&q[LATE], i));
    for (int k = 0; k < q->runs; k++) v->lost += *claim_at(&q[LOST], i, k) != 0;
  }
  snprintf(name, sizeof name, "%s: drift after half of the fall", c->name);
  EP_TRY(wide_law(&half, r, name, &q[HALF]));
  snprintf(name, sizeof name, "%s: drift after nine tenths", c->name);
  EP_TRY(wide_law(&v->law, r, name, &q[NINE_TENTHS]));
  snprintf(name, sizeof name, "%s: share of the last quarter", c->name);
  EP_TRY(ep_claim_measure(r, name, v->late));
  snprintf(name, sizeof name, "%s: runs lost", c->name);
  EP_TRY(ep_claim_measure(r, name, v->lost));
  v->stays = wide_falls(&v->law) && v->lost == 0 && v->late <= 0.1;
  EP_TRY(say(r, c->name, v));
  return claim_draw(figure, c->name, NULL, &q[NINE_TENTHS], c < candidates + CONTROLS);
}

static ep_status losses(ep_claim_result *r, ep_work *work, const wide_size *z, const char *images,
                        const ep_run_config *run) {
  verdict v[CANDIDATES];
  json_t *figure;
  EP_TRY(wide_width_figure(&figure, r, "progress", "Drift at equal progress",
                           "Largest change of the tangent kernel once a loss has made nine tenths "
                           "of its fall, against width, a line a loss, with the range over seeds; "
                           "dashed: the controls.",
                           "largest change of K"));
  for (int k = 0; k < CANDIDATES; k++) {
    EP_TRY(ep_run_step("losses", k, CANDIDATES));
    EP_TRY(one_loss(&v[k], r, work, figure, &candidates[k], z, images, run));
  }
  r->pass = !v[0].stays && !v[1].stays; /* the rule tells them apart; the rest are answers */
  EP_TRY(ep_claim_note(
      r,
      "Every loss with its usual similarity, at a rate that brings it to its end within the "
      "epochs; the drift is read where nine tenths of the whole fall of the loss are made. It "
      "stays if its " WIDE_EXPONENT
      ", no run is lost and the last quarter of the epochs brings less than a tenth of the fall. "
      "Pairs by label (supervised contrastive learning): two images of the anchor's class and four "
      "of others; local views (as AMDIM has them): four crops of 10 to 30 % of the anchor and four "
      "other images. Temperature 0.5, weights of Barlow Twins and VICReg as the program has "
      "them."));
  return wide_say(r, &(wide_setting){.data = images, .rate = 1}, z);
}

ep_status wide_open_losses(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{30, 250, 2, 4, {40, 80, 160, 320}},
                                    {100, 600, 3, 4, {100, 200, 400, 800}},
                                    {1000, 1000, 5, 5, {100, 300, 1000, 3000, 10000}}};
  ep_work work = {0};
  const ep_status st = losses(r, &work, &sizes[size], wide_images(size), run);
  ep_work_free(&work);
  return st;
}
