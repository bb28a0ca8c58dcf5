/* Reads and writes a target's manifest; see ledger.h. */
#include "store/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/relpath.h"
#include "base/str.h"
#include "net/uri.h"
#include "store/verify.h"

#define MANIFEST "manifest.jsonl"
#define FETCHED  "fetched.jsonl"

enum { MAX_LINE = 64 * 1024 };

struct ledger_entry {
	int64_t size, mtime;
	const char *contents; /* or NULL */
	bool same_source;     /* of an earlier run from the same source */
};

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* "sha256:..." or the ETag; NULL: unknown. */
static const char *contents_of(struct arena *arena, const struct store_object *o)
{
	const char *name = verify_name(arena, o);

	return name ? name : o->etag;
}

static void put_entry(struct ledger *l, const char *path, struct ledger_entry e)
{
	struct ledger_entry *entry = map_get(&l->files, path);

	if (!entry) {
		entry = arena_alloc(&l->arena, sizeof(*entry));
		map_put(&l->files, path, entry);
	}
	e.contents = e.contents ? arena_strdup(&l->arena, e.contents) : NULL;
	*entry = e;
}

/* Is it a head line? *same: the following lines are of the same source. */
static void take_line(struct ledger *l, const char *line, size_t len, bool *same)
{
	cleanup_json cJSON *doc = NULL;
	struct ledger_entry e;
	const char *path;

	if (!len || json_parse(&doc, line, len, IGNORED))
		return;
	path = json_str(doc, "path");
	if (!path)
		*same = *l->source && str_eq(json_str(doc, "source"), l->source);
	if (!path || l->files.n >= STORE_MAX_OBJECTS)
		return;
	e = (struct ledger_entry){ .size = json_int(doc, -1, "size"),
				   .mtime = json_int(doc, -1, "mtime"),
				   .contents = json_str(doc, "contents"),
				   .same_source = *same };
	put_entry(l, path, e);
}

static void take_file(struct ledger *l, const char *name)
{
	int fd = openat(l->target->state, name,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	cleanup_free char *line = malloc(MAX_LINE);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	bool same = false;

	if (!f && fd >= 0)
		close(fd);
	while (f && line && fgets(line, MAX_LINE, f))
		take_line(l, line, strlen(line), &same);
	if (f)
		fclose(f);
}

/* Begin this run's lines with a head of its source, and end one that was cut off. */
static int add_source(struct ledger *l, struct error *err)
{
	cleanup_buf struct buf line = { .max = 2 * MAX_LINE };
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, l->source, "source");
	buf_adds(&line, "\n");
	json_print(&line, doc);
	buf_adds(&line, "\n");
	return file_write_fd(l->fd, line.data, line.len, FETCHED, err);
}

int ledger_open(struct ledger *l, const struct target *t, const char *source,
		struct error *err)
{
	*l = (struct ledger){ .target = t, .fd = -1, .source = source };
	pthread_mutex_init(&l->lock, NULL);
	take_file(l, MANIFEST);
	take_file(l, FETCHED);
	l->fd = openat(t->state, FETCHED,
		       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (l->fd >= 0 && !add_source(l, err))
		return 0;
	if (l->fd < 0)
		error_errno(err, errno, "%s/" TARGET_STATE "/" FETCHED, t->path);
	ledger_close(l);
	return -1;
}

void ledger_close(struct ledger *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	map_release(&l->files, NULL);
	arena_clear(&l->arena);
	pthread_mutex_destroy(&l->lock);
}

/* The entry of a file that is unchanged since it was fetched. */
static const struct ledger_entry *entry_of(const struct ledger *l,
					   const struct store_object *o,
					   const struct stat *st)
{
	const struct ledger_entry *e = map_get(&l->files, o->path);

	if (!e || e->size != st->st_size || e->mtime != mtime_of(st))
		return NULL;
	return o->size >= 0 && o->size != st->st_size ? NULL : e;
}

bool ledger_has(const struct ledger *l, const struct store_object *o,
		const struct stat *st)
{
	const struct ledger_entry *e = entry_of(l, o, st);
	cleanup_arena struct arena arena = { 0 };
	const char *contents = contents_of(&arena, o);

	return e && contents && str_eq(contents, e->contents);
}

const char *ledger_validator(const struct ledger *l, const struct store_object *o,
			     const struct stat *st)
{
	const struct ledger_entry *e = entry_of(l, o, st);

	/* the sum is verified with the file itself */
	if (!e || o->etag || o->sum || !e->contents || strpbrk(e->contents, "\r\n"))
		return NULL;
	return e->contents;
}

static void print_entry(struct buf *out, const char *path, const struct ledger_entry *e)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, path, "path");
	json_put_int(doc, e->size, "size");
	json_put_int(doc, e->mtime, "mtime");
	if (e->contents)
		json_put_str(doc, e->contents, "contents");
	json_print(out, doc);
	buf_adds(out, "\n");
}

