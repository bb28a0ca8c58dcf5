/*
 * s3.c - s3://BUCKET/PREFIX: S3 and compatible servers; see scheme.h.
 *
 * All objects below the prefix, or the one of that name. Unlike upstream's, `data` means
 * data/..., not data2/ or data-old.txt. Bytes are verified by ETags: the object's MD5, or
 * the MD5 of its parts' MD5s, for which the part size is requested; large and multipart
 * objects by S3's own checksum of the whole, if there is one. If an ETag is not a sum
 * (KMS), correct_sum() finds out.
 */
#include "base/cleanup.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cloud/aws_profile.h"
#include "store/s3_list.h"
#include "store/s3_object.h"
#include "store/s3_put.h"
#include "store/s3_upload.h"
#include "store/scheme.h"

enum { REQUEST_THREADS = 8, REQUEST_FROM = 16 << 20 };

struct store {
	struct s3_bucket *bucket;
	bool unverified, exact;
};

static int s3_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	struct s3_bucket *bucket = NULL;

	if (s3_bucket_open(&bucket, conf, err))
		return -1;
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->bucket = bucket;
	(*ret)->unverified = conf->unverified;
	(*ret)->exact = conf->exact;
	return 0;
}

static void s3_close(struct store *s)
{
	if (!s)
		return;
	s3_bucket_close(s->bucket);
	free(s);
}

/* ---- listing ---- */

static void set_sum(struct store_object *o, struct arena *arena, const char *etag)
{
	const char *tag = arena_printf(arena, "\"%s\"", etag);
	int parts = s3_etag_parts(etag);
	char *sum;

	o->etag = *etag && http_is_etag(tag) ? tag : NULL;
	if (parts < 0)
		return;
	sum = arena_strdup(arena, etag);
	for (char *p = sum; *p; p++)
		if (*p >= 'A' && *p <= 'F')
			*p = (char)(*p - 'A' + 'a');
	o->digest = parts ? STORE_MD5_PARTS : STORE_MD5;
	o->sum = sum;
	o->part_size = parts == 1 ? o->size : 0;
}

static int add_entry(struct bucket_listing *g, const char *path, const struct s3_entry *e,
		     struct error *err)
{
	struct arena *arena = &g->to->arena;
	struct store_object o = { .size = e->size };

	o.key = arena_strdup(arena, e->key);
	o.path = arena_strdup(arena, path);
	set_sum(&o, arena, e->etag);
	return store_listing_add(g->to, &o, err);
}

static int on_entry(void *ctx, const struct s3_entry *e, struct error *err)
{
	struct bucket_listing *g = ctx;

	return bucket_listing_wants(g, e->key)
		       ? add_entry(g, bucket_listing_path(g, e->key), e, err)
		       : 0;
}

static int list_below(struct store *s, const char *prefix, struct bucket_listing *g,
		      struct error *err)
{
	g->skip = strlen(prefix);
	return s3_list(s->bucket, prefix, on_entry, g, err);
}

/* The object with exactly this name. *ret_status: of its HEAD. */
static int list_object(struct store *s, const char *key, struct bucket_listing *g,
		       int *ret_status, struct error *err)
{
	const char *slash = strrchr(key, '/');
	struct s3_head head;
	struct s3_entry e = { .key = key };

	if (s3_head(&head, s->bucket, key, 0, err))
		return -1;
	*ret_status = head.status;
	if (head.status != 200)
		return 0;
	e.size = head.size;
	e.etag = head.etag;
	g->n_listed++;
	if (g->wanted && !g->wanted(g->ctx, key, true))
		return 0;
	return add_entry(g, slash ? slash + 1 : key, &e, err);
}

/*
 * Without the right to list, an object may still be readable; if not, the error of the
 * listing is the better one.
 */
