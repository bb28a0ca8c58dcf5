/* Reads an Iceberg table's manifest lists and manifests: iceberg.h. */
#include <string.h>

#include "arrow/avro.h"
#include "arrow/iceberg_impl.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_FILES = 10000000, MAX_NAME = 16 * 1024 };

/* The field ids of spec.md: "Manifest Lists", "Manifests". */
enum {
	MANIFEST_PATH = 500,
	MANIFEST_LENGTH = 501,
	MANIFEST_SPEC = 502,
	MANIFEST_SEQUENCE = 515,
	MANIFEST_CONTENT = 517,
	MANIFEST_KEY = 519,
	ENTRY_STATUS = 0,
	ENTRY_FILE = 2,
	ENTRY_SEQUENCE = 3,
	FILE_PATH = 100,
	FILE_FORMAT = 101,
	FILE_PARTITION = 102,
	FILE_ROWS = 103,
	FILE_SIZE = 104,
	FILE_KEY = 131,
	FILE_CONTENT = 134,
	FILE_EQUALITY = 135,
};

enum { STATUS_EXISTING, STATUS_ADDED, STATUS_DELETED };

static int missing(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "an entry without a valid %s", what);
}

/* ---- members ---- */

static bool is_number(const struct avro_value *v)
{
	return v && (v->type->kind == AVRO_INT || v->type->kind == AVRO_LONG);
}

static int get_int(int64_t *ret, const struct avro_value *v, int32_t id, int64_t absent)
{
	const struct avro_value *m = avro_get(v, id);

	*ret = m ? m->number : absent;
	return m && !is_number(m) ? -1 : 0;
}

/* NULL: absent, or no string that can be a name. */
static const char *get_text(struct arena *arena, const struct avro_value *v, int32_t id)
{
	const struct avro_value *m = avro_get(v, id);

	if (!m || m->type->kind != AVRO_STRING || m->bytes.len > MAX_NAME ||
	    memchr(m->bytes.data, 0, m->bytes.len))
		return NULL;
	return str_slice(arena, (const char *)m->bytes.data, m->bytes.len);
}

static bool has_bytes(const struct avro_value *v, int32_t id)
{
	const struct avro_value *m = avro_get(v, id);

	return m && m->bytes.len;
}

static int encrypted(struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "encrypted tables cannot be read");
}

/* ---- manifest lists ---- */

static int add_manifest(struct iceberg *t, const struct avro_value *v, struct error *err)
{
	struct iceberg_manifest m = { .path = get_text(&t->arena, v, MANIFEST_PATH) };
	int64_t spec, content;

	if (!m.path)
		return missing(err, "manifest_path");
	if (get_int(&m.length, v, MANIFEST_LENGTH, -1) || m.length < 0 ||
	    get_int(&spec, v, MANIFEST_SPEC, 0) ||
	    get_int(&m.sequence, v, MANIFEST_SEQUENCE, 0) ||
	    get_int(&content, v, MANIFEST_CONTENT, 0))
		return missing(err, "manifest_length or partition_spec_id");
	if (content != 0 && content != 1)
		return error_set(err, ERR_UNSUPPORTED, "manifests of content %lld",
				 (long long)content);
	if (has_bytes(v, MANIFEST_KEY))
		return encrypted(err);
	m.spec = (int32_t)spec;
	m.deletes = content == 1;
	if (t->n_manifests == MAX_FILES)
		return error_set(err, ERR_LIMIT, "more than %d manifests", MAX_FILES);
	if (t->n_manifests == t->cap_manifests) {
		t->cap_manifests = t->cap_manifests ? 2 * t->cap_manifests : 64;
		t->manifests = xreallocarray(t->manifests, t->cap_manifests,
					     sizeof(*t->manifests));
	}
	t->manifests[t->n_manifests++] = m;
	return 0;
}

int iceberg_add_list(struct iceberg *t, struct bytes avro, struct error *err)
{
	cleanup_avro struct avro *a = NULL;
	const struct avro_value *v;

	if (avro_open(&a, avro, t->budget, err))
		return -1;
	for (;;) {
		if (avro_next(a, &v, err))
			return -1;
		if (!v)
			return 0;
		if (add_manifest(t, v, err))
			return -1;
	}
}

