/* Starts, resumes, hashes and finishes a file of a download; see fetch_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/crc.h"
#include "crypto/digest.h"
#include "store/content.h"
#include "store/fetch_impl.h"

enum { MAX_UNEXPECTED = 3 };

int disk_full(struct fetch *f, int64_t need, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t room = target_free_bytes(&f->target), missing = need - room;

	if (missing < 1)
		missing = need > 0 ? need : 1;
	error_set(err, ERR_IO,
		  "%s: not enough disk space: %lld bytes needed, %lld available: %lld "
		  "bytes (%s) missing; free some space, or use a larger volume",
		  f->target.path, (long long)need, (long long)room, (long long)missing,
		  str_size(&arena, missing));
	err->code = ENOSPC;
	return -1;
}

static int fail(struct fetch *f, struct error *err)
{
	int64_t left = fetch_count_of(&f->bytes) - fetch_count_of(&f->bytes_done);
	struct statvfs st;

	if (errno == ENOSPC && !fstatvfs(f->target.root, &st) && st.f_files &&
	    !st.f_favail) {
		error_set(err, ERR_IO,
			  "%s: all %llu inodes of the volume are in use; remove files, "
			  "or use another volume",
			  f->target.path, (unsigned long long)st.f_files);
		err->code = ENOSPC;
		return -1;
	}
	if (errno == ENOSPC || errno == EDQUOT)
		return disk_full(f, left, err);
	return error_errno(err, errno, "writing to %s", f->target.path);
}

/* Identifies the contents that the journal describes. */
static void identify(const struct fetch *f, const struct file *file,
		     unsigned char id[JOURNAL_ID_SIZE])
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_digest struct digest *d = digest_new(DIGEST_SHA256);
	cleanup_buf struct buf boot = { .max = 64 };
	const char *sum = verify_name(&arena, &file->o);
	unsigned char raw[DIGEST_MAX];

	digest_add(d, file->o.path, strlen(file->o.path) + 1);
	if (sum || file->etag)
		digest_add(d, sum ? sum : file->etag, strlen(sum ? sum : file->etag));
	/* Written pages survive until the machine restarts. */
	if (f->conf->unverified &&
	    !file_read(&boot, "/proc/sys/kernel/random/boot_id", IGNORED))
		digest_add(d, boot.data, boot.len);
	digest_end(d, raw);
	memcpy(id, raw, JOURNAL_ID_SIZE);
}

/* The validator and size that an earlier run received, if the listing has none. */
static void read_validator(struct fetch *f, struct file *file)
{
	int fd = openat(f->target.state, file->validator_file,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	cleanup_buf struct buf text = { .max = 4096 };
	char *blank;
	int64_t size;

	if (fd < 0)
		return;
	if (!file_read_fd(&text, fd, file->validator_file, IGNORED) && text.len &&
	    (blank = strchr((char *)text.data, ' '))) {
		*blank = 0;
		if (!str_int(&size, (char *)text.data, 0, STORE_MAX_SIZE, IGNORED) &&
		    (file->o.size < 0 || file->o.size == size) &&
		    !strpbrk(blank + 1, "\r\n")) {
			if (!str_eq(blank + 1, "-"))
				file->etag = arena_strdup(&file->arena, blank + 1);
			file->resumed = true;
			if (file->o.size < 0 && !plan_size_known(f, file, size, IGNORED))
				file->n_left = 0;
		}
	}
	close(fd);
}

static void save_validator(struct fetch *f, struct file *file)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = arena_printf(&arena, "%lld %s", (long long)file->o.size,
					file->etag ? file->etag : "-");
	int fd = openat(f->target.state, file->validator_file,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);

	/* without it the next run starts over */
	if (fd >= 0 &&
	    file_write_fd(fd, text, strlen(text), file->validator_file, IGNORED))
		unlinkat(f->target.state, file->validator_file, 0);
	if (fd >= 0)
		close(fd);
}

static void add_left(struct file *file, int64_t from, int64_t to)
{
	if (from >= to)
		return;
	file->left = xreallocarray(file->left, file->n_left + 1, sizeof(*file->left));
	file->left[file->n_left++] = (struct range){ .from = from, .to = to };
}

/*
 * No, if a digest of the whole file will find lost bytes, or with --no-verify, whose
 * journals are valid for this boot only.
 */
