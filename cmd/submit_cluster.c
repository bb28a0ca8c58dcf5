#include "cmd/submit_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/jobs.h"
#include "client/permission.h"
#include "client/refusal.h"
#include "cmd/cmd.h"
#include "cmd/ui/follow.h"
#include "cmd/ui/out.h"
#include "cmd/ui/render.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

#define CMD           "submit"
#define FIELD_MANAGER "kftrainer"

static void complain(void *ctx, const char *text)
{
	(void)ctx;
	cmd_complain(CMD, "%s", text);
}

static const struct reporter to = { complain, NULL };

/* A document on its way. */
struct item {
	struct doc *doc;
	cJSON *obj;    /* what is sent; the document's */
	cJSON *stored; /* what the API server made of it; or NULL */
	bool job;
	bool comes_with; /* a TrainJob whose runtime is one of the files */
	bool created;    /* now, by us */
	bool awaited;    /* there already, from us, without its workspace */
};

struct sending {
	const struct cluster_submit *opts;
	struct kube *kube;
	struct job_set set;
	struct item *list; /* in the order in which they are sent */
	size_t n;
	size_t refused, exist; /* how many */
};

static void sending_release(struct sending *s)
{
	for (size_t i = 0; i < s->n; i++)
		cJSON_Delete(s->list[i].stored);
	free(s->list);
	job_set_release(&s->set);
	if (s->kube)
		kube_free(s->kube);
}
#define cleanup_sending __attribute__((cleanup(sending_release)))

/* ---- what is sent ----------------------------------------------------------------- */

/* A TrainingRuntime without a namespace is in that of the job that refers to it. */
static void settle_runtime(struct doc *runtime, const char *ns)
{
	if (doc_is(runtime, CLUSTER_RUNTIME_KIND) || meta_namespace(runtime->given) ||
	    !cJSON_IsObject(json_get(runtime->given, "metadata")))
		return;
	meta_set_namespace(runtime->given, ns);
	meta_set_namespace(runtime->obj, ns);
}

static void add(struct sending *s, struct doc *doc, cJSON *obj)
{
	s->list[s->n++] = (struct item){ .doc = doc,
					 .obj = obj,
					 .job = doc_is(doc, TRAINJOB_KIND) };
}

/* Of --runtime-file only what a job refers to. */
static void add_runtimes(struct sending *s, const char *ns)
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
			settle_runtime(doc, at ? at : ns);
		}
		settle_runtime(doc, ns);
		if (wanted)
			add(s, doc, doc->given);
	}
}

static void add_configs(struct sending *s, const char *ns)
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

static void add_jobs(struct sending *s)
{
	struct input *in = &s->set.input;

	for (size_t i = 0; i < s->set.own; i++) {
		struct doc *doc = &in->docs[i];

		if (!doc_is(doc, TRAINJOB_KIND) || !doc->given)
			continue;
		add(s, doc, doc->given);
		s->list[s->n - 1].comes_with =
			runtime_in_files(in, doc->obj, meta_namespace(doc->obj)) != NULL;
	}
}

static size_t count_jobs(const struct sending *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->list[i].job;
	return n;
}

/* Everything, in the order in which it is sent. */
static int gather(struct sending *s, const char *ns, struct error *err)
{
	s->list = xcalloc(s->set.input.n, sizeof(*s->list));
	add_runtimes(s, ns);
	add_configs(s, ns);
	add_jobs(s);
	job_tell_left_out(&s->set, &to);
	if (!s->opts->follow || count_jobs(s) < 2)
		return 0;
	return error_set(err, ERR_USAGE,
			 "--follow shows one TrainJob, and there are %zu; --wait waits "
			 "for all",
			 count_jobs(s));
}

/* ---- what is said of it ----------------------------------------------------------- */

/* The names of the runtimes that the job could have meant. */
static int on_runtime(void *ctx, cJSON *take_obj, struct error *err)
{
	struct opt_strs *names = ctx;
	const char *name = meta_name(take_obj);

	(void)err;
	names->list = xreallocarray(names->list, names->n + 2, sizeof(*names->list));
	names->list[names->n++] = xstrdup(name ? name : "");
	names->list[names->n] = NULL;
	cJSON_Delete(take_obj);
	return 0;
}

