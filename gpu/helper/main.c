/* main.c - the GPU helper's loop: request, operation, reply (gpu/wire.h). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "gpu/helper/helper.h"

#define GPU_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type);
#define GPU_OFFSET(type, field, place) \
	_Static_assert(offsetof(type, field) == (place), #type);
GPU_TYPES(GPU_SIZE)
GPU_FIELDS(GPU_OFFSET)

static int (*const operations[])(struct helper *h, const struct gpu_request *q) = {
	[GPU_OP_SYSTEM] = op_system,       [GPU_OP_DEVICE] = op_device,
	[GPU_OP_LINKS] = op_links,         [GPU_OP_RUNTIME] = op_runtime,
	[GPU_OP_CUDA] = op_cuda,           [GPU_OP_MEMORY] = op_memory,
	[GPU_OP_COPY] = op_copy,           [GPU_OP_PEER] = op_peer,
	[GPU_OP_ALLREDUCE] = op_allreduce, [GPU_OP_NCCL_ID] = op_nccl_id,
	[GPU_OP_FEED_OPEN] = op_feed_open, [GPU_OP_FEED_COPY] = op_feed_copy,
	[GPU_OP_FEED_WAIT] = op_feed_wait, [GPU_OP_FEED_CLOSE] = op_feed_close,
};
enum { N_OPERATIONS = sizeof(operations) / sizeof(*operations) };

double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void serve(struct helper *h, const struct gpu_request *q)
{
	h->status = GPU_DONE;
	h->reply.len = 0;
	h->reply.full = false;
	h->shared->library[0] = h->shared->call[0] = 0;
	reply_begin(&h->reply, NULL, '{');
	if (q->op >= N_OPERATIONS || !operations[q->op])
		reply_error(h, GPU_REFUSED, "unknown operation", (int)q->op);
	else
		operations[q->op](h, q);
	reply_end(&h->reply, '}');
	if (h->reply.full) {
		reply_error(h, GPU_REFUSED, "the reply is too long", 0);
		reply_end(&h->reply, '}');
	}
}

static bool send_reply(struct helper *h, const struct gpu_request *q)
{
	struct gpu_reply head = { GPU_WIRE_VERSION, q->seq, h->status,
				  (uint32_t)h->reply.len };
	struct iovec parts[] = { { &head, sizeof(head) },
				 { h->reply.text, h->reply.len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	return sendmsg(GPU_FD_SOCKET, &message, MSG_NOSIGNAL) ==
	       (ssize_t)(sizeof(head) + h->reply.len);
}

int main(void)
{
	struct helper *h = calloc(1, sizeof(*h));
	struct gpu_request q;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!h)
		return 1;
	h->shared = mmap(NULL, sizeof(*h->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 GPU_FD_SHARED, 0);
	if (h->shared == MAP_FAILED)
		return 1;
	while (recv(GPU_FD_SOCKET, &q, sizeof(q), 0) == sizeof(q)) {
		if (q.version != GPU_WIRE_VERSION)
			return 1;
		serve(h, &q);
		if (!send_reply(h, &q))
			return 1;
	}
	/* Skip the destructors of the libraries, which may hang. */
	_exit(0);
}
