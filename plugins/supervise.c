/*
 * supervise.c - run the containers that train under a supervisor (trainer/plugin.h).
 *
 * Not in upstream. With SUPERVISE_ANNOTATION, the command of the container "node" of the
 * trainer's pods becomes `kftrainer runtime supervise ... -- COMMAND`. The supervisors of
 * several nodes find each other as PyTorch's ranks do, at the name of the first pod, and
 * share a key, of a Secret of the TrainJob. A lost pod is replaced by its Job.
 */
#include <inttypes.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "plugins/supervise.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/export_spec.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/preflight_spec.h"
#include "trainer/run_spec.h"
#include "trainer/runtime.h"
#include "trainer/supervise_spec.h"
#include "trainer/track_spec.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

#define SUFFIX   "-supervise"
#define KEY_DIR  "/etc/kftrainer-supervise"
#define KEY_FILE "key" /* together SUPERVISE_KEY_PATH */

enum { MOST_WORDS = 400, DEFAULT_GRACE_S = 30 };

/* The words before the command, in the arena. */
struct words {
	struct info *info;
	const char **list;
	size_t n;
};

static bool is_supervised(const struct info *info, const cJSON *tj)
{
	struct supervise_spec spec;

	return !supervise_spec_of(&spec, tj, info->annotations, IGNORED) && spec.on;
}

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	struct error err = { 0 };

	if (supervise_check(tj, info->annotations, &err))
		field_error_add(errs, FIELD_INVALID, "metadata.annotations", NULL, "%s",
				err.msg);
}

static void add(struct words *w, const char *word)
{
	if (w->n < MOST_WORDS)
		w->list[w->n++] = word;
}

static void add_option(struct words *w, const char *name, const char *value)
{
	add(w, name);
	add(w, value);
}

static void add_number(struct words *w, const char *name, int64_t n)
{
	add_option(w, name, arena_printf(&w->info->arena, "%" PRId64, n));
}

static void add_final(struct words *w, const cJSON *job_spec)
{
	bool final[256] = { false };

	job_final_codes(job_spec, NODE, final);
	for (int code = 1, last; code < 256; code = last + 1) {
		for (last = code; last < 255 && final[last + 1]; last++)
			;
		if (!final[code])
			last = code;
		else
			add_option(w, "--final",
				   code == last
					   ? arena_printf(&w->info->arena, "%d", code)
					   : arena_printf(&w->info->arena, "%d-%d", code,
							  last));
	}
}

static void add_tracking(struct words *w, const cJSON *tj, const cJSON *c,
			 const char *uri)
{
	struct info *info = w->info;
	const char *uid = meta_uid(tj);
	const char *image = tj_image(tj) ? tj_image(tj) : container_image(c);

	add_option(w, "--track", uri);
	add_option(w, "--track-job",
		   arena_printf(&info->arena, "%s/%s%s%s",
				info->ns ? info->ns : "default", info->name,
				uid ? "/" : "", uid ? uid : ""));
	if (image)
		add_option(w, "--track-image", arena_strdup(&info->arena, image));
}

static void set_tracking(const struct track_spec *track, cJSON *c)
{
	container_set_env(c, "MLFLOW_TRACKING_URI", track->server);
	container_set_env(c, "MLFLOW_EXPERIMENT_NAME", track->experiment);
	if (track->secret)
		container_env_from_secret(c, track->secret);
}

static void add_run(struct words *w, const struct run_spec *run, const cJSON *tj,
		    const cJSON *pod_spec)
{
	const char *job = run_spec_job(&w->info->arena, tj);

	add_option(w, "--run-dir", run->uri);
	if (job)
		add_option(w, "--run-job", job);
	if (run->keep)
		add_number(w, "--keep", run->keep);
	if (meta_annotation(tj, WORKSPACE_ANNOTATION))
		add_option(w, "--run-code", WORKSPACE_PATH);
	add_number(w, "--run-grace",
		   json_int(pod_spec, DEFAULT_GRACE_S, "terminationGracePeriodSeconds"));
	if (run->resume)
		add(w, "--resume");
}

