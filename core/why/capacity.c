/* capacity.c - count how many pods of a kind fit on nodes (why/capacity.h). */
#include "why/capacity.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/str.h"
#include "trainer/requests.h"
#include "why/foreign.h"

enum { MAX_LIMITS = 8, MANY = 1000000, ONE = 1000000000 /* nano */ };

/* Distinct names, in the order in which they were added. */
struct names {
	const char *list[MAX_LIMITS + 1];
	size_t n;
};

static void add(struct names *names, const char *name)
{
	if (name && names->n < MAX_LIMITS && !str_in(name, names->list))
		names->list[names->n++] = name;
}

static const char *join(struct arena *arena, const struct names *names)
{
	const char *ret = "";

	for (size_t i = 0; i < names->n; i++)
		ret = arena_printf(arena, "%s%s%s", ret, i ? ", " : "", names->list[i]);
	return ret;
}

/* Lower *ret to the pods that the resource allows; a node that lacks it allows none. */
static void cut(int64_t *ret, const char **ret_limit, const cJSON *node, const char *name,
		__int128 asked, bool empty)
{
	struct quantity all = { 0 }, used = { 0 };
	__int128 left;

	if (asked <= 0)
		return;
	if (!node_has(node, name, &all, &used))
		all = used = (struct quantity){ 0 };
	left = all.nano - (empty ? 0 : used.nano);
	left = left > 0 ? left / asked : 0;
	if (left >= *ret)
		return;
	*ret = (int64_t)left;
	*ret_limit = name;
}

static int64_t times(const cJSON *node, const cJSON *pod, const struct resource_list *one,
		     bool empty, const char **ret_limit)
{
	struct quantity all, used, n;
	int64_t ret = MANY;
	const cJSON *d;

	*ret_limit = NULL;
	for (size_t i = 0; i < one->n; i++)
		cut(&ret, ret_limit, node, one->list[i].name, one->list[i].amount.nano,
		    empty);
	json_each(d, pod_devices(pod))
		if (!quantity_of(&n, d, IGNORED))
			cut(&ret, ret_limit, node, d->string, n.nano, empty);
	if (node_has(node, "pods", &all, &used))
		cut(&ret, ret_limit, node, "pods", ONE, empty);
	return ret;
}

/* Why no more pods fit: resources (now, and on empty nodes), refusals, unusable nodes. */
struct tally {
	struct names now, empty, taints, refused, shut;
};

static void count(struct capacity *capacity, struct tally *t, const cJSON *node,
		  const cJSON *pod, const struct resource_list *one)
{
	const char *limit, *refusal = node_rejection(node, pod);

	if (!node_is_ready(node) || node_is_closed(node)) {
		add(&t->shut,
		    node_is_ready(node) ? "cordoned nodes" : "nodes that are not ready");
		return;
	}
	if (refusal) {
		add(str_eq(refusal, NODE_TAINTS) ? &t->taints : &t->refused, refusal);
		return;
	}
	capacity->eligible = true;
	capacity->now += times(node, pod, one, false, &limit);
	add(&t->now, limit);
	capacity->empty += times(node, pod, one, true, &limit);
	add(&t->empty, limit);
}

/* The limits of the nodes that come nearest to running such a pod. */
static const char *first_of(struct arena *arena, const struct names *resources,
			    const struct tally *t)
{
	const struct names *const lists[] = { resources, &t->taints, &t->refused,
					      &t->shut };

	for (size_t i = 0; i < N_ELEMENTS(lists); i++)
		if (lists[i]->n)
			return join(arena, lists[i]);
	return "no nodes";
}

/* Nodes among which a gang must stay: those with one value of a label, or all. */
struct domain {
	struct capacity capacity;
	struct tally tally;
};

static struct domain *domain_of(struct map *domains, struct arena *arena, const char *key,
				const cJSON *node)
{
	const char *value = key ? meta_label(node, key) : "";
	struct domain *ret = value ? map_get(domains, value) : NULL;

	if (ret || !value)
		return ret;
	ret = arena_alloc(arena, sizeof(*ret));
	*ret = (struct domain){ 0 };
	map_put(domains, value, ret);
	return ret;
}

static const char *limit_of(struct arena *arena, const struct names *resources,
			    const struct tally *t, const char *key)
{
	const char *limit = first_of(arena, resources, t);

	return key ? arena_printf(arena, "%s, within one %s", limit, key) : limit;
}

/* The domains with the most room. */
static void choose(struct capacity *ret, struct arena *arena, const struct map *domains,
		   const char *key)
{
	const struct domain none = { 0 }, *now = &none, *empty = &none;

	map_each(e, domains) {
		const struct domain *d = e->value;

		ret->eligible |= d->capacity.eligible;
		if (now == &none || d->capacity.now > now->capacity.now)
			now = d;
		if (empty == &none || d->capacity.empty > empty->capacity.empty)
			empty = d;
	}
	ret->now = now->capacity.now;
	ret->empty = empty->capacity.empty;
	ret->limit = limit_of(arena, &now->tally.now, &now->tally, key);
	ret->empty_limit = limit_of(arena, &empty->tally.empty, &empty->tally, key);
}

bool capacity_of(struct capacity *ret, struct arena *arena, const struct view *v,
		 const cJSON *pod)
{
	cleanup_resource_list struct resource_list one = { 0 };
	const char *key = foreign_group_topology(v->podgroup);
	cleanup_map struct map domains = { 0 };
	const cJSON *node;

	*ret = (struct capacity){ 0 };
	if (!v->nodes->child || !view_knows_requests(v) ||
	    pod_requests_add(&one, pod_spec_of(pod), 1, IGNORED))
		return false;
	json_each(node, v->nodes) {
		struct domain *d = domain_of(&domains, arena, key, node);

		if (d)
			count(&d->capacity, &d->tally, node, pod, &one);
	}
	choose(ret, arena, &domains, key);
	return true;
}
