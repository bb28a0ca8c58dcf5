/*
 * rules.c - the CEL rules of schema.yaml as functions, by id (api/schema_node.h).
 *
 * Each is equivalent to its CEL text, for values with correct types; where CEL would stop
 * with an error (an absent field), the rule fails.
 */
#include <string.h>

#include "api/names.h"
#include "api/schema_node.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/map.h"
#include "base/str.h"

/*
 * Equal by CEL's == on the API server: unknown fields, nulls, and the order of lists that
 * are sets or maps are ignored.
 */
static bool is_equal(const struct node *node, const cJSON *a, const cJSON *b);

static bool immutable(const struct rule *rule, const struct node *node, const cJSON *self,
		      const cJSON *old)
{
	return is_equal(node, self, old);
}

static bool has(const cJSON *obj, const char *name)
{
	const cJSON *member = json_member(obj, name);

	return member && !cJSON_IsNull(member);
}

static bool same_presence(const struct rule *rule, const struct node *node,
			  const cJSON *self, const cJSON *old)
{
	return has(self, rule->field) == has(old, rule->field);
}

static bool at_least_one(const struct rule *rule, const struct node *node,
			 const cJSON *self, const cJSON *old)
{
	int64_t i;

	return json_int_of(self, &i) && i >= 1;
}

/* With generateName there is no name to check yet. */
static bool trainjob_name(const struct rule *rule, const struct node *node,
			  const cJSON *self, const cJSON *old)
{
	const char *name = json_str(self, "metadata", "name");

	return !name || name_is_dns1035(name);
}

static bool trainjob_name_length(const struct rule *rule, const struct node *node,
				 const cJSON *self, const cJSON *old)
{
	const char *name = json_str(self, "metadata", "name");

	return !name || strlen(name) <= 63;
}

/* '^[A-Za-z][A-Za-z0-9+.-]*://.+$', or empty; '.' is not a newline. */
static bool storage_uri(const struct rule *rule, const struct node *node,
			const cJSON *self, const cJSON *old)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *s = cJSON_GetStringValue(self), *rest;

	if (!s || !*s)
		return s != NULL;
	if (!strchr(letters, *s))
		return false;
	rest = s + strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789+.-");
	rest = str_after(rest, "://");
	return rest && *rest && !strchr(rest, '\n');
}

static bool managed_by(const struct rule *rule, const struct node *node,
		       const cJSON *self, const cJSON *old)
{
	static const char *const managers[] = {
		"trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue",
		NULL
	};
	const char *s = cJSON_GetStringValue(self);

	return s && str_in(s, managers);
}

static bool trainer_status_time(const struct rule *rule, const struct node *node,
				const cJSON *self, const cJSON *old)
{
	return has(self, "lastUpdatedTime");
}

static bool one_ml_policy(const struct rule *rule, const struct node *node,
			  const cJSON *self, const cJSON *old)
{
	const cJSON *member;
	int policies = 0;

	json_each(member, self)
		policies += cJSON_IsObject(member);
	return policies <= 1;
}

static bool one_claim_source(const struct rule *rule, const struct node *node,
			     const cJSON *self, const cJSON *old)
{
	return has(self, "resourceClaimName") != has(self, "resourceClaimTemplateName");
}

static bool env_injection_node(const struct rule *rule, const struct node *node,
			       const cJSON *self, const cJSON *old)
{
	const cJSON *name;

	json_each(name, self)
		if (str_eq(cJSON_GetStringValue(name), "node"))
			return false;
	return true;
}

static bool startup_or_depends(const struct rule *rule, const struct node *node,
			       const cJSON *self, const cJSON *old)
{
	const cJSON *job;

	if (!str_eq(json_str(self, "startupPolicy", "startupPolicyOrder"), "InOrder"))
		return true;
	if (!has(self, "replicatedJobs"))
		return false;
	json_each(job, json_get(self, "replicatedJobs"))
		if (has(job, "dependsOn"))
			return false;
	return true;
}

