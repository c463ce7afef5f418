#include "core/embed.h"
#include "report/page.h"
#include "study/explore.h"

/* report/explore.html with style and program in it, built by report/build.mjs; a build without Node has none */
#ifdef EP_EXPLORE_PAGE
EP_EMBED(ep_explore_template, EP_EXPLORE_PAGE);
#else
static const unsigned char ep_explore_template[] = "";
#endif

ep_status ep_explore_check(void) {
  EP_CHECK(ep_explore_template[0], EP_ERR_ARG,
           "this build has no pages: configure it with -DEP_REPORT=ON, which needs Node");
  return EP_OK;
}

ep_status ep_explore_write(const char *path, const json_t *page) {
  EP_TRY(ep_explore_check());
  return ep_page_write(path, ep_explore_template, page);
}
