/* A document becomes files that hold exactly what it held; one that is not in the vocabulary is refused by name. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "check.h"
#include "core/file.h"
#include "core/mem.h"

#include <eigenpair/report.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path_before[4096];

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
  (void)s, (void)type, (void)f;
  return remove(path);
}
static int set_up(void **state) {
  (void)state;
  snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
  setenv("PATH", "/nowhere", 1); /* no node, unless a test makes one */
  strcpy(folder, "/tmp/ep_report_XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  setenv("PATH", path_before, 1);
  return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in(const char *name) {
  static char paths[4][400];
  static int turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}
static bool there(const char *name) { return access(in(name), F_OK) == 0; }
static char *text_of(const char *name) { /* for free */
  unsigned char *bytes;
  size_t size;
  CHECK_OK(ep_file_read(&bytes, &size, in(name)));
  char *text = strdup((const char *)bytes);
  ep_release(bytes);
  return text;
}
static void write_text(const char *name, const char *text) {
  CHECK_OK(ep_file_write_text(in(name), text));
}
static int temporaries;
static int count_temporary(const char *path, const struct stat *s, int type, struct FTW *f) {
  (void)s, (void)type, (void)f;
  temporaries += strstr(path, ".tmp") != NULL;
  return 0;
}
static void check_no_temporaries(void) {
  temporaries = 0;
  nftw(folder, count_temporary, 16, FTW_PHYS);
  assert_int_equal(temporaries, 0);
}

#define FIGURE(name)                                                                          \
  "{\"name\":\"" name                                                                         \
  "\",\"kind\":\"line\",\"title\":\"T\",\"alt\":\"A.\",\"x\":{\"title\":\"M\",\"log\":true}," \
  "\"y\":{\"title\":\"d\"},\"series\":[{\"name\":\"s\",\"x\":[1,2],\"y\":[0.5,null]}]}"
static json_t *parsed(const char *text) {
  json_error_t error;
  json_t *d = json_loads(text, 0, &error);
  if (!d) fail_msg("%s: %s", error.text, text);
  return d;
}
/* a document with these sections */
static json_t *with_sections(const char *sections) {
  char text[4000];
  snprintf(text, sizeof text, "{\"title\":\"t\",\"sections\":[%s],\"result\":{\"a\":1}}", sections);
  return parsed(text);
}

/* ---- what comes out */

static const char nasty[] =
    "{\"title\":\"</script><!--<script>alert(1)</script> & \\u2028 é\",\"verdict\":[{\"question\":\"q\",\"answer\":"
    "\"holds\",\"words\":\"w\"}],\"sections\":[{\"title\":\"s\",\"badge\":\"pass\",\"text\":[\"p\"],\"facts\":[[\"n\","
    "{\"v\":[1,2.5]}]],\"tables\":[{\"columns\":[{\"name\":\"c\",\"unit\":\"s\",\"format\":\"+,.3~g\"}],\"rows\":[[1.5],"
    "[null]]}],\"figures\":[" FIGURE("one") "," FIGURE("two-2_b") "]}],\"settings\":{\"x\":1},\"command\":\"c\","
    "\"version\":\"v\",\"machine\":{\"cores\":2},\"result\":{\"third\":0.33333333333333331,\"tiny\":5e-324,"
    "\"huge\":1.7976931348623157e308,\"text\":\"</script>\",\"n\":9007199254740993}}";

static int occurrences(const char *text, const char *word) {
  int n = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) n++;
  return n;
}

static void files_hold_the_document(void **state) {
  (void)state;
  static const char mark[] = "id=\"document\">";
  json_t *d = parsed(nasty);
  CHECK_OK(ep_report_write(in("a/b"), d)); /* folders are made */
  char *page = text_of("a/b/report.html"), *result = text_of("a/b/result.json"),
       *saved = text_of("a/b/document.json");
  json_t *r = parsed(result), *s = parsed(saved);
  assert_true(json_equal(r, json_object_get(d, "result")));
  assert_true(json_equal(s, d));
  /* the page: the same document, in one element that its texts cannot end */
  char *begin = strstr(page, mark) + strlen(mark), *end = strstr(begin, "</script>");
  assert_int_equal(occurrences(page, mark), 1);
  assert_int_equal(occurrences(begin, "</script>"), 2); /* the document's own end, the program's */
  assert_null(strstr(page, "@DOCUMENT@"));
  assert_non_null(strstr(page, "Content-Security-Policy"));
  *end = '\0';
  assert_null(strchr(begin, '<'));
  json_t *p = parsed(begin);
  assert_true(json_equal(p, d));
  assert_true(there("a/b/figures/one.csv") && there("a/b/figures/two-2_b.csv"));
  assert_false(there("a/b/figures/one.svg")); /* no node here */
  check_no_temporaries();
  free(page), free(result), free(saved);
  json_decref(r), json_decref(s), json_decref(p), json_decref(d);
}

