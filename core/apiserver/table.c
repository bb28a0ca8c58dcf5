/* table.c - converts objects to Tables and to metadata (apiserver/exchange.h). */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/str.h"

#define META_V1 "meta.k8s.io/v1"

/* ---- Accept ---------------------------------------------------------------------- */

static const struct {
	const char *as;
	enum form form;
	bool list;
} forms[] = { { "Table", FORM_TABLE, false },
	      { "PartialObjectMetadata", FORM_META, false },
	      { "PartialObjectMetadataList", FORM_META, true } };

/* A parameter of a media type; "" when absent. */
static const char *parameter(struct arena *arena, const char *type, const char *name)
{
	char **parts = str_split(arena, type, ';', NULL);
	size_t len = strlen(name);

	for (parts++; *parts; parts++) {
		const char *part = str_trim(arena, *parts);

		if (str_starts(part, name) && part[len] == '=')
			return part + len + 1;
	}
	return "";
}

static bool form_of(struct arena *arena, const char *type, enum form *ret, bool *ret_list)
{
	bool json = str_starts(type, "application/json") || str_starts(type, "*/*") ||
		    str_starts(type, "application/*");

	if (!json)
		return false;
	*ret = FORM_WHOLE;
	if (!*parameter(arena, type, "as"))
		return true;
	if (!str_eq(parameter(arena, type, "g"), "meta.k8s.io") ||
	    !str_eq(parameter(arena, type, "v"), "v1"))
		return false;
	for (size_t i = 0; i < N_ELEMENTS(forms); i++)
		if (str_eq(parameter(arena, type, "as"), forms[i].as)) {
			*ret = forms[i].form;
			*ret_list = forms[i].list;
			return true;
		}
	return false;
}

static int bad_form(struct exchange *x, const char *why)
{
	return exchange_refuse(x, 406, "NotAcceptable", "you requested %s", why);
}

/* Check that the form suits the request: a list or one object; -1: answered. */
static int check_form(struct exchange *x, enum form form, bool of_list)
{
	static const char *const includes[] = { "", "Object", "Metadata", "None", NULL };
	const char *include = exchange_query(x, "includeObject");
	bool list = !*x->name && !str_eq(x->http->method, "POST") &&
		    !exchange_flag(x, "watch");

	if (form == FORM_META && list && !of_list)
		return bad_form(
			x, "PartialObjectMetadata, but the requested object is a list");
	if (form == FORM_META && !list && of_list)
		return bad_form(x, "PartialObjectMetadataList, but the requested object "
				   "is not a list");
	if (form == FORM_TABLE && !str_in(include, includes))
		return exchange_refuse(x, 400, "BadRequest",
				       "Unable to convert to Table as requested: "
				       "includeObject: Invalid value: \"%s\": must be "
				       "'Metadata', 'Object', 'None', or empty",
				       include);
	return 0;
}

int form_read(struct exchange *x, enum form *ret)
{
	const char *accept = httpd_header(x->http, "Accept");
	char **types = str_split(&x->arena, accept ? accept : "*/*", ',', NULL);
	bool list = false;

	for (; *types; types++)
		if (form_of(&x->arena, str_trim(&x->arena, *types), ret, &list))
			return check_form(x, *ret, list);
	return exchange_refuse(x, 406, "NotAcceptable",
			       "only the following media types are accepted: "
			       "application/json");
}

/* ---- cells -------------------------------------------------------------------------- */

static cJSON *text_cell(const char *text)
{
	return cJSON_CreateString(text ? text : "<none>");
}

static cJSON *age_cell(const char *time)
{
	char text[DURATION_TEXT_SIZE];
	int64_t seconds;

	if (!time || time_parse(&seconds, time, IGNORED))
		return cJSON_CreateString("<unknown>");
	return cJSON_CreateString(duration_age(clock_now() - seconds, text));
}

static cJSON *age(struct arena *arena, const cJSON *obj)
{
	return age_cell(meta_created(obj));
}

static cJSON *data_count(struct arena *arena, const cJSON *obj)
{
	return json_new_int(cJSON_GetArraySize(json_get(obj, "data")) +
			    cJSON_GetArraySize(json_get(obj, "binaryData")));
}

static cJSON *last_seen(struct arena *arena, const cJSON *obj)
{
	const char *time = json_str(obj, "series", "lastObservedTime");

	time = time ? time : json_str(obj, "lastTimestamp");
	return age_cell(time ? time : json_str(obj, "eventTime"));
}

static cJSON *event_count(struct arena *arena, const cJSON *obj)
{
	int64_t series = json_int(obj, 0, "series", "count");

	return json_new_int(series ? series : json_int(obj, 1, "count"));
}

