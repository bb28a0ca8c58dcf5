/*
 * apiserver.h - this machine's API: what a Kubernetes API server answers for our kinds.
 *
 * Reads, writes, patches, server-side apply and watches of the kinds in resources.h, with
 * discovery and OpenAPI; any other path is a 404 as an API server's. Called with requests
 * of net/httpd.h, from any number of threads, and safe against any request. Who calls has
 * every right; a server that listens checks its token (apiserver_conf.token).
 *
 * Not as in a cluster: JSON only (no protobuf), a body may not have the same key twice in an
 * object, one version of each kind, no /watch/ paths.
 */
#ifndef APISERVER_APISERVER_H
#define APISERVER_APISERVER_H

#include "base/clock.h"
#include "base/json.h"
#include "net/httpd.h"

struct apiserver;

/* What an admission webhook says to an object that is about to be written. */
struct admission {
	const char *operation; /* "CREATE", "UPDATE" */
	const char *ns, *name;
	cJSON *obj;       /* a defaulter may edit it */
	const cJSON *old; /* NULL at a creation */
	cJSON *warnings;  /* array of strings, to add to */
};

struct apiserver_conf {
	const char *dir;   /* where objects are kept; NULL: in memory only */
	const char *token; /* "Authorization: Bearer TOKEN"; NULL: none is asked for */
	/*
	 * The webhooks, in process: first the defaulter, then the validator. -1: denied, or
	 * it could not say; the message and code (403, 400, 500) are in err.
	 */
	int (*mutate)(void *ctx, struct admission *a, struct error *err);
	int (*validate)(void *ctx, struct admission *a, struct error *err);
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

/* Bytes of a torn record that were cut off the end of the log when it was opened. */
int64_t apiserver_cut(const struct apiserver *s);

/* As the machine itself: read-only kinds as well. The status and message are in err. */
MUST_CHECK int apiserver_write(struct apiserver *s, const char *method, const char *path,
			       const cJSON *body, cJSON **ret, struct error *err);

#endif
