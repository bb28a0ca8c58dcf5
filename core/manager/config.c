/* config.c - read the controller's settings and feature gates (manager/config.h). */
#include "manager/config.h"

#include <stdlib.h>
#include <string.h>

#include "api/field.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/sock.h"
#include "base/str.h"
#include "base/yaml.h"
#include "trainer/api.h"

#define FILE_MAX      ((size_t)1024 * 1024) /* no ConfigMap is larger */
#define GATE_ALL      "AllAlpha"            /* component-base: all alpha gates */
#define GATE_ALL_BETA "AllBeta"

enum { MAX_LINE = 4096, MAX_ERRORS = 1000 };

enum setting_type {
	SET_BOOL,
	SET_INT,      /* int64_t within [min, max] */
	SET_RATE,     /* double, not negative */
	SET_STR,      /* "" leaves the default */
	SET_FIXED,    /* one of the words; checked, then ignored */
	SET_BIND,     /* "host:port", or "0"; "" leaves the default */
	SET_DURATION, /* int64_t in ms; 0 leaves the default */
	SET_STRS,     /* at most max strings; an empty list is NULL */
	SET_MAP,      /* read by fill() below */
};

struct setting {
	const char *path;
	enum setting_type type;
	size_t offset;
	int64_t min, max;
	const char *const *words;
};

static const char *const api_versions[] = { "config.trainer.kubeflow.org/v1alpha1",
					    NULL };
static const char *const kinds[] = { "Configuration", NULL };
static const char *const locks[] = { "leases", "", NULL };

#define SETTING(path_, type_, field, ...)                                       \
	{                                                                       \
		.path = (path_), .type = SET_##type_,                           \
		.offset = offsetof(struct manager_config, field) __VA_OPT__(, ) \
			__VA_ARGS__                                             \
	}
#define CHECKED(path_, words_)                                        \
	{                                                             \
		.path = (path_), .type = SET_FIXED, .words = (words_) \
	}
#define MAP(path_)                               \
	{                                        \
		.path = (path_), .type = SET_MAP \
	}
#define PORT  .min = 1, .max = 65535
#define BURST .max = INT32_MAX

static const struct setting settings[] = {
	CHECKED("apiVersion", api_versions),
	CHECKED("kind", kinds),
	SETTING("webhook.port", INT, webhook.port, PORT),
	SETTING("webhook.host", STR, webhook.host),
	SETTING("metrics.bindAddress", BIND, metrics.bind),
	SETTING("metrics.secureServing", BOOL, metrics.secure),
	SETTING("metrics.auth.enabled", BOOL, metrics.auth),
	SETTING("health.healthProbeBindAddress", BIND, health.bind),
	SETTING("health.readinessEndpointName", STR, health.readiness),
	SETTING("health.livenessEndpointName", STR, health.liveness),
	SETTING("leaderElection.leaderElect", BOOL, election.enabled),
	CHECKED("leaderElection.resourceLock", locks),
	SETTING("leaderElection.resourceName", STR, election.name),
	SETTING("leaderElection.resourceNamespace", STR, election.ns),
	SETTING("leaderElection.leaseDuration", DURATION, election.lease_ms),
	SETTING("leaderElection.renewDeadline", DURATION, election.renew_ms),
	SETTING("leaderElection.retryPeriod", DURATION, election.retry_ms),
	MAP("controller.groupKindConcurrency"),
	SETTING("certManagement.enable", BOOL, certs.enable),
	SETTING("certManagement.webhookServiceName", STR, certs.service),
	SETTING("certManagement.webhookSecretName", STR, certs.secret),
	SETTING("clientConnection.qps", RATE, client.qps),
	SETTING("clientConnection.burst", INT, client.burst, BURST),
	SETTING("statusServer.port", INT, status_server.port, PORT),
	SETTING("statusServer.qps", RATE, status_server.qps),
	SETTING("statusServer.burst", INT, status_server.burst, BURST),
	MAP("featureGates"),
	SETTING("tls.minVersion", STR, tls.min_version),
	SETTING("tls.cipherSuites", STRS, tls.ciphers, .max = 100),
	SETTING("tls.nextProtos", STRS, tls.alpn, .max = 10),
};

