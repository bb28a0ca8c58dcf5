/* journal.c - an append-only log of changes (apiserver/journal.h). */
#include "apiserver/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/crc.h"

#define MAGIC      "kftrainer objects 1\n"
#define MAGIC_LEN  (sizeof(MAGIC) - 1)
#define FORMAT     "kftrainer objects "
#define RECORD_MAX ((size_t)4 * 1024 * 1024)
#define LOG_MAX    ((size_t)1024 * 1024 * 1024)

/* The key of a mark, before its number; no object has such a key. */
#define MARK "namespaces//@"

enum { HEAD = 8 };

struct journal {
	char *path;
	int dir, lock, fd;
	int64_t size;
	int64_t durable, marked; /* bytes on disk; and those that a mark is about */
	struct journal_report report;
	pthread_mutex_t mutex;
	pthread_cond_t done;
	uint64_t added, synced; /* counted in calls of journal_add() */
	bool syncing, failed;
};

/* ---- records as bytes -------------------------------------------------------------- */

static void put32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

static uint32_t get32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void print_record(struct buf *out, const struct journal_record *r)
{
	unsigned char head[HEAD] = { 0 };
	size_t start = out->len;

	buf_add(out, head, HEAD);
	buf_printf(out, "%lld %s\n", (long long)r->version, r->key);
	if (r->text)
		buf_add(out, r->text, r->len);
	if (out->overflowed)
		return;
	put32(head, (uint32_t)(out->len - start - HEAD));
	put32(head + 4, crc32c(0, out->data + start + HEAD, out->len - start - HEAD));
	memcpy(out->data + start, head, HEAD);
}

/* A record about the log itself: its first n bytes are on disk. */
static void print_mark(struct buf *out, int64_t n)
{
	struct journal_record r = { .version = 1 };
	char key[40];

	snprintf(key, sizeof(key), MARK "%lld", (long long)n);
	r.key = key;
	print_record(out, &r);
}

/* The bytes that a mark is about; 0: the record's body is none. */
static size_t mark_of(const unsigned char *body, size_t len)
{
	static const char start[] = "1 " MARK;
	size_t n = 0;

	if (len < strlen(start) || memcmp(body, start, strlen(start)))
		return 0;
	for (size_t i = strlen(start); i + 1 < len && n < LOG_MAX; i++)
		n = 10 * n + (size_t)(body[i] - '0');
	return n;
}

/* Parse a record's body after its checksum was verified. */
static int use_record(const char *body, size_t len,
		      int (*on_record)(void *ctx, const struct journal_record *r,
				       struct error *err),
		      void *ctx, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *end = memchr(body, '\n', len);
	struct journal_record r = { 0 };
	char *head, *space;

	if (!end || memchr(body, 0, (size_t)(end - body)))
		return error_set(err, ERR_FORMAT, "a record has no key");
	head = str_slice(&arena, body, (size_t)(end - body));
	space = strchr(head, ' ');
	if (!space)
		return error_set(err, ERR_FORMAT, "a record has no key");
	*space = 0;
	if (str_int(&r.version, head, 1, INT64_MAX, err))
		return error_wrap(err, "a record's version");
	r.key = space + 1;
	r.len = len - (size_t)(end + 1 - body);
	r.text = r.len ? str_slice(&arena, end + 1, r.len) : NULL;
	return on_record(ctx, &r, err);
}

static int check_magic(const unsigned char *p, size_t len, struct error *err)
{
	if (len >= MAGIC_LEN && !memcmp(p, MAGIC, MAGIC_LEN))
		return 0;
	if (len >= strlen(FORMAT) && !memcmp(p, FORMAT, strlen(FORMAT)))
		return error_set(err, ERR_IO,
				 "written by a newer kftrainer: use that one, or set "
				 "--data to another directory");
	return error_set(err, ERR_FORMAT, "not a log of kftrainer");
}

