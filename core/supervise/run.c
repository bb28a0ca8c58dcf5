/* run.c - processes, signals and output of a supervised command (supervise/run.h). */
#include "supervise/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/children.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/resident.h"
#include "base/spawn.h"
#include "base/stop.h"
#include "supervise/dev.h"
#include "supervise/dump.h"
#include "supervise/permanent.h"
#include "supervise/relay.h"
#include "supervise/stopsig.h"
#include "trainer/progress.h"

extern char **environ;

/* As a shell has it. */
enum { BY_SIGNAL = 128, NOT_EXECUTABLE = 126, NOT_STARTED = 127 };

enum { ACTIVITY_MS = 1000, LOOK_MS = 10 * 1000, KEEP_MS = 60 * 1000, KEPT_MS = 200 };

/* An attempt in which the commands are not started, as their work is done. */
#define TRAINED      UINT32_MAX

#define FAULTHANDLER "PYTHONFAULTHANDLER"
#define UNBUFFERED   "PYTHONUNBUFFERED" /* output is a activity of life */

/* The reports of the command in this start; `at`: the time of the last one. */
struct reported {
	pthread_mutex_t lock;
	struct peer_activity activity;
	int64_t at;
};

struct supervisor {
	const struct supervise_conf *conf;
	struct supervise_state state;
	struct star *star;
	struct star_conf *ranks; /* the star's */
	struct reports *reports; /* NULL: it could not listen */
	struct dev *dev;         /* or NULL */
	struct dev_conf dev_conf;
	struct peer_state reported;
	struct tail tail;
	uint32_t token[MESSAGE_TOKEN];
	struct reported counts;
	int64_t oom_kills;   /* before this start */
	int64_t activity_at; /* the last activity that was sent to the hub */
	struct dump_writes writes;
	struct relay out[2]; /* standard output and error */
	int signals, done;
	int early;   /* a signal that came before the hub knew of this rank; 0: none */
	int left_by; /* the last signal that asked this process to stop; 0: none */
	int deferred; /* the exit code of a command whose processes have not all ended; 0: none */
	int left;      /* relays that are not done */
	pid_t command; /* 0: it has ended */
	bool started;  /* its relays, and they have not been joined */
	bool empty;    /* no process is left of a command that failed */
	bool over;     /* the command's end is final: only its output is passed on */
	bool kept;     /* and what the run directory has of it is complete */
	int64_t over_since;
	uint32_t attempt, sync; /* of the run directory; rank 0's sync */
	bool held;              /* the command has ended with held_status: not told yet */
	int held_status, rundir_fd;
};

static int watch_signals(struct supervisor *s, struct error *err)
{
	sigset_t all;

	if (stop_setup(err)) /* for stop_request() */
		return -1;
	sigfillset(&all);
	sigdelset(&all, SIGPIPE); /* ignored: those of our own writes are no order */
	sigprocmask(SIG_SETMASK, &all, NULL);
	s->early = stop_signal();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return error_errno(err, errno, "prctl");
	s->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	s->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return s->signals < 0 || s->done < 0 ? error_errno(err, errno, "signalfd") : 0;
}

/* A terminal stays ours: a group in the background that reads it would be stopped. */
static int input_of_command(void)
{
	return isatty(STDIN_FILENO) || fcntl(STDIN_FILENO, F_GETFD) < 0 ? -1
									: STDIN_FILENO;
}

static bool is_first(const struct supervisor *s)
{
	return s->ranks->rank == 0;
}

static void renew_token(struct supervisor *s, bool first)
{
	const struct supervise_tracker *t = s->conf->tracker;
	const struct supervise_rundir *k = s->conf->rundir;
	const struct supervise_finish *f = s->conf->finish;

	if (!is_first(s))
		return;
	if (f && f->is_trained(f->ctx))
		s->ranks->attempt = TRAINED;
	else if (k)
		s->ranks->attempt = k->attempt(k->ctx);
	if (!t)
		return;
	t->token(t->ctx, first, s->token);
	memcpy(s->ranks->token, s->token, sizeof(s->token));
}

/* Does it set the same variable? */
static bool is_same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return !strncmp(a, b, len) && b[len] == '=';
}

