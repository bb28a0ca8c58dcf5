/* Parses hf:// URIs; see hf_uri.h. */
#include "store/hf_uri.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/relpath.h"
#include "base/str.h"
#include "net/uri.h"
#include "store/store.h"

enum { MAX_ID = 96, MAX_REVISION = 255 };

/* One side of the '/' in a repository's name. */
static bool name_valid(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > MAX_ID || strstr(name, "--") || strstr(name, ".."))
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return !strchr(".-", name[0]) && !strchr(".-", name[len - 1]) &&
	       !str_ends(name, ".git");
}

bool hf_id_valid(const char *id)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n;
	char **parts;

	if (strlen(id) > MAX_ID)
		return false;
	parts = str_split(&arena, id, '/', &n);
	return n <= 2 && name_valid(parts[0]) && (n == 1 || name_valid(parts[1]));
}

/* "spaces" and "buckets" have neither models nor data sets. */
static int take_kind(const char **kind, char ***parts, const char *shown,
		     struct error *err)
{
	static const char *const ours[] = { "models", "datasets", NULL };
	static const char *const others[] = { "spaces", "buckets", NULL };

	if (str_in(**parts, others))
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': not a model or dataset; use hf://org/name or "
				 "hf://datasets/org/name",
				 shown);
	if (!str_in(**parts, ours))
		return 0;
	*kind = **parts;
	++*parts;
	return 0;
}

/* The revision after '@'; refs/pr/1 has two more parts. */
static int take_revision(const char **revision, struct arena *arena, const char *text,
			 char ***parts, struct error *err)
{
	static const char *const refs[] = { "pr", "convert", NULL };
	char **p = *parts;

	if (str_eq(text, "refs") && p[0] && str_in(p[0], refs) && p[1]) {
		text = arena_printf(arena, "refs/%s/%s", p[0], p[1]);
		*parts += 2;
	}
	return uri_decode(revision, arena, text, err);
}

/* Cut the revision from a repository's name; NULL: none. */
static const char *cut_revision(char *name)
{
	static const char *const marks[] = { "@", "?revision=", NULL };

	for (const char *const *m = marks; *m; m++) {
		char *at = strstr(name, *m);

		if (!at)
			continue;
		*at = 0;
		return at + strlen(*m);
	}
	return NULL;
}

/* org/name@revision, or name@revision, at the beginning of the parts. */
static int take_id(struct hf_repo *r, struct arena *arena, char ***parts,
		   struct error *err)
{
	char *first = *(*parts)++, *last = first;
	const char *revision = cut_revision(first);

	if (!revision && **parts) {
		last = *(*parts)++;
		revision = cut_revision(last);
	}
	r->id = last == first ? first : arena_printf(arena, "%s/%s", first, last);
	return revision ? take_revision(&r->revision, arena, revision, parts, err) : 0;
}

static int revision_check(const char *revision, struct error *err)
{
	size_t len = strlen(revision);

	if (len && len <= MAX_REVISION && utf8_valid(revision, len))
		return 0;
	return error_set(err, ERR_INVALID,
			 "invalid revision after '@': expected a branch, tag or commit");
}

static int take_parts(struct hf_repo *r, struct arena *arena, const struct uri *u,
		      const char *shown, struct error *err)
{
	char **parts, *text = arena_printf(arena, "%s/%s", u->host, u->path);

	text[str_length_before(text, '/')] = 0;
	parts = str_split(arena, text, '/', NULL);
	if (take_kind(&r->kind, &parts, shown, err))
		return -1;
	if (!*parts || !**parts)
		return error_set(err, ERR_INVALID,
				 "'%s': no repository name: expected hf://org/name",
				 shown);
	if (take_id(r, arena, &parts, err))
		return error_wrap(err, "'%s'", shown);
	if (!hf_id_valid(r->id))
		return error_set(err, ERR_INVALID,
				 "'%s': invalid repository name: expected org/name, of "
				 "letters, digits, '.', '_' and '-'",
				 shown);
	r->folder = str_join(arena, (const char *const *)parts, "/");
	return 0;
}

int hf_repo_parse(struct hf_repo *ret, struct arena *arena, const char *uri, bool model,
		  struct error *err)
{
	struct hf_repo r = { .kind = model ? "models" : "datasets" };
	const char *shown;
	struct uri u;

	if (uri_parse(&u, arena, uri, err))
		return -1;
	/* Before '@' is a repository's name, not a user's. */
	shown = strchr(u.host, ':') ? uri_shown(arena, uri)
				    : arena_printf(arena, "hf://%s%s%s",
						   str_visible(arena, u.host, false),
						   *u.path ? "/" : "",
						   str_visible(arena, u.path, false));
	if (take_parts(&r, arena, &u, shown, err))
		return -1;
	if (!r.revision)
		r.revision = "main";
	if (revision_check(r.revision, err))
		return error_wrap(err, "'%s'", shown);
	if (*r.folder && relpath_check(r.folder, err))
		return error_set(err, ERR_INVALID, "'%s': invalid directory '%.300s'",
				 shown, str_visible(arena, r.folder, false));
	*ret = r;
	return 0;
}

const char *hf_uri_of_page(struct arena *arena, const char *path)
{
	static const char *const shows[] = { "tree", "blob", "resolve", "raw", NULL };
	static const char *const others[] = { "api",    "blog",   "collections", "docs",
					      "models", "papers", "spaces",      NULL };
	char **parts, *id, *text = arena_strdup(arena, path);
	bool dataset;

	text[str_length_before(text, '/')] = 0;
	parts = str_split(arena, text, '/', NULL);
	dataset = *parts && str_eq(*parts, "datasets");
	parts += dataset;
	if (!*parts || str_in(*parts, others))
		return NULL;
	id = *parts++;
	if (*parts && !str_in(*parts, shows))
		id = arena_printf(arena, "%s/%s", id, *parts++);
	if (!hf_id_valid(id))
		return NULL;
	id = arena_printf(arena, "hf://%s/%s", dataset ? "datasets" : "models", id);
	if (!*parts || !str_in(*parts, shows) || !parts[1])
		return id;
	if (!str_eq(*++parts, "main"))
		id = arena_printf(arena, "%s@%s", id, *parts);
	return *++parts ? arena_printf(arena, "%s/%s", id,
				       str_join(arena, (const char *const *)parts, "/"))
			: id;
}
