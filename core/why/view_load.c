/* view_load.c - the API calls of view_load(), in their order (why/view.h). */
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/screen.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/named.h"
#include "kube/permission.h"
#include "logtext/alone.h"
#include "net/http.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/runtime.h"
#include "trainer/scheduling.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/devices.h"
#include "why/foreign.h"
#include "why/view.h"

enum {
	MAX_NAMES = 1000, /* candidates for "did you mean" */
	MAX_SUSPECTS = 3, /* pods, and Jobs, whose events are listed */
	MAX_CLAIMS = 4,
	MAX_WORKLOADS = 10000,
};

#define KUEUE_GROUP  "kueue.x-k8s.io"
#define QUEUE_LABEL  KUEUE_GROUP "/queue-name"
#define DEPLOYMENT   "kubeflow-trainer-controller-manager"
#define LEASE        TRAINER_GROUP
#define SYSTEM_SPACE "kubeflow-system"

struct loader {
	struct view *v;
	struct kube *k;
	const char *queue; /* the LocalQueue whose Workloads are loaded */
	const char *kind;  /* of the documents that the current list adds */
	int kept;          /* how many there were before */
};

/* ---- one call ---- */

static void record_missing(struct view *v, const char *kind)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, "Missing", "kind");
	json_put_str(doc, kind, "of");
	view_add(v, doc);
}

static void record_denied(struct view *v, const char *resource, const struct error *why)
{
	struct permission p;
	cJSON *doc;

	if (view_is_denied(v, resource))
		return;
	doc = cJSON_CreateObject();
	json_put_str(doc, "Denied", "kind");
	json_put_str(doc, resource, "resource");
	if (str_eq(resource, VIEW_PODS_OF_ALL)) {
		json_put_str(doc, "list " VIEW_PODS_OF_ALL, "what");
		json_put_str(doc, "kubectl auth can-i list pods -A", "check");
	} else if (permission_read(&v->arena, why->msg, &p)) {
		json_put_str(doc, permission_what(&v->arena, &p), "what");
		json_put_str(doc, permission_check(&v->arena, &p), "check");
	} else {
		json_put_str(doc, why->msg, "what");
	}
	view_add(v, doc);
}

/* 0, with err cleared: 404 and 403 are recorded in the view. -1: another error. */
static int record_absence(struct loader *l, const char *kind, const char *resource,
			  struct error *err)
{
	if (err->kind == ERR_NOT_FOUND)
		record_missing(l->v, kind);
	else if (err->kind == ERR_DENIED && err->code == 403)
		record_denied(l->v, resource, err);
	else
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

static int load_one(struct loader *l, const struct kube_ref *ref, const char *resource,
		    struct error *err)
{
	cJSON *obj;

	if (kube_get(l->k, ref, &obj, err))
		return record_absence(l, ref->kind, resource, err);
	view_add(l->v, obj);
	return 0;
}

static int add_item(void *ctx, cJSON *take_obj, struct error *err)
{
	struct loader *l = ctx;

	if (str_eq(meta_kind(take_obj), "Pod"))
		pod_slim(take_obj);
	if (str_eq(meta_kind(take_obj), "Node"))
		node_slim(take_obj);
	view_add(l->v, take_obj);
	return 0;
}

static void drop_listed(void *ctx)
{
	const struct loader *l = ctx;

	view_truncate(l->v, l->kind, l->kept);
}

/* Lists documents, of which on_item() adds those of `kind` to the view. */
static int list_as(struct loader *l, const char *kind, const struct kube_ref *ref,
		   const struct kube_select *select,
		   int (*on_item)(void *ctx, cJSON *take_obj, struct error *err),
		   struct error *err)
{
	const struct kube_sink sink = { .on_item = on_item,
					.ctx = l,
					.on_restart = drop_listed };

