#include "store/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

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

int beneath_open(int root, const char *path, int flags, bool links)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
					   (links ? 0 : RESOLVE_NO_SYMLINKS) };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 && errno == ENOSYS ? walk(root, path, flags) : fd;
}
