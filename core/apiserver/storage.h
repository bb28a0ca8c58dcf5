/*
 * storage.h - the stored objects, and their recent changes for watches.
 *
 * Keys are "PLURAL.GROUP/NAMESPACE/NAME" ("PLURAL.GROUP//NAME" of cluster-wide kinds). A
 * stored version is immutable and reference-counted. One counter gives the versions
 * (resourceVersion) of all objects. The last max_events changes are stored for watches;
 * asking for older ones is ERR_EXPIRED. With a journal, a change is acknowledged and
 * visible, to readers as to watches, once it is on disk; all who wait share one fsync.
 *
 * All functions are thread-safe.
 */
#ifndef APISERVER_STORAGE_H
#define APISERVER_STORAGE_H

#include <stdatomic.h>

#include "apiserver/journal.h"
#include "apiserver/resources.h"
#include "base/cleanup.h"

struct stored {
	atomic_int users;
	const struct resource *resource;
	const char *key;    /* in the same memory, after the text */
	const char *owners; /* after the key: uids, each with its NUL; "" ends the list */
	int64_t version;
	size_t len;
	char text[]; /* JSON on one line, with its resourceVersion */
};
struct stored *stored_ref(struct stored *s); /* another reference; NULL is fine */
void stored_unref(struct stored *s);         /* NULL is fine */
CLEANUP(stored, struct stored *, stored_unref);
#define cleanup_stored __attribute__((cleanup(cleanup_storedp)))
cJSON *stored_read(const struct stored *s); /* owned by the caller */

struct storage;
struct storage_conf {
	const char *dir;   /* the journal's directory; NULL: in memory only */
	size_t max_events; /* number of changes stored for watches; 0: 4096 */
};
enum { OBJECT_MAX_BYTES = 1536 * 1024 }; /* of one object, as etcd's limit */

/* Errors: those of journal_open(). */
MUST_CHECK int storage_open(struct storage **ret, const struct storage_conf *conf,
			    struct error *err);
void storage_close(struct storage *s);
/* The report of the journal; zeros without one. */
const struct journal_report *storage_report(const struct storage *s);

/* A reference owned by the caller; NULL: not found. */
struct stored *storage_get(struct storage *s, const char *key);

struct stored_list {
	struct stored **list; /* in the order of their keys */
	size_t n;
	int64_t version; /* of the last change when the list was read */
};
/* The objects whose key begins with `prefix`. */
void storage_list(struct storage *s, const char *prefix, struct stored_list *ret);
/*
 * The same, but only keys greater than `after` (or NULL), as of that version. False: changes
 * since that version are no longer known, and the list is as of now.
 */
bool storage_list_at(struct storage *s, const char *prefix, const char *after,
		     int64_t version, struct stored_list *ret);
/* The objects with an owner reference to that uid, in the order of their keys. */
void storage_dependents(struct storage *s, const char *uid, struct stored_list *ret);
void stored_list_release(struct stored_list *l);
#define cleanup_stored_list __attribute__((cleanup(stored_list_release)))

/*
 * Replace `before` by `obj` (NULL: create it), and set obj's resourceVersion.
 * ERR_EXISTS: `before` is NULL, but the key exists; ERR_CONFLICT: the stored version is
 * not `before`; ERR_LIMIT: too large or nested too deep; ERR_IO: not written to disk.
 */
MUST_CHECK int storage_put(struct storage *s, const struct resource *r, const char *key,
			   const struct stored *before, cJSON *obj, struct error *err);
/* ERR_CONFLICT: the stored version is not `before`; ERR_IO. */
MUST_CHECK int storage_delete(struct storage *s, const struct stored *before,
			      struct error *err);

int64_t storage_version(struct storage *s); /* of the last change on disk */
/* Is any object in that namespace? */
bool storage_has_namespaced(struct storage *s, const char *ns);

/* One change: before NULL: created; now NULL: deleted. */
struct storage_change {
	int64_t version;
	struct stored *before, *now;
};
void storage_change_release(struct storage_change *c);
/*
 * Wait for the next change of any kind after that version. 1: *ret is the change, owned
 * by the caller; 0: none until `deadline` (clock_ms()); -1: ERR_EXPIRED, also for a
 * version that there has never been, or ERR_STOPPED after storage_stop().
 */
MUST_CHECK int storage_next(struct storage *s, int64_t after, int64_t deadline,
			    struct storage_change *ret, struct error *err);
void storage_stop(struct storage *s); /* ends all waits in storage_next() */

#endif
