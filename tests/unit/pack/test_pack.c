/*
 * Folders as archives: the same bytes whatever does not belong to the contents, back
 * again, and what a hostile archive cannot do.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/zstd.h"
#include "crypto/digest.h"
#include "pack/pack.h"
#include "pack/tar.h"
#include "tests/unit/base/base_test.h"

struct fixture {
	struct arena arena;
	char dir[64];
	int fd; /* an archive without a name */
};

static const char *in(struct fixture *f, const char *path)
{
	return path_join(&f->arena, f->dir, path);
}

static void put(struct fixture *f, const char *path, const char *text, mode_t mode)
{
	const char *full = in(f, path);
	struct error err = { 0 };

	assert_int_equal(dir_make(path_dir(&f->arena, full), 0755, &err), 0);
	assert_int_equal(file_write(full, text, strlen(text), mode, &err), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	memcpy(f->dir, "/tmp/test-pack-XXXXXX", 22);
	assert_non_null(mkdtemp(f->dir));
	f->fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	assert_true(f->fd >= 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };

	assert_int_equal(dir_remove(f->dir, &err), 0);
	close(f->fd);
	arena_clear(&f->arena);
	free(f);
	return 0;
}

static int pack(struct fixture *f, const char *dir, struct pack_summary *s,
		struct error *err)
{
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	*err = (struct error){ 0 };
	return pack_folder(in(f, dir), f->fd,
			   &(struct pack_opts){ .limits = PACK_LIMITS }, &f->arena, s,
			   err);
}

static int unpack_with(struct fixture *f, const char *dir, const char *digest,
		       struct pack_limits limits, bool *done, struct error *err)
{
	const struct unpack_opts opts = { .to = in(f, dir),
					  .digest = digest,
					  .limits = limits };
	struct pack_summary s = { 0 };

	*err = (struct error){ 0 };
	return unpack_folder(f->fd, &opts, &s, done, err);
}

static int unpack(struct fixture *f, const char *dir, const char *digest,
		  struct error *err)
{
	bool done;

	return unpack_with(f, dir, digest, PACK_LIMITS, &done, err);
}

static void a_folder(struct fixture *f, const char *dir, mode_t file, mode_t program)
{
	const char *long_name = arena_printf(&f->arena, "%s/long/%0120d.txt", dir, 7);

	put(f, path_join(&f->arena, dir, "train.py"), "print('$VAR `id`')\r\n", file);
	put(f, path_join(&f->arena, dir, "run.sh"), "#!/bin/sh\n", program);
	put(f, path_join(&f->arena, dir, "lib/a/b.py"), "", file);
	put(f, long_name, "x", file);
	assert_int_equal(mkdir(in(f, path_join(&f->arena, dir, "empty")), 0700), 0);
	assert_int_equal(
		symlink("../train.py", in(f, path_join(&f->arena, dir, "lib/link"))), 0);
}

static void test_equal_folders_equal_bytes(void **state)
{
	struct fixture *f = *state;
	struct pack_summary one = { 0 }, two = { 0 };
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct error err;

	a_folder(f, "one", 0644, 0755);
	put(f, "two/zz", "", 0644);
	a_folder(f, "two", 0600, 0711);
	put(f, "two/.git/HEAD", "x", 0644);
	put(f, "two/" PACK_MARKER, "unpacked x", 0644);
	assert_int_equal(unlink(in(f, "two/zz")), 0);
	assert_int_equal(utimensat(AT_FDCWD, in(f, "two/train.py"), old, 0), 0);
	assert_int_equal(pack(f, "one", &one, &err), 0);
	assert_int_equal(pack(f, "two", &two, &err), 0);
	assert_string_equal(one.digest, two.digest);
	assert_int_equal(one.entries, 9);
	assert_int_equal(one.bytes, 31);
	assert_string_equal(one.largest[0].path, "train.py");
	assert_string_equal(one.largest[1].path, "run.sh");
	/* On any machine: of zstd's release that vendor/lock has. */
	assert_string_equal(
		one.digest,
		"3e4b45b62900c21fbc09a72cf6e5e3cfeb6a0bbaaaca13308dd890bbe0d70677");
	put(f, "two/run.sh", "#!/bin/sh\n", 0644);
	assert_int_equal(pack(f, "two", &two, &err), 0);
	assert_string_not_equal(one.digest, two.digest);
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct pack_summary s = { 0 }, again = { 0 };
	struct stat st;
	struct error err;
	char target[100] = "";

	a_folder(f, "one", 0644, 0755);
	assert_int_equal(pack(f, "one", &s, &err), 0);
	assert_int_equal(unpack(f, "to/here", s.digest, &err), 0);
	assert_int_equal(stat(in(f, "to/here/run.sh"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(stat(in(f, "to/here/train.py"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_true(readlink(in(f, "to/here/lib/link"), target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "../train.py");
	assert_int_equal(pack(f, "to/here", &again, &err), 0);
	assert_string_equal(s.digest, again.digest);
}

/* GNU tar, where there is one with zstd, lists the same. */
static void test_tar_reads_it(void **state)
{
	struct fixture *f = *state;
	struct pack_summary s = { 0 };
	struct error err;

	if (system("command -v zstd tar >/dev/null 2>&1") != 0)
		skip();
	a_folder(f, "one", 0644, 0755);
	assert_int_equal(pack(f, "one", &s, &err), 0);
	assert_int_equal(mkdir(in(f, "out"), 0755), 0);
	assert_int_equal(
		system(arena_printf(
			&f->arena,
			"zstd -dcq < /proc/%d/fd/%d | tar -C %s -x && diff -r %s %s",
			getpid(), f->fd, in(f, "out"), in(f, "one"), in(f, "out"))),
		0);
}

static void test_twice(void **state)
{
	struct fixture *f = *state;
	struct pack_summary s = { 0 };
	struct error err;
	bool done;

	put(f, "one/a", "a", 0644);
	assert_int_equal(pack(f, "one", &s, &err), 0);
	assert_int_equal(unpack_with(f, "to", s.digest, PACK_LIMITS, &done, &err), 0);
	assert_false(done);
	put(f, "to/a", "the job's own", 0644);
	assert_int_equal(unpack_with(f, "to", s.digest, PACK_LIMITS, &done, &err), 0);
	assert_true(done);
	assert_int_equal(access(in(f, "to/a"), F_OK), 0);

	/* Killed in the middle: what is there is ours, and goes. */
	put(f, "to/" PACK_MARKER, "unpacking x\n", 0644);
	put(f, "to/half/done", "", 0644);
	assert_int_equal(unpack_with(f, "to", s.digest, PACK_LIMITS, &done, &err), 0);
	assert_false(done);
	assert_int_equal(access(in(f, "to/half"), F_OK), -1);

	/* Another's is not touched. */
	put(f, "other/precious", "", 0644);
	assert_int_equal(unpack(f, "other", s.digest, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	put(f, "to/" PACK_MARKER, "unpacked 1234\n", 0644);
	assert_int_equal(unpack(f, "to", s.digest, &err), -1);
	assert_non_null(strstr(err.msg, "another workspace"));
}

static void test_ignored(void **state)
{
	struct fixture *f = *state;
	struct pack_summary s = { 0 };
	struct error err;

	put(f, "one/" PACK_IGNORE_FILE, "*.bin\n/data/\n!keep.bin\n", 0644);
	put(f, "one/a.bin", "", 0644);
	put(f, "one/keep.bin", "", 0644);
	put(f, "one/data/x", "", 0644);
	put(f, "one/lib/data/x", "", 0644);
	put(f, "one/lib/" PACK_IGNORE_FILE, "!b.bin\n", 0644);
	put(f, "one/lib/b.bin", "", 0644);
	put(f, "one/.git/HEAD", "", 0644);
	assert_int_equal(pack(f, "one", &s, &err), 0);
	assert_int_equal(unpack(f, "to", s.digest, &err), 0);
	assert_int_equal(access(in(f, "to/a.bin"), F_OK), -1);
	assert_int_equal(access(in(f, "to/keep.bin"), F_OK), 0);
	assert_int_equal(access(in(f, "to/data"), F_OK), -1);
	assert_int_equal(access(in(f, "to/lib/data/x"), F_OK), 0);
	assert_int_equal(access(in(f, "to/lib/b.bin"), F_OK), 0);
	assert_int_equal(access(in(f, "to/.git/HEAD"), F_OK), -1);
}

/* ---- what cannot be packed ---- */

static void test_refused(void **state)
{
	static const struct {
		const char *link, *target;
	} links[] = {
		{ "out", "../x" },      { "abs", "/etc/passwd" }, { "via", "a/../b" },
		{ "d/out", "../../x" }, { "d/abs", "/tmp" },      { "back", "d/../../x" },
	};
	struct fixture *f = *state;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct pack_summary s = { 0 };
	struct error err;
	int fd;

	for (size_t i = 0; i < N_ELEMENTS(links); i++) {
		const char *path = arena_printf(&f->arena, "l%zu/%s", i, links[i].link);

		put(f, arena_printf(&f->arena, "l%zu/d/file", i), "", 0644);
		assert_int_equal(symlink(links[i].target, in(f, path)), 0);
		check_int(links[i].target,
			  pack(f, arena_printf(&f->arena, "l%zu", i), &s, &err), -1);
		assert_non_null(strstr(err.msg, links[i].link));
		assert_non_null(strstr(err.msg, links[i].target));
	}
	assert_int_equal(mkdir(in(f, "s"), 0755), 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s/sock", f->dir);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	assert_int_equal(pack(f, "s", &s, &err), -1);
	assert_non_null(strstr(err.msg, "s/sock: sockets"));
	assert_int_equal(unlink(in(f, "s/sock")), 0);
	assert_int_equal(mkfifo(in(f, "s/fifo"), 0600), 0);
	assert_int_equal(pack(f, "s", &s, &err), -1);
	assert_int_equal(unlink(in(f, "s/fifo")), 0);
	assert_int_equal(pack(f, "s", &s, &err), -1);
	assert_non_null(strstr(err.msg, "no files to pack"));
	put(f, "s/bad\nname", "", 0644);
	assert_int_equal(pack(f, "s", &s, &err), -1);
	assert_int_equal(pack(f, "not-there", &s, &err), -1);
	put(f, "file", "", 0644);
	assert_int_equal(pack(f, "file", &s, &err), -1);
}

static void test_pack_limits(void **state)
{
	struct fixture *f = *state;
	struct pack_summary s = { 0 };
	struct error err = { 0 };

	put(f, "one/a", "12345678", 0644);
	put(f, "one/b", "12345678", 0644);
	assert_int_equal(pack_folder(in(f, "one"), f->fd,
				     &(struct pack_opts){ .limits = { 1, 99 } },
				     &f->arena, &s, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(pack_folder(in(f, "one"), f->fd,
				     &(struct pack_opts){ .limits = { 9, 15 } },
				     &f->arena, &s, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

/* ---- what a hostile archive cannot do ---- */

static int to_fd(void *ctx, const void *data, size_t len, struct error *err)
{
	return file_write_fd(*(int *)ctx, data, len, "archive", err);
}

/* Entries with one byte for each file, as an archive in f->fd; its digest. */
static const char *archive_of(struct fixture *f, const struct tar_entry *entries,
			      size_t n, bool end)
{
	cleanup_buf struct buf tar = { .max = 1 << 20 }, all = { .max = 1 << 20 };
	cleanup_zstd_writer struct zstd_writer *z = NULL;
	const struct zstd_sink to = { to_fd, &f->fd };
	char hex[DIGEST_HEX_SIZE];
	struct error err = { 0 };
	static const char zeros[1024];

	for (size_t i = 0; i < n; i++) {
		tar_header(&tar, &entries[i]);
		if (entries[i].size) {
			buf_adds(&tar, "x");
			buf_add(&tar, zeros, 511);
		}
	}
	if (end)
		buf_add(&tar, zeros, sizeof(zeros));
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	assert_int_equal(zstd_writer_new(&z, 3, (int64_t)tar.len, &to, &err), 0);
	assert_int_equal(zstd_write(z, tar.data, tar.len, &err), 0);
	assert_int_equal(zstd_finish(z, &err), 0);
	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	assert_int_equal(file_read_fd(&all, f->fd, "archive", &err), 0);
	digest_hex_of(DIGEST_SHA256, all.data, all.len, hex);
	return arena_strdup(&f->arena, hex);
}

#define FILE_AT(p)                     \
	{                              \
		.path = (p), .size = 1 \
	}
#define LINK_AT(p, t)                                        \
	{                                                    \
		.path = (p), .type = TAR_LINK, .target = (t) \
	}
#define FOLDER_AT(p)                            \
	{                                       \
		.path = (p), .type = TAR_FOLDER \
	}

static void test_hostile(void **state)
{
	static const struct {
		struct tar_entry entries[3];
		bool fits;
	} rows[] = {
		{ { FILE_AT("a") }, true },
		{ { FILE_AT("a/b/c") }, true },
		{ { LINK_AT("d/l", "../a"), FILE_AT("a") }, true },
		{ { FILE_AT("../evil") }, false },
		{ { FILE_AT("a/../../evil") }, false },
		{ { FILE_AT("/tmp/evil") }, false },
		{ { FILE_AT("") }, false },
		{ { FILE_AT("a//b") }, false },
		{ { FILE_AT("./a") }, false },
		{ { FILE_AT("a\n") }, false },
		{ { FILE_AT(PACK_MARKER) }, false },
		{ { LINK_AT("l", "/etc") }, false },
		{ { LINK_AT("l", "..") }, false },
		{ { LINK_AT("l", "") }, false },
		{ { LINK_AT("d/l", "../..") }, false },
		{ { LINK_AT("l", "."), LINK_AT("m", "l/..") }, false },
		{ { FOLDER_AT("d"), LINK_AT("l", "d"), FILE_AT("l/evil") }, false },
		{ { FILE_AT("a"), FILE_AT("a") }, false },
		{ { FILE_AT("a"), LINK_AT("a", "b") }, false },
		{ { LINK_AT("a", "b"), FILE_AT("a") }, false },
		{ { FILE_AT("a"), FILE_AT("a/b") }, false },
	};
	struct fixture *f = *state;
	struct error err;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		size_t n = 0;
		const char *digest, *to = arena_printf(&f->arena, "to%zu/x", i);
		char name[40];

		while (n < 3 && rows[i].entries[n].path)
			n++;
		snprintf(name, sizeof(name), "row %zu", i);
		digest = archive_of(f, rows[i].entries, n, true);
		check_int(name, unpack(f, to, digest, &err), rows[i].fits ? 0 : -1);
		check_int(name,
			  access(in(f, arena_printf(&f->arena, "to%zu/evil", i)), F_OK),
			  -1);
		check_int(name,
			  access(in(f, arena_printf(&f->arena, "%s/d/evil", to)), F_OK),
			  -1);
		assert_int_equal(access("/tmp/evil", F_OK), -1);
	}
}

/* What failed leaves nothing behind, not even what fitted. */
static void assert_empty(struct fixture *f, const char *name)
{
	DIR *d = opendir(in(f, name));
	const struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			fail_msg("%s/%s is left", name, e->d_name);
	closedir(d);
}

static void test_bombs_and_broken(void **state)
{
	static const struct tar_entry two[] = { FILE_AT("a"), FILE_AT("b") };
	static const struct tar_entry much[] = { { .path = "big",
						   .size = (int64_t)1 << 50 } };
	struct fixture *f = *state;
	struct error err;
	const char *digest;
	bool done;

	digest = archive_of(f, two, 2, true);
	assert_int_equal(unpack_with(f, "n", digest,
				     (struct pack_limits){ .entries = 1, .bytes = 9 },
				     &done, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(unpack_with(f, "m", digest,
				     (struct pack_limits){ .entries = 9, .bytes = 1 },
				     &done, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_empty(f, "n");
	assert_empty(f, "m");
	assert_int_equal(unpack(f, "w", "0123", &err), -1);
	assert_non_null(strstr(err.msg, "SHA-256"));
	assert_int_equal(access(in(f, "w"), F_OK), -1);
	digest = archive_of(f, much, 1, true);
	assert_int_equal(unpack(f, "big", digest, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	digest = archive_of(f, two, 2, false);
	assert_int_equal(unpack(f, "cut", digest, &err), -1);
	assert_non_null(strstr(err.msg, "truncated"));
	assert_empty(f, "big");
	assert_empty(f, "cut");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_equal_folders_equal_bytes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tar_reads_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ignored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pack_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bombs_and_broken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
