/*
 * kubeflow.c - Kubeflow Model Registry (kubeflow/model-registry, api/openapi/model-registry.yaml).
 *
 * A RegisteredModel has ModelVersions, a version has a ModelArtifact with the URI. The
 * externalId of what we register is unique in a registry: made from the model and the
 * digest, it keeps two processes from registering one digest twice.
 */
#include "registry/registry_impl.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "cloud/secret.h"

/* The first is that of releases up to 0.3.8; the calls that are used here are the same in both. */
static const char *const apis[] = { "/api/model_registry/v1alpha3",
				    "/api/model_registry/v1" };

struct kubeflow {
	struct registry *r;
	const char *api; /* one of apis */
	const char *model_id, *version_id;
	const char *version, *external; /* of the version that we want */
	bool existed;
};

int kubeflow_credentials(struct registry *r, const char **ret, struct error *err)
{
	const char *file = registry_env(r, "KF_PIPELINES_SA_TOKEN_PATH"), *token;
	const char *text = registry_env(r, "MODEL_REGISTRY_TOKEN");

	if (!text && !file)
		return 0;
	if (text ? secret_take(&token, r->arena, text, "MODEL_REGISTRY_TOKEN", err)
		 : secret_read(&token, r->arena, file, "KF_PIPELINES_SA_TOKEN_PATH", err))
		return -1;
	*ret = arena_printf(r->arena, "Bearer %s", token);
	str_wipe(token);
	return 0;
}

/* An object's id, a decimal number in a string; NULL: it has none. */
static const char *id_of(struct registry *r, const cJSON *doc)
{
	const char *id = json_str(doc, "id");

	return id && *id && strlen(id) < 20 && strspn(id, "0123456789") == strlen(id)
		       ? arena_strdup(r->arena, id)
		       : NULL;
}

/* *ret: the object that a path finds, the caller's; NULL: there is none. */
static int find(struct kubeflow *k, const char *by, const char *key, cJSON **ret,
		struct error *err)
{
	cleanup_answer struct registry_answer answer = { 0 };
	struct registry *r = k->r;

	if (registry_ask(r, "GET",
			 arena_printf(r->arena, "%s/%s=%s", k->api, by,
				      registry_escape(r, key)),
			 NULL, &answer, err))
		return -1;
	if (answer.status < 300 && id_of(r, answer.doc))
		*ret = STEAL(answer.doc);
	else if (answer.status != 404)
		return error_set(err, ERR_FORMAT,
				 "%s: unexpected answer (status %d): is this the "
				 "address of a Kubeflow Model Registry?",
				 r->shown, answer.status);
	return 0;
}

static void put_property(cJSON *doc, const char *name, const char *value)
{
	json_put_str(doc, "MetadataStringValue", "customProperties", name,
		     "metadataType");
	json_put_str(doc, value, "customProperties", name, "string_value");
}

/* Make what is_there looks for, unless another process does so meanwhile. */
static int make(struct kubeflow *k, const char *path, const cJSON *doc, const char *what,
		int (*is_there)(void *ctx, bool *ret, struct error *err),
		struct error *err)
{
	const struct registry_call call = { .method = "POST",
					    .path = arena_printf(k->r->arena, "%s%s",
								 k->api, path),
					    .body = doc,
					    .is_done = is_there,
					    .ctx = k };
	cleanup_answer struct registry_answer answer = { 0 };
	bool there = false;

	if (registry_call(k->r, &call, &answer, err) || is_there(k, &there, err))
		return -1;
	if (there)
		return 0;
	return answer.status == 409 && k->external
		       ? registry_conflict(k->r, k->version, NULL, err)
		       : registry_refused(k->r, &answer, what, err);
}

/* ---- the model ---- */

static int model_is_there(void *ctx, bool *ret, struct error *err)
{
	struct kubeflow *k = ctx;
	cleanup_json cJSON *doc = NULL;

	if (find(k, "registered_model?name", k->r->model->name, &doc, err))
		return -1;
	k->model_id = doc ? id_of(k->r, doc) : NULL;
	*ret = doc != NULL;
	return 0;
}

/* The first call: it finds which API this server has. */
static int find_model(struct kubeflow *k, bool *there, struct error *err)
{
	k->api = apis[0];
	if (!model_is_there(k, there, err))
		return 0;
	if (err->code != 404)
		return -1;
	k->api = apis[1];
	return model_is_there(k, there, err);
}

