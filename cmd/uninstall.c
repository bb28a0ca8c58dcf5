/*
 * uninstall.c - take away what install has put into a cluster.
 */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/jobs.h"
#include "cmd/cmd.h"
#include "cmd/manifests.h"
#include "cmd/ui/cluster.h"
#include "spec/input.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

struct uninstall_opts {
	struct cluster_opts cluster;
	struct manifests_opts what;
	bool crds, controller, runtimes, dry_run;
};

static const struct opt opts_table[] = {
	OPT_BOOL(0, "crds",
		 "the CustomResourceDefinitions, too, and with them every TrainJob",
		 struct uninstall_opts, crds),
	OPT_BOOL(0, "controller", "of the rest only the controller",
		 struct uninstall_opts, controller),
	OPT_BOOL(0, "runtimes", "of the rest only the built-in runtimes",
		 struct uninstall_opts, runtimes),
	OPT_STRS(0, "runtime", "NAME", "of these only this; may be repeated",
		 struct uninstall_opts, what.runtimes),
	OPT_STR('n', "namespace", "NS", "of the controller: kubeflow-system",
		struct uninstall_opts, what.ns),
	OPT_BOOL(0, "dry-run", "only say what would be removed", struct uninstall_opts,
		 dry_run),
	CLUSTER_OPTIONS(struct uninstall_opts),
	{ .type = OPT_END },
};

/*
 * Ours, or upstream's of the same name? Upstream's plain manifests label hardly
 * anything: there the name has to do.
 */
static const char *why_not(struct arena *arena, const cJSON *obj)
{
	const char *part_of = meta_label(obj, INSTALL_PART_OF);
	const char *release = meta_annotation(obj, HELM_RELEASE);

	if (str_eq(meta_label(obj, INSTALL_MANAGED_BY), "Helm"))
		return arena_printf(arena, "it is the Helm release %s's: helm uninstall",
				    release ? release : "?");
	if (meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND))
		return meta_label(obj, LABEL_FRAMEWORK)
			       ? NULL
			       : "it is none of the built-in runtimes";
	if (part_of && !str_eq(part_of, "kubeflow"))
		return arena_printf(arena, "it is part of %s", part_of);
	return NULL;
}

/* Of runtimes that go a copy joins `runtimes`. */
static int remove_one(struct kube *k, const cJSON *obj, bool dry_run, cJSON *runtimes,
		      struct error *err)
{
	const struct kube_ref ref = kube_ref_of(obj);
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *now = NULL;
	struct error why = { 0 };
	const char *reason;