bool file_has_sums(const struct fetch *f, const struct file *file)
{
	return !f->conf->unverified && !verify_is_authoritative(&file->o);
}

/* Do the bytes match the journal? If in order, they are hashed as well. */
static bool range_holds(struct file *file, const struct range *r, char *chunk)
{
	bool hashes = file->verify && r->from == file->hashed;
	uint32_t crc = 0;

	for (int64_t at = r->from; at < r->to;) {
		size_t want = r->to - at < CHUNK ? (size_t)(r->to - at) : CHUNK;
		ssize_t n = pread(file->fd, chunk, want, at);

		if (n <= 0 || stop_requested())
			return false;
		crc = crc32c(crc, chunk, (size_t)n);
		if (hashes)
			verify_add(file->verify, chunk, (size_t)n);
		at += n;
	}
	if (hashes && crc == r->crc) {
		file->hashed = r->to;
	} else if (hashes) { /* wrong bytes went into the digest */
		verify_free(file->verify);
		file->verify = verify_new(&file->o);
		file->hashed = 0;
	}
	return crc == r->crc;
}

static void resume(struct fetch *f, struct file *file, const struct buf *journal)
{
	cleanup_free struct range *done = NULL;
	cleanup_free char *chunk = xmalloc(CHUNK);
	bool has_sums = file_has_sums(f, file);
	unsigned char id[JOURNAL_ID_SIZE];
	struct stat st;
	int64_t at = 0;
	size_t n;

	if (fstat(file->fd, &st))
		return;
	identify(f, file, id);
	n = journal_parse(journal->data, journal->len, id, file->o.size, &done);
	for (size_t i = 0; i < n; i++) {
		if (done[i].to > st.st_size ||
		    (has_sums && !range_holds(file, &done[i], chunk)))
			continue;
		add_left(file, at, done[i].from);
		at = done[i].to;
		file->written += done[i].to - done[i].from;
	}
	add_left(file, at, file->o.size);
	fetch_count(&f->bytes_done, file->written);
}

