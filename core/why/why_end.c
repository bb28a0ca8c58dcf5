/* why_end.c - the job has failed, or is complete; the words for a failure. */
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "base/str.h"
#include "logtext/firsterror.h"
#include "logtext/logcause.h"
#include "logtext/lognoise.h"
#include "logtext/traceback.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"
#include "why/why_impl.h"

enum { MAX_LINE = 300 };

/* ---- logs ---- */

/* The decisive lines of a log. They are in the arena, without their timestamps. */
struct decisive_lines {
	const char *error; /* the last exception that is not about a lost peer */
	bool open;         /* its text is on the next line */
	const char *cause; /* the exception that caused it; or NULL */
	const char *named; /* the last exception; NULL: it is about a lost peer */
	bool causes;       /* the next exception was caused by that */
	struct log_reader reader;
	const char *cause_line; /* the line of reader.cause */
	const char *last;       /* but for what a launcher writes about itself; of lines
				   between two borders, the first */
	bool boxed;
	const char *title; /* of the box that has begun */
};

/* "2026-01-01T00:00:00.1Z text" */
static const char *without_time(const char *line)
{
	const char *space = strchr(line, ' ');

	return space && space > line && space[-1] == 'Z' ? space + 1 : line;
}

static const char *quoted(struct why *w, const char *line)
{
	return strlen(line) > MAX_LINE ? arena_printf(w->arena, "%s ...",
						      str_slice(w->arena, line, MAX_LINE))
				       : line;
}

/* A line of "-", "=" or "*" only, as Open MPI and MPICH put around their messages. */
static bool is_border(const char *line)
{
	size_t n = strlen(line);

	return n >= 10 && strchr("-=*", *line) && strspn(line, (char[]){ *line, 0 }) == n;
}

static void add_last(struct decisive_lines *s, const char *line)
{
	if (is_border(line)) {
		if (s->title)
			s->last = s->title;
		s->boxed = !s->boxed;
		s->title = NULL;
		return;
	}
	if (s->boxed && !s->title)
		s->title = line;
	s->last = line;
}

/* Does the exception only say that another process has failed, as its own lines tell? */
static bool is_report(const char *line)
{
	static const char *const texts[] = { "CalledProcessError: Command ",
					     "See root cause above",
					     "Details are lost due to multiprocessing" };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		if (strstr(line, texts[i]))
			return true;
	return false;
}

static void add_error(struct decisive_lines *s, const char *line, bool peer)
{
	if (s->error && is_report(line))
		return;
	if (!peer) {
		s->error = line;
		s->open = first_error_is_open(line, strlen(line));
		s->cause = s->causes ? s->named : NULL;
	}
	s->named = peer ? NULL : line;
	s->causes = false;
}

/* Are both lines of the same process, by PyTorch's mark? */
static bool same_rank(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	ptrdiff_t mark = traceback_unranked(a, &a_len) - a;

	return traceback_unranked(b, &b_len) - b == mark && !strncmp(a, b, (size_t)mark);
}

static void add_line(struct why *w, struct decisive_lines *s, const char *line,
		     bool ends_traceback)
{
	bool better;
	const struct log_cause *c = log_read(&s->reader, line, strlen(line), &better);
	size_t len = strlen(line);
	const char *bare = traceback_unranked(line, &len);

	bare += strspn(bare, " \t");
	if (better)
		s->cause_line = line;
	if (first_error_names(line, strlen(line), ends_traceback)) {
		add_error(s, line, c && c->side == LOG_PEER);
	} else if (str_starts(bare, FIRST_ERROR_CAUSE)) {
		s->causes = true;
	} else if (s->open && *bare && !ends_traceback && same_rank(s->error, line)) {
		s->error = arena_printf(w->arena, "%s %s", s->error, bare);
		s->open = false;
	}
}

static struct decisive_lines decisive_lines_of(struct why *w, const cJSON *pod)
{
	const char *text = view_log(w->v, pod);
	struct decisive_lines s = { 0 };
	struct lognoise_state noise = { 0 };
	bool within = false, was, noisy;
	char **lines;

	if (!text)
		return s;
	lines = str_split(w->arena, text, '\n', NULL);
	for (; *lines; lines++) {
		const char *line = without_time(*lines);

		was = within;
		within = was ? traceback_continues(line, strlen(line))
			     : traceback_begins(line, strlen(line));
		noisy = lognoise_is(&noise, line, strlen(line));
		line = str_trim(w->arena, line);
		if (*line && !noisy)
			add_last(&s, line);
		add_line(w, &s, line, was && !within);
	}
	return s;
}

