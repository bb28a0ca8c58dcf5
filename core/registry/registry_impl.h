/*
 * registry_impl.h - a session with a registry, and its calls, for all kinds.
 */
#ifndef REGISTRY_REGISTRY_IMPL_H
#define REGISTRY_REGISTRY_IMPL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "net/http_retry.h"
#include "registry/registry.h"

struct registry {
	const struct registry_conf *conf;
	const struct registry_kind *kind;
	const struct registry_model *model;
	struct arena *arena; /* the caller's, for results and what lives as long */
	const char *base;    /* "https://host:port/prefix", without a '/' at its end */
	const char *shown;   /* the URI, for messages */
	const char *headers[4];
	struct http_client *http;
	struct http_retrier *retrier;
	int64_t *answered_ms; /* set to the time of each answer, atomically; or NULL */
};

/* A kind of registry; registry.c has the table. */
struct registry_kind {
	const char *scheme;    /* of the URI */
	const char *transport; /* "https" */
	/* The Authorization header's value, secret, in the arena; *ret NULL: none. */
	int (*credentials)(struct registry *r, const char **ret, struct error *err);
	const char *ca_setting, *insecure_setting; /* variables; or NULL */
	int (*run)(struct registry *r, struct registry_result *ret, struct error *err);
	int (*probe)(struct registry *r, struct error *err); /* registry_probe() */
	const struct track_kind *track; /* NULL: it tracks no metrics */
	const char *refused; /* characters that a model's name cannot have; or NULL */
};

struct registry_call {
	const char *method;
	const char *path; /* "/api/..." with its query */
	const cJSON *body;
	/*
	 * A call that is not idempotent: before it is repeated, sets *ret if the lost try
	 * succeeded; then the answer's status is 0. Or NULL.
	 */
	int (*is_done)(void *ctx, bool *ret, struct error *err);
	void *ctx;
};

struct registry_answer {
	int status;
	cJSON *doc; /* an object; NULL if the status is 0 */
};
void registry_answer_release(struct registry_answer *a);
#define cleanup_answer __attribute__((cleanup(registry_answer_release)))

/* Open a session with r->conf in r->arena; kind, base and all after it are set. */
MUST_CHECK int registry_open(struct registry *r, struct error *err);
void registry_close(struct registry *r);
/* The kind of a URI, if that is valid. */
MUST_CHECK int registry_find_kind(const struct registry_kind **ret, const char *uri,
				  struct error *err);

/*
 * Make a call, with retries; release *ret in every case. Upon success the status is 2xx,
 * 400, 404 or 409, or 0 (see is_done). ERR_DENIED: 401, 403; ERR_FORMAT: a redirect,
 * another status, or no JSON object, whose status is in err->code then.
 */
MUST_CHECK int registry_call(struct registry *r, const struct registry_call *call,
			     struct registry_answer *ret, struct error *err);
/* Make a call that may be repeated; body: NULL for GET. */
MUST_CHECK int registry_ask(struct registry *r, const char *method, const char *path,
			    const cJSON *body, struct registry_answer *ret,
			    struct error *err);

/* ": " and the server's own words about a failure, or "". In the arena. */
const char *registry_said(struct arena *arena, const cJSON *doc);

/* Fill err with what a registry says in an answer that is not 2xx. Returns -1. */
int registry_refused(struct registry *r, const struct registry_answer *answer,
		     const char *what, struct error *err);

/* ERR_CONFLICT of a version that exists with other files; NULL: not known. Returns -1. */
int registry_conflict(struct registry *r, const char *version, const char *digest,
		      struct error *err);

/* A value of a query, percent-encoded, in the arena. */
const char *registry_escape(struct registry *r, const char *value);

/* The environment's variable; NULL: unset or empty. */
const char *registry_env(const struct registry *r, const char *name);

int kubeflow_credentials(struct registry *r, const char **ret, struct error *err);
int kubeflow_register(struct registry *r, struct registry_result *ret, struct error *err);
int kubeflow_probe(struct registry *r, struct error *err);
int mlflow_credentials(struct registry *r, const char **ret, struct error *err);
int mlflow_register(struct registry *r, struct registry_result *ret, struct error *err);
int mlflow_probe(struct registry *r, struct error *err);
/* A string of MLflow's filters, in the arena; NULL: it has a quote. */
const char *mlflow_quoted(struct registry *r, const char *text, struct error *err);
extern const struct track_kind mlflow_track;

#endif
