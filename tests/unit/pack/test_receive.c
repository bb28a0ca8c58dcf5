/*
 * A directory becomes what a manifest says: what is asked for, what is swapped, and what a hostile list or
 * stream cannot do.
 */
#include "pack/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "tests/unit/base/base_test.h"

struct fixture {
	struct arena arena;
	char dir[64]; /* with `from`, of the sender, and `to` */
	struct received r;
	pthread_t thread;
	int fd;
	char answers[400]; /* "N0,2 E K" */
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

static const char *get(struct fixture *f, const char *path)
{
	struct buf text = { .max = 4096 };
	const char *ret;

	if (file_read(&text, in(f, path), IGNORED))
		return NULL;
	ret = str_slice(&f->arena, text.len ? (char *)text.data : "", text.len);
	buf_release(&text);
	return ret;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = { 0 };

	memcpy(f->dir, "/tmp/test-receive-XXXXXX", 25);
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(dir_make(in(f, "from"), 0755, &err), 0);
	assert_int_equal(dir_make(in(f, "to"), 0755, &err), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };

	assert_int_equal(dir_remove(f->dir, &err), 0);
	arena_clear(&f->arena);
	free(f);
	return 0;
}

/* ---- the other end ---- */

static void *receive(void *ctx)
{
	receive_run(ctx);
	return NULL;
}

static void begin(struct fixture *f)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	f->fd = ends[0];
	f->answers[0] = 0;
	f->r = (struct received){ .dir = in(f, "to"), .fd = ends[1] };
	assert_int_equal(pthread_create(&f->thread, NULL, receive, &f->r), 0);
}

static void frame(struct fixture *f, char type, const void *data, size_t len)
{
	unsigned char bytes[FRAME_HEADER + 4096];

	receive_header(bytes, type, len);
	if (len)
		memcpy(bytes + FRAME_HEADER, data, len);
	/* In two packets: pieces of any size arrive. */
	assert_int_equal(send(f->fd, bytes, 3, MSG_NOSIGNAL), 3);
	assert_int_equal(send(f->fd, bytes + 3, FRAME_HEADER + len - 3, MSG_NOSIGNAL),
			 FRAME_HEADER + len - 3);
}

static void text(struct fixture *f, char type, const char *s)
{
	frame(f, type, s, strlen(s));
}

static void number(struct fixture *f, unsigned n)
{
	const unsigned char bytes[4] = { 0, 0, 0, (unsigned char)n };

	frame(f, 'F', bytes, 4);
}

/* Add the next answer to f->answers. */
static char hear(struct fixture *f)
{
	unsigned char packet[RECEIVE_ANSWER + 1] = { 0 };
	ssize_t n = recv(f->fd, packet, RECEIVE_ANSWER, 0);
	size_t at = strlen(f->answers);

	assert_true(n > 0);
	at += (size_t)snprintf(f->answers + at, sizeof(f->answers) - at, "%s%c",
			       at ? " " : "", packet[0]);
	if (packet[0] == '!')
		snprintf(f->answers + at, sizeof(f->answers) - at, "%s", packet + 1);
	for (ssize_t i = 1; packet[0] == 'N' && i + 4 <= n; i += 4)
		at += (size_t)snprintf(f->answers + at, sizeof(f->answers) - at, "%s%u",
				       i > 1 ? "," : "", receive_number(packet + i));
	return (char)packet[0];
}

static void hear_until(struct fixture *f, char type)
{
	while (hear(f) != type)
		;
}

static void end(struct fixture *f)
{
	shutdown(f->fd, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->fd);
	close(f->r.fd);
}

/* Send what `from` has; *err: of the swap. */
static int bring(struct fixture *f, struct error *err)
{
	const struct exclude_includes none = { 0 };
	struct buf list = { .max = MANIFEST_TEXT };
	struct manifest m;
	int rc;

	assert_int_equal(manifest_make(&list, in(f, "from"), &none, err), 0);
	assert_int_equal(manifest_parse(&m, (char *)list.data, list.len, err), 0);
	begin(f);
	frame(f, 'M', list.data, list.len);
	frame(f, 'B', NULL, 0);
	hear_until(f, 'E');
	for (size_t i = 0; i < m.n; i++) {
		if (m.list[i].type != TAR_FILE)
			continue;
		number(f, (unsigned)i); /* whether it is needed or not */
		text(f, 'D', get(f, path_join(&f->arena, "from", m.list[i].path)));
	}
	frame(f, 'G', NULL, 0);
	hear_until(f, 'K');
	end(f);
	rc = receive_swap(&f->r, err);
	receive_release(&f->r);
	manifest_release(&m);
	buf_release(&list);
	return rc;
}

