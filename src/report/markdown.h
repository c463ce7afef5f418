#pragma once
#include <eigenpair/report.h>

/* folder/report.md: the document for reading where no page can be opened, with drawings where there are any. */
ep_status ep_report_markdown(const char *folder, const json_t *document);
