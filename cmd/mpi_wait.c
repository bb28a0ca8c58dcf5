/* mpi_wait.c - mpi_wait.h: the wait, and the table of those that are missing. */
#include "cmd/mpi_wait.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "cmd/ui/last_words.h"
#include "mpi/peer_settings.h"
#include "mpi/wait.h"

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

static void add_row(struct buf *b, const struct wait_host *h, int width)
{
	const char *stage = h->tried ? peer_stage_names[h->stage] : "not tried";

	buf_printf(b, "%-*s   %-14s   %s\n", width, h->name, stage,
		   h->tried ? h->why.msg : "-");
}

/* Rows that fit into `max` bytes, and how many more there are. */
static void add_table(struct buf *b, const struct wait_host *hosts, size_t n, size_t max)
{
	int width = name_width(hosts, n);
	size_t left = count_missing(hosts, n);

	buf_printf(b, "%zu of %zu hosts cannot run commands\n%-*s   %-14s   %s\n", left,
		   n, width, "HOST", "STAGE", "WHY");
	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf row = { .max = 4096 };

		if (hosts[i].stage == PEER_READY)
			continue;
		add_row(&row, &hosts[i], width);
		if (b->len + row.len + TAIL > max) {
			buf_printf(b, "... and %zu more\n", left);
			return;
		}
		buf_add(b, row.data, row.len);
		left--;
	}
}

/* The first host that it has something to say about says it for all. */
static const char *find_hint(const struct peer_settings *s, const struct wait_host *hosts,
			     size_t n)
{
	const char *hint = NULL;

	for (size_t i = 0; i < n && !hint; i++)
		hint = peer_settings_hint(s, hosts[i].stage, &hosts[i].why);
	return hint;
}

static int report(const struct peer_settings *s, const struct wait_host *hosts, size_t n,
		  int64_t ms)
{
	cleanup_buf struct buf all = { .max = TABLE_MAX }, last = { .max = TABLE_MAX };
	const char *hint = find_hint(s, hosts, n);

	if (!count_missing(hosts, n)) {
		fprintf(stderr, "all %zu hosts can run commands, after %.1f s\n", n,
			(double)ms / 1000);
		return EXIT_OK;
	}
	add_table(&all, hosts, n, TABLE_MAX);
	add_table(&last, hosts, n, LAST_WORDS_MAX - (hint ? strlen(hint) + 1 : 0));
	if (hint)
		buf_printf(&last, "%s\n", hint);
	cmd_complain("mpi-launch", "%s",
		     stop_requested() ? "stopped before every host could run commands"
				      : "the time is over");
	fprintf(stderr, "%s%s%s", (const char *)all.data, hint ? hint : "",
		hint ? "\n" : "");
	last_words((const char *)last.data);
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

static int wait_and_report(struct arena *arena, const struct hostfile *file,
			   const struct peer_settings *s, struct error *err)
{
	struct wait_host *hosts = arena_alloc(arena, file->n * sizeof(*hosts));
	int64_t start = clock_ms();

	for (size_t i = 0; i < file->n; i++)
		hosts[i] = (struct wait_host){ .name = file->hosts[i].name,
					       .user = file->hosts[i].user };
	if (stop_setup(err) || wait_for_hosts(hosts, file->n, &s->conf, err))
		return -1;
	return report(s, hosts, file->n, clock_ms() - start);
}

int mpi_wait(const struct ssh_args *args, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct peer_settings s = { 0 };
	struct hostfile file;
	int rc = read_file(&file, &arena, args->wait_file, err);

	if (!rc)
		rc = peer_settings_read(&s, args, variable, NULL, err);
	if (!rc)
		rc = wait_and_report(&arena, &file, &s, err);
	peer_settings_release(&s);
	return rc;
}
