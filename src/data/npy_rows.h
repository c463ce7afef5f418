#pragma once
/* A matrix written to a .npy file a few rows at a time: begin, rows, ep_file_commit. */
#include "core/file.h"

#include <eigenpair/matrix.h>

ep_status ep_npy_begin(ep_file *f, const char *path, ep_precision prec, ptrdiff_t rows,
                       ptrdiff_t cols);
void ep_npy_add_rows(ep_file *f, const ep_mat *A); /* a failed write is told by the commit */