static cJSON *first_seen(struct arena *arena, const cJSON *obj)
{
	const char *time = json_str(obj, "firstTimestamp");

	return age_cell(time ? time : json_str(obj, "eventTime"));
}

/* "trainjob/bert" */
static cJSON *involved(struct arena *arena, const cJSON *obj)
{
	const char *kind = json_str(obj, "involvedObject", "kind");
	const char *name = json_str(obj, "involvedObject", "name");
	char *text = arena_printf(arena, "%s/%s", kind ? kind : "", name ? name : "");

	for (char *c = text; *c && *c != '/'; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
	return cJSON_CreateString(text);
}

static cJSON *source(struct arena *arena, const cJSON *obj)
{
	const char *component = json_str(obj, "source", "component");
	const char *host = json_str(obj, "source", "host");

	if (!component)
		component = json_str(obj, "reportingComponent");
	return cJSON_CreateString(arena_printf(arena, "%s%s%s",
					       component ? component : "",
					       host ? ", " : "", host ? host : ""));
}

static bool has_condition(const cJSON *obj, const char *type)
{
	const cJSON *c =
		json_find_const(json_get(obj, "status", "conditions"), "type", type);

	return str_eq(json_str(c, "status"), "True");
}

static cJSON *completed(struct arena *arena, const cJSON *obj)
{
	return has_condition(obj, "Completed") ? cJSON_CreateString("True")
					       : cJSON_CreateNull();
}

static cJSON *ready(struct arena *arena, const cJSON *obj)
{
	const cJSON *c;
	int n = 0;

	json_each(c, json_get(obj, "status", "containerStatuses"))
		n += json_bool(c, false, "ready");
	return cJSON_CreateString(
		arena_printf(arena, "%d/%d", n,
			     cJSON_GetArraySize(json_get(obj, "spec", "containers"))));
}

static cJSON *restarts(struct arena *arena, const cJSON *obj)
{
	const cJSON *c;
	int64_t n = 0;

	json_each(c, json_get(obj, "status", "containerStatuses"))
		n += json_int(c, 0, "restartCount");
	return cJSON_CreateString(arena_printf(arena, "%lld", (long long)n));
}

static cJSON *pod_status(struct arena *arena, const cJSON *obj)
{
	const char *reason = json_str(obj, "status", "reason");
	const char *phase = json_str(obj, "status", "phase");
	const cJSON *c;

	json_each(c, json_get(obj, "status", "containerStatuses")) {
		const char *why = json_str(c, "state", "waiting", "reason");

		why = why ? why : json_str(c, "state", "terminated", "reason");
		reason = why ? why : reason;
	}
	if (meta_is_deleted(obj))
		return cJSON_CreateString("Terminating");
	return text_cell(reason ? reason : phase);
}

static cJSON *job_status(struct arena *arena, const cJSON *obj)
{
	static const char *const types[] = { "Complete", "Failed", "Suspended", NULL };

	for (const char *const *t = types; *t; t++)
		if (has_condition(obj, *t))
			return cJSON_CreateString(*t);
	return cJSON_CreateString("Running");
}

static cJSON *completions(struct arena *arena, const cJSON *obj)
{
	return cJSON_CreateString(arena_printf(
		arena, "%lld/%lld", (long long)json_int(obj, 0, "status", "succeeded"),
		(long long)json_int(obj, 1, "spec", "completions")));
}

static cJSON *duration(struct arena *arena, const cJSON *obj)
{
	const char *start = json_str(obj, "status", "startTime");
	const char *end = json_str(obj, "status", "completionTime");
	char text[DURATION_TEXT_SIZE];
	int64_t from, to = clock_now();

	if (!start || time_parse(&from, start, IGNORED) ||
	    (end && time_parse(&to, end, IGNORED)))
		return cJSON_CreateString("");
	return cJSON_CreateString(duration_age(to - from, text));
}

/* The texts of a list's elements, joined by commas; NULL: the list is empty. */
static const char *join(struct arena *arena, const cJSON *list,
			const char *(*text)(struct arena *arena, const cJSON *element))
{
	size_t n = 0, max = (size_t)cJSON_GetArraySize(list);
	const char **texts = arena_alloc(arena, (max + 1) * sizeof(*texts));
	const cJSON *element;

	json_each(element, list) {
		texts[n] = text(arena, element);
		texts[n] = texts[n] ? texts[n] : "";
		n++;
	}
	return n ? str_join(arena, texts, ",") : NULL;
}

static const cJSON *job_containers(const cJSON *job)
{
	return json_get(job, "spec", "template", "spec", "containers");
}

static const char *name_of(struct arena *arena, const cJSON *container)
{
	return json_str(container, "name");
}

static cJSON *containers(struct arena *arena, const cJSON *obj)
{
	const char *all = join(arena, job_containers(obj), name_of);

	return cJSON_CreateString(all ? all : "");
}

static const char *image_of(struct arena *arena, const cJSON *container)
{
	return json_str(container, "image");
}

static cJSON *images(struct arena *arena, const cJSON *obj)
{
	const char *all = join(arena, job_containers(obj), image_of);

	return cJSON_CreateString(all ? all : "");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a=1,b=2", as apimachinery's labels.Set prints it */
static cJSON *label_cell(struct arena *arena, const cJSON *labels)
{
	size_t n = 0, max = (size_t)cJSON_GetArraySize(labels);
	const char **texts = arena_alloc(arena, (max + 1) * sizeof(*texts));
	const cJSON *label;

	json_each(label, labels)
		texts[n++] = arena_printf(arena, "%s=%s", label->string,
					  cJSON_GetStringValue(label));
	texts[n] = NULL;
	qsort(texts, n, sizeof(*texts), by_text);
	return text_cell(n ? str_join(arena, texts, ",") : NULL);
}

static cJSON *selector(struct arena *arena, const cJSON *obj)
{
	return label_cell(arena, json_get(obj, "spec", "selector", "matchLabels"));
}

static cJSON *service_selector(struct arena *arena, const cJSON *obj)
{
	return label_cell(arena, json_get(obj, "spec", "selector"));
}

static const char *text_of(struct arena *arena, const cJSON *element)
{
	return cJSON_GetStringValue(element);
}

/* As getServiceExternalIP() of pkg/printers/internalversion, without load balancers. */
static cJSON *external_ip(struct arena *arena, const cJSON *obj)
{
	const char *type = json_str(obj, "spec", "type"), *all;

	if (str_eq(type, "ExternalName"))
		return text_cell(json_str(obj, "spec", "externalName"));
	all = join(arena, json_get(obj, "spec", "externalIPs"), text_of);
	return text_cell(!all && str_eq(type, "LoadBalancer") ? "<pending>" : all);
}

/* "443:30443/TCP" */
static const char *port_of(struct arena *arena, const cJSON *port)
{
	const char *protocol = json_str(port, "protocol");
	int64_t node = json_int(port, 0, "nodePort");

	return arena_printf(arena, "%lld%s/%s", (long long)json_int(port, 0, "port"),
			    node ? arena_printf(arena, ":%lld", (long long)node) : "",
			    protocol ? protocol : "TCP");
}

static cJSON *ports(struct arena *arena, const cJSON *obj)
{
	return text_cell(join(arena, json_get(obj, "spec", "ports"), port_of));
}

static cJSON *cluster_ip(struct arena *arena, const cJSON *obj)
{
	return text_cell(json_str(obj, "spec", "clusterIP"));
}

static cJSON *pod_ip(struct arena *arena, const cJSON *obj)
{
	return text_cell(json_str(obj, "status", "podIP"));
}

static cJSON *pod_node(struct arena *arena, const cJSON *obj)
{
	return text_cell(json_str(obj, "spec", "nodeName"));
}

static cJSON *internal_ip(struct arena *arena, const cJSON *obj)
{
	const cJSON *list = json_get(obj, "status", "addresses");

	return text_cell(
		json_str(json_find_const(list, "type", "InternalIP"), "address"));
}

/* For columns that never have a value on this machine. */
static cJSON *no_value(struct arena *arena, const cJSON *obj)
{
	return text_cell(NULL);
}

static cJSON *node_status(struct arena *arena, const cJSON *obj)
{
	return cJSON_CreateString(has_condition(obj, "Ready") ? "Ready" : "NotReady");
}

static const struct cell {
	const char *name;
	cJSON *(*make)(struct arena *arena, const cJSON *obj);
} cells[] = {
	{ "age", age },
	{ "data", data_count },
	{ "last-seen", last_seen },
	{ "first-seen", first_seen },
	{ "count", event_count },
	{ "involved", involved },
	{ "source", source },
	{ "completed", completed },
	{ "ready", ready },
	{ "restarts", restarts },
	{ "pod-status", pod_status },
	{ "job-status", job_status },
	{ "completions", completions },
	{ "duration", duration },
	{ "containers", containers },
	{ "images", images },
	{ "selector", selector },
	{ "service-selector", service_selector },
	{ "cluster-ip", cluster_ip },
	{ "external-ip", external_ip },
	{ "ports", ports },
	{ "pod-ip", pod_ip },
	{ "pod-node", pod_node },
	{ "internal-ip", internal_ip },
	{ "none", no_value },
	{ "node-status", node_status },
};

static const cJSON *node_at(struct arena *arena, const cJSON *obj, const char *path)
{
	char **steps = str_split(arena, path + 1, '.', NULL);

	for (; obj && *steps; steps++)
		obj = json_member(obj, *steps);
	return cJSON_IsNull(obj) ? NULL : obj;
}

static cJSON *path_cell(struct arena *arena, const struct resource *r,
			const struct column *c, const cJSON *obj)
{
	const cJSON *value = node_at(arena, obj, c->path);
	char text[JSON_MAX_NUMBER + 1];

	if (value && str_eq(c->type, "date"))
		return age_cell(cJSON_GetStringValue(value));
	if (!value)
		return resource_is(r, RESOURCE_CUSTOM) ? cJSON_CreateNull()
						       : cJSON_CreateString("");
	if (cJSON_IsNumber(value) && !resource_is(r, RESOURCE_CUSTOM))
		return json_dup(value);
	if (cJSON_IsString(value))
		return cJSON_CreateString(value->valuestring);
	return cJSON_CreateString(json_scalar_text(value, text));
}

static cJSON *make_cell(struct arena *arena, const struct resource *r,
			const struct column *c, const cJSON *obj)
{
	for (size_t i = 0; i < N_ELEMENTS(cells); i++)
		if (str_eq(cells[i].name, c->path))
			return cells[i].make(arena, obj);
	return path_cell(arena, r, c, obj);
}

/* ---- tables ------------------------------------------------------------------------- */

static cJSON *metadata_only(cJSON *take_obj)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, "PartialObjectMetadata", "kind");
	json_put_str(doc, META_V1, "apiVersion");
	json_put(doc, json_dup(json_get(take_obj, "metadata")), "metadata");
	cJSON_Delete(take_obj);
	return doc;
}

