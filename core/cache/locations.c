/* locations.c - opens and lists a table's files (cache/locations.h). */
#include "cache/locations.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/uri.h"
#include "store/fetch.h"
#include "store/filter.h"

enum { MAX_NAME = 16 * 1024 };

struct source {
	struct range_conf conf;
};

struct locations {
	struct locations_conf conf;
	pthread_mutex_t lock; /* guards the members below */
	struct arena arena;
	struct map locations; /* struct source, by URI */
};

struct locations *locations_new(const struct locations_conf *conf)
{
	struct locations *s = xcalloc(1, sizeof(*s));

	s->conf = *conf;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void free_source(void *value)
{
	struct source *p = value;

	if (p->conf.store)
		p->conf.scheme->close(p->conf.store);
	http_client_free(p->conf.http);
	free(p);
}

void locations_free(struct locations *s)
{
	if (!s)
		return;
	map_release(&s->locations, free_source);
	arena_clear(&s->arena);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- locations ---- */

static int open_source(struct locations *s, struct source *p, const char *uri,
		       struct error *err)
{
	const struct store_conf source = { .uri = uri,
					   .env = s->conf.env,
					   .ctx = s->conf.ctx };
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION,
					.receive_bytes = fetch_receive_bytes(0),
					.max_idle = FETCH_MAX_CONNECTIONS };
	struct store_conf store = source;

	p->conf.tries = s->conf.tries;
	p->conf.connections = s->conf.connections;
	if (scheme_find(&p->conf.scheme, uri, err) ||
	    store_http_new(&p->conf.http, &source, &http, err))
		return -1;
	store.http = p->conf.http;
	store.tries = s->conf.tries;
	store.unverified = true;
	store.say = s->conf.say;
	return p->conf.scheme->open(&p->conf.store, &store, err);
}

static int find_source(struct locations *s, const char *uri,
		       const struct range_conf **ret, struct error *err)
{
	struct source *p;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	p = map_get(&s->locations, uri);
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		rc = open_source(s, p, uri, err);
		if (rc)
			free_source(p);
		else
			map_put(&s->locations, uri, p);
	}
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		*ret = &p->conf;
	return rc;
}

/* ---- URIs and locations ---- */

/* s3a and s3n are Hadoop's names for s3. */
static const char *usual(struct arena *arena, const char *uri)
{
	static const char *const same[] = { "s3a://", "s3n://" };

	for (size_t i = 0; i < N_ELEMENTS(same); i++)
		if (str_after(uri, same[i]))
			return arena_printf(arena, "s3://%s", str_after(uri, same[i]));
	return uri;
}

/* The path of a local file; NULL: remote. */
static const char *local_path(const char *location)
{
	const char *rest = str_after(location, "file:");

	if (!rest)
		return strstr(location, "://") ? NULL : location;
	if (!str_starts(rest, "//"))
		return rest;
	rest = strchr(rest + 2, '/');
	return rest ? rest : "/";
}

int locations_open(struct locations *s, const char *location, int64_t size,
		   struct range_object **ret, struct error *err)
{
	const struct range_conf *source = NULL;
	cleanup_arena struct arena arena = { 0 };
	struct store_object o = { .size = size };
	const char *uri = usual(&arena, location), *key = local_path(uri), *root;

	if (strlen(location) > MAX_NAME)
		return error_set(err, ERR_LIMIT, "a name of %zu bytes", strlen(location));
	if (key) {
		root = "file:///";
	} else {
		const char *host = strstr(uri, "://") + 3, *slash = strchr(host, '/');

		if (!slash || !slash[1])
			return error_set(err, ERR_INVALID, "'%s': expected a file",
					 uri_shown(&arena, location));
		root = str_slice(&arena, uri, (size_t)(slash + 1 - uri));
		key = str_starts(uri, "http") ? uri : slash + 1;
	}
	if (str_starts(root, "hf:") || str_starts(root, "pvc:"))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s: the metadata of a table cannot refer to hf:// and "
				 "pvc:// URIs",
				 uri_shown(&arena, location));
	o.key = o.path = key;
	if (find_source(s, root, &source, err))
		return error_wrap(err, "%s", uri_shown(&arena, location));
	return range_open(ret, source, &o, location, err);
}

