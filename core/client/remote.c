/* remote.c - find a pod of a job and run a command in it (client/remote.h). */
#include "client/remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/jobs.h"
#include "client/logs_pod.h"
#include "kube/named.h"
#include "kube/permission.h"
#include "kube/podexec.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podcause.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

enum { WAIT_MS = 1000 };

/* ---- which pod -------------------------------------------------------------------- */

struct search {
	const struct remote_want *want;
	const char *named; /* the job in a command */
	const cJSON *job, *jobset;
	cJSON *best; /* owned */
	struct log_origin origin;
	struct arena arena; /* of `origin` */
};

static bool is_wanted(const struct search *s, const struct log_origin *o)
{
	if (s->want->rank >= 0)
		return o->ranked && o->rank == s->want->rank;
	return o->ranked && o->rank <= 0;
}

static bool is_newer(const cJSON *a, const cJSON *b)
{
	const char *created_a = meta_created(a), *created_b = meta_created(b);

	return !created_b || (created_a && strcmp(created_a, created_b) >= 0);
}

static int on_pod(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *pod = take_obj;
	struct search *s = ctx;
	struct log_origin origin;

	if (!meta_name(pod) || foreign_is_former(pod, s->job) ||
	    !pod_is_of_jobset(pod, s->want->job))
		return 0;
	origin = log_origin_of(&s->arena, s->jobset, pod, "");
	if (!is_wanted(s, &origin) || (s->best && !is_newer(pod, s->best)))
		return 0;
	cJSON_Delete(s->best);
	s->best = STEAL(pod);
	return 0;
}

static int list_pods(struct kube *k, struct search *s, struct error *err)
{
	const struct remote_want *want = s->want;
	const struct kube_ref ref = { "v1", "Pod", want->ns, NULL };
	const struct kube_select select = { .label_selector = arena_printf(
						    &s->arena, POD_JOBSET_LABEL "=%s",
						    want->job) };
	const struct kube_sink sink = { .on_item = on_pod, .ctx = s };

	if (kube_list(k, &ref, &select, &sink, NULL, err))
		return permission_explain(err);
	return 0;
}

static int no_pod(const struct search *s, struct error *err)
{
	const char *job = s->want->job;
	const cJSON *status = tj_status(s->job);

	if (status_finished(status))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s is %s: no pod of it runs any more", job,
				 status_state(status));
	if (tj_suspend(s->job))
		return error_set(
			err, ERR_CONFLICT,
			"TrainJob %s is suspended: run 'kftrainer resume %s' first", job,
			s->named);
	if (s->want->rank > 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"TrainJob %s has no pod of rank %lld; 'kftrainer get %s -o "
			"wide' shows its nodes",
			job, (long long)s->want->rank, s->named);
	return error_set(err, ERR_CONFLICT,
			 "TrainJob %s is %s and has no pod yet; run 'kftrainer why %s'",
			 job, status_state(status), s->named);
}

static const char *names_of(struct arena *arena, const cJSON *containers)
{
	const char *ret = NULL;
	const cJSON *c;

	json_each(c, containers)
		ret = ret ? arena_printf(arena, "%s, %s", ret, json_str(c, "name"))
			  : json_str(c, "name");
	return ret ? ret : "none";
}

/* The container's name, as a string of the pod. */
static int find_container(struct search *s, const char **ret, struct error *err)
{
	const cJSON *list = log_containers(s->best, false);
	const char *name = s->want->container;
	const cJSON *c;

	if (!name) {
		c = json_find_const(list, "name", NODE);
		*ret = json_str(c ? c : list ? list->child : NULL, "name");
		return *ret ? 0
			    : error_set(err, ERR_FORMAT, "pod %s has no container",
					meta_name(s->best));
	}
	c = json_find_const(list, "name", name);
	c = c ? c : json_find_const(log_containers(s->best, true), "name", name);
	if (!c)
		return error_set(err, ERR_NOT_FOUND,
				 "pod %s has no container %s; its containers: %s",
				 meta_name(s->best), name, names_of(&s->arena, list));
	*ret = json_str(c, "name");
	return 0;
}

static int check_running(const struct search *s, const char *container, struct error *err)
{
	const struct log_run run = log_run_of(s->best, container);
	const char *reason = run.waiting_reason;

	if (run.started && !run.ended && !log_pod_ended(s->best))
		return 0;
	if (status_finished(tj_status(s->job)))
		return no_pod(s, err);
	if (run.ended || log_pod_ended(s->best))
		return error_set(
			err, ERR_CONFLICT,
			"container %s of pod %s has ended; run 'kftrainer why %s'",
			container, meta_name(s->best), s->named);
	return error_set(
		err, ERR_CONFLICT,
		"container %s of pod %s does not run yet%s%s; run 'kftrainer why "
		"%s'",
		container, meta_name(s->best), reason ? ": " : "", reason ? reason : "",
		s->named);
}

