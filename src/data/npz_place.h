#pragma once
/* Arrays of a .npz that are read where they stand. */
#include <eigenpair/array.h>
#include <stdint.h>

/* Where the .npy of an array (NULL: of the only one) begins in `file`, the archive of `all` bytes, and how long it is. *stored
 * false: it is packed, or the archive is of a kind that libzip alone knows. `full` becomes its name for messages. */
ep_status ep_npz_place(uint64_t *offset, uint64_t *size, bool *stored, char full[1280], ep_npz *z,
                       const char *name, int file, uint64_t all);
/* The same of the index-th member, which is said to have `size` bytes. */
ep_status ep_npz_find(uint64_t *offset, bool *stored, int file, uint64_t all, uint64_t index,
                      uint64_t size, const char *name);