static void csv_is_exact(void **state) {
  (void)state;
  const double x[] = {100, 1e-7}, y[] = {1.0 / 3, NAN}, low[] = {0.1, 0.2};
  const int label[] = {7, -1};
  json_t *f;
  CHECK_OK(ep_figure_new(&f, "f", EP_FIGURE_SCATTER, "F", "A.", (ep_axis){"x", .log = false},
                         (ep_axis){"y", .log = false}));
  CHECK_OK(ep_figure_add(f, &(ep_series){"a, \"b\"", "p", 2, x, y, low, y, label, false}));
  CHECK_OK(ep_figure_add(f, &(ep_series){.name = "plain", .count = 1, .x = x, .y = low}));
  CHECK_OK(ep_figure_write_csv(in("f.csv"), f));
  char *text = text_of("f.csv");
  assert_string_equal(text,
                      "series,panel,x,y,low,high,label\n"
                      "\"a, \"\"b\"\"\",p,100,0.3333333333333333,0.1,0.3333333333333333,7\n"
                      "\"a, \"\"b\"\"\",p,1e-07,,0.2,,-1\n"
                      "plain,,100,0.1,,,\n");
  free(text);
  json_decref(f);
}

/* ---- what is refused */

static void refused(json_t *d, const char *message) {
  const ep_status st = ep_report_write(in("r"), d);
  if (st == EP_OK || strcmp(ep_last_error(), message) != 0)
    fail_msg("'%s' instead of '%s'", st ? ep_last_error() : "success", message);
  assert_int_equal(ep_status_exit(st), 2);
  assert_false(there("r")); /* known before anything is made */
  json_decref(d);
}

static void documents_are_checked(void **state) {
  (void)state;
  refused(parsed("[]"), "the document: must be an object");
  refused(parsed("{\"sections\":[],\"result\":{}}"), "the document: 'title' is missing");
  refused(parsed("{\"title\":\"t\",\"result\":{}}"), "the document: 'sections' is missing");
  refused(parsed("{\"title\":\"t\",\"sections\":[]}"), "the document: 'result' is missing");
  refused(parsed("{\"title\":3,\"sections\":[],\"result\":{}}"), "title: must be text");
  refused(parsed("{\"title\":\"t\",\"sections\":[],\"result\":[]}"), "result: must be an object");
  refused(parsed("{\"title\":\"t\",\"sections\":[],\"result\":{},\"comand\":\"c\"}"),
          "the document: there is no field 'comand'");
  refused(parsed("{\"title\":\"t\",\"sections\":[],\"result\":{},\"verdict\":[{\"question\":\"q\","
                 "\"words\":\"w\"}]}"),
          "verdict[0]: 'answer' is missing");
}

