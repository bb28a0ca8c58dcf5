/*
 * The two ends of a rerun. 'r' and frames of a stranger: a receiver answers in packets,
 * changes nothing before it has staged all, and after the swap the files are what the
 * list says; nothing beside the directory changes. Anything else: what a session in a pod
 * writes to the client, which is the same in pieces of any size.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/str.h"
#include "client/rerun.h"
#include "pack/receive.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 16 * 1024, FILES = 3, PACKET = 1000 };

/* ---- a receiver ---- */

static void check_answers(int fd, const struct received *r)
{
	char packet[RECEIVE_ANSWER + 1], last = 0;
	ssize_t n;

	while ((n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
		FUZZ_CHECK(n <= RECEIVE_ANSWER && strchr("NEK!", packet[0]));
		FUZZ_CHECK(last != '!');
		for (ssize_t i = 1; packet[0] == 'N' && i < n; i += 4)
			FUZZ_CHECK(i + 4 <= n && receive_number((unsigned char *)packet +
								i) < r->manifest.n);
		last = packet[0];
	}
	FUZZ_CHECK(r->staged == (last == 'K'));
}

/* An entry that no other one replaces. */
static bool is_alone(const struct manifest *m, size_t i)
{
	for (size_t k = 0; k < m->n; k++)
		if (k != i && (str_starts(m->list[k].path, m->list[i].path) ||
			       str_starts(m->list[i].path, m->list[k].path)))
			return false;
	return true;
}

static void check_files(const struct received *r, int root)
{
	for (size_t i = 0; i < r->manifest.n; i++) {
		const struct manifest_entry *e = &r->manifest.list[i];
		char digest[DIGEST_HEX_SIZE];
		cleanup_fd int fd = -1;
		int64_t size;

		if (e->type != TAR_FILE || !is_alone(&r->manifest, i))
			continue;
		fd = relpath_open(root, e->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC,
				  false);
		FUZZ_CHECK(fd >= 0);
		FUZZ_CHECK(!manifest_digest(fd, e->path, digest, &size, IGNORED));
		FUZZ_CHECK(size == e->size && str_eq(digest, e->digest));
	}
}

static void receive(const char *dir, const uint8_t *data, size_t size)
{
	struct received r = { .dir = dir };
	cleanup_fd int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = { 0 };
	int ends[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	for (size_t at = 0, n; at < size; at += n) {
		n = size - at < PACKET ? size - at : PACKET;
		FUZZ_CHECK(send(ends[0], data + at, n, 0) == (ssize_t)n);
	}
	shutdown(ends[0], SHUT_WR);
	r.fd = ends[1];
	receive_run(&r);
	check_answers(ends[0], &r);
	FUZZ_CHECK(!faccessat(root, "file", F_OK, 0) && faccessat(root, "new", F_OK, 0));
	if (receive_swap(&r, &err))
		FUZZ_CHECK(err.kind && *err.msg);
	else
		check_files(&r, root);
	receive_release(&r);
	close(ends[0]);
	close(ends[1]);
}

static void receive_in_folder(const uint8_t *data, size_t size)
{
	char dir[] = "/tmp/fuzz-rerun-XXXXXX";
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf canary = { .max = 100 };
	struct error err = { 0 };
	const char *to, *beside;

	FUZZ_CHECK(mkdtemp(dir));
	to = path_join(&arena, dir, "to");
	beside = path_join(&arena, dir, "beside");
	FUZZ_CHECK(!file_write(beside, "canary", 6, 0600, &err) &&
		   !dir_make(to, 0755, &err) &&
		   !file_write(path_join(&arena, to, "file"), "abc", 3, 0644, &err) &&
		   !symlink("..", path_join(&arena, to, "link")));
	receive(to, data, size);
	FUZZ_CHECK(!file_read(&canary, beside, &err) &&
		   str_eq((const char *)canary.data, "canary"));
	FUZZ_CHECK(!unlink(beside) && !dir_remove(to, &err));
	FUZZ_CHECK(!rmdir(dir)); /* nothing else is there */
}

/* ---- a client ---- */

static int add_output(void *ctx, int fd, const char *data, size_t len, struct error *err)
{
	(void)err;
	FUZZ_CHECK(fd == 1 || fd == 2);
	buf_printf(ctx, "%d:", fd);
	buf_add(ctx, data, len);
	return 0;
}

static void add_needs(void *ctx, size_t sent, size_t files)
{
	FUZZ_CHECK(sent <= files && files == FILES);
	buf_printf(ctx, "sends %zu;", sent);
}

/* What is printed, and how it ended. */
static void read_session(struct buf *ret, const char *dir, const uint8_t *data,
			 size_t size, size_t step)
{
	const struct rerun_want want = {
		.path = dir, .on_output = add_output, .on_send = add_needs, .ctx = ret
	};
	struct rerun_end end = { 0 };
	struct error err = { 0 };
	struct rerun *r = NULL;
	int rc = 0;

	FUZZ_CHECK(!rerun_begin(&r, &want, &err));
	for (size_t at = 0, n; !rc && at < size; at += n) {
		n = size - at < step ? size - at : step;
		rc = rerun_read(r, STDOUT_FILENO, (const char *)data + at, n, &err);
	}
	rc = rerun_finish(r, &end, &err);
	FUZZ_CHECK(!rc || (err.kind && *err.msg));
	FUZZ_CHECK(end.code >= 0 && end.code <= 255);
	buf_printf(ret, "%d %d %s %s", rc, end.code, end.text, rc ? err.msg : "");
}

static void read_in_pieces(const uint8_t *data, size_t size)
{
	static char dir[] = "/tmp/fuzz-rerun-XXXXXX";
	static bool made;
	cleanup_buf struct buf whole = { .max = 1 << 20 };
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };

	for (int i = 0; !made && i < FILES; i++) {
		FUZZ_CHECK(i || mkdtemp(dir));
		FUZZ_CHECK(!file_write(arena_printf(&arena, "%s/%d", dir, i), "abc", 3,
				       0644, &err));
	}
	made = true;
	read_session(&whole, dir, data, size, size ? size : 1);
	for (size_t step = 1; step <= 64; step *= 8) {
		cleanup_buf struct buf pieces = { .max = 1 << 20 };

		read_session(&pieces, dir, data, size, step);
		FUZZ_CHECK(whole.len == pieces.len &&
			   !memcmp(whole.data, pieces.data, whole.len));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > INPUT_MAX)
		return 0;
	if (data[0] == 'r')
		receive_in_folder(data + 1, size - 1);
	else
		read_in_pieces(data + 1, size - 1);
	return 0;
}
