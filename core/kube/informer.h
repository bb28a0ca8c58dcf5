/*
 * informer.h - what there is of one kind, kept up to date (client-go's reflector
 * and store in one).
 *
 * A thread lists, then watches from there; bookmarks move the place, an ERROR event (410
 * Gone, or any other) lists again, a connection that ends makes another; after a failure
 * with a delay with jitter (0.8 s doubling to 30 s, back to 0.8 s after a minute of
 * peace). Objects deleted unseen are noticed at the next list.
 *
 * The store holds compact text, not trees: keep() cuts an object down to what its
 * users need, and what it returns is stored as one line of JSON. Readers get a copy.
 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H

#include "kube/kube.h"

struct informer;

enum informer_event { INFORMER_ADDED, INFORMER_MODIFIED, INFORMER_DELETED };

struct informer_conf {
	struct kube *kube;
	const char *api_version, *kind;
	const char *ns; /* NULL: of all namespaces */
	struct kube_select select;
	/*
	 * What to store of an object: edit it in place. false: store nothing of it (as
	 * if it did not exist). NULL: everything but metadata.managedFields.
	 */
	bool (*keep)(cJSON *obj);
	/*
	 * In the informer's thread, after the store has changed, never twice at once.
	 * `was` and `is`: what keep() left, NULL where there is none. A relist shows
	 * only differences (by resourceVersion); objects of the first list are ADDED; one
	 * that was deleted and made anew meanwhile (another uid) is DELETED and ADDED.
	 */
	void (*on_event)(void *ctx, enum informer_event event, const cJSON *old,
			 const cJSON *current);
	void *ctx;
	/*
	 * The API server does not serve the kind (no CRD): true waits, asking again each
	 * 30 s, or ask_ms (or when told, informer_poke); false is an error that is reported.
	 */
	bool optional;
	int64_t ask_ms; /* 0: 30 s */
	/* It was served and is not, or the other way round; before the events. Or NULL. */
	void (*on_served)(void *ctx, bool current);
	/* Each failed try, each object that json_parse() refuses; may be NULL. */
	void (*on_error)(void *ctx, const struct error *err);
	/* Each list that was read and each watch that has begun; may be NULL. */
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
/* False: at the last look the API server did not know the kind. */
bool informer_served(struct informer *inf);

/* "ns/name", or "name". In the arena. */
const char *informer_key(struct arena *arena, const char *ns, const char *name);

/* A copy of what is stored, the caller's; NULL when there is none. */
cJSON *informer_get(struct informer *inf, const char *ns, const char *name);
size_t informer_count(struct informer *inf);
/* Each one, copies, until visit returns false. The store is not locked meanwhile. */
void informer_each(struct informer *inf, bool (*visit)(void *ctx, const cJSON *obj),
		   void *ctx);

#endif
