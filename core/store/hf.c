/*
 * hf.c - hf://: models and data sets of a Hugging Face hub; see scheme.h.
 *
 * The revision is resolved to a commit once, so that all files are of one commit. Files
 * keep their paths in the repository, even if the URI names a folder, as upstream leaves
 * them (its SDK expects /workspace/dataset/FOLDER). Files in Git LFS or Xet are on
 * another host, to which the hub redirects (for Xet: its bridge, which serves ranges);
 * the engine follows.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/uri.h"
#include "store/hf_hub.h"
#include "store/hf_put.h"
#include "store/hf_tree.h"
#include "store/hf_uri.h"
#include "store/scheme.h"

enum { MAX_PAGES = 20000, MAX_URL = 16 * 1024, MAX_COMMIT = 64 };

struct store {
	struct arena arena;
	struct hf_hub hub;
	struct hf_repo repo;
	const char *commit; /* NULL: not resolved yet */
	bool below;         /* of store_conf */
};

static void close_store(struct store *s)
{
	if (!s)
		return;
	arena_clear(&s->arena);
	free(s);
}

static int open_store(struct store **ret, const struct store_conf *conf,
		      struct error *err)
{
	struct store *s = xcalloc(1, sizeof(*s));

	if (hf_repo_parse(&s->repo, &s->arena, conf->uri, conf->model, err) ||
	    hf_hub_open(&s->hub, &s->arena, conf, err)) {
		close_store(s);
		return -1;
	}
	s->below = conf->below;
	*ret = s;
	return 0;
}

/* The real hub uses 40 hex digits, others differ. */
static bool is_commit(const char *sha)
{
	size_t len = sha ? strspn(sha, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
				       "NOPQRSTUVWXYZ")
			 : 0;

	return len && len <= MAX_COMMIT && !sha[len];
}

/*
 * Get the commit, and the new name of a renamed repository, once: a later listing is of the
 * same commit.
 */
static int pin(struct store *s, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_hf_page struct hf_page page = { 0 };
	cleanup_buf struct buf url = { .max = MAX_URL };
	cleanup_json cJSON *doc = NULL;
	const char *sha, *id;

	if (s->commit)
		return 0;
	buf_printf(&url, "%s/api/%s/%s/revision/", s->hub.endpoint, s->repo.kind,
		   s->repo.id);
	http_escape(&url, s->repo.revision);
	if (buf_check(&url, "the address", err) ||
	    hf_hub_get(&page, &s->hub, &s->repo, (const char *)url.data, err))
		return -1;
	if (json_parse(&doc, page.http.body.data, page.http.body.len, err))
		return error_wrap(err, "%s: response for %s", s->hub.host,
				  hf_repo_shown(&arena, &s->repo));
	sha = json_str(doc, "sha");
	if (!is_commit(sha))
		return error_set(err, ERR_FORMAT,
				 "%s: no commit for %s in the response; is it a hub?",
				 s->hub.host, hf_repo_shown(&arena, &s->repo));
	s->commit = arena_strdup(&s->arena, sha);
	id = json_str(doc, "id");
	if (id && hf_id_valid(id))
		s->repo.id = arena_strdup(&s->arena, id);
	return 0;
}

/* Read a page and put the next page's URL into `url`; empty after the last one. */
static int read_page(struct store *s, struct buf *url, const struct hf_tree_want *want,
		     struct store_listing *l, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_hf_page struct hf_page page = { 0 };

	if (hf_hub_get(&page, &s->hub, &s->repo, (const char *)url->data, err))
		return -1;
	if (hf_tree_page(l, page.http.body.data, page.http.body.len, want, err))
		return error_wrap(err, "listing %s at %s",
				  hf_repo_shown(&arena, &s->repo), s->hub.host);
	buf_clear(url);
	buf_adds(url, page.next ? page.next : "");
	return buf_check(url, "the address of the next page", err);
}

static int read_pages(struct store *s, struct buf *url, const struct hf_tree_want *want,
		      struct store_listing *l, struct error *err)
{
	for (int page = 0; url->len; page++) {
		if (page == MAX_PAGES)
			return error_set(err, ERR_LIMIT, "%s: listing exceeds %d pages",
					 s->hub.host, MAX_PAGES);
		if (read_page(s, url, want, l, err))
			return -1;
	}
	return 0;
}

static int read_tree(struct store *s, const char *folder, bool recursive,
		     struct hf_tree_want want, struct store_listing *l, struct error *err)
{
	cleanup_buf struct buf url = { .max = MAX_URL };
	struct hf_tree_walk walk = { 0 };
	int rc;

	buf_printf(&url, "%s/api/%s/%s/tree/%s%s", s->hub.endpoint, s->repo.kind,
		   s->repo.id, s->commit, *folder ? "/" : "");
	http_escape_path(&url, folder);
	buf_printf(&url, "?recursive=%s&expand=False", recursive ? "True" : "False");
	if (buf_check(&url, "the address", err))
		return -1;
	want.walk = &walk;
	rc = read_pages(s, &url, &want, l, err);
	hf_tree_walk_release(&walk);
	return rc;
}