/* The command's; this process's own does not change, as its threads read it. */
static char **environment(struct supervisor *s, struct arena *arena)
{
	const struct supervise_tracker *t = s->conf->tracker;
	const char *own[] = {
		arena_printf(arena, "KFTRAINER_RESTART=%lld",
			     (long long)s->state.restart),
		getenv(FAULTHANDLER) ? NULL : FAULTHANDLER "=1",
		getenv(UNBUFFERED) ? NULL : UNBUFFERED "=1",
		t ? t->variable(t->ctx, arena, s->token) : NULL,
	};
	size_t n = 0;
	char **ret;

	while (environ[n])
		n++;
	ret = arena_alloc(arena, (n + N_ELEMENTS(own) + 1) * sizeof(*ret));
	n = 0;
	for (char **e = environ; *e; e++)
		if (!is_same_name(own[0], *e) && !(own[3] && is_same_name(own[3], *e)))
			ret[n++] = *e;
	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		if (own[i])
			ret[n++] = (char *)own[i];
	return ret;
}

static void decide(struct supervisor *s, enum supervise_event event, int status);
static void hold(struct supervisor *s, int status);

/* A job in development waits for another rerun. */
static int not_started(struct supervisor *s, int why, struct error *err)
{
	spawn_failed(err, s->conf->argv[0], why);
	if (!s->dev)
		return -1;
	s->conf->say(s->conf->ctx, err->msg);
	*err = (struct error){ 0 };
	decide(s, SUPERVISE_ENDED, why == ENOENT ? NOT_STARTED : NOT_EXECUTABLE);
	return 0;
}

/* With relays of its output. *ret: 0, or the number of the error of its start. */
static int launch(struct supervisor *s, struct spawn *command, int *ret,
		  struct error *err)
{
	s->tail.len = 0; /* no relay runs */
	for (int i = 0; i < 2; i++) {
		if (relay_start(&s->out[i], i + 1, s->done, &s->tail,
				&command->fds[i + 1], err))
			return -1;
		s->left++;
	}
	s->started = true;
	*ret = spawn_program(&s->command, command);
	close(command->fds[1]);
	close(command->fds[2]);
	return 0;
}

static int start(struct supervisor *s, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	char *const *argv = s->dev ? dev_command(s->dev) : s->conf->argv;
	const struct supervise_rundir *k = s->conf->rundir;
	struct spawn command = { .path = argv[0],
				 .argv = argv,
				 .envp = environment(s, &arena),
				 .fds = { input_of_command(), -1, -1 },
				 .signals = SPAWN_RESET,
				 .group = true };
	int rc;

	s->held = false;
	if (s->attempt == TRAINED) {
		hold(s, 0);
		return 0;
	}
	if (k) {
		command.argv =
			k->command(k->ctx, &arena, argv, s->attempt, s->state.restart);
		command.path = command.argv[0];
	}
	s->oom_kills = permanent_oom_kills_here();
	if (s->dev)
		dev_started(s->dev);
	pthread_mutex_lock(&s->counts.lock);
	s->counts.activity =
		(struct peer_activity){ .epoch = (uint32_t)s->state.restart };
	pthread_mutex_unlock(&s->counts.lock);
	if (launch(s, &command, &rc, err))
		return -1;
	resident_drop(); /* from now on it mostly waits */
	return rc ? not_started(s, rc, err) : 0;
}

static void finish_output(struct supervisor *s)
{
	if (!s->started)
		return;
	relay_finish(&s->out[0]);
	relay_finish(&s->out[1]);
}

static void join_output(struct supervisor *s)
{
	if (!s->started)
		return;
	s->started = false;
	relay_join(&s->out[0]);
	relay_join(&s->out[1]);
}

/* Files that the command left are still sent, also after a failure. */
static void end(struct supervisor *s)
{
	const struct supervise_rundir *k = s->conf->rundir;

	s->over = true;
	s->over_since = clock_ms();
	s->kept = !k || k->flushed(k->ctx);
	if (s->kept)
		return;
	k->end(k->ctx, s->state.status, s->state.stop_requested);
	k->flush(k->ctx, true);
}

static void apply(struct supervisor *s, enum supervise_action action)
{
	if (action == SUPERVISE_TERM || action == SUPERVISE_KILL)
		children_signal(action == SUPERVISE_TERM ? SIGTERM : SIGKILL, NULL, NULL);
	else if (action == SUPERVISE_END && !s->over)
		end(s);
	if (action == SUPERVISE_TERM)
		renew_token(s, false);
	if (s->over)
		finish_output(s);
}

