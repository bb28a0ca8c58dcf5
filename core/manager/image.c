/* image.c - read this pod's image from the API server (manager/image.h). */
#include "manager/image.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "trainer/podspec.h"

#define CONTAINER "manager" /* as in upstream's Deployment */

enum { TRIES = 3, PAUSE_MS = 300 };

static int read_pod(struct kube *kube, const char *ns, cJSON **ret, struct error *err)
{
	char host[256] = "";
	const struct kube_ref ref = { "v1", "Pod", ns, host };

	if (gethostname(host, sizeof(host) - 1))
		return error_errno(err, errno, "gethostname");
	for (int left = TRIES; kube_get(kube, &ref, ret, err);
	     *err = (struct error){ 0 }) {
		if (err->kind == ERR_NOT_FOUND || err->kind == ERR_DENIED || !--left)
			return -1;
		clock_sleep_ms(PAUSE_MS);
	}
	return 0;
}

const char *image_of_this_pod(struct arena *arena, struct kube *kube, const char *ns)
{
	cleanup_json cJSON *pod = NULL;
	struct error err = { 0 };
	const cJSON *list, *c;

	if (read_pod(kube, ns, &pod, &err)) {
		log_warn("cannot determine this pod's image; set --image", LOG_ERR(&err));
		return NULL;
	}
	list = pod_containers_const(json_get(pod, "spec"));
	c = json_find_const(list, "name", CONTAINER);
	return arena_strdup(arena, container_image(c ? c : list ? list->child : NULL));
}
