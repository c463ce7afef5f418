/* Spectra of kernels on domains. On circle, cube and sphere the kernel is a function k(c) of the cosine of two points;
 * with zonal functions P_k, P_k(1) = 1, the eigenvalue of level k is the mean of k(c) P_k(c) over the domain:
 *
 *   circle   lambda_k = 1/M sum_j k(cos a_j) cos(k a_j),   a_j = 2 pi j/M
 *   cube     lambda_k = 2^-d sum_j C(d,j) k(1 - 2j/d) p_k(j),   p_k(j) = K_k(j)/C(d,k) (Krawtchouk)
 *   sphere   lambda_k = int k(cos a) P_k(cos a) sin^{d-2} a da / int sin^{d-2} a da,   P_k Gegenbauer */
#include "theory/domains.h"
#include "core/crew.h"
#include "core/fft.h"
#include "core/mem.h"

#include <eigenpair/random.h>
#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846264338327950288;
enum { SPHERE_DEGREES = 1024, LEAST_NODES = 512 };
static const double sphere_modes = 1e7; /* listed one by one at most, the rest is the tail */

const char *ep_domain_name(int i) {
  static const char *const names[] = {"circle", "cube", "sphere", NULL};
  return names[i];
}

/* value[i] = k at the angle with cosine c[i] and sine s[i]: of (r, 0) and r (c, s) */
static ep_status kernel_at(ep_work *work, double *value, const ep_domain_kernel *kernel,
                           const double *c, const double *s, ptrdiff_t count) {
  double one[2] = {kernel->radius, 0};
  const ep_mat X = ep_mat_view(EP_DOUBLE, 1, 2, one), K = ep_mat_view(EP_DOUBLE, 1, count, value);
  ep_mat Y;
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, count, 2));
  for (ptrdiff_t i = 0; i < count; i++) {
    *ep_d(&Y, i, 0) = kernel->radius * c[i];
    *ep_d(&Y, i, 1) = kernel->radius * s[i];
  }
  return ep_analytic_kernel(NULL, &K, &kernel->network, kernel->kind, &X, &Y);
}

static ep_status levels_new(ep_domain *d, ptrdiff_t levels) {
  d->value = ep_alloc(levels, sizeof *d->value);
  d->count = ep_alloc(levels, sizeof *d->count);
  EP_CHECK(d->value && d->count, EP_ERR_NOMEM, "no memory for %td eigenvalues", levels);
  d->spectrum = (ep_spectrum){levels, d->value, d->count, INFINITY, 0};
  return EP_OK;
}

/* Sums of terms up to k(1) carry some units of its last place: eigenvalues below that are 0, and what they and the
 * levels past the list may hold of the trace k(1) is the tail, if it is more than rounding. */
static void finish_levels(ep_domain *d, double k1, double units) {
  const double zero = units * DBL_EPSILON * k1;
  double listed = 0, modes = units;
  for (ptrdiff_t k = 0; k < d->spectrum.levels; k++) {
    if (!(d->value[k] > zero)) d->value[k] = 0;
    listed += d->value[k] * d->count[k];
    modes += d->value[k] > 0 ? d->count[k] : 0;
  }
  const double tail = k1 - listed;
  d->spectrum.tail = tail > DBL_EPSILON * k1 * modes ? tail : 0;
}

static ep_status circle_spectrum(ep_work *work, ep_domain *d) {
  const ptrdiff_t M = d->size;
  double *c, *s, *re;
  EP_TRY(ep_work_get(work, &c, M, sizeof *c));
  EP_TRY(ep_work_get(work, &s, M, sizeof *s));
  EP_TRY(ep_work_get(work, &re, M, sizeof *re));
  EP_TRY(levels_new(d, M / 2 + 1));
  for (ptrdiff_t j = 0; j < M; j++) {
    c[j] = cos(2 * pi * (double)j / (double)M);
    s[j] = sin(2 * pi * (double)j / (double)M);
  }
  EP_TRY(kernel_at(work, re, &d->kernel, c, s, M));
  const double k1 = re[0];
  for (ptrdiff_t j = 0; j < M; j++) s[j] = 0;
  EP_TRY(ep_fft(re, s, M));
  for (ptrdiff_t k = 0; k <= M / 2; k++) {
    d->value[k] = re[k] / (double)M;
    d->count[k] = k == 0 || 2 * k == M ? 1 : 2;
  }
  d->spectrum.size = (double)M;
  finish_levels(d, k1, 16);
  return EP_OK;
}