static bool claim_namespace(const struct rule *rule, const struct node *node,
			    const cJSON *self, const cJSON *old)
{
	const cJSON *claim, *namespace;

	if (!has(self, "templates"))
		return false;
	json_each(claim, json_get(self, "templates")) {
		namespace = json_get(claim, "metadata", "namespace");
		if (!has(claim, "metadata") || (namespace && *namespace->valuestring))
			return false;
	}
	return true;
}

static bool scheduling_or_group(const struct rule *rule, const struct node *node,
				const cJSON *self, const cJSON *old)
{
	return !(has(self, "scheduling") && has(self, "podGroupPolicy"));
}

static bool min_count_computed(const struct rule *rule, const struct node *node,
			       const cJSON *self, const cJSON *old)
{
	return !has(json_get(self, "gang"), "minCount");
}

const struct rule_check rule_checks[] = {
	{ "immutable", immutable },
	{ "same-presence", same_presence },
	{ "at-least-one", at_least_one },
	{ "trainjob-name", trainjob_name },
	{ "trainjob-name-length", trainjob_name_length },
	{ "storage-uri", storage_uri },
	{ "managed-by", managed_by },
	{ "trainer-status-time", trainer_status_time },
	{ "one-ml-policy", one_ml_policy },
	{ "one-claim-source", one_claim_source },
	{ "env-injection-node", env_injection_node },
	{ "startup-or-depends", startup_or_depends },
	{ "claim-namespace", claim_namespace },
	{ "scheduling-or-group", scheduling_or_group },
	{ "min-count-computed", min_count_computed },
	{ NULL, NULL },
};

const struct rule_check *rule_find(const char *id)
{
	const struct rule_check *c = rule_checks;

	while (c->id && !str_eq(c->id, id))
		c++;
	return c->id ? c : NULL;
}

/* Equal elements have the same text: of the keys (LIST_MAP), or of the element itself. */
static char *element_text(const struct node *list, const cJSON *element)
{
	return list->list == LIST_MAP ? node_keys_text(list, element)
				      : json_text(element);
}

/* Equal in any order. The common case, the same order, needs no search by text. */
static bool sets_equal(const struct node *list, const cJSON *a, const cJSON *b)
{
	cleanup_map struct map in_b = { 0 };
	const cJSON *x, *y = b->child;

	json_each(x, b) {
		cleanup_free char *text = element_text(list, x);

		if (text)
			map_put(&in_b, text, (void *)x);
	}
	json_each(x, a) {
		cleanup_free char *text = element_text(list, x);
		const cJSON *other = text ? map_get(&in_b, text) : NULL;

		if (!(other && is_equal(list->each, x, other)) &&
		    !(y && is_equal(list->each, x, y)))
			return false;
		y = y ? y->next : NULL;
	}
	return true;
}

static bool lists_equal(const struct node *node, const cJSON *a, const cJSON *b)
{
	const cJSON *x, *y;

	if (cJSON_GetArraySize(a) != cJSON_GetArraySize(b))
		return false;
	if (node->list != LIST_ATOMIC)
		return sets_equal(node, a, b);
	for (x = a->child, y = b->child; x && y; x = x->next, y = y->next)
		if (!is_equal(node->each, x, y))
			return false;
	return true;
}

static bool members_equal(const struct node *node, const cJSON *a, const cJSON *b)
{
	cleanup_json_index struct json_index in_b = { .of = b };
	const cJSON *member;

	for (size_t i = 0; i < node->n_props; i++) {
		const struct prop *p = &node->props[i];

		if (has(a, p->name) != has(b, p->name))
			return false;
		if (has(a, p->name) &&
		    !is_equal(p->node, json_member(a, p->name), json_member(b, p->name)))
			return false;
	}
	if (!node->each)
		return true;
	json_each(member, a)
		if (!json_equal(member, json_index_get(&in_b, member->string)))
			return false;
	return cJSON_GetArraySize(a) == cJSON_GetArraySize(b);
}

static bool is_equal(const struct node *node, const cJSON *a, const cJSON *b)
{
	if (cJSON_IsObject(a) && cJSON_IsObject(b))
		return members_equal(node, a, b);
	if (cJSON_IsArray(a) && cJSON_IsArray(b) && node->each)
		return lists_equal(node, a, b);
	return json_equal(a, b);
}
