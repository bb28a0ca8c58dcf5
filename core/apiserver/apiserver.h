/*
 * apiserver.h - this machine's API: what a Kubernetes API server answers for our kinds.
 *
 * Reads, writes, patches, server-side apply and watches of the kinds in resources.h, with
 * discovery and OpenAPI; any other path is a 404 as an API server's. Called with requests
 * of net/httpd.h, from any number of threads, and safe against any request. Who calls has
 * every right; a server that listens checks its token (apiserver_conf.token).
 *
 * Not as in a cluster: answers in JSON only (bodies may be YAML, and of built-in kinds
 * protobuf), a body may not have the same key twice in an object, one version of each kind, no /watch/ paths.
 */
#ifndef APISERVER_APISERVER_H
#define APISERVER_APISERVER_H

#include "base/clock.h"
#include "base/json.h"
#include "net/httpd.h"

#define APISERVER_KUBERNETES "v1.34.0" /* whose behavior it has */

struct apiserver;

/* What an admission webhook says to an object that is about to be written. */
struct admission {
	const char *operation; /* "CREATE", "UPDATE" */
	const char *ns, *name;
	cJSON *obj;       /* a defaulter may edit it */
	const cJSON *old; /* NULL at a creation */
	cJSON *warnings;  /* array of strings, to add to */
};

/* What of a container's log is asked for (v1.PodLogOptions). */
struct log_options {
	const char *container; /* one of the pod's, and it has begun */
	bool follow, previous, timestamps;
	int64_t since; /* seconds since 1970; 0: from the start */
	int64_t tail;  /* lines; -1: all */
	int64_t limit; /* bytes; -1: none */
};

/* Of which kind, namespace ("": of all) and name ("": all) objects are asked for. */
struct wanted {
	const char *kind, *ns, *name;
};

struct apiserver_conf {
	const char *dir;     /* where objects are kept; NULL: in memory only */
	const char *token;   /* "Authorization: Bearer TOKEN"; NULL: none is asked for */
	const char *pod_key; /* pod_token.h; NULL: no token is known to TokenReview */
	/*
	 * The webhooks, in process: first the defaulter, then the validator. -1: denied, or
	 * it could not say; the message and code (403, 400, 500) are in err.
	 */
	int (*mutate)(void *ctx, struct admission *a, struct error *err);
	int (*validate)(void *ctx, struct admission *a, struct error *err);
	/*
	 * Answers pods/log: the body, or a stream. -1: err has the message, and the code
	 * (400, 500). NULL: this machine runs no pods.
	 */
	int (*log)(void *ctx, const cJSON *pod, const struct log_options *o,
		   struct httpd_response *resp, struct error *err);
	/*
	 * Brings the objects that `which` means up to date by apiserver_store() and
	 * _drop(), before a request for them is answered, and again and again while they
	 * are watched. -1: it cannot, and the request is a 500. NULL:
	 * what changes is stored by itself. With it, schemas are loaded once a request
	 * needs them, and no namespace exists from the start.
	 */
	int (*refresh)(void *ctx, const struct wanted *which, struct error *err);
	/*
	 * Changes what an object stands for, before it is stored; `old` NULL: it is new.
	 * -1: it stays as it is; err has the message, and a code or 0. Or NULL.
	 */
	int (*write)(void *ctx, const cJSON *old, const cJSON *obj, struct error *err);
	/* Ends what an object stands for, before it is deleted. -1: it stays. Or NULL. */
	int (*remove)(void *ctx, const cJSON *obj, struct error *err);
	void *ctx;
	size_t max_events; /* that watches can begin from; 0: 4096 */
};
enum { APISERVER_MAX_BODY = 3 * 1024 * 1024 };

MUST_CHECK int apiserver_new(struct apiserver **ret, const struct apiserver_conf *conf,
			     struct error *err);
void apiserver_stop(struct apiserver *s); /* watches end */
void apiserver_free(struct apiserver *s); /* after the last request */

void apiserver_handle(void *apiserver, const struct httpd_request *req,
		      struct httpd_response *resp); /* httpd_conf.handle */
/* Of this process (net/inside.h): needs no token. */
void apiserver_handle_inside(void *apiserver, const struct httpd_request *req,
			     struct httpd_response *resp);

/* Bytes of a torn record that were cut off the end of the log when it was opened. */
int64_t apiserver_cut(const struct apiserver *s);

/* ---- for whoever runs pods behind it ---------------------------------------------- */

/* An object as it is stored, the caller's; NULL: none. */
cJSON *apiserver_get(struct apiserver *s, const char *api_version, const char *kind,
		     const char *ns, const char *name);
/* All of that kind; ns NULL: of all namespaces. An array, the caller's. */
cJSON *apiserver_list(struct apiserver *s, const char *api_version, const char *kind,
		      const char *ns);
/*
 * Store an object as it is, with its uid, in place of any other of its name. 0: it was
 * there like that; 1: stored; -1: ERR_NOT_FOUND without its namespace.
 */
MUST_CHECK int apiserver_store(struct apiserver *s, const cJSON *obj, struct error *err);
/*
 * An object with LOCAL_RUN_ANNOTATION, in place of another such one only: else -1,
 * ERR_EXISTS. apiserver_unmirror() removes one of that run.
 */
MUST_CHECK int apiserver_mirror(struct apiserver *s, const cJSON *obj, struct error *err);
void apiserver_unmirror(struct apiserver *s, const char *api_version, const char *kind,
			const char *ns, const char *name, const char *run);
/* Remove it, if it is there with that uid (NULL: any). */
void apiserver_drop(struct apiserver *s, const char *api_version, const char *kind,
		    const char *ns, const char *name, const char *uid);
/*
 * The next change of an object of that kind after *version (0: from now on), which it
 * moves on. 1: *ret_key, "NS/NAME", the caller's, says which; 0: none until the deadline
 * (clock_ms()); -1: ERR_EXPIRED: some were missed, list them, *version is that of now;
 * ERR_STOPPED after apiserver_stop().
 */
MUST_CHECK int apiserver_next(struct apiserver *s, const char *kind, int64_t *version,
			      int64_t deadline, char **ret_key, struct error *err);

/* As the machine itself: read-only kinds as well. The status and message are in err. */
MUST_CHECK int apiserver_write(struct apiserver *s, const char *method, const char *path,
			       const cJSON *body, cJSON **ret, struct error *err);

#endif
