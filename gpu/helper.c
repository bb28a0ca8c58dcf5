/* helper.c - start the GPU helper, call it, survive its crashes (gpu/helper.h). */
#include "gpu/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { FIRST_FREE_FD = 10, END_MS = 1000 };

extern const unsigned char gpu_helper_elf[], gpu_helper_end[]; /* in helper.S */

/* ---- the program, as a descriptor ------------------------------------------------------ */

/* Kernels before 6.3 reject the flag; they allow every memfd to be executed. */
static int memory_file(const char *name, unsigned int flag)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flag);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

static int write_program(int fd, struct error *err)
{
	return file_write_fd(fd, gpu_helper_elf,
			     (size_t)(gpu_helper_end - gpu_helper_elf), "GPU helper",
			     err);
}

static int in_memory(int fd, struct error *err)
{
	if (write_program(fd, err))
		return -1;
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_errno(err, errno, "GPU helper: cannot seal it");
	return 0;
}

/* ERR_FORMAT unless the descriptor to execute contains our program. */
static int verify(int fd, const char *path, struct error *err)
{
	size_t size = (size_t)(gpu_helper_end - gpu_helper_elf);
	cleanup_buf struct buf text = { .max = size + 1 };

	if (file_read_fd(&text, fd, path, err))
		return -1;
	if (text.len != size || memcmp(text.data, gpu_helper_elf, size))
		return error_set(err, ERR_FORMAT,
				 "%s was changed while it was written; set TMPDIR to a "
				 "directory that others cannot write",
				 path);
	return 0;
}

/* Write the program to an unlinked file. ETXTBSY while open for writing: reopened. */
static int in_directory(int *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *tmp = getenv("TMPDIR");
	char *path =
		path_join(&arena, tmp && *tmp ? tmp : "/tmp", "kftrainer-gpu-XXXXXX");
	int fd = mkostemp(path, O_CLOEXEC), result;
	cleanup_fd int reading = -1;

	if (fd < 0)
		return error_errno(err, errno, "GPU helper: cannot create %s", path);
	result = write_program(fd, err);
	if (!result && fchmod(fd, 0500) < 0)
		result = error_errno(err, errno, "GPU helper: %s", path);
	if (!result &&
	    (file_reopen(&reading, fd, path, err) || verify(reading, path, err)))
		result = error_wrap(err, "GPU helper");
	close(fd);
	unlink(path);
	if (result)
		return -1;
	*ret = reading;
	reading = -1;
	return 0;
}

static int program(int *ret, struct error *err)
{
	int fd = memory_file("kftrainer-gpu", MFD_EXEC);

	if (fd < 0) /* vm.memfd_noexec=2: EACCES; a seccomp filter: EPERM, ENOSYS */
		return in_directory(ret, err);
	if (in_memory(fd, err)) {
		close(fd);
		return -1;
	}
	*ret = fd;
	return 0;
}

/* ---- start --------------------------------------------------------------------------- */

/*
 * In the child, after fork(): only system calls. Writes errno of a failure into the pipe.
 */