static int gather(struct store *s, struct bucket_listing *g, struct error *err)
{
	const char *key = s3_bucket_key(s->bucket);
	cleanup_arena struct arena arena = { 0 };
	struct error refused = { 0 };
	struct buf none = { 0 };
	int status = 0;

	if (!*key || str_ends(key, "/"))
		return list_below(s, key, g, err);
	if (!s->exact && list_below(s, arena_printf(&arena, "%s/", key), g, &refused) &&
	    (refused.code != 403 || g->n_listed)) {
		*err = refused;
		return -1;
	}
	if (g->n_listed)
		return 0;
	if (list_object(s, key, g, &status, err))
		return -1;
	if (status == 200)
		return 0;
	if (refused.kind) {
		*err = refused;
		return -1;
	}
	if (status == 404)
		return error_set(err, ERR_NOT_FOUND,
				 "no object '%s', and none below '%s/', in the bucket: "
				 "check the URI",
				 str_visible(&arena, key, false),
				 str_visible(&arena, key, false));
	return s3_bucket_refused(s->bucket, key, status, &none, err);
}

/* ---- checksums ---- */

struct checksums {
	struct store *s;
	struct store_listing *l;
	pthread_mutex_t lock; /* guards the listing's arena */
	size_t next;          /* shared by the threads */
};

static int64_t n_parts(int64_t size, int64_t part)
{
	return (size + part - 1) / part;
}

/* MD5 hashes 0.6 GB/s per core: for large objects a HEAD for a faster sum pays off. */
static bool needs_request(const struct store_object *o)
{
	return (o->digest == STORE_MD5_PARTS && !o->part_size) ||
	       (o->size >= REQUEST_FROM && o->digest != STORE_DIGEST_NONE);
}

/* Get a checksum of the whole object, valid even if the ETag is not an MD5. */
static bool request_checksum(struct checksums *a, struct store_object *o)
{
	struct s3_head head;

	if (s3_head(&head, a->s->bucket, o->key, 0, IGNORED) || head.status != 200 ||
	    !*head.sum || head.size != o->size)
		return false;
	pthread_mutex_lock(&a->lock);
	o->sum = arena_strdup(&a->l->arena, head.sum);
	pthread_mutex_unlock(&a->lock);
	o->digest = head.digest;
	o->part_size = 0;
	return true;
}

/* The first part's size, if it gives the number of parts of the ETag. */
static void request_part_size(struct store *s, struct store_object *o)
{
	struct s3_head head;

	if (s3_head(&head, s->bucket, o->key, 1, IGNORED) ||
	    (head.status != 206 && head.status != 200) || head.size <= 0)
		return;
	if (n_parts(o->size, head.size) == s3_etag_parts(o->sum))
		o->part_size = head.size;
}

static void *request_some(void *ctx)
{
	struct checksums *a = ctx;
	size_t i;

	while ((i = __atomic_fetch_add(&a->next, 1, __ATOMIC_RELAXED)) < a->l->n) {
		struct store_object *o = &a->l->objects[i];

		if (needs_request(o) && !request_checksum(a, o) &&
		    o->digest == STORE_MD5_PARTS && !o->part_size)
			request_part_size(a->s, o);
	}
	return NULL;
}