static const char *hint(struct why *w, const struct decisive_lines *s)
{
	cleanup_buf struct buf out = { .max = 1024 };

	if (!s->reader.cause || (s->reader.cause->side == LOG_PEER && s->error))
		return "";
	log_hint(&out, &s->reader);
	return arena_printf(w->arena, " (%s)", (char *)out.data);
}

const char *why_log_line(struct why *w, const cJSON *pod)
{
	struct decisive_lines s = decisive_lines_of(w, pod);
	const char *line = s.error ? s.error : s.cause_line ? s.cause_line : s.last;

	if (!line)
		return "";
	return arena_printf(
		w->arena, "; its log %s \"%s\"%s%s",
		s.error || s.cause_line ? "says" : "ends with", quoted(w, line),
		s.cause ? arena_printf(w->arena, ", caused by \"%s\"", quoted(w, s.cause))
			: "",
		hint(w, &s));
}

/* ---- one failure ---- */

static const char *limit_of(const struct failure *f)
{
	const cJSON *c = json_find_const(pod_containers_const(pod_spec_of(f->pod)),
					 "name", f->fact.container);

	if (!c)
		c = json_find_const(pod_init_containers_const(pod_spec_of(f->pod)),
				    "name", f->fact.container);
	return json_str(container_limits(c), "memory");
}

/* The hint for the exit code of a pod whose log has no cause. */
static const char *exit_hint(struct why *w, const struct failure *f)
{
	const char *last;

	if (pod_fact_is_lost(&f->fact))
		return arena_printf(w->arena,
				    ": its node lost it (%s), as when the node or its "
				    "container runtime restarts",
				    f->fact.reason);
	switch (f->fact.exit_code) {
	case 126: /* also of our supervisor, which says why */
		last = decisive_lines_of(w, f->pod).last;
		return last && str_starts(last, "kftrainer ")
			       ? ""
			       : ": a command is not executable";
	case 127:
		return ": a command was not found";
	case 137:
		return ": check the node for an out-of-memory kill";
	default:
		return "";
	}
}

/* Why the kubelet ended a container by that signal, as it says; NULL: it did not. */
static const char *killer(struct why *w, const struct failure *f)
{
	const cJSON *e = view_event(w->v, "Pod", meta_name(f->pod), "Killing", false);
	const char *probe = e ? strstr(event_message(e), " failed ") : NULL;
	const char *message = f->fact.message;
	const char *local = message && str_starts(message, "killed by signal ")
				    ? strstr(message, "): ")
				    : NULL;

	if (local)
		return local + strlen("): ");
	return probe && strstr(probe, " probe") ? why_quote(w, event_message(e)) : NULL;
}

static const char *not_started(struct why *w, const char *message, const char *reason)
{
	const char *remedy = message ? spawn_remedy(message) : NULL;

	return arena_printf(w->arena, "could not be started: %s (%s)%s%s",
			    why_quote(w, message), reason, remedy ? ": " : "",
			    remedy ? remedy : "");
}

static const char *ended(struct why *w, const struct failure *f)
{
	const struct pod_fact *fact = &f->fact;
	const char *signal = podcause_exit_signal(fact->exit_code);
	const char *limit = limit_of(f), *message = fact->message;
	const char *killed = signal ? killer(w, f) : NULL;
	const char *hint =
		killed ? arena_printf(w->arena, ": %s", killed) : exit_hint(w, f);
	/* The local kubelet's message repeats the signal. */
	bool repeats = signal && message && str_starts(message, "killed by signal ");
	const char *more = message && *message && !repeats
				   ? arena_printf(w->arena, "; its message is \"%s\"",
						  why_quote(w, message))
				   : "";

	if (fact->cause == POD_OOM)
		return arena_printf(
			w->arena, "was killed for %s%s (OOMKilled, exit code %lld)%s",
			limit ? "using more memory than its limit of " : "want of memory",
			limit ? limit : "", (long long)fact->exit_code, more);
	if (fact->cause == POD_START)
		return not_started(w, message, fact->reason);
	return arena_printf(w->arena, "ended with exit code %lld%s%s%s%s%s",
			    (long long)fact->exit_code, signal ? " (" : "",
			    signal ? signal : "", signal ? ")" : "", hint, more);
}

