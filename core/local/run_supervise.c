/* run_supervise.c - supervised pods on one machine (local/run_impl.h). */
#include <errno.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/podenv.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/export_spec.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/preflight_spec.h"
#include "trainer/run_spec.h"
#include "trainer/supervise_spec.h"

#define LOCALHOST "127.0.0.1" /* rank 0 listens on all addresses */

enum { MAX_KEY = 1024 * 1024 };

/* A replacement of words of the supervisors. */
struct edit {
	const char *self; /* this program */
	const char *port;
	const char *key;         /* NULL: mount namespaces have the Secret */
	const char *checkpoints; /* likewise: without namespaces, of each rank */
	const char *model;       /* likewise */
};

static bool is_ours(const cJSON *c)
{
	const cJSON *first = cJSON_GetArrayItem(container_command(c), 0);

	return str_eq(cJSON_GetStringValue(first), CARRY_PATH "/" CARRY_PROGRAM);
}

static void add_word(cJSON *words, const char *word)
{
	cJSON_AddItemToArray(words, cJSON_CreateString(word));
}

/* Before one option, another with its value; NULL: it is not needed. */
static void add_option(const struct edit *e, cJSON *words, const char *before)
{
	const struct {
		const char *before, *name, *value;
	} list[] = {
		{ "--hub", "--port", e->port },
		{ "--run-dir", "--checkpoints", e->checkpoints },
		{ "--export-to", "--models", e->model },
	};

	for (size_t i = 0; i < N_ELEMENTS(list); i++)
		if (list[i].value && str_eq(before, list[i].before)) {
			add_word(words, list[i].name);
			add_word(words, list[i].value);
		}
}

/* The supervisor's options, before "--". */
static void edit_words(const struct edit *e, cJSON *c)
{
	const cJSON *old = container_command(c), *word;
	cleanup_json cJSON *words = cJSON_CreateArray();
	const char *replace = e->self;
	bool options = true;

	json_each(word, old) {
		const char *text = cJSON_GetStringValue(word);

		options = options && !str_eq(text, "--");
		if (options)
			add_option(e, words, text);
		add_word(words, replace ? replace : text);
		replace = !options || !e->key     ? NULL
			  : str_eq(text, "--hub") ? LOCALHOST
			  : str_eq(text, "--key") ? e->key
						  : NULL;
	}
	container_set_command(c, words);
}

static void drop_dir(cJSON *pod_spec, cJSON *c, const char *volume, const char *variable)
{
	if (!pod_has_volume(pod_spec, volume))
		return;
	pod_drop_volume(pod_spec, volume);
	container_drop_mount(c, volume);
	container_set_env(c, variable, "");
}

static void edit_pod(const struct edit *e, cJSON *pod_spec)
{
	cJSON *c = pod_container(pod_spec, NODE);

	if (!c || !is_ours(c))
		return;
	pod_drop_init_container(pod_spec, CARRY_CONTAINER);
	pod_drop_volume(pod_spec, CARRY_VOLUME);
	container_drop_mount(c, CARRY_VOLUME);
	if (e->key) {
		pod_drop_volume(pod_spec, SUPERVISE_VOLUME);
		container_drop_mount(c, SUPERVISE_VOLUME);
		drop_dir(pod_spec, c, RUN_CHECKPOINT_VOLUME, RUN_CHECKPOINT_ENV);
		drop_dir(pod_spec, c, EXPORT_MODEL_VOLUME, EXPORT_MODEL_ENV);
	}
	edit_words(e, c);
}

static int write_key(const struct run *r, const char *path, struct error *err)
{
	cleanup_buf struct buf b = { .max = MAX_KEY };
	int rc = 0;
	const cJSON *o;

	json_each(o, r->opts->objects)
		if (podenv_data(o, SUPERVISE_SECRET_KEY, &b))
			break;
	if (b.len)
		rc = file_write(path, b.data, b.len, 0600, err);
	if (b.data)
		explicit_bzero(b.data, b.len);
	return rc;
}

static bool any_supervised(const struct run *r)
{
	cJSON *rjob;

	json_each(rjob, jobset_jobs(json_get(r->jobset, "spec"))) {
		const cJSON *c = pod_container(rjob_pod_spec(rjob), NODE);

		if (c && is_ours(c))
			return true;
	}
	return false;
}

/* All nodes are this machine, with one set of ports. */
static void drop_preflight(struct run *r)
{
	cJSON *rjob;

	json_each(rjob, jobset_jobs(json_get(r->jobset, "spec"))) {
		cJSON *pod_spec = rjob_pod_spec(rjob);
		const cJSON *c = pod_init_container(pod_spec, PREFLIGHT_CONTAINER);

		if (!c || !is_ours(c))
			continue;
		pod_drop_init_container(pod_spec, PREFLIGHT_CONTAINER);
		pod_drop_init_container(pod_spec, CARRY_CONTAINER);
		pod_drop_volume(pod_spec, CARRY_VOLUME);
	}
}

int run_supervise_edit(struct run *r, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_free char *self = NULL;
	struct edit e = { 0 };
	cJSON *rjob;
	int port;

	drop_preflight(r);
	if (!any_supervised(r))
		return 0;
	self = path_of_program(err);
	if (!self)
		return -1;
	if (run_reserve_port(r, &port, err))
		return -1;
	e.self = self;
	e.port = arena_printf(&a, "%d", port);
	if (kubelet_isolation(r->kubelet) == ISOLATION_NONE) {
		e.key = path_join(&a, r->state.dir, "pods/supervise.key");
		e.checkpoints = path_join(&a, r->state.dir, "checkpoints");
		e.model = path_join(&a, r->state.dir, "model");
		if (write_key(r, e.key, err))
			return -1;
	}
	json_each(rjob, jobset_jobs(json_get(r->jobset, "spec")))
		edit_pod(&e, rjob_pod_spec(rjob));
	return 0;
}
