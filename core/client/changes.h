/*
 * changes.h - what informers see, one change after another, for a thread that waits.
 *
 *     changes_new(&c, k, NULL, NULL, err)
 *     changes_watch(c, &conf, err)            // for each kind
 *     while ((rc = changes_next(c, ms, &change, err)) > 0)
 *             ...; change_release(&change);
 *
 * An API server that cannot be reached is retried until it answers: CHANGE_LOST once, then
 * CHANGE_FOUND. Permanent failures (ERR_DENIED, a kind that is not served) end
 * changes_next() with that error.
 */
#ifndef CLIENT_CHANGES_H
#define CLIENT_CHANGES_H

#include "base/cleanup.h"
#include "kube/informer.h"

enum { CHANGES_MAX = 1024 }; /* that wait; then the informers do */

enum change_kind {
	CHANGE_ADDED,
	CHANGE_MODIFIED,
	CHANGE_DELETED, /* `obj` is as it was last */
	CHANGE_SYNCED,  /* the first lists of all informers have been delivered */
	CHANGE_LOST,    /* `err` says why */
	CHANGE_FOUND,
};

struct change {
	enum change_kind kind;
	cJSON *obj; /* the caller's: change_release() */
	struct error err;
	struct change *next;
};
void change_release(struct change *change);
#define cleanup_change __attribute__((cleanup(change_release)))

struct changes;

/* `wake` (or NULL) is called in an informer's thread when there is something new. */
MUST_CHECK int changes_new(struct changes **ret, struct kube *k, void (*wake)(void *ctx),
			   void *ctx, struct error *err);
void changes_free(struct changes *c);
CLEANUP(changes, struct changes *, changes_free);
#define cleanup_changes __attribute__((cleanup(cleanup_changesp)))

/* An informer of ref's kind: of one object (ref->name), or those of the selector. */
MUST_CHECK int changes_watch(struct changes *c, const struct kube_ref *ref,
			     const char *label_selector, bool (*keep)(cJSON *obj),
			     struct error *err);

/*
 * 1: *ret is one; 0: none within ms (< 0: for ever). -1: ERR_STOPPED, or what will not
 * get better.
 */
MUST_CHECK int changes_next(struct changes *c, int64_t ms, struct change *ret,
			    struct error *err);

#endif
