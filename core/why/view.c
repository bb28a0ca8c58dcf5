/* view.c - store documents in a view, and derive facts from it (why/view.h). */
#include "why/view.h"

#include <stddef.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

/* ---- the members by kind ---- */

#define LIST(kind, member)                                \
	{                                                 \
		kind, offsetof(struct view, member), true \
	}
#define ONE(kind, member)                                  \
	{                                                  \
		kind, offsetof(struct view, member), false \
	}

static const struct slot {
	const char *kind;
	size_t offset;
	bool list;
} slots[] = {
	ONE("TrainJob", trainjob),
	ONE("TrainingRuntime", runtime),
	ONE("ClusterTrainingRuntime", runtime),
	ONE("JobSet", jobset),
	ONE("PodGroup", podgroup),
	ONE("Workload", workload),
	ONE("LocalQueue", queue),
	ONE("Queue", kai_queue),
	ONE("MultiKueueCluster", worker),
	ONE("PendingWorkloadsSummary", pending),
	ONE("Lease", lease),
	ONE("Deployment", deployment),
	LIST("Job", jobs),
	LIST("Pod", pods),
	LIST("Event", events),
	LIST("Node", nodes),
	LIST("PersistentVolumeClaim", claims),
	LIST("Placeholder", placeholders),
	LIST("WaitingWorkload", workloads),
	LIST("Log", logs),
	LIST("Head", heads),
	LIST("Missing", missing),
	LIST("Denied", denied),
};
enum { MAX_EXIT_CODE = 255 };
enum { N_SLOTS = N_ELEMENTS(slots) };

static cJSON **member(struct view *v, const struct slot *slot)
{
	return (cJSON **)(void *)((char *)v + slot->offset);
}

void view_init(struct view *v, const char *ns, const char *name)
{
	*v = (struct view){ .now = clock_now() };
	v->ns = arena_strdup(&v->arena, ns);
	v->name = arena_strdup(&v->arena, name);
	for (size_t i = 0; i < N_SLOTS; i++)
		if (slots[i].list)
			*member(v, &slots[i]) = cJSON_CreateArray();
}

void view_add(struct view *v, cJSON *take_obj)
{
	for (size_t i = 0; i < N_SLOTS; i++) {
		cJSON **m = member(v, &slots[i]);

		if (!str_eq(slots[i].kind, meta_kind(take_obj)))
			continue;
		if (slots[i].list) {
			cJSON_AddItemToArray(*m, take_obj);
			return;
		}
		cJSON_Delete(*m);
		*m = take_obj;
		return;
	}
	cJSON_Delete(take_obj);
}

static cJSON *list_of(const struct view *v, const char *kind)
{
	for (size_t i = 0; i < N_SLOTS; i++)
		if (slots[i].list && str_eq(slots[i].kind, kind))
			return *member((struct view *)v, &slots[i]);
	return NULL;
}

int view_size(const struct view *v, const char *kind)
{
	return cJSON_GetArraySize(list_of(v, kind));
}

void view_truncate(struct view *v, const char *kind, int n)
{
	cJSON *list = list_of(v, kind), *next;

	for (cJSON *doc = cJSON_GetArrayItem(list, n); doc; doc = next) {
		next = doc->next;
		cJSON_Delete(cJSON_DetachItemViaPointer(list, doc));
	}
}

static bool is_own_job(const struct view *v, const cJSON *job)
{
	const cJSON *owner = meta_controller(job);

	return meta_is(owner, JOBSET_GROUP, JOBSET_KIND) &&
	       str_eq(meta_owner_name(owner), v->name) &&
	       (!meta_uid(v->jobset) ||
		str_eq(meta_owner_uid(owner), meta_uid(v->jobset)));
}

