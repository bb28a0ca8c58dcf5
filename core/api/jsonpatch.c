/* jsonpatch.c - applies and makes JSON Patches (api/jsonpatch.h). */
#include "api/jsonpatch.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/str.h"

/* Limits of one patch: bytes that it copies, siblings that its steps pass. */
enum { MAX_COPY = 3 * 1024 * 1024, MAX_SIBLINGS = 20000000 };

/* "/a~1b" is the key "a/b". */
static char *unescape(struct arena *arena, const char *step)
{
	char *out = arena_strdup(arena, step), *to = out;

	for (const char *p = step; *p; p++) {
		*to++ = *p == '~' && p[1] == '1'   ? '/'
			: *p == '~' && p[1] == '0' ? '~'
						   : *p;
		p += *p == '~' && (p[1] == '0' || p[1] == '1');
	}
	*to = 0;
	return out;
}

struct run {
	struct arena arena;
	size_t passed; /* siblings passed so far */
};

static void run_release(struct run *run)
{
	arena_clear(&run->arena);
}
#define cleanup_run __attribute__((cleanup(run_release)))

struct place {
	cJSON *parent; /* NULL: the whole document */
	const char *step;
};

/* As Go's strconv.Atoi; a negative index counts from the end of n elements. */
static bool read_index(int *ret, const char *step, int n)
{
	int64_t i;

	if (*step == '+' && isdigit((unsigned char)step[1]))
		step++;
	if (str_int(&i, step, -n, n - 1, IGNORED))
		return false;
	*ret = (int)(i < 0 ? i + n : i);
	return true;
}

static cJSON *element(const cJSON *list, const char *step)
{
	int i;

	return read_index(&i, step, cJSON_GetArraySize(list))
		       ? cJSON_GetArrayItem(list, i)
		       : NULL;
}

static cJSON *child_at(const cJSON *parent, const char *step)
{
	return cJSON_IsArray(parent) ? element(parent, step) : json_member(parent, step);
}

/* ERR_INVALID: a part of the path does not exist. */
static int find(struct run *run, cJSON *doc, const char *path, struct place *ret,
		struct error *err)
{
	char **steps;

	*ret = (struct place){ 0 };
	if (!path || (*path && *path != '/'))
		return error_set(err, ERR_INVALID, "path: not a JSON pointer");
	if (!*path)
		return 0;
	steps = str_split(&run->arena, path + 1, '/', NULL);
	ret->parent = doc;
	for (; steps[1]; steps++) {
		run->passed += (size_t)cJSON_GetArraySize(ret->parent);
		ret->parent = child_at(ret->parent, unescape(&run->arena, *steps));
		if (!cJSON_IsObject(ret->parent) && !cJSON_IsArray(ret->parent))
			return error_set(err, ERR_INVALID,
					 "doc is missing path: \"%.200s\"", path);
	}
	run->passed += (size_t)cJSON_GetArraySize(ret->parent);
	if (run->passed > MAX_SIBLINGS)
		return error_set(
			err, ERR_LIMIT,
			"a JSON Patch with too many steps for a document of this size");
	ret->step = unescape(&run->arena, *steps);
	return 0;
}

static cJSON *node_at(const struct place *p, cJSON *doc)
{
	return p->parent ? child_at(p->parent, p->step) : doc;
}

static int missing(const char *path, struct error *err)
{
	return error_set(err, ERR_INVALID,
			 "unable to find the field \"%.200s\" of the document", path);
}

static int add(const struct place *p, const char *path, cJSON *take_value,
	       struct error *err)
{
	int i;

	if (cJSON_IsObject(p->parent)) {
		json_put(p->parent, take_value, p->step);
	} else if (cJSON_IsArray(p->parent) && str_eq(p->step, "-")) {
		cJSON_AddItemToArray(p->parent, take_value);
	} else if (cJSON_IsArray(p->parent) &&
		   read_index(&i, p->step, cJSON_GetArraySize(p->parent) + 1)) {
		cJSON_InsertItemInArray(p->parent, i, take_value);
	} else {
		cJSON_Delete(take_value);
		return missing(path, err);
	}
	return 0;
}

