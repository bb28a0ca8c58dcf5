/* why_run.c - the job runs, or its pods are starting. */
#include <signal.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "logtext/alone.h"
#include "logtext/logcause.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/progress.h"
#include "trainer/progress_line.h"
#include "trainer/supervision.h"
#include "trainer/trainjob.h"
#include "why/foreign.h"
#include "why/why_impl.h"

enum { LAST_LINES = 20 };

static const char *logs_command(struct why *w)
{
	return arena_printf(w->arena, "kftrainer logs %s --tail 50%%n", w->v->name);
}

void why_process_stopped(struct why *w)
{
	const char *pid = meta_annotation(w->v->trainjob, STOPPED_ANNOTATION);

	if (pid && w->v->is_local)
		why_add(w, "ProcessStopped", NULL,
			"the process of kftrainer that runs it is stopped, as by Ctrl-Z: "
			"it reads no output and does not see what ends; 'fg' in its "
			"shell, or 'kill -CONT %s', continues it",
			pid);
}

/* The last connection problem in the last LAST_LINES lines of rank 0's log. */
void why_waiting_for_peers(struct why *w)
{
	const cJSON *pod = view_first_rank(w->v);
	const char *text = pod ? view_log(w->v, pod) : NULL, *line, *found = NULL;
	struct log_reader reader = { 0 };
	const struct log_cause *c;
	cleanup_buf struct buf out = { .max = 1024 };
	char **lines;
	bool better;
	size_t n;

	if (!text)
		return;
	lines = str_split(w->arena, text, '\n', &n);
	for (size_t i = n > LAST_LINES ? n - LAST_LINES : 0; i < n; i++) {
		line = strchr(lines[i], ' ');
		line = line ? line + 1 : lines[i];
		log_forget(&reader);
		c = log_read(&reader, line, strlen(line), &better);
		if (c && (c->side == LOG_PEER || c->side == LOG_NAME)) {
			buf_clear(&out);
			log_hint(&out, &reader);
			found = line;
		}
	}
	if (!found)
		return;
	why_add(w, "Connection", logs_command(w),
		"the log of %s reports a connection problem: \"%s\" (%s)",
		pod_step(w->arena, pod), why_quote(w, found), (char *)out.data);
}

/* The time of the last line of rank 0's log; -1: unknown. */
static int64_t silent_since(const struct view *v)
{
	const cJSON *pod = view_first_rank(v);
	const char *found = pod ? view_log(v, pod) : NULL;
	const char *text = found ? found : "", *last;
	cleanup_arena struct arena arena = { 0 };
	size_t len = strlen(text);

	while (len > 0 && text[len - 1] == '\n')
		len--;
	for (last = text + len; len > 0 && last > text && last[-1] != '\n';)
		last--;
	return len ? foreign_time(str_slice(&arena, last, strcspn(last, " \n"))) : -1;
}

void why_stalled(struct why *w)
{
	const struct view *v = w->v;
	int64_t updated = foreign_time(progress_updated(v->trainjob));
	int64_t percent = progress_percentage(v->trainjob);
	int64_t silent = silent_since(v);

	if (updated >= 0 && v->now - updated >= VIEW_STALLED_SECONDS) {
		why_add(w, "Stalled", logs_command(w),
			"its progress has not changed for %s%s", why_age(w, updated),
			percent < 0 ? ""
				    : arena_printf(w->arena, ", at %lld %%",
						   (long long)percent));
	} else if (updated < 0 && silent >= 0 &&
		   v->now - silent >= VIEW_STALLED_SECONDS) {
		why_add(w, "Silent", logs_command(w),
			"its first rank has logged nothing for %s and reports no progress",
			why_age(w, silent));
	}
}

void why_workers_remain(struct why *w)
{
	const cJSON *spec = jobset_spec_of(w->v->jobset);
	const cJSON *launcher =
		json_find_const(jobset_jobs_const(spec), "name", LAUNCHER);
	const cJSON *status =
		json_find_const(jobset_jobs_status(w->v->jobset), "name", LAUNCHER);

	if (launcher && jobset_awaits(spec, NODE) &&
	    job_status_succeeded(status) >= rjob_replicas(launcher))
		why_add(w, "WorkersRemain",
			arena_printf(w->arena, "kftrainer delete %s%%n", w->v->name),
			"its launcher has succeeded, but it ends only with its job "
			"\"" NODE "\", which sshd and mpi-worker never do: set "
			"spec.template.spec.successPolicy of its runtime to " SUCCESS_OF_LAUNCHER
			", delete it and submit it again");
}

/* The sign in a pod's first lines; false: they name a world of several processes. */
static bool read_head(struct why *w, struct alone *alone, const cJSON *pod,
		      const char *text)
{
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (alone_world_size(text, len) > 1)
			return false;
		alone_line(alone, pod_step(w->arena, pod), text, len);
	}
	return true;
}

/* Nobody may have read the logs so far. */
static const char *alone_in_logs(struct why *w)
{
	struct alone alone = { 0 };
	const cJSON *pod, *head;

	json_each(pod, w->v->pods) {
		head = json_find_const(w->v->heads, "pod", meta_name(pod));
		if (head && !read_head(w, &alone, pod, json_str(head, "text")))
			return NULL;
	}
	return alone.text[0] ? arena_strdup(w->arena, alone.text) : NULL;
}

