#pragma once
#include <stdbool.h>
/* A report as data, and the files made from it. `compare` and `reproduce` write the document; the page knows nothing of
 * what they measure.
 *
 *   {"title": "May a closed form replace this model?",
 *    "headline": {"words": "Use whitened: ..", "command": "eigenpair fit .."},
 *    "verdict": [{"question": "May I replace training by the frozen kernel?", "answer": "holds",
 *                 "words": "From width 1,000 on .."}, ..],
 *    "sections": [{"title": "Methods", "badge": "pass", "text": ["a paragraph", ..],
 *                  "facts": [["Criterion", "exponent at most -0.4"], ["Measured", {"exponent": -0.52}], ..],
 *                  "tables": [{"title": "..", "columns": [{"name": "time", "unit": "s", "format": ".3~r"}, ..],
 *                              "rows": [["gd", 41.27], ..]}, ..],
 *                  "figures": [a figure (figure.h), ..],
 *                  "cards": [{"title": "..", "badge": "pass", "text": "..", "link": "a.html#b", "figure": {..}}, ..]}, ..],
 *    "glossary": [{"term": "frozen kernel", "means": ".."}, ..], "changed": ["data", ..],
 *    "settings": {"data": "digits", ..}, "command": "eigenpair compare ..", "version": "0.1.0", "machine": {..},
 *    "result": {..}}
 *
 * title, sections and result must be there; the rest may be left out, in a section all but its title. Other fields are
 * refused: they would be lost. answer and badge are a word; holds, pass, yes and fails, fail, no have colours. A fact's
 * value is text, a number, an array or an object; with facts, figures stand beside the words. The first section is
 * on the first screen, below the verdict. A cell is text, a number, true, false or null; `format` is one of d3's for numbers
 * (",d", ".1%", ".3~g", ".3~s"; without it four digits). A table that is `folded` opens at a click. Words of the glossary are
 * explained where they first stand; x^-0.5 is typeset. `changed` names the settings that are not as by default: the others
 * are folded. Names of figures are names of files, each there once. */
#include <eigenpair/figure.h>

/* Is it a document in these words? If not, the message says where and what. */
ep_status ep_report_check(const json_t *document);
/* Makes the folder (and those above it) and in it, each file whole or not at all,
 *   report.html          the page, complete in itself
 *   report.md            the same as text with the drawings
 *   result.json          the document's result, every number exact
 *   document.json        the document: `eigenpair report` makes all of this from it again
 *   figures/NAME.csv     the numbers of each figure
 *   figures/NAME.svg     its drawing, and NAME.png, where node (and rsvg-convert) are on the PATH */
ep_status ep_report_write(const char *folder, const json_t *document);
/* Was it built with Node? Without: no page and no drawings, but Markdown, CSV and JSON. */
bool ep_report_has_page(void);