/* A member need not exist; an element must. */
static int replace(cJSON **doc, const struct place *p, const char *path,
		   cJSON *take_value, struct error *err)
{
	cJSON *node = node_at(p, *doc);

	if (cJSON_IsObject(p->parent))
		return add(p, path, take_value, err);
	if (!node) {
		cJSON_Delete(take_value);
		return missing(path, err);
	}
	if (p->parent) {
		cJSON_ReplaceItemViaPointer(p->parent, node, take_value);
	} else {
		cJSON_Delete(*doc);
		*doc = take_value;
	}
	return 0;
}

/* NULL: it does not exist, or is the whole document. */
static cJSON *detach(const struct place *p)
{
	cJSON *node = p->parent ? child_at(p->parent, p->step) : NULL;

	return node ? cJSON_DetachItemViaPointer(p->parent, node) : NULL;
}

/* The value of an operation, owned by the caller; NULL: err has the cause. */
static cJSON *value_of(struct run *run, cJSON **doc, const cJSON *step, struct error *err)
{
	const char *op = json_str(step, "op"), *from = json_str(step, "from");
	struct place p;
	cJSON *node = NULL;

	if (!str_eq(op, "move") && !str_eq(op, "copy")) {
		node = json_dup(json_member(step, "value"));
		return node ? node : cJSON_CreateNull();
	}
	if (find(run, *doc, from, &p, err))
		return NULL;
	if (str_eq(op, "move"))
		node = detach(&p);
	else if (p.parent)
		node = json_dup(child_at(p.parent, p.step));
	if (!node && str_eq(op, "copy") && cJSON_IsObject(p.parent))
		node = cJSON_CreateNull();
	if (!node)
		missing(from, err);
	return node;
}

static int remove_at(const struct place *p, const char *path, struct error *err)
{
	cJSON *node = detach(p);

	if (!node)
		return missing(path, err);
	cJSON_Delete(node);
	return 0;
}

/* Treat an absent member as null; an absent element is an error. */
static int test(cJSON *doc, const struct place *p, const char *path, const cJSON *want,
		struct error *err)
{
	const cJSON *node = node_at(p, doc);
	bool none = !node || cJSON_IsNull(node), wanted = want && !cJSON_IsNull(want);

	if (!node && cJSON_IsArray(p->parent))
		return missing(path, err);
	if (none ? !wanted : json_equal(node, want))
		return 0;
	return error_set(err, ERR_INVALID, "testing value %.200s failed", path);
}

/* Limit the depth of the result: steps may add below values that steps added. */
static int check_depth(const char *path, const cJSON *value, struct error *err)
{
	int levels = 0;

	for (const char *p = path; *p; p++)
		levels += *p == '/';
	if (!json_is_deeper(value, JSON_MAX_DEPTH - levels))
		return 0;
	return error_set(err, ERR_LIMIT,
			 "a JSON Patch nests values deeper than %d levels",
			 JSON_MAX_DEPTH);
}

static int do_step(struct run *run, cJSON **doc, const cJSON *step, struct error *err)
{
	static const char *const ops[] = { "add",  "remove", "replace", "move",
					   "copy", "test",   NULL };
	const char *op = json_str(step, "op"), *path = json_str(step, "path");
	struct place p;
	cJSON *value;

	if (!op || !str_in(op, ops))
		return error_set(err, ERR_INVALID, "unexpected operation \"%.60s\"",
				 op ? op : "");
	if (find(run, *doc, path, &p, err))
		return -1;
	if (str_eq(op, "remove"))
		return remove_at(&p, path, err);
	if (str_eq(op, "test"))
		return test(*doc, &p, path, json_member(step, "value"), err);
	value = value_of(run, doc, step, err);
	if (!value)
		return -1;
	if (check_depth(path, value, err) ||
	    (str_eq(op, "move") && find(run, *doc, path, &p, err))) {
		cJSON_Delete(value);
		return -1;
	}
	return str_eq(op, "replace") ? replace(doc, &p, path, value, err)
				     : add(&p, path, value, err);
}

