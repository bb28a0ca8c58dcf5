/* Starts threads, waits on conditions: thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
enum { STACK = 2048 * 1024 };
#else
enum { STACK = 1024 * 1024 };
#endif

int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx, struct error *err)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_create(ret, &attr, run, ctx);
	pthread_attr_destroy(&attr);
	return rc ? error_errno(err, rc, "starting a thread") : 0;
}

int thread_start_quiet(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
		       struct error *err)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = thread_start(ret, run, ctx, err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until)
{
	struct timespec t = { .tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000 };

	if (until >= 0)
		return pthread_cond_timedwait(cond, mutex, &t) != ETIMEDOUT;
	pthread_cond_wait(cond, mutex);
	return true;
}
