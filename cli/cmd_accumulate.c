/* accumulate and merge: the sums of a closed form in parts. */
#include "commands.h"
#include "core/file.h"

#include <omp.h>
#include <string.h>

#define PART_OPTIONS(X, S)                                                          \
  X(S, TEXT, shard, "1/1", 0, 0, NULL, "part i of n of the anchors, i from 1 to n") \
  X(S, TEXT, out, "part.npz", 0, 0, NULL, "the sums of this part")
typedef struct {
  PART_OPTIONS(EP_OPT_FIELD, )
} part_config;
static const ep_option part_options[] = {PART_OPTIONS(EP_OPT_ROW, part_config){0}};

/* those of fit but its files; the method is whitened unless it is pca */
static const ep_option *method_options(void) {
  static ep_option table[64];
  int n = 0;
  for (; ep_fit_options[n].name && n < 63; n++) {
    table[n] = ep_fit_options[n];
    if (strcmp(table[n].name, "method") == 0) table[n].def = "whitened";
  }
  return table;
}

enum { GROUPS = EP_SETUP_GROUPS + 2 };
static void groups_of(ep_option_group groups[GROUPS], ep_setup *setup, part_config *part,
                      cli_config *cli) {
  ep_setup_groups(groups + 1, setup);
  groups[0] = (ep_option_group){"Part", part_options, part};
  for (int i = 1; groups[i].table; i++) {
    if (groups[i].table == ep_fit_options) groups[i].table = method_options();
    if (groups[i].table == ep_fit_file_options)
      groups[i] = (ep_option_group){"Output", cli_options, cli};
  }
}

void help_accumulate(FILE *to) {
  static ep_setup setup;
  part_config part;
  cli_config cli;
  ep_option_group groups[GROUPS];
  groups_of(groups, &setup, &part, &cli);
  fprintf(to,
          "\nOn as many machines as you like, in any order, say as tasks of a Slurm array:\n"
          "  eigenpair accumulate --data 'x-*.npy' --method whitened --features patches "
          "--shard 3/64 --out part3.npz\n"
          "then, where they are all in one place:\n"
          "  eigenpair merge part*.npz --out sums.npz\n"
          "  eigenpair fit --from sums.npz --outputs 64 --out model.npz\n\n"
          "Every part names the same data and options and its own shard; paths may differ. The "
          "model is that of\n`fit --method whitened` (or pca) on everything, to the rounding of "
          "sums; outputs, ridge and eigensolver\nmay still be chosen in `fit --from`.\n");
  args_help(groups, to);
}

static ep_status report(const ep_sums *sums, const char *out, const char *shard, double seconds,
                        bool json, json_t *config) {
  long there;
  const long shards = ep_sums_shards(sums, &there);
  terminal_clear();
  if (json)
    return print_json(json_pack(
        "{s:s,s:f,s:I,s:I,s:I,s:I,s:f,s:f,s:s,s:o,s:o}", "sums", out, "anchors",
        ep_sums_anchors(sums), "features", (json_int_t)ep_sums_features(sums), "dimension",
        (json_int_t)ep_sums_inputs(sums), "shards", (json_int_t)shards, "there", (json_int_t)there,
        "seconds", seconds, "peak_memory", (double)ep_memory_peak(), "version", ep_version(),
        "machine", machine_json(), "config", config));
  json_decref(config);
  printf("sums     ");
  print_count(stdout, ep_sums_anchors(sums));
  printf(" anchors, %td features, ", ep_sums_features(sums));
  if (shard) printf("shard %s\n", shard);
  else if (shards) printf("%ld of %ld shards\n", there, shards);
  else printf("%ld parts\n", there);
  printf("file     %s\n", out);
  return EP_OK;
}

static ep_status accumulate(ep_points *points, ep_sums **sums, const ep_setup *s,
                            const part_config *part) {
  ep_shard shard;
  ep_objective objective;
  EP_TRY(ep_shard_parse(&shard, part->shard));
  EP_TRY(ep_objective_parse(&objective, &s->objective));
  const bool views =
      ep_objective_positives_only(&objective) || ep_method_takes_views(s->fit.method);
  const char *pairs = views ? "positives" : "triplet";
  EP_TRY(ep_method_takes_views(s->fit.method)
             ? ep_points_load_views(points, &s->data, &s->pair, pairs, &s->run, shard)
             : ep_points_load_shard(NULL, points, &s->data, &s->pair, pairs, &s->run, shard));
  EP_TRY(ep_sums_new(NULL, sums, points, s));
  EP_TRY(ep_sums_add(NULL, *sums, points, shard));
  return ep_sums_save(part->out, *sums);
}