/* ---- manifests ---- */

static struct bytes copy(struct arena *arena, struct bytes b)
{
	uint8_t *p = arena_alloc(arena, b.len + 1);

	if (b.len)
		memcpy(p, b.data, b.len);
	return (struct bytes){ p, b.len };
}

static const struct iceberg_spec *find_spec(const struct iceberg *t, int32_t id)
{
	for (size_t i = 0; i < t->n_specs; i++)
		if (t->specs[i].id == id)
			return &t->specs[i];
	return NULL;
}

static struct project_constant constant(struct arena *arena, int32_t id,
					const struct avro_value *v)
{
	if (!v)
		return (struct project_constant){ .id = id, .null = true };
	return (struct project_constant){
		.id = id,
		.number = v->number,
		.real = v->real,
		.bytes = copy(arena, v->bytes),
	};
}

/* The same before and after the column became a double or a wider decimal. */
static struct bytes key_bytes(const struct avro_value *v)
{
	struct bytes b = v->bytes;

	if (v->type->kind == AVRO_FLOAT)
		return (struct bytes){ (const uint8_t *)&v->real, sizeof(v->real) };
	while (v->type->kind == AVRO_FIXED && b.len > 1 &&
	       b.data[0] == (b.data[1] & 128 ? 0xff : 0)) {
		b.data++;
		b.len--;
	}
	return b;
}

static void add_key(struct buf *key, const struct avro_value *v)
{
	const uint8_t there = v != NULL;
	struct bytes b;

	buf_add(key, &there, 1);
	if (!v)
		return;
	b = key_bytes(v);
	buf_add(key, &v->number, sizeof(v->number));
	buf_add(key, &b.len, sizeof(b.len));
	buf_add(key, b.data, b.len);
}

/* Read a file's partition: the values by the spec's fields. */
static int read_partition(struct iceberg *t, struct iceberg_file *f,
			  const struct iceberg_spec *spec, const struct avro_value *v,
			  struct error *err)
{
	cleanup_buf struct buf key = { .max = 16 << 20 };
	const struct avro_value *partition = avro_get(v, FILE_PARTITION);

	f->unpartitioned = !spec->n;
	f->constants = arena_alloc(&t->arena, (spec->n + 1) * sizeof(*f->constants));
	for (size_t i = 0; i < spec->n; i++) {
		const struct avro_value *value = avro_get(partition, spec->parts[i].id);

		if (value && (value->n || value->values))
			return missing(err, "partition");
		add_key(&key, value);
		if (spec->parts[i].identity)
			f->constants[f->n_constants++] =
				constant(&t->arena, spec->parts[i].source, value);
	}
	if (buf_check(&key, "the partition", err))
		return -1;
	f->partition = copy(&t->arena, (struct bytes){ key.data, key.len });
	return 0;
}

static int read_equality(struct iceberg *t, struct iceberg_file *f,
			 const struct avro_value *v, struct error *err)
{
	const struct avro_value *ids = avro_get(v, FILE_EQUALITY);

	if (f->content != ICEBERG_EQUALITY)
		return 0;
	if (!ids || ids->type->kind != AVRO_ARRAY || !ids->n)
		return missing(err, "equality_ids");
	f->equality = arena_alloc(&t->arena, ids->n * sizeof(*f->equality));
	for (size_t i = 0; i < ids->n; i++) {
		if (!is_number(&ids->values[i]))
			return missing(err, "equality_ids");
		f->equality[f->n_equality++] = (int32_t)ids->values[i].number;
	}
	return 0;
}

static int check_format(const struct iceberg_file *f, const char *format,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (format && !strcasecmp(format, "parquet"))
		return 0;
	if (format && !strcasecmp(format, "puffin"))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s: deletion vectors cannot be read; rewrite the "
				 "table's deletes as Parquet (format version 2)",
				 f->path);
	return error_set(err, ERR_UNSUPPORTED, "%s: format %.40s: expected Parquet",
			 f->path,
			 format ? str_visible(&arena, format, false) : "unknown");
}

