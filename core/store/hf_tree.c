#include "store/hf_tree.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

enum { SHA256_HEX = 64, SHA1_HEX = 40 };

static bool is_hex(const char *s, size_t len)
{
	return s && strlen(s) == len && strspn(s, "0123456789abcdef") == len;
}

static bool below(const char *path, const char *folder)
{
	const char *rest = *folder ? str_after(path, folder) : path;

	return rest && (!*folder || *rest == '/');
}

static bool wants(const struct hf_tree_want *w, const char *path)
{
	if (w->file ? !str_eq(path, w->file) : !below(path, w->folder))
		return false;
	return !w->wanted || w->wanted(w->ctx, path);
}

/* A file's sizes and sums are those of its contents: LFS's where there is that. */
static int add_file(struct store_listing *l, const cJSON *entry, const char *path,
		    struct error *err)
{
	const char *sha256 = json_str(entry, "lfs", "oid");
	const char *blob = json_str(entry, "oid");
	int64_t size =
		sha256 ? json_int(entry, -1, "lfs", "size") : json_int(entry, -1, "size");
	struct store_object o = { .size = size };

	if (size < 0 || size > STORE_MAX_SIZE)
		return error_set(err, ERR_FORMAT, "file '%.300s' has no size", path);
	if (sha256 ? !is_hex(sha256, SHA256_HEX) : !is_hex(blob, SHA1_HEX))
		return error_set(err, ERR_FORMAT,
				 "file '%.300s' has no SHA-256 and no "
				 "git blob id",
				 path);
	o.path = o.key = arena_strdup(&l->arena, path);
	o.digest = sha256 ? STORE_SHA256 : STORE_GIT_SHA1;
	o.sum = arena_strdup(&l->arena, sha256 ? sha256 : blob);
	return store_listing_add(l, &o, err);
}

static int add_entry(struct store_listing *l, const cJSON *entry,
		     const struct hf_tree_want *want, struct error *err)
{
	const char *type = json_str(entry, "type"), *path = json_str(entry, "path");

	if (!type || !path)
		return error_set(err, ERR_FORMAT, "an entry has no type or no path");
	if (!str_eq(type, "file") || !wants(want, path))
		return 0;
	if (store_path_check(path, err))
		return -1;
	return add_file(l, entry, path, err);
}

int hf_tree_page(struct store_listing *l, const void *data, size_t len,
		 const struct hf_tree_want *want, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	const cJSON *entry;

	if (json_parse(&doc, data, len, err))
		return -1;
	if (!cJSON_IsArray(doc))
		return error_set(err, ERR_FORMAT, "the answer is no list of files");
	json_each(entry, doc) {
		if (add_entry(l, entry, want, err))
			return -1;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct store_object *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int hf_tree_end(struct store_listing *l, struct error *err)
{
	if (l->n)
		qsort(l->objects, l->n, sizeof(*l->objects), by_path);
	for (size_t i = 1; i < l->n; i++)
		if (str_eq(l->objects[i - 1].path, l->objects[i].path))
			return error_set(err, ERR_FORMAT,
					 "the file '%.300s' is listed twice",
					 l->objects[i].path);
	return 0;
}

/* Is rel=next, rel="next" or rel="last next" among the parameters? */
static bool is_next(struct arena *arena, const char *params)
{
	char **list = str_split(arena, params, ';', NULL);

	for (; *list; list++) {
		char *p = str_trim(arena, *list);
		size_t len;

		if (strncasecmp(p, "rel=", 4))
			continue;
		p += 4;
		len = strlen(p);
		if (*p == '"' && len > 1 && p[len - 1] == '"') {
			p[len - 1] = 0;
			p++;
		}
		for (char **rel = str_split(arena, p, ' ', NULL); *rel; rel++)
			if (str_eq(*rel, "next"))
				return true;
	}
	return false;
}

const char *hf_tree_next(struct arena *arena, const char *link)
{
	cleanup_arena struct arena own = { 0 };

	while (link && (link = strchr(link, '<'))) {
		const char *url = link + 1, *end = strchr(url, '>');
		size_t len;

		if (!end)
			return NULL;
		len = strcspn(end + 1, ",");
		if (is_next(&own, str_slice(&own, end + 1, len)))
			return str_slice(arena, url, (size_t)(end - url));
		link = end + 1 + len;
	}
	return NULL;
}
