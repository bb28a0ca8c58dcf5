/* prepare.c - defaults, validation and metadata of objects (apiserver/prepare.h). */
#include "apiserver/prepare.h"

#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/random.h"
#include "base/str.h"
#include "trainer/shape.h"

enum {
	RANDOM_LETTERS = 5,
	MAX_DATA = 1024 * 1024, /* bytes of a ConfigMap or Secret */
};

/* Members that the API server's Go type encodes even if empty. */
static void default_event(cJSON *obj)
{
	static const char *const times[] = { "eventTime", "firstTimestamp",
					     "lastTimestamp" };

	for (size_t i = 0; i < 3; i++)
		if (!json_get(obj, times[i]))
			json_put(obj, cJSON_CreateNull(), times[i]);
	json_obj(obj, "source");
	if (!json_str(obj, "reportingComponent"))
		json_put_str(obj, "", "reportingComponent");
	if (!json_str(obj, "reportingInstance"))
		json_put_str(obj, "", "reportingInstance");
}

const struct node *prepare_type(const struct exchange *x)
{
	return typed_of(schema_for(&x->server->schemas, x->resource),
			x->resource->api_version, x->resource->kind);
}

cJSON *prepare_blank(const struct exchange *x)
{
	cJSON *blank = cJSON_CreateObject();

	json_put_str(blank, x->resource->api_version, "apiVersion");
	json_put_str(blank, x->resource->kind, "kind");
	for (const char *const *m = x->resource->always; m && *m; m++)
		json_obj(blank, *m);
	if (str_eq(x->resource->kind, "Event"))
		default_event(blank);
	return blank;
}

cJSON *prepare_ignored(const struct exchange *x)
{
	cJSON *set;

	if (!resource_is(x->resource, RESOURCE_STATUS) || x->internal)
		return NULL;
	set = cJSON_CreateObject();
	if (!*x->subresource)
		fieldset_add(set, "f:status", NULL, true);
	else
		fieldset_add(set, "f:spec", NULL, true);
	return set;
}

/* ---- identity ---------------------------------------------------------------------- */

static bool is_not_text(const cJSON *value)
{
	return value && !cJSON_IsNull(value) && !cJSON_IsString(value);
}

static bool is_set(const char *text)
{
	return text && *text;
}

/* Custom kinds require both kind and apiVersion. */
static int check_type(struct exchange *x, cJSON *obj)
{
	const char *kind = meta_kind(obj), *version = meta_api_version(obj);

	if (!cJSON_IsObject(obj))
		return body_unrecognized(x, x->resource->kind, "it is not a JSON object");
	if (is_not_text(json_member(obj, "kind")) ||
	    is_not_text(json_member(obj, "apiVersion")))
		return body_unrecognized(x, x->resource->kind,
					 "kind and apiVersion must be texts");
	if (!resource_is(x->resource, RESOURCE_CUSTOM) ||
	    (is_set(kind) && is_set(version)))
		return 0;
	return body_unrecognized(x, x->resource->kind,
				 is_set(kind) ? "Object 'apiVersion' is missing"
					      : "Object 'Kind' is missing");
}

static int check_kind(struct exchange *x, cJSON *obj)
{
	const struct resource *r = x->resource;

	if (check_type(x, obj))
		return -1;
	if (!is_set(meta_kind(obj)))
		json_put_str(obj, r->kind, "kind");
	if (!is_set(meta_api_version(obj)))
		json_put_str(obj, r->api_version, "apiVersion");
	if (!str_eq(meta_kind(obj), r->kind) ||
	    !str_eq(meta_api_version(obj), r->api_version))
		return exchange_refuse(
			x, 400, "BadRequest",
			"the API version in the data (%s, Kind=%s) does not "
			"match the expected API version (%s, Kind=%s)",
			meta_api_version(obj), meta_kind(obj), r->api_version, r->kind);
	return 0;
}

