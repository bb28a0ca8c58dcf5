/* act.c - reruns, suspends, resumes and deletes jobs. */
#include "ui/act.h"

#include <inttypes.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/deletion.h"
#include "client/queue.h"
#include "client/rerun_job.h"
#include "crypto/digest.h"
#include "kube/permission.h"
#include "kube/review.h"
#include "trainer/api.h"
#include "trainer/supervise_spec.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "ui/html.h"
#include "ui/page.h"

static const struct {
	const char *word, *label, *done, *verb, *text;
} acts[N_ACTS] = {
	[ACT_RERUN] = { "rerun", "Rerun", "rerun", "create",
			"the files that changed are sent to all of its pods, and its command "
			"is started again on all ranks; one that runs is stopped." },
	[ACT_SUSPEND] = { "suspend", "Suspend", "suspended", "patch",
			  "Its pods are deleted and unsaved state is lost. The job keeps its "
			  "name and settings until it is resumed." },
	[ACT_RESUME] = { "resume", "Resume", "resumed", "patch",
			 "The controller creates its pods again." },
	[ACT_DELETE] = { "delete", "Delete", "deleted", "delete",
			 "Its JobSet, pods and all other objects of the job are deleted, "
			 "of a local job its logs, too." },
};

bool act_read(const char *word, enum act *ret)
{
	for (int i = 0; i < N_ACTS; i++)
		if (str_eq(word, acts[i].word)) {
			*ret = (enum act)i;
			return true;
		}
	return false;
}

/* Has the act a meaning for the job as it is now? A queue suspends jobs of its own. */
static bool makes_sense(const cJSON *job, enum act act)
{
	bool ended = status_finished(tj_status(job)), queued = queue_name(job);

	if (meta_is_deleted(job))
		return false;
	switch (act) {
	case ACT_DELETE:
		return true;
	case ACT_RERUN:
		return !ended && !tj_suspend(job) && meta_annotation(job, DEV_ANNOTATION);
	default:
		return !ended && (queued || tj_suspend(job) == (act == ACT_RESUME));
	}
}

static void add_path(struct buf *out, const cJSON *job)
{
	buf_adds(out, "/jobs/");
	html_str(out, meta_namespace(job));
	buf_adds(out, "/");
	html_str(out, meta_name(job));
}

static void add_link(struct buf *out, const cJSON *job, enum act act)
{
	buf_adds(out, "<a class=\"button\" href=\"");
	add_path(out, job);
	buf_printf(out, "/%s\">%s</a>\n", acts[act].word, acts[act].label);
}

static void add_grey(struct buf *out, enum act act, const char *reason)
{
	buf_printf(out,
		   "<button disabled aria-describedby=\"no-%s\">%s</button>"
		   "<span class=\"note\" id=\"no-%s\">",
		   acts[act].word, acts[act].label, acts[act].word);
	html_str(out, reason);
	buf_adds(out, "</span>\n");
}

/* Why it cannot be done, in the arena; NULL: it can, or only the API server can say. */
static const char *reason_against(struct arena *arena, struct kube *k, const cJSON *job,
				  enum act act)
{
	struct permission p = { .verb = acts[act].verb,
				.resource = "trainjobs",
				.group = TRAINER_GROUP,
				.ns = meta_namespace(job) };
	struct kube_ref ref = kube_ref_of(job);
	struct rerun_want unused;
	struct error err = { 0 };
	bool allowed = true;

	if (act == ACT_RERUN) {
		if (rerun_job_from(&unused, k, job, arena, &err))
			return arena_strdup(arena, err.msg);
		p.resource = "pods";
		p.subresource = "exec";
		p.group = "";
		ref = (struct kube_ref){ "v1", "Pod", p.ns, NULL };
	}
	if (access_review_self(k, &ref, p.subresource, p.verb, &allowed, IGNORED) ||
	    allowed)
		return NULL;
	return arena_printf(arena, "you may not %s (%s)", permission_what(arena, &p),
			    permission_check(arena, &p));
}

