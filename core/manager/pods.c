#include "manager/pods.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"
#include "trainer/status.h"
#include "trainer/trainjob.h"

#define LABEL_JOB   "jobset.sigs.k8s.io/replicatedjob-name"
#define LABEL_INDEX "jobset.sigs.k8s.io/job-index"
#define LABEL_RANK  "batch.kubernetes.io/job-completion-index"

enum { MAX_FACTS = 16, MAX_WORDS = 400, MAX_CONTAINERS = 100, MAX_JOBS = 10000 };

/* ---- causes ---------------------------------------------------------------------- */

enum cause {
	UNSCHEDULABLE,
	GATED,
	IMAGE,
	START,
	OOM,
	FAILED,
	DISRUPTED,
	REJECTED,
	N_CAUSES
};

static const struct {
	const char *reason;
	bool normal;
	bool fails; /* it may be why the job failed */
} causes[N_CAUSES] = {
	[UNSCHEDULABLE] = { .reason = "Unschedulable" },
	[GATED] = { "SchedulingGated", .normal = true },
	[IMAGE] = { .reason = "ImagePullFailed" },
	[START] = { "ContainerStartFailed", .fails = true },
	[OOM] = { "OOMKilled", .fails = true },
	[FAILED] = { "ContainerFailed", .fails = true },
	[DISRUPTED] = { "PodDisrupted", .fails = true },
	[REJECTED] = { "PodFailed", .fails = true },
};

/* The kubelet's reasons of a container that waits or has ended: pkg/kubelet/images and
 * pkg/kubelet/kuberuntime; the last two are containerd's and Docker's. */
static const struct {
	const char *reason;
	enum cause cause;
} container_reasons[] = {
	{ "ErrImagePull", IMAGE },
	{ "ImagePullBackOff", IMAGE },
	{ "InvalidImageName", IMAGE },
	{ "ErrImageNeverPull", IMAGE },
	{ "ImageInspectError", IMAGE },
	{ "RegistryUnavailable", IMAGE },
	{ "SignatureValidationFailed", IMAGE },
	{ "ErrImageVolumePull", IMAGE },
	{ "CreateContainerConfigError", START },
	{ "CreateContainerError", START },
	{ "PreCreateHookError", START },
	{ "PreStartHookError", START },
	{ "PostStartHookError", START },
	{ "RunContainerError", START },
	{ "StartError", START },
	{ "ContainerCannotRun", START },
	{ "OOMKilled", OOM },
};

static enum cause container_cause(const char *reason, enum cause otherwise)
{
	for (size_t i = 0; i < sizeof(container_reasons) / sizeof(*container_reasons);
	     i++)
		if (str_eq(reason, container_reasons[i].reason))
			return container_reasons[i].cause;
	return otherwise;
}

static const char *signal_name(int64_t exit_code)
{
	static const struct {
		int64_t exit_code;
		const char *name;
	} names[] = {
		{ 130, "SIGINT" },  { 132, "SIGILL" },  { 134, "SIGABRT" },
		{ 135, "SIGBUS" },  { 136, "SIGFPE" },  { 137, "SIGKILL" },
		{ 139, "SIGSEGV" }, { 143, "SIGTERM" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].exit_code == exit_code)
			return names[i].name;
	return NULL;
}

/* ---- what is kept of a pod -------------------------------------------------------- */

static void keep_str(cJSON *to, const cJSON *from, const char *key)
{
	cleanup_arena struct arena arena = { 0 };
	const char *s = json_str(from, key);
	size_t len = s ? strnlen(s, MAX_WORDS + 1) : 0;

	if (!len)
		return;
	if (len > MAX_WORDS)
		for (len = MAX_WORDS; len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80;)
			len--;
	json_put_str(to, str_slice(&arena, s, len), key);
}