void why_alone(struct why *w)
{
	const cJSON *e = view_event(w->v, TRAINJOB_KIND, w->v->name, ALONE_REASON, true);
	const char *text = e ? event_message(e) : alone_in_logs(w);

	if (text)
		why_add(w, ALONE_REASON, logs_command(w), "%s", why_quote(w, text));
}

/* The latest warning event, if there is no other cause. */
void why_warning(struct why *w)
{
	const cJSON *e = view_event(w->v, NULL, NULL, NULL, true);

	if (e && !why_is_over(w, e))
		why_add(w, event_reason(e),
			why_describe(w, event_kind(e), event_object(e)),
			"the last warning, of %s %s %s ago, is: %s (%s)", event_kind(e),
			event_object(e), why_age(w, event_last(e)),
			why_quote(w, event_message(e)), event_reason(e));
}

void why_starting(struct why *w)
{
	struct view_counts n = view_count(w->v);
	int64_t wanted = view_pods_wanted(w->v),
		since = foreign_time(meta_created(w->v->trainjob));

	if (jobset_suspended(w->v->jobset))
		why_add(w, "JobSetSuspended", why_describe(w, "jobset", w->v->name),
			"its JobSet is suspended, though spec.suspend of the job is not "
			"true: the controller has not resumed it, or another program "
			"suspends it, such as a policy, or Kueue without its TrainJob "
			"integration");
	else if (!w->v->jobset || (!wanted && !n.all))
		why_add(w, "Created", why_describe(w, "trainjob", w->v->name),
			"it was created %s ago and has no %s yet", why_age(w, since),
			w->v->jobset ? "pods" : "JobSet");
	else
		why_add(w, "Starting",
			arena_printf(w->arena,
				     "kubectl get pods -l " POD_JOBSET_LABEL "=%s%%n",
				     w->v->name),
			"its pods are starting: %lld of %lld are ready, no problem so "
			"far (created %s ago)",
			(long long)n.ready, (long long)(wanted > n.all ? wanted : n.all),
			why_age(w, since));
}

static const char *progress(struct why *w)
{
	const cJSON *tj = w->v->trainjob;
	int64_t percent = progress_percentage(tj), left = progress_remaining(tj);
	const char *metrics = progress_metrics(w->arena, tj), *line = "";
	char text[DURATION_TEXT_SIZE];

	if (percent >= 0)
		line = arena_printf(w->arena, ", %lld %% done", (long long)percent);
	if (*metrics)
		line = arena_printf(w->arena, "%s, %s", line, metrics);
	if (left >= 0)
		line = arena_printf(w->arena, "%s, about %s are left", line,
				    duration_age(left, text));
	return *line ? arena_printf(w->arena, "; %s", line + 2)
		     : "; it reports no progress";
}

void why_running(struct why *w)
{
	struct view_counts n = view_count(w->v);
	int64_t running = n.all - n.succeeded - n.pending, oldest = -1;
	const cJSON *pod;

	if (!tj_is_ours(w->v->trainjob)) /* why_elsewhere() */
		return;
	json_each(pod, w->v->pods) {
		int64_t t = foreign_time(meta_created(pod));

		if (str_eq(pod_phase(pod), "Running") && (oldest < 0 || t < oldest))
			oldest = t;
	}
	why_add(w, "Running", logs_command(w),
		"%s%lld of %lld pods have been running for %s%s",
		w->causes->child ? "" : "no problem found: ", (long long)running,
		(long long)n.all, why_age(w, oldest), progress(w));
}

static const char *spent(struct why *w, const struct supervision *s)
{
	cleanup_buf struct buf out = { .max = 512 };
	int goodput = supervision_goodput(s);

	for (int i = 0; i < SUPERVISION_SLICES; i++) {
		char text[DURATION_TEXT_SIZE];

		buf_printf(&out, "%s%s %s", i ? ", " : "", supervision_slices[i],
			   duration_age(s->seconds[i], text));
	}
	return arena_printf(w->arena, "%d %% of its time was productive (%s)",
			    goodput < 0 ? 0 : goodput, (char *)out.data);
}

/* The pod of a killed rank ends with 1 (docs/supervise.md), not with its status. */
static const char *killed(struct why *w, const struct supervision *s)
{
	if (w->state != WHY_FAILED || !s->failed || s->restarts ||
	    s->status != 128 + SIGKILL)
		return "";
	return arena_printf(w->arena,
			    "rank %lld ended with status %lld: it was killed, as when "
			    "memory runs out; ",
			    (long long)s->rank, (long long)s->status);
}

void why_supervision(struct why *w)
{
	struct supervision s;
	const char *first = "", *last = "";

	if (!supervision_of(&s, w->v->trainjob))
		return;
	if (s.failed && s.restarts)
		last = arena_printf(w->arena,
				    ", the last one as rank %lld ended with status %lld",
				    (long long)s.rank, (long long)s.status);
	if (s.restarts || s.lost || s.stalls)
		first = arena_printf(
			w->arena,
			"its ranks started again in their pods: %lld after "
			"failures and stalls%s, %lld after the loss of a pod; "
			"stalls: %lld; ",
			(long long)s.restarts, last, (long long)s.lost,
			(long long)s.stalls);
	why_add(w, "Supervised", NULL, "%s%s%s", killed(w, &s), first, spent(w, &s));
}
