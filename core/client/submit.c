/* submit.c - send a submission as a dry run, then store it (client/submit.h). */
#include "client/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/jobs.h"
#include "client/refusal.h"
#include "kube/named.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

#define FIELD_MANAGER "kftrainer"
#define BEING_DELETED "object is being deleted: "

void submission_release(struct submission *s)
{
	for (size_t i = 0; i < s->n; i++)
		cJSON_Delete(s->list[i].stored);
	free(s->list);
	job_set_release(&s->set);
}

static const struct reporter *notes(const struct submission *s)
{
	return &s->conf->out.notes;
}

/* ---- documents -------------------------------------------------------------------- */

/* Put a TrainingRuntime without a namespace into that of the job that refers to it. */
static void set_runtime_namespace(struct doc *runtime, const char *ns)
{
	if (doc_is(runtime, CLUSTER_RUNTIME_KIND) || meta_namespace(runtime->given) ||
	    !cJSON_IsObject(json_get(runtime->given, "metadata")))
		return;
	meta_set_namespace(runtime->given, ns);
	meta_set_namespace(runtime->obj, ns);
}

static void add(struct submission *s, struct doc *doc, cJSON *obj)
{
	s->list[s->n++] = (struct submit_item){ .doc = doc,
						.obj = obj,
						.job = doc_is(doc, TRAINJOB_KIND) };
}

/* Runtimes of --runtime-file are sent only if a job refers to them. */
static void add_runtimes(struct submission *s, const char *ns)
{
	struct input *in = &s->set.input;

	for (size_t i = 0; i < in->n; i++) {
		struct doc *doc = &in->docs[i];
		bool wanted = i < s->set.own;

		if (!doc_is_runtime(doc) || !doc->given)
			continue;
		for (size_t k = 0; k < s->set.own; k++) {
			const cJSON *job = in->docs[k].obj;
			const char *at = meta_namespace(job);

			if (!doc_is(&in->docs[k], TRAINJOB_KIND) ||
			    runtime_in_files(in, job, at) != doc)
				continue;
			wanted = true;
			set_runtime_namespace(doc, at ? at : ns);
		}
		set_runtime_namespace(doc, ns);
		if (wanted)
			add(s, doc, doc->given);
	}
}

static void add_configs(struct submission *s, const char *ns)
{
	for (size_t i = 0; i < s->set.own; i++) {
		struct doc *doc = &s->set.input.docs[i];

		if (!doc_is_config(doc))
			continue;
		if (!meta_namespace(doc->obj))
			meta_set_namespace(doc->obj, ns);
		add(s, doc, doc->obj);
	}
}

static void add_jobs(struct submission *s)
{
	struct input *in = &s->set.input;

	for (size_t i = 0; i < s->set.own; i++) {
		struct doc *doc = &in->docs[i];

		if (!doc_is(doc, TRAINJOB_KIND) || !doc->given)
			continue;
		add(s, doc, doc->given);
		s->list[s->n - 1].has_own_runtime =
			runtime_in_files(in, doc->obj, meta_namespace(doc->obj)) != NULL;
	}
}

size_t submission_jobs(const struct submission *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->list[i].job;
	return n;
}

/* List the documents in the sending order. */
static void collect(struct submission *s, const char *ns)
{
	s->list = xcalloc(s->set.input.n, sizeof(*s->list));
	add_runtimes(s, ns);
	add_configs(s, ns);
	add_jobs(s);
	job_warn_ignored(&s->set, notes(s));
}

/* ---- reports ---------------------------------------------------------------------- */

/* "; did you mean 'a'?" if the cluster lacks the runtime; else "". */
static const char *runtime_hint(struct arena *arena, struct submission *s,
				const struct submit_item *item)
{
	struct runtime_ref ref = tj_runtime_ref(item->doc->obj);
	const char *ns = meta_namespace(item->doc->obj), *hint;
	cleanup_json cJSON *list = cJSON_CreateArray();
	/* a name without a kind may be of either kind */
	bool either = !job_opts_file(&s->job) && !s->job.runtime_kind;
	const char **names;

	if (job_runtimes(s->kube, ref.kind, ns, true, list, IGNORED) ||
	    (either && job_runtimes(s->kube, RUNTIME_KIND, ns, true, list, IGNORED)))
		return "";
	if (!list->child)
		return "; the cluster has no runtimes: 'kftrainer install --runtimes' "
		       "installs the built-in ones";
	names = meta_names(arena, list);
	if (str_in(ref.name, names))
		return "";
	hint = nearest_hint(arena, ref.name, names);
	return *hint ? hint
		     : arena_printf(arena, "; available: %s",
				    str_join(arena, names, ", "));
}