static int search(struct search *s, struct kube *k, struct remote_target *ret,
		  struct arena *arena, struct error *err)
{
	const char *container, *logs;

	if (list_pods(k, s, err))
		return -1;
	if (!s->best)
		return no_pod(s, err);
	if (find_container(s, &container, err) || check_running(s, container, err))
		return -1;
	ret->ns = arena_strdup(arena, s->want->ns);
	ret->pod = arena_strdup(arena, meta_name(s->best));
	ret->container = arena_strdup(arena, container);
	logs = meta_annotation(s->best, NODE_LOGS_ANNOTATION);
	ret->logs = logs ? arena_strdup(arena, logs) : NULL;
	return 0;
}

int remote_find(struct remote_target *ret, struct arena *arena, struct kube *k,
		const struct remote_want *want, struct error *err)
{
	const struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, want->ns,
				      want->job };
	cleanup_json cJSON *job = NULL, *jobset = NULL;
	struct search s = { .want = want };
	int rc;

	if (job_get(k, want->ns, want->job, &job, err))
		return -1;
	/* Without the right to read it, the pods' labels say enough. */
	if (kube_get(k, &ref, &jobset, IGNORED))
		jobset = NULL;
	s.named = kube_job_named(k, &s.arena, want->ns, want->job);
	s.job = job;
	s.jobset = jobset;
	rc = search(&s, k, ret, arena, err);
	cJSON_Delete(s.best);
	arena_clear(&s.arena);
	return rc;
}

/* ---- the command ------------------------------------------------------------------ */

struct session {
	struct kube *kube;
	const struct remote_target *target;
	const char *const *argv;
	struct podexec *x;
	struct remote_io *io;
	int signals;      /* -1: they stop this process */
	bool resize, eof; /* to be sent */
	char piece[PODEXEC_PIECE];
};

enum { WS, IN, RESIZED, STOP, SIGNALS, N_FDS };

/* One message, if one can be sent. */
static int send_next(struct session *s, struct error *err)
{
	int columns, rows;

	if (podexec_is_sending(s->x))
		return 0;
	if (s->resize) {
		s->resize = false;
		if (s->io->size(s->io->ctx, &columns, &rows))
			return podexec_resize(s->x, columns, rows, err);
	}
	if (!s->eof)
		return 0;
	s->eof = false;
	s->io->in = -1;
	if (!podexec_end_input(s->x, err))
		return 0;
	if (err->kind != ERR_UNSUPPORTED)
		return -1;
	s->io->on_note(s->io->ctx, err->msg);
	*err = (struct error){ 0 };
	return 0;
}

