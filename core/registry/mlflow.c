/*
 * mlflow.c - MLflow's model registry (mlflow/mlflow, mlflow/protos/model_registry.proto).
 *
 * MLflow numbers the versions of a model itself and knows no unique key: a version is
 * found by its tags. Two processes that register one digest at the same time may make two
 * versions; each then deletes its own if it is not the first.
 */
#include "registry/registry_impl.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "cloud/secret.h"

#define API         "/api/2.0/mlflow"
#define TAG_DIGEST  "kftrainer.digest"
#define TAG_VERSION "kftrainer.version"

struct mlflow {
	struct registry *r;
	const char *first;  /* of the versions with our digest; NULL: none */
	const char *digest; /* of the last one that was found */
};

int mlflow_credentials(struct registry *r, const char **ret, struct error *err)
{
	cleanup_buf struct buf pair = { .max = 16 * 1024 }, text = { .max = 32 * 1024 };
	const char *user = registry_env(r, "MLFLOW_TRACKING_USERNAME");
	const char *password = registry_env(r, "MLFLOW_TRACKING_PASSWORD");
	const char *token = registry_env(r, "MLFLOW_TRACKING_TOKEN"), *word;

	if (user && password) {
		buf_printf(&pair, "%s:%s", user, password);
		base64_encode(&text, pair.data, pair.len);
		*ret = arena_printf(r->arena, "Basic %s", (char *)text.data);
		str_wipe((char *)pair.data);
		str_wipe((char *)text.data);
		return buf_check(&pair, "MLFLOW_TRACKING_PASSWORD", err);
	}
	if (!token)
		return 0;
	if (secret_take(&word, r->arena, token, "MLFLOW_TRACKING_TOKEN", err))
		return -1;
	*ret = arena_printf(r->arena, "Bearer %s", word);
	str_wipe(word);
	return 0;
}

const char *mlflow_quoted(struct registry *r, const char *text, struct error *err)
{
	if (!strchr(text, '\''))
		return arena_printf(r->arena, "'%s'", text);
	error_set(err, ERR_INVALID,
		  "%s: '%s': MLflow cannot search for a name with a quote", r->shown,
		  text);
	return NULL;
}

static const char *tag_of(const cJSON *version, const char *key)
{
	const cJSON *tag;

	json_each(tag, json_get(version, "tags"))
		if (str_eq(json_str(tag, "key"), key))
			return json_str(tag, "value");
	return NULL;
}

/* *ret: the first version of the model with that value of a tag, or NULL. */
static int find_tagged(struct mlflow *m, const char *tag, const char *value,
		       const char **ret, struct error *err)
{
	struct registry *r = m->r;
	const char *name = mlflow_quoted(r, r->model->name, err), *text;
	cleanup_answer struct registry_answer answer = { 0 };
	const cJSON *v;

	text = name ? mlflow_quoted(r, value, err) : NULL;
	if (!text)
		return -1;
	text = arena_printf(r->arena, "name = %s and tags.`%s` = %s", name, tag, text);
	text = arena_printf(
		r->arena,
		API "/model-versions/search?max_results=100&order_by=%s&filter=%s",
		registry_escape(r, "version_number ASC"), registry_escape(r, text));
	if (registry_ask(r, "GET", text, NULL, &answer, err))
		return -1;
	if (answer.status >= 300)
		return registry_refused(r, &answer, "a version of", err);
	v = json_get(answer.doc, "model_versions");
	v = v ? v->child : NULL;
	*ret = arena_strdup(r->arena, json_str(v, "version"));
	m->digest = arena_strdup(r->arena, tag_of(v, TAG_DIGEST));
	return 0;
}

static int is_registered(void *ctx, bool *ret, struct error *err)
{
	struct mlflow *m = ctx;

	if (find_tagged(m, TAG_DIGEST, m->r->model->digest, &m->first, err))
		return -1;
	*ret = m->first != NULL;
	return 0;
}

/* *there: a version has the digest, if that is known. ERR_CONFLICT: another has the name. */
static int probe(struct mlflow *m, bool *there, struct error *err)
{
	const char *version = m->r->model->version, *other = NULL;

	*there = false;
	if ((m->r->model->digest && is_registered(m, there, err)) ||
	    (!*there && version && find_tagged(m, TAG_VERSION, version, &other, err)))
		return -1;
	return other ? registry_conflict(m->r, version, m->digest, err) : 0;
}

static int ensure_model(struct registry *r, struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };
	cleanup_json cJSON *body = cJSON_CreateObject();

	json_put_str(body, r->model->name, "name");
	if (registry_ask(r, "POST", API "/registered-models/create", body, &answer, err))
		return -1;
	return answer.status < 300 || str_eq(json_str(answer.doc, "error_code"),
					     "RESOURCE_ALREADY_EXISTS")
		       ? 0
		       : registry_refused(r, &answer, "model", err);
}

static void add_tag(cJSON *body, const char *key, const char *value)
{
	cJSON *tag = cJSON_CreateObject();

	json_put_str(tag, key, "key");
	json_put_str(tag, value, "value");
	cJSON_AddItemToArray(json_list(body, "tags"), tag);
}

static cJSON *new_version(struct registry *r)
{
	const struct registry_model *m = r->model;
	const char *run = registry_env(r, "MLFLOW_RUN_ID");
	cJSON *body = cJSON_CreateObject();

	json_put_str(body, m->name, "name");
	json_put_str(body, m->uri, "source");
	if (run)
		json_put_str(body, run, "run_id");
	if (m->description)
		json_put_str(body, m->description, "description");
	for (size_t i = 0; i < m->n_properties; i++)
		add_tag(body, m->properties[i].name, m->properties[i].value);
	add_tag(body, TAG_DIGEST, m->digest);
	if (m->version)
		add_tag(body, TAG_VERSION, m->version);
	if (m->format)
		add_tag(body, "format", m->format);
	return body;
}

static int delete_version(struct registry *r, const char *version, struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };
	cleanup_json cJSON *body = cJSON_CreateObject();

	json_put_str(body, r->model->name, "name");
	json_put_str(body, version, "version");
	return registry_ask(r, "DELETE", API "/model-versions/delete", body, &answer,
			    err);
}

static int create(struct mlflow *m, struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };
	struct registry *r = m->r;
	cleanup_json cJSON *body = new_version(r);
	const struct registry_call call = { .method = "POST",
					    .path = API "/model-versions/create",
					    .body = body,
					    .is_done = is_registered,
					    .ctx = m };
	const char *ours;
	bool there;

	if (registry_call(r, &call, &answer, err))
		return -1;
	if (answer.status >= 300)
		return registry_refused(r, &answer, "a version of", err);
	if (is_registered(m, &there, err))
		return -1;
	if (!there)
		return error_set(err, ERR_FORMAT, "%s: the new version is not found",
				 r->shown);
	ours = json_str(answer.doc, "model_version", "version");
	return ours && !str_eq(ours, m->first) ? delete_version(r, ours, err) : 0;
}

int mlflow_register(struct registry *r, struct registry_result *ret, struct error *err)
{
	struct mlflow m = { .r = r };
	bool there;

	if (ensure_model(r, err) || probe(&m, &there, err) || (!there && create(&m, err)))
		return -1;
	*ret = (struct registry_result){ .version = m.first, .existed = there };
	return 0;
}

int mlflow_probe(struct registry *r, struct error *err)
{
	struct mlflow m = { .r = r };
	bool there;

	return probe(&m, &there, err);
}