static int check_namespace(struct exchange *x, cJSON *obj)
{
	const char *ns = meta_namespace(obj);

	if (!resource_is(x->resource, RESOURCE_NAMESPACED)) {
		json_del(obj, JSON_PATH("metadata", "namespace"));
		return 0;
	}
	if (ns && *ns && !str_eq(ns, x->ns))
		return exchange_refuse(
			x, 400, "BadRequest",
			"the namespace of the provided object does not match "
			"the namespace sent on the request");
	meta_set_namespace(obj, x->ns);
	return 0;
}

int prepare_identity(struct exchange *x, cJSON *obj)
{
	const char *name;

	if (check_kind(x, obj))
		return -1;
	if (cJSON_IsNull(json_member(obj, "metadata")))
		json_del(obj, JSON_PATH("metadata"));
	if (json_get(obj, "metadata") && !cJSON_IsObject(json_get(obj, "metadata")))
		return exchange_refuse(x, 400, "BadRequest",
				       "metadata: must be an object");
	if (prepare_meta_types(x, obj))
		return -1;
	if (check_namespace(x, obj))
		return -1;
	name = meta_name(obj);
	if (*x->name && name && *name && !str_eq(name, x->name))
		return exchange_refuse(
			x, 400, "BadRequest",
			"the name of the object (%s) does not match the name "
			"on the URL (%s)",
			name, x->name);
	if (*x->name)
		meta_set_name(obj, x->name);
	return 0;
}

/* ---- fields ------------------------------------------------------------------------ */

static void unknown_fields(const struct field_errors *errs, struct buf *out,
			   cJSON *warnings)
{
	for (size_t i = 0; i < errs->n; i++) {
		const struct field_error *e = &errs->list[i];
		cleanup_buf struct buf one = { .max = 2000 };

		if (e->type != FIELD_UNKNOWN)
			continue;
		buf_printf(&one, "unknown field \"%s\"", e->path);
		buf_printf(out, "%s%s", out->len ? ", " : "",
			   one.data ? (char *)one.data : "");
		if (warnings && one.data)
			cJSON_AddItemToArray(warnings,
					     cJSON_CreateString((char *)one.data));
	}
}

/* Remove line breaks from base64, which Go's decoder ignores. */
static void join_lines(cJSON *map)
{
	cJSON *value;

	json_each(value, map) {
		char *to = cJSON_GetStringValue(value);

		if (!to || !strpbrk(to, "\r\n"))
			continue;
		for (const char *from = to; *from; from++)
			if (*from != '\r' && *from != '\n')
				*to++ = *from;
		*to = 0;
	}
}

/* Move stringData, which is write-only, into data, which it overrides. */
static void default_secret(cJSON *obj)
{
	cleanup_json_index struct json_index data = { 0 };
	const cJSON *plain;

	join_lines(json_get(obj, "data"));
	json_each(plain, json_get(obj, "stringData")) {
		cleanup_buf struct buf text = { .max = 4 * OBJECT_MAX_BYTES };

		if (cJSON_IsNull(plain))
			continue;
		if (!data.of)
			data.of = json_obj(obj, "data");
		if (!cJSON_IsString(plain)) { /* validation refuses it */
			json_index_put(&data, json_dup(plain), plain->string);
			continue;
		}
		base64_encode(&text, plain->valuestring, strlen(plain->valuestring));
		buf_adds(&text, "");
		json_index_put(&data,
			       cJSON_CreateString(text.data ? (char *)text.data : ""),
			       plain->string);
	}
	json_del(obj, JSON_PATH("stringData"));
	if (!json_str(obj, "type") || !*json_str(obj, "type"))
		json_put_str(obj, "Opaque", "type");
}

static void label_namespace(cJSON *obj)
{
	if (meta_name(obj) && *meta_name(obj))
		meta_set_label(obj, "kubernetes.io/metadata.name", meta_name(obj));
}

void prepare_owned(cJSON *obj)
{
	const cJSON *f;
	bool has = false;

	if (!meta_is(obj, "", "Namespace"))
		return;
	json_each(f, json_list(obj, "spec", "finalizers"))
		has |= str_eq(cJSON_GetStringValue(f), "kubernetes");
	if (!has)
		cJSON_AddItemToArray(json_list(obj, "spec", "finalizers"),
				     cJSON_CreateString("kubernetes"));
	json_put_str(obj, "Active", "status", "phase");
	label_namespace(obj); /* again: a generated name is now set */
}