/* {waiting: {reason, message}} or {terminated: {exitCode, ...}}; NULL: all is well. */
static cJSON *keep_state(const cJSON *state)
{
	static const char *const words[] = { "reason", "message", "finishedAt" };
	const cJSON *from = json_get(state, "waiting");
	const char *member = from ? "waiting" : "terminated";
	int64_t code;
	cJSON *ret, *to;

	if (!from) {
		from = json_get(state, "terminated");
		code = json_int(from, 0, "exitCode");
		if (!from || (!code && !str_eq(json_str(from, "reason"), "OOMKilled")))
			return NULL;
	} else if (container_cause(json_str(from, "reason"), N_CAUSES) == N_CAUSES) {
		return NULL;
	}
	ret = cJSON_CreateObject();
	to = json_obj(ret, member);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		keep_str(to, from, words[i]);
	if (*member == 't')
		json_put_int(to, json_int(from, 0, "exitCode"), "exitCode");
	return ret;
}

/* Containers of which there is something to say. */
static void keep_containers(cJSON *to_status, const cJSON *status, const char *list)
{
	const cJSON *c;
	int n = 0;

	json_each(c, json_get(status, list)) {
		cJSON *state = keep_state(json_get(c, "state"));
		cJSON *last = keep_state(json_get(c, "lastState"));
		cJSON *to;

		if (!state && !last)
			continue;
		if (++n > MAX_CONTAINERS) {
			cJSON_Delete(state);
			cJSON_Delete(last);
			return;
		}
		to = cJSON_CreateObject();
		keep_str(to, c, "name");
		keep_str(to, c, "image");
		json_put_int(to, json_int(c, 0, "restartCount"), "restartCount");
		json_put(to, state, "state");
		json_put(to, last, "lastState");
		cJSON_AddItemToArray(json_list(to_status, list), to);
	}
}

static void keep_conditions(cJSON *to_status, const cJSON *status)
{
	const cJSON *c;

	json_each(c, json_get(status, "conditions")) {
		const char *type = json_str(c, "type"), *value = json_str(c, "status");
		cJSON *to;

		if (!(str_eq(type, "PodScheduled") && str_eq(value, "False")) &&
		    !(str_eq(type, "DisruptionTarget") && str_eq(value, "True")))
			continue;
		to = cJSON_CreateObject();
		keep_str(to, c, "type");
		keep_str(to, c, "reason");
		keep_str(to, c, "message");
		keep_str(to, c, "lastTransitionTime");
		cJSON_AddItemToArray(json_list(to_status, "conditions"), to);
	}
}

/* Names of the pod for words(): only where there is something to tell. */
static void keep_names(cJSON *to, const cJSON *pod)
{
	static const char *const labels[] = { LABEL_JOB, LABEL_INDEX, LABEL_RANK };
	const char *node = json_str(pod, "spec", "nodeName");

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (meta_label(pod, labels[i]))
			meta_set_label(to, labels[i], meta_label(pod, labels[i]));
	if (node)
		json_put_str(to, node, "spec", "nodeName");
}

static cJSON *keep_status(const cJSON *pod)
{
	const cJSON *status = json_get(pod, "status");
	cJSON *to = cJSON_CreateObject();

	keep_conditions(to, status);
	if (!meta_is_deleted(pod)) {
		keep_str(to, status, "reason");
		keep_str(to, status, "message");
		keep_containers(to, status, "initContainerStatuses");
		keep_containers(to, status, "containerStatuses");
	}
	return to;
}

bool pod_facts_keep(cJSON *pod)
{
	const char *phase = json_str(pod, "status", "phase");
	cJSON *to, *status, *child;

	if (!meta_name(pod) || !meta_label(pod, POD_JOBSET_LABEL) ||
	    str_eq(phase, "Succeeded"))
		return false;
	to = cJSON_CreateObject();
	meta_set_name(to, meta_name(pod));
	if (meta_namespace(pod))
		meta_set_namespace(to, meta_namespace(pod));
	meta_set_label(to, POD_JOBSET_LABEL, meta_label(pod, POD_JOBSET_LABEL));
	status = keep_status(pod);
	if (status->child)
		keep_names(to, pod);
	if (phase)
		json_put_str(status, phase, "phase");
	json_put(to, status, "status");
	child = pod->child;
	pod->child = to->child;
	to->child = child;
	cJSON_Delete(to);
	return true;
}

/* ---- facts ------------------------------------------------------------------------ */

/* Something to tell of a pod; the strings are the pod's. */
struct fact {
	enum cause cause;
	const char *container, *image, *reason, *message;
	int64_t exit_code, restarts;
	const char *finished; /* RFC 3339; NULL */
	const char *run;      /* which of the container's: when it ended; NULL */
	bool again;           /* it has been started again since */
	bool waits;           /* it has not ended */
};

