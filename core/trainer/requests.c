/* requests.c - add up the resource requests of pods (trainer/requests.h). */
#include "trainer/requests.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/podspec.h"

static struct resource *find(const struct resource_list *list, const char *name)
{
	uintptr_t place = (uintptr_t)map_get(&list->places, name);

	return place ? &list->list[place - 1] : NULL;
}

static struct resource *append(struct resource_list *to, const char *name)
{
	if (to->n == to->cap) {
		to->cap = to->cap ? 2 * to->cap : 8;
		to->list = xreallocarray(to->list, to->cap, sizeof(*to->list));
	}
	to->list[to->n++] = (struct resource){ .name = name };
	map_put(&to->places, name, (void *)(uintptr_t)to->n);
	return &to->list[to->n - 1];
}

static void clear(struct resource_list *list)
{
	list->n = 0;
	map_release(&list->places, NULL);
}

static void add(struct resource_list *to, const struct resource_list *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct resource *r = &from->list[i];
		struct resource *found = find(to, r->name);

		if (found)
			quantity_add(&found->amount, &r->amount);
		else
			append(to, r->name)->amount = r->amount;
	}
}

static void max(struct resource_list *to, const struct resource_list *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct resource *r = &from->list[i];
		struct resource *found = find(to, r->name);

		if (!found)
			append(to, r->name)->amount = r->amount;
		else if (quantity_cmp(&r->amount, &found->amount) > 0)
			found->amount = r->amount;
	}
}

/* Adds the quantities of an object that `to` does not have yet. */
static int add_missing(struct resource_list *to, const cJSON *quantities,
		       struct error *err)
{
	const cJSON *node;
	struct quantity q;

	json_each(node, quantities) {
		if (cJSON_IsNull(node) || find(to, node->string))
			continue;
		if (quantity_of(&q, node, err))
			return error_wrap(err, "%s", node->string);
		append(to, node->string)->amount = q;
	}
	return 0;
}

static int requests_of(struct resource_list *ret, const cJSON *resources,
		       struct error *err)
{
	clear(ret);
	if (add_missing(ret, json_get(resources, "requests"), err) ||
	    add_missing(ret, json_get(resources, "limits"), err))
		return -1;
	return 0;
}

/* Init containers run one after another, together with sidecars started before. */
static int add_init_containers(struct resource_list *sum, const cJSON *pod_spec,
			       struct error *err)
{
	cleanup_resource_list struct resource_list own = { 0 }, sidecars = { 0 },
						   most = { 0 };
	const cJSON *c;

	json_each(c, pod_init_containers_const(pod_spec)) {
		if (requests_of(&own, container_resources(c), err))
			return error_wrap(err, "init container %s",
					  podspec_element_name(c));
		if (str_eq(json_str(c, "restartPolicy"), "Always")) { /* a sidecar */
			add(sum, &own);
			add(&sidecars, &own);
			max(&most, &sidecars);
		} else {
			add(&own, &sidecars);
			max(&most, &own);
		}
	}
	max(sum, &most);
	return 0;
}

static bool is_pod_level(const char *name)
{
	return str_eq(name, "cpu") || str_eq(name, "memory") ||
	       str_starts(name, "hugepages-");
}

/*
 * A pod-level request replaces those of the containers; a
 * pod-level limit counts if they have no requests.
 */
static int add_pod_level(struct resource_list *sum, const cJSON *resources,
			 struct error *err)
{
	cleanup_resource_list struct resource_list own = { 0 };
	size_t n_requests;

	if (add_missing(&own, json_get(resources, "requests"), err))
		return -1;
	n_requests = own.n;
	if (add_missing(&own, json_get(resources, "limits"), err))
		return -1;
	for (size_t i = 0; i < own.n; i++) {
		struct resource *found = find(sum, own.list[i].name);

		if (!is_pod_level(own.list[i].name) || (found && i >= n_requests))
			continue;
		if (!found)
			found = append(sum, own.list[i].name);
		found->amount = own.list[i].amount;
	}
	return 0;
}

static int pod_requests(struct resource_list *sum, const cJSON *pod_spec,
			struct error *err)
{
	cleanup_resource_list struct resource_list own = { 0 };
	const cJSON *c;

