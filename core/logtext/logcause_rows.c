/* logcause_rows.c - the texts of the causes, and the hints (logtext/logcause.h). */
#include "logtext/logcause_impl.h"

#include "base/str.h"

#define MORE_SHM "mount an emptyDir with medium: Memory at /dev/shm"
#define DEVICE_FULL                                                                  \
	"the memory of a GPU or other device is full: use a smaller batch, or more " \
	"devices"
#define SHM_FULL                                                                     \
	"shared memory is full or too small: " MORE_SHM ", or use fewer workers of " \
	"the DataLoader"
#define NO_MEMORY                                                                 \
	"the process got no more memory: raise resources.limits.memory or use a " \
	"smaller "                                                                \
	"batch"
#define NO_WATCHES                                                                    \
	"the limit of inotify watches is reached: raise fs.inotify.max_user_watches " \
	"on the node"
#define NO_FILES                                                                  \
	"the limit of open files is reached: raise it (ulimit -n), or use fewer " \
	"workers"
#define PORT_IN_USE                                                                    \
	"the port on which the script listens is in use: choose another one, such as " \
	"by MASTER_PORT"
#define OLD_DRIVER                                                                 \
	"the node's NVIDIA driver is older than the CUDA of the image needs: use " \
	"another "                                                                 \
	"image, or update the driver"
#define NO_GPU                                                          \
	"the process sees no GPU: request one in resources, and check " \
	"CUDA_VISIBLE_DEVICES"
#define BROKEN_GPU "the GPU reports a hardware error: check the node with 'kftrainer gpu'"
#define NO_FABRIC                                                                     \
	"CUDA waits for the node's NVSwitches: check that nvidia-fabricmanager runs " \
	"there, in the driver's version"
#define NO_NVCC                                                                       \
	"the image has no CUDA compiler (nvcc): use a -devel image, or one with the " \
	"ops "                                                                        \
	"built in"
#define NO_TOKEN "the server wants a valid token: for Hugging Face, set HF_TOKEN in env"
#define NO_ACCESS                                                                      \
	"the server denies access to the account: for a gated repository, accept its " \
	"terms there, and set HF_TOKEN in env"
#define TOO_MANY                                                       \
	"the server limits how often it is asked: download once with " \
	"spec.initializer, or set a token in env"
#define NO_MODEL                                                                        \
	"the hub has no such repository, or not for this account: check the name; for " \
	"a "                                                                            \
	"private one, set HF_TOKEN in env"
#define NO_HUB                                                                        \
	"the files are not in the cache, and the hub was not reached: check network " \
	"and "                                                                        \
	"proxy, or download them with spec.initializer"
#define KILLED "a process was killed by SIGKILL: check for an out-of-memory kill"
#define CRASHED                                                                      \
	"a process crashed with SIGSEGV: run it with python -X faulthandler to see " \
	"where"
#define NO_WORKER                                                                       \
	"a process that the script started was killed or crashed, most often for want " \
	"of memory: use fewer of them, or raise resources.limits.memory"
#define BUS_ERROR "a process got SIGBUS, as when shared memory is full: " MORE_SHM
#define NCCL_IFNAME                                                                  \
	"check NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY against the interfaces of " \
	"every node"
#define NCCL_CONNECT                                                                   \
	"NCCL could not connect to %s: check the other ranks, NCCL_SOCKET_IFNAME and " \
	"network policies"
#define NCCL_SHM \
	"NCCL could not create its segment in /dev/shm, as when that is full: " MORE_SHM
#define OUT_OF_STEP                                                                 \
	"the ranks called different collective operations, or their NCCL settings " \
	"differ"
#define GLOO_IFNAME                                                                      \
	"gloo found no address to listen on: check GLOO_SOCKET_IFNAME, the name of one " \
	"interface of this node"
#define PEER_LEFT \
	"the other side closed the connection: if it is another rank, check its log"
#define NO_NAME                                                                  \
	"a host name does not resolve: a peer's does once its pod runs and the " \
	"headless "                                                              \
	"Service exists; for others check DNS"
#define NO_RENDEZVOUS                                                                 \
	"the ranks did not find each other in time: check that all nodes are up and " \
	"can reach node 0 and its port"
#define SLOW "a collective operation timed out: a rank hangs, is slow or has ended"
#define NO_DAEMONS                                                                  \
	"mpirun could not start its daemons on the nodes: check that they run and " \
	"accept "                                                                   \
	"the launcher's ssh"

#define CRLF                                                                   \
	"the script has the line ends of Windows: convert it, as with sed -i " \
	"'s/\\r$//'"
#define LOCAL_RANK                                                                       \
	"torch.distributed.launch passes --local-rank (before PyTorch 2 --local_rank): " \
	"start the script by torchrun, which sets LOCAL_RANK, or accept both options"
#define OLD_NUMPY \
	"a package was compiled for another version of NumPy: install one that fits"
#define NO_MODULE "Python module %s is not installed for the interpreter that ran"
#define NO_INSTRUCTION                                                            \
	"a process used an instruction that this CPU does not have: use a newer " \
	"CPU, or a build for this one"
#define CPU_LIMIT "a process used up the CPU time that ulimit -t allows: raise that limit"
#define FILE_LIMIT \
	"a file grew to the size that ulimit -f or its file system allows: raise that limit"
#define UNKNOWN_CA                                                                      \
	"the image does not know the CA of the server's certificate: add it, and name " \
	"its file in SSL_CERT_FILE and REQUESTS_CA_BUNDLE in env"
#define NO_WANDB \
	"Weights & Biases wants a key: set WANDB_API_KEY in env, or WANDB_MODE=offline"

#define NO_INPUT                                                                        \
	"input ended: breakpoint() and input() need a terminal, which 'submit --local " \
	"-i' gives to one process; other pods have no input"
#define NO_PYTHON                                                                      \
	"there is no command python: on this machine use --venv, or an active Python " \
	"environment (of 'controller --local' for jobs of its API)"