int ledger_add(struct ledger *l, const struct store_object *o, const struct stat *st,
	       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf line = { .max = MAX_LINE };
	const struct ledger_entry e = { .size = st->st_size,
					.mtime = mtime_of(st),
					.contents = contents_of(&arena, o) };

	print_entry(&line, o->path, &e);
	if (buf_check(&line, "a line of the ledger", err) ||
	    file_write_fd(l->fd, line.data, line.len, FETCHED, err))
		return -1;
	pthread_mutex_lock(&l->lock);
	put_entry(l, o->path, e);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

int ledger_drop_stale(struct ledger *l, const struct store_listing *list, size_t *ret_n,
		      struct error *err)
{
	cleanup_map struct map wanted = { 0 };

	*ret_n = 0;
	for (size_t i = 0; i < list->n; i++)
		map_put(&wanted, list->objects[i].path, &list->objects[i]);
	map_each(e, &l->files) {
		const struct ledger_entry *entry = e->value;
		struct stat st;

		if (!entry->same_source || map_get(&wanted, e->key) ||
		    target_reserved(e->key) || relpath_check(e->key, IGNORED) ||
		    target_stat(l->target, e->key, &st, IGNORED) || !st.st_nlink ||
		    entry->size != st.st_size || entry->mtime != mtime_of(&st))
			continue;
		if (target_remove(l->target, e->key, err))
			return -1;
		++*ret_n;
	}
	return 0;
}

static void print_head(struct buf *out, const struct ledger *l,
		       const struct store_listing *list, const char *uri)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = cJSON_CreateObject();
	char now[TIME_TEXT_SIZE];

	json_put_str(doc, uri_shown(&arena, uri), "uri");
	json_put_str(doc, l->source, "source");
	if (list->revision)
		json_put_str(doc, list->revision, "revision");
	json_put_int(doc, (int64_t)list->n, "files");
	json_put_str(doc, time_text(clock_now(), now), "finished");
	json_print(out, doc);
	buf_adds(out, "\n");
}

static int write_lines(const struct ledger *l, const struct store_listing *list,
		       const char *uri, int fd, struct error *err)
{
	cleanup_buf struct buf out = { .max = (size_t)4 * MAX_LINE };

	print_head(&out, l, list, uri);
	for (size_t i = 0; i < list->n; i++) {
		const char *path = list->objects[i].path;
		const struct ledger_entry *e = map_get(&l->files, path);

		if (e)
			print_entry(&out, path, e);
		if (out.len > MAX_LINE || i + 1 == list->n) {
			if (buf_check(&out, MANIFEST, err) ||
			    file_write_fd(fd, out.data, out.len, MANIFEST, err))
				return -1;
			buf_clear(&out);
		}
	}
	return file_write_fd(fd, out.data, out.len, MANIFEST, err);
}

int ledger_finish(struct ledger *l, const struct store_listing *list, const char *uri,
		  struct error *err)
{
	int state = l->target->state;
	cleanup_fd int fd = -1;

	unlinkat(state, MANIFEST ".new", 0);
	fd = openat(state, MANIFEST ".new",
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_errno(err, errno, "%s/" TARGET_STATE "/" MANIFEST,
				   l->target->path);
	if (write_lines(l, list, uri, fd, err))
		return -1;
	if (fsync(fd) || renameat(state, MANIFEST ".new", state, MANIFEST) ||
	    fsync(state))
		return error_errno(err, errno, "%s/" TARGET_STATE "/" MANIFEST,
				   l->target->path);
	unlinkat(state, FETCHED, 0);
	return 0;
}
