/*
 * kube.h - a client of one API server, in JSON, as client-go's dynamic client.
 *
 * A struct kube may be used by any number of threads; each call blocks. Objects are
 * documents, without metadata.managedFields (strip.h); a returned object is the
 * caller's. Names of resources come from api/kinds.h, for other kinds from discovery.
 *
 * Errors carry the Status message of the API server: "get deployments.apps team-a/bert:
 * <message>". Kinds: ERR_NOT_FOUND 404, ERR_DENIED 401 403, ERR_CONFLICT 409,
 * ERR_EXISTS 409 AlreadyExists, ERR_EXPIRED 410, ERR_INVALID 400 422 and 403 of an
 * admission webhook, ERR_BUSY 429 503 504 500 after the retries that Retry-After
 * asks for, ERR_IO, ERR_TIMEOUT, ERR_STOPPED. err->code is the HTTP status.
 */
#ifndef KUBE_KUBE_H
#define KUBE_KUBE_H

#include "base/json.h"
#include "base/metrics.h"
#include "kube/kubeconfig.h"
#include "net/inside.h"

struct kube;
struct kube_opts {
	/*
	 * client-go's QPS (0: no limit) and Burst; not for watches and logs. With
	 * timeout_ms, a longer wait, also for Retry-After, is ERR_BUSY at once.
	 */
	double qps;
	int64_t burst;
	const char *user_agent, *named; /* named: of kube_named() (named.h) */
	struct metrics *metrics;        /* rest_client_requests_total; or NULL */
	int64_t timeout_ms; /* of one HTTP request; 0: 30 s. A page of a list: 60 s */
	bool after_stop;    /* calls continue when the process is asked to stop */
	bool (*may_write)(void *ctx); /* before each write; false: ERR_STOPPED */
	void *ctx;                    /* of may_write, which may be NULL */
	bool http1; /* without HTTP/2: saves the controller 25 % of its CPU, 0.8 of 6.3 MB */
	struct http_sessions *sessions; /* must outlive the client; or NULL */
	struct inside_server inside; /* replaces config->server; kube_free() frees it */
};
extern const struct metric kube_requests_total; /* labels code, host, method */

/* Copies config; sends no request. ERR_INVALID: no server; else http_client_new()'s. */
MUST_CHECK int kube_new(struct kube **ret, const struct kube_config *config,
			const struct kube_opts *opts, struct error *err);
void kube_free(struct kube *k);            /* no call may be in progress; NULL is fine */
bool kube_is_inside(const struct kube *k); /* in this process: opts->inside */
int64_t kube_server_time(struct kube *k);  /* since 1970, by its Date; 0: unknown */

struct kube_ref {
	const char *api_version, *kind, *ns, *name; /* ns NULL: cluster-wide, or all */
};
struct kube_ref kube_ref_of(const cJSON *obj); /* borrows obj's strings */
/*
 * "/apis/apps/v1/namespaces/a/deployments/b", in the arena. name NULL: the collection; a
 * name without ns: the config's namespace. ERR_NOT_FOUND: no such kind, no valid name.
 */
MUST_CHECK int kube_path(struct arena *arena, struct kube *k, const struct kube_ref *ref,
			 const char **ret, struct error *err);
/* Requests the API server's discovery document each time; nothing is cached. */
MUST_CHECK int kube_serves(struct kube *k, const char *api_version, const char *kind,
			   bool *ret, struct error *err);

MUST_CHECK int kube_get(struct kube *k, const struct kube_ref *ref, cJSON **ret,
			struct error *err);
/* As kube_get(), but 404 is no error: *ret is NULL then. */
MUST_CHECK int kube_find(struct kube *k, const struct kube_ref *ref, cJSON **ret,
			 struct error *err);
struct kube_write {
	const char *manager;     /* fieldManager */
	const char *subresource; /* "status" */
	bool force, dry_run;
	bool meta_only; /* the response is PartialObjectMetadata: cheaper */
	bool strict;    /* fieldValidation=Strict: refuse unknown and duplicate fields */
	bool exists_ok; /* the caller handles ERR_EXISTS: a create may be retried */
	cJSON **ret_warnings; /* upon success: texts of the Warning headers; or NULL */
	cJSON **ret_refusal;  /* upon failure: the metav1.Status, if any; or NULL */
};
extern const struct kube_write kube_plain; /* { 0 } */
/* ret may be NULL. A create is resent after a broken connection only with exists_ok. */
MUST_CHECK int kube_create(struct kube *k, const cJSON *obj, const struct kube_write *how,
			   cJSON **ret, struct error *err);
