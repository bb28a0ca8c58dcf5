/* why.c - the table of causes, and the text for users (why/why.h). */
#include "why/why.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/screen.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"
#include "why/why_impl.h"

enum {
	MAX_QUOTE = 700,
	QUOTE_START = 500,
	MAX_CAUSES = 3,
	MAX_COMMANDS = 2,
	MAX_TEXT = 64 * 1024
};

/* ---- the causes, the most likely first ---- */

#define NOT_STARTED (WHY_PENDING | WHY_SUSPENDED)
#define ACTIVE      (WHY_PENDING | WHY_RUNNING)

static const struct {
	void (*add)(struct why *w);
	unsigned states;
	bool only; /* only if no cause was found before */
} table[] = {
	{ .add = why_deleted, WHY_DELETED },
	{ .add = why_rejected, WHY_FAILED | ACTIVE },
	{ .add = why_deadline, WHY_FAILED },
	{ .add = why_interrupted, WHY_FAILED },
	{ .add = why_first_failure, WHY_FAILED },
	{ .add = why_gave_up, WHY_FAILED },
	{ .add = why_complete, WHY_COMPLETE },
	{ .add = why_alone, WHY_COMPLETE | WHY_RUNNING },
	{ .add = why_workers_remain, ACTIVE },
	{ .add = why_elsewhere, NOT_STARTED | WHY_RUNNING },
	{ .add = why_queued, NOT_STARTED },
	{ .add = why_suspended, WHY_SUSPENDED, .only = true },
	{ .add = why_no_runtime, NOT_STARTED },
	{ .add = why_creation_failed, NOT_STARTED },
	{ .add = why_no_controller, NOT_STARTED, .only = true },
	{ .add = why_managed, WHY_PENDING },
	{ .add = why_no_jobset_controller, WHY_PENDING },
	{ .add = why_process_stopped, ACTIVE },
	{ .add = why_pods_refused, ACTIVE },
	{ .add = why_node_lost, ACTIVE },
	{ .add = why_claims, WHY_PENDING },
	{ .add = why_devices, WHY_PENDING },
	{ .add = why_gang_of_followers, WHY_PENDING },
	{ .add = why_gang, WHY_PENDING },
	{ .add = why_unschedulable, ACTIVE },
	{ .add = why_gated, WHY_PENDING },
	{ .add = why_no_scheduler, WHY_PENDING },
	{ .add = why_followers, WHY_PENDING },
	{ .add = why_image, ACTIVE },
	{ .add = why_container_start, ACTIVE },
	{ .add = why_container_remains, ACTIVE },
	{ .add = why_restarts, ACTIVE },
	{ .add = why_terminating, NOT_STARTED },
	{ .add = why_mount, WHY_PENDING },
	{ .add = why_init, WHY_PENDING },
	{ .add = why_not_ready, ACTIVE },
	{ .add = why_waiting_for_peers, WHY_RUNNING },
	{ .add = why_stalled, WHY_RUNNING },
	{ .add = why_warning, WHY_PENDING, .only = true },
	{ .add = why_starting, WHY_PENDING, .only = true },
	{ .add = why_launcher, NOT_STARTED },
	{ .add = why_running, WHY_RUNNING },
	{ .add = why_supervision, WHY_RUNNING | WHY_COMPLETE | WHY_FAILED },
	{ .add = why_runtime_gone, ~WHY_DELETED },
};

/* ---- parts of messages ---- */

const char *why_quote(struct why *w, const char *text)
{
	const char *shown =
		text && strchr(text, '\r') ? screen_text(w->arena, text) : text;
	char *s = str_trim(w->arena, shown ? shown : "");
	size_t len = strlen(s), end;

	for (char *c = s; *c; c++)
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	if (len > MAX_QUOTE) {
		end = utf8_cut(s, len, len - (MAX_QUOTE - QUOTE_START));
		s = arena_printf(w->arena, "%s ... %s",
				 str_slice(w->arena, s, utf8_cut(s, len, QUOTE_START)),
				 s + end);
		len = strlen(s);
	}
	while (len > 0 && (s[len - 1] == '.' || s[len - 1] == ' '))
		s[--len] = 0;
	return str_visible(w->arena, s, false);
}

