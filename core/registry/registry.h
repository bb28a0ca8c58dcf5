/*
 * registry.h - register an uploaded model in a model registry, once.
 *
 *   model-registry[+http]://HOST[:PORT]     Kubeflow Model Registry, REST API v1alpha3
 *   mlflow+http(s)://HOST[:PORT][/PREFIX]   MLflow 3, REST API 2.0
 *
 * A version is identified by the digest of its files: if the model has one with that
 * digest, nothing is registered, whatever its name. So a call may be repeated after any
 * failure, and by another process.
 *
 * Settings of the environment: KF_PIPELINES_SA_TOKEN_PATH, the file of a bearer token (as
 * in Kubeflow's Python client), or MODEL_REGISTRY_TOKEN; MLFLOW_TRACKING_TOKEN, or
 * MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD; MLFLOW_TRACKING_INSECURE_TLS;
 * MLFLOW_TRACKING_SERVER_CERT_PATH, else SSL_CERT_FILE: trusted CAs; MLFLOW_RUN_ID, the
 * run that a version of MLflow belongs to. No token or password is in a message.
 */
#ifndef REGISTRY_REGISTRY_H
#define REGISTRY_REGISTRY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	REGISTRY_MAX_PROPERTIES = 100,
	REGISTRY_MAX_NAME = 250, /* bytes; of a property's name, too */
	REGISTRY_MAX_VALUE = 5000,
};

struct registry_property {
	const char *name, *value;
};

struct registry_model {
	const char *name;
	const char *
		version; /* NULL: the first digits of the digest; MLflow numbers itself */
	const char *description; /* or NULL */
	const char *uri;         /* where its files are */
	const char *format;      /* "safetensors", or NULL */
	const char *digest;      /* "sha256:HEX" */
	const struct registry_property *properties;
	size_t n_properties;
};

struct registry_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* NULL or empty: unset */
	/* One line for the user: a pause between retries. Or NULL. */
	void (*say)(void *ctx, const char *line);
	void *ctx;
	const char *user_agent;
	int tries;      /* retries of a request; 0: RETRY_TRIES (net/retry.h) */
	int timeout_ms; /* of each; 0: a minute */
};

struct registry_result {
	const char *version; /* as the registry names it; in the arena */
	bool existed;        /* by an earlier call */
};

/*
 * Check what can be known without a call: the URI, names and properties, but not the
 * digest, which may be NULL. ERR_USAGE, ERR_INVALID, ERR_LIMIT.
 */
MUST_CHECK int registry_check(const struct registry_conf *conf,
			      const struct registry_model *m, struct error *err);

/* A property's name as the registry accepts it, such as a metric's; the caller's. */
char *registry_clean(const char *uri, const char *name);

/*
 * Look for m->version, and change nothing. ERR_CONFLICT: it exists and, if m->digest is
 * not NULL, no version of the model has that digest; others as of registry_register().
 */
MUST_CHECK int registry_probe(const struct registry_conf *conf,
			      const struct registry_model *m, struct error *err);

/*
 * Register the version, and the model if it is new. ERR_CONFLICT: m->version exists with
 * another digest; ERR_DENIED: no rights; ERR_FORMAT: the answer is not such a registry's;
 * others as of http_retry().
 */
MUST_CHECK int registry_register(const struct registry_conf *conf,
				 const struct registry_model *m, struct arena *arena,
				 struct registry_result *ret, struct error *err);

#endif
