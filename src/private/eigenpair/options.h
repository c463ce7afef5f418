#pragma once
#include "../../../include/eigenpair/options.h"

const char *ep_auto_name(int i); /* "auto" */

void ep_options_help(const ep_option *table, FILE *to);
void ep_options_flag(char out[64], const char *name); /* input_scale -> input-scale */
