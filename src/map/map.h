#pragma once
/* Maps x -> psi(x) in R^M. A model is a sum of them,
 *
 *   f(x) = sum_k C_k' psi_k(x) - offset,
 *
 * and what differs between models is which maps. One file a map, one row each in the table below; nothing outside this
 * folder knows which there are. psi = phi / (|phi| + sqrt(M) delta) (cosine) or M^{-1/2} phi (dot). Theory: section 6. */
#include "core/real.h"

#include <eigenpair/dataset.h>
#include <eigenpair/features.h>

typedef struct ep_map ep_map;

/* A map and its coefficients. */
typedef struct {
  ep_map *map;       /* owned */
  ep_mat C;          /* (count, Z), owned; as the kind of map says */
  ptrdiff_t outputs; /* Z */
} ep_term;

/* What a map of points is made from. */
typedef struct {
  const ep_feature_config *feature;
  const ep_net_config *net;
  const ep_variance_config *variances; /* of a network's weights */
  const ep_analytic *kernel;           /* of landmarks */
  ptrdiff_t landmarks;                 /* at most so many of the points */
  ep_psi psi;
  const ep_points *points;
  uint64_t seed;
  const ep_net *start; /* of a network: weights to begin from, lent; NULL: drawn, or --init */
} ep_map_plan;

/* What a term of a model is read from. */
typedef struct {
  ep_npz *file;
  const char *path;
  ep_precision prec;
  const json_t *config;
  ep_net_shape shape; /* its activations, parametrisation, variances */
  bool input_scale;   /* the first layer is divided by sqrt(D) */
  ep_analytic kernel;
  ep_psi psi;
  const ep_term *first; /* the model's first term, when its second is read */
} ep_term_source;

/* A row of the table. NULL where a kind has no such function. */
typedef struct {
  const char *name;
  const char *help; /* for --features; NULL: not a choice there */
  /* From points and options. */
  ep_status (*make)(ep_map **out, const ep_map_plan *plan);
  /* Psi (n x count) = phi(X) where `scaled`, psi(X) else; of one precision. */
  ep_status (*rows)(const ep_mat *Psi, const ep_map *map, const ep_mat *X);
  bool scaled;     /* rows gives phi: psi is still to be made */
  bool filters;    /* --filters says where its filters come from */
  bool kappa;      /* its kernel is kappa: a model's config says so */
  bool similarity; /* its outputs are W'psi, as the similarity of the loss sees them, or can be */
  double (*flops)(const ep_map *map);                      /* a point */
  double (*scratch)(const ep_map *map, ep_precision prec); /* bytes a point, beside Psi */
  /* E += C'psi(X) within `memory` bytes; NULL: by rows. */
  ep_status (*apply)(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory);
  /* A term that gives the same and is cheaper for many points; NULL: the term itself is. */
  ep_status (*prepare)(ep_term *out, const ep_term *term, double memory);
  /* W (M x Z, double) of a closed form -> a term of a model; the map is taken over. */
  ep_status (*keep)(ep_term *out, ep_map *map, const ep_mat *W);
  /* The arrays of a model's file, and what its config has to say besides. */
  ep_status (*write)(ep_npz *file, json_t *config, const ep_term *term);
  ep_status (*read)(ep_term *out, const ep_term_source *from);
  /* For a person: "network  784 -> 100 relu -> 10". */
  void (*describe)(char text[EP_DESCRIPTION], const ep_term *term);
  /* Its stages, with sizes and cost, one a line; false past the last. */
  bool (*explain)(char text[EP_DESCRIPTION], const ep_map *map, int line);
  void (*free)(ep_map *map);
} ep_map_kind;

/* The head of every map. */
struct ep_map {
  const ep_map_kind *kind;
  ptrdiff_t inputs, count; /* D, M */
  ptrdiff_t outputs;       /* Z that its weights prescribe; 0: none */
  ep_psi psi;
};

/* The table: ep_map_NAME, in a file of its own. */
#define EP_MAPS(X) \
  X(network)       \
  X(patches)       \
  X(stack)         \
  X(landmarks)     \
  X(tangent)       \
  X(empirical)     \
  X(ntk)           \
  X(nngp)          \
  X(kappa)
#define X(name) extern const ep_map_kind ep_map_##name;
EP_MAPS(X)
#undef X
const ep_map_kind *ep_map_kind_of(const char *name); /* NULL: there is none */