struct facts {
	struct fact list[MAX_FACTS];
	size_t n;
};

/* Of one run of one container one fact of a cause. */
static bool is_same(const struct fact *a, const struct fact *b)
{
	return a->cause == b->cause && str_eq(a->run, b->run) && a->waits == b->waits &&
	       str_eq(a->container, b->container);
}

static bool has(const struct facts *facts, const struct fact *f)
{
	for (size_t i = 0; i < facts->n; i++)
		if (is_same(&facts->list[i], f))
			return true;
	return false;
}

static void add(struct facts *facts, const struct fact *f)
{
	if (facts->n < MAX_FACTS && !has(facts, f))
		facts->list[facts->n++] = *f;
}

static void add_state(struct facts *facts, const cJSON *container, const char *which)
{
	const cJSON *state = json_get(container, which);
	const cJSON *ended = json_get(state, "terminated");
	const cJSON *of = ended ? ended : json_get(state, "waiting");
	struct fact f = {
		.container = json_str(container, "name"),
		.image = json_str(container, "image"),
		.reason = json_str(of, "reason"),
		.message = json_str(of, "message"),
		.finished = json_str(of, "finishedAt"),
		.exit_code = json_int(of, 0, "exitCode"),
		.restarts = json_int(container, 0, "restartCount"),
		.again = str_eq(which, "lastState"),
		.waits = !ended,
	};

	if (!of)
		return;
	f.cause = container_cause(f.reason, FAILED);
	/* What keeps it from starting is one fact, however often it is tried. */
	if (f.cause != IMAGE && f.cause != START)
		f.run = f.finished;
	add(facts, &f);
}

static void add_conditions(struct facts *facts, const cJSON *status)
{
	const cJSON *c;

	json_each(c, json_get(status, "conditions")) {
		struct fact f = { .reason = json_str(c, "reason"),
				  .message = json_str(c, "message"),
				  .finished = json_str(c, "lastTransitionTime") };

		f.cause = !str_eq(json_str(c, "type"), "PodScheduled") ? DISRUPTED
			  : str_eq(f.reason, "SchedulingGated")        ? GATED
								       : UNSCHEDULABLE;
		add(facts, &f);
	}
}

static void facts_of(const cJSON *pod, struct facts *ret)
{
	static const char *const lists[] = { "initContainerStatuses",
					     "containerStatuses" };
	const cJSON *status = json_get(pod, "status"), *c;
	const char *reason = json_str(status, "reason");

	ret->n = 0;
	add_conditions(ret, status);
	for (size_t i = 0; i < 2; i++)
		json_each(c, json_get(status, lists[i])) {
			add_state(ret, c, "state");
			add_state(ret, c, "lastState");
		}
	/* The kubelet failed the pod itself; of an eviction the condition tells, too. */
	if (reason && str_eq(json_str(status, "phase"), "Failed")) {
		struct fact f = { .cause = str_eq(reason, "Evicted") ? DISRUPTED
								     : REJECTED,
				  .reason = reason,
				  .message = json_str(status, "message") };

		add(ret, &f);
	}
}

/* A bit for each cause. */
static unsigned causes_of(const struct facts *facts)
{
	unsigned ret = 0;

	for (size_t i = 0; i < facts->n; i++)
		ret |= 1u << facts->list[i].cause;
	return ret;
}

/* ---- words ------------------------------------------------------------------------ */

/* "node-1 (node rank 1)", "dataset-initializer"; of a second job "node-1-1 (...)". */
static const char *step_of(struct arena *arena, const cJSON *pod)
{
	const char *job = meta_label(pod, LABEL_JOB),
		   *index = meta_label(pod, LABEL_INDEX);
	const char *rank = meta_label(pod, LABEL_RANK), *step = job;

	if (!job)
		return "pod";
	if (index && !str_eq(index, "0"))
		step = arena_printf(arena, "%s-%s", job, index);
	if (str_eq(job, NODE) && rank)
		step = arena_printf(arena, "%s-%s (node rank %s)", step, rank, rank);
	return step;
}

