/* feed.c - copy a feed's buffers to the ranks' devices (gpu/helper/helper.h). */
#include <stdlib.h>
#include <sys/mman.h>

#include "gpu/helper/helper.h"

enum { MAX_BUFFERS = 64, MAX_RANKS = 64 };

struct feed {
	uint32_t n_ranks, n_buffers;
	size_t size; /* bytes of a buffer */
	char *pinned;
	bool registered;
	struct feed_rank {
		uint32_t number; /* CUDA's number of the device */
		struct cuda_device *d;
		CUdeviceptr memory;          /* n_buffers buffers */
		CUevent copied[MAX_BUFFERS]; /* each pinned buffer's copy is complete */
	} rank[MAX_RANKS];
};

static int open_rank(struct helper *h, struct feed_rank *r)
{
	struct feed *f = h->feed;
	CUipcMemHandle handle = { { 0 } };
	CUuuid id;
	char text[2 * sizeof(handle) + 1];

	if (cuda_use(h, r->number, &r->d) ||
	    TRY(h, CUDA, cuMemAlloc_v2, &r->memory, f->n_buffers * f->size))
		return -1;
	for (uint32_t i = 0; i < f->n_buffers; i++)
		if (TRY(h, CUDA, cuEventCreate, &r->copied[i], CU_EVENT_DISABLE_TIMING))
			return -1;
	if (TRY(h, CUDA, cuIpcGetMemHandle, &handle, r->memory) ||
	    TRY(h, CUDA, cuDeviceGetUuid_v2, &id, r->d->device))
		return -1;
	reply_hex(text, handle.reserved, sizeof(handle.reserved));
	reply_begin(&h->reply, NULL, '{');
	cuda_say_uuid(h, &id);
	reply_str(&h->reply, "handle", text);
	reply_end(&h->reply, '}');
	return 0;
}

static int open_all(struct helper *h)
{
	struct feed *f = h->feed;
	size_t len = f->n_buffers * f->size;

	f->pinned = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, GPU_FD_SHARED,
			 GPU_SHARED_SIZE);
	if (f->pinned == MAP_FAILED) {
		f->pinned = NULL;
		return reply_error(h, GPU_REFUSED, "cannot map the pinned buffers", 0);
	}
	/* Register in the context of the first device; PORTABLE pins it for all. */
	if (cuda_use(h, f->rank[0].number, &f->rank[0].d) ||
	    TRY(h, CUDA, cuMemHostRegister_v2, f->pinned, len,
		CU_MEMHOSTREGISTER_PORTABLE))
		return -1;
	f->registered = true;
	reply_begin(&h->reply, "ranks", '[');
	for (uint32_t i = 0; i < f->n_ranks; i++)
		if (open_rank(h, &f->rank[i]))
			return -1;
	reply_end(&h->reply, ']');
	return 0;
}

static void close_all(struct helper *h)
{
	struct feed *f = h->feed;

	for (uint32_t i = 0; i < f->n_ranks; i++) {
		struct feed_rank *r = &f->rank[i];

		if (r->d)
			(void)ASK(h, CUDA, cuCtxSetCurrent, r->d->context);
		for (uint32_t k = 0; k < f->n_buffers; k++)
			if (r->copied[k])
				(void)ASK(h, CUDA, cuEventDestroy_v2, r->copied[k]);
		if (r->memory)
			(void)ASK(h, CUDA, cuMemFree_v2, r->memory);
	}
	if (f->registered)
		(void)ASK(h, CUDA, cuMemHostUnregister, f->pinned);
	if (f->pinned)
		munmap(f->pinned, f->n_buffers * f->size);
	free(f);
	h->feed = NULL;
}

int op_feed_open(struct helper *h, const struct gpu_request *q)
{
	if (h->feed || !q->device || q->device > MAX_RANKS || !q->arg[1] ||
	    q->arg[1] > MAX_BUFFERS)
		return reply_error(h, GPU_REFUSED, "a feed of this size", (int)q->device);
	h->feed = calloc(1, sizeof(*h->feed));
	if (!h->feed)
		return reply_error(h, GPU_REFUSED, "out of memory", 0);
	h->feed->n_ranks = q->device;
	h->feed->size = q->arg[0];
	h->feed->n_buffers = (uint32_t)q->arg[1];
	for (uint32_t i = 0; i < q->device; i++)
		h->feed->rank[i].number = q->data[i];
	if (!open_all(h))
		return 0;
	close_all(h);
	return -1;
}

/* Copy from the first rank's memory, once it has arrived. */
static int copy_on(struct helper *h, const struct gpu_request *q, CUdeviceptr from,
		   struct feed_rank *r)
{
	struct feed *f = h->feed;
	struct feed_rank *first = &f->rank[0];
	CUdeviceptr to = r->memory + q->data[r - f->rank] * f->size;

	if (cuda_use(h, r->number, &r->d) ||
	    TRY(h, CUDA, cuStreamWaitEvent, r->d->stream, first->copied[q->device], 0) ||
	    (q->arg[0] && TRY(h, CUDA, cuMemcpyPeerAsync, to, r->d->context, from,
			      first->d->context, q->arg[0], r->d->stream)))
		return -1;
	return TRY(h, CUDA, cuEventRecord, r->copied[q->device], r->d->stream);
}

static bool is_request(const struct feed *f, const struct gpu_request *q)
{
	bool valid = f && q->device < f->n_buffers && q->arg[0] <= f->size;

	for (uint32_t i = 0; valid && i < f->n_ranks; i++)
		valid = q->data[i] < f->n_buffers;
	return valid;
}

int op_feed_copy(struct helper *h, const struct gpu_request *q)
{
	struct feed *f = h->feed;
	struct feed_rank *first;
	CUdeviceptr to;

	if (!is_request(f, q))
		return reply_error(h, GPU_REFUSED, "no such buffer", (int)q->device);
	first = &f->rank[0];
	to = first->memory + q->data[0] * f->size;
	if (cuda_use(h, first->number, &first->d) ||
	    (q->arg[0] &&
	     TRY(h, CUDA, cuMemcpyHtoDAsync_v2, to, f->pinned + q->device * f->size,
		 q->arg[0], first->d->stream)) ||
	    TRY(h, CUDA, cuEventRecord, first->copied[q->device], first->d->stream))
		return -1;
	for (uint32_t i = 1; i < f->n_ranks; i++)
		if (copy_on(h, q, to, &f->rank[i]))
			return -1;
	return 0;
}

int op_feed_wait(struct helper *h, const struct gpu_request *q)
{
	struct feed *f = h->feed;

	if (!f || q->device >= f->n_buffers)
		return reply_error(h, GPU_REFUSED, "no such buffer", (int)q->device);
	for (uint32_t i = 0; i < f->n_ranks; i++)
		if (TRY(h, CUDA, cuEventSynchronize, f->rank[i].copied[q->device]))
			return -1;
	return 0;
}

int op_feed_close(struct helper *h, const struct gpu_request *q)
{
	if (h->feed)
		close_all(h);
	return 0;
}
