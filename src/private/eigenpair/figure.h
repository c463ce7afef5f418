#pragma once
/* A figure as data: what is drawn, not how. The report page and the SVG files are made from it.
 *
 *   {"name": "drift", "kind": "line", "title": .., "alt": ..,
 *    "x": {"title": "width M", "log": true}, "y": {..},
 *    "series": [{"name": "gd", "panel": "", "dashed": false, "x": [..], "y": [..],
 *                "low": [..], "high": [..], "label": [..]}, ..],
 *    "rules": [{"axis": "x", "value": 3, "text": "gap"}, ..], "classes": [{"label": 0, "name": "zero"}, ..],
 *    "named": true}
 *
 * kind is line or scatter; panel, dashed, low, high, label and rules may be left out. The name is that of its files: small
 * letters, digits, - and _. `alt` says in a sentence what the figure shows. Series of one panel are drawn together; several panels become a
 * switch. low and high make error bars; label (whole numbers) colours points, classes name
 * them; "pictures" (ep_pack_pictures) shows the i-th picture where the i-th point of a series is pointed at. A scatter of series of
 * one point each has their names beside them; lines have theirs at their ends. named: a map, both axes on one scale, with the
 * names of the classes in their regions. Numbers that are not finite are null. */
#include <eigenpair/json.h>
#include <eigenpair/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum { EP_FIGURE_LINE, EP_FIGURE_SCATTER } ep_figure_kind;

typedef struct {
  const char *title;
  bool log, percent; /* percent: a share, 0.8 is written 80 % */
} ep_axis;

/* *out is the caller's (json_decref). */
ep_status ep_figure_new(json_t **out, const char *name, ep_figure_kind kind, const char *title,
                        const char *alt, ep_axis x, ep_axis y);

typedef struct {
  const char *name, *panel; /* panel NULL: the figure has one */
  ptrdiff_t count;
  const double *x, *y;
  const double *low, *high; /* or NULL */
  const int *label;         /* or NULL */
  bool dashed;              /* theory, not measurement */
} ep_series;
ep_status ep_figure_add(json_t *figure, const ep_series *series);
/* A line across the figure at x = value (axis 'x') or y = value. */
ep_status ep_figure_rule(json_t *figure, char axis, double value, const char *text);
/* A row a point: series,panel,x,y,low,high,label. What is not there is empty. */
ep_status ep_figure_write_csv(const char *path, const json_t *figure);