static bool is_whole(const unsigned char *p, size_t left)
{
	size_t n = left >= HEAD ? get32(p) : 0;

	return n && n <= left - HEAD && n <= RECORD_MAX &&
	       get32(p + 4) == crc32c(0, p + HEAD, n);
}

/*
 * Was what is not whole at this byte on disk once? A mark behind it says so. In a log
 * without marks, as older versions write it, any whole record behind it does.
 */
static bool was_on_disk(const unsigned char *start, size_t len, size_t at, bool has_marks)
{
	for (size_t i = at + 1; i + HEAD < len; i++) {
		const unsigned char *body = start + i + HEAD;

		if (*body < '1' || *body > '9' || !is_whole(start + i, len - i))
			continue;
		if (!has_marks || mark_of(body, get32(start + i)) > at)
			return true;
		i += HEAD + get32(start + i) - 1;
	}
	return false;
}

int journal_read(const void *data, size_t len,
		 int (*on_record)(void *ctx, const struct journal_record *r,
				  struct error *err),
		 void *ctx, size_t *ret_good, struct error *err)
{
	const unsigned char *start = data;
	bool has_marks = false;
	size_t at = MAGIC_LEN, n;

	if (check_magic(start, len, err))
		return -1;
	for (; at < len && is_whole(start + at, len - at); at += HEAD + n) {
		const unsigned char *body = start + at + HEAD;

		n = get32(start + at);
		if (mark_of(body, n))
			has_marks = true;
		else if (use_record((const char *)body, n, on_record, ctx, err))
			return error_wrap(err, "byte %zu", at);
	}
	if (was_on_disk(start, len, at, has_marks))
		return error_set(err, ERR_FORMAT,
				 "damaged at byte %zu, with whole records behind it", at);
	*ret_good = at;
	return 0;
}

/* ---- opening ----------------------------------------------------------------------- */

static int lock_dir(struct journal *j, const char *dir, struct error *err)
{
	if (dir_make(dir, 0700, err))
		return -1;
	j->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dir < 0)
		return error_errno(err, errno, "%s", dir);
	j->lock = openat(j->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (j->lock < 0)
		return error_errno(err, errno, "%s/lock", dir);
	if (!flock(j->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return error_set(err, ERR_IO,
				 "%s/lock cannot be locked (%s); choose a directory on a "
				 "file system with locks, such as a local disk",
				 dir, strerror(errno));
	return error_set(err, ERR_EXISTS,
			 "%s: in use by another server; stop that one, or choose "
			 "another directory",
			 dir);
}

struct counted {
	struct journal *j;
	int (*on_record)(void *ctx, const struct journal_record *r, struct error *err);
	void *ctx;
};

static int count_record(void *ctx, const struct journal_record *r, struct error *err)
{
	struct counted *c = ctx;

	c->j->report.records++;
	if (r->version > c->j->report.version)
		c->j->report.version = r->version;
	return c->on_record(c->ctx, r, err);
}

/* A log without records begins with a mark: one that is damaged later has some. */
static int begin_log(struct journal *j, struct error *err)
{
	cleanup_buf struct buf text = { .max = 4096 };

	buf_adds(&text, MAGIC);
	print_mark(&text, MAGIC_LEN);
	if (ftruncate(j->fd, 0) || lseek(j->fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "%s", j->path);
	j->size = (int64_t)text.len;
	return file_write_fd(j->fd, text.data, text.len, j->path, err);
}

static int read_log(struct journal *j, struct counted *c, struct error *err)
{
	cleanup_buf struct buf text = { .max = LOG_MAX };
	size_t good = 0;

	if (file_read_fd(&text, j->fd, j->path, err))
		return -1;
	if (text.len < MAGIC_LEN &&
	    !memcmp(text.data ? text.data : (void *)"", MAGIC, text.len))
		return begin_log(j, err);
	if (journal_read(text.data, text.len, count_record, c, &good, err))
		return error_wrap(err, "%s", j->path);
	j->report.cut = (int64_t)(text.len - good);
	if (!j->report.records)
		return begin_log(j, err);
	if (j->report.cut && ftruncate(j->fd, (off_t)good))
		return error_errno(err, errno, "%s: cannot cut a torn record", j->path);
	if (lseek(j->fd, (off_t)good, SEEK_SET) < 0)
		return error_errno(err, errno, "%s", j->path);
	j->size = (int64_t)good;
	return 0;
}

static int open_log(struct journal *j, struct error *err)
{
	struct stat st;

	j->fd = openat(j->dir, "objects", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		       0600);
	if (j->fd < 0 || fstat(j->fd, &st))
		return error_errno(err, errno, "%s", j->path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_FORMAT, "%s is not a regular file", j->path);
	return 0;
}

int journal_check(const char *dir, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *path = path_join(&arena, dir, "objects");
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned char start[MAGIC_LEN];
	struct stat st;
	ssize_t n;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st))
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_FORMAT, "%s is not a regular file", path);
	n = pread(fd, start, sizeof(start), 0);
	if (n < 0)
		return error_errno(err, errno, "%s", path);
	if (!memcmp(start, MAGIC, (size_t)n)) /* also one that was never written */
		return 0;
	if (check_magic(start, (size_t)n, err))
		return error_wrap(err, "%s", path);
	return 0;
}