static int read_input(struct session *s, struct error *err)
{
	ssize_t n = read(s->io->in, s->piece, sizeof(s->piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0)
		return podexec_write(s->x, s->piece, (size_t)n, err);
	s->eof = true;
	return 0;
}

/* ---- signals ---------------------------------------------------------------------- */

static const struct {
	int number;
	const char *name;
} passed_on[] = { { SIGINT, "INT" }, { SIGTERM, "TERM" }, { SIGHUP, "HUP" } };

static sigset_t signal_set(void)
{
	sigset_t ret;

	sigemptyset(&ret);
	for (size_t i = 0; i < N_ELEMENTS(passed_on); i++)
		sigaddset(&ret, passed_on[i].number);
	return ret;
}

/*
 * The protocol has no signals. What pods/exec starts has a parent outside of the
 * container, 0, and leads a session: signal the newest such process that has this command
 * line, or ends with it, as a script's does. Shells drop the NULs between arguments.
 */
static const char signal_script[] =
	"sig=$1; shift; want=$(printf %s \"$@\"); best=0\n"
	"for d in /proc/[0-9]*; do\n"
	"p=${d#/proc/}; [ $p -gt 1 ] && [ $p != $$ ] || continue\n"
	"while read -r k v; do [ \"$k\" != PPid: ] || break; done <$d/status\n"
	"[ \"$v\" = 0 ] && [ $p -gt $best ] || continue\n"
	"case $(cat $d/cmdline) in *\"$want\") best=$p;; esac\n"
	"done 2>/dev/null\n"
	"[ $best -gt 0 ] && kill -s $sig -- -$best\n";

static int drop_output(void *ctx, int fd, const char *data, size_t len, struct error *err)
{
	return 0;
}

static int run_in_pod(struct session *s, const char *const *argv, int *ret_code,
		      struct error *err)
{
	const struct podexec_want want = { .ns = s->target->ns,
					   .pod = s->target->pod,
					   .container = s->target->container,
					   .argv = argv };
	cleanup_podexec struct podexec *x = NULL;

	if (podexec_open(&x, s->kube, &want, err))
		return -1;
	while (!podexec_step(x, drop_output, NULL, err)) {
		struct pollfd fds[] = { { podexec_fd(x), POLLIN, 0 },
					{ stop_fd(), POLLIN, 0 } };

		if (podexec_has_ended(x))
			return podexec_result(x, ret_code, err);
		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		poll(fds, N_ELEMENTS(fds), WAIT_MS);
	}
	return -1;
}

static int pass_on(struct session *s, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *const head[] = { "sh", "-c", signal_script, "sh", name };
	const char **argv;
	size_t n = 0;
	int code = 0;

	while (s->argv[n])
		n++;
	argv = arena_alloc(&arena, (N_ELEMENTS(head) + n + 1) * sizeof(*argv));
	memcpy(argv, head, sizeof(head));
	memcpy(argv + N_ELEMENTS(head), s->argv, (n + 1) * sizeof(*argv));
	if (run_in_pod(s, argv, &code, err))
		return error_wrap(err, "cannot pass SIG%s on to the command", name);
	return code ? error_set(
			      err, ERR_IO,
			      "cannot pass SIG%s on to the command: it was not found in "
			      "the container",
			      name)
		    : 0;
}

/* From now on, these signals stop this process. */
static int take_signal(struct session *s, struct error *err)
{
	const sigset_t set = signal_set();
	struct signalfd_siginfo info;
	int signals = s->signals;
	ssize_t n = read(signals, &info, sizeof(info));

	s->signals = -1;
	close(signals);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (size_t i = 0; n == sizeof(info) && i < N_ELEMENTS(passed_on); i++)
		if ((int)info.ssi_signo == passed_on[i].number)
			return pass_on(s, passed_on[i].name, err);
	return 0;
}

static int wait_for_events(struct session *s, struct error *err)
{
	bool sending = podexec_is_sending(s->x);
	struct pollfd fds[N_FDS] = {
		[WS] = { podexec_fd(s->x), POLLIN | (sending ? POLLOUT : 0), 0 },
		[IN] = { sending || s->eof ? -1 : s->io->in, POLLIN, 0 },
		[RESIZED] = { s->io->terminal ? s->io->resized : -1, POLLIN, 0 },
		[STOP] = { stop_fd(), POLLIN, 0 },
		[SIGNALS] = { s->signals, POLLIN, 0 },
	};

	if (poll(fds, N_FDS, WAIT_MS) < 0 && errno != EINTR)
		return error_errno(err, errno, "poll");
	if (stop_requested())
		return error_set(err, ERR_STOPPED, "stopped");
	if (fds[SIGNALS].revents && take_signal(s, err))
		return -1;
	s->resize |= fds[RESIZED].revents != 0;
	if (!fds[IN].revents)
		return 0;
	return read_input(s, err);
}

static int follow(struct session *s, struct error *err)
{
	while (!podexec_step(s->x, s->io->on_output, s->io->ctx, err)) {
		if (podexec_has_ended(s->x))
			return 0;
		if (send_next(s, err) || wait_for_events(s, err))
			return -1;
	}
	return -1;
}

static int talk(struct session *s, int *ret_code, struct error *err)
{
	const sigset_t set = signal_set();
	int rc;

	if (!s->io->terminal && !s->io->own_signals) {
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		s->signals = signalfd(-1, &set, SFD_CLOEXEC);
	}
	rc = follow(s, err);
	if (s->signals >= 0)
		close(s->signals);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (!rc)
		return podexec_result(s->x, ret_code, err);
	return err->kind == ERR_STOPPED ? -1 : error_wrap(err, "pod %s", s->target->pod);
}

int remote_run(struct kube *k, const struct remote_target *target,
	       const char *const *argv, struct remote_io *io, int *ret_code,
	       struct error *err)
{
	const struct podexec_want want = { .ns = target->ns,
					   .pod = target->pod,
					   .container = target->container,
					   .argv = argv,
					   .input = io->input,
					   .terminal = io->terminal };
	cleanup_podexec struct podexec *x = NULL;
	struct session s = { .kube = k,
			     .target = target,
			     .argv = argv,
			     .io = io,
			     .signals = -1,
			     .resize = io->terminal };

	if (podexec_open(&x, k, &want, err))
		return permission_explain(err);
	s.x = x;
	return talk(&s, ret_code, err);
}