static void put_exit(struct buf *out, const struct fact *f)
{
	const char *name = signal_name(f->exit_code);

	buf_printf(out, "exit code %lld", (long long)f->exit_code);
	if (name)
		buf_printf(out, " (%s)", name);
	if (f->cause == OOM)
		buf_adds(out, ", past its memory limit");
	if (f->restarts > 0)
		buf_printf(out, ", restarted %lld time%s", (long long)f->restarts,
			   f->restarts == 1 ? "" : "s");
}

static void put_what(struct buf *out, const struct fact *f)
{
	switch (f->cause) {
	case UNSCHEDULABLE:
		buf_adds(out, "cannot be scheduled");
		break;
	case GATED:
		buf_adds(out, "waits for its scheduling gates");
		break;
	case IMAGE:
		buf_printf(out, "container %s: image %s: %s", f->container,
			   f->image ? f->image : "", f->reason);
		break;
	case START:
		buf_printf(out, "container %s does not start: %s", f->container,
			   f->reason);
		break;
	case OOM:
	case FAILED:
		buf_printf(out, "container %s: ", f->container);
		put_exit(out, f);
		break;
	default:
		buf_printf(out, "%s: %s", f->cause == DISRUPTED ? "disrupted" : "failed",
			   f->reason);
	}
}

/* "STEP: WHAT on NODE: MESSAGE"; `who` goes before it. */
static const char *words(struct arena *arena, const char *who, const cJSON *pod,
			 const struct fact *f)
{
	cleanup_buf struct buf out = { .max = 4 * MAX_WORDS };
	const char *node = json_str(pod, "spec", "nodeName");
	const char *message = f->message ? str_trim(arena, f->message) : NULL;

	buf_printf(&out, "%s%s: ", who, step_of(arena, pod));
	put_what(&out, f);
	if (node)
		buf_printf(&out, " on %s", node);
	if (message && *message)
		buf_printf(&out, ": %s", str_visible(arena, message, true));
	return arena_strdup(arena, (const char *)out.data);
}

/* ---- jobs ------------------------------------------------------------------------- */

/* There is one as soon as there is something to tell. */
struct job {
	size_t pods[N_CAUSES]; /* that have it now */
	char *first[N_CAUSES]; /* of those the first, in words */
	char *failure, *failed_pod, *failed_at;
	bool weak; /* killed from outside, started again, or its pod is gone */
};

struct pod_facts {
	struct event_recorder *events;
	cJSON *(*trainjob)(void *ctx, const char *ns, const char *name);
	void *ctx;
	pthread_mutex_t lock;
	struct map jobs; /* "ns/name" */
};

static void job_free(void *p)
{
	struct job *j = p;

	for (size_t i = 0; i < N_CAUSES; i++)
		free(j->first[i]);
	free(j->failure);
	free(j->failed_pod);
	free(j->failed_at);
	free(j);
}