int journal_open(struct journal **ret, const char *dir,
		 int (*on_record)(void *ctx, const struct journal_record *r,
				  struct error *err),
		 void *ctx, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct journal *j = xcalloc(1, sizeof(*j));
	struct counted c = { j, on_record, ctx };

	j->dir = j->lock = j->fd = -1;
	j->path = xstrdup(path_join(&arena, dir, "objects"));
	pthread_mutex_init(&j->mutex, NULL);
	pthread_cond_init(&j->done, NULL);
	if (lock_dir(j, dir, err)) {
		journal_close(j);
		return -1;
	}
	if (open_log(j, err) || read_log(j, &c, err) ||
	    (fdatasync(j->fd) && error_errno(err, errno, "%s", j->path)) ||
	    (fsync(j->dir) && error_errno(err, errno, "%s", dir))) {
		journal_close(j);
		return -1;
	}
	*ret = j;
	return 0;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	cleanup_fdp(&j->fd);
	cleanup_fdp(&j->lock);
	cleanup_fdp(&j->dir);
	pthread_cond_destroy(&j->done);
	pthread_mutex_destroy(&j->mutex);
	free(j->path);
	free(j);
}

const struct journal_report *journal_report(const struct journal *j)
{
	return &j->report;
}

int64_t journal_size(const struct journal *j)
{
	return j->size;
}

/* ---- writing ----------------------------------------------------------------------- */

static int failed(const struct journal *j, struct error *err)
{
	return error_set(
		err, ERR_IO,
		"%s: an earlier write did not reach the disk; restart the server",
		j->path);
}

/* `waits`: journal_sync() is called for it. */
static int append(struct journal *j, const struct buf *record, bool waits,
		  struct error *err)
{
	bool broken;

	pthread_mutex_lock(&j->mutex);
	broken = j->failed;
	pthread_mutex_unlock(&j->mutex);
	if (broken)
		return failed(j, err);
	if (file_write_fd(j->fd, record->data, record->len, j->path, err)) {
		bool back = !ftruncate(j->fd, j->size) &&
			    lseek(j->fd, j->size, SEEK_SET) == j->size;

		pthread_mutex_lock(&j->mutex);
		j->failed |= !back;
		pthread_mutex_unlock(&j->mutex);
		return -1;
	}
	pthread_mutex_lock(&j->mutex);
	j->size += (int64_t)record->len;
	j->added += waits;
	pthread_mutex_unlock(&j->mutex);
	return 0;
}

