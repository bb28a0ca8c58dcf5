/*
 * progress.c - a library for LD_PRELOAD: ranks of MPICH 4.0 with UCX end.
 *
 * In MPI_Finalize such a rank closes its connections, then waits for the others in a barrier
 * of mpirun (read(2) on PMI_FD). There it no longer answers a peer that is still closing its
 * own, and both wait for ever (MPICH 4.1 is without the fault). With this library a rank that
 * waits for mpirun goes on answering. Processes without UCX or PMI_FD are not changed.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

int ucp_worker_create(void *context, const void *params, void **ret_worker);
void ucp_worker_destroy(void *worker);

static void *worker;
static unsigned (*progress)(void *worker);
static int from_mpirun = -1;

/* UCX' ucp/api/ucp.h; 0: success. The first worker is that of the ranks' messages. */
int ucp_worker_create(void *context, const void *params, void **ret_worker)
{
	int (*create)(void *, const void *, void **) =
		dlsym(RTLD_NEXT, "ucp_worker_create");
	const char *fd = getenv("PMI_FD");
	int status = create(context, params, ret_worker);

	progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
	if (status == 0 && !worker && fd && progress) {
		worker = *ret_worker;
		from_mpirun = atoi(fd);
	}
	return status;
}

void ucp_worker_destroy(void *old)
{
	void (*destroy)(void *) = dlsym(RTLD_NEXT, "ucp_worker_destroy");

	if (old == worker)
		worker = NULL;
	destroy(old);
}

ssize_t read(int fd, void *data, size_t size)
{
	static ssize_t (*next)(int, void *, size_t);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (!next)
		next = dlsym(RTLD_NEXT, "read");
	while (fd == from_mpirun && worker && poll(&p, 1, 0) == 0)
		progress(worker);
	return next(fd, data, size);
}
