/* Reads an Iceberg table's metadata file: iceberg.h. */
#include "arrow/iceberg.h"

#include <string.h>

#include "arrow/iceberg_impl.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_ITEMS = 100000, FIRST_PART = 1000 };

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "no valid Iceberg metadata: %s", what);
}

static int count(const cJSON *list, size_t *ret, const char *what, struct error *err)
{
	const cJSON *each;

	*ret = 0;
	json_each(each, list)
		++*ret;
	return *ret > MAX_ITEMS ? damaged(err, what) : 0;
}

/* ---- schemas and specs ---- */

static int read_schemas(struct iceberg *t, const cJSON *doc, struct error *err)
{
	const cJSON *list = json_member(doc, "schemas"), *each;
	const cJSON *only = json_member(doc, "schema");
	size_t n;

	if (count(list, &n, "schemas", err))
		return -1;
	t->schemas = arena_alloc(&t->arena, (n + 1) * sizeof(*t->schemas));
	json_each(each, list)
		if (iceberg_schema_read(&t->schemas[t->n_schemas++], &t->arena, each,
					err))
			return -1;
	if (!n && only &&
	    iceberg_schema_read(&t->schemas[t->n_schemas++], &t->arena, only, err))
		return -1;
	return t->n_schemas ? 0 : damaged(err, "no schema");
}

static struct iceberg_schema *find_schema(const struct iceberg *t, int64_t id)
{
	for (size_t i = 0; i < t->n_schemas; i++)
		if (t->schemas[i].id == id)
			return &t->schemas[i];
	return NULL;
}

static int read_spec(struct iceberg *t, struct iceberg_spec *s, const cJSON *fields,
		     struct error *err)
{
	const cJSON *each;
	size_t n;

	if (count(fields, &n, "partition specs", err))
		return -1;
	s->parts = arena_alloc(&t->arena, (n + 1) * sizeof(*s->parts));
	json_each(each, fields) {
		struct iceberg_part *p = &s->parts[s->n];

		p->source = (int32_t)json_int(each, -1, "source-id");
		p->id = (int32_t)json_int(each, FIRST_PART + (int64_t)s->n, "field-id");
		p->identity = str_eq(json_str(each, "transform"), "identity");
		if (!json_str(each, "transform") || p->source < 0)
			return error_set(
				err, ERR_UNSUPPORTED,
				"a partition field without a source column and a transform");
		s->n++;
	}
	return 0;
}

static int read_specs(struct iceberg *t, const cJSON *doc, struct error *err)
{
	const cJSON *list = json_member(doc, "partition-specs"), *each;
	size_t n;

	if (count(list, &n, "partition specs", err))
		return -1;
	t->specs = arena_alloc(&t->arena, (n + 1) * sizeof(*t->specs));
	json_each(each, list) {
		struct iceberg_spec *s = &t->specs[t->n_specs++];

		s->id = (int32_t)json_int(each, 0, "spec-id");
		if (read_spec(t, s, json_member(each, "fields"), err))
			return -1;
	}
	return n ? 0
		 : read_spec(t, &t->specs[t->n_specs++],
			     json_member(doc, "partition-spec"), err);
}

static int read_names(struct iceberg *t, const cJSON *doc, struct error *err)
{
	const char *text = json_str(doc, "properties", "schema.name-mapping.default");

	if (text && json_parse(&t->names, text, strlen(text), err))
		return error_wrap(err, "schema.name-mapping.default");
	return 0;
}

/* ---- snapshots ---- */

static const cJSON *find_snapshot(const cJSON *doc, int64_t id)
{
	const cJSON *each;
	int64_t has;

	json_each(each, json_member(doc, "snapshots")) {
		if (json_int_of(json_member(each, "snapshot-id"), &has) && has == id)
			return each;
	}
	return NULL;
}

static int unknown_snapshot(const cJSON *doc, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf known = { .max = 300 };
	const cJSON *each;
	int64_t id;

	json_each(each, json_member(doc, "refs"))
		if (each->string)
			buf_printf(&known, "%s%.60s", known.len ? ", " : "",
				   str_visible(&arena, each->string, false));
	json_each(each, json_member(doc, "snapshots"))
		if (json_int_of(json_member(each, "snapshot-id"), &id))
			buf_printf(&known, "%s%lld", known.len ? ", " : "",
				   (long long)id);
	return error_set(err, ERR_NOT_FOUND, "no snapshot '%s': expected one of %s", name,
			 known.len ? (const char *)known.data : "none");
}

/* The current snapshot's without a name. *ret -1: it has none. */
static int snapshot_id(const cJSON *doc, const cJSON *ref, const char *name, int64_t *ret,
		       struct error *err)
{
	const cJSON *current = json_member(doc, "current-snapshot-id");

	*ret = -1;
	if (ref)
		*ret = json_int(ref, -1, "snapshot-id");
	else if (name && str_int(ret, name, 0, INT64_MAX, IGNORED))
		return unknown_snapshot(doc, name, err);
	else if (!name && current && !cJSON_IsNull(current) && !json_int_of(current, ret))
		return damaged(err, "current-snapshot-id is not an integer");
	return 0;
}

