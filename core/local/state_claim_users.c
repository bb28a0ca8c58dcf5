/* state_claim_users.c - the jobs that mount volume claims (local/state.h). */
#include <errno.h>
#include <inttypes.h>
#include <sys/file.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "local/state_impl.h"
#include "local/state_owned.h"
#include "trainer/jobset.h"

/* In the directory of a namespace's claims: hidden, so that it is no claim. */
#define WAITING ".waiting"

/* Once: a job of a server may have run, and wait. */
static void add_user(cJSON *users, const char *claim, const char *job, const char *note)
{
	cleanup_arena struct arena a = { 0 };
	const char *user = arena_printf(&a, "%s%s", job, note);

	if (!json_has_str(json_get((const cJSON *)users, claim), user))
		cJSON_AddItemToArray(json_list(users, claim), cJSON_CreateString(user));
}

/* Add `job` to the users of each claim that the JobSet's pods mount. */
static void add_users(cJSON *users, cJSON *jobset, const char *job)
{
	const cJSON *rjob, *volume;

	jobset_add_claims(jobset);
	json_each(rjob, jobset_jobs_const(json_get((const cJSON *)jobset, "spec")))
		json_each(volume, json_get(rjob_pod_spec_const(rjob), "volumes")) {
			const char *claim =
				json_str(volume, "persistentVolumeClaim", "claimName");

			if (claim)
				add_user(users, claim, job, "");
		}
}

/*
 * A job whose JobSet cannot be read, or is not written yet, may mount any claim: it is a
 * user of all of them.
 */
static void add_unknown(cJSON *users, const char *job, bool running,
			const struct error *err)
{
	if (running || err->kind != ERR_NOT_FOUND)
		add_user(users, STATE_ANY_CLAIM, job, " (its JobSet cannot be read)");
}

/* ---- JobSets of a server that have not run --------------------------------------------- */

static const char *waiting_dir(struct arena *a, const char *ns)
{
	const char *dir;

	return state_claims_dir(a, &dir, ns, IGNORED) ? NULL : path_join(a, dir, WAITING);
}

/* One file for each JobSet of each server. */
static const char *waiting_file(struct arena *a, const char *server, const char *name)
{
	return arena_printf(a, "%016" PRIx64 ".%s", hash_text(0, server), name);
}

void state_claims_wait(const char *server, const cJSON *jobset)
{
	cleanup_json cJSON *doc = cJSON_CreateObject(), *copy = json_dup(jobset);
	cJSON *users = json_obj(doc, "claims");
	cleanup_arena struct arena a = { 0 };
	const char *dir = waiting_dir(&a, meta_namespace(jobset));

	add_users(users, copy, meta_name(jobset));
	cleanup_fd int lock = -1;

	if (!dir || !users->child || dir_make(dir, 0700, IGNORED))
		return;
	lock = state_claims_lock(meta_namespace(jobset), LOCK_SH);
	json_put_str(doc, server, "server");
	(void)!state_write(dir, waiting_file(&a, server, meta_name(jobset)), doc, false,
			   IGNORED);
}

void state_claims_wait_end(const char *server, const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = waiting_dir(&a, ns);

	if (dir)
		(void)unlink(path_join(&a, dir, waiting_file(&a, server, name)));
}

/* A file that cannot be read may name any claim. */
static void add_waiting(cJSON *users, const char *path)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	cleanup_json cJSON *doc = NULL;
	const cJSON *claim, *job;
	struct error err = { 0 };

	if (!file_exists(path)) /* the JobSet has been deleted meanwhile */
		return;
	if (file_read_regular(&text, path, &err) ||
	    json_parse(&doc, text.data, text.len, &err) || !json_str(doc, "server")) {
		add_user(users, STATE_ANY_CLAIM, path_base(path), " (cannot be read)");
		return;
	}
	if (!file_exists(json_str(doc, "server")))
		return;
	json_each(claim, json_get((const cJSON *)doc, "claims"))
		json_each(job, claim)
			if (cJSON_IsString(job) && claim->string)
				add_user(users, claim->string, job->valuestring, "");
}

/* ---- all jobs of a namespace ----------------------------------------------------------- */

cJSON *state_claim_users(const char *ns, bool running)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *users = cJSON_CreateObject();
	const char *dir, *waiting = waiting_dir(&a, ns);
	char **jobs;

	if (!state_dir(&a, &dir, ns, NULL, IGNORED)) {
		jobs = state_entries(&a, dir);
		if (errno)
			add_user(users, STATE_ANY_CLAIM, dir, " (cannot be read)");
		for (char **job = jobs; *job; job++) {
			bool runs = state_locked(path_join(&a, dir, *job));
			cleanup_json cJSON *jobset = NULL;
			struct error err = { 0 };

			if (running && !runs)
				continue;
			if (state_jobset(&jobset, ns, *job, &err))
				add_unknown(users, *job, runs, &err);
			else
				add_users(users, jobset, *job);
		}
	}
	if (!running && waiting) {
		jobs = state_entries(&a, waiting);
		if (errno)
			add_user(users, STATE_ANY_CLAIM, waiting, " (cannot be read)");
		for (; *jobs; jobs++)
			add_waiting(users, path_join(&a, waiting, *jobs));
	}
	return users;
}
