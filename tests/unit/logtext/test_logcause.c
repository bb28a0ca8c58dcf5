/* What log lines give away: logtext/logcause.h. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "logtext/logcause.h"

TEST(test_exceptions)
{
	static const struct {
		const char *line;
		bool is;
	} rows[] = {
		{ "ValueError: no such column", true },
		{ "torch.cuda.OutOfMemoryError: CUDA out of memory", true },
		{ "my.Exception: boom", true },
		{ "an Error without a colon", false },
		{ "Error:", false },
		{ "epoch 1", false },
		{ "", false },
		{ "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
		  false },
		{ "torch.distributed.elastic.multiprocessing.api.SignalException: 15",
		  false },
		{ "ChildFailedError: ", false },
		{ "SignalException: Process 7 got signal: 15 Error: ", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (log_is_exception(rows[i].line, strlen(rows[i].line)) != rows[i].is)
			fail_msg("%s", rows[i].line);
}

/* Logs of public reports, and how the hint begins; NULL: there is none. */
static const struct row {
	const char *log, *hint;
	enum log_side side;
} rows[] = {
	{ "kftrainer initialize-model: no source: set STORAGE_URI or pass --uri",
	  "the job names no model: submit it with --model URI", LOG_OWN },
	{ "kftrainer initialize-dataset: no source: set STORAGE_URI or pass --uri",
	  "the job names no dataset: submit it with --dataset URI", LOG_OWN },
	{ "ModuleNotFoundError: No module named 'a.b'",
	  "Python module a.b is not installed for the interpreter that ran (with torchrun "
	  "that of torchrun's own environment), or is a file that does not come with the "
	  "script: submit its directory with --workspace",
	  LOG_OWN },
	{ "ValueError: Logging memory stats is not supported on CPU devices; got cpu.",
	  "torchtune's recipes for several devices need GPUs", LOG_OWN },
	{ "TypeError: Failed to convert elements of PerReplica:{} to Tensor: unsupported type "
	  "(<class 'tensorflow.python.distribute.values.PerReplica'>) to a Tensor.",
	  "Keras 3 cannot fit() under MultiWorkerMirroredStrategy", LOG_OWN },
	{ "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
	  "the other side closed the connection", LOG_PEER },
	{ "BrokenPipeError: [Errno 32] Broken pipe",
	  "the other side closed the connection", LOG_PEER },
	{ "torch.distributed.DistStoreError: wait timeout after 10000ms, keys: /a",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "bdb.BdbQuit", "input ended: breakpoint() and input() need a terminal",
	  LOG_OWN },
	{ "EOFError: EOF when reading a line", "input ended", LOG_OWN },
	{ "ERROR: Failed to install Python packages: hjson\n"
	  "bash: line 15: python: command not found",
	  "there is no command python", LOG_OWN },
	{ "sh: 1: python: not found", "there is no command python", LOG_OWN },
	{ "ModuleNotFoundError: No module named 'torch._C'",
	  "a directory torch, as of PyTorch's sources, hides the package", LOG_OWN },
	{ "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; "
	  "'torch._C' is not a package",
	  "this PyTorch was built without torch.distributed", LOG_OWN },
	{ "ModuleNotFoundError: No module named 'torch._C._functorch'; "
	  "'torch._C' is not a package",
	  "PyTorch's Python files and its library are of different builds", LOG_OWN },
	{ "ModuleNotFoundError: No module named 'datasets.features'; 'datasets' is not "
	  "a package",
	  "a Python file has the name of a package", LOG_OWN },
	{ "ImportError: cannot import name 'nn' from partially initialized module "
	  "'torch' (most likely due to a circular import) (/work/torch.py)",
	  "a Python module imports itself", LOG_OWN },
	{ "RuntimeError: use_libuv was requested but PyTorch was build without libuv "
	  "support",
	  "this PyTorch was built without libuv", LOG_OWN },
	{ "terminate called without an active exception",
	  "the process aborted while it ended", LOG_OWN },
	{ "ValueError\nterminate called without an active exception\nCUDA out of memory",
	  "the memory of a GPU or other device is full", LOG_OWN },
	/* What explains more, wherever it stands. */
	{ "Connection reset by peer; CUDA out of memory",
	  "the memory of a GPU or other device is full", LOG_OWN },
	/* NCCL: what stands after 'Last error:' decides. */
	{ "torch.distributed.DistBackendError: NCCL error in: "
	  "../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, invalid usage (run "
	  "with NCCL_DEBUG=WARN for details), NCCL version 2.20.5\n"
	  "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
	  "Last error:\n"
	  "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 10",
	  "two ranks use the same GPU", LOG_OWN },
	{ "Duplicate GPU detected : rank 9 and rank 1 both on CUDA device 34000\n"
	  " Last error:\n"
	  "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
	  "two ranks use the same GPU", LOG_OWN },
	{ "[rank0]: torch.distributed.DistBackendError: NCCL error in: "
	  "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2588, "
	  "internal error - please report this issue to the NCCL developers, NCCL "
	  "version 2.21.5\n"
	  "[rank0]: ncclInternalError: Internal check failed.\n"
	  "[rank0]: Last error:\n"
	  "[rank0]: Bootstrap : no socket interface found",
	  "NCCL found no network interface: check NCCL_SOCKET_IFNAME", LOG_OWN },
	{ "[trainer0|0]:ncclInternalError: Internal check failed.\n"
	  "[trainer0|0]:Last error:\n"
	  "[trainer0|0]:ncclSocketInit: connecting to address  with family 59936 "
	  "is neither AF_INET(2) nor AF_INET6(10)",
	  "NCCL got no valid address from a rank", LOG_OWN },
	{ "include/socket.h:344 WARN Socket creation failed : Address "
	  "family not supported by protocol",
	  "NCCL could not open a socket of its address family", LOG_OWN },
	{ "ncclSystemError: System call (e.g. socket, malloc) or external library "
	  "call failed or device error.\n"
	  "Last error:\n"
	  "Error while creating shared memory segment /dev/shm/nccl-1Zdj7D (size 9637888)",
	  "NCCL could not create its segment in /dev/shm, as when "
	  "that is full",
	  LOG_OWN },
	{ "misc/shmutils.cc:71 NCCL WARN Error: failed to extend "
	  "/dev/shm/nccl-fjwOOB to 5967876 bytes",
	  "shared memory is full or too small", LOG_OWN },
	{ "ncclUnhandledCudaError: Call to CUDA function failed.\n"
	  "Last error:\n"
	  "Cuda failure 2 'out of memory'",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "[rank7]: ncclUnhandledCudaError: Call to CUDA function failed.\n"
	  "[rank7]: Last error:\n"
	  "[rank7]: Cuda failure 1 'invalid argument'",
	  "NCCL: Cuda failure 1 'invalid argument'", LOG_PEER },
	{ "RuntimeError: NCCL error in: x.cpp:1, unhandled system "
	  "error\nncclSystemError: System call failed.\nLast error:\n",
	  "NCCL failed: set NCCL_DEBUG=INFO in env to see why", LOG_PEER },
	{ "RuntimeError: NCCL error in: x.cpp:1, unhandled system error\n"
	  "ncclSystemError: System call failed.\n"
	  "Last error:\n"
	  "socketStartConnect: Connect to 127.0.0.1<45069> failed : Software "
	  "caused connection abort",
	  "NCCL could not connect to 127.0.0.1<45069>: ", LOG_PEER },
	{ "misc/socket.cc:533 NCCL WARN socketPollConnect: Connect to "
	  "10.0.0.4<56849> returned 113(No route to host) errno "
	  "115(Operation now in progress)",
	  "NCCL could not connect to 10.0.0.4<56849>: ", LOG_PEER },
	{ "ncclRemoteError: A call failed possibly due to a network error or a "
	  "remote process exiting prematurely.\n"
	  "Last error:\n"
	  "NET/IB : Got completion from peer 10.216.210.236<54862> with status=12 "
	  "opcode=0 len=0 vendor err 129 (Recv)",
	  "the RDMA connection to 10.216.210.236<54862> failed", LOG_PEER },
	{ "misc/socket.cc:49 NCCL WARN socketProgress: Connection closed "
	  "by remote peer node1<57557>",
	  "the other side closed the connection", LOG_PEER },
	{ "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed "
	  "with error Cannot allocate memory",
	  "RDMA could not lock memory", LOG_OWN },
	{ "NCCL WARN Cuda failure 'peer access is not supported between "
	  "these two devices'",
	  "these GPUs have no peer access", LOG_OWN },
	{ "NCCL WARN NET/Socket : peer 10.0.0.1<3> message truncated : "
	  "receiving 1048576 bytes instead of 65536",
	  "the ranks called different collective operations", LOG_OWN },
	{ "x.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
	  "ncclRemoteError: A call failed possibly due to a network error\n"
	  "Last error:\n"
	  "socketProgress: Connection closed by remote peer node1<57557>",
	  "the other side closed the connection", LOG_PEER },
	{ "torch.OutOfMemoryError: CUDA out of memory.\n"
	  "Last error:\n"
	  "socketProgress: Connection closed by remote peer node1<57557>",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "[Rank 0] Watchdog caught collective operation timeout: "
	  "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, "
	  "NumelIn=466119168, Timeout(ms)=600000) ran for 600060 "
	  "milliseconds before timing out.",
	  "a collective operation timed out", LOG_PEER },
	{ "RuntimeError: Gloo connectFullMesh failed with "
	  "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
	  "gloo could not connect the ranks with each other", LOG_PEER },
	{ "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:"
	  "534] Connection closed by peer [127.0.0.1]:10895",
	  "the other side closed the connection", LOG_PEER },
	{ "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read error [192.168.70.92]:25266: Connection reset by peer",
	  "the other side closed the connection", LOG_PEER },
	{ "RuntimeError: [enforce fail at "
	  "/pytorch/third_party/gloo/gloo/transport/tcp/device.cc:83] "
	  "ifa != nullptr. Unable to find address for: ib0",
	  "gloo found no address to listen on", LOG_OWN },
	{ "RuntimeError: [enforce fail at "
	  "/pytorch/third_party/gloo/gloo/transport/tcp/device.cc:212] "
	  "ifa != nullptr. Unable to find interface for: [0.0.0.189]",
	  "gloo found no address to listen on", LOG_OWN },
	{ "RuntimeError: Unable to resolve hostname to a (local) address",
	  "gloo found no address to listen on", LOG_OWN },
	{ "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pa"
	  "ir.cc:210] address family mismatch",
	  "the ranks have addresses of IPv4 and of IPv6", LOG_OWN },
	{ "RuntimeError: Timed out waiting 1800000ms for recv "
	  "operation to complete",
	  "a collective operation timed out", LOG_PEER },
	{ "RuntimeError: Timed out waiting 1800000ms for send "
	  "operation to complete",
	  "a collective operation timed out", LOG_PEER },
	/* Torchrun, of its children. */
	{ "E0120 torch/distributed/elastic/multiprocessing/api.py:826] "
	  "failed (exitcode: -9) local_rank: 0 (pid: 1322) of binary: "
	  "/root/miniconda3/bin/python",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "  traceback : Signal 9 (SIGKILL) received by PID 1322",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "  traceback : Signal 11 (SIGSEGV) received by PID 5277",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "failed (exitcode: -11) local_rank: 0 (pid: 1) of binary: "
	  "/usr/bin/python",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "  traceback : Signal 7 (SIGBUS) received by PID 9",
	  "a process got SIGBUS, as when shared memory is full", LOG_OWN },
	{ "failed (exitcode: -7) local_rank: 0 (pid: 1) of binary: "
	  "/usr/bin/python",
	  "a process got SIGBUS", LOG_OWN },
	{ "  traceback : Signal 15 (SIGTERM) received by PID 9",
	  "a process was stopped by SIGTERM", LOG_PEER },
	{ "[E socket.cpp:793] [c10d] The client socket has timed out "
	  "after 60s while trying to connect to (IP1, 2222).",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "torch.distributed.DistNetworkError: The client socket has "
	  "failed to connect to any network address of "
	  "(tj-node-0-0.tj, 29500).",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "RendezvousConnectionError: The connection to the C10d store "
	  "has failed. See inner exception for details.",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "[W socket.cpp:663] [c10d] The client socket has failed to "
	  "connect to [x]:29500 (errno: 111 - Connection refused).",
	  "nothing accepts connections at that address", LOG_PEER },
	{ "[W socket.cpp:663] [c10d] The client socket has failed to "
	  "connect to [x]:29500",
	  "node 0 does not accept connections yet", LOG_PEER },
	/* A warning: IPv4 is next. */
	{ "[W socket.cpp:436] [c10d] The server socket cannot be "
	  "initialized on [::]:29500 (errno: 97 - Address family not "
	  "supported by protocol).",
	  NULL, LOG_OWN },
	{ "The server socket has failed to listen on any local network "
	  "address. port: 29500, useIpv6: false, code: -98, name: "
	  "EADDRINUSE, message: address already in use",
	  "the port on which the script listens is in use", LOG_PORT },
	{ "[Errno 98] Address already in use",
	  "the port on which the script listens is in use", LOG_PORT },
	{ "could not connect to server: Connection refused",
	  "nothing accepts connections at that address", LOG_PEER },
	{ "socket.gaierror: [Errno -2] Name or service not known",
	  "a host name does not resolve", LOG_NAME },
	{ "NameResolutionError: Failed to resolve 'huggingface.co' "
	  "([Errno -3] Temporary failure in name resolution)",
	  "a host name does not resolve", LOG_NAME },
	{ "socket.gaierror: [Errno -5] No address associated with hostname",
	  "a host name does not resolve", LOG_NAME },
	{ "ssh: Could not resolve hostname tj-node-0-0.tj: Try again",
	  "a host name does not resolve", LOG_NAME },
	/* Memory of a device, of the pod, shared. */
	{ "torch.OutOfMemoryError: CUDA out of memory. Tried to "
	  "allocate 2.00 GiB.",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "torch.cuda.OutOfMemoryError: Allocation on device",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "torch.OutOfMemoryError: Allocation on device 0 would exceed "
	  "allowed memory.",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "torch.OutOfMemoryError: HIP out of memory. Tried to "
	  "allocate 20.00 MiB.",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "RuntimeError: XPU out of memory.",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "RuntimeError: CUDA error: out of memory",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "INTERNAL: Failed to allocate: CUDA_ERROR_OUT_OF_MEMORY: "
	  "out of memory",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when "
	  "calling `cublasCreate(handle)`",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out "
	  "of memory while trying to allocate 2147483648 bytes.",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate "
	  "request for 1.50GiB (1610612736B) on device ordinal 0",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "XLA:TPU compile permanent error. Ran out of memory in memory "
	  "space hbm. Used 17.51G of 15.48G hbm.",
	  "the memory of a GPU or other device is full", LOG_OWN },
	{ "grpc: RESOURCE_EXHAUSTED: Received message larger than max "
	  "(5000000 vs. 4194304)",
	  NULL, LOG_OWN },
	{ "ResourceExhaustedError: OOM when allocating tensor with "
	  "shape[64,512] by allocator cpu",
	  "a tensor does not fit in memory", LOG_OWN },
	/* No GPU's. */
	{ "java.lang.OutOfMemoryError: Java heap space", "the process got no more memory",
	  LOG_OWN },
	{ "numpy.core._exceptions._ArrayMemoryError: Unable to "
	  "allocate 29.8 GiB",
	  "the process got no more memory", LOG_OWN },
	{ "RuntimeError: [enforce fail at alloc_cpu.cpp:117] "
	  "DefaultCPUAllocator: can't allocate memory: you tried to "
	  "allocate 8589934592 bytes.",
	  "the process got no more memory", LOG_OWN },
	{ "terminate called after throwing an instance of "
	  "'std::bad_alloc'",
	  "the process got no more memory", LOG_OWN },
	{ "OSError: [Errno 12] Cannot allocate memory", "the process got no more memory",
	  LOG_OWN },
	{ "RuntimeError: DataLoader worker (pid 46794) is killed by "
	  "signal: Bus error. It is possible that dataloader's workers "
	  "are out of shared memory.",
	  "a process got SIGBUS, as when shared memory is full", LOG_OWN },
	{ "ERROR: Unexpected bus error encountered in worker. This might "
	  "be caused by insufficient shared memory (shm).",
	  "a process got SIGBUS, as when shared memory is full", LOG_OWN },
	{ "RuntimeError: DataLoader worker (pid 94) is killed by "
	  "signal: Killed.",
	  "a worker of the DataLoader was killed by SIGKILL", LOG_OWN },
	{ "RuntimeError: unable to write to file </torch_1021_2>: No "
	  "space left on device (28)",
	  "shared memory is full or too small", LOG_OWN },
	{ "RuntimeError: unable to allocate shared memory(shm) for file "
	  "</torch_1_2>: Success (0)",
	  "shared memory is full or too small", LOG_OWN },
	{ "RuntimeError: unable to mmap 4096 bytes from file "
	  "</torch_1_2>: Cannot allocate memory (12)",
	  "shared memory is full or too small", LOG_OWN },
	/* Files. */
	{ "OSError: [Errno 28] No space left on device",
	  "a file system has no space or no inodes left", LOG_OWN },
	{ "UserWarning: [Errno 28] No space left on device.  joblib will "
	  "operate in serial mode",
	  NULL, LOG_OWN },
	{ "pyinotify ERROR] add_watch: cannot watch /var/www/html WD=-1, "
	  "Errno=No space left on device (ENOSPC)",
	  "the limit of inotify watches is reached", LOG_OWN },
	{ "OSError: [Errno 28] inotify watch limit reached",
	  "the limit of inotify watches is reached", LOG_OWN },
	{ "Error: ENOSPC: System limit for number of file watchers reached",
	  "the limit of inotify watches is reached", LOG_OWN },
	{ "OSError: [Errno 122] Disk quota exceeded: '/ckpt/14.pt'",
	  "a disk quota is used up", LOG_OWN },
	{ "OSError: [Errno 30] Read-only file system: '/root/.cache'",
	  "the path is read-only", LOG_OWN },
	{ "PermissionError: [Errno 13] Permission denied: '/data/out'",
	  "the process's user may not use that path", LOG_OWN },
	{ "OSError: [Errno 24] Too many open files", "the limit of open files is reached",
	  LOG_OWN },
	{ "OSError: AF_UNIX path too long",
	  "the path of a socket is too long: set TMPDIR", LOG_OWN },
	{ "OSError: [Errno 116] Stale file handle",
	  "the file on the network file system was deleted or replaced", LOG_OWN },
	{ "python: can't open file '/workspace/t.py': [Errno 2] No such "
	  "file or directory",
	  "there is no script /workspace/t.py", LOG_OWN },
	/* Lightning-AI/pytorch-lightning#10098 */
	{ "ValueError: You set `devices=4` and `num_nodes=1` in Lightning, but the product "
	  "(4 * 1) does not match the world size (2).",
	  "Lightning's Trainer does not have the shape of the job", LOG_OWN },
	/* BasicSR#626, LoRA#79; hkchengrex/XMem#18 */
	{ "train.py: error: unrecognized arguments: --local-rank=0",
	  "torch.distributed.launch passes --local-rank", LOG_OWN },
	{ "train.py: error: unrecognized arguments: --local_rank=0",
	  "torch.distributed.launch passes --local-rank", LOG_OWN },
	{ "train.py: error: unrecognized arguments: --lr 1", NULL, LOG_OWN },
	{ "ImportError: libcudnn.so.9: cannot open shared object file: "
	  "No such file or directory",
	  "Python could not load the library libcudnn.so.9", LOG_OWN },
	{ "ImportError: libcuda.so.1: cannot open shared object file: No "
	  "such file or directory",
	  "the NVIDIA driver's library is missing", LOG_OWN },
	{ "NCCL INFO NET/Plugin: Plugin load returned 2 : "
	  "libnccl-net.so: cannot open shared object file: No such file "
	  "or directory : when loading libnccl-net.so",
	  NULL, LOG_OWN },
	{ "Could not load dynamic library 'libcuda.so.1'; dlerror: "
	  "libcuda.so.1: cannot open shared object file",
	  NULL, LOG_OWN },
	{ "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not "
	  "found (required by ./train)",
	  "a library needs the C library GLIBC_2.38", LOG_OWN },
	{ "/usr/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by "
	  "/x.so)",
	  "a library needs the C++ library GLIBCXX_3.4.32", LOG_OWN },
	{ "ImportError: /opt/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: "
	  "undefined symbol: _ZN3c104cuda9SetDeviceEi",
	  "a compiled package does not fit", LOG_OWN },
	{ "NCCL INFO NET/Plugin: libnccl-net.so: undefined symbol: ncclNetPlugin_v9",
	  NULL, LOG_OWN },
	{ "ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
	  "Expected 96 from C header, got 88 from PyObject",
	  "a package was compiled for another version of NumPy", LOG_OWN },
	{ "/usr/bin/python3: No module named axolotl",
	  "Python module axolotl is not installed", LOG_OWN },
	{ "/opt/conda/bin/python: No module named axolotl",
	  "Python module axolotl is not installed", LOG_OWN },
	{ "WARNING: No module named 'flash_attn', going on without", NULL, LOG_OWN },
	{ "/usr/bin/env: 'python3\\r': No such file or directory",
	  "the script has the line ends of Windows", LOG_OWN },
	{ "/usr/bin/env: \u2018python3\\r\u2019: No such file or directory",
	  "the script has the line ends of Windows", LOG_OWN },
	{ "run.sh: line 2: $'\\r': command not found",
	  "the script has the line ends of Windows", LOG_OWN },
	{ "bash: ./run.sh: /bin/bash^M: bad interpreter: No such file or directory",
	  "the script has the line ends of Windows", LOG_OWN },
	{ "exec /usr/bin/python: exec format error",
	  "the program is for another kind of CPU", LOG_OWN },
	/* Files. */
	{ "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/bucket/a'",
	  "the volume's mount is gone", LOG_OWN },
	{ "OSError: [Errno 5] Input/output error: '/mnt/a'",
	  "the volume's storage failed", LOG_OWN },
	{ "safetensors_rust.SafetensorError: Error while deserializing header: "
	  "HeaderTooLarge",
	  "a .safetensors file is damaged or incomplete", LOG_OWN },
	{ "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding "
	  "central directory",
	  "a checkpoint is damaged or incomplete", LOG_OWN },
	{ "_pickle.UnpicklingError: invalid load key, 'v'.",
	  "a file is no checkpoint of PyTorch: it begins with 'v'", LOG_OWN },
	{ "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] "
	  "certificate verify failed: self-signed certificate in certificate chain')))",
	  "the image does not know the CA", LOG_OWN },
	{ "<urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
	  "unable to get local issuer certificate (_ssl.c:997)>",
	  "the image does not know the CA", LOG_OWN },
	{ "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has "
	  "expired (_ssl.c:997)",
	  NULL, LOG_OWN },
	{ "wandb.errors.UsageError: api_key not configured (no-tty). call "
	  "wandb.login(key=[your_api_key])",
	  "Weights & Biases wants a key", LOG_OWN },
	{ "wandb.errors.errors.UsageError: No API key configured. Use `wandb login` to "
	  "log in.",
	  "Weights & Biases wants a key", LOG_OWN },
	{ "ValueError: Error initializing torch.distributed using env:// rendezvous: "
	  "environment variable RANK expected, but not set",
	  "the process got no RANK: start the script with torchrun", LOG_OWN },
	{ "RuntimeError: MPS backend out of memory", "the memory of a GPU", LOG_OWN },
	{ "Signal 4 (SIGILL) received by PID 7",
	  "a process used an instruction that this CPU does not have", LOG_OWN },
	{ "Signal 24 (SIGXCPU) received by PID 7", "a process used up the CPU time",
	  LOG_OWN },
	{ "train.sh: line 3: 12 CPU time limit exceeded     python train.py",
	  "a process used up the CPU time", LOG_OWN },
	{ "Signal 25 (SIGXFSZ) received by PID 7", "a file grew to the size", LOG_OWN },
	{ "train.sh: line 3: 12 File size limit exceeded    cp a b",
	  "a file grew to the size", LOG_OWN },
	{ "OSError: [Errno 27] File too large", "a file grew to the size", LOG_OWN },
	/* CUDA. */
	{ "RuntimeError: CUDA error: no kernel image is available for "
	  "execution on the device",
	  "the program has no code for this kind of GPU", LOG_OWN },
	{ "RuntimeError: The NVIDIA driver on your system is too old "
	  "(found version 11040).",
	  "the node's NVIDIA driver is older", LOG_OWN },
	{ "Last error:\n"
	  "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
	  "the node's NVIDIA driver is older", LOG_OWN },
	{ "RuntimeError: Found no NVIDIA driver on your system.",
	  "the process sees no GPU", LOG_OWN },
	{ "UserWarning: CUDA initialization: Found no NVIDIA driver "
	  "on your system.",
	  NULL, LOG_OWN },
	{ "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable "
	  "device is detected",
	  NULL, LOG_OWN },
	{ "RuntimeError: CUDA error: no CUDA-capable device is detected",
	  "the process sees no GPU", LOG_OWN },
	{ "RuntimeError: No CUDA GPUs are available", "the process sees no GPU",
	  LOG_OWN },
	{ "RuntimeError: CUDA error: all CUDA-capable devices are busy "
	  "or unavailable",
	  "the GPU is busy or unavailable", LOG_OWN },
	{ "RuntimeError: CUDA error: invalid device ordinal",
	  "a process uses a GPU that the container does not have", LOG_OWN },
	{ "AssertionError: Torch not compiled with CUDA enabled",
	  "the image has a PyTorch without CUDA", LOG_OWN },
	{ "RuntimeError: CUDA error: device-side assert triggered",
	  "an assertion in a GPU kernel failed", LOG_OWN },
	{ "RuntimeError: CUDA error: an illegal memory access was "
	  "encountered",
	  "a GPU kernel used an invalid address", LOG_OWN },
	{ "RuntimeError: CUDA error: uncorrectable ECC error encountered",
	  "the GPU reports a hardware error", LOG_OWN },
	{ "CUDA error: uncorrectable NVLink error detected during "
	  "the execution",
	  "the GPU reports a hardware error", LOG_OWN },
	{ "GPU 00000000:0A:00.0: GPU has fallen off the bus.",
	  "the GPU reports a hardware error", LOG_OWN },
	{ "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
	  "cuDNN did not start", LOG_OWN },
	{ "deepspeed.ops.op_builder.builder.MissingCUDAException: "
	  "CUDA_HOME does not exist, unable to compile CUDA op(s)",
	  "the image has no CUDA compiler", LOG_OWN },
	{ "FileNotFoundError: [Errno 2] No such file or directory: "
	  "'/usr/local/cuda/bin/nvcc'",
	  "the image has no CUDA compiler", LOG_OWN },
	{ "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'",
	  "the process finds no data/train.csv: check the path", LOG_OWN },
	{ "/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found",
	  "the image has no CUDA compiler", LOG_OWN },
	{ "RuntimeError: Error building extension 'fused_adam'",
	  "the extension fused_adam could not be compiled", LOG_OWN },
	{ "RuntimeError: Ninja is required to load C++ extensions",
	  "the image has no ninja", LOG_OWN },
	{ "Exception: >- DeepSpeed Op Builder: Installed CUDA version "
	  "12.1 does not match the version torch was compiled with 11.8",
	  "nvcc and PyTorch of the image are of different CUDA versions", LOG_OWN },
	/* Hubs. */
	{ "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1)\n"
	  "Cannot access gated repo for url "
	  "https://huggingface.co/black-forest-labs/FLUX.1-dev/resolve/main/ae.safetensors.",
	  "the server denies access to the account: for a gated repository", LOG_OWN },
	{ "Access to model google/gemma-3-4b-pt is restricted and you "
	  "are not in the authorized list.",
	  "the server denies access to the account", LOG_OWN },
	{ "requests.exceptions.HTTPError: 401 Client Error: Unauthorized "
	  "for url: https://huggingface.co/api/whoami-v2",
	  "the server wants a valid token", LOG_OWN },
	{ "requests.exceptions.HTTPError: 403 Client Error: Forbidden "
	  "for url: https://huggingface.co/api/x",
	  "the server denies access to the account", LOG_OWN },
	{ "HTTPError: 429 Client Error: Too Many Requests for url: "
	  "https://huggingface.co/api/models/x",
	  "the server limits how often it is asked", LOG_OWN },
	{ "RepositoryNotFoundError: 401 Client Error. Repository Not "
	  "Found for url: https://huggingface.co/api/models/org/private.",
	  "the hub has no such repository, or not for this account", LOG_OWN },
	{ "OSError: bert-tiny is not a local folder and is not a valid "
	  "model identifier listed on 'https://huggingface.co/models'",
	  "the hub has no such repository, or not for this account", LOG_OWN },
	{ "OSError: We couldn't connect to 'https://huggingface.co' to "
	  "load the files",
	  "the files are not in the cache", LOG_OWN },
	{ "LocalEntryNotFoundError: Cannot find the requested files in "
	  "the disk cache and outgoing traffic has been disabled.",
	  "the files are not in the cache", LOG_OWN },
	{ "Exception: data did not match any variant of untagged enum "
	  "ModelWrapper at line 757479 column 3",
	  "the tokenizer's file needs a newer version", LOG_OWN },
	{ "ValueError: Couldn't instantiate the backend tokenizer "
	  "from one of:",
	  "the tokenizer needs the package sentencepiece", LOG_OWN },
	{ "huggingface/tokenizers: The current process just got forked, "
	  "after parallelism has already been used.",
	  NULL, LOG_OWN },
	/* JAX. */
	{ "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: "
	  "Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed "
	  "out task names:",
	  "not all processes reached a barrier in time", LOG_PEER },
	{ "F0929 client.h:77] Terminating process because the JAX "
	  "distributed service detected fatal errors. This most likely "
	  "indicates that another task died; see the other task logs for "
	  "more details.",
	  "JAX ended this process, most likely since another one ended", LOG_PEER },
	{ "The following tasks are unhealthy (stopped sending heartbeats):",
	  "tasks no longer answer JAX's coordination service", LOG_PEER },
	/* MPI. */
	{ "There are not enough slots available in the system to "
	  "satisfy the 16",
	  "mpirun starts more processes than the host file has slots", LOG_OWN },
	{ "mpirun has detected an attempt to run as root.",
	  "Open MPI does not run as root", LOG_OWN },
	{ "A request was made to bind to that would result in binding "
	  "more processes than cpus on a resource:",
	  "there are more processes than CPUs", LOG_OWN },
	{ "mpirun was unable to launch the specified application as it "
	  "could not find an executable:",
	  "mpirun found no such program on a node", LOG_OWN },
	{ "Host key verification failed.", "ssh does not know the node's key", LOG_OWN },
	{ "mpiuser@tj-node-0-0.tj: Permission denied (publickey).",
	  "the node's sshd refuses the job's key", LOG_OWN },
	{ "ORTE was unable to reliably start one or more daemons.",
	  "mpirun could not start its daemons", LOG_PEER },
	{ "PRTE has lost communication with a remote daemon.",
	  "mpirun lost the connection to a node", LOG_PEER },
	{ "mpirun noticed that process rank 1 with PID 0 on node x "
	  "exited on signal 9 (Killed).",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "mpirun noticed that process rank 1 with PID 0 on node x "
	  "exited on signal 11 (Segmentation fault).",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "mpirun noticed that process rank 1 with PID 0 on node x "
	  "exited on signal 7 (Bus error).",
	  "a process got SIGBUS", LOG_OWN },
	{ "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space "
	  "left on device\n"
	  "include/shm.h:48 NCCL WARN Error while creating shared memory segment "
	  "nccl-shm-recv-1462445a6f01cbfc-1-2-3 (size 9637888)",
	  "NCCL could not create its segment in /dev/shm", LOG_OWN },
	{ "RuntimeError: received 0 items of ancdata",
	  "the limit of open files is reached", LOG_OWN },
	{ "Error: system limit exceeded on number of pipes that can be open",
	  "the limit of open files is reached", LOG_OWN },
	{ "RuntimeError: Unexpected error from cudaGetDeviceCount(). "
	  "Error 802: system not yet initialized",
	  "CUDA waits for the node's NVSwitches", LOG_OWN },
	{ "RuntimeError: Unable to initialize backend 'cuda': FAILED_"
	  "PRECONDITION: No visible GPU devices.",
	  "the process sees no GPU", LOG_OWN },
	{ "INFO:xla_bridge:Unable to initialize backend 'cuda': FAILE"
	  "D_PRECONDITION: No visible GPU devices.",
	  NULL, LOG_OWN },
	{ "NCCL WARN Mismatched NCCL version detected : rank 0 versio"
	  "n 22103 rank 1 version 22005",
	  "the ranks have different versions of NCCL", LOG_OWN },
	{ "DistBackendError: [3] is setting up NCCL communicator and "
	  "retrieving ncclUniqueId from [0] via c10d key-value store "
	  "by key '0', but store->get('0') got error: wait timeout "
	  "after 600000ms",
	  "a rank got no NCCL ID", LOG_PEER },
	{ "remote target unknown_target_for_coordination_leader while"
	  " calling /tensorflow.CoordinationService/RegisterTask:",
	  "JAX could not register with its coordinator", LOG_PEER },
	{ "[mpiexec@h] unable to run bstrap_proxy on pi-worker-0 (pid"
	  " 45, exit code 65280)",
	  "mpirun could not start its daemons", LOG_PEER },
	{ "torch.distributed.DistStoreError: Timed out after 901 seco"
	  "nds waiting for clients. 1/2 clients joined.",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "torch.distributed.DistStoreError: Timed out after 6 second"
	  "s waiting for workers. 1/2 workers joined.",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "NCCL WARN Mismatched collective detected, please check you"
	  "r collective calls at and around rank 39.",
	  "the ranks called different collective operations", LOG_OWN },
	{ "NCCL WARN NET/IB : req 0/1 tag 0 peer 10.10.23.6<58683> "
	  "collective mismatch error, local size 496640 remote size 65536",
	  "the ranks called different collective operations", LOG_OWN },
	{ "Message truncated : receiving 524288 bytes instead of 65536",
	  "the ranks called different collective operations", LOG_OWN },
	{ "Error 804: forward compatibility was attempted on non "
	  "supported HW",
	  "the node's NVIDIA driver is older", LOG_OWN },
	{ "NCCL WARN NET/OFI Request 0x7fbb completed with error. RC:"
	  " 20. Error: unknown error.",
	  "a request to another rank's network adapter failed", LOG_PEER },
	{ "torch.distributed.DistStoreError: Socket Timeout",
	  "the ranks did not find each other in time", LOG_PEER },
	{ "[PG 0 Rank 1] ProcessGroupNCCL's watchdog got stuck for 60"
	  "0 seconds without making progress",
	  "a call of NCCL or CUDA hangs", LOG_PEER },
	{ "ssh: Could not resolve hostname a-launcher-0-0.a: Name or service not known\n"
	  "ORTE was unable to reliably start one or more daemons.",
	  "a host name does not resolve", LOG_NAME },
	/* NCCL's last error names the peer; what says only that NCCL failed does not. */
	{ "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote "
	  "process exited or there was a network error, NCCL version 2.21.5\n"
	  "ncclRemoteError: A call failed possibly due to a network error or a remote "
	  "process exiting prematurely.\n"
	  "Last error:\n"
	  "socketProgressOpt: Call to recv from 10.0.0.2<33759> failed : Connection reset by "
	  "peer\n"
	  "terminate called after throwing an instance of 'c10::DistBackendError'\n"
	  "  what():  NCCL error: remote process exited or there was a network error",
	  "the other side closed the connection", LOG_PEER },
	{ "NCCL failure :remote process exited or there was a network error "
	  "../src/collective/nccl_device_communicator.cuh(54)",
	  "another rank has ended, or the network between them failed", LOG_PEER },
	{ "INTERNAL: external/xla/xla/service/gpu/nccl_utils.cc:305: NCCL operation "
	  "ncclCommInitRank(&comm, nranks, id, rank) failed: unhandled system error",
	  "NCCL failed", LOG_PEER },
	{ "ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed "
	  "out, on dev mlx_5:1, curr state INIT, next state RTR\n"
	  "NCCL WARN socketProgress: Connection closed by remote peer dgx-3<41109>",
	  "the RDMA adapters of two nodes do not reach each other", LOG_OWN },
	/* XGBoost, LightGBM, MLX, JAX, torchrun: another process has failed. */
	{ "xgboost.core.XGBoostError: [03:27:41] "
	  "/workspace/rabit/include/rabit/internal/utils.h:90: Allreduce failed",
	  "another worker of XGBoost has failed", LOG_PEER },
	{ "[12:00:00] WARNING: src/collective/comm.cc:257: Another worker is running into "
	  "error.",
	  "another worker of XGBoost has failed", LOG_PEER },
	{ "xgboost.core.XGBoostError: [12:00:00] /workspace/src/collective/result.cc:78: ",
	  "another worker of XGBoost has failed", LOG_PEER },
	{ "xgboost.core.XGBoostError: [19:31:13] /workspace/src/collective/result.cc:78: \n"
	  "- [comm.cc:284|19:31:13]: Failed to bootstrap the communication group.\n"
	  "- [comm.cc:183|19:31:13]: Failed to connect to the tracker.\n"
	  "- [socket.cc:200|19:31:13]: Failed to connect to 10.0.0.1:40001",
	  "XGBoost could not reach its tracker", LOG_PEER },
	{ "[LightGBM] [Warning] Connecting to rank 1 failed, waiting for 200 milliseconds",
	  "LightGBM could not connect to rank 1", LOG_PEER },
	{ "[LightGBM] [Info] Binding port 12400 succeeded", NULL, LOG_OWN },
	{ "[LightGBM] [Fatal] Binding port 10008 failed",
	  "port 10008, on which LightGBM listens, is in use", LOG_OWN },
	{ "RuntimeError: [ring] Couldn't connect (error: 65)",
	  "MLX could not connect to the next rank", LOG_PEER },
	{ "[ring] Too many send/recv errors. Aborting...",
	  "the other side closed the connection", LOG_PEER },
	{ "coordination_service.cc:962] /job:jax_worker/replica:0/task:1 unexpectedly tried "
	  "to connect with a different incarnation. It has likely restarted.\n"
	  "Terminating process because the JAX distributed service detected fatal errors.",
	  "a process of JAX was started again while the others ran on", LOG_PEER },
	{ "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
	  "torchrun of another node has ended", LOG_PEER },
	/* MPI. */
	{ "ORTE does not know how to route a message to the specified daemon",
	  "mpirun's daemons do not reach each other", LOG_PEER },
	{ "An MPI communication peer process has unexpectedly disconnected.  This",
	  "the other side closed the connection", LOG_PEER },
	{ "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "=   KILLED BY SIGNAL: 9 (Killed)", "a process was killed by SIGKILL",
	  LOG_OWN },
	{ "=   EXIT CODE: 137", "a process was killed by SIGKILL", LOG_OWN },
	{ "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "=   KILLED BY SIGNAL: 11 (Segmentation fault)",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "=   EXIT CODE: 139", "a process crashed with SIGSEGV", LOG_OWN },
	/* What launchers, pools and shells say of their processes. */
	{ "[ERROR] [launch.py:434:sigkill_handler] ['python', 'main.py'] exits with return "
	  "code = -9",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "['python', 'main.py'] exits with return code = -11",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "['python', 'main.py'] exits with return code = -7", "a process got SIGBUS",
	  LOG_OWN },
	{ "['python', 'main.py'] exits with return code = -15", NULL, LOG_OWN },
	{ "Command '['python', '-u', 't.py']' died with <Signals.SIGKILL: 9>.",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "Command '['python', '-u', 't.py']' died with <Signals.SIGSEGV: 11>.",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "Command '['python', '-u', 't.py']' died with <Signals.SIGBUS: 7>.",
	  "a process got SIGBUS", LOG_OWN },
	{ "ProcessExitedException: process 0 terminated with signal SIGKILL",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "ProcessExitedException: process 0 terminated with signal SIGSEGV",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "ProcessExitedException: process 0 terminated with signal SIGBUS",
	  "a process got SIGBUS", LOG_OWN },
	{ "The exit codes of the workers are {SIGKILL(-9)}",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "The exit codes of the workers are {SIGSEGV(-11)}",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "The exit codes of the workers are {SIGBUS(-7)}", "a process got SIGBUS",
	  LOG_OWN },
	{ "run.sh: line 3:  1234 Killed                  python train.py",
	  "a process was killed by SIGKILL", LOG_OWN },
	{ "run.sh: line 3:  1234 Segmentation fault      (core dumped) python train.py",
	  "a process crashed with SIGSEGV", LOG_OWN },
	{ "run.sh: line 3:  1234 Bus error               python train.py",
	  "a process got SIGBUS", LOG_OWN },
	{ "jobs: Killed 3", NULL, LOG_OWN },
	{ "RuntimeError: One of the subprocesses has abruptly died during map operation.",
	  "a process that the script started was killed or crashed", LOG_OWN },
	{ "BrokenProcessPool: A process in the process pool was terminated abruptly while the "
	  "future was running or pending.",
	  "a process that the script started was killed or crashed", LOG_OWN },
	{ "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this "
	  "task.",
	  "a process that the script started was killed or crashed", LOG_OWN },
	{ "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running "
	  "inconsistent collective",
	  "the ranks called different collective operations", LOG_OWN },
	{ "/usr/bin/train: error while loading shared libraries: libpython3.11.so.1.0: cannot "
	  "open shared object file: No such file or directory",
	  "the program needs the library libpython3.11.so.1.0", LOG_OWN },
	/* Users that the image does not know, file systems, devices. */
	{ "[rank1]: PermissionError: [Errno 13] Permission denied: '/.cache'",
	  "the process's user has no home directory", LOG_OWN },
	{ "PermissionError: [Errno 13] Permission denied: '/.triton'",
	  "the process's user has no home directory", LOG_OWN },
	{ "PermissionError: [Errno 13] Permission denied: '/app/.triton'",
	  "the process's user may not use that path", LOG_OWN },
	{ "OSError: [Errno 30] Read-only file system: '/.cache'",
	  "the process's user has no home directory", LOG_OWN },
	{ "OSError: [Errno 30] Read-only file system: '/data/x'", "the path is read-only",
	  LOG_OWN },
	{ "FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp', "
	  "'/var/tmp', '/usr/tmp', '/app']",
	  "no directory for temporary files may be written", LOG_OWN },
	{ "\tdetails = \"RBAC: access denied\"", "a service mesh refuses the connection",
	  LOG_PEER },
	{ "KeyError: 'getpwuid(): uid not found: 1002700000'",
	  "the process's user has no name in the image", LOG_OWN },
	{ "OSError: [Errno 16] Device or resource busy: '.nfs00000000000a4c9d00005011'",
	  NULL, LOG_OWN },
	{ "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process "
	  "with pid 176028.",
	  "another process uses the TPU", LOG_OWN },
	{ "Exception: Current loss scale already at minimum - cannot decrease scale anymore. "
	  "Exiting run.",
	  "the gradients overflow fp16", LOG_OWN },
	/* Hubs, by httpx. */
	{ "huggingface_hub.errors.HfHubHTTPError: Client error '429 Too Many Requests' for url",
	  "the server limits how often it is asked", LOG_OWN },
	{ "httpx.HTTPStatusError: Client error '401 Unauthorized' for url 'https://a'",
	  "the server wants a valid token", LOG_OWN },
	{ "httpx.HTTPStatusError: Client error '403 Forbidden' for url 'https://a'",
	  "the server denies access to the account", LOG_OWN },
	/* GPUs and what is compiled for them. */
	{ "RuntimeError: Failed to find C compiler. Please specify via CC environment "
	  "variable.",
	  "the image has no C compiler, which Triton needs", LOG_OWN },
	{ "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
	  "the assembler of Triton (ptxas) is older than this kind of GPU", LOG_OWN },
	{ "        CUDA Setup failed despite GPU being available. Please run",
	  "bitsandbytes has no library for this CUDA", LOG_OWN },
	{ "RuntimeError: CUDA error: unspecified launch failure", "a GPU kernel failed",
	  LOG_OWN },
	{ "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
	  "`cublasCreate(handle)`",
	  "cuBLAS did not start", LOG_OWN },
	{ "Error 803: system has unsupported display driver / cuda driver combination",
	  "the CUDA libraries of the image do not fit the node's driver", LOG_OWN },
	{ "Could not load library libcudnn_cnn_train.so.8. Error: "
	  "/usr/local/cuda/lib64/libcudnn_cnn_train.so.8: undefined symbol: _ZN5cudnn3cnn",
	  "two versions of cuDNN are mixed", LOG_OWN },
	{ "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (8, 7, "
	  "0) but found runtime version (8, 2, 4).",
	  "two versions of cuDNN are mixed", LOG_OWN },
	/* Processes, threads, files. */
	{ "RuntimeError: can't start new thread", "no more threads or processes",
	  LOG_OWN },
	{ "OpenBLAS blas_thread_init: pthread_create failed for thread 22 of 48: Resource "
	  "temporarily unavailable",
	  "no more threads or processes", LOG_OWN },
	{ "OpenBLAS blas_thread_init: pthread_create: Resource temporarily unavailable",
	  "no more threads or processes", LOG_OWN },
	{ "libgomp: Thread creation failed: Resource temporarily unavailable",
	  "no more threads or processes", LOG_OWN },
	{ "        current process has finished its bootstrapping phase.",
	  "Python starts the script's main module again in each process", LOG_OWN },
	{ "RuntimeError: DataLoader worker (pid 190781) is killed by signal: Segmentation "
	  "fault.",
	  "a worker of the DataLoader crashed", LOG_OWN },
	{ "OSError: [Errno 524] Unable to open file (unable to lock file, errno = 524, "
	  "error message = 'Unknown error 524')",
	  "another process has the HDF5 file open", LOG_OWN },
	{ "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded",
	  "PyTorch 2.6 and later load tensors only", LOG_OWN },
	{ "_pickle.UnpicklingError: Weights only load failed. invalid load key, 'v'.",
	  "a file is no checkpoint of PyTorch", LOG_OWN },
	{ "pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.",
	  "a Parquet file is damaged or incomplete", LOG_OWN },
	/* Services. */
	{ "RuntimeError: Data processing error: CAS service error : ReqwestMiddleware Error",
	  "the download from Hugging Face's Xet storage failed", LOG_OWN },
	{ "wandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec.",
	  "Weights & Biases did not answer", LOG_OWN },
	{ "UnicodeEncodeError: 'ascii' codec can't encode character '\\u2588' in position 5",
	  "the image's locale is not UTF-8: set LC_ALL=C.UTF-8", LOG_OWN },
	{ "locale.Error: unsupported locale setting", "the image's locale is not UTF-8",
	  LOG_OWN },
	{ "KeyError: 'LOCAL_RANK'",
	  "the process got no rank: start the script with torchrun", LOG_OWN },
	{ "KeyError: 'RANK'", "the process got no rank", LOG_OWN },
	{ "KeyError: 'WORLD_SIZE'", "the process got no rank", LOG_OWN },
	{ "KeyError: 'rank'", NULL, LOG_OWN },
	{ "ModuleNotFoundError: No module named 'distutils'",
	  "Python 3.12 and later have no distutils", LOG_OWN },
	{ "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'. Did you mean",
	  "setuptools is older than this Python", LOG_OWN },
	{ "error: externally-managed-environment",
	  "this Python leaves its packages to the system", LOG_OWN },
	{ "ERROR: No matching distribution found for a-b==9.9",
	  "pip found no a-b==9.9 for this Python and CPU", LOG_OWN },
	{ "Fatal Python error: init_fs_encoding: failed to get the Python codec of the "
	  "filesystem encoding",
	  "PYTHONHOME or PYTHONPATH in env is of another Python", LOG_OWN },
	{ "RuntimeError: No such operator torchvision::nms",
	  "torchvision was built for another PyTorch", LOG_OWN },
	{ "RuntimeError: operator torchvision::nms does not exist",
	  "torchvision was built for another PyTorch", LOG_OWN },
	{ "ImportError: numpy.core.multiarray failed to import",
	  "a package was compiled for another version of NumPy", LOG_OWN },
	{ "bash: fork: retry: Resource temporarily unavailable",
	  "no more threads or processes may be started", LOG_OWN },
	{ "-bash: fork: Resource temporarily unavailable",
	  "no more threads or processes may be started", LOG_OWN },
	{ "RuntimeError: [enforce fail at inline_container.cc:857] . PytorchStreamWriter "
	  "failed writing file data/37: file write failed",
	  "a checkpoint could not be written", LOG_OWN },
	{ "RuntimeError: [enforce fail at inline_container.cc:659] . unexpected pos 64 vs 0",
	  "a checkpoint could not be written", LOG_OWN },
	{ "OSError: [Errno 37] No locks available", "the file system has no locks",
	  LOG_OWN },
	{ "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
	  "NCCL needs GPUs, and the process sees none", LOG_OWN },
	{ "RuntimeError: Distributed package doesn't have NCCL built in",
	  "this PyTorch was built without NCCL", LOG_OWN },
	{ "RuntimeError: No backend type associated with device type cpu",
	  "a tensor of the CPU is in a collective operation of NCCL", LOG_OWN },
	{ "Failed to initialize NVML: Driver/library version mismatch",
	  "the node's NVIDIA driver was updated while in use", LOG_OWN },
	{ "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA",
	  "the image has no CUDA compiler", LOG_OWN },
	{ "torch._inductor.exc.InvalidCxxCompiler: No working C++ compiler found in",
	  "the image has no C++ compiler", LOG_OWN },
	{ "subprocess.CalledProcessError: Command '['which', 'c++']' returned non-zero exit "
	  "status 1.",
	  "the image has no C++ compiler", LOG_OWN },
	{ "/tmp/t/cuda_utils.c:5:10: fatal error: Python.h: No such file or directory",
	  "the image has no headers of Python", LOG_OWN },
	{ "/usr/bin/ld: cannot find -lcuda: No such file or directory",
	  "the linker finds no libcuda.so", LOG_OWN },
	{ "AssertionError: libcuda.so cannot found!", "the linker finds no libcuda.so",
	  LOG_OWN },
	{ "OSError('Tunnel connection failed: 403 Forbidden')",
	  "the proxy refuses the connection", LOG_OWN },
	{ "(Caused by ProxyError('Unable to connect to proxy', ConnectTimeoutError(",
	  "the proxy refuses the connection", LOG_OWN },
	{ "HFValidationError: Repo id must be in the form 'repo_name' or "
	  "'namespace/repo_name': '/mnt/model'. Use `repo_type` argument if needed.",
	  "there is no such directory on the node", LOG_OWN },
	{ "HFValidationError: Repo id must be in the form 'repo_name' or "
	  "'namespace/repo_name': './model'. Use `repo_type` argument if needed.",
	  "there is no such directory on the node", LOG_OWN },
	{ "OSError: /workspace/model does not appear to have a file named config.json.",
	  "a file of the model is missing", LOG_OWN },
	{ "OSError: Consistency check failed: file should be of size 4989 but has size 102",
	  "a download from Hugging Face is incomplete", LOG_OWN },
	{ "EOFError: Ran out of input", "a file is empty, damaged or incomplete",
	  LOG_OWN },
	{ "_pickle.UnpicklingError: pickle data was truncated",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "zipfile.BadZipFile: File is not a zip file",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "gzip.BadGzipFile: Not a gzipped file (b'<!')",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "EOFError: Compressed file ended before the end-of-stream marker was reached",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "PIL.UnidentifiedImageError: cannot identify image file '/data/a.jpg'",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "OSError: image file is truncated (34 bytes not processed)",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "OSError: Unable to open file (file signature not found)",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "OSError: Unable to synchronously open file (truncated file: eof = 1, sblock",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "ValueError: Cannot load file containing pickled data when allow_pickle=False",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "OSError: Failed to interpret file 'data/a.npy' as a pickle",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "tensorflow.python.framework.errors_impl.DataLossError: corrupted record at 0",
	  "a file is empty, damaged or incomplete", LOG_OWN },
	{ "ValueError: No valid checkpoint found in output directory (out)",
	  "no checkpoint was written yet", LOG_OWN },
	{ "RuntimeError: launcher 'pdsh' not installed.",
	  "deepspeed starts other nodes by pdsh", LOG_OWN },
	{ "RuntimeError: No route to host", "packets do not arrive at that address",
	  LOG_PEER },
	{ "OSError: [Errno 101] Network is unreachable",
	  "packets do not arrive at that address", LOG_PEER },
	{ "TimeoutError: [Errno 110] Connection timed out",
	  "packets do not arrive at that address", LOG_PEER },
	{ "OSError: [Errno 99] Cannot assign requested address",
	  "the process listens on an address that this pod does not have", LOG_OWN },
	{ "[W socket.cpp:663] The client socket cannot be initialized to connect to "
	  "[localhost]:29500 (errno: 99 - Cannot assign requested address).",
	  NULL, LOG_OWN },
	/* No end of the word; a text that is cut; none. */
	{ "ModuleNotFoundError: No module named 'a.b", NULL, LOG_OWN },
	{ "No space left on devic", NULL, LOG_OWN },
	{ "Last error:", NULL, LOG_OWN },
	{ "loss: 0.5", NULL, LOG_OWN },
	{ "", NULL, LOG_OWN },
};

static void read_all(struct log_reader *r, const char *log)
{
	bool better;

	for (const char *end; *log; log = end + !!*end) {
		end = strchrnul(log, '\n');
		(void)log_read(r, log, (size_t)(end - log), &better);
	}
}

TEST(test_causes)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct log_reader r = { 0 };
		cleanup_buf struct buf out = { .max = 1000 };

		read_all(&r, rows[i].log);
		if (!r.cause != !rows[i].hint)
			fail_msg("%s: %s", rows[i].log,
				 r.cause ? r.cause->hint : "no hint");
		if (!r.cause)
			continue;
		log_hint(&out, &r);
		if (!str_starts((char *)out.data, rows[i].hint) ||
		    r.cause->side != rows[i].side)
			fail_msg("%s: %s", rows[i].log, (char *)out.data);
	}
}

/* What explains as much, and comes later, replaces it; what explains less does not. */
TEST(test_later_lines)
{
	struct log_reader r = { 0 };
	bool better;

	assert_non_null(log_read(&r, "No module named 'x'; MemoryError", 32, &better));
	assert_true(better);
	read_all(&r, "ModuleNotFoundError: No module named 'x'\n"
		     "ModuleNotFoundError: No module named 'y'");
	assert_string_equal(r.word, "y");
	assert_non_null(log_read(&r, "MemoryError", 11, &better));
	assert_false(better);
	assert_string_equal(r.word, "y");
	log_forget(&r);
	assert_null(r.cause);
	assert_null(log_read(&r, "epoch 1", 7, &better));
	assert_false(better);
}

RUN_TESTS(NULL, NULL)
