/* Decides what a workspace excludes; see exclude.h. */
#include "pack/exclude.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "pack/pack.h"

#define GIT_IGNORE_FILE ".gitignore"
#define GIT_OWN_FILE    ".git/info/exclude" /* of one clone; before all others */

/* Usual names of files with secrets; patterns as in gitignore(5). */
static const char keys[] = ".git\n"
			   ".env\n.env.*\n*.env\n"
			   "!.env.example\n!.env.sample\n!.env.template\n!.env.dist\n"
			   ".envrc\n"
			   ".netrc\n_netrc\n.git-credentials\n.pgpass\n.htpasswd\n"
			   ".pypirc\n.npmrc\n.dockercfg\n.vault-token\n"
			   ".ssh/\n.gnupg/\n.aws/\n.azure/\n.kube/\n.docker/\n"
			   "id_rsa\nid_dsa\nid_ecdsa\nid_ecdsa_sk\nid_ed25519\n"
			   "id_ed25519_sk\n"
			   "*.[kK][eE][yY]\n*.[pP][eE][mM]\n*.[pP]12\n*.[pP][fF][xX]\n"
			   "*.[pP][pP][kK]\n*.[pP]8\n*.pk8\n*.jks\n*.keystore\n*.kdbx\n"
			   "*.kubeconfig\nkubeconfig\nkubeconfig.yaml\nkubeconfig.yml\n"
			   /* of clouds, hubs, databases and trackers */
			   ".boto\n.s3cfg\nrclone.conf\n.oci/\n.config/gcloud/\n"
			   "application_default_credentials.json\n"
			   "service[-_]account*.json\nclient_secret*.json\n"
			   ".kaggle/\nkaggle.json\n.huggingface/\n**/huggingface/token\n"
			   "**/huggingface/stored_tokens\n**/.streamlit/secrets.toml\n"
			   ".my.cnf\n.databrickscfg\n.comet.config\n"
			   "*.tfstate\n*.tfstate.backup\n";

/* Folders that tools recreate by themselves, without anyone's code in them. */
static const char caches[] = "__pycache__/\n.ipynb_checkpoints/\nwandb/\n"
			     ".mypy_cache/\n.pytest_cache/\n.ruff_cache/\n";

/* ---- files of patterns ---- */