const char *why_age(struct why *w, int64_t since)
{
	char text[DURATION_TEXT_SIZE];

	if (since < 0)
		return "some time";
	return arena_strdup(
		w->arena, duration_age(w->v->now > since ? w->v->now - since : 0, text));
}

const char *why_describe(struct why *w, const char *kind, const char *name)
{
	return arena_printf(w->arena, "kubectl describe %s %s%%n", kind, name);
}

const char *why_pod_count(struct why *w, int64_t n, int64_t all)
{
	if (all == 1)
		return "its pod";
	if (n == all)
		return arena_printf(w->arena, "its %lld pods", (long long)all);
	return arena_printf(w->arena, "%lld of its %lld pods", (long long)n,
			    (long long)all);
}

int64_t why_job_age(const struct why *w)
{
	int64_t since = foreign_time(meta_created(w->v->trainjob));

	return since < 0 || since > w->v->now ? 0 : w->v->now - since;
}

/* kubectl cannot read jobs of this machine: name the kftrainer command instead. */
static const char *local_command(struct why *w, const char *command)
{
	const char *own = str_after(command, "kftrainer ");
	const char *verb = str_starts(command, "kubectl logs ") ? "logs" : "events";

	if (own)
		verb = str_slice(w->arena, own, strcspn(own, " "));
	if (!str_eq(w->v->named, " --local")) /* --from */
		return arena_printf(w->arena, "kftrainer %s %s%s", verb, w->v->name,
				    w->v->named);
	if (!own)
		return arena_printf(w->arena, "kftrainer %s --local %s%%n", verb,
				    w->v->name);
	return arena_printf(w->arena, "kftrainer %s --local%s", verb, own + strlen(verb));
}

/* Replace "%n" by " -n NAMESPACE". */
static const char *command_text(struct why *w, const char *text)
{
	const char *command = w->v->is_local ? local_command(w, text) : text;
	const char *at = strstr(command, "%n");

	if (!at)
		return command;
	return arena_printf(w->arena, "%s -n %s%s%s",
			    str_slice(w->arena, command, (size_t)(at - command)),
			    w->v->ns, w->v->is_local || !w->v->named ? "" : w->v->named,
			    at + 2);
}

void why_add(struct why *w, const char *reason, const char *command, const char *fmt, ...)
{
	cJSON *cause = cJSON_CreateObject();
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	json_put_str(cause, reason, "reason");
	json_put_str(cause, str_visible(w->arena, text, false), "message");
	if (command)
		json_put_str(cause,
			     str_visible(w->arena, command_text(w, command), false),
			     "command");
	cJSON_AddItemToArray(w->causes, cause);
}

/* ---- the job's state ---- */

static const struct {
	enum why_state state;
	const char *name, *headline;
} states[] = {
	{ WHY_DELETED, "Deleted", "is being deleted" },
	{ WHY_FAILED, "Failed", "has failed" },
	{ WHY_COMPLETE, "Complete", "" },
	{ WHY_SUSPENDED, "Suspended", "is suspended" },
	{ WHY_PENDING, "Pending", "is pending" },
	{ WHY_RUNNING, "Running", "is running" },
};
enum { N_STATES = N_ELEMENTS(states) };

static bool trains(const struct view *v)
{
	const cJSON *pod;

	json_each(pod, v->pods)
		if (str_eq(pod_phase(pod), "Running") && pod_node_rank(pod) >= 0 &&
		    !meta_is_deleted(pod) && !view_is_initializer(pod_job(pod)))
			return !why_awaiting(v, pod);
	return false;
}

static enum why_state state_of(const struct view *v)
{
	const cJSON *status = tj_status(v->trainjob);
	struct view_counts n = view_count(v);

