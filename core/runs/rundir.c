/* rundir.c - files and directories of a run directory (runs/rundir.h). */
#include "runs/rundir.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/uri.h"
#include "store/fetch.h"
#include "store/range.h"

enum { CONNECTIONS = 2 }; /* each has 5 MiB in memory */

int rundir_open(struct rundir *p, const char *uri,
		const char *(*env)(void *ctx, const char *name), void *ctx,
		struct error *err)
{
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION };
	struct store_conf conf = { .uri = uri, .env = env, .ctx = ctx };

	*p = (struct rundir){ .env = env, .ctx = ctx, .tries = 3 };
	if (scheme_find(&p->scheme, uri, err))
		return -1;
	p->uri = str_slice(&p->arena, uri, str_length_before(uri, '/'));
	if (!p->scheme->put)
		return error_set(err, ERR_UNSUPPORTED, "'%s': cannot write there",
				 uri_shown(&p->arena, uri));
	return store_http_new(&p->http, &conf, &http, err);
}

void rundir_close(struct rundir *p)
{
	if (p->http)
		http_client_free(p->http);
	arena_clear(&p->arena);
}

static const char *uri_of(const struct rundir *p, struct arena *arena, const char *name)
{
	return arena_printf(arena, "%s/%s", p->uri, name);
}

/* The '/' at the end says that it is a directory, without a request. */
static const char *below_of(const struct rundir *p, struct arena *arena, const char *name)
{
	return *name ? arena_printf(arena, "%s/%s/", p->uri, name) : p->uri;
}

static struct upload_conf upload_of(const struct rundir *p, const char *uri)
{
	return (struct upload_conf){ .uri = uri,
				     .env = p->env,
				     .http = p->http,
				     .tries = p->tries,
				     .ctx = p->ctx };
}

int rundir_put_fd(struct rundir *p, const char *name, int fd, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct upload_conf conf = upload_of(p, uri_of(p, &arena, name));
	struct upload_progress now;

	conf.blind = true;
	conf.shown_name = name;
	return upload_run(&conf, arena_printf(&arena, "/proc/self/fd/%d", fd), &now, err);
}

int rundir_put(struct rundir *p, const char *name, const void *data, size_t len,
	       struct error *err)
{
	cleanup_fd int fd = memfd_create("put", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno, "memfd");
	return file_write_fd(fd, data, len, name, err) || rundir_put_fd(p, name, fd, err)
		       ? -1
		       : 0;
}

int rundir_upload(struct rundir *p, const char *what, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct upload_conf conf = upload_of(p, uri_of(p, &arena, name));
	struct upload_progress now;

	conf.connections = CONNECTIONS;
	conf.background = conf.links = true;
	return upload_run(&conf, what, &now, err);
}

/* The URI names an object, a directory, or a directory to download with digests. */
enum what { ONE, BELOW, FILES };

static int open_store(struct rundir *p, const char *uri, enum what what,
		      struct store **ret, struct error *err)
{
	const struct store_conf conf = { .uri = uri,
					 .env = p->env,
					 .ctx = p->ctx,
					 .http = p->http,
					 .model = true,
					 .unverified = what != FILES,
					 .exact = what == ONE,
					 .below = true,
					 .tries = p->tries };

	return p->scheme->open(ret, &conf, err);
}

/* Read all of it, or, if `cut`, as much as `out` holds. */
static int read_version(struct rundir *p, struct store *s, const struct store_object *o,
			bool cut, struct buf *out, struct error *err)
{
	const struct range_conf conf = {
		.scheme = p->scheme, .store = s, .http = p->http, .connections = 2
	};
	cleanup_range struct range_object *object = NULL;
	struct range_want all = { 0 };
	int64_t size;

	p->now = p->changed = 0;
	if (o->size == 0)
		return 0;
	if (range_open(&object, &conf, o, o->path, err))
		return -1;
	size = range_size(object);
	if (cut && size > 0 && (uint64_t)size > out->max - out->len)
		size = (int64_t)(out->max - out->len);
	if (size < 0 || (uint64_t)size > out->max - out->len)
		return error_set(err, ERR_LIMIT, "%s: %lld bytes are too many", o->path,
				 (long long)size);
	all.len = (uint64_t)size;
	all.to = xmalloc((size_t)size + 1);
	if (range_read(object, &all, 1, err)) {
		free(all.to);
		return -1;
	}
	range_times(object, &p->now, &p->changed);
	buf_add(out, all.to, (size_t)size);
	free(all.to);
	return 0;
}

