/* cache_objects.c - a LeaderWorkerSet and what belongs to it (client/cache_objects.h). */
#include "client/cache_objects.h"

#include <limits.h>

#include "api/meta.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/cache_names.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

#define SCHEME      "cache://"
#define HEAD_SUFFIX "-cache-head" /* the leader's label "app" */
#define EKS         "eks.amazonaws.com/"

enum { DEFAULT_TIMEOUT_MS = 10 * 60 * 1000 };

struct reader {
	const char *(*env)(void *ctx, const char *name);
	void *ctx;
};

/* ---- settings ---- */

static int read_uri(struct cache_settings *w, struct arena *arena, const char *uri,
		    struct error *err)
{
	const char *path = str_after(uri, SCHEME);
	size_t n = 0;
	char **parts = str_split(arena, path ? path : "", '/', &n);

	if (n != 2 || !*parts[0] || !*parts[1])
		return error_set(err, ERR_INVALID, "%s: want cache://SCHEMA/TABLE", uri);
	w->schema = parts[0];
	w->table = parts[1];
	return 0;
}

static int need(const struct reader *r, const char *name, const char **ret,
		struct error *err)
{
	*ret = r->env(r->ctx, name);
	if (*ret)
		return 0;
	return error_set(err, ERR_INVALID, "%s is not set; the data cache needs it",
			 name);
}

static int read_quantity(const struct reader *r, const char *name, const char *other,
			 const char **ret, struct error *err)
{
	const char *text = r->env(r->ctx, name);
	struct quantity unused;

	*ret = text ? text : other;
	return quantity_parse(&unused, *ret, err) ? error_wrap(err, "%s", name) : 0;
}

static int read_numbers(struct cache_settings *w, const struct reader *r,
			struct error *err)
{
	const struct {
		const char *name;
		int64_t min, max, other, *ret;
	} rows[] = {
		{ CACHE_SIZE_ENV, CACHE_MIN_SIZE, CACHE_MAX_SIZE, 3, &w->size },
		{ "READINESS_INITIAL_DELAY_SECONDS", 0, INT_MAX, 5, &w->delay },
		{ "READINESS_PERIOD_SECONDS", 1, INT_MAX, 10, &w->period },
		{ "READINESS_TIMEOUT_SECONDS", 1, INT_MAX, 5, &w->timeout },
		{ "READINESS_FAILURE_THRESHOLD", 1, INT_MAX, 3, &w->failures },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *text = r->env(r->ctx, rows[i].name);

		*rows[i].ret = rows[i].other;
		if (!text || !str_int(rows[i].ret, text, rows[i].min, rows[i].max, err))
			continue;
		err->kind = ERR_INVALID;
		return error_wrap(err, "%s", rows[i].name);
	}
	return 0;
}

static int read_quantities(struct cache_settings *w, const struct reader *r,
			   struct error *err)
{
	const struct {
		const char *name, *other, **ret;
	} rows[] = {
		{ "HEAD_CPU", "1", &w->cpu[CACHE_HEAD] },
		{ "HEAD_MEM", "1Gi", &w->memory[CACHE_HEAD] },
		{ CACHE_WORKER_CPU_ENV, "2", &w->cpu[CACHE_WORKER] },
		{ CACHE_WORKER_MEM_ENV, "2Gi", &w->memory[CACHE_WORKER] },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (read_quantity(r, rows[i].name, rows[i].other, rows[i].ret, err))
			return -1;
	return 0;
}

static int read_deadline(struct cache_settings *w, const struct reader *r,
			 struct error *err)
{
	const char *text = r->env(r->ctx, "CACHE_TIMEOUT");

	w->deadline_ms = DEFAULT_TIMEOUT_MS;
	if (text && duration_parse(&w->deadline_ms, text, err))
		return error_wrap(err, "CACHE_TIMEOUT");
	if (w->deadline_ms > 0)
		return 0;
	return error_set(err, ERR_INVALID, "CACHE_TIMEOUT: %s: want more than 0", text);
}

int cache_settings_read(struct cache_settings *ret, struct arena *arena, const char *uri,
			const char *(*env)(void *ctx, const char *name), void *ctx,
			struct error *err)
{
	const struct reader r = { env, ctx };

