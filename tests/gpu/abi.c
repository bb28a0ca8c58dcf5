/* Compiled against NVIDIA's own headers: each row of the helper's tables is what they declare. */
#define GPU_REAL_HEADERS
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nvml.h>

#include "gpu/helper/calls.h"

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type);
#define OFFSET(type, field, place) \
	_Static_assert(offsetof(type, field) == (place), #type);
#define CONSTANT(name, value) _Static_assert((int)(name) == (value), #name);
#define PROTOTYPE(library, type, name, parameters)                                      \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), type parameters), \
		       #name);

GPU_TYPES(SIZE)
GPU_FIELDS(OFFSET)
GPU_CONSTANTS(CONSTANT)
GPU_CALLS(PROTOTYPE)

/* What examples/gpu_feed.py calls besides. */
#define CONSUMER(name, parameters) PROTOTYPE(CUDA, CUresult, name, parameters)
CONSUMER(cuCtxPushCurrent_v2, (CUcontext))
CONSUMER(cuCtxPopCurrent_v2, (CUcontext *))
CONSUMER(cuCtxSynchronize, (void))
CONSUMER(cuIpcOpenMemHandle_v2, (CUdeviceptr *, CUipcMemHandle, unsigned int))
CONSUMER(cuIpcCloseMemHandle, (CUdeviceptr))
CONSTANT(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, 1)
