/* Parsers and writers of .npy, IDX, CSV and CIFAR-10. */
#include "files.h"

static void npy_versions_and_types(void **state) {
  (void)state;
  static const struct {
    const char *descr;
    ep_dtype dtype;
  } cases[] = {{"<f4", EP_F32}, {"<f8", EP_F64}, {"|u1", EP_U8}, {"<i4", EP_I32}, {"<i8", EP_I64}};
  for (int version = 1; version <= 3; version++)
    for (size_t k = 0; k < 5; k++) {
      unsigned char data[48] = {0};
      for (int i = 0; i < 6; i++) {
        const float f = (float)i + 0.5f;
        const double d = i - 0.25;
        const int32_t s = -1000000 * i;
        const int64_t l = -((int64_t)1 << 40) * i;
        const unsigned char u = (unsigned char)(50 * i);
        const void *from[] = {&f, &d, &u, &s, &l};
        const size_t item = ep_dtype_size(cases[k].dtype);
        memcpy(data + (size_t)i * item, from[k], item);
      }
      char dict[128];
      snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }  \n",
               cases[k].descr);
      ep_array a;
      const blob b = make_npy(version, dict, data, 6 * ep_dtype_size(cases[k].dtype));
      CHECK_OK(parse_exact(&a, &b, ep_parse_npy));
      assert_int_equal(a.dtype, cases[k].dtype);
      assert_int_equal(a.ndim, 2);
      assert_int_equal(ep_array_count(&a), 6);
      assert_int_equal(ep_array_row_length(&a), 3);
      assert_null(a.owner);
      for (int i = 0; i < 6; i++) {
        const double want[] = {i + 0.5, i - 0.25, 50.0 * i, -1e6 * i, -0x1p40 * i};
        CHECK_NEAR(ep_array_value(&a, i), want[k], 0);
      }
    }
}

static void npy_header_spellings(void **state) {
  (void)state;
  static const struct {
    const char *dict;
    int ndim;
    ptrdiff_t count;
  } cases[] = {
      {"{'shape': (3,), 'fortran_order': False, 'descr': '|u1'}", 1, 3},
      {"{ \"descr\" : \"|u1\" , 'fortran_order':True,'shape':( 2 , ) , }\n", 1, 2},
      {"{'descr':'|u1','fortran_order':False,'shape':()}", 0, 1},
      {"{'descr':'|u1','fortran_order':False,'shape':(2L,2L,)}", 2, 4},
      {"{'descr':'|u1','fortran_order':False,'shape':(0, 7)}", 2, 0},
      {"{'descr':'|u1','fortran_order':False,'shape':(1,1,1,1,1,1,1,5)}", 8, 5},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ep_array a;
    const blob b = make_npy(1, cases[k].dict, "\1\2\3\4\5", 5); /* bytes too many do no harm */
    CHECK_OK(parse_exact(&a, &b, ep_parse_npy));
    assert_int_equal(a.ndim, cases[k].ndim);
    assert_int_equal(ep_array_count(&a), cases[k].count);
    for (ptrdiff_t i = 0; i < cases[k].count; i++) CHECK_NEAR(ep_array_value(&a, i), i + 1, 0);
  }
}

