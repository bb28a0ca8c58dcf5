/* devices.c - count devices of nodes and of claims (why/devices.h). */
#include "why/devices.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "why/foreign.h"

#define API "resource.k8s.io/v1"

struct count {
	struct view *v;
	struct kube *k;
	cJSON *pools;   /* {"DRIVER/POOL": "NODE"} */
	cJSON *drivers; /* {"CLASS": "DRIVER"} */
};

#define DEVICES "devices of "

static const char *resource_of(struct arena *a, const char *driver)
{
	return arena_printf(a, DEVICES "%s", driver);
}

/* 0, with err cleared: the object does not exist or may not be read. */
static int clear_if_absent(struct error *err)
{
	if (err->kind != ERR_NOT_FOUND && err->kind != ERR_DENIED)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

/* ---- devices of nodes ---- */

static int add_slice(void *ctx, cJSON *take_slice, struct error *err)
{
	struct count *c = ctx;
	struct arena *a = &c->v->arena;
	const char *driver = json_str(take_slice, "spec", "driver");
	const char *pool = json_str(take_slice, "spec", "pool", "name");
	const char *name = json_str(take_slice, "spec", "nodeName");
	cJSON *node = view_node(c->v, name);

	if (driver && pool && node) {
		json_put_str(c->pools, name, arena_printf(a, "%s/%s", driver, pool));
		node_add(node, resource_of(a, driver),
			 cJSON_GetArraySize(json_get(take_slice, "spec", "devices")),
			 false);
	}
	cJSON_Delete(take_slice);
	return 0;
}

static int add_claim(void *ctx, cJSON *take_claim, struct error *err)
{
	struct count *c = ctx;
	struct arena *a = &c->v->arena;
	const cJSON *r;

	json_each(r, json_get(take_claim, "status", "allocation", "devices", "results")) {
		const char *driver = json_str(r, "driver"), *pool = json_str(r, "pool");
		cJSON *node;

		if (!driver || !pool)
			continue;
		node = view_node(
			c->v, json_str(c->pools, arena_printf(a, "%s/%s", driver, pool)));
		if (node)
			node_add(node, resource_of(a, driver), 1, true);
	}
	cJSON_Delete(take_claim);
	return 0;
}

static void forget_slices(void *ctx)
{
	const struct count *c = ctx;

	nodes_forget(c->v->nodes, DEVICES, false);
}

static void forget_claims(void *ctx)
{
	const struct count *c = ctx;

	nodes_forget(c->v->nodes, DEVICES, true);
}

static int list(struct count *c, const char *kind, struct kube_sink sink,
		struct error *err)
{
	const struct kube_ref ref = { API, kind, NULL, NULL };
	const struct kube_select all = { 0 };

	sink.ctx = c;
	return kube_list(c->k, &ref, &all, &sink, NULL, err) ? clear_if_absent(err) : 0;
}

/* ---- devices that pods claim ---- */

const char *device_class_driver(struct arena *arena, const cJSON *class)
{
	const cJSON *selectors = json_get(class, "spec", "selectors");
	const char *cel = selectors && selectors->child && !selectors->child->next
				  ? json_str(selectors->child, "cel", "expression")
				  : NULL;
	const char *rest = cel ? str_after(str_trim(arena, cel), "device.driver") : NULL;
	size_t len;

	rest = rest ? str_after(str_trim(arena, rest), "==") : NULL;
	if (!rest)
		return NULL;
	rest = str_trim(arena, rest);
	len = strlen(rest);
	if (len < 3 || (*rest != '"' && *rest != '\'') || rest[len - 1] != *rest ||
	    strcspn(rest + 1, "\"'\\") != len - 2)
		return NULL;
	return str_slice(arena, rest + 1, len - 2);
}

static int driver_of(struct count *c, const char *class, const char **ret,
		     struct error *err)
{
	const struct kube_ref ref = { API, "DeviceClass", NULL, class };
	cleanup_json cJSON *obj = NULL;

	*ret = json_str(c->drivers, class);
	if (*ret)
		return 0;
	if (kube_get(c->k, &ref, &obj, err))
		return clear_if_absent(err);
	*ret = device_class_driver(&c->v->arena, obj);
	if (*ret)
		json_put_str(c->drivers, *ret, class);
	return 0;
}

/* spec: the ResourceClaimSpec of a claim or of a template. */
static int count_requests(struct count *c, cJSON *pod, const cJSON *spec,
			  struct error *err)
{
	const cJSON *r;
	const char *driver;

	json_each(r, json_get(spec, "devices", "requests")) {
		const char *class = json_str(r, "exactly", "deviceClassName");

		if (!class || str_eq(json_str(r, "exactly", "allocationMode"), "All"))
			continue;
		if (driver_of(c, class, &driver, err))
			return -1;
		if (driver)
			pod_add_devices(pod, resource_of(&c->v->arena, driver),
					json_int(r, 1, "exactly", "count"));
	}
	return 0;
}

static int count_claims(struct count *c, cJSON *pod, struct error *err)
{
	const cJSON *claim;

	json_each(claim, pod_device_claims(pod)) {
		const char *template = claim_template(claim);
		const struct kube_ref ref = { API, "ResourceClaimTemplate", c->v->ns,
					      template };
		cleanup_json cJSON *obj = NULL;

		if (!template)
			continue; /* a claim that all pods share */
		if (kube_get(c->k, &ref, &obj, err)) {
			if (clear_if_absent(err))
				return -1;
			continue;
		}
		if (count_requests(c, pod, json_get(obj, "spec", "spec"), err))
			return -1;
	}
	return 0;
}

int devices_load(struct view *v, struct kube *k, struct error *err)
{
	cleanup_json cJSON *pools = cJSON_CreateObject();
	cleanup_json cJSON *drivers = cJSON_CreateObject();
	const struct kube_sink slices = { .on_item = add_slice,
					  .on_restart = forget_slices };
	const struct kube_sink claims = { .on_item = add_claim,
					  .on_restart = forget_claims };
	struct count c = { v, k, pools, drivers };
	cJSON *pod;

	if (list(&c, "ResourceSlice", slices, err) ||
	    list(&c, "ResourceClaim", claims, err))
		return -1;
	for (pod = v->pods->child; pod; pod = pod->next)
		if (!pod_node(pod) && pod_device_claims(pod)) /* all pods claim alike */
			return count_claims(&c, pod, err);
	return 0;
}
