/*
 * completion.c - print completion scripts for bash, zsh and fish (cmd/cmd.h).
 *
 * The scripts are generated from the table of commands (cmd/cmd.h). An option's value or
 * an argument is completed by its name in the table: FILE, RUNTIME, JOB, COMMAND or
 * words separated by '|'.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"

/* Call `each` for every command; `path` is "runtime list". */
static void walk(const struct cmd *const *list, const char *above,
		 void (*each)(const char *path, const struct cmd *cmd))
{
	cleanup_arena struct arena arena = { 0 };

	for (; (list = cmd_shown(list)); list++) {
		const char *path = arena_printf(&arena, "%s%s%s", above,
						*above ? " " : "", (*list)->name);

		each(path, *list);
		if ((*list)->sub)
			walk((*list)->sub, path, each);
	}
}

/*
 * Shell commands that print names. `where` has the command line's --local, -n,
 * --kubeconfig and --context, as shell words.
 */
#define JOBS(where) "kftrainer get -o name " where " 2>/dev/null | cut -d / -f 2"
#define RUNTIMES(where) \
	"kftrainer runtime list -o name " where " 2>/dev/null | cut -d / -f 2"

enum value_kind {
	VALUE_NONE,
	VALUE_FILE,
	VALUE_RUNTIME,
	VALUE_JOB,
	VALUE_COMMAND,
	VALUE_WORDS,
};

static enum value_kind value_kind(const char *text)
{
	if (strstr(text, "FILE"))
		return VALUE_FILE;
	if (strstr(text, "RUNTIME"))
		return VALUE_RUNTIME;
	if (strstr(text, "JOB"))
		return VALUE_JOB;
	if (str_starts(text, "[COMMAND"))
		return VALUE_COMMAND;
	return strchr(text, '|') ? VALUE_WORDS : VALUE_NONE;
}

/* Does the command read runtimes from a cluster? */
static bool asks_cluster(const struct cmd *cmd)
{
	for (const struct opt *o = cmd->opts; o && o->type; o++)
		if (str_eq(o->name, "kubeconfig"))
			return true;
	return false;
}

/* "table|json|yaml" as "table json yaml". */
static const char *words_of(struct arena *arena, const char *text)
{
	char *words = arena_strdup(arena, text);

	for (char *c = words; *c; c++)
		if (*c == '|')
			*c = ' ';
	return words;
}

/* The possible values of an option; fixed words separated by '|'. */
static const char *option_value(struct arena *arena, const struct opt *o)
{
	return o->type == OPT_ENUM ? str_join(arena, o->words, "|") : o->value;
}

/* ---- bash --------------------------------------------------------------------- */

static void bash_value(const struct cmd *cmd, const char *text)
{
	cleanup_arena struct arena arena = { 0 };

	switch (value_kind(text)) {
	case VALUE_FILE:
		printf("compopt -o default");
		break;
	case VALUE_RUNTIME:
		printf("words=$(%s)", asks_cluster(cmd) ? RUNTIMES("\"${where[@]}\"")
							: RUNTIMES("--local"));
		break;
	case VALUE_JOB:
		printf("words=$(" JOBS("\"${where[@]}\"") ")");
		break;
	case VALUE_COMMAND:
		printf("words=$commands");
		break;
	case VALUE_WORDS:
		printf("words='%s'", words_of(&arena, text));
		break;
	case VALUE_NONE:
		printf("words=");
		break;
	}
}

static void bash_options(const struct opt *o)
{
	printf("\t\toptions='");
	for (; o && o->type; o++)
		if (*o->name)
			printf("--%s ", o->name);
	printf("--help'\n");
}

static void bash_values(const struct cmd *cmd)
{
	cleanup_arena struct arena arena = { 0 };

	for (const struct opt *o = cmd->opts; o && o->type; o++) {
		if (!o->value || !*o->name)
			continue;
		printf("\t\t");
		if (o->letter)
			printf("-%c|", o->letter);
		printf("--%s) wants=value; ", o->name);
		bash_value(cmd, option_value(&arena, o));
		printf(" ;;\n");
	}
}