enum { N_SETTINGS = N_ELEMENTS(settings) };

static const struct manager_config defaults = {
	.webhook = { .port = 9443, .host = "" },
	.metrics = { .bind = ":8443", .secure = true },
	.health = { .bind = ":8081", .readiness = "readyz", .liveness = "healthz" },
	.election = { .name = TRAINER_GROUP,
		      .ns = "",
		      .lease_ms = 9000,
		      .renew_ms = 7000,
		      .retry_ms = 2000 },
	.trainjob_workers = 5,
	.runtime_workers = 1,
	.cluster_runtime_workers = 1,
	.certs = { .enable = true,
		   .service = "kubeflow-trainer-controller-manager",
		   .secret = "kubeflow-trainer-webhook-cert" },
	.client = { .qps = 50, .burst = 100 },
	.status_server = { .port = 10443, .qps = 5, .burst = 10 },
	.tls = { .min_version = "" },
};

struct reader {
	struct manager_config *config;
	struct field_errors errs;
};

static void wrong_type(struct reader *r, const char *path, const cJSON *node,
		       const char *want)
{
	field_error_add(&r->errs, FIELD_TYPE_INVALID, path, node, "must be %s", want);
}

static bool is_str(struct reader *r, const char *path, const cJSON *node)
{
	if (cJSON_IsString(node))
		return true;
	wrong_type(r, path, node, "a string");
	return false;
}

static bool read_int(struct reader *r, const char *path, const cJSON *node, int64_t min,
		     int64_t max, int64_t *ret)
{
	int64_t v;

	if (!json_int_of(node, &v)) {
		wrong_type(r, path, node, "an integer");
	} else if (v < min && max == INT32_MAX) {
		field_error_add(&r->errs, FIELD_INVALID, path, node,
				"must be greater than or equal to %d", (int)min);
	} else if (v < min || v > max) {
		field_error_add(&r->errs, FIELD_INVALID, path, node,
				"must be between %d and %d", (int)min, (int)max);
	} else {
		*ret = v;
		return true;
	}
	return false;
}

static void read_rate(struct reader *r, const char *path, const cJSON *node, double *ret)
{
	if (!cJSON_IsNumber(node))
		wrong_type(r, path, node, "a number");
	else if (node->valuedouble < 0)
		field_error_add(&r->errs, FIELD_INVALID, path, node,
				"must be greater than or equal to 0");
	else
		*ret = node->valuedouble;
}

static void read_duration(struct reader *r, const char *path, const cJSON *node,
			  int64_t *ret)
{
	struct error why = { 0 };
	int64_t ms = 0;

	if (!is_str(r, path, node))
		return;
	if (duration_parse(&ms, node->valuestring, &why))
		field_error_add(&r->errs, FIELD_INVALID, path, node, "%s", why.msg);
	else if (ms < 0)
		field_error_add(&r->errs, FIELD_INVALID, path, node,
				"must be greater than or equal to 0");
	else if (ms)
		*ret = ms;
}

static void read_bind(struct reader *r, const char *path, const cJSON *node,
		      const char **ret)
{
	cleanup_arena struct arena a = { 0 };
	const char *host, *text;
	int64_t port;

	if (!is_str(r, path, node) || !*node->valuestring)
		return;
	if (!str_eq(node->valuestring, "0") &&
	    (!sock_split(&a, node->valuestring, &host, &text) ||
	     str_int(&port, text, 0, 65535, IGNORED)))
		field_error_add(&r->errs, FIELD_INVALID, path, node,
				"must be \"host:port\", \"[IPv6 address]:port\", "
				"\":port\", or \"0\" for none");
	else
		*ret = arena_strdup(&r->config->arena, node->valuestring);
}

static void read_strs(struct reader *r, const struct setting *s, const cJSON *node,
		      const char *const **ret)
{
	const char **list;
	const cJSON *item;
	size_t n = 0;

	if (!cJSON_IsArray(node)) {
		wrong_type(r, s->path, node, "a list of strings");
		return;
	}
	if (cJSON_GetArraySize(node) > s->max) {
		field_error_add(&r->errs, FIELD_TOO_MANY, s->path, NULL,
				"must have at most %d items", (int)s->max);
		return;
	}
	list = arena_alloc(&r->config->arena, ((size_t)s->max + 1) * sizeof(*list));
	json_each(item, node) {
		if (!is_str(r, field_index(&r->errs, s->path, n), item))
			return;
		list[n++] = arena_strdup(&r->config->arena, item->valuestring);
	}
	*ret = n ? list : NULL;
}

