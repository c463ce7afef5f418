#pragma once
/* One cmd_*.c a subcommand; no numerics in any of them. */
#include <eigenpair/claim.h>
#include <eigenpair/compare.h>
#include <eigenpair/domain.h>
#include <eigenpair/eigenpair.h>
#include <eigenpair/figure.h>
#include <eigenpair/optima_figures.h>
#include <eigenpair/reader.h>
#include <eigenpair/regress.h>
#include <eigenpair/report.h>
#include <eigenpair/reproduce.h>
#include <eigenpair/synthetic.h>

/* A row of the table in main.c. `help` prints everything below the first line. */
typedef struct {
  const char *name, *line;
  ep_status (*run)(int argc, char **argv);
  void (*help)(FILE *to);
} command;

const command *command_at(int i); /* main.c; NULL past the last */

ep_status cmd_fit(int argc, char **argv);
void help_fit(FILE *to);
ep_status cmd_accumulate(int argc, char **argv);
void help_accumulate(FILE *to);
ep_status cmd_merge(int argc, char **argv);
void help_merge(FILE *to);
ep_status cmd_plan(int argc, char **argv);
void help_plan(FILE *to);
ep_status cmd_embed(int argc, char **argv);
void help_embed(FILE *to);
ep_status cmd_ntk(int argc, char **argv);
void help_ntk(FILE *to);
ep_status cmd_probe(int argc, char **argv);
void help_probe(FILE *to);
ep_status cmd_compare(int argc, char **argv);
void help_compare(FILE *to);
ep_status cmd_reproduce(int argc, char **argv);
void help_reproduce(FILE *to);
ep_status cmd_report(int argc, char **argv);
void help_report(FILE *to);
ep_status cmd_dynamics(int argc, char **argv);
void help_dynamics(FILE *to);
ep_status cmd_learnability(int argc, char **argv);
void help_learnability(FILE *to);
ep_status cmd_regress(int argc, char **argv);
void help_regress(FILE *to);
ep_status cmd_optima(int argc, char **argv);
void help_optima(FILE *to);
ep_status cmd_views(int argc, char **argv);
void help_views(FILE *to);
ep_status cmd_neighbours(int argc, char **argv);
void help_neighbours(FILE *to);
ep_status cmd_completion(int argc, char **argv);
void help_completion(FILE *to);
ep_status cmd_explore(int argc, char **argv);
void help_explore(FILE *to);
ep_status cmd_data(int argc, char **argv);
void help_data(FILE *to);
ep_status cmd_version(int argc, char **argv);
void help_version(FILE *to);
ep_status data_fetch(const char *name, bool json, bool yes);

/* ---- choose.c: fit without --method */

/* ep_fit_choose by the command line */
void choose_method(ep_setup *setup, char why[200], int argc, char **argv);
bool choose_features(ep_setup *setup, const ep_points *points, int argc, char **argv);
/* Notes on options that mean nothing to the method, and on a loss that rose or did not move. */
ep_status note_ignored(ep_fit_info *info, const ep_setup *setup, int argc, char **argv);
ep_status note_loss(ep_fit_info *info, const ep_setup *setup);

/* ---- embedding.c */

/* In the precision it is stored in; own_precision: in that of the run. */
ep_status read_embedding(ep_mat *E, const char *path, bool own_precision, const ep_run_config *run);
/* One that stays in its file where it is larger than memory. */
typedef struct {
  ep_mat X;             /* the embedding, or its shape */
  struct ep_rows *rows; /* NULL: in memory */
  ep_reader reader;
} large_embedding;
ep_status open_embedding(large_embedding *e, const char *path, bool own_precision,
                         const ep_run_config *run);
ep_labelled embedding_points(large_embedding *e, const int *labels); /* for the library; lent */
void close_embedding(large_embedding *e);
/* A label for every row of E, from a file, a column of a table or a data set by name. `config`: which points of a set were
 * drawn (--samples), which column, which rows. Words are places in *classes, a JSON array that is made or added to; NULL
 * stays NULL for numbers. */
ep_status read_labels(int **labels, json_t **classes, const char *name,
                      const ep_data_config *config, const ep_mat *E, const char *embedding,
                      const ep_run_config *run);
/* The name of a label: of its class, or its number. */
const char *label_name(char number[24], const json_t *classes, int label);

/* ---- targets.c */

/* F (n x Z, double) from a file: a vector or a matrix, a row a point. */
ep_status read_values(ep_mat *F, const char *path);
/* Labels from *low on make so many columns. */
ep_status label_range(int *low, ptrdiff_t *columns, const int *labels, ptrdiff_t n);
/* F (n x columns): 1 where the column is the point's label. */
ep_status label_columns(ep_mat *F, const int *labels, ptrdiff_t n, int low, ptrdiff_t columns);
/* Takes the mean of every column away; mean (Z) or NULL. */
void centre_columns(const ep_mat *F, double *mean);

/* ---- args.c: flags of any number of tables */

