/*
 * informer.h - the objects of one kind, kept up to date (client-go's reflector and store
 * in one).
 *
 * The store has what the server last said, in its order; a deleted object leaves the
 * store, at the latest with the list that follows an interrupted watch (410 Gone, an
 * ERROR event, a lost connection). Failures are retried after 0.8 s doubling to 30 s, with
 * jitter, and after 0.8 s again once a watch had events or a minute passed without one.
 *
 * An object is stored as compact JSON of what keep() leaves of it. Readers get a copy.
 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H

#include "kube/kube.h"

struct informer;

struct informer_conf {
	struct kube *kube;
	const char *api_version, *kind;
	const char *ns; /* NULL: of all namespaces */
	struct kube_select select;
	/*
	 * Edits an object down to what is stored. false: as if it did not exist. NULL:
	 * everything but metadata.managedFields is stored.
	 */
	bool (*keep)(cJSON *obj);
	/*
	 * After the store has changed, in the informer's thread. What keep() left: `old`
	 * is NULL when it is new, as with all of the first list, `current` when it is gone.
	 * Each change once, also across relists; one that was recreated (another uid) is
	 * gone, then new.
	 */
	void (*on_event)(void *ctx, const cJSON *old, const cJSON *current);
	void *ctx;
	/*
	 * A kind that the API server does not serve (no CRD) is empty, and tried again every
	 * ask_ms or upon informer_poke(). false: that is an error like any other.
	 */
	bool optional;
	int64_t ask_ms; /* 0: 30 s */
	/* The kind became served or unserved; before its events. Or NULL. */
	void (*on_served)(void *ctx, bool current);
	/* Each failed call, each object that json_parse() refuses; or NULL. */
	void (*on_error)(void *ctx, const struct error *err);
	/* Each complete list, each watch that the server accepted; or NULL. */
	void (*on_answer)(void *ctx);
};

/* Starts the thread. conf's strings must outlive it. */
MUST_CHECK int informer_start(struct informer **ret, const struct informer_conf *conf,
			      struct error *err);
void informer_stop(struct informer *inf); /* waits for the thread; frees */

/* The first list is in the store, or the kind is not served and optional. */
bool informer_synced(struct informer *inf);
/* Wait for that: ERR_STOPPED, ERR_TIMEOUT. */
MUST_CHECK int informer_wait(struct informer *inf, int64_t ms, struct error *err);
void informer_poke(struct informer *inf); /* try again now */
/* False: the API server did not know the kind when last asked. */
bool informer_served(struct informer *inf);

/* "ns/name", or "name". In the arena. */
const char *informer_key(struct arena *arena, const char *ns, const char *name);

/* A copy of what is stored, the caller's; NULL: not in the store. */
cJSON *informer_get(struct informer *inf, const char *ns, const char *name);
size_t informer_count(struct informer *inf);
/* A copy of each, until visit returns false; visit may use the store. */
void informer_each(struct informer *inf, bool (*visit)(void *ctx, const cJSON *obj),
		   void *ctx);

#endif
