/*
 * abi.h - the types and constants of NVIDIA's libraries that the helper uses.
 *
 * Our own declarations of a stable ABI: the build needs no header of NVIDIA's.
 * tests/gpu/abi.c defines GPU_REAL_HEADERS and includes the real headers, so that the
 * compiler compares each row, here and in calls.h, with them.
 */
#ifndef GPU_HELPER_ABI_H
#define GPU_HELPER_ABI_H

#include <stddef.h>

#ifndef GPU_REAL_HEADERS
#define CUresult                  int
#define CUdevice                  int
#define CUdeviceptr               unsigned long long
#define CUcontext                 struct CUctx_st *
#define CUstream                  struct CUstream_st *
#define CUevent                   struct CUevent_st *
#define CUipcMemHandle            struct cuda_handle
#define CUuuid                    struct cuda_uuid
#define cudaError_t               int
#define cudaStream_t              struct CUstream_st *
#define nvmlReturn_t              int
#define nvmlDevice_t              struct nvmlDevice_st *
#define nvmlMemory_t              struct nvml_memory
#define nvmlPciInfo_t             struct nvml_pci
#define ncclResult_t              int
#define ncclDataType_t            int
#define ncclRedOp_t               int
#define ncclComm_t                struct ncclComm *
#define ncclUniqueId              struct nccl_id
#define nvmlProcessInfo_t         struct nvml_process
#define nvmlEnableState_t         int
#define nvmlMemoryErrorType_t     int
#define nvmlEccCounterType_t      int
#define nvmlPageRetirementCause_t int
#define nvmlGpuTopologyLevel_t    int
#define nvmlGpuP2PCapsIndex_t     int
#define nvmlGpuP2PStatus_t        int

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct nvmlDevice_st;
struct ncclComm;
struct cuda_uuid {
	char bytes[16];
};
struct cuda_handle {
	char reserved[64];
};
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_pci {
	char busIdLegacy[16];
	unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
};
struct nvml_process {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId;
};
struct nccl_id {
	char internal[128];
};
#endif

/* clang-format off */
/* X(TYPE, SIZE) */
#define GPU_TYPES(X) \
	X(CUresult, 4) \
	X(CUdevice, 4) \
	X(CUdeviceptr, 8) \
	X(CUcontext, 8) \
	X(CUstream, 8) \
	X(CUevent, 8) \
	X(CUipcMemHandle, 64) \
	X(CUuuid, 16) \
	X(cudaError_t, 4) \
	X(cudaStream_t, 8) \
	X(nvmlReturn_t, 4) \
	X(nvmlDevice_t, 8) \
	X(nvmlMemory_t, 24) \
	X(nvmlPciInfo_t, 68) \
	X(nvmlProcessInfo_t, 24) \
	X(nvmlEnableState_t, 4) \
	X(nvmlMemoryErrorType_t, 4) \
	X(nvmlEccCounterType_t, 4) \
	X(nvmlPageRetirementCause_t, 4) \
	X(nvmlGpuTopologyLevel_t, 4) \
	X(nvmlGpuP2PCapsIndex_t, 4) \
	X(nvmlGpuP2PStatus_t, 4) \
	X(ncclResult_t, 4) \
	X(ncclDataType_t, 4) \
	X(ncclRedOp_t, 4) \
	X(ncclComm_t, 8) \
	X(ncclUniqueId, 128)

/* X(TYPE, FIELD, OFFSET) */
#define GPU_FIELDS(X) \
	X(nvmlMemory_t, free, 8) \
	X(nvmlMemory_t, used, 16) \
	X(nvmlPciInfo_t, busId, 36) \
	X(nvmlProcessInfo_t, usedGpuMemory, 8)

/* X(NAME, VALUE): constants of the headers. */
#define GPU_CONSTANTS(X) \
	X(CUDA_ERROR_NO_DEVICE, 100) \
	X(CU_MEMHOSTREGISTER_PORTABLE, 1) \
	X(CU_EVENT_DISABLE_TIMING, 2) \
	X(NVML_ERROR_NOT_SUPPORTED, 3) \
	X(NVML_ERROR_NOT_FOUND, 6) \
	X(NVML_ERROR_INSUFFICIENT_SIZE, 7) \
	X(NVML_MEMORY_ERROR_TYPE_CORRECTED, 0) \
	X(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1) \
	X(NVML_VOLATILE_ECC, 0) \
	X(NVML_AGGREGATE_ECC, 1) \
	X(NVML_NVLINK_MAX_LINKS, 18) \
	X(NVML_P2P_CAPS_INDEX_NVLINK, 2) \
	X(ncclFloat32, 7) \
	X(ncclSum, 0)
/* clang-format on */

#ifndef GPU_REAL_HEADERS
#define GPU_CONSTANT(name, value) name = (value),
enum { GPU_CONSTANTS(GPU_CONSTANT) };
#endif

#endif