/* p[j] = p_k(j) for j = 0 .. d, from p_{k-1} and p_{k-2}:
 * (d - k + 1) p_k(j) = (d - 2j) p_{k-1}(j) - (k - 1) p_{k-2}(j). Bounded by 1; run to k <= d/2 only, where it is stable. */
static void krawtchouk(double *p, const double *last, const double *before, ptrdiff_t d,
                       ptrdiff_t k) {
  for (ptrdiff_t j = 0; j <= d; j++)
    p[j] = k == 0 ? 1
                  : ((double)(d - 2 * j) * last[j] - (double)(k - 1) * (k > 1 ? before[j] : 0)) /
                        (double)(d - k + 1);
}

static double binomial(ptrdiff_t n, ptrdiff_t k) {
  double b = 1;
  for (ptrdiff_t i = 1; i <= k; i++) b = b * (double)(n - k + i) / (double)i;
  return round(b);
}

/* out[k] = sum_j h[j] p_k(j), k = 0 .. d; p_{d-k}(j) = (-1)^j p_k(j) */
static void cube_transform(double *out, const double *h, ptrdiff_t d) {
  double p[3][32];
  for (ptrdiff_t k = 0; 2 * k <= d; k++) {
    double *now = p[k % 3], even = 0, odd = 0;
    krawtchouk(now, p[(k + 2) % 3], p[(k + 1) % 3], d, k);
    for (ptrdiff_t j = 0; j <= d; j += 2) even += h[j] * now[j];
    for (ptrdiff_t j = 1; j <= d; j += 2) odd += h[j] * now[j];
    out[d - k] = even - odd;
    out[k] = even + odd;
  }
}

static ep_status cube_spectrum(ep_work *work, ep_domain *d) {
  const ptrdiff_t n = d->size;
  double c[32] = {0}, s[32] = {0}, k[32] = {0};
  EP_TRY(levels_new(d, n + 1));
  for (ptrdiff_t j = 0; j <= n; j++) {
    c[j] = 1 - 2 * (double)j / (double)n;
    s[j] = 2 * sqrt((double)j * (double)(n - j)) / (double)n;
    d->count[j] = binomial(n, j);
  }
  EP_TRY(kernel_at(work, k, &d->kernel, c, s, n + 1));
  const double k1 = k[0];
  for (ptrdiff_t j = 0; j <= n; j++) k[j] *= ldexp(d->count[j], -(int)n);
  cube_transform(d->value, k, n);
  d->spectrum.size = ldexp(1, (int)n);
  finish_levels(d, k1, 16);
  return EP_OK;
}

typedef struct {
  double *node, *weight;
  ptrdiff_t n;
} nodes_loop;