struct pod_facts *pod_facts_new(struct event_recorder *events,
				cJSON *(*trainjob)(void *ctx, const char *ns,
						   const char *name),
				void *ctx)
{
	struct pod_facts *p = xcalloc(1, sizeof(*p));

	p->events = events;
	p->trainjob = trainjob;
	p->ctx = ctx;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void pod_facts_free(struct pod_facts *p)
{
	if (!p)
		return;
	map_release(&p->jobs, job_free);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static bool is_weak(const struct fact *f)
{
	return f->again ||
	       (f->cause == FAILED && (f->exit_code == 143 || f->exit_code == 137));
}

/* The failure that explains the others: the earliest, rather one of its own making. */
static void note_failure(struct job *j, const cJSON *pod, const struct fact *f,
			 const char *text)
{
	bool weak = is_weak(f);
	const char *at = f->finished ? f->finished : "";

	if (!causes[f->cause].fails || f->waits)
		return;
	if (j->failure &&
	    (weak > j->weak || (weak == j->weak && strcmp(at, j->failed_at) >= 0)))
		return;
	free(j->failure);
	free(j->failed_pod);
	free(j->failed_at);
	j->failure = xstrdup(text);
	j->failed_pod = xstrdup(meta_name(pod));
	j->failed_at = xstrdup(at);
	j->weak = weak;
}

/* Of one pod its latest fact, of several how many there are. */
static const char *told(struct arena *arena, const struct job *j, enum cause cause,
			const char *latest)
{
	if (j->pods[cause] < 2)
		return latest;
	return arena_printf(arena, "%zu pods, first %s", j->pods[cause], j->first[cause]);
}

/* `first`: the pod had no such fact before. */
static void appear(struct pod_facts *p, const char *key, const cJSON *pod,
		   const struct fact *f, bool first, const cJSON *tj)
{
	cleanup_arena struct arena arena = { 0 };
	struct event e = { .warning = !causes[f->cause].normal,
			   .reason = causes[f->cause].reason,
			   .series = causes[f->cause].reason };
	const char *who = arena_printf(&arena, "%s, ", meta_name(pod));
	struct job *j;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, key);
	if (!j && p->jobs.n < MAX_JOBS) {
		j = xcalloc(1, sizeof(*j));
		map_put(&p->jobs, key, j);
	}
	if (j) {
		note_failure(j, pod, f, words(&arena, "", pod, f));
		j->pods[f->cause] += first;
		if (first && j->pods[f->cause] == 1) {
			free(j->first[f->cause]);
			j->first[f->cause] = xstrdup(words(&arena, who, pod, f));
		}
		e.message = told(&arena, j, f->cause, words(&arena, who, pod, f));
	}
	pthread_mutex_unlock(&p->lock);
	if (e.message)
		event_record(p->events, tj, &e);
}

static void vanish(struct pod_facts *p, const char *key, enum cause cause)
{
	struct job *j;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, key);
	if (j && j->pods[cause])
		j->pods[cause]--;
	pthread_mutex_unlock(&p->lock);
}

/* The pod is gone: a failure of the next attempt counts for more than its. */
static void pod_gone(struct pod_facts *p, const char *key, const cJSON *pod)
{
	struct job *j;
	size_t left = 0;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, key);
	if (j && str_eq(j->failed_pod, meta_name(pod))) {
		free(j->failed_at);
		j->failed_at = xstrdup("~");
		j->weak = true;
	}
	for (size_t i = 0; j && i < N_CAUSES; i++)
		left += j->pods[i];
	if (j && !left && !j->failure)
		job_free(map_del(&p->jobs, key));
	pthread_mutex_unlock(&p->lock);
}

void pod_facts_event(void *pod_facts, enum informer_event event, const cJSON *was,
		     const cJSON *is)
{
	struct pod_facts *p = pod_facts;
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *tj = NULL;
	const cJSON *pod = is ? is : was;
	const char *ns = meta_namespace(pod), *name = meta_label(pod, POD_JOBSET_LABEL);
	struct facts before, after;
	const char *key;
	unsigned had;

	if (!name)
		return;
	key = informer_key(&arena, ns, name);
	facts_of(was, &before);
	facts_of(is, &after);
	had = causes_of(&before);
	for (enum cause c = 0; c < N_CAUSES; c++)
		if (had & ~causes_of(&after) & 1u << c)
			vanish(p, key, c);
	for (size_t i = 0; i < after.n; i++) {
		const struct fact *f = &after.list[i];

		if (has(&before, f))
			continue;
		if (!tj)
			tj = p->trainjob(p->ctx, ns, name);
		if (!tj || status_finished(tj_status(tj)))
			break;
		appear(p, key, pod, f, !(had & 1u << f->cause), tj);
		had |= 1u << f->cause;
	}
	if (event == INFORMER_DELETED)
		pod_gone(p, key, pod);
}

void pod_facts_forget(struct pod_facts *p, const char *ns, const char *trainjob)
{
	cleanup_arena struct arena arena = { 0 };
	struct job *j;

	pthread_mutex_lock(&p->lock);
	j = map_del(&p->jobs, informer_key(&arena, ns, trainjob));
	pthread_mutex_unlock(&p->lock);
	if (j)
		job_free(j);
}

char *pod_facts_first_failure(struct pod_facts *p, const char *ns, const char *trainjob)
{
	cleanup_arena struct arena arena = { 0 };
	const struct job *j;
	char *ret;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, informer_key(&arena, ns, trainjob));
	ret = j && j->failure ? xstrdup(j->failure) : NULL;
	pthread_mutex_unlock(&p->lock);
	return ret;
}