static const char *disrupted(struct why *w, const struct pod_fact *fact)
{
	static const struct {
		const char *reason, *what;
	} rows[] = {
		{ "Evicted", "was evicted by its node" },
		{ "Terminated", "was ended as its node shut down" },
		{ "Shutdown", "was ended as its node shut down" },
		{ "Preempting", "was ended by its node for a critical pod" },
		{ "TerminationByKubelet", "was ended by its node" },
		{ "PreemptionByScheduler", "was preempted by a pod of higher priority" },
		{ "DeletionByTaintManager",
		  "was ended because its node was lost or tainted" },
		{ "EvictionByEvictionAPI", "was evicted, as when a node is drained" },
		{ "DeletionByPodGC", "was on a node that no longer exists" },
	};
	const char *what = arena_printf(w->arena, "was ended from outside (%s)",
					fact->reason ? fact->reason : "no reason given");

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_eq(rows[i].reason, fact->reason))
			what = arena_printf(w->arena, "%s (%s)", rows[i].what,
					    fact->reason);
	return fact->message && *fact->message ? arena_printf(w->arena, "%s: %s", what,
							      why_quote(w, fact->message))
					       : what;
}

const char *why_failure(struct why *w, const struct failure *f)
{
	const char *node = pod_node(f->pod);
	const char *who = arena_printf(w->arena, "%s, pod %s%s%s",
				       pod_step(w->arena, f->pod), meta_name(f->pod),
				       node ? " on node " : "", node ? node : "");
	int64_t again = f->fact.restarts;

	if (f->fact.cause == POD_DISRUPTED)
		return arena_printf(w->arena, "%s, %s", who, disrupted(w, &f->fact));
	if (f->fact.cause == POD_REJECTED)
		return arena_printf(
			w->arena, "%s, was %s by its %s%s: %s (%s)", who,
			!node || pod_last_ran(f->pod) >= 0 ? "ended" : "refused",
			node ? "node" : "scheduler ", node ? "" : pod_scheduler(f->pod),
			why_quote(w, f->fact.message), f->fact.reason);
	return arena_printf(w->arena, "%s: %scontainer %s %s%s", who,
			    why_is_init(f->pod, f->fact.container) ? "init " : "",
			    f->fact.container, ended(w, f),
			    again ? arena_printf(w->arena, ", after %lld restart%s",
						 (long long)again, again == 1 ? "" : "s")
				  : "");
}

const char *why_logs(struct why *w, const struct failure *f)
{
	if (f->fact.cause == POD_DISRUPTED || f->fact.cause == POD_REJECTED)
		return why_describe(w, "pod", meta_name(f->pod));
	return arena_printf(w->arena, "kubectl logs %s -c %s%s%%n", meta_name(f->pod),
			    f->fact.container, f->fact.restarted ? " --previous" : "");
}

/* ---- the job has failed ---- */

void why_deadline(struct why *w)
{
	const struct view *v = w->v;
	const char *start = status_deadline_start(v->trainjob);

	if (!status_is_exceeded(tj_status(v->trainjob)))
		return;
	why_add(w, "DeadlineExceeded", why_describe(w, "trainjob", v->name),
		"it was stopped because it exceeded its deadline of %lld s "
		"(spec.activeDeadlineSeconds), counted from %s",
		(long long)tj_active_deadline(v->trainjob), start ? start : "its start");
}

/* If the first failure only lost a peer: the index of a rank with an error of its own. */
static size_t first_own_error(struct why *w, const struct failure *list, size_t n)
{
	struct decisive_lines first = decisive_lines_of(w, list[0].pod);

	if (first.error || !first.reader.cause || first.reader.cause->side != LOG_PEER)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (decisive_lines_of(w, list[i].pod).error)
			return i;
	return 0;
}

static const char *reason_of(const struct failure *f)
{
	return f->fact.cause == POD_FAILED ? "ExitCode"
					   : pod_causes[f->fact.cause].reason;
}

/* The pods are deleted: use the events of their failure. */
static void from_events(struct why *w)
{
	static const char *const reasons[] = {
		"OOMKilled",    "ContainerFailed",      "PodDisrupted",
		"PodFailed",    "ContainerStartFailed", "ImagePullFailed",
		"Unschedulable"
	};
	const cJSON *e = view_event(w->v, TRAINJOB_KIND, w->v->name, "Failed", true);
	const char *first = strstr(event_message(e), STATUS_FIRST);

	if (first) {
		why_add(w, "FirstFailure", NULL, "the first failure was that of %s",
			why_quote(w, first + strlen(STATUS_FIRST)));
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++) {
		e = view_event(w->v, TRAINJOB_KIND, w->v->name, reasons[i], true);
		if (!e)
			continue;
		why_add(w, reasons[i], why_describe(w, "trainjob", w->v->name),
			"observed before: %s", why_quote(w, event_message(e)));
		return;
	}
}

