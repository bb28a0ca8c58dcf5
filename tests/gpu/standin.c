/*
 * standin.c - stands in for libcuda, libnvidia-ml, libcudart and libnccl where there is no
 * GPU: devices over host memory. tests/gpu/build.sh compiles it once for each library.
 *
 * What they do wrong is in the environment's STANDIN, words separated by blanks:
 *
 *   devices=N memory=MIB driver=12080 runtime=12080   how many, and which versions
 *   hang=CALL abort=CALL exit=CALL crash=CALL         a call never returns, or ends all
 *   fail=CALL:CODE delay=US                           it fails; each takes so long
 *   lost=D wrong=D sum=D slow=A-B                     a device is off the bus, its memory
 *                                                     or its sums are wrong, a link is slow
 *   ecc=D:N failed=D pending=D retired=D:N throttle=D:MASK width=D:N links=D:N used=D:MIB
 *   mig=D:N                                           N instances
 *   network=US badlink=1                              how long other processes' ranks take; the
 *                                                     link of two processes with badlink is slow
 *   ledger=FILE                                       CUDA's memory and events, made and freed;
 *                                                     bytes from the host and between devices
 *
 * Links take no time but that of the helper's clock, where it has standin_clock.c.
 *
 * Copies wait until their stream or an event behind them is synchronized: who reads or
 * writes too early sees it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/helper/calls.h"

#define EXPORT __attribute__((visibility("default")))

enum { OUT_OF_MEMORY = 2, INVALID = 2, LOST = 15, LINKS = 4 };

/* The first `count` numbers behind "key=": "4", "1:8", "0-2". */
static bool says(const char *key, int count, long *ret)
{
	const char *word = getenv("STANDIN");
	size_t len = strlen(key);

	for (; word && *word; word += strcspn(word, " "), word += *word == ' ') {
		char *end;

		if (strncmp(word, key, len) || word[len] != '=')
			continue;
		end = (char *)(word + len);
		for (int i = 0; i < count; i++)
			ret[i] = strtol(end + 1, &end, 10);
		return true;
	}
	return false;
}

static long number(const char *key, long absent)
{
	long value[1];

	return says(key, 1, value) ? value[0] : absent;
}

/* "key=D:VALUE" of this device. "key=D" alone is 1. */
static __attribute__((unused)) long of_device(const char *key, int device, long absent)
{
	long value[2] = { 0, 1 };
	const char *word = getenv("STANDIN");
	char start[40];

	snprintf(start, sizeof(start), "%s=%d", key, device);
	for (; word && (word = strstr(word, start)) != NULL; word++) {
		const char *rest = word + strlen(start);

		if (*rest == ':')
			value[1] = strtol(rest + 1, NULL, 10);
		if (*rest == ':' || *rest == ' ' || *rest == 0)
			return value[1];
	}
	return absent;
}

static bool names(const char *key, const char *call)
{
	char word[100];
	const char *in = getenv("STANDIN"), *found;

	snprintf(word, sizeof(word), "%s=%s", key, call);
	found = in ? strstr(in, word) : NULL;
	return found && strchr(" :", found[strlen(word)]);
}

/* What a call does before its work: mostly nothing. */
static int enter(const char *call)
{
	char word[100];
	const char *in = getenv("STANDIN"), *found;

	usleep((unsigned int)number("delay", 0));
	while (names("hang", call))
		pause();
	if (names("abort", call))
		abort();
	if (names("exit", call))
		_exit(3);
	if (names("crash", call))
		raise(SIGSEGV);
	snprintf(word, sizeof(word), "fail=%s:", call);
	found = in ? strstr(in, word) : NULL;
	return found ? (int)strtol(found + strlen(word), NULL, 10) : 0;
}
#define ENTER()                              \
	do {                                 \
		int code_ = enter(__func__); \
		if (code_)                   \
			return code_;        \
	} while (0)

static __attribute__((unused)) int count(void)
{
	return (int)number("devices", 1);
}

static __attribute__((unused)) void pass(long us)
{
	void (*on_its_clock)(unsigned int) =
		(void (*)(unsigned int))dlsym(RTLD_DEFAULT, "standin_pass");

	if (on_its_clock)
		on_its_clock((unsigned int)us);
	else
		usleep((unsigned int)us);
}

/* How long a link takes; nothing is worked out in it. */
static __attribute__((unused)) long link_us(int a, int b)
{
	long pair[2] = { -1, -1 };

	says("slow", 2, pair);
	return (a == pair[0] && b == pair[1]) || (a == pair[1] && b == pair[0]) ? 300000
										: 30000;
}

