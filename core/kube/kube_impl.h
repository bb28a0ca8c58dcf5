/*
 * kube_impl.h - the parts of struct kube, shared by kube*.c, kinds.c and streams.c.
 *
 * kube.c: requests, retries, the rate limit; kube_auth.c: credentials; kinds.c: paths of
 * resources; kube_objects.c and kube_list.c: the verbs of kube.h.
 */
#ifndef KUBE_IMPL_H
#define KUBE_IMPL_H

#include <pthread.h>

#include "api/kinds.h"
#include "base/map.h"
#include "kube/kube.h"
#include "net/http.h"

#define AS_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

/* An http_client with the client certificate of its connections, reference counted. */
struct kube_conn {
	struct http_client *http;
	int refs; /* under kube_auth.lock */
};

/* Credentials (kube_auth.c). */
struct kube_auth {
	pthread_mutex_t lock;
	struct kube_conn *conn;
	char *ca_pem;    /* read since the start; NULL: the config's */
	char *token;     /* the current bearer token, or NULL */
	int64_t read_ms; /* clock_ms() of the last read; 0: read it now */
	struct kube_credential credential; /* from the exec plugin */
	unsigned generation;               /* counts the credentials read */
};

struct kube {
	struct kube_config config; /* a copy */
	struct kube_opts opts;
	char *user_agent;
	const char *host; /* "host:port" of config.server, for metrics; in config.arena */
	struct kube_auth auth;
	pthread_mutex_t lock; /* guards the following members */
	double tokens;        /* of the rate limit; below 0: calls that wait for one */
	int64_t max_wait_ms;  /* the longest wait for a token; 0: no limit */
	int64_t refilled_ms;
	struct map kinds; /* discovered: "apiVersion/kind" to struct kind */
	int64_t server_date, server_date_ms; /* its last Date, and clock_ms() then */
};

/* ---- kube_auth.c ---- */

/* The connection and credentials of one attempt. */
struct kube_attempt {
	struct kube_conn *conn;
	char *authorization; /* "Authorization: ...", or NULL */
	unsigned generation;
};
/* Renews the credentials if they are due. *ret is released by kube_attempt_end(). */
MUST_CHECK int kube_attempt_begin(struct kube *k, struct kube_attempt *ret,
				  struct error *err);
/* refused: the answer was 401. True: the credentials can be renewed: retry. */
bool kube_attempt_end(struct kube *k, struct kube_attempt *attempt, bool refused);
/*
 * After ERR_UNTRUSTED: read the file of the CA again. True: it has another CA than the
 * attempt used, as after a rotation: retry. Open connections are not closed.
 */
bool kube_renew_ca(struct kube *k, const struct kube_attempt *attempt);
MUST_CHECK int kube_auth_init(struct kube *k, struct error *err);
void kube_auth_release(struct kube *k);

/* ---- kube.c ---- */

/* Whether a request is resent, once, if the connection breaks. */
enum kube_retry {
	KUBE_RETRY_BY_METHOD, /* only by libcurl, as HTTP allows for the method */
	KUBE_RETRY_ALWAYS,    /* an idempotent call */
	KUBE_RETRY_NEVER,     /* not idempotent: libcurl must not resend it either */
};

struct kube_request {
	const char *what;          /* "get pods a/b", for messages */
	const char *method, *path; /* path with the query */
	const char *accept, *content_type;
	const char *body; /* or NULL */
	const cJSON *doc; /* the same, for an inside_server with `documents`; or NULL */
	enum kube_retry retry;
	bool open_ended;      /* a watch, a log: no rate limit, no default timeout */
	int64_t timeout_ms;   /* 0: the client's; open_ended: none */
	size_t receive_bytes; /* most per on_data; 0: the client's */
	const bool *cancel;
	const int *cancel_fd;
	cJSON **ret_refusal; /* upon an error: its Status, if any; or NULL */
	int (*on_data)(void *ctx, const void *data, size_t len, struct error *err);
	void (*on_answer)(void *ctx); /* upon a 2xx, before on_data; or NULL */
	void *ctx;
};
/*
 * Send a request, with rate limit, retries and renewal of refused credentials. A status
 * of 400 or more is an error. Upon success *ret is the caller's, to be released.
 */
MUST_CHECK int kube_send(struct kube *k, const struct kube_request *req,
			 struct http_response *ret, struct error *err);

/* Fill err from a metav1.Status; NULL: from the code alone. Returns -1. */
int kube_status_error(const char *what, int code, const cJSON *status, struct error *err);

/* Fill err, and *req->ret_refusal, from an answer of 400 or more. Returns -1. */
int kube_answer_error(const struct kube_request *req, const struct http_response *resp,
		      struct error *err);
/* The headers of a request, NULL-ended, in the arena; authorization is the attempt's. */
const char *const *kube_headers(struct arena *arena, const struct kube *k,
				const struct kube_request *req,
				const char *authorization);

/* Append "?name=value" or "&name=value", escaped; nothing if value is NULL or "". */
void kube_add_query(struct buf *out, const char *name, const char *value);
/*
 * Before a pod or event is parsed: replace NUL by U+FFFD in its text. A container's
 * termination message may contain NUL, which json_parse() refuses.
 */
void kube_clean(const struct kube_ref *ref, char *text, size_t len);

/* ---- kinds.c ---- */

void kube_kinds_release(struct kube *k);

/* "get deployments.apps team-a/bert", in the arena. */
const char *kube_what(struct arena *arena, struct kube *k, const char *verb,
		      const struct kube_ref *ref);

#endif
