/*
 * file.c - file:///folder/or/file and pvc://claim/path: files of this machine.
 *
 * A claim is a folder of its name in PVC_ROOT (/mnt): where the pod mounts it. Links
 * to files are followed, links to folders are not (a loop never ends).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "store/store.h"
#include "store/uri.h"

enum { MAX_DEPTH = 64 };

struct store {
	struct arena arena;
	const char *root;
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

struct walk {
	struct store *s;
	bool (*wanted)(void *ctx, const char *name);
	void *ctx;
	struct store_listing *list;
	int depth;
};

static int new_store(struct store **ret, const struct store_conf *conf, const char *path)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->root = arena_strdup(&s->arena, path);
	s->say = conf->say;
	s->ctx = conf->ctx;
	*ret = s;
	return 0;
}

static int file_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *path = NULL;
	struct uri u;

	if (uri_parse(&u, &arena, conf->uri, err) ||
	    uri_decode(&path, &arena, u.path, err))
		return -1;
	if (*u.host && !str_eq(u.host, "localhost"))
		return error_set(err, ERR_INVALID,
				 "file://%s/...: only files of this machine: write "
				 "file:///%s/...",
				 u.host, u.host);
	return new_store(ret, conf, arena_printf(&arena, "/%s", path));
}

static int pvc_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *root = conf->env(conf->ctx, "PVC_ROOT"), *path = NULL, *claim;
	struct uri u;

	if (uri_parse(&u, &arena, conf->uri, err) ||
	    uri_decode(&path, &arena, u.path, err))
		return -1;
	while (str_ends(path, "/"))
		path = str_slice(&arena, path, strlen(path) - 1);
	if (!*u.host || store_path_check(u.host, err) ||
	    (*path && store_path_check(path, err)))
		return error_set(
			err, ERR_INVALID,
			"'%s' has to be pvc://CLAIM or pvc://CLAIM/PATH, without "
			"'..'",
			uri_shown(&arena, conf->uri));
	claim = path_join(&arena, root && *root ? root : "/mnt", u.host);
	if (!file_exists(claim))
		return error_set(err, ERR_NOT_FOUND,
				 "claim %s: there is no folder %s; mount the claim there "
				 "in the initializer's container (PVC_ROOT names another "
				 "folder than /mnt)",
				 u.host, claim);
	return new_store(ret, conf, *path ? path_join(&arena, claim, path) : claim);
}

static void note(const struct store *s, const char *path, const char *why)
{
	cleanup_arena struct arena arena = { 0 };

	if (s->say)
		s->say(s->ctx, arena_printf(&arena, "%s is left out: %s", path, why));
}

/* Names what the contents were: another size or time, another file. */
static const char *stamp(struct arena *arena, const struct stat *st)
{
	return arena_printf(arena, "\"%lld-%lld.%09ld\"", (long long)st->st_size,
			    (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static int add_file(struct walk *w, const char *full, const char *path,
		    const struct stat *st, struct error *err)
{
	struct arena *arena = &w->list->arena;
	struct store_object o = { .size = st->st_size };

	if (w->wanted && !w->wanted(w->ctx, path))
		return 0;
	if (store_path_check(path, err))
		return -1;
	o.path = arena_strdup(arena, path);
	o.key = arena_strdup(arena, full);
	o.etag = stamp(arena, st);
	return store_listing_add(w->list, &o, err);
}

static int walk(struct walk *w, const char *full, const char *path, struct error *err);

static int visit(struct walk *w, const char *full, const char *path, struct error *err)
{
	struct stat own, st;

	if (lstat(full, &own) || stat(full, &st)) {
		note(w->s, full, strerror(errno));
		return 0;
	}
	if (S_ISREG(st.st_mode))
		return add_file(w, full, path, &st, err);
	if (S_ISDIR(own.st_mode))
		return walk(w, full, path, err);
	note(w->s, full,
	     S_ISDIR(st.st_mode) ? "it is a link to a folder" : "it is no file");
	return 0;
}

static int walk(struct walk *w, const char *full, const char *path, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct dirent **names = NULL;
	int n, rc = 0;

	if (++w->depth > MAX_DEPTH)
		return error_set(err, ERR_LIMIT, "%s: folders are more than %d deep",
				 full, MAX_DEPTH);
	n = scandir(full, &names, NULL, alphasort);
	if (n < 0)
		return error_errno(err, errno, "%s", full);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (!rc && !str_eq(name, ".") && !str_eq(name, ".."))
			rc = visit(w, path_join(&arena, full, name),
				   *path ? path_join(&arena, path, name) : name, err);
		free(names[i]);
	}
	free(names);
	w->depth--;
	return rc;
}

static int file_list(struct store *s, bool (*wanted)(void *ctx, const char *name),
		     void *ctx, struct store_listing *ret, struct error *err)
{
	struct walk w = { .s = s, .wanted = wanted, .ctx = ctx, .list = ret };
	struct stat st;

	if (stat(s->root, &st))
		return error_errno(err, errno, "%s", s->root);
	if (S_ISREG(st.st_mode))
		return add_file(&w, s->root, path_base(s->root), &st, err);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is no file and no folder",
				 s->root);
	return walk(&w, s->root, "", err);
}

static int file_path(struct store *s, const struct store_object *o, struct arena *arena,
		     const char **ret, struct error *err)
{
	struct stat st;

	(void)s;
	if (stat(o->key, &st))
		return error_errno(err, errno, "%s", o->key);
	if (!str_eq(stamp(arena, &st), o->etag))
		return error_set(err, ERR_CONFLICT, "%s has changed meanwhile", o->key);
	*ret = o->key;
	return 0;
}

static void file_close(struct store *s)
{
	arena_clear(&s->arena);
	free(s);
}

const struct scheme scheme_file = {
	.name = "file",
	.open = file_open,
	.list = file_list,
	.local_path = file_path,
	.close = file_close,
};

const struct scheme scheme_pvc = {
	.name = "pvc",
	.open = pvc_open,
	.list = file_list,
	.local_path = file_path,
	.close = file_close,
};
