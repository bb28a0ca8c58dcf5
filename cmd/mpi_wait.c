/* mpi_wait.c - wait for nodes, list missing ones, watch them (cmd/mpi_wait.h). */
#include "cmd/mpi_wait.h"

#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "cmd/ui/termination_message.h"
#include "mpi/launch.h"
#include "mpi/peer_settings.h"
#include "mpi/watch.h"

enum { TABLE_MAX = 16 * 1024 * 1024, TAIL = 64 };

static size_t count_missing(const struct wait_host *hosts, size_t n)
{
	size_t missing = 0;

	for (size_t i = 0; i < n; i++)
		missing += hosts[i].stage != PEER_READY;
	return missing;
}

static int name_width(const struct wait_host *hosts, size_t n)
{
	size_t width = strlen("HOST");

	for (size_t i = 0; i < n; i++)
		if (hosts[i].stage != PEER_READY && strlen(hosts[i].name) > width)
			width = strlen(hosts[i].name);
	return (int)width;
}

/* Print the rows that fit into `max` bytes, and the number of the others. */
static void add_table(struct buf *b, const struct wait_host *hosts, size_t n, size_t max)
{
	int width = name_width(hosts, n);
	size_t left = count_missing(hosts, n);

	buf_printf(b, "%zu of %zu hosts cannot run commands\n%-*s   %-14s   %s\n", left,
		   n, width, "HOST", "STAGE", "WHY");
	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf row = { .max = 4096 };
		const struct wait_host *h = &hosts[i];

		if (h->stage == PEER_READY)
			continue;
		buf_printf(&row, "%-*s   %-14s   %s\n", width, h->name,
			   h->tried ? peer_stage_names[h->stage] : "not tried",
			   h->tried ? h->why.msg : "-");
		if (b->len + row.len + TAIL > max) {
			buf_printf(b, "... and %zu more\n", left);
			return;
		}
		buf_add(b, row.data, row.len);
		left--;
	}
}

static int report(const struct peer_settings *s, const struct wait_host *hosts, size_t n)
{
	cleanup_buf struct buf all = { .max = TABLE_MAX }, last = { .max = TABLE_MAX };
	const char *hint = NULL; /* of the first host that has one */

	if (!count_missing(hosts, n))
		return EXIT_OK;
	for (size_t i = 0; i < n && !hint; i++)
		hint = peer_settings_hint(s, hosts[i].stage, &hosts[i].why);
	add_table(&all, hosts, n, TABLE_MAX);
	add_table(&last, hosts, n,
		  TERMINATION_MESSAGE_MAX - (hint ? strlen(hint) + 1 : 0));
	if (hint)
		buf_printf(&last, "%s\n", hint);
	cmd_complain("mpi-launch", "%s",
		     stop_requested() ? "stopped before all hosts were ready"
				      : "timed out");
	fprintf(stderr, "%s%s%s", (const char *)all.data, hint ? hint : "",
		hint ? "\n" : "");
	termination_message((const char *)last.data);
	return EXIT_FAILED;
}

static int read_file(struct hostfile *ret, struct arena *arena, const char *path,
		     struct error *err)
{
	cleanup_buf struct buf text = { .max = HOSTFILE_MAX };

	if (file_read(&text, path, err))
		return error_wrap(err, "the host file");
	return hostfile_parse(ret, arena, text.data ? (const char *)text.data : "",
			      text.len, err)
		       ? error_wrap(err, "the host file: %s", path)
		       : 0;
}

static struct wait_host *list_hosts(struct arena *arena, const struct hostfile *file)
{
	struct wait_host *hosts = arena_alloc(arena, file->n * sizeof(*hosts));

	for (size_t i = 0; i < file->n; i++)
		hosts[i] = (struct wait_host){ .name = file->hosts[i].name,
					       .user = file->hosts[i].user };
	return hosts;
}

static int wait_and_report(struct wait_host *hosts, size_t n,
			   const struct peer_settings *s, struct error *err)
{
	struct wait_conf conf = { .peer = s->conf };
	int64_t start = clock_ms();
	int rc;

	if (stop_setup(err) || wait_for_hosts(hosts, n, &conf, err))
		return -1;
	rc = report(s, hosts, n);
	if (!rc)
		fprintf(stderr, "all %zu hosts can run commands, after %.1f s\n", n,
			(double)(clock_ms() - start) / 1000);
	return rc;
}

int mpi_wait(const struct ssh_args *args, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct peer_settings s = { 0 };
	struct hostfile file;
	int rc = read_file(&file, &arena, args->wait_file, err);

	if (!rc)
		rc = peer_settings_read(&s, args, env_variable, NULL, err);
	if (!rc)
		rc = wait_and_report(list_hosts(&arena, &file), file.n, &s, err);
	peer_settings_release(&s);
	return rc;
}

/* ---- and a command ---------------------------------------------------------------- */

static void report_lost(void *ctx, const char *host, const struct error *why)
{
	struct buf *words = ctx;

	cmd_complain("mpi-launch", "lost node %s: %s", host, why->msg);
	buf_printf(words, "%s: %s\n", host, why->msg);
}

/* The exit code: the command's; LAUNCH_FAILED if it is 0 although nodes were lost. */
static int exit_code_of(const struct watch_end *end, const struct buf *words)
{
	cleanup_buf struct buf last = { .max = TERMINATION_MESSAGE_MAX };

	if (end->ended)
		cmd_complain("mpi-launch", "stopped the command: it was still running 30 "
					   "s after a node was lost");
	if (end->status || !end->lost)
		return end->status;
	buf_printf(&last, "exit status 0, but %zu of %zu nodes were lost before the end",
		   end->lost, end->watched);
	cmd_complain("mpi-launch", "%s", (const char *)last.data);
	buf_printf(&last, "\n%.*s", TERMINATION_MESSAGE_MAX - 128,
		   (const char *)words->data);
	termination_message((const char *)last.data);
	return LAUNCH_FAILED;
}

static int run_command(struct watch *w, char *const *argv, const struct buf *words,
		       struct error *err)
{
	struct watch_end end;

	if (stop_requested())
		return EXIT_BY_SIGNAL + (stop_signal() ? stop_signal() : SIGHUP);
	if (!watch_run(w, argv, &end, err))
		return exit_code_of(&end, words);
	cmd_complain("mpi-launch", "%s", err->msg);
	return err->code == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static int watch_and_run(struct wait_host *hosts, size_t n, const struct peer_settings *s,
			 char *const *argv, struct error *err)
{
	cleanup_buf struct buf words = { .max = TABLE_MAX };
	struct watch_conf conf = { s->conf, report_lost, &words };
	struct watch *w = NULL;
	int rc = -1;

	if (!stop_setup(err) && !watch_new(&w, hosts, n, &conf, err))
		rc = report(s, hosts, n) ? LAUNCH_FAILED
					 : run_command(w, argv, &words, err);
	watch_free(w);
	return rc;
}

int mpi_watch(const struct ssh_args *args, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct peer_settings s = { 0 };
	struct hostfile file;
	int rc = read_file(&file, &arena, args->watch_file, err);

	if (!rc)
		rc = peer_settings_read(&s, args, env_variable, NULL, err);
	if (!rc)
		rc = watch_and_run(list_hosts(&arena, &file), file.n, &s, args->words,
				   err);
	peer_settings_release(&s);
	return rc;
}