static void decide(struct supervisor *s, enum supervise_event event, int status)
{
	if (!s->over)
		apply(s, supervise_decide(&s->state, event, status, clock_ms()));
}

/* Why the command failed. A process killed by a signal did not fail for what it printed. */
static enum peer_cause cause_of(struct supervisor *s, int code)
{
	enum peer_cause cause;

	relay_drain(&s->out[0]);
	relay_drain(&s->out[1]);
	pthread_mutex_lock(&s->tail.lock);
	cause = permanent_cause(s->tail.bytes, s->tail.len);
	pthread_mutex_unlock(&s->tail.lock);
	if (cause == CAUSE_PERMANENT && code >= BY_SIGNAL)
		cause = CAUSE_UNKNOWN;
	if (cause == CAUSE_UNKNOWN && permanent_oom_kills_here() > s->oom_kills)
		cause = CAUSE_MEMORY;
	return cause;
}

/* ---- between the command's end and the hub's knowledge of it ---- */

static bool is_followed(const struct supervisor *s)
{
	return s->conf->finish && is_first(s);
}

/*
 * The command has done its work. Its end is reported to the hub once the run directory has
 * that, and what follows is done.
 */
static void hold(struct supervisor *s, int status)
{
	const struct supervise_rundir *k = s->conf->rundir;

	if (!k && !is_followed(s)) {
		decide(s, SUPERVISE_ENDED, status);
		return;
	}
	s->held = true;
	s->held_status = status;
	if (k)
		k->flush(k->ctx, true);
}

static void end_command(struct supervisor *s, int status)
{
	const struct supervise_rundir *k = s->conf->rundir;

	if (k && status && s->state.stop_requested)
		k->end(k->ctx, status, !(is_first(s) && star_has_failed(s->star)));
	if (k)
		k->ended(k->ctx, status);
	if (s->state.clearing || (status && !s->state.stop_requested))
		decide(s, SUPERVISE_ENDED, status);
	else
		hold(s, status);
}

static void release(struct supervisor *s, int status)
{
	s->held = false;
	decide(s, SUPERVISE_ENDED, status);
}

/* The status of a signal that this pod did not get would say that the pod was lost. */
static void end_finish(struct supervisor *s, int status)
{
	if (status)
		status = s->state.stop_requested ? BY_SIGNAL + SIGTERM
			 : status < BY_SIGNAL    ? status
						 : 1;
	s->state.cause = status ? CAUSE_FINISH : CAUSE_UNKNOWN;
	release(s, status);
}

static int start_finish(struct supervisor *s, struct error *err)
{
	const struct supervise_finish *f = s->conf->finish;
	const struct supervise_rundir *k = s->conf->rundir;
	cleanup_arena struct arena arena = { 0 };
	struct spawn command = { .envp = environment(s, &arena),
				 .fds = { -1, -1, -1 },
				 .signals = SPAWN_RESET,
				 .group = true };
	int rc;

	finish_output(s);
	if (s->left)
		return 0;
	join_output(s);
	if (k)
		k->flush(k->ctx, false);
	command.argv = f->command(f->ctx, &arena);
	command.path = command.argv[0];
	if (launch(s, &command, &rc, err))
		return -1;
	if (rc)
		end_finish(s, NOT_STARTED);
	return 0;
}

/* Once all ranks have succeeded; a pod that is stopped before leaves it to the next one. */
static int finish(struct supervisor *s, struct error *err)
{
	if (s->state.stop_requested)
		release(s, BY_SIGNAL + SIGTERM);
	else if (s->state.free)
		release(s, 0); /* another rank has failed */
	else if (star_others_succeeded(s->star))
		return start_finish(s, err);
	return 0;
}

static void exchange_syncs(struct supervisor *s, const struct supervise_rundir *k)
{
	if (is_first(s))
		s->ranks->sync = k->sync(k->ctx, star_acked(s->star));
	if (s->over && is_first(s) && star_is_alone(s->star))
		k->alone(k->ctx);
	if (s->over && !s->kept)
		s->kept = k->flushed(k->ctx) || clock_ms() >= s->over_since + KEEP_MS;
}