/* The map that plan->feature names. */
ep_status ep_map_make(ep_map **out, const ep_map_plan *plan);
void ep_map_free(ep_map *map); /* NULL is fine */
/* Psi (n x M) = psi(x_i). Scratch is that of ep_map_scratch. */
ep_status ep_map_rows(const ep_mat *Psi, const ep_map *map, const ep_mat *X);
double ep_map_flops(const ep_map *map);
double ep_map_scratch(const ep_map *map, ep_precision prec);

void ep_term_free(ep_term *term);
/* E += C'psi(X), in blocks within `memory` bytes. */
ep_status ep_term_apply(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory);
/* A matrix of the file, in the precision of the source. */
ep_status ep_term_matrix(ep_mat *to, const ep_term_source *from, const char *name);
/* A map of `size` bytes whose head is filled in; zeros behind it. */
ep_status ep_map_new(ep_map **out, size_t size, const ep_map_kind *kind, ptrdiff_t inputs,
                     ptrdiff_t count, ep_psi psi);

/* W (M x Z, double) of a closed form, in the precision of the map: what `keep` does where C = W. */
ep_status ep_term_of_weights(ep_term *out, ep_map *map, const ep_mat *W, ep_precision prec);

/* s of the first layer for points of so many numbers */
double ep_term_input_scale(const ep_term_source *from, ptrdiff_t inputs);

/* ---- network.c: the last hidden layer. Its coefficients are the network's own W. */
typedef struct {
  ep_map head;
  const ep_net *net; /* &own, or borrowed */
  ep_net own;
} ep_network_map;
/* Borrows the network; for a while, on the stack. */
ep_network_map ep_network_map_of(const ep_net *net, ep_psi psi);
/* An empty network's: the caller fills in `own`, then the head by ep_network_map_set. */
ep_status ep_network_map_new(ep_network_map **out);
void ep_network_map_set(ep_network_map *map);
ep_net *ep_term_net(
    const ep_term *term); /* the network of a term that has one of its own; else NULL */

/* ---- patches.c */
typedef struct {
  ep_map head;
  ep_image_shape shape;
  ptrdiff_t filters, size, grid; /* K, p, g */
  ep_mat F;                      /* (K, channels p^2), owned */
  ep_mat theta;                  /* (1, K), owned */
} ep_patches;
/* Filters as the loops take them, K filled up with zeros to whole panels, and what one thread needs. */
enum {
  EP_PATCH_PANEL = 128,
  EP_PATCH_PLACES = 8
}; /* bytes; places that are taken at once, or more */
typedef struct {
  ep_mat F, theta;         /* (K.., d) panels, (1, K..); shared */
  ptrdiff_t *offset;       /* (d) from the first pixel of a patch to the others; shared */
  ep_mat sums;             /* (g^2 + 1, K..) */
  ptrdiff_t *place, *cell; /* (places + EP_PATCH_PLACES): first pixel and cell of those not blank */
} ep_patches_scratch;
EP_REAL_FN(void, ep_patches_pack, const ep_mat *F, const ep_mat *theta, const ep_patches *p);
/* One image (1 x D) -> its K g^2 numbers */
EP_REAL_FN(void, ep_patches_image, const ep_mat *phi, const ep_patches *p, const ep_mat *image,
           const ep_patches_scratch *scratch);

/* ---- coder.c: whitened patches of an image, and of what another layer made of it */
typedef struct {
  ep_image_shape in;
  ptrdiff_t filters, size, grid; /* K, p, g */
  bool two;                      /* relu(z - theta) and relu(-z - theta), or the first alone */
  bool mirror, root;             /* averaged over image and mirror image; sign(x) sqrt|x| at last */
  double active, zca;            /* share of the outputs above 0; ridge of the whitening */
  ptrdiff_t near, keep;          /* r, L of the problem of neighbours; 0: none */
  double floor, theta;           /* added to the variance of a patch; threshold of the cosines */
  ep_mat mean, whiten, F;        /* (1, d), (d, d), (K, d), owned */
  ep_mat L, cosine;              /* (d, d), (K, d): |x whiten| = |x L|, F whiten; owned */
  ep_mat E, shift;               /* (codes, L), (1, L), owned; empty without neighbours */
} ep_coder;
ptrdiff_t ep_coder_numbers(const ep_coder *layer);     /* d of a patch */
ptrdiff_t ep_coder_codes(const ep_coder *layer);       /* K, or 2 K with two sides */
ptrdiff_t ep_coder_channels(const ep_coder *layer);    /* of what comes out: codes, or L */
ep_image_shape ep_coder_out(const ep_coder *layer);    /* (channels, g, g) */
ep_image_shape ep_coder_places(const ep_coder *layer); /* (1, rows of places, places in a row) */
double ep_coder_flops(const ep_coder *layer);          /* an image */
double ep_coder_bytes(const ep_coder *layer, ep_precision prec);
ep_status ep_coder_check(
    const ep_coder *layer); /* do patches, grid and neighbours fit the image? */
