// The public headers, by themselves and twice, as C++ sees them.
#include <eigenpair/eigenpair.h>
#include <eigenpair/eigenpair.h>

const char *version() { return ep_version(); }
