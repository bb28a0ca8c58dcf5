/*
 * kube_impl.h - what the files of the client (kube*.c, kinds.c) share.
 */
#ifndef KUBE_IMPL_H
#define KUBE_IMPL_H

#include <pthread.h>

#include "api/kinds.h"
#include "base/map.h"
#include "kube/kube.h"
#include "net/http.h"

#define AS_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

/* An http_client with the certificate that belongs to it; counted. */
struct kube_conn {
	struct http_client *http;
	int refs; /* under kube_auth.lock */
};

/* Credentials (kube_auth.c). */
struct kube_auth {
	pthread_mutex_t lock;
	struct kube_conn *conn;
	char *token;                       /* the bearer token as last read, or NULL */
	int64_t read_ms;                   /* clock_ms() of that; 0: read it now */
	struct kube_credential credential; /* of the exec plugin */
	unsigned generation;               /* counts what was read */
};

struct kube {
	struct kube_config config; /* a copy */
	struct kube_opts opts;
	char *user_agent;
	const char *host; /* "host:port" of config.server, for metrics; in config.arena */
	struct kube_auth auth;
	pthread_mutex_t lock; /* of what follows */
	double tokens; /* of the limiter; below 0: that many calls wait for theirs */
	int64_t patience_ms; /* that a call may wait for its turn; 0: no limit */
	int64_t refilled_ms;
	struct map kinds; /* discovered: "apiVersion/kind" to struct kind */
};

/* ---- kube_auth.c ---- */

/* One attempt's connections and credentials. */
struct kube_turn {
	struct kube_conn *conn;
	char *authorization; /* "Authorization: ...", or NULL */
	unsigned generation;
};
MUST_CHECK int kube_turn_begin(struct kube *k, struct kube_turn *ret, struct error *err);
/* refused: with a 401. True: other credentials are available: retry. */
bool kube_turn_end(struct kube *k, struct kube_turn *turn, bool refused);
MUST_CHECK int kube_auth_init(struct kube *k, struct error *err);
void kube_auth_release(struct kube *k);

/* ---- kube.c ---- */

struct kube_request {
	const char *what;          /* "get pods a/b", for messages */
	const char *method, *path; /* path with the query */
	const char *accept, *content_type;
	const char *body;     /* or NULL */
	bool again;           /* doing it twice does no harm */
	bool once;            /* doing it twice does harm */
	bool open_ended;      /* a watch, a log: not counted by the limiter */
	int64_t timeout_ms;   /* 0: the client's; with open_ended: none */
	size_t receive_bytes; /* at once; 0: the client's */
	const bool *cancel;
	const int *cancel_fd;
	cJSON **ret_refusal; /* the Status of an error, where there is one; or NULL */
	int (*on_data)(void *ctx, const void *data, size_t len, struct error *err);
	void (*on_answer)(void *ctx); /* with a 2xx, before on_data; or NULL */
	void *ctx;
};
/* A status of 400 and more is an error here. */
MUST_CHECK int kube_send(struct kube *k, const struct kube_request *req,
			 struct http_response *ret, struct error *err);

/* From a Status object, or for a bare code. Returns -1. */
int kube_status_error(const char *what, int code, const cJSON *status, struct error *err);

/* Of an answer of 400 and more. Returns -1. */
int kube_answer_error(const struct kube_request *req, const struct http_response *resp,
		      struct error *err);
/* The headers of a call, for the authorization that is the turn's. In the arena. */
const char *const *kube_headers(struct arena *arena, const struct kube *k,
				const struct kube_request *req,
				const char *authorization);

/* Adds "?name=value" or "&name=value", escaped; nothing for a value of NULL or "". */
void kube_add_query(struct buf *out, const char *name, const char *value);

/* ---- kinds.c ---- */

/* A known kind, or a discovered one, which lives as long as k. */
MUST_CHECK int kube_kind(struct kube *k, const char *api_version, const char *kind,
			 const struct kind **ret, struct error *err);
void kube_kinds_release(struct kube *k);

/* "get deployments.apps team-a/bert" */
const char *kube_what(struct arena *arena, struct kube *k, const char *verb,
		      const struct kube_ref *ref);

#endif
