/* rerun_job.c - a whole rerun (client/rerun_job.h). */
#include "client/rerun_job.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "client/dev_record.h"
#include "client/jobs.h"
#include "client/remote.h"
#include "kubelet/enter.h"
#include "trainer/carry.h"
#include "trainer/supervise_spec.h"
#include "trainer/workspace_spec.h"

enum { BY_SIGNAL = 128, HTTP_NOT_FOUND = 404 };

struct session {
	const struct rerun_job *job;
	struct rerun *r;
	int output; /* of a session on this machine */
	struct error err;
};

/* ---- the session ---- */

static void on_note(void *ctx, const char *text)
{
	const struct session *s = ctx;

	if (s->job->on_note)
		s->job->on_note(s->job->want.ctx, text);
}

static int take_remote(void *ctx, int fd, const char *data, size_t len, struct error *err)
{
	struct session *s = ctx;

	return rerun_read(s->r, fd, data, len, err);
}

static int run_remote(struct kube *k, const struct remote_target *target,
		      struct session *s, struct error *err)
{
	static const char *const argv[] = { CARRY_PATH "/" CARRY_PROGRAM,
					    "runtime",
					    "rerun",
					    "--dev",
					    WORKSPACE_PATH,
					    NULL };
	struct remote_io io = { .input = true,
				.in = rerun_input(s->r),
				.on_output = take_remote,
				.on_note = on_note,
				.own_signals = true,
				.ctx = s };
	int code;

	return remote_run(k, target, argv, &io, &code, err);
}

static void *read_local(void *ctx)
{
	struct session *s = ctx;
	char data[16384];
	ssize_t n;

	while ((n = read(s->output, data, sizeof(data))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && rerun_read(s->r, STDOUT_FILENO, data, (size_t)n, &s->err))
			break;
	close(s->output); /* the session gets SIGPIPE */
	return NULL;
}

static int run_local(const struct remote_target *target, struct session *s,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *self = path_of_program(err);
	const char *argv[] = { self, "runtime", "rerun", "--dev", WORKSPACE_PATH, NULL };
	struct enter_opts want = {
		.file = arena_printf(&arena, "%s/%s" ENTER_SUFFIX, target->logs,
				     target->container),
		.argv = argv,
		.input = true,
		.in = rerun_input(s->r),
		.quiet = s->job->want.start_only,
	};
	pthread_t reader;
	int ends[2], code, rc;

	if (!self)
		return -1;
	if (pipe2(ends, O_CLOEXEC))
		return error_errno(err, errno, "pipe");
	s->output = ends[0];
	want.output = ends[1];
	if (thread_start_quiet(&reader, read_local, s, err)) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	rc = enter_run(&want, &code, err);
	close(ends[1]);
	pthread_join(reader, NULL);
	if (!rc && s->err.kind) {
		*err = s->err;
		return -1;
	}
	if (!rc && code > BY_SIGNAL)
		return error_set(err, ERR_STOPPED, "stopped");
	return rc ? error_wrap(err, "pod %s", target->pod) : 0;
}

/* The API of `controller --local` has no pods/exec: its pods are this machine's. */
static int run_session(struct kube *k, const struct remote_target *target,
		       struct session *s, struct error *err)
{
	if (kube_is_inside(k))
		return run_local(target, s, err);
	if (!run_remote(k, target, s, err))
		return 0;
	if (err->code != HTTP_NOT_FOUND || !target->logs)
		return -1;
	*err = (struct error){ 0 };
	return run_local(target, s, err);
}

/* ---- the job ---- */

static int not_here(const char *path, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND,
			 "%s: the job's directory is not here; specify --workspace DIR",
			 path);
}

static int check_dev(const cJSON *tj, struct error *err)
{
	return meta_annotation(tj, DEV_ANNOTATION)
		       ? 0
		       : error_set(err, ERR_CONFLICT,
				   "TrainJob %s was not submitted with --dev",
				   meta_name(tj));
}

/* DEV_FROM_ANNOTATION: the path, then those of --include, a line each. */
int rerun_job_from(struct rerun_want *ret, const struct kube *k, const cJSON *job,
		   struct arena *arena, struct error *err)
{
	const char *from = meta_annotation(job, DEV_FROM_ANNOTATION);
	char **lines;
	size_t n;

	if (check_dev(job, err))
		return -1;
	if (!from || *from != '/')
		return error_set(err, ERR_USAGE, "specify --workspace DIR");
	lines = str_split(arena, from, '\n', &n);
	if (!kube_is_inside(k) && !dev_record_agrees(job))
		return error_set(err, ERR_NOT_FOUND,
				 "%s: you have not submitted this directory as TrainJob "
				 "%s on this machine; specify --workspace DIR",
				 lines[0], meta_name(job));
	ret->path = lines[0];
	ret->includes =
		(struct exclude_includes){ (const char *const *)lines + 1, n - 1 };
	return access(ret->path, R_OK) ? not_here(ret->path, err) : 0;
}

static int read_job(struct rerun_want *want, struct kube *k, const struct rerun_job *job,
		    struct arena *arena, struct error *err)
{
	cleanup_json cJSON *tj = NULL;

	if (job_get(k, job->ns, job->name, &tj, err))
		return -1;
	return want->path ? check_dev(tj, err) : rerun_job_from(want, k, tj, arena, err);
}

int rerun_job(struct kube *k, const struct rerun_job *job, struct rerun_end *ret,
	      struct error *err)
{
	const struct remote_want which = { .ns = job->ns, .job = job->name };
	cleanup_arena struct arena arena = { 0 };
	struct session s = { .job = job };
	struct rerun_want want = job->want;
	struct remote_target target;

	if (read_job(&want, k, job, &arena, err) ||
	    remote_find(&target, &arena, k, &which, err) || rerun_begin(&s.r, &want, err))
		return -1;
	(void)!run_session(k, &target, &s, err);
	return rerun_finish(s.r, ret, err);
}