/* ---- listing ---- */

static bool record_named(void *ctx, const char *name, bool named)
{
	bool *any = ctx;

	*any |= named;
	return true;
}

static bool is_hidden(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (*p == '_' || *p == '.')
			return true;
	}
	return false;
}

/* In any case: a file of another one would be left out without a word. */
static bool is_parquet(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcasecmp(dot, ".parquet") || !strcasecmp(dot, ".parq"));
}

static bool is_table_file(const char *path)
{
	return !is_hidden(path) && is_parquet(path);
}

/* The file's URI. A hub's paths are relative to the repository, even of a folder. */
static const char *name_of(struct arena *arena, const char *uri, const char *path)
{
	size_t len = str_length_before(uri, '/');

	if (str_starts(uri, "hf://"))
		for (const char *p = strstr(uri, "://") + 3; (p = strchr(p, '/')); p++) {
			const char *folder =
				str_slice(arena, p + 1, (size_t)(uri + len - p - 1));

			if (path_below(path, folder)) {
				len = (size_t)(p - uri);
				break;
			}
		}
	return arena_printf(arena, "%.*s/%s", (int)len, uri, path);
}

/*
 * Formats whose data files alone may lack rows or have deleted ones, by a pattern for "/"
 * and a file's path.
 */
static const struct {
	const char *format, *mark;
} lakes[] = {
	{ "a Delta table", "*/_delta_log/*" },
	{ "a Hudi table", "*/.hoodie/*" },
	{ "a Hudi table", "*/.hoodie_partition_metadata*" },
	{ "a Paimon table", "*/snapshot/snapshot-[0-9]*" },
	{ "a Paimon table", "*/schema/schema-[0-9]*" },
	{ "a Lance dataset", "*/_versions/*.manifest" },
};

/* The number in 00012-UUID.metadata.json and v12.metadata.json. */
static unsigned long long version_of(const char *path)
{
	const char *name = path_base(path);

	return strtoull(name + (*name == 'v'), NULL, 10);
}

/* In the directory `metadata` of a table, or in the one that is listed? */
static bool is_metadata(const char *path)
{
	const char *name = path_base(path);

	return (str_ends(name, ".metadata.json") ||
		str_ends(name, ".metadata.json.gz")) &&
	       (name == path || str_starts(path, "metadata/") ||
		strstr(path, "/metadata/"));
}

/* The newest metadata file of the first Iceberg table; NULL: there is none. */
static const char *newest_metadata(const struct location_files *f)
{
	const char *newest = NULL;

	for (size_t i = 0; i < f->listing.n; i++) {
		const char *path = f->listing.objects[i].path;
		size_t dir = (size_t)(path_base(path) - path);

		if (!is_metadata(path))
			continue;
		if (newest && (path_base(newest) != newest + dir ||
			       strncmp(newest, path, dir) != 0))
			continue;
		if (!newest || version_of(path) >= version_of(newest))
			newest = path;
	}
	return newest;
}

static int check_lakes(const struct location_files *f, const char *uri, struct error *err)
{
	const char *metadata = newest_metadata(f);
	cleanup_arena struct arena arena = { 0 };

	if (metadata && !f->named)
		return error_set(
			err, ERR_INVALID,
			"%s: an Iceberg table: specify its metadata file, such as %s",
			uri, name_of(&arena, uri, metadata));
	for (size_t i = 0; i < f->listing.n && !f->named; i++) {
		const char *path =
			arena_printf(&arena, "/%s", f->listing.objects[i].path);

		for (size_t k = 0; k < N_ELEMENTS(lakes); k++)
			if (filter_fnmatch(lakes[k].mark, path) &&
			    !is_table_file(path + 1))
				return error_set(
					err, ERR_UNSUPPORTED,
					"%s: %s (%s), which is not supported: its Parquet files "
					"alone may have deleted rows; specify an export of it to Parquet",
					uri, lakes[k].format, path + 1);
		arena_clear(&arena);
	}
	return 0;
}