	l->kind = kind;
	l->kept = view_size(l->v, kind);
	return kube_list(l->k, ref, select, &sink, NULL, err);
}

static int load_list(struct loader *l, const struct kube_ref *ref, const char *resource,
		     const struct kube_select *select, struct error *err)
{
	if (list_as(l, ref->kind, ref, select, add_item, err))
		return record_absence(l, ref->kind, resource, err);
	return 0;
}

/* ---- the job and its objects ---- */

struct names {
	struct arena arena;
	const char *list[MAX_NAMES + 1];
	size_t n;
};

static int add_name(void *ctx, cJSON *take_obj, struct error *err)
{
	struct names *names = ctx;

	if (names->n < MAX_NAMES && meta_name(take_obj))
		names->list[names->n++] =
			arena_strdup(&names->arena, meta_name(take_obj));
	cJSON_Delete(take_obj);
	return 0;
}

static int no_such_job(struct loader *l, struct error *err)
{
	const struct kube_ref all = { TRAINER_API_VERSION, TRAINJOB_KIND, l->v->ns,
				      NULL };
	const struct kube_select select = { .meta_only = true };
	struct names *names;
	struct kube_sink sink = { .on_item = add_name };
	struct error unused = { 0 };
	const char *hint = "";

	if (strstr(err->msg, "could not find the requested resource"))
		return error_set(err, ERR_NOT_FOUND,
				 "Kubeflow Trainer is not installed in this cluster: run "
				 "'kftrainer install'");
	sink.ctx = names = xcalloc(1, sizeof(*names));
	if (!kube_list(l->k, &all, &select, &sink, NULL, &unused) && names->n)
		hint = nearest_hint(&names->arena, l->v->name, names->list);
	if (!*hint && names->n)
		hint = arena_printf(&names->arena,
				    "; list its jobs with 'kftrainer get%s'",
				    kube_jobs_named(l->k, &names->arena, l->v->ns));
	else if (!*hint && !unused.kind)
		hint = ", which has no TrainJobs";
	if (*hint)
		error_set(err, ERR_NOT_FOUND, "no TrainJob %s in namespace %s%s",
			  l->v->name, l->v->ns, hint);
	arena_clear(&names->arena);
	free(names);
	return -1;
}

static int load_trainjob(struct loader *l, struct error *err)
{
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, l->v->ns,
				      l->v->name };
	cJSON *tj;

	if (name_check_job(l->v->name, err))
		return -1;
	if (kube_get(l->k, &ref, &tj, err)) {
		if (err->kind == ERR_NOT_FOUND)
			return no_such_job(l, err);
		return permission_explain(err);
	}
	view_add(l->v, tj);
	return 0;
}

static int load_runtime(struct loader *l, struct error *err)
{
	struct runtime_ref ref = tj_runtime_ref(l->v->trainjob);
	bool cluster = runtime_ref_is_cluster(&ref);
	const struct kube_ref at = { TRAINER_API_VERSION, ref.kind,
				     cluster ? NULL : l->v->ns, ref.name };

	if (tj_check_runtime_ref(l->v->trainjob, IGNORED))
		return 0;
	return load_one(l, &at, cluster ? "clustertrainingruntimes" : "trainingruntimes",
			err);
}

static int load_objects(struct loader *l, struct error *err)
{
	const char *ns = l->v->ns, *name = l->v->name;
	const struct kube_ref jobset = { JOBSET_API_VERSION, JOBSET_KIND, ns, name };
	const struct kube_ref jobs = { "batch/v1", "Job", ns, NULL };
	const struct kube_ref pods = { "v1", "Pod", ns, NULL };
	const struct kube_select select = {
		.label_selector = arena_printf(&l->v->arena, POD_JOBSET_LABEL "=%s", name)
	};

	if (load_one(l, &jobset, "jobsets", err) ||
	    load_list(l, &jobs, "jobs", &select, err) ||
	    load_list(l, &pods, "pods", &select, err))
		return -1;
	view_drop_others(l->v);
	return 0;
}

/* ---- events ---- */

