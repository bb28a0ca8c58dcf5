/* read.c - gets, lists and selects objects (apiserver/exchange.h). */
#include <string.h>

#include "api/meta.h"
#include "api/selector.h"
#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_TOKEN = 4096 };
#define MATCH     "resourceVersionMatch"
#define INITIAL   "sendInitialEvents"
#define NOT_OLDER "NotOlderThan"

/* ---- selections ------------------------------------------------------------------ */

static bool knows_field(const struct resource *r, const char *field)
{
	if (str_eq(field, "metadata.name") ||
	    (str_eq(field, "metadata.namespace") && resource_is(r, RESOURCE_NAMESPACED)))
		return true;
	return r->fields && str_in(field, r->fields);
}

/* The value of ".status.phase"; NULL: absent. */
static const char *field_value(struct arena *arena, const cJSON *obj, const char *path)
{
	char **steps = str_split(arena, path, '.', NULL);
	const cJSON *node = obj;

	for (; node && *steps; steps++)
		node = json_member(node, *steps);
	if (cJSON_IsBool(node))
		return cJSON_IsTrue(node) ? "true" : "false";
	if (cJSON_IsNumber(node)) {
		char *text = arena_alloc(arena, JSON_MAX_NUMBER + 1);

		return json_number_text(node, text);
	}
	return cJSON_GetStringValue(node);
}

int selection_read(struct exchange *x, struct selection *ret)
{
	const char *labels = exchange_query(x, "labelSelector");
	const char *fields = exchange_query(x, "fieldSelector");
	struct error err = { 0 };

	*ret = (struct selection){ .name = *x->name ? x->name : NULL };
	if (selector_labels(&x->arena, labels, &ret->labels, &err) ||
	    selector_fields(&x->arena, fields, &ret->fields, &err))
		return exchange_refuse(x, 400, "BadRequest", "%s", err.msg);
	ret->by_key = !ret->labels;
	for (const struct requirement *r = ret->fields; r; r = r->next)
		ret->by_key &= str_starts(r->key, "metadata.");
	for (const struct requirement *r = ret->fields; r; r = r->next)
		if (!knows_field(x->resource, r->key))
			return exchange_refuse(x, 400, "BadRequest",
					       "field label not supported: %s", r->key);
	return 0;
}

bool selection_matches(const struct selection *s, const cJSON *obj)
{
	cleanup_arena struct arena arena = { 0 };

	if (s->name && !str_eq(meta_name(obj), s->name))
		return false;
	for (const struct requirement *r = s->fields; r; r = r->next) {
		const char *value = field_value(&arena, obj, r->key);

		if (!requirement_holds(r, value ? value : ""))
			return false;
	}
	return selector_matches(s->labels, meta_labels(obj));
}

/* Match a storage key, "PLURAL.GROUP/NAMESPACE/NAME". */
static bool has_key(const struct selection *s, const char *key)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = strchr(key, '/') + 1, *slash = strchr(ns, '/');
	const char *name = slash + 1;

	ns = str_slice(&arena, ns, (size_t)(slash - ns));
	if (s->name && !str_eq(name, s->name))
		return false;
	for (const struct requirement *r = s->fields; r; r = r->next)
		if (!requirement_holds(r, str_eq(r->key, "metadata.name") ? name : ns))
			return false;
	return true;
}

bool selection_has(const struct selection *s, const struct stored *obj)
{
	cleanup_json cJSON *doc = s->by_key ? NULL : stored_read(obj);

	return s->by_key ? has_key(s, obj->key) : selection_matches(s, doc);
}

/* ---- resourceVersion ------------------------------------------------------------- */

static int check_version(struct exchange *x)
{
	int64_t wanted, now = storage_version(x->server->storage);
	cJSON *details, *cause;

	if (str_int(&wanted, exchange_query(x, "resourceVersion"), 0, INT64_MAX,
		    IGNORED) ||
	    wanted <= now)
		return 0;
	details = cJSON_CreateObject();
	cause = cJSON_CreateObject();
	json_put_str(cause, "ResourceVersionTooLarge", "reason");
	json_put_str(cause, "Too large resource version", "message");
	cJSON_AddItemToArray(json_list(details, "causes"), cause);
	json_put_int(details, 1, "retryAfterSeconds");
	return exchange_refuse_details(
		x, 504, "Timeout", details,
		arena_printf(&x->arena,
			     "Timeout: Too large resource version: %lld, current: %lld",
			     (long long)wanted, (long long)now));
}

static void forbid(struct field_errors *errs, const char *field, const char *why)
{
	field_error_add(errs, FIELD_FORBIDDEN, field, NULL, "%s", why);
}

