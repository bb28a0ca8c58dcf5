/*
 * Other threads run until the process is gone, so that the allocator must not unmap memory
 * of threads that have ended when main() returns: they read it to find free memory.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/xmalloc.h"
#include "tests/unit/base/base_test.h"

enum { THREADS = 20, PAGE = 4096 };

static void *blocks[THREADS];
static pthread_barrier_t all_have_one;
static bool in_child;

static void *allocate(void *block)
{
	*(void **)block = xmalloc(1000);
	pthread_barrier_wait(&all_have_one);
	free(*(void **)block);
	return NULL;
}

static bool is_mapped(const void *p)
{
	return !msync((void *)((uintptr_t)p & ~(uintptr_t)(PAGE - 1)), 1, MS_ASYNC);
}

/* After the functions of atexit(), of which the allocator's is the last. */
__attribute__((destructor)) static void check_blocks(void)
{
	for (int i = 0; in_child && i < THREADS; i++)
		if (!is_mapped(blocks[i]))
			_exit(1);
}

static _Noreturn void end_after_threads(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_have_one, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, allocate, &blocks[i]))
			_exit(2);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	in_child = true;
	exit(0);
}

TEST(exit_while_threads_run)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		end_after_threads();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

RUN_TESTS(NULL, NULL)
