/* Checks relative paths from elsewhere: relpath.h. */
#include "base/relpath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_PART = 255, MAX_PATH_LENGTH = 4096 };

/* NULL, or what is wrong with a part of a path. */
static const char *part_refusal(const char *part, size_t len)
{
	if (!len)
		return "empty component";
	if (len > MAX_PART)
		return "component exceeds 255 bytes";
	if (len == 1 && *part == '.')
		return "contains '.'";
	if (len == 2 && !memcmp(part, "..", 2))
		return "contains '..'";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)part[i] < ' ' || part[i] == 0x7f)
			return "contains a control character";
	return NULL;
}

int relpath_check(const char *path, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t len = strlen(path);
	const char *why = NULL;

	if (*path == '/')
		why = "absolute path";
	else if (len > MAX_PATH_LENGTH)
		why = "exceeds 4096 bytes";
	else if (!utf8_valid(path, len))
		why = "not UTF-8";
	for (const char *part = path; !why && part;) {
		size_t n = strcspn(part, "/");

		why = part_refusal(part, n);
		part = part[n] ? part + n + 1 : NULL;
	}
	if (!why)
		return 0;
	return error_set(err, ERR_INVALID, "invalid file name '%.300s': %s",
			 str_visible(&arena, path, false), why);
}

/* One part of the path after the other. */
static int walk(int root, const char *path, int flags)
{
	cleanup_arena struct arena arena = { 0 };
	char **parts = str_split(&arena, path, '/', NULL);
	int at = fcntl(root, F_DUPFD_CLOEXEC, 3);

	for (; at >= 0 && *parts; parts++) {
		int how = parts[1] ? O_PATH | O_DIRECTORY : flags, next;

		if (!**parts || str_eq(*parts, ".."))
			errno = EXDEV;
		next = !**parts || str_eq(*parts, "..")
			       ? -1
			       : openat(at, *parts, how | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	return at;
}

int relpath_open(int root, const char *path, int flags, bool links)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
					   (links ? 0 : RESOLVE_NO_SYMLINKS) };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 && errno == ENOSYS ? walk(root, path, flags) : fd;
}
