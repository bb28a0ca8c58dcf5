/* storage.c - objects in memory, their changes, and the journal (apiserver/storage.h). */
#include "apiserver/storage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

enum { MAX_EVENTS = 4096, COMPACT_MIN = 4 * 1024 * 1024, COMPACT_RATIO = 4 };
#define EVENTS_MAX_BYTES ((size_t)32 * 1024 * 1024)
#define VERSION_KEY      "namespaces//" /* a key that no object has */

struct storage {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct map objects;    /* key: struct stored */
	struct map dependents; /* uid of an owner: struct map, of `objects` */
	struct storage_change *ring;
	size_t max_events, first, n_events, event_bytes;
	int64_t oldest;    /* changes after this one are in the ring */
	int64_t version;   /* version of the last change */
	int64_t committed; /* version of the last change on disk */
	int64_t live_bytes;
	bool stopped;
	bool unwritten; /* write_again() failed */
	struct journal *journal;
};

/* ---- one version ------------------------------------------------------------------- */

struct stored *stored_ref(struct stored *s)
{
	if (s)
		atomic_fetch_add(&s->users, 1);
	return s;
}

void stored_unref(struct stored *s)
{
	if (s && atomic_fetch_sub(&s->users, 1) == 1)
		free(s);
}

/* Append the owners' uids in the form of stored.owners. */
static void print_owners(struct buf *ret, const cJSON *obj)
{
	const cJSON *ref;

	json_each(ref, json_get(obj, "metadata", "ownerReferences")) {
		const char *uid = meta_owner_uid(ref);

		if (uid && *uid)
			buf_add(ret, uid, strlen(uid) + 1);
	}
	buf_add(ret, "", 1);
}

/* `text` is the object's. */
static struct stored *stored_new(const struct resource *r, const char *key,
				 int64_t version, const cJSON *obj, const char *text,
				 size_t len)
{
	cleanup_buf struct buf owners = { .max = len + 1 };
	size_t n = strlen(key) + 1;
	struct stored *s;

	print_owners(&owners, obj);
	s = xmalloc(sizeof(*s) + len + 1 + n + owners.len);
	atomic_init(&s->users, 1);
	s->resource = r;
	s->version = version;
	s->len = len;
	memcpy(s->text, text, len);
	s->text[len] = 0;
	s->key = memcpy(s->text + len + 1, key, n);
	s->owners = memcpy(s->text + len + 1 + n, owners.data, owners.len);
	return s;
}

cJSON *stored_read(const struct stored *s)
{
	return json_reread(s->text);
}

static void drop_stored(void *s)
{
	stored_unref(s);
}

/* ---- owners ------------------------------------------------------------------------ */

static void drop_keys(void *keys)
{
	map_release(keys, NULL);
	free(keys);
}

static void add_dependent(struct storage *s, struct stored *now)
{
	for (const char *uid = now ? now->owners : ""; *uid; uid += strlen(uid) + 1) {
		struct map *keys = map_get(&s->dependents, uid);

		if (!keys)
			map_put(&s->dependents, uid, keys = xcalloc(1, sizeof(*keys)));
		map_put(keys, now->key, now);
	}
}

static void drop_dependent(struct storage *s, const struct stored *old)
{
	for (const char *uid = old ? old->owners : ""; *uid; uid += strlen(uid) + 1) {
		struct map *keys = map_get(&s->dependents, uid);

		if (keys)
			map_del(keys, old->key);
		if (keys && !keys->n)
			drop_keys(map_del(&s->dependents, uid));
	}
}

/* Replace the object of a key by `take_now` (NULL: none); return the former one, or NULL. */
static struct stored *replace(struct storage *s, const char *key, struct stored *take_now)
{
	struct stored *old = take_now ? map_put(&s->objects, key, take_now)
				      : map_del(&s->objects, key);

	drop_dependent(s, old);
	add_dependent(s, take_now);
	return old;
}

/* ---- changes ----------------------------------------------------------------------- */

void storage_change_release(struct storage_change *c)
{
	stored_unref(c->before);
	stored_unref(c->now);
	*c = (struct storage_change){ 0 };
}

static size_t change_bytes(const struct storage_change *c)
{
	return (c->before ? c->before->len : 0) + (c->now ? c->now->len : 0);
}

static void forget_oldest(struct storage *s)
{
	struct storage_change *c = &s->ring[s->first];

	s->oldest = c->version;
	s->event_bytes -= change_bytes(c);
	storage_change_release(c);
	s->first = (s->first + 1) % s->max_events;
	s->n_events--;
}