static void add_row(struct exchange *x, cJSON *table, cJSON *take_obj)
{
	cleanup_arena struct arena arena = { 0 };
	const char *include = exchange_query(x, "includeObject");
	cJSON *row = cJSON_CreateObject();

	for (const struct column *c = x->resource->columns; c->name; c++)
		cJSON_AddItemToArray(json_list(row, "cells"),
				     make_cell(&arena, x->resource, c, take_obj));
	if (str_eq(include, "Object")) {
		json_put(row, take_obj, "object");
	} else if (str_eq(include, "None")) {
		json_put(row, cJSON_CreateNull(), "object");
		cJSON_Delete(take_obj);
	} else {
		json_put(row, metadata_only(take_obj), "object");
	}
	cJSON_AddItemToArray(json_list(table, "rows"), row);
}

static cJSON *new_table(const struct exchange *x, bool columns)
{
	cJSON *table = cJSON_CreateObject();

	json_put_str(table, "Table", "kind");
	json_put_str(table, META_V1, "apiVersion");
	json_obj(table, "metadata");
	json_list(table, "columnDefinitions");
	json_list(table, "rows");
	if (!columns)
		json_put(table, cJSON_CreateNull(), "columnDefinitions");
	for (const struct column *c = x->resource->columns; columns && c->name; c++) {
		cJSON *doc = cJSON_CreateObject();

		json_put_str(doc, c->name, "name");
		json_put_str(doc, c->type, "type");
		json_put_str(doc, c->format, "format");
		json_put_str(doc, c->description, "description");
		json_put_int(doc, c->priority, "priority");
		cJSON_AddItemToArray(json_list(table, "columnDefinitions"), doc);
	}
	return table;
}