/* Find the file that the URI names, in the list of its parent folder. */
static int read_file(struct store *s, struct hf_tree_want want, struct store_listing *l,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *slash = strrchr(s->repo.folder, '/');
	const char *dir = slash ? str_slice(&arena, s->repo.folder,
					    (size_t)(slash - s->repo.folder))
				: "";

	want.file = s->repo.folder;
	return read_tree(s, dir, false, want, l, err);
}

/* "tree/main/dir" is of the address of a page. */
static const char *page_hint(const struct store *s, struct arena *arena)
{
	static const char *const shows[] = { "tree/", "blob/", "resolve/" };
	const char *dataset = str_eq(s->repo.kind, "datasets") ? "datasets/" : "";

	for (size_t i = 0; i < N_ELEMENTS(shows); i++)
		if (str_starts(s->repo.folder, shows[i]))
			return arena_printf(
				arena, ": did you mean %.300s?",
				str_visible(
					arena,
					hf_uri_of_page(arena,
						       arena_printf(arena, "%s%s/%s",
								    dataset, s->repo.id,
								    s->repo.folder)),
					false));
	return "";
}

static int read_all(struct store *s, const struct hf_tree_want *want,
		    struct store_listing *l, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *folder = s->repo.folder;
	struct error why = { 0 };
	bool is_folder = !read_tree(s, folder, true, *want, l, &why);

	if (!is_folder && (!*folder || why.kind != ERR_NOT_FOUND)) {
		*err = why;
		return -1;
	}
	if (*folder && !l->n && read_file(s, *want, l, &why) &&
	    why.kind != ERR_NOT_FOUND) {
		*err = why;
		return -1;
	}
	if (is_folder || l->n)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "%s: no such file or directory '%.300s' at commit %.12s%s",
			 hf_repo_shown(&arena, &s->repo),
			 str_visible(&arena, folder, false), s->commit,
			 page_hint(s, &arena));
}

/* If nothing has the URI's name, "%20" in it is decoded. */
static int read_named(struct store *s, struct hf_tree_want *want, struct store_listing *l,
		      struct error *err)
{
	const char *given = s->repo.folder, *decoded = NULL;
	int rc;

	want->folder = given;
	rc = read_all(s, want, l, err);
	if (!rc || err->kind != ERR_NOT_FOUND || !strchr(given, '%') ||
	    uri_decode(&decoded, &s->arena, given, IGNORED) ||
	    relpath_check(decoded, IGNORED))
		return rc;
	want->folder = s->repo.folder = decoded;
	rc = read_all(s, want, l, IGNORED);
	if (rc)
		s->repo.folder = given;
	return rc;
}

/* The URI's directory is removed from each path, or that of the file it names. */
static void cut_paths(const struct store *s, struct store_listing *l)
{
	const char *folder = s->repo.folder, *slash = strrchr(folder, '/');

	for (size_t i = 0; *folder && i < l->n; i++) {
		const char *rest = str_after(l->objects[i].path, folder);

		if (rest && *rest == '/')
			l->objects[i].path = rest + 1;
		else if (rest && slash)
			l->objects[i].path += slash + 1 - folder;
	}
}

static int list(struct store *s, bool (*wanted)(void *ctx, const char *name, bool named),
		void *ctx, struct store_listing *ret, struct error *err)
{
	struct hf_tree_want want = { .wanted = wanted, .ctx = ctx };
	struct store_listing l = { 0 };

	if (pin(s, err) || read_named(s, &want, &l, err) || hf_tree_end(&l, err)) {
		store_listing_release(&l);
		return -1;
	}
	if (s->below)
		cut_paths(s, &l);
	l.revision = arena_strdup(&l.arena, s->commit);
	*ret = l;
	return 0;
}

static int locate(struct store *s, const struct store_object *o, int refused,
		  struct arena *arena, struct store_call *ret, struct error *err)
{
	cleanup_buf struct buf url = { .max = MAX_URL };

	buf_printf(&url, "%s/resolve/%s/", hf_repo_page(arena, &s->hub, &s->repo),
		   s->commit);
	http_escape_path(&url, o->key);
	if (buf_check(&url, "the address", err))
		return -1;
	ret->url = arena_strdup(arena, (const char *)url.data);
	ret->headers = s->hub.headers;
	return 0;
}

/* The status is the hub's, or that of the host to which it redirects. */
static int explain(struct store *s, const struct store_object *o, int status,
		   const char *body, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct store_call call = { 0 };

	if (status != 401 && status != 403 && status != 404)
		return hf_hub_refused(&s->hub, &s->repo, status, "", "", err);
	if (locate(s, o, status, &arena, &call, err) ||
	    hf_hub_check_access(&s->hub, &s->repo, call.url, err))
		return -1;
	error_set(err, ERR_DENIED,
		  "%s grants access to this file, but the host it redirects to returns "
		  "%d; is a proxy in between? try again later",
		  s->hub.host, status);
	err->code = status;
	return -1;
}

static const char *base_uri(struct store *s, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", hf_repo_page(arena, &s->hub, &s->repo),
			    s->repo.folder);
}

const struct scheme scheme_hf = {
	.name = "hf",
	.default_allow = true,
	.open = open_store,
	.list = list,
	.locate = locate,
	.explain = explain,
	.base_uri = base_uri,
	.close = close_store,
	.put = hf_put,
};
