/* Reads the pages of a repository's file list; see hf_tree.h. */
#include "store/hf_tree.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

enum { SHA256_HEX = 64, SHA1_HEX = 40, MAX_EMPTY = 3 };

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
	return !w->wanted || w->wanted(w->ctx, path, w->file != NULL);
}

/*
 * Size and sum of the contents: LFS's for an LFS file. Other hubs may lack either; then
 * it is not verified.
 */
static int add_file(struct store_listing *l, const cJSON *entry, const char *path,
		    struct error *err)
{
	const char *lfs = json_str(entry, "lfs", "oid"), *blob = json_str(entry, "oid");
	const char *bare = lfs ? str_after(lfs, "sha256:") : NULL;
	struct store_object o = { .size = lfs ? json_int(entry, -1, "lfs", "size")
					      : json_int(entry, -1, "size") };

	if (o.size < -1 || o.size > STORE_MAX_SIZE)
		return error_set(err, ERR_FORMAT, "file '%.300s': invalid size %lld",
				 path, (long long)o.size);
	o.path = o.key = arena_strdup(&l->arena, path);
	lfs = bare ? bare : lfs;
	if (is_hex(lfs, SHA256_HEX)) {
		o.digest = STORE_SHA256;
		o.sum = arena_strdup(&l->arena, lfs);
	} else if (!lfs && is_hex(blob, SHA1_HEX)) {
		o.digest = STORE_GIT_SHA1;
		o.sum = arena_strdup(&l->arena, blob);
	}
	return store_listing_add(l, &o, err);
}

static int add_entry(struct store_listing *l, const cJSON *entry,
		     const struct hf_tree_want *want, struct error *err)
{
	const char *type = json_str(entry, "type"), *path = json_str(entry, "path");

	if (!type || !path)
		return error_set(err, ERR_FORMAT, "entry without type or path");
	if (!str_eq(type, "file") || !wants(want, path))
		return 0;
	return add_file(l, entry, path, err);
}

/* Detects endless listings: empty pages, or one that repeats. */
static int goes_on(struct hf_tree_walk *w, const cJSON *doc, struct error *err)
{
	const char *first = json_str(doc->child, "path");

	w->empty = first ? 0 : w->empty + 1;
	if (w->empty > MAX_EMPTY)
		return error_set(err, ERR_FORMAT,
				 "endless listing: too many empty pages");
	if (first && map_put(&w->firsts, first, w))
		return error_set(err, ERR_FORMAT, "endless listing: '%.300s' again",
				 first);
	return 0;
}

void hf_tree_walk_release(struct hf_tree_walk *w)
{
	map_release(&w->firsts, NULL);
}

int hf_tree_page(struct store_listing *l, const void *data, size_t len,
		 const struct hf_tree_want *want, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	const cJSON *entry;

	if (json_parse(&doc, data, len, err))
		return -1;
	if (!cJSON_IsArray(doc))
		return error_set(err, ERR_FORMAT, "not a list of files");
	if (want->walk && goes_on(want->walk, doc, err))
		return -1;
	json_each(entry, doc) {
		if (add_entry(l, entry, want, err))
			return -1;
	}
	return 0;
}

int hf_tree_end(struct store_listing *l, struct error *err)
{
	store_listing_sort(l);
	for (size_t i = 1; i < l->n; i++)
		if (str_eq(l->objects[i - 1].path, l->objects[i].path))
			return error_set(err, ERR_FORMAT, "file '%.300s' is listed twice",
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