static void add_export(struct words *w, const struct export_spec *export, const cJSON *tj)
{
	add_option(w, "--export-to", export->uri);
	if (meta_uid(tj))
		add_option(w, "--export-uid",
			   arena_strdup(&w->info->arena, meta_uid(tj)));
	for (const char **arg = export->args; *arg; arg++)
		add_option(w, "--export-arg", *arg);
}

/* A directory that the variable names, unless the runtime has one. */
static void mount_dir(struct pod_set *ps, cJSON *c, const char *variable,
		      const char *name, const char *path)
{
	cJSON *volume;

	if (podspec_env_value(container_env(c), variable))
		return;
	volume = podspec_volume(name);
	json_obj(volume, "emptyDir");
	pod_set_volume(ps->pod_spec, volume);
	container_mount(c, name, path, false);
	container_set_env(c, variable, path);
}

/* The checkpoints' directory; the claim; the Secret. */
static void mount_run(const struct run_spec *run, struct pod_set *ps, cJSON *c)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *volume;

	mount_dir(ps, c, RUN_CHECKPOINT_ENV, RUN_CHECKPOINT_VOLUME, RUN_CHECKPOINT_PATH);
	if (run->claim) {
		volume = podspec_volume(RUN_CLAIM_VOLUME);
		json_put_str(volume, run->claim, "persistentVolumeClaim", "claimName");
		pod_set_volume(ps->pod_spec, volume);
		container_mount(c, RUN_CLAIM_VOLUME,
				arena_printf(&arena, "/mnt/%s", run->claim), false);
	}
	if (run->secret)
		container_env_from_secret(c, run->secret);
}

/* An export that fails is final: new pods would train again. */
static void mount_export(const struct export_spec *export, struct info *info,
			 struct pod_set *ps, cJSON *c)
{
	mount_dir(ps, c, EXPORT_MODEL_ENV, EXPORT_MODEL_VOLUME, EXPORT_MODEL_PATH);
	if (export->secret)
		container_env_from_secret(c, export->secret);
	jobset_fail_with(info->jobset_spec, ps->name);
}

struct specs {
	struct supervise_spec supervise;
	struct track_spec track;
	struct run_spec run;
	struct export_spec export;
};

static const char *const *runner(struct info *info, const struct specs *specs,
				 const struct pod_set *ps, const cJSON *tj)
{
	const struct supervise_spec *spec = &specs->supervise;
	struct words w = { info,
			   arena_alloc(&info->arena, (MOST_WORDS + 1) * sizeof(char *)),
			   0 };
	int64_t nodes = pod_set_count(ps);

	add(&w, CARRY_PATH "/" CARRY_PROGRAM);
	add(&w, "runtime");
	add(&w, "supervise");
	if (spec->dev) {
		add_option(&w, "--dev", WORKSPACE_PATH);
		add_option(&w, "--idle", spec->dev);
	}
	add_number(&w, "--restarts",
		   spec->dev                  ? 0
		   : spec->restarts == ABSENT ? jobset_max_restarts(info->jobset_spec)
					      : spec->restarts);
	if (spec->grace)
		add_option(&w, "--restart-grace", spec->grace);
	if (spec->stall)
		add_option(&w, "--stall-after", spec->stall);
	add_final(&w, ps->job_spec);
	if (nodes > 1) {
		add_number(&w, "--ranks", nodes);
		add_option(&w, "--hub", info_lead_host(info));
		add_option(&w, "--key", SUPERVISE_KEY_PATH);
	}
	if (specs->track.uri)
		add_tracking(&w, tj, pod_container(ps->pod_spec, NODE), specs->track.uri);
	if (specs->run.uri)
		add_run(&w, &specs->run, tj, ps->pod_spec);
	if (specs->export.uri)
		add_export(&w, &specs->export, tj);
	add(&w, "--");
	return w.list;
}

static cJSON *key_volume(struct info *info)
{
	cJSON *volume = podspec_volume(SUPERVISE_VOLUME);

	json_put_str(volume, plugin_object_name(info, SUFFIX), "secret", "secretName");
	/* Any user of the container may be the job's. */
	cJSON_AddItemToArray(json_list(volume, "secret", "items"),
			     podspec_volume_item(SUPERVISE_SECRET_KEY, KEY_FILE, 0444));
	return volume;
}

