/* exchange.c - reads requests and builds answers (apiserver/exchange.h). */
#include "apiserver/exchange.h"

#include <string.h>
#include <strings.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_MESSAGE = 64 * 1024 };

const char *exchange_query(const struct exchange *x, const char *name)
{
	const char *value = map_get(&x->query, name);

	return value ? value : "";
}

bool exchange_flag(const struct exchange *x, const char *name)
{
	const char *value = map_get(&x->query, name);

	return value && strcasecmp(value, "false") != 0 && !str_eq(value, "0");
}

bool exchange_header_has(const struct exchange *x, const char *header, const char *word)
{
	const char *text = httpd_header(x->http, header);

	return text && strcasestr(text, word);
}

/* ---- answers ----------------------------------------------------------------------- */

/* Add a Warning header, or omit it if it does not fit: headers are never truncated. */
static void warn(struct exchange *x, const char *text)
{
	cleanup_json cJSON *quoted =
		cJSON_CreateString(str_visible(&x->arena, text, false));
	cleanup_buf struct buf line = { .max = x->resp->headers.max };

	buf_adds(&line, "Warning: 299 - ");
	json_print(&line, quoted);
	buf_adds(&line, "\r\n");
	if (!line.overflowed)
		buf_add(&x->resp->headers, line.data, line.len);
}

static void drop_body(struct exchange *x)
{
	buf_clear(&x->resp->body);
	cJSON_Delete(x->resp->doc);
	x->resp->doc = NULL;
}

void exchange_answer(struct exchange *x, int code, cJSON *take_doc)
{
	cleanup_json cJSON *doc = take_doc;
	const cJSON *w;

	x->resp->status = code;
	x->resp->content_type = "application/json";
	if (x->http->wants_doc) {
		x->resp->doc = STEAL(doc);
	} else {
		json_print(&x->resp->body, doc);
		buf_adds(&x->resp->body, "\n");
	}
	json_each(w, x->warnings)
		warn(x, w->valuestring);
}

void exchange_text(struct exchange *x, int code, const char *type, const char *text,
		   size_t len)
{
	x->resp->status = code;
	x->resp->content_type = type;
	buf_add(&x->resp->body, text, len);
}

cJSON *exchange_status(int code, const char *reason, const char *message)
{
	cJSON *status = cJSON_CreateObject();

	json_put_str(status, "Status", "kind");
	json_put_str(status, "v1", "apiVersion");
	json_obj(status, "metadata");
	json_put_str(status, code < 400 ? "Success" : "Failure", "status");
	if (message)
		json_put_str(status, message, "message");
	if (reason)
		json_put_str(status, reason, "reason");
	json_put_int(status, code, "code");
	return status;
}

static int answer_status(struct exchange *x, int code, cJSON *take_status)
{
	drop_body(x);
	exchange_answer(x, code, take_status);
	return -1;
}

int exchange_refuse(struct exchange *x, int code, const char *reason, const char *fmt,
		    ...)
{
	cleanup_buf struct buf message = { .max = MAX_MESSAGE };
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_adds(&message, str_visible(&x->arena, text, true));
	buf_adds(&message, "");
	return answer_status(
		x, code,
		exchange_status(code, reason, message.data ? (char *)message.data : ""));
}

int exchange_refuse_details(struct exchange *x, int code, const char *reason,
			    cJSON *take_details, const char *message)
{
	cJSON *status =
		exchange_status(code, reason, str_visible(&x->arena, message, true));

	json_put(status, take_details, "details");
	return answer_status(x, code, status);
}

cJSON *exchange_details(const char *name, const char *group, const char *kind)
{
	cJSON *details = cJSON_CreateObject();

	if (*name)
		json_put_str(details, name, "name");
	if (*group)
		json_put_str(details, group, "group");
	json_put_str(details, kind, "kind");
	return details;
}

int exchange_refuse_object(struct exchange *x, int code, const char *reason,
			   const char *message)
{
	return exchange_refuse_details(
		x, code, reason,
		exchange_details(x->name, resource_group(&x->arena, x->resource),
				 x->resource->plural),
		message);
}

int exchange_not_found(struct exchange *x)
{
	return exchange_refuse_object(x, 404, "NotFound",
				      arena_printf(&x->arena, "%s \"%s\" not found",
						   resource_title(&x->arena, x->resource),
						   x->name));
}

int exchange_no_such_resource(struct exchange *x)
{
	return exchange_refuse_details(
		x, 404, "NotFound", cJSON_CreateObject(),
		"the server could not find the requested resource");
}

void exchange_no_such_path(struct exchange *x)
{
	static const char text[] = "404 page not found\n";

	exchange_text(x, 404, "text/plain; charset=utf-8", text, sizeof(text) - 1);
}

int exchange_conflict(struct exchange *x, const char *why)
{
	return exchange_refuse_object(
		x, 409, "Conflict",
		arena_printf(&x->arena, "Operation cannot be fulfilled on %s \"%s\": %s",
			     resource_title(&x->arena, x->resource), x->name, why));
}