#ifdef STANDIN_CUDA
struct CUctx_st {
	int device;
};
enum { MAX = 64, MAX_ALLOCATIONS = 4096 };
static struct CUctx_st contexts[MAX], *current;
static struct {
	CUdeviceptr at;
	size_t size;
	int device, fd;
	bool written;
} allocations[MAX_ALLOCATIONS];

static void ledger(const char *what, long change)
{
	const char *in = getenv("STANDIN"), *at = in ? strstr(in, "ledger=") : NULL;
	char path[400], line[100];
	int fd;

	if (!at)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + 7, " "), at + 7);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)!write(fd, line,
		     (size_t)snprintf(line, sizeof(line), "%s %ld\n", what, change));
	close(fd);
}

/* ---- streams: what was asked of them, in order ---- */
struct CUevent_st {
	CUstream stream; /* NULL: not recorded */
	unsigned long at;
};
struct operation {
	struct operation *next;
	char *to;
	const char *from;
	size_t len;
	bool wrong;
	unsigned int us;
	struct CUevent_st after; /* of another stream */
};
struct CUstream_st {
	struct operation *first, **last;
	unsigned long asked, done;
};

static void run_until(CUstream stream, unsigned long at)
{
	while (stream->done < at && stream->first) {
		struct operation *o = stream->first;

		stream->first = o->next;
		if (!stream->first)
			stream->last = &stream->first;
		if (o->after.stream)
			run_until(o->after.stream, o->after.at);
		if (o->len)
			memcpy(o->to, o->from, o->len);
		if (o->wrong)
			o->to[o->len / 2] ^= 4;
		pass(o->us);
		free(o);
		stream->done++;
	}
}

static int later(CUstream stream, struct operation what)
{
	struct operation *o = malloc(sizeof(*o));

	*o = what;
	o->next = NULL;
	*stream->last = o;
	stream->last = &o->next;
	stream->asked++;
	return 0;
}

/* CUDA_VISIBLE_DEVICES of numbers and of our own UUIDs. */
static int visible(int list[MAX])
{
	const char *word = getenv("CUDA_VISIBLE_DEVICES");
	int n = 0;

	if (!word)
		for (n = 0; n < count() && n < MAX; n++)
			list[n] = n;
	for (; word && *word && *word != '-';
	     word += strcspn(word, ","), word += *word == ',')
		list[n++] = (int)strtol(word + (*word == 'G' ? 4 : 0), NULL, 16);
	return n;
}

EXPORT int standin_device(void);
int standin_device(void)
{
	return current ? current->device : -1;
}

EXPORT CUresult cuInit(unsigned int flags)
{
	int list[MAX];

	ENTER();
	return visible(list) ? 0 : CUDA_ERROR_NO_DEVICE;
}
EXPORT CUresult cuDriverGetVersion(int *ret)
{
	ENTER();
	*ret = (int)number("driver", 12080);
	return 0;
}
EXPORT CUresult cuGetErrorString(CUresult code, const char **ret)
{
	*ret = code == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected"
	       : code == OUT_OF_MEMORY      ? "out of memory"
					    : "a failure on command";
	return 0;
}
EXPORT CUresult cuDeviceGetCount(int *ret)
{
	int list[MAX];

	ENTER();
	*ret = visible(list);
	return 0;
}
EXPORT CUresult cuDeviceGet(CUdevice *ret, int ordinal)
{
	int list[MAX], n = visible(list);

	ENTER();
	*ret = ordinal < n ? list[ordinal] : 0;
	return ordinal < n ? 0 : 101;
}
EXPORT CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
	ENTER();
	snprintf(name, (size_t)len, "Stand-in GPU");
	return 0;
}
EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *ret, CUdevice device)
{
	static const CUuuid like = {
		"\0\0\0\0\xaa\xaa\xbb\xbb\xcc\xcc\xdd\xdd\xdd\xdd\xdd"
	};

	ENTER();
	*ret = like;
	ret->bytes[15] = (char)0xdd;
	ret->bytes[3] = (char)device;
	return 0;
}
EXPORT CUresult cuDeviceTotalMem_v2(size_t *ret, CUdevice device)
{
	ENTER();
	*ret = (size_t)number("memory", 64) << 20;
	return 0;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
	ENTER();
	if (of_device("lost", device, 0))
		return 719;
	contexts[device].device = device;
	*ret = &contexts[device];
	return 0;
}
EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	ENTER();
	return 0;
}
EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
	ENTER();
	current = context;
	return 0;
}

