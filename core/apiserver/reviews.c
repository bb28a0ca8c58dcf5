/* reviews.c - answers TokenReviews and access reviews (apiserver/exchange.h). */
#include "api/meta.h"
#include "apiserver/exchange.h"
#include "apiserver/pod_token.h"
#include "base/cleanup.h"
#include "base/str.h"

/* Wait for the pod of a token: another process may not have stored it yet. */
enum { POD_MS = 2000 };

#define EXTRA "authentication.kubernetes.io/"

/* ---- tokens of pods ---------------------------------------------------------------- */

static bool has_pod(struct apiserver *s, const struct pod_token *t)
{
	int64_t version = storage_version(s->storage), until = clock_ms() + POD_MS;
	struct error err = { 0 };

	for (;;) {
		cleanup_json cJSON *pod = apiserver_get(s, "v1", "Pod", t->ns, t->pod);
		cleanup_free char *key = NULL;

		if (pod && str_eq(meta_uid(pod), t->uid))
			return true;
		if (apiserver_next(s, "Pod", &version, until, &key, &err) <= 0 &&
		    error_clear_if(&err, ERR_EXPIRED))
			return false;
	}
}

static cJSON *one(const char *text)
{
	cJSON *list = cJSON_CreateArray();

	cJSON_AddItemToArray(list, cJSON_CreateString(text));
	return list;
}

static void put_account(struct exchange *x, cJSON *status, const struct pod_token *t)
{
	const char *const groups[] = {
		"system:serviceaccounts",
		arena_printf(&x->arena, "system:serviceaccounts:%s", t->ns),
		"system:authenticated",
	};

	json_put_bool(status, true, "authenticated");
	json_put_str(status,
		     arena_printf(&x->arena, "system:serviceaccount:%s:default", t->ns),
		     "user", "username");
	for (size_t i = 0; i < 3; i++)
		cJSON_AddItemToArray(json_list(status, "user", "groups"),
				     cJSON_CreateString(groups[i]));
	json_put(status, one(t->pod), "user", "extra", EXTRA "pod-name");
	json_put(status, one(t->uid), "user", "extra", EXTRA "pod-uid");
	json_put(status, one(t->audience), "audiences");
}

static bool is_asked_for(const cJSON *doc, const char *audience)
{
	const cJSON *a;

	json_each(a, json_get(doc, "spec", "audiences"))
		if (str_eq(cJSON_GetStringValue(a), audience))
			return true;
	return false;
}

static void review_token(struct exchange *x, cJSON *doc)
{
	const char *token = json_str(doc, "spec", "token");
	cJSON *status = json_obj(doc, "status");
	struct pod_token t = { 0 };

	if (token && x->server->conf.pod_key &&
	    pod_token_read(&t, x->server->conf.pod_key, token) &&
	    is_asked_for(doc, t.audience) && has_pod(x->server, &t))
		put_account(x, status, &t);
	else
		json_put_str(status, "invalid bearer token", "error");
	if (!json_get(status, "user"))
		json_obj(status, "user");
	cJSON_Delete(t.claims);
}

/* ---- access reviews: every caller has all rights ----------------------------------- */

static void review_access(struct exchange *x, cJSON *doc)
{
	json_put_bool(doc, true, "status", "allowed");
}

static void review_self(struct exchange *x, cJSON *doc)
{
	json_put_str(doc, "kftrainer", "status", "userInfo", "username");
	json_put(doc, one("system:masters"), "status", "userInfo", "groups");
}

/* A rule for all resources, or for all paths. */
static cJSON *all_rules(const char *const *names)
{
	cJSON *list = cJSON_CreateArray(), *rule = cJSON_CreateObject();

	for (; *names; names++)
		json_put(rule, one("*"), *names);
	cJSON_AddItemToArray(list, rule);
	return list;
}

static void review_rules(struct exchange *x, cJSON *doc)
{
	json_put(doc, all_rules(JSON_PATH("verbs", "apiGroups", "resources")), "status",
		 "resourceRules");
	json_put(doc, all_rules(JSON_PATH("verbs", "nonResourceURLs")), "status",
		 "nonResourceRules");
	json_put_bool(doc, false, "status", "incomplete");
	json_put(doc, cJSON_CreateObject(),
		 "spec"); /* an API server returns an empty spec */
}

static const struct review {
	const char *group, *plural, *kind;
	void (*answer)(struct exchange *x, cJSON *doc);
	const struct proto_field *proto;
} reviews[] = {
	{ "authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview",
	  review_access, proto_access_review },
	{ "authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview",
	  review_rules, proto_rules_review },
	{ "authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", review_self,
	  proto_self_review },
	{ "authentication.k8s.io", "tokenreviews", "TokenReview", review_token,
	  proto_token_review },
};

static void answer_review(struct exchange *x, const struct review *r, cJSON *take_doc)
{
	cJSON *doc = take_doc;

	json_del(doc, JSON_PATH("status")); /* the request's is ignored */
	json_put_str(doc, r->kind, "kind");
	json_put_str(doc, arena_printf(&x->arena, "%s/v1", r->group), "apiVersion");
	json_obj(doc, "metadata");
	r->answer(x, doc);
	exchange_answer(x, 201, doc);
}

void review_create(struct exchange *x)
{
	for (size_t i = 0; i < N_ELEMENTS(reviews); i++) {
		const struct review *r = &reviews[i];

		if (!str_eq(x->path[1], r->group) || !str_eq(x->path[2], "v1") ||
		    !str_eq(x->path[3], r->plural))
			continue;
		if (body_object(x, r->kind, r->proto))
			return;
		if (!cJSON_IsObject(x->body))
			exchange_refuse(x, 400, "BadRequest", "%s: not an object",
					r->kind);
		else
			answer_review(x, r, STEAL(x->body));
		return;
	}
	exchange_no_such_resource(x);
}
