/* The only file that knows MPI. Built with -DEP_MPI=ON, the program under mpirun is one of several ranks. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "commands.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ep_comm world = {.rank = 0, .size = 1};
static int on_node = 1; /* ranks of this node */
const ep_comm *ranks(void) { return &world; }
void ranks_part(void) { world = (ep_comm){.size = 1}; }

/* how many processes a launcher says there are; 0: none said so */
static int launched(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    if (value && atoi(value) > 0) return atoi(value);
  }
  return 0;
}

static int cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* One thread a rank unless asked for more: threads that are not bound to cores of their own cost a factor of hundreds. */
ep_status ranks_share_machine(ep_run_config *config) {
  if (world.size == 1) return EP_OK;
  const bool chosen = config->threads > 0 || getenv("OMP_NUM_THREADS");
  if (!chosen) config->threads = 1;
  const long threads = config->threads > 0 ? config->threads : ep_run_threads();
  const long room = sysconf(_SC_NPROCESSORS_ONLN);
  EP_CHECK(
      !chosen || threads <= cores(), EP_ERR_ARG,
      "rank %d has %ld threads on %d core%s: bind ranks to as many cores, as in mpirun --map-by "
      "slot:PE=%ld --bind-to core, or use --threads 1",
      world.rank, threads, cores(), cores() > 1 ? "s" : "", threads);
  EP_CHECK(!chosen || threads == 1 || threads * on_node <= room, EP_ERR_ARG,
           "%d ranks of %ld threads on a node of %ld cores: use fewer ranks, or --threads 1",
           on_node, threads, room);
  if (world.rank == 0)
    fprintf(stderr,
            "ranks    %d, %d on this node, each of %ld thread%s, on %d of its %ld cores%s\n",
            world.size, on_node, threads, threads > 1 ? "s" : "", cores(), room,
            cores() < room ? "" : " (not bound)");
  if (config->memory == 0) config->memory = ep_run_memory(config) / on_node;
  return world.broadcast(&world, &config->memory, sizeof config->memory); /* all decide alike */
}

#ifdef EP_MPI
#include <mpi.h>

static ep_status fine(int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return EP_OK;
  MPI_Error_string(code, text, &length);
  return EP_FAIL(EP_ERR_IO, "%s: %s", what, text);
}

static void add(void *to, const void *from, ptrdiff_t n, ep_precision prec) {
  for (ptrdiff_t i = 0; i < n; i++)
    if (prec == EP_SINGLE) ((float *)to)[i] += ((const float *)from)[i];
    else ((double *)to)[i] += ((const double *)from)[i];
}

/* Every rank adds up one slice of all, in the order of ranks, and hands the result round: a fixed order, and each
 * number travels twice. In pieces, so that counts stay small and so does the scratch. */
static ep_status sum_piece(char *x, ptrdiff_t n, ep_precision prec, char *scratch) {
  const int size = world.size;
  const ptrdiff_t slice = (n + size - 1) / size;
  const MPI_Datatype type = prec == EP_SINGLE ? MPI_FLOAT : MPI_DOUBLE;
  const size_t item = ep_sizeof(prec);
  int count[size], at[size], own[size], to[size];
  const ptrdiff_t here = slice * world.rank < n
                             ? (n - slice * world.rank < slice ? n - slice * world.rank : slice)
                             : 0;
  for (int r = 0; r < size; r++) {
    const ptrdiff_t first = slice * r < n ? slice * r : n;
    at[r] = (int)first;
    count[r] = (int)(n - first < slice ? n - first : slice);
    own[r] = (int)here;
    to[r] = (int)(slice * r);
  }
  EP_TRY(fine(MPI_Alltoallv(x, count, at, type, scratch, own, to, type, MPI_COMM_WORLD),
              "MPI_Alltoallv"));
  for (int r = 1; r < size; r++) add(scratch, scratch + (size_t)(slice * r) * item, here, prec);
  return fine(MPI_Allgatherv(scratch, (int)here, type, x, count, at, type, MPI_COMM_WORLD),
              "MPI_Allgatherv");
}

