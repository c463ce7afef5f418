/* Cells of tables, what is in them, and augmentations of tables and series. */
#include "check.h"
#include "core/mem.h"
#include "data/cells.h"
#include "data/parse.h"
#include "data/table.h"
#include "in_run.h"

#include <eigenpair/augment.h>
#include <eigenpair/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ep_cells cells_of(const char *text) {
  ep_cells c;
  CHECK_OK(ep_cells_parse(&c, (const unsigned char *)text, strlen(text), "t.csv"));
  return c;
}

static void cells_are_cut(void **state) {
  (void)state;
  static const struct {
    const char *text, *cells; /* cells with | between them */
    ptrdiff_t rows, cols;
    bool header;
  } cases[] = {
      {"a,b\n1,2\n", "1|2|", 1, 2, true},
      {"1,2\n3,4", "1|2|3|4|", 2, 2, false},
      {"a;b\r\n 1,5 ; x y \r\n", "1,5|x y|", 1, 2, true},
      {"\"a\"\t\"b\"\n\"1\"\t\"say \"\"hi\"\"\"\n", "1|say \"hi\"|", 1, 2, true},
      {"a,b\n\"x,\ny\",2\n", "x, y|2|", 1, 2, true},
      {"\xef\xbb\xbf# note\n\na,b\n,\n", "||", 1, 2, true},
      {"a b\n1  2\n3\t4 \n", "1|2|3|4|", 2, 2, true},
      {"one\n1\n2\n", "1|2|", 2, 1, true},
      {"cat\ndog\ncat\n", "cat|dog|cat|", 3, 1, false},
      {"pet\ncat\ndog\ncat\n", "cat|dog|cat|", 3, 1, true},
      {"a,b\n\"1\" ,\xc2\x9b"
       "31m\n",
       "1|  31m|", 1, 2, true},
      {"text, with a comma;n\nx;1\n", "x|1|", 1, 2, true},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char all[200] = "";
    ep_cells c = cells_of(cases[k].text);
    assert_int_equal(c.rows, cases[k].rows);
    assert_int_equal(c.cols, cases[k].cols);
    assert_int_equal(c.header, cases[k].header);
    for (ptrdiff_t i = 0; i < c.rows * c.cols; i++) strcat(strcat(all, c.cell[i]), "|");
    assert_string_equal(all, cases[k].cells);
    ep_cells_free(&c);
    assert_int_equal(ep_mem_current(), 0);
  }
}

static void columns_have_names(void **state) {
  (void)state;
  ep_cells c = cells_of("x,,x,x.2\n1,2,3,4\n");
  static const char *const names[] = {"x", "2", "x.2", "x.2.2"};
  for (int j = 0; j < 4; j++) {
    assert_string_equal(c.name[j], names[j]);
    assert_int_equal(ep_cells_find(&c, names[j]), j);
  }
  assert_int_equal(ep_cells_find(&c, "4"), 3); /* by number, where no name is so */
  assert_int_equal(ep_cells_find(&c, "5"), -1);
  ep_cells_free(&c);
}

/* by the rule: name, then name.2, name.3, .. past those that are taken */
static void many_columns_of_one_name(void **state) {
  (void)state;
  enum { EACH = 20000 };
  char *text = malloc(40 * EACH), *to = text, name[40];
  for (int j = 0; j < EACH; j++) to += sprintf(to, "%s", "a,");
  for (int j = 0; j < EACH; j++) to += sprintf(to, "a.%d,", 2 * j);
  sprintf(to, "b\n");
  to += strlen(to);
  for (int j = 0; j < 2 * EACH; j++) to += sprintf(to, "1,");
  sprintf(to, "1\n");
  ep_cells c = cells_of(text);
  assert_int_equal(c.cols, 2 * EACH + 1);
  for (int j = 1; j < EACH; j++) {
    sprintf(name, "a.%d", j + 1);
    assert_string_equal(c.name[j], name);
    /* a.2, a.4, .. up to a.20000 are taken by then: each has its own second name */
    sprintf(name, 2 * j <= EACH ? "a.%d.2" : "a.%d", 2 * j);
    assert_string_equal(c.name[EACH + j], name);
    assert_int_equal(ep_cells_find(&c, name), EACH + j);
  }
  ep_cells_free(&c);
  free(text);
  assert_int_equal(ep_mem_current(), 0);
}