static void default_others(cJSON *obj)
{
	if (meta_is(obj, "", "Secret"))
		default_secret(obj);
	else if (meta_is(obj, "", "ConfigMap"))
		join_lines(json_get(obj, "binaryData"));
	else if (meta_is(obj, "", "Event"))
		default_event(obj);
	else if (meta_is(obj, "", "Namespace"))
		label_namespace(obj);
	else if (meta_is(obj, "coordination.k8s.io", "Lease"))
		json_obj(obj, "spec");
}

static void drop_if_empty(cJSON *parent, const char *key, bool is_list)
{
	const cJSON *value = json_get(parent, key);

	if (value && !value->child &&
	    (is_list ? cJSON_IsArray(value) : cJSON_IsObject(value)))
		json_del(parent, JSON_PATH(key));
}

/* Maps and lists that the API server's Go types omit when empty. */
static void drop_empty(cJSON *obj)
{
	cJSON *metadata = json_get(obj, "metadata");

	drop_if_empty(metadata, "labels", false);
	drop_if_empty(metadata, "annotations", false);
	drop_if_empty(metadata, "finalizers", true);
	drop_if_empty(metadata, "ownerReferences", true);
	if (!meta_is(obj, "", "ConfigMap") && !meta_is(obj, "", "Secret"))
		return;
	drop_if_empty(obj, "data", false);
	drop_if_empty(obj, "binaryData", false);
}

static int bad_mode(struct exchange *x, const char *mode)
{
	cleanup_json cJSON *value = cJSON_CreateString(mode);

	return exchange_bad_option(
		x, FIELD_NOT_SUPPORTED, "fieldValidation", value,
		"supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
}

/* Replace each null of a map of texts by "", as Go decodes it. */
static void fill_nulls(cJSON *texts)
{
	cJSON *next;

	for (cJSON *value = texts ? texts->child : NULL; value; value = next) {
		next = value->next;
		if (cJSON_IsNull(value)) {
			cJSON *empty = cJSON_CreateString("");

			empty->string = STEAL(value->string);
			cJSON_ReplaceItemViaPointer(texts, value, empty);
		}
	}
}

/* Any other null counts as absent; of a custom kind only in metadata. */
static void decode_nulls(const struct exchange *x, cJSON *obj)
{
	static const char *const keys[] = { "data", "binaryData", "stringData" };
	cJSON *metadata = json_get(obj, "metadata");
	bool custom = resource_is(x->resource, RESOURCE_CUSTOM);

	fill_nulls(json_get(metadata, "labels"));
	fill_nulls(json_get(metadata, "annotations"));
	for (size_t i = 0; !custom && i < N_ELEMENTS(keys); i++)
		fill_nulls(json_get(obj, keys[i]));
	drop_nulls(custom ? metadata : obj);
}

int prepare_known(struct exchange *x, cJSON *obj)
{
	const struct schema *schema = schema_for(&x->server->schemas, x->resource);
	const char *mode = exchange_query(x, "fieldValidation");
	bool strict = str_eq(mode, "Strict");
	cleanup_field_errors struct field_errors errs = { .max = 100 };
	cleanup_buf struct buf all = { .max = 8192 };

	if (*mode &&
	    !str_in(mode, (const char *const[]){ "Strict", "Warn", "Ignore", NULL }))
		return bad_mode(x, mode);
	if (!str_eq(mode, "Ignore")) {
		schema_validate(schema, obj, NULL, &errs);
		unknown_fields(&errs, &all, strict ? NULL : x->warnings);
	}
	if (all.len && strict)
		return exchange_not_of_kind(x, "strict decoding error: %s",
					    (char *)all.data);
	schema_prune(schema, obj);
	decode_nulls(x, obj);
	return 0;
}

void prepare_defaults(struct exchange *x, cJSON *obj)
{
	schema_default(schema_for(&x->server->schemas, x->resource), obj);
	default_others(obj);
	drop_empty(obj);
}

/* ---- managers ---------------------------------------------------------------------- */

void prepare_managers(struct exchange *x, const cJSON *old, cJSON *obj)
{
	cleanup_json cJSON *blank = prepare_blank(x);
	cleanup_json cJSON *ignored = prepare_ignored(x);
	const struct manager_of by = { .type = prepare_type(x),
				       .manager = x->manager,
				       .api_version = x->resource->api_version,
				       .subresource = x->subresource,
				       .now = x->now,
				       .ignored = ignored };

	managers_update(&by, old ? old : blank, obj);
}

/* ---- metadata ---------------------------------------------------------------------- */

static int random_uid(struct exchange *x, cJSON *obj)
{
	unsigned char b[16];
	struct error err = { 0 };

	if (random_bytes(b, sizeof(b), &err))
		return exchange_error(x, &err);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	meta_set_uid(obj,
		     arena_printf(&x->arena,
				  "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
				  "%02x%02x%02x%02x%02x%02x",
				  b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
				  b[9], b[10], b[11], b[12], b[13], b[14], b[15]));
	return 0;
}

/* As names.SimpleNameGenerator: generateName and five random letters. */
static int make_name(struct exchange *x, cJSON *obj)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	enum { MAX_PREFIX = NAME_LABEL_MAX - RANDOM_LETTERS };
	const char *prefix = meta_generate_name(obj);
	unsigned char b[RANDOM_LETTERS];
	char end[RANDOM_LETTERS + 1] = "";
	struct error err = { 0 };

	if ((meta_name(obj) && *meta_name(obj)) || !prefix || !*prefix)
		return 0;
	if (random_bytes(b, sizeof(b), &err))
		return exchange_error(x, &err);
	for (size_t i = 0; i < sizeof(b); i++)
		end[i] = letters[b[i] % (sizeof(letters) - 1)];
	json_put_str(obj, arena_printf(&x->arena, "%.*s%s", MAX_PREFIX, prefix, end),
		     "metadata", "name");
	return 0;
}

