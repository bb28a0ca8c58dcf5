/* proto.c - reads objects and events of watches in protobuf (api/proto.h). */
#include "api/proto.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/protobuf.h"
#include "base/str.h"

#define MAGIC "k8s\0"

/* ---- k8s.io/api/core/v1 and apimachinery/pkg/apis/meta/v1, generated.proto ---- */

static const struct proto_field owner[] = {
	{ 1, PROTO_STRING, "kind", NULL },     { 3, PROTO_STRING, "name", NULL },
	{ 4, PROTO_STRING, "uid", NULL },      { 5, PROTO_STRING, "apiVersion", NULL },
	{ 6, PROTO_BOOL, "controller", NULL }, { 0 },
};
static const struct proto_field object_meta[] = {
	{ 1, PROTO_STRING, "name", NULL },
	{ 3, PROTO_STRING, "namespace", NULL },
	{ 5, PROTO_STRING, "uid", NULL },
	{ 6, PROTO_STRING, "resourceVersion", NULL },
	{ 8, PROTO_TIME, "creationTimestamp", NULL },
	{ 9, PROTO_TIME, "deletionTimestamp", NULL },
	{ 11, PROTO_MAP, "labels", NULL },
	{ 13, PROTO_LIST, "ownerReferences", owner },
	{ 0 },
};
static const struct proto_field waiting[] = {
	{ 1, PROTO_STRING, "reason", NULL },
	{ 2, PROTO_STRING, "message", NULL },
	{ 0 },
};
static const struct proto_field running[] = {
	{ 1, PROTO_TIME, "startedAt", NULL },
	{ 0 },
};
static const struct proto_field terminated[] = {
	{ 1, PROTO_INT, "exitCode", NULL },
	{ 2, PROTO_INT, "signal", NULL },
	{ 3, PROTO_STRING, "reason", NULL },
	{ 4, PROTO_STRING, "message", NULL },
	{ 5, PROTO_TIME, "startedAt", NULL },
	{ 6, PROTO_TIME, "finishedAt", NULL },
	{ 0 },
};
static const struct proto_field state[] = {
	{ 1, PROTO_OBJECT, "waiting", waiting },
	{ 2, PROTO_OBJECT, "running", running },
	{ 3, PROTO_OBJECT, "terminated", terminated },
	{ 0 },
};
static const struct proto_field container_status[] = {
	{ 1, PROTO_STRING, "name", NULL },       { 2, PROTO_OBJECT, "state", state },
	{ 3, PROTO_OBJECT, "lastState", state }, { 4, PROTO_BOOL, "ready", NULL },
	{ 5, PROTO_INT, "restartCount", NULL },  { 6, PROTO_STRING, "image", NULL },
	{ 9, PROTO_BOOL, "started", NULL },      { 0 },
};
static const struct proto_field condition[] = {
	{ 1, PROTO_STRING, "type", NULL },
	{ 2, PROTO_STRING, "status", NULL },
	{ 4, PROTO_TIME, "lastTransitionTime", NULL },
	{ 5, PROTO_STRING, "reason", NULL },
	{ 6, PROTO_STRING, "message", NULL },
	{ 0 },
};
static const struct proto_field pod_spec[] = {
	{ 10, PROTO_STRING, "nodeName", NULL },
	{ 0 },
};
static const struct proto_field pod_status[] = {
	{ 1, PROTO_STRING, "phase", NULL },
	{ 2, PROTO_LIST, "conditions", condition },
	{ 3, PROTO_STRING, "message", NULL },
	{ 4, PROTO_STRING, "reason", NULL },
	{ 8, PROTO_LIST, "containerStatuses", container_status },
	{ 10, PROTO_LIST, "initContainerStatuses", container_status },
	{ 0 },
};
const struct proto_field proto_pod[] = {
	{ 1, PROTO_OBJECT, "metadata", object_meta },
	{ 2, PROTO_OBJECT, "spec", pod_spec },
	{ 3, PROTO_OBJECT, "status", pod_status },
	{ 0 },
};
static const struct proto_field status[] = {
	{ 2, PROTO_STRING, "status", NULL },
	{ 3, PROTO_STRING, "message", NULL },
	{ 4, PROTO_STRING, "reason", NULL },
	{ 6, PROTO_INT, "code", NULL },
	{ 0 },
};
static const struct proto_field type_meta[] = {
	{ 1, PROTO_STRING, "apiVersion", NULL },
	{ 2, PROTO_STRING, "kind", NULL },
	{ 0 },
};

/* ---- messages ---- */

struct reading {
	size_t nodes; /* nodes so far */
};

