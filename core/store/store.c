#include "store/store.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "store/uri.h"

static const struct scheme *const schemes[] = {
	&scheme_file,  &scheme_gs,  &scheme_hf, &scheme_http,
	&scheme_https, &scheme_pvc, &scheme_s3,
};

enum { MAX_PART = 255, MAX_PATH_LENGTH = 4096 };

const char *store_env(const struct store_conf *conf, const char *name)
{
	const char *value = conf->env ? conf->env(conf->ctx, name) : NULL;

	return value && *value ? value : NULL;
}

int store_listing_add(struct store_listing *l, const struct store_object *o,
		      struct error *err)
{
	if (l->n == STORE_MAX_OBJECTS)
		return error_set(err, ERR_LIMIT,
				 "the place has more than %d files; give a part of it",
				 STORE_MAX_OBJECTS);
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->objects = xreallocarray(l->objects, l->cap, sizeof(*l->objects));
	}
	l->objects[l->n++] = *o;
	return 0;
}

void store_listing_release(struct store_listing *l)
{
	arena_clear(&l->arena);
	free(l->objects);
	*l = (struct store_listing){ 0 };
}

int scheme_find(const struct scheme **ret, const char *uri, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf known = { .max = 1000 };
	struct uri u;

	if (uri_parse(&u, &arena, uri, err))
		return -1;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		if (str_eq(u.scheme, schemes[i]->name)) {
			*ret = schemes[i];
			return 0;
		}
		buf_printf(&known, "%s%s://", i ? ", " : "", schemes[i]->name);
	}
	if (str_eq(u.scheme, "cache"))
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': cache:// comes with the data cache, which is not "
				 "built yet; give the data's own place",
				 uri_shown(&arena, uri));
	return error_set(err, ERR_UNSUPPORTED,
			 "'%s': there is no scheme '%s' here; there are %s",
			 uri_shown(&arena, uri), u.scheme, known.data);
}

/* NULL, or what is wrong with a part of a path. */
static const char *part_refusal(const char *part, size_t len)
{
	if (!len)
		return "a part of it is empty";
	if (len > MAX_PART)
		return "a part of it has more than 255 bytes";
	if (len == 1 && *part == '.')
		return "a part of it is '.'";
	if (len == 2 && !memcmp(part, "..", 2))
		return "a part of it is '..'";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)part[i] < ' ' || part[i] == 0x7f)
			return "it has a control character";
	return NULL;
}

int store_path_check(const char *path, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t len = strlen(path);
	const char *why = NULL;

	if (*path == '/')
		why = "it is absolute";
	else if (len > MAX_PATH_LENGTH)
		why = "it has more than 4096 bytes";
	else if (!utf8_valid(path, len))
		why = "it is not UTF-8";
	for (const char *part = path; !why && part;) {
		size_t n = strcspn(part, "/");

		why = part_refusal(part, n);
		part = part[n] ? part + n + 1 : NULL;
	}
	if (!why)
		return 0;
	return error_set(err, ERR_INVALID,
			 "the place has a file '%.300s' whose name is refused: %s",
			 str_visible(&arena, path, false), why);
}
