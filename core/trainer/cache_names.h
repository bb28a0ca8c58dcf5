/*
 * cache_names.h - names and ports that initializers, pods and clients of a data cache
 * share. Follows upstream's pkg/initializers/dataset/cache.py.
 */
#ifndef TRAINER_CACHE_NAMES_H
#define TRAINER_CACHE_NAMES_H

#include "base/json.h"

#define CACHE_SUFFIX         "-cache"         /* of the TrainJob's name */
#define CACHE_SERVICE_SUFFIX "-cache-service" /* the Service of the head */

enum {
	CACHE_PORT = 50051,
	CACHE_HEALTH_PORT = 8080,
	CACHE_MIN_SIZE = 2, /* pods: the head and a worker */
	CACHE_MAX_SIZE = 1001,
};

/* Variables of the dataset initializer. */
#define CACHE_TABLE_ENV      "METADATA_LOC"
#define CACHE_SIZE_ENV       "CLUSTER_SIZE" /* pods, the head among them */
#define CACHE_WORKER_CPU_ENV "WORKER_CPU"
#define CACHE_WORKER_MEM_ENV "WORKER_MEM"
/* For pods of `cache-serve pod`: the workers, "HOST:PORT,..." */
#define CACHE_WORKERS_ENV "CACHE_WORKERS"

/* Sets the spec of the Service, but for its selector. */
static inline void cache_service_spec(cJSON *service)
{
	cJSON *port = cJSON_CreateObject();

	json_put_str(port, "TCP", "protocol");
	json_put_int(port, CACHE_PORT, "port");
	json_put_int(port, CACHE_PORT, "targetPort");
	cJSON_AddItemToArray(json_list(service, "spec", "ports"), port);
	/* A head that lacks a worker is not ready, but serves the others' rows. */
	json_put_bool(service, true, "spec", "publishNotReadyAddresses");
}

#endif
