/* The only door to SUNDIALS. */
#include <arkode/arkode_arkstep.h>
#include <eigenpair/ode.h>
#include <math.h>
#include <nvector/nvector_serial.h>

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

static int set_up(void *ark, problem *p, double t1, double relative, double absolute) {
  int bad = ARKStepSetErrHandlerFn(ark, silent, NULL);
  bad |= ARKStepSetTableNum(ark, ARKODE_DIRK_NONE, ARKODE_DORMAND_PRINCE_7_4_5);
  bad |= ARKStepSStolerances(ark, relative, absolute);
  bad |= ARKStepSetUserData(ark, p);
  bad |= ARKStepSetMaxNumSteps(ark, 200000);
  bad |= ARKStepSetStopTime(ark, t1);
  return bad;
}

static ep_status evolve(ep_ode_info *info, void *ark, N_Vector y, problem *p, double t1) {
  long implicit;
  const int flag = ARKStepEvolve(ark, t1, y, &info->t, ARK_NORMAL);
  if (p->status) return p->status;
  ARKStepGetNumRhsEvals(ark, &info->evaluations, &implicit);
  info->reached = flag >= 0;
  return EP_OK;
}

static ep_status integrate(ep_ode_info *info, SUNContext context, N_Vector y, double t0, double t1,
                           problem *p, double relative, double absolute) {
  void *ark = ARKStepCreate(right_hand_side, NULL, t0, y, context);
  EP_CHECK(ark, EP_ERR_NOMEM, "no memory for an integrator");
  const int bad = set_up(ark, p, t1, relative, absolute);
  const ep_status st = bad ? EP_FAIL(EP_ERR_NUMERIC, "the integrator refuses its options (%d)", bad)
                           : evolve(info, ark, y, p, t1);
  ARKStepFree(&ark);
  return st;
}

ep_status ep_ode_flow(ep_ode_info *info, double *y, ptrdiff_t n, double t0, double t1,
                      ep_ode_rhs *f, void *user, double relative, double absolute) {
  SUNContext context;
  problem p = {.f = f, .user = user};
  *info = (ep_ode_info){.t = t0};
  EP_CHECK(SUNContext_Create(NULL, &context) == 0, EP_ERR_NOMEM, "no memory for an integrator");
  N_Vector v = N_VMake_Serial(n, y, context);
  const ep_status st = v ? integrate(info, context, v, t0, t1, &p, relative, absolute)
                         : EP_FAIL(EP_ERR_NOMEM, "no memory for an integrator");
  if (v) N_VDestroy(v);
  SUNContext_Free(&context);
  return st;
}
