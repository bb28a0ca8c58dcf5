#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "tests/unit/base/base_test.h"

static char dir[] = "/tmp/kftrainer-test-XXXXXX";

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	struct error err = { 0 };

	return dir_remove(dir, &err);
}

TEST(test_write_then_read)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf b = { .max = 100 };
	char *path = path_join(&a, dir, "file");
	struct error err = { 0 };
	struct stat st;

	assert_false(file_exists(path));
	assert_int_equal(file_write(path, "one", 3, 0600, &err), 0);
	assert_int_equal(file_write(path, "two!", 4, 0640, &err), 0);
	assert_int_equal(file_read(&b, path, &err), 0);
	assert_string_equal(b.data, "two!");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

TEST(test_reading_stops_at_the_limit)
{
	cleanup_buf struct buf b = { .max = 1000 };
	struct error err = { 0 };

	assert_int_equal(file_read(&b, "/dev/zero", &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.msg, "/dev/zero: over 1000 bytes");
}

TEST(test_messages_name_the_path)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf b = { .max = 1000 };
	struct error err = { 0 };
	char *under_file = path_join(&a, dir, "plain/x");

	assert_int_equal(file_read(&b, "/nowhere/x", &err), -1);
	assert_string_equal(err.msg, "/nowhere/x: No such file or directory");
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(file_read(&b, dir, &err), -1);
	assert_true(str_ends(err.msg, ": Is a directory"));
	assert_int_equal(file_write("/nowhere/x", "", 0, 0600, &err), -1);
	assert_string_equal(err.msg, "/nowhere/x: No such file or directory");
	assert_int_equal(file_write(path_join(&a, dir, "plain"), "", 0, 0600, &err), 0);
	assert_int_equal(dir_make(under_file, 0700, &err), -1);
	assert_true(str_ends(err.msg, "plain: Not a directory"));
}

/* /dev/full stands for a disk without room. */
TEST(test_full_disk)
{
	cleanup_fd int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct error err = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(file_write_fd(fd, "x", 1, "state.json", &err), -1);
	assert_string_equal(err.msg, "state.json: No space left on device");
	assert_int_equal(err.code, ENOSPC);
}

