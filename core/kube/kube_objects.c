/*
 * kube_objects.c - get, create, update, patch and delete of one object; other calls.
 */
#include <string.h>

#include "api/meta.h"
#include "api/strip.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kube/kube_impl.h"

static int answer(struct http_response *resp, const char *what, cJSON **ret,
		  struct error *err)
{
	size_t len = resp->body.len;

	if (!ret)
		return 0;
	if (resp->doc) {
		*ret = STEAL(resp->doc);
		meta_drop_managed_fields(*ret);
		return 0;
	}
	len = strip_managed_fields((char *)resp->body.data, len, 2);
	if (json_parse(ret, resp->body.data, len, err))
		return error_wrap(err, "%s: invalid response", what);
	return 0;
}

int kube_get(struct kube *k, const struct kube_ref *ref, cJSON **ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_http_response struct http_response resp = { 0 };
	struct kube_request req = { .method = "GET", .retry = KUBE_RETRY_ALWAYS };

	if (kube_path(&arena, k, ref, &req.path, err))
		return -1;
	req.what = kube_what(&arena, k, "get", ref);
	if (kube_send(k, &req, &resp, err))
		return -1;
	kube_clean(ref, (char *)resp.body.data, resp.body.len);
	return answer(&resp, req.what, ret, err);
}

int kube_find(struct kube *k, const struct kube_ref *ref, cJSON **ret, struct error *err)
{
	*ret = NULL;
	return kube_get(k, ref, ret, err) ? error_clear_if(err, ERR_NOT_FOUND) : 0;
}

static void keep_warnings(const struct http_response *resp, cJSON **ret)
{
	if (!ret)
		return;
	*ret = cJSON_CreateArray();
	for (char **w = resp->warnings; w && *w; w++)
		cJSON_AddItemToArray(*ret, cJSON_CreateString(*w));
}

/* path?fieldManager=...&force=true */
static int write_path(struct arena *arena, const char *path, const struct kube_write *how,
		      const char **ret, struct error *err)
{
	cleanup_buf struct buf out = { .max = 8000 };

	buf_adds(&out, path);
	if (how->subresource)
		buf_printf(&out, "/%s", how->subresource);
	kube_add_query(&out, "fieldManager", how->manager);
	kube_add_query(&out, "force", how->force ? "true" : NULL);
	kube_add_query(&out, "dryRun", how->dry_run ? "All" : NULL);
	kube_add_query(&out, "fieldValidation", how->strict ? "Strict" : NULL);
	if (buf_check(&out, "path", err))
		return -1;
	*ret = arena_strdup(arena, (char *)out.data);
	return 0;
}

const struct kube_write kube_plain;

/* A verb that writes. */
struct verb {
	const char *verb, *method, *content_type;
	bool named;
	enum kube_retry retry;
};
static const struct verb create = { "create", "POST", NULL, false, KUBE_RETRY_NEVER };
static const struct verb update = { "update", "PUT", NULL, true, KUBE_RETRY_BY_METHOD };
static const struct verb apply = { "apply", "PATCH", "application/apply-patch+yaml", true,
				   KUBE_RETRY_ALWAYS };
static const struct verb merge = { "patch", "PATCH", "application/merge-patch+json", true,
				   KUBE_RETRY_ALWAYS };
static const struct verb steps = { "patch", "PATCH", "application/json-patch+json", true,
				   KUBE_RETRY_ALWAYS };

/* The arguments of one write. */
struct write_request {
	const struct verb *verb;
	const struct kube_ref *ref;
	const cJSON *body;
	const struct kube_write *how;
};

/* Owned by the caller; NULL: the server takes the document itself. */
static char *text_for(const struct kube *k, const cJSON *doc)
{
	return k->opts.inside.documents ? NULL : json_text(doc);
}

static int write_object(struct kube *k, const struct write_request *w, cJSON **ret,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_free char *body = text_for(k, w->body);
	const struct verb *m = w->verb;
	struct kube_ref at = *w->ref;
	struct kube_request req = {
		.method = m->method,
		.content_type = m->content_type,
		.body = body,
		.doc = w->body,
		.accept = w->how->meta_only ? AS_METADATA : NULL,
		.retry = w->how->exists_ok ? KUBE_RETRY_ALWAYS : m->retry,
		.ret_refusal = w->how->ret_refusal,
	};

	if (m == &create && w->how->dry_run && !w->how->exists_ok)
		req.retry = KUBE_RETRY_BY_METHOD;
	if (m->named && !at.name)
		return error_set(err, ERR_INVALID, "%s: the object has no name", m->verb);
	if (!at.ns)
		at.ns = k->config.ns;
	if (!m->named)
		at.name = NULL;
	if (kube_path(&arena, k, &at, &req.path, err) ||
	    write_path(&arena, req.path, w->how, &req.path, err))
		return -1;
	at.name = w->ref->name;
	req.what = kube_what(&arena, k, m->verb, &at);
	if (kube_send(k, &req, &resp, err))
		return -1;
	if (answer(&resp, req.what, ret, err))
		return -1;
	keep_warnings(&resp, w->how->ret_warnings);
	return 0;
}