static size_t used(int device)
{
	size_t sum = (size_t)of_device("used", device, 0) << 20;

	for (int i = 0; i < MAX_ALLOCATIONS; i++)
		if (allocations[i].at && allocations[i].device == device)
			sum += allocations[i].size;
	return sum;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_now, size_t *total)
{
	ENTER();
	*total = (size_t)number("memory", 64) << 20;
	*free_now = used(current->device) < *total ? *total - used(current->device) : 0;
	return 0;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t size)
{
	size_t total = (size_t)number("memory", 64) << 20;

	ENTER();
	if (used(current->device) + size > total)
		return OUT_OF_MEMORY;
	for (int i = 0; i < MAX_ALLOCATIONS; i++)
		if (!allocations[i].at) {
			int fd = memfd_create("standin", MFD_CLOEXEC);
			void *memory = MAP_FAILED;

			if (!ftruncate(fd, (off_t)size))
				memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
					      MAP_SHARED, fd, 0);
			if (memory == MAP_FAILED)
				return OUT_OF_MEMORY;
			allocations[i].at = (CUdeviceptr)(size_t)memory;
			allocations[i].size = size;
			allocations[i].device = current->device;
			allocations[i].fd = fd;
			allocations[i].written = false;
			*ret = allocations[i].at;
			ledger("memory", 1);
			return 0;
		}
	return OUT_OF_MEMORY;
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr at)
{
	ENTER();
	for (int i = 0; i < MAX_ALLOCATIONS; i++)
		if (allocations[i].at == at) {
			munmap((void *)(size_t)at, allocations[i].size);
			close(allocations[i].fd);
			allocations[i].at = 0;
			ledger("memory", -1);
			return 0;
		}
	return 1;
}

/* A handle says which file of which process. */
struct shared_memory {
	int pid, fd;
	size_t size;
};
EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *ret, CUdeviceptr at)
{
	ENTER();
	for (int i = 0; i < MAX_ALLOCATIONS; i++)
		if (allocations[i].at == at) {
			struct shared_memory m = { getpid(), allocations[i].fd,
						   allocations[i].size };

			memset(ret, 0, sizeof(*ret));
			memcpy(ret, &m, sizeof(m));
			return 0;
		}
	return 1;
}
EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret, CUipcMemHandle handle,
				      unsigned int flags);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret, CUipcMemHandle handle,
			       unsigned int flags)
{
	struct shared_memory m;
	char path[60];
	void *memory;
	int fd;

	ENTER();
	memcpy(&m, &handle, sizeof(m));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", m.pid, m.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	memory = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (flags != 1 || memory == MAP_FAILED)
		return 1;
	*ret = (CUdeviceptr)(size_t)memory;
	ledger("opened", 1);
	return 0;
}
EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr at);
CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
	ENTER();
	ledger("opened", -1);
	return 0;
}
EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	ENTER();
	current = context;
	return 0;
}
EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ret);
CUresult cuCtxPopCurrent_v2(CUcontext *ret)
{
	ENTER();
	*ret = current;
	current = NULL;
	return 0;
}
EXPORT CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize(void)
{
	ENTER();
	return 0;
}
EXPORT CUresult cuMemHostRegister_v2(void *p, size_t size, unsigned int flags)
{
	ENTER();
	if (!current || !size || flags != CU_MEMHOSTREGISTER_PORTABLE)
		return 1;
	ledger("pinned", 1);
	return 0;
}
EXPORT CUresult cuMemHostUnregister(void *p)
{
	ENTER();
	ledger("pinned", -1);
	return 0;
}
EXPORT CUresult cuEventCreate(CUevent *ret, unsigned int flags)
{
	ENTER();
	*ret = calloc(1, sizeof(**ret));
	ledger("event", 1);
	return 0;
}
EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
	ENTER();
	free(event);
	ledger("event", -1);
	return 0;
}
EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
	ENTER();
	*event = (struct CUevent_st){ stream, stream->asked };
	return 0;
}
EXPORT CUresult cuEventSynchronize(CUevent event)
{
	ENTER();
	if (event->stream)
		run_until(event->stream, event->at);
	return 0;
}
EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	ENTER();
	return later(stream, (struct operation){ .after = *event });
}
EXPORT CUresult cuMemAllocHost_v2(void **ret, size_t size)
{
	ENTER();
	*ret = malloc(size);
	return 0;
}
EXPORT CUresult cuMemFreeHost(void *p)
{
	ENTER();
	free(p);
	return 0;
}
static bool *written(CUdeviceptr at)
{
	static bool none;

	for (int i = 0; i < MAX_ALLOCATIONS; i++)
		if (allocations[i].at && at >= allocations[i].at &&
		    at < allocations[i].at + allocations[i].size)
			return &allocations[i].written;
	return &none;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t len,
				     CUstream stream)
{
	ENTER();
	*written(to) = true;
	ledger("from-host", (long)len);
	return later(
		stream,
		(struct operation){ .to = (char *)(size_t)to, .from = from, .len = len });
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t len,
				     CUstream stream)
{
	ENTER();
	return later(stream, (struct operation){
				     .to = to,
				     .from = (const char *)(size_t)from,
				     .len = len,
				     .wrong = of_device("wrong", current->device, 0) });
}
EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t len,
				     CUstream stream)
{
	ENTER();
	return later(stream, (struct operation){ .to = (char *)(size_t)to,
						 .from = (const char *)(size_t)from,
						 .len = len });
}
EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
				  CUcontext from_context, size_t len, CUstream stream)
{
	ENTER();
	ledger("to-peer", (long)len);
	return later(stream, (struct operation){
				     .to = (char *)(size_t)to,
				     .from = (const char *)(size_t)from,
				     .len = *written(from) ? len : 0,
				     .us = (unsigned int)link_us(from_context->device,
								 to_context->device) });
}
EXPORT CUresult cuStreamCreate(CUstream *ret, unsigned int flags)
{
	ENTER();
	*ret = calloc(1, sizeof(**ret));
	(*ret)->last = &(*ret)->first;
	return 0;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
	ENTER();
	free(stream);
	return 0;
}
EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	ENTER();
	run_until(stream, stream->asked);
	return 0;
}
#endif