int prepare_new(struct exchange *x, cJSON *obj)
{
	const char *version = meta_version(obj);

	if (version && *version && !str_eq(version, "0"))
		return exchange_refuse(
			x, 500, NULL,
			"resourceVersion should not be set on objects to be created");
	json_del(obj, JSON_PATH("metadata", "resourceVersion"));
	json_del(obj, JSON_PATH("metadata", "deletionTimestamp"));
	json_del(obj, JSON_PATH("metadata", "deletionGracePeriodSeconds"));
	json_del(obj, JSON_PATH("metadata", "selfLink"));
	if (resource_is(x->resource, RESOURCE_CUSTOM))
		json_put_int(obj, 1, "metadata", "generation");
	else
		json_del(obj, JSON_PATH("metadata", "generation"));
	if (resource_is(x->resource, RESOURCE_CUSTOM) &&
	    resource_is(x->resource, RESOURCE_STATUS) && !x->internal)
		json_del(obj, JSON_PATH("status"));
	json_put_str(obj, x->now, "metadata", "creationTimestamp");
	if (make_name(x, obj))
		return -1;
	return random_uid(x, obj);
}

/* Does anything but metadata and status differ? */
static bool spec_changed(const struct exchange *x, const cJSON *old, const cJSON *obj)
{
	bool status = resource_is(x->resource, RESOURCE_STATUS);

	return !json_equal_but(old, obj,
			       status ? JSON_PATH("metadata", "status")
				      : JSON_PATH("metadata"));
}

static void keep(cJSON *obj, const cJSON *old, const char *key)
{
	const cJSON *was = json_get(old, "metadata", key);

	if (was)
		json_put(obj, json_dup(was), "metadata", key);
	else
		json_del(obj, JSON_PATH("metadata", key));
}

static void keep_member(cJSON *obj, const cJSON *old, const char *key)
{
	if (json_get(old, key))
		json_put(obj, json_dup(json_get(old, key)), key);
	else
		json_del(obj, JSON_PATH(key));
}

