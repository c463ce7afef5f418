#pragma once
#include <eigenpair/report.h>
#include <stdio.h>

/* folder/report.md: the document for reading where no page can be opened, with drawings where there are any. */
ep_status ep_report_markdown(const char *folder, const json_t *document);
/* Text as a code span: its fence is longer than any run of backticks in it. */
void ep_markdown_code(FILE *to, const char *s);
