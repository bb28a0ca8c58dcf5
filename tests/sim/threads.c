/* threads.c - coroutines in the place of threads (threads.h). */
#include "tests/sim/threads.h"
#include "tests/sim/disk.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum {
	STACK = 256 * 1024,
	FIRST_FD = 100000, /* of eventfd() and timerfd_create() here */
	FDS = 4096,
	EPOCH = 1700000000, /* of the wall clock, at the start */
};

/* Only some worlds have a disk. */
#pragma weak disk_has
#pragma weak disk_read
#pragma weak disk_write
#pragma weak disk_close

struct process {
	struct sim *sim;
	bool dead, stops;
	int stop_fd;
	int64_t frozen_until;
};

struct thread {
	struct process *process;
	void *sp;
	void *(*run)(void *ctx);
	void *ctx;
	const void *waits_for; /* NULL: for its turn */
	unsigned waits;        /* how often it has waited */
	bool woken, ended;
	int64_t slow_ms, least_ms;
	struct thread *next; /* all that ever were */
};

/* A wait that ends at a time. */
struct turn {
	struct thread *t;
	unsigned waits;
};

static struct thread *all, *running;
static void *main_sp;
static struct {
	uint64_t count;
	int64_t due; /* of a timer, in clock_ms(); 0: none */
} fds[FDS];
static int n_fds;

static int new_fd(void)
{
	if (n_fds == FDS)
		abort();
	return FIRST_FD + n_fds++;
}

/* ---- stacks ---- */

void switch_stack(void **save, void *to);
#if defined(__x86_64__)
__asm__(".text\n.globl switch_stack\n.type switch_stack, @function\nswitch_stack:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
	".size switch_stack, .-switch_stack\n");
/* Words of the first frame, and which of them is the address to return to. */
enum { FRAME = 8, RETURN_AT = 6 };
#elif defined(__aarch64__)
__asm__(".text\n.globl switch_stack\n.type switch_stack, %function\nswitch_stack:\n"
	"sub sp, sp, #160\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\n"
	"stp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\n"
	"stp x29, x30, [sp, #80]\nstp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
	"stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\nmov x9, sp\n"
	"str x9, [x0]\nmov sp, x1\n"
	"ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
	"ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
	"ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
	"ldp d14, d15, [sp, #144]\nadd sp, sp, #160\nret\n"
	".size switch_stack, .-switch_stack\n");
enum { FRAME = 20, RETURN_AT = 11 };
#endif

static void give_way(void)
{
	struct thread *t = running;

	running = NULL;
	switch_stack(&t->sp, main_sp);
}

/* ---- turns ---- */

static void take_turn(void *ctx)
{
	struct turn *turn = ctx;
	struct thread *t = turn->t;
	bool due = turn->waits == t->waits && !t->process->dead;
	int64_t frozen = t->process->frozen_until - clock_ms();

	if (due && frozen > 0) {
		sim_after(t->process->sim, frozen + sim_dice(t->process->sim, 5),
			  take_turn, turn);
		return;
	}
	free(turn);
	if (!due)
		return;
	t->waits++; /* no other turn is due any more */
	t->waits_for = NULL;
	running = t;
	switch_stack(&main_sp, t->sp);
}

/* In ms; < 0: its time is over, and it only lets others go first. */
static void give_turn(struct thread *t, int64_t ms)
{
	struct turn *turn = xmalloc(sizeof(*turn));
	struct sim *s = t->process->sim;

	*turn = (struct turn){ t, t->waits };
	sim_after(s, ms < 0 ? 0 : ms + sim_dice(s, t->slow_ms), take_turn, turn);
}

static void wake(const void *key, bool one)
{
	for (struct thread *t = all; t; t = t->next)
		if (t->waits_for == key && !t->process->dead) {
			t->waits_for = NULL;
			t->woken = true;
			give_turn(t, 0);
			if (one)
				return;
		}
}

/* True: woken; false: clock_ms() is `until` (< 0: never). */
static bool wait_for(const void *key, int64_t until)
{
	struct thread *t = running;

	if (!t)
		abort(); /* an event cannot wait */
	t->waits_for = key;
	t->woken = false;
	if (until > clock_ms() && until < clock_ms() + t->least_ms)
		until = clock_ms() + t->least_ms;
	if (until >= 0)
		give_turn(t, until > clock_ms() ? until - clock_ms() : -1);
	give_way();
	return t->woken;
}

void thread_pause(int64_t ms)
{
	wait_for(&all, clock_ms() + ms);
}

void thread_slow(int64_t ms, int64_t least_ms)
{
	running->slow_ms = ms;
	running->least_ms = least_ms;
}

bool thread_runs(void)
{
	return running != NULL;
}

/* ---- threads ---- */

static void begin(void)
{
	struct thread *t = running;

	t->run(t->ctx);
	t->ended = true;
	wake(t, false);
	give_way();
}

static struct thread *start(struct process *p, void *(*run)(void *ctx), void *ctx)
{
	struct thread *t = xcalloc(1, sizeof(*t));
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void **frame = (void **)(stack + STACK) - FRAME;

	if (stack == MAP_FAILED)
		abort();
	*t = (struct thread){ p, frame, run, ctx, .next = all };
	frame[RETURN_AT] = (void *)begin;
	all = t;
	give_turn(t, 0);
	return t;
}

int __wrap_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
			struct error *err);