static void numbers_and_dates(void **state) {
  (void)state;
  static const struct {
    const char *cell;
    char decimal;
    double x;
  } numbers[] = {{"1.5", '.', 1.5},
                 {"-2,25", ',', -2.25},
                 {"1.234,5", ',', 1234.5},
                 {"1,234.5", '.', 1234.5},
                 {"12,345,678", '.', 12345678},
                 {"1e3", ',', 1000},
                 {"1,23", '.', NAN},
                 {"1,2345", '.', NAN},
                 {"1.5.2", '.', NAN},
                 {",123", '.', NAN},
                 {"", '.', NAN},
                 {"x", ',', NAN},
                 {"1,2,3", ',', NAN},
                 {"1.5,200", ',', NAN}};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    double x = NAN;
    const bool is = ep_cell_number(&x, numbers[k].cell, numbers[k].decimal);
    assert_int_equal(is, !isnan(numbers[k].x));
    if (is) assert_true(x == numbers[k].x);
  }
  static const struct {
    const char *cell;
    double x;
  } dates[] = {{"1970-01-01", 0},     {"1970-01-02 12:00", 1.5}, {"1969-12-31", -1},
               {"2000/03/01", 11017}, {"29.02.2024", 19782},     {"2024-02-29T06:00:00Z", 19782.25},
               {"1900-02-29", NAN},   {"2021-13-01", NAN},       {"2021-1-1", NAN},
               {"2021-01-01x", NAN},  {"2021-01-01 25:00", NAN}, {"0001-01-01", -719162}};
  for (size_t k = 0; k < sizeof dates / sizeof *dates; k++) {
    double x = NAN;
    const bool is = ep_cell_date(&x, dates[k].cell);
    assert_int_equal(is, !isnan(dates[k].x));
    if (is) assert_true(x == dates[k].x);
  }
}

static ep_status try_table(void) {
  static const char text[] = "a;b;c;y\n1,5;x;2020-01-01;u\n2;;2020-01-02;v\n3;z;2020-01-05;u\n";
  ep_data_config config;
  ep_table t;
  ep_options_default(ep_data_options, &config);
  strcpy(config.label_column, "y");
  EP_TRY(ep_parse_table(&t, (const unsigned char *)text, sizeof text - 1, "t.csv", &config,
                        EP_DOUBLE, NULL));
  assert_int_equal(t.X.cols, 4); /* a, b: x, b: z, c */
  assert_int_equal(t.group[2], 1);
  assert_true(ep_get(&t.X, 1, 1) == 0.5 && ep_get(&t.X, 0, 1) == 1 && ep_get(&t.X, 0, 2) == 0);
  ep_table_free(&t);
  return EP_OK;
}

/* every allocation fails once: an error, and nothing is left behind */
static void memory_may_fail(void **state) {
  (void)state;
  const size_t before = ep_mem_current();
  bool done = false;
  for (long n = 0; n < 100 && !done; n++) {
    ep_alloc_fail_after = n;
    const ep_status st = try_table();
    ep_alloc_fail_after = -1;
    done = st == EP_OK;
    assert_true(done || st == EP_ERR_NOMEM);
    assert_int_equal(ep_mem_current(), before);
  }
  assert_true(done);
}

/* ---- augmentations */

enum { ROWS = 400, COLS = 6 };
static const ep_image_shape plain = {0, 0, 0};

static void make(ep_mat *X, ep_mat *out, const char *text, ep_augment *chain) {
  CHECK_OK(ep_mat_new(X, EP_DOUBLE, ROWS, COLS));
  CHECK_OK(ep_mat_new(out, EP_DOUBLE, ROWS, COLS));
  ep_random_fill_normal(X, 5, EP_STREAM_DATA, 0);
  CHECK_OK(ep_augment_parse(chain, text, plain));
}