/* A write to /status changes status only; the rest, managedFields too, is old's. */
static void status_only(const cJSON *old, cJSON *obj)
{
	cJSON *copy = json_dup(old), *was = obj->child;

	keep_member(copy, obj, "status");
	obj->child = copy->child;
	copy->child = was;
	cJSON_Delete(copy);
}

static int immutable_uid(struct exchange *x, const char *uid)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *value = cJSON_CreateString(uid);

	field_error_add(&errs, FIELD_INVALID, "metadata.uid", value,
			"field is immutable");
	return exchange_invalid(x, &errs);
}

static int check_preconditions(struct exchange *x, const cJSON *old, const cJSON *obj)
{
	const char *uid = meta_uid(obj), *version = meta_version(obj);

	if (uid && *uid && !str_eq(uid, meta_uid(old))) {
		if (str_eq(x->http->method,
			   "PATCH")) /* ignored in a custom kind's status */
			return *x->subresource &&
					       resource_is(x->resource, RESOURCE_CUSTOM)
				       ? 0
				       : immutable_uid(x, uid);
		return exchange_conflict(
			x,
			arena_printf(&x->arena,
				     "Precondition failed: UID in precondition: %s, UID "
				     "in object meta: %s",
				     uid, meta_uid(old)));
	}
	if (version && *version && !str_eq(version, "0") &&
	    !str_eq(version, meta_version(old)))
		return exchange_conflict(
			x, "the object has been modified; please apply "
			   "your changes to the latest version and try again");
	return 0;
}

int prepare_update(struct exchange *x, const cJSON *old, cJSON *obj)
{
	static const char *const fixed[] = { "creationTimestamp", "deletionTimestamp",
					     "deletionGracePeriodSeconds", "generation",
					     "uid" };

	if (check_preconditions(x, old, obj))
		return -1;
	if (*x->subresource)
		status_only(old, obj);
	else if (resource_is(x->resource, RESOURCE_STATUS) && !x->internal)
		keep_member(obj, old, "status");
	if (meta_is(obj, "", "Namespace"))
		keep_member(obj, old, "spec");
	for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
		keep(obj, old, fixed[i]);
	meta_set_version(obj, meta_version(old));
	if (resource_is(x->resource, RESOURCE_CUSTOM) && spec_changed(x, old, obj))
		json_put_int(obj, meta_generation(old) + 1, "metadata", "generation");
	return 0;
}

/* ---- admission --------------------------------------------------------------------- */

static int call_webhook(struct exchange *x,
			int (*ask)(void *, struct admission *, struct error *),
			const cJSON *old, cJSON *obj)
{
	struct admission a = { .operation = old ? "UPDATE" : "CREATE",
			       .ns = x->ns,
			       .name = x->name,
			       .obj = obj,
			       .old = old,
			       .warnings = x->warnings };
	struct error err = { 0 };

	if (!ask || *x->subresource || !ask(x->server->conf.ctx, &a, &err))
		return 0;
	return exchange_refuse(x, exchange_code(&err),
			       err.code == 403   ? "Forbidden"
			       : err.code == 400 ? "BadRequest"
						 : "InternalError",
			       "%s", err.msg);
}

/* A built-in kind does not decode if a value has the wrong type. */
static int check_types(struct exchange *x, const struct field_errors *errs)
{
	for (size_t i = 0; i < errs->n; i++)
		if (errs->list[i].type == FIELD_TYPE_INVALID)
			return exchange_not_of_kind(x, "%s", errs->list[i].detail);
	return 0;
}

static int check_base64(struct exchange *x, const cJSON *obj)
{
	static const char *const keys[] = { "data", "binaryData" };
	const cJSON *value;

	for (size_t i = meta_is(obj, "", "Secret") ? 0 : 1; i < 2; i++)
		json_each(value, json_get(obj, keys[i])) {
			cleanup_buf struct buf bytes = { .max = 4 * OBJECT_MAX_BYTES };
			const char *text = cJSON_GetStringValue(value);
			struct error err = { 0 };

			if (text && base64_decode(&bytes, text, strlen(text), &err))
				return exchange_not_of_kind(x, "%s.%s: %s", keys[i],
							    value->string, err.msg);
		}
	return 0;
}

