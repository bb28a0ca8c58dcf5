/* webhook.c - the four admission webhooks (manager/webhook.h). */
#include "manager/webhook.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/jsonpatch.h"
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/admission.h"
#include "manager/runtimes.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/pipeline.h"
#include "trainer/runtime.h"
#include "trainer/sdkcheck.h"
#include "trainer/snapshot.h"
#include "trainer/trainjob.h"
#include "trainer/validation.h"
#include "trainer/workspace_spec.h"

#define PATH(what, kind) "/" what "-trainer-kubeflow-org-v1alpha1-" kind

enum {
	/*
	 * JSON values in one body, and in all reviews under way, of about 100 bytes each.
	 * Further reviews wait, at most as long as their caller.
	 */
	MAX_VALUES = 100000,
	MAX_OBJECT_VALUES = MAX_VALUES / 2, /* an update contains the object twice */
	MAX_VALUES_AT_ONCE = 1000000,
	WAIT_MS = 8000, /* the API server waits for 10 s */
	MAX_TIMEOUT_S = 30,
	FITS_CHECK_MS = 20, /* between two checks whether a review fits, and is awaited */
	MAX_PATCHES = 16,   /* of a TrainJob, by its schema */
	MAX_ERRORS = 100,   /* in an answer */
	MAX_MESSAGE = 32768,
	MAX_ANSWER = 8 * 1024 * 1024,
};

struct webhook {
	struct kube *kube;
	struct metrics *metrics;
	bool status_server, claims_off, scheduling_off;
	int64_t wait_ms;
	struct runtimes *runtimes;
	pthread_mutex_t lock;
	size_t values; /* in all reviews under way; protected by lock */
};

/* ---- metrics --------------------------------------------------------------------- */

static const double latency_buckets[] = { 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
					  1e-2, 1e-1, 1,    10,   100,  1000 };
static const struct metric latency_seconds = {
	METRIC_HISTOGRAM,
	"controller_runtime_webhook_latency_seconds",
	"Histogram of the latency of processing admission requests",
	.labels = { "webhook" },
	.buckets = latency_buckets,
	.n_buckets = 12
};
static const struct metric requests_total = {
	METRIC_COUNTER, "controller_runtime_webhook_requests_total",
	"Total number of admission requests by HTTP status code.",
	.labels = { "webhook", "code" }
};
static const struct metric requests_in_flight = {
	METRIC_GAUGE, "controller_runtime_webhook_requests_in_flight",
	"Current number of admission requests being served.", .labels = { "webhook" }
};
const struct metric *const webhook_metrics[] = { &requests_in_flight, &requests_total,
						 &latency_seconds, NULL };

/* ---- objects of the cluster that a request needs ---------------------------------- */

struct call {
	struct webhook *w;
	const struct admission_request *req;
	struct admission_answer *answer;
	cJSON *fetched; /* array of the objects read; freed when the request ends */
	struct plugin_env env;
};

/* Takes ownership of obj (may be NULL) until the request ends. */
static const cJSON *own_until_end(struct call *c, cJSON *obj)
{
	if (obj)
		cJSON_AddItemToArray(c->fetched, obj);
	return obj;
}

/* plugin_env.get */
static int fetch(void *ctx, const struct object_ref *what, const cJSON **ret,
		 struct error *err)
{
	struct call *c = ctx;
	struct kube_ref ref = { what->api_version, what->kind, what->ns, what->name };
	cJSON *obj = NULL;

	if (c->w->kube && ref.name && *ref.name && kube_find(c->w->kube, &ref, &obj, err))
		return -1;
	*ret = own_until_end(c, obj);
	return 0;
}

static int fetch_live(struct call *c, const struct kube_ref *ref, const cJSON **ret,
		      struct error *err)
{
	cJSON *obj = NULL;

	if (c->w->kube && *ref->name &&
	    runtimes_get(c->w->runtimes, c->w->kube, ref, &obj, err) &&
	    error_clear_if(err, ERR_NOT_FOUND))
		return -1;
	*ret = own_until_end(c, obj);
	return 0;
}

static const char *namespace_of(const struct call *c)
{
	return *c->req->ns ? c->req->ns : meta_namespace(c->req->object);
}