static int load_events(struct loader *l, const char *name, struct error *err)
{
	const struct kube_ref events = { "v1", "Event", l->v->ns, NULL };
	const struct kube_select select = { .field_selector = arena_printf(
						    &l->v->arena,
						    "involvedObject.name=%s", name) };

	return load_list(l, &events, "events", &select, err);
}

static int load_events_of_job(struct loader *l, struct error *err)
{
	return load_events(l, l->v->name, err);
}

/* Events of Jobs that lack pods. */
static int load_events_of_jobs(struct loader *l, struct error *err)
{
	const cJSON *job;
	int n = 0;

	json_each(job, l->v->jobs)
		if (job_active(job) + job_ended(job) < job_parallelism(job_spec(job)) &&
		    n++ < MAX_SUSPECTS && load_events(l, meta_name(job), err))
			return -1;
	return 0;
}

/* Events of some pods with a node, and, for the autoscaler's, of one without. */
static int load_events_of_pods(struct loader *l, struct error *err)
{
	const cJSON *pod;
	int n[] = { MAX_SUSPECTS - 1, 0 };

	json_each(pod, l->v->pods)
		if (!pod_is_ready(pod) && !str_eq(pod_phase(pod), "Succeeded") &&
		    n[pod_node(pod) != NULL]++ < MAX_SUSPECTS &&
		    load_events(l, meta_name(pod), err))
			return -1;
	return 0;
}

/* ---- gangs and queues ---- */

/* Reads, of several groups, the one of the first pod that waits. */
static int load_named_group(struct loader *l, struct error *err)
{
	struct kube_ref ref = { SCHEDULING_API_VERSION, "PodGroup", l->v->ns, NULL };
	const cJSON *pod;

	json_each(pod, l->v->pods) {
		if (ref.name || pod_node(pod) || meta_is_deleted(pod))
			continue;
		ref.name = pod_native_group(pod);
		if (ref.name || !(ref.name = pod_kai_group(pod)))
			continue;
		ref.api_version = KAI_GROUP_VERSION;
	}
	return ref.name ? load_one(l, &ref, "podgroups", err) : 0;
}

/* The queue of KAI's PodGroup, and the events of the latter: whom KAI has evicted. */
static int load_kai_queue(struct loader *l, struct error *err)
{
	const struct kube_ref ref = { KAI_QUEUE_VERSION, "Queue", NULL,
				      pod_group_kai_queue(l->v->podgroup) };

	if (!ref.name)
		return 0;
	if (load_events(l, meta_name(l->v->podgroup), err))
		return -1;
	return load_one(l, &ref, "queues", err);
}

static int load_podgroup(struct loader *l, struct error *err)
{
	const char *const versions[] = { "scheduling.x-k8s.io/v1alpha1",
					 "scheduling.volcano.sh/v1beta1" };
	bool gang = runtime_pod_group_policy(l->v->runtime) != NULL;
	const cJSON *pod;

	if (load_named_group(l, err) || load_kai_queue(l, err))
		return -1;
	json_each(pod, l->v->pods)
		gang |= pod_group_name(pod) && !pod_native_group(pod) &&
			!pod_kai_group(pod);
	for (size_t i = 0; gang && i < 2 && !l->v->podgroup; i++) {
		const struct kube_ref ref = { versions[i], "PodGroup", l->v->ns,
					      l->v->name };

		if (load_one(l, &ref, "podgroups", err))
			return -1;
	}
	return 0;
}

static int add_placeholder(void *ctx, cJSON *take_obj, struct error *err)
{
	struct loader *l = ctx;

	if (!pod_is_placeholder(take_obj, l->v->trainjob)) {
		cJSON_Delete(take_obj);
		return 0;
	}
	pod_slim(take_obj);
	json_put_str(take_obj, "Placeholder", "kind");
	view_add(l->v, take_obj);
	return 0;
}

