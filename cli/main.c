#include "commands.h"
#include "core/words.h"

#include <eigenpair/machine.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const command commands[] = {
    {"fit", "make a model from pairs: training, or what replaces it", cmd_fit, help_fit},
    {"accumulate", "the sums of a closed form over one shard of the data, to be merged",
     cmd_accumulate, help_accumulate},
    {"merge", "merge the sums of shards; fit --from then makes the model", cmd_merge, help_merge},
    {"plan", "what a fit costs on so many machines: time, memory, traffic, what can be afforded",
     cmd_plan, help_plan},
    {"embed", "apply a model to data", cmd_embed, help_embed},
    {"compare", "may training be replaced, by what, from which width on: verdict and report",
     cmd_compare, help_compare},
    {"ntk", "tangent and Gaussian-process kernels, finite and infinite width", cmd_ntk, help_ntk},
    {"probe", "how good is an embedding: classifiers, ranks, uniformity, collapse", cmd_probe,
     help_probe},
    {"views", "what augmentations keep, without labels: correlations across views, held out",
     cmd_views, help_views},
    {"neighbours", "the nearest points of an embedding, exactly", cmd_neighbours, help_neighbours},
    {"explore", "look at an embedding: one page with maps, neighbours, scores, doubtful labels",
     cmd_explore, help_explore},
    {"report", "make the report page of a saved document again", cmd_report, help_report},
    {"dynamics", "linear self-supervised dynamics: the equation that replaces training",
     cmd_dynamics, help_dynamics},
    {"learnability", "what a kernel can learn from n points", cmd_learnability, help_learnability},
    {"regress", "learn targets: kernel regression with its variance, gradient flow, a network",
     cmd_regress, help_regress},
    {"optima", "local optima of one-layer contrastive learning", cmd_optima, help_optima},
    {"reproduce", "the papers' figures and claims, each checked and drawn", cmd_reproduce,
     help_reproduce},
    {"data", "list, describe, fetch, convert and make data sets", cmd_data, help_data},
    {"completion", "a script that completes commands and options, for bash, zsh or fish",
     cmd_completion, help_completion},
    {"version", "what runs and on what: processor, kernels, BLAS, threads", cmd_version,
     help_version},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const command *command_at(int i) { return i < COMMANDS ? &commands[i] : NULL; }

static const command *find(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

static int no_command(const char *name) {
  const char *near = NULL;
  size_t least = 3;
  for (int i = 0; i < COMMANDS; i++) ep_word_nearer(&near, &least, name, commands[i].name);
  const ep_status st =
      near
          ? EP_FAIL(EP_ERR_ARG, "no command '%s'; did you mean %s? Run `eigenpair` to see them all",
                    name, near)
          : EP_FAIL(EP_ERR_ARG, "no command '%s'; run `eigenpair` to see them all", name);
  fprintf(stderr, "eigenpair: %s\n", ep_last_error());
  return ep_status_exit(st);
}

static void overview(FILE *to) {
  fprintf(to, "eigenpair %s: wide contrastive models. Positive pairs in, eigenpairs out.\n\n",
          ep_version());
  for (int i = 0; i < COMMANDS; i++)
    fprintf(to, "  eigenpair %-12s %s\n", commands[i].name, commands[i].line);
  fprintf(to,
          "\nA first model, in seconds:\n"
          "  eigenpair fit --data digits --epochs 50 --out model.npz\n"
          "  eigenpair embed --model model.npz --data digits:test --out embedding.npy\n\n"
          "`eigenpair help COMMAND` says everything about one of them.\n");
}

/* What was printed has to have arrived. */
static int finish(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  fprintf(stderr, "eigenpair: standard output cannot be written: %s\n", strerror(errno));
  return status ? status : 1;
}

static int help(const command *c) {
  if (!c) return overview(stdout), finish(0);
  printf("eigenpair %s: %s\n", c->name, c->line);
  c->help(stdout);
  return finish(0);
}

static bool has_word(int argc, char **argv, const char *word) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], word) == 0) return true;
  return false;
}

static int version(void) { return printf("eigenpair %s\n", ep_version()), finish(0); }

/* The threads of OpenBLAS's large factorisations are OpenMP's, which reads when it is loaded how long they spin before they
 * sleep; by default so long that one busy process beside us costs a factor of ten. Unless the user has chosen, the program
 * starts itself again with a short spin. */
static void wait_asleep(char **argv) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) execv("/proc/self/exe", argv);
}

/* Under mpirun: where several fail, the message of the first of them will do. */
static int end_rank(const command *c, ep_status st) {
  if (st && !ranks_failed_before())
    fprintf(stderr, "eigenpair %s: rank %d: %s\n", c->name, ranks()->rank, ep_last_error());
  const int status = finish(ep_status_exit(st));
  ranks_end(status);
  return status;
}

static bool is_one_of(const command *c, const char *const *names) {
  for (; *names; names++)
    if (strcmp(c->name, *names) == 0) return true;
  return false;
}

/* Commands that share their work among ranks; those that rank 0 does alone while the others wait; the rest are studies of
 * many small fits, which gain nothing by it. */
static ep_status begin_rank(const command *c) {
  static const char *const shared[] = {"fit", "embed", "ntk", "probe", "accumulate", NULL};
  static const char *const first[] = {"merge", "version", "plan", NULL};
  EP_TRY(ranks_begin());
  if (ranks()->size == 1 || is_one_of(c, shared)) return EP_OK;
  EP_CHECK(
      is_one_of(c, first), EP_ERR_ARG,
      "runs in one process, without mpirun; fit, embed, ntk, probe and accumulate share their work "
      "among ranks");
  const int rank = ranks()->rank;
  ranks_part();
  if (rank > 0) ranks_end(0), exit(0);
  return EP_OK;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* past a limit on sizes of files a write fails, and says so */
  wait_asleep(argv);
  if (argc < 2) return help(NULL);
  if (strcmp(argv[1], "--version") == 0) return version();
  const bool asks = strcmp(argv[1], "help") == 0;
  if ((asks && argc == 2) || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
    return help(NULL);
  const char *name = asks ? argv[2] : argv[1];
  const command *c = find(name);
  if (!c) return no_command(name);
  if (asks || has_word(argc - 1, argv + 1, "--help") || has_word(argc - 1, argv + 1, "-h"))
    return help(c);
  if (has_word(argc - 1, argv + 1, "--version")) return version();
  watch_json();
  ep_status st = begin_rank(c);
  if (!st) st = c->run(argc - 1, argv + 1);
  work_end();
  if (json_was_lost() && st != EP_ERR_INTERRUPTED)
    st = EP_FAIL(EP_ERR_NOMEM, "out of memory; what was written may not be whole");
  terminal_clear();
  if (ranks()->size > 1) return end_rank(c, st);
  if (st) {
    fflush(stdout); /* what was printed before comes before */
    fprintf(stderr, "eigenpair %s: %s\n", c->name, ep_last_error());
  }
  const int status = finish(ep_status_exit(st));
  ranks_end(status);
  return status;
}