static void npy_refusals(void **state) {
  (void)state;
  static const struct {
    const char *dict, *says;
  } cases[] = {
      {DICT("'|O'", "False", "(3,)"), "holds Python objects; save numbers instead"},
      {DICT("'<U3'", "False", "(3,)"), "holds text"},
      {DICT("'>f8'", "False", "(1,)"), "'>f8'; float32, float64, uint8, int32 and int64"},
      {DICT("'<c8'", "False", "(1,)"), "'<c8'"},
      {DICT("''", "False", "(1,)"), "holds values of type ''"},
      {DICT("[('a', '<f8')]", "False", "(1,)"), "holds records"},
      {DICT("'|u1'", "False", "(-1, 2)"), "negative size"},
      {DICT("'|u1'", "False", "(99999999999999999999,)"), "its shape is too large"},
      {DICT("'<f8'", "False", "(4611686018427387904, 4)"), "its shape is too large"},
      {DICT("'<f8'", "False", "(0, 4611686018427387904, 4)"), "its shape is too large"},
      {DICT("'<f8'", "False", "(1152921504606846976,)"), "its shape is too large"},
      {DICT("'|u1'", "False", "(1,1,1,1,1,1,1,1,1)"), "more than 8 dimensions"},
      {DICT("'|u1'", "False", "(9,)"),
       "is cut short: its shape needs 9 bytes of values, it holds 8"},
      {DICT("'|u1'", "Maybe", "(1,)"), "neither True nor False"},
      {DICT("'|u1'", "False", "(,)"), "damaged"},
      {DICT("'|u1'", "False", "(1"), "damaged"},
      {DICT("'|u1'", "False", "3"), "damaged"},
      {DICT("'|u1", "False", "(1,)"), "damaged"},
      {DICT("'|u1'", "False", "(1,), 'more': 1"), "unknown key"},
      {"{'descr': '|u1', 'shape': (1,)}", "is missing"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)", "not closed"},
      {"", "damaged"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ep_array a;
    const blob b = make_npy(1, cases[k].dict, "\1\2\3\4\5\6\7\10", 8);
    CHECK_STATUS(parse_exact(&a, &b, ep_parse_npy), EP_ERR_INPUT);
    check_message("x.dat: ", cases[k].says);
    assert_null(a.owner);
  }
  blob b = make_npy(4, DICT("'|u1'", "False", "(1,)"), "\1", 1);
  ep_array a;
  CHECK_STATUS(parse_exact(&a, &b, ep_parse_npy), EP_ERR_INPUT);
  check_message("x.dat: ", "version 4");
}

/* every beginning of a good file is refused, none is read past its end */
static void npy_cut_anywhere(void **state) {
  (void)state;
  for (int version = 1; version <= 2; version++) {
    blob b = make_npy(version, DICT("'<i4'", "False", "(1,)"), "\1\2\3\4", 4);
    ep_array a;
    CHECK_OK(parse_exact(&a, &b, ep_parse_npy));
    while (b.size-- > 0) CHECK_STATUS(parse_exact(&a, &b, ep_parse_npy), EP_ERR_INPUT);
  }
}

static void npy_text(void **state) {
  (void)state;
  const uint32_t wide[] = {'{', 0xe9, 0x20ac, 0x1f600, '}', 0, 0};
  char *text;
  blob b = make_npy(1, DICT("'<U7'", "False", "()"), wide, sizeof wide);
  CHECK_OK(ep_parse_npy_text(&text, b.bytes, b.size, "x.npy"));
  assert_string_equal(text, "{\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80}");
  ep_release(text);
  b = make_npy(1, DICT("'|S4'", "False", "(1,)"), "abc", 4);
  CHECK_OK(ep_parse_npy_text(&text, b.bytes, b.size, "x.npy"));
  assert_string_equal(text, "abc");
  ep_release(text);
  static const struct {
    const char *dict, *says;
    uint32_t data[2];
  } bad[] = {
      {DICT("'<U2'", "False", "()"), "not Unicode", {0x110000, 'a'}},
      {DICT("'<U2'", "False", "()"), "not Unicode", {0xd800, 'a'}},
      {DICT("'<U2'", "False", "()"), "zero character", {0, 'a'}},
      {DICT("'<U1'", "False", "(2,)"), "several texts", {'a', 'a'}},
      {DICT("'<U3'", "False", "()"), "cut short", {'a', 'a'}},
      {DICT("'<U9223372036854775807'", "False", "()"), "too large", {'a', 'a'}},
      {DICT("'<U1152921504606846975'", "False", "()"), "cut short", {'a', 'a'}},
      {DICT("'<U'", "False", "()"), "damaged", {'a', 'a'}},
      {DICT("'<f8'", "False", "()"), "not text", {'a', 'a'}},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    b = make_npy(1, bad[k].dict, bad[k].data, 8);
    CHECK_STATUS(ep_parse_npy_text(&text, b.bytes, b.size, "x.npy"), EP_ERR_INPUT);
    check_message("x.npy: ", bad[k].says);
    assert_null(text);
  }
}

static void npy_round_trip(void **state) {
  (void)state;
  for (int prec = EP_SINGLE; prec <= EP_DOUBLE; prec++) {
    ep_mat A, X;
    ep_array a;
    CHECK_OK(ep_mat_new(&A, (ep_precision)prec, 5, 7));
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 7; j++) ep_set(&A, i, j, 10 * i + j + 0.1);
    const ep_mat B = ep_mat_cols(&A, 2, 3); /* rows with gaps */
    CHECK_OK(ep_npy_write(in_folder("a.npy"), &B));
    CHECK_OK(ep_array_read(&a, in_folder("a.npy")));
    assert_int_equal(a.dtype, prec == EP_SINGLE ? EP_F32 : EP_F64);
    assert_int_equal((a.data - (unsigned char *)a.owner) % 64, 0);
    CHECK_OK(ep_array_to_matrix(&X, &a, NULL, 5, 1, (ep_precision)prec, "a.npy"));
    CHECK_NEAR(ep_mat_distance2(&X, &B), 0, 0);
    ep_array_free(&a);
    ep_mat_free(&X);
    ep_mat_free(&A);
  }
  const ep_mat empty = {.rows = 0, .cols = 4, .ld = 4, .prec = EP_DOUBLE, .data = NULL};
  ep_array a;
  CHECK_OK(ep_npy_write(in_folder("e.npy"), &empty));
  CHECK_OK(ep_array_read(&a, in_folder("e.npy")));
  assert_int_equal(ep_array_count(&a), 0);
  assert_int_equal(ep_array_row_length(&a), 4);
  ep_array_free(&a);
}