static bool is_covered(const struct refusals *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (field_path_same(r->list[i].path, path))
			return true;
	return false;
}

/* Does our message have a suggestion, which the API server's lacks? */
static bool has_advice(const struct field_error *e)
{
	return e->type == FIELD_UNKNOWN ||
	       (e->type == FIELD_TYPE_INVALID && strstr(e->detail, "\"; "));
}

/* Report our own errors; if `refusals` has one of the field, only those with advice. */
static void report_own(const struct submission *s, const struct doc *doc,
		       const struct refusals *refusals, const char *word)
{
	for (size_t i = 0; i < doc->errs.n; i++) {
		const struct field_error *e = &doc->errs.list[i];

		if (!refusals || !is_covered(refusals, e->path) || has_advice(e))
			doc_report_error(doc, e, word, notes(s));
	}
	doc->source->unreported += doc->errs.more;
}

static bool own_is_better(const struct doc *doc, const struct refusal *r)
{
	for (size_t i = 0; i < doc->errs.n; i++) {
		const struct field_error *e = &doc->errs.list[i];

		if (has_advice(e) && field_path_same(e->path, r->path))
			return e->type != FIELD_UNKNOWN ||
			       str_ends(r->text, ": Unknown field");
	}
	return false;
}

static void report_exists(const struct submission *s, const struct submit_item *item,
			  const char *message)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = meta_namespace(item->obj), *name = meta_name(item->obj);

	if (message && str_starts(message, BEING_DELETED)) {
		reporter_line(notes(s),
			      "%s%s is still being deleted: submit again once it is "
			      "gone, see 'kftrainer why%s %s -n %s', or choose another "
			      "name with --name",
			      doc_place(&arena, item->doc, "metadata.name"),
			      meta_title(&arena, item->obj), kube_named(s->kube), name,
			      ns);
		return;
	}
	reporter_line(
		notes(s),
		"%s%s already exists: see 'kftrainer logs -f%s %s -n %s', or choose "
		"another name with --name",
		doc_place(&arena, item->doc, "metadata.name"),
		meta_title(&arena, item->obj), kube_named(s->kube), name, ns);
}

static void report_refused(struct submission *s, const struct submit_item *item,
			   const cJSON *status, const struct error *why)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_refusals struct refusals r = { 0 };

	if (why->kind == ERR_EXISTS && item->job) {
		s->exist++;
		report_exists(s, item, json_str(status, "message"));
		return;
	}
	s->refused++;
	refusals_read(&r, status, item->obj, why->msg);
	for (size_t i = 0; i < r.n; i++) {
		const char *path = r.list[i].path;

		if (!own_is_better(item->doc, &r.list[i]) && doc_may_report(item->doc))
			reporter_line(
				notes(s), "%s%s%s%s", doc_place(&arena, item->doc, path),
				*path ? "" : meta_title(&arena, item->obj),
				*path ? "" : ": ",
				arena_printf(
					&arena, "%s%s", r.list[i].text,
					item->job && strcasestr(path, "spec.runtimeRef")
						? runtime_hint(&arena, s, item)
						: ""));
	}
	report_own(s, item->doc, &r, "");
}

static void report_warnings(const struct submission *s, const struct submit_item *item,
			    const cJSON *warnings)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *w;

	json_each(w, warnings)
		reporter_line(notes(s), "warning: %s%s", doc_place(&arena, item->doc, ""),
			      w->valuestring);
}

static void report_outcome(const struct submission *s, const struct submit_item *item,
			   const char *what)
{
	outcome_report(&s->conf->out, item->stored ? item->stored : item->obj, what);
}

/* ---- dry run and sending ---------------------------------------------------------- */

/* Others create what the same quota counts; also clusterresourcequotas, of OpenShift. */
static bool is_lost_to_quota(const struct error *err)
{
	return err->kind == ERR_CONFLICT && strstr(err->msg, "resourcequotas");
}

/* Was the object refused? Other errors concern the connection, rights or this program. */
static bool is_refusal(const struct error *err, const cJSON *status)
{
	if (err->kind == ERR_CONFLICT)
		return !is_lost_to_quota(err);
	return refusal_is_untyped(status) || err->kind == ERR_INVALID ||
	       err->kind == ERR_EXISTS || err->kind == ERR_LIMIT;
}

