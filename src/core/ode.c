/* The only door to SUNDIALS. */
#include "core/mem.h"

#include <arkode/arkode_arkstep.h>
#include <eigenpair/ode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdint.h>
#include <sunlinsol/sunlinsol_spgmr.h>

typedef struct {
  ep_ode_rhs *f;
  void *user;
  ep_status status; /* of the last call of f */
} problem;

static int right_hand_side(realtype t, N_Vector y, N_Vector dy, void *user) {
  problem *p = user;
  double *out = N_VGetArrayPointer(dy);
  p->status = p->f(out, N_VGetArrayPointer(y), t, p->user);
  if (p->status) return -1;
  for (sunindextype i = 0, n = N_VGetLength(dy); i < n; i++)
    if (!isfinite(out[i])) return 1; /* too long a step: try a shorter one */
  return 0;
}

static void silent(int code, const char *module, const char *function, char *message, void *user) {
  (void)code, (void)module, (void)function, (void)message, (void)user;
}

/* Explicit: Dormand-Prince. Stiff (`krylov` is there): an L-stable implicit method, Newton's equations by GMRES with
 * differences of f. */
static int set_up(void *ark, problem *p, double t1, double relative, double absolute,
                  SUNLinearSolver krylov) {
  int bad = ARKStepSetErrHandlerFn(ark, silent, NULL);
  bad |= ARKStepSetTableNum(ark, krylov ? ARKODE_ARK548L2SA_DIRK_8_4_5 : ARKODE_DIRK_NONE,
                            krylov ? ARKODE_ERK_NONE : ARKODE_DORMAND_PRINCE_7_4_5);
  bad |= ARKStepSStolerances(ark, relative, absolute);
  bad |= ARKStepSetUserData(ark, p);
  bad |= ARKStepSetMaxNumSteps(ark, krylov ? 20000 : 200000);
  bad |= ARKStepSetStopTime(ark, t1);
  if (krylov) bad |= ARKStepSetLinearSolver(ark, krylov, NULL);
  return bad;
}

static ep_status evolve(ep_ode_info *info, void *ark, N_Vector y, problem *p, double t1) {
  long stages = 0, linear = 0;
  const int flag = ARKStepEvolve(ark, t1, y, &info->t, ARK_NORMAL);
  if (p->status) return p->status;
  ARKStepGetNumRhsEvals(ark, &info->evaluations, &stages);
  if (info->evaluations == 0) ARKStepGetNumLinRhsEvals(ark, &linear);
  info->evaluations += stages + linear;
  info->reached = flag >= 0;
  return EP_OK;
}

typedef struct {
  double t0, t1, relative, absolute;
  bool stiff;
} interval;

static ep_status integrate(ep_ode_info *info, SUNContext context, N_Vector y, problem *p,
                           const interval *i) {
  enum { KRYLOV = 30 };
  SUNLinearSolver krylov = i->stiff ? SUNLinSol_SPGMR(y, SUN_PREC_NONE, KRYLOV, context) : NULL;
  void *ark = i->stiff ? ARKStepCreate(NULL, right_hand_side, i->t0, y, context)
                       : ARKStepCreate(right_hand_side, NULL, i->t0, y, context);
  ep_status st = EP_OK;
  if (!ark || (i->stiff && !krylov)) st = EP_FAIL(EP_ERR_NOMEM, "no memory for an integrator");
  const int bad = st ? 0 : set_up(ark, p, i->t1, i->relative, i->absolute, krylov);
  if (bad) st = EP_FAIL(EP_ERR_NUMERIC, "the integrator refuses its options (%d)", bad);
  if (!st) st = evolve(info, ark, y, p, i->t1);
  if (ark) ARKStepFree(&ark);
  if (krylov) SUNLinSolFree(krylov);
  return st;
}

/* SUNDIALS does not survive an allocation of its own that fails. So what it will take (stages, differences, Krylov vectors)
 * is asked for once, within the cap, and given back: afterwards it is there. */
static ep_status reserve(ptrdiff_t n, bool stiff) {
  enum { VECTORS = 24, KRYLOV_VECTORS = 50, REST = 1 << 20 };
  const ptrdiff_t vectors = stiff ? VECTORS + KRYLOV_VECTORS : VECTORS;
  void *room =
      n < PTRDIFF_MAX / 1000 ? ep_alloc(vectors * n * (ptrdiff_t)sizeof(double) + REST, 1) : NULL;
  EP_CHECK(room, EP_ERR_NOMEM, "no memory for an integrator of %td numbers", n);
  ep_release(room);
  return EP_OK;
}

static ep_status flow(ep_ode_info *info, double *y, ptrdiff_t n, ep_ode_rhs *f, void *user,
                      const interval *i) {
  SUNContext context;
  problem p = {.f = f, .user = user};
  *info = (ep_ode_info){.t = i->t0};
  EP_TRY(reserve(n, i->stiff));
  EP_CHECK(SUNContext_Create(NULL, &context) == 0, EP_ERR_NOMEM, "no memory for an integrator");
  N_Vector v = N_VMake_Serial(n, y, context);
  const ep_status st =
      v ? integrate(info, context, v, &p, i) : EP_FAIL(EP_ERR_NOMEM, "no memory for an integrator");
  if (v) N_VDestroy(v);
  SUNContext_Free(&context);
  return st;
}

ep_status ep_ode_flow(ep_ode_info *info, double *y, ptrdiff_t n, double t0, double t1,
                      ep_ode_rhs *f, void *user, double relative, double absolute) {
  return flow(info, y, n, f, user, &(interval){t0, t1, relative, absolute, false});
}

ep_status ep_ode_stiff(ep_ode_info *info, double *y, ptrdiff_t n, double t0, double t1,
                       ep_ode_rhs *f, void *user, double relative, double absolute) {
  return flow(info, y, n, f, user, &(interval){t0, t1, relative, absolute, true});
}