#ifdef STANDIN_CUDART
EXPORT cudaError_t cudaRuntimeGetVersion(int *ret)
{
	ENTER();
	*ret = (int)number("runtime", 12080);
	return 0;
}
#endif

#ifdef STANDIN_NVML
struct nvmlDevice_st {
	int number, instance; /* -1: the device itself */
};
enum { MAX = 64, MAX_INSTANCES = 8 };
static struct nvmlDevice_st devices[MAX], instances[MAX][MAX_INSTANCES];

EXPORT nvmlReturn_t nvmlInit_v2(void)
{
	ENTER();
	return 0;
}
EXPORT const char *nvmlErrorString(nvmlReturn_t code)
{
	return code == LOST ? "GPU is lost" : code == 9 ? "Driver Not Loaded" : "failure";
}
EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned int len)
{
	ENTER();
	snprintf(to, len, "570.86.10");
	return 0;
}
EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *to, unsigned int len)
{
	ENTER();
	snprintf(to, len, "12.570.86");
	return 0;
}
EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *ret)
{
	ENTER();
	*ret = (int)number("driver", 12080);
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *ret)
{
	ENTER();
	*ret = (unsigned int)count();
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *ret)
{
	ENTER();
	if (of_device("lost", (int)i, 0))
		return LOST;
	devices[i] = (struct nvmlDevice_st){ (int)i, -1 };
	*ret = &devices[i];
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned int len)
{
	ENTER();
	snprintf(to, len, d->instance < 0 ? "Stand-in GPU" : "Stand-in GPU MIG 1g.8gb");
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned int len)
{
	ENTER();
	if (d->instance < 0)
		snprintf(to, len, "GPU-%08x-aaaa-bbbb-cccc-dddddddddddd", d->number);
	else
		snprintf(to, len, "MIG-%04x%04x-aaaa-bbbb-cccc-dddddddddddd", d->number,
			 d->instance);
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned int *ret)
{
	ENTER();
	*ret = (unsigned int)d->number;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *ret)
{
	ENTER();
	ret->total = (unsigned long long)number("memory", 64) << 20;
	ret->used = (unsigned long long)of_device("used", d->number, 0) << 20;
	ret->free = ret->total - ret->used;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major,
						       int *minor)
{
	ENTER();
	*major = 9;
	*minor = 0;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *ret)
{
	ENTER();
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->busId, sizeof(ret->busId), "0000FFFF:%02X:00.0", d->number + 1);
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned int *ret)
{
	ENTER();
	*ret = 5;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int *ret)
{
	ENTER();
	*ret = 5;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned int *ret)
{
	ENTER();
	*ret = (unsigned int)of_device("width", d->number, 16);
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned int *ret)
{
	ENTER();
	*ret = 16;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, nvmlEnableState_t *now,
					 nvmlEnableState_t *later)
{
	ENTER();
	*now = *later = 1;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d,
						nvmlMemoryErrorType_t type,
						nvmlEccCounterType_t counter,
						unsigned long long *ret)
{
	ENTER();
	*ret = type ? (unsigned long long)of_device("ecc", d->number, 0) : 0;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t d,
					      nvmlPageRetirementCause_t cause,
					      unsigned int *n,
					      unsigned long long *addresses)
{
	ENTER();
	*n = cause ? (unsigned int)of_device("retired", d->number, 0) : 0;
	return *n ? NVML_ERROR_INSUFFICIENT_SIZE : 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned int *corrected,
					      unsigned int *uncorrected,
					      unsigned int *pending, unsigned int *failed)
{
	ENTER();
	if (of_device("retired", d->number, 0)) /* an older device */
		return NVML_ERROR_NOT_SUPPORTED;
	*corrected = *uncorrected = 0;
	*pending = of_device("pending", d->number, 0) != 0;
	*failed = of_device("failed", d->number, 0) != 0;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d,
							      unsigned long long *ret)
{
	ENTER();
	*ret = (unsigned long long)of_device("throttle", d->number, 1);
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned int link,
					     nvmlEnableState_t *ret)
{
	ENTER();
	*ret = (long)link < of_device("links", d->number, LINKS);
	return link < LINKS ? 0 : INVALID;
}
EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned int link,
							nvmlPciInfo_t *ret)
{
	ENTER();
	memset(ret, 0, sizeof(*ret)); /* a switch */
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b,
					   nvmlGpuP2PCapsIndex_t what,
					   nvmlGpuP2PStatus_t *ret)
{
	ENTER();
	*ret = a->number / 2 != b->number / 2;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
							nvmlGpuTopologyLevel_t *ret)
{
	ENTER();
	*ret = 50;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d,
							    unsigned int *n,
							    nvmlProcessInfo_t *list)
{
	long mib = of_device("used", d->number, 0);

	ENTER();
	*n = mib > 0;
	if (mib)
		list[0] = (nvmlProcessInfo_t){ .pid = 4711,
					       .usedGpuMemory = (unsigned long long)mib
								<< 20 };
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *now,
					 unsigned int *later)
{
	ENTER();
	*now = *later = of_device("mig", d->number, 0) != 0;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned int *ret)
{
	ENTER();
	*ret = MAX_INSTANCES - 1;
	return 0;
}
EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int i,
							nvmlDevice_t *ret)
{
	ENTER();
	if ((long)i >= of_device("mig", d->number, 0))
		return NVML_ERROR_NOT_FOUND;
	instances[d->number][i] = (struct nvmlDevice_st){ d->number, (int)i };
	*ret = &instances[d->number][i];
	return 0;
}
#endif