/* Find the ranges that are present; `left` becomes the rest. */
static void read_journal(struct fetch *f, struct file *file)
{
	cleanup_buf struct buf journal = { .max = JOURNAL_MAX };
	int fd = openat(f->target.state, file->journal,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	size_t torn;

	if (fd < 0)
		return;
	if (!file_read_fd(&journal, fd, file->journal, IGNORED) && file->o.size > 0)
		resume(f, file, &journal);
	close(fd);
	torn = journal.len % JOURNAL_RECORD_SIZE !=
	       JOURNAL_HEADER_SIZE % JOURNAL_RECORD_SIZE;
	if (file->written && !torn)
		file->journal_fd = openat(f->target.state, file->journal,
					  O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
}

bool file_is_identified(const struct file *file)
{
	return (file->o.digest != STORE_DIGEST_NONE && file->o.sum) || file->etag;
}

/* Is it a regular file of ours, not a link? */
static int open_part(struct fetch *f, struct file *file, struct error *err)
{
	struct stat st;
	int why = 0;

	for (int again = 0; again < 2; again++) {
		file->fd = openat(f->target.state, file->part,
				  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
				  0666);
		if (file->fd >= 0 && !fstat(file->fd, &st) && S_ISREG(st.st_mode) &&
		    st.st_nlink == 1)
			return 0;
		why = file->fd < 0 ? errno : 0;
		if (file->fd >= 0)
			close(file->fd);
		file->fd = -1;
		if (unlinkat(f->target.state, file->part, 0))
			break;
	}
	errno = why ? why : errno;
	return fail(f, err);
}

int file_reserve(struct fetch *f, struct file *file, struct error *err)
{
	struct stat st;
	int rc = 0;

	if (fstat(file->fd, &st))
		return fail(f, err);
	if (st.st_size > file->o.size && ftruncate(file->fd, file->o.size))
		return fail(f, err);
	if (file->o.size < JOURNAL_FROM || (int64_t)st.st_blocks * 512 >= file->o.size)
		return 0;
	do {
		rc = fallocate(file->fd, 0, 0, file->o.size);
	} while (rc && errno == EINTR && !stop_requested());
	if (rc && (errno == ENOSPC || errno == EDQUOT))
		return disk_full(f, file->o.size - (int64_t)st.st_blocks * 512, err);
	return 0; /* a file system without it is fine */
}

/* A file that cannot be read is fetched again. */
static int is_right(struct fetch *f, struct file *file, bool *ret, struct error *err)
{
	struct store_object there = file->o;
	cleanup_fd int fd = -1;
	struct stat st;
	int rc;

	if (target_read(&f->target, file->o.path, &fd, IGNORED) || fstat(fd, &st))
		return 0;
	there.size = st.st_size;
	rc = verify_fd(&there, fd, err);
	if (rc < 0)
		return err->kind == ERR_STOPPED ? -1 : 0;
	*ret = rc == 1;
	if (*ret && file->o.size < 0 && plan_size_known(f, file, st.st_size, err))
		return -1;
	return *ret ? ledger_add(&f->ledger, &file->o, &st, err) : 0;
}

int file_begin(struct fetch *f, struct file *file, bool *ret_present, struct error *err)
{
	*ret_present = false;
	if (file->check_local && is_right(f, file, ret_present, err))
		return -1;
	if (*ret_present)
		return 0;
	target_name(&f->target, file->part, file->o.path, "part");
	target_name(&f->target, file->journal, file->o.path, "journal");
	target_name(&f->target, file->validator_file, file->o.path, "note");
	file->etag = file->o.etag;
	if (open_part(f, file, err))
		return -1;
	if (!file->etag)
		read_validator(f, file);
	if (!file->verify)
		file->verify = verify_new(&file->o);
	if (file_is_identified(file)) /* otherwise it may have changed */
		read_journal(f, file);
	if (stop_requested())
		return error_set(err, ERR_STOPPED, "stopped");
	if (!file->written) {
		free(file->left);
		file->left = NULL;
		file->n_left = 0;
		add_left(file, 0, file->o.size < 0 ? INT64_MAX : file->o.size);
		if (ftruncate(file->fd, 0))
			return fail(f, err);
	}
	if (file->o.size >= 0 && file_reserve(f, file, err))
		return -1;
	fetch_report(f, FETCH_STARTED, file->o.path, file->written);
	return 0;
}

static void drop_journal(struct fetch *f, struct file *file)
{
	if (file->journal_fd >= 0)
		close(file->journal_fd);
	file->journal_fd = -1;
	unlinkat(f->target.state, file->journal, 0);
	unlinkat(f->target.state, file->validator_file, 0);
}

int file_reset(struct fetch *f, struct file *file, struct error *err)
{
	drop_journal(f, file);
	fetch_count(&f->bytes_done, -file->written);
	file->written = 0;
	file->hashed = 0;
	file->n_left = 0;
	file->etag = file->o.etag;
	file->redirected_to = NULL;
	file->resumed = false;
	verify_free(file->verify);
	file->verify = verify_new(&file->o);
	add_left(file, 0, file->o.size < 0 ? INT64_MAX : file->o.size);
	fetch_report(f, FETCH_RESTARTED, file->o.path, 0);
	if (ftruncate(file->fd, 0))
		return fail(f, err);
	return file->o.size >= 0 ? file_reserve(f, file, err) : 0;
}

/* An optimization: a journal that cannot be written is not an error. */
static void open_journal(struct fetch *f, struct file *file)
{
	unsigned char id[JOURNAL_ID_SIZE], header[JOURNAL_HEADER_SIZE];

	identify(f, file, id);
	journal_header(header, id, file->o.size);
	unlinkat(f->target.state, file->journal, 0);
	file->journal_fd = openat(
		f->target.state, file->journal,
		O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (file->journal_fd >= 0 &&
	    file_write_fd(file->journal_fd, header, sizeof(header), "", IGNORED)) {
		close(file->journal_fd);
		file->journal_fd = -1;
	}
}

static int journal_of(struct fetch *f, struct file *file)
{
	int fd;

	pthread_mutex_lock(&f->lock);
	if (file->journal_fd < 0 && file->o.size >= JOURNAL_FROM && !file->restart) {
		open_journal(f, file);
		if (f->list.objects[file->index].size < 0 ||
		    (!file->o.etag && file->etag))
			save_validator(f, file);
	}
	fd = file->journal_fd;
	pthread_mutex_unlock(&f->lock);
	return fd;
}

void file_record(struct fetch *f, struct piece *p)
{
	const struct range r = { .from = p->recorded, .to = p->pos, .crc = p->crc };
	unsigned char record[JOURNAL_RECORD_SIZE];
	int fd;

	if (r.from >= r.to)
		return;
	fd = journal_of(f, p->f);
	journal_record(record, &r);
	if (fd >= 0 && file_write_fd(fd, record, sizeof(record), "", IGNORED))
		return;
	p->recorded = p->pos;
	p->crc = 0;
}

int file_hash(struct file *file, int64_t to, struct error *err)
{
	cleanup_free char *chunk = NULL;

	if (file->hashed >= to)
		return 0;
	chunk = xmalloc(CHUNK);
	while (file->hashed < to) {
		size_t want =
			to - file->hashed < CHUNK ? (size_t)(to - file->hashed) : CHUNK;
		ssize_t n = pread(file->fd, chunk, want, file->hashed);

		if (n <= 0)
			return error_errno(err, n ? errno : EIO,
					   "reading back what was written");
		verify_add(file->verify, chunk, (size_t)n);
		fetch_count(&file->hashed, n);
	}
	return 0;
}

/* Says that a file is something else than its name promises, at most three times a run. */
static void report_unexpected(struct fetch *f, struct file *file)
{
	cleanup_arena struct arena arena = { 0 };
	char head[CONTENT_HEAD_BYTES];
	ssize_t n = pread(file->fd, head, sizeof(head), 0);
	const char *instead =
		n > 0 ? content_unexpected(file->o.path, head, (size_t)n) : NULL;

	if (instead &&
	    __atomic_fetch_add(&f->unexpected, 1, __ATOMIC_RELAXED) < MAX_UNEXPECTED)
		fetch_say(f, arena_printf(&arena, "%s: %s",
					  str_visible(&arena, file->o.path, false),
					  instead));
}

static int put_in_place(struct fetch *f, struct file *file, struct error *err)
{
	struct stat st;

	if (fsync(file->fd))
		return fail(f, err);
	if (target_put(&f->target, file->part, file->o.path, err) ||
	    target_sync_dir(&f->target, file->o.path, err))
		return -1;
	if (fstat(file->fd, &st))
		return fail(f, err);
	if (file->journal_fd >= 0)
		drop_journal(f, file);
	report_unexpected(f, file);
	return ledger_add(&f->ledger, &file->o, &st, err);
}

/* The local file is the current one. */
static int keep_local(struct fetch *f, struct file *file, struct error *err)
{
	struct stat st;

	unlinkat(f->target.state, file->part, 0);
	drop_journal(f, file);
	if (target_stat(&f->target, file->o.path, &st, err))
		return -1;
	file->o.etag = file->local_validator;
	fetch_count(&f->bytes_done, st.st_size);
	if (file->o.size < 0 && plan_size_known(f, file, st.st_size, err))
		return -1;
	return ledger_add(&f->ledger, &file->o, &st, err);
}

int file_end(struct fetch *f, struct file *file, bool *ret_wrong, struct error *err)
{
	const struct scheme *scheme = f->conf->scheme;
	struct store_object other = file->o;

	*ret_wrong = false;
	if (file->unchanged)
		return keep_local(f, file, err);
	*ret_wrong = file->verify && !verify_end(file->verify);
	if (*ret_wrong && scheme->correct_sum && !verify_is_authoritative(&file->o)) {
		int right = 0;

		if (scheme->correct_sum(f->conf->store, &file->o, &file->arena, &other,
					err))
			return -1;
		if (other.digest != file->o.digest || !str_eq(other.sum, file->o.sum) ||
		    other.part_size != file->o.part_size) {
			file->o = other;
			right = verify_name(&file->arena, &other)
					? verify_fd(&file->o, file->fd, err)
					: 1;
		}
		if (right < 0)
			return -1;
		*ret_wrong = !right;
	}
	if (*ret_wrong)
		return 0;
	if (!file->o.etag && file->o.digest == STORE_DIGEST_NONE)
		file->o.etag = file->etag;
	return put_in_place(f, file, err);
}

void file_free(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->journal_fd >= 0)
		close(file->journal_fd);
	verify_free(file->verify);
	free(file->left);
	arena_clear(&file->arena);
	free(file);
}
