/* kinds.c - paths of kinds: of api/kinds.h, or by discovery, then cached (kube.h). */
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/kube_impl.h"

static const char *root_of(const char *api_version)
{
	return strchr(api_version, '/') ? "/apis/" : "/api/";
}

/* Find a kind in an APIResourceList. NULL: not served. */
static const cJSON *resource_of(const cJSON *list, const char *kind)
{
	const cJSON *r;

	json_each(r, json_get(list, "resources")) {
		const char *name = json_str(r, "name");

		if (name && !strchr(name, '/') && str_eq(json_str(r, "kind"), kind))
			return r;
	}
	return NULL;
}

/* *ret: the APIResourceList, the caller's; NULL: the group and version is not served. */
static int discover(struct kube *k, const char *api_version, cJSON **ret,
		    struct error *err)
{
	cleanup_buf struct buf path = { .max = 1000 };
	char *group = xstrdup(api_version), *slash = strchr(group, '/');

	if (slash)
		*slash = 0;
	buf_adds(&path, root_of(api_version));
	http_escape(&path, group);
	if (slash) {
		buf_adds(&path, "/");
		http_escape(&path, slash + 1);
	}
	free(group);
	if (buf_check(&path, "apiVersion", err))
		return -1;
	*ret = NULL;
	if (!kube_call(k, "GET", (char *)path.data, NULL, ret, err))
		return 0;
	return error_clear_if(err, ERR_NOT_FOUND);
}

int kube_serves(struct kube *k, const char *api_version, const char *kind, bool *ret,
		struct error *err)
{
	cleanup_json cJSON *list = NULL;

	if (discover(k, api_version, &list, err))
		return -1;
	*ret = resource_of(list, kind) != NULL;
	return 0;
}

/* One allocation: the strings lie behind the struct. */
static struct kind *new_kind(const char *api_version, const char *kind,
			     const char *plural, bool namespaced)
{
	size_t a = strlen(api_version) + 1, b = strlen(kind) + 1, c = strlen(plural) + 1;
	struct kind *ret = xcalloc(1, sizeof(*ret) + a + b + c);
	char *p = (char *)(ret + 1);

	ret->api_version = memcpy(p, api_version, a);
	ret->kind = memcpy(p + a, kind, b);
	ret->plural = memcpy(p + a + b, plural, c);
	ret->namespaced = namespaced;
	return ret;
}

static const struct kind *remember(struct kube *k, const char *key,
				   struct kind *take_kind)
{
	const struct kind *ret;

	pthread_mutex_lock(&k->lock);
	ret = map_get(&k->kinds, key);
	if (ret)
		free(take_kind);
	else
		map_put(&k->kinds, key, take_kind);
	ret = ret ? ret : take_kind;
	pthread_mutex_unlock(&k->lock);
	return ret;
}

static int find_kind(struct kube *k, const char *api_version, const char *kind,
		     const struct kind **ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *list = NULL;
	const struct kind *found;
	const cJSON *r;
	const char *key, *plural;

	if (!api_version || !kind || !*api_version || !*kind)
		return error_set(err, ERR_INVALID,
				 "the object has no apiVersion or kind");
	found = kind_find(api_version, kind);
	key = arena_printf(&arena, "%s/%s", api_version, kind);
	if (!found) {
		pthread_mutex_lock(&k->lock);
		found = map_get(&k->kinds, key);
		pthread_mutex_unlock(&k->lock);
	}
	if (!found) {
		if (discover(k, api_version, &list, err))
			return -1;
		r = resource_of(list, kind);
		plural = json_str(r, "name");
		if (!plural)
			return error_set(err, ERR_NOT_FOUND,
					 "the server has no kind %s in %s; is its "
					 "CustomResourceDefinition installed?",
					 kind, api_version);
		found = remember(k, key,
				 new_kind(api_version, kind, plural,
					  json_bool(r, false, "namespaced")));
	}
	*ret = found;
	return 0;
}

void kube_kinds_release(struct kube *k)
{
	map_release(&k->kinds, free);
}

/*
 * Append a name that apimachinery's IsValidPathSegmentName accepts. Others, escaped or
 * not, lead a proxy or the API server to another path, and no object has one:
 * ERR_NOT_FOUND.
 */
static int add_name(struct buf *path, const char *plural, const char *name,
		    struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || strpbrk(name, "/%"))
		return error_set(err, ERR_NOT_FOUND,
				 "%s: invalid name \"%s\": it must not be empty, . or "
				 ".., nor contain / or %%",
				 plural, str_visible(&arena, name, true));
	buf_adds(path, "/");
	http_escape(path, name);
	return 0;
}

int kube_path(struct arena *arena, struct kube *k, const struct kube_ref *ref,
	      const char **ret, struct error *err)
{
	cleanup_buf struct buf path = { .max = 4000 };
	const struct kind *kind;
	const char *ns = ref->ns;

	if (find_kind(k, ref->api_version, ref->kind, &kind, err))
		return -1;
	if (!ns && ref->name)
		ns = k->config.ns;
	buf_adds(&path, root_of(ref->api_version));
	buf_adds(&path, ref->api_version);
	if (ns && kind->namespaced) {
		buf_adds(&path, "/namespaces");
		if (add_name(&path, "namespaces", ns, err))
			return -1;
	}
	buf_adds(&path, "/");
	http_escape(&path, kind->plural);
	if (ref->name && add_name(&path, kind->plural, ref->name, err))
		return -1;
	if (buf_check(&path, "path", err))
		return -1;
	*ret = arena_strdup(arena, (char *)path.data);
	return 0;
}

const char *kube_what(struct arena *arena, struct kube *k, const char *verb,
		      const struct kube_ref *ref)
{
	const struct kind *kind;
	const char *group = api_group(arena, ref->api_version);
	const char *plural = "objects", *ns = ref->ns;

	if (!find_kind(k, ref->api_version, ref->kind, &kind, IGNORED)) {
		plural = kind->plural;
		ns = !kind->namespaced ? NULL : ns ? ns : ref->name ? k->config.ns : NULL;
	}
	return arena_printf(arena, "%s %s%s%s%s%s%s%s", verb, plural, *group ? "." : "",
			    group, ns || ref->name ? " " : "", ns ? ns : "",
			    ns && ref->name ? "/" : "", ref->name ? ref->name : "");
}

struct kube_ref kube_ref_of(const cJSON *obj)
{
	return (struct kube_ref){ meta_api_version(obj), meta_kind(obj),
				  meta_namespace(obj), meta_name(obj) };
}
