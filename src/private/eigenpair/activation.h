#pragma once
/* Activations phi: value, derivatives, Lipschitz constant L = sup |phi'|, smoothness B = sup |phi''|. */
#include <eigenpair/network.h>

const char *ep_activation_name(int i); /* NULL past the last */

const char *ep_activation_label(const ep_activation *phi);
/* The text that ep_activation_parse reads: "relu", "leaky:0.1". */
void ep_activation_text(char text[64], const ep_activation *phi);
bool ep_activation_equal(const ep_activation *a, const ep_activation *b);
double ep_activation_value(const ep_activation *phi, double a);
double ep_activation_slope(const ep_activation *phi, double a);
double ep_activation_curve(const ep_activation *phi, double a); /* phi'' */
double ep_activation_lipschitz(const ep_activation *phi);       /* INFINITY: there is none */
double ep_activation_smoothness(const ep_activation *phi);      /* INFINITY: there is none */
/* phi(ta) = t^degree phi(a) for t > 0; 0: it is not homogeneous. */
double ep_activation_degree(const ep_activation *phi);
/* |phi'(0+) - phi'(0-)| of one made of two lines, or of one; NAN: it is another. */
double ep_activation_jump(const ep_activation *phi);
bool ep_activation_mirrored(const ep_activation *phi); /* phi(-a) is phi(a) or -phi(a) */
bool ep_activation_is_linear(const ep_activation *phi);

/* H = phi(A), S = phi'(A), C = phi''(A), entry by entry; each of them may be A. Serial: callers share out rows. */
void ep_activation_values(const ep_mat *H, const ep_activation *phi, const ep_mat *A);
void ep_activation_slopes(const ep_mat *S, const ep_activation *phi, const ep_mat *A);
void ep_activation_curves(const ep_mat *C, const ep_activation *phi, const ep_mat *A);
/* H = phi(A), S = phi'(A) in one go; one of them may be A */
void ep_activation_both(const ep_mat *H, const ep_mat *S, const ep_activation *phi,
                        const ep_mat *A);
