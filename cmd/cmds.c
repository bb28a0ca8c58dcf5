/* cmds.c - the table of commands (cmd/cmd.h). */
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/stop.h"
#include "cmd/cmd.h"

const struct cmd *const cmds[] = {
	&cmd_cache_serve,
	&cmd_completion,
	&cmd_controller,
	&cmd_convert,
	&cmd_delete,
	&cmd_events,
	&cmd_exec,
	&cmd_export_model,
	&cmd_get,
	&cmd_gpu,
	&cmd_gpu_feed,
	&cmd_help_,
	&cmd_initialize_dataset,
	&cmd_initialize_model,
	&cmd_install,
	&cmd_logs,
	&cmd_mpi_launch,
	&cmd_mpi_worker,
	&cmd_preflight,
	&cmd_rerun,
	&cmd_resume,
	&cmd_run_jobset,
	&cmd_runs,
	&cmd_runtime,
	&cmd_submit,
	&cmd_suspend,
	&cmd_ui,
	&cmd_uninstall,
	&cmd_version,
	&cmd_wait,
	&cmd_why,
	NULL,
};

enum { MAX_COMMANDS = 64 };

const struct cmd *const *cmd_shown(const struct cmd *const *list)
{
	while (*list && (*list)->flags & CMD_HIDDEN)
		list++;
	return *list ? list : NULL;
}

const struct cmd *cmd_find(const struct cmd *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	return NULL;
}

/* Names of other tools for our commands; of one name, the first that the list has. */
static const char *other_name(const struct cmd *const *list, const char *name)
{
	static const char *const rows[][2] = {
		{ "apply", "submit" }, { "create", "submit" }, { "run", "submit" },
		{ "train", "submit" }, { "launch", "submit" }, { "ls", "list" },
		{ "list", "get" },     { "ls", "get" },        { "ps", "get" },
		{ "status", "get" },   { "describe", "why" },  { "describe", "get" },
		{ "show", "get" },     { "cancel", "delete" }, { "kill", "delete" },
		{ "rm", "delete" },    { "stop", "suspend" },  { "pause", "suspend" },
		{ "start", "resume" }, { "restart", "rerun" }, { "attach", "logs" },
		{ "dashboard", "ui" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!strcmp(rows[i][0], name) && cmd_find(list, rows[i][1]))
			return rows[i][1];
	return NULL;
}

int cmd_unknown(const struct cmd *const *list, const char *name, struct error *err)
{
	const char *names[MAX_COMMANDS + 1] = { 0 };
	cleanup_arena struct arena arena = { 0 };
	const char *other = other_name(list, name);

	if (name[0] == '-')
		return error_set(err, ERR_USAGE, "unknown option '%s'", name);
	if (other)
		return error_set(err, ERR_USAGE,
				 "unknown command '%s'; did you mean '%s'?", name, other);
	for (int i = 0; (list = cmd_shown(list)) && i < MAX_COMMANDS; i++, list++)
		names[i] = (*list)->name;
	return error_set(err, ERR_USAGE, "unknown command '%s'%s", name,
			 nearest_hint(&arena, name, names));
}

int cmd_failed(const struct error *err)
{
	return err->kind == ERR_STOPPED && stop_signal() ? EXIT_BY_SIGNAL + stop_signal()
							 : -1;
}