	if (!kube_get(k, &ref, &now, &why)) {
		reason = why_not(&arena, now);
		if (!reason && !dry_run &&
		    kube_delete(k, &ref, "Background", meta_uid(now), &why) &&
		    why.kind != ERR_NOT_FOUND) {
			*err = why;
			return -1;
		}
		printf("%s: %s%s\n", object_title(&arena, obj),
		       reason    ? "left: "
		       : dry_run ? "would be removed"
				 : "removed",
		       reason ? reason : "");
		if (!reason && meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND))
			cJSON_AddItemToArray(runtimes, json_dup(obj));
		return 0;
	}
	if (why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

struct users {
	const cJSON *runtimes; /* that are removed, or would be */
	struct arena arena;
	size_t n;
	const char *first;
};

static int on_job(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *job = take_obj;
	struct runtime_ref ref = tj_runtime_ref(job);
	struct users *u = ctx;
	const cJSON *r;

	(void)err;
	json_each(r, u->runtimes) {
		if (!runtime_ref_is_cluster(&ref) || !str_eq(meta_name(r), ref.name))
			continue;
		if (!u->n++)
			u->first = arena_printf(&u->arena, "%s/%s", meta_namespace(job),
						meta_name(job));
	}
	return 0;
}

/* TrainJobs stay, and the SDK's list_jobs() looks for the runtime of each. */
static void tell_users(struct kube *k, const cJSON *runtimes)
{
	const struct kube_ref jobs = job_ref(NULL, NULL);
	struct users u = { .runtimes = runtimes };
	const struct kube_sink sink = { .on_item = on_job, .ctx = &u };
	struct error ignored = { 0 };

	if (runtimes->child && !kube_list(k, &jobs, NULL, &sink, NULL, &ignored) && u.n)
		cmd_complain("uninstall",
			     "warning: %zu TrainJob%s refer%s to such a runtime (%s%s): "
			     "until it is there again list_jobs() of the Python SDK "
			     "fails",
			     u.n, u.n == 1 ? "" : "s", u.n == 1 ? "s" : "", u.first,
			     u.n == 1 ? "" : ", ...");
	arena_clear(&u.arena);
}

/* The order of removal: no webhook may stand in the way, then the last made first. */
static int rank(const cJSON *obj)
{
	const char *kind = meta_kind(obj);

	if (str_ends(kind, "WebhookConfiguration"))
		return 0;
	return str_eq(kind, CRD_KIND) ? 2 : 1;
}

enum { LAST_RANK = 2 };

static int remove_all(struct kube *k, const cJSON *list, bool dry_run, cJSON *runtimes,
		      struct error *err)
{
	const cJSON *obj;

	for (int r = 0; r <= LAST_RANK; r++) {
		obj = list->child ? list->child->prev : NULL; /* the last */
		for (; obj; obj = obj == list->child ? NULL : obj->prev)
			if (rank(obj) == r && !str_eq(meta_kind(obj), "Namespace") &&
			    remove_one(k, obj, dry_run, runtimes, err))
				return -1;
	}
	return 0;
}

static enum install_parts parts_of(const struct uninstall_opts *opts)
{
	enum install_parts parts = 0;

	if (opts->controller)
		parts |= INSTALL_CONTROLLER;
	if (opts->runtimes || opts->what.runtimes.n)
		parts |= INSTALL_RUNTIMES;
	if (!parts)
		parts = INSTALL_CONTROLLER | INSTALL_RUNTIMES;
	return opts->crds ? parts | INSTALL_CRDS : parts;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct uninstall_opts opts = *(const struct uninstall_opts *)values;
	const char *ns = opts.what.ns ? opts.what.ns : INSTALL_NAMESPACE;
	cleanup_schema struct schema *schema = NULL;
	cleanup_kube struct kube *kube = NULL;
	cleanup_json cJSON *list = NULL, *runtimes = cJSON_CreateArray();

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	opts.what.parts = parts_of(&opts);
	opts.what.strict = true; /* should it be there */
	if (input_schema(&schema, err) ||
	    manifests_build(&list, schema, &opts.what, err) ||
	    cluster_connect(&kube, &opts.cluster, err))
		return -1;
	if (opts.what.parts & INSTALL_CONTROLLER)
		cJSON_AddItemToArray(list, meta_new("coordination.k8s.io/v1", "Lease", ns,
						    TRAINER_GROUP));
	if (remove_all(kube, list, opts.dry_run, runtimes, err))
		return -1;
	if (!(opts.what.parts & INSTALL_CRDS))
		tell_users(kube, runtimes);
	if (opts.what.parts & INSTALL_CONTROLLER)
		printf("Namespace %s: left, for what else may be in it\n", ns);
	return 0;
}

const struct cmd cmd_uninstall = {
	.name = "uninstall",
	.args = "",
	.summary = "remove Kubeflow Trainer from a cluster",
	.about = "Removes what 'kftrainer install' puts there, and upstream's objects "
		 "of the same\n"
		 "names. TrainJobs stay, with what they have running, unless --crds is "
		 "given.",
	.example = "kftrainer uninstall --dry-run\n"
		   "kftrainer uninstall --context staging",
	.opts = opts_table,
	.opts_size = sizeof(struct uninstall_opts),
	.run = run,
};
