#pragma once
/* What the library runs on. Texts live as long as the process. */
#include <eigenpair/status.h>

/* The hot loops are in the library for several levels of processor: plain, v2, v3, v4 of x86-64 (elsewhere plain). The
 * best one that this processor can run is chosen when the library starts; the environment variable EP_KERNELS forces
 * one. All of them agree to rounding. */
const char *ep_machine_kernels(void); /* the one in use */
/* EP_ERR_ARG where EP_KERNELS names none, or one that this processor cannot run; ep_run_start asks */
ep_status ep_machine_check(void);
/* Of this very build, by the linker: two programs with the same one compute the same. "unknown" where there is none. */
const char *ep_machine_build(void);
const char *ep_machine_processor(void);
const char *ep_machine_blas(void); /* what OpenBLAS says it is */
const char *ep_machine_blas_core(
    void); /* and the processor it was written for that it has chosen */