static void read_fixed(struct reader *r, const struct setting *s, const cJSON *node)
{
	if (is_str(r, s->path, node) && !str_in(node->valuestring, s->words))
		field_error_add(&r->errs, FIELD_NOT_SUPPORTED, s->path, node,
				"supported values: \"%s\"", s->words[0]);
}

static void read_workers(struct reader *r, const cJSON *map)
{
	const struct {
		const char *kind;
		int64_t *field;
	} known[] = {
		{ TRAINJOB_KIND "." TRAINER_GROUP, &r->config->trainjob_workers },
		{ RUNTIME_KIND "." TRAINER_GROUP, &r->config->runtime_workers },
		{ CLUSTER_RUNTIME_KIND "." TRAINER_GROUP,
		  &r->config->cluster_runtime_workers },
	};
	const char *base = "controller.groupKindConcurrency";
	const cJSON *node;

	json_each(node, map) {
		int64_t workers;

		if (!read_int(r, field_key(&r->errs, base, node->string), node, 1,
			      INT32_MAX, &workers))
			continue;
		if (workers > MANAGER_MAX_WORKERS)
			workers = MANAGER_MAX_WORKERS;
		for (size_t i = 0; i < N_ELEMENTS(known); i++)
			if (str_eq(node->string, known[i].kind))
				*known[i].field = workers;
	}
}

static const struct gate {
	const char *name, *all; /* all: AllAlpha or AllBeta, which sets it as well */
	size_t offset;
} known_gates[] = {
	{ "TrainJobStatus", GATE_ALL,
	  offsetof(struct manager_config, gate_trainjob_status) },
	{ GATE_RESOURCE_CLAIMS, GATE_ALL,
	  offsetof(struct manager_config, gate_resource_claims) },
	{ GATE_SCHEDULING, GATE_ALL, offsetof(struct manager_config, gate_scheduling) },
};

enum { N_GATES = N_ELEMENTS(known_gates) };

#define KNOWN_GATES "TrainJobStatus, " GATE_RESOURCE_CLAIMS ", " GATE_SCHEDULING

/* Sets the gate of that name. A gate's own value overrides AllAlpha and AllBeta. */
static int set_gate(struct manager_config *c, const char *name, bool on,
		    bool named[N_GATES])
{
	bool all = str_eq(name, GATE_ALL) || str_eq(name, GATE_ALL_BETA), found = all;

	if (str_eq(name, GATE_OLD_CLAIMS)) {
		c->old_gate = true;
		name = GATE_RESOURCE_CLAIMS;
	}
	for (size_t i = 0; i < N_GATES; i++) {
		bool *gate = (bool *)((char *)c + known_gates[i].offset);

		if (str_eq(name, known_gates[i].name)) {
			*gate = on;
			named[i] = found = true;
		} else if (str_eq(name, known_gates[i].all) && !named[i]) {
			*gate = on;
		}
	}
	return found ? 0 : -1;
}

static void read_gates(struct reader *r, const cJSON *map)
{
	bool named[N_GATES] = { 0 };
	const cJSON *node;

	json_each(node, map) {
		const char *path = field_key(&r->errs, "featureGates", node->string);

		if (!cJSON_IsBool(node))
			wrong_type(r, path, node, "true or false");
		else if (set_gate(r->config, node->string, cJSON_IsTrue(node), named))
			field_error_add(&r->errs, FIELD_UNKNOWN, path, NULL,
					"unknown feature gate; known: " KNOWN_GATES);
	}
}

static void read_map(struct reader *r, const struct setting *s, const cJSON *node)
{
	if (!cJSON_IsObject(node))
		wrong_type(r, s->path, node, "a map");
	else if (str_eq(s->path, "featureGates"))
		read_gates(r, node);
	else
		read_workers(r, node);
}

