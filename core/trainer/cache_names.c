/* cache_names.c - write the Service of a data cache (trainer/cache_names.h). */
#include "trainer/cache_names.h"

void cache_service_spec(cJSON *service)
{
	cJSON *port = cJSON_CreateObject();

	json_put_str(port, "TCP", "protocol");
	json_put_int(port, CACHE_PORT, "port");
	json_put_int(port, CACHE_PORT, "targetPort");
	cJSON_AddItemToArray(json_list(service, "spec", "ports"), port);
	/* A head that lacks a worker is not ready, but serves the others' rows. */
	json_put_bool(service, true, "spec", "publishNotReadyAddresses");
}
