/*
 * peers.h - variables by which TensorFlow and Paddle find their peers.
 *
 * Training Operator V1 wrote them into each pod; here the pods of an indexed Job share a
 * template, and the kubelet expands the index, $(KFT_TASK_INDEX), which must be defined
 * before it is used. Follows kubeflow/training-operator pkg/controller.v1/tensorflow and
 * paddlepaddle.
 */
#ifndef TRAINER_PEERS_H
#define TRAINER_PEERS_H

#include "base/arena.h"
#include "base/json.h"

#define FRAMEWORK_TENSORFLOW "tensorflow" /* LABEL_FRAMEWORK of a runtime */
#define FRAMEWORK_PADDLE     "paddle"
#define TASK_INDEX           "KFT_TASK_INDEX"
#define TF_CONFIG            "TF_CONFIG"
#define PADDLE_MASTER        "PADDLE_MASTER"
/* On a runtime, "true": workers are dynamic, so each knows only itself and the ps. */
#define TF_DYNAMIC_ANNOTATION "kftrainer.io/tensorflow-dynamic-worker"

enum { TF_PORT = 2222, PADDLE_PORT = 36543, MAX_PEER_GROUPS = 5 };

/* The pods of one replicatedJob. */
struct peer_group {
	const char *task; /* "worker" */
	const char *rjob;
	int64_t n;
	int port;
};

struct peers {
	const char *job, *subdomain; /* the TrainJob's */
	struct peer_group groups[MAX_PEER_GROUPS];
	size_t n;
	bool sparse; /* TensorFlow with TF_DYNAMIC_ANNOTATION */
};

/* The task of a replicatedJob: "worker" for "node"; NULL: not one of TensorFlow's. */
const char *peers_tf_task(const char *rjob);

/*
 * Set the variables in a container of the group `own`. ERR_LIMIT: too many peers for a
 * variable.
 */
MUST_CHECK int peers_tf_env(cJSON *container, const struct peers *peers,
			    const struct peer_group *own, struct error *err);
void peers_paddle_env(struct arena *arena, cJSON *container, const struct peers *peers,
		      const struct peer_group *own);

/* The number of the container port of that name, or `otherwise`. */
int peers_port(const cJSON *container, const char *name, int otherwise);

#endif
