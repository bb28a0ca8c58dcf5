/* termination_message.c - write a termination message (cmd/ui/termination_message.h). */
#include "cmd/ui/termination_message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void termination_message(const char *text)
{
	cleanup_fd int fd = open("/dev/termination-log", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "/dev/termination-log: %s\n", strerror(errno));
}