/* A local run was stopped from outside: what its processes did then is no cause. */
static bool is_interrupted(const struct why *w)
{
	const cJSON *c = condition_with(w->v->trainjob, COND_FAILED, "True");

	return w->v->is_local && str_eq(condition_reason(c), "Interrupted");
}

void why_interrupted(struct why *w)
{
	static const struct {
		const char *message, *text;
	} rows[] = {
		{ "--timeout expired", "it was stopped because its --timeout expired" },
		{ "the process was killed",
		  "the process of kftrainer that ran it was killed, and its pods with it" },
	};
	const cJSON *c = condition_with(w->v->trainjob, COND_FAILED, "True");
	const char *text = NULL;

	if (!is_interrupted(w))
		return;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_eq(condition_message(c), rows[i].message))
			text = rows[i].text;
	if (!text)
		text = arena_printf(
			w->arena, "%s%s",
			str_starts(condition_message(c), "stopped ") ? "it was " : "",
			why_quote(w, condition_message(c)));
	why_add(w, condition_reason(c),
		arena_printf(w->arena, "kftrainer logs %s%%n", w->v->name), "%s", text);
}

void why_first_failure(struct why *w)
{
	struct failure list[VIEW_LOGS];
	size_t n = view_failures(w->v, list, VIEW_LOGS), i;

	if (w->refusal_covered || is_interrupted(w))
		return;
	if (!n) {
		from_events(w);
		return;
	}
	i = first_own_error(w, list, n);
	if (i)
		why_add(w, reason_of(&list[i]), why_logs(w, &list[i]),
			"the first error that is not a lost connection is that of %s%s; "
			"%s then lost that peer",
			why_failure(w, &list[i]), why_log_line(w, list[i].pod),
			pod_step(w->arena, list[0].pod));
	else
		why_add(w, reason_of(&list[0]), why_logs(w, &list[0]),
			"the first failure is that of %s%s", why_failure(w, &list[0]),
			why_log_line(w, list[0].pod));
}

/* The Job's Failed condition; NULL if it has the same reason as the TrainJob's. */
static const cJSON *job_failed(const cJSON *job, const cJSON *trainjob_failed)
{
	const cJSON *c = condition_with(job, "Failed", "True");

	return str_eq(condition_reason(c), condition_reason(trainjob_failed)) ? NULL : c;
}

/* What has failed, to follow "its", by the reason of the condition. */
static const char *what_failed(const char *reason)
{
	static const char *const rows[][2] = {
		{ "TrainingRuntimeNotSupported", "spec.runtimeRef" },
		{ "RecordDamaged", "record is damaged" }, /* of a local run */
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_eq(reason, rows[i][0]))
			return rows[i][1];
	return "JobSet has failed";
}

void why_gave_up(struct why *w)
{
	const struct view *v = w->v;
	const cJSON *failed = condition_with(v->trainjob, COND_FAILED, "True");
	const cJSON *job, *c = NULL;
	const char *name = NULL;

	if (status_is_exceeded(tj_status(v->trainjob)) || w->refusal_covered ||
	    is_interrupted(w))
		return;
	json_each(job, v->jobs)
		if (!c && (c = job_failed(job, failed)))
			name = meta_name(job);
	if (c)
		why_add(w, condition_reason(c), why_describe(w, "job", name),
			"Job %s gave up, %s (%s)", name,
			why_quote(w, condition_message(c)), condition_reason(c));
	else
		why_add(w, condition_reason(failed), why_describe(w, "trainjob", v->name),
			"its %s: %s (%s)", what_failed(condition_reason(failed)),
			why_quote(w, condition_message(failed)),
			condition_reason(failed));
}

void why_complete(struct why *w)
{
	const cJSON *tj = w->v->trainjob;
	int64_t end = foreign_time(status_end_time(tj_status(tj)));
	int64_t start = foreign_time(meta_created(tj));
	char took[DURATION_TEXT_SIZE];

	duration_age(end > start ? end - start : 0, took);
	why_add(w, "Complete", arena_printf(w->arena, "kftrainer logs %s%%n", w->v->name),
		"completed %s ago, %s after it was created", why_age(w, end), took);
}