static struct kube_ref runtime_at(const char *kind, const char *ns, const char *name)
{
	bool cluster = str_eq(kind, CLUSTER_RUNTIME_KIND);

	return (struct kube_ref){ TRAINER_API_VERSION, kind, cluster ? NULL : ns, name };
}

static int list_runtimes(struct sending *s, const char *kind, const char *ns,
			 struct opt_strs *names)
{
	const struct kube_ref all = runtime_at(kind, ns, NULL);
	const struct kube_select select = { .meta_only = true };
	const struct kube_sink sink = { .on_item = on_runtime, .ctx = names };
	struct error ignored = { 0 };

	return kube_list(s->kube, &all, &select, &sink, NULL, &ignored);
}

/* "; did you mean 'a'?", where the cluster lacks the runtime; or "". */
static const char *runtime_hint(struct arena *arena, struct sending *s,
				const struct item *item)
{
	struct runtime_ref ref = tj_runtime_ref(item->doc->obj);
	const char *ns = meta_namespace(item->doc->obj);
	struct opt_strs names = { 0 };
	const char *ret = "";
	int rc = list_runtimes(s, ref.kind, ns, &names);

	if (!job_opts_file(&s->opts->job) &&
	    !s->opts->job.runtime_kind) /* a mere name, which might be of either kind */
		rc |= list_runtimes(s, RUNTIME_KIND, ns, &names);
	if (rc)
		ret = "";
	else if (!names.n)
		ret = "; there is none here: 'kftrainer install --runtimes' brings those "
		      "that are built in";
	else if (!str_in(ref.name, names.list)) {
		ret = nearest_hint(arena, ref.name, names.list);
		if (!*ret)
			ret = arena_printf(arena, "; there are: %s",
					   str_join(arena, names.list, ", "));
	}
	for (size_t i = 0; i < names.n; i++)
		free((char *)names.list[i]);
	free(names.list);
	return ret;
}

static bool is_told(const struct refusals *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (field_path_same(r->list[i].path, path))
			return true;
	return false;
}

/* What this program finds besides, in the API server's words. */
static void tell_own(const struct doc *doc, const struct refusals *told, const char *word)
{
	for (size_t i = 0; i < doc->errs.n; i++) {
		const struct field_error *e = &doc->errs.list[i];

		if (!told || !is_told(told, e->path) || e->type == FIELD_UNKNOWN)
			doc_tell_error(doc, e, word, &to);
	}
	doc->source->untold += doc->errs.more;
}

/* An unknown field is told with what was meant instead, where that is known. */
static bool own_is_better(const struct doc *doc, const struct refusal *r)
{
	for (size_t i = 0; i < doc->errs.n; i++)
		if (doc->errs.list[i].type == FIELD_UNKNOWN &&
		    field_path_same(doc->errs.list[i].path, r->path))
			return str_ends(r->text, ": Unknown field");
	return false;
}

static void tell_exists(const struct item *item)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = meta_namespace(item->obj), *name = meta_name(item->obj);

	cmd_complain(CMD,
		     "%s%s is there already: 'kftrainer logs -f %s -n %s' shows it, "
		     "--name gives this one another name",
		     doc_place(&arena, item->doc, "metadata.name"),
		     object_title(&arena, item->obj), name, ns);
}

static void tell_refused(struct sending *s, const struct item *item, const cJSON *status,
			 const struct error *why)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_refusals struct refusals r = { 0 };

	if (why->kind == ERR_EXISTS && item->job) {
		s->exist++;
		tell_exists(item);
		return;
	}
	s->refused++;
	refusals_read(&r, status, item->obj, why->msg);
	for (size_t i = 0; i < r.n; i++) {
		const char *path = r.list[i].path;

		if (!own_is_better(item->doc, &r.list[i]) && doc_may_tell(item->doc))
			cmd_complain(
				CMD, "%s%s%s%s", doc_place(&arena, item->doc, path),
				*path ? "" : object_title(&arena, item->obj),
				*path ? "" : ": ",
				arena_printf(
					&arena, "%s%s", r.list[i].text,
					item->job && strcasestr(path, "spec.runtimeRef")
						? runtime_hint(&arena, s, item)
						: ""));
	}
	tell_own(item->doc, &r, "");
}

