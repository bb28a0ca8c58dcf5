/*
 * jobs_extras.c - kinds that the API of this machine has not: PodGroups, Workloads,
 * RuntimeClasses, LimitRanges (jobs.h). They are listed, not watched: 410 each time. What
 * a TrainJob owns goes with it.
 */
#include "tests/sim/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_EXTRAS = 60 };

/* Of this schedule, which has a process of its own. */
static struct extra {
	char *path;
	cJSON *doc; /* NULL: it was deleted */
} extras[MAX_EXTRAS];
static int version;

static struct extra *find(const char *path)
{
	struct extra *e = extras;

	for (; e->path && !str_eq(e->path, path); e++)
		if (e == extras + MAX_EXTRAS - 2)
			abort();
	return e;
}

static void drop(struct extra *e)
{
	cJSON_Delete(e->doc);
	e->doc = NULL;
}

static void collect(struct world *w)
{
	for (struct extra *e = extras; e->path; e++) {
		const char *owner = json_str(meta_controller(e->doc), "uid");
		bool alive = !owner;

		for (int i = 0; i < w->n_jobs; i++)
			alive |= str_eq(owner, meta_uid(trainjob_of(&w->jobs[i])));
		if (!alive)
			drop(e);
	}
}

static void put(const char *path, cJSON *take_doc)
{
	struct extra *e = find(path);
	cleanup_arena struct arena arena = { 0 };
	bool same = json_equal(json_get(e->doc, "spec"), json_get(take_doc, "spec"));

	version++;
	meta_set_uid(take_doc, e->doc ? meta_uid(e->doc)
				      : arena_printf(&arena, "extra-%d", version));
	json_put_int(take_doc, meta_generation(e->doc) + !same, "metadata", "generation");
	meta_set_version(take_doc, arena_printf(&arena, "%d", 1000 + version));
	if (!e->path)
		e->path = xstrdup(path);
	drop(e);
	e->doc = take_doc;
}

static void answer_list(const char *path, struct httpd_response *resp)
{
	cleanup_json cJSON *list = cJSON_CreateObject();
	cleanup_arena struct arena arena = { 0 };
	const char *plural = strrchr(path, '/');
	size_t group = (size_t)(plural - path);

	json_put_str(list, "List", "kind");
	json_put_str(list, "v1", "apiVersion");
	json_put_str(list, arena_printf(&arena, "%d", 1000 + version), "metadata",
		     "resourceVersion");
	for (struct extra *e = extras; e->path; e++)
		if (e->doc && !strncmp(e->path, path, group) &&
		    strstr(e->path, arena_printf(&arena, "%s/", plural)))
			cJSON_AddItemToArray(json_list(list, "items"), json_dup(e->doc));
	json_list(list, "items");
	httpd_answer_json(resp, 200, list, 100000);
}

/* Server-side apply, of one manager. */
static void apply(const struct httpd_request *req, struct httpd_response *resp)
{
	struct extra *e = find(req->path);
	cleanup_json cJSON *doc = json_dup((const cJSON *)req->doc);
	const char *uid = meta_uid(doc);
	bool fits = !uid || str_eq(uid, meta_uid(e->doc));

	if (!fits || (meta_version(doc) && e->doc)) {
		controllers_answer(resp, 409, "Conflict", "it has changed");
		return;
	}
	put(req->path, STEAL(doc));
	httpd_answer_json(resp, 200, e->doc, 100000);
}

bool extras_answer(struct world *w, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	static const char *const plurals[] = { "podgroups", "workloads", "limitranges",
					       "runtimeclasses", NULL };
	bool theirs = strstr(req->path, "scheduling.") ||
		      strstr(req->path, "node.k8s.io") ||
		      (w->rich && strstr(req->path, "/limitranges"));

	if (!theirs)
		return false;
	collect(w);
	if (!w->rich || clock_ms() < w->extras_ms)
		controllers_answer(resp, 404, "NotFound", "not installed");
	else if (strstr(req->query, "watch=true"))
		controllers_answer(resp, 410, "Expired", "not watched");
	else if (str_in(strrchr(req->path, '/') + 1, plurals))
		answer_list(req->path, resp);
	else if (str_eq(req->method, "PATCH"))
		apply(req, resp);
	else if (find(req->path)->doc)
		httpd_answer_json(resp, 200, find(req->path)->doc, 100000);
	else
		controllers_answer(resp, 404, "NotFound", "there is none");
	return true;
}

void extras_change(struct job *j)
{
	static const char *const paths[] = { "/api/v1/namespaces/default/limitranges/l",
					     "/apis/node.k8s.io/v1/runtimeclasses/fast" };
	const char *path = paths[DICE(j, N_ELEMENTS(paths))];
	struct extra *e = find(path);

	NOTE(j, "somebody %s %s", e->doc ? "deletes" : "makes", path);
	if (e->doc)
		drop(e);
	else
		put(path, users_read(strstr(path, "node") ? "{'metadata':{'name':'fast'}}"
							  : "{'metadata':{'name':'l',"
							    "'namespace':'default'},"
							    "'spec':{'limits':[]}}"));
}