/* As IsConfigMapKey(). */
static void check_keys(const cJSON *obj, struct field_errors *errs)
{
	static const char *const maps[] = { "data", "binaryData" };
	static const char letters[] = "-._abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	const cJSON *value;

	if (!meta_is(obj, "", "ConfigMap") && !meta_is(obj, "", "Secret"))
		return;
	for (size_t i = 0; i < 2; i++)
		json_each(value, json_get(obj, maps[i])) {
			const char *key = value->string;
			cleanup_json cJSON *text = cJSON_CreateString(key);

			if (*key && !key[strspn(key, letters)] && strlen(key) <= 253 &&
			    !str_eq(key, ".") && !str_starts(key, ".."))
				continue;
			field_error_add(
				errs, FIELD_INVALID, field_key(errs, maps[i], key), text,
				"must consist of letters, digits, '-', '_' and '.'");
		}
}

static void forbid_change(const cJSON *old, const cJSON *obj, const char *key,
			  struct field_errors *errs)
{
	const cJSON *was = json_get(old, key), *is = json_get(obj, key);

	if (was == is || (was && is && json_equal(was, is)))
		return;
	field_error_add(errs, FIELD_FORBIDDEN, key, NULL,
			"field is immutable when `immutable` is set");
}

static void check_immutable(const cJSON *old, const cJSON *obj, struct field_errors *errs)
{
	if (!json_bool(old, false, "immutable"))
		return;
	forbid_change(old, obj, "immutable", errs);
	forbid_change(old, obj, "data", errs);
	if (meta_is(obj, "", "ConfigMap"))
		forbid_change(old, obj, "binaryData", errs);
}

static size_t bytes_of(const cJSON *map, bool encoded)
{
	const cJSON *value;
	size_t n = 0;

	json_each(value, map)
		n += strlen(cJSON_GetStringValue(value) ? value->valuestring : "") *
		     (encoded ? 3 : 4) / 4;
	return n;
}

/* Limit the data of a ConfigMap or Secret, decoded. */
static void check_size(const cJSON *obj, struct field_errors *errs)
{
	bool secret = meta_is(obj, "", "Secret");
	size_t n = bytes_of(json_get(obj, "data"), secret) +
		   bytes_of(json_get(obj, "binaryData"), true);

	if (n > MAX_DATA)
		field_error_add(errs, FIELD_TOO_LONG, secret ? "data" : "[]", NULL,
				"may not be more than %d bytes", MAX_DATA);
}

static void check_configmap(const cJSON *old, const cJSON *obj, struct field_errors *errs)
{
	cleanup_json_index struct json_index binary = { .of = json_get(obj,
								       "binaryData") };
	const cJSON *value;

	check_immutable(old, obj, errs);
	check_size(obj, errs);
	json_each(value, json_get(obj, "data")) {
		cleanup_json cJSON *key = cJSON_CreateString(value->string);

		if (json_index_get(&binary, value->string))
			field_error_add(errs, FIELD_INVALID,
					field_key(errs, "data", value->string), key,
					"duplicate of key present in binaryData");
	}
}

static void check_secret(const cJSON *old, const cJSON *obj, struct field_errors *errs)
{
	static const struct {
		const char *type, *key;
	} needs[] = { { "kubernetes.io/dockerconfigjson", ".dockerconfigjson" },
		      { "kubernetes.io/dockercfg", ".dockercfg" },
		      { "kubernetes.io/ssh-auth", "ssh-privatekey" },
		      { "kubernetes.io/tls", "tls.crt" },
		      { "kubernetes.io/tls", "tls.key" } };
	const char *type = json_str(obj, "type");

	if (old && !str_eq(type, json_str(old, "type")))
		field_error_add(errs, FIELD_INVALID, "type", json_get(obj, "type"),
				"field is immutable");
	check_immutable(old, obj, errs);
	check_size(obj, errs);
	if (str_eq(type, "kubernetes.io/basic-auth") &&
	    !json_get(obj, "data", "username") && !json_get(obj, "data", "password")) {
		field_error_add(errs, FIELD_REQUIRED, "data[username]", NULL, "%s", "");
		field_error_add(errs, FIELD_REQUIRED, "data[password]", NULL, "%s", "");
	}
	for (size_t i = 0; i < N_ELEMENTS(needs); i++)
		if (str_eq(type, needs[i].type) && !json_get(obj, "data", needs[i].key))
			field_error_add(errs, FIELD_REQUIRED,
					field_key(errs, "data", needs[i].key), NULL, "%s",
					"");
}