static int keep(struct supervisor *s, struct error *err)
{
	const struct supervise_rundir *k = s->conf->rundir;

	if (k)
		exchange_syncs(s, k);
	if (!s->held || s->command)
		return 0;
	if (s->state.clearing) {
		s->held = false;
		if (k)
			k->flush(k->ctx, false);
		return 0;
	}
	if (k && !k->flushed(k->ctx))
		return 0;
	if (is_followed(s) && !s->held_status)
		return finish(s, err);
	release(s, s->held_status);
	return 0;
}

/* false: this process has no children. */
static bool reap(struct supervisor *s)
{
	int status, code;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != s->command)
			continue;
		s->command = 0;
		code = stopsig_exit_code(status, s->left_by);
		if (s->held) {
			end_finish(s, code);
			continue;
		}
		s->state.cause = status ? cause_of(s, code) : CAUSE_UNKNOWN;
		s->deferred = s->state.clearing ? 0 : stopsig_forward(status, s->left_by);
		if (!s->deferred)
			end_command(s, code);
	}
	code = pid < 0 ? s->deferred : 0;
	if (code) {
		s->deferred = 0;
		end_command(s, code);
	}
	return pid == 0;
}

static void request_stop(struct supervisor *s, int signal)
{
	const struct supervise_rundir *k = s->conf->rundir;

	if (k)
		k->stop_requested(k->ctx, s->left_by && signal == SIGINT);
	s->left_by = signal;
	decide(s, SUPERVISE_STOP_REQUESTED, BY_SIGNAL + signal);
}

/* true: the output need not be waited for. */
static bool take_signals(struct supervisor *s)
{
	int n;

	while ((n = stopsig_next(s->signals))) {
		if (n == SIGCHLD)
			continue;
		if (s->command)
			kill(s->command, n);
		else if (s->deferred)
			children_signal(n, NULL, NULL);
		if (!stopsig_is_stop(n))
			continue;
		if (s->over && s->kept)
			return true;
		request_stop(s, n);
	}
	return false;
}

/* The earliest of what is due; INT64_MAX: nothing. */
static int64_t next_due(const struct supervisor *s)
{
	int64_t until = star_until(s->star);

	if (s->dev && dev_until(s->dev) < until)
		until = dev_until(s->dev);
	if (s->command && s->activity_at + ACTIVITY_MS < until)
		until = s->activity_at + ACTIVITY_MS;
	if (!s->over && !s->empty && s->state.kill_at >= 0 && s->state.kill_at < until)
		until = s->state.kill_at;
	if ((s->held || (s->over && !s->kept)) && clock_ms() + KEPT_MS < until)
		until = clock_ms() + KEPT_MS;
	return until;
}

static void wait_for_event(struct supervisor *s)
{
	struct pollfd p[5] = { { .fd = s->signals, .events = POLLIN },
			       { .fd = s->done, .events = POLLIN },
			       { .fd = star_fd(s->star), .events = POLLIN },
			       { .fd = s->dev ? dev_fd(s->dev) : -1, .events = POLLIN },
			       { .fd = s->rundir_fd, .events = POLLIN } };
	int64_t left = next_due(s) - clock_ms();
	uint64_t n;

	poll(p, 5, left < 0 ? 0 : left > 60000 ? 60000 : (int)left);
	while (s->left && read(s->done, &n, sizeof(n)) == sizeof(n))
		s->left--;
	if (s->conf->rundir && read(s->rundir_fd, &n, sizeof(n)) < 0)
		return; /* nothing is new there */
}

static void put_message(struct supervisor *s)
{
	cleanup_fd int fd =
		s->conf->message_file
			? open(s->conf->message_file, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
			: -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size)
		return;
	pthread_mutex_lock(&s->tail.lock);
	tail_clean(&s->tail); /* a field of the pod's status */
	if (write(fd, s->tail.bytes, s->tail.len) < 0)
		s->tail.len = 0; /* a full disk: the log has it */
	pthread_mutex_unlock(&s->tail.lock);
}

static void send_stack(void *ctx, uint32_t who, const struct buf *text)
{
	const struct supervisor *s = ctx;

	star_stack(s->star, who, text);
}

static void dump(struct supervisor *s)
{
	const struct dump d = { .out = s->out,
				.say = s->conf->say,
				.say_ctx = s->conf->ctx,
				.stack = send_stack,
				.stack_ctx = s };

	if (s->command)
		dump_processes(&d);
	star_dumped(s->star);
}

