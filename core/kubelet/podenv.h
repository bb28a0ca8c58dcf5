/*
 * podenv.h - the environment and the command line of a container.
 *
 * Follows k8s.io/kubernetes pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables),
 * pkg/fieldpath, pkg/api/v1/resource and third_party/forked/golang/expansion:
 * envFrom first, then env, later over earlier; $(NAME) is replaced by the value defined
 * before it, $$ is $, an undefined reference remains unchanged. Local differences: the
 * result is added to the caller's own environment, but for the variables that give the
 * caller's place in a job (RANK, MASTER_ADDR and others); unless set, PYTHONUNBUFFERED is 1,
 * OMP_NUM_THREADS of torch's pods the job's share of the cores and, if the output is shown
 * on a terminal, COLUMNS, LINES and FORCE_COLOR are set; if there is a proxy, no_proxy has
 * all names and addresses of the job; JAX's processes find each other (trainer/jax.h), the
 * rendezvous port is the job's (ports.h), and, without namespaces, addresses replace pod
 * names.
 */
#ifndef KUBELET_PODENV_H
#define KUBELET_PODENV_H

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"

struct podenv_host {
	const char *const *environ; /* the caller's */
	const cJSON *objects;       /* ConfigMaps and Secrets, an array */
	const char *node_name;
	int64_t cpus;            /* the node's capacity, for resourceFieldRef */
	int64_t memory;          /* bytes */
	int columns, rows;       /* of the terminal that shows the output; 0: none does */
	int port_from, port_to;  /* 0: nothing to replace */
	const struct map *peers; /* DNS name -> its port in TF_CONFIG, as text; or NULL */
	const struct map *names; /* pod name -> address to replace it by; or NULL */
	const struct map *peer_names; /* DNS name of a pod -> its address; or NULL */
};

struct podenv_pod {
	const cJSON *pod, *container;
	const char *ip, *hostname;
	const char *volumes; /* the directory with the pod's volumes, for fileKeyRef */
	const char *gpus;    /* the value of CUDA_VISIBLE_DEVICES; NULL: unchanged */
};

struct podenv {
	const char *const *envp; /* ends with NULL, as argv */
	const char *const *argv; /* empty when the container has no command and no args */
};

/* The value of a variable; NULL: not set. */
const char *podenv_value(const struct podenv *env, const char *name);

/* Set a variable, or put `dir` before the other directories of it (PYTHONPATH). */
void podenv_set(struct arena *arena, struct podenv *env, const char *name,
		const char *value);
void podenv_prepend(struct arena *arena, struct podenv *env, const char *name,
		    const char *dir);

/*
 * ERR_NOT_FOUND or ERR_INVALID with the reason, as kubelet's
 * CreateContainerConfigError: a ConfigMap, Secret or key that is missing and not
 * optional, an unknown field path; ERR_FORMAT for a key of a Secret that is not base64.
 */
MUST_CHECK int podenv_build(struct arena *arena, const struct podenv_host *host,
			    const struct podenv_pod *pod, struct podenv *ret,
			    struct error *err);

/* The value of a fieldRef; "" for a missing label or annotation. */
MUST_CHECK int podenv_field(struct arena *arena, const struct podenv_host *host,
			    const struct podenv_pod *pod, const char *field_path,
			    const char **ret, struct error *err);

/* The value of a resourceFieldRef of a container. */
MUST_CHECK int podenv_resource(struct arena *arena, const struct podenv_host *host,
			       const cJSON *container, const cJSON *ref, const char **ret,
			       struct error *err);

/* `text` with $(NAME) and $$ replaced; vars: name -> char *. */
const char *podenv_expand(struct arena *arena, const char *text, const struct map *vars);

/*
 * `text` with every word that is a key of `names` and contains a '.' replaced by its
 * value. Words are separated by characters that no host name has.
 */
const char *podenv_names(struct arena *arena, const char *text, const struct map *names);

/* `text` with the port of every "NAME:PORT" replaced by peers[NAME], where set. */
const char *podenv_peers(struct arena *arena, const char *text, const struct map *peers);

/* The object of that kind and name in the pod's namespace, or NULL. */
const cJSON *podenv_object(const struct podenv_host *host, const cJSON *pod,
			   const char *kind, const char *name);

/*
 * The bytes under a key of a ConfigMap (data, binaryData) or Secret (stringData,
 * data). false: no such key, or not base64.
 */
bool podenv_data(const cJSON *object, const char *key, struct buf *out);

#endif