/* A pod that is being deleted may belong to a Job that was replaced. jobs: by name. */
static bool is_own_pod(const struct view *v, const struct map *jobs, const cJSON *pod)
{
	const cJSON *owner = meta_controller(pod), *job;

	if (!pod_is_of_jobset(pod, v->name))
		return false;
	job = map_get(jobs, meta_owner_name(owner));
	return !job || meta_is_deleted(pod) ||
	       str_eq(meta_uid(job), meta_owner_uid(owner));
}

/* Left by a deleted TrainJob of the same name, or made by somebody else. */
static bool jobset_is_others(const struct view *v)
{
	return meta_uid(v->jobset) && meta_uid(v->trainjob) &&
	       !meta_is_controlled(v->jobset, v->trainjob);
}

void view_drop_others(struct view *v)
{
	cleanup_map struct map jobs = { 0 };
	bool others = jobset_is_others(v);
	cJSON *next;

	for (cJSON *job = v->jobs->child; job; job = next) {
		next = job->next;
		if (others || foreign_is_former(job, v->trainjob) || !is_own_job(v, job))
			cJSON_Delete(cJSON_DetachItemViaPointer(v->jobs, job));
		else if (meta_name(job))
			map_put(&jobs, meta_name(job), job);
	}
	for (cJSON *pod = v->pods->child; pod; pod = next) {
		next = pod->next;
		if (others || foreign_is_former(pod, v->trainjob) ||
		    !is_own_pod(v, &jobs, pod))
			cJSON_Delete(cJSON_DetachItemViaPointer(v->pods, pod));
	}
	if (others) {
		cJSON_Delete(v->jobset);
		v->jobset = NULL;
	}
}

void view_release(struct view *v)
{
	for (size_t i = 0; i < N_SLOTS; i++) {
		cJSON_Delete(*member(v, &slots[i]));
		*member(v, &slots[i]) = NULL;
	}
	arena_clear(&v->arena);
}

bool view_is_missing(const struct view *v, const char *kind)
{
	return json_find_const(v->missing, "of", kind) != NULL;
}

bool view_is_denied(const struct view *v, const char *resource)
{
	return json_find_const(v->denied, "resource", resource) != NULL;
}

const char *view_log(const struct view *v, const cJSON *pod)
{
	const cJSON *log = json_find_const(v->logs, "pod", meta_name(pod));

	return json_str(log, "text");
}

cJSON *view_node(const struct view *v, const char *name)
{
	for (cJSON *node = v->nodes->child; node; node = node->next)
		if (str_eq(meta_name(node), name))
			return node;
	return NULL;
}

const cJSON *view_first_rank(const struct view *v)
{
	const cJSON *pod;

	json_each(pod, v->pods)
		if (pod_node_rank(pod) == 0 && str_eq(pod_job(pod), NODE) &&
		    str_eq(pod_phase(pod), "Running"))
			return pod;
	return NULL;
}

bool view_is_initializer(const char *job)
{
	return str_eq(job, DATASET_INITIALIZER) || str_eq(job, MODEL_INITIALIZER);
}

bool view_knows_requests(const struct view *v)
{
	return !view_is_missing(v, "PodsOfAll") && !view_is_denied(v, VIEW_PODS_OF_ALL);
}

/* ---- derived from the view ---- */

static bool explains_more(const struct failure *a, const struct failure *b)
{
	const struct pod_failure one = pod_failure_of(a->pod, &a->fact);
	const struct pod_failure other = pod_failure_of(b->pod, &b->fact);

	return pod_failure_explains(&one, &other);
}

static size_t insert(struct failure *list, size_t n, size_t max, const struct failure *f)
{
	size_t i = n;

	for (; i > 0 && explains_more(f, &list[i - 1]); i--)
		if (i < max)
			list[i] = list[i - 1];
	if (i < max)
		list[i] = *f;
	return n < max ? n + 1 : n;
}

