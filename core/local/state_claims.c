/* state_claims.c - list and delete volume claims (local/state.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/str.h"
#include "local/state.h"
#include "local/state_impl.h"
#include "trainer/jobset.h"

/* <state>/claims/<ns>/<name>; as state_dir(). */
static int claim_dir(struct arena *a, const char **ret, const char *ns, const char *name,
		     struct error *err)
{
	const char *root, *dir;

	/* state_dir() checks the names. */
	if (state_root(a, &root, err) || state_dir(a, &dir, ns, name, err))
		return -1;
	*ret = path_join(a, path_dir(a, root), "claims");
	if (ns)
		*ret = path_join(a, *ret, ns);
	if (name)
		*ret = path_join(a, *ret, name);
	return 0;
}

int state_claims_dir(struct arena *arena, const char **ret, const char *ns,
		     struct error *err)
{
	return claim_dir(arena, ret, ns, NULL, err);
}

/* The jobs of `users` (state_claim_users()) but `job`: "a, b"; NULL: none. */
static const char *others(struct arena *a, const cJSON *users, const char *claim,
			  const char *job)
{
	const char *const keys[] = { claim, STATE_ANY_CLAIM };
	const char *text = NULL;
	const cJSON *user;

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		json_each(user, json_get(users, keys[i]))
			if (!str_eq(user->valuestring, job))
				text = arena_printf(a, "%s%s%s", text ? text : "",
						    text ? ", " : "", user->valuestring);
	return text;
}

/* The bytes that removing the directory frees, as du(1) counts them. */
static int64_t disk_use(const char *dir)
{
	struct directory {
		struct directory *next;
		const char *path;
	} *todo = &(struct directory){ NULL, dir };
	cleanup_arena struct arena a = { 0 };
	int64_t bytes = 0;

	while (todo) {
		const char *path = todo->path;
		DIR *d = opendir(path);
		const struct dirent *e;

		todo = todo->next;
		while (d && (e = readdir(d)) != NULL) {
			struct directory *below;
			struct stat st;

			if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") ||
			    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
				continue;
			bytes += (int64_t)st.st_blocks * 512 /
				 (S_ISDIR(st.st_mode) ? 1 : (int64_t)st.st_nlink);
			if (!S_ISDIR(st.st_mode))
				continue;
			below = arena_alloc(&a, sizeof(*below));
			*below = (struct directory){ todo,
						     path_join(&a, path, e->d_name) };
			todo = below;
		}
		if (d)
			closedir(d);
	}
	return bytes;
}

static cJSON *claim_doc(const cJSON *users, const char *ns, const char *name,
			const char *path)
{
	cleanup_arena struct arena a = { 0 };
	const char *jobs = others(&a, users, name, NULL);
	cJSON *doc = meta_new("v1", CLAIM_KIND, ns, name);
	char changed[TIME_TEXT_SIZE];
	struct stat st = { 0 };

	(void)!stat(path, &st);
	meta_set_annotation(doc, CLAIM_PATH_ANNOTATION, path);
	meta_set_annotation(doc, CLAIM_CHANGED_ANNOTATION,
			    time_text((int64_t)st.st_mtime, changed));
	meta_set_annotation(doc, CLAIM_SIZE_ANNOTATION,
			    arena_printf(&a, "%lld", (long long)disk_use(path)));
	if (jobs)
		meta_set_annotation(doc, CLAIM_USERS_ANNOTATION, jobs);
	json_put_str(doc, "Bound", "status", "phase");
	return doc;
}

static int add_namespace(cJSON *to, const char *ns, struct error *err)
{
	cleanup_json cJSON *users = state_claim_users(ns, false);
	cleanup_arena struct arena a = { 0 };
	const char *dir;
	char **names;

	if (claim_dir(&a, &dir, ns, NULL, err))
		return -1;
	for (names = state_entries(&a, dir); *names; names++)
		cJSON_AddItemToArray(
			to, claim_doc(users, ns, *names, path_join(&a, dir, *names)));
	return 0;
}

int state_claims(cJSON **ret, const char *ns, struct error *err)
{
	cleanup_json cJSON *list = cJSON_CreateArray();
	cleanup_arena struct arena a = { 0 };
	const char *dir;
	char **all;

	if (claim_dir(&a, &dir, NULL, NULL, err))
		return -1;
	if (ns && add_namespace(list, ns, err))
		return -1;
	for (all = state_entries(&a, dir); !ns && *all; all++)
		if (add_namespace(list, *all, err))
			return -1;
	*ret = STEAL(list);
	return 0;
}

/* The directory of a claim that exists. */
static int find(struct arena *a, const char **ret, const char *ns, const char *name,
		struct error *err)
{
	if (claim_dir(a, ret, ns, name, err))
		return -1;
	if (file_exists(*ret))
		return 0;
	return error_set(
		err, ERR_NOT_FOUND, "no claim %s in namespace %s on this machine%s", name,
		ns,
		nearest_hint(a, name,
			     (const char *const *)state_entries(a, path_dir(a, *ret))));
}

