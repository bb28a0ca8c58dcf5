/*
 * informer.h - a cache of the objects of one kind (client-go's Reflector and Store).
 *
 * A thread lists and watches. The store has each object as the API server last sent it,
 * updated in the server's order; a deleted object leaves the store, at the latest with
 * the list that follows an interrupted watch (410 Gone, an ERROR event, a lost
 * connection). Failures are retried after 0.8 s doubling to 30 s, with jitter, and after
 * 0.8 s again once a watch had events or a minute passed without a failure.
 *
 * An object is stored as compact JSON, after the transform keep(). Readers get a copy;
 * any thread may read, callbacks included.
 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H

#include "kube/kube.h"

struct informer;

struct informer_conf {
	struct kube *kube;
	const char *api_version, *kind;
	const char *ns; /* NULL: all namespaces */
	struct kube_select select;
	/*
	 * client-go's TransformFunc: removes from an object what is not to be stored.
	 * False: the object is treated as absent. NULL: only metadata.managedFields is
	 * removed.
	 */
	bool (*transform)(cJSON *obj);
	/*
	 * The event handler, called in the informer's thread after the store has changed;
	 * both objects are the informer's, as transform() left them. Add: `old` is NULL, as
	 * for the whole first list. Delete: `current` is NULL. A change is reported once,
	 * also across relists; an object recreated with another uid is a delete, then an
	 * add.
	 */
	void (*on_event)(void *ctx, const cJSON *old, const cJSON *current);
	void *ctx;
	/*
	 * True: a kind that the API server does not serve (no CRD) has an empty store, and is
	 * listed again every ask_ms or upon informer_retry_now(). False: it is an error.
	 */
	bool optional;
	int64_t ask_ms; /* 0: 30 s */
	/* Called when the kind is served or no longer served, before deletes; or NULL. */
	void (*on_served)(void *ctx, bool current);
	/* Called for each failed request and each unreadable object; or NULL. */
	void (*on_error)(void *ctx, const struct error *err);
	/* Called for each complete list, each watch that the server accepted; or NULL. */
	void (*on_answer)(void *ctx);
};

/*
 * Starts the thread, whose callbacks find *ret set. conf->kube and conf's strings must
 * outlive the informer.
 */
MUST_CHECK int informer_start(struct informer **ret, const struct informer_conf *conf,
			      struct error *err);
void informer_stop(struct informer *inf); /* no callback runs after it; NULL is fine */

/* HasSynced: the first list is in the store, or the kind is optional and not served. */
bool informer_synced(struct informer *inf);
/* WaitForCacheSync, for at most ms: ERR_STOPPED, ERR_TIMEOUT. */
MUST_CHECK int informer_wait(struct informer *inf, int64_t ms, struct error *err);
void informer_retry_now(struct informer *inf); /* end a retry delay now */
/* False: at the last list, the API server did not serve the kind. */
bool informer_served(struct informer *inf);

/* "ns/name", or "name". In the arena. */
const char *informer_key(struct arena *arena, const char *ns, const char *name);

/* A copy of the stored object, the caller's; NULL: not in the store. */
cJSON *informer_get(struct informer *inf, const char *ns, const char *name);
size_t informer_count(struct informer *inf);
/*
 * Calls visit with a copy of each object until it returns false. No lock is held: objects
 * deleted meanwhile are left out, and so are those that are added.
 */
void informer_each(struct informer *inf, bool (*visit)(void *ctx, const cJSON *obj),
		   void *ctx);

#endif