static void bash_command(const char *path, const struct cmd *cmd)
{
	printf("\t'%s')\n", path);
	bash_options(cmd->opts);
	printf("\t\tcase $prev in\n");
	bash_values(cmd);
	printf("\t\t*) ");
	if (cmd->sub) {
		printf("words='");
		for (const struct cmd *const *c = cmd->sub; (c = cmd_shown(c)); c++)
			printf(" %s", (*c)->name);
		printf("'");
	} else {
		bash_value(cmd, cmd->args);
	}
	printf(" ;;\n\t\tesac ;;\n");
}

static void bash_step(const char *path, const struct cmd *cmd)
{
	int above = (int)(strlen(path) - strlen(cmd->name));

	printf("\t\t'%.*s%s%s') path='%s' ;;\n", above ? above - 1 : 0, path, "/",
	       cmd->name, path);
}

static void bash(void)
{
	puts("# bash completion for kftrainer:  source <(kftrainer completion bash)\n"
	     "_kftrainer()\n"
	     "{\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	     "\tlocal path='' options='--help --version' words='' wants='' commands i "
	     "value where=()");
	printf("\tcommands='");
	for (const struct cmd *const *c = cmds; (c = cmd_shown(c)); c++)
		printf(" %s", (*c)->name);
	puts("'\n"
	     "\tCOMPREPLY=()\n"
	     "\tif [[ $cur == = ]]; then cur=''\n"
	     "\telif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	     "\tfi\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tcase \"$path/${COMP_WORDS[i]}\" in");
	walk(cmds, "", bash_step);
	puts("\t\t*/--) compopt -o default; return ;;\n"
	     "\t\tesac\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t--local) where+=(--local) ;;\n"
	     "\t\t-n|--namespace|--kubeconfig|--context)\n"
	     "\t\t\tvalue=$((i + 1))\n"
	     "\t\t\t[[ ${COMP_WORDS[value]} == = ]] && ((value++))\n"
	     "\t\t\t((value < COMP_CWORD)) &&\n"
	     "\t\t\t\twhere+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[value]/#\\~/$HOME}\") ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\tcase $path in\n"
	     "\t'') words=$commands ;;");
	walk(cmds, "", bash_command);
	puts("\tesac\n"
	     "\t[[ $cur == -* && -z $wants ]] && words=$options\n"
	     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	     "}\n"
	     "complete -F _kftrainer kftrainer");
}

/* ---- zsh ---------------------------------------------------------------------- */

