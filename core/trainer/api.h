/*
 * api.h - names of Kubeflow Trainer's API.
 *
 * Only names that several files need or that users see in manifests. Follows upstream's
 * pkg/constants and JobSet's api/jobset/v1alpha2.
 */
#ifndef TRAINER_API_H
#define TRAINER_API_H

#define TRAINER_GROUP        "trainer.kubeflow.org"
#define TRAINER_API_VERSION  TRAINER_GROUP "/v1alpha1"
#define TRAINJOB_KIND        "TrainJob"
#define RUNTIME_KIND         "TrainingRuntime"
#define CLUSTER_RUNTIME_KIND "ClusterTrainingRuntime"

/* Upstream's search for hyperparameters (KEP-2605), which is not served yet. */
#define OPTIMIZATION_KIND "OptimizationJob"
#define OPTIMIZATION_COMES                                                           \
	"an " OPTIMIZATION_KIND " searches hyperparameters by TrainJobs; it is not " \
	"served yet and comes with a later release: until then submit its "          \
	"trainJobTemplate as a TrainJob for each trial"

#define JOBSET_GROUP       "jobset.x-k8s.io"
#define JOBSET_API_VERSION "jobset.x-k8s.io/v1alpha2"
#define JOBSET_KIND        "JobSet"

/* The value of spec.managedBy for our controller. */
#define MANAGED_BY_TRAINER TRAINER_GROUP "/trainjob-controller"

/* On the Job template of a replicatedJob: its step in the TrainJob. */
#define LABEL_ANCESTOR      TRAINER_GROUP "/trainjob-ancestor-step"
#define ANCESTOR_TRAINER    "trainer"
#define DATASET_INITIALIZER "dataset-initializer" /* ancestor, job and container */
#define MODEL_INITIALIZER   "model-initializer"

/* On a runtime: its framework; the Python SDK ignores runtimes without it. */
#define LABEL_FRAMEWORK TRAINER_GROUP "/framework"

/* On a runtime: "deprecated" warns its users. */
#define LABEL_SUPPORT      TRAINER_GROUP "/support"
#define SUPPORT_DEPRECATED "deprecated"

/* Feature gate: claims.h. Upstream's name, and ours before upstream had one. */
#define GATE_RESOURCE_CLAIMS "DynamicResourceAllocation"
#define GATE_OLD_CLAIMS      "TrainJobResourceClaims"
/* Feature gate: scheduling.h. */
#define GATE_SCHEDULING     "TrainJobWorkloadAwareScheduling"

#define NODE                "node"     /* the container that trains; MPI: also its job */
#define LAUNCHER            "launcher" /* the job that calls mpirun */
#define SUCCESS_OF_LAUNCHER "{operator: All, targetReplicatedJobs: [" LAUNCHER "]}"

/*
 * On a runtime's template: how mpirun reaches the nodes, by mpi-launch and the image's
 * "ssh" server, or by mpi-launch and mpi-worker. Absent: by ssh, as upstream does.
 */
#define MPI_ANNOTATION "kftrainer.io/mpi"
/*
 * On a runtime's template, "pods": those of its dataset-initializer are a data cache and
 * run beside the nodes. Absent: the initializer makes the cache, as upstream's does.
 */
#define CACHE_ANNOTATION "kftrainer.io/cache"
/*
 * On objects of a run of `submit --local` in the API of `controller --local`: the run's
 * directory. No controller reconciles them (machine/mirror.h).
 */
#define LOCAL_RUN_ANNOTATION "kftrainer.io/local-run"
/*
 * On a TrainJob: the Python environment of its pods on this machine, an absolute path
 * (kubelet/venv.h). Ignored in a cluster.
 */
#define VENV_ANNOTATION "kftrainer.io/venv"
/*
 * On a TrainJob or its runtime, "true": jax.distributed.initialize() needs no arguments
 * (trainer/jax.h). Absent: as upstream, pods get only the three variables to pass to it.
 */
#define JAX_INITIALIZE_ANNOTATION "kftrainer.io/jax-initialize"
/* A pod's token for the status server; only variables refer to its files. */
#define STATUS_TOKEN_VOLUME "kubeflow-trainer-token"
/* Volumes of pods that MPI uses: the job's key, and the host file. */
#define MPI_KEY_VOLUME      "mpi-ssh-auth"
#define MPI_HOSTFILE_VOLUME "mpi-hostfile"
/* The init container in which a launcher waits for its nodes. */
#define MPI_WAIT_CONTAINER "mpi-wait"

#define INITIALIZER_VOLUME "initializer"
#define STORAGE_URI_ENV    "STORAGE_URI"

enum { TRAINER_PORT = 29500 };

/* The field with the index of a pod of an indexed Job, for the downward API. */
#define COMPLETION_INDEX_FIELD \
	"metadata.annotations['batch.kubernetes.io/job-completion-index']"

/* Condition types of a TrainJob, and the reasons that we set. */
#define COND_SUSPENDED   "Suspended"
#define COND_COMPLETE    "Complete"
#define COND_FAILED      "Failed"
#define COND_RESOURCES   "ResourcesCreated" /* ours; present only while it is False */
#define REASON_SUSPENDED "Suspended"
#define REASON_RESUMED   "Resumed"
#define REASON_DEADLINE  "DeadlineExceeded"
#define REASON_NO_GROUPS "PodGroupNotInstalled"

/* The wording of this error; the argument is an apiVersion. */
#define PODGROUP_MISSING_TEXT "which the runtime's podGroupPolicy needs"
#define PODGROUP_MISSING \
	"PodGroup (%s), " PODGROUP_MISSING_TEXT ", is not installed in the cluster"
/* The error of Kubernetes' own PodGroup, likewise. */
#define PODGROUP_UNSERVED_TEXT "which the runtime's spec.scheduling needs"
#define PODGROUP_UNSERVED                                                         \
	"PodGroup (%s), " PODGROUP_UNSERVED_TEXT ", is not served by the cluster" \
	": it needs Kubernetes 1.37 with the feature gate GenericWorkload and "   \
	"--runtime-config of that version"

/* The directory of the logs of a local pod's containers (kubelet/output.h). */
#define NODE_LOGS_ANNOTATION "trainer.kubeflow.org/local-logs"
/* The process that runs a local job, while that is stopped (SIGSTOP, Ctrl-Z). */
#define STOPPED_ANNOTATION "trainer.kubeflow.org/local-stopped"

#endif
