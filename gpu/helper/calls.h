/*
 * calls.h - the functions of NVIDIA's libraries that the helper calls, as a table.
 */
#ifndef GPU_HELPER_CALLS_H
#define GPU_HELPER_CALLS_H

#include "gpu/helper/abi.h"

/* X(LIBRARY, RETURNS, NAME, (PARAMETERS)) */
#define CUDA_CALLS(X)                                                                    \
	X(CUDA, CUresult, cuInit, (unsigned int))                                        \
	X(CUDA, CUresult, cuDriverGetVersion, (int *))                                   \
	X(CUDA, CUresult, cuGetErrorString, (CUresult, const char **))                   \
	X(CUDA, CUresult, cuDeviceGetCount, (int *))                                     \
	X(CUDA, CUresult, cuDeviceGet, (CUdevice *, int))                                \
	X(CUDA, CUresult, cuDeviceGetName, (char *, int, CUdevice))                      \
	X(CUDA, CUresult, cuDeviceGetUuid_v2, (CUuuid *, CUdevice))                      \
	X(CUDA, CUresult, cuDeviceTotalMem_v2, (size_t *, CUdevice))                     \
	X(CUDA, CUresult, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))             \
	X(CUDA, CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice))                      \
	X(CUDA, CUresult, cuCtxSetCurrent, (CUcontext))                                  \
	X(CUDA, CUresult, cuMemGetInfo_v2, (size_t *, size_t *))                         \
	X(CUDA, CUresult, cuMemAlloc_v2, (CUdeviceptr *, size_t))                        \
	X(CUDA, CUresult, cuMemFree_v2, (CUdeviceptr))                                   \
	X(CUDA, CUresult, cuMemAllocHost_v2, (void **, size_t))                          \
	X(CUDA, CUresult, cuMemFreeHost, (void *))                                       \
	X(CUDA, CUresult, cuMemcpyHtoDAsync_v2,                                          \
	  (CUdeviceptr, const void *, size_t, CUstream))                                 \
	X(CUDA, CUresult, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
	X(CUDA, CUresult, cuMemcpyDtoDAsync_v2,                                          \
	  (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                  \
	X(CUDA, CUresult, cuMemcpyPeerAsync,                                             \
	  (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))            \
	X(CUDA, CUresult, cuStreamCreate, (CUstream *, unsigned int))                    \
	X(CUDA, CUresult, cuStreamDestroy_v2, (CUstream))                                \
	X(CUDA, CUresult, cuStreamSynchronize, (CUstream))                               \
	X(CUDA, CUresult, cuStreamWaitEvent, (CUstream, CUevent, unsigned int))          \
	X(CUDA, CUresult, cuEventCreate, (CUevent *, unsigned int))                      \
	X(CUDA, CUresult, cuEventRecord, (CUevent, CUstream))                            \
	X(CUDA, CUresult, cuEventSynchronize, (CUevent))                                 \
	X(CUDA, CUresult, cuEventDestroy_v2, (CUevent))                                  \
	X(CUDA, CUresult, cuMemHostRegister_v2, (void *, size_t, unsigned int))          \
	X(CUDA, CUresult, cuMemHostUnregister, (void *))                                 \
	X(CUDA, CUresult, cuIpcGetMemHandle, (CUipcMemHandle *, CUdeviceptr))

#define CUDART_CALLS(X) X(CUDART, cudaError_t, cudaRuntimeGetVersion, (int *))

#define NVML_CALLS(X)                                                                   \
	X(NVML, nvmlReturn_t, nvmlInit_v2, (void))                                      \
	X(NVML, const char *, nvmlErrorString, (nvmlReturn_t))                          \
	X(NVML, nvmlReturn_t, nvmlSystemGetDriverVersion, (char *, unsigned int))       \
	X(NVML, nvmlReturn_t, nvmlSystemGetNVMLVersion, (char *, unsigned int))         \
	X(NVML, nvmlReturn_t, nvmlSystemGetCudaDriverVersion_v2, (int *))               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetCount_v2, (unsigned int *))                  \
	X(NVML, nvmlReturn_t, nvmlDeviceGetHandleByIndex_v2,                            \
	  (unsigned int, nvmlDevice_t *))                                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetName, (nvmlDevice_t, char *, unsigned int))  \
	X(NVML, nvmlReturn_t, nvmlDeviceGetUUID, (nvmlDevice_t, char *, unsigned int))  \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMinorNumber, (nvmlDevice_t, unsigned int *)) \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *))  \
	X(NVML, nvmlReturn_t, nvmlDeviceGetCudaComputeCapability,                       \
	  (nvmlDevice_t, int *, int *))                                                 \
	X(NVML, nvmlReturn_t, nvmlDeviceGetPciInfo_v3, (nvmlDevice_t, nvmlPciInfo_t *)) \
	X(NVML, nvmlReturn_t, nvmlDeviceGetCurrPcieLinkGeneration,                      \
	  (nvmlDevice_t, unsigned int *))                                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMaxPcieLinkGeneration,                       \
	  (nvmlDevice_t, unsigned int *))                                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetCurrPcieLinkWidth,                           \
	  (nvmlDevice_t, unsigned int *))                                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMaxPcieLinkWidth,                            \
	  (nvmlDevice_t, unsigned int *))                                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetEccMode,                                     \
	  (nvmlDevice_t, nvmlEnableState_t *, nvmlEnableState_t *))                     \
	X(NVML, nvmlReturn_t, nvmlDeviceGetTotalEccErrors,                              \
	  (nvmlDevice_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t,                   \
	   unsigned long long *))                                                       \
	X(NVML, nvmlReturn_t, nvmlDeviceGetRetiredPages,                                \
	  (nvmlDevice_t, nvmlPageRetirementCause_t, unsigned int *,                     \
	   unsigned long long *))                                                       \
	X(NVML, nvmlReturn_t, nvmlDeviceGetRemappedRows,                                \
	  (nvmlDevice_t, unsigned int *, unsigned int *, unsigned int *,                \
	   unsigned int *))                                                             \
	X(NVML, nvmlReturn_t, nvmlDeviceGetCurrentClocksThrottleReasons,                \
	  (nvmlDevice_t, unsigned long long *))                                         \
	X(NVML, nvmlReturn_t, nvmlDeviceGetNvLinkState,                                 \
	  (nvmlDevice_t, unsigned int, nvmlEnableState_t *))                            \
	X(NVML, nvmlReturn_t, nvmlDeviceGetNvLinkRemotePciInfo_v2,                      \
	  (nvmlDevice_t, unsigned int, nvmlPciInfo_t *))                                \
	X(NVML, nvmlReturn_t, nvmlDeviceGetP2PStatus,                                   \
	  (nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t *))    \
	X(NVML, nvmlReturn_t, nvmlDeviceGetTopologyCommonAncestor,                      \
	  (nvmlDevice_t, nvmlDevice_t, nvmlGpuTopologyLevel_t *))                       \
	X(NVML, nvmlReturn_t, nvmlDeviceGetComputeRunningProcesses_v3,                  \
	  (nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *))                          \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMigMode,                                     \
	  (nvmlDevice_t, unsigned int *, unsigned int *))                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMaxMigDeviceCount,                           \
	  (nvmlDevice_t, unsigned int *))                                               \
	X(NVML, nvmlReturn_t, nvmlDeviceGetMigDeviceHandleByIndex,                      \
	  (nvmlDevice_t, unsigned int, nvmlDevice_t *))

#define NCCL_CALLS(X)                                                                   \
	X(NCCL, ncclResult_t, ncclGetVersion, (int *))                                  \
	X(NCCL, const char *, ncclGetErrorString, (ncclResult_t))                       \
	X(NCCL, ncclResult_t, ncclGetUniqueId, (ncclUniqueId *))                        \
	X(NCCL, ncclResult_t, ncclCommInitRank, (ncclComm_t *, int, ncclUniqueId, int)) \
	X(NCCL, ncclResult_t, ncclGroupStart, (void))                                   \
	X(NCCL, ncclResult_t, ncclGroupEnd, (void))                                     \
	X(NCCL, ncclResult_t, ncclAllReduce,                                            \
	  (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,       \
	   cudaStream_t))                                                               \
	X(NCCL, ncclResult_t, ncclCommDestroy, (ncclComm_t))                            \
	X(NCCL, ncclResult_t, ncclCommAbort, (ncclComm_t))

#define GPU_CALLS(X) CUDA_CALLS(X) CUDART_CALLS(X) NVML_CALLS(X) NCCL_CALLS(X)

#endif
