/* page.c - the command `ui`: a page about the jobs, for a browser on this machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/env.h"
#include "cmd/ui/from.h"
#include "local/state_metrics.h"
#include "ui/ui.h"

struct page_opts {
	struct where_opts where;
	const char *from;
	bool all, open;
	int64_t port, idle_ms;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct page_opts),
	FROM_OPTION(struct page_opts),
	OPT_BOOL('A', "all-namespaces", "jobs in all namespaces", struct page_opts, all),
	OPT_BOOL(0, "open", "open the page in your browser, by xdg-open",
		 struct page_opts, open),
	OPT_INT(0, "port", "PORT", "port on 127.0.0.1 (default: one that is free)",
		struct page_opts, port, 1, 65535),
	OPT_DURATION(0, "idle", "TIME",
		     "end after that time without an open page (default: never)",
		     struct page_opts, idle_ms, 1000, 604800000),
	{ .type = OPT_END },
};

/* A file that leads to the URL: in an argument, other users of this machine would see it. */
struct opening {
	bool wanted;
	char path[512]; /* "": there is none */
};

struct page {
	struct opening opening;
	struct history *history;
};

static int write_file(struct opening *o, const char *url, struct error *err)
{
	const char *dir = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	cleanup_buf struct buf text = { .max = 1024 };
	int fd, rc;

	buf_printf(&text,
		   "<!doctype html><title>kftrainer</title>"
		   "<meta http-equiv=\"refresh\" content=\"0; url=%s\">"
		   "<a href=\"%s\">kftrainer</a>\n",
		   url, url);
	if (!dir || *dir != '/')
		dir = tmp && *tmp == '/' ? tmp : "/tmp";
	if (snprintf(o->path, sizeof(o->path), "%s/kftrainer-ui-XXXXXX.html", dir) >=
	    (int)sizeof(o->path)) {
		*o->path = 0;
		return error_set(err, ERR_LIMIT, "%s: the path is too long", dir);
	}
	fd = mkostemps(o->path, 5, O_CLOEXEC); /* mode 600 */
	if (fd < 0) {
		rc = error_errno(err, errno, "%s", o->path);
		*o->path = 0;
		return rc;
	}
	rc = file_write_fd(fd, text.data, text.len, o->path, err);
	close(fd);
	return rc;
}

/* The browser may stay in the foreground: a shell starts it, and leaves. */
static int start_browser(const char *path, struct error *err)
{
	static const char script[] = "command -v xdg-open >/dev/null || exit 127; "
				     "xdg-open \"file://$0\" &";
	const char *const argv[] = { "sh", "-c", script, path, NULL };
	const struct spawn s = { .path = "/bin/sh",
				 .argv = (char *const *)argv,
				 .envp = environ,
				 .fds = { -1, -1, -1 },
				 .group = true };
	int status = 0, rc;
	pid_t pid;

	rc = spawn_program(&pid, &s);
	if (rc)
		return error_errno(err, rc, "/bin/sh");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		return error_set(err, ERR_NOT_FOUND, "xdg-open is not installed");
	return 0;
}

static void on_ready(void *ctx, const char *url)
{
	struct opening *o = &((struct page *)ctx)->opening;
	struct error err = { 0 };

	if ((printf("%s\n", url) < 0 || fflush(stdout)) && !o->wanted)
		stop_request(); /* nobody could open it */
	if (o->wanted && (write_file(o, url, &err) || start_browser(o->path, &err)))
		cmd_complain("ui", "cannot open a browser: %s", err.msg);
	fprintf(stderr, "open it in a browser on this machine; Ctrl-C ends\n");
}

static int fetch_logs(void *ctx, const char *name, struct error *err)
{
	return history_logs(((struct page *)ctx)->history, name, err);
}

/* As of --from: with the rights of this user, not with those of the job. */
static int read_history(void *ctx, const char *run_dir,
			void (*each)(void *arg, const cJSON *report), void *arg,
			struct error *err)
{
	const struct history_conf conf = { .uri = run_dir, .env = env_variable };

	return history_reports(&conf, each, arg, err);
}

static void on_fault(const char *uri, const char *why)
{
	cmd_complain("ui", "%s: %s", uri, why);
}

static int serve(struct page *page, const struct page_opts *opts, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct where_opts where = opts->where;
	const struct from from = { .uri = opts->from, .all = true, .on_fault = on_fault };
	struct ui_conf conf = { .port = (int)opts->port,
				.idle_ms = opts->idle_ms,
				.on_ready = on_ready,
				.ctx = page };
	char **names = NULL;
	int n = 0;

	if (from_open(&page->history, &from, &where, &n, &names, err) ||
	    where_connect(&k, &conf.ns, &arena, &where, err))
		return -1;
	conf.kube = k;
	if (opts->all || page->history)
		conf.ns = NULL;
	if (kube_is_inside(k))
		conf.reports = state_metrics_each;
	else
		conf.history = read_history;
	if (page->history) {
		conf.read_only = true;
		conf.logs = fetch_logs;
	}
	return ui_serve(&conf, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct page_opts *opts = values;
	struct page page = { .opening.wanted = opts->open };
	int rc;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	rc = serve(&page, opts, err);
	if (*page.opening.path)
		unlink(page.opening.path);
	history_close(page.history);
	return rc ? -1 : EXIT_OK;
}

const struct cmd cmd_ui = {
	.name = "ui",
	.args = "",
	.summary = "show the jobs on a page in a browser on this machine",
	.about =
		"Prints the URL of a page on 127.0.0.1, which one browser can open once. It lists\n"
		"the jobs that you may read; of each it has what 'why' says, a timeline, pods,\n"
		"events, the logs as they are written, plots of its metrics, and the YAML. Its\n"
		"forms rerun, suspend, resume and delete jobs, with your rights. Ctrl-C ends it.\n"
		"With --from: of a run directory, or of those below a URI (kftrainer runs).",
	.example = "kftrainer ui --open\n"
		   "kftrainer ui --local --port 8123 --idle 1h\n"
		   "# of run directories: --from s3://BUCKET/PREFIX",
	.opts = opts_table,
	.opts_size = sizeof(struct page_opts),
	.run = run,
};
