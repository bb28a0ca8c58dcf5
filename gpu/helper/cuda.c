/* cuda.c - call CUDA's driver library: devices, memory, speeds (gpu/helper/helper.h). */
#include <stdlib.h>
#include <string.h>

#include "gpu/helper/helper.h"

enum { TEXT = 128, MAX_BLOCKS = 512, PAGE = 4096, REPEATS = 5 };
static const size_t BLOCK = (size_t)1 << 30, CHUNK = (size_t)64 << 20;

static int open_cuda(struct helper *h)
{
	if (h->n_devices)
		return 0;
	if ((!h->library[CUDA] && lib_open(h, CUDA)) || TRY(h, CUDA, cuInit, 0) ||
	    TRY(h, CUDA, cuDeviceGetCount, &h->n_devices))
		return -1;
	if (h->n_devices > MAX_DEVICES)
		h->n_devices = MAX_DEVICES;
	for (int i = 0; i < h->n_devices; i++)
		if (TRY(h, CUDA, cuDeviceGet, &h->devices[i].device, i))
			return -1;
	return 0;
}

int cuda_use(struct helper *h, uint32_t number, struct cuda_device **ret)
{
	struct cuda_device *d;

	if (open_cuda(h))
		return -1;
	if (number >= (uint32_t)h->n_devices)
		return reply_error(h, GPU_REFUSED, "no such device", (int)number);
	d = &h->devices[number];
	if (!d->context && TRY(h, CUDA, cuDevicePrimaryCtxRetain, &d->context, d->device))
		return -1;
	if (TRY(h, CUDA, cuCtxSetCurrent, d->context))
		return -1;
	if (!d->stream && TRY(h, CUDA, cuStreamCreate, &d->stream, 1))
		return -1;
	*ret = d;
	return 0;
}

int cuda_sync(struct helper *h, const struct cuda_device *d)
{
	return TRY(h, CUDA, cuStreamSynchronize, d->stream);
}

int op_runtime(struct helper *h, const struct gpu_request *q)
{
	int driver = 0, runtime = 0;

	if ((!h->library[CUDA] && lib_open(h, CUDA)) ||
	    TRY(h, CUDA, cuDriverGetVersion, &driver))
		return -1;
	reply_num(&h->reply, "driverVersion", (unsigned int)driver);
	if ((!h->library[CUDART] && lib_open(h, CUDART)) ||
	    TRY(h, CUDART, cudaRuntimeGetVersion, &runtime))
		return -1;
	reply_num(&h->reply, "runtimeVersion", (unsigned int)runtime);
	reply_str(&h->reply, "runtime", lib_path(h, CUDART));
	return 0;
}

/* Write the UUID as NVML does, except for the prefix of a MIG instance. */
void cuda_say_uuid(struct helper *h, const CUuuid *id)
{
	char text[44] = "GPU-", *to = text + 4;

	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		reply_hex(to, &id->bytes[i], 1);
		to += 2;
	}
	reply_str(&h->reply, "uuid", text);
}

int op_cuda(struct helper *h, const struct gpu_request *q)
{
	if (open_cuda(h))
		return -1;
	reply_begin(&h->reply, "devices", '[');
	for (int i = 0; i < h->n_devices; i++) {
		CUdevice device = h->devices[i].device;
		char name[TEXT] = "";
		CUuuid id;

		reply_begin(&h->reply, NULL, '{');
		if (TRY(h, CUDA, cuDeviceGetUuid_v2, &id, device) ||
		    TRY(h, CUDA, cuDeviceGetName, name, TEXT, device))
			return -1;
		cuda_say_uuid(h, &id);
		reply_str(&h->reply, "name", name);
		reply_end(&h->reply, '}');
	}
	reply_end(&h->reply, ']');
	return 0;
}

/* ---- the memory test --------------------------------------------------------------------- */

struct memory_test {
	struct helper *h;
	struct cuda_device *d;
	CUdeviceptr block[MAX_BLOCKS];
	size_t size[MAX_BLOCKS], n, total;
	unsigned char *written, *read; /* pinned, CHUNK bytes each */
	uint64_t wrong_pages, first_wrong;
};

static const unsigned char patterns[] = { 0x55, 0xaa, 0x00, 0xff, 0x33, 0xcc };

