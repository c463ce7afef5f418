/* .npz, labels, matrices of rows, and what happens when memory or disk give out. */
#include "files.h"

/* ---- .npz */

static const char *make_npz(const char *name) {
  const char *path = in_folder(name);
  static float f[6] = {1, 2, 3, 4, 5, 6};
  static double d[8] = {1.5, 2.5, 3.5, 0, 4.5, 5.5, 6.5, 0};
  const ep_mat V = ep_mat_view(EP_SINGLE, 2, 3, f), W = {2, 3, 4, EP_DOUBLE, d};
  const ep_mat row = ep_mat_view(EP_SINGLE, 1, 6, f), none = ep_mat_view(EP_SINGLE, 0, 3, f);
  ep_npz *z;
  CHECK_OK(ep_npz_create(&z, path));
  CHECK_OK(ep_npz_add_matrix(z, "V", &V, false));
  CHECK_OK(ep_npz_add_matrix(z, "W", &W, false));
  CHECK_OK(ep_npz_add_matrix(z, "eigenvalues", &row, true));
  CHECK_OK(ep_npz_add_matrix(z, "none", &none, false));
  CHECK_OK(ep_npz_add_text(z, "config", "{\"name\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}"));
  CHECK_OK(ep_npz_add_text(z, "blank", ""));
  CHECK_STATUS(ep_npz_add_text(z, "wrong", "\xc3("), EP_ERR_INPUT);
  CHECK_STATUS(ep_npz_add_text(z, "wrong", "\xe2\x82"), EP_ERR_INPUT);
  CHECK_STATUS(ep_npz_add_text(z, "wrong", "\xed\xa0\x80"), EP_ERR_INPUT);
  CHECK_STATUS(ep_npz_add_text(z, "", "a"), EP_ERR_ARG);
  CHECK_STATUS(ep_npz_add_matrix(z, "V", &V, false), EP_ERR_ARG); /* twice */
  CHECK_STATUS(ep_npz_add_matrix(z, "U", &V, true), EP_ERR_SHAPE);
  CHECK_OK(ep_npz_commit(z));
  CHECK_STATUS(ep_npz_commit(z), EP_ERR_ARG);
  ep_npz_close(z);
  return path;
}

static void npz_round_trip(void **state) {
  (void)state;
  const size_t before = ep_mem_current();
  const char *path = make_npz("m.npz");
  ep_npz *z;
  ep_array a;
  char *text;
  CHECK_OK(ep_npz_open(&z, path));
  assert_true(ep_npz_has(z, "V") && ep_npz_has(z, "config") && !ep_npz_has(z, "wrong"));
  CHECK_OK(ep_npz_get(&a, z, "W"));
  assert_int_equal(a.dtype, EP_F64);
  for (int i = 0; i < 6; i++) CHECK_NEAR(ep_array_value(&a, i), i + 1.5, 0);
  ep_array_free(&a);
  CHECK_OK(ep_npz_get(&a, z, "eigenvalues"));
  assert_int_equal(a.ndim, 1);
  assert_int_equal(a.shape[0], 6);
  ep_array_free(&a);
  CHECK_OK(ep_npz_get(&a, z, "none"));
  assert_int_equal(a.shape[0], 0);
  ep_array_free(&a);
  CHECK_OK(ep_npz_get_text(&text, z, "config"));
  assert_string_equal(text, "{\"name\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}");
  ep_npz_text_free(text);
  CHECK_OK(ep_npz_get_text(&text, z, "blank"));
  assert_string_equal(text, "");
  ep_npz_text_free(text);
  CHECK_STATUS(ep_npz_get(&a, z, "config"), EP_ERR_INPUT);
  check_message(path, "m.npz:config: holds text");
  CHECK_STATUS(ep_npz_get_text(&text, z, "V"), EP_ERR_INPUT);
  CHECK_STATUS(ep_npz_get(&a, z, "Q"), EP_ERR_INPUT);
  check_message(path, "holds no array 'Q'; it holds: V, W, eigenvalues, none, config, blank");
  CHECK_STATUS(ep_npz_add_text(z, "more", "x"), EP_ERR_ARG); /* open for reading */
  ep_npz_close(z);
  ep_npz_close(NULL);
  assert_int_equal(ep_mem_current(), before);
}