int supervise_mount_key(struct info *info, const struct pod_set *ps, cJSON *c,
			struct error *err)
{
	if (pod_has_volume(ps->pod_spec, SUPERVISE_VOLUME))
		return error_set(err, ERR_INVALID,
				 "job %s of the runtime has a volume \"" SUPERVISE_VOLUME
				 "\" of its own",
				 ps->name);
	pod_set_volume(ps->pod_spec, key_volume(info));
	container_mount(c, SUPERVISE_VOLUME, KEY_DIR, true);
	return 0;
}

static bool has_command(const struct info *info, const cJSON *tj, const cJSON *c)
{
	const cJSON *command = info->command    ? info->command
			       : tj_command(tj) ? tj_command(tj)
						: container_command(c);

	return cJSON_GetArraySize(command) > 0;
}

static int supervise(const struct plugin_env *env, struct info *info, struct pod_set *ps,
		     const cJSON *tj, struct specs *specs, struct error *err)
{
	cJSON *c = pod_container(ps->pod_spec, NODE);

	if (track_spec_of(&specs->track, &info->arena, tj, info->annotations, err) ||
	    run_spec_of(&specs->run, &info->arena, tj, info->annotations, err) ||
	    export_spec_of(&specs->export, &info->arena, tj, info->annotations, err))
		return -1;
	if (!c)
		return 0;
	if (!has_command(info, tj, c))
		return error_set(err, ERR_INVALID,
				 SUPERVISE_ANNOTATION
				 ": the container \"" NODE
				 "\" has no command, and that of its image is unknown; "
				 "set spec.trainer.command");
	ps->runner = runner(info, specs, ps, tj);
	if (specs->track.uri)
		set_tracking(&specs->track, c);
	if (specs->run.uri)
		mount_run(&specs->run, ps, c);
	if (specs->export.uri)
		mount_export(&specs->export, info, ps, c);
	job_replace_lost_pods(ps->job_spec, NODE);
	if (carry_into(env, ps, c, err))
		return -1;
	return pod_set_count(ps) < 2 ? 0 : supervise_mount_key(info, ps, c, err);
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct specs specs;
	struct pod_set *ps = info_by_ancestor(info, ANCESTOR_TRAINER);

	if (supervise_spec_of(&specs.supervise, tj, info->annotations, err))
		return -1;
	if (!specs.supervise.on || !ps)
		return 0;
	if (policy_mpi(info->ml_policy) || policy_flux(info->ml_policy))
		return error_set(err, ERR_INVALID,
				 "%s: not available with MPI and Flux, whose launchers "
				 "start the nodes' processes; remove it",
				 specs.supervise.by);
	return supervise(env, info, ps, tj, &specs, err);
}

static bool needs_key(const struct info *info, const cJSON *tj)
{
	enum preflight_mode mode;

	return is_supervised(info, tj) ||
	       (!preflight_mode_of(&mode, tj, info->annotations, IGNORED) && mode);
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct object_ref ref = { "v1", "Secret", info->ns,
				  plugin_object_name(info, SUFFIX) };
	const char *private_pem, *public;
	const cJSON *old;
	cJSON *secret;

	if (!needs_key(info, tj) || info_nodes(info) < 2)
		return 0;
	if (plugin_object_find(env, &ref, &old, err))
		return -1;
	if (old)
		return 0; /* a key is created once */
	if (!env->keys)
		return error_set(err, ERR_INVALID, "no source of keys");
	if (env->keys->ssh(env->keys->ctx, &info->arena, &private_pem, &public, err))
		return error_wrap(err, "the supervisors' key");
	secret = plugin_add_object(objects, tj, "v1", "Secret", SUFFIX);
	json_put_str(secret, "Opaque", "type");
	json_put_bool(secret, true, "immutable");
	plugin_secret_data(secret, SUPERVISE_SECRET_KEY, private_pem);
	return 0;
}

const struct plugin plugin_supervise = {
	.name = "Supervise",
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
	.build = build,
};