int kube_create(struct kube *k, const cJSON *obj, const struct kube_write *how,
		cJSON **ret, struct error *err)
{
	struct kube_ref ref = kube_ref_of(obj);

	return write_object(k, &(struct write_request){ &create, &ref, obj, how }, ret,
			    err);
}

int kube_update(struct kube *k, const cJSON *obj, const struct kube_write *how,
		cJSON **ret, struct error *err)
{
	struct kube_ref ref = kube_ref_of(obj);

	return write_object(k, &(struct write_request){ &update, &ref, obj, how }, ret,
			    err);
}

int kube_apply(struct kube *k, const cJSON *obj, const struct kube_write *how,
	       cJSON **ret, struct error *err)
{
	struct kube_ref ref = kube_ref_of(obj);

	if (!how->manager)
		return error_set(err, ERR_INVALID, "apply: no field manager");
	return write_object(k, &(struct write_request){ &apply, &ref, obj, how }, ret,
			    err);
}

int kube_merge_patch(struct kube *k, const struct kube_ref *ref, const cJSON *patch,
		     const struct kube_write *how, cJSON **ret, struct error *err)
{
	const struct verb *verb = cJSON_IsArray(patch) ? &steps : &merge;

	return write_object(k, &(struct write_request){ verb, ref, patch, how }, ret,
			    err);
}

static cJSON *delete_options(const char *propagation, const char *uid)
{
	cJSON *options = cJSON_CreateObject();

	json_put_str(options, "v1", "apiVersion");
	json_put_str(options, "DeleteOptions", "kind");
	if (propagation)
		json_put_str(options, propagation, "propagationPolicy");
	if (uid)
		json_put_str(options, uid, "preconditions", "uid");
	return options;
}

static int delete_with(struct kube *k, const struct kube_ref *ref, const cJSON *options,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_http_response struct http_response resp = { 0 };
	struct kube_request req = { .method = "DELETE", .retry = KUBE_RETRY_ALWAYS };
	cleanup_free char *body = NULL;

	if (!ref->name)
		return error_set(err, ERR_INVALID, "delete: the object has no name");
	req.body = body = json_text(options);
	if (kube_path(&arena, k, ref, &req.path, err))
		return -1;
	req.what = kube_what(&arena, k, "delete", ref);
	return kube_send(k, &req, &resp, err);
}

int kube_delete(struct kube *k, const struct kube_ref *ref, const char *propagation,
		const char *uid, struct error *err)
{
	cleanup_json cJSON *options = delete_options(propagation, uid);

	return delete_with(k, ref, options, err);
}

int kube_delete_read(struct kube *k, const cJSON *obj, const char *propagation,
		     struct error *err)
{
	const struct kube_ref ref = kube_ref_of(obj);
	cleanup_json cJSON *options = delete_options(propagation, meta_uid(obj));

	json_put_str(options, meta_version(obj), "preconditions", "resourceVersion");
	return delete_with(k, &ref, options, err);
}

int kube_call(struct kube *k, const char *method, const char *path, const cJSON *body,
	      cJSON **ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_free char *text = body ? json_text(body) : NULL;
	struct kube_request req = { .method = method, .path = path, .body = text };

	if (!strcmp(method, "GET"))
		req.retry = KUBE_RETRY_ALWAYS;
	req.what = arena_printf(&arena, "%s %s", method, path);
	if (kube_send(k, &req, &resp, err))
		return -1;
	if (!ret)
		return 0;
	if (!str_eq(resp.content_type, "application/json")) {
		*ret = NULL;
		return 0;
	}
	return answer(&resp, req.what, ret, err);
}

int kube_stream(struct kube *k, const char *path,
		int (*on_data)(void *ctx, const void *data, size_t len,
			       struct error *err),
		void *ctx, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_http_response struct http_response resp = { 0 };
	struct kube_request req = {
		.what = arena_printf(&arena, "GET %s", path),
		.method = "GET",
		.path = path,
		.accept = "*/*",
		.retry = KUBE_RETRY_ALWAYS,
		.open_ended = true,
		.on_data = on_data,
		.ctx = ctx,
	};

	return kube_send(k, &req, &resp, err);
}