	if (meta_is_deleted(v->trainjob))
		return WHY_DELETED;
	if (status_is_true(status, "Failed"))
		return WHY_FAILED;
	if (status_finished(status))
		return WHY_COMPLETE;
	if (tj_suspend(v->trainjob))
		return WHY_SUSPENDED;
	if (!tj_is_ours(v->trainjob)) /* the pods are in another cluster */
		return str_eq(status_state(status), "Running") ? WHY_RUNNING
							       : WHY_PENDING;
	return trains(v) && !n.pending && n.all >= view_pods_wanted(v) ? WHY_RUNNING
								       : WHY_PENDING;
}

cJSON *why_explain(const struct view *v)
{
	cleanup_arena struct arena arena = { 0 };
	struct why w = { .v = v, .arena = &arena, .state = state_of(v) };
	cJSON *ret = cJSON_CreateObject(), *unknown;
	const cJSON *d;

	json_put_str(ret, v->ns, "namespace");
	json_put_str(ret, v->name, "name");
	for (size_t i = 0; i < N_STATES; i++)
		if (states[i].state == w.state)
			json_put_str(ret, states[i].name, "state");
	w.causes = json_list(ret, "causes");
	unknown = json_list(ret, "unknown");
	for (size_t i = 0; i < N_ELEMENTS(table); i++)
		if (table[i].states & w.state && !(table[i].only && w.causes->child))
			table[i].add(&w);
	json_each(d, v->denied) {
		cJSON *one = cJSON_CreateObject();

		json_put(one, json_dup(json_get(d, "what")), "what");
		json_put(one, json_dup(json_get(d, "check")), "check");
		cJSON_AddItemToArray(unknown, one);
	}
	return ret;
}

/* ---- the text ---- */

/* "bert is suspended"; "bert " if the job is complete: the cause has the verb. */
static const char *headline_of(struct arena *arena, const cJSON *why)
{
	const char *headline = "";

	for (size_t i = 0; i < N_STATES; i++)
		if (str_eq(states[i].name, json_str(why, "state")))
			headline = states[i].headline;
	return arena_printf(arena, "%s %s", json_str(why, "name"), headline);
}

static void put_unknown(struct buf *out, const cJSON *why)
{
	const cJSON *list = json_get(why, "unknown"), *d;

	json_each(d, list)
		buf_printf(out, "%s%s",
			   d == list->child ? " You are not allowed to " : " or ",
			   json_str(d, "what"));
	if (list && list->child)
		buf_adds(out, ", so this answer may be incomplete.");
}

static void put_commands(struct buf *out, const cJSON *why)
{
	const char *printed[MAX_COMMANDS + 1] = { 0 };
	const cJSON *c;
	size_t n = 0;

	json_each(c, json_get(why, "causes")) {
		const char *command = json_str(c, "command");

		if (command && n < MAX_COMMANDS && !str_in(command, printed))
			printed[n++] = command;
	}
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "More: %s\n", printed[i]);
	json_each(c, json_get(why, "unknown"))
		if (json_str(c, "check"))
			buf_printf(out, "Check: %s\n", json_str(c, "check"));
}

void why_text(struct buf *out, const cJSON *why)
{
	cleanup_arena struct arena arena = { 0 };
	const char *headline = headline_of(&arena, why);
	const char *colon = str_ends(headline, " ") ? "" : ": ";
	const cJSON *c;
	int n = 0;

	buf_printf(out, "%s", headline);
	json_each(c, json_get(why, "causes")) {
		const char *text = json_str(c, "message");
		bool ended = str_ends(text, "?") || strchr(text, '\n'); /* a quotation */

		if (n++ < MAX_CAUSES)
			buf_printf(out, "%s%s%s", n == 1 ? colon : " Also: ", text,
				   ended ? "" : ".");
	}
	put_unknown(out, why);
	buf_adds(out, "\n");
	put_commands(out, why);
}
