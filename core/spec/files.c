/* files.c - list directories, fetch URLs (spec/files.h). */
#include "spec/files.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/redirect.h"
#include "net/uri.h"

enum { ATTEMPTS = 3, PAUSE_MS = 1000, IDLE_MS = 60000 };

bool files_is_url(const char *path)
{
	return str_starts(path, "http://") || str_starts(path, "https://");
}

/* ---- directories ---- */

struct names {
	struct arena *arena;
	const char **list;
	size_t n, cap;
};

static int add_name(struct names *to, const char *name, struct error *err)
{
	if (to->n == FILES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d files", FILES_MAX);
	if (to->n == to->cap) {
		to->cap = to->cap ? 2 * to->cap : 64;
		to->list = xreallocarray(to->list, to->cap, sizeof(*to->list));
	}
	to->list[to->n++] = arena_strdup(to->arena, name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_names(struct names *ret, const char *dir, struct error *err)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	int failed = 0;

	if (!d)
		return error_errno(err, errno, "%s", dir);
	while (!failed && (e = dir_next(d)))
		if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
			failed = add_name(ret, e->d_name, err);
	if (!failed && errno)
		failed = error_set(err, ERR_IO, "%s", strerror(errno));
	closedir(d);
	if (!failed && ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_name);
	return failed ? error_wrap(err, "%s", dir) : 0;
}

static bool is_recognized(const char *name)
{
	static const char *const extensions[] = { ".json", ".yaml", ".yml", NULL };
	const char *dot = strrchr(name, '.');

	return dot && str_in(dot, extensions);
}

static int walk(struct names *files, const char *dir, bool recursive, struct error *err)
{
	struct names names = { .arena = files->arena };
	const char *slash = str_ends(dir, "/") ? "" : "/";
	int failed = read_names(&names, dir, err);

	for (size_t i = 0; i < names.n && !failed; i++) {
		const char *path =
			arena_printf(files->arena, "%s%s%s", dir, slash, names.list[i]);
		struct stat st;

		if (lstat(path, &st))
			failed = error_errno(err, errno, "%s", path);
		else if (S_ISDIR(st.st_mode))
			failed = recursive && walk(files, path, true, err) ? -1 : 0;
		else if (is_recognized(names.list[i]))
			failed = add_name(files, path, err);
	}
	free(names.list);
	return failed;
}

int files_in(struct arena *arena, const char *dir, bool recursive, const char ***ret,
	     struct error *err)
{
	struct names files = { .arena = arena };
	int failed = walk(&files, dir, recursive, err);

	if (!failed) {
		*ret = arena_alloc(arena, (files.n + 1) * sizeof(**ret));
		if (files.n)
			memcpy(*ret, files.list, files.n * sizeof(**ret));
	}
	free(files.list);
	return failed;
}

const char *const *files_matching(struct arena *arena, const char *pattern)
{
	const char **ret = NULL;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return NULL;
	if (found.gl_pathc <= FILES_MAX) {
		ret = arena_alloc(arena, (found.gl_pathc + 1) * sizeof(*ret));
		for (size_t i = 0; i < found.gl_pathc; i++)
			ret[i] = arena_strdup(arena, found.gl_pathv[i]);
	}
	globfree(&found);
	return ret;
}

/* ---- URLs ---- */

/* Make one attempt; *ret is the response after all redirects. */
static int get(struct http_client *http, const char *url, size_t max,
	       struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct redirect r = { .arena = &arena, .url = url };
	bool again = true;

	while (again) {
		const struct http_request req = {
			.method = "GET", .url = r.url, .idle_ms = IDLE_MS, .max_body = max
		};

		http_response_release(ret);
		if (http_do(http, &req, ret, err) ||
		    redirect_follow(&r, ret, &again, err))
			return -1;
	}
	return 0;
}

static bool is_transient(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT;
}

int files_fetch(struct buf *ret, const char *url, struct error *err)
{
	const struct http_conf conf = { .user_agent = "kftrainer/" VERSION };
	cleanup_http_response struct http_response answer = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct http_client *http = NULL;
	int failed;

	if (http_client_new(&http, &conf, err))
		return -1;
	for (int n = 1;; n++) {
		failed = get(http, url, ret->max, &answer, err);
		if (n == ATTEMPTS || (failed ? !is_transient(err) : answer.status < 500))
			break;
		if (stop_wait(PAUSE_MS))
			break;
	}
	http_client_free(http);
	if (failed)
		return -1;
	if (answer.status != 200)
		return error_set(err, ERR_IO, "unable to read URL \"%s\", status code=%d",
				 uri_shown(&arena, url), answer.status);
	buf_add(ret, answer.body.data, answer.body.len);
	return buf_check(ret, url, err);
}