static void request_sums(struct store *s, struct store_listing *l)
{
	struct checksums a = { .s = s, .l = l, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[REQUEST_THREADS];
	size_t wanted = 0, n = 0;

	for (size_t i = 0; i < l->n; i++)
		wanted += needs_request(&l->objects[i]);
	while (n < REQUEST_THREADS && n + 1 < wanted &&
	       !thread_start(&threads[n], request_some, &a, IGNORED))
		n++;
	if (wanted)
		request_some(&a);
	while (n)
		pthread_join(threads[--n], NULL);
	pthread_mutex_destroy(&a.lock);
}

static int s3_scheme_list(struct store *s,
			  bool (*wanted)(void *ctx, const char *name, bool named),
			  void *ctx, struct store_listing *ret, struct error *err)
{
	struct store_listing l = { 0 };
	struct bucket_listing g = { .to = &l, .wanted = wanted, .ctx = ctx };

	if (gather(s, &g, err)) {
		store_listing_release(&l);
		return -1;
	}
	store_listing_sort(&l);
	if (!s->unverified)
		request_sums(s, &l);
	*ret = l;
	return 0;
}

/* ---- one object ---- */

static int s3_locate(struct store *s, const struct store_object *o, int refused,
		     struct arena *arena, struct store_call *ret, struct error *err)
{
	const struct s3_request req = { .method = "GET",
					.key = o->key,
					.key_refused = refused == 401 || refused == 403 ||
						       refused == 400 };

	if (s3_bucket_sign(s->bucket, &req, arena, ret, err))
		return -1;
	if (s3_bucket_unpacks(s->bucket))
		ret->headers =
			store_headers_with(arena, ret->headers, "Accept-Encoding: gzip");
	return 0;
}

/* Are all parts but the last equal in size? */
static bool is_even(struct store *s, const struct store_object *o)
{
	int parts = s3_etag_parts(o->sum);
	struct s3_head head;

	for (int i = 2; i < parts; i++)
		if (s3_head(&head, s->bucket, o->key, i, IGNORED) ||
		    head.size != o->part_size)
			return false;
	return true;
}

static int s3_correct_sum(struct store *s, const struct store_object *o,
			  struct arena *arena, struct store_object *ret,
			  struct error *err)
{
	struct s3_head head;
	struct buf none = { 0 };

	if (s3_head(&head, s->bucket, o->key, 0, err))
		return -1;
	if (head.status != 200)
		return s3_bucket_refused(s->bucket, o->key, head.status, &none, err);
	if (head.etag_is_sum && (o->digest != STORE_MD5_PARTS || is_even(s, o)))
		return 0;
	ret->part_size = 0;
	ret->digest = head.digest;
	ret->sum = *head.sum ? arena_strdup(arena, head.sum) : NULL;
	return 0;
}

static int s3_explain(struct store *s, const struct store_object *o, int status,
		      const char *body, struct error *err)
{
	const struct buf text = { .data = (unsigned char *)body, .len = strlen(body) };

	return s3_bucket_refused(s->bucket, o->key, status, &text, err);
}

/* ---- removing ---- */

struct keys {
	struct arena arena;
	const char **list;
	size_t n, cap;
};

static int add_key(void *ctx, const struct s3_entry *e, struct error *err)
{
	struct keys *k = ctx;

	if (k->n == STORE_MAX_OBJECTS)
		return error_set(err, ERR_LIMIT, "more than %d objects",
				 STORE_MAX_OBJECTS);
	if (k->n == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 64;
		k->list = xreallocarray(k->list, k->cap, sizeof(*k->list));
	}
	k->list[k->n++] = arena_strdup(&k->arena, e->key);
	return 0;
}

/* The whole bucket is not removed. */
static int s3_remove(struct store *s, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key = s3_bucket_key(s->bucket);
	struct keys keys = { 0 };
	int rc;

	if (!*key || str_ends(key, "/"))
		return error_set(err, ERR_INVALID, "no object's name to remove");
	rc = s3_list(s->bucket, arena_printf(&arena, "%s/", key), add_key, &keys, err);
	for (size_t i = 0; !rc && i < keys.n; i++)
		rc = s3_delete(s->bucket, keys.list[i], err);
	if (!rc)
		rc = s3_delete(s->bucket, key, err);
	free(keys.list);
	arena_clear(&keys.arena);
	return rc;
}

static const char *s3_ca_file(struct arena *arena, const struct store_conf *conf,
			      const char **ret_setting)
{
	const struct cloud_conf cloud = store_cloud_conf(conf);

	return aws_ca_bundle(arena, &cloud, ret_setting);
}

const struct scheme scheme_s3 = {
	.name = "s3",
	.as_stored = true,
	.ca_file = s3_ca_file,
	.open = s3_open,
	.list = s3_scheme_list,
	.locate = s3_locate,
	.correct_sum = s3_correct_sum,
	.explain = s3_explain,
	.put = s3_upload,
	.remove = s3_remove,
	.close = s3_close,
};