static void check_match_of_list(struct exchange *x, struct field_errors *errs)
{
	const char *match = exchange_query(x, "resourceVersionMatch");
	const char *version = exchange_query(x, "resourceVersion");
	cleanup_json cJSON *value = cJSON_CreateString(match);

	if (*match && !*version)
		forbid(errs, MATCH,
		       "resourceVersionMatch is forbidden unless resourceVersion "
		       "is provided");
	if (*match && *exchange_query(x, "continue"))
		forbid(errs, MATCH,
		       "resourceVersionMatch is forbidden when continue is provided");
	if (*match && !str_eq(match, "Exact") && !str_eq(match, NOT_OLDER))
		field_error_add(errs, FIELD_NOT_SUPPORTED, MATCH, value,
				"supported values: \"Exact\", \"NotOlderThan\", \"\"");
	if (str_eq(match, "Exact") && str_eq(version, "0"))
		forbid(errs, MATCH,
		       "resourceVersionMatch \"exact\" is forbidden for "
		       "resourceVersion \"0\"");
	if (map_get(&x->query, INITIAL))
		forbid(errs, INITIAL, "sendInitialEvents is forbidden for list");
}

static void check_match_of_watch(struct exchange *x, struct field_errors *errs)
{
	const char *match = exchange_query(x, "resourceVersionMatch");
	bool initial = map_get(&x->query, INITIAL);

	if (initial && !str_eq(match, NOT_OLDER))
		forbid(errs, MATCH,
		       "sendInitialEvents requires setting resourceVersionMatch "
		       "to NotOlderThan");
	if (*match && !initial)
		forbid(errs, MATCH,
		       "resourceVersionMatch is forbidden for watch unless "
		       "sendInitialEvents is provided");
}

int exchange_version_check(struct exchange *x, bool watch)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	const char *version = exchange_query(x, "resourceVersion");

	if (watch)
		check_match_of_watch(x, &errs);
	else
		check_match_of_list(x, &errs);
	if (errs.n)
		return exchange_invalid_of(x, "meta.k8s.io", "ListOptions", "", &errs);
	if (watch)
		return 0;
	if (*version && !str_eq(version, "0") && *exchange_query(x, "continue"))
		return exchange_refuse(x, 400, "BadRequest",
				       "specifying resource version is not allowed when "
				       "using continue");
	return check_version(x);
}

static int check_resource_version(struct exchange *x)
{
	const char *version = exchange_query(x, "resourceVersion");
	struct error err = { 0 };
	int64_t v;

	if (!*version || !str_int(&v, version, 0, INT64_MAX, &err))
		return 0;
	return exchange_refuse(x, 400, "BadRequest",
			       "resourceVersion: Invalid value: \"%s\": %s", version,
			       err.msg);
}

/* Old versions are not stored: answer 410 rather than another version's objects. */
static int check_exact(struct exchange *x)
{
	const char *match = exchange_query(x, "resourceVersionMatch");
	const char *version = exchange_query(x, "resourceVersion");
	int64_t wanted;

	if (!str_eq(match, "Exact") || str_int(&wanted, version, 1, INT64_MAX, IGNORED) ||
	    wanted == storage_version(x->server->storage))
		return 0;
	return exchange_refuse(x, 410, "Expired",
			       "The resourceVersion for the provided list is too old.");
}

/* ---- one ---------------------------------------------------------------------------- */

void read_get(struct exchange *x)
{
	cleanup_stored struct stored *found = storage_get(
		x->server->storage, exchange_key(x, x->resource, x->ns, x->name));
	enum form form;

	if (form_read(x, &form) || check_resource_version(x) || check_version(x))
		return;
	if (!found) {
		exchange_not_found(x);
		return;
	}
	if (form == FORM_WHOLE && !x->http->wants_doc) {
		exchange_text(x, 200, "application/json", found->text, found->len);
		buf_adds(&x->resp->body, "\n");
		return;
	}
	exchange_answer(x, 200, form_object(x, form, stored_read(found), true));
}

/* ---- list ------------------------------------------------------------------------ */

/* A continue token: {"v":VERSION,"k":KEY} in base64. */
static int read_token(struct exchange *x, const char **ret_after, int64_t *ret_version)
{
	const char *token = exchange_query(x, "continue");
	cleanup_buf struct buf text = { .max = MAX_TOKEN };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	const char *key;

	*ret_after = NULL;
	*ret_version = 0;
	if (!*token)
		return 0;
	if (base64_decode(&text, token, strlen(token), &err) ||
	    json_parse(&doc, text.data, text.len, &err))
		return exchange_refuse(x, 400, "BadRequest",
				       "continue key is not valid: %s", err.msg);
	key = json_str(doc, "k");
	if (!key || !str_starts(key, exchange_prefix(x)))
		return exchange_refuse(
			x, 400, "BadRequest",
			"continue key is not valid: it is of another list");
	*ret_after = arena_strdup(&x->arena, key);
	*ret_version = json_int(doc, 0, "v");
	return 0;
}