/* Do it; start the command if it is to start, for the first time or again. */
static int start_if(struct supervisor *s, enum supervise_action action, struct error *err)
{
	if (action == SUPERVISE_DUMP)
		dump(s);
	if (action == SUPERVISE_START) {
		join_output(s);
		return start(s, err);
	}
	apply(s, action);
	return 0;
}

/* All processes of a failed command have ended: first its output, then the next start. */
static int restart(struct supervisor *s, struct error *err)
{
	if (!s->empty)
		finish_output(s);
	s->empty = true;
	if (s->left)
		return 0;
	s->empty = false;
	return start_if(s, supervise_decide(&s->state, SUPERVISE_EMPTY, 0, clock_ms()),
			err);
}

/* Hear what the other ranks do. */
static int receive_orders(struct supervisor *s, struct error *err)
{
	struct hub_order order;

	if (star_step(s->star, err))
		return -1;
	if (!star_order(s->star, &order))
		return 0;
	s->sync = order.sync;
	if (s->over)
		return 0;
	if (!is_first(s))
		memcpy(s->token, order.token, sizeof(s->token));
	s->attempt = order.attempt;
	return start_if(
		s, supervise_apply_order(&s->state, &s->conf->rules, &order, clock_ms()),
		err);
}

/* Report to the hub what this rank does, if that has changed. */
static void report_state(struct supervisor *s)
{
	const struct supervise_rundir *k = s->conf->rundir;
	struct peer_state now = supervise_peer_state(&s->state);

	if (k && !is_first(s))
		now.acked = k->sync(k->ctx, s->sync);
	if (message_same_state(&now, &s->reported))
		return;
	s->reported = now;
	star_report(s->star, &now);
}

/* Looked for while the command is silent; more often where that is soon a stall. */
static bool is_writing(struct supervisor *s, int64_t now)
{
	int64_t soon = s->conf->rules.stall_after_ms / 4;

	return dump_is_writing(&s->writes, soon > 0 && soon < LOOK_MS ? soon : LOOK_MS,
			       now);
}

/* At most each second: there was output, or progress, or much is written, or is kept. */
static void report_activity(struct supervisor *s)
{
	int64_t now = clock_ms(), then = s->activity_at;
	struct peer_activity activity;
	bool heard;

	if ((!s->command && !s->held) || now < then + ACTIVITY_MS)
		return;
	pthread_mutex_lock(&s->counts.lock);
	activity = s->counts.activity;
	heard = s->counts.at >= then;
	pthread_mutex_unlock(&s->counts.lock);
	s->activity_at = now;
	if (s->held || heard || s->tail.added >= then || is_writing(s, now))
		star_activity(s->star, &activity);
}

static bool is_over(const struct supervisor *s)
{
	return s->over && s->kept && !s->left && (s->left_by || star_is_over(s->star));
}

static int follow(struct supervisor *s, struct error *err)
{
	if (s->early)
		request_stop(s, s->early);
	while (!is_over(s)) {
		wait_for_event(s);
		if (take_signals(s))
			return 0;
		if (receive_orders(s, err))
			return -1;
		if (reap(s) || !s->state.clearing)
			decide(s, SUPERVISE_TIME, 0);
		else if (restart(s, err))
			return -1;
		if (s->dev)
			dev_step(s->dev, s->state.idle);
		if (keep(s, err))
			return -1;
		report_state(s);
		report_activity(s);
	}
	join_output(s);
	if (s->conf->rundir && star_step(s->star, err)) /* the last sync leaves */
		return -1;
	if (s->state.free)
		star_leave(s->star);
	return 0;
}

static void report_supervision(void *ctx, const struct supervision *counts)
{
	cleanup_buf struct buf body = { .max = 4096 };
	const struct supervisor *s = ctx;
	const struct supervise_rundir *k = s->conf->rundir;

	supervision_body(&body, counts);
	if (k)
		k->report(k->ctx, body.data, body.len);
	if (s->reports)
		reports_send(s->reports, (const char *)body.data, body.len);
}

