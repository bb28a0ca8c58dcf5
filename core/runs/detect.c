/* detect.c - the table of libraries, and fingerprints of files (runs/detect.h). */
#include "runs/detect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runs/checkpoint.h"

static const struct {
	const char *starts, *ends; /* of the name */
	const char *last; /* the file in it that is written last; NULL: it is one */
	bool whole;       /* nothing of this node is written after it */
} table[] = {
	{ "checkpoint-", "", "trainer_state.json", true },
	{ "", "", ".metadata", true },
	{ "", "", "random_states_0.pkl", false },
	{ "", ".ckpt", NULL, false },
};

#define SHARDED_CKPT "meta.pt" /* Lightning writes it after .metadata */
/* The Trainer creates it after TERM, and removes it once all is saved
 * (trainer_jit_checkpoint.py). */
#define INCOMPLETE "checkpoint-is-incomplete.txt"

static int64_t ns_of(const struct stat *st)
{
	return st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
}

static bool is_temporary(const char *name)
{
	static const char *const starts[] = { ".", "tmp", "_tmp", "~", NULL };
	static const char *const ends[] = { ".tmp",  ".part", ".partial", ".incomplete",
					    ".lock", "~",     NULL };

	for (size_t i = 0; starts[i]; i++)
		if (str_starts(name, starts[i]))
			return true;
	for (size_t i = 0; ends[i]; i++)
		if (str_ends(name, ends[i]))
			return true;
	return !checkpoint_name_valid(name);
}

static bool has_file(int dir, const char *name, const char *file, struct stat *ret)
{
	cleanup_fd int fd =
		openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && !fstatat(fd, file, ret, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(ret->st_mode) && ret->st_size;
}

/* Sets *ret to that of the row's last file. */
static bool is_row(int dir, const char *name, size_t row, struct stat *ret)
{
	if (!str_starts(name, table[row].starts) || !str_ends(name, table[row].ends))
		return false;
	if (!table[row].last)
		return !fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) &&
		       S_ISREG(ret->st_mode) && ret->st_size;
	return has_file(dir, name, table[row].last, ret);
}

bool detect_finished(int dir, const char *name, bool renamed)
{
	struct stat st;

	if (is_temporary(name) || has_file(dir, name, INCOMPLETE, &st))
		return false;
	for (size_t i = 0; i < N_ELEMENTS(table); i++)
		if (is_row(dir, name, i, &st))
			return true;
	return renamed;
}

bool detect_whole(int dir, const char *name, bool renamed)
{
	struct stat st;

	if (renamed)
		return true;
	for (size_t i = 0; i < N_ELEMENTS(table); i++)
		if (table[i].whole && is_row(dir, name, i, &st))
			return !str_ends(name, ".ckpt") ||
			       has_file(dir, name, SHARDED_CKPT, &st);
	return false;
}

/* FNV-1a; sums of it do not depend on the order of names. */
static uint64_t hash(const void *data, size_t len, uint64_t h)
{
	for (const unsigned char *p = data; len--; p++)
		h = (h ^ *p) * 0x100000001b3;
	return h;
}

bool detect_is_part(const char *name)
{
	static const char *const none[] = { ".", "..", ".kftrainer", INCOMPLETE };

	for (size_t i = 0; i < N_ELEMENTS(none); i++)
		if (str_eq(name, none[i]))
			return false;
	return true;
}

bool detect_is_file(int dir, const char *name, int depth, struct stat *st)
{
	struct stat to;

	if (depth && S_ISLNK(st->st_mode) && !fstatat(dir, name, &to, 0) &&
	    S_ISREG(to.st_mode))
		*st = to;
	return S_ISREG(st->st_mode);
}

static uint64_t fingerprint_of(int dir, const char *name, int depth, struct detected *ret)
{
	uint64_t h = hash(name, strlen(name), 0xcbf29ce484222325), sum = 0;
	const struct dirent *e;
	struct stat st;
	int64_t ns;
	DIR *list;
	int fd;

	if (depth > DETECT_MAX_DEPTH || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (detect_is_file(dir, name, depth, &st)) {
		ns = ns_of(&st);
		ret->newest = ns > ret->newest ? ns : ret->newest;
		ret->files++;
		ret->single = !depth;
		h = hash(&st.st_size, sizeof(st.st_size), h);
		return hash(&st.st_mtim, sizeof(st.st_mtim), hash(&st.st_ino, 8, h)) | 1;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	list = fd >= 0 ? fdopendir(fd) : NULL;
	if (!list) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(list)))
		if (detect_is_part(e->d_name))
			sum += fingerprint_of(fd, e->d_name, depth + 1, ret);
	closedir(list);
	return hash(&sum, sizeof(sum), h) | 1;
}

uint64_t detect_fingerprint(int dir, const char *name, struct detected *ret)
{
	struct stat st;

	*ret = (struct detected){ 0 };
	for (size_t i = 0; i < N_ELEMENTS(table); i++)
		if (table[i].last && is_row(dir, name, i, &st))
			ret->finished = ns_of(&st);
	ret->incomplete = has_file(dir, name, INCOMPLETE, &st);
	return fingerprint_of(dir, name, 0, ret);
}

void detect_each(int dir, void (*each)(void *ctx, const char *name), void *ctx)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;

	if (!list)
		return;
	while ((d = readdir(list)))
		if (*d->d_name != '.')
			each(ctx, d->d_name);
	closedir(list);
}