static void sections_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *section, *message;
  } cases[] = {
      {"3", "sections[0]: must be an object"},
      {"{}", "sections[0]: 'title' is missing"},
      {"{\"title\":\"a\"},{\"title\":\"b\",\"text\":\"p\"}", "sections[1].text: must be an array"},
      {"{\"title\":\"a\",\"text\":[1]}", "sections[0].text[0]: must be text"},
      {"{\"title\":\"a\",\"facts\":[[\"n\",1],[\"n\"]]}",
       "sections[0].facts[1]: must be [name, value]"},
      {"{\"title\":\"a\",\"tables\":[{\"columns\":[{\"name\":\"c\"}],\"rows\":[[1],[1,2]]}]}",
       "sections[0].tables[0].rows[1]: has 2 cells, there are 1 columns"},
      {"{\"title\":\"a\",\"tables\":[{\"columns\":[{\"name\":\"c\"}],\"rows\":[[[1]]]}]}",
       "sections[0].tables[0].rows[0]: cell 0 is neither text nor number"},
      {"{\"title\":\"a\",\"tables\":[{\"columns\":[{\"name\":\"c\",\"format\":\".3z\"}],\"rows\":[]"
       "}]}",
       "sections[0].tables[0].columns[0]: '.3z' is no format for numbers, such as .3~g"},
      {"{\"title\":\"a\",\"figures\":[" FIGURE("a") "]},{\"title\":\"b\",\"figures\":[" FIGURE(
           "a") "]}",
       "two figures are called 'a'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    refused(with_sections(cases[i].section), cases[i].message);
}

/* a card leads to a page beside this one, and nowhere else */
static void links(void **state) {
  (void)state;
  static const struct {
    const char *link;
    bool good;
  } cases[] = {{"a.html", true},
               {"wide/report.html#wide-fig1", true},
               {"javascript:alert(1)//.html", false},
               {"https://x/a.html", false},
               {"//x/a.html", false},
               {"/etc/a.html", false},
               {"../a.html", false},
               {"b/../../a.html", false},
               {"\\\\\\\\x\\\\a.html", false},
               {" javascript&colon;a.html", false},
               {"%2e%2e/a.html", false},
               {"a.svg", false},
               {"", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[300];
    snprintf(text, sizeof text,
             "{\"title\":\"a\",\"cards\":[{\"title\":\"c\",\"text\":\"t\",\"link\":\"%s\"}]}",
             cases[i].link);
    json_t *d = with_sections(text);
    if ((ep_report_check(d) == EP_OK) != cases[i].good) fail_msg("%s", cases[i].link);
    json_decref(d);
  }
  refused(with_sections(
              "{\"title\":\"a\",\"cards\":[{\"title\":\"c\",\"text\":\"t\",\"figure\":" FIGURE(
                  "../x") "}]}"),
          "sections[0].cards[0].figure: the name '../x' must be 1 to 64 of a-z, 0-9, - and _");
}

static void formats(void **state) {
  (void)state;
  static const struct {
    const char *format;
    bool good;
  } cases[] = {{"", true},    {",d", true},     {".1%", true}, {".3~g", true}, {"+,.12~e", true},
               {".g", false}, {".123f", false}, {"d,", false}, {"dd", false},  {"$,.2f", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[300];
    snprintf(text, sizeof text,
             "{\"title\":\"a\",\"tables\":[{\"columns\":[{\"name\":\"c\",\"format\":\"%s\"}],"
             "\"rows\":[]}]}",
             cases[i].format);
    json_t *d = with_sections(text);
    if ((ep_report_check(d) == EP_OK) != cases[i].good) fail_msg("%s", cases[i].format);
    json_decref(d);
  }
}

/* the figure with one field put in the place of another */
static void figure_refused(const char *key, const char *value, const char *message) {
  json_t *d = with_sections("{\"title\":\"a\",\"figures\":[" FIGURE("f") "]}");
  json_t *f = json_array_get(
      json_object_get(json_array_get(json_object_get(d, "sections"), 0), "figures"), 0);
  if (value) json_object_set_new(f, key, json_loads(value, JSON_DECODE_ANY, NULL));
  else json_object_del(f, key);
  refused(d, message);
}

static void figures_are_checked(void **state) {
  (void)state;
#define AT "sections[0].figures[0]"
  figure_refused("alt", NULL, AT ": 'alt' is missing");
  figure_refused("name", "\"../x\"", AT ": the name '../x' must be 1 to 64 of a-z, 0-9, - and _");
  figure_refused("name", "\"\"", AT ": the name '' must be 1 to 64 of a-z, 0-9, - and _");
  figure_refused("kind", "\"pie\"", AT ": no kind 'pie' of figure; there are: line, scatter");
  figure_refused("x", "{\"log\":true}", AT ".x: 'title' is missing");
  figure_refused("x", "{\"title\":\"t\",\"log\":1}", AT ".x.log: must be true or false");
  figure_refused("colour", "1", AT ": there is no field 'colour'");
  figure_refused("series", "[{\"name\":\"s\",\"x\":[1,2],\"y\":[1]}]",
                 AT ".series[0]: 'y' has 1 numbers, 'x' has 2");
  figure_refused("series", "[{\"name\":\"s\",\"x\":[1],\"y\":[\"1\"]}]",
                 AT ".series[0].y[0]: must be a number");
  figure_refused("series", "[{\"name\":\"s\",\"x\":[1],\"y\":[1],\"low\":[1]}]",
                 AT ".series[0]: 'low' and 'high' come together");
  figure_refused("rules", "[{\"axis\":\"z\",\"value\":1,\"text\":\"t\"}]",
                 AT ".rules[0]: no axis 'z'; there are: x, y");
}

/* ---- what may go wrong */

static void whole_or_not_at_all(void **state) {
  (void)state;
  json_t *d = with_sections("{\"title\":\"a\",\"figures\":[" FIGURE("f") "]}");
  CHECK_OK(ep_folder_make(in("w")));
  write_text("w/report.html", "old");
  /* a file that cannot grow beyond 64 KiB: the page does not fit */
  struct rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = (struct rlimit){65536, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const ep_status st = ep_report_write(in("w"), d);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(st, EP_ERR_IO);
  char *page = text_of("w/report.html");
  assert_string_equal(page, "old");
  free(page);
  check_no_temporaries();
  write_text("file", "x");
  CHECK_STATUS(ep_report_write(in("file"), d), EP_ERR_IO); /* no folder can be made there */
  CHECK_STATUS(ep_report_write("", d), EP_ERR_ARG);
  json_decref(d);
}

static long allocations_left;
static void *scarce(size_t size) { return allocations_left-- > 0 ? malloc(size) : NULL; }

static void memory_may_run_out(void **state) {
  (void)state;
  json_t *d = parsed(nasty);
  ep_status st = EP_ERR_NOMEM;
  long n = 0;
  json_set_alloc_funcs(scarce, free);
  for (; st && n < 100000; n++) {
    allocations_left = n;
    st = ep_report_write(in("m"), d);
    if (st && st != EP_ERR_NOMEM) break;
  }
  json_set_alloc_funcs(malloc, free);
  CHECK_OK(st);
  assert_true(n > 5); /* it did fail on the way */
  check_no_temporaries();
  json_decref(d);
}

/* ---- drawing: a program called node on the PATH */

static void make_node(const char *script) {
  CHECK_OK(ep_folder_make(in("bin")));
  write_text("bin/node", script);
  assert_int_equal(chmod(in("bin/node"), 0755), 0);
  setenv("PATH", in("bin"), 1);
}

static void node_draws(void **state) {
  (void)state;
  json_t *d = with_sections("{\"title\":\"a\",\"figures\":[" FIGURE("f") "]}");
  CHECK_OK(ep_folder_make(in("n/figures")));
  write_text("n/figures/f.svg", "old"), write_text("n/figures/f.png", "old");
  CHECK_OK(ep_report_write(in("n"), d));
  assert_false(there("n/figures/f.svg") || there("n/figures/f.png")); /* nothing old beside new */
  make_node(/* past the flags that keep it small: the drawing that is called f.svg later */
            "#!/bin/sh\nshift 2\necho \"$1 $2 $4 $5\" >\"$6\"\n");
  CHECK_OK(ep_report_write(in("n"), d));
  assert_false(there("n/figures/f.png")); /* nothing was drawn into it */
  check_no_temporaries();
  char *said = text_of("n/figures/f.svg"), want[400];
  snprintf(want, sizeof want, "--input-type=module -e -- %s\n", in("n/report.html"));
  assert_string_equal(said, want);
  free(said);
  json_decref(d);
}

static void node_fails(void **state) {
  (void)state;
  json_t *d = with_sections("{\"title\":\"a\",\"figures\":[" FIGURE("f") "]}");
  make_node("#!/bin/sh\necho 'this is wrong' >&2\necho more >&2\nexit 3\n");
  CHECK_STATUS(ep_report_write(in("n"), d), EP_ERR_IO);
  assert_non_null(strstr(ep_last_error(), "figures could not be drawn: this is wrong"));
  assert_null(strchr(ep_last_error(), '\n'));
  assert_true(there("n/report.html") && there("n/result.json")); /* the rest is there */
  make_node("#!/bin/sh\nkill -INT $$\n");
  CHECK_STATUS(ep_report_write(in("n"), d), EP_ERR_INTERRUPTED);
  make_node("#!/bin/sh\nkill -SEGV $$\n");
  CHECK_STATUS(ep_report_write(in("n"), d), EP_ERR_IO);
  json_decref(d);
}

static void node_itself(void **state) {
  (void)state;
  json_t *d = with_sections("{\"title\":\"a\",\"figures\":[" FIGURE("f") "]}");
  setenv("PATH", path_before, 1);
  CHECK_OK(ep_report_write(in("real"), d));
  char *svg = text_of("real/figures/f.svg");
  assert_int_equal(strncmp(svg, "<svg ", 5), 0);
  free(svg);
  json_decref(d);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {T(files_hold_the_document),
                                     T(csv_is_exact),
                                     T(documents_are_checked),
                                     T(sections_are_checked),
                                     T(formats),
                                     T(links),
                                     T(figures_are_checked),
                                     T(whole_or_not_at_all),
                                     T(memory_may_run_out),
                                     T(node_draws),
                                     T(node_fails),
                                     T(node_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