/* A branch has the table's schema; a tag and a snapshot have their own. */
static int choose(struct iceberg *t, const cJSON *doc, const char *name,
		  const cJSON **ret, struct error *err)
{
	const cJSON *refs = json_member(doc, "refs");
	const cJSON *ref = name && refs ? json_member(refs, name) : NULL;
	int64_t id, own;

	if (snapshot_id(doc, ref, name, &id, err))
		return -1;
	*ret = id == -1 ? NULL : find_snapshot(doc, id);
	if (!*ret && name)
		return unknown_snapshot(doc, name, err);
	if (!*ret && id != -1)
		return damaged(err, "the current snapshot is missing");
	own = json_int(*ret, -1, "schema-id");
	if (name && own >= 0 && !str_eq(json_str(ref, "type"), "branch")) {
		t->schema = find_schema(t, own);
		return t->schema ? 0 : damaged(err, "the snapshot's schema is missing");
	}
	return 0;
}

static void name_snapshot(struct iceberg *t, const cJSON *doc, int64_t id)
{
	const cJSON *refs = json_member(doc, "refs"), *each;
	size_t n = 0, most = 2;

	json_each(each, refs)
		most++;
	t->snapshot = arena_alloc(&t->arena, most * sizeof(*t->snapshot));
	t->snapshot[n++] = arena_printf(&t->arena, "%lld", (long long)id);
	json_each(each, refs)
		if (each->string && json_int(each, -1, "snapshot-id") == id)
			t->snapshot[n++] = arena_strdup(&t->arena, each->string);
	t->snapshot[n] = NULL;
}

bool iceberg_is_snapshot(const struct iceberg *t, const char *name)
{
	return t->snapshot && str_in(name, t->snapshot);
}

/* Version 1 may name the manifests here. */
static int add_named(struct iceberg *t, const cJSON *list, struct error *err)
{
	const cJSON *each;
	size_t n;

	if (count(list, &n, "manifests", err))
		return -1;
	t->manifests = xcalloc(n + 1, sizeof(*t->manifests));
	json_each(each, list) {
		if (!cJSON_IsString(each))
			return damaged(err, "a manifest's name is not a string");
		t->manifests[t->n_manifests++] = (struct iceberg_manifest){
			.path = arena_strdup(&t->arena, each->valuestring),
			.length = -1,
			.spec = -1,
		};
	}
	return 0;
}

static int read_snapshot(struct iceberg *t, const cJSON *doc, const char *name,
			 struct error *err)
{
	const cJSON *snapshot = NULL;
	const char *list;

	t->schema = json_member(doc, "schemas")
			    ? find_schema(t, json_int(doc, -1, "current-schema-id"))
			    : t->schemas;
	if (!t->schema)
		return damaged(err, "the current schema is missing");
	if (choose(t, doc, name, &snapshot, err))
		return -1;
	if (!snapshot)
		return 0;
	name_snapshot(t, doc, json_int(snapshot, -1, "snapshot-id"));
	list = json_str(snapshot, "manifest-list");
	t->list = list ? arena_strdup(&t->arena, list) : NULL;
	if (!list && !json_member(snapshot, "manifests"))
		return damaged(err, "the snapshot has no manifest list");
	return list ? 0 : add_named(t, json_member(snapshot, "manifests"), err);
}

/* ---- all ---- */

static int read_doc(struct iceberg *t, const cJSON *doc, const char *snapshot,
		    struct error *err)
{
	int64_t version = json_int(doc, -1, "format-version");

	if (version < 1)
		return damaged(err, "no format-version");
	if (version > 2)
		return error_set(err, ERR_UNSUPPORTED,
				 "Iceberg format version %lld: expected 1 or 2",
				 (long long)version);
	t->version = (int)version;
	return read_schemas(t, doc, err) || read_specs(t, doc, err) ||
			       read_names(t, doc, err) ||
			       read_snapshot(t, doc, snapshot, err)
		       ? -1
		       : 0;
}

static bool is_gzip(struct bytes b)
{
	return b.len > 2 && b.data[0] == 0x1f && b.data[1] == 0x8b;
}

int iceberg_open(struct iceberg **ret, struct bytes json, const char *snapshot,
		 struct budget *budget, struct error *err)
{
	__attribute__((cleanup(block_free))) struct block plain = { 0 };
	cleanup_iceberg struct iceberg *t = xcalloc(1, sizeof(*t));
	cleanup_json cJSON *doc = NULL;
	size_t len = 0;

	t->budget = budget;
	if (is_gzip(json)) {
		if (codec_expand(&plain, &len, STREAM_GZIP, json, budget, err))
			return -1;
		json = (struct bytes){ plain.data, len };
	}
	if (json_parse(&doc, json.data, json.len, err) || read_doc(t, doc, snapshot, err))
		return -1;
	*ret = STEAL(t);
	return 0;
}

void iceberg_free(struct iceberg *t)
{
	if (!t)
		return;
	budget_give(t->budget, t->taken);
	cJSON_Delete(t->names);
	free(t->manifests);
	free(t->files);
	arena_clear(&t->arena);
	free(t);
}

const struct field *iceberg_columns(const struct iceberg *t, size_t *ret_n)
{
	*ret_n = t->schema->n;
	return t->schema->fields;
}

static const struct field *find_column(const struct iceberg_schema *s, int32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->fields[i].id == id)
			return &s->fields[i];
	return NULL;
}

const struct field *iceberg_field(const struct iceberg *t, int32_t id)
{
	const struct field *f = find_column(t->schema, id);

	for (size_t i = t->n_schemas; !f && i--;)
		f = find_column(&t->schemas[i], id);
	return f;
}

const char *iceberg_list(const struct iceberg *t)
{
	return t->list;
}

size_t iceberg_manifests(const struct iceberg *t, const struct iceberg_manifest **ret)
{
	*ret = t->manifests;
	return t->n_manifests;
}

const struct iceberg_file *iceberg_files(const struct iceberg *t, size_t *ret_n)
{
	*ret_n = t->n_files;
	return t->files;
}
