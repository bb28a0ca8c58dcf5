/* body.c - reads the bodies of requests (apiserver/exchange.h). */
#include <string.h>
#include <strings.h>

#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/yaml.h"

int body_unsupported(struct exchange *x, const char *accepted)
{
	return exchange_refuse(
		x, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted "
		"media types include: %s",
		accepted);
}

/* 2.0 and 2e0 are stored as 2, as Go encodes a float64: typed clients refuse the others. */
static void write_whole_numbers(cJSON *doc)
{
	cJSON *child;
	int64_t v;

	json_each(child, doc)
		write_whole_numbers(child);
	if (cJSON_IsNumber(doc) && doc->valuestring && strpbrk(doc->valuestring, ".eE") &&
	    json_int_of(doc, &v)) {
		cleanup_json cJSON *whole = json_new_int(v);
		char *literal = doc->valuestring;

		doc->valueint = whole->valueint;
		doc->valuedouble = whole->valuedouble;
		doc->valuestring = whole->valuestring;
		whole->valuestring = literal;
	}
}

static int decoded(struct exchange *x)
{
	write_whole_numbers(x->body);
	return 0;
}

static bool is_document(struct exchange *x)
{
	x->body = json_dup(x->http->doc);
	return x->body;
}

int body_yaml(struct exchange *x)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (is_document(x))
		return decoded(x);
	if (yaml_parse(&docs, x->http->body, x->http->body_len, &err) || !docs->child)
		return exchange_refuse(x, 400, "BadRequest", "error decoding YAML: %s",
				       docs ? "no document" : err.msg);
	x->body = cJSON_DetachItemFromArray(docs, 0);
	return decoded(x);
}

int body_unrecognized(struct exchange *x, const char *kind, const char *why)
{
	return exchange_refuse(
		x, 400, "BadRequest",
		"the object provided is unrecognized (must be of type %s): %s", kind,
		why);
}

int body_json(struct exchange *x, const char *kind)
{
	struct error err = { 0 };

	if (is_document(x) ||
	    !json_parse(&x->body, x->http->body, x->http->body_len, &err))
		return decoded(x);
	return body_unrecognized(x, kind, err.msg);
}

/* Parsed again as JSON for its strict rules: no duplicate keys, the same size limits. */
static int body_proto(struct exchange *x, const char *kind,
		      const struct proto_field *fields)
{
	const struct httpd_request *http = x->http;
	cleanup_json cJSON *doc = NULL;
	cleanup_free char *text = NULL;
	struct error err = { 0 };

	if (proto_object(&doc, http->body, http->body_len, fields, &err))
		return body_unrecognized(x, kind, err.msg);
	text = json_text(doc);
	if (json_parse(&x->body, text, strlen(text), &err))
		return body_unrecognized(x, kind, err.msg);
	return 0;
}

static bool is_type(const struct exchange *x, const char *name)
{
	const char *type = httpd_header(x->http, "Content-Type");
	size_t len = type ? strcspn(type, "; \t") : 0;

	return len == strlen(name) && !strncasecmp(type, name, len);
}

int body_object(struct exchange *x, const char *kind, const struct proto_field *fields)
{
	const char *type = httpd_header(x->http, "Content-Type");

	if (is_document(x))
		return decoded(x);
	if (is_type(x, "application/yaml"))
		return body_yaml(x);
	if (fields && is_type(x, PROTO_TYPE))
		return body_proto(x, kind, fields);
	if (type && !is_type(x, "application/json"))
		return body_unsupported(
			x, fields ? "application/json, application/yaml, " PROTO_TYPE
				  : "application/json, application/yaml");
	return body_json(x, kind);
}