/* If the object was replaced since it was listed, read the current version. */
static int read_object(struct rundir *p, struct store *s, const struct store_object *o,
		       bool cut, struct buf *out, struct error *err)
{
	struct store_object now = *o;

	if (!read_version(p, s, o, cut, out, err))
		return 0;
	if (err->kind != ERR_CONFLICT)
		return -1;
	now.size = -1;
	now.etag = now.generation = NULL;
	*err = (struct error){ 0 };
	return read_version(p, s, &now, cut, out, err);
}

int rundir_get(struct rundir *p, const char *name, struct buf *out, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct store_listing list = { 0 };
	struct store *s = NULL;
	int rc = open_store(p, uri_of(p, &arena, name), ONE, &s, err);

	if (rc)
		return -1;
	rc = p->scheme->list(s, NULL, NULL, &list, err);
	if (!rc && list.n != 1)
		rc = error_set(err, ERR_NOT_FOUND, "%s: not found", name);
	if (!rc)
		rc = read_object(p, s, &list.objects[0], false, out, err);
	store_listing_release(&list);
	p->scheme->close(s);
	return rc;
}

static bool has_suffix(void *suffix, const char *name, bool named)
{
	return str_ends(name, suffix);
}

int rundir_list(struct rundir *p, const char *name, const char *suffix,
		struct store_listing *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct store *s = NULL;
	int rc;

	*ret = (struct store_listing){ 0 };
	if (open_store(p, below_of(p, &arena, name), BELOW, &s, err))
		return -1;
	rc = p->scheme->list(s, has_suffix, (char *)suffix, ret, err);
	p->scheme->close(s);
	return rc ? error_clear_if(err, ERR_NOT_FOUND) : 0;
}

int rundir_read_each(struct rundir *p, const char *name,
		     const struct rundir_pattern *pattern,
		     int (*each)(void *ctx, const char *path, const struct buf *text,
				 struct error *err),
		     void *ctx, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct store_listing list = { 0 };
	struct store *s = NULL;
	int rc;

	if (open_store(p, below_of(p, &arena, name), BELOW, &s, err))
		return -1;
	rc = p->scheme->list(s, has_suffix, (char *)pattern->suffix, &list, err)
		     ? error_clear_if(err, ERR_NOT_FOUND)
		     : 0;
	if (!rc)
		*err = (struct error){ 0 }; /* of an earlier call */
	for (size_t i = 0; !rc && i < list.n; i++) {
		cleanup_buf struct buf text = { .max = pattern->max_bytes };
		const struct store_object *o = &list.objects[i];

		if (pattern->prefix && !str_starts(o->path, pattern->prefix))
			continue;
		(void)!read_object(p, s, o, true, &text, err);
		rc = each(ctx, o->path, &text, err);
		if (!rc)
			*err = (struct error){ 0 };
	}
	store_listing_release(&list);
	p->scheme->close(s);
	return rc;
}

int rundir_remove(struct rundir *p, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct store *s = NULL;
	int rc;

	if (!p->scheme->remove)
		return 0;
	if (open_store(p, uri_of(p, &arena, name), BELOW, &s, err))
		return -1;
	rc = p->scheme->remove(s, err);
	p->scheme->close(s);
	return rc;
}

int rundir_download(struct rundir *p, const char *name, const char *to,
		    const struct rundir_files *files, int64_t *left, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct filter all = { .allow = files->allow,
				    .allow_given = true,
				    .ignore_given = true };
	const char *uri = uri_of(p, &arena, name);
	struct fetch_conf conf = { .scheme = p->scheme,
				   .uri = uri,
				   .http = p->http,
				   .target = to,
				   .filter = &all,
				   .paths = files->paths,
				   .tries = p->tries,
				   .allow_empty = true,
				   .max_bytes = !left       ? 0
						: *left > 0 ? *left
							    : 1 };
	struct fetch_progress now;
	int rc;

	if (open_store(p, uri, FILES, &conf.store, err))
		return -1;
	rc = fetch_run(&conf, &now, err);
	if (left && !rc)
		*left -= now.bytes;
	p->scheme->close(conf.store);
	return rc;
}