static void brought(struct fixture *f, const char *answers)
{
	struct error err = { 0 };

	if (bring(f, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(f->answers, answers);
	assert_null(get(f, "to/" PACK_RECEIVED "/stage/0"));
}

/* ---- files ---- */

static void test_only_what_differs(void **state)
{
	struct fixture *f = *state;

	put(f, "from/a.py", "a", 0644);
	put(f, "from/pkg/b.py", "b", 0644);
	put(f, "from/run.sh", "c", 0755);
	brought(f, "N0,2,3 E K");
	assert_string_equal(get(f, "to/pkg/b.py"), "b");
	assert_int_equal(access(in(f, "to/run.sh"), X_OK), 0);
	brought(f, "E K");
	put(f, "from/a.py", "A", 0644);
	brought(f, "N0 E K");
	assert_string_equal(get(f, "to/a.py"), "A");
	put(f, "to/pkg/b.py", "changed by the job", 0644);
	brought(f, "N2 E K");
	assert_string_equal(get(f, "to/pkg/b.py"), "b");
	assert_int_equal(chmod(in(f, "from/a.py"), 0755), 0);
	brought(f, "N0 E K");
	assert_int_equal(access(in(f, "to/a.py"), X_OK), 0);
}

static void test_files_that_were_deleted(void **state)
{
	struct fixture *f = *state;

	put(f, "from/a.py", "a", 0644);
	put(f, "from/old/b.py", "b", 0644);
	put(f, "from/kept/c.py", "c", 0644);
	brought(f, "N0,2,4 E K");
	put(f, "to/kept/checkpoint", "of the job", 0644);
	put(f, "to/model", "of the job", 0644);
	assert_int_equal(dir_remove(in(f, "from/old"), IGNORED), 0);
	assert_int_equal(dir_remove(in(f, "from/kept"), IGNORED), 0);
	brought(f, "E K");
	assert_false(file_exists(in(f, "to/old")));
	assert_false(file_exists(in(f, "to/kept/c.py")));
	assert_string_equal(get(f, "to/kept/checkpoint"), "of the job");
	assert_string_equal(get(f, "to/model"), "of the job");
}

static void test_what_changes_its_type(void **state)
{
	struct fixture *f = *state;
	char target[20] = "";
	struct error err = { 0 };

	put(f, "from/a", "file", 0644);
	put(f, "from/b/c", "in a directory", 0644);
	put(f, "from/d", "file", 0644);
	put(f, "outside", "outside", 0644);
	brought(f, "N0,2,3 E K");
	assert_int_equal(unlink(in(f, "from/a")), 0);
	put(f, "from/a/x", "now a directory", 0644);
	assert_int_equal(dir_remove(in(f, "from/b"), IGNORED), 0);
	put(f, "from/b", "now a file", 0644);
	assert_int_equal(unlink(in(f, "from/d")), 0);
	assert_int_equal(symlink("a/x", in(f, "from/d")), 0);
	brought(f, "N1,2 E K");
	assert_string_equal(get(f, "to/a/x"), "now a directory");
	assert_string_equal(get(f, "to/b"), "now a file");
	assert_int_equal(readlink(in(f, "to/d"), target, sizeof(target) - 1), 3);
	assert_string_equal(target, "a/x");
	/* The job replaced a file by a link: the link goes, what it points to stays. */
	assert_int_equal(unlink(in(f, "to/b")), 0);
	assert_int_equal(symlink("../outside", in(f, "to/b")), 0);
	brought(f, "N2 E K");
	assert_string_equal(get(f, "to/b"), "now a file");
	assert_string_equal(get(f, "outside"), "outside");
	/* Or a directory. */
	assert_int_equal(unlink(in(f, "to/b")), 0);
	put(f, "to/b/of", "the job", 0644);
	assert_int_equal(bring(f, &err), -1);
	assert_string_equal(err.msg,
			    "b: a directory with files of the job is in its place");
	assert_int_equal(dir_remove(in(f, "to/b"), IGNORED), 0);
	assert_int_equal(dir_remove(in(f, "to/a"), IGNORED), 0);
	assert_int_equal(symlink("..", in(f, "to/a")), 0);
	brought(f, "N1,2 E K");
	assert_string_equal(get(f, "to/a/x"), "now a directory");
	assert_false(file_exists(in(f, "x")));
}

/* cpython#75953, #121376: Python takes its compiled file if second and size are equal. */
static void test_each_version_is_a_second_newer(void **state)
{
	struct fixture *f = *state;
	struct stat before, after;

	put(f, "from/a.py", "1", 0644);
	brought(f, "N0 E K");
	for (int i = 2; i < 5; i++) {
		assert_int_equal(stat(in(f, "to/a.py"), &before), 0);
		put(f, "from/a.py", (char[]){ (char)('0' + i), 0 }, 0644);
		brought(f, "N0 E K");
		assert_int_equal(stat(in(f, "to/a.py"), &after), 0);
		assert_true(after.st_mtim.tv_sec > before.st_mtim.tv_sec);
	}
}

static void test_a_workspace_that_was_unpacked(void **state)
{
	struct fixture *f = *state;
	const struct pack_opts how = { .limits = PACK_LIMITS };
	struct unpack_opts to = { .limits = PACK_LIMITS, .shared = true };
	cleanup_fd int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	struct pack_summary s;
	struct error err = { 0 };
	bool before;

	put(f, "from/a.py", "a", 0644);
	put(f, "from/gone/b.py", "b", 0644);
	assert_int_equal(pack_folder(in(f, "from"), fd, &how, &f->arena, &s, &err), 0);
	to.to = in(f, "to");
	to.digest = s.digest;
	assert_int_equal(unpack_folder(fd, &to, &s, &before, &err), 0);
	assert_int_equal(dir_remove(in(f, "from/gone"), &err), 0);
	brought(f, "E K");
	assert_false(file_exists(in(f, "to/gone")));
	assert_true(str_starts(get(f, "to/" PACK_MARKER), "unpacked "));
	assert_int_equal(unpack_folder(fd, &to, &s, &before, &err), 0);
	assert_true(before);
}

static void test_one_file(void **state)
{
	struct fixture *f = *state;
	const struct exclude_includes none = { 0 };
	cleanup_buf struct buf list = { .max = MANIFEST_TEXT };
	struct error err = { 0 };

	put(f, "from/train.py", "", 0644);
	put(f, "from/other", "", 0644);
	assert_int_equal(manifest_make(&list, in(f, "from/train.py"), &none, &err), 0);
	assert_string_equal((char *)list.data,
			    "f 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b"
			    "7852b855 train.py\n");
}

/* ---- hostile lists and streams ---- */

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_bad_lists(void **state)
{
	static const char *const bad[] = {
		"f 0 " EMPTY " a",
		"\n",
		"f\n",
		"f 0\n",
		"f -1 " EMPTY " a\n",
		"f 0 E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 a\n",
		"f 0 e3b0 a\n",
		"f 999999999999 " EMPTY " a\n",
		"f 200000000 " EMPTY " a\nf 200000000 " EMPTY " b\n",
		"z a\n",
		"d ..\n",
		"d /a\n",
		"d a/../../b\n",
		"d \n",
		"f 0 " EMPTY " \n",
		"f 0 " EMPTY " .kftrainer-workspace\n",
		"d .kftrainer-rerun\n",
		"f 0 " EMPTY " .kftrainer-rerun/socket\n",
		"l a\n",
		"l a\t/etc\n",
		"l a\t..\n",
		"l a/b\t../..\n",
		"l a\tb/../..\n",
		"l a\t\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct error err = { 0 };
		struct manifest m;

		if (!manifest_parse(&m, bad[i], strlen(bad[i]), &err))
			fail_msg("accepted: %s", bad[i]);
		assert_true(err.msg[0] != 0);
		manifest_release(&m);
	}
}

static void test_too_many_files(void **state)
{
	cleanup_buf struct buf b = { .max = MANIFEST_TEXT };
	struct error err = { 0 };
	struct manifest m;

	for (int i = 0; i <= MANIFEST_ENTRIES; i++)
		buf_printf(&b, "d d%d\n", i);
	assert_int_equal(manifest_parse(&m, (char *)b.data, b.len, &err), -1);
	assert_string_equal(err.msg, "more than 20000 files");
	manifest_release(&m);
}

#define ONE \
	"f 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad a\n" /* abc */

static void refused(struct fixture *f, const char *why)
{
	struct error err = { 0 };

	hear_until(f, '!');
	end(f);
	if (!strstr(f->answers, why))
		fail_msg("'%s' is not in '%s'", why, f->answers);
	assert_int_equal(receive_swap(&f->r, &err), -1);
	receive_release(&f->r);
	assert_false(file_exists(in(f, "to/a")));
	assert_false(file_exists(in(f, "to/" PACK_RECEIVED "/stage")));
}

static void test_bad_streams(void **state)
{
	struct fixture *f = *state;

	begin(f);
	text(f, 'D', "data of no file");
	text(f, 'z', "");
	refused(f, "unknown frame");
	begin(f);
	number(f, 0);
	refused(f, "not the number of a file");
	begin(f);
	frame(f, 'G', NULL, 0);
	refused(f, "no list of files");
	begin(f);
	text(f, 'M', ONE);
	frame(f, 'B', NULL, 0);
	frame(f, 'B', NULL, 0);
	refused(f, "a second list");
	begin(f);
	text(f, 'M', ONE);
	frame(f, 'B', NULL, 0);
	number(f, 1);
	refused(f, "not the number of a file");
	begin(f);
	text(f, 'M', ONE);
	frame(f, 'B', NULL, 0);
	frame(f, 'G', NULL, 0);
	refused(f, "a: was not sent");
	begin(f);
	text(f, 'M', ONE);
	frame(f, 'B', NULL, 0);
	number(f, 0);
	text(f, 'D', "abcd");
	refused(f, "a: changed while it was sent");
	begin(f);
	text(f, 'M', ONE);
	frame(f, 'B', NULL, 0);
	number(f, 0);
	text(f, 'D', "abd");
	frame(f, 'G', NULL, 0);
	refused(f, "a: changed while it was sent");
	begin(f);
	assert_int_equal(send(f->fd, "M\377\377\377\377", 5, 0), 5);
	refused(f, "invalid frame");
}

static void test_a_sender_that_leaves_changes_nothing(void **state)
{
	struct fixture *f = *state;

	begin(f);
	text(f, 'M', ONE);
	frame(f, 'B', NULL, 0);
	hear_until(f, 'E');
	number(f, 0);
	text(f, 'D', "ab");
	end(f);
	assert_false(f->r.staged);
	receive_release(&f->r);
	assert_false(file_exists(in(f, "to/a")));
	assert_false(file_exists(in(f, "to/" PACK_RECEIVED "/stage")));
}

static void test_arguments(void **state)
{
	struct fixture *f = *state;

	begin(f);
	frame(f, 'A', "--lr\0", 5);
	frame(f, 'A', "1\0", 2);
	text(f, 'M', "d a\n");
	frame(f, 'B', NULL, 0);
	frame(f, 'G', NULL, 0);
	hear_until(f, 'K');
	end(f);
	assert_int_equal(f->r.args.len, 7);
	assert_memory_equal(f->r.args.data, "--lr\0001\0", 7);
	receive_release(&f->r);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_only_what_differs),
		CASE(test_files_that_were_deleted),
		CASE(test_what_changes_its_type),
		CASE(test_each_version_is_a_second_newer),
		CASE(test_a_workspace_that_was_unpacked),
		CASE(test_one_file),
		CASE(test_bad_lists),
		CASE(test_too_many_files),
		CASE(test_bad_streams),
		CASE(test_a_sender_that_leaves_changes_nothing),
		CASE(test_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