cJSON *form_object(struct exchange *x, enum form form, cJSON *take_obj, bool first)
{
	cJSON *table;

	if (form == FORM_META)
		return metadata_only(take_obj);
	if (form == FORM_WHOLE)
		return take_obj;
	table = new_table(x, first);
	if (meta_version(take_obj))
		json_put_str(table, meta_version(take_obj), "metadata",
			     "resourceVersion");
	add_row(x, table, take_obj);
	return table;
}

cJSON *form_list(struct exchange *x, enum form form, cJSON *take_list)
{
	cJSON *items = json_list(take_list, "items");
	cJSON *out, *node;

	if (form == FORM_WHOLE)
		return take_list;
	if (form == FORM_TABLE) {
		out = new_table(x, true);
	} else {
		out = cJSON_CreateObject();
		json_put_str(out, "PartialObjectMetadataList", "kind");
		json_put_str(out, META_V1, "apiVersion");
	}
	json_put(out, json_dup(json_get(take_list, "metadata")), "metadata");
	if (form == FORM_META)
		json_list(out, "items");
	while (items->child) {
		node = cJSON_DetachItemViaPointer(items, items->child);
		if (form == FORM_TABLE)
			add_row(x, out, node);
		else
			cJSON_AddItemToArray(json_list(out, "items"),
					     metadata_only(node));
	}
	cJSON_Delete(take_list);
	return out;
}