static int read_file(struct iceberg *t, struct iceberg_file *f,
		     const struct avro_value *v, bool deletes, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t content;

	f->path = get_text(&t->arena, v, FILE_PATH);
	if (!f->path)
		return missing(err, "file_path");
	if (get_int(&f->rows, v, FILE_ROWS, -1) || f->rows < 0 ||
	    get_int(&f->size, v, FILE_SIZE, -1) || f->size < 0 ||
	    get_int(&content, v, FILE_CONTENT, 0))
		return missing(err, "record_count, file_size_in_bytes or content");
	if (content < ICEBERG_DATA || content > ICEBERG_EQUALITY ||
	    deletes != (content != ICEBERG_DATA))
		return error_set(err, ERR_UNSUPPORTED, "%s: content %lld", f->path,
				 (long long)content);
	f->content = (enum iceberg_content)content;
	if (check_format(f, get_text(&arena, v, FILE_FORMAT), err))
		return -1;
	if (has_bytes(v, FILE_KEY))
		return encrypted(err);
	return read_equality(t, f, v, err);
}

static struct iceberg_file *next_file(struct iceberg *t, struct error *err)
{
	if (t->n_files == MAX_FILES) {
		error_set(err, ERR_LIMIT, "more than %d files", MAX_FILES);
		return NULL;
	}
	if (t->n_files == t->cap_files) {
		size_t cap = t->cap_files ? 2 * t->cap_files : 64;
		size_t more = (cap - t->cap_files) * sizeof(*t->files);

		if (budget_take(t->budget, more, err))
			return NULL;
		t->taken += more;
		t->files = xreallocarray(t->files, cap, sizeof(*t->files));
		t->cap_files = cap;
	}
	t->files[t->n_files] = (struct iceberg_file){ 0 };
	return &t->files[t->n_files];
}

static int add_entry(struct iceberg *t, const struct iceberg_manifest *m,
		     const struct iceberg_spec *spec, const struct avro_value *v,
		     struct error *err)
{
	struct iceberg_file *f;
	int64_t status;

	if (get_int(&status, v, ENTRY_STATUS, -1) || status < 0)
		return missing(err, "status");
	if (status > STATUS_DELETED)
		return error_set(err, ERR_UNSUPPORTED, "an entry of status %lld",
				 (long long)status);
	if (status == STATUS_DELETED)
		return 0;
	f = next_file(t, err);
	if (!f)
		return -1;
	f->spec = spec->id;
	/* absent in version 1: older than any delete */
	if (get_int(&f->sequence, v, ENTRY_SEQUENCE,
		    status == STATUS_ADDED || !m->sequence ? m->sequence : -1) ||
	    f->sequence < 0)
		return missing(err, "sequence_number");
	if (read_file(t, f, avro_get(v, ENTRY_FILE), m->deletes, err) ||
	    read_partition(t, f, spec, avro_get(v, ENTRY_FILE), err))
		return -1;
	t->n_files++;
	return 0;
}

/* A manifest named directly by the metadata has its spec in its own header. */
static int32_t spec_of(const struct iceberg_manifest *m, const struct avro *a)
{
	const char *text = avro_meta(a, "partition-spec-id");
	int64_t id = 0;

	if (m->spec < 0 && text && str_int(&id, text, 0, INT32_MAX, IGNORED))
		id = 0;
	return m->spec < 0 ? (int32_t)id : m->spec;
}

int iceberg_add_manifest(struct iceberg *t, size_t i, struct bytes avro,
			 struct error *err)
{
	const struct iceberg_manifest *m = &t->manifests[i];
	cleanup_avro struct avro *a = NULL;
	const struct iceberg_spec *spec;
	const struct avro_value *v;

	if (avro_open(&a, avro, t->budget, err))
		return -1;
	spec = find_spec(t, spec_of(m, a));
	if (!spec)
		return error_set(err, ERR_FORMAT, "partition spec %d is missing",
				 spec_of(m, a));
	for (;;) {
		if (avro_next(a, &v, err))
			return -1;
		if (!v)
			return 0;
		if (add_entry(t, m, spec, v, err))
			return -1;
	}
}