/* a changed value is one of the sample's same column, groups change together, and about P of them change */
static void corruption_takes_columns(void **state) {
  (void)state;
  ep_mat X, out, sample;
  ep_augment chain;
  static const int group[COLS] = {0, 1, 1, 1, 2, 3};
  make(&X, &out, "corrupt:0.4", &chain);
  CHECK_STATUS(ep_augment_apply(&out, &X, &chain, plain, 0, 0, 1), EP_ERR_ARG);
  CHECK_OK(ep_mat_new(&sample, EP_DOUBLE, 50, COLS));
  for (ptrdiff_t i = 0; i < 50; i++)
    for (ptrdiff_t j = 0; j < COLS; j++) ep_set(&sample, i, j, (double)(100 * i + j));
  chain.sample = &sample;
  chain.group = group;
  CHECK_OK(ep_augment_apply(&out, &X, &chain, plain, 0, 0, 1));
  int changed = 0;
  for (ptrdiff_t i = 0; i < ROWS; i++)
    for (ptrdiff_t j = 0; j < COLS; j++) {
      const double x = ep_get(&out, i, j);
      const bool other = x != ep_get(&X, i, j);
      changed += other;
      if (other) assert_int_equal((long)x % 100, j);
      if (j > 0 && group[j] == group[j - 1]) {
        const double before = ep_get(&out, i, j - 1);
        assert_int_equal(other, before != ep_get(&X, i, j - 1));
        if (other) assert_true(x == before + 1); /* of the same point */
      }
    }
  assert_true(fabs(changed / (double)(ROWS * COLS) - 0.4) < 0.05); /* deviation 0.014 */
  ep_mat_free(&X), ep_mat_free(&out), ep_mat_free(&sample);
}

static void noise_in_spreads(void **state) {
  (void)state;
  ep_mat X, out, as_one;
  ep_augment chain;
  static const double spread[COLS] = {0, 1, 2, 3, 4, 1000};
  make(&X, &out, "noise:0.3", &chain);
  CHECK_OK(ep_mat_new(&as_one, EP_DOUBLE, ROWS, COLS));
  CHECK_OK(ep_augment_apply(&as_one, &X, &chain, plain, 0, 0, 1));
  chain.spread = spread;
  CHECK_OK(ep_augment_apply(&out, &X, &chain, plain, 0, 0, 1));
  for (ptrdiff_t i = 0; i < ROWS; i++)
    for (ptrdiff_t j = 0; j < COLS; j++) {
      const double x = ep_get(&X, i, j), step = ep_get(&as_one, i, j) - x;
      assert_true(fabs(ep_get(&out, i, j) - x - spread[j] * step) < 1e-9);
    }
  ep_mat_free(&X), ep_mat_free(&out), ep_mat_free(&as_one);
}

/* half of the row, in one stretch, is its mean; every place is met */
static void masks_are_stretches(void **state) {
  (void)state;
  ep_mat X, out;
  ep_augment chain;
  int first[COLS] = {0};
  make(&X, &out, "mask:0.5", &chain);
  CHECK_OK(ep_augment_apply(&out, &X, &chain, plain, 0, 0, 1));
  for (ptrdiff_t i = 0; i < ROWS; i++) {
    double mean = 0;
    ptrdiff_t from = 0, j = 0;
    for (j = 0; j < COLS; j++) mean += ep_get(&X, i, j) / COLS;
    while (ep_get(&out, i, from) == ep_get(&X, i, from)) from++;
    first[from]++;
    for (j = 0; j < COLS; j++) {
      const bool masked = j >= from && j < from + COLS / 2;
      assert_true(fabs(ep_get(&out, i, j) - (masked ? mean : ep_get(&X, i, j))) < 1e-14);
    }
  }
  for (int k = 0; k <= COLS / 2; k++) assert_true(first[k] > 50); /* 100 each in the mean */
  ep_mat_free(&X), ep_mat_free(&out);
}

/* series: in deviations of the row, so that a row c times as large gets c times the noise */
static void jitter_in_deviations(void **state) {
  (void)state;
  ep_mat X, out, large, big;
  ep_augment chain;
  make(&X, &out, "jitter:0.2", &chain);
  make(&large, &big, "jitter:0.2", &chain);
  for (ptrdiff_t i = 0; i < ROWS; i++)
    for (ptrdiff_t j = 0; j < COLS; j++) ep_set(&large, i, j, 8 * ep_get(&X, i, j) + 64);
  CHECK_OK(ep_augment_apply(&out, &X, &chain, plain, 0, 0, 1));
  CHECK_OK(ep_augment_apply(&big, &large, &chain, plain, 0, 0, 1));
  double sum = 0, variance = 0;
  for (ptrdiff_t i = 0; i < ROWS; i++) {
    double mean = 0, squares = 0;
    for (ptrdiff_t j = 0; j < COLS; j++) mean += ep_get(&X, i, j) / COLS;
    for (ptrdiff_t j = 0; j < COLS; j++) {
      const double x = ep_get(&X, i, j), step = ep_get(&out, i, j) - x;
      squares += (x - mean) * (x - mean) / COLS;
      sum += step * step / COLS;
      assert_true(fabs(ep_get(&big, i, j) - ep_get(&large, i, j) - 8 * step) < 1e-11);
    }
    variance += squares;
  }
  assert_true(fabs(sum / variance / 0.04 - 1) < 0.15); /* S^2, to four deviations */
  ep_mat_free(&X), ep_mat_free(&out), ep_mat_free(&large), ep_mat_free(&big);
}