int journal_add(struct journal *j, const struct journal_record *r, struct error *err)
{
	cleanup_buf struct buf record = { .max = RECORD_MAX };

	print_record(&record, r);
	if (buf_check(&record, "an object's record", err))
		return -1;
	return append(j, &record, true, err);
}

void journal_mark(struct journal *j)
{
	cleanup_buf struct buf record = { .max = 4096 };
	int64_t durable;

	pthread_mutex_lock(&j->mutex);
	durable = j->durable;
	pthread_mutex_unlock(&j->mutex);
	if (durable <= j->marked)
		return;
	print_mark(&record, durable);
	if (!append(j, &record, false, IGNORED))
		j->marked = durable;
}

int journal_sync(struct journal *j, struct error *err)
{
	int rc = 0;
	uint64_t until;

	pthread_mutex_lock(&j->mutex);
	until = j->added;
	while (j->synced < until && !j->failed) {
		uint64_t covers;
		int64_t size;
		int bad;

		if (j->syncing) {
			pthread_cond_wait(&j->done, &j->mutex);
			continue;
		}
		j->syncing = true;
		covers = j->added;
		size = j->size;
		pthread_mutex_unlock(&j->mutex);
		bad = fdatasync(j->fd);
		pthread_mutex_lock(&j->mutex);
		j->syncing = false;
		j->failed |= bad;
		if (!bad) {
			j->synced = covers;
			j->durable = size;
		}
		pthread_cond_broadcast(&j->done);
	}
	if (j->synced < until)
		rc = failed(j, err);
	pthread_mutex_unlock(&j->mutex);
	return rc;
}

/* ---- compaction -------------------------------------------------------------------- */

static int write_all(struct journal *j, int fd,
		     bool (*next)(void *ctx, struct journal_record *ret), void *ctx,
		     int64_t *ret_size, struct error *err)
{
	cleanup_buf struct buf out = { .max = 2 * RECORD_MAX };
	struct journal_record r = { 0 };
	bool more = true;

	buf_adds(&out, MAGIC);
	*ret_size = 0;
	while (more) {
		more = next(ctx, &r);
		if (more)
			print_record(&out, &r);
		else
			print_mark(&out, *ret_size + (int64_t)out.len);
		if (out.len < RECORD_MAX && more)
			continue;
		if (buf_check(&out, "an object's record", err) ||
		    file_write_fd(fd, out.data, out.len, j->path, err))
			return -1;
		*ret_size += (int64_t)out.len;
		buf_clear(&out);
	}
	if (fdatasync(fd))
		return error_errno(err, errno, "%s", j->path);
	return 0;
}

int journal_rewrite(struct journal *j,
		    bool (*next)(void *ctx, struct journal_record *ret), void *ctx,
		    struct error *err)
{
	int fd = openat(j->dir, "objects.new",
			O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int64_t size;

	if (fd < 0)
		return error_errno(err, errno, "%s.new", j->path);
	if (write_all(j, fd, next, ctx, &size, err) ||
	    (renameat(j->dir, "objects.new", j->dir, "objects") &&
	     error_errno(err, errno, "%s", j->path))) {
		unlinkat(j->dir, "objects.new", 0);
		close(fd);
		return -1;
	}
	if (fsync(j->dir)) {
		error_errno(err, errno, "%s", j->path);
		close(fd);
		/* After a crash either the old or the new log may be read: fail. */
		pthread_mutex_lock(&j->mutex);
		j->failed = true;
		pthread_cond_broadcast(&j->done);
		pthread_mutex_unlock(&j->mutex);
		return -1;
	}
	pthread_mutex_lock(&j->mutex);
	while (j->syncing)
		pthread_cond_wait(&j->done, &j->mutex);
	close(j->fd);
	j->fd = fd;
	j->size = j->durable = j->marked = size;
	j->synced = j->added;
	pthread_cond_broadcast(&j->done);
	pthread_mutex_unlock(&j->mutex);
	return 0;
}