/* Finds everything from images (n x D) whose shape is `in`; `number`: of its random stream. */
ep_status ep_coder_fit(ep_coder *layer, const ep_mat *images, uint64_t seed, int number);
ep_status ep_coder_ready(ep_coder *layer); /* what is made of whitening and filters */
void ep_coder_free(ep_coder *layer);

/* Of one thread: a band of places, a cell, a place; with a mirror the image in it and what it gives. */
typedef struct {
  ep_mat X, Y, R, cell, h, value, flipped, more;
  int *index;
  ptrdiff_t *row; /* of X, for each place of the band */
} ep_coder_scratch;
ep_status ep_coder_scratch_new(ep_coder_scratch *s, ep_work *work, const ep_coder *layer,
                               ep_precision prec);
/* X (n x d) patches -> their contrast, in place; Y = whitened, of length 1, X is scratch; A (n x codes) from cosines. */
EP_REAL_FN(void, ep_coder_contrast, const ep_mat *X, const ep_coder *layer);
EP_REAL_FN(void, ep_coder_whiten, const ep_mat *Y, const ep_mat *X, const ep_coder *layer);
/* Z (n x K) of X, which and Y (n x d) are scratch. */
EP_REAL_FN(void, ep_coder_cosines, const ep_mat *Z, const ep_mat *X, const ep_mat *Y,
           const ep_coder *layer);
EP_REAL_FN(void, ep_coder_code, const ep_mat *A, const ep_mat *cosines, const ep_coder *layer);
/* One image (1 x D) -> (channels, g, g) */
EP_REAL_FN(void, ep_coder_image, const ep_mat *out, const ep_coder *layer, const ep_mat *image,
           const ep_coder_scratch *scratch);

/* ---- stack.c: layers one behind the other, several such rows (scales) side by side */
enum { EP_STACK_LAYERS = 16 };
typedef struct {
  ep_map head;
  ep_image_shape shape;
  char text[sizeof(ep_opt_NAME)]; /* as it was written */
  int layers;
  bool starts[EP_STACK_LAYERS +
              1]; /* at the image: the first layer of a scale; also past the last */
  ep_coder layer[EP_STACK_LAYERS];
  ep_precision prec;
} ep_stack;

/* ---- recipe.c: what --features auto stands for */
typedef struct {
  ep_image_shape shape;
  ptrdiff_t anchors, views; /* views of an anchor, itself among them */
  ep_precision prec;
  double memory;
  const char *time; /* as --time has it */
  bool flips;       /* a view may be the mirror image */
} ep_recipe_ask;
/* `why`: the recipe and what led to it, for a person. */
ep_status ep_features_recipe(char text[sizeof(ep_opt_NAME)], char why[EP_DESCRIPTION],
                             const ep_recipe_ask *ask);
ep_status ep_time_parse(double *seconds, const char *text); /* 90s, 10m, 2h */

/* ---- landmarks.c: a kernel of infinite width seen from some points */
/* From candidates X: those that the others do not determine, by pivoted Cholesky. */
ep_status ep_landmarks_new(ep_map **out, const ep_analytic *kernel, const ep_mat *X, ep_psi psi);
/* A drawn part of the plan's points as candidates. */
ep_status ep_landmarks_draw(ep_map **out, const ep_map_plan *plan);

/* ---- sections.c: psi(x) = K(x, X), C = Y. Takes X over, but for that of another term (`borrowed`). */
ep_status ep_sections_new(ep_map **out, const ep_map_kind *kind, const ep_analytic *kernel,
                          ep_psi psi, ep_mat *X, bool borrowed);
const ep_mat *ep_sections_points(const ep_map *map);

/* ---- tangent.c: psi_z(x) = df_z(x)/dtheta, C = a change of theta (1 x parameters); and K(x, X) = J(x) J(X)', C = Y. The
 * network is that of another term. */
ep_status ep_tangent_new(ep_map **out, const ep_net *net);
ep_status ep_empirical_new(ep_map **out, const ep_net *net, ep_mat *X); /* takes X over */