static void tell_warnings(const struct item *item, const cJSON *warnings)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *w;

	json_each(w, warnings)
		cmd_complain(CMD, "warning: %s%s", doc_place(&arena, item->doc, ""),
			     w->valuestring);
}

static void say(const struct sending *s, const struct item *item, const char *what)
{
	cleanup_arena struct arena arena = { 0 };

	if (s->opts->format || s->opts->quiet)
		return;
	printf("%s: %s\n", object_title(&arena, item->stored ? item->stored : item->obj),
	       what);
	fflush(stdout);
}

/* ---- asking and sending ----------------------------------------------------------- */

/* Is it the object that is at fault? Otherwise: the way to the API server, or we. */
static bool is_refusal(const struct error *err, const cJSON *status)
{
	return refusal_is_untyped(status) || err->kind == ERR_INVALID ||
	       err->kind == ERR_CONFLICT || err->kind == ERR_EXISTS ||
	       err->kind == ERR_LIMIT;
}

/* What to do about it, behind the API server's words. */
static int explain(struct error *err)
{
	const char *hint = NULL;
	size_t len = strlen(err->msg);

	if (err->kind == ERR_NOT_FOUND &&
	    strstr(err->msg, "could not find the requested"))
		hint = "; Kubeflow Trainer is not in this cluster: 'kftrainer install' "
		       "brings it";
	else if (strstr(err->msg, "failed calling webhook"))
		hint = "; is its controller running?";
	if (hint)
		snprintf(err->msg + len, sizeof(err->msg) - len, "%s", hint);
	return permission_explain(err);
}

enum asking { ASK_FIRST, ASK_AGAIN, SEND };

/* A TrainJob that a submit was stopped at before its workspace had arrived. */
static bool take_up(struct sending *s, struct item *item)
{
	const struct kube_ref ref = kube_ref_of(item->obj);
	cleanup_json cJSON *there = NULL;
	struct error ignored = { 0 };

	if (!item->job || !s->opts->cargo || !ref.name ||
	    kube_get(s->kube, &ref, &there, &ignored) ||
	    !workspace_is_awaited(there, s->opts->cargo->digest))
		return false;
	cJSON_Delete(item->stored);
	item->stored = STEAL(there);
	item->awaited = true;
	return true;
}

/* Will the workspace be taken, once the TrainJob is there? */
static int ask_workspace(struct sending *s, const struct item *item, struct error *err)
{
	if (!item->job || !s->opts->cargo)
		return 0;
	if (workspace_check_served(item->stored, err) ||
	    workspace_ask(s->kube, s->opts->cargo, item->stored, err))
		return explain(err);
	return 0;
}

/* What comes after the TrainJob itself. */
static int deliver(struct sending *s, struct item *item, struct error *err)
{
	if (!item->job || !s->opts->cargo ||
	    workspace_deliver(s->kube, s->opts->cargo, &item->stored, err) == 0)
		return 0;
	if (s->opts->keep && item->created) {
		item->created = false;
		say(s, item,
		    "stays, suspended; the same submit again delivers its workspace");
	}
	return explain(err);
}

/*
 * -1: all ends here. What is refused is told and counted. A first denial by webhooks
 * that cannot know the runtime says nothing.
 */
static int ask(struct sending *s, struct item *item, enum asking asking,
	       struct error *err)
{
	cleanup_json cJSON *status = NULL, *warnings = NULL, *stored = NULL;
	const struct kube_write how = {
		.manager = FIELD_MANAGER,
		.dry_run = asking != SEND,
		.strict = true,
		.ret_warnings = &warnings,
		.ret_refusal = &status,
	};
	struct error why = { 0 };
	int rc = item->job ? kube_create(s->kube, item->obj, &how, &stored, &why)
			   : kube_apply(s->kube, item->obj, &how, &stored, &why);
	bool unknown_runtime = asking == ASK_FIRST && item->comes_with;

