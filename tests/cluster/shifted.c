/*
 * shifted.c - linked into build/kftrainer-shifted before the C library's clocks: the
 * wall clock is as many seconds off as the file $SHIFTED_CLOCK says, from one moment
 * to the next. The monotonic clock stays. There is no namespace for the wall clock.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_gettimeofday(struct timeval *t, void *zone);
time_t __wrap_time(time_t *t);

static long shift(void)
{
	const char *path = getenv("SHIFTED_CLOCK");
	char text[32] = "";
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strtol(text, NULL, 10);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = __real_clock_gettime(id, t);

	if (!rc && id == CLOCK_REALTIME)
		t->tv_sec += shift();
	return rc;
}

int __wrap_gettimeofday(struct timeval *t, void *zone)
{
	struct timespec now;

	__wrap_clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t __wrap_time(time_t *t)
{
	struct timespec now;

	__wrap_clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