size_t view_failures(const struct view *v, struct failure *ret, size_t max)
{
	const cJSON *pod;
	size_t n = 0;

	json_each(pod, v->pods) {
		struct pod_fact_list facts;

		if (str_eq(pod_phase(pod), "Succeeded"))
			continue;
		pod_facts_of(pod, &facts);
		for (size_t i = 0; i < facts.n; i++) {
			const struct failure f = { pod, facts.list[i] };

			if (pod_causes[f.fact.cause].fails && !f.fact.waits)
				n = insert(ret, n, max, &f);
		}
	}
	return n;
}

int64_t view_pods_with(const struct view *v, enum pod_cause cause, struct failure *ret)
{
	const cJSON *pod;
	int64_t n = 0;

	json_each(pod, v->pods) {
		struct pod_fact_list facts;

		pod_facts_of(pod, &facts);
		for (size_t i = 0; i < facts.n; i++) {
			const struct pod_fact *fact = &facts.list[i];

			if (fact->cause != cause || (fact->container && !fact->waits))
				continue;
			/* ErrImagePull has the registry's error, a back-off has not. */
			if (!n || str_eq(ret->fact.reason, "ImagePullBackOff"))
				*ret = (struct failure){ pod, *fact };
			n++;
			break;
		}
	}
	return n;
}

int64_t view_pods_wanted(const struct view *v)
{
	const cJSON *job;
	int64_t n = 0;

	json_each(job, v->jobs)
		if (!job_is_suspended(job))
			n += job_parallelism(job_spec(job));
	return n;
}

struct view_counts view_count(const struct view *v)
{
	struct view_counts n = { 0 };
	const cJSON *pod;

	json_each(pod, v->pods) {
		const char *phase = pod_phase(pod);

		if (meta_is_deleted(pod))
			continue;
		n.all++;
		n.placed += pod_node(pod) != NULL;
		n.ready += pod_is_ready(pod);
		n.succeeded += str_eq(phase, "Succeeded");
		n.pending += str_eq(phase, "Pending");
	}
	return n;
}

/* Is the event about a former object of the same name, with another uid? */
static bool is_old(const struct view *v, const cJSON *event)
{
	const cJSON *const objects[] = { v->trainjob, v->jobset };

	for (size_t i = 0; i < N_ELEMENTS(objects); i++)
		if (str_eq(event_kind(event), meta_kind(objects[i])) &&
		    str_eq(event_object(event), meta_name(objects[i])) &&
		    event_uid(event) && meta_uid(objects[i]) &&
		    !str_eq(event_uid(event), meta_uid(objects[i])))
			return true;
	return false;
}

static bool names_no_cause(const cJSON *event)
{
	static const char *const starts[] = { "Unable to attach or mount volumes",
					      "Unable to mount volumes",
					      "Error: ErrImagePull",
					      "Error: ImagePullBackOff" };

	for (size_t i = 0; i < N_ELEMENTS(starts); i++)
		if (str_starts(event_message(event), starts[i]))
			return true;
	return false;
}

bool view_tells_more(const cJSON *event, const cJSON *than)
{
	bool poor = names_no_cause(event);

	if (poor != names_no_cause(than))
		return !poor;
	return event_last(event) >= event_last(than);
}

const cJSON *view_event(const struct view *v, const char *kind, const char *name,
			const char *reason, bool warning)
{
	const cJSON *event, *ret = NULL;

	json_each(event, v->events) {
		if ((kind && !str_eq(event_kind(event), kind)) ||
		    (name && !str_eq(event_object(event), name)) ||
		    (reason && !str_eq(event_reason(event), reason)) ||
		    (warning && !event_is_warning(event)) || is_old(v, event))
			continue;
		if (!ret || view_tells_more(event, ret))
			ret = event;
	}
	return ret;
}

/* Pods may be gone, or newer than what the API server lists: the status says it, too. */
int view_exit_code(const struct view *v)
{
	int64_t code = status_first_exit_code(json_get(v->trainjob, "status"));
	struct failure first;

	if (view_failures(v, &first, 1) && first.fact.exit_code > 0)
		code = first.fact.exit_code;
	return code > 0 && code <= MAX_EXIT_CODE ? (int)code : 1;
}