MUST_CHECK int kube_update(struct kube *k, const cJSON *obj, const struct kube_write *how,
			   cJSON **ret, struct error *err);
/* Server-side apply. ERR_INVALID without how->manager, the field manager. */
MUST_CHECK int kube_apply(struct kube *k, const cJSON *obj, const struct kube_write *how,
			  cJSON **ret, struct error *err);
/* `patch`: a merge patch or, if it is an array, a JSON Patch (RFC 6902). */
MUST_CHECK int kube_merge_patch(struct kube *k, const struct kube_ref *ref,
				const cJSON *patch, const struct kube_write *how,
				cJSON **ret, struct error *err);
/*
 * propagation: "Background", "Foreground", "Orphan"; NULL: the default. ERR_CONFLICT: the
 * object has another uid (unless that is NULL), or another version than `obj`.
 */
MUST_CHECK int kube_delete(struct kube *k, const struct kube_ref *ref,
			   const char *propagation, const char *uid, struct error *err);
MUST_CHECK int kube_delete_read(struct kube *k, const cJSON *obj, const char *propagation,
				struct error *err);
struct kube_select {
	const char *label_selector, *field_selector; /* or NULL */
	bool meta_only;                              /* PartialObjectMetadata */
	int64_t page;        /* objects per page (`limit`); 0: 500 */
	const char *without; /* a list in spec that is dropped: "containers"; or NULL */
	const struct proto_field *fields; /* watch in protobuf, only these; or NULL */
};
struct kube_sink {
	int (*on_item)(void *ctx, cJSON *take_obj,
		       struct error *err); /* -1 ends the list */
	void *ctx;
	/* For an object that json_parse() refuses, as in watches. NULL: an error. */
	void (*on_unreadable)(void *ctx, const struct error *err);
	/* A continue token expired (410): discard what was seen. NULL: duplicates are fine. */
	void (*on_restart)(void *ctx);
	const bool *cancel; /* as kube_watch_opts has them; or NULL */
	const int *cancel_fd;
};
/* All pages; ref->name is ignored. *ret_version (or NULL): theirs, the caller's to free. */
MUST_CHECK int kube_list(struct kube *k, const struct kube_ref *ref,
			 const struct kube_select *select, const struct kube_sink *sink,
			 char **ret_version, struct error *err);

/*
 * One watch from resourceVersion `version`, with bookmarks, until the server, an error or
 * *cancel ends it. 0: the server ended it (timeoutSeconds). ERR_EXPIRED: the server
 * answered 410 or sent an ERROR event, whose code is err->code: list again.
 * on_event: type is "ADDED", "MODIFIED", "DELETED" or "BOOKMARK"; it owns the object, and
 * ends the watch as on_item does a list.
 */
struct kube_watch_opts {
	struct kube_select select;
	const char *version;
	const bool *cancel;
	const int *cancel_fd; /* readable once *cancel is set; NULL: poll each second */
	int (*on_event)(void *ctx, const char *type, cJSON *take_obj, struct error *err);
	void (*on_unreadable)(void *ctx, const struct error *err);
	void (*on_answer)(void *ctx); /* the server accepted the watch (2xx); or NULL */
	void *ctx;
};
MUST_CHECK int kube_watch(struct kube *k, const struct kube_ref *ref,
			  const struct kube_watch_opts *opts, struct error *err);
/* Any other call; *ret is NULL unless the answer is JSON. Only a GET is retried. */
MUST_CHECK int kube_call(struct kube *k, const char *method, const char *path,
			 const cJSON *body, cJSON **ret, struct error *err);
/* Passes a text response to on_data in pieces: GET .../log?follow=true. No timeout. */
MUST_CHECK int kube_stream(struct kube *k, const char *path,
			   int (*on_data)(void *ctx, const void *data, size_t len,
					  struct error *err),
			   void *ctx, struct error *err);

#endif