static void read_setting(struct reader *r, const struct setting *s, const cJSON *node)
{
	void *field = (char *)r->config + s->offset;

	switch (s->type) {
	case SET_BOOL:
		if (cJSON_IsBool(node))
			*(bool *)field = cJSON_IsTrue(node);
		else
			wrong_type(r, s->path, node, "true or false");
		return;
	case SET_INT:
		read_int(r, s->path, node, s->min, s->max, field);
		return;
	case SET_RATE:
		read_rate(r, s->path, node, field);
		return;
	case SET_STR:
		if (is_str(r, s->path, node) && *node->valuestring)
			*(const char **)field =
				arena_strdup(&r->config->arena, node->valuestring);
		return;
	case SET_FIXED:
		read_fixed(r, s, node);
		return;
	case SET_BIND:
		read_bind(r, s->path, node, field);
		return;
	case SET_DURATION:
		read_duration(r, s->path, node, field);
		return;
	case SET_STRS:
		read_strs(r, s, node, field);
		return;
	case SET_MAP:
		read_map(r, s, node);
		return;
	}
}

static const struct setting *find_setting(const char *path)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (!strcmp(settings[i].path, path))
			return &settings[i];
	return NULL;
}

/* The next part of `full` below `path`: "port" of "webhook.port" below "webhook". */
static const char *member_below(struct arena *arena, const char *full, const char *path)
{
	const char *rest = *path ? str_after(full, path) : full;

	if (rest && *path)
		rest = *rest == '.' ? rest + 1 : NULL;
	return rest ? str_slice(arena, rest, strcspn(rest, ".")) : NULL;
}

static bool is_group(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < N_SETTINGS; i++)
		if (str_starts(settings[i].path, path) && settings[i].path[len] == '.')
			return true;
	return false;
}

static void unknown(struct reader *r, const char *parent, const char *key)
{
	const char *names[N_SETTINGS + 1] = { 0 }, *near;
	const char *path = field_child(&r->errs, parent, key);
	size_t n = 0;

	for (size_t i = 0; i < N_SETTINGS; i++) {
		const char *name = member_below(&r->errs.arena, settings[i].path, parent);

		if (name && !str_in(name, names))
			names[n++] = name;
	}
	near = nearest_word(key, names);
	field_error_add(&r->errs, FIELD_UNKNOWN, path, NULL, "%s",
			near ? nearest_did_you_mean(&r->errs.arena, near) : "");
}

/* The recursion is as deep as the table of settings: three levels. */
static void read_group(struct reader *r, const char *path, const cJSON *group)
{
	const cJSON *node;

	if (!cJSON_IsObject(group)) {
		wrong_type(r, path, group, "a map");
		return;
	}
	json_each(node, group) {
		const char *child = field_child(&r->errs, path, node->string);
		const struct setting *s = find_setting(child);

		if (r->errs.n >= MAX_ERRORS)
			return;
		if (!s && !is_group(child))
			unknown(r, path, node->string);
		else if (cJSON_IsNull(node))
			continue;
		else if (s)
			read_setting(r, s, node);
		else
			read_group(r, child, node);
	}
}

static void check_present(struct reader *r, const cJSON *doc, const char *key)
{
	if (!json_get(doc, key))
		field_error_add(&r->errs, FIELD_REQUIRED, key, NULL, "%s", "");
}

/* The rules of client-go's leaderelection. */
static void check_election(struct reader *r)
{
	const struct manager_config *c = r->config;

	if (!c->election.enabled)
		return;
	if (c->election.lease_ms <= c->election.renew_ms)
		field_error_add(&r->errs, FIELD_INVALID, "leaderElection.leaseDuration",
				NULL, "must be greater than renewDeadline");
	if (c->election.renew_ms * 5 <= c->election.retry_ms * 6)
		field_error_add(&r->errs, FIELD_INVALID, "leaderElection.renewDeadline",
				NULL, "must be greater than 1.2 times retryPeriod");
}

/* "file:line:column: message", in the arena of the configuration. */
static char *error_line(struct manager_config *c, const char *file,
			struct yaml_places *places, const struct field_error *e)
{
	cleanup_buf struct buf line = { .max = MAX_LINE };
	int row, column;