/* ---- IDX */

static void idx_types(void **state) {
  (void)state;
  static const unsigned char u8[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 255};
  static const unsigned char i32[] = {0, 0, 12, 1, 0, 0, 0, 2, 0, 0, 1, 2, 255, 255, 255, 254};
  static const unsigned char f32[] = {0, 0, 13, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0};
  static const unsigned char f64[] = {0, 0, 14, 1, 0, 0, 0, 1, 0xc0, 4, 0, 0, 0, 0, 0, 0};
  ep_array a;
  CHECK_OK(ep_parse_any(&a, u8, sizeof u8, "x"));
  assert_null(a.owner);
  assert_int_equal(a.shape[1], 2);
  CHECK_NEAR(ep_array_value(&a, 3), 255, 0);
  CHECK_OK(ep_parse_any(&a, i32, sizeof i32, "x"));
  CHECK_NEAR(ep_array_value(&a, 0), 258, 0);
  CHECK_NEAR(ep_array_value(&a, 1), -2, 0);
  ep_array_free(&a);
  CHECK_OK(ep_parse_any(&a, f32, sizeof f32, "x"));
  CHECK_NEAR(ep_array_value(&a, 0), 1.5, 0);
  ep_array_free(&a);
  CHECK_OK(ep_parse_any(&a, f64, sizeof f64, "x"));
  CHECK_NEAR(ep_array_value(&a, 0), -2.5, 0);
  ep_array_free(&a);
}