/* What an API server says of a webhook's pod to which it has no connection. */
static bool is_cut_off(const char *message)
{
	static const char *const signs[] = { "context deadline exceeded",
					     "Client.Timeout exceeded",
					     "i/o timeout",
					     "Address is not allowed",
					     "no route to host",
					     "network is unreachable" };

	for (size_t i = 0; i < N_ELEMENTS(signs); i++)
		if (strstr(message, signs[i]))
			return true;
	return false;
}

/* Append advice to the API server's message. Always -1. */
static int explain(struct error *err)
{
	static const struct {
		const char *words, *advice;
	} etcd[] = {
		{ "mvcc: database space exceeded",
		  "; etcd stores nothing until space is freed (etcdctl compact, defrag, "
		  "alarm disarm)" },
		{ "etcdserver: request is too large",
		  "; etcd stores objects of up to 1.5 MiB" },
	};
	size_t len = strlen(err->msg);
	const char *advice = "";

	if (strstr(err->msg, "failed calling webhook"))
		advice = is_cut_off(err->msg)
				 ? "; is its controller running, and may the API server "
				   "connect to its pods (firewall, network)?"
				 : "; is its controller running?";
	if (is_lost_to_quota(err))
		advice = "; others create objects that the quota counts, too: submit "
			 "again";
	for (size_t i = 0; i < N_ELEMENTS(etcd); i++)
		if (strstr(err->msg, etcd[i].words))
			advice = etcd[i].advice;
	snprintf(err->msg + len, sizeof(err->msg) - len, "%s", advice);
	return job_explain(err);
}

enum send_mode { DRY_RUN, DRY_RUN_AGAIN, SEND };

/* Does the TrainJob exist, from a submit that stopped before its upload? Continue it. */
static bool resume_half_submitted(struct submission *s, struct submit_item *item)
{
	const struct kube_ref ref = kube_ref_of(item->obj);
	cleanup_json cJSON *stored = NULL;

	if (!item->job || !s->conf->upload || !ref.name ||
	    kube_get(s->kube, &ref, &stored, IGNORED) ||
	    !workspace_is_awaited(stored, s->conf->upload->digest))
		return false;
	cJSON_Delete(item->stored);
	item->stored = STEAL(stored);
	item->half_submitted = true;
	return true;
}

/* Will the API server accept the workspace once the TrainJob exists? */
static int workspace_dry_run(struct submission *s, const struct submit_item *item,
			     struct error *err)
{
	if (!item->job || !s->conf->upload)
		return 0;
	if (workspace_check_served(item->stored, err) ||
	    workspace_upload_dry_run(s->kube, s->conf->upload, item->stored, err))
		return explain(err);
	return 0;
}

/* Upload the workspace of a stored TrainJob. */
static int upload_workspace(struct submission *s, struct submit_item *item,
			    struct error *err)
{
	if (!item->job || !s->conf->upload ||
	    workspace_upload_send(s->kube, s->conf->upload, &item->stored, err) == 0)
		return 0;
	if (s->conf->keep && item->created) {
		item->created = false;
		report_outcome(
			s, item,
			"kept, suspended; repeat this submit to deliver its workspace");
	}
	return explain(err);
}

/*
 * Send one document, or try to by a dry run. 0, also after a refusal, which is reported
 * and counted. With DRY_RUN, a denial by webhooks that do not know the job's own
 * runtime yet is ignored.
 */
static int send_or_dry_run(struct submission *s, struct submit_item *item,
			   enum send_mode mode, struct error *err)
{
	cleanup_json cJSON *status = NULL, *warnings = NULL, *stored = NULL;
	const struct kube_write how = {
		.manager = FIELD_MANAGER,
		.dry_run = mode != SEND,
		.strict = true,
		.ret_warnings = &warnings,
		.ret_refusal = &status,
	};
	struct error why = { 0 };
	int rc = item->job ? kube_create(s->kube, item->obj, &how, &stored, &why)
			   : kube_apply(s->kube, item->obj, &how, &stored, &why);
	bool unknown_runtime = mode == DRY_RUN && item->has_own_runtime;

	if (rc && unknown_runtime && why.kind == ERR_INVALID && why.code == 403)
		return 0;
	if (rc && is_refusal(&why, status)) {
		if (why.kind != ERR_EXISTS || !resume_half_submitted(s, item))
			report_refused(s, item, status, &why);
		return 0;
	}
	if (rc) {
		*err = why;
		return explain(err);
	}
	if (mode == (item->has_own_runtime ? DRY_RUN_AGAIN : DRY_RUN))
		report_warnings(s, item, warnings);
	cJSON_Delete(item->stored);
	item->stored = STEAL(stored);
	return mode == SEND ? 0 : workspace_dry_run(s, item, err);
}

