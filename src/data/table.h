#pragma once
/* Tables -> points: columns of numbers, dates and text, labels, missing values, scales. What is learnt on the first table is
 * a plan, a JSON object that models keep, so that later tables are treated the same way:
 *   {"columns": [{"name", "kind": "number" | "date", "mean", "deviation", "decimal"},
 *                {"name", "kind": "text", "categories": [..], "shares": [..]}],
 *    "scale": "raw" | "standard", "missing", "label": name, "classes": [..]}
 * A column of text is one of 0 and 1 for every category, in the order of the list. */
#include <eigenpair/dataset.h>

typedef struct ep_table {
  ep_mat X;       /* (n, D) */
  int *labels;    /* (n): places in classes, or whole numbers; NULL: none */
  json_t *plan;   /* see above */
  double *spread; /* (D) standard deviation of a column on the first table, after scaling */
  int *group;     /* (D) the column of the plan it came from */
  bool *missing;  /* (n, columns of the plan) the cell was empty and is filled in; NULL: none was */
} ep_table;

/* `plan` NULL: learn one, as the options say. Else only --label-column and --missing of the options hold. */
ep_status ep_parse_table(ep_table *out, const unsigned char *bytes, size_t size, const char *name,
                         const ep_data_config *config, ep_precision prec, const json_t *plan);
/* The same of a file. *is_table false, and nothing read: it is no text, or numbers without header, and nothing asks for a
 * table. */
ep_status ep_table_read(ep_table *out, bool *is_table, const char *path,
                        const ep_data_config *config, ep_precision prec, const json_t *plan);
void ep_table_free(ep_table *table);

/* Labels of a file of any format. Words (one a row) become places in *classes, a JSON array that is made or added to; it
 * stays NULL for whole numbers. */
ep_status ep_table_labels(int **labels, json_t **classes, ptrdiff_t *n, const char *path);

/* Labels that are places in `from` become places in `classes`, which is added to. */
ep_status ep_labels_rename(int *labels, ptrdiff_t n, json_t *classes, const json_t *from);

/* The lines of a text as a JSON array of strings, one for each of `rows` points. */
ep_status ep_lines_read(json_t **lines, const char *path, ptrdiff_t rows);

/* Is it a plan that could have been learnt? `path` is the file it comes from; NULL: there is none, which is fine. */
ep_status ep_plan_check(const json_t *plan, const char *path);

/* Mean and deviation of every column of a matrix as a plan (scale standard). */
json_t *ep_plan_of_columns(const double *mean, const double *deviation, ptrdiff_t count);
/* Mean and inverse deviation of a plan whose columns are all numbers; false: it is no such plan, or of another width. */
bool ep_plan_scales(double *mean, double *inverse, ptrdiff_t count, const json_t *plan);