/* Memory is fragmented: try smaller pieces. */
static int allocate(struct memory_test *t, size_t want)
{
	struct helper *h = t->h;
	size_t piece = BLOCK;

	while (t->total < want && t->n < MAX_BLOCKS && piece >= PAGE) {
		size_t left = want - t->total, size = left < piece ? left : piece;

		if (!ASK(h, CUDA, cuMemAlloc_v2, &t->block[t->n], size)) {
			piece /= 2;
			continue;
		}
		t->size[t->n++] = size;
		t->total += size;
	}
	return t->n ? 0 : TRY(h, CUDA, cuMemAlloc_v2, &t->block[0], PAGE);
}

/* Begin each page with its address, to detect two addresses of the same cell. */
static void mark(unsigned char *chunk, size_t len, uint64_t at)
{
	for (size_t i = 0; i + sizeof(at) <= len; i += PAGE) {
		uint64_t place = at + i;

		memcpy(chunk + i, &place, sizeof(place));
	}
}

static int write_chunk(struct memory_test *t, CUdeviceptr to, size_t len, uint64_t at)
{
	struct helper *h = t->h;

	mark(t->written, len, at);
	if (TRY(h, CUDA, cuMemcpyHtoDAsync_v2, to, t->written, len, t->d->stream))
		return -1;
	return cuda_sync(h, t->d);
}

static int read_chunk(struct memory_test *t, CUdeviceptr from, size_t len, uint64_t at)
{
	struct helper *h = t->h;

	mark(t->written, len, at);
	if (TRY(h, CUDA, cuMemcpyDtoHAsync_v2, t->read, from, len, t->d->stream) ||
	    cuda_sync(h, t->d))
		return -1;
	for (size_t i = 0; i < len; i += PAGE) {
		size_t n = len - i < PAGE ? len - i : PAGE;

		if (!memcmp(t->written + i, t->read + i, n))
			continue;
		if (!t->wrong_pages++)
			t->first_wrong = at + i;
	}
	return 0;
}

static int each_chunk(struct memory_test *t,
		      int (*with)(struct memory_test *t, CUdeviceptr address, size_t len,
				  uint64_t at))
{
	uint64_t at = 0;

	for (size_t i = 0; i < t->n; i++)
		for (size_t done = 0; done < t->size[i];) {
			size_t left = t->size[i] - done;
			size_t len = left < CHUNK ? left : CHUNK;

			if (with(t, t->block[i] + done, len, at))
				return -1;
			done += len;
			at += len;
		}
	return 0;
}

static int test_memory(struct memory_test *t, size_t want, uint64_t n_patterns)
{
	struct helper *h = t->h;
	size_t chunk = want < CHUNK ? want : CHUNK;

	if (allocate(t, want) ||
	    TRY(h, CUDA, cuMemAllocHost_v2, (void **)&t->written, chunk) ||
	    TRY(h, CUDA, cuMemAllocHost_v2, (void **)&t->read, chunk))
		return -1;
	for (uint64_t i = 0; i < n_patterns && i < sizeof(patterns); i++) {
		memset(t->written, patterns[i], chunk);
		memset(t->read, 0x5a, chunk);
		if (each_chunk(t, write_chunk) || each_chunk(t, read_chunk))
			return -1;
	}
	return 0;
}

static void free_memory(struct memory_test *t)
{
	struct helper *h = t->h;

	for (size_t i = 0; i < t->n; i++)
		(void)ASK(h, CUDA, cuMemFree_v2, t->block[i]);
	if (t->written)
		(void)ASK(h, CUDA, cuMemFreeHost, t->written);
	if (t->read)
		(void)ASK(h, CUDA, cuMemFreeHost, t->read);
}

int op_memory(struct helper *h, const struct gpu_request *q)
{
	struct memory_test *t = calloc(1, sizeof(*t));
	size_t free_now = 0, total = 0, want;
	int result;

	if (!t)
		return reply_error(h, GPU_REFUSED, "out of memory", 0);
	t->h = h;
	if (cuda_use(h, q->device, &t->d) ||
	    TRY(h, CUDA, cuMemGetInfo_v2, &free_now, &total)) {
		free(t);
		return -1;
	}
	want = free_now / 10 * 9;
	if (q->arg[0] && q->arg[0] < want)
		want = q->arg[0];
	want = want < PAGE ? PAGE : want;
	result = test_memory(t, want, q->arg[1]);
	if (!result) {
		reply_num(&h->reply, "bytes", t->total);
		reply_num(&h->reply, "free", free_now);
		reply_num(&h->reply, "wrongPages", t->wrong_pages);
		reply_num(&h->reply, "firstWrong", t->first_wrong);
	}
	free_memory(t);
	free(t);
	return result;
}