/* zeros of P_n by Newton, from Tricomi's estimate */
static void some_nodes(void *of, ptrdiff_t first, ptrdiff_t end) {
  double *node = ((nodes_loop *)of)->node, *weight = ((nodes_loop *)of)->weight;
  const ptrdiff_t n = ((nodes_loop *)of)->n;
  for (ptrdiff_t i = first; i < end; i++) {
    double x = cos(pi * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;
    for (int step = 0; step < 4; step++) {
      double p = 1, before = 0;
      for (ptrdiff_t k = 1; k <= n; k++) {
        const double next = ((double)(2 * k - 1) * x * p - (double)(k - 1) * before) / (double)k;
        before = p;
        p = next;
      }
      slope = (double)n * (x * p - before) / (x * x - 1);
      x -= p / slope;
    }
    node[i] = 0.5 * pi * (1 - x);
    weight[i] = pi / ((1 - x * x) * slope * slope);
    node[n - 1 - i] = 0.5 * pi * (1 + x);
    weight[n - 1 - i] = weight[i];
  }
}

/* Gauss-Legendre nodes and weights on [0, pi] */
static void legendre_nodes(double *node, double *weight, ptrdiff_t n) {
  ep_crew_loop((n + 1) / 2, 4, true, some_nodes, &(nodes_loop){node, weight, n});
}

/* P <- P_{k+1}(c) from P_k and P_{k-1}:  (k + d - 2) P_{k+1} = (2k + d - 2) c P_k - k P_{k-1};  P_0 = 1, P_1 = c */
static double gegenbauer_next(ptrdiff_t d, ptrdiff_t k, double c, double p, double before) {
  if (k == 0) return c;
  return ((double)(2 * k + d - 2) * c * p - (double)k * before) / (double)(k + d - 2);
}

/* dimension of the harmonics of degree k in R^d: (2k + d - 2)/(k + d - 2) C(k + d - 2, k) */
static double harmonics(ptrdiff_t d, ptrdiff_t k) {
  if (k == 0) return 1;
  if (d == 2) return 2;
  const double b = exp(lgamma((double)(k + d - 1)) - lgamma((double)k + 1) - lgamma((double)d - 1));
  return round((double)(2 * k + d - 2) / (double)(k + d - 2) * b);
}

static ptrdiff_t sphere_degrees(ptrdiff_t d) {
  double modes = 0;
  ptrdiff_t k = 0;
  while (k < SPHERE_DEGREES && modes < sphere_modes) modes += harmonics(d, k++);
  return k;
}

/* Kernels of networks are smooth in the angle on [0, pi], also where they have a root in the cosine: Gauss-Legendre in
 * the angle, with more nodes than the highest degree has waves. */
static ep_status sphere_spectrum(ep_work *work, ep_domain *d) {
  const ptrdiff_t degrees = sphere_degrees(d->size), n = LEAST_NODES + 2 * degrees;
  double *room[7];
  for (int i = 0; i < 7; i++) EP_TRY(ep_work_get(work, &room[i], n, sizeof(double)));
  double *node = room[0], *weight = room[1], *c = room[2], *s = room[3], *k = room[4], *p = room[5],
         *before = room[6], total = 0;
  EP_TRY(levels_new(d, degrees));
  legendre_nodes(node, weight, n);
  for (ptrdiff_t i = 0; i < n; i++) {
    c[i] = cos(node[i]), s[i] = sin(node[i]);
    weight[i] *= pow(s[i], (double)(d->size - 2));
    total += weight[i];
  }
  EP_TRY(kernel_at(work, k, &d->kernel, c, s, n));
  for (ptrdiff_t i = 0; i < n; i++) k[i] *= weight[i] / total, p[i] = 1;
  for (ptrdiff_t l = 0; l < degrees; l++) {
    d->count[l] = harmonics(d->size, l);
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
      sum += k[i] * p[i];
      const double next = gegenbauer_next(d->size, l, c[i], p[i], before[i]);
      before[i] = p[i];
      p[i] = next;
    }
    d->value[l] = sum;
  }
  const double one = 1, zero = 0;
  double k1;
  EP_TRY(kernel_at(work, &k1, &d->kernel, &one, &zero, 1));
  finish_levels(d, k1, 256); /* weights of that many nodes */
  return EP_OK;
}

