#include "report/markdown.h"

#include "core/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *text_of(const json_t *object, const char *name) {
  const char *s = json_string_value(json_object_get(object, name));
  return s ? s : "";
}

/* ---- values */

/* text that means what it says: no markup, one line, no cell's end */
static void put_text(FILE *to, const char *s) {
  for (; *s; s++) {
    if (strchr("\\`*_[]<>|#", *s)) fputc('\\', to);
    fputc(*s == '\n' ? ' ' : *s, to);
  }
}

static void put_in_brackets(FILE *to, const char *s) {
  fputs(" (", to);
  put_text(to, s);
  fputs(")", to);
}

/* a name of the JSON, as words */
static void put_name(FILE *to, const char *s) {
  for (; *s; s++) {
    if (strchr("\\`*[]<>|#", *s)) fputc('\\', to);
    fputc(*s == '_' ? ' ' : *s, to);
  }
}

static void put_value(FILE *to, const json_t *v) {
  size_t i;
  json_t *item;
  const char *name;
  if (json_is_string(v)) put_text(to, json_string_value(v));
  else if (json_is_boolean(v)) fputs(json_is_true(v) ? "yes" : "no", to);
  else if (json_is_number(v)) fprintf(to, "%.4g", json_number_value(v));
  else if (json_is_array(v)) {
    json_array_foreach(v, i, item) {
      if (i) fputs(json_is_string(item) ? " " : ", ", to);
      put_value(to, item);
    }
  } else if (json_is_object(v)) {
    i = 0;
    json_object_foreach((json_t *)v, name, item) {
      if (i++) fputs("; ", to);
      put_name(to, name);
      fputc(' ', to);
      put_value(to, item);
    }
  } else fputs("-", to);
}

/* ---- parts of a section */

static void put_facts(FILE *to, const json_t *facts) {
  size_t i;
  json_t *pair;
  json_array_foreach(facts, i, pair) {
    fputs("* ", to);
    put_text(to, json_string_value(json_array_get(pair, 0)));
    fputs(": ", to);
    put_value(to, json_array_get(pair, 1));
    fputc('\n', to);
  }
  if (i) fputc('\n', to);
}

static void put_row(FILE *to, const json_t *cells, bool names) {
  size_t i;
  json_t *cell;
  json_array_foreach(cells, i, cell) {
    fputs("| ", to);
    put_value(to, names ? json_object_get(cell, "name") : cell);
    if (names && *text_of(cell, "unit")) put_in_brackets(to, text_of(cell, "unit"));
    fputc(' ', to);
  }
  fputs("|\n", to);
}

static void put_table(FILE *to, const json_t *table) {
  const json_t *columns = json_object_get(table, "columns");
  size_t i;
  json_t *row;
  if (json_array_size(json_object_get(table, "rows")) == 0) return;
  fputs("**", to);
  put_text(to, text_of(table, "title"));
  fputs("**\n\n", to);
  put_row(to, columns, true);
  for (i = 0; i < json_array_size(columns); i++) fputs("|---", to);
  fputs("|\n", to);
  json_array_foreach(json_object_get(table, "rows"), i, row) put_row(to, row, false);
  fputc('\n', to);
}

/* the drawing, or the numbers where it could not be drawn */
static void put_figure(FILE *to, const char *folder, const json_t *figure) {
  char path[1200];
  const char *name = text_of(figure, "name");
  snprintf(path, sizeof path, "%.900s/figures/%.200s.svg", folder, name);
  const bool drawn = access(path, R_OK) == 0;
  fputs(drawn ? "![" : "[", to);
  put_text(to, text_of(figure, drawn ? "alt" : "title"));
  fprintf(to, "](figures/%s%s)\n\n", name, drawn ? ".svg" : ".csv");
}

static void put_cards(FILE *to, const json_t *cards) {
  size_t i;
  json_t *card;
  json_array_foreach(cards, i, card) {
    fputs("* ", to);
    put_text(to, text_of(card, "title"));
    if (*text_of(card, "badge")) put_in_brackets(to, text_of(card, "badge"));
    fputs(": ", to);
    put_text(to, text_of(card, "text"));
    fputc('\n', to);
  }
  if (i) fputc('\n', to);
}

static void put_section(FILE *to, const char *folder, const json_t *section) {
  size_t i;
  json_t *item;
  fputs("\n## ", to);
  put_text(to, text_of(section, "title"));
  if (*text_of(section, "badge")) put_in_brackets(to, text_of(section, "badge"));
  fputs("\n\n", to);
  json_array_foreach(json_object_get(section, "text"), i, item) {
    put_value(to, item);
    fputs("\n\n", to);
  }
  put_cards(to, json_object_get(section, "cards"));
  put_facts(to, json_object_get(section, "facts"));
  json_array_foreach(json_object_get(section, "tables"), i, item) put_table(to, item);
  json_array_foreach(json_object_get(section, "figures"), i, item) put_figure(to, folder, item);
}

/* ---- the document */

void ep_markdown_code(FILE *to, const char *s) {
  size_t fence = 1;
  for (const char *p = s; (p = strchr(p, '`')); p += strspn(p, "`"))
    if (strspn(p, "`") >= fence) fence = strspn(p, "`") + 1;
  const char *space = fence > 1 ? " " : "";
  for (size_t i = 0; i < fence; i++) fputc('`', to);
  fputs(space, to);
  for (; *s; s++) fputc(*s == '\n' ? ' ' : *s, to);
  fputs(space, to);
  for (size_t i = 0; i < fence; i++) fputc('`', to);
}

static void put_made_by(FILE *to, const json_t *d) {
  static const char *const names[] = {"machine", "settings"};
  if (*text_of(d, "command")) {
    fputs("Made by ", to);
    ep_markdown_code(to, text_of(d, "command"));
    fputs(", eigenpair ", to);
    put_text(to, text_of(d, "version"));
    fputs(".\n\n", to);
  }
  for (int i = 0; i < 2; i++) {
    const json_t *v = json_object_get(d, names[i]);
    if (!v) continue;
    put_name(to, names[i]);
    fputs(": ", to);
    put_value(to, v);
    fputs("\n\n", to);
  }
}

ep_status ep_report_markdown(const char *folder, const json_t *document) {
  char path[1200];
  ep_file f;
  size_t i;
  json_t *item;
  snprintf(path, sizeof path, "%.1000s/report.md", folder);
  EP_TRY(ep_file_open(&f, path));
  fputs("# ", f.stream);
  put_text(f.stream, text_of(document, "title"));
  fputs("\n\n", f.stream);
  const json_t *headline = json_object_get(document, "headline");
  if (headline) {
    put_text(f.stream, text_of(headline, "words"));
    fputs("\n\n", f.stream);
  }
  json_array_foreach(json_object_get(document, "verdict"), i, item) {
    fputs("**", f.stream);
    put_text(f.stream, text_of(item, "question"));
    fputs("** ", f.stream);
    put_text(f.stream, text_of(item, "answer"));
    fputs(". ", f.stream);
    put_text(f.stream, text_of(item, "words"));
    fputs("\n\n", f.stream);
  }
  put_made_by(f.stream, document);
  json_array_foreach(json_object_get(document, "sections"), i, item)
      put_section(f.stream, folder, item);
  return ep_file_commit(&f);
}
