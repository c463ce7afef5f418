#pragma once
/* Pages that are complete in themselves: a template built by report/build.mjs, and a document in it. */
#include <eigenpair/json.h>
#include <eigenpair/status.h>

/* The page, ended by a zero byte, with the document in the place of @DOCUMENT@; the file is there whole or not at all. */
ep_status ep_page_write(const char *path, const unsigned char *page, const json_t *document);