/* .kftrainerignore must be a regular file; git ignores anything else. */
static int add_rules(struct ignore *ig, int at, const char *file, const char *dir,
		     bool strict, struct error *err)
{
	cleanup_buf struct buf text = { .max = IGNORE_MAX_BYTES };
	cleanup_fd int fd =
		openat(at, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (fd < 0 || fstat(fd, &st))
		return error_errno(err, errno, "%s", file);
	if (!S_ISREG(st.st_mode))
		return strict ? error_set(err, ERR_INVALID, "%s: not a regular file",
					  file)
			      : 0;
	if (file_read_fd(&text, fd, file, err))
		return -1;
	if (ignore_add(ig, dir, (const char *)text.data, text.len, err))
		return error_wrap(err, "%s", file);
	return 0;
}

/* ---- the repository of the directory ---- */

/* The nearest directory with .git: `dir` (absolute) or above it; NULL: none. */
static char *find_repository(struct arena *arena, const char *dir)
{
	char *top = arena_strdup(arena, dir);

	for (char *slash; *top; *slash = 0) {
		if (file_exists(arena_printf(arena, "%s/.git", top)))
			return top;
		slash = strrchr(top, '/');
	}
	return NULL;
}

/*
 * Read ignore files from the repository's root down to the parent of the packed
 * directory.
 */
static int add_above(struct exclude *l, const char *top, struct error *err)
{
	const char *end = l->prefix;

	do {
		const char *dir = arena_printf(&l->arena, "%.*s", (int)(end - l->prefix),
					       l->prefix);
		size_t len = strlen(dir);
		const char *file;

		if (len) /* "a/b/" without its final '/' */
			dir = arena_printf(&l->arena, "%.*s", (int)len - 1, dir);
		file = arena_printf(&l->arena, "%s/%s%s" GIT_IGNORE_FILE, top, dir,
				    len ? "/" : "");
		if (add_rules(&l->git, AT_FDCWD, file, dir, false, err))
			return -1;
		end = strchr(end, '/') + 1;
	} while (*end);
	return 0;
}

/* Does the repository ignore the directory itself, or one above it? */
static bool is_foreign(struct exclude *l)
{
	for (const char *p = strchr(l->prefix, '/'); p; p = strchr(p + 1, '/'))
		if (ignore_ask(&l->git,
			       arena_printf(&l->arena, "%.*s", (int)(p - l->prefix),
					    l->prefix),
			       true) == IGNORE_OUT)
			return true;
	return false;
}

/* If the repository ignores the directory, its rules do not apply to the contents. */
static int add_repository(struct exclude *l, const char *dir, struct error *err)
{
	char real[PATH_MAX];
	const char *top, *below;

	l->prefix = "";
	if (!realpath(dir, real))
		return error_errno(err, errno, "%s", dir);
	top = find_repository(&l->arena, real);
	if (top &&
	    add_rules(&l->git, AT_FDCWD, arena_printf(&l->arena, "%s/" GIT_OWN_FILE, top),
		      "", false, err))
		return -1;
	below = top ? path_below(real, top) : NULL;
	if (!below || !below[0] || !below[1])
		return 0;
	l->prefix = arena_printf(&l->arena, "%s/", below + 1);
	if (add_above(l, top, err))
		return -1;
	if (is_foreign(l)) {
		l->git.n = 0;
		l->prefix = "";
	}
	return 0;
}

/* ---- --include ---- */

/* "./a//b/" is "a/b". NULL: it leads outside, or nowhere. */
static const char *plain(struct arena *arena, const char *path)
{
	char *out = arena_alloc(arena, strlen(path) + 1), *end = out;

	if (*path == '/')
		return NULL;
	for (const char *p = path; *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");

		if (len == 2 && !memcmp(p, "..", 2))
			return NULL;
		if (len != 1 || *p != '.') {
			if (end != out)
				*end++ = '/';
			end = (char *)memcpy(end, p, len) + len;
		}
		p += len;
	}
	*end = 0;
	return *out ? out : NULL;
}

static int add_includes(struct exclude *l, const char *dir,
			const struct exclude_includes *includes, struct error *err)
{
	const char **list = arena_alloc(&l->arena, (includes->n + 1) * sizeof(*list));

	l->used = arena_alloc(&l->arena, includes->n + 1);
	for (size_t i = 0; i < includes->n; i++) {
		list[i] = plain(&l->arena, includes->list[i]);
		if (!list[i])
			return error_set(err, ERR_INVALID,
					 "--include %.200s: expected a path relative to, "
					 "and below, %.200s",
					 includes->list[i], dir);
	}
	l->includes = (struct exclude_includes){ list, includes->n };
	return 0;
}

/* Is `path` `dir`, or below it? */
static bool is_within(const char *path, const char *dir)
{
	const char *below = path_below(path, dir);

	return str_eq(path, dir) || (below && *below == '/');
}

struct asked {
	bool exactly, within, above;
};

static struct asked asked_for(struct exclude *l, const char *path)
{
	struct asked a = { 0 };

	for (size_t i = 0; i < l->includes.n; i++) {
		const char *one = l->includes.list[i];

		if (str_eq(path, one))
			a.exactly = l->used[i] = true;
		else if (is_within(path, one))
			a.within = true;
		else if (is_within(one, path))
			a.above = true;
	}
	return a;
}

const char *exclude_missing(const struct exclude *l)
{
	for (size_t i = 0; i < l->includes.n; i++)
		if (!l->used[i])
			return l->includes.list[i];
	return NULL;
}

/* ---- lookup ---- */

int exclude_begin(struct exclude *l, const char *dir,
		  const struct exclude_includes *includes, struct error *err)
{
	return ignore_add(&l->keys, "", keys, strlen(keys), err) ||
			       ignore_add(&l->caches, "", caches, strlen(caches), err) ||
			       add_includes(l, dir, includes, err) ||
			       add_repository(l, dir, err)
		       ? -1
		       : 0;
}

int exclude_enter(struct exclude *l, int root, const char *path, struct exclude_mark *ret,
		  struct error *err)
{
	const char *slash = *path ? "/" : "";
	const char *own = arena_printf(&l->arena, "%s%s" PACK_IGNORE_FILE, path, slash);
	const char *git = arena_printf(&l->arena, "%s%s" GIT_IGNORE_FILE, path, slash);
	const char *dir = arena_printf(&l->arena, "%s%s", l->prefix, path);
	size_t len = strlen(dir);

	if (len && dir[len - 1] == '/')
		dir = arena_printf(&l->arena, "%.*s", (int)len - 1, dir);
	*ret = (struct exclude_mark){ l->own.n, l->git.n };
	return add_rules(&l->own, root, own, path, true, err) ||
			       add_rules(&l->git, root, git, dir, false, err)
		       ? -1
		       : 0;
}

void exclude_exit(struct exclude *l, const struct exclude_mark *mark)
{
	l->own.n = mark->own;
	l->git.n = mark->git;
}

/* A venv (PEP 405), a conda environment, or a link to one. */
static bool is_environment(int root, const char *path)
{
	static const char *const marks[] = { "pyvenv.cfg", "conda-meta" };
	char file[PATH_MAX];

	for (size_t i = 0; i < N_ELEMENTS(marks); i++)
		if (snprintf(file, sizeof(file), "%s/%s", path, marks[i]) <
			    (int)sizeof(file) &&
		    !faccessat(root, file, F_OK, 0))
			return true;
	return false;
}

static enum exclude_reason ask_files(struct exclude *l, int root, const char *path,
				     bool is_dir)
{
	enum ignore_says own = ignore_ask(&l->own, path, is_dir);
	cleanup_arena struct arena a = { 0 };

	if (own != IGNORE_NO_MATCH)
		return own == IGNORE_OUT ? EXCLUDE_OWN : EXCLUDE_NOT;
	if (ignore_ask(&l->caches, path, is_dir) == IGNORE_OUT ||
	    is_environment(root, path))
		return EXCLUDE_ENV;
	if (*l->prefix)
		path = arena_printf(&a, "%s%s", l->prefix, path);
	return ignore_ask(&l->git, path, is_dir) == IGNORE_OUT ? EXCLUDE_GIT
							       : EXCLUDE_NOT;
}

enum exclude_reason exclude_ask(struct exclude *l, int root, const char *path,
				bool is_dir, bool aside, bool *ret_enter)
{
	struct asked asked = asked_for(l, path);
	enum exclude_reason why = EXCLUDE_NOT;

	*ret_enter = false;
	if (asked.exactly)
		return EXCLUDE_NOT;
	if (str_eq(path, PACK_MARKER) || str_eq(path, PACK_RECEIVED))
		return EXCLUDE_NO_MATCH;
	if (aside)
		why = EXCLUDE_NO_MATCH;
	else if (ignore_ask(&l->keys, path, is_dir) == IGNORE_OUT)
		why = EXCLUDE_KEY;
	else if (!asked.within)
		why = ask_files(l, root, path, is_dir);
	*ret_enter = why != EXCLUDE_NOT && is_dir && asked.above;
	return why;
}

void exclude_release(struct exclude *l)
{
	ignore_release(&l->keys);
	ignore_release(&l->own);
	ignore_release(&l->caches);
	ignore_release(&l->git);
	arena_clear(&l->arena);
	*l = (struct exclude){ 0 };
}
