#include "manager/watch.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/pods.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/status.h"
#include "trainer/trainjob.h"

#define OLD_FINALIZER TRAINER_GROUP "/resource-in-use"
#define LAST_APPLIED  "kubectl.kubernetes.io/last-applied-configuration"

enum watch_kind {
	WATCH_TRAINJOB,
	WATCH_JOBSET,
	WATCH_COSCHEDULING,
	WATCH_VOLCANO,
	WATCH_LIMIT_RANGE,
	WATCH_CLASS,
	WATCH_RUNTIME,
	WATCH_CLUSTER_RUNTIME,
	WATCH_POD,
	N_WATCHES,
};

/* One watch, as its informer's thread knows it. */
struct source {
	struct watches *w;
	enum watch_kind which;
	struct informer *informer;
};

/*
 * Events that follow one another come together: a wake-up costs some 80 us, whatever it
 * is for, most of it a cold cache.
 */
enum {
	GATHER_MS = 100,
	FIRST_LOOK_MS = 10000, /* so long what follows it is waited for */
};

struct watches {
	struct watches_conf conf;
	struct source sources[N_WATCHES];
};

/* ---- what is kept ---- */

static bool keep_trainjob(cJSON *obj)
{
	meta_drop_managed_fields(obj);
	json_del(obj, JSON_PATH("metadata", "annotations", LAST_APPLIED));
	return true;
}

static bool keep_jobset(cJSON *obj)
{
	jobset_digest(obj);
	return true;
}

static bool is_of_trainjob(const cJSON *obj)
{
	const cJSON *owner = meta_controller(obj);

	return meta_is(owner, TRAINER_GROUP, TRAINJOB_KIND);
}

static bool keep_owned(cJSON *obj)
{
	if (!is_of_trainjob(obj))
		return false;
	meta_digest(obj);
	return true;
}

static bool keep_name(cJSON *obj)
{
	meta_digest(obj);
	return true;
}

static bool has_old_finalizer(const cJSON *obj)
{
	const cJSON *f;

	json_each(f, meta_finalizers(obj))
		if (str_eq(f->valuestring, OLD_FINALIZER))
			return true;
	return false;
}

static bool keep_old_runtime(cJSON *obj)
{
	if (!has_old_finalizer(obj))
		return false;
	meta_digest(obj);
	return true;
}

/* ---- which TrainJobs it concerns ---- */

static void add_by(void (*how)(struct workqueue *q, const char *key), struct workqueue *q,
		   const char *ns, const char *name)
{
	cleanup_arena struct arena arena = { 0 };

	if (q && name)
		how(q, informer_key(&arena, ns, name));
}

static void add(struct workqueue *q, const char *ns, const char *name)
{
	add_by(workqueue_add, q, ns, name);
}

/* A TrainJob that was worked on before us: of the first list it makes way for new ones. */
static void add_known(struct source *s, const char *ns, const char *name)
{
	bool synced = s->informer && informer_synced(s->informer);

	add_by(synced ? workqueue_add : workqueue_add_later, s->w->conf.trainjobs, ns,
	       name);
}

/* Has nothing of what is kept changed, a member aside (or NULL)? */
static bool is_same(const cJSON *was, const cJSON *is, const char *aside)
{
	const cJSON *member;

	if (!was || !is || !meta_is_same(was, is))
		return false;
	json_each(member, is)
		if (!str_eq(member->string, "metadata") &&
		    !str_eq(member->string, aside) &&
		    !json_equal(member, json_get(was, member->string)))
			return false;
	return true;
}

/* Does its status say what is asked for? */
static bool is_settled(const cJSON *tj)
{
	const cJSON *status = json_get(tj, "status");
	const cJSON *suspended = status_condition(status, COND_SUSPENDED);

	return json_get(status, "conditions") &&
	       str_eq(json_str(suspended, "status"), "True") == tj_suspend(tj);
}

/* The status is ours, and the status server's: it does not ask for anything. */
static void on_trainjob(struct source *s, const cJSON *was, const cJSON *is)
{
	const cJSON *obj = is ? is : was;

	if (is_same(was, is, "status"))
		return;
	if (is_settled(obj))
		add_known(s, meta_namespace(obj), meta_name(obj));
	else
		add(s->w->conf.trainjobs, meta_namespace(obj), meta_name(obj));
}

static void wake_owner(struct source *s, const cJSON *obj)
{
	if (is_of_trainjob(obj))
		add_known(s, meta_namespace(obj), owner_name(meta_controller(obj)));
}

/* One of a TrainJob's name that was not its own has stood in its way. */
static void wake_namesake(struct source *s, const cJSON *obj)
{
	cleanup_json cJSON *tj = informer_get(s->w->sources[WATCH_TRAINJOB].informer,
					      meta_namespace(obj), meta_name(obj));

	if (tj)
		add(s->w->conf.trainjobs, meta_namespace(obj), meta_name(obj));
}