ep_status ep_domain_new(ep_domain **out, ep_domain_kind kind, ptrdiff_t size,
                        const ep_domain_kernel *kernel) {
  static const struct {
    ptrdiff_t least, most;
    ep_status (*spectrum)(ep_work *work, ep_domain *d);
  } kinds[] = {{1, (ptrdiff_t)1 << 26, circle_spectrum},
               {1, 30, cube_spectrum},
               {2, 10000, sphere_spectrum}};
  *out = NULL;
  EP_CHECK(kind <= EP_SPHERE && size >= kinds[kind].least && size <= kinds[kind].most, EP_ERR_ARG,
           "%s:%td is out of range (%td to %td)", kind <= EP_SPHERE ? ep_domain_name(kind) : "?",
           size, kind <= EP_SPHERE ? kinds[kind].least : 0,
           kind <= EP_SPHERE ? kinds[kind].most : 0);
  ep_domain *d = ep_alloc(1, sizeof *d);
  EP_CHECK(d, EP_ERR_NOMEM, "no memory for a domain");
  *d = (ep_domain){.kind = kind, .size = size, .kernel = *kernel};
  ep_work work = {0};
  const ep_status st = kinds[kind].spectrum(&work, d);
  ep_work_free(&work);
  if (st) ep_domain_free(d);
  else *out = d;
  return st;
}

/* ---- any points */

double ep_domain_noise(ptrdiff_t n, double precision, double largest_entry, double largest_value) {
  return 4 * sqrt((double)n) * precision * largest_entry + 16 * DBL_EPSILON * fabs(largest_value);
}

double ep_domain_sample_bytes(double M) { return 3 * M * M * sizeof(double); }

/* rows of U and values from rising to falling */
static void turn_round(const ep_mat *U, double *value) {
  for (ptrdiff_t i = 0, j = U->rows - 1; i < j; i++, j--) {
    const double v = value[i];
    value[i] = value[j];
    value[j] = v;
    for (ptrdiff_t k = 0; k < U->cols; k++) {
      const double u = *ep_d(U, i, k);
      *ep_d(U, i, k) = *ep_d(U, j, k);
      *ep_d(U, j, k) = u;
    }
  }
}

static ep_status sample_spectrum(ep_domain *d) {
  const ptrdiff_t M = d->size;
  EP_TRY(levels_new(d, M));
  EP_TRY(ep_mat_new(&d->U, EP_DOUBLE, M, M));
  ep_mat_copy(&d->U, &d->K);
  EP_TRY(ep_mat_eig_sym(&d->U, d->value));
  turn_round(&d->U, d->value);
  const double noise = ep_domain_noise(M, d->precision, ep_mat_max(&d->K), d->value[0]);
  EP_CHECK(d->value[M - 1] > -100 * noise, EP_ERR_INPUT,
           "the kernel has an eigenvalue %g beside its largest %g: it is not positive semidefinite",
           d->value[M - 1], d->value[0]);
  for (ptrdiff_t i = 0; i < M; i++) {
    d->value[i] = d->value[i] > noise ? d->value[i] / (double)M : 0;
    d->count[i] = 1;
  }
  d->spectrum.size = (double)M;
  return EP_OK;
}

static ep_status check_matrix(const ep_mat *K) {
  EP_CHECK(K->rows == K->cols && K->rows > 0 && K->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "a kernel of %td x %td is not square and in double", K->rows, K->cols);
  const double most = ep_mat_max(K);
  EP_CHECK(isfinite(most), EP_ERR_INPUT, "the kernel is not finite");
  for (ptrdiff_t i = 0; i < K->rows; i++)
    for (ptrdiff_t j = 0; j < i; j++)
      EP_CHECK(fabs(*ep_d(K, i, j) - *ep_d(K, j, i)) <= 1e-6 * most, EP_ERR_INPUT,
               "the kernel is not symmetric: entries (%td, %td) are %g and %g", i, j,
               *ep_d(K, i, j), *ep_d(K, j, i));
  return EP_OK;
}