/* YuniKorn reserves resources by placeholder pods; its messages are events of those. */
static int load_placeholders(struct loader *l, struct error *err)
{
	const struct kube_ref pods = { "v1", "Pod", l->v->ns, NULL };
	const struct kube_select select = { .label_selector = arena_printf(
						    &l->v->arena, YUNIKORN_APP "=%s",
						    meta_uid(l->v->trainjob)) };
	const cJSON *pod, *waits = NULL;

	json_each(pod, l->v->pods)
		if (!waits && !pod_node(pod) && pod_task_group(pod))
			waits = pod;
	if (!waits || !meta_uid(l->v->trainjob))
		return 0;
	if (list_as(l, "Placeholder", &pods, &select, add_placeholder, err))
		return record_absence(l, "Placeholder", "pods", err);
	json_each(pod, l->v->placeholders)
		if (!pod_node(pod) && str_eq(pod_phase(pod), "Pending"))
			waits = pod;
	return load_events(l, meta_name(waits), err);
}

/* The group's preferred version, "kueue.x-k8s.io/v1beta2"; NULL: it is not served. */
static int preferred(struct loader *l, const char *group, const char **ret,
		     struct error *err)
{
	const char *path = arena_printf(&l->v->arena, "/apis/%s", group);
	cleanup_json cJSON *doc = NULL;
	const char *version;

	*ret = NULL;
	if (kube_call(l->k, "GET", path, NULL, &doc, err)) {
		if (err->kind == ERR_STOPPED || err->kind == ERR_IO ||
		    err->kind == ERR_UNTRUSTED)
			return -1;
		*err = (struct error){ 0 }; /* 403, or 503 from an aggregated API */
		return 0;
	}
	version = json_str(doc, "preferredVersion", "groupVersion");
	*ret = version ? arena_strdup(&l->v->arena, version) : NULL;
	return 0;
}

static bool is_owned(const struct view *v, const cJSON *obj)
{
	const char *uid = meta_owner_uid(meta_controller(obj));

	return uid &&
	       (str_eq(uid, meta_uid(v->trainjob)) || str_eq(uid, meta_uid(v->jobset)));
}

/* Store the job's own Workload, and others that wait in the same queue. */
static int add_workload(void *ctx, cJSON *take_obj, struct error *err)
{
	struct loader *l = ctx;

	if (!is_owned(l->v, take_obj)) {
		if (!str_eq(workload_queue(take_obj), l->queue) ||
		    !workload_waits(take_obj) ||
		    cJSON_GetArraySize(l->v->workloads) >= MAX_WORKLOADS) {
			cJSON_Delete(take_obj);
			return 0;
		}
		json_del(take_obj, JSON_PATH("spec", "podSets"));
		json_put_str(take_obj, "WaitingWorkload", "kind");
	}
	view_add(l->v, take_obj);
	return 0;
}

/* Positions in the queue, if Kueue's visibility API is served. */
static int load_positions(struct loader *l, const char *queue, struct error *err)
{
	cJSON *doc = NULL;
	const char *version, *path;

	if (preferred(l, "visibility." KUEUE_GROUP, &version, err))
		return -1;
	if (!version)
		return 0;
	path = arena_printf(&l->v->arena,
			    "/apis/%s/namespaces/%s/localqueues/%s/pendingworkloads",
			    version, l->v->ns, queue);
	if (kube_call(l->k, "GET", path, NULL, &doc, err)) {
		*err = (struct error){ 0 }; /* positions follow from the Workloads */
		return 0;
	}
	json_put_str(doc, "PendingWorkloadsSummary", "kind");
	view_add(l->v, doc);
	return 0;
}

