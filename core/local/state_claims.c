/* state_claims.c - list and delete volume claims (local/state.h). */
#include <errno.h>
#include <string.h>
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

static cJSON *claim_doc(const char *ns, const char *name, const char *path)
{
	cJSON *doc = cJSON_CreateObject();
	char changed[TIME_TEXT_SIZE];
	struct stat st = { 0 };

	(void)!stat(path, &st);
	json_put_str(doc, "v1", "apiVersion");
	json_put_str(doc, CLAIM_KIND, "kind");
	json_put_str(doc, name, "metadata", "name");
	json_put_str(doc, ns, "metadata", "namespace");
	json_put_str(doc, path, "metadata", "annotations", CLAIM_PATH_ANNOTATION);
	json_put_str(doc, time_text((int64_t)st.st_mtime, changed), "metadata",
		     "annotations", CLAIM_CHANGED_ANNOTATION);
	json_put_str(doc, "Bound", "status", "phase");
	return doc;
}

static int add_namespace(cJSON *to, const char *ns, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir;
	char **names;

	if (claim_dir(&a, &dir, ns, NULL, err))
		return -1;
	for (names = state_entries(&a, dir); *names; names++)
		cJSON_AddItemToArray(to,
				     claim_doc(ns, *names, path_join(&a, dir, *names)));
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

int state_claim(cJSON **ret, const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir;

	if (claim_dir(&a, &dir, ns, name, err))
		return -1;
	if (file_exists(dir)) {
		*ret = claim_doc(ns, name, dir);
		return 0;
	}
	return error_set(
		err, ERR_NOT_FOUND, "no claim %s in namespace %s on this machine%s", name,
		ns,
		nearest_hint(&a, name,
			     (const char *const *)state_entries(&a, path_dir(&a, dir))));
}

/* Do the pods of this JobSet mount the claim? */
static bool uses(cJSON *jobset, const char *claim)
{
	const cJSON *rjob, *volume;

	jobset_add_claims(jobset);
	json_each(rjob, json_get((const cJSON *)jobset, "spec", "replicatedJobs"))
		json_each(volume, json_get(rjob_pod_spec_const(rjob), "volumes"))
			if (str_eq(json_str(volume, "persistentVolumeClaim", "claimName"),
				   claim))
				return true;
	return false;
}

/* A running job that uses the claim, or NULL. */
static const char *user_of(struct arena *a, const char *ns, const char *claim)
{
	const char *dir;
	char **jobs;

	if (state_dir(a, &dir, ns, NULL, IGNORED))
		return NULL;
	for (jobs = state_entries(a, dir); *jobs; jobs++) {
		cleanup_json cJSON *jobset = NULL;

		if (state_locked(path_join(a, dir, *jobs)) &&
		    !state_jobset(&jobset, ns, *jobs, IGNORED) && uses(jobset, claim))
			return *jobs;
	}
	return NULL;
}

int state_claim_remove(const char *ns, const char *name, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *claim = NULL;
	const char *dir, *user;

	if (state_claim(&claim, ns, name, err) || claim_dir(&a, &dir, ns, name, err))
		return -1;
	user = user_of(&a, ns, name);
	if (user)
		return error_set(err, ERR_EXISTS, "claim %s is in use by running job %s",
				 name, user);
	return dir_remove(dir, err);
}
