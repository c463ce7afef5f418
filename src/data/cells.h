#pragma once
/* A table as text: cells between commas, semicolons, tabs or blanks, in quotes or not, with or without a header. */
#include <eigenpair/status.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
  ptrdiff_t rows, cols; /* the header is none of the rows */
  const char **cell;    /* (rows, cols): UTF-8 without control characters, trimmed */
  size_t *line;         /* (rows): where a row begins in the file */
  const char **name;    /* (cols): of the header, or "1", "2", ..; all different */
  bool header;
  char separator;     /* ' ': any run of blanks and tabs */
  void *text, *names; /* what the pointers above point into */
  json_t *index;      /* {name: column} */
} ep_cells;

/* Quotes as in RFC 4180, line breaks in them too. Lines that are empty or begin with # are passed over. */
ep_status ep_cells_parse(ep_cells *out, const unsigned char *bytes, size_t size, const char *name);
void ep_cells_free(ep_cells *cells);
static inline const char *ep_cell(const ep_cells *c, ptrdiff_t row, ptrdiff_t col) {
  return c->cell[row * c->cols + col];
}
/* {text: place}: the place, -1: it is not there */
static inline int ep_text_place(const json_t *index, const char *text) {
  const json_t *place = json_object_get(index, text);
  return place ? (int)json_integer_value(place) : -1;
}
/* The column of that name, or of that number (from 1 on) where none is called so; -1: none */
ptrdiff_t ep_cells_find(const ep_cells *cells, const char *name);

/* Values of cells. A number has its decimal sign, and perhaps the other one between groups of three digits. */
bool ep_cell_is_missing(const char *cell); /* empty, NA, NaN, null, None, ?, - */
bool ep_cell_number(double *x, const char *cell, char decimal);
/* YYYY-MM-DD, YYYY/MM/DD, DD.MM.YYYY, perhaps with HH:MM[:SS] behind it -> days since 1970 */
bool ep_cell_date(double *x, const char *cell);
