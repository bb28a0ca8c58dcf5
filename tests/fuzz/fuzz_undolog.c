/*
 * A run's record of what it has made elsewhere, of any bytes: only links with the recorded
 * target and empty directories are removed, never a file, a directory with contents or a
 * link that leads elsewhere. Each '/' of the input begins the path of the test's directory.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/undolog.h"
#include "tests/fuzz/fuzz.h"

static char top[] = "/tmp/kft-fuzz-undolog-XXXXXX";
static bool made;

static void remove_top(void)
{
	FUZZ_CHECK(!dir_remove(top, IGNORED));
}

static const char *at(struct arena *a, const char *name)
{
	return path_join(a, top, name);
}

static void make(struct arena *a)
{
	if (!made)
		FUZZ_CHECK(mkdtemp(top) && !atexit(remove_top));
	made = true;
	mkdir(at(a, "run"), 0700);
	mkdir(at(a, "full"), 0700);
	mkdir(at(a, "empty"), 0700);
	close(open(at(a, "full/file"), O_WRONLY | O_CREAT, 0600));
	close(open(at(a, "file"), O_WRONLY | O_CREAT, 0600));
	unlink(at(a, "link"));
	unlink(at(a, "other"));
	FUZZ_CHECK(!symlink("target", at(a, "link")));
	FUZZ_CHECK(!symlink("elsewhere", at(a, "other")));
}

static bool exists(struct arena *a, const char *name)
{
	struct stat st;

	return !lstat(at(a, name), &st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf text = { .max = 4 << 20 };
	struct error err = { 0 };

	make(&a);
	for (size_t i = 0; i < size && text.len < 65536; i++)
		if (data[i] == '/')
			buf_printf(&text, "%s/", top);
		else
			buf_add(&text,
				i && data[i] == '.' ? (const void *)"_"
						    : (const void *)&data[i],
				1);
	FUZZ_CHECK(!file_write(at(&a, "run/leftovers"),
			       text.data ? (char *)text.data : "", text.len, 0600, &err));
	undolog_run(at(&a, "run"));
	FUZZ_CHECK(exists(&a, "file") && exists(&a, "full/file") && exists(&a, "other"));
	if (!exists(&a, "link"))
		FUZZ_CHECK(strstr((char *)text.data, "\ttarget"));
	return 0;
}