int state_claim(cJSON **ret, const char *ns, const char *name, struct error *err)
{
	cleanup_json cJSON *users = state_claim_users(ns, false);
	cleanup_arena struct arena a = { 0 };
	const char *dir;

	if (find(&a, &dir, ns, name, err))
		return -1;
	*ret = claim_doc(users, ns, name, dir);
	return 0;
}

/* ---- removal --------------------------------------------------------------------------- */

/* In the directory of a namespace's claims: hidden, so that it is no claim. */
#define REMOVED ".removed"

int state_claims_lock(const char *ns, int how)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir;
	int fd, rc;

	if (claim_dir(&a, &dir, ns, NULL, IGNORED))
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do
		rc = flock(fd, how);
	while (rc && errno == EINTR);
	if (!rc)
		return fd;
	close(fd);
	return -1;
}

/* Move a claim out of its place, which takes no time; with the namespace's lock. */
static int set_aside(struct arena *a, const char **ret, const char *dir,
		     struct error *err)
{
	const char *all = path_join(a, path_dir(a, dir), REMOVED);

	*ret = arena_printf(a, "%s/%s.%d.%lld", all, path_base(dir), (int)getpid(),
			    (long long)clock_ms());
	if (dir_make(all, 0700, err))
		return -1;
	return rename(dir, *ret) ? error_errno(err, errno, "%s", dir) : 0;
}

/*
 * Delete what set_aside() moved there, without the namespace's lock, and what a process
 * that was killed has left.
 */
static int remove_aside(struct arena *a, const char *aside, struct error *err)
{
	const char *all = path_dir(a, aside);
	cleanup_fd int lock = open(all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = 0;

	(void)!flock(lock, LOCK_EX); /* two processes would hinder each other */
	for (char **e = state_entries(a, all); *e; e++) {
		const char *path = path_join(a, all, *e);

		if (dir_remove(path, str_eq(path, aside) ? err : IGNORED) &&
		    str_eq(path, aside))
			failed = -1;
	}
	return failed;
}

static int set_aside_unless_used(struct arena *a, const char **ret, const char *ns,
				 const char *name, struct error *err)
{
	cleanup_fd int lock = state_claims_lock(ns, LOCK_EX);
	cleanup_json cJSON *users = state_claim_users(ns, true);
	const char *dir, *user;

	(void)lock;
	if (find(a, &dir, ns, name, err))
		return -1;
	user = others(a, users, name, NULL);
	if (user)
		return error_set(err, ERR_EXISTS, "claim %s is in use by running job %s",
				 name, user);
	return set_aside(a, ret, dir, err);
}

int state_claim_remove(const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *aside;

	return set_aside_unless_used(&a, &aside, ns, name, err)
		       ? -1
		       : remove_aside(&a, aside, err);
}

/* A claim of the list, while it is deleted. */
struct removal {
	const char *aside; /* NULL: it stays */
	struct error err;
};

/* The users are read once, under the lock: after the list, which may take long. */
static void set_unused_aside(struct arena *a, struct removal *all, cJSON *list,
			     const char *ns)
{
	cleanup_fd int lock = state_claims_lock(ns, LOCK_EX);
	cleanup_json cJSON *users = state_claim_users(ns, false);
	cJSON *claim;

	(void)lock;
	json_each(claim, list) {
		const char *user = others(a, users, meta_name(claim), NULL), *dir;
		struct removal *r = all++;

		if (user)
			meta_set_annotation(claim, CLAIM_USERS_ANNOTATION, user);
		else if (!meta_annotation(claim, CLAIM_USERS_ANNOTATION) &&
			 (find(a, &dir, ns, meta_name(claim), &r->err) ||
			  set_aside(a, &r->aside, dir, &r->err)))
			r->aside = NULL;
	}
}

int state_claims_remove_unused(const char *ns,
			       void (*on_claim)(void *ctx, const cJSON *claim,
						const struct error *failure),
			       void *ctx, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *list = NULL;
	struct removal *all, *r;
	const cJSON *claim;

	if (state_claims(&list, ns, err))
		return -1;
	r = all = arena_alloc(&a, (size_t)(cJSON_GetArraySize(list) + 1) * sizeof(*all));
	set_unused_aside(&a, all, list, ns);
	json_each(claim, list) {
		if (r->aside)
			(void)!remove_aside(&a, r->aside, &r->err);
		on_claim(ctx, claim, r->err.kind ? &r->err : NULL);
		r++;
	}
	return 0;
}

void state_claims_release(const char *ns, const cJSON *jobset)
{
	cleanup_json cJSON *own = jobset_own_claims(jobset);
	cleanup_fd int lock = own->child ? state_claims_lock(ns, LOCK_EX) : -1;
	cleanup_json cJSON *users = own->child ? state_claim_users(ns, false) : NULL;
	const char *aside = NULL;
	cleanup_arena struct arena a = { 0 };
	const cJSON *claim;

	json_each(claim, own) {
		const char *dir, *path;

		if (!others(&a, users, claim->valuestring, meta_name(jobset)) &&
		    !find(&a, &dir, ns, claim->valuestring, IGNORED) &&
		    !set_aside(&a, &path, dir, IGNORED))
			aside = path;
	}
	if (lock >= 0)
		close(lock);
	lock = -1;
	if (aside)
		(void)!remove_aside(&a, aside, IGNORED);
}