/* Few users may read it; every error but ERR_STOPPED is ignored. */
static int load_worker(struct loader *l, const char *version, struct error *err)
{
	const struct kube_ref ref = { version, "MultiKueueCluster", NULL,
				      workload_cluster(l->v->workload) };
	cJSON *obj;

	if (!ref.name)
		return 0;
	if (!kube_get(l->k, &ref, &obj, err)) {
		view_add(l->v, obj);
		return 0;
	}
	if (err->kind == ERR_STOPPED)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

static int load_queue(struct loader *l, struct error *err)
{
	const char *label = meta_label(l->v->trainjob, QUEUE_LABEL), *version;
	const struct kube_select select = { 0 };
	struct kube_ref ref = { .kind = "Workload", .ns = l->v->ns };
	const char *queue;

	if (!label && !tj_suspend(l->v->trainjob) && tj_is_ours(l->v->trainjob))
		return 0;
	if (preferred(l, KUEUE_GROUP, &version, err))
		return -1;
	if (!version) {
		record_missing(l->v, "Kueue");
		return 0;
	}
	l->queue = label;
	ref.api_version = version;
	if (list_as(l, "WaitingWorkload", &ref, &select, add_workload, err) &&
	    record_absence(l, ref.kind, "workloads", err))
		return -1;
	if (load_worker(l, version, err))
		return -1;
	queue = l->v->workload ? workload_queue(l->v->workload) : label;
	if (!queue || !*queue || (l->v->workload && !workload_waits(l->v->workload)))
		return 0;
	ref.kind = "LocalQueue";
	ref.name = queue;
	return load_one(l, &ref, "localqueues", err) || load_positions(l, queue, err);
}

/* ---- nodes, claims ---- */

static int add_to_node(void *ctx, cJSON *take_obj, struct error *err)
{
	struct loader *l = ctx;
	cJSON *node = view_node(l->v, pod_node(take_obj));

	if (node && !pod_is_placeholder(take_obj, l->v->trainjob))
		node_add_pod(node, take_obj);
	cJSON_Delete(take_obj);
	return 0;
}

static void forget_requests(void *ctx)
{
	nodes_forget(((struct loader *)ctx)->v->nodes, "", true);
}

/* Count the requests of the pods of all namespaces on their nodes. */
static int load_pods_of_nodes(struct loader *l, struct error *err)
{
	const struct kube_ref pods = { "v1", "Pod", NULL, NULL };
	const struct kube_select running = {
		.field_selector =
			"spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
	};
	const struct kube_sink sink = { .on_item = add_to_node,
					.ctx = l,
					.on_restart = forget_requests };

	if (kube_list(l->k, &pods, &running, &sink, NULL, err))
		return record_absence(l, "PodsOfAll", VIEW_PODS_OF_ALL, err);
	return 0;
}

static int load_nodes(struct loader *l, struct error *err)
{
	const struct kube_ref nodes = { "v1", "Node", NULL, NULL };
	const struct kube_select all = { 0 };
	struct failure first;
	bool full = view_pods_with(l->v, POD_UNSCHEDULABLE, &first), lost = false;
	const cJSON *pod;

	json_each(pod, l->v->pods)
		full |= !pod_node(pod) && pod_task_group(pod);
	json_each(pod, l->v->pods)
		lost |= pod_node(pod) && !pod_is_ready(pod) &&
			(meta_is_deleted(pod) || str_eq(pod_phase(pod), "Running"));
	if (!full && !lost)
		return 0;
	if (load_list(l, &nodes, "nodes", &all, err))
		return -1;
	return full && l->v->nodes->child ? load_pods_of_nodes(l, err) : 0;
}

static int load_claims(struct loader *l, struct error *err)
{
	const cJSON *pod, *volume;
	int n = 0;

	json_each(pod, l->v->pods) {
		if (!str_eq(pod_phase(pod), "Pending"))
			continue;
		json_each(volume, pod_volumes(pod)) {
			const struct kube_ref ref = { "v1", "PersistentVolumeClaim",
						      l->v->ns,
						      foreign_volume_claim(volume) };

			if (!ref.name || n++ >= MAX_CLAIMS)
				continue;
			if (load_one(l, &ref, "persistentvolumeclaims", err) ||
			    load_events(l, ref.name, err))
				return -1;
		}
		break; /* all pods have the same claims */
	}
	return 0;
}

/* A missing object is recorded as "KIND NAME". */
static int load_device(struct loader *l, const char *kind, const char *resource,
		       const char *name, struct error *err)
{
	const struct kube_ref ref = { "resource.k8s.io/v1", kind, l->v->ns, name };
	cJSON *obj;

	if (!kube_get(l->k, &ref, &obj, err)) {
		view_add(l->v, obj);
		return 0;
	}
	return record_absence(l, arena_printf(&l->v->arena, "%s %s", kind, name),
			      resource, err);
}

/* The scheduler writes no message about pods whose device claims do not exist. */
static int load_device_claims(struct loader *l, struct error *err)
{
	const cJSON *pod, *claim;
	int n = 0;

	json_each(pod, l->v->pods) {
		if (pod_node(pod) || !pod_device_claims(pod))
			continue;
		json_each(claim, pod_device_claims(pod)) {
			const char *made = pod_device_claim(pod, claim);
			const char *template = claim_template(claim);

			if (n++ >= MAX_CLAIMS)
				break;
			if (made ? load_device(l, "ResourceClaim", "resourceclaims", made,
					       err)
				 : template && load_device(l, "ResourceClaimTemplate",
							   "resourceclaimtemplates",
							   template, err))
				return -1;
		}
		if (load_events(l, meta_name(pod), err)) /* all pods have the same */
			return -1;
		return l->v->nodes->child ? devices_load(l->v, l->k, err) : 0;
	}
	return 0;
}

/* ---- the controller ---- */

static int load_controller(struct loader *l, struct error *err)
{
	const char *ns = getenv("KUBEFLOW_SYSTEM_NAMESPACE");
	const struct kube_ref lease = { "coordination.k8s.io/v1", "Lease",
					ns && *ns ? ns : SYSTEM_SPACE, LEASE };
	const struct kube_ref deployment = { "apps/v1", "Deployment", lease.ns,
					     DEPLOYMENT };

	if (l->v->jobset || l->v->now - foreign_time(meta_created(l->v->trainjob)) <
				    VIEW_REACTION_SECONDS)
		return 0;
	return load_one(l, &deployment, "deployments", err) ||
	       load_one(l, &lease, "leases", err);
}

/* ---- logs ---- */

static int add_text(void *ctx, const void *data, size_t len, struct error *err)
{
	buf_add(ctx, data, len);
	return 0;
}

/* As a terminal shows it: of a progress bar the last state. Each line has its time. */
static const char *shown_log(struct arena *a, const char *text)
{
	cleanup_buf struct buf out = { .max = 2 * (VIEW_LOG_BYTES + 4096) };

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		const char *line = str_slice(a, text, len = strcspn(text, "\n"));
		size_t stamp = strcspn(line, " ");

		stamp += line[stamp] == ' ';
		buf_add(&out, line, stamp);
		buf_adds(&out, screen_text(a, line + stamp));
		buf_adds(&out, "\n");
	}
	return str_visible(a, out.data ? (char *)out.data : "", true);
}