static void remember(struct storage *s, struct storage_change take_change)
{
	s->event_bytes += change_bytes(&take_change);
	while (s->n_events == s->max_events ||
	       (s->n_events && s->event_bytes > EVENTS_MAX_BYTES))
		forget_oldest(s);
	s->ring[(s->first + s->n_events++) % s->max_events] = take_change;
}

/* ---- opening ----------------------------------------------------------------------- */

static const struct resource *resource_of_key(const char *key)
{
	cleanup_arena struct arena arena = { 0 };
	const char *slash = strchr(key, '/');

	for (const struct resource *r = resources; slash && r->kind; r++) {
		const char *title = resource_title(&arena, r);

		if (strlen(title) == (size_t)(slash - key) &&
		    !strncmp(title, key, strlen(title)))
			return r;
	}
	return NULL;
}

static int load_record(void *ctx, const struct journal_record *rec, struct error *err)
{
	struct storage *s = ctx;
	const struct resource *r = resource_of_key(rec->key);
	cleanup_json cJSON *doc = NULL;
	struct stored *old;

	if (!r)
		return error_set(err, ERR_FORMAT, "unknown kind in key \"%.100s\"",
				 rec->key);
	if (rec->text && json_parse(&doc, rec->text, rec->len, err))
		return error_wrap(err, "%.200s", rec->key);
	old = replace(s, rec->key,
		      rec->text ? stored_new(r, rec->key, rec->version, doc, rec->text,
					     rec->len)
				: NULL);
	s->live_bytes += (int64_t)rec->len - (int64_t)(old ? old->len : 0);
	stored_unref(old);
	if (rec->version > s->version)
		s->version = rec->version;
	return 0;
}

struct live {
	struct storage *s;
	struct map_entry *at;
	bool ended;
};

/* The last record has no object, only the last version, so that versions never repeat. */
static bool next_live(void *ctx, struct journal_record *ret)
{
	struct live *l = ctx;
	const struct stored *obj;

	if (l->ended)
		return false;
	l->at = map_next(&l->s->objects, l->at);
	l->ended = !l->at;
	*ret = (struct journal_record){ .version = l->s->version, .key = VERSION_KEY };
	if (l->ended)
		return true;
	obj = l->at->value;
	*ret = (struct journal_record){ obj->version, obj->key, obj->text, obj->len };
	return true;
}

/*
 * After a sync that failed, the log as it is read may be in the kernel's memory alone, and
 * no later sync writes that to the disk: write it again. While that fails, as on a full
 * disk, nothing is added.
 */
static int write_again(struct storage *s, struct error *err)
{
	struct live live = { .s = s };

	if (journal_rewrite(s->journal, next_live, &live, err))
		return -1;
	s->unwritten = false;
	return 0;
}

int storage_open(struct storage **ret, const struct storage_conf *conf, struct error *err)
{
	struct storage *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	cond_init(&s->changed);
	s->version = 1;
	s->max_events = conf->max_events ? conf->max_events : MAX_EVENTS;
	s->ring = xcalloc(s->max_events, sizeof(*s->ring));
	if (conf->dir && journal_open(&s->journal, conf->dir, load_record, s, err)) {
		storage_close(s);
		return -1;
	}
	s->unwritten = s->journal && journal_report(s->journal)->records;
	if (s->unwritten) /* or with the first write */
		(void)!write_again(s, IGNORED);
	s->oldest = s->committed = s->version;
	*ret = s;
	return 0;
}