static int take_string(struct arena *arena, const struct pb_field *from, const char **ret,
		       struct error *err)
{
	if (memchr(from->data, 0, from->len) || !utf8_valid(from->data, from->len))
		return error_set(err, ERR_FORMAT, "protobuf: invalid text");
	*ret = str_slice(arena, (const char *)from->data, from->len);
	return 0;
}

/* Fields 1 and 2, of bytes; empty if absent. */
static int take_two(struct pb_field ret[2], const void *data, size_t len,
		    struct error *err)
{
	struct pb_reader r = pb_read(data, len);
	struct pb_field f;
	int rc = 0;

	ret[0] = ret[1] = (struct pb_field){ .data = data };
	while (pb_more(&r) && !(rc = pb_next(&r, &f, err)))
		if (f.number <= 2 && f.data)
			ret[f.number - 1] = f;
	return rc;
}

/* A container's last words may hold NUL: U+FFFD, as kube_clean() makes it in JSON. */
static int put_string(cJSON *to, const char *name, const struct pb_field *from,
		      struct error *err)
{
	const char *at = (const char *)from->data, *end = at + from->len;
	cleanup_buf struct buf text = { .max = 3 * from->len + 1 };

	if (!utf8_valid(from->data, from->len))
		return error_set(err, ERR_FORMAT, "protobuf: invalid text");
	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		buf_add(&text, at, len);
		if (at + len < end)
			buf_adds(&text, "\xef\xbf\xbd");
		at += len + 1;
	}
	buf_adds(&text, "");
	if (text.len)
		json_put_str(to, (const char *)text.data, name);
	return 0;
}

static int put_text(cJSON *to, const char *name, const struct pb_field *from,
		    struct error *err)
{
	json_put_str(to, "", name);
	return put_string(to, name, from, err);
}

static int put_time(cJSON *to, const struct proto_field *as, const struct pb_field *from,
		    struct error *err)
{
	struct pb_reader r = pb_read(from->data, from->len);
	int64_t parts[] = { 0, 0 }; /* seconds, nanoseconds */
	char text[TIME_TEXT_SIZE];
	struct pb_field f;
	int rc = 0;

	while (pb_more(&r) && !(rc = pb_next(&r, &f, err)))
		if (f.number <= 2)
			parts[f.number - 1] = (int64_t)f.value;
	if (rc || !from->len)
		return rc;
	if (as->type == PROTO_TIME)
		time_text(parts[0], text);
	else
		time_micro_text(parts[0], parts[1] / 1000, text);
	json_put_str(to, text, as->name);
	return 0;
}

static const char *encoded(struct arena *arena, const struct pb_field *from)
{
	cleanup_buf struct buf text = { .max = 2 * JSON_MAX_BYTES };

	base64_encode(&text, from->data, from->len);
	return str_slice(arena, text.len ? (char *)text.data : "", text.len);
}

/* An entry of a map: 1 is its key, 2 its value. */
static int put_entry(cJSON *to, const struct proto_field *as, const struct pb_field *from,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key = "", *value = "";
	struct pb_field both[2];

	if (take_two(both, from->data, from->len, err) ||
	    take_string(&arena, &both[0], &key, err))
		return -1;
	if (as->type == PROTO_BYTES)
		value = encoded(&arena, &both[1]);
	else if (take_string(&arena, &both[1], &value, err))
		return -1;
	cJSON_AddItemToObject(json_obj(to, as->name), key, cJSON_CreateString(value));
	return 0;
}

static int put_item(cJSON *to, const char *name, const struct pb_field *from,
		    struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text;

	if (take_string(&arena, from, &text, err))
		return -1;
	cJSON_AddItemToArray(json_list(to, name), cJSON_CreateString(text));
	return 0;
}

/* {type, intVal, strVal}; type 0: an integer */
static int put_int_or_string(cJSON *to, const char *name, const struct pb_field *from,
			     struct error *err)
{
	struct pb_reader r = pb_read(from->data, from->len);
	struct pb_field all[3] = { { .data = from->data },
				   { .data = from->data },
				   { .data = from->data } },
			f;
	int rc = 0;

	while (pb_more(&r) && !(rc = pb_next(&r, &f, err)))
		if (f.number <= 3 && (f.number == 3) == !!f.data)
			all[f.number - 1] = f;
	if (rc)
		return rc;
	if (all[0].value)
		return put_text(to, name, &all[2], err);
	json_put_int(to, (int32_t)all[1].value, name);
	return 0;
}

static int put_json(cJSON *to, const char *name, const struct pb_field *from,
		    struct error *err)
{
	struct pb_field both[2];
	cJSON *doc;

	if (take_two(both, from->data, from->len, err) ||
	    (both[0].len && json_parse(&doc, both[0].data, both[0].len, err)))
		return -1;
	if (both[0].len)
		json_put(to, doc, name);
	return 0;
}