/* The runtime to check a TrainJob against, or NULL. */
static int fetch_runtime(struct call *c, const cJSON **ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *tj = c->req->object, *map;
	struct runtime_ref ref = tj_runtime_ref(tj);
	struct kube_ref live = { TRAINER_API_VERSION, ref.kind, namespace_of(c),
				 ref.name };
	struct object_ref copy = { "v1", "ConfigMap", namespace_of(c),
				   snapshot_name(&arena, tj) };
	cJSON *runtime = NULL;

	*ret = NULL;
	if (tj_check_runtime_ref(tj, IGNORED))
		return 0;
	if (runtime_ref_is_cluster(&ref))
		live.ns = NULL;
	if (fetch_live(c, &live, ret, err))
		return -1;
	if (*ret || c->req->operation == ADMISSION_CREATE || !meta_name(tj))
		return 0;
	if (fetch(c, &copy, &map, err))
		return -1;
	if (map && !snapshot_read(&runtime, tj, map, IGNORED))
		*ret = own_until_end(c, runtime);
	return 0;
}

/* ---- answers ---------------------------------------------------------------------- */

/* As apimachinery's Aggregate: "a" or "[a, b]", each message once. */
static void refuse(struct call *c, const struct field_errors *errs)
{
	cleanup_map struct map messages = { 0 };
	cleanup_buf struct buf all = { .max = MAX_MESSAGE };
	struct buf *message = &c->answer->message;

	for (size_t i = 0; i < errs->n; i++) {
		cleanup_buf struct buf one = { .max = MAX_MESSAGE };

		field_error_print(&one, &errs->list[i]);
		if (!one.data || map_put(&messages, (const char *)one.data, &messages))
			continue;
		if (all.len)
			buf_adds(&all, ", ");
		buf_adds(&all, (const char *)one.data);
	}
	admission_refuse(c->answer, 403, "%s", "");
	buf_printf(message, messages.n > 1 ? "[%s]" : "%s",
		   all.data ? (const char *)all.data : "");
}

/* ---- the four webhooks ------------------------------------------------------------- */

static void default_trainjob(struct call *c)
{
	const cJSON *old = c->req->operation == ADMISSION_UPDATE ? c->req->old : NULL;
	cleanup_json cJSON *tj = json_dup(c->req->object);
	char now[TIME_TEXT_SIZE];

	if (cJSON_GetArraySize(tj_runtime_patches(tj)) > MAX_PATCHES)
		return; /* the schema refuses it */
	tj_default_patch_times(tj, old, time_text(clock_now(), now));
	tj_keep_ttl(tj, old);
	tj_keep_empty(tj, old);
	if (c->req->operation == ADMISSION_CREATE)
		workspace_served(tj);
	c->answer->patch = jsonpatch_diff(c->req->object, tj);
}

static void validate_trainjob(struct call *c)
{
	cleanup_field_errors struct field_errors errs = { .max = MAX_ERRORS };
	const struct pipeline pipeline = { plugins, &c->env };
	const cJSON *old = c->req->operation == ADMISSION_UPDATE ? c->req->old : NULL;
	const cJSON *tj = c->req->object, *runtime;
	bool as_before = old && tj_same_but_suspend(old, tj);
	struct error err = { 0 };

	if (fetch_runtime(c, &runtime, &err)) {
		if (!as_before)
			admission_refuse(c->answer, 500, "cannot read the runtime: %s",
					 err.msg);
		return;
	}
	pipeline_validate(&pipeline, old, tj, runtime, &errs, c->answer->warnings);
	unstartable_to_warnings(&errs, c->answer->warnings);
	if (errs.n && !as_before)
		refuse(c, &errs);
}

static void validate_runtime(struct call *c)
{
	cleanup_field_errors struct field_errors errs = { .max = MAX_ERRORS };
	const cJSON *runtime = c->req->object;
	bool update = c->req->operation == ADMISSION_UPDATE;

	if (update && runtime_same_spec(c->req->old, runtime))
		return;
	if (c->w->scheduling_off && runtime_scheduling(runtime))
		field_error_add(&errs, FIELD_FORBIDDEN, "spec.scheduling", NULL,
				"the feature gate " GATE_SCHEDULING " is off");
	pipeline_validate_runtime(runtime, &errs, update ? NULL : c->answer->warnings);
	sdkcheck_runtime(runtime, c->answer->warnings);
	validation_warn_of_transport(runtime, c->answer->warnings);
	/* Upstream's answers to others have none. */
	if (meta_label(runtime, LABEL_FRAMEWORK)) {
		validation_warn_of_workers(runtime, c->answer->warnings);
		validation_warn_of_ends(runtime, c->answer->warnings);
		validation_warn_of_gangs(runtime, c->answer->warnings);
		validation_warn_of_network(runtime, c->answer->warnings);
		validation_warn_of_managers(runtime, c->answer->warnings);
	}
	if (errs.n)
		refuse(c, &errs);
}