static void check_namespace_name(const cJSON *old, const cJSON *obj,
				 struct field_errors *errs)
{
	if (!old && strchr(meta_name(obj) ? meta_name(obj) : "", '.'))
		field_error_add(errs, FIELD_INVALID, "metadata.name",
				json_get(obj, "metadata", "name"),
				"must not contain dots");
}

static void check_event(const cJSON *old, const cJSON *obj, struct field_errors *errs)
{
	const char *ns = json_str(obj, "involvedObject", "namespace");
	bool none = !ns || !*ns; /* a cluster-scoped object: its events are in default */
	cleanup_json cJSON *value = cJSON_CreateString(none ? "" : ns);

	if (!str_eq(none ? "default" : ns, meta_namespace(obj)))
		field_error_add(errs, FIELD_INVALID, "involvedObject.namespace", value,
				"does not match event.namespace");
}

static void check_lease(const cJSON *old, const cJSON *obj, struct field_errors *errs)
{
	const cJSON *seconds = json_get(obj, "spec", "leaseDurationSeconds");
	const cJSON *transitions = json_get(obj, "spec", "leaseTransitions");

	if (cJSON_IsNumber(seconds) && seconds->valuedouble <= 0)
		field_error_add(errs, FIELD_INVALID, "spec.leaseDurationSeconds", seconds,
				"must be greater than 0");
	if (cJSON_IsNumber(transitions) && transitions->valuedouble < 0)
		field_error_add(errs, FIELD_INVALID, "spec.leaseTransitions", transitions,
				"must be greater than or equal to 0");
}

/* Validation of built-in kinds that their schemas cannot express. */
static void check_own(const cJSON *old, const cJSON *obj, struct field_errors *errs)
{
	static const struct {
		const char *group, *kind;
		void (*check)(const cJSON *, const cJSON *, struct field_errors *);
	} checks[] = { { "", "ConfigMap", check_configmap },
		       { "", "Secret", check_secret },
		       { "", "Namespace", check_namespace_name },
		       { "", "Event", check_event },
		       { "coordination.k8s.io", "Lease", check_lease } };

	for (size_t i = 0; i < N_ELEMENTS(checks); i++)
		if (meta_is(obj, checks[i].group, checks[i].kind))
			checks[i].check(old, obj, errs);
}

/* Validate by the schema; prepare_known() has handled unknown fields. */
static int validate(struct exchange *x, const cJSON *old, const cJSON *obj)
{
	cleanup_field_errors struct field_errors errs = { .max = 100 };
	size_t n = 0;

	schema_validate(schema_for(&x->server->schemas, x->resource), obj, old, &errs);
	for (size_t i = 0; i < errs.n; i++)
		if (errs.list[i].type != FIELD_UNKNOWN)
			errs.list[n++] = errs.list[i];
	errs.n = n;
	if (!resource_is(x->resource, RESOURCE_CUSTOM)) {
		if (check_types(x, &errs) || check_base64(x, obj))
			return -1;
		check_keys(obj, &errs);
		check_own(old, obj, &errs);
	}
	prepare_check_finalizers(x, obj, &errs);
	prepare_check_owners(obj, &errs);
	return errs.n ? exchange_invalid(x, &errs) : 0;
}

int prepare_admission(struct exchange *x, const cJSON *old, cJSON *obj)
{
	struct error err = { 0 };

	if (call_webhook(x, x->server->conf.mutate, old, obj) ||
	    validate(x, *x->subresource ? NULL : old, obj))
		return -1;
	if (typed_check(prepare_type(x), obj, false, &err))
		return exchange_refuse(x, 422, "Invalid", "%s", err.msg);
	return call_webhook(x, x->server->conf.validate, old, obj);
}
