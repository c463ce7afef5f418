#include "commands.h"

#include <string.h>

/* Scripts that complete the command line, made from the table of commands and the tables of options: nothing in them is
 * written twice. A shell is a row of functions; every command's help hands its tables to args_help, which is watched. */
typedef struct {
  const char *name;
  void (*begin)(void);
  void (*command)(const command *c); /* before the options of one */
  void (*option)(const command *c, const ep_option *o);
  void (*close)(const command *c); /* after them */
  void (*end)(void);
} shell;

static const char *const own_words[] = {"help", "--help", "--version"};
enum { OWN_WORDS = sizeof own_words / sizeof *own_words };

/* What a value may be: names, files, both, or a number, which nobody completes. */
static bool takes_files(const ep_option *o) {
  return o->kind == EP_OPT_TEXT || o->kind == EP_OPT_LIST;
}
static bool is_data(const ep_option *o) {
  return strcmp(o->name, "data") == 0 || strcmp(o->name, "data2") == 0 ||
         strcmp(o->name, "labels") == 0 || strcmp(o->name, "test") == 0;
}

static void print_data_names(void) {
  for (int i = 0; ep_dataset_list(i); i++)
    printf("%s%s %s:test", i ? " " : "", ep_dataset_list(i)->name, ep_dataset_list(i)->name);
  for (int i = 0; ep_synthetic_name(i); i++) printf(" %s", ep_synthetic_name(i));
}

static void print_values(const ep_option *o) {
  if (is_data(o)) print_data_names();
  for (int i = 0; o->names && o->names(i); i++) printf("%s%s", i ? " " : "", o->names(i));
}

static void print_commands(void) {
  for (int i = 0; command_at(i); i++) printf("%s%s", i ? " " : "", command_at(i)->name);
}

static const shell shells[];

/* Words that a command takes beside its options; false: it takes files. */
static bool print_words(const command *c) {
  if (strcmp(c->name, "data") == 0) printf("list describe fetch convert make ");
  else if (strcmp(c->name, "completion") == 0)
    for (const shell *s = shells; s->name; s++) printf("%s ", s->name);
  else if (strcmp(c->name, "reproduce") == 0)
    for (const ep_paper *p = ep_papers; p->name; p++) {
      printf("%s ", p->name);
      for (const ep_claim *claim = p->claims; claim->id; claim++) printf("%s ", claim->id);
    }
  else return false;
  return true;
}

/* The first thing that the help says, without what a shell would read as its own. */
static void print_brief(const char *help) {
  for (int i = 0; help[i] && help[i] != ';' && i < 72; i++)
    putchar(strchr("'\"`[]\\$:", help[i]) ? ' ' : help[i]);
}

/* ---- bash */

static void bash_begin(void) {
  printf(
      "# bash completion of eigenpair %s, made by `eigenpair completion bash`\n"
      "_eigenpair() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) flags= values= words= files=\n"
      "  [[ $word == = ]] && word=\n"
      "  [[ ${COMP_WORDS[at]} == = ]] && at=$((at - 1))\n"
      "  local before=${COMP_WORDS[at]} command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n"
      "  if [[ $COMP_CWORD == 1 ]]; then command=; words=\"",
      ep_version());
  print_commands();
  for (int i = 0; i < OWN_WORDS; i++) printf(" %s", own_words[i]);
  printf("\"; fi\n  case $command in\n    help) words=\"");
  print_commands();
  printf("\" ;;\n");
}

static void bash_command(const command *c) {
  printf("    %s)\n      words=\"", c->name);
  const bool words = print_words(c);
  printf("\"%s\n      case $before in\n", words ? "" : " files=yes");
}

static void bash_option(const command *c, const ep_option *o) {
  (void)c;
  char flag[64];
  ep_options_flag(flag, o->name);
  if (o->kind == EP_OPT_FLAG) return;
  printf("        --%s%s%s) values=\"", flag, flag[1] ? "" : "|-", flag[1] ? "" : flag);
  print_values(o);
  printf("\" files=%s words= flags=none ;;\n", takes_files(o) ? "yes" : "");
}

static void bash_flags(const ep_option_group *groups, void *data) {
  (void)data;
  for (; groups->table; groups++)
    for (const ep_option *o = groups->table; o->name; o++) {
      char flag[64];
      ep_options_flag(flag, o->name);
      printf(" --%s", flag);
    }
}

static void bash_close(const command *c) {
  printf("      esac\n      [[ -n $flags ]] || flags=\"");
  args_tables(c, bash_flags, NULL);
  printf(" --help\" ;;\n");
}

static void bash_end(void) {
  printf(
      "  esac\n"
      "  if [[ $word == -* && $flags != none ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$values $words\" -- \"$word\"))\n"
      "  if [[ -n $files ]]; then\n"
      "    local file\n"
      "    while IFS= read -r file; do COMPREPLY+=(\"$file\"); done < <(compgen -f -- \"$word\")\n"
      "    compopt -o filenames 2>/dev/null\n"
      "  fi\n"
      "}\n"
      "complete -F _eigenpair eigenpair\n");
}

/* ---- zsh */