static void on_owned(struct source *s, const cJSON *was, const cJSON *is)
{
	const char *before = owner_uid(meta_controller(was));

	if (is)
		wake_owner(s, is);
	if (!was || (is && str_eq(before, owner_uid(meta_controller(is)))))
		return;
	wake_owner(s, was);
	wake_namesake(s, was);
}

/*
 * What its controller says first: that none of its Jobs does anything yet. More follows
 * in a moment, where there are many in some seconds.
 */
static bool is_first_look(const cJSON *was, const cJSON *is)
{
	const cJSON *c;

	if (!was || !is || !is_of_trainjob(is) || !meta_is_same(was, is))
		return false;
	json_each(c, json_get(is, "status", "conditions"))
		if (!str_eq(json_str(c, "type"), "Suspended"))
			return false;
	return jobset_has_status(is) && !jobset_has_status(was) && !jobset_has_begun(is);
}

static void add_after_look(struct workqueue *q, const char *key)
{
	workqueue_add_after(q, key, FIRST_LOOK_MS);
}

/* A new one of which nothing is said yet is our own writing. */
static void on_jobset(struct source *s, const cJSON *was, const cJSON *is)
{
	if (is_same(was, is, NULL) || (!was && is && !jobset_has_status(is)))
		return;
	if (is_first_look(was, is))
		add_by(add_after_look, s->w->conf.trainjobs, meta_namespace(is),
		       owner_name(meta_controller(is)));
	else
		on_owned(s, was, is);
}

struct suspended {
	struct source *s;
	const char *ns;    /* of these only; NULL: all */
	const char *class; /* whose runtime names it; NULL: any */
	struct map looked; /* runtime -> "" or "names it" */
};

static bool wake_suspended(void *ctx, const cJSON *tj)
{
	struct suspended *to = ctx;

	if (tj_suspend(tj) && str_eq(meta_namespace(tj), to->ns))
		add(to->s->w->conf.trainjobs, to->ns, meta_name(tj));
	return true;
}

/* Those of the first list come while everything is queued anyway. */
static struct informer *trainjobs_once_synced(const struct source *s)
{
	struct informer *trainjobs = s->w->sources[WATCH_TRAINJOB].informer;

	return informer_synced(trainjobs) ? trainjobs : NULL;
}

static void on_limit_range(struct source *s, const cJSON *was, const cJSON *is)
{
	struct informer *trainjobs = trainjobs_once_synced(s);
	struct suspended to = { .s = s, .ns = meta_namespace(is ? is : was) };

	if (trainjobs)
		informer_each(trainjobs, wake_suspended, &to);
}

/* ---- RuntimeClass ---- */

static const char names_it[] = "yes", does_not[] = "no";

static bool runtime_names_class(const cJSON *runtime, const char *class)
{
	const cJSON *rjob;

	json_each(rjob, runtime_jobs(runtime))
		if (str_eq(pod_runtime_class(rjob_pod_spec_const(rjob)), class))
			return true;
	return false;
}

/* Each runtime is asked for once an event. One that cannot be read counts as naming it. */
static bool job_names_class(struct suspended *to, const cJSON *tj)
{
	struct runtime_ref want = tj_runtime_ref(tj);
	const char *ns = runtime_ref_is_cluster(&want) ? NULL : meta_namespace(tj);
	struct kube_ref ref = { TRAINER_API_VERSION, want.kind, ns, want.name };
	cleanup_arena struct arena arena = { 0 };
	const char *key = arena_printf(&arena, "%s/%s", ns ? ns : "", want.name);
	const char *known = map_get(&to->looked, key);
	struct error err = { 0 };

	if (!known) {
		cleanup_json cJSON *runtime = NULL;

		known = names_it;
		if (kube_get(to->s->w->conf.kube, &ref, &runtime, &err) == 0 &&
		    !runtime_names_class(runtime, to->class))
			known = does_not;
		map_put(&to->looked, key, (void *)known);
	}
	return known == names_it;
}

static bool wake_of_class(void *ctx, const cJSON *tj)
{
	struct suspended *to = ctx;

	if (tj_suspend(tj) && job_names_class(to, tj))
		add(to->s->w->conf.trainjobs, meta_namespace(tj), meta_name(tj));
	return !stop_requested();
}

static void on_class(struct source *s, const cJSON *was, const cJSON *is)
{
	struct informer *trainjobs = trainjobs_once_synced(s);
	struct suspended to = { .s = s, .class = meta_name(is ? is : was) };

	if (trainjobs)
		informer_each(trainjobs, wake_of_class, &to);
	map_release(&to.looked, NULL);
}

/* ---- runtimes ---- */