static const struct hook {
	const char *path, *kind;
	void (*review)(struct call *c);
} hooks[] = {
	{ PATH("mutate", "trainjob"), TRAINJOB_KIND, default_trainjob },
	{ PATH("validate", "trainjob"), TRAINJOB_KIND, validate_trainjob },
	{ PATH("validate", "trainingruntime"), RUNTIME_KIND, validate_runtime },
	{ PATH("validate", "clustertrainingruntime"), CLUSTER_RUNTIME_KIND,
	  validate_runtime },
};

static const struct hook *find_hook(const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(hooks); i++)
		if (str_eq(hooks[i].path, path))
			return &hooks[i];
	return NULL;
}

/* ---- a request --------------------------------------------------------------------- */

static int check_content_type(const struct httpd_request *req, struct error *err)
{
	const char *type = httpd_header(req, "Content-Type");
	size_t len = type ? strcspn(type, "; \t") : 0;

	if (len == strlen("application/json") && !strncmp(type, "application/json", len))
		return 0;
	return error_set(err, ERR_FORMAT, "contentType=%.100s, expected application/json",
			 type ? type : "");
}

/* An upper bound of the number of JSON values; the contents of strings do not count. */
static size_t count_values(const struct httpd_request *req)
{
	const unsigned char *p = req->body, *end = p + req->body_len;
	bool in_string = false;
	size_t n = 1;

	for (; p < end; p++) {
		if (in_string && *p == '\\')
			p++;
		else if (*p == '"')
			in_string = !in_string;
		else if (!in_string)
			n += *p == ',' || *p == '[' || *p == '{';
	}
	return n;
}

/* The caller's timeoutSeconds, from the query ("timeout=10s"), but at most w->wait_ms. */
static int64_t wait_ms(const struct webhook *w, const struct httpd_request *req)
{
	const char *text = str_after(req->query, "timeout=");
	char *end = NULL;
	long seconds = text ? strtol(text, &end, 10) : 0;

	if (seconds <= 0 || seconds > MAX_TIMEOUT_S || (*end != 's' && *end != '&'))
		return w->wait_ms;
	return seconds * 1000 < w->wait_ms ? seconds * 1000 : w->wait_ms;
}

static bool is_awaited(const struct httpd_request *req, int64_t until)
{
	return clock_ms() < until && (!req->client || httpd_listens(req->client));
}

static bool reserve_if_fits(struct webhook *w, size_t values)
{
	bool fits;

	pthread_mutex_lock(&w->lock);
	fits = w->values + values <= MAX_VALUES_AT_ONCE;
	if (fits)
		w->values += values;
	pthread_mutex_unlock(&w->lock);
	return fits;
}

/* Waits until the review's values fit. False: the caller has stopped waiting. */
static bool reserve_values(struct webhook *w, size_t values,
			   const struct httpd_request *req)
{
	int64_t until = clock_ms() + wait_ms(w, req);

	while (is_awaited(req, until)) {
		if (reserve_if_fits(w, values))
			return true;
		clock_sleep_ms(FITS_CHECK_MS);
	}
	return false;
}

static void release_values(struct webhook *w, size_t values)
{
	pthread_mutex_lock(&w->lock);
	w->values -= values;
	pthread_mutex_unlock(&w->lock);
}

static size_t count_nodes(const cJSON *node)
{
	const cJSON *child;
	size_t n = 1;

	json_each(child, node)
		n += count_nodes(child);
	return n;
}

