/*
 * helper.h - the GPU helper: a separate process, because a static program cannot load
 * NVIDIA's libraries, and because their calls may hang, abort or corrupt memory.
 *
 * It links only glibc (2.34 or later), and shares only wire.h with the main program.
 */
#ifndef GPU_HELPER_HELPER_H
#define GPU_HELPER_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/helper/calls.h"
#include "gpu/wire.h"

enum library { CUDA, CUDART, NVML, NCCL, N_LIBRARIES };
enum { MAX_DEVICES = 64 };

/* The functions of the opened libraries; NULL if a library lacks one. */
struct calls {
#define GPU_CALL_FIELD(library, type, name, parameters) type(*name) parameters;
	GPU_CALLS(GPU_CALL_FIELD)
};

/* The JSON of a reply, written in order. */
struct reply {
	char text[GPU_REPLY_MAX - sizeof(struct gpu_reply)];
	size_t len;
	bool full;
};

struct cuda_device {
	CUdevice device;
	CUcontext context; /* the primary context; current while it is used */
	CUstream stream;
};

struct helper {
	struct gpu_shared *shared;
	struct calls f;
	void *library[N_LIBRARIES];
	bool nvml_ready;
	struct feed *feed; /* NULL: no feed is open */
	int n_devices;     /* number of CUDA's devices */
	struct cuda_device devices[MAX_DEVICES];
	struct reply reply;
	enum gpu_status status;
};

/* ---- reply.c: the reply. `key` is NULL in a list. ------------------------------------ */
void reply_begin(struct reply *s, const char *key, char bracket); /* '{' or '[' */
void reply_end(struct reply *s, char bracket);                    /* '}' or ']' */
void reply_str(struct reply *s, const char *key, const char *value);
void reply_num(struct reply *s, const char *key, uint64_t value);
void reply_hex(char *to, const char *from, size_t n); /* 2 * n digits, and a null byte */
/* Replaces the reply by this failure. Returns -1. */
int reply_error(struct helper *h, enum gpu_status status, const char *message, int code);

/* ---- libs.c ------------------------------------------------------------------------- */
int lib_open(struct helper *h, enum library library); /* -1: the reply is the error */
const char *lib_path(struct helper *h, enum library library);
/*
 * Records a call in the shared page, before it is made. False: the library lacks the
 * function; the reply is then the error.
 */
bool call_begin(struct helper *h, enum library library, const char *name, bool present);
int call_result(struct helper *h, enum library library, int code);

/* Call a function. 0, or -1 with library and call in the reply. */
#define TRY(h, library, name, ...)                                   \
	(call_begin(h, library, #name, (h)->f.name != NULL)          \
		 ? call_result(h, library, (h)->f.name(__VA_ARGS__)) \
		 : -1)
/* Call a function that may be unsupported; true: it succeeded. */
#define ASK(h, library, name, ...)                                     \
	((h)->f.name && (call_begin(h, library, #name, true), true) && \
	 (h)->f.name(__VA_ARGS__) == 0)

/* ---- nvml.c, cuda.c, nccl.c, feed.c: the operations; -1: the reply is the error --------------- */
int op_system(struct helper *h, const struct gpu_request *q);
int op_device(struct helper *h, const struct gpu_request *q);
int op_links(struct helper *h, const struct gpu_request *q);
int op_runtime(struct helper *h, const struct gpu_request *q);
int op_cuda(struct helper *h, const struct gpu_request *q);
int op_memory(struct helper *h, const struct gpu_request *q);
int op_copy(struct helper *h, const struct gpu_request *q);
int op_peer(struct helper *h, const struct gpu_request *q);
int op_allreduce(struct helper *h, const struct gpu_request *q);
int op_nccl_id(struct helper *h, const struct gpu_request *q);
int op_feed_open(struct helper *h, const struct gpu_request *q);
int op_feed_copy(struct helper *h, const struct gpu_request *q);
int op_feed_wait(struct helper *h, const struct gpu_request *q);
int op_feed_close(struct helper *h, const struct gpu_request *q);

/* *ret: the device, whose context is now current. */
int cuda_use(struct helper *h, uint32_t number, struct cuda_device **ret);
void cuda_say_uuid(struct helper *h, const CUuuid *id);
int cuda_sync(struct helper *h, const struct cuda_device *d);
double seconds(void);

#endif