static const char *make_token(struct exchange *x, const char *key, int64_t version)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cleanup_buf struct buf text = { .max = MAX_TOKEN };
	cleanup_buf struct buf token = { .max = 2 * MAX_TOKEN };

	json_put_int(doc, version, "v");
	json_put_str(doc, key, "k");
	json_print(&text, doc);
	base64_encode(&token, text.data, text.len);
	buf_adds(&token, "");
	return arena_strdup(&x->arena, (char *)token.data);
}

static int read_limit(struct exchange *x, int64_t *ret)
{
	const char *limit = exchange_query(x, "limit");
	const char *timeout = exchange_query(x, "timeoutSeconds");
	struct error err = { 0 };
	int64_t v;

	*ret = 0;
	if (*limit && str_int(ret, limit, INT64_MIN, INT64_MAX, &err))
		return exchange_refuse(x, 400, "BadRequest", "limit: %s", err.msg);
	if (*ret < 0)
		*ret = 0;
	if (*timeout && str_int(&v, timeout, INT64_MIN, INT64_MAX, &err))
		return exchange_refuse(x, 400, "BadRequest", "timeoutSeconds: %s",
				       err.msg);
	if (check_resource_version(x))
		return -1;
	return exchange_version_check(x, false) || check_exact(x) ? -1 : 0;
}

static cJSON *new_list(struct exchange *x, int64_t version)
{
	cJSON *list = cJSON_CreateObject();

	json_put_str(list, arena_printf(&x->arena, "%sList", x->resource->kind), "kind");
	json_put_str(list, x->resource->api_version, "apiVersion");
	json_put_str(list, arena_printf(&x->arena, "%lld", (long long)version),
		     "metadata", "resourceVersion");
	if (resource_is(x->resource, RESOURCE_CUSTOM))
		json_put_str(list, "", "metadata", "continue");
	json_list(list, "items");
	return list;
}

/* As in an API server, items of lists have apiVersion and kind only if custom. */
static cJSON *list_item(const struct resource *r, cJSON *take_obj)
{
	if (!resource_is(r, RESOURCE_CUSTOM)) {
		json_del(take_obj, JSON_PATH("kind"));
		json_del(take_obj, JSON_PATH("apiVersion"));
	}
	return take_obj;
}

/* Append at most `limit` selected objects; returns how many of `found` were examined. */
static size_t add_page(struct exchange *x, cJSON *items, const struct stored_list *found,
		       const struct selection *selection, int64_t limit, bool whole)
{
	size_t n = 0, i;

	for (i = 0; i < found->n && (!limit || n < (size_t)limit); i++) {
		cJSON *obj = stored_read(found->list[i]);

		if (!selection_matches(selection, obj)) {
			cJSON_Delete(obj);
			continue;
		}
		cJSON_AddItemToArray(items, whole ? list_item(x->resource, obj) : obj);
		n++;
	}
	return i;
}

void read_list(struct exchange *x)
{
	cleanup_stored_list struct stored_list found = { 0 };
	struct selection selection;
	const char *after;
	size_t i;
	int64_t limit, first;
	enum form form;
	cJSON *list;

	if (form_read(x, &form) || selection_read(x, &selection) ||
	    read_limit(x, &limit) || read_token(x, &after, &first))
		return;
	/*
	 * All pages have the first's version and are as it was, unless it is too old. A
	 * watch from it reports later changes.
	 */
	if (!storage_list_at(x->server->storage, exchange_prefix(x), after,
			     first > 0 ? first : INT64_MAX, &found) &&
	    (first <= 0 || first > found.version))
		first = found.version;
	list = new_list(x, first);
	i = add_page(x, json_list(list, "items"), &found, &selection, limit,
		     form == FORM_WHOLE);
	if (i < found.n) {
		json_put_str(list, make_token(x, found.list[i - 1]->key, first),
			     "metadata", "continue");
		if (!selection.labels && !selection.fields)
			json_put_int(list, (int64_t)(found.n - i), "metadata",
				     "remainingItemCount");
	} else if (form != FORM_WHOLE) {
		json_del(list, JSON_PATH("metadata", "continue"));
	}
	list = form_list(x, form, list);
	exchange_answer(x, 200, list);
}