static void on_runtime(struct source *s, const cJSON *was, const cJSON *is)
{
	(void)was;
	if (is)
		add(s->w->conf.runtimes, meta_namespace(is), meta_name(is));
}

static void on_cluster_runtime(struct source *s, const cJSON *was, const cJSON *is)
{
	(void)was;
	if (is)
		add(s->w->conf.cluster_runtimes, NULL, meta_name(is));
}

/* ---- the table ---- */

/* How a kind is watched. Order: TrainJobs first, on which others look. */
static const struct watch_row {
	const char *api_version, *kind;
	struct kube_select select;
	bool (*keep)(cJSON *obj);
	void (*on)(struct source *s, const cJSON *was, const cJSON *is);
} rows[N_WATCHES] = {
	[WATCH_TRAINJOB] = { TRAINER_API_VERSION, TRAINJOB_KIND, .keep = keep_trainjob,
			     .on = on_trainjob },
	[WATCH_JOBSET] = { JOBSET_API_VERSION,
			   JOBSET_KIND,
			   { .without = "replicatedJobs" },
			   keep_jobset,
			   on_jobset },
	[WATCH_COSCHEDULING] = { "scheduling.x-k8s.io/v1alpha1",
				 "PodGroup",
				 { .meta_only = true },
				 keep_owned,
				 on_owned },
	[WATCH_VOLCANO] = { "scheduling.volcano.sh/v1beta1",
			    "PodGroup",
			    { .meta_only = true },
			    keep_owned,
			    on_owned },
	[WATCH_LIMIT_RANGE] = { "v1",
				"LimitRange",
				{ .meta_only = true },
				keep_name,
				on_limit_range },
	[WATCH_CLASS] = { "node.k8s.io/v1",
			  "RuntimeClass",
			  { .meta_only = true },
			  keep_name,
			  on_class },
	[WATCH_RUNTIME] = { TRAINER_API_VERSION,
			    RUNTIME_KIND,
			    { .meta_only = true },
			    keep_old_runtime,
			    on_runtime },
	[WATCH_CLUSTER_RUNTIME] = { TRAINER_API_VERSION,
				    CLUSTER_RUNTIME_KIND,
				    { .meta_only = true },
				    keep_old_runtime,
				    on_cluster_runtime },
	[WATCH_POD] = { "v1",
			"Pod",
			{ .label_selector = POD_JOBSET_LABEL },
			pod_facts_keep,
			NULL },
};

static void on_event(void *ctx, enum informer_event event, const cJSON *was,
		     const cJSON *is)
{
	struct source *s = ctx;

	if (s->which == WATCH_POD)
		pod_facts_event(s->w->conf.pods, event, was, is);
	else
		rows[s->which].on(s, was, is);
}

static void on_error(void *ctx, const struct error *err)
{
	const struct source *s = ctx;

	log_warn("watch", LOG_STR("kind", rows[s->which].kind), LOG_ERR(err));
}

static int start(struct source *s, struct error *err)
{
	const struct watch_row *row = &rows[s->which];
	const struct informer_conf conf = {
		.kube = s->w->conf.kube,
		.api_version = row->api_version,
		.kind = row->kind,
		.select = row->select,
		.keep = row->keep,
		.gather_ms = GATHER_MS,
		.on_event = on_event,
		.ctx = s,
		.optional = s->which != WATCH_TRAINJOB,
		.on_error = on_error,
	};

	return informer_start(&s->informer, &conf, err);
}

int watches_start(struct watches **ret, const struct watches_conf *conf,
		  struct error *err)
{
	struct watches *w = xcalloc(1, sizeof(*w));

	w->conf = *conf;
	for (int i = 0; i < N_WATCHES; i++) {
		w->sources[i] = (struct source){ .w = w, .which = (enum watch_kind)i };
		if (i == WATCH_POD && !conf->pods)
			continue;
		if (start(&w->sources[i], err)) {
			watches_stop(w);
			return error_wrap(err, "watch %s", rows[i].kind);
		}
	}
	*ret = w;
	return 0;
}

int watches_wait(struct watches *w, struct error *err)
{
	static const enum watch_kind needed[] = { WATCH_TRAINJOB, WATCH_JOBSET };

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (informer_wait(w->sources[needed[i]].informer, INT32_MAX, err))
			return -1;
	return 0;
}

void watches_stop(struct watches *w)
{
	if (!w)
		return;
	/* The others look at the TrainJobs: these go last. */
	for (int i = N_WATCHES - 1; i >= 0; i--)
		if (w->sources[i].informer)
			informer_stop(w->sources[i].informer);
	free(w);
}

struct informer *watches_trainjobs(struct watches *w)
{
	return w->sources[WATCH_TRAINJOB].informer;
}

struct informer *watches_jobsets(struct watches *w)
{
	return w->sources[WATCH_JOBSET].informer;
}