int jsonpatch_apply(cJSON **doc, const cJSON *patch, struct error *err)
{
	cleanup_run struct run run = { 0 };
	const cJSON *step;
	size_t copied = 0;

	if (!cJSON_IsArray(patch))
		return error_set(err, ERR_FORMAT, "a JSON Patch is a list of operations");
	if (cJSON_GetArraySize(patch) > JSONPATCH_MAX_STEPS)
		return error_set(
			err, ERR_LIMIT,
			"The allowed maximum operations in a JSON patch is %d, got %d",
			JSONPATCH_MAX_STEPS, cJSON_GetArraySize(patch));
	json_each(step, patch) {
		if (!cJSON_IsObject(step))
			return error_set(err, ERR_FORMAT,
					 "a JSON Patch is a list of operations");
		if (do_step(&run, doc, step, err))
			return -1;
		if (str_eq(json_str(step, "op"), "copy")) {
			cleanup_free char *text = json_text(*doc);

			copied += strlen(text);
			if (copied > MAX_COPY * (size_t)10 || strlen(text) > MAX_COPY)
				return error_set(err, ERR_LIMIT,
						 "a JSON Patch copies over %d bytes",
						 MAX_COPY);
		}
	}
	return 0;
}

/* ---- what makes one of the other ---- */

struct diff {
	cJSON *ops;
	struct buf path; /* RFC 6901 */
};

enum { PATH_MAX_BYTES = 65536 };

static void add_op(struct diff *d, const char *op, const cJSON *value)
{
	cJSON *step = cJSON_CreateObject();

	json_put_str(step, op, "op");
	json_put_str(step, d->path.data ? (const char *)d->path.data : "", "path");
	if (value)
		json_put(step, json_dup(value), "value");
	cJSON_AddItemToArray(d->ops, step);
}

/* Append a key to the path; returns the length to restore afterwards. */
static size_t enter(struct diff *d, const char *key)
{
	size_t len = d->path.len;

	buf_adds(&d->path, "/");
	for (; *key; key++)
		if (*key == '~')
			buf_adds(&d->path, "~0");
		else if (*key == '/')
			buf_adds(&d->path, "~1");
		else
			buf_add(&d->path, key, 1);
	return len;
}

static void leave(struct diff *d, size_t len)
{
	d->path.len = len;
	d->path.data[len] = 0;
}

static void diff(struct diff *d, const cJSON *before, const cJSON *after);

static void diff_objects(struct diff *d, const cJSON *before, const cJSON *after)
{
	cleanup_json_index struct json_index in_before = { .of = before };
	cleanup_json_index struct json_index in_after = { .of = after };
	const cJSON *child, *other;

	json_each(child, before) {
		size_t len = enter(d, child->string);

		other = json_index_get(&in_after, child->string);
		if (other)
			diff(d, child, other);
		else
			add_op(d, "remove", NULL);
		leave(d, len);
	}
	json_each(child, after) {
		size_t len;

		if (json_index_get(&in_before, child->string))
			continue;
		len = enter(d, child->string);
		add_op(d, "add", child);
		leave(d, len);
	}
}

static void diff_lists(struct diff *d, const cJSON *before, const cJSON *after)
{
	const cJSON *other = after->child, *child;
	size_t i = 0;

	json_each(child, before) {
		char index[24];
		size_t len;

		snprintf(index, sizeof(index), "%zu", i++);
		len = enter(d, index);
		diff(d, child, other);
		leave(d, len);
		other = other->next;
	}
}

static void diff(struct diff *d, const cJSON *before, const cJSON *after)
{
	if (cJSON_IsObject(before) && cJSON_IsObject(after))
		diff_objects(d, before, after);
	else if (cJSON_IsArray(before) && cJSON_IsArray(after) &&
		 cJSON_GetArraySize(before) == cJSON_GetArraySize(after))
		diff_lists(d, before, after);
	else if (!json_equal(before, after))
		add_op(d, "replace", after);
}

cJSON *jsonpatch_diff(const cJSON *before, const cJSON *after)
{
	struct diff d = { .ops = cJSON_CreateArray(), .path = { .max = PATH_MAX_BYTES } };

	diff(&d, before, after);
	buf_release(&d.path);
	return d.ops;
}