static void npz_same_bytes(void **state) {
  (void)state;
  unsigned char *a, *b;
  size_t na, nb;
  CHECK_OK(ep_file_read(&a, &na, make_npz("one.npz")));
  sleep(2); /* the time of zip files counts in steps of two seconds */
  CHECK_OK(ep_file_read(&b, &nb, make_npz("two.npz")));
  assert_int_equal(na, nb);
  assert_memory_equal(a, b, na);
  ep_release(a);
  ep_release(b);
}

/* An archive made by libzip itself: the members' bytes, packed or not. */
static const char *pack(const char *name, int count, const char *const *members, const blob *blobs,
                        int method) {
  const char *path = in_folder(name);
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  assert_non_null(zip);
  for (int i = 0; i < count; i++) {
    zip_source_t *s = zip_source_buffer(zip, blobs[i].bytes, blobs[i].size, 0);
    const zip_int64_t k = zip_file_add(zip, members[i], s, 0);
    assert_true(k >= 0);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)k, method, 0), 0);
  }
  assert_int_equal(zip_close(zip), 0);
  return path;
}

static blob byte_array(unsigned char value) {
  unsigned char data[4000];
  memset(data, value, sizeof data);
  return make_npy(1, DICT("'|u1'", "False", "(40, 100)"), data, sizeof data);
}

static void npz_choosing(void **state) {
  (void)state;
  static const char *const packed[] = {"note.txt", "config.npy", "data.npy"};
  static const char *const several[] = {"V.npy", "W.npy"};
  static const char *const with_x[] = {"V.npy", "X.npy"};
  static const char *const with_0[] = {"V.npy", "arr_0.npy"};
  const blob text = text_blob("hello");
  const blob config = make_npy(1, DICT("'<U1'", "False", "()"), "a\0\0", 4);
  const blob one[] = {text, config, byte_array(7)}, two[] = {byte_array(1), byte_array(2)};
  static const int methods[] = {ZIP_CM_STORE, ZIP_CM_DEFLATE};
  ep_array a;
  char name[300];
  for (int k = 0; k < 2; k++) {
    const char *path = pack("p.npz", 3, packed, one, methods[k]);
    CHECK_OK(ep_array_read(&a, path));
    assert_int_equal(a.shape[0], 40);
    CHECK_NEAR(ep_array_value(&a, 3999), 7, 0);
    ep_array_free(&a);
    path = pack("s.npz", 2, several, two, methods[k]);
    CHECK_STATUS(ep_array_read(&a, path), EP_ERR_INPUT);
    check_message(path, "s.npz: holds several arrays: V, W; choose one, such as ");
    snprintf(name, sizeof name, "%s:W", path);
    CHECK_OK(ep_array_read(&a, name));
    CHECK_NEAR(ep_array_value(&a, 0), 2, 0);
    ep_array_free(&a);
    snprintf(name, sizeof name, "%s:Q", path);
    CHECK_STATUS(ep_array_read(&a, name), EP_ERR_INPUT);
    check_message(path, "holds no array 'Q'; it holds: V, W");
    CHECK_OK(ep_array_read(&a, pack("x.npz", 2, with_x, two, methods[k])));
    CHECK_NEAR(ep_array_value(&a, 0), 2, 0);
    ep_array_free(&a);
    CHECK_OK(ep_array_read(&a, pack("0.npz", 2, with_0, two, methods[k])));
    CHECK_NEAR(ep_array_value(&a, 0), 2, 0);
    ep_array_free(&a);
  }
  CHECK_STATUS(ep_array_read(&a, pack("t.npz", 2, packed, one, ZIP_CM_STORE)), EP_ERR_INPUT);
  check_message(folder, "holds no array of numbers; it holds: note.txt, config");
  CHECK_STATUS(ep_array_read(&a, in_folder("missing.npz:V")), EP_ERR_INPUT);
  check_message(folder, "missing.npz: ");
  CHECK_STATUS(ep_array_read(&a, write_bytes("fake.npz", "PK\3\4 no", 7)), EP_ERR_INPUT);
  check_message(folder, "cannot be opened as .npz");
  static const char nothing[22] = "PK\5\6";
  CHECK_STATUS(ep_array_read(&a, write_bytes("empty.npz", nothing, sizeof nothing)), EP_ERR_INPUT);
  check_message(folder, "it holds: nothing");
}