/* Escape for '...:...' of _arguments: colons and brackets end a part, a quote all. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			printf(strchr(":[]\\", *text) ? "\\%c" : "%c", *text);
	}
}

static void zsh_value(const struct cmd *cmd, const char *text)
{
	cleanup_arena struct arena arena = { 0 };

	switch (value_kind(text)) {
	case VALUE_FILE:
		printf(":file:_files");
		break;
	case VALUE_RUNTIME:
		printf(":runtime:($(%s))",
		       asks_cluster(cmd) ? RUNTIMES("$where_") : RUNTIMES("--local"));
		break;
	case VALUE_JOB:
		printf(":job:($(" JOBS("$where_") "))");
		break;
	case VALUE_COMMAND:
		printf(":command:_kftrainer_commands");
		break;
	case VALUE_WORDS:
		printf(":value:(%s)", words_of(&arena, text));
		break;
	case VALUE_NONE:
		printf(":value: ");
		break;
	}
}

static void zsh_option(const struct cmd *cmd, const struct opt *o)
{
	cleanup_arena struct arena arena = { 0 };
	const char *many = o->type == OPT_STRS ? "*" : "";
	const char *value = option_value(&arena, o);

	if (!*o->name)
		return;
	if (o->letter)
		printf(" \\\n\t\t\t'%s-%c%s[", many, o->letter, o->value ? "+" : "");
	if (o->letter) {
		zsh_text(o->help);
		printf("]");
		if (value)
			zsh_value(cmd, value);
		printf("'");
	}
	printf(" \\\n\t\t\t'%s--%s%s[", many, o->name, o->value ? "=" : "");
	zsh_text(o->help);
	printf("]%s", o->bare ? ":" : "");
	if (value)
		zsh_value(cmd, value);
	printf("'");
}

static void zsh_command(const char *path, const struct cmd *cmd)
{
	if (cmd->sub)
		return;
	printf("\t'%s')\n\t\t_arguments -s '--help[print help]'", path);
	for (const struct opt *o = cmd->opts; o && o->type; o++)
		zsh_option(cmd, o);
	if (*cmd->args) {
		printf(" \\\n\t\t\t'*");
		zsh_value(cmd, cmd->args);
		printf("'");
	}
	puts(" ;;");
}

static void zsh_group(const char *path, const struct cmd *cmd)
{
	if (!cmd->sub)
		return;
	printf("\t'%s')\n\t\tif ((CURRENT == 2)); then\n\t\t\t_values command", path);
	for (const struct cmd *const *c = cmd->sub; (c = cmd_shown(c)); c++) {
		printf(" '%s[", (*c)->name);
		zsh_text((*c)->summary);
		printf("]'");
	}
	puts("\n\t\t\treturn\n\t\tfi\n"
	     "\t\tpath_=\"$path_ $words[2]\"; shift words; ((CURRENT--)) ;;");
}

static void zsh_summary(const char *path, const struct cmd *cmd)
{
	if (strchr(path, ' '))
		return;
	printf("\t\t'%s:", path);
	zsh_text(cmd->summary);
	puts("'");
}

static void zsh(void)
{
	puts("#compdef kftrainer\n"
	     "# zsh completion for kftrainer: put it into a directory of $fpath as _kftrainer\n"
	     "_kftrainer_commands()\n"
	     "{\n"
	     "\tlocal -a commands=(");
	walk(cmds, "", zsh_summary);
	puts("\t)\n"
	     "\t_describe command commands\n"
	     "}\n"
	     "_kftrainer()\n"
	     "{\n"
	     "\tif ((CURRENT == 2)); then\n"
	     "\t\t_kftrainer_commands\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tlocal path_=$words[2] i\n"
	     "\tlocal -a where_=()\n"
	     "\tfor ((i = 2; i < CURRENT; i++)); do\n"
	     "\t\tcase $words[i] in\n"
	     "\t\t(--local|--namespace=*|--kubeconfig=*|--context=*) where_+=($words[i]) ;;\n"
	     "\t\t(-n|--namespace|--kubeconfig|--context)\n"
	     "\t\t\t((i + 1 < CURRENT)) && where_+=($words[i] ${~words[i+1]}) ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\tshift words\n"
	     "\t((CURRENT--))\n"
	     "\tcase $path_ in");
	walk(cmds, "", zsh_group);
	puts("\tesac\n"
	     "\tcase $path_ in");
	walk(cmds, "", zsh_command);
	puts("\tesac\n"
	     "}\n"
	     "if [[ $funcstack[1] == _kftrainer ]]; then _kftrainer \"$@\"\n"
	     "else compdef _kftrainer kftrainer\n"
	     "fi");
}

/* ---- fish --------------------------------------------------------------------- */

static void fish_text(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		printf(strchr("'\\", *text) ? "\\%c" : "%c", *text);
	putchar('\'');
}