	buf_printf(&line, "%s:", file);
	if (yaml_locate(places, 0, e->path, &row, &column))
		buf_printf(&line, "%d:%d:", row, column);
	buf_adds(&line, " ");
	field_error_print(&line, e);
	return arena_strdup(&c->arena, (const char *)line.data);
}

static int report(struct reader *r, const char *file, const struct buf *text,
		  char ***ret_errors, struct error *err)
{
	cleanup_yaml_places struct yaml_places *places = NULL;
	char **lines;

	if (!r->errs.n)
		return 0;
	places = yaml_places(text->data, text->len);
	lines = arena_alloc(&r->config->arena, (r->errs.n + 1) * sizeof(*lines));
	for (size_t i = 0; i < r->errs.n; i++)
		lines[i] = error_line(r->config, file, places, &r->errs.list[i]);
	*ret_errors = lines;
	return error_set(err, ERR_INVALID, "%s", lines[0]);
}

/* Puts the file's name before the position that yaml_parse() reports. */
static int parse(cJSON **ret, const char *file, const struct buf *text, struct error *err)
{
	struct error why = { 0 };

	if (!yaml_parse(ret, text->data, text->len, &why))
		return 0;
	return error_set(err, why.kind, "%s:%s", file, why.msg);
}

static int read_file(struct manager_config *c, const char *file, char ***ret_errors,
		     struct error *err)
{
	cleanup_buf struct buf text = { .max = FILE_MAX };
	cleanup_json cJSON *docs = NULL;
	struct reader r = { .config = c };
	int ret;

	if (file_read(&text, file, err) || parse(&docs, file, &text, err)) {
		err->kind = ERR_INVALID;
		return -1;
	}
	if (cJSON_GetArraySize(docs) != 1)
		return error_set(err, ERR_INVALID, "%s: expected 1 document, found %d",
				 file, cJSON_GetArraySize(docs));
	check_present(&r, docs->child, "apiVersion");
	check_present(&r, docs->child, "kind");
	read_group(&r, "", docs->child);
	check_election(&r);
	ret = report(&r, file, &text, ret_errors, err);
	field_errors_release(&r.errs);
	return ret;
}

static int read_gate_flag(struct manager_config *c, const char *pair, bool named[N_GATES],
			  struct error *err)
{
	static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True", NULL };
	static const char *const no[] = {
		"0", "f", "F", "false", "FALSE", "False", NULL
	};
	cleanup_arena struct arena a = { 0 };
	const char *eq = strchr(pair, '='), *name, *value;

	if (!eq)
		return error_set(err, ERR_USAGE,
				 "--feature-gates: expected NAME=true or NAME=false, "
				 "found '%.100s'",
				 pair);
	name = str_trim(&a, str_slice(&a, pair, (size_t)(eq - pair)));
	value = str_trim(&a, eq + 1);
	if (!str_in(value, yes) && !str_in(value, no))
		return error_set(err, ERR_USAGE,
				 "--feature-gates: %.100s: '%.100s' is not true or false",
				 name, value);
	if (set_gate(c, name, str_in(value, yes), named))
		return error_set(err, ERR_USAGE,
				 "--feature-gates: unknown gate '%.100s'; known: %s",
				 name, KNOWN_GATES);
	return 0;
}

static int read_gate_flags(struct manager_config *c, const char *gates, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	bool named[N_GATES] = { 0 };

	for (char **pair = str_split(&a, gates, ',', NULL); *pair; pair++) {
		const char *text = str_trim(&a, *pair);

		if (*text && read_gate_flag(c, text, named, err))
			return -1;
	}
	return 0;
}

int manager_config_load(struct manager_config *ret, const char *file, const char *gates,
			char ***ret_errors, struct error *err)
{
	*ret = defaults;
	*ret_errors = NULL;
	if (file && read_file(ret, file, ret_errors, err))
		return -1;
	return gates ? read_gate_flags(ret, gates, err) : 0;
}

/* Upstream's manager does not apply the default figures; others were set on purpose. */
double manager_config_qps(const struct manager_config *c)
{
	return c->client.qps == defaults.client.qps &&
			       c->client.burst == defaults.client.burst
		       ? 0
		       : c->client.qps;
}

void manager_config_release(struct manager_config *c)
{
	arena_clear(&c->arena);
	*c = (struct manager_config){ 0 };
}