static void zsh_begin(void) {
  printf(
      "#compdef eigenpair\n# zsh completion of eigenpair %s, made by `eigenpair completion zsh`\n"
      "_eigenpair() {\n  local -a commands\n  commands=(\n",
      ep_version());
  for (int i = 0; command_at(i); i++) {
    printf("    '%s:", command_at(i)->name);
    print_brief(command_at(i)->line);
    printf("'\n");
  }
  printf(
      "    'help:everything about one command'\n  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n"
      "    help) _describe command commands ;;\n");
}

static void zsh_command(const command *c) { printf("    %s) _arguments -s \\\n", c->name); }

static void zsh_option(const command *c, const ep_option *o) {
  (void)c;
  char flag[64];
  ep_options_flag(flag, o->name);
  const bool many = o->kind == EP_OPT_LIST;
  printf("      '%s--%s%s[", many ? "*" : "", flag, o->kind == EP_OPT_FLAG ? "" : "=");
  print_brief(o->help);
  printf("]");
  if (o->kind == EP_OPT_FLAG) return (void)printf("' \\\n");
  printf(":%s:", flag);
  if (is_data(o)) {
    printf("{compadd -- ");
    print_data_names();
    printf("; _files}");
  } else if (o->names) {
    printf("(");
    print_values(o);
    printf(")");
  } else if (takes_files(o)) printf("_files");
  else printf(" ");
  printf("' \\\n");
}

static void zsh_close(const command *c) {
  printf("      '*:word:{compadd -- ");
  printf("%s", print_words(c) ? "}' ;;\n" : "; _files}' ;;\n");
}

static void zsh_end(void) {
  printf(
      "  esac\n}\nif [[ $funcstack[1] == _eigenpair ]]; then _eigenpair \"$@\"; else compdef "
      "_eigenpair eigenpair; fi\n");
}

/* ---- fish */

static void fish_begin(void) {
  printf(
      "# fish completion of eigenpair %s, made by `eigenpair completion fish`\n"
      "complete -c eigenpair -f\n"
      "complete -c eigenpair -n __fish_use_subcommand -a help -d 'everything about one command'\n"
      "complete -c eigenpair -n '__fish_seen_subcommand_from help' -a '",
      ep_version());
  print_commands();
  printf("'\n");
}

static void fish_where(const command *c) {
  printf("complete -c eigenpair -n '__fish_seen_subcommand_from %s' ", c->name);
}

static void fish_command(const command *c) {
  printf("complete -c eigenpair -n __fish_use_subcommand -a %s -d '", c->name);
  print_brief(c->line);
  printf("'\n");
  fish_where(c);
  printf("-a '");
  printf("' %s\n", print_words(c) ? "" : "-F");
}

static void fish_option(const command *c, const ep_option *o) {
  char flag[64];
  ep_options_flag(flag, o->name);
  fish_where(c);
  printf("%s %s %s -a '", flag[1] ? "-l" : "-s", flag,
         o->kind == EP_OPT_FLAG ? ""
         : takes_files(o)       ? "-r -F"
                                : "-x");
  print_values(o);
  printf("' -d '");
  print_brief(o->help);
  printf("'\n");
}

static void fish_close(const command *c) { (void)c; }
static void fish_end(void) {}

/* ---- the command */

static const shell shells[] = {
    {"bash", bash_begin, bash_command, bash_option, bash_close, bash_end},
    {"zsh", zsh_begin, zsh_command, zsh_option, zsh_close, zsh_end},
    {"fish", fish_begin, fish_command, fish_option, fish_close, fish_end},
    {0},
};

typedef struct {
  const shell *shell;
  const command *command;
} place;

static void print_options(const ep_option_group *groups, void *data) {
  const place *at = data;
  for (; groups->table; groups++)
    for (const ep_option *o = groups->table; o->name; o++) at->shell->option(at->command, o);
}

static ep_status print_script(const shell *s) {
  s->begin();
  for (int i = 0; command_at(i); i++) {
    place at = {s, command_at(i)};
    s->command(at.command);
    EP_TRY(args_tables(at.command, print_options, &at));
    s->close(at.command);
  }
  s->end();
  return EP_OK;
}

void help_completion(FILE *to) {
  cli_config cli = {0};
  const ep_option_group groups[] = {{"Output", cli_options, &cli}, {0}};
  fprintf(to,
          "\n  eigenpair completion bash >~/.local/share/bash-completion/completions/eigenpair\n"
          "  eigenpair completion zsh >/usr/local/share/zsh/site-functions/_eigenpair\n"
          "  eigenpair completion fish >~/.config/fish/completions/eigenpair.fish\n\n"
          "Prints a script that completes commands, options, names and files for a shell: bash, "
          "zsh or\n"
          "fish. An installed package has them in place already; for this session alone:\n"
          "  source <(eigenpair completion bash)\n");
  args_help(groups, to);
}

ep_status cmd_completion(int argc, char **argv) {
  cli_config cli = {0};
  const ep_option_group groups[] = {{"Output", cli_options, &cli}, {0}};
  const char *name = "";
  int words;
  EP_TRY(args_parse(groups, argc, argv, &name, 1, &words));
  for (const shell *s = shells; s->name; s++)
    if (strcmp(s->name, name) == 0) return print_script(s);
  return EP_FAIL(EP_ERR_ARG, "%s%s%s; one of bash, zsh, fish, such as: eigenpair completion bash",
                 words ? "no completion for '" : "no shell is named", name, words ? "'" : "");
}
