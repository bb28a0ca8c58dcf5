/*
 * kube.h - one API server, as client-go's dynamic client sees it. JSON, but for proto.h.
 *
 * A struct kube may be used by any number of threads. Objects are documents, without
 * metadata.managedFields (managed.h); what is returned is the caller's. Names of
 * resources come from api/kinds.h, and from discovery for kinds that are not there.
 *
 * Errors carry the API server's own words: "get deployments.apps team-a/bert:
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
	 * Calls a second on average, watches not counted (0: no limit), and calls at once
	 * above that. When those are used up each call waits for its turn, and no longer;
	 * with a timeout_ms, one whose turn comes later than that is ERR_BUSY at once.
	 */
	double qps;
	int64_t burst;
	const char *user_agent;
	struct metrics *metrics; /* rest_client_requests_total; or NULL */
	int64_t timeout_ms;      /* of a call; 0: 30 s. A page of a list: 60 s */
	bool after_stop;         /* calls go on when the process is stopping */
	/* Not HTTP/2; for the controller: a quarter less CPU, 0.8 MB less of 6.3 idle. */
	bool http1;
	struct http_sessions *sessions; /* outlives it; or NULL */
	struct inside_server inside;    /* instead of config->server; it is released */
};
extern const struct metric kube_requests_total; /* labels code, host, method */

MUST_CHECK int kube_new(struct kube **ret, const struct kube_config *config,
			const struct kube_opts *opts, struct error *err);
void kube_free(struct kube *k);
bool kube_is_inside(const struct kube *k);

struct kube_ref {
	const char *api_version, *kind, *ns, *name; /* ns NULL: cluster-wide, or all */
};
struct kube_ref kube_ref_of(const cJSON *obj); /* borrows obj's strings */
/* "/apis/apps/v1/namespaces/a/deployments/b"; name may be NULL. In the arena. */
MUST_CHECK int kube_path(struct arena *arena, struct kube *k, const struct kube_ref *ref,
			 const char **ret, struct error *err);
/* Asks the server's discovery each time. */
MUST_CHECK int kube_serves(struct kube *k, const char *api_version, const char *kind,
			   bool *ret, struct error *err);

MUST_CHECK int kube_get(struct kube *k, const struct kube_ref *ref, cJSON **ret,
			struct error *err);

/* The same, but an absent object is no error: *ret is NULL then. */
MUST_CHECK int kube_find(struct kube *k, const struct kube_ref *ref, cJSON **ret,
			 struct error *err);

struct kube_write {
	const char *manager;     /* fieldManager */
	const char *subresource; /* "status" */
	bool force, dry_run;
	bool meta_only;       /* the answer as PartialObjectMetadata: cheaper */
	bool strict;          /* refuse what the API server would drop, or read twice */
	bool exists_ok;       /* ERR_EXISTS is handled: a create may be repeated */
	cJSON **ret_warnings; /* array of strings; or NULL */
	cJSON **ret_refusal;  /* of a refused call: its metav1.Status; or NULL */
};
extern const struct kube_write kube_plain; /* { 0 } */
/* ret may be NULL in each. A create is sent once, unless how->exists_ok. */
MUST_CHECK int kube_create(struct kube *k, const cJSON *obj, const struct kube_write *how,
			   cJSON **ret, struct error *err);
MUST_CHECK int kube_update(struct kube *k, const cJSON *obj, const struct kube_write *how,
			   cJSON **ret, struct error *err);
/* Server-side apply, which needs how->manager. */
MUST_CHECK int kube_apply(struct kube *k, const cJSON *obj, const struct kube_write *how,
			  cJSON **ret, struct error *err);
MUST_CHECK int kube_merge_patch(struct kube *k, const struct kube_ref *ref,
				const cJSON *patch, const struct kube_write *how,
				cJSON **ret, struct error *err);

/* propagation: "Background", ..., NULL for the server's choice; uid: only that one, or NULL. */
MUST_CHECK int kube_delete(struct kube *k, const struct kube_ref *ref,
			   const char *propagation, const char *uid, struct error *err);

struct kube_select {
	const char *label_selector, *field_selector; /* or NULL */
	bool meta_only;                              /* PartialObjectMetadata */
	int64_t page;                                /* objects a page; 0: 500 */
	const char *without; /* a list in spec that is not read: "containers"; or NULL */
	const struct proto_field *fields; /* a watch reads these, in protobuf; or NULL */
};
/*
 * Each object of all pages (ref->name is not looked at); it belongs to on_item.
 * Items get the apiVersion and kind of the request. *ret_version (may be NULL): the
 * list's resourceVersion, malloc'ed. An expired continue token begins again by itself.
 */
struct kube_sink {
	int (*on_item)(void *ctx, cJSON *take_obj, struct error *err);
	void *ctx;
	/*
	 * Of an object that json_parse() refuses (the API server stores NUL in strings, and
	 * 100,000 labels): it is left out. NULL: that ends it all. In watches as well.
	 */
	void (*on_unreadable)(void *ctx, const struct error *err);
	/*
	 * It begins again: what on_item has seen so far may be gone, and what is not comes
	 * a second time. NULL: that does no harm.
	 */
	void (*on_restart)(void *ctx);
};
MUST_CHECK int kube_list(struct kube *k, const struct kube_ref *ref,
			 const struct kube_select *select, const struct kube_sink *sink,
			 char **ret_version, struct error *err);

/*
 * One watch from that resourceVersion until the server, an error or *cancel ends it
 * (allowWatchBookmarks). 0: the server ended it in order; ERR_EXPIRED: list again, for
 * the server sent an ERROR (410 or whatever err->code is).
 * on_event: type is "ADDED", "MODIFIED", "DELETED" or "BOOKMARK".
 */
struct kube_watch_opts {
	struct kube_select select;
	const char *version;
	const bool *cancel;
	const int *cancel_fd; /* readable once that is set; NULL: checked each second */
	int (*on_event)(void *ctx, const char *type, cJSON *take_obj, struct error *err);
	void (*on_unreadable)(void *ctx, const struct error *err);
	void (*on_answer)(void *ctx); /* the watch has begun; or NULL */
	void *ctx;
};
MUST_CHECK int kube_watch(struct kube *k, const struct kube_ref *ref,
			  const struct kube_watch_opts *opts, struct error *err);

/* Any call: "GET" "/version", reviews, logs. `body` may be NULL; *ret NULL if not JSON. */
MUST_CHECK int kube_call(struct kube *k, const char *method, const char *path,
			 const cJSON *body, cJSON **ret, struct error *err);
/* A text answer, piece by piece: GET .../log?follow=true. */
MUST_CHECK int kube_stream(struct kube *k, const char *path,
			   int (*on_data)(void *ctx, const void *data, size_t len,
					  struct error *err),
			   void *ctx, struct error *err);

#endif
