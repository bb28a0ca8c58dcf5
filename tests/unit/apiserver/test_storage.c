/* The objects, their changes, and the journal that keeps them. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/meta.h"
#include "apiserver/storage.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "tests/unit/unit.h"

static char dir[64];
static bool dirs_fail; /* they cannot be synced */

/* In place of libc's. */
int fsync(int fd)
{
	struct stat st;

	if (!dirs_fail || fstat(fd, &st) || !S_ISDIR(st.st_mode))
		return (int)syscall(SYS_fsync, fd);
	errno = EIO;
	return -1;
}

/* While it is held, nothing gets to the disk. */
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static atomic_int syncs; /* begun */

int fdatasync(int fd)
{
	int rc;

	atomic_fetch_add(&syncs, 1);
	pthread_mutex_lock(&disk);
	rc = (int)syscall(SYS_fdatasync, fd);
	pthread_mutex_unlock(&disk);
	return rc;
}

static int first_fd; /* the first one that was free */

static int setup(void **state)
{
	first_fd = dup(0);
	close(first_fd);
	snprintf(dir, sizeof(dir), "/tmp/kft-storage.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

/* Once all is closed, no descriptor is left over. */
static int teardown(void **state)
{
	struct error err = { 0 };
	int next = dup(0);

	close(next);
	if (next != first_fd)
		fail_msg("descriptor %d is open", first_fd);
	return dir_remove(dir, &err);
}

static struct storage *opened(const char *in, size_t max_events)
{
	const struct storage_conf conf = { .dir = in, .max_events = max_events };
	struct storage *s = NULL;
	struct error err = { 0 };

	if (storage_open(&s, &conf, &err))
		fail_msg("%s", err.msg);
	return s;
}

static int put(struct storage *s, const char *name, const char *value, bool replaces,
	       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *obj = meta_new("v1", "ConfigMap", "ns", name);
	const char *key = arena_printf(&arena, "configmaps/ns/%s", name);
	cleanup_stored struct stored *before = replaces ? storage_get(s, key) : NULL;

	json_put_str(obj, value, "data", "v");
	return storage_put(s, resource_find("v1", "configmaps"), key, before, obj, err);
}

static const char *value_of(struct arena *arena, struct storage *s, const char *name)
{
	cleanup_stored struct stored *st =
		storage_get(s, arena_printf(arena, "configmaps/ns/%s", name));
	cleanup_json cJSON *obj = st ? stored_read(st) : NULL;

	return obj ? arena_strdup(arena, json_str(obj, "data", "v")) : NULL;
}

static void test_put(void **state)
{
	struct storage *s = opened(NULL, 0);
	cleanup_arena struct arena arena = { 0 };
	cleanup_stored struct stored *old = NULL;
	cleanup_stored_list struct stored_list list = { 0 };
	cleanup_json cJSON *again = meta_new("v1", "ConfigMap", "ns", "b");
	struct error err = { 0 };

	assert_int_equal(put(s, "b", "1", false, &err), 0);
	assert_int_equal(put(s, "a", "1", false, &err), 0);
	assert_int_equal(put(s, "b", "2", false, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	old = storage_get(s, "configmaps/ns/b");
	assert_int_equal(put(s, "b", "2", true, &err), 0);
	assert_int_equal(storage_put(s, old->resource, old->key, old, again, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_int_equal(storage_delete(s, old, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_string_equal(value_of(&arena, s, "b"), "2");
	storage_list(s, "configmaps/ns/", &list);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.list[0]->key, "configmaps/ns/a");
	assert_string_equal(list.list[1]->key, "configmaps/ns/b");
	storage_close(s);
}

static void test_too_large(void **state)
{
	struct storage *s = opened(NULL, 0);
	char *text = malloc(OBJECT_MAX_BYTES + 1);
	struct error err = { 0 };

	memset(text, 'x', OBJECT_MAX_BYTES);
	text[OBJECT_MAX_BYTES] = 0;
	assert_int_equal(put(s, "a", text, false, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(put(s, "a", "1", false, &err), 0);
	free(text);
	storage_close(s);
}

static void test_changes(void **state)
{
	struct storage *s = opened(NULL, 4);
	struct storage_change c = { 0 };
	struct error err = { 0 };
	int64_t start = storage_version(s), version;
	cleanup_stored struct stored *st = NULL;

	assert_int_equal(storage_next(s, start, clock_ms(), &c, &err), 0);
	assert_int_equal(put(s, "a", "1", false, &err), 0);
	assert_int_equal(put(s, "a", "2", true, &err), 0);
	st = storage_get(s, "configmaps/ns/a");
	assert_int_equal(storage_delete(s, st, &err), 0);
	assert_int_equal(storage_next(s, start, -1, &c, &err), 1);
	assert_true(!c.before && c.now);
	version = c.version;
	storage_change_release(&c);
	assert_int_equal(storage_next(s, version, -1, &c, &err), 1);
	assert_true(c.before && c.now);
	version = c.version;
	storage_change_release(&c);
	assert_int_equal(storage_next(s, version, -1, &c, &err), 1);
	assert_true(c.before && !c.now);
	version = c.version;
	storage_change_release(&c);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put(s, "b", "1", i > 0, &err), 0);
	assert_int_equal(storage_next(s, start, -1, &c, &err), -1);
	assert_int_equal(err.kind, ERR_EXPIRED);
	assert_int_equal(storage_next(s, version, -1, &c, &err), 1);
	storage_change_release(&c);
	/* kubernetes#135452: there has never been such a version. */
	assert_int_equal(storage_next(s, storage_version(s) + 1, clock_ms(), &c, &err),
			 -1);
	assert_int_equal(err.kind, ERR_EXPIRED);
	storage_stop(s);
	assert_int_equal(storage_next(s, storage_version(s), -1, &c, &err), -1);
	assert_int_equal(err.kind, ERR_STOPPED);
	storage_close(s);
}

static void test_kept(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct storage *s = opened(dir, 0);
	cleanup_stored struct stored *gone = NULL;
	struct error err = { 0 };
	int64_t version;

	assert_int_equal(put(s, "a", "1", false, &err), 0);
	assert_int_equal(put(s, "b", "1", false, &err), 0);
	assert_int_equal(put(s, "a", "2", true, &err), 0);
	gone = storage_get(s, "configmaps/ns/b");
	assert_int_equal(storage_delete(s, gone, &err), 0);
	version = storage_version(s);
	storage_close(s);
	s = opened(dir, 0);
	assert_string_equal(value_of(&arena, s, "a"), "2");
	assert_null(value_of(&arena, s, "b"));
	assert_int_equal(storage_version(s), version);
	assert_int_equal(storage_report(s)->cut, 0);
	storage_close(s);
}

static void test_one_server(void **state)
{
	const struct storage_conf conf = { .dir = dir };
	struct storage *s = opened(dir, 0), *other = NULL;
	struct error err = { 0 };

	assert_int_equal(storage_open(&other, &conf, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	storage_close(s);
	storage_close(opened(dir, 0));
}

/* More changes than fit in the log: it is written anew, and has all that was there. */
static void test_compaction(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct storage *s = opened(dir, 0);
	cleanup_free char *text = malloc(200001);
	struct error err = { 0 };
	char path[96];
	struct stat st;

	memset(text, 'x', 200000);
	text[200000] = 0;
	assert_int_equal(put(s, "small", "1", false, &err), 0);
	for (int i = 0; i < 60; i++)
		assert_int_equal(put(s, "a", text, i > 0, &err), 0);
	storage_close(s);
	snprintf(path, sizeof(path), "%s/objects", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 6 * 1024 * 1024);
	s = opened(dir, 0);
	assert_string_equal(value_of(&arena, s, "small"), "1");
	assert_string_equal(value_of(&arena, s, "a"), text);
	storage_close(s);
}

/* A version is never used twice, also if the last one was of what is no more. */
static void test_version_after_compaction(void **state)
{
	/* Without the last one the log is mostly history. */
	static const size_t sizes[] = { 1000000, 1000000, 1000000, 1000000, 1400000 };
	enum { N = N_ELEMENTS(sizes) };
	struct storage *s = opened(dir, 0);
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	char path[96];
	struct stat st;
	int64_t last;

	for (int i = 0; i < N; i++) {
		char *text = memset(calloc(1, sizes[i] + 1), 'x', sizes[i]);

		assert_int_equal(
			put(s, arena_printf(&arena, "big%d", i), text, false, &err), 0);
		free(text);
	}
	for (int i = 0; i < N; i++) {
		cleanup_stored struct stored *one =
			storage_get(s, arena_printf(&arena, "configmaps/ns/big%d", i));

		assert_int_equal(storage_delete(s, one, &err), 0);
	}
	last = storage_version(s);
	snprintf(path, sizeof(path), "%s/objects", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 1000);
	storage_close(s);
	s = opened(dir, 0);
	assert_int_equal(storage_version(s), last);
	storage_close(s);
}

/* The log has another file by then: what goes to the one before would be lost. */
static void test_unsynced_compaction(void **state)
{
	struct storage *s = opened(dir, 0);
	char *text = memset(calloc(1, 1000001), 'x', 1000000);
	struct error err = { 0 };

	dirs_fail = true;
	for (int i = 0; i < 6 && !err.kind; i++)
		(void)!put(s, "a", text, i > 0, &err);
	dirs_fail = false;
	assert_int_equal(err.kind, ERR_IO);
	assert_int_equal(put(s, "b", "1", false, &err), -1);
	storage_close(s);
	s = opened(dir, 0);
	assert_int_equal(put(s, "b", "1", false, &err), 0);
	storage_close(s);
	free(text);
}

struct writer {
	struct storage *s;
	int n, failed;
};

static void *write_some(void *ctx)
{
	struct writer *w = ctx;
	struct error err = { 0 };
	char name[32];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "w%d-%d", w->n, i);
		w->failed += !!put(w->s, name, "1", false, &err);
	}
	return NULL;
}

static void test_writers(void **state)
{
	enum { WRITERS = 8 };
	struct storage *s = opened(dir, 0);
	cleanup_stored_list struct stored_list list = { 0 };
	struct writer w[WRITERS];
	pthread_t threads[WRITERS];
	struct error err = { 0 };

	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .s = s, .n = i };
		assert_int_equal(thread_start(&threads[i], write_some, &w[i], &err), 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(w[i].failed, 0);
	}
	storage_close(s);
	s = opened(dir, 0);
	storage_list(s, "configmaps/", &list);
	assert_int_equal(list.n, WRITERS * 50);
	storage_close(s);
}

/* ---- the log's bytes ---- */

static void read_log(struct buf *out)
{
	struct storage *s = opened(dir, 0);
	struct error err = { 0 };
	char path[96];

	for (int i = 0; i < 3; i++)
		assert_int_equal(
			put(s, (const char *[]){ "a", "b", "c" }[i], "1", false, &err),
			0);
	storage_close(s);
	snprintf(path, sizeof(path), "%s/objects", dir);
	assert_int_equal(file_read(out, path, &err), 0);
}

static int count(void *ctx, const struct journal_record *r, struct error *err)
{
	++*(size_t *)ctx;
	return 0;
}

enum read { READ_GET, READ_GONE, READ_LIST, READS };

struct reader {
	struct storage *s;
	enum read how;
	atomic_bool done;
	int64_t version;
	size_t n;
};

static void *read_main(void *ctx)
{
	struct reader *r = ctx;
	cleanup_stored struct stored *st = NULL;
	cleanup_stored_list struct stored_list all = { 0 };

	if (r->how == READ_LIST) {
		storage_list(r->s, "configmaps/", &all);
		r->n = all.n;
		r->version = all.version;
	} else {
		st = storage_get(r->s, r->how == READ_GET ? "configmaps/ns/new"
							  : "configmaps/ns/old");
		r->n = st ? 1 : 0;
		r->version = st ? st->version : 0;
	}
	atomic_store(&r->done, true);
	return NULL;
}

struct write {
	struct storage *s;
	bool deletes;
	int rc;
};

static void *write_main(void *ctx)
{
	struct write *w = ctx;
	struct error err = { 0 };
	cleanup_stored struct stored *old = NULL;

	if (w->deletes) {
		old = storage_get(w->s, "configmaps/ns/old");
		w->rc = storage_delete(w->s, old, &err);
	} else {
		w->rc = put(w->s, "new", "1", false, &err);
	}
	return NULL;
}

/* A get or list that shows a write before it is on disk could show what is lost then. */
static void test_reads_wait_for_the_disk(void **state)
{
	static const struct {
		enum read how;
		bool deletes;
		size_t n;
		int64_t version;
	} rows[] = {
		{ READ_GET, false, 1, 3 },
		{ READ_GONE, true, 0, 0 },
		{ READ_LIST, false, 2, 3 },
		{ READ_LIST, true, 0, 3 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct storage *s = opened(arena_printf(&arena, "%s/r%zu", dir, i), 0);
		struct reader r = { .s = s, .how = rows[i].how };
		struct write w = { .s = s, .deletes = rows[i].deletes };
		struct error err = { 0 };
		pthread_t writer, reader;
		int before;

		assert_int_equal(put(s, "old", "1", false, &err), 0);
		pthread_mutex_lock(&disk);
		before = atomic_load(&syncs);
		assert_int_equal(pthread_create(&writer, NULL, write_main, &w), 0);
		while (atomic_load(&syncs) == before)
			clock_sleep_ms(1);
		assert_int_equal(pthread_create(&reader, NULL, read_main, &r), 0);
		clock_sleep_ms(100); /* for one that does not wait to end */
		assert_false(atomic_load(&r.done));
		pthread_mutex_unlock(&disk);
		pthread_join(reader, NULL);
		pthread_join(writer, NULL);
		assert_int_equal(w.rc, 0);
		assert_int_equal(r.n, rows[i].n);
		assert_int_equal(r.version, rows[i].version);
		storage_close(s);
	}
}

/* Cut anywhere, it has the whole records before that, and says how far they reach. */
static void test_cut(void **state)
{
	cleanup_buf struct buf log = { .max = 65536 };
	size_t before = 0, whole = 0;

	read_log(&log);
	for (size_t len = strlen("kftrainer objects 1\n"); len <= log.len; len++) {
		struct error err = { 0 };
		size_t n = 0, good = 0;

		assert_int_equal(journal_read(log.data, len, count, &n, &good, &err), 0);
		assert_true(good <= len && n >= before && n <= 3);
		whole += n > before;
		before = n;
	}
	assert_int_equal(whole, 3);
}

/* A bit that is another, in what was on disk: no record is passed over or cut. */
static void test_damage(void **state)
{
	cleanup_buf struct buf log = { .max = 65536 };
	size_t refused = 0;

	read_log(&log);
	for (size_t at = 0; at < log.len; at++) {
		struct error err = { 0 };
		size_t n = 0, good = 0;
		int rc;

		log.data[at] ^= 1;
		rc = journal_read(log.data, log.len, count, &n, &good, &err);
		log.data[at] ^= 1;
		if (!rc)
			assert_int_equal(n, 3); /* it is in the last mark */
		refused += rc != 0;
	}
	assert_true(refused > log.len - 60);
}

static void write_log(const void *data, size_t len)
{
	struct error err = { 0 };
	char path[96];

	snprintf(path, sizeof(path), "%s/objects", dir);
	assert_int_equal(file_write(path, data, len, 0600, &err), 0);
}

/* As a log without the marks after the first n: what follows was not synced. */
static void unmark(struct buf *log, int n)
{
	size_t to = strlen("kftrainer objects 1\n"), len;

	for (size_t at = to; at < log->len; at += len) {
		len = 8 + log->data[at] + 256 * (size_t)log->data[at + 1];
		if (memmem(log->data + at, len, "//@", 3) && --n < 0)
			continue;
		memmove(log->data + to, log->data + at, len);
		to += len;
	}
	log->len = to;
}

/* The disk wrote what came later, and not that: it was acknowledged to nobody. */
static void test_torn_tail(void **state)
{
	cleanup_buf struct buf log = { .max = 65536 };
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct storage *s;

	read_log(&log);
	unmark(&log, 2); /* the first, and that of a */
	*(char *)memmem(log.data, log.len, "ns/b", 4) = 0;
	write_log(log.data, log.len);
	s = opened(dir, 0);
	assert_true(storage_report(s)->cut > 0);
	assert_string_equal(value_of(&arena, s, "a"), "1");
	assert_null(value_of(&arena, s, "b"));
	assert_null(value_of(&arena, s, "c"));
	assert_int_equal(put(s, "c", "2", false, &err), 0);
	storage_close(s);
	s = opened(dir, 0);
	assert_int_equal(storage_report(s)->cut, 0);
	assert_string_equal(value_of(&arena, s, "c"), "2");
	storage_close(s);
}

/* What a crash leaves behind the last record: nothing of it is a reason not to start. */
static void test_tails(void **state)
{
	static const struct {
		size_t len;
		unsigned char byte;
	} rows[] = {
		{ 4096, 0 }, /* etcd#11488: pages that were not written */
		{ (size_t)4 * 1024 * 1024, 0 }, /* etcd#4012 */
		{ 2500, 0xff },
		{ 70000, '1' }, /* each may begin a record's version */
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf log = { .max = (size_t)8 * 1024 * 1024 };
		unsigned char *tail = malloc(rows[i].len);
		struct error err = { 0 };
		size_t n = 0, good = 0, whole;

		read_log(&log);
		whole = log.len;
		buf_add(&log, memset(tail, rows[i].byte, rows[i].len), rows[i].len);
		assert_int_equal(journal_read(log.data, log.len, count, &n, &good, &err),
				 0);
		assert_int_equal(n, 3);
		assert_int_equal(good, whole);
		/* etcd#5230: the last record reaches over a page, of which half is there. */
		memset(log.data + whole - 20, rows[i].byte, 20);
		assert_int_equal(journal_read(log.data, log.len, count, &n, &good, &err),
				 0);
		assert_true(good < whole);
		free(tail);
		write_log("", 0);
	}
}

/* Damage in front of a mark, or in a log of a version that did not write any. */
static void test_acknowledged_damage(void **state)
{
	static const int marks[] = { 0, 3 }; /* 3: the first, and those of a and b */
	const struct storage_conf conf = { .dir = dir };

	for (size_t i = 0; i < N_ELEMENTS(marks); i++) {
		cleanup_buf struct buf log = { .max = 65536 };
		struct error err = { 0 };
		struct storage *s = NULL;

		read_log(&log);
		unmark(&log, marks[i]);
		*(char *)memmem(log.data, log.len, "ns/b", 4) = 0;
		write_log(log.data, log.len);
		assert_int_equal(storage_open(&s, &conf, &err), -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_non_null(strstr(err.msg, "/objects: damaged at byte "));
		write_log("", 0);
	}
}

static void test_foreign(void **state)
{
	static const char *const texts[] = { "kftrainer objects 2\nwhatever",
					     "something else entirely", "kftrainer" };
	const struct storage_conf conf = { .dir = dir };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct storage *s = NULL;
		struct error err = { 0 };
		int rc;

		write_log(texts[i], strlen(texts[i]));
		rc = storage_open(&s, &conf, &err);
		/* A head that was not written to its end is the log's own beginning. */
		assert_int_equal(rc, i == 2 ? 0 : -1);
		if (rc)
			assert_int_equal(err.kind, i ? ERR_FORMAT : ERR_IO);
		storage_close(s);
	}
}

static void test_no_directory(void **state)
{
	const struct storage_conf conf = { .dir = "/proc/self/none" };
	struct storage *s = NULL;
	struct error err = { 0 };

	assert_int_equal(storage_open(&s, &conf, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "/proc/self/none: "));
}

/* What was read may be in memory alone, after a sync that failed: it is written again. */
static void test_written_again(void **state)
{
	struct storage *s = opened(dir, 0);
	cleanup_arena struct arena arena = { 0 };
	const struct storage_conf conf = { .dir = dir };
	const char *path = path_join(&arena, dir, "objects");
	cleanup_buf struct buf log = { .max = 65536 };
	struct stat before, now;
	struct error err = { 0 };

	assert_int_equal(put(s, "a", "1", false, &err), 0);
	assert_int_equal(put(s, "a", "2", true, &err), 0);
	storage_close(s);
	assert_int_equal(stat(path, &before), 0);
	s = opened(dir, 0);
	assert_string_equal(value_of(&arena, s, "a"), "2");
	assert_int_equal(stat(path, &now), 0);
	assert_true(now.st_ino != before.st_ino && now.st_size < before.st_size);
	storage_close(s);
	s = opened(dir, 0);
	assert_string_equal(value_of(&arena, s, "a"), "2");
	storage_close(s);
	/* All that was written is known to be on disk: damage is refused. */
	assert_int_equal(file_read(&log, path, &err), 0);
	*(char *)memmem(log.data, log.len, "ns/a", 4) = 0;
	write_log(log.data, log.len);
	s = NULL;
	assert_int_equal(storage_open(&s, &conf, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
}

/* While it cannot be written again, nothing is added that a crash would separate from it. */
static void test_not_written_again(void **state)
{
	struct storage *s = opened(dir, 0);
	cleanup_arena struct arena arena = { 0 };
	const char *in_the_way = path_join(&arena, dir, "objects.new");
	struct error err = { 0 };

	assert_int_equal(put(s, "a", "1", false, &err), 0);
	storage_close(s);
	assert_int_equal(mkdir(in_the_way, 0700), 0);
	s = opened(dir, 0);
	assert_string_equal(value_of(&arena, s, "a"), "1");
	assert_int_equal(put(s, "b", "2", false, &err), -1);
	assert_non_null(strstr(err.msg, "objects.new"));
	error_clear_if(&err, err.kind);
	assert_null(value_of(&arena, s, "b"));
	assert_int_equal(rmdir(in_the_way), 0);
	assert_int_equal(put(s, "b", "2", false, &err), 0);
	storage_close(s);
	s = opened(dir, 0);
	assert_string_equal(value_of(&arena, s, "a"), "1");
	assert_string_equal(value_of(&arena, s, "b"), "2");
	storage_close(s);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_changes),
		IN_DIR(test_kept),
		IN_DIR(test_one_server),
		IN_DIR(test_compaction),
		IN_DIR(test_version_after_compaction),
		IN_DIR(test_unsynced_compaction),
		IN_DIR(test_writers),
		IN_DIR(test_reads_wait_for_the_disk),
		IN_DIR(test_cut),
		IN_DIR(test_damage),
		IN_DIR(test_torn_tail),
		IN_DIR(test_tails),
		IN_DIR(test_acknowledged_damage),
		IN_DIR(test_foreign),
		IN_DIR(test_no_directory),
		IN_DIR(test_written_again),
		IN_DIR(test_not_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