/* a byte changed in the values is seen; a size that cannot be true is not allocated */
static void npz_damage(void **state) {
  (void)state;
  static const char *const members[] = {"X.npy"};
  const blob one = byte_array(7);
  unsigned char *bytes;
  size_t size;
  ep_array a;
  ep_npz *z;
  CHECK_OK(ep_file_read(&bytes, &size, pack("d.npz", 1, members, &one, ZIP_CM_STORE)));
  bytes[1000] ^= 1;
  CHECK_OK(ep_npz_open_bytes(&z, bytes, size, "d.npz"));
  CHECK_STATUS(ep_npz_get_only(&a, z), EP_ERR_INPUT);
  check_message("d.npz:", "damaged");
  ep_npz_close(z);
  ep_release(bytes);
  CHECK_OK(ep_file_read(&bytes, &size, pack("d.npz", 1, members, &one, ZIP_CM_DEFLATE)));
  size_t central = size - 3;
  while (memcmp(bytes + --central, "PK\1\2", 4) != 0) {}
  memcpy(bytes + 22, "\0\0\0\x7f", 4); /* uncompressed: 2 GiB, in both directories */
  memcpy(bytes + central + 24, "\0\0\0\x7f", 4);
  CHECK_OK(ep_npz_open_bytes(&z, bytes, size, "d.npz"));
  ep_mem_peak_reset();
  CHECK_STATUS(ep_npz_get(&a, z, "X"), EP_ERR_INPUT);
  check_message("d.npz:X: ", "its size is damaged");
  assert_true(ep_mem_peak() < 1 << 24);
  ep_npz_close(z);
  ep_release(bytes);
}

/* ---- labels */

static void labels_of_files(void **state) {
  (void)state;
  static const unsigned char idx[] = {0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 200};
  const int32_t i4[] = {5, 0, 200};
  const int64_t i8[] = {5, 0, 200};
  const double f8[] = {5, 0, 200};
  int *labels;
  ptrdiff_t n;
  const blob blobs[] = {make_npy(1, DICT("'<i4'", "False", "(3,)"), i4, sizeof i4),
                        make_npy(1, DICT("'<i8'", "False", "(3, 1)"), i8, sizeof i8),
                        make_npy(1, DICT("'<f8'", "False", "(3,)"), f8, sizeof f8),
                        text_blob("label\n5\n0\n200\n")};
  for (int k = 0; k < 6; k++) {
    const char *path = in_folder("l");
    if (k < 4) path = write_bytes("l", blobs[k].bytes, blobs[k].size);
    if (k == 4) path = write_bytes("l", idx, sizeof idx);
    if (k == 5) CHECK_OK(ep_npy_write_labels(path, i4, 3));
    CHECK_OK(ep_labels_read(&labels, &n, path));
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(labels[i], i4[i]);
    ep_labels_free(labels);
  }
}

static void labels_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"1\n2.5\n", "label 2 is 2.5; labels are whole numbers"},
      {"1\nnan\n", "label 2 is"},
      {"1\ninf\n", "label 2 is"},
      {"1\n2147483648\n", "label 2 is 2147483648; labels lie between"},
      {"1,2\n3,4\n", "labels are one number a row; this has 4 numbers in 2 rows"},
      {"1,2\n", "labels are one number a row"},
  };
  int *labels;
  ptrdiff_t n;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const char *path = write_bytes("l", cases[k].text, strlen(cases[k].text));
    CHECK_STATUS(ep_labels_read(&labels, &n, path), EP_ERR_INPUT);
    check_message(path, cases[k].says);
    assert_null(labels);
  }
  blob b = make_npy(1, DICT("'<i4'", "False", "()"), "\1\0\0", 4);
  CHECK_STATUS(ep_labels_read(&labels, &n, write_bytes("l", b.bytes, b.size)), EP_ERR_INPUT);
  b = make_npy(1, DICT("'<i4'", "False", "(0,)"), "", 0);
  CHECK_STATUS(ep_labels_read(&labels, &n, write_bytes("l", b.bytes, b.size)), EP_ERR_INPUT);
  check_message(folder, "holds no labels");
}

/* ---- matrices */

