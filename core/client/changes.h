/*
 * changes.h - the events of several informers as one queue, for one reading thread.
 *
 *     changes_new(&c, k, NULL, NULL, err)
 *     changes_watch(c, &ref, NULL, NULL, err)  // for each kind
 *     while ((rc = changes_next(c, ms, &change, err)) > 0)
 *             ...; change_release(&change);
 *
 * An API server that cannot be reached is retried until it answers: CHANGE_LOST once, then
 * CHANGE_FOUND. Permanent failures (ERR_DENIED, a kind that is not served) end
 * changes_next() with that error: at once before a watch's first answer, later once they
 * have lasted for CHANGES_REFUSED_MS.
 */
#ifndef CLIENT_CHANGES_H
#define CLIENT_CHANGES_H

#include "base/cleanup.h"
#include "kube/informer.h"

enum {
	CHANGES_MAX = 1024, /* in the queue; a full one blocks the informers */
	/* An API server that starts denies for less than this what it served before. */
	CHANGES_REFUSED_MS = 15000,
};

enum change_kind {
	CHANGE_ADDED,
	CHANGE_MODIFIED,
	CHANGE_DELETED, /* `obj` is its last known state */
	CHANGE_SYNCED,  /* the first lists of all informers have been delivered */
	CHANGE_LOST,    /* the API server does not answer; `err` is the failure */
	CHANGE_FOUND,   /* the API server answers again */
};

struct change {
	enum change_kind kind;
	cJSON *obj; /* owned by the caller: change_release() */
	struct error err;
	struct change *next;
};
void change_release(struct change *change);
#define cleanup_change __attribute__((cleanup(change_release)))

struct changes;

/*
 * `wake`, unless NULL, is called in an informer's thread when changes_next() has
 * something to return.
 */
MUST_CHECK int changes_new(struct changes **ret, struct kube *k, void (*wake)(void *ctx),
			   void *ctx, struct error *err);
/* Stops the informers; drops what is queued. `c` may be NULL. */
void changes_free(struct changes *c);
CLEANUP(changes, struct changes *, changes_free);
#define cleanup_changes __attribute__((cleanup(cleanup_changesp)))

/*
 * Start an informer of ref's kind: of one object (ref->name), or of those that the
 * selector matches (NULL: all). transform() as in informer_conf; strings are copied.
 * ERR_LIMIT: more than four informers.
 */
MUST_CHECK int changes_watch(struct changes *c, const struct kube_ref *ref,
			     const char *label_selector, bool (*transform)(cJSON *obj),
			     struct error *err);

/*
 * 1: *ret is the next change; 0: none within ms (< 0: no limit). -1: ERR_STOPPED, or a
 * permanent failure; ERR_DENIED as permission_explain() words it.
 */
MUST_CHECK int changes_next(struct changes *c, int64_t ms, struct change *ret,
			    struct error *err);

/*
 * Has an API server refused for CHANGES_REFUSED_MS what it served before? *since_ms:
 * clock_ms() of the first refusal, 0 while it serves.
 */
bool changes_refused(int64_t *since_ms, bool refused);

#endif