static void fish_value(const struct cmd *cmd, const char *text)
{
	cleanup_arena struct arena arena = { 0 };

	switch (value_kind(text)) {
	case VALUE_FILE:
		printf(" -F");
		break;
	case VALUE_RUNTIME:
		printf(" -xa '(%s)'", asks_cluster(cmd) ? RUNTIMES("(__kftrainer_where)")
							: RUNTIMES("--local"));
		break;
	case VALUE_JOB:
		printf(" -xa '(" JOBS("(__kftrainer_where)") ")'");
		break;
	case VALUE_WORDS:
		printf(" -xa '%s'", words_of(&arena, text));
		break;
	default:
		printf(" -x");
	}
}

/* Begin a rule that applies after all words of the command's path. */
static void fish_start(const char *path)
{
	cleanup_arena struct arena arena = { 0 };
	char **words = str_split(&arena, path, ' ', NULL);

	printf("complete -c kftrainer -n '__fish_seen_subcommand_from %s", words[0]);
	if (words[1])
		printf("; and __fish_seen_subcommand_from %s", words[1]);
	printf("'");
}

static void fish_command(const char *path, const struct cmd *cmd)
{
	cleanup_arena struct arena arena = { 0 };
	bool top = !strchr(path, ' ');

	if (top)
		printf("complete -c kftrainer -n __fish_use_subcommand -a %s -d ", path);
	else
		printf("complete -c kftrainer -n '__fish_seen_subcommand_from "
		       "%.*s' -a %s -d ",
		       (int)strcspn(path, " "), path, cmd->name);
	fish_text(cmd->summary);
	putchar('\n');
	for (const struct opt *o = cmd->opts; o && o->type; o++) {
		if (!*o->name)
			continue;
		fish_start(path);
		printf(" -l %s", o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (o->value)
			fish_value(cmd, option_value(&arena, o));
		printf(" -d ");
		fish_text(o->help);
		putchar('\n');
	}
	if (value_kind(cmd->args) != VALUE_NONE && !cmd->sub) {
		fish_start(path);
		fish_value(cmd, cmd->args);
		putchar('\n');
	}
}

static void fish(void)
{
	puts("# fish completion for kftrainer:  kftrainer completion fish | source\n"
	     "function __kftrainer_where\n"
	     "\tset -l words (commandline -opc)\n"
	     "\tset -l value\n"
	     "\tfor i in (seq (count $words))\n"
	     "\t\tset value (math $i + 1)\n"
	     "\t\tswitch $words[$i]\n"
	     "\t\t\tcase --local '--namespace=*' '--kubeconfig=*' '--context=*'\n"
	     "\t\t\t\tprintf '%s\\n' $words[$i]\n"
	     "\t\t\tcase -n --namespace --kubeconfig --context\n"
	     "\t\t\t\ttest $value -le (count $words); and printf '%s\\n' $words[$i] "
	     "(string replace -r '^~' $HOME -- $words[$value])\n"
	     "\t\tend\n"
	     "\tend\n"
	     "end\n"
	     "complete -c kftrainer -f\n"
	     "complete -c kftrainer -s h -l help -d 'print help'\n"
	     "complete -c kftrainer -n __fish_use_subcommand -l version -d 'print the version'");
	walk(cmds, "", fish_command);
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = {
	{ "bash", bash },
	{ "zsh", zsh },
	{ "fish", fish },
};

static int run(const void *opts, int argc, char **argv, struct error *err)
{
	for (size_t i = 0; argc == 1 && i < N_ELEMENTS(shells); i++) {
		if (str_eq(argv[0], shells[i].name)) {
			shells[i].print();
			return EXIT_OK;
		}
	}
	return error_set(err, ERR_USAGE, "specify a shell: bash, zsh or fish");
}

const struct cmd cmd_completion = {
	.name = "completion",
	.args = "bash|zsh|fish",
	.summary = "print a completion script for a shell",
	.example = "source <(kftrainer completion bash)\n"
		   "kftrainer completion zsh > ~/.zsh/completions/_kftrainer\n"
		   "kftrainer completion fish | source",
	.run = run,
};
