#include "commands.h"

#include <eigenpair/machine.h>

void help_version(FILE *to) {
  cli_config cli = {0};
  const ep_option_group groups[] = {{"Output", cli_options, &cli}, {0}};
  fprintf(
      to,
      "\n  eigenpair version --json\n\n"
      "What runs and on what: version, processor, kernels in use, BLAS and the processor that it\n"
      "has chosen its products for, threads. The hot loops are in the program for several levels\n"
      "of processor, and the best one is chosen at the start; EP_KERNELS=plain|v2|v3|v4 in the\n"
      "environment forces one (x86-64-v2, -v3, -v4). Their results agree to rounding.\n");
  args_help(groups, to);
}

ep_status cmd_version(int argc, char **argv) {
  cli_config cli = {0};
  const ep_option_group groups[] = {{"Output", cli_options, &cli}, {0}};
  const char *none[1];
  int words;
  EP_TRY(args_parse(groups, argc, argv, none, 0, &words));
  EP_TRY(ep_machine_check());
  if (cli.json)
    return print_json(json_pack("{s:s,s:s,s:s,s:s,s:s,s:i}", "version", ep_version(), "processor",
                                ep_machine_processor(), "kernels", ep_machine_kernels(), "blas",
                                ep_machine_blas(), "blas_core", ep_machine_blas_core(), "threads",
                                ep_run_threads()));
  printf("eigenpair  %s\nprocessor  %s\nkernels    %s\nBLAS       %s, for %s\nthreads    %d\n",
         ep_version(), ep_machine_processor(), ep_machine_kernels(), ep_machine_blas(),
         ep_machine_blas_core(), ep_run_threads());
  return EP_OK;
}
