#pragma once
/* What a closed form or a descent costs on several machines: time, memory and traffic a rank (docs/scale.md). */
#include <eigenpair/method.h>

/* Rates of one core, of a rank's share of the network and of a node's disk. */
typedef struct {
  double product;  /* operations a second of large products, precision of the run */
  double solve;    /* the same in double, where eigenproblems live */
  double features; /* operations a second of the map */
  double view;     /* seconds to read and augment a view */
  double network;  /* bytes a second of a node */
} ep_scale_rates;

typedef enum { EP_SCALE_WHITENED, EP_SCALE_PCA, EP_SCALE_GD } ep_scale_method;

typedef struct {
  ep_scale_method method;
  double points, views, inputs, features, outputs, epochs;
  double flops;                 /* of the map, a view */
  double nodes, ranks, threads; /* ranks a node, threads a rank */
  double size;                  /* bytes of a number */
  double memory;                /* bytes a node; 0: not known */
  ep_solver solver;             /* of whitened; auto: spread where whole matrices do not fit */
} ep_scale_case;

typedef struct {
  double views, map, sums, solve,
      traffic; /* seconds: read and augment, features, sums (gd: passes), eigenproblem, network */
  double seconds;    /* all of it */
  double memory;     /* bytes a rank */
  double bytes;      /* that a rank sends and receives */
  double operations; /* of all ranks */
  bool spread;       /* matrices and eigenproblem are spread over the ranks (ScaLAPACK) */
} ep_scale_cost;

ep_scale_cost ep_scale_estimate(const ep_scale_case *c, const ep_scale_rates *r);
/* The most features within so many seconds and the memory, of a map whose operations grow with their number; the most
 * points within so many seconds. */
double ep_scale_features(const ep_scale_case *c, const ep_scale_rates *r, double seconds);
double ep_scale_points(const ep_scale_case *c, const ep_scale_rates *r, double seconds);

/* Features and operations a view of the map that the setup names, for points of this many numbers. */
ep_status ep_scale_map(ep_scale_case *c, ep_scale_rates *rates, const ep_setup *setup,
                       ptrdiff_t inputs, ep_image_shape shape);
