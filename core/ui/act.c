/* act.c - suspends, resumes and deletes jobs. */
#include "ui/act.h"

#include <inttypes.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/deletion.h"
#include "client/queue.h"
#include "kube/permission.h"
#include "kube/review.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "ui/html.h"
#include "ui/page.h"

static const struct {
	const char *word, *label, *verb, *text;
} acts[N_ACTS] = {
	[ACT_SUSPEND] = { "suspend", "Suspend", "patch",
			  "Its pods are deleted and unsaved state is lost. The job keeps its "
			  "name and settings until it is resumed." },
	[ACT_RESUME] = { "resume", "Resume", "patch",
			 "The controller creates its pods again." },
	[ACT_DELETE] = { "delete", "Delete", "delete",
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
	if (act == ACT_DELETE)
		return true;
	return !ended && (queued || tj_suspend(job) == (act == ACT_RESUME));
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

static void add_grey(struct buf *out, const cJSON *job, enum act act)
{
	cleanup_arena struct arena arena = { 0 };
	const struct permission p = { .verb = acts[act].verb,
				      .resource = "trainjobs",
				      .group = TRAINER_GROUP,
				      .ns = meta_namespace(job) };

	buf_printf(out,
		   "<button disabled aria-describedby=\"no-%s\">%s</button>"
		   "<span class=\"note\" id=\"no-%s\">you may not ",
		   acts[act].word, acts[act].label, acts[act].word);
	html_str(out, permission_what(&arena, &p));
	buf_adds(out, " (");
	html_str(out, permission_check(&arena, &p));
	buf_adds(out, ")</span>\n");
}

void act_links(struct buf *out, struct kube *k, const cJSON *job)
{
	const struct kube_ref ref = kube_ref_of(job);
	const char *reviewed = NULL;
	bool allowed = true;

	buf_adds(out, "<div class=\"acts\">\n");
	for (int i = 0; i < N_ACTS; i++) {
		if (!makes_sense(job, (enum act)i))
			continue;
		/* Without an answer, the API server will say it of the act itself. */
		if (!str_eq(reviewed, acts[i].verb) &&
		    access_review_self(k, &ref, acts[i].verb, &allowed, IGNORED))
			allowed = true;
		reviewed = acts[i].verb;
		if (allowed)
			add_link(out, job, (enum act)i);
		else
			add_grey(out, job, (enum act)i);
	}
	buf_adds(out, "</div>\n");
}

int act_ask(struct buf *out, struct kube *k, const cJSON *job, enum act act,
	    const char *csrf, struct error *err)
{
	cleanup_buf struct buf title = { .max = 1024 };
	int64_t pods;

	if (!makes_sense(job, act))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s is %s: it cannot be %s%s", meta_name(job),
				 meta_is_deleted(job) ? "being deleted"
						      : status_state(tj_status(job)),
				 acts[act].word, act == ACT_SUSPEND ? "ed" : "d");
	buf_printf(&title, "%s %s?", acts[act].label, meta_name(job));
	page_head(out, (const char *)title.data);
	buf_printf(out, "<p>%s", acts[act].text);
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
	html_str(out, meta_uid(job));
	buf_printf(out, "\"><button>%s</button> <a href=\"", acts[act].label);
	add_path(out, job);
	buf_adds(out, "\">Cancel</a></form>\n");
	page_foot(out);
	return buf_check(out, "the page", err);
}

int act_do(struct kube *k, const cJSON *job, enum act act, const char *uid,
	   struct error *err)
{
	enum suspension unused;

	if (!str_eq(uid, meta_uid(job)))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s was replaced by a new one of this name: "
				 "look at it, and try again",
				 meta_name(job));
	if (act == ACT_DELETE)
		return deletion_start(k, job, false, err) ? permission_explain(err) : 0;
	if (queue_set_suspended(k, job, act == ACT_SUSPEND, &unused, err))
		return permission_explain(err);
	return 0;
}