/* The part of a file's name that can have partitions: directories KEY=VALUE. */
static const char *below(struct arena *arena, const char *uri, const char *name,
			 const struct store_object *named)
{
	size_t len = str_length_before(uri, '/');
	const char *path;

	if (!named)
		return name + len;
	path = strstr(named->key, "://"); /* a URL is the key of its file */
	path = path ? strchr(path + 3, '/') : named->key;
	if (path != named->key)
		(void)!uri_decode(&path, arena, path ? path : "", IGNORED);
	return path;
}

static int list_files(struct location_files *f, const char *uri,
		      const struct range_conf *source, struct error *err)
{
	struct arena *arena = &f->listing.arena;

	const char *hidden = NULL;

	f->at = xcalloc(f->listing.n + 1, sizeof(*f->at));
	for (size_t i = 0; i < f->listing.n; i++) {
		const struct store_object *o = &f->listing.objects[i];
		const char *name = f->named ? uri : name_of(arena, uri, o->path);

		if (f->named || is_table_file(o->path))
			f->at[f->n++] = (struct location_file){
				name, below(arena, uri, name, f->named ? o : NULL),
				source, *o
			};
		else if (is_parquet(o->path))
			hidden = o->path;
	}
	if (f->n)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "%s: contains no file whose name ends in .parquet%s%s", uri,
			 hidden ? ", but for hidden ones ('_', '.'): " : "",
			 hidden ? hidden : "");
}

/* A local path as a URI. */
static int as_uri(const char **ret, struct arena *arena, const char *path,
		  struct error *err)
{
	cleanup_free char *full = realpath(path, NULL);

	if (!full)
		return error_errno(err, errno, "%s", path);
	*ret = arena_printf(arena, "file://%s", full);
	return 0;
}

static int list(struct locations *s, const char *uri, struct location_files *f,
		struct error *err)
{
	const struct range_conf *source = NULL;
	cleanup_arena struct arena arena = { 0 };
	const char *shown = str_visible(&arena, uri, false), *at = usual(&arena, uri);

	if (strstr(uri, "://"))
		shown = uri_shown(&arena, uri);
	else if (as_uri(&at, &arena, uri, err))
		return -1;
	if (find_source(s, at, &source, err) ||
	    source->scheme->list(source->store, record_named, &f->named, &f->listing,
				 err))
		return error_wrap(err, "%s", shown);
	shown = arena_strdup(&f->listing.arena, shown);
	return check_lakes(f, shown, err) || list_files(f, shown, source, err) ? -1 : 0;
}

int locations_list(struct locations *s, const char *uri, struct location_files *ret,
		   struct error *err)
{
	struct location_files f = { 0 };

	if (list(s, uri, &f, err)) {
		location_files_release(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

void location_files_release(struct location_files *f)
{
	free(f->at);
	store_listing_release(&f->listing);
	*f = (struct location_files){ 0 };
}

int locations_read(struct range_object *o, uint64_t max, struct block *to,
		   struct budget *budget, size_t *ret_len, struct error *err)
{
	struct range_want all = { 0, (uint64_t)range_size(o), NULL };

	if (all.len > max)
		return error_set(err, ERR_LIMIT, "%s: %llu bytes, more than %llu",
				 range_name(o), (unsigned long long)all.len,
				 (unsigned long long)max);
	if (block_reserve(to, budget, all.len, 1, err))
		return error_wrap(err, "%s", range_name(o));
	all.to = to->data;
	*ret_len = all.len;
	return range_read(o, &all, 1, err);
}