static void matrix_rows_and_types(void **state) {
  (void)state;
  unsigned char u8[12];
  int32_t i4[12];
  int64_t i8[12];
  unsigned char raw[12 * 8 + 1];
  float f4[12];
  double f8[12];
  for (int i = 0; i < 12; i++) {
    u8[i] = (unsigned char)(20 * i);
    i4[i] = 20 * i, i8[i] = 20 * i;
    f4[i] = (float)(20 * i), f8[i] = 20 * i;
  }
  const void *data[] = {u8, i4, i8, f4, f8};
  const ptrdiff_t rows[] = {2, 0, 2};
  for (int k = 0; k < 5; k++)
    for (int prec = EP_SINGLE; prec <= EP_DOUBLE; prec++) {
      ep_array a = {.dtype = (ep_dtype)k, .ndim = 3, .shape = {3, 2, 2}, .data = raw + 1};
      memcpy(raw + 1, data[k], 12 * ep_dtype_size(a.dtype)); /* unaligned */
      ep_mat X;
      CHECK_OK(ep_array_to_matrix(&X, &a, rows, 3, 1 / 255.0, (ep_precision)prec, "x"));
      assert_int_equal(X.rows, 3);
      assert_int_equal(X.cols, 4);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
          const double want = 20.0 * (double)(4 * rows[i] + j) * (1 / 255.0);
          CHECK_NEAR(ep_get(&X, i, j), prec == EP_SINGLE ? (double)(float)want : want, 0);
        }
      ep_mat_free(&X);
      CHECK_OK(ep_array_to_matrix(&X, &a, NULL, 2, 1, (ep_precision)prec, "x"));
      assert_int_equal(X.rows, 2);
      CHECK_NEAR(ep_get(&X, 1, 3), 140, 0);
      ep_mat_free(&X);
    }
}

static void matrix_refusals(void **state) {
  (void)state;
  double d[6] = {1, 2, 3, 4, 5, 6};
  const ptrdiff_t rows[] = {1, 0}, wrong[] = {0, 2}, negative[] = {-1};
  ep_array a = {.dtype = EP_F64, .ndim = 2, .shape = {2, 3}, .data = (unsigned char *)d};
  ep_mat X;
  CHECK_STATUS(ep_array_to_matrix(&X, &a, NULL, 3, 1, EP_DOUBLE, "x"), EP_ERR_ARG);
  check_message("x: ", "has 2 rows, 3 were asked for");
  CHECK_STATUS(ep_array_to_matrix(&X, &a, wrong, 2, 1, EP_DOUBLE, "x"), EP_ERR_ARG);
  check_message("x: ", "row 3 was asked for");
  CHECK_STATUS(ep_array_to_matrix(&X, &a, negative, 1, 1, EP_DOUBLE, "x"), EP_ERR_ARG);
  const size_t before = ep_mem_current();
  d[4] = NAN;
  CHECK_STATUS(ep_array_to_matrix(&X, &a, NULL, 2, 1, EP_DOUBLE, "x"), EP_ERR_INPUT);
  check_message("x: ", "row 2, column 2: is NaN");
  CHECK_STATUS(ep_array_to_matrix(&X, &a, rows, 2, 1, EP_SINGLE, "x"), EP_ERR_INPUT);
  check_message("x: ", "row 2, column 2: is NaN");
  d[4] = -INFINITY;
  CHECK_STATUS(ep_array_to_matrix(&X, &a, NULL, 2, 1, EP_SINGLE, "x"), EP_ERR_INPUT);
  check_message("x: ", "row 2, column 2: is infinite");
  d[4] = 1e300;
  CHECK_STATUS(ep_array_to_matrix(&X, &a, NULL, 2, 1, EP_SINGLE, "x"), EP_ERR_INPUT);
  check_message("x: ", "row 2, column 2: 1e+300 is too large for single precision");
  assert_null(X.data);
  assert_int_equal(ep_mem_current(), before);
  CHECK_OK(ep_array_to_matrix(&X, &a, NULL, 2, 1, EP_DOUBLE, "x"));
  ep_mat_free(&X);
}

/* the first bad row is the one that is named, however many threads look */
static void matrix_large(void **state) {
  (void)state;
  enum { N = 2000, D = 100 };
  float *f = calloc(N * D, sizeof *f);
  ep_array a = {.dtype = EP_F32, .ndim = 2, .shape = {N, D}, .data = (unsigned char *)f};
  ep_mat X;
  for (int i = 0; i < N * D; i++) f[i] = (float)i;
  CHECK_OK(ep_array_to_matrix(&X, &a, NULL, N, 2, EP_DOUBLE, "x"));
  for (int i = 0; i < N * D; i += 37) CHECK_NEAR(ep_get(&X, i / D, i % D), 2.0 * i, 0);
  ep_mat_free(&X);
  f[1700 * D] = f[300 * D + 99] = NAN;
  CHECK_STATUS(ep_array_to_matrix(&X, &a, NULL, N, 2, EP_DOUBLE, "x"), EP_ERR_INPUT);
  check_message("x: ", "row 301, column 100: is NaN");
  free(f);
}