/* Check a job with its own runtime by our rules: the webhooks do not know it yet. */
static void check_own_runtime(struct submission *s, struct submit_item *item)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *runtime, *job = item->doc->obj;

	if (!item->has_own_runtime || item->doc->errs.n)
		return;
	if (!meta_name(job)) /* the API server generates one of this length */
		meta_set_name(job,
			      arena_printf(&arena, "%sxxxxx", meta_generate_name(job)));
	runtime = job_resolve(&s->set, item->doc, notes(s));
	cJSON_Delete(runtime);
	report_own(s, item->doc, NULL, "");
	s->refused += item->doc->errs.n;
}

int submission_dry_run(struct submission *s, struct error *err)
{
	const struct input *in = &s->set.input;

	for (size_t i = 0; i < in->n; i++)
		if (!schema_knows(s->set.schema, in->docs[i].obj))
			s->refused += doc_report(&in->docs[i], "", notes(s));
	for (size_t i = 0; i < s->n; i++) {
		struct submit_item *item = &s->list[i];
		size_t before = s->refused + s->exist;

		if (send_or_dry_run(s, item, DRY_RUN, err))
			return -1;
		if (s->refused + s->exist == before)
			check_own_runtime(s, item);
		if (s->refused + s->exist == before)
			report_own(s, item->doc, NULL,
				   "warning: accepted by the cluster, but ");
	}
	input_report_rest(in, notes(s));
	return 0;
}

static int send_item(struct submission *s, struct submit_item *item, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(item->obj);
	cleanup_json cJSON *before = NULL;
	struct error why = { 0 };
	size_t refused = s->refused + s->exist;
	const char *what = "workspace delivered";

	if (!item->job && kube_get(s->kube, &ref, &before, &why) &&
	    why.kind != ERR_NOT_FOUND) {
		*err = why;
		return explain(err);
	}
	if (item->has_own_runtime && !item->half_submitted &&
	    send_or_dry_run(s, item, DRY_RUN_AGAIN, err))
		return -1;
	if (s->refused + s->exist != refused)
		return 0;
	if (!item->half_submitted) {
		if (item->job && workspace_upload_is_due(s->conf->upload))
			workspace_hold(item->obj, tj_suspend(item->stored));
		if (send_or_dry_run(s, item, SEND, err))
			return -1;
		if (s->refused + s->exist != refused)
			return 0;
		item->created = !before;
		what = outcome_of(before, item->stored);
	}
	if (upload_workspace(s, item, err))
		return -1;
	report_outcome(s, item, what);
	return 0;
}

/* Delete the objects that were created before a failure, the last one first. */
static void delete_created(struct submission *s)
{
	for (size_t i = s->n; i-- > 0;) {
		struct submit_item *item = &s->list[i];
		const struct kube_ref ref = kube_ref_of(item->stored);
		bool stays;

		if (!item->created)
			continue;
		stays = kube_delete(s->kube, &ref, "Background", meta_uid(item->stored),
				    IGNORED);
		report_outcome(s, item,
			       stays ? "created, but could not be deleted again"
				     : "deleted again");
	}
}

int submission_send(struct submission *s, struct error *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (send_item(s, &s->list[i], err) || s->refused || s->exist) {
			delete_created(s);
			return err->kind ? -1 : 0;
		}
	return 0;
}

/* ---- reading -------------------------------------------------------------------------- */

/* job_opts.get_runtime */
static int get_runtime(void *ctx, const struct runtime_name *which, cJSON **ret,
		       struct error *err)
{
	const struct submission *s = ctx;
	const struct kube_ref ref = job_runtime_ref(which->kind, which->ns, which->name);
	struct error why = { 0 };

	if (name_check_job(which->name, &why))
		return 0; /* the API server reports the invalid name */
	if (!kube_get(s->kube, &ref, ret, &why) || why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return why.kind == ERR_DENIED ? -1 : explain(err);
}

int submission_read(struct submission *s, struct kube *k, const struct submit_conf *conf,
		    struct error *err)
{
	*s = (struct submission){ .conf = conf, .kube = k, .job = conf->job };
	s->job.get_runtime = get_runtime;
	s->job.ctx = s;
	if (job_set_read(&s->set, &s->job, notes(s), err))
		return -1;
	collect(s, s->job.default_ns);
	return 0;
}
