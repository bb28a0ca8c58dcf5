/* help.c - print `kftrainer help` and every --help (cmd/cmd.h). */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"

enum { NAME_WIDTH = 20 };

static void summaries(FILE *out, const char *title, unsigned int mask, unsigned int want)
{
	bool first = true;

	for (const struct cmd *const *c = cmds; (c = cmd_shown(c)); c++) {
		if (((*c)->flags & mask) != want)
			continue;
		if (first)
			fprintf(out, "\n%s\n", title);
		first = false;
		fprintf(out, "  %-*s %s\n", NAME_WIDTH, (*c)->name, (*c)->summary);
	}
}

void cmd_usage(FILE *out)
{
	fputs("usage: kftrainer COMMAND [OPTION...] [ARGUMENT...]\n"
	      "\n"
	      "Run Kubeflow Trainer's TrainJobs on this machine or in a cluster.\n",
	      out);
	summaries(out, "Commands", CMD_IN_POD, 0);
	summaries(out, "In a container", CMD_IN_POD, CMD_IN_POD);
	fputs("\nSee 'kftrainer COMMAND --help' for a command's options.\n", out);
}

static void show_options(const struct opt *opts)
{
	static const struct opt help[] = {
		{ OPT_BOOL, 'h', "help", .help = "print this" },
		{ .type = OPT_END },
	};
	cleanup_buf struct buf text = { .max = 1 << 16 };

	if (opts)
		opt_help(&text, opts);
	opt_help(&text, help);
	printf("\nOptions\n%s", (const char *)text.data);
}

static void show_example(const char *line)
{
	puts("\nExamples");
	while (*line) {
		int len = (int)strcspn(line, "\n");

		printf("  %.*s\n", len, line);
		line += len + (line[len] == '\n');
	}
}

void cmd_help(const char *where, const struct cmd *cmd)
{
	printf("usage: %s%s%s%s\n\n%c%s.\n", where, cmd->sub ? "" : " [OPTION...]",
	       *cmd->args ? " " : "", cmd->args, cmd->summary[0] - 'a' + 'A',
	       cmd->summary + 1);
	if (cmd->about)
		printf("\n%s\n", cmd->about);
	if (cmd->sub)
		puts("\nCommands");
	for (const struct cmd *const *c = cmd->sub; c && (c = cmd_shown(c)); c++)
		printf("  %-*s %s\n", NAME_WIDTH, (*c)->name, (*c)->summary);
	show_options(cmd->opts);
	if (cmd->example)
		show_example(cmd->example);
}

static int run(const void *opts, int argc, char **argv, struct error *err)
{
	cleanup_buf struct buf where = { .max = 200 };
	const struct cmd *const *list = cmds;
	const struct cmd *cmd = NULL;

	buf_adds(&where, "kftrainer");
	for (int i = 0; i < argc; i++) {
		if (!list)
			return error_set(err, ERR_USAGE, "'%s' has no subcommands",
					 cmd->name);
		cmd = cmd_find(list, argv[i]);
		if (!cmd)
			return cmd_unknown(list, argv[i], err);
		list = cmd->sub;
		buf_printf(&where, " %s", cmd->name);
	}
	if (cmd)
		cmd_help((const char *)where.data, cmd);
	else
		cmd_usage(stdout);
	return EXIT_OK;
}

const struct cmd cmd_help_ = {
	.name = "help",
	.args = "[COMMAND...]",
	.summary = "list the commands, or show how to use one",
	.example = "kftrainer help runtime render",
	.run = run,
};