/* ---- failures from outside */

typedef ep_status (*attempt)(const char *path);

static ep_status try_read(const char *path) {
  ep_array a;
  const ep_status st = ep_array_read(&a, path);
  if (!st) ep_array_free(&a);
  return st;
}
static ep_status try_labels(const char *path) {
  int *labels;
  ptrdiff_t n;
  const ep_status st = ep_labels_read(&labels, &n, path);
  if (!st) ep_labels_free(labels);
  return st;
}
static ep_status try_matrix(const char *path) {
  ep_array a;
  ep_mat X;
  EP_TRY(ep_array_read(&a, path));
  const ep_status st = ep_array_to_matrix(&X, &a, NULL, 1, 1, EP_DOUBLE, path);
  ep_array_free(&a);
  if (!st) ep_mat_free(&X);
  return st;
}
static ep_status try_text(const char *path) {
  ep_npz *z;
  char *text;
  EP_TRY(ep_npz_open(&z, path));
  const ep_status st = ep_npz_get_text(&text, z, "config");
  ep_npz_close(z);
  if (!st) ep_npz_text_free(text);
  return st;
}
static ep_status fill_npz(ep_npz *z) {
  static double d[4000];
  const ep_mat A = {40, 50, 100, EP_DOUBLE, d};
  EP_TRY(ep_npz_add_matrix(z, "A", &A, false));
  EP_TRY(ep_npz_add_text(z, "config", "{}"));
  return ep_npz_commit(z);
}
static ep_status try_write_npz(const char *path) {
  ep_npz *z;
  EP_TRY(ep_npz_create(&z, path));
  const ep_status st = fill_npz(z);
  ep_npz_close(z);
  return st;
}
static ep_status try_write_npy(const char *path) {
  static double d[4000];
  const ep_mat A = ep_mat_view(EP_DOUBLE, 40, 100, d);
  return ep_npy_write(path, &A);
}
static ep_status try_write_labels(const char *path) {
  static int labels[1000];
  return ep_npy_write_labels(path, labels, 1000);
}
static ep_status try_write_idx(const char *path) {
  static uint8_t bytes[20000]; /* noise, which gzip cannot pack */
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < sizeof bytes; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    bytes[i] = (uint8_t)(x >> 32);
  }
  const ptrdiff_t shape[] = {200, 100};
  return ep_idx_write(path, bytes, 2, shape);
}

/* the n-th allocation fails, n = 0, 1, ..., until there are no more of them */
static int exhaust(attempt call, const char *path) {
  const size_t before = ep_mem_current();
  for (int n = 0; n < 100; n++) {
    ep_alloc_fail_after = n;
    const ep_status st = call(path);
    const bool reached = ep_alloc_fail_after < 0;
    ep_alloc_fail_after = -1;
    assert_int_equal(ep_mem_current(), before);
    if (!reached) {
      CHECK_STATUS(st, EP_OK);
      return n;
    }
    CHECK_STATUS(st, EP_ERR_NOMEM);
  }
  fail_msg("%s: no end of allocations", path);
  return 0;
}

