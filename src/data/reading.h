#pragma once
/* A table on its way from cells to points: what table.c, table_learn.c and table_labels.c share. */
#include "data/cells.h"
#include "data/table.h"

#define EP_TABLE_LARGEST 1e300 /* mean and deviation of a column at most, learnt or read */

/* A table on its way: columns of the plan and where they are in the file. */
typedef struct {
  const ep_data_config *config;
  const char *file;
  ep_cells cells;
  json_t *plan;         /* owned */
  bool learning;        /* the plan is made here */
  ptrdiff_t count, *at; /* columns of the plan: which of the file */
  ptrdiff_t label;      /* column of the file; -1: none */
  ptrdiff_t kept, *row; /* rows that are kept */
  ptrdiff_t filled;     /* of their cells so many are missing */
} ep_reading;

ep_status ep_reading_no_memory(const ep_reading *r);
/* now and then in a loop over rows: is it to stop? */
ep_status ep_reading_step(ptrdiff_t i, ptrdiff_t rows);
/* the error that names a cell */
ep_status ep_reading_odd(const ep_reading *r, ptrdiff_t i, ptrdiff_t j, const char *what);
/* the column that an option names; the error says which may have been meant */
ep_status ep_reading_column(ptrdiff_t *j, const ep_reading *r, const char *flag, const char *name);
/* one number of a column; *missing instead, where there is none */
ep_status ep_reading_value(double *x, bool *missing, const ep_reading *r, const json_t *column,
                           ptrdiff_t i, ptrdiff_t j);
/* the texts of a column, sorted: *count of them are there, *different are different and come first; how often in times */
ep_status ep_reading_texts(const char ***texts, ptrdiff_t **times, ptrdiff_t *count,
                           ptrdiff_t *different, const ep_reading *r, ptrdiff_t j);

/* The plan, its columns and their places in the file, from the options and the cells. */
ep_status ep_plan_learn(ep_reading *r);
json_t *ep_plan_column(const ep_reading *r, ptrdiff_t k);
bool ep_column_is_text(const json_t *column);

/* Whole numbers stay what they are, unless the plan has classes; words are places in classes. */
ep_status ep_reading_labels(int **labels, const ep_reading *r);

/* Does the file begin as text does? Packed text is told by its name. */
bool ep_file_may_be_table(const char *path);

/* the text of a key; "": there is none */
const char *ep_plan_text(const json_t *object, const char *key);
/* {text: place} of a list for ep_text_place, so that finding one takes no walk; of a text that is there twice the first */
ep_status ep_plan_index(json_t **index, const json_t *list);