static int ensure_model(struct kubeflow *k, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	bool there = false;

	if (find_model(k, &there, err) || there)
		return there ? 0 : -1;
	json_put_str(doc, k->r->model->name, "name");
	json_put_str(doc, "LIVE", "state");
	return make(k, "/registered_models", doc, "model", model_is_there, err);
}

/* ---- the version ---- */

static const char *external(const struct kubeflow *k)
{
	return arena_printf(k->r->arena, "kftrainer/%s/%s", k->model_id,
			    k->r->model->digest);
}

/*
 * By its digest alone: the searches for a name fail where the registry's database is
 * PostgreSQL (kubeflow/model-registry 0.3.0), and a name that is taken is refused anyway.
 */
static int version_is_there(void *ctx, bool *ret, struct error *err)
{
	struct kubeflow *k = ctx;
	cleanup_json cJSON *doc = NULL;
	const char *name;

	if (find(k, "model_version?externalId", k->external, &doc, err))
		return -1;
	name = json_str(doc, "name");
	if (name)
		k->version = arena_strdup(k->r->arena, name);
	k->version_id = doc ? id_of(k->r, doc) : NULL;
	*ret = doc != NULL;
	return 0;
}

static int ensure_version(struct kubeflow *k, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	const struct registry_model *m = k->r->model;

	if (version_is_there(k, &k->existed, err) || k->existed)
		return k->existed ? 0 : -1;
	json_put_str(doc, k->model_id, "registeredModelId");
	json_put_str(doc, k->version, "name");
	json_put_str(doc, k->external, "externalId");
	json_put_str(doc, "LIVE", "state");
	if (m->description)
		json_put_str(doc, m->description, "description");
	for (size_t i = 0; i < m->n_properties; i++)
		put_property(doc, m->properties[i].name, m->properties[i].value);
	put_property(doc, "digest", m->digest);
	return make(k, "/model_versions", doc, "a version of", version_is_there, err);
}

/* ---- the artifact ---- */

static const char *artifact_name(const struct kubeflow *k)
{
	return arena_printf(k->r->arena, "%s/artifact", k->external);
}

static int artifact_is_there(void *ctx, bool *ret, struct error *err)
{
	struct kubeflow *k = ctx;
	cleanup_json cJSON *doc = NULL;

	if (find(k, "model_artifact?externalId", artifact_name(k), &doc, err))
		return -1;
	*ret = doc != NULL;
	return 0;
}

/* A version without one is what a process leaves that was killed between the two. */
static int ensure_artifact(struct kubeflow *k, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	const struct registry_model *m = k->r->model;
	bool there = false;

	if (artifact_is_there(k, &there, err) || there)
		return there ? 0 : -1;
	json_put_str(doc, "model-artifact", "artifactType");
	json_put_str(doc, m->name, "name");
	json_put_str(doc, artifact_name(k), "externalId");
	json_put_str(doc, m->uri, "uri");
	json_put_str(doc, "LIVE", "state");
	if (m->format)
		json_put_str(doc, m->format, "modelFormatName");
	put_property(doc, "digest", m->digest);
	return make(
		k,
		arena_printf(k->r->arena, "/model_versions/%s/artifacts", k->version_id),
		doc, "an artifact of", artifact_is_there, err);
}

int kubeflow_register(struct registry *r, struct registry_result *ret, struct error *err)
{
	const struct registry_model *m = r->model;
	struct kubeflow k = { .r = r };

	/* 12 digits, after "sha256:". */
	k.version = m->version ? m->version
			       : str_slice(r->arena, strchr(m->digest, ':') + 1, 12);
	if (ensure_model(&k, err))
		return -1;
	k.external = external(&k);
	if (ensure_version(&k, err) || ensure_artifact(&k, err))
		return -1;
	*ret = (struct registry_result){ .version = k.version, .existed = k.existed };
	return 0;
}

int kubeflow_probe(struct registry *r, struct error *err)
{
	struct kubeflow k = { .r = r };
	cleanup_json cJSON *doc = NULL;
	bool there = false;

	if (find_model(&k, &there, err) || !there)
		return there ? -1 : 0;
	if (r->model->digest) {
		k.external = external(&k);
		if (version_is_there(&k, &there, err) || there)
			return there ? 0 : -1;
	}
	if (find(&k,
		 arena_printf(r->arena, "model_version?parentResourceId=%s&name",
			      k.model_id),
		 r->model->version, &doc, err))
		return -1;
	if (!doc)
		return 0;
	return registry_conflict(
		r, r->model->version,
		json_str(doc, "customProperties", "digest", "string_value"), err);
}
