#pragma once
/* The drawings of a page's figures: the only door to Node. */
#include <eigenpair/status.h>
#include <jansson.h>

/* Every figure of the document, whose page is there already, as folder/NAME.svg and .png. Without node on the PATH it
 * does nothing. */
ep_status ep_report_draw(const char *page, const char *folder, const json_t *document);
