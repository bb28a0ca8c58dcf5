/*
 * storage.h - the objects: one text a version, and what happened last.
 *
 * Keys are "PLURAL.GROUP/NAMESPACE/NAME" ("PLURAL.GROUP//NAME" of cluster-wide kinds). A
 * stored version never changes; who holds one keeps it alive. Versions (resourceVersion)
 * are counted over all objects. The last changes are kept for watches: what is older is
 * ERR_EXPIRED. With a journal, a change is acknowledged and seen by watches once it is on
 * disk; writers that arrive together share one fsync.
 *
 * Any number of threads.
 */
#ifndef APISERVER_STORAGE_H
#define APISERVER_STORAGE_H

#include <stdatomic.h>

#include "apiserver/journal.h"
#include "apiserver/resources.h"

struct stored {
	atomic_int users;
	const struct resource *resource;
	const char *key; /* behind the text */
	int64_t version;
	size_t len;
	char text[]; /* JSON on one line, with its resourceVersion */
};
struct stored *stored_use(struct stored *s);
void stored_drop(struct stored *s); /* NULL is fine */
static inline void cleanup_storedp(struct stored **s)
{
	stored_drop(*s);
}
#define cleanup_stored __attribute__((cleanup(cleanup_storedp)))
cJSON *stored_read(const struct stored *s); /* the caller's */

struct storage;
struct storage_conf {
	const char *dir;   /* of a journal; NULL: in memory only */
	size_t max_events; /* that are kept for watches; 0: 4096 */
};
enum { OBJECT_MAX_BYTES = 1536 * 1024 }; /* of one object, as etcd's limit */

MUST_CHECK int storage_open(struct storage **ret, const struct storage_conf *conf,
			    struct error *err);
void storage_close(struct storage *s);
const struct journal_report *storage_report(const struct storage *s); /* of its journal */

/* The caller's; NULL: not there. */
struct stored *storage_get(struct storage *s, const char *key);

struct stored_list {
	struct stored **list; /* in the order of their keys */
	size_t n;
	int64_t version; /* of the whole */
};
/* Those whose key begins with the prefix and comes behind `after` (or NULL), at most `max` (0: all). */
void storage_list(struct storage *s, const char *prefix, const char *after, size_t max,
		  struct stored_list *ret, size_t *ret_remaining);
void stored_list_release(struct stored_list *l);
#define cleanup_stored_list __attribute__((cleanup(stored_list_release)))

/*
 * `obj` takes the place of `before` (NULL: there must be none): ERR_CONFLICT, ERR_EXISTS
 * when something else is there now. obj gets its resourceVersion. ERR_LIMIT: too large;
 * ERR_IO: the disk refuses it.
 */
MUST_CHECK int storage_put(struct storage *s, const struct resource *r, const char *key,
			   const struct stored *before, cJSON *obj, struct error *err);
/* ERR_CONFLICT: it is another one now. *ret_version may be NULL. */
MUST_CHECK int storage_delete(struct storage *s, const struct stored *before,
			      int64_t *ret_version, struct error *err);

int64_t storage_version(struct storage *s);

/* One change: before NULL: created; now NULL: deleted. */
struct storage_change {
	int64_t version;
	struct stored *before, *now;
};
void storage_change_release(struct storage_change *c);
/*
 * The next change after that version, of any kind. 1: *ret has it, the caller's; 0: none
 * until `deadline` (clock_ms()); -1: ERR_EXPIRED, or ERR_STOPPED after storage_stop().
 */
MUST_CHECK int storage_next(struct storage *s, int64_t after, int64_t deadline,
			    struct storage_change *ret, struct error *err);
void storage_stop(struct storage *s); /* who waits in storage_next() returns */

#endif