static int begin(struct supervisor *s, struct error *err)
{
	static struct star_conf alone = { .ranks = 1 };
	struct star_conf *conf = s->conf->star ? s->conf->star : &alone;

	conf->rules = &s->conf->rules;
	conf->say = s->conf->say;
	conf->ctx = s->conf->ctx;
	s->ranks = conf;
	s->state.alone = conf->ranks == 1;
	s->rundir_fd = -1;
	if (s->conf->rundir && stopsig_open_rundir(s->conf->rundir, s->signals, &s->early,
						   &s->rundir_fd, err))
		return -1;
	if (s->conf->rundir && s->rundir_fd < 0)
		return 0;
	renew_token(s, true);
	conf->stays = s->conf->rundir != NULL;
	conf->report = s->reports || s->conf->rundir ? report_supervision : NULL;
	conf->report_ctx = s;
	if (star_open(&s->star, conf, err))
		return -1;
	star_report(s->star, &s->reported);
	if (!s->conf->dev)
		return 0;
	s->dev_conf = (struct dev_conf){ .dir = s->conf->dev,
					 .rank = conf->rank,
					 .ranks = conf->ranks,
					 .argv = s->conf->argv };
	if (dev_open(&s->dev, &s->dev_conf, s->star, err))
		return -1;
	s->tail.follower = dev_follower(s->dev);
	return 0;
}

/* A report of the command, in the listener's thread. */
static void count_report(void *ctx, const char *json, size_t len, int64_t unix_ms)
{
	struct reported *h = ctx;
	cleanup_json cJSON *progress = json_reread(json);
	int64_t percent = json_int(progress, 0, "progressPercentage");
	uint32_t step = (uint32_t)progress_step(progress);

	pthread_mutex_lock(&h->lock);
	h->activity.reports++;
	h->activity.percent =
		percent > h->activity.percent ? (uint32_t)percent : h->activity.percent;
	h->activity.step = step > h->activity.step ? step : h->activity.step;
	h->at = clock_ms();
	pthread_mutex_unlock(&h->lock);
}

enum { MOST_SINKS = 8 };

/* Without it the command reports to the job's status server itself, as ever. */
static void listen_for_reports(struct supervisor *s)
{
	struct report_sink sinks[MOST_SINKS] = { { count_report, &s->counts } };
	size_t n = 1;
	struct error err = { 0 };

	for (size_t i = 0; i < s->conf->n_sinks && n < MOST_SINKS; i++)
		sinks[n++] = s->conf->sinks[i];
	if (reports_start(&s->reports, sinks, n, &err))
		s->conf->say(s->conf->ctx, err.msg);
}

static void report_end(struct supervisor *s, int status)
{
	const struct supervise_tracker *t = s->conf->tracker;
	const struct supervise_rundir *k = s->conf->rundir;
	bool failed = s->star && is_first(s) && star_has_failed(s->star);

	reports_stop(s->reports);
	if (k)
		k->close(k->ctx, status ? status : failed,
			 s->state.stop_requested && !failed);
	if (t && s->star && is_first(s)) /* the tracker may wait longer than the others */
		t->end(t->ctx, status ? status : failed,
		       s->state.stop_requested && !failed);
}

int supervise_run(const struct supervise_conf *conf, int *ret_status, struct error *err)
{
	static struct supervisor s; /* a relay may outlive this call */

	s = (struct supervisor){ .conf = conf, .state = { .kill_at = -1, .idle = true } };
	pthread_mutex_init(&s.tail.lock, NULL);
	pthread_mutex_init(&s.counts.lock, NULL);
	s.tail.tap = conf->rundir ? conf->rundir->output : NULL;
	s.tail.tap_ctx = conf->rundir ? conf->rundir->ctx : NULL;
	if (watch_signals(&s, err))
		return -1;
	listen_for_reports(&s);
	if (begin(&s, err) || (s.star && follow(&s, err))) {
		report_end(&s, NOT_STARTED);
		*ret_status = BY_SIGNAL + s.early;
		if (!s.early || err->kind != ERR_STOPPED)
			return -1;
		conf->say(conf->ctx, err->msg);
		return 0;
	}
	if (s.dev) /* the last run decides nothing: a lost pod has not succeeded */
		s.state.status = s.state.stop_requested ? BY_SIGNAL + SIGTERM : 0;
	if (s.state.status)
		put_message(&s);
	report_end(&s, s.state.status);
	*ret_status = s.state.status;
	return 0;
}