#define CLI_OPTIONS(X, S)                                                                       \
  X(S, TEXT, config, "", 0, 0, NULL,                                                            \
    "options from a JSON file: a result, its config, or a model; the command line goes before") \
  X(S, FLAG, json, NULL, 0, 0, NULL, "results as JSON on standard output")                      \
  X(S, FLAG, progress, NULL, 0, 0, NULL, "progress on standard error, terminal or not")
typedef struct {
  CLI_OPTIONS(EP_OPT_FIELD, )
} cli_config;
extern const ep_option cli_options[];

/* Reads `--flag value`, `--flag=value` and flags without a value into the groups; `-k` is `--k`. Words that are no
 * flags go to positional (at most `most` of them); without positional the first of them is --data. */
ep_status args_parse(const ep_option_group *groups, int argc, char **argv, const char **positional,
                     int most, int *count);
void args_help(const ep_option_group *groups, FILE *to);
/* Hands the tables of a command's options to `look`. */
ep_status args_tables(const command *c, void (*look)(const ep_option_group *groups, void *data),
                      void *data);
bool args_has(int argc, char **argv,
              const char *option); /* was it given, here or to what --config repeats? */
/* The value of one flag, without reading the others; NULL if it is not there. */
const char *args_peek(int argc, char **argv, const char *flag);

/* ---- config.c: what a result carries to be repeated by --config */

/* Every option of the groups but the output's, `given`: those of the command line, `words`: those beside the options; NULL: no
 * memory. */
json_t *config_of_run(const ep_option_group *groups, const char *const *words, int count, int argc,
                      char **argv);
ep_status config_keep(const json_t *config); /* what --config says */
bool config_gives(const char *option);       /* was it given where that was made? */
/* Its words, where the command line has none. */
void config_words(const char **words, int most, int *count);

/* ---- network.c: networks in files and flags */

/* What --init says where the flags say nothing; flags that its weights contradict are refused. */
ep_status init_options(ep_net_config *net, ep_variance_config *variances, int argc, char **argv);
/* A network of a file as the flags that were given see it. */
ep_status network_flags(ep_net *net, const ep_net_config *config,
                        const ep_variance_config *variances, int argc, char **argv);

/* ---- comm_mpi.c: ranks under mpirun */

const ep_comm *ranks(void);  /* alone: of size 1 */
ep_status ranks_begin(void); /* before anything else */
void ranks_part(void);       /* from now on each works alone, until ranks_end */
bool ranks_failed_before(
    void);                  /* this rank fails: has a lower one said so? Tells the higher ones. */
void ranks_end(int status); /* a status that is not 0 ends all of them */
int ranks_handle(void);     /* of all ranks, as Fortran calls it */
/* scalapack.c: matrices spread over ranks */
ep_status ranks_spread(const ep_comm *comm, ep_dist **out, ptrdiff_t order, bool elpa);
/* threads and memory a rank, where the options leave them open; refuses more threads than cores */
ep_status ranks_share_machine(ep_run_config *config);

/* ---- terminal.c: progress and interruption */

/* From now on the program works in a run of these options. SIGINT and SIGTERM ask it to save and stop; progress goes to a
 * terminal, or to standard error with `progress`. */
ep_status work_begin(ep_run_config *config, bool progress);
void work_end(void);
void terminal_clear(void); /* removes the progress line */

/* ---- output.c */

bool ends_in_csv(const char *path);
bool is_stdout(const char *path); /* - or /dev/stdout */
/* Nobody gets an array in a file that is called a table. */
ep_status check_no_csv(const char *path, const char *ending);
/* Can these files be made, are they all different, and is none of them an input? Inputs are the other texts in the groups
 * that name a file; the outputs point into the groups' configs. Empty names are passed over; NULL ends the list. */
ep_status check_outputs(const char *const outputs[], const ep_option_group *groups);
/* The path as a shell takes it. */
const char *shell_word(char out[2100], const char *path);
/* The command line (argv[0] is the subcommand), to be copied. */
void command_line(char text[4096], int argc, char **argv);

/* Makes the folder of --report (empty: none), so that a bad one is known before the work and not after it. */
ep_status make_report_folder(const char *folder);
/* The front of a page: the sentence that answers what a reader came for. */
json_t *headline_json(const char *words);
/* FOLDER/report.html: one section about a result, which has its `config` for settings. Takes over front (headline, verdict;
 * may be NULL) and section (NULL: out of memory); result stays the caller's. */
ep_status write_page(const char *folder, const char *title, json_t *front, json_t *section,
                     const json_t *result, int argc, char **argv);
/* The line that says where the report is. `label` stands in front of it. */
void print_report(const char *label, const char *folder);
/* From watch_json on every allocation for JSON goes through one function, which remembers a failure: a key that was lost
 * anywhere is an error at every door (print_json, write_json_file, write_page, the end of main). */
void watch_json(void);
bool json_was_lost(void);
ep_status print_json(json_t *object); /* steals it; NULL is out of memory */
ep_status write_json_file(const char *path, const json_t *object);
double resident_peak(void);    /* most bytes of the process in memory at once; NAN: not known */
json_t *machine_json(void);    /* processor, cores, threads, memory */
json_t *number_json(double x); /* null where x is not finite */
void print_count(FILE *to, double n); /* 12,345 */