ep_status ep_domain_sample(ep_domain **out, ep_mat *K, double precision) {
  *out = NULL;
  ep_domain *d = NULL;
  ep_status st = check_matrix(K);
  if (!st && !(d = ep_alloc(1, sizeof *d))) st = EP_FAIL(EP_ERR_NOMEM, "no memory for a domain");
  if (st) {
    ep_mat_free(K);
    return st;
  }
  *d = (ep_domain){.kind = EP_SAMPLE, .size = K->rows, .K = *K, .precision = precision};
  *K = (ep_mat){0};
  st = sample_spectrum(d);
  if (st) ep_domain_free(d);
  else *out = d;
  return st;
}

void ep_domain_free(ep_domain *d) {
  if (!d) return;
  ep_release(d->value);
  ep_release(d->count);
  ep_mat_free(&d->K);
  ep_mat_free(&d->U);
  ep_release(d);
}

ep_domain_kind ep_domain_kind_of(const ep_domain *d) { return d->kind; }
const ep_spectrum *ep_domain_spectrum(const ep_domain *d) { return &d->spectrum; }

/* ---- sums of zonal functions */

/* h[j] = sum of A over pairs at distance j (circle: steps apart; cube: bits that differ) */
static void bin_pairs(double *h, const ep_domain *d, const ep_mat *A, const ptrdiff_t *index) {
  for (ptrdiff_t x = 0; x < A->rows; x++)
    for (ptrdiff_t y = 0; y < A->cols; y++) {
      const ptrdiff_t apart =
          d->kind == EP_CUBE
              ? __builtin_popcountll((unsigned long long)(index[x] ^ index[y]))
              : (index[x] >= index[y] ? index[x] - index[y] : index[x] - index[y] + d->size);
      h[apart] += *ep_d(A, x, y);
    }
}

static ep_status circle_sums(ep_work *work, double *out, const ep_domain *d, const ep_mat *A,
                             const ptrdiff_t *index) {
  double *re, *im;
  EP_TRY(ep_work_get(work, &re, d->size, sizeof *re));
  EP_TRY(ep_work_get(work, &im, d->size, sizeof *im));
  bin_pairs(re, d, A, index);
  EP_TRY(ep_fft(re, im, d->size));
  for (ptrdiff_t k = 0; k < d->spectrum.levels; k++) out[k] = re[k];
  return EP_OK;
}

/* the first degrees of every pair of points by the recurrence */
static void sphere_sums(double *out, const ep_domain *d, const ep_mat *A, const ep_mat *X) {
  const ptrdiff_t levels = d->spectrum.levels;
  const ptrdiff_t most = levels < EP_ZONAL_DEGREES ? levels : EP_ZONAL_DEGREES;
  const double r2 = d->kernel.radius * d->kernel.radius;
  for (ptrdiff_t k = 0; k < levels; k++) out[k] = k < most ? 0 : NAN;
  for (ptrdiff_t x = 0; x < A->rows; x++)
    for (ptrdiff_t y = 0; y <= x; y++) {
      const double a = *ep_d(A, x, y) * (x == y ? 1 : 2);
      double c = 0, p = 1, before = 0;
      for (ptrdiff_t j = 0; j < X->cols; j++) c += *ep_d(X, x, j) * *ep_d(X, y, j) / r2;
      c = fmax(-1, fmin(1, c));
      for (ptrdiff_t k = 0; k < most; k++) {
        out[k] += a * p;
        const double next = gegenbauer_next(d->size, k, c, p, before);
        before = p;
        p = next;
      }
    }
}

ep_status ep_domain_zonal_sums(double *out, const ep_domain *d, const ep_mat *A,
                               const ptrdiff_t *index, const ep_mat *X) {
  ep_work work = {0};
  ep_status st = EP_OK;
  double h[32] = {0};
  if (d->kind == EP_CIRCLE) st = circle_sums(&work, out, d, A, index);
  else if (d->kind == EP_SPHERE) sphere_sums(out, d, A, X);
  else bin_pairs(h, d, A, index), cube_transform(out, h, d->size);
  ep_work_free(&work);
  return st;
}