/* ---- bandwidth -------------------------------------------------------------------------- */

struct copying {
	struct cuda_device *d, *other;
	CUdeviceptr a, b;
	void *pinned;
	size_t len;
};

enum direction { TO_DEVICE, TO_HOST, ON_DEVICE, TO_PEER };

static int copy_once(struct helper *h, const struct copying *c, enum direction direction)
{
	CUstream stream = c->d->stream;

	switch (direction) {
	case TO_DEVICE:
		return TRY(h, CUDA, cuMemcpyHtoDAsync_v2, c->a, c->pinned, c->len,
			   stream);
	case TO_HOST:
		return TRY(h, CUDA, cuMemcpyDtoHAsync_v2, c->pinned, c->a, c->len,
			   stream);
	case ON_DEVICE:
		return TRY(h, CUDA, cuMemcpyDtoDAsync_v2, c->b, c->a, c->len, stream);
	default:
		return TRY(h, CUDA, cuMemcpyPeerAsync, c->b, c->other->context, c->a,
			   c->d->context, c->len, stream);
	}
}

/* Copy once to warm up, then repeatedly; returns bytes a second. */
static int measure(struct helper *h, const struct copying *c, enum direction direction,
		   double *ret)
{
	double start;

	if (copy_once(h, c, direction) || cuda_sync(h, c->d))
		return -1;
	start = seconds();
	for (int i = 0; i < REPEATS; i++)
		if (copy_once(h, c, direction))
			return -1;
	if (cuda_sync(h, c->d))
		return -1;
	*ret = (double)c->len * REPEATS / (seconds() - start + 1e-9);
	return 0;
}

static void copying_end(struct helper *h, struct copying *c)
{
	if (c->a)
		(void)ASK(h, CUDA, cuMemFree_v2, c->a);
	if (c->b)
		(void)ASK(h, CUDA, cuMemFree_v2, c->b);
	if (c->pinned)
		(void)ASK(h, CUDA, cuMemFreeHost, c->pinned);
}

static int measure_copies(struct helper *h, struct copying *c)
{
	double in = 0, out = 0, on = 0;

	if (TRY(h, CUDA, cuMemAlloc_v2, &c->a, c->len) ||
	    TRY(h, CUDA, cuMemAlloc_v2, &c->b, c->len) ||
	    TRY(h, CUDA, cuMemAllocHost_v2, &c->pinned, c->len))
		return -1;
	memset(c->pinned, 0, c->len);
	if (measure(h, c, TO_DEVICE, &in) || measure(h, c, TO_HOST, &out) ||
	    measure(h, c, ON_DEVICE, &on))
		return -1;
	reply_num(&h->reply, "hostToDevice", (uint64_t)in);
	reply_num(&h->reply, "deviceToHost", (uint64_t)out);
	reply_num(&h->reply, "deviceToDevice", (uint64_t)(2 * on)); /* read and written */
	return 0;
}

/* At most a quarter of the free memory: a busy device can be measured, too. */
static int choose_length(struct helper *h, struct copying *c, uint64_t want)
{
	size_t free_now = 0, total = 0;

	if (TRY(h, CUDA, cuMemGetInfo_v2, &free_now, &total))
		return -1;
	c->len = want < free_now / 4 ? want : free_now / 4;
	c->len = c->len < PAGE ? PAGE : c->len;
	return 0;
}

int op_copy(struct helper *h, const struct gpu_request *q)
{
	struct copying c = { 0 };
	int result;

	if (cuda_use(h, q->device, &c.d) || choose_length(h, &c, q->arg[0]))
		return -1;
	result = measure_copies(h, &c);
	copying_end(h, &c);
	return result;
}

static int measure_peer(struct helper *h, struct copying *c, const struct gpu_request *q)
{
	double rate = 0;

	if (cuda_use(h, (uint32_t)q->arg[1], &c->other) ||
	    choose_length(h, c, q->arg[0]) ||
	    TRY(h, CUDA, cuMemAlloc_v2, &c->b, c->len) || cuda_use(h, q->device, &c->d) ||
	    TRY(h, CUDA, cuMemAlloc_v2, &c->a, c->len) || measure(h, c, TO_PEER, &rate))
		return -1;
	reply_num(&h->reply, "rate", (uint64_t)rate);
	return 0;
}

int op_peer(struct helper *h, const struct gpu_request *q)
{
	struct copying c = { 0 };
	int result = measure_peer(h, &c, q);

	copying_end(h, &c);
	return result;
}
