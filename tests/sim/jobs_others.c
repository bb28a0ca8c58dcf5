/* jobs_others.c - the garbage collector, namespaces in deletion, strangers (jobs.h). */
#include "tests/sim/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"
#include "trainer/jobset.h"

#define IN "/namespaces/default/"

static const struct {
	const char *api_version, *kind, *resource, *collection, *suffix;
} kinds[N_OBJECTS] = {
	[JOBSET] = { JOBSET_API_VERSION, JOBSET_KIND, "jobsets.jobset.x-k8s.io",
		     "/apis/" JOBSET_API_VERSION IN "jobsets", "" },
	[SNAPSHOT] = { "v1", "ConfigMap", "configmaps", "/api/v1" IN "configmaps",
		       "-runtime-snapshot" },
	[HOSTFILE] = { "v1", "ConfigMap", "configmaps", "/api/v1" IN "configmaps",
		       "-mpi-hostfile" },
	[SECRET] = { "v1", "Secret", "secrets", "/api/v1" IN "secrets", "-mpi-ssh-auth" },
	[TLS] = { "v1", "ConfigMap", "configmaps", "/api/v1" IN "configmaps",
		  "-tls-config" }, /* of rich schedules */
};

const char *object_path(const struct job *j, int which, char path[OBJECT_PATH])
{
	snprintf(path, OBJECT_PATH, "%s/%s%s", kinds[which].collection, j->name,
		 kinds[which].suffix);
	return path;
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

const cJSON *object_of(struct job *j, int which)
{
	struct seen *s = &j->objects[which];
	char path[OBJECT_PATH];

	return seen_get(j->w, s, kinds[which].resource,
			*s->key ? "" : name_of(object_path(j, which, path)));
}

static void drop(struct job *j, int which, const char *uid)
{
	char path[OBJECT_PATH];

	apiserver_drop(j->w->api, kinds[which].api_version, kinds[which].kind, "default",
		       name_of(object_path(j, which, path)), uid);
	users_changed(j);
}

static bool call(struct job *j, const char *method, const char *path, const cJSON *body)
{
	return !apiserver_write(j->w->api, method, path, body, NULL, IGNORED);
}

/* ---- what happens later ---- */

struct later {
	struct job *j;
	char *uid;
	int which;
};

static void later(struct job *j, int64_t ms, void (*run)(void *ctx), const char *uid,
		  int which)
{
	struct later *l = xmalloc(sizeof(*l));

	*l = (struct later){ j, xstrdup(uid), which };
	sim_after(j->w->sim, ms, run, l);
}

static void later_free(struct later **l)
{
	free((*l)->uid);
	free(*l);
}
#define cleanup_later __attribute__((cleanup(later_free)))

/* ---- deletion ---- */

static void collect(void *ctx)
{
	cleanup_later struct later *l = ctx;

	for (int i = 0; !l->j->w->over && i < N_OBJECTS; i++) {
		const cJSON *obj = object_of(l->j, i);

		if (!str_eq(json_str(meta_controller(obj), "uid"), l->uid))
			continue;
		drop(l->j, i, meta_uid(obj));
		sim_note(l->j->w->sim, "%s %s is collected", meta_kind(obj),
			 meta_name(obj));
	}
}

void objects_collect(struct job *j, const char *uid)
{
	later(j, DICE(j, 4000), collect, uid, 0);
}

static void expire(void *ctx)
{
	cleanup_later struct later *l = ctx;
	const cJSON *tj = trainjob_of(l->j);

	if (l->j->w->over || !str_eq(meta_uid(tj), l->uid))
		return;
	apiserver_drop(l->j->w->api, TRAINER_API_VERSION, TRAINJOB_KIND, "default",
		       l->j->name, l->uid);
	objects_collect(l->j, l->uid);
}

void objects_expire(struct job *j)
{
	users_lose(j);
	later(j, 2000, expire, j->uid, 0);
}

static void expire_jobset(void *ctx)
{
	cleanup_later struct later *l = ctx;

	if (l->j->w->over || !str_eq(meta_uid(jobset_of(l->j)), l->uid))
		return;
	sim_note(l->j->w->sim, "the TTL of JobSet %s is over", l->j->name);
	drop(l->j, JOBSET, l->uid);
}

void objects_expire_jobset(struct job *j)
{
	later(j, 50, expire_jobset, meta_uid(jobset_of(j)), JOBSET);
}

static void let_go(void *ctx)
{
	cleanup_later struct later *l = ctx;
	cleanup_json cJSON *patch = users_read("{'metadata':{'finalizers':null}}");
	const cJSON *tj = trainjob_of(l->j);

	if (l->j->w->over || !str_eq(meta_uid(tj), l->uid))
		return;
	sim_note(l->j->w->sim, "somebody lets go of %s", l->j->name);
	if (!call(l->j, "PATCH", l->j->path, patch))
		sim_broken(l->j->w->sim, "%s keeps its finalizer", l->j->name);
	users_lose(l->j);
	objects_collect(l->j, l->uid);
	if (is_calm(l->j->w))
		users_create(l->j);
}

void others_hold(struct job *j)
{
	cleanup_json cJSON *patch =
		users_read("{'metadata':{'finalizers':['example.com/hold']}}");
	const cJSON *tj = trainjob_of(j);

	if (!tj || meta_is_deleted(tj) || !call(j, "PATCH", j->path, patch) ||
	    !call(j, "DELETE", j->path, NULL))
		return;
	NOTE(j, "user deletes %s, which somebody holds", j->name);
	users_lose(j);
	later(j, DICE(j, 15000), let_go, meta_uid(tj), 0);
}

/* ---- namespaces ---- */

static void vanish(void *ctx)
{
	cleanup_later struct later *l = ctx;

	if (l->j->w->over)
		return;
	if (l->which < N_OBJECTS) {
		drop(l->j, l->which, NULL);
		return;
	}
	apiserver_drop(l->j->w->api, TRAINER_API_VERSION, TRAINJOB_KIND, "default",
		       l->j->name, NULL);
	users_lose(l->j);
}

static void make_namespace(void *ctx)
{
	struct job *j = ctx;

	if (j->w->over)
		return;
	NOTE(j, "the namespace of %s is made again", j->name);
	j->dying = false;
	users_create(j);
}

void others_delete_namespace(struct job *j)
{
	enum { MS = 7000 };

	if (j->dying)
		return;
	NOTE(j, "the namespace of %s is deleted", j->name);
	j->dying = true;
	j->exists = false;
	*j->blocker = 0;
	for (int i = 0; i <= N_OBJECTS; i++)
		if (i != TLS || j->w->rich)
			later(j, DICE(j, MS), vanish, "", i);
	sim_after(j->w->sim, MS + DICE(j, 20000), make_namespace, j);
}

/* Nothing is made in a namespace that is being deleted. */
bool object_is_refused(struct job *j, const char *path)
{
	for (int i = 0; j && j->dying && i < N_OBJECTS; i++) {
		const cJSON *obj = object_of(j, i);
		char own[OBJECT_PATH];

		if (str_eq(object_path(j, i, own), path))
			return !obj;
	}
	return false;
}

/* ---- strangers ---- */

static void edit_snapshot(struct job *j, const cJSON *map)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *data = json_get(map, "data");
	const char *text = data && data->child ? data->child->valuestring : "";
	const char *image = strstr(text, "image: ");
	char path[OBJECT_PATH], all[4096];

	if (!image)
		return;
	snprintf(all, sizeof(all), "%.*simage: " STRANGERS "%s", (int)(image - text),
		 text, strchr(image, '\n'));
	json_put_str(patch, all, "data", data->child->string);
	if (!call(j, "PATCH", object_path(j, SNAPSHOT, path), patch))
		return;
	NOTE(j, "a stranger edits the snapshot of %s", j->name);
	j->snapshot_edited = true;
}