#define NO_THREADS                                                                     \
	"no more threads or processes may be started: raise the limit (ulimit -u, or " \
	"the "                                                                         \
	"node's limit of process IDs per pod), or set OMP_NUM_THREADS and "            \
	"OPENBLAS_NUM_THREADS in env"
#define TWO_CUDNNS                                                         \
	"two versions of cuDNN are mixed: take that of the system, as in " \
	"/usr/local/cuda, out of LD_LIBRARY_PATH, so that PyTorch finds its own"
#define XGBOOST_LEFT "another worker of XGBoost has failed: check the logs of the others"

#define NO_LOCALE \
	"the image's locale is not UTF-8: set LC_ALL=C.UTF-8 and PYTHONUTF8=1 in env"
#define NOT_LAUNCHED                                                                 \
	"the process got no rank: start the script with torchrun, which sets RANK, " \
	"LOCAL_RANK and WORLD_SIZE"
#define NO_CXX                                                                       \
	"the image has no C++ compiler, which torch.compile and extensions such as " \
	"DeepSpeed's need: install g++"
#define NO_LIBCUDA                                                                        \
	"the linker finds no libcuda.so, which Triton needs: set TRITON_LIBCUDA_PATH in " \
	"env to the directory of libcuda.so.1"
#define DAMAGED                                                                        \
	"a file is empty, damaged or incomplete, or a Git LFS pointer or web page in " \
	"its place: get it again"
#define NOT_WRITTEN                                                                    \
	"a checkpoint could not be written, most likely for want of space: check the " \
	"volume and its quota"
#define PROXY_REFUSED                                                                 \
	"the proxy refuses the connection, or is not reached: check HTTPS_PROXY and " \
	"NO_PROXY in env"
#define NO_PATH                                                                         \
	"there is no such directory on the node, and the path was taken for a name on " \
	"the hub: check it, its volume and spec.initializer"
#define NO_ROUTE                                                                         \
	"packets do not arrive at that address: check network policies, firewalls, and " \
	"which interface is used (GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME)"

#define NO_HOME                                                                  \
	"the process's user has no home directory: set HOME, for the caches of " \
	"libraries, to a directory where it may write, such as /tmp, in env"

#define NCCL_FAILED "NCCL failed: set NCCL_DEBUG=INFO in env to see why"
#define NCCL_LOST                                                                     \
	"another rank has ended, or the network between them failed: check the logs " \
	"of the others"

/* The first character of `rest`, which few lines have, is the one for the search. */
#define AT(before, rest) .text = (before rest), .at = sizeof(before) - 1

