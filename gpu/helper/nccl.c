/* nccl.c - run NCCL's all-reduce and check the sums (gpu/helper/helper.h). */
#include <stdlib.h>
#include <string.h>

#include "gpu/helper/helper.h"

enum { REPEATS = 5, PERIOD = 251 };

struct rank {
	uint32_t number; /* CUDA's number of the device */
	struct cuda_device *d;
	ncclComm_t comm;
	CUdeviceptr in, out;
};

struct reduction {
	struct helper *h;
	struct rank rank[MAX_DEVICES];
	int n;            /* number of this node's ranks */
	int first, total; /* this node's first rank; the number of all ranks */
	ncclUniqueId id;  /* if there are other nodes */
	size_t len;       /* bytes, a multiple of sizeof(float) */
	float *host;      /* pinned */
};

/* Integers that a float represents exactly: rank r adds r to a common pattern. */
static float element(size_t i, int rank)
{
	return (float)(i % PERIOD) + (float)rank;
}

static float sum_of(size_t i, int n)
{
	return (float)n * (float)(i % PERIOD) + (float)(n * (n - 1) / 2);
}

static int fill(struct reduction *r, int i)
{
	struct helper *h = r->h;
	struct rank *k = &r->rank[i];

	for (size_t e = 0; e < r->len / sizeof(float); e++)
		r->host[e] = element(e, r->first + i);
	if (cuda_use(h, k->number, &k->d) ||
	    TRY(h, CUDA, cuMemAlloc_v2, &k->in, r->len) ||
	    TRY(h, CUDA, cuMemAlloc_v2, &k->out, r->len) ||
	    TRY(h, CUDA, cuMemcpyHtoDAsync_v2, k->in, r->host, r->len, k->d->stream))
		return -1;
	return cuda_sync(h, k->d);
}

static int join(struct reduction *r)
{
	struct helper *h = r->h;

	if ((r->total == r->n && TRY(h, NCCL, ncclGetUniqueId, &r->id)) ||
	    TRY(h, NCCL, ncclGroupStart))
		return -1;
	for (int i = 0; i < r->n; i++)
		if (cuda_use(h, r->rank[i].number, &r->rank[i].d) ||
		    TRY(h, NCCL, ncclCommInitRank, &r->rank[i].comm, r->total, r->id,
			r->first + i))
			return -1;
	return TRY(h, NCCL, ncclGroupEnd);
}

static int reduce(struct reduction *r)
{
	struct helper *h = r->h;

	if (TRY(h, NCCL, ncclGroupStart))
		return -1;
	for (int i = 0; i < r->n; i++) {
		struct rank *k = &r->rank[i];

		if (TRY(h, NCCL, ncclAllReduce, (const void *)(uintptr_t)k->in,
			(void *)(uintptr_t)k->out, r->len / sizeof(float), ncclFloat32,
			ncclSum, k->comm, k->d->stream))
			return -1;
	}
	return TRY(h, NCCL, ncclGroupEnd);
}

static int wait_all(struct reduction *r)
{
	for (int i = 0; i < r->n; i++)
		if (cuda_use(r->h, r->rank[i].number, &r->rank[i].d) ||
		    cuda_sync(r->h, r->rank[i].d))
			return -1;
	return 0;
}

/* The number of elements of a rank that are not the sum. */
static int count_wrong(struct reduction *r, int i, uint64_t *ret)
{
	struct helper *h = r->h;
	struct rank *k = &r->rank[i];

	if (cuda_use(h, k->number, &k->d) ||
	    TRY(h, CUDA, cuMemcpyDtoHAsync_v2, r->host, k->out, r->len, k->d->stream) ||
	    cuda_sync(h, k->d))
		return -1;
	*ret = 0;
	for (size_t e = 0; e < r->len / sizeof(float); e++)
		*ret += r->host[e] != sum_of(e, r->total);
	return 0;
}

static int put_ranks(struct reduction *r)
{
	struct reply *s = &r->h->reply;
	uint64_t wrong = 0;

	reply_begin(s, "ranks", '[');
	for (int i = 0; i < r->n; i++) {
		if (count_wrong(r, i, &wrong))
			return -1;
		reply_begin(s, NULL, '{');
		reply_num(s, "device", r->rank[i].number);
		reply_num(s, "wrong", wrong);
		reply_end(s, '}');
	}
	reply_end(s, ']');
	return 0;
}

static int run_allreduce(struct reduction *r)
{
	struct helper *h = r->h;
	double start, bus;

	if (cuda_use(h, r->rank[0].number, &r->rank[0].d) ||
	    TRY(h, CUDA, cuMemAllocHost_v2, (void **)&r->host, r->len))
		return -1;
	for (int i = 0; i < r->n; i++)
		if (fill(r, i))
			return -1;
	if (join(r) || reduce(r) || wait_all(r))
		return -1;
	start = seconds();
	for (int i = 0; i < REPEATS; i++)
		if (reduce(r))
			return -1;
	if (wait_all(r))
		return -1;
	/* The bus bandwidth, as in PERFORMANCE.md of nccl-tests. */
	bus = (double)r->len * REPEATS / (seconds() - start + 1e-9) * 2 * (r->total - 1) /
	      r->total;
	reply_num(&h->reply, "busBandwidth", (uint64_t)bus);
	return put_ranks(r);
}

static void end(struct reduction *r, int result)
{
	struct helper *h = r->h;

	for (int i = 0; i < r->n; i++) {
		struct rank *k = &r->rank[i];

		if (k->comm && result)
			(void)ASK(h, NCCL, ncclCommAbort, k->comm);
		else if (k->comm)
			(void)ASK(h, NCCL, ncclCommDestroy, k->comm);
		if (k->in)
			(void)ASK(h, CUDA, cuMemFree_v2, k->in);
		if (k->out)
			(void)ASK(h, CUDA, cuMemFree_v2, k->out);
	}
	if (r->host)
		(void)ASK(h, CUDA, cuMemFreeHost, r->host);
}

int op_allreduce(struct helper *h, const struct gpu_request *q)
{
	struct reduction *r;
	int version = 0, result;

	if (!h->library[NCCL] && lib_open(h, NCCL))
		return -1;
	if (TRY(h, NCCL, ncclGetVersion, &version))
		return -1;
	reply_num(&h->reply, "version", (unsigned int)version);
	reply_str(&h->reply, "path", lib_path(h, NCCL));
	r = calloc(1, sizeof(*r));
	if (!r)
		return reply_error(h, GPU_REFUSED, "out of memory", 0);
	r->h = h;
	r->len = q->arg[0] / sizeof(float) * sizeof(float);
	for (uint32_t i = 0; i < MAX_DEVICES; i++)
		if (q->arg[1] >> i & 1)
			r->rank[r->n++].number = i;
	r->first = (int)q->arg[2];
	r->total = q->device ? (int)q->device : r->n;
	memcpy(&r->id, q->data, sizeof(r->id));
	result = r->n ? run_allreduce(r) : 0;
	end(r, result);
	free(r);
	return result;
}

int op_nccl_id(struct helper *h, const struct gpu_request *q)
{
	char text[2 * sizeof(ncclUniqueId) + 1];
	ncclUniqueId id;

	if ((!h->library[NCCL] && lib_open(h, NCCL)) ||
	    TRY(h, NCCL, ncclGetUniqueId, &id))
		return -1;
	reply_hex(text, (const char *)&id, sizeof(id));
	reply_str(&h->reply, "id", text);
	return 0;
}
