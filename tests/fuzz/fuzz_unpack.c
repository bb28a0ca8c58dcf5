/*
 * Archives from outside, unpacked on a file system: only files, directories and links that
 * stay inside come out of one, nothing beside the directory changes, and what is there is
 * an archive again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/zstd.h"
#include "crypto/digest.h"
#include "pack/pack.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ENTRIES = 200, MAX_BYTES = 1 << 20 };

static int put(void *ctx, const void *data, size_t len, struct error *err)
{
	const int *fd = ctx;

	return file_write_fd(*fd, data, len, "archive", err);
}

/* The bytes as a zstd frame, and its digest. */
static int archive_of(const uint8_t *data, size_t size, char digest[DIGEST_HEX_SIZE])
{
	int fd = memfd_create("archive", MFD_CLOEXEC);
	const struct zstd_sink sink = { put, &fd };
	cleanup_zstd_writer struct zstd_writer *w = NULL;
	struct error err = { 0 };
	void *bytes;
	size_t len;

	FUZZ_CHECK(!zstd_writer_new(&w, 1, (int64_t)size, &sink, &err));
	FUZZ_CHECK(!zstd_write(w, data, size, &err) && !zstd_finish(w, &err));
	len = (size_t)lseek(fd, 0, SEEK_END);
	bytes = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	FUZZ_CHECK(bytes != MAP_FAILED);
	digest_hex_of(DIGEST_SHA256, bytes, len, digest);
	munmap(bytes, len);
	return fd;
}

/* Everything below `dir` is of a kind that may be there. */
static int64_t walk(const char *dir, int depth)
{
	cleanup_arena struct arena arena = { 0 };
	DIR *d = opendir(dir);
	const struct dirent *e;
	int64_t n = 0;

	FUZZ_CHECK(d);
	while ((e = readdir(d))) {
		const char *path = path_join(&arena, dir, e->d_name);
		char target[4097] = "";
		struct stat st;

		if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
			continue;
		FUZZ_CHECK(!lstat(path, &st));
		FUZZ_CHECK(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
			   S_ISLNK(st.st_mode));
		FUZZ_CHECK(S_ISLNK(st.st_mode) || !(st.st_mode & 07022));
		if (S_ISLNK(st.st_mode)) {
			FUZZ_CHECK(readlink(path, target, sizeof(target) - 1) > 0);
			FUZZ_CHECK(pack_link_stays(target, depth));
		}
		n += 1 + (S_ISDIR(st.st_mode) ? walk(path, depth + 1) : 0);
	}
	closedir(d);
	return n;
}

static void check_unpacked(const char *to, const struct pack_summary *s)
{
	cleanup_fd int fd = memfd_create("again", MFD_CLOEXEC);
	const struct pack_opts opts = { .limits = PACK_LIMITS };
	cleanup_arena struct arena arena = { 0 };
	struct pack_summary again = { 0 };
	struct error err = { 0 };

	FUZZ_CHECK(s->entries <= MAX_ENTRIES && s->bytes <= MAX_BYTES);
	FUZZ_CHECK(walk(to, 0) >= 1); /* the marker */
	if (pack_folder(to, fd, &opts, &arena, &again, &err))
		FUZZ_CHECK(err.kind && *err.msg);
	else
		FUZZ_CHECK(again.bytes <= s->bytes);
}

static void unpack(int fd, const char *dir, const char *digest)
{
	cleanup_arena struct arena arena = { 0 };
	const struct unpack_opts opts = { .to = path_join(&arena, dir, "to"),
					  .digest = digest,
					  .limits = { MAX_ENTRIES, MAX_BYTES } };
	struct pack_summary summary = { 0 };
	struct error err = { 0 };
	bool before = true;

	if (unpack_folder(fd, &opts, &summary, &before, &err)) {
		FUZZ_CHECK(err.kind && *err.msg && !strpbrk(err.msg, "\r\n\033"));
		if (file_exists(opts.to))
			walk(opts.to, 0);
	} else {
		FUZZ_CHECK(!before);
		check_unpacked(opts.to, &summary);
		FUZZ_CHECK(!unpack_folder(fd, &opts, &summary, &before, &err) && before);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char dir[] = "/tmp/fuzz-unpack-XXXXXX", digest[DIGEST_HEX_SIZE];
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int fd = archive_of(data, size, digest);
	cleanup_buf struct buf canary = { .max = 100 };
	struct error err = { 0 };
	const char *beside;

	umask(022);
	FUZZ_CHECK(mkdtemp(dir));
	beside = path_join(&arena, dir, "beside");
	FUZZ_CHECK(!file_write(beside, "canary", 6, 0600, &err));
	unpack(fd, dir, digest);
	FUZZ_CHECK(!file_read(&canary, beside, &err));
	FUZZ_CHECK(str_eq((const char *)canary.data, "canary"));
	FUZZ_CHECK(!unlink(beside) && (!file_exists(path_join(&arena, dir, "to")) ||
				       !dir_remove(path_join(&arena, dir, "to"), &err)));
	FUZZ_CHECK(!rmdir(dir)); /* nothing else is there */
	return 0;
}