const struct log_cause log_causes[] = {
	/*
	 * No failures: PyTorch tries IPv6 first; joblib can run without semaphores;
	 * TensorFlow and PyTorch with CUDA search for GPUs though a job has none;
	 * multiprocessing removes its directory on NFS, where a file is still open.
	 */
	{ AT("(errno: 97 ", "- Address family") },
	{ AT("(errno: 99 ", "- Cannot assign requested address") },
	{ AT("", "joblib will operate in serial mode") },
	{ AT("failed call to cu", "Init") },
	{ AT("resource busy: '", ".nfs") },
	{ AT("", "CUDA initialization: Found no NVIDIA driver") },

	/* Our initializers. */
	{ AT("", "initialize-dataset: no source: set STORAGE_URI"), 0,
	  "the job names no dataset: submit it with --dataset URI, or set "
	  "spec.initializer.dataset.storageUri" },
	{ AT("", "initialize-model: no source: set STORAGE_URI"), 0,
	  "the job names no model: submit it with --model URI, or set "
	  "spec.initializer.model.storageUri" },

	/* The image. */
	{ AT("", "No module named 'torch._C._distributed"), 0,
	  "this PyTorch was built without torch.distributed: use another build" },
	{ AT("", "'torch._C' is not a package"), 0,
	  "PyTorch's Python files and its library are of different builds: install it "
	  "anew" },
	{ AT("", "' is not a package"), 0,
	  "a Python file has the name of a package and hides it: rename the file" },
	{ AT("", "(most likely due to a circular import)"), 0,
	  "a Python module imports itself, as where a script has the name of a package: "
	  "rename the script" },
	{ AT("", "ModuleNotFoundError: No module named 'torch._C'"), 0,
	  "a directory torch, as of PyTorch's sources, hides the package, or this "
	  "PyTorch is built for another Python" },
	{ AT("", "No module named 'distutils"), 0,
	  "Python 3.12 and later have no distutils: install setuptools, or use an older "
	  "Python" },
	{ AT("pkgutil' has no attribute '", "ImpImporter"), 0,
	  "setuptools is older than this Python: install a newer one" },
	{ AT("e", "xternally-managed-environment"), 0,
	  "this Python leaves its packages to the system: set PIP_BREAK_SYSTEM_PACKAGES=1 "
	  "in env, or use a virtual environment" },
	{ AT("", "No matching distribution found for "), '\n',
	  "pip found no %s for this Python and CPU: check the name and the version, and "
	  "that its index can be reached (PIP_INDEX_URL and HTTPS_PROXY in env)" },
	{ AT("", "Fatal Python error: init_fs_encoding"), 0,
	  "PYTHONHOME or PYTHONPATH in env is of another Python: leave it out" },
	{ AT("", "'ascii' codec can't "), 0, NO_LOCALE },
	{ AT("locale.", "Error: unsupported locale setting"), 0, NO_LOCALE },
	{ AT("", "KeyError: 'LOCAL_RANK'"), 0, NOT_LAUNCHED },
	{ AT("", "KeyError: 'RANK'"), 0, NOT_LAUNCHED },
	{ AT("", "KeyError: 'WORLD_SIZE'"), 0, NOT_LAUNCHED },
	{ AT("operator torch", "vision::nms"), 0,
	  "torchvision was built for another PyTorch: install the version that belongs to "
	  "it" },
	{ AT("", "ModuleNotFoundError: No module named '"), '\'',
	  NO_MODULE
	  " (with "
	  "torchrun that of torchrun's own environment), or is a file that does not "
	  "come with the script: submit its directory with --workspace" },
	{ AT("use", "_libuv was requested"), 0,
	  "this PyTorch was built without libuv, which torchrun needs: use another build, "
	  "or without torchrun set USE_LIBUV=0 in env" },
	{ AT("", "Error: libcuda.so.1"), 0,
	  "the NVIDIA driver's library is missing: request a GPU in resources" },
	{ AT("", "ImportError: lib"), ':',
	  "Python could not load the library lib%s: check that the image has it, in a "
	  "version that fits" },
	{ AT("loading shared ", "libraries: "), ':',
	  "the program needs the library %s: check that the image has it, for this user, "
	  "in a version that fits" },
	{ AT("can", "'t open file '"), '\'', "there is no script %s" },
	{ AT("version `", "GLIBC_"), '\'',
	  "a library needs the C library GLIBC_%s, and the image has an older one" },
	{ AT("version `", "GLIBCXX_"), '\'',
	  "a library needs the C++ library GLIBCXX_%s, and the image has an older one" },
	{ AT(".so: undefined symbol: _", "Z"), 0,
	  "a compiled package does not fit the version of PyTorch, or of another library "
	  "that it uses: install it again for that one" },
	{ AT("", "Could not load library libcudnn"), 0, TWO_CUDNNS },
	{ AT("", "cuDNN version incompatibility"), 0, TWO_CUDNNS },
	{ AT("numpy.dtype size c", "hanged"), 0, OLD_NUMPY },
	{ AT("numpy.ndarray size c", "hanged"), 0, OLD_NUMPY },
	{ AT("numpy.core.multiarra", "y failed to import"), 0, OLD_NUMPY },
	{ AT("python: ", "No module named "), '\n', NO_MODULE },
	{ AT("python3: ", "No module named "), '\n', NO_MODULE },
	{ AT("", "\\r': No such file"), 0, CRLF },
	{ AT("", "\\r\u2019: No such file"), 0, CRLF },
	{ AT("", "\\r': command not found"), 0, CRLF },
	{ AT("", "^M: bad interpreter"), 0, CRLF },
	{ AT("unrecognized arguments: --local-ran", "k="), 0, LOCAL_RANK },
	{ AT("unrecognized arguments: --local_ran", "k="), 0, LOCAL_RANK },
	{ AT("finished its ", "bootstrapping phase"), 0,
	  "Python starts the script's main module again in each process that it spawns: "
	  "put its code below if __name__ == '__main__'" },
	{ AT("bdb.", "BdbQuit"), 0, NO_INPUT },
	{ AT("", "EOFError: EOF when reading a line"), 0, NO_INPUT },
	{ AT("python: c", "ommand not found"), 0, NO_PYTHON },
	{ AT("python: n", "ot found"), 0, NO_PYTHON },
	{ AT("e", "xec format error"), 0,
	  "the program is for another kind of CPU: use an image of the node's" },

	/* Memory of devices, of the pod, shared. */
	{ AT("", "CUDA out of memory"), 0, DEVICE_FULL },
	{ AT("", "HIP out of memory"), 0, DEVICE_FULL },
	{ AT("", "XPU out of memory"), 0, DEVICE_FULL },
	{ AT("", "MPS backend out of memory"), 0, DEVICE_FULL },
	{ AT("torch.", "OutOfMemoryError"), 0, DEVICE_FULL },
	{ AT("torch.cuda.", "OutOfMemoryError"), 0, DEVICE_FULL },
	{ AT("", "CUDA error: out of memory"), 0, DEVICE_FULL },
	{ AT("", "'out of memory'"), 0, DEVICE_FULL },
	{ AT("", "CUDA_ERROR_OUT_OF_MEMORY"), 0, DEVICE_FULL },
	{ AT("", "CUBLAS_STATUS_ALLOC_FAILED"), 0, DEVICE_FULL },
	{ AT("", "RESOURCE_EXHAUSTED: Out of memory"), 0, DEVICE_FULL },
	{ AT("", "RESOURCE_EXHAUSTED: Failed to allocate"), 0, DEVICE_FULL },
	{ AT("", "Ran out of memory in memory space"), 0, DEVICE_FULL },
	{ AT("", "CUBLAS_STATUS_NOT_INITIALIZED"), 0,
	  "cuBLAS did not start, most often since the memory of the GPU is full: use a "
	  "smaller batch, or check what else uses the GPU" },
	{ AT("", "OOM when allocating tensor"), 0,
	  "a tensor does not fit in memory: use a smaller batch" },
	{ AT("failed to e", "xtend /dev/shm/"), 0, SHM_FULL },
	{ AT("creating shared memory segment ", "/dev/shm/"), 0, NCCL_SHM },
	{ AT("creating shared memory segment ", "nccl-"), 0, NCCL_SHM },
	{ AT("unable to write to file <", "/torch_"), 0, SHM_FULL },
	{ AT("unable to allocate shared memory", "(shm)"), 0, SHM_FULL },
	{ AT("bytes from file <", "/torch_"), 0, SHM_FULL },
	{ AT("killed by signal: ", "Bus error"), 0, BUS_ERROR },
	{ AT("", "Unexpected bus error encountered in worker"), 0, BUS_ERROR },
	{ AT("killed by signal: ", "Segmentation fault"), 0,
	  "a worker of the DataLoader crashed: run it with num_workers=0 and python -X "
	  "faulthandler to see where" },
	{ AT("killed by signal: ", "Killed"), 0,
	  "a worker of the DataLoader was killed by SIGKILL: check "
	  "for an out-of-memory kill" },
	{ AT("", "DefaultCPUAllocator: "), 0, NO_MEMORY },
	{ AT("", "MemoryError"), 0, NO_MEMORY },
	{ AT("std::bad", "_alloc"), 0, NO_MEMORY },
	{ AT("[", "Errno 12] Cannot allocate memory"), 0, NO_MEMORY },

	{ AT("fork: ", "Resource temporarily unavailable"), 0, NO_THREADS },
	{ AT("fork: retry: ", "Resource temporarily unavailable"), 0, NO_THREADS },
	{ AT("can't start ", "new thread"), 0, NO_THREADS },
	{ AT("pthread_c", "reate failed for thread"), 0, NO_THREADS },
	{ AT("pthread_c", "reate: Resource temporarily unavailable"), 0, NO_THREADS },
	{ AT("Thread c", "reation failed: Resource"), 0, NO_THREADS },

	/* Files. */
	{ AT("inotif", "y watch limit reached"), 0, NO_WATCHES },
	{ AT("", "System limit for number of file watchers"), 0, NO_WATCHES },
	{ AT("add", "_watch: cannot watch"), 0, NO_WATCHES },
	{ AT("", "No space left on device"), 0,
	  "a file system has no space or no inodes left: check the "
	  "volumes, /tmp and /dev/shm" },
	{ AT("PytorchStream", "Writer failed writing"), 0, NOT_WRITTEN },
	{ AT(". une", "xpected pos "), 0, NOT_WRITTEN },
	{ AT("", "Disk quota exceeded"), 0, "a disk quota is used up" },
	{ AT("Read-only file system: '", "/."), 0, NO_HOME },
	{ AT("", "Read-only file system"), 0,
	  "the path is read-only: write to a volume that is not" },
	{ AT("", "No usable temporary directory found"), 0,
	  "no directory for temporary files may be written: mount a volume at /tmp, as the "
	  "root file system is read-only (readOnlyRootFilesystem) or full" },
	{ AT("Permission denied: '", "/."), 0, NO_HOME },
	{ AT("get", "pwuid(): uid not found"), 0,
	  "the process's user has no name in the image: set USER and HOME in env, such as "
	  "USER=train and HOME=/tmp" },
	{ AT("[", "Errno 13] Permission denied"), 0,
	  "the process's user may not use that path: check the volume's owner, and "
	  "fsGroup or runAsUser in securityContext" },
	{ AT("", "Too many open files"), 0, NO_FILES },
	{ AT("received 0 items of an", "cdata"), 0, NO_FILES },
	{ AT("limit exceeded on number of ", "pipes"), 0, NO_FILES },
	{ AT("", "AF_UNIX path too long"), 0,
	  "the path of a socket is too long: set TMPDIR in env to a short one, such as "
	  "/tmp" },
	{ AT("", "Stale file handle"), 0,
	  "the file on the network file system was deleted or replaced" },
	{ AT("", "Transport endpoint is not connected"), 0,
	  "the volume's mount is gone, as when the process of its FUSE file system has "
	  "ended: check the log and the memory of the volume's sidecar or driver" },
	{ AT("[", "Errno 5] Input/output error"), 0,
	  "the volume's storage failed: check the volume and its node" },
	{ AT("unable to loc", "k file, errno = "), 0,
	  "another process has the HDF5 file open, or its file system has no locks: set "
	  "HDF5_USE_FILE_LOCKING=FALSE in env to read it" },
	{ AT("", "No locks available"), 0,
	  "the file system has no locks: put what is locked elsewhere, as a cache by "
	  "HF_HOME=/tmp/hf in env" },
	{ AT("", "EADDRINUSE"), 0, PORT_IN_USE, LOG_PORT },
	{ AT("Fatal] ", "Binding port "), ' ',
	  "port %s, on which LightGBM listens, is in use: choose another one by "
	  "local_listen_port or machines" },
	{ AT("", "Cannot assign requested address"), 0,
	  "the process listens on an address that this pod does not have: check "
	  "MASTER_ADDR, which is node 0's, and the rank" },
	{ AT("ddress alread", "y in use"), 0, PORT_IN_USE, LOG_PORT },

	/* CUDA. */
	{ AT("no ", "kernel image is available"), 0,
	  "the program has no code for this kind of GPU: use a PyTorch or CUDA build "
	  "that supports it" },
	{ AT("dri", "ver on your system is too old"), 0, OLD_DRIVER },
	{ AT("", "CUDA driver version is insufficient"), 0, OLD_DRIVER },
	{ AT("forward com", "patibility was attempted"), 0, OLD_DRIVER },
	{ AT("unsupported disp", "lay driver / cuda driver"), 0,
	  "the CUDA libraries of the image do not fit the node's driver: take "
	  "/usr/local/cuda/compat out of LD_LIBRARY_PATH, or update the driver" },
	{ AT("defined for option '", "gpu-name'"), 0,
	  "the assembler of Triton (ptxas) is older than this kind of GPU: use a newer "
	  "PyTorch and Triton, or set TRITON_PTXAS_PATH in env to that of a newer CUDA" },
	{ AT("", "Found no NVIDIA driver"), 0, NO_GPU },
	{ AT("", "No CUDA GPUs are available"), 0, NO_GPU },
	{ AT("ProcessGroup", "NCCL is only supported with GPUs"), 0,
	  "NCCL needs GPUs, and the process sees none: request them in resources, or use "
	  "the backend gloo" },
	{ AT("", "Distributed package doesn't have NCCL"), 0,
	  "this PyTorch was built without NCCL: use one for CUDA, or the backend gloo" },
	{ AT("", "No backend type associated with device type cpu"), 0,
	  "a tensor of the CPU is in a collective operation of NCCL: move it to the GPU, or "
	  "use the backend cpu:gloo,cuda:nccl" },
	{ AT("", "Driver/library version mismatch"), 0,
	  "the node's NVIDIA driver was updated while in use: restart the node" },
	{ AT("no ", "CUDA-capable device is detected"), 0, NO_GPU },
	{ AT("RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: ",
	     "No visible GPU"),
	  0, NO_GPU },
	{ AT("", "CUDA-capable devices are busy or unavailable"), 0,
	  "the GPU is busy or unavailable: check whether another "
	  "process has it to itself" },
	{ AT("in", "valid device ordinal"), 0,
	  "a process uses a GPU that the container does not have: start no more "
	  "processes than GPUs" },
	{ AT("", "Torch not compiled with CUDA enabled"), 0,
	  "the image has a PyTorch without CUDA" },
	{ AT("de", "vice-side assert triggered"), 0,
	  "an assertion in a GPU kernel failed, as for an index out of range: set "
	  "CUDA_LAUNCH_BLOCKING=1 in env to see where" },
	{ AT("TPU is alread", "y in use"), 0,
	  "another process uses the TPU, which takes one at a time" },
	{ AT("loss scale alread", "y at minimum"), 0,
	  "the gradients overflow fp16: use bf16, or a lower learning rate" },
	{ AT("unspecified ", "launch failure"), 0,
	  "a GPU kernel failed: set CUDA_LAUNCH_BLOCKING=1 in env to see where, and check "
	  "the node with 'kftrainer gpu'" },
	{ AT("illegal memor", "y access"), 0,
	  "a GPU kernel used an invalid address: set "
	  "CUDA_LAUNCH_BLOCKING=1 in env to see where" },
	{ AT("uncorrectable ", "ECC error"), 0, BROKEN_GPU },
	{ AT("uncorrectable ", "NVLink error"), 0, BROKEN_GPU },
	{ AT("fallen off the ", "bus"), 0, BROKEN_GPU },
	{ AT("802: s", "ystem not yet initialized"), 0, NO_FABRIC },
	{ AT("CUDA error: s", "ystem not yet initialized"), 0, NO_FABRIC },
	{ AT("", "CUDNN_STATUS_NOT_INITIALIZED"), 0,
	  "cuDNN did not start: check the GPU's free memory, and that cuDNN and CUDA of "
	  "the image fit" },
	{ AT("", "CUDA_HOME does not exist"), 0, NO_NVCC },
	{ AT("", "CUDA_HOME environment variable is not set"), 0, NO_NVCC },
	{ AT("/bin/n", "vcc'"), 0, NO_NVCC },
	{ AT("n", "vcc: not found"), 0, NO_NVCC },
	{ AT("Failed to find ", "C compiler"), 0,
	  "the image has no C compiler, which Triton needs (torch.compile, bitsandbytes): "
	  "install gcc, or set CC in env" },
	{ AT("", "InvalidCxxCompiler"), 0, NO_CXX },
	{ AT("", "'c++']' returned non-zero"), 0, NO_CXX },
	{ AT("", "Python.h: No such file"), 0,
	  "the image has no headers of Python, which Triton and extensions need: install "
	  "python3-dev" },
	{ AT("cannot find ", "-lcuda"), 0, NO_LIBCUDA },
	{ AT("lib", "cuda.so cannot found"), 0, NO_LIBCUDA },
	{ AT("CUDA Setup failed ", "despite GPU"), 0,
	  "bitsandbytes has no library for this CUDA: use a newer one; python -m "
	  "bitsandbytes tells what it looked for" },
	{ AT("", "Ninja is required"), 0, "the image has no ninja: install it" },
	{ AT("match the ", "version torch was compiled with"), 0,
	  "nvcc and PyTorch of the image are of different CUDA versions" },
	{ AT("", "Error building extension '"), '\'',
	  "the extension %s could not be compiled: the compiler's error is above" },

	/* Hugging Face. */
	{ AT("", "Tunnel connection failed: "), 0, PROXY_REFUSED },
	{ AT("", "Unable to connect to proxy"), 0, PROXY_REFUSED },
	{ AT("namespace/repo_name", "': '/"), 0, NO_PATH },
	{ AT("namespace/repo_name", "': '."), 0, NO_PATH },
	{ AT("does not a", "ppear to have a file named "), 0,
	  "a file of the model is missing: check the path or the repository, and what "
	  "spec.initializer downloads" },
	{ AT("", "Consistency check failed: file should be of"), 0,
	  "a download from Hugging Face is incomplete: try again, or download with "
	  "spec.initializer" },
	{ AT("", "Cannot access gated repo"), 0, NO_ACCESS },
	{ AT("not in the authori", "zed list"), 0, NO_ACCESS },
	{ AT("", "Repository Not Found for url"), 0, NO_MODEL },
	{ AT("is not a ", "valid model identifier"), 0, NO_MODEL },
	{ AT("401 ", "Client Error"), 0, NO_TOKEN },
	{ AT("403 ", "Client Error"), 0, NO_ACCESS },
	{ AT("429 ", "Client Error"), 0, TOO_MANY },
	{ AT("Client error '", "401 "), 0, NO_TOKEN },
	{ AT("Client error '", "403 "), 0, NO_ACCESS },
	{ AT("Client error '", "429 "), 0, TOO_MANY },
	{ AT("connect to ", "'https://huggingface.co"), 0, NO_HUB },
	{ AT("out", "going traffic has been disabled"), 0, NO_HUB },
	{ AT("", "CAS service error"), 0,
	  "the download from Hugging Face's Xet storage failed: try again, with "
	  "HF_HUB_DISABLE_XET=1 in env, or download with spec.initializer" },
	{ AT("variant of untagged enum ", "ModelWrapper"), 0,
	  "the tokenizer's file needs a newer version of the package tokenizers" },
	{ AT("", "Couldn't instantiate the backend tokenizer"), 0,
	  "the tokenizer needs the package sentencepiece or tiktoken" },

	/* Files of models, certificates, accounts. */
	{ AT("while deserializing h", "eader: "), 0,
	  "a .safetensors file is damaged or incomplete, or a Git LFS pointer in its "
	  "place: get it again" },
	{ AT("", "Ran out of input"), 0, DAMAGED },
	{ AT("pic", "kle data was truncated"), 0, DAMAGED },
	{ AT("", "BadZipFile: "), 0, DAMAGED },
	{ AT("", "BadGzipFile: "), 0, DAMAGED },
	{ AT("", "Compressed file ended before"), 0, DAMAGED },
	{ AT("", "UnidentifiedImageError: "), 0, DAMAGED },
	{ AT("ima", "ge file is truncated"), 0, DAMAGED },
	{ AT("", "(file signature not found)"), 0, DAMAGED },
	{ AT("", "(truncated file: eof"), 0, DAMAGED },
	{ AT("", "Cannot load file containing pickled data"), 0, DAMAGED },
	{ AT("", "Failed to interpret file '"), 0, DAMAGED },
	{ AT("", "DataLossError: "), 0, DAMAGED },
	{ AT("", "PytorchStreamReader failed"), 0,
	  "a checkpoint is damaged or incomplete, as of a process that was killed while it "
	  "wrote: use the one before, or get it again" },
	{ AT("invalid load k", "ey, '"), '\'',
	  "a file is no checkpoint of PyTorch: it begins with '%s' (a Git LFS pointer with "
	  "'v', a web page with '<')" },
	{ AT("", "Weights only load failed"), 0,
	  "PyTorch 2.6 and later load tensors only, unless told otherwise: if you trust "
	  "the file, use torch.load(..., weights_only=False), or a newer version of the "
	  "library that loads it" },
	{ AT("", "Parquet magic bytes not found"), 0,
	  "a Parquet file is damaged or incomplete, or a Git LFS pointer in its place: "
	  "get it again" },
	{ AT("certificate verif", "y failed: self"), 0, UNKNOWN_CA },
	{ AT("certificate verif", "y failed: unable to get local issuer"), 0,
	  UNKNOWN_CA },
	{ AT("api_k", "ey not configured"), 0, NO_WANDB },
	{ AT("No API k", "ey configured"), 0, NO_WANDB },
	{ AT("", "Run initialization has timed out"), 0,
	  "Weights & Biases did not answer: check network and proxy, or set "
	  "WANDB_MODE=offline in env" },

	/* The causes in frameworks: docs/stacks.md tells more. */
	{ AT("in ", "Lightning, but the product"), 0,
	  "Lightning's Trainer does not have the shape of the job: num_nodes is the number of "
	  "its nodes, devices that of the processes of each" },
	{ AT("", "No valid checkpoint found in output directory"), 0,
	  "no checkpoint was written yet: resume from get_last_checkpoint(output_dir) of "
	  "transformers.trainer_utils, which is None then" },
	{ AT("", "Logging memory stats is not supported on CPU"), 0,
	  "torchtune's recipes for several devices need GPUs: without, use one process per "
	  "node (numProcPerNode: 1)" },
	{ AT("distribute.values.", "PerReplica"), 0,
	  "Keras 3 cannot fit() under MultiWorkerMirroredStrategy: write the loop with "
	  "strategy.run(), or use tf_keras with TF_USE_LEGACY_KERAS=1" },

	{ AT("launcher '", "pdsh' not installed"), 0,
	  "deepspeed starts other nodes by pdsh and a host file: start the script with "
	  "torchrun or mpirun, for which the runtime has all" },

	/* MPI. */
	{ AT("", "There are not enough slots available"), 0,
	  "mpirun starts more processes than the host file has slots: raise numNodes or "
	  "numProcPerNode, or lower -np" },
	{ AT("detected an attem", "pt to run as root"), 0,
	  "Open MPI does not run as root: pass --allow-run-as-root, or set "
	  "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in env" },
	{ AT("bindin", "g more processes than cpus"), 0,
	  "there are more processes than CPUs: pass --bind-to none" },
	{ AT("could not find an e", "xecutable"), 0,
	  "mpirun found no such program on a node: check its path and the image" },
	{ AT("", "Host key verification failed"), 0,
	  "ssh does not know the node's key: set StrictHostKeyChecking no in the image" },
	{ AT("", "Permission denied (publickey"), 0,
	  "the node's sshd refuses the job's key: check the user, and sshAuthMountPath" },

	/* Networks. */
	{ AT("rendezvous: environment ", "variable "), ' ',
	  "the process got no %s: start the script with torchrun" },
	{ AT("", "Duplicate GPU detected"), 0,
	  "two ranks use the same GPU: each must use that of its LOCAL_RANK, and a node "
	  "must not start more processes than it has GPUs" },
	{ AT("no soc", "ket interface found"), 0,
	  "NCCL found no network interface: " NCCL_IFNAME },
	{ AT("is neither ", "AF_INET"), 0,
	  "NCCL got no valid address from a rank: " NCCL_IFNAME
	  ", and that all have the same NCCL" },
	{ AT("ed : ", "Address family not supported"), 0,
	  "NCCL could not open a socket of its address family: " NCCL_IFNAME },
	{ AT("address famil", "y mismatch"), 0,
	  "the ranks have addresses of IPv4 and of IPv6: check GLOO_SOCKET_IFNAME and "
	  "what their host names resolve to" },
	{ AT("", "Unable to find address for: "), 0, GLOO_IFNAME },
	{ AT("", "Unable to find interface for: "), 0, GLOO_IFNAME },
	{ AT("resol", "ve hostname to a (local) address"), 0, GLOO_IFNAME },
	{ AT("failed with error ", "Cannot allocate memory"), 0,
	  "RDMA could not lock memory: raise the limit of locked memory (ulimit -l) of "
	  "the container" },
	{ AT("Call to ibv_modify_", "qp failed"), 0,
	  "the RDMA adapters of two nodes do not reach each other: check the network, "
	  "NCCL_IB_HCA and NCCL_IB_GID_INDEX; if each reaches only its own kind, set "
	  "NCCL_CROSS_NIC=0 in env" },
	{ AT("peer access is not supported bet", "ween"), 0,
	  "these GPUs have no peer access: set NCCL_P2P_DISABLE=1 in env" },
	{ AT("Mism", "atched NCCL version"), 0,
	  "the ranks have different versions of NCCL: use the same image on all nodes" },
	{ AT("essage truncated : recei", "v"), 0, OUT_OF_STEP },
	{ AT("collective mism", "atch error"), 0, OUT_OF_STEP },
	{ AT("Mism", "atched collective detected"), 0, OUT_OF_STEP },
	{ AT("Detected mism", "atch between collectives"), 0, OUT_OF_STEP },

	/* First failures of the process or its children, then those of its peers. */
	{ AT("", "Signal 9 (SIGKILL) received"), 0, KILLED },
	{ AT("e", "xitcode: -9)"), 0, KILLED },
	{ AT("e", "xited on signal 9"), 0, KILLED },
	{ AT("E", "XIT STRING: Killed (signal 9)"), 0, KILLED },
	{ AT("K", "ILLED BY SIGNAL: 9 ("), 0, KILLED },
	{ AT("=   E", "XIT CODE: 137"), 0, KILLED },
	{ AT("return c", "ode = -9"), 0, KILLED },
	{ AT("<", "Signals.SIGKILL"), 0, KILLED },
	{ AT("terminated with signal SIGK", "ILL"), 0, KILLED },
	{ AT("SIGK", "ILL(-9)"), 0, KILLED },
	{ AT(" K", "illed                  "), 0, KILLED },
	{ AT("", "Signal 11 (SIGSEGV) received"), 0, CRASHED },
	{ AT("return c", "ode = -11"), 0, CRASHED },
	{ AT("<", "Signals.SIGSEGV"), 0, CRASHED },
	{ AT("terminated with signal SIGS", "EGV"), 0, CRASHED },
	{ AT("SIGS", "EGV(-11)"), 0, CRASHED },
	{ AT(" S", "egmentation fault      "), 0, CRASHED },
	{ AT("e", "xitcode: -11)"), 0, CRASHED },
	{ AT("e", "xited on signal 11"), 0, CRASHED },
	{ AT("E", "XIT STRING: Segmentation fault"), 0, CRASHED },
	{ AT("K", "ILLED BY SIGNAL: 11 ("), 0, CRASHED },
	{ AT("=   E", "XIT CODE: 139"), 0, CRASHED },
	{ AT("", "Signal 4 (SIGILL) received"), 0, NO_INSTRUCTION },
	{ AT("e", "xitcode: -4)"), 0, NO_INSTRUCTION },
	{ AT("e", "xited on signal 4"), 0, NO_INSTRUCTION },
	{ AT("", "Signal 24 (SIGXCPU) received"), 0, CPU_LIMIT },
	{ AT("CPU time limit e", "xceeded"), 0, CPU_LIMIT },
	{ AT("", "Signal 25 (SIGXFSZ) received"), 0, FILE_LIMIT },
	{ AT("File size limit e", "xceeded"), 0, FILE_LIMIT },
	{ AT("[", "Errno 27] File too large"), 0, FILE_LIMIT },
	{ AT("", "Signal 7 (SIGBUS) received"), 0, BUS_ERROR },
	{ AT("e", "xitcode: -7)"), 0, BUS_ERROR },
	{ AT("e", "xited on signal 7"), 0, BUS_ERROR },
	{ AT("return c", "ode = -7"), 0, BUS_ERROR },
	{ AT("<", "Signals.SIGBUS"), 0, BUS_ERROR },
	{ AT("terminated with signal SIGB", "US"), 0, BUS_ERROR },
	{ AT("SIGB", "US(-7)"), 0, BUS_ERROR },
	{ AT(" B", "us error               "), 0, BUS_ERROR },
	{ AT("abruptly d", "ied during map"), 0, NO_WORKER },
	{ AT("terminated ab", "ruptly"), 0, NO_WORKER },
	{ AT("died unex", "pectedly before finishing"), 0, NO_WORKER },
	{ AT("", "FileNotFoundError: [Errno 2] No such file or directory: '"), '\'',
	  "the process finds no %s: check the path (a relative one begins where the "
	  "command starts) and the volumes, or the image if it is a program" },
	{ AT("terminate called without an active e", "xception"), 0,
	  "the process aborted while it ended, as one whose script does not call "
	  "torch.distributed.destroy_process_group() last" },
	{ AT("soc", "ketStartConnect: Connect to "), ' ', NCCL_CONNECT, LOG_PEER },
	{ AT("soc", "ketPollConnect: Connect to "), ' ', NCCL_CONNECT, LOG_PEER },
	{ AT("", "Got completion from peer "), ' ',
	  "the RDMA connection to %s failed: check the other ranks and the network",
	  LOG_PEER },
	{ AT("", "Connection closed by remote peer"), 0, PEER_LEFT, LOG_PEER },
	{ AT("completed with error. ", "RC: "), 0,
	  "a request to another rank's network adapter failed: check the other ranks and "
	  "the network; with EFA, the security group must allow all traffic within it",
	  LOG_PEER },
	{ AT("", LOG_LAST_ERROR), '\n', "NCCL: %s", LOG_PEER },
	{ AT("remote p", "rocess exited or there was a network"), 0, NCCL_LOST, LOG_PEER,
	  true },
	{ AT("", "NCCL error"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("", "NCCL operation nccl"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("nccl", "InternalError"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("nccl", "SystemError"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("nccl", "RemoteError"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("nccl", "InvalidUsage"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("nccl", "UnhandledCudaError"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("retrie", "ving ncclUniqueId"), 0,
	  "a rank got no NCCL ID from another one in time: check the log of the rank "
	  "that the message names",
	  LOG_PEER },
	{ AT("connect", "FullMesh failed"), 0,
	  "gloo could not connect the ranks with each other: check the logs of the other "
	  "ranks, and GLOO_SOCKET_IFNAME",
	  LOG_PEER },
	{ AT("", "connect to the tracker"), 0,
	  "XGBoost could not reach its tracker, which process 0 runs: check its log, and "
	  "that its port can be reached",
	  LOG_PEER },
	{ AT("", "rabit/internal/"), 0, XGBOOST_LEFT, LOG_PEER },
	{ AT("src/", "collective/result.cc:"), 0, XGBOOST_LEFT, LOG_PEER },
	{ AT("", "Another worker is running into error"), 0, XGBOOST_LEFT, LOG_PEER },
	{ AT("Connecting to ran", "k "), ' ',
	  "LightGBM could not connect to rank %s: check that it runs, and its port in "
	  "the list of machines",
	  LOG_PEER },
	{ AT("[ring] ", "Couldn't connect"), 0,
	  "MLX could not connect to the next rank: check its log, and the addresses of "
	  "the host file",
	  LOG_PEER },
	{ AT("[ring] ", "Too many send/recv errors"), 0, PEER_LEFT, LOG_PEER },
	{ AT("connect with a different ", "incarnation"), 0,
	  "a process of JAX was started again while the others ran on: the message names "
	  "its task; all must start together",
	  LOG_PEER },
	{ AT("stopped sendin", "g heartbeats"), 0,
	  "tasks no longer answer JAX's coordination service: check the logs of those "
	  "that the message names",
	  LOG_PEER },
	{ AT("", "JAX distributed service detected fatal errors"), 0,
	  "JAX ended this process, most likely since another one ended: check the logs "
	  "of the others",
	  LOG_PEER },
	{ AT("", "Barrier timed out"), 0,
	  "not all processes reached a barrier in time: check the logs of the tasks that "
	  "the message names",
	  LOG_PEER },
	{ AT("CoordinationService/", "RegisterTask"), 0,
	  "JAX could not register with its coordinator: check that process 0 runs and "
	  "that its port can be reached",
	  LOG_PEER },
	{ AT("lost communication ", "with a remote daemon"), 0,
	  "mpirun lost the connection to a node: check the log of its pod", LOG_PEER },
	{ AT("does not ", "know how to route a message"), 0,
	  "mpirun's daemons do not reach each other: check that the nodes' names resolve "
	  "and their ports are open",
	  LOG_PEER },
	{ AT("peer process has unexpecte", "dly disconnected"), 0, PEER_LEFT, LOG_PEER },
	{ AT("", "RBAC: access denied"), 0,
	  "a service mesh refuses the connection: allow it, or leave its proxy out of the "
	  "job's pods, as by Istio's label sidecar.istio.io/inject: \"false\"",
	  LOG_PEER },
	{ AT("", "Connection closed by peer"), 0, PEER_LEFT, LOG_PEER },
	{ AT("", "Connection reset by peer"), 0, PEER_LEFT, LOG_PEER },
	{ AT("", "Broken pipe"), 0, PEER_LEFT, LOG_PEER },
	{ AT("failed to recv", ", got 0 bytes"), 0, PEER_LEFT, LOG_PEER },
	{ AT("", "Application timeout caused pair closure"), 0, SLOW, LOG_PEER },
	{ AT("", "NCCL communicator was aborted"), 0, NCCL_FAILED, LOG_PEER, true },
	{ AT("ailed to pass monitored", "Barrier"), 0, SLOW, LOG_PEER },
	{ AT("reached monitored", "Barrier, but received errors"), 0, SLOW, LOG_PEER },
	{ AT("", "Collective ops is aborted by: "), 0, SLOW, LOG_PEER },
	{ AT("", "No route to host"), 0, NO_ROUTE, LOG_PEER },
	{ AT("", "Network is unreachable"), 0, NO_ROUTE, LOG_PEER },
	{ AT("", "Connection timed out"), 0, NO_ROUTE, LOG_PEER },
	{ AT("", "Connection refused"), 0,
	  "nothing accepts connections at that address: if it is "
	  "another rank's, check its log",
	  LOG_PEER },
	{ AT("", "Name or service not known"), 0, NO_NAME, LOG_NAME },
	{ AT("", "Temporary failure in name resolution"), 0, NO_NAME, LOG_NAME },
	{ AT("", "No address associated with hostname"), 0, NO_NAME, LOG_NAME },
	{ AT("", "Could not resolve hostname"), 0, NO_NAME, LOG_NAME },
	{ AT("unable to reliabl", "y start one or more daemons"), 0, NO_DAEMONS,
	  LOG_PEER },
	{ AT("unable to run ", "bstrap_proxy"), 0, NO_DAEMONS, LOG_PEER },
	{ AT("", "RendezvousTimeoutError"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("", "RendezvousConnectionError"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("", "RendezvousClosedError"), 0,
	  "torchrun of another node has ended, and closed the rendezvous: check the logs "
	  "of the other nodes",
	  LOG_PEER },
	{ AT("DistStoreError: ", "Socket Timeout"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("seconds waiting for ", "clients"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("seconds waiting for ", "workers"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("client soc", "ket has timed out"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("RuntimeError: ", "Socket Timeout"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("", "Timed out initializing process group in store"), 0, NO_RENDEZVOUS,
	  LOG_PEER },
	{ AT("", "DistStoreError: wait timeout after"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("connect to an", "y network address"), 0, NO_RENDEZVOUS, LOG_PEER },
	{ AT("client soc", "ket has failed to connect"), 0,
	  "node 0 does not accept connections yet: check that it is up, and that the "
	  "others can reach its port",
	  LOG_PEER },
	{ AT("", "Watchdog caught collective operation timeout"), 0, SLOW, LOG_PEER },
	{ AT("watchdog g", "ot stuck for "), 0,
	  "a call of NCCL or CUDA hangs: check the logs of the other ranks", LOG_PEER },
	{ AT("rec", "v operation to complete"), 0, SLOW, LOG_PEER },
	{ AT("send o", "peration to complete"), 0, SLOW, LOG_PEER },
	{ AT("", "Signal 15 (SIGTERM) received"), 0,
	  "a process was stopped by SIGTERM, as when another rank has failed: check the "
	  "logs of the others",
	  LOG_PEER },
};
const size_t log_n_causes = N_ELEMENTS(log_causes);
_Static_assert(N_ELEMENTS(log_causes) <= (size_t)LOG_CAUSES_MAX, "raise LOG_CAUSES_MAX");