	json_each(c, pod_containers_const(pod_spec)) {
		if (requests_of(&own, container_resources(c), err))
			return error_wrap(err, "container %s", podspec_element_name(c));
		add(sum, &own);
	}
	if (add_init_containers(sum, pod_spec, err) ||
	    add_pod_level(sum, json_get(pod_spec, "resources"), err))
		return -1;
	clear(&own);
	if (add_missing(&own, json_get(pod_spec, "overhead"), err))
		return error_wrap(err, "overhead");
	add(sum, &own);
	return 0;
}

int pod_requests_add(struct resource_list *to, const cJSON *pod_spec, int64_t factor,
		     struct error *err)
{
	cleanup_resource_list struct resource_list one = { 0 };

	if (pod_requests(&one, pod_spec, err))
		return -1;
	for (size_t i = 0; i < one.n; i++)
		quantity_mul(&one.list[i].amount, factor);
	add(to, &one);
	return 0;
}

cJSON *resource_list_json(const struct resource_list *list)
{
	cJSON *ret = cJSON_CreateObject();
	char text[QUANTITY_TEXT_SIZE];

	for (size_t i = 0; i < list->n; i++)
		cJSON_AddStringToObject(ret, list->list[i].name,
					quantity_text(&list->list[i].amount, text));
	return ret;
}

void resource_list_release(struct resource_list *list)
{
	free(list->list);
	map_release(&list->places, NULL);
	*list = (struct resource_list){ 0 };
}

/*
 * The rank of a name, lower is better; -1: not a GPU. Parts of a shared GPU come last:
 * nvidia.com/gpumem, volcano.sh/vgpu-cores, gpu.intel.com/memory.max.
 */
static int gpu_rank(const char *name)
{
	static const char *const parts[] = { "mem", "core", "tile", "percent",
					     "monitoring" };
	const char *slash = strrchr(name, '/');

	if (slash && !strcasecmp(slash + 1, "gpu"))
		return 0;
	if (!strcasestr(name, "gpu"))
		return -1;
	for (size_t i = 0; i < N_ELEMENTS(parts); i++)
		if (strcasestr(name, parts[i]))
			return 2;
	return 1;
}

static const cJSON *better_gpu(const cJSON *a, const cJSON *b)
{
	int ra, rb;

	if (!a)
		return b;
	ra = gpu_rank(a->string);
	rb = gpu_rank(b->string);
	if (ra != rb)
		return ra < rb ? a : b;
	return strcmp(a->string, b->string) <= 0 ? a : b;
}

static int64_t whole(const cJSON *node)
{
	struct error err = { 0 };
	struct quantity q;

	return !node || quantity_of(&q, node, &err) ? 0 : quantity_ceil(&q);
}

static int64_t gpus(const cJSON *quantities)
{
	const cJSON *node, *best = NULL;

	json_each(node, quantities) {
		if (node->string && gpu_rank(node->string) >= 0 && whole(node) > 0)
			best = better_gpu(best, node);
	}
	return whole(best);
}

int64_t resources_gpus(const cJSON *resources)
{
	int64_t n = gpus(json_get(resources, "requests"));

	return n > 0 ? n : gpus(json_get(resources, "limits"));
}

int64_t resources_cpus(const cJSON *resources)
{
	int64_t n = whole(json_get(resources, "requests", "cpu"));

	return n ? n : whole(json_get(resources, "limits", "cpu"));
}

bool resources_claim(const cJSON *resources)
{
	const cJSON *claims = json_get(resources, "claims");

	return claims && claims->child;
}

static int merge_quantities(cJSON *container, const char *key, const cJSON *from,
			    struct error *err)
{
	cleanup_json_index struct json_index there = { 0 };
	char text[QUANTITY_TEXT_SIZE];
	struct quantity q;
	const cJSON *node;

	json_each(node, from) {
		if (cJSON_IsNull(node))
			continue;
		if (quantity_of(&q, node, err))
			return error_wrap(err, "%s.%s", key, node->string);
		if (!there.of)
			there.of = json_obj(container, "resources", key);
		json_index_put(&there,
			       cJSON_CreateString(quantity_client_text(&q, node, text)),
			       node->string);
	}
	return 0;
}

int resources_merge(cJSON *container, const cJSON *from, struct error *err)
{
	cleanup_json_index struct json_index there = { .key = "name" };
	const cJSON *claim;

	if (merge_quantities(container, "limits", json_get(from, "limits"), err) ||
	    merge_quantities(container, "requests", json_get(from, "requests"), err))
		return -1;
	json_each(claim, json_get(from, "claims")) {
		if (!there.of)
			there.of = json_list(container, "resources", "claims");
		json_index_upsert(&there, json_dup(claim));
	}
	return 0;
}