static int load_log(struct loader *l, const cJSON *pod, const char *container,
		    bool previous, struct error *err)
{
	/* The API server sends the first of the lines if they are too long. */
	static const int lines[] = { VIEW_LOG_LINES, 20, 1 };
	cleanup_buf struct buf text = { .max = VIEW_LOG_BYTES + 4096 };
	struct arena *a = &l->v->arena;
	const char *log = arena_printf(a,
				       "/api/v1/namespaces/%s/pods/%s/log?container=%s"
				       "&limitBytes=%d&timestamps=true%s",
				       l->v->ns, meta_name(pod), container,
				       VIEW_LOG_BYTES, previous ? "&previous=true" : "");
	cJSON *doc;
	int failed = 0;

	for (size_t i = 0; i < N_ELEMENTS(lines) && !failed; i++) {
		buf_clear(&text);
		failed = kube_stream(l->k,
				     arena_printf(a, "%s&tailLines=%d", log, lines[i]),
				     add_text, &text, err);
		if (text.len < VIEW_LOG_BYTES)
			break;
	}
	if (failed) {
		/* Logs are optional: the node may be gone. */
		if (err->kind == ERR_DENIED && err->code == 403)
			record_denied(l->v, "pods/log", err);
		if (err->kind == ERR_STOPPED)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	doc = cJSON_CreateObject();
	json_put_str(doc, "Log", "kind");
	json_put_str(doc, meta_name(pod), "pod");
	json_put_str(doc, container, "container");
	json_put_str(doc, shown_log(&l->v->arena, text.data ? (char *)text.data : ""),
		     "text");
	view_add(l->v, doc);
	return 0;
}

/*
 * Nobody may have read the logs of pods that each train alone. The world's size is in the
 * first lines. Logs are optional: what cannot be read is left out.
 */
static int load_head(struct loader *l, const cJSON *pod, struct error *err)
{
	cleanup_buf struct buf text = { .max = VIEW_HEAD_BYTES + 4096 };
	const char *path = arena_printf(
		&l->v->arena,
		"/api/v1/namespaces/%s/pods/%s/log?container=" NODE "&limitBytes=%d",
		l->v->ns, meta_name(pod), VIEW_HEAD_BYTES);
	cJSON *doc;

	if (kube_stream(l->k, path, add_text, &text, err)) {
		if (err->kind == ERR_STOPPED)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	doc = cJSON_CreateObject();
	json_put_str(doc, "Head", "kind");
	json_put_str(doc, meta_name(pod), "pod");
	json_put_str(doc,
		     str_visible(&l->v->arena, text.data ? (char *)text.data : "", true),
		     "text");
	view_add(l->v, doc);
	return 0;
}

static int load_heads(struct loader *l, struct error *err)
{
	const cJSON *pod, *of[VIEW_HEADS];
	size_t n = 0;

	if (view_event(l->v, TRAINJOB_KIND, l->v->name, ALONE_REASON, true))
		return 0;
	json_each(pod, l->v->pods)
		if (n < VIEW_HEADS && pod_node_rank(pod) >= 0 &&
		    str_eq(pod_job(pod), NODE) &&
		    str_in(pod_phase(pod),
			   (const char *const[]){ "Running", "Succeeded", NULL }))
			of[n++] = pod;
	for (size_t i = 0; n == VIEW_HEADS && i < n; i++)
		if (load_head(l, of[i], err))
			return -1;
	return 0;
}

/* The logs of the first failures; if there are none, rank 0's current log. */
static int load_logs(struct loader *l, struct error *err)
{
	struct failure failed[VIEW_LOGS];
	size_t n = view_failures(l->v, failed, VIEW_LOGS);
	const cJSON *pod;

	for (size_t i = 0; i < n; i++)
		if (failed[i].fact.container &&
		    !json_find_const(l->v->logs, "pod", meta_name(failed[i].pod)) &&
		    load_log(l, failed[i].pod, failed[i].fact.container,
			     failed[i].fact.restarted, err))
			return -1;
	if (n)
		return 0;
	if (load_heads(l, err))
		return -1;
	if (status_finished(tj_status(l->v->trainjob)))
		return 0;
	pod = view_first_rank(l->v);
	return pod ? load_log(l, pod, NODE, false, err) : 0;
}

int view_load(struct view *ret, struct kube *k, const char *ns, const char *name,
	      struct error *err)
{
	static int (*const steps[])(struct loader * l, struct error * err) = {
		load_trainjob,       load_runtime,  load_objects,
		load_events_of_job,  load_queue,    load_events_of_jobs,
		load_events_of_pods, load_podgroup, load_placeholders,
		load_nodes,          load_claims,   load_device_claims,
		load_controller,     load_logs,
	};
	struct view v;
	struct loader l = { .v = &v, .k = k };

	view_init(&v, ns, name);
	v.is_local = kube_is_inside(k);
	v.named = arena_strdup(&v.arena, kube_named(k));
	for (size_t i = 0; i < N_ELEMENTS(steps); i++)
		if (steps[i](&l, err)) {
			view_release(&v);
			return -1;
		}
	*ret = v;
	return 0;
}