ep_status cmd_accumulate(int argc, char **argv) {
  static ep_setup setup;
  static part_config part;
  cli_config cli = {0};
  ep_option_group groups[GROUPS];
  ep_points points = {0};
  ep_sums *sums = NULL;
  groups_of(groups, &setup, &part, &cli);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  const char *const outputs[] = {part.out, NULL};
  EP_CHECK(part.out[0], EP_ERR_ARG, "--out is empty; give the sums a name");
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&setup.run, cli.progress));
  const double begin = omp_get_wtime();
  ep_status st = accumulate(&points, &sums, &setup, &part);
  if (!st)
    st = report(sums, part.out, part.shard, omp_get_wtime() - begin, cli.json,
                config_of_run(groups, NULL, 0, argc, argv));
  ep_sums_free(sums);
  ep_points_free(&points);
  return st;
}

/* ---- merge */

#define MERGE_OPTIONS(X, S)                                        \
  X(S, TEXT, out, "sums.npz", 0, 0, NULL, "the sums of all parts") \
  X(S, FLAG, partial, NULL, 0, 0, NULL,                            \
    "some shards are still to come: merge the result again later")
typedef struct {
  MERGE_OPTIONS(EP_OPT_FIELD, )
} merge_config;
static const ep_option merge_options[] = {MERGE_OPTIONS(EP_OPT_ROW, merge_config){0}};

typedef struct {
  merge_config merge;
  ep_run_config run;
  cli_config cli;
} setup_merge;

static void merge_groups(ep_option_group groups[4], setup_merge *s) {
  const ep_option_group all[4] = {{"Merging", merge_options, &s->merge},
                                  {"Run", ep_run_options, &s->run},
                                  {"Output", cli_options, &s->cli},
                                  {0}};
  memcpy(groups, all, sizeof all);
}

void help_merge(FILE *to) {
  setup_merge s;
  ep_option_group groups[4];
  merge_groups(groups, &s);
  fprintf(to,
          "\n  eigenpair merge part*.npz --out sums.npz\n\n"
          "Parts of `eigenpair accumulate`. The order of the files does not matter, to the last "
          "bit. Parts of another\nsetup or of other data, a shard that is there twice and one "
          "that is missing are refused by name.\n");
  args_help(groups, to);
}

static ep_status check_parts(const char *const *paths, int count, const char *out) {
  for (int i = 0; i < count; i++)
    EP_CHECK(!ep_file_same(paths[i], out), EP_ERR_ARG,
             "%s: is read as a part and would be overwritten; give the output another name", out);
  return EP_OK;
}

static ep_status merge(ep_sums **sums, const setup_merge *s, const char *const *paths, int count) {
  EP_TRY(ep_sums_merge_files(sums, paths, count));
  if (!s->merge.partial) EP_TRY(ep_sums_check(*sums));
  return ep_sums_save(s->merge.out, *sums);
}

ep_status cmd_merge(int argc, char **argv) {
  enum { MOST = 100000 };
  static setup_merge s;
  static const char *paths[MOST];
  ep_option_group groups[4];
  ep_sums *sums = NULL;
  int count;
  merge_groups(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, paths, MOST, &count));
  config_words(paths, MOST, &count);
  EP_CHECK(count > 0, EP_ERR_ARG, "give the parts to be merged: eigenpair merge part*.npz");
  const char *const outputs[] = {s.merge.out, NULL};
  EP_CHECK(s.merge.out[0], EP_ERR_ARG, "--out is empty; give the sums a name");
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(check_parts(paths, count, s.merge.out));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  const double begin = omp_get_wtime();
  ep_status st = merge(&sums, &s, paths, count);
  if (!st)
    st = report(sums, s.merge.out, NULL, omp_get_wtime() - begin, s.cli.json,
                config_of_run(groups, paths, count, argc, argv));
  ep_sums_free(sums);
  return st;
}