static void review(struct webhook *w, const struct hook *hook,
		   const struct admission_request *req, struct admission_answer *answer)
{
	cleanup_json cJSON *fetched = cJSON_CreateArray();
	struct call c = {
		.w = w,
		.req = req,
		.answer = answer,
		.fetched = fetched,
		.env = { .keys = &keys_placeholder,
			 .get = fetch,
			 .status_server = w->status_server,
			 .claims_off = w->claims_off,
			 .scheduling_off = w->scheduling_off },
	};

	c.env.ctx = &c;
	if (req->operation > ADMISSION_UPDATE || *req->subresource)
		return;
	if (!meta_is(req->object, TRAINER_GROUP, hook->kind)) {
		admission_refuse(answer, 400, "request.object is not a %s of %s",
				 hook->kind, TRAINER_API_VERSION);
		return;
	}
	if (req->operation == ADMISSION_UPDATE && meta_is_deleted(req->old))
		return;
	if (count_nodes(req->object) > MAX_OBJECT_VALUES) {
		admission_refuse(answer, 413, "the %s has more than %d values",
				 hook->kind, MAX_OBJECT_VALUES);
		return;
	}
	hook->review(&c);
}

bool webhook_review(struct webhook *w, const char *path,
		    const struct admission_request *req, struct admission_answer *answer)
{
	const struct hook *hook = find_hook(path);

	if (hook)
		review(w, hook, req, answer);
	return hook;
}

static void answer_to(struct webhook *w, const struct hook *hook,
		      const struct httpd_request *http, size_t values, struct buf *out)
{
	cleanup_admission struct admission_request req = { 0 };
	cleanup_admission_answer struct admission_answer answer = {
		.warnings = cJSON_CreateArray(),
	};
	struct error err = { 0 };
	int rc = check_content_type(http, &err);

	if (!rc && values > MAX_VALUES) {
		admission_find_uid(&req, http->body, http->body_len);
		rc = error_set(&err, ERR_LIMIT, "request entity has more than %d values",
			       MAX_VALUES);
	}
	if (rc || admission_read(&req, http->body, http->body_len, &err))
		admission_refuse(&answer, err.kind == ERR_LIMIT ? 413 : 400, "%s",
				 err.msg);
	else
		review(w, hook, &req, &answer);
	if (answer.code)
		log_debug("refused", LOG_STR("webhook", hook->path),
			  LOG_STR("namespace", req.ns), LOG_STR("name", req.name),
			  LOG_INT("code", answer.code));
	admission_print(out, &req, &answer);
}

void webhook_handle(void *webhook, const struct httpd_request *req,
		    struct httpd_response *resp)
{
	struct webhook *w = webhook;
	const struct hook *hook = find_hook(req->path);
	size_t values, held;
	double start = clock_seconds();
	bool fits;

	resp->body.max = MAX_ANSWER;
	if (!hook) {
		resp->status = 404;
		buf_adds(&resp->body, "404 page not found\n");
		return;
	}
	metrics_add(w->metrics, &requests_in_flight, 1, hook->path);
	values = count_values(req);
	held = values > MAX_VALUES ? 0 : values; /* too large: refused, not parsed */
	fits = reserve_values(w, held, req);
	if (fits) {
		answer_to(w, hook, req, values, &resp->body);
		release_values(w, held);
		resp->content_type = "application/json";
	} else {
		buf_adds(&resp->body, "too many requests under review; try again\n");
	}
	resp->status = fits ? 200 : 503;
	metrics_add(w->metrics, &requests_in_flight, -1, hook->path);
	metrics_add(w->metrics, &requests_total, 1, hook->path, fits ? "200" : "503");
	metrics_observe(w->metrics, &latency_seconds, clock_seconds() - start,
			hook->path);
}

struct webhook *webhook_new(const struct webhook_conf *conf)
{
	struct webhook *w = xcalloc(1, sizeof(*w));

	w->kube = conf->kube;
	w->metrics = conf->metrics;
	w->status_server = conf->status_server;
	w->claims_off = conf->claims_off;
	w->scheduling_off = conf->scheduling_off;
	w->wait_ms = conf->wait_ms ? conf->wait_ms : WAIT_MS;
	pthread_mutex_init(&w->lock, NULL);
	w->runtimes = conf->runtimes;
	for (size_t i = 0; i < N_ELEMENTS(hooks); i++) {
		metrics_add(w->metrics, &requests_total, 0, hooks[i].path, "200");
		metrics_add(w->metrics, &requests_total, 0, hooks[i].path, "500");
	}
	return w;
}

void webhook_free(struct webhook *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w);
}