	*ret = (struct cache_settings){ .iam_role = env(ctx, "IAM_ROLE") };
	if (read_uri(ret, arena, uri, err) ||
	    need(&r, "TRAIN_JOB_NAME", &ret->job, err) ||
	    need(&r, "CACHE_IMAGE", &ret->image, err) ||
	    need(&r, CACHE_TABLE_ENV, &ret->location, err) ||
	    read_numbers(ret, &r, err) || read_quantities(ret, &r, err))
		return -1;
	return read_deadline(ret, &r, err);
}

/* ---- objects ---- */

struct making {
	const struct cache_settings *settings;
	const cJSON *trainjob;
	struct arena arena;
};

static const char *name_with(struct making *m, const char *suffix)
{
	return arena_printf(&m->arena, "%s%s", m->settings->job, suffix);
}

static cJSON *add(struct making *m, cJSON *list, const char *api_version,
		  const char *kind, const char *suffix)
{
	cJSON *obj = meta_new(api_version, kind, meta_namespace(m->trainjob),
			      name_with(m, suffix));

	meta_set_owner(obj, m->trainjob);
	cJSON_AddItemToArray(list, obj);
	return obj;
}

static void add_port(cJSON *c, int number, const char *name)
{
	cJSON *port = cJSON_CreateObject();

	json_put_int(port, number, "containerPort");
	json_put_str(port, name, "name");
	cJSON_AddItemToArray(json_list(c, "ports"), port);
}

static void add_probe(cJSON *c, const struct cache_settings *w)
{
	json_put_str(c, "/ready", "readinessProbe", "httpGet", "path");
	json_put_int(c, CACHE_HEALTH_PORT, "readinessProbe", "httpGet", "port");
	json_put_int(c, w->delay, "readinessProbe", "initialDelaySeconds");
	json_put_int(c, w->period, "readinessProbe", "periodSeconds");
	json_put_int(c, w->timeout, "readinessProbe", "timeoutSeconds");
	json_put_int(c, w->failures, "readinessProbe", "failureThreshold");
}

static void add_container(struct making *m, cJSON *pod_spec, int role)
{
	static const char *const names[] = {
		[CACHE_HEAD] = "head", [CACHE_WORKER] = "worker"
	};
	static const char *const words[] = { "0.0.0.0", "50051" };
	const struct cache_settings *w = m->settings;
	const char *secret =
		initializer_secret(tj_initializer(m->trainjob, INIT_DATASET));
	cleanup_json cJSON *command = cJSON_CreateStringArray(&names[role], 1);
	cleanup_json cJSON *args = cJSON_CreateStringArray(words, 2);
	cJSON *c = container_new(names[role], w->image);

	container_set_command(c, command);
	container_set_args(c, args);
	container_set_resource(c, "cpu", w->cpu[role]);
	container_set_resource(c, "memory", w->memory[role]);
	container_set_env(c, CACHE_TABLE_ENV, w->location);
	container_set_env(c, "TABLE_NAME", w->table);
	container_set_env(c, "SCHEMA_NAME", w->schema);
	if (secret)
		container_env_from_secret(c, secret);
	add_port(c, CACHE_PORT, "grpc");
	add_port(c, CACHE_HEALTH_PORT, "health");
	add_probe(c, w);
	cJSON_AddItemToArray(json_list(pod_spec, "containers"), c);
}

static void add_template(struct making *m, cJSON *lws, const char *key, int role)
{
	cJSON *template = json_obj(lws, "spec", "leaderWorkerTemplate", key);

	if (role == CACHE_HEAD)
		pod_template_label(template, "app", name_with(m, HEAD_SUFFIX));
	json_put_str(template, name_with(m, CACHE_SUFFIX), "spec", "serviceAccountName");
	add_container(m, json_obj(template, "spec"), role);
}

cJSON *cache_objects(const struct cache_settings *settings, const cJSON *trainjob)
{
	struct making m = { .settings = settings, .trainjob = trainjob };
	cJSON *list = cJSON_CreateArray();
	cJSON *account = add(&m, list, "v1", "ServiceAccount", CACHE_SUFFIX);
	cJSON *lws = add(&m, list, LWS_API_VERSION, LWS_KIND, CACHE_SUFFIX);
	cJSON *service = add(&m, list, "v1", "Service", CACHE_SERVICE_SUFFIX);

	if (settings->iam_role) {
		meta_set_annotation(account, EKS "sts-regional-endpoints", "true");
		meta_set_annotation(account, EKS "role-arn", settings->iam_role);
	}
	json_put_int(lws, 1, "spec", "replicas");
	json_put_int(lws, settings->size, "spec", "leaderWorkerTemplate", "size");
	add_template(&m, lws, "leaderTemplate", CACHE_HEAD);
	add_template(&m, lws, "workerTemplate", CACHE_WORKER);
	json_put_str(service, name_with(&m, HEAD_SUFFIX), "spec", "selector", "app");
	cache_service_spec(service);
	arena_clear(&m.arena);
	return list;
}

/* ---- status ---- */

static const cJSON *condition(const cJSON *lws, const char *type)
{
	return json_find_const(json_get(lws, "status", "conditions"), "type", type);
}

bool cache_lws_available(const cJSON *lws)
{
	return str_eq(json_str(condition(lws, "Available"), "status"), "True");
}

const char *cache_lws_progress(struct arena *arena, const cJSON *lws)
{
	const char *message = json_str(condition(lws, "Progressing"), "message");

	if (!message)
		return json_get(lws, "status", "conditions")
			       ? ""
			       : "its controller has not processed it; is "
				 "LeaderWorkerSet's controller running?";
	return arena_strdup(arena, message);
}