void storage_close(struct storage *s)
{
	if (!s)
		return;
	while (s->n_events)
		forget_oldest(s);
	free(s->ring);
	map_release(&s->dependents, drop_keys);
	map_release(&s->objects, drop_stored);
	journal_close(s->journal);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const struct journal_report *storage_report(const struct storage *s)
{
	static const struct journal_report none = { 0 };

	return s->journal ? journal_report(s->journal) : &none;
}

/* ---- reading ----------------------------------------------------------------------- */

/* Sync the changes up to this version to disk, then make them visible to watches. */
static int sync_to_disk(struct storage *s, int64_t version, struct error *err)
{
	int rc = s->journal ? journal_sync(s->journal, err) : 0;

	pthread_mutex_lock(&s->lock);
	if (!rc && version > s->committed)
		s->committed = version;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/*
 * Never return a version that a crash could lose: sync it first. The writer reports the
 * failure.
 */
static void sync_before_read(struct storage *s, int64_t version, bool pending)
{
	if (pending)
		(void)!sync_to_disk(s, version, IGNORED);
}

struct stored *storage_get(struct storage *s, const char *key)
{
	struct stored *found;
	int64_t version;
	bool pending;

	pthread_mutex_lock(&s->lock);
	found = stored_ref(map_get(&s->objects, key));
	version = found ? found->version : s->version; /* absent: perhaps just deleted */
	pending = version > s->committed;
	pthread_mutex_unlock(&s->lock);
	sync_before_read(s, version, pending);
	return found;
}

static int by_key(const void *a, const void *b)
{
	const struct stored *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

/* The keys to list. */
struct range {
	const char *prefix, *after;
};

static void add_listed(struct stored_list *ret, const struct range *keys,
		       struct stored *st)
{
	bool is_full = !(ret->n & (ret->n - 1)); /* n is 0 or a power of 2 */

	if (!st || !str_starts(st->key, keys->prefix) ||
	    (keys->after && strcmp(st->key, keys->after) <= 0))
		return;
	if (is_full)
		ret->list = xreallocarray(ret->list, ret->n ? 2 * ret->n : 1,
					  sizeof(*ret->list));
	ret->list[ret->n++] = stored_ref(st);
}

static void list_ready(struct storage *s, struct stored_list *ret, bool pending)
{
	sync_before_read(s, ret->version, pending);
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_key);
}

/* With the lock held: the first change since of each key. False: not known. */
static bool changed_since(struct storage *s, int64_t version, struct map *ret)
{
	if (version < s->oldest || version > s->version)
		return false;
	for (size_t i = 0; i < s->n_events; i++) {
		struct storage_change *c = &s->ring[(s->first + i) % s->max_events];
		const char *key = c->now ? c->now->key : c->before->key;

		if (c->version > version && !map_get(ret, key))
			map_put(ret, key, c);
	}
	return true;
}

bool storage_list_at(struct storage *s, const char *prefix, const char *after,
		     int64_t version, struct stored_list *ret)
{
	const struct range keys = { prefix, after };
	cleanup_map struct map changed = { 0 };
	bool known, pending;

	*ret = (struct stored_list){ 0 };
	pthread_mutex_lock(&s->lock);
	known = changed_since(s, version, &changed);
	ret->version = known ? version : s->version;
	map_each(e, &s->objects)
		if (!changed.n || !map_get(&changed, e->key))
			add_listed(ret, &keys, e->value);
	map_each(e, &changed)
		add_listed(ret, &keys, ((const struct storage_change *)e->value)->before);
	pending = ret->version > s->committed;
	pthread_mutex_unlock(&s->lock);
	list_ready(s, ret, pending);
	return known;
}

void storage_list(struct storage *s, const char *prefix, struct stored_list *ret)
{
	(void)storage_list_at(s, prefix, NULL, INT64_MAX, ret);
}

void storage_dependents(struct storage *s, const char *uid, struct stored_list *ret)
{
	const struct map *keys;
	bool pending;

	*ret = (struct stored_list){ 0 };
	pthread_mutex_lock(&s->lock);
	keys = map_get(&s->dependents, uid);
	for (const struct map_entry *e = keys ? map_next(keys, NULL) : NULL; e;
	     e = map_next(keys, e))
		add_listed(ret, &(const struct range){ "", NULL }, e->value);
	ret->version = s->version;
	pending = ret->version > s->committed;
	pthread_mutex_unlock(&s->lock);
	list_ready(s, ret, pending);
}

void stored_list_release(struct stored_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		stored_unref(l->list[i]);
	free(l->list);
	*l = (struct stored_list){ 0 };
}

int64_t storage_version(struct storage *s)
{
	int64_t version;

	pthread_mutex_lock(&s->lock);
	version = s->committed;
	pthread_mutex_unlock(&s->lock);
	return version;
}

static bool key_is_in(const char *key, const char *ns)
{
	const char *at = strchr(key, '/');

	return at && str_starts(at + 1, ns) && at[1 + strlen(ns)] == '/';
}

bool storage_has_namespaced(struct storage *s, const char *ns)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	map_each(e, &s->objects) {
		found = key_is_in(e->key, ns);
		if (found)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* ---- writing ----------------------------------------------------------------------- */

/* With the lock held: rewrite a log of which most is outdated. Failures are retried. */
static void compact(struct storage *s)
{
	struct live live = { .s = s };
	int64_t size = s->journal ? journal_size(s->journal) : 0;

	if (size >= COMPACT_MIN && size >= COMPACT_RATIO * s->live_bytes)
		(void)!journal_rewrite(s->journal, next_live, &live, IGNORED);
}

/* With the lock held: replace before by now. */
static int commit(struct storage *s, const char *key, struct stored *before,
		  struct stored *take_now, int64_t version, struct error *err)
{
	struct journal_record rec = { .version = version, .key = key };

	if (take_now) {
		rec.text = take_now->text;
		rec.len = take_now->len;
	}
	if (s->journal && ((s->unwritten && write_again(s, err)) ||
			   journal_add(s->journal, &rec, err))) {
		stored_unref(take_now);
		return -1;
	}
	s->version = version;
	s->live_bytes += (int64_t)rec.len - (int64_t)(before ? before->len : 0);
	stored_ref(before);
	stored_ref(take_now);
	stored_unref(replace(s, key, take_now));
	remember(s, (struct storage_change){ version, before, take_now });
	return 0;
}

static int publish(struct storage *s, int64_t version, struct error *err)
{
	if (sync_to_disk(s, version, err))
		return -1;
	pthread_mutex_lock(&s->lock);
	if (s->journal)
		journal_mark(s->journal);
	compact(s);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int check_before(const struct stored *now, const struct stored *before,
			const char *key, struct error *err)
{
	if (now == before)
		return 0;
	if (!before)
		return error_set(err, ERR_EXISTS, "%.300s already exists", key);
	return error_set(err, ERR_CONFLICT, "%.300s has been modified", key);
}

int storage_put(struct storage *s, const struct resource *r, const char *key,
		const struct stored *before, cJSON *obj, struct error *err)
{
	cleanup_buf struct buf text = { .max = OBJECT_MAX_BYTES };
	char version[24];
	int64_t next;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = check_before(map_get(&s->objects, key), before, key, err);
	next = s->version + 1;
	if (!rc && json_is_deeper(obj, JSON_MAX_DEPTH)) /* json_parse() would refuse it */
		rc = error_set(err, ERR_LIMIT,
			       "the object is nested deeper than %d levels",
			       JSON_MAX_DEPTH);
	if (!rc) {
		snprintf(version, sizeof(version), "%lld", (long long)next);
		meta_set_version(obj, version);
		json_print(&text, obj);
		rc = buf_check(&text, "the object", err);
	}
	if (!rc)
		rc = commit(s, key, map_get(&s->objects, key),
			    stored_new(r, key, next, obj, (char *)text.data, text.len),
			    next, err);
	pthread_mutex_unlock(&s->lock);
	return rc ? -1 : publish(s, next, err);
}

int storage_delete(struct storage *s, const struct stored *before, struct error *err)
{
	struct stored *now;
	int64_t next;
	int rc;

	pthread_mutex_lock(&s->lock);
	now = map_get(&s->objects, before->key);
	rc = check_before(now, before, before->key, err);
	next = s->version + 1;
	if (!rc)
		rc = commit(s, before->key, now, NULL, next, err);
	pthread_mutex_unlock(&s->lock);
	return rc ? -1 : publish(s, next, err);
}

/* ---- waiting ----------------------------------------------------------------------- */

/* The first visible change after that version; versions rise along the ring. */
static struct storage_change *find_change(struct storage *s, int64_t after)
{
	size_t low = 0, high = s->n_events;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->ring[(s->first + mid) % s->max_events].version <= after)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == s->n_events ||
	    s->ring[(s->first + low) % s->max_events].version > s->committed)
		return NULL;
	return &s->ring[(s->first + low) % s->max_events];
}

int storage_next(struct storage *s, int64_t after, int64_t deadline,
		 struct storage_change *ret, struct error *err)
{
	struct storage_change *c = NULL;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	do {
		if (after < s->oldest)
			rc = error_set(err, ERR_EXPIRED,
				       "too old resource version: %lld (%lld)",
				       (long long)after, (long long)s->oldest + 1);
		else if (after > s->version) /* of other data than these */
			rc = error_set(err, ERR_EXPIRED,
				       "too large resource version: %lld, current: %lld",
				       (long long)after, (long long)s->version);
		else if (s->stopped)
			rc = error_set(err, ERR_STOPPED, "the server is stopping");
		else
			c = find_change(s, after);
	} while (!rc && !c && cond_wait_until(&s->changed, &s->lock, deadline));
	if (c) {
		*ret = (struct storage_change){ c->version, stored_ref(c->before),
						stored_ref(c->now) };
		rc = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void storage_stop(struct storage *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}