static void idx_refusals(void **state) {
  (void)state;
  static const struct {
    unsigned char bytes[40];
    size_t size;
    const char *says;
  } cases[] = {
      {{0, 0, 8, 1, 0, 0, 0, 3, 1, 2},
       10,
       "cut short: its IDX sizes need 3 bytes of values, it holds 2"},
      {{0, 0, 8, 1, 0, 0, 0, 1, 1, 2}, 10, "too long"},
      {{0, 0, 8, 2, 0, 0, 0, 1}, 8, "cut short within its IDX header"},
      {{0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 16, "too large"},
      {{0,   0,   8,   8,   255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
       36,
       "too large"},
      {{0, 0, 11, 1, 0, 0, 0, 1, 0, 0}, 10, "type 0x0b"},
      {{0, 0, 9, 1, 0, 0, 0, 1, 0}, 9, "type 0x09"},
      {{0, 0, 8, 9, 0, 0, 0, 1, 0}, 9, "not a format I know (.npy, .npz, IDX, CIFAR-10, CSV)"},
      {{0, 0, 8, 0, 0, 0, 0, 1, 0}, 9, "not a format I know"},
      {{0, 0}, 2, "not a format I know"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ep_array a;
    blob b = {.size = cases[k].size};
    memcpy(b.bytes, cases[k].bytes, b.size);
    CHECK_STATUS(parse_exact(&a, &b, ep_parse_any), EP_ERR_INPUT);
    check_message("x.dat: ", cases[k].says);
  }
}

static void idx_round_trip(void **state) {
  (void)state;
  uint8_t data[24];
  const ptrdiff_t shape[] = {2, 3, 4};
  for (int i = 0; i < 24; i++) data[i] = (uint8_t)(i * 10);
  static const char *const names[] = {"i.idx", "i.idx.gz"};
  for (int k = 0; k < 2; k++) {
    ep_array a;
    unsigned char start[2];
    CHECK_OK(ep_idx_write(in_folder(names[k]), data, 3, shape));
    FILE *f = fopen(in_folder(names[k]), "rb");
    assert_int_equal(fread(start, 1, 2, f), 2);
    fclose(f);
    assert_int_equal(start[0], k ? 0x1f : 0);
    CHECK_OK(ep_array_read(&a, in_folder(names[k])));
    assert_int_equal(a.ndim, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(a.shape[i], shape[i]);
    assert_memory_equal(a.data, data, 24);
    ep_array_free(&a);
  }
  CHECK_STATUS(ep_idx_write(in_folder("i.idx"), data, 0, shape), EP_ERR_ARG);
  const ptrdiff_t wrong[] = {-1}, wide[] = {(ptrdiff_t)1 << 32};
  CHECK_STATUS(ep_idx_write(in_folder("i.idx"), data, 1, wrong), EP_ERR_ARG);
  CHECK_STATUS(ep_idx_write(in_folder("i.idx"), data, 1, wide), EP_ERR_ARG);
}

/* ---- CSV */

static void csv_accepts(void **state) {
  (void)state;
  static const struct {
    const char *text;
    ptrdiff_t rows, cols;
    double last;
  } cases[] = {
      {"1,2\n3,4\n", 2, 2, 4},
      {"1,2\n3,4", 2, 2, 4},
      {"1;2\r\n3;4\r\n", 2, 2, 4},
      {"1\t2\n3\t4\n", 2, 2, 4},
      {"  1   2 \n3  4\n", 2, 2, 4},
      {" 1 \t 2\n3 \t 4 \n", 2, 2, 4},
      {"1 2\t3\n4 5 6\n", 2, 3, 6},
      {"width, cm\n1\n2\n", 2, 1, 2},
      {"petal length\n1\n2\n", 2, 1, 2},
      {"5\n6\n7", 3, 1, 7},
      {"a,b\n1,2\n", 1, 2, 2},
      {"petal length;width, cm\n1;2\n", 1, 2, 2},
      {",a\n0,3\n", 1, 2, 3},
      {"# note, with; all\n\n  \n\t\n1,2\n#x\n3,4\n\n", 2, 2, 4},
      {"\"1\",\"2.5\"\n\"3\", \" -4e-1 \" \n", 2, 2, -0.4},
      {"\xef\xbb\xbf"
       "1,2\n",
       1, 2, 2},
      {"1e3,-.5\n+2.,1E+2\n", 2, 2, 100},
      {"0.1\n", 1, 1, 0.1},
      {"3.14159265358979323846264338327950288\n", 1, 1, 3.14159265358979323846},
      {"123456789012345678901234567890\n", 1, 1, 123456789012345678901234567890.0},
      {"9007199254740993\n", 1, 1, 9007199254740992.0},
      {"00000000000000000000000000000000000001.50\n", 1, 1, 1.5},
      {"0.00000000000000000000000000000000000015\n", 1, 1, 1.5e-37},
      {"1.7976931348623157e308\n", 1, 1, 1.7976931348623157e308},
      {"4.9406564584124654e-324\n", 1, 1, 4.9406564584124654e-324},
      {"1e-99999999999999\n", 1, 1, 0},
      {"1e23\n", 1, 1, 1e23},
      {"1\n-infinity\n", 2, 1, -INFINITY},
      {"Inf\n", 1, 1, INFINITY},
      {"1e999\n", 1, 1, INFINITY},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ep_array a;
    const blob b = text_blob(cases[k].text);
    CHECK_OK(parse_exact(&a, &b, ep_parse_any));
    assert_int_equal(a.shape[0], cases[k].rows);
    assert_int_equal(a.shape[1], cases[k].cols);
    if (ep_array_value(&a, ep_array_count(&a) - 1) != cases[k].last)
      fail_msg("'%s' gives %.17g", cases[k].text, ep_array_value(&a, ep_array_count(&a) - 1));
    ep_array_free(&a);
  }
  ep_array a;
  const blob b = text_blob("nan,-NaN\n");
  CHECK_OK(parse_exact(&a, &b, ep_parse_any));
  assert_true(isnan(ep_array_value(&a, 0)) && isnan(ep_array_value(&a, 1)));
  ep_array_free(&a);
}

static void csv_refuses(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"", "x.dat: is empty"},
      {"\n \n# only words\n", "x.dat: is empty"},
      {"id,2\n1,3\n", "line 1, column 1: 'id' is not a number"},
      {"1,2\n3\n", "line 2 has 1 fields, the lines before it 2"},
      {"1,2\n\n3,4,5\n", "line 3 has 3 fields"},
      {"a,b\n1,2\n3,x\n", "line 3, column 2: 'x' is not a number"},
      {"# c\na,b\n1,0x10\n", "line 3, column 2: '0x10' is not a number"},
      {"1,2\n3,\n", "line 2, column 2: is empty"},
      {"1\t2\n\t4\n", "line 2, column 1: is empty"},
      {"words and words\n", "line 1, column 1: 'words' is not a number"},
      {"1,2\n3,4e\n", "'4e' is not a number"},
      {"1,2\n3,.\n", "'.' is not a number"},
      {"1,2\n3,-\n", "'-' is not a number"},
      {"1,2\n3,\"\n", "'\"' is not a number"},
      {"1,2\n3,1.2.3\n", "'1.2.3' is not a number"},
      {"1,2\n3,nan(1)\n", "'nan(1)' is not a number"},
      {"1,2\n3,1 2\n", "'1 2' is not a number"},
      {"1,1,1,1,1,1,1,1,1,1,1,1,1,1\n2\n2\n2\n2\n2\n2\n2\n2\n2\n2\n2\n2\n2\n",
       "line 2 has 1 fields"},
      {"1\n2,3,4,5,6\n", "line 2 has 5 fields, the lines before it 1"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ep_array a;
    const blob b = text_blob(cases[k].text);
    const size_t before = ep_mem_current();
    CHECK_STATUS(parse_exact(&a, &b, ep_parse_any), EP_ERR_INPUT);
    check_message("x.dat: ", cases[k].says);
    assert_int_equal(ep_mem_current(), before);
  }
}

/* numbers printed with 17 digits come back bit by bit, also where the decimal sign is a comma */
static void csv_exact(void **state) {
  (void)state;
  char text[8000];
  double want[200];
  size_t used = 0;
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 200; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const double u = (double)(x >> 11);
    want[i] = i % 2 ? u * 0x1p-53 - 0.5 : ldexp(u, (int)(x % 1900) - 1000);
    used += (size_t)sprintf(text + used, i % 3 ? "%.17g\n" : "%.16e\n", want[i]);
  }
  static const char *const names[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
  for (int k = 0; k < 3; k++) {
    if (!setlocale(LC_NUMERIC, names[k])) continue;
    ep_array a;
    CHECK_OK(ep_parse_csv(&a, (unsigned char *)text, used, "x.csv"));
    for (int i = 0; i < 200; i++) assert_true(ep_array_value(&a, i) == want[i]);
    ep_array_free(&a);
  }
  setlocale(LC_NUMERIC, "C");
}

/* ---- CIFAR-10 */

static void cifar_images_and_labels(void **state) {
  (void)state;
  static unsigned char bytes[3 * RECORD];
  for (int i = 0; i < 3 * RECORD; i++) bytes[i] = (unsigned char)(i * 7);
  /* the first record begins as IDX does: type 8, one dimension */
  bytes[0] = bytes[1] = 0, bytes[2] = 8, bytes[3] = 1;
  bytes[RECORD] = 9, bytes[2 * RECORD] = 3;
  const char *path = write_bytes("batch.bin", bytes, sizeof bytes);
  ep_array a;
  CHECK_OK(ep_array_read(&a, path));
  assert_int_equal(a.ndim, 4);
  assert_int_equal(a.shape[0], 3);
  assert_int_equal(a.shape[1], 3);
  assert_int_equal(ep_array_row_length(&a), 3072);
  for (int i = 0; i < 3; i++) assert_memory_equal(a.data + 3072 * i, bytes + RECORD * i + 1, 3072);
  ep_array_free(&a);
  int *labels;
  ptrdiff_t n;
  CHECK_OK(ep_labels_read(&labels, &n, path));
  assert_int_equal(n, 3);
  assert_int_equal(labels[0], 0);
  assert_int_equal(labels[1], 9);
  assert_int_equal(labels[2], 3);
  ep_labels_free(labels);
  bytes[RECORD] = 10;
  bytes[0] = 1;
  CHECK_STATUS(ep_parse_cifar(&a, NULL, bytes, sizeof bytes, "x.bin"), EP_ERR_INPUT);
  check_message("x.bin: ", "is not a CIFAR-10 binary");
  CHECK_STATUS(ep_parse_any(&a, bytes, sizeof bytes, "x.bin"), EP_ERR_INPUT);
  check_message("x.bin: ", "not a format I know");
  CHECK_STATUS(ep_parse_cifar(&a, NULL, bytes, RECORD - 1, "x.bin"), EP_ERR_INPUT);
  CHECK_STATUS(ep_parse_cifar(&a, NULL, bytes, 0, "x.bin"), EP_ERR_INPUT);
}
int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npy_versions_and_types),
      cmocka_unit_test(npy_header_spellings),
      cmocka_unit_test(npy_refusals),
      cmocka_unit_test(npy_cut_anywhere),
      cmocka_unit_test(npy_text),
      cmocka_unit_test(npy_round_trip),
      cmocka_unit_test(idx_types),
      cmocka_unit_test(idx_refusals),
      cmocka_unit_test(idx_round_trip),
      cmocka_unit_test(csv_accepts),
      cmocka_unit_test(csv_refuses),
      cmocka_unit_test(csv_exact),
      cmocka_unit_test(cifar_images_and_labels),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