void others_edit(struct job *j)
{
	int which = DICE(j, 2) ? HOSTFILE : SNAPSHOT;
	const cJSON *map = object_of(j, which);
	cleanup_json cJSON *patch = users_read("{'data':{'hostfile':'" STRANGERS "'}}");
	char path[OBJECT_PATH];

	if (!map || !meta_controller(map))
		return;
	if (which == SNAPSHOT) {
		edit_snapshot(j, map);
	} else if (call(j, "PATCH", object_path(j, HOSTFILE, path), patch)) {
		NOTE(j, "a stranger edits the hostfile of %s", j->name);
		j->edited_ms = clock_ms();
	}
}

void others_toggle(struct job *j)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *jobset = jobset_of(j);
	bool suspend = json_bool(jobset, false, "spec", "suspend");

	json_put_bool(patch, !suspend, "spec", "suspend");
	if (j->w->rich)
		json_put_str(patch, STRANGERS, "metadata", "labels", "a");
	if (!jobset || !call(j, "PATCH", j->jobset_path, patch))
		return;
	NOTE(j, "a stranger %s the JobSet %s", suspend ? "resumes" : "suspends", j->name);
	j->toggled = true;
	users_changed(j);
}

/* As the controller of another cluster does it. */
static void end_elsewhere(void *ctx)
{
	cleanup_later struct later *l = ctx;
	cleanup_json cJSON *patch =
		users_read("{'status':{'conditions':[{'type':'Complete','status':'True',"
			   "'reason':'a','message':''}]}}");
	char now[TIME_TEXT_SIZE];
	char path[OBJECT_PATH];

	if (l->j->w->over || !str_eq(meta_uid(trainjob_of(l->j)), l->uid))
		return;
	snprintf(path, sizeof(path), "%s/status", l->j->path);
	json_put_str(json_get(patch, "status", "conditions")->child,
		     time_text(clock_now(), now), "lastTransitionTime");
	l->j->ended_elsewhere = l->j->succeeded = true;
	if (!call(l->j, "PATCH", path, patch))
		sim_broken(l->j->w->sim, "cannot end %s", l->j->name);
	sim_note(l->j->w->sim, "%s ends in another cluster", l->j->name);
	users_changed(l->j);
}