/* A file cannot take the place of a folder: what was written first is gone again. */
TEST(test_a_failed_write_leaves_nothing)
{
	cleanup_arena struct arena a = { 0 };
	char *target = path_join(&a, dir, "folder");
	struct error err = { 0 };

	assert_int_equal(dir_make(path_join(&a, target, "x"), 0700, &err), 0);
	assert_int_equal(file_write(target, "x", 1, 0600, &err), -1);
	assert_int_equal(dir_remove(path_join(&a, target, "x"), &err), 0);
	assert_int_equal(rmdir(target), 0);
	assert_int_equal(dir_remove(dir, &err), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
}

TEST(test_folders)
{
	cleanup_arena struct arena a = { 0 };
	char *deep = path_join(&a, dir, "a/b//c/");
	struct error err = { 0 };

	assert_int_equal(dir_make(deep, 0700, &err), 0);
	assert_int_equal(dir_make(deep, 0700, &err), 0);
	assert_true(file_exists(path_join(&a, dir, "a/b/c")));
	assert_int_equal(symlink("/etc", path_join(&a, dir, "a/link")), 0);
	assert_int_equal(dir_remove(path_join(&a, dir, "a"), &err), 0);
	assert_false(file_exists(path_join(&a, dir, "a")));
	assert_true(file_exists("/etc/passwd"));
	assert_int_equal(dir_remove(path_join(&a, dir, "a"), &err), 0);
}

TEST(test_deep_folders_are_removed)
{
	cleanup_arena struct arena a = { 0 };
	char *top = path_join(&a, dir, "deep"), *deep = top;
	struct error err = { 0 };

	for (int i = 0; i < 200; i++)
		deep = path_join(&a, deep, "d");
	assert_int_equal(dir_make(deep, 0700, &err), 0);
	assert_int_equal(dir_remove(top, &err), 0);
	assert_false(file_exists(top));
}

/* Directories that deny their owner to read or to change them: those of overlayfs, of Go. */
TEST(test_denied_folders_are_removed)
{
	cleanup_arena struct arena a = { 0 };
	char *top = path_join(&a, dir, "denied"), *closed = path_join(&a, top, "closed"),
	     *fixed = path_join(&a, top, "fixed"), *listed = path_join(&a, top, "listed");
	struct error err = { 0 };
	int rc;

	assert_int_equal(dir_make(path_join(&a, closed, "x/y"), 0700, &err), 0);
	assert_int_equal(dir_make(path_join(&a, fixed, "x"), 0700, &err), 0);
	assert_int_equal(dir_make(path_join(&a, listed, "x/y"), 0700, &err), 0);
	assert_int_equal(chown(listed, 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(
		chown(path_join(&a, listed, "x"), 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(chmod(listed, 0400), 0);
	assert_int_equal(chown(top, 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(chown(dir, 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(chown(closed, 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(chown(fixed, 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(chown(path_join(&a, fixed, "x"), 65534, 65534) && geteuid() == 0,
			 0);
	assert_int_equal(
		chown(path_join(&a, closed, "x"), 65534, 65534) && geteuid() == 0, 0);
	assert_int_equal(chmod(closed, 0), 0);
	assert_int_equal(chmod(fixed, 0555), 0);
	rc = geteuid() == 0 ? seteuid(65534) : 0; /* root is denied nothing */
	assert_int_equal(rc, 0);
	rc = dir_remove(top, &err);
	assert_int_equal(getuid() == 0 ? seteuid(0) : 0, 0);
	assert_int_equal(rc, 0);
	assert_false(file_exists(top));
}

TEST(test_paths)
{
	cleanup_arena struct arena a = { 0 };

	assert_string_equal(path_join(&a, "a", "b"), "a/b");
	assert_string_equal(path_join(&a, "a/", "b"), "a/b");
	assert_string_equal(path_join(&a, "", "b"), "b");
	assert_string_equal(path_join(&a, "a", "/b"), "/b");
	assert_string_equal(path_join(&a, "/", "b"), "/b");
	assert_string_equal(path_base("a/b"), "b");
	assert_string_equal(path_base("b"), "b");
	assert_string_equal(path_dir(&a, "a/b"), "a");
	assert_string_equal(path_dir(&a, "b"), ".");
	assert_string_equal(path_dir(&a, "/b"), "/");
	assert_string_equal(path_below("/a/b", "/a"), "/b");
	assert_string_equal(path_below("/a", "/"), "/a");
	assert_null(path_below("/a", "/a"));
	assert_null(path_below("/ab", "/a"));
	assert_null(path_below("/", "/"));
}

TEST(test_first_line)
{
	static const char *const rows[][2] = {
		{ "one\ntwo\n", "one" }, { "one", "one" }, { "\ntwo", "" }, { "", "" }
	};
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, dir, "lines");
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_int_equal(
			file_write(path, rows[i][0], strlen(rows[i][0]), 0600, &err), 0);
		assert_string_equal(file_first_line(&a, path), rows[i][1]);
	}
	assert_string_equal(file_first_line(&a, "/nowhere/x"), "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(file_first_line(&a, path), ""); /* and does not wait */
	assert_int_equal(unlink(path), 0);
}

/* The same bytes at the same path, but of a file that somebody else can change later. */
TEST(test_reopen)
{
	char path[] = "/tmp/kftrainer-reopen-XXXXXX",
	     other[] = "/tmp/kftrainer-other-XXXXXX";
	int fd = mkstemp(path), theirs = mkstemp(other), reading = -1;
	struct error err = { 0 };

	assert_true(fd >= 0 && theirs >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(write(theirs, "x", 1), 1);
	assert_int_equal(file_reopen(&reading, fd, path, &err), 0);
	assert_int_equal(write(reading, "y", 1), -1);
	close(reading);
	reading = -1;
	if (!geteuid()) {
		assert_int_equal(fchown(fd, 65534, 65534), 0);
		assert_int_equal(file_reopen(&reading, fd, path, &err), -1);
		assert_non_null(strstr(err.msg, "is owned by user 65534, not by 0"));
		assert_int_equal(fchown(fd, 0, 0), 0);
	}
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(file_reopen(&reading, fd, path, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.msg, "was replaced by a file of user"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(file_reopen(&reading, fd, path, &err), -1);
	assert_int_equal(err.code, ELOOP);
	assert_int_equal(reading, -1);
	unlink(path);
	close(fd);
	close(theirs);
}

RUN_TESTS(make_dir, remove_dir)
