/* Asks a terminal for its size: terminal.h. */
#include "base/terminal.h"

#include <sys/ioctl.h>

int terminal_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

int terminal_rows(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}
