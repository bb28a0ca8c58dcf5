/* Who may do what: whoever gets here has every right (exchange.h). */
#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/str.h"

static const struct review {
	const char *group, *plural, *kind;
} reviews[] = {
	{ "authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview" },
	{ "authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview" },
};

static void answer_review(struct exchange *x, const struct review *r, cJSON *doc)
{
	json_put_str(doc, r->kind, "kind");
	json_put_str(doc, arena_printf(&x->arena, "%s/v1", r->group), "apiVersion");
	json_obj(doc, "metadata");
	if (str_eq(r->kind, "SelfSubjectReview")) {
		json_put_str(doc, "kftrainer", "status", "userInfo", "username");
		cJSON_AddItemToArray(json_list(doc, "status", "userInfo", "groups"),
				     cJSON_CreateString("system:masters"));
	} else {
		json_put_bool(doc, true, "status", "allowed");
	}
	exchange_answer(x, 201, doc);
}

void review_create(struct exchange *x)
{
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(reviews) / sizeof(*reviews); i++) {
		const struct review *r = &reviews[i];

		if (!str_eq(x->path[1], r->group) || !str_eq(x->path[2], "v1") ||
		    !str_eq(x->path[3], r->plural))
			continue;
		if (exchange_header_has(x, "Content-Type", "protobuf"))
			exchange_refuse(
				x, 415, "UnsupportedMediaType",
				"the body of the request was in an unknown format - "
				"accepted media types include: application/json");
		else if (json_parse(&x->body, x->http->body, x->http->body_len, &err) ||
			 !cJSON_IsObject(x->body))
			exchange_refuse(x, 400, "BadRequest", "%s: %s", r->kind,
					*err.msg ? err.msg : "not an object");
		else
			answer_review(x, r, x->body);
		return;
	}
	exchange_no_such_resource(x);
}