static int read_message(struct reading *r, cJSON *to, const struct pb_field *from,
			const struct proto_field *fields, struct error *err);

static int read_item(struct reading *r, cJSON *list, const struct pb_field *from,
		     const struct proto_field *fields, struct error *err)
{
	cJSON *item = cJSON_CreateObject();

	cJSON_AddItemToArray(list, item);
	return read_message(r, item, from, fields, err);
}

static void put_number(cJSON *to, const struct proto_field *f, uint64_t value)
{
	bool sparse = f->type == PROTO_NONZERO || f->type == PROTO_TRUE;

	if (sparse && !value)
		return;
	if (f->type == PROTO_BOOL || f->type == PROTO_TRUE)
		json_put_bool(to, value, f->name);
	else
		json_put_int(to, (int64_t)value, f->name);
}

static bool is_number(enum proto_type type)
{
	return type == PROTO_INT || type == PROTO_NONZERO || type == PROTO_BOOL ||
	       type == PROTO_TRUE;
}

static int put_field(struct reading *r, cJSON *to, const struct proto_field *f,
		     const struct pb_field *from, struct error *err)
{
	if (++r->nodes > JSON_MAX_NODES)
		return error_set(err, ERR_LIMIT, "protobuf: more than %d values",
				 JSON_MAX_NODES);
	if (is_number(f->type) != !from->data)
		return error_set(err, ERR_FORMAT, "protobuf: %s is of another type",
				 f->name);
	switch (f->type) {
	case PROTO_STRING:
		return put_string(to, f->name, from, err);
	case PROTO_TEXT:
		return put_text(to, f->name, from, err);
	case PROTO_TIME:
	case PROTO_MICRO_TIME:
		return put_time(to, f, from, err);
	case PROTO_MAP:
	case PROTO_BYTES:
		return put_entry(to, f, from, err);
	case PROTO_STRINGS:
		return put_item(to, f->name, from, err);
	case PROTO_INT_OR_STRING:
		return put_int_or_string(to, f->name, from, err);
	case PROTO_JSON:
		return put_json(to, f->name, from, err);
	case PROTO_OBJECT:
		return read_message(r, json_obj(to, f->name), from, f->fields, err);
	case PROTO_LIST:
		return read_item(r, json_list(to, f->name), from, f->fields, err);
	default:
		put_number(to, f, from->value);
		return 0;
	}
}

static int read_message(struct reading *r, cJSON *to, const struct pb_field *from,
			const struct proto_field *fields, struct error *err)
{
	struct pb_reader reader = pb_read(from->data, from->len);
	struct pb_field field;
	int rc = 0;

	while (pb_more(&reader) && !(rc = pb_next(&reader, &field, err))) {
		const struct proto_field *f = fields;

		while (f->number && f->number != field.number)
			f++;
		if (f->number && put_field(r, to, f, &field, err))
			return -1;
	}
	return rc;
}

/* ---- objects and events ---- */

bool proto_is_object(const void *data, size_t len)
{
	return len >= sizeof(MAGIC) - 1 && !memcmp(data, MAGIC, sizeof(MAGIC) - 1);
}

int proto_object(cJSON **ret, const void *data, size_t len,
		 const struct proto_field *fields, struct error *err)
{
	const uint8_t *at = data;
	struct pb_field unknown[2];
	struct reading r = { 0 };
	cleanup_json cJSON *obj = cJSON_CreateObject();

	if (!proto_is_object(data, len))
		return error_set(err, ERR_FORMAT, "not an object in protobuf");
	at += sizeof(MAGIC) - 1;
	len -= sizeof(MAGIC) - 1;
	if (take_two(unknown, at, len, err) ||
	    read_message(&r, obj, &unknown[0], type_meta, err))
		return -1;
	if (str_eq(json_str(obj, "kind"), "Status"))
		fields = status;
	if (fields && read_message(&r, obj, &unknown[1], fields, err))
		return -1;
	*ret = STEAL(obj);
	return 0;
}

size_t proto_length(const uint8_t head[PROTO_HEAD])
{
	return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 |
	       head[3];
}

int proto_event(cJSON **ret, const void *data, size_t len,
		const struct proto_field *fields, struct error *err)
{
	cleanup_json cJSON *event = cJSON_CreateObject();
	struct pb_field both[2], raw[2];
	cJSON *obj;

	if (take_two(both, data, len, err) || put_string(event, "type", &both[0], err) ||
	    take_two(raw, both[1].data, both[1].len, err) ||
	    proto_object(&obj, raw[0].data, raw[0].len, fields, err))
		return -1;
	json_put(event, obj, "object");
	*ret = STEAL(event);
	return 0;
}
