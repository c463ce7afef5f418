#pragma once
/* What network.c and network_file.c share. */
#include <eigenpair/network.h>

/* V_l or W, b_l or c of layer l = 0 .. L */
const ep_mat *ep_net_weights(const ep_net *net, int l);
const ep_mat *ep_net_biases(const ep_net *net, int l); /* data NULL: none */
/* The network of --init for points of shape->inputs numbers. */
ep_status ep_net_read_init(ep_net *out, const char *path, const ep_net_shape *shape,
                           ep_precision prec);