void act_links(struct buf *out, struct kube *k, const cJSON *job)
{
	cleanup_arena struct arena arena = { 0 };
	const char *reason = NULL, *verb = NULL;

	buf_adds(out, "<div class=\"acts\">\n");
	for (int i = 0; i < N_ACTS; i++) {
		if (!makes_sense(job, (enum act)i))
			continue;
		if (!str_eq(acts[i].verb, verb))
			reason = reason_against(&arena, k, job, (enum act)i);
		verb = acts[i].verb;
		if (reason)
			add_grey(out, (enum act)i, reason);
		else
			add_link(out, job, (enum act)i);
	}
	buf_adds(out, "</div>\n");
}

/*
 * The form has what its user sees: the uid, so that a new job of the same name is another
 * one, and for a rerun a digest of the directory that is sent.
 */
static const char *seen_of(struct arena *arena, const cJSON *job, enum act act)
{
	const char *from = meta_annotation(job, DEV_FROM_ANNOTATION);
	char hex[DIGEST_HEX_SIZE];

	if (act != ACT_RERUN || !from)
		return meta_uid(job);
	return arena_printf(arena, "%s.%s", meta_uid(job),
			    digest_hex_of(DIGEST_SHA256, from, strlen(from), hex));
}

static int check(const struct kube *k, const cJSON *job, enum act act,
		 struct rerun_want *ret, struct arena *arena, struct error *err)
{
	if (act == ACT_RERUN)
		return rerun_job_from(ret, k, job, arena, err);
	return makes_sense(job, act)
		       ? 0
		       : error_set(err, ERR_CONFLICT,
				   "TrainJob %s is %s: it cannot be %s", meta_name(job),
				   meta_is_deleted(job) ? "being deleted"
							: status_state(tj_status(job)),
				   acts[act].done);
}

int act_confirm_page(struct buf *out, struct kube *k, const cJSON *job, enum act act,
		     const char *csrf, struct error *err)
{
	cleanup_buf struct buf title = { .max = 1024 };
	cleanup_arena struct arena arena = { 0 };
	struct rerun_want want = { 0 };
	int64_t pods;

	if (check(k, job, act, &want, &arena, err))
		return -1;
	buf_printf(&title, "%s %s?", acts[act].label, meta_name(job));
	page_head(out, (const char *)title.data);
	buf_adds(out, "<p>");
	if (want.path) {
		buf_adds(out, "Of ");
		html_str(out, want.path);
		buf_adds(out, " on this machine, ");
	}
	buf_adds(out, acts[act].text);
	pods = act == ACT_RESUME ? 0
				 : deletion_pods(k, meta_namespace(job), meta_name(job));
	if (pods > 0)
		buf_printf(out, " It has %" PRId64 " pod%s.", pods, pods == 1 ? "" : "s");
	buf_adds(out, "</p>\n<form method=\"post\" action=\"");
	add_path(out, job);
	buf_printf(out,
		   "/%s\"><input type=\"hidden\" name=\"csrf\" value=\"%s\">"
		   "<input type=\"hidden\" name=\"uid\" value=\"",
		   acts[act].word, csrf);
	html_str(out, seen_of(&arena, job, act));
	buf_printf(out, "\"><button>%s</button> <a href=\"", acts[act].label);
	add_path(out, job);
	buf_adds(out, "\">Cancel</a></form>\n");
	page_foot(out);
	return buf_check(out, "the page", err);
}

static int rerun(struct kube *k, const cJSON *job, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct rerun_job again = { .ns = meta_namespace(job),
				   .name = meta_name(job),
				   .want.start_only = true };
	struct rerun_end unused;

	return rerun_job_from(&again.want, k, job, &arena, err) ||
			       rerun_job(k, &again, &unused, err)
		       ? -1
		       : 0;
}

int act_do(struct kube *k, const cJSON *job, enum act act, const char *seen,
	   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	enum suspension unused;

	if (!str_eq(seen, seen_of(&arena, job, act)))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s was replaced by a new one of this name: "
				 "look at it, and try again",
				 meta_name(job));
	switch (act) {
	case ACT_RERUN:
		return rerun(k, job, err);
	case ACT_DELETE:
		return deletion_start(k, job, false, err) ? permission_explain(err) : 0;
	default:
		return queue_set_suspended(k, job, act == ACT_SUSPEND, &unused, err)
			       ? permission_explain(err)
			       : 0;
	}
}
