/* state_claims.c - list and delete volume claims (local/state.h). */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

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

int state_claim_remove(const char *ns, const char *name, bool unused, struct error *err)
{
	cleanup_json cJSON *users = state_claim_users(ns, !unused);
	cleanup_arena struct arena a = { 0 };
	const char *dir, *user;

	if (find(&a, &dir, ns, name, err))
		return -1;
	user = others(&a, users, name, NULL);
	if (user)
		return error_set(err, ERR_EXISTS, "claim %s is in use by %sjob %s", name,
				 unused ? "" : "running ", user);
	return dir_remove(dir, err);
}

void state_claims_release(const char *ns, const cJSON *jobset)
{
	cleanup_json cJSON *own = jobset_own_claims(jobset);
	cleanup_json cJSON *users = own->child ? state_claim_users(ns, false) : NULL;
	const cJSON *claim;

	json_each(claim, own) {
		cleanup_arena struct arena a = { 0 };
		const char *dir;

		if (!others(&a, users, claim->valuestring, meta_name(jobset)) &&
		    !claim_dir(&a, &dir, ns, claim->valuestring, IGNORED))
			(void)!dir_remove(dir, IGNORED);
	}
}