static void every_allocation_fails(void **state) {
  (void)state;
  static unsigned char cifar[2 * RECORD] = {1, 200};
  static const unsigned char floats[] = {0, 0, 13, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0};
  static const char *const members[] = {"X.npy"};
  const blob npy = byte_array(3);
  assert_int_equal(exhaust(try_read, write_bytes("a.npy", npy.bytes, npy.size)), 1);
  assert_int_equal(exhaust(try_read, write_bytes("a.idx", floats, sizeof floats)), 2);
  assert_int_equal(exhaust(try_read, write_bytes("a.csv", "1,2\n3,4\n", 8)), 2);
  assert_int_equal(exhaust(try_read, write_bytes("a.bin", cifar, sizeof cifar)), 2);
  assert_int_equal(exhaust(try_labels, write_bytes("a.bin", cifar, sizeof cifar)), 3);
  assert_int_equal(exhaust(try_matrix, write_bytes("a.csv", "1,2\n3,4\n", 8)), 3);
  assert_int_equal(exhaust(try_read, pack("a.npz", 1, members, &npy, ZIP_CM_DEFLATE)), 2);
  assert_int_equal(exhaust(try_text, make_npz("t.npz")), 3);
  assert_true(exhaust(try_write_npz, in_folder("w.npz")) >= 4);
  assert_int_equal(exhaust(try_write_npy, in_folder("w.npy")), 0);
  /* both arrays of CIFAR-10 at once: the first is freed when the second fails */
  ep_array images, labels;
  const size_t before = ep_mem_current();
  ep_alloc_fail_after = 1;
  CHECK_STATUS(ep_parse_cifar(&images, &labels, cifar, sizeof cifar, "x"), EP_ERR_NOMEM);
  ep_alloc_fail_after = -1;
  assert_int_equal(ep_mem_current(), before);
}

static int files_in(const char *path) {
  int n = 0;
  DIR *d = opendir(path);
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static void no_write_no_file(void **state) {
  (void)state;
  static const attempt calls[] = {try_write_npz, try_write_npy, try_write_labels, try_write_idx,
                                  try_write_idx};
  static const char *const names[] = {"n.npz", "n.npy", "l.npy", "n.idx", "n.idx.gz"};
  char place[128], path[256];
  snprintf(place, sizeof place, "%s/full", folder);
  assert_int_equal(mkdir(place, 0700), 0);
  const size_t before = ep_mem_current();
  struct rlimit old, small;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 1000;
  for (int k = 0; k < 5; k++) {
    snprintf(path, sizeof path, "%s/nowhere/%s", folder, names[k]); /* no such folder */
    CHECK_STATUS(calls[k](path), EP_ERR_IO);
    check_message(path, "");
    snprintf(path, sizeof path, "%s/%s", place, names[k]);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small); /* as if the disk were full after 1000 bytes */
    const ep_status st = calls[k](path);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    CHECK_STATUS(st, EP_ERR_IO);
    check_message(path, "cannot be written");
    assert_int_equal(files_in(place), 0);
    CHECK_OK(calls[k](path));
    assert_int_equal(files_in(place), 1);
    unlink(path);
  }
  ep_npz *z; /* given up half way */
  ep_mat A = {.prec = EP_SINGLE};
  snprintf(path, sizeof path, "%s/half.npz", place);
  CHECK_OK(ep_npz_create(&z, path));
  CHECK_OK(ep_npz_add_matrix(z, "A", &A, false));
  ep_npz_close(z);
  CHECK_OK(ep_npz_create(&z, path));
  CHECK_STATUS(ep_npz_commit(z), EP_ERR_ARG); /* nothing in it */
  ep_npz_close(z);
  assert_int_equal(files_in(place), 0);
  assert_int_equal(ep_mem_current(), before);
  rmdir(place);
}

static void unreadable(void **state) {
  (void)state;
  ep_array a;
  CHECK_STATUS(ep_array_read(&a, in_folder("missing.npy")), EP_ERR_INPUT);
  check_message(folder, "missing.npy: No such file or directory");
  CHECK_STATUS(ep_array_read(&a, folder), EP_ERR_INPUT);
  check_message(folder, "not a regular file");
  CHECK_STATUS(ep_array_read(&a, write_bytes("b", "", 0)), EP_ERR_INPUT);
  check_message(folder, "is empty");
  CHECK_STATUS(ep_array_read(&a, write_bytes("b", "\1\2\3\4", 4)), EP_ERR_INPUT);
  check_message(folder, "not a format I know (.npy, .npz, IDX, CIFAR-10, CSV)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npz_round_trip),        cmocka_unit_test(npz_same_bytes),
      cmocka_unit_test(npz_choosing),          cmocka_unit_test(npz_damage),
      cmocka_unit_test(labels_of_files),       cmocka_unit_test(labels_refused),
      cmocka_unit_test(matrix_rows_and_types), cmocka_unit_test(matrix_refusals),
      cmocka_unit_test(matrix_large),          cmocka_unit_test(every_allocation_fails),
      cmocka_unit_test(no_write_no_file),      cmocka_unit_test(unreadable),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