void others_end(struct job *j)
{
	later(j, DICE(j, 20000), end_elsewhere, j->uid, 0);
}

void others_report(struct job *j)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	char path[OBJECT_PATH];

	snprintf(path, sizeof(path), "%s/status", j->path);
	json_put_int(patch, DICE(j, 101), "status", "trainerStatus",
		     "progressPercentage");
	json_put_str(patch, "2023-11-14T22:13:20Z", "status", "trainerStatus",
		     "lastUpdatedTime");
	if (call(j, "PATCH", path, patch))
		NOTE(j, "%s reports its progress", j->name);
}

/* A stranger's object is never taken, changed or deleted. */
static void unblock(void *ctx)
{
	cleanup_later struct later *l = ctx;
	const cJSON *obj = object_of(l->j, l->which);

	if (l->j->w->over || !str_eq(l->j->blocker, l->uid))
		return;
	*l->j->blocker = 0;
	if (!str_eq(meta_uid(obj), l->uid) || meta_controller(obj) ||
	    !str_eq(meta_annotation(obj, "who"), STRANGERS))
		sim_broken(l->j->w->sim, "an object of a stranger named as one of %s %s",
			   l->j->name, obj ? "was changed" : "is gone");
	sim_note(l->j->w->sim, "the stranger's %s of %s is deleted", kinds[l->which].kind,
		 l->j->name);
	drop(l->j, l->which, l->uid);
}

void others_block(struct job *j)
{
	int which = (int)DICE(j, j->w->rich ? N_OBJECTS : TLS);
	cleanup_json cJSON *obj = NULL, *stored = NULL;
	char path[OBJECT_PATH];

	if (j->dying || *j->blocker)
		return;
	object_path(j, which, path);
	obj = meta_new(kinds[which].api_version, kinds[which].kind, "default",
		       name_of(path));
	json_put_str(obj, STRANGERS, "metadata", "annotations", "who");
	if (which == JOBSET)
		json_put(obj, users_read("{'replicatedJobs':[]}"), "spec");
	if (apiserver_write(j->w->api, "POST", kinds[which].collection, obj, &stored,
			    IGNORED))
		return;
	NOTE(j, "a stranger makes %s %s", kinds[which].kind, name_of(path));
	snprintf(j->blocker, sizeof(j->blocker), "%s", meta_uid(stored));
	later(j, 1000 + DICE(j, 20000), unblock, meta_uid(stored), which);
}