	if (rc && unknown_runtime && why.kind == ERR_INVALID && why.code == 403)
		return 0;
	if (rc && is_refusal(&why, status)) {
		if (why.kind != ERR_EXISTS || !take_up(s, item))
			tell_refused(s, item, status, &why);
		return 0;
	}
	if (rc) {
		*err = why;
		return explain(err);
	}
	if (asking == (item->comes_with ? ASK_AGAIN : ASK_FIRST))
		tell_warnings(item, warnings);
	cJSON_Delete(item->stored);
	item->stored = STEAL(stored);
	return asking == SEND ? 0 : ask_workspace(s, item, err);
}

/* A job whose runtime comes with it, by our own rules: the webhooks cannot judge yet. */
static void check_here(struct sending *s, struct item *item)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *runtime, *job = item->doc->obj;

	if (!item->comes_with || item->doc->errs.n)
		return;
	if (!meta_name(job)) /* the API server makes one that is as long */
		meta_set_name(job,
			      arena_printf(&arena, "%sxxxxx", meta_generate_name(job)));
	runtime = job_resolve(&s->set, item->doc, &to);
	cJSON_Delete(runtime);
	tell_own(item->doc, NULL, "");
	s->refused += item->doc->errs.n;
}

/* Everything, before anything is stored. */
static int ask_all(struct sending *s, struct error *err)
{
	const struct input *in = &s->set.input;

	for (size_t i = 0; i < in->n; i++)
		if (!schema_knows(s->set.schema, in->docs[i].obj))
			s->refused += doc_tell(&in->docs[i], "", &to);
	for (size_t i = 0; i < s->n; i++) {
		struct item *item = &s->list[i];
		size_t before = s->refused + s->exist;

		if (ask(s, item, ASK_FIRST, err))
			return -1;
		if (s->refused + s->exist == before)
			check_here(s, item);
		if (s->refused + s->exist == before)
			tell_own(item->doc, NULL, "warning: the cluster takes it, but: ");
	}
	input_tell_rest(in, &to);
	return 0;
}

/* Was it there, as it is now? */
static const char *became(struct item *item, const cJSON *before)
{
	item->created = !before;
	if (!before)
		return "created";
	return str_eq(meta_version(before), meta_version(item->stored)) ? "unchanged"
									: "changed";
}

static int send_item(struct sending *s, struct item *item, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(item->obj);
	cleanup_json cJSON *before = NULL;
	struct error why = { 0 };
	size_t refused = s->refused + s->exist;
	const char *what = "its workspace is there now";

	if (!item->job && kube_get(s->kube, &ref, &before, &why) &&
	    why.kind != ERR_NOT_FOUND) {
		*err = why;
		return explain(err);
	}
	if (item->comes_with && !item->awaited && ask(s, item, ASK_AGAIN, err))
		return -1;
	if (s->refused + s->exist != refused)
		return 0;
	if (!item->awaited) {
		if (item->job && s->opts->cargo && s->opts->cargo->data)
			workspace_hold(item->obj, tj_suspend(item->stored));
		if (ask(s, item, SEND, err))
			return -1;
		if (s->refused + s->exist != refused)
			return 0;
		what = became(item, before);
	}
	if (deliver(s, item, err))
		return -1;
	say(s, item, what);
	return 0;
}

/* What was created before something went wrong. */
static void take_back(struct sending *s)
{
	for (size_t i = s->n; i-- > 0;) {
		struct item *item = &s->list[i];
		const struct kube_ref ref = kube_ref_of(item->stored);
		struct error why = { 0 };
		bool stays;

		if (!item->created)
			continue;
		stays = kube_delete(s->kube, &ref, "Background", meta_uid(item->stored),
				    &why);
		say(s, item, stays ? "created, and not deleted again" : "deleted again");
	}
}

