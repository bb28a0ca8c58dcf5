/*
 * A target's manifest.jsonl of any bytes. Whatever it says, a run that lists nothing removes
 * only files below the target that a head of the same source names with their size and
 * time of change; and what is added is known when it is read again.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "store/ledger.h"
#include "tests/fuzz/fuzz.h"

#define SOURCE "https://h/x"

enum { N_FILES = 3 };
/* One byte each, changed 1 s after 1970: an entry can fit them. The first is outside. */
static const char *const paths[N_FILES] = { "../outside", "a", "d/b" };

static char dir[] = "/tmp/kft-fuzz-ledger-XXXXXX";
static int top = -1;

static void remove_dir(void)
{
	FUZZ_CHECK(!dir_remove(dir, IGNORED));
}

static void make(int at, const char *path, const void *data, size_t len)
{
	static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	FUZZ_CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	FUZZ_CHECK(!futimens(fd, times));
	close(fd);
}

static struct target make_target(const void *manifest, size_t len)
{
	struct target t = { .path = "fuzz", .lock = -1 };

	if (top < 0) {
		FUZZ_CHECK(mkdtemp(dir) && !atexit(remove_dir));
		top = open(dir, O_RDONLY | O_DIRECTORY);
		FUZZ_CHECK(top >= 0 && !mkdirat(top, "to", 0755) &&
			   !mkdirat(top, "to/" TARGET_STATE, 0755));
	}
	t.root = openat(top, "to", O_RDONLY | O_DIRECTORY);
	t.state = openat(top, "to/" TARGET_STATE, O_RDONLY | O_DIRECTORY);
	FUZZ_CHECK(t.root >= 0 && t.state >= 0);
	mkdirat(t.root, "d", 0755);
	for (int i = 0; i < N_FILES; i++)
		make(t.root, paths[i], "x", 1);
	make(t.state, "manifest.jsonl", manifest, len);
	unlinkat(t.state, "fetched.jsonl", 0);
	return t;
}

static bool exists(const struct target *t, const char *path)
{
	return !faccessat(t->root, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct store_listing nothing = { 0 };
	const struct store_object o = { .path = "a", .size = 1, .etag = "\"1\"" };
	struct target t = make_target(data, size);
	struct error err = { 0 };
	struct ledger l;
	struct stat st;
	size_t n = 0;

	FUZZ_CHECK(!ledger_open(&l, &t, SOURCE, &err));
	FUZZ_CHECK(!ledger_drop_stale(&l, &nothing, &n, &err));
	FUZZ_CHECK(exists(&t, paths[0]));
	for (int i = 1; i < N_FILES; i++)
		FUZZ_CHECK(exists(&t, paths[i]) ||
			   (n && memmem(data, size, "source", 6) &&
			    memmem(data, size, "path", 4)));
	make(t.root, "a", "x", 1);
	FUZZ_CHECK(!target_stat(&t, "a", &st, &err));
	FUZZ_CHECK(!ledger_add(&l, &o, &st, &err) && ledger_has(&l, &o, &st));
	ledger_close(&l);
	FUZZ_CHECK(!ledger_open(&l, &t, SOURCE, &err));
	FUZZ_CHECK(ledger_has(&l, &o, &st));
	ledger_close(&l);
	close(t.root);
	close(t.state);
	return 0;
}