/* ---- stops */

typedef struct {
  int left; /* looks until it is asked to stop */
  volatile int stop;
} patience;

static void wait_and_stop(void *user, const char *what, double done, double total) {
  patience *p = user;
  (void)what;
  assert_true(done >= 0 && done <= total);
  if (--p->left == 0) p->stop = 1;
}

static ep_status read_matrix(const char *text) {
  ep_array a;
  const ep_status st = ep_parse_csv(&a, (const unsigned char *)text, strlen(text), "t.csv");
  if (!st) ep_array_free(&a);
  return st;
}

static ep_status read_cells(const char *text) {
  ep_cells c;
  const ep_status st = ep_cells_parse(&c, (const unsigned char *)text, strlen(text), "t.csv");
  if (!st) ep_cells_free(&c);
  return st;
}

static ep_status read_table(const char *text) {
  static ep_data_config config;
  ep_table t;
  ep_options_default(ep_data_options, &config);
  strcpy(config.label_column, "y");
  const ep_status st = ep_parse_table(&t, (const unsigned char *)text, strlen(text), "t.csv",
                                      &config, EP_SINGLE, NULL);
  if (!st) ep_table_free(&t);
  return st;
}

/* how often reading a text looks whether to stop; asked at any of these it stops, and gives its memory back */
static int looks(ep_status (*read)(const char *), const char *text) {
  for (int k = 1;; k++) {
    patience p = {k, 0};
    ep_run *run;
    CHECK_OK(ep_run_new(&run, NULL));
    ep_run_set_hooks(run, &(ep_run_hooks){.progress = wait_and_stop, .user = &p, .stop = &p.stop});
    const ep_run_scope scope = ep_run_enter(run);
    const size_t before = ep_mem_current();
    const ep_status st = read(text);
    assert_int_equal(ep_mem_current(), before);
    leave(&scope);
    if (!p.stop) {
      CHECK_OK(st);
      return k - 1;
    }
    CHECK_STATUS(st, EP_ERR_INTERRUPTED);
  }
}

static char *repeated(const char *head, const char *row, size_t times) {
  const size_t n = strlen(row), first = strlen(head);
  char *text = malloc(first + n * times + 1);
  assert_non_null(text);
  memcpy(text, head, first);
  for (size_t i = 0; i < times; i++) memcpy(text + first + i * n, row, n);
  text[first + n * times] = '\0';
  return text;
}

/* Defect 7: reading a large text or table stops when it is asked to, in every loop over it */
static void reading_stops(void **state) {
  (void)state;
  char *text = repeated("", "1,2\n", (9 << 20) / 4), *small = repeated("", "1,2\n", 10);
  char *table = repeated("n,t,y\n", "1,a,u\n2,b,v\n", 1500);
  assert_int_equal(looks(read_matrix, text), 4); /* every 4 MB: rows are counted, then read */
  assert_int_equal(looks(read_cells, text), 4);  /* measured, then cut */
  assert_int_equal(looks(read_matrix, small), 0);
  /* every 1,024 of 3,000 rows: n is looked at, summed, squared; t looked at; gaps; labels; n and t written */
  assert_int_equal(looks(read_table, table), 2 * (3 + 1 + 1 + 1 + 2));
  free(text);
  free(small);
  free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reading_stops),
                                     cmocka_unit_test(cells_are_cut),
                                     cmocka_unit_test(columns_have_names),
                                     cmocka_unit_test(many_columns_of_one_name),
                                     cmocka_unit_test(numbers_and_dates),
                                     cmocka_unit_test(memory_may_fail),
                                     cmocka_unit_test(corruption_takes_columns),
                                     cmocka_unit_test(noise_in_spreads),
                                     cmocka_unit_test(masks_are_stretches),
                                     cmocka_unit_test(jitter_in_deviations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