#ifdef STANDIN_NCCL
struct ncclComm {
	int rank, n, device;
	ncclUniqueId id;
	struct rendezvous *rendezvous; /* NULL: all ranks are this process's */
	bool done; /* the sums are there: what follows only takes its time */
};
enum { MAX = 64 };
static struct queued {
	const float *in;
	float *out;
	size_t n;
	struct ncclComm *comm;
} queue[MAX];
static int n_queued;

static struct ncclComm *joining[MAX];
static int n_joining;

/* What ranks of several processes share: a file, named by the unique id. */
struct rendezvous {
	int joined, arrived, bad_links;
	bool has[MAX]; /* the sum of a process's ranks, at its first one's place */
	float sums[];
};

static void wait_for(int *number, int least)
{
	while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < least)
		usleep(1000);
}

static int meet(size_t len)
{
	struct ncclComm *first = joining[0];
	size_t size = sizeof(struct rendezvous) + (size_t)first->n * len;
	const char *dir = getenv("TMPDIR");
	char path[sizeof(first->id) + 200];
	struct rendezvous *m;
	int fd;

	snprintf(path, sizeof(path), "%.180s/%.100s", dir ? dir : "/tmp",
		 (const char *)&first->id);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return 2;
	m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return 2;
	__atomic_add_fetch(&m->bad_links, number("badlink", 0) != 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&m->joined, n_joining, __ATOMIC_RELEASE);
	for (int i = 0; i < n_joining; i++)
		joining[i]->rendezvous = m;
	wait_for(&m->joined, first->n);
	unlink(path);
	return 0;
}

