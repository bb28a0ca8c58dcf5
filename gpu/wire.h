/*
 * wire.h - the protocol between this program and its GPU helper.
 *
 * Each request has one reply; both are messages of a SEQPACKET socket (the helper's
 * descriptor GPU_FD_SOCKET). A reply is its head and a JSON object: the result, or, with
 * a status other than GPU_DONE, {library, call, code, message}. Before each call of a
 * library the helper writes the library's and the call's name into a page of shared
 * memory (GPU_FD_SHARED), so that the parent can report them even if the helper dies.
 * Both ends must be of the same build; the version is compared.
 */
#ifndef GPU_WIRE_H
#define GPU_WIRE_H

#include <stdint.h>

enum {
	GPU_FD_SOCKET = 3,
	GPU_FD_SHARED = 4,
	GPU_WIRE_VERSION = 0x4b475001,
	GPU_REPLY_MAX = 128 * 1024, /* bytes of head and text */
	GPU_NAME_SIZE = 64,
	GPU_DATA_SIZE = 128,
	/*
	 * struct gpu_shared; a feed's pinned buffers follow, mapped by the helper: a multiple
	 * of every page size (64 KiB on Arm)
	 */
	GPU_SHARED_SIZE = 64 * 1024,
};

enum gpu_op {
	GPU_OP_SYSTEM = 1, /* {driver, nvml, cudaVersion, devices} */
	GPU_OP_DEVICE,     /* NVML's device `device`: all its properties */
	GPU_OP_LINKS,   /* {links}: NVLinks or topology level of each pair of devices */
	GPU_OP_RUNTIME, /* {driverVersion, runtimeVersion, runtime}: libcuda, libcudart */
	GPU_OP_CUDA,    /* {devices: [{uuid, name, free, total}]}: CUDA's devices */
	GPU_OP_ANSWER,  /* copy a few bytes to CUDA's device and back */
	GPU_OP_MEMORY, /* the same with arg[0] bytes (0: 90 % of the free ones), arg[1] patterns */
	GPU_OP_COPY, /* {hostToDevice, deviceToHost, deviceToDevice}: bytes/s, of arg[0] bytes */
	GPU_OP_PEER, /* {rate}: bytes/s from `device` to arg[1], of arg[0] bytes */
	/*
	 * NCCL's all-reduce of arg[0] bytes over the devices in the bit set arg[1].
	 * device 0: these are all ranks; else `device` is the total number of ranks, the
	 * first of these is rank arg[2], and the unique id is in `data`
	 */
	GPU_OP_ALLREDUCE,
	GPU_OP_NCCL_ID, /* {id}: in hex */
	/*
	 * Buffers of arg[0] bytes for `device` ranks, arg[1] of pinned memory and as many
	 * for each rank, whose CUDA device is data[rank]: {ranks: [{uuid, handle}]}
	 */
	GPU_OP_FEED_OPEN,
	/* Begin to copy arg[0] bytes of buffer `device` to rank's buffer data[rank] */
	GPU_OP_FEED_COPY,
	GPU_OP_FEED_WAIT, /* wait until the copies of buffer `device` are complete */
	GPU_OP_FEED_CLOSE,
};

enum gpu_status {
	GPU_DONE = 0,
	GPU_NO_LIBRARY, /* not found, or not loadable */
	GPU_NO_SYMBOL,  /* the library lacks `call` */
	GPU_FAILED,     /* `call` returned `code` */
	GPU_REFUSED,    /* the request is invalid */
};

struct gpu_request {
	uint32_t version, seq, op, device;
	uint64_t arg[3];
	uint8_t data[GPU_DATA_SIZE];
};

struct gpu_reply {
	uint32_t version, seq, status, len; /* len bytes of text follow */
};

struct gpu_shared {
	uint64_t calls; /* number of calls begun */
	char library[GPU_NAME_SIZE], call[GPU_NAME_SIZE];
};

#endif