int __wrap_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
			struct error *err)
{
	*ret = (pthread_t)start(running->process, run, ctx);
	return 0;
}

int __wrap_pthread_join(pthread_t id, void **ret);
int __wrap_pthread_join(pthread_t id, void **ret)
{
	const struct thread *t = (const struct thread *)id;

	while (!t->ended)
		wait_for(t, -1);
	return 0;
}

struct main {
	void (*run)(void *ctx);
	void *ctx;
};

static void *run_main(void *ctx)
{
	struct main *m = ctx;

	m->run(m->ctx);
	return NULL;
}

struct process *process_start(struct sim *s, void (*run)(void *ctx), void *ctx)
{
	struct process *p = xcalloc(1, sizeof(*p));
	struct main *m = xmalloc(sizeof(*m));

	p->sim = s;
	p->stop_fd = new_fd();
	*m = (struct main){ run, ctx };
	start(p, run_main, m);
	return p;
}

void process_freeze(struct process *p, int64_t ms)
{
	p->frozen_until = clock_ms() + ms;
}

void process_kill(struct process *p)
{
	p->dead = true;
	if (running && running->process == p)
		give_way();
}

bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until);
bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until)
{
	bool woken;

	pthread_mutex_unlock(mutex);
	woken = wait_for(cond, until);
	pthread_mutex_lock(mutex);
	return woken;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	__wrap_cond_wait_until(cond, mutex, -1);
	return 0;
}

static int preempted; /* % of locks */

void thread_preempt(int percent)
{
	preempted = percent;
}

/* A thread that waits may have another mutex locked: journal_rewrite()'s caller. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct sim *s = running ? running->process->sim : NULL;

	if (s && preempted && sim_dice(s, 100) >= 100 - preempted)
		thread_pause(sim_dice(s, 20));
	while (pthread_mutex_trylock(mutex))
		thread_pause(1);
	return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	wake(cond, true);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	wake(cond, false);
	return 0;
}

/* ---- pauses and clocks ---- */

void process_stop(struct process *p)
{
	p->stops = true;
	fds[p->stop_fd - FIRST_FD].count = 1;
	wake(fds, false);
	for (struct thread *t = all; t; t = t->next)
		if (t->process == p && t->least_ms && !t->ended) {
			t->least_ms = 0; /* it looks at once whether it goes on */
			give_turn(t, 0);
		}
}

bool __wrap_stop_requested(void);
bool __wrap_stop_requested(void)
{
	return running && running->process->stops;
}

int __wrap_stop_fd(void);
int __wrap_stop_fd(void)
{
	return running ? running->process->stop_fd : -1;
}

bool __wrap_stop_wait(int64_t ms);
bool __wrap_stop_wait(int64_t ms)
{
	struct pollfd stop = { __wrap_stop_fd(), POLLIN, 0 };

	if (running)
		poll(&stop, 1, (int)ms);
	return __wrap_stop_requested();
}

void __wrap_clock_sleep_ms(int64_t ms);
void __wrap_clock_sleep_ms(int64_t ms)
{
	if (running)
		thread_pause(ms);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int64_t ms = clock_ms();

	ret->tv_sec = ms / 1000 + (clock == CLOCK_REALTIME ? EPOCH : 0);
	ret->tv_nsec = ms % 1000 * 1000000;
	return 0;
}

int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
	return EPOCH + clock_ms() / 1000;
}

/* ---- descriptors ---- */

static bool is_ours(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + n_fds;
}

static bool is_readable(int fd)
{
	int64_t due = is_ours(fd) ? fds[fd - FIRST_FD].due : 0;

	return is_ours(fd) && (fds[fd - FIRST_FD].count || (due && clock_ms() >= due));
}

int __wrap_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags)
{
	return new_fd();
}

int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags)
{
	return new_fd();
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at,
			   struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at,
			   struct itimerspec *old)
{
	fds[fd - FIRST_FD].due =
		at->it_value.tv_sec * 1000 + at->it_value.tv_nsec / 1000000;
	wake(fds, false);
	return 0;
}

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	if (disk_has && disk_has(fd))
		return disk_write(fd, data, len);
	if (!is_ours(fd))
		return __real_write(fd, data, len);
	fds[fd - FIRST_FD].count++;
	wake(fds, false);
	return (ssize_t)len;
}

ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len)
{
	if (disk_has && disk_has(fd))
		return disk_read(fd, data, len);
	if (!is_ours(fd))
		return __real_read(fd, data, len);
	fds[fd - FIRST_FD].count = 0;
	return (ssize_t)len;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	if (disk_has && disk_has(fd))
		return disk_close(fd);
	return is_ours(fd) ? 0 : __real_close(fd);
}

int __wrap_poll(struct pollfd *list, nfds_t n, int ms);
int __wrap_poll(struct pollfd *list, nfds_t n, int ms)
{
	int64_t until = ms < 0 ? -1 : clock_ms() + ms;

	for (;;) {
		int64_t first = until;
		int ready = 0;

		for (nfds_t i = 0; i < n; i++) {
			int64_t due =
				is_ours(list[i].fd) ? fds[list[i].fd - FIRST_FD].due : 0;

			list[i].revents = is_readable(list[i].fd) ? POLLIN : 0;
			ready += list[i].revents != 0;
			if (due && (first < 0 || due < first))
				first = due;
		}
		if (ready || (until >= 0 && clock_ms() >= until))
			return ready;
		wait_for(fds, first);
	}
}