static int device(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*ask)(void) = cuda ? (int (*)(void))dlsym(cuda, "standin_device") : NULL;

	return ask ? ask() : -1;
}

EXPORT ncclResult_t ncclGetVersion(int *ret)
{
	ENTER();
	*ret = 22100;
	return 0;
}
EXPORT const char *ncclGetErrorString(ncclResult_t code)
{
	return "unhandled system error";
}
EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *ret)
{
	ENTER();
	static int n;

	memset(ret, 0, sizeof(*ret));
	snprintf((char *)ret, sizeof(*ret), "standin-nccl-%d-%d", getpid(), n++);
	return 0;
}
EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *ret, int n, ncclUniqueId id, int rank)
{
	ENTER();
	if (strncmp((const char *)&id, "standin-nccl-", 13) || rank >= n || n > MAX)
		return 4;
	*ret = malloc(sizeof(**ret));
	**ret = (struct ncclComm){ rank, n, device(), id, NULL, false };
	joining[n_joining++] = *ret;
	return 0;
}
EXPORT ncclResult_t ncclGroupStart(void)
{
	ENTER();
	return 0;
}
EXPORT ncclResult_t ncclAllReduce(const void *in, void *out, size_t n,
				  ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
				  cudaStream_t stream)
{
	ENTER();
	if (type != ncclFloat32 || op != ncclSum || n_queued == MAX)
		return 4;
	queue[n_queued++] = (struct queued){ in, out, n, comm };
	return 0;
}
/* Each process adds its own ranks' numbers, then all processes' sums. */
static void add_up_together(struct rendezvous *m)
{
	struct ncclComm *first = queue[0].comm;
	size_t len = queue[0].n;
	float *own = m->sums + (size_t)first->rank * len;

	for (size_t e = 0; e < len; e++)
		for (int i = 0; i < n_queued; i++)
			own[e] += queue[i].in[e];
	m->has[first->rank] = true;
	__atomic_add_fetch(&m->arrived, n_queued, __ATOMIC_RELEASE);
	wait_for(&m->arrived, first->n);
	memset(queue[0].out, 0, len * sizeof(float));
	for (int rank = 0; rank < first->n; rank++)
		for (size_t e = 0; m->has[rank] && e < len; e++)
			queue[0].out[e] += m->sums[(size_t)rank * len + e];
	for (int i = 1; i < n_queued; i++)
		memcpy(queue[i].out, queue[0].out, len * sizeof(float));
}

static void add_up_here(void)
{
	for (size_t e = 0; e < queue[0].n; e++) {
		float sum = 0;

		for (int i = 0; i < n_queued; i++)
			sum += queue[i].in[e];
		for (int i = 0; i < n_queued; i++)
			queue[i].out[e] = sum;
	}
}

static void add_up(void)
{
	if (queue[0].comm->rendezvous)
		add_up_together(queue[0].comm->rendezvous);
	else
		add_up_here();
	for (int i = 0; i < n_queued; i++) {
		queue[i].comm->done = true;
		if (of_device("sum", queue[i].comm->device, 0))
			queue[i].out[queue[i].n / 3] += 1;
	}
}

/* As long as the slowest link. */
EXPORT ncclResult_t ncclGroupEnd(void)
{
	struct rendezvous *m;
	long us = 0;
	int code = 0;

	ENTER();
	if (n_joining && n_joining < joining[0]->n)
		code = meet((16 << 20));
	n_joining = 0;
	if (code)
		return code;
	m = n_queued ? queue[0].comm->rendezvous : NULL;
	if (m)
		us = m->bad_links > 1 ? 400000 : number("network", 10000);
	if (n_queued && !queue[0].comm->done)
		add_up();
	for (int i = 0; i < n_queued; i++)
		for (int j = i + 1; j < n_queued; j++) {
			long link = link_us(queue[i].comm->device, queue[j].comm->device);

			us = link > us ? link : us;
		}
	pass(us);
	n_queued = 0;
	return 0;
}
EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	ENTER();
	free(comm);
	return 0;
}
EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	ENTER();
	free(comm);
	return 0;
}
#endif