static int send_all(struct sending *s, struct error *err)
{
	if (s->opts->dry_run || s->refused || s->exist)
		return 0;
	if (s->opts->shipment && shipment_upload(s->opts->shipment, s->opts->quiet, err))
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (send_item(s, &s->list[i], err) || s->refused || s->exist) {
			take_back(s);
			return err->kind ? -1 : 0;
		}
	return 0;
}

/* ---- the whole -------------------------------------------------------------------- */

static int print_stored(const struct sending *s, const char *format, struct error *err)
{
	cJSON *items = cJSON_CreateArray();
	cleanup_json cJSON *list = out_list(items);

	for (size_t i = 0; i < s->n; i++) {
		const struct item *item = &s->list[i];
		cJSON *obj = json_dup(item->stored ? item->stored : item->doc->obj);

		meta_drop_managed_fields(obj);
		cJSON_AddItemToArray(items, obj);
	}
	return render_objects(items, s->n == 1 ? items->child : list, format, err);
}

static int show(struct sending *s, struct error *err)
{
	if (s->opts->format)
		return print_stored(s, s->opts->format, err);
	for (size_t i = 0; s->opts->dry_run && i < s->n; i++) {
		if (!s->list[i].stored)
			cmd_complain(
				CMD,
				"TrainJob %s was checked here: its runtime is not in "
				"the cluster yet",
				meta_name(s->list[i].obj));
		say(s, &s->list[i], "fine (server dry run)");
	}
	return 0;
}

/* The first of the jobs that did not end well, in their order, gives the exit code. */
static int wait_all(struct sending *s, struct error *err)
{
	const struct cluster_submit *o = s->opts;
	int64_t start = clock_ms(), end = start + o->timeout_ms;
	int ret = EXIT_OK;

	for (size_t i = 0; i < s->n; i++) {
		const cJSON *job = s->list[i].stored;
		struct submit_follow how = { .ns = meta_namespace(job),
					     .name = meta_name(job),
					     .show = o->follow,
					     .quiet = o->quiet,
					     .start_ms = start };
		int code;

		if (!s->list[i].job)
			continue;
		if (o->timeout_ms)
			how.timeout_ms = end > clock_ms() ? end - clock_ms() : 1;
		code = submit_follow(s->kube, &how, err);
		if (code < 0 || code == EXIT_TIMED_OUT || stop_requested())
			return code;
		ret = ret ? ret : code;
	}
	return ret;
}

static int connect_to(struct sending *s, struct job_opts *job, struct arena *arena,
		      struct error *err)
{
	const struct where_opts where = { .cluster = s->opts->cluster, .ns = job->ns };

	if (where_connect(&s->kube, &job->default_ns, arena, &where, err))
		return -1;
	if (s->kube)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "no kubeconfig says which cluster (--kubeconfig, $KUBECONFIG, "
			 "~/.kube/config); --local runs the job on this machine");
}

/* Who may not ask is taken to mean what all can see. */
static int has_runtime(void *ctx, const struct runtime_name *which, struct error *err)
{
	const struct sending *s = ctx;
	const struct kube_ref ref = runtime_at(which->kind, which->ns, which->name);
	cleanup_json cJSON *there = NULL;
	struct error why = { 0 };

	if (job_name_check(which->name, &why))
		return 0; /* the API server says what is wrong with it */
	if (!kube_get(s->kube, &ref, &there, &why))
		return 1;
	if (why.kind == ERR_NOT_FOUND || why.kind == ERR_DENIED)
		return 0;
	*err = why;
	return explain(err);
}

int cluster_submit(const struct cluster_submit *opts, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_sending struct sending s = { .opts = opts };
	struct job_opts job = opts->job;

	job.has_runtime = has_runtime;
	job.ctx = &s;
	if (connect_to(&s, &job, &arena, err) || job_set_read(&s.set, &job, &to, err) ||
	    gather(&s, job.default_ns, err))
		return -1;
	if (ask_all(&s, err) || send_all(&s, err))
		return -1;
	if (s.refused || s.exist)
		return s.refused ? EXIT_BAD_INPUT : EXIT_FAILED;
	if (show(&s, err))
		return -1;
	return opts->follow || opts->wait ? wait_all(&s, err) : EXIT_OK;
}
