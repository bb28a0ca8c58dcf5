/*
 * apiserver.h - this machine's API: answers as a Kubernetes API server does for our
 * kinds.
 *
 * Serves reads, writes, patches, server-side apply and watches of the kinds in
 * resources.h, with discovery and OpenAPI; any other path is a 404. Handles requests of
 * net/httpd.h, from any number of threads; requests are untrusted. There is no
 * authorization: every caller has all rights. apiserver_conf.token authenticates callers
 * of a server that listens.
 *
 * Differences from a cluster: answers are JSON only (request bodies may be YAML, and for
 * built-in kinds protobuf), duplicate keys in a body are refused, each kind has one
 * version, and there are no /watch/ paths.
 */
#ifndef APISERVER_APISERVER_H
#define APISERVER_APISERVER_H

#include "base/clock.h"
#include "base/json.h"
#include "net/httpd.h"

#define APISERVER_KUBERNETES "v1.34.0" /* the emulated version */

struct apiserver;

/*
 * An admission request for an in-process webhook, about an object that is being written.
 */
struct admission {
	const char *operation; /* "CREATE", "UPDATE" */
	const char *ns, *name;
	cJSON *obj;       /* a defaulter may edit it */
	const cJSON *old; /* NULL for a creation */
	cJSON *warnings;  /* array of strings, to add to */
};

/* The part of a container's log to send (v1.PodLogOptions). */
struct log_options {
	const char *container; /* one of the pod's that has started */
	bool follow, previous, timestamps;
	int64_t since; /* seconds since 1970; 0: from the start */
	int64_t tail;  /* lines; -1: all */
	int64_t limit; /* bytes; -1: none */
};

/* The objects that a request reads; ns, name "": all. */
struct object_scope {
	const char *kind, *ns, *name;
};

struct apiserver_conf {
	const char *dir;     /* the directory of the objects; NULL: in memory only */
	const char *token;   /* required as "Authorization: Bearer TOKEN"; NULL: none */
	const char *pod_key; /* pod_token.h; NULL: TokenReview knows no tokens */
	const struct schema *schema; /* of schema.json; NULL: the server loads it */
	/*
	 * The webhooks, in process: first the defaulter, then the validator. -1: denied
	 * or failed; err has the message and the code (403, 400, 500).
	 */
	int (*mutate)(void *ctx, struct admission *a, struct error *err);
	int (*validate)(void *ctx, struct admission *a, struct error *err);
	/*
	 * Answers pods/log: the body, or a stream. -1: err has the message, and the code
	 * (400, 410, 500). NULL: this machine runs no pods.
	 */
	int (*log)(void *ctx, const cJSON *pod, const struct log_options *o,
		   struct httpd_response *resp, struct error *err);
	/*
	 * Called before a request for the objects `which` is answered, and periodically
	 * while they are watched: updates them by apiserver_store() and apiserver_drop().
	 * -1: the request fails with 500. NULL: the objects need no update. When set,
	 * schemas are loaded when first needed, and no namespace exists at the start.
	 */
	int (*refresh)(void *ctx, const struct object_scope *which, struct error *err);
	/*
	 * Called before an object is stored, to apply the change to the run that it
	 * represents; `old` NULL: a creation. -1: refused; err has the message, and a
	 * code or 0. May be NULL.
	 */
	int (*write)(void *ctx, const cJSON *old, const cJSON *obj, struct error *err);
	/* The same before an object is deleted. -1: the object remains. May be NULL. */
	int (*remove)(void *ctx, const cJSON *obj, struct error *err);
	void *ctx;
	size_t max_events; /* number of changes stored for watches; 0: 4096 */
};
enum { APISERVER_MAX_BODY = 3 * 1024 * 1024 };

/* Load the objects. Copies conf's token and pod_key; the rest must outlive the server. */
MUST_CHECK int apiserver_new(struct apiserver **ret, const struct apiserver_conf *conf,
			     struct error *err);
void apiserver_stop(struct apiserver *s); /* ends all watches */
void apiserver_free(struct apiserver *s); /* after the last request */

void apiserver_handle(void *apiserver, const struct httpd_request *req,
		      struct httpd_response *resp); /* httpd_conf.handle */
void apiserver_large(void *apiserver, const struct httpd_request *req,
		     struct httpd_response *resp); /* httpd_conf.on_large */
/* For requests from this process (net/inside.h): no token is required. */
void apiserver_handle_inside(void *apiserver, const struct httpd_request *req,
			     struct httpd_response *resp);

/*
 * Bytes of an incomplete record that were cut off the end of the log at apiserver_new().
 */
int64_t apiserver_cut(const struct apiserver *s);

/* ---- for the code that runs the pods ----------------------------------------------- */

/* A stored object, owned by the caller; NULL: not found. */
cJSON *apiserver_get(struct apiserver *s, const char *api_version, const char *kind,
		     const char *ns, const char *name);
/*
 * All objects of a kind; ns NULL: of all namespaces. A JSON array, owned by the caller.
 */
cJSON *apiserver_list(struct apiserver *s, const char *api_version, const char *kind,
		      const char *ns);
/*
 * Store an object unchanged, with its uid, replacing any other of its name. 0: no change;
 * 1: stored; -1: ERR_NOT_FOUND if its namespace does not exist.
 */
MUST_CHECK int apiserver_store(struct apiserver *s, const cJSON *obj, struct error *err);
/*
 * As apiserver_store(), for an object with LOCAL_RUN_ANNOTATION; replaces only such
 * objects: otherwise ERR_EXISTS. apiserver_unmirror() removes it, if it is of that run.
 */
MUST_CHECK int apiserver_mirror(struct apiserver *s, const cJSON *obj, struct error *err);
void apiserver_unmirror(struct apiserver *s, const char *api_version, const char *kind,
			const char *ns, const char *name, const char *run);
/* Remove an object, if it exists with that uid (NULL: any). */
void apiserver_drop(struct apiserver *s, const char *api_version, const char *kind,
		    const char *ns, const char *name, const char *uid);
/*
 * Wait for the next change of an object of that kind after *version (0: from now on), and
 * advance *version. 1: *ret_key is its "NS/NAME", owned by the caller; 0: none until the
 * deadline (clock_ms()); -1: ERR_EXPIRED: changes were missed, list the kind (*version is
 * now the current one); ERR_STOPPED after apiserver_stop().
 */
MUST_CHECK int apiserver_next(struct apiserver *s, const char *kind, int64_t *version,
			      int64_t deadline, char **ret_key, struct error *err);

/*
 * Make a request as this process, which may write read-only kinds. *ret (ret NULL: not
 * wanted) is the answer, owned by the caller. On failure err has the status code and
 * message.
 */
MUST_CHECK int apiserver_write(struct apiserver *s, const char *method, const char *path,
			       const cJSON *body, cJSON **ret, struct error *err);

#endif
