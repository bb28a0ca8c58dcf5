/*
 * schema_meta.c - validate names, labels, annotations (api/schema_node.h).
 *
 * Follows k8s.io/apimachinery pkg/api/validation (ValidateObjectMeta). The schema checks
 * types and unknown fields; fields of the wrong type are skipped here. A missing
 * namespace is not an error: the request or the client supplies it.
 */
#include <ctype.h>
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "api/schema_node.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

static void check_name(const cJSON *meta, struct field_errors *errs)
{
	const cJSON *name = json_get(meta, "name");
	const char *s = cJSON_GetStringValue(name), *fault;

	if (name && !s)
		return;
	if (!s || !*s) {
		if (!json_str(meta, "generateName") || s)
			field_error_add(errs, FIELD_REQUIRED, "metadata.name", NULL,
					"name or generateName is required");
		return;
	}
	fault = name_subdomain_invalid(s);
	if (fault)
		field_error_add(errs, FIELD_INVALID, "metadata.name", name, "%s", fault);
}

/* The server appends letters to the prefix: it may end with "-". */
static void check_generate_name(const cJSON *meta, struct field_errors *errs)
{
	const cJSON *prefix = json_get(meta, "generateName");
	const char *fault;
	cleanup_free char *s = NULL;
	size_t len;

	if (!cJSON_IsString(prefix) || !*prefix->valuestring)
		return;
	s = xstrdup(prefix->valuestring);
	len = strlen(s);
	if (s[len - 1] == '-')
		s[len - 1] = 'a';
	fault = name_subdomain_invalid(s);
	if (fault)
		field_error_add(errs, FIELD_INVALID, "metadata.generateName", prefix,
				"%s", fault);
}

static void check_namespace(const struct kind *kind, const cJSON *meta,
			    struct field_errors *errs)
{
	const cJSON *namespace = json_get(meta, "namespace");
	const char *s = cJSON_GetStringValue(namespace), *fault;

	if (!s || !*s)
		return;
	if (!kind->namespaced) {
		field_error_add(errs, FIELD_FORBIDDEN, "metadata.namespace", NULL,
				"a %s belongs to no namespace", kind->name);
		return;
	}
	fault = name_label_invalid(s);
	if (fault)
		field_error_add(errs, FIELD_INVALID, "metadata.namespace", namespace,
				"%s", fault);
}

static void key_error(struct field_errors *errs, const char *path, const char *key,
		      const char *fault)
{
	cleanup_json cJSON *text = cJSON_CreateString(key);

	field_error_add(errs, FIELD_INVALID, path, text, "%s", fault);
}

static void check_labels(const cJSON *meta, struct field_errors *errs)
{
	const cJSON *label;
	const char *fault;

	json_each(label, json_get(meta, "labels")) {
		fault = name_key_invalid(label->string);
		if (fault)
			key_error(errs, "metadata.labels", label->string, fault);
		fault = cJSON_IsString(label) ? name_value_invalid(label->valuestring)
					      : NULL;
		if (fault)
			field_error_add(errs, FIELD_INVALID, "metadata.labels", label,
					"%s", fault);
	}
}

/* Keys as those of labels, but in any case. */
static void check_annotations(const cJSON *meta, struct field_errors *errs)
{
	const cJSON *annotation;
	const char *fault;
	size_t size = 0;

	json_each(annotation, json_get(meta, "annotations")) {
		cleanup_free char *key = xstrdup(annotation->string);

		for (char *c = key; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		fault = name_key_invalid(key);
		if (fault)
			key_error(errs, "metadata.annotations", annotation->string,
				  fault);
		size += strlen(key);
		if (cJSON_IsString(annotation))
			size += strlen(annotation->valuestring);
	}
	if (size > META_ANNOTATIONS_MAX)
		field_error_add(errs, FIELD_TOO_LONG, "metadata.annotations", NULL,
				"may not be more than %d bytes", META_ANNOTATIONS_MAX);
}

void schema_check_meta(const struct kind *kind, const cJSON *obj,
		       struct field_errors *errs)
{
	const cJSON *meta = json_get(obj, "metadata");

	if (meta && !cJSON_IsObject(meta))
		return;
	check_name(meta, errs);
	check_generate_name(meta, errs);
	check_namespace(kind, meta, errs);
	if (cJSON_IsObject(json_get(meta, "labels")))
		check_labels(meta, errs);
	if (cJSON_IsObject(json_get(meta, "annotations")))
		check_annotations(meta, errs);
}
