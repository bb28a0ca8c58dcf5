/* check_meta.c - checks of metadata that no schema contains (apiserver/prepare.h). */
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "apiserver/gc.h"
#include "apiserver/prepare.h"
#include "base/str.h"

/* ---- types ------------------------------------------------------------------------- */

enum meta_type { TEXT, TIME, INTEGER, TEXTS, OBJECTS, MAP };

static const struct {
	const char *key;
	enum meta_type type;
} types[] = {
	{ "name", TEXT },
	{ "generateName", TEXT },
	{ "namespace", TEXT },
	{ "uid", TEXT },
	{ "resourceVersion", TEXT },
	{ "selfLink", TEXT },
	{ "creationTimestamp", TIME },
	{ "deletionTimestamp", TIME },
	{ "generation", INTEGER },
	{ "deletionGracePeriodSeconds", INTEGER },
	{ "labels", MAP },
	{ "annotations", MAP },
	{ "finalizers", TEXTS },
	{ "ownerReferences", OBJECTS },
	{ "managedFields", OBJECTS },
};

static bool all_are(const cJSON *list, int type)
{
	const cJSON *child;

	json_each(child, list)
		if ((child->type & 0xff) != type && !cJSON_IsNull(child))
			return false;
	return true;
}

static bool is_text(const cJSON *value)
{
	return cJSON_IsString(value);
}

static bool is_time(const cJSON *value)
{
	int64_t time;

	return is_text(value) && !time_parse(&time, value->valuestring, IGNORED);
}

static bool is_integer(const cJSON *value)
{
	return cJSON_IsNumber(value);
}

static bool is_texts(const cJSON *value)
{
	return cJSON_IsArray(value) && all_are(value, cJSON_String);
}

static bool is_objects(const cJSON *value)
{
	return cJSON_IsArray(value) && all_are(value, cJSON_Object);
}

static bool is_map(const cJSON *value)
{
	return cJSON_IsObject(value) && all_are(value, cJSON_String);
}

static const struct {
	bool (*is)(const cJSON *value);
	const char *expected;
} meta_types[] = {
	[TEXT] = { is_text, "a text in quotes" },
	[TIME] = { is_time, "a time such as 2026-01-31T23:59:59Z" },
	[INTEGER] = { is_integer, "a whole number" },
	[TEXTS] = { is_texts, "a list of texts in quotes" },
	[OBJECTS] = { is_objects, "a list of objects" },
	[MAP] = { is_map, "an object of texts in quotes" },
};

int prepare_meta_types(struct exchange *x, const cJSON *obj)
{
	for (size_t i = 0; i < N_ELEMENTS(types); i++) {
		const cJSON *value = json_get(obj, "metadata", types[i].key);
		enum meta_type type = types[i].type;

		if (value && !cJSON_IsNull(value) && !meta_types[type].is(value))
			return exchange_not_of_kind(x, "metadata.%s must be %s",
						    types[i].key,
						    meta_types[type].expected);
	}
	return 0;
}

/* ---- finalizers -------------------------------------------------------------------- */

static bool is_standard(const char *finalizer)
{
	return str_in(finalizer, (const char *const[]){ "kubernetes", "orphan",
							FOREGROUND_FINALIZER, NULL });
}

/* A finalizer without a domain: an error for built-in kinds, else a warning. */
static void check_domain(struct exchange *x, const char *text, size_t i,
			 const cJSON *value, struct field_errors *errs)
{
	if (strchr(text, '/') || is_standard(text))
		return;
	if (resource_is(x->resource, RESOURCE_CUSTOM))
		cJSON_AddItemToArray(
			x->warnings,
			cJSON_CreateString(arena_printf(
				&x->arena,
				"metadata.finalizers: \"%s\": prefer a domain-qualified "
				"finalizer name to avoid accidental conflicts with other "
				"finalizer writers",
				text)));
	else if (!str_eq(x->resource->kind, "Lease"))
		field_error_add(errs, FIELD_INVALID,
				arena_printf(&x->arena, "metadata.finalizers[%zu]", i),
				value,
				"name is neither a standard finalizer name nor is it "
				"fully qualified");
}

void prepare_check_finalizers(struct exchange *x, const cJSON *obj,
			      struct field_errors *errs)
{
	const cJSON *list = meta_finalizers(obj), *f;
	size_t i = 0;

	json_each(f, list) {
		const char *text = cJSON_GetStringValue(f);
		const char *fault = text ? name_key_invalid(text) : NULL;

		if (fault)
			field_error_add(errs, FIELD_INVALID, "metadata.finalizers", f,
					"%s", fault);
		else if (text)
			check_domain(x, text, i, f, errs);
		i++;
	}
	if (json_has_str(list, "orphan") && json_has_str(list, FOREGROUND_FINALIZER))
		field_error_add(
			errs, FIELD_INVALID, "metadata.finalizers", list,
			"finalizer orphan and foregroundDeletion cannot be both set");
}

/* ---- owners ------------------------------------------------------------------------ */

void prepare_check_owners(const cJSON *obj, struct field_errors *errs)
{
	const cJSON *owners = json_get(obj, "metadata", "ownerReferences"), *owner;
	int controllers = 0;

	json_each(owner, owners) {
		const char *version = json_str(owner, "apiVersion");
		const char *slash = version ? strchr(version, '/') : NULL;

		controllers += json_bool(owner, false, "controller");
		if (str_eq(version, "v1") && str_eq(json_str(owner, "kind"), "Event"))
			field_error_add(
				errs, FIELD_INVALID, "metadata.ownerReferences", owner,
				"/v1, Kind=Event is disallowed from being an owner");
		if (slash && strchr(slash + 1, '/'))
			field_error_add(errs, FIELD_INVALID,
					"metadata.ownerReferences.apiVersion",
					json_get(owner, "apiVersion"),
					"version must not be empty");
	}
	if (controllers > 1)
		field_error_add(errs, FIELD_INVALID, "metadata.ownerReferences", owners,
				"only one reference can have controller set to true");
}