static void become_helper(int program_fd, int socket, int shared, int report)
{
	char *argv[] = { (char *)(uintptr_t) "kftrainer-gpu-helper", NULL };
	int why;

	program_fd = fcntl(program_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	report = fcntl(report, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	socket = fcntl(socket, F_DUPFD, FIRST_FREE_FD);
	shared = fcntl(shared, F_DUPFD, FIRST_FREE_FD);
	dup2(socket, GPU_FD_SOCKET);
	dup2(shared, GPU_FD_SHARED);
	close(socket);
	close(shared);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* NCCL's log must not be in our output */
	syscall(SYS_execveat, program_fd, "", argv, environ, AT_EMPTY_PATH);
	why = errno;
	(void)!write(report, &why, sizeof(why));
	_exit(127);
}

static int exec_error(int why, struct error *err)
{
	error_errno(err, why, "GPU helper: cannot run it");
	if (why == ENOENT)
		error_set(err, ERR_NOT_FOUND,
			  "GPU helper: this image has no loader of glibc; use an image "
			  "with glibc 2.34 or later");
	else if (why == EACCES)
		error_set(err, ERR_DENIED,
			  "GPU helper: programs can be run neither from memory "
			  "(vm.memfd_noexec) nor from TMPDIR; set TMPDIR to a directory "
			  "that is not mounted noexec");
	return -1;
}

static void reap(pid_t pid, int *ret_status)
{
	int64_t until = clock_ms() + END_MS;

	kill(pid, SIGKILL);
	/* A helper that hangs in the kernel cannot be reaped: init inherits it. */
	while (waitpid(pid, ret_status, WNOHANG) == 0 && clock_ms() < until)
		clock_sleep_ms(1);
}

static int start_child(struct gpu_helper *h, int program_fd, int shared,
		       struct error *err)
{
	int pair[2], report[2], why = 0, status;
	ssize_t n;

	if (pipe2(report, O_CLOEXEC) < 0)
		return error_errno(err, errno, "GPU helper: pipe");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		close(report[0]);
		close(report[1]);
		return error_errno(err, errno, "GPU helper: socketpair");
	}
	h->pid = fork();
	if (h->pid == 0)
		become_helper(program_fd, pair[1], shared, report[1]);
	why = errno;
	close(pair[1]);
	close(report[1]);
	h->socket = pair[0];
	n = h->pid < 0 ? (ssize_t)sizeof(why) : read(report[0], &why, sizeof(why));
	close(report[0]);
	if (n != sizeof(why))
		return 0;
	if (h->pid > 0)
		reap(h->pid, &status);
	close(h->socket);
	h->pid = 0;
	return exec_error(why, err);
}

/* Map the shared memory. The seals prevent shrinking, which would crash this process. */
static int share(struct gpu_helper *h, int fd, size_t pinned, struct error *err)
{
	size_t size = GPU_SHARED_SIZE + pinned;
	void *memory = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return error_errno(err, errno, "GPU helper: shared memory");
	h->shared = memory;
	h->pinned = (uint8_t *)memory + GPU_SHARED_SIZE;
	h->size = size;
	return 0;
}

int gpu_helper_start_pinned(struct gpu_helper *h, int64_t call_ms, size_t pinned,
			    struct error *err)
{
	cleanup_fd int program_fd = -1;
	cleanup_fd int shared = memory_file("kftrainer-gpu-shared", MFD_NOEXEC_SEAL);

	*h = (struct gpu_helper){ .call_ms = call_ms };
	if (program(&program_fd, err) || share(h, shared, pinned, err))
		return -1;
	if (start_child(h, program_fd, shared, err)) {
		munmap(h->shared, h->size);
		*h = (struct gpu_helper){ 0 };
		return -1;
	}
	return 0;
}

int gpu_helper_start(struct gpu_helper *h, int64_t call_ms, struct error *err)
{
	return gpu_helper_start_pinned(h, call_ms, 0, err);
}

/* After the helper was reaped: its PID may belong to another process. */
static void release(struct gpu_helper *h)
{
	close(h->socket);
	if (h->size > GPU_SHARED_SIZE) {
		h->pid = 0;
		return;
	}
	munmap(h->shared, h->size);
	*h = (struct gpu_helper){ 0 };
}

void gpu_helper_stop(struct gpu_helper *h)
{
	int status;

	if (!h->pid)
		return;
	reap(h->pid, &status);
	release(h);
}

void gpu_helper_unpin(struct gpu_helper *h)
{
	if (h->size)
		munmap(h->shared, h->size);
	*h = (struct gpu_helper){ 0 };
}

/* ---- calls ----------------------------------------------------------------------- */

/* "libcuda.so.1: cuInit: ", from the shared page, which the helper may have corrupted. */
static const char *last_call(struct arena *arena, const struct gpu_helper *h)
{
	struct gpu_shared s = *h->shared;

	s.library[GPU_NAME_SIZE - 1] = s.call[GPU_NAME_SIZE - 1] = 0;
	if (!*s.library)
		return "";
	return arena_printf(arena, "%s: %s: ", s.library, s.call);
}

static int died(struct gpu_helper *h, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *where = last_call(&arena, h);
	int64_t until = clock_ms() + END_MS;
	pid_t done;
	int status = 0;

	/* The socket closes before the process can be reaped. */
	while ((done = waitpid(h->pid, &status, WNOHANG)) == 0 && clock_ms() < until)
		clock_sleep_ms(1);
	if (done == h->pid && WIFSIGNALED(status))
		error_set(err, ERR_IO, "%sthe GPU helper was killed by signal %d (%s)",
			  where, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		error_set(err, ERR_IO, "%sthe GPU helper ended with status %d", where,
			  WEXITSTATUS(status));
	if (done)
		release(h);
	else
		gpu_helper_stop(h);
	return -1;
}

static int timed_out(struct gpu_helper *h, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	char text[DURATION_TEXT_SIZE];

	if (h->deadline && clock_ms() >= h->deadline)
		error_set(err, ERR_TIMEOUT, "%snot complete at the check's deadline",
			  last_call(&arena, h));
	else
		error_set(err, ERR_TIMEOUT,
			  "%sno answer within %s; the device or its driver hangs",
			  last_call(&arena, h), duration_text(h->call_ms, text));
	gpu_helper_stop(h);
	return -1;
}

static uint64_t calls(const struct gpu_helper *h)
{
	return __atomic_load_n(&h->shared->calls, __ATOMIC_ACQUIRE);
}

/* Wait for the reply. The time limit starts again with each call of a library. */
static int wait_for(struct gpu_helper *h, struct error *err)
{
	struct pollfd fd = { .fd = h->socket, .events = POLLIN };
	int64_t until = clock_ms() + h->call_ms, now;
	uint64_t seen = calls(h);

	for (;;) {
		now = clock_ms();
		if (h->deadline && (until > h->deadline || now >= h->deadline))
			until = h->deadline;
		if (poll(&fd, 1, until > now ? (int)(until - now) : 0) > 0)
			return 0;
		now = clock_ms();
		if (now < until)
			continue;
		if (calls(h) == seen || (h->deadline && now >= h->deadline))
			return timed_out(h, err);
		seen = calls(h);
		until = now + h->call_ms;
	}
}

int gpu_helper_call(struct gpu_helper *h, const struct gpu_request *request, cJSON **ret,
		    struct error *err)
{
	cleanup_free char *data = NULL;
	struct gpu_request q = *request;
	ssize_t n;

	if (!h->pid)
		return error_set(err, ERR_IO, "the GPU helper does not run");
	q.version = GPU_WIRE_VERSION;
	q.seq = ++h->seq;
	if (send(h->socket, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
		return died(h, err);
	if (wait_for(h, err))
		return -1;
	data = malloc(GPU_REPLY_MAX + 1);
	n = data ? recv(h->socket, data, GPU_REPLY_MAX + 1, 0) : -1;
	if (n <= 0)
		return died(h, err);
	return gpu_reply_parse(ret, data, (size_t)n, q.seq, err);
}

/* ---- replies -------------------------------------------------------------------------- */

static const char *text_of(const cJSON *doc, const char *key)
{
	const char *text = json_str(doc, key);

	return text ? text : "";
}

static int reported(enum gpu_status status, const cJSON *doc, struct error *err)
{
	const char *library = text_of(doc, "library"), *why = text_of(doc, "message");
	int64_t code = json_int(doc, 0, "code");

	switch (status) {
	case GPU_NO_LIBRARY:
		/* dlerror() begins with the name or the path. */
		return error_set(err, ERR_NOT_FOUND, "cannot load %.64s: %.300s", library,
				 why);
	case GPU_NO_SYMBOL:
		return error_set(err, ERR_NOT_FOUND,
				 "%.64s: symbol %.64s not found: the library is of "
				 "another version",
				 library, text_of(doc, "call"));
	case GPU_FAILED:
		error_set(err, ERR_IO, "%.64s: %.64s: %.300s (%lld)", library,
			  text_of(doc, "call"), why, (long long)code);
		err->code = (int)code;
		return -1;
	default:
		return error_set(err, ERR_FORMAT, "GPU helper: %.300s (%lld)", why,
				 (long long)code);
	}
}

int gpu_reply_parse(cJSON **ret, const void *data, size_t len, uint32_t seq,
		    struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	struct gpu_reply head = { 0 };

	if (len >= sizeof(head))
		memcpy(&head, data, sizeof(head));
	if (len < sizeof(head) || len > GPU_REPLY_MAX || len - sizeof(head) != head.len)
		return error_set(err, ERR_FORMAT,
				 "GPU helper: a reply of %zu bytes, expected %zu", len,
				 sizeof(head) + head.len);
	if (head.version != GPU_WIRE_VERSION || head.seq != seq)
		return error_set(err, ERR_FORMAT,
				 "GPU helper: a reply of version %x to request %u, "
				 "expected %x and %u",
				 head.version, head.seq, GPU_WIRE_VERSION, seq);
	if (json_parse(&doc, (const char *)data + sizeof(head), head.len, err))
		return error_wrap(err, "GPU helper");
	if (!cJSON_IsObject(doc))
		return error_set(err, ERR_FORMAT,
				 "GPU helper: a reply that is no object");
	if (head.status != GPU_DONE)
		return reported(head.status, doc, err);
	*ret = STEAL(doc);
	return 0;
}
