#include "core/file.h"
#include "core/mem.h"

#include <eigenpair/method.h>
#include <string.h>

ep_status ep_history_add(ep_history *h, const double *row) {
  if (h->rows == h->room) {
    const ptrdiff_t room = h->room ? 2 * h->room : 64;
    double *value = ep_alloc(room * h->columns, sizeof *value);
    EP_CHECK(value, EP_ERR_NOMEM, "no memory for a history of %td rows", room);
    if (h->rows) memcpy(value, h->value, (size_t)(h->rows * h->columns) * sizeof *value);
    ep_release(h->value);
    h->value = value;
    h->room = room;
  }
  memcpy(h->value + h->rows++ * h->columns, row, (size_t)h->columns * sizeof *row);
  return EP_OK;
}

ep_status ep_history_write(const char *path, const ep_history *h) {
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  for (int c = 0; c < h->columns; c++) fprintf(f.stream, "%s%s", c ? "," : "", h->name[c]);
  fputc('\n', f.stream);
  for (ptrdiff_t r = 0; r < h->rows; r++)
    for (int c = 0; c < h->columns; c++)
      fprintf(f.stream, "%.17g%c", h->value[r * h->columns + c], c + 1 < h->columns ? ',' : '\n');
  return ep_file_commit(&f);
}

void ep_history_free(ep_history *h) {
  ep_release(h->value);
  *h = (ep_history){0};
}