static const char *cause_reason(enum field_error_type type)
{
	static const char *const reasons[] = {
		[FIELD_REQUIRED] = "FieldValueRequired",
		[FIELD_INVALID] = "FieldValueInvalid",
		[FIELD_TYPE_INVALID] = "FieldValueTypeInvalid",
		[FIELD_NOT_SUPPORTED] = "FieldValueNotSupported",
		[FIELD_DUPLICATE] = "FieldValueDuplicate",
		[FIELD_FORBIDDEN] = "FieldValueForbidden",
		[FIELD_TOO_LONG] = "FieldValueTooLong",
		[FIELD_TOO_MANY] = "FieldValueTooMany",
		[FIELD_UNKNOWN] = "FieldValueInvalid",
		[FIELD_INTERNAL] = "InternalError",
	};

	return reasons[type];
}

int exchange_invalid_of(struct exchange *x, const char *group, const char *kind,
			const char *name, const struct field_errors *errs)
{
	cleanup_buf struct buf all = { .max = MAX_MESSAGE };
	cJSON *causes = cJSON_CreateArray(),
	      *details = exchange_details(name, group, kind);

	buf_printf(&all, "%s%s%s \"%s\" is invalid: %s", kind, *group ? "." : "", group,
		   name, errs->n > 1 ? "[" : "");
	for (size_t i = 0; i < errs->n; i++) {
		const struct field_error *e = &errs->list[i];
		cleanup_buf struct buf one = { .max = MAX_MESSAGE };
		cJSON *cause = cJSON_CreateObject();
		size_t path = strlen(e->path) + 2;

		field_error_print(&one, e);
		buf_printf(&all, "%s%s", i ? ", " : "", one.data ? (char *)one.data : "");
		json_put_str(cause, cause_reason(e->type), "reason");
		json_put_str(cause, one.len > path ? (char *)one.data + path : "",
			     "message");
		json_put_str(cause, e->path, "field");
		cJSON_AddItemToArray(causes, cause);
	}
	buf_adds(&all, errs->n > 1 ? "]" : "");
	json_put(details, causes, "causes");
	return exchange_refuse_details(x, 422, "Invalid", details, (char *)all.data);
}

int exchange_invalid(struct exchange *x, const struct field_errors *errs)
{
	return exchange_invalid_of(x, resource_group(&x->arena, x->resource),
				   x->resource->kind, x->name, errs);
}

int exchange_bad_option(struct exchange *x, enum field_error_type type, const char *field,
			const cJSON *value, const char *detail)
{
	static const char *const kinds[][2] = { { "POST", "CreateOptions" },
						{ "PUT", "UpdateOptions" },
						{ "PATCH", "PatchOptions" },
						{ "DELETE", "DeleteOptions" } };
	cleanup_field_errors struct field_errors errs = { 0 };
	const char *kind = "GetOptions";

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (str_eq(kinds[i][0], x->http->method))
			kind = kinds[i][1];
	field_error_add(&errs, type, field, value, "%s", detail);
	return exchange_invalid_of(x, "meta.k8s.io", kind, "", &errs);
}

int exchange_not_of_kind(struct exchange *x, const char *fmt, ...)
{
	const struct resource *r = x->resource;
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return exchange_refuse(x, 400, "BadRequest",
			       "%s in version \"%s\" cannot be handled as a %s: %s",
			       r->kind, resource_version(r), r->kind, text);
}

int exchange_code(const struct error *err)
{
	return err->code >= 400 && err->code < 600 ? err->code : 500;
}

int exchange_error(struct exchange *x, const struct error *err)
{
	switch (err->kind) {
	case ERR_LIMIT:
		return exchange_refuse(x, 413, "RequestEntityTooLarge",
				       "etcdserver: request is too large: %s", err->msg);
	case ERR_CONFLICT:
		return exchange_conflict(
			x, "the object has been modified; please apply your "
			   "changes to the latest version and try again");
	default:
		return exchange_refuse(x, 500, "InternalError",
				       "Internal error occurred: %s", err->msg);
	}
}

int exchange_refresh(struct exchange *x)
{
	const struct apiserver_conf *conf = &x->server->conf;
	const struct object_scope which = { x->resource->kind, x->ns, x->name };
	struct error err = { 0 };

	if (!conf->refresh || !conf->refresh(conf->ctx, &which, &err))
		return 0;
	return exchange_refuse(x, 500, "InternalError", "%s", err.msg);
}

/* ---- keys -------------------------------------------------------------------------- */

const char *exchange_key(struct exchange *x, const struct resource *r, const char *ns,
			 const char *name)
{
	return arena_printf(&x->arena, "%s/%s/%s", resource_title(&x->arena, r),
			    resource_is(r, RESOURCE_NAMESPACED) ? ns : "", name);
}

const char *exchange_prefix(struct exchange *x)
{
	const char *title = resource_title(&x->arena, x->resource);

	if (!*x->ns)
		return arena_printf(&x->arena, "%s/", title);
	return arena_printf(&x->arena, "%s/%s/", title, x->ns);
}
