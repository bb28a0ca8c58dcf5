/* Cuts ranges into pieces and reads them in parallel: range.h. */
#include "store/range.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "store/range_impl.h"

enum { PIECE = 4 << 20, MAX_CONNECTIONS = 64 };

/* ---- local files ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int check_same(const struct range_object *o, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_errno(err, errno, "%s", o->o.key);
	return same_file(&st, &o->st)
		       ? 0
		       : error_set(err, ERR_CONFLICT, "%s: changed while it was read",
				   o->name);
}

static int open_local(const struct range_object *o, int *ret, struct stat *st,
		      struct error *err)
{
	if (o->conf.scheme->local_open(o->conf.store, &o->o, ret, err))
		return -1;
	return fstat(*ret, st) ? error_errno(err, errno, "%s", o->o.key) : 0;
}

static int read_at(const struct range_object *o, int fd, const struct range_want *want,
		   struct error *err)
{
	for (uint64_t done = 0; done < want->len;) {
		ssize_t n = pread(fd, (char *)want->to + done, want->len - done,
				  (off_t)(want->offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", o->name);
		if (!n)
			return error_set(err, ERR_CONFLICT,
					 "%s: became shorter while it was read", o->name);
		done += (uint64_t)n;
	}
	return 0;
}

static int read_local(const struct range_object *o, const struct range_want *wants,
		      size_t n, struct error *err)
{
	cleanup_fd int fd = -1;

	if (o->conf.scheme->local_open(o->conf.store, &o->o, &fd, err) ||
	    check_same(o, fd, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (read_at(o, fd, &wants[i], err))
			return -1;
	return check_same(o, fd, err);
}

/* ---- pieces ---- */

struct pieces {
	struct range_piece *list;
	size_t n, next;
	bool failed;
	pthread_mutex_t lock;
	struct error why; /* when failed */
};

static void *run_some(void *ctx)
{
	struct pieces *p = ctx;
	size_t i;

	while ((i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED)) < p->n) {
		struct error err = { 0 };

		if (!range_piece_run(&p->list[i], &err))
			continue;
		pthread_mutex_lock(&p->lock);
		if (!p->failed)
			p->why = err;
		__atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&p->lock);
		__atomic_store_n(&p->next, p->n, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void cut(struct pieces *p, struct range_object *o, const struct range_want *w)
{
	for (uint64_t at = 0; at < w->len; at += PIECE)
		p->list[p->n++] = (struct range_piece){
			.object = o,
			.offset = w->offset + at,
			.len = w->len - at < PIECE ? w->len - at : PIECE,
			.to = (uint8_t *)w->to + at,
			.cancel = &p->failed,
		};
}

static unsigned most(const struct range_object *o)
{
	unsigned n = o->conf.connections ? o->conf.connections : RANGE_CONNECTIONS;

	return n < MAX_CONNECTIONS ? n : MAX_CONNECTIONS;
}

static int read_pieces(struct range_object *o, struct pieces *p, struct error *err)
{
	pthread_t threads[MAX_CONNECTIONS];
	unsigned n = 0;

	while (n + 1 < most(o) && n + 1 < p->n &&
	       !thread_start(&threads[n], run_some, p, IGNORED))
		n++;
	run_some(p);
	while (n)
		pthread_join(threads[--n], NULL);
	if (!p->failed)
		return 0;
	*err = p->why;
	return -1;
}

int range_read(struct range_object *o, const struct range_want *wants, size_t n,
	       struct error *err)
{
	struct pieces p = { .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t max = 0;
	int rc;

	for (size_t i = 0; i < n; i++) {
		if (wants[i].offset > (uint64_t)o->o.size ||
		    wants[i].len > (uint64_t)o->o.size - wants[i].offset)
			return error_set(
				err, ERR_INVALID, "%s: no bytes %llu to %llu in %lld",
				o->name, (unsigned long long)wants[i].offset,
				(unsigned long long)(wants[i].offset + wants[i].len),
				(long long)o->o.size);
		max += wants[i].len / PIECE + 1;
	}
	if (o->conf.scheme->local_open)
		return read_local(o, wants, n, err);
	p.list = xcalloc(max + 1, sizeof(*p.list));
	for (size_t i = 0; i < n; i++)
		cut(&p, o, &wants[i]);
	rc = read_pieces(o, &p, err);
	free(p.list);
	pthread_mutex_destroy(&p.lock);
	return rc;
}

/* ---- opening ---- */

static int check_local(struct range_object *o, struct error *err)
{
	cleanup_fd int fd = -1;

	if (open_local(o, &fd, &o->st, err))
		return -1;
	if (o->o.size >= 0 && o->o.size != o->st.st_size)
		return error_set(err, ERR_FORMAT, "%s: %lld bytes, expected %lld",
				 o->name, (long long)o->st.st_size, (long long)o->o.size);
	o->o.size = o->st.st_size;
	return 0;
}

/* The response for one byte has the total size. */
static int ask_size(struct range_object *o, struct error *err)
{
	const bool never = false;
	struct range_piece p = { .object = o, .len = 1, .cancel = &never };

	return range_piece_run(&p, err);
}

int range_open(struct range_object **ret, const struct range_conf *conf,
	       const struct store_object *o, const char *name, struct error *err)
{
	cleanup_range struct range_object *r = xcalloc(1, sizeof(*r));

	r->conf = *conf;
	r->o = store_object_copy(&r->arena, o);
	r->o.sum = NULL;
	r->o.digest = STORE_DIGEST_NONE;
	r->etag = r->o.etag;
	r->name = arena_strdup(&r->arena, name);
	pthread_mutex_init(&r->lock, NULL);
	if (conf->scheme->local_open ? check_local(r, err)
				     : r->o.size < 0 && ask_size(r, err))
		return -1;
	*ret = STEAL(r);
	return 0;
}

void range_close(struct range_object *o)
{
	if (!o)
		return;
	pthread_mutex_destroy(&o->lock);
	arena_clear(&o->arena);
	free(o);
}

int64_t range_size(const struct range_object *o)
{
	return o->o.size;
}

void range_times(const struct range_object *o, int64_t *ret_now, int64_t *ret_changed)
{
	*ret_now = o->now;
	*ret_changed = o->changed;
}

const char *range_name(const struct range_object *o)
{
	return o->name;
}