static ep_status sum(const ep_comm *c, void *x, ptrdiff_t n, ep_precision prec) {
  enum { PIECE = 1 << 18 }; /* two megabytes of scratch, which stay in cache */
  const size_t item = ep_sizeof(prec);
  const ptrdiff_t most = n < PIECE ? n : PIECE;
  char *scratch = malloc((size_t)(most + (ptrdiff_t)c->size * c->size) * item + 64);
  EP_CHECK(scratch, EP_ERR_NOMEM, "no memory to add up what ranks have");
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; !st && i < n; i += PIECE)
    st = sum_piece((char *)x + (size_t)i * item, n - i < PIECE ? n - i : PIECE, prec, scratch);
  free(scratch);
  return st;
}

/* rows of any length, so counts are of rows */
static ep_status gather(const ep_comm *c, void *x, const ptrdiff_t *first, size_t bytes) {
  MPI_Datatype row;
  int count[c->size], at[c->size];
  if (bytes == 0) return EP_OK;
  EP_CHECK(bytes < 1u << 31 && first[c->size] < 1l << 31, EP_ERR_ARG,
           "rows of %zu bytes are too long for MPI", bytes);
  for (int r = 0; r < c->size; r++)
    at[r] = (int)first[r], count[r] = (int)(first[r + 1] - first[r]);
  EP_TRY(fine(MPI_Type_contiguous((int)bytes, MPI_BYTE, &row), "MPI_Type_contiguous"));
  MPI_Type_commit(&row);
  const int code =
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, count, at, row, MPI_COMM_WORLD);
  MPI_Type_free(&row);
  return fine(code, "MPI_Allgatherv");
}

static ep_status broadcast(const ep_comm *c, void *x, size_t bytes) {
  enum { PIECE = 1 << 30 };
  (void)c;
  for (size_t i = 0; i < bytes; i += PIECE)
    EP_TRY(fine(MPI_Bcast((char *)x + i, (int)(bytes - i < PIECE ? bytes - i : PIECE), MPI_BYTE, 0,
                          MPI_COMM_WORLD),
                "MPI_Bcast"));
  return EP_OK;
}

ep_status ranks_begin(void) {
  int level;
  MPI_Comm node;
  if (launched() == 0) return EP_OK;
  EP_CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS, EP_ERR_IO,
           "MPI cannot be started");
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  world.sum = sum, world.gather = gather, world.broadcast = broadcast;
  world.spread = ranks_spread;
  if (world.rank > 0 && !freopen("/dev/null", "w", stdout))
    return EP_FAIL(EP_ERR_IO, "standard output cannot be closed");
  return EP_OK;
}

int ranks_handle(void) { return MPI_Comm_c2f(MPI_COMM_WORLD); }

enum { FAILED = 1, SAID = 2 }; /* tags */

static void tell(int first, int end, int tag) {
  static char word;
  MPI_Request request;
  for (int r = first; r < end; r++)
    if (MPI_Isend(&word, 1, MPI_BYTE, r, tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
}

/* within so many milliseconds */
static bool told(int tag, int wait) {
  int there = 0;
  for (int i = 0; !there && i <= wait / 10; i++) {
    if (i > 0) usleep(10000);
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
  return there;
}

/* The lowest rank that fails speaks. One that is stopped because a higher one has spoken says nothing, and one that leaves it to a
 * lower one waits for it to end all: if it did so itself, the other might not come to speak. */
bool ranks_failed_before(void) {
  enum { WAIT = 3000 }; /* milliseconds that a lower rank has to find the same */
  tell(world.rank + 1, world.size, FAILED);
  if (told(SAID, 100)) return true; /* messages take their time */
  if (world.rank > 0 && told(FAILED, WAIT)) {
    for (int i = 0; i < (WAIT + 2000) / 10; i++) usleep(10000);
    return true;
  }
  tell(0, world.rank, SAID);
  return false;
}

void ranks_end(int status) {
  int started;
  MPI_Initialized(&started);
  if (!started) return;
  if (status) MPI_Abort(MPI_COMM_WORLD, status); /* the others may wait for this one */
  MPI_Finalize();
}

#else

ep_status ranks_begin(void) {
  EP_CHECK(launched() <= 1, EP_ERR_ARG,
           "this build knows no MPI, and %d processes would each do all of it: build with `cmake "
           "--preset mpi`, or use "
           "`eigenpair accumulate --shard i/n`",
           launched());
  return EP_OK;
}

bool ranks_failed_before(void) { return false; }
void ranks_end(int status) { (void)status; }
#endif
