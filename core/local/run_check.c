/* run_check.c - refuse or report fields that do not apply here (local/run_impl.h). */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kubelet/ports.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"

static void add(cJSON *notes, const char *line)
{
	const cJSON *note;

	json_each(note, notes)
		if (str_eq(cJSON_GetStringValue(note), line))
			return;
	cJSON_AddItemToArray(notes, cJSON_CreateString(line));
}

/* Report the kinds that need a controller of a cluster. */
static void report_objects(struct arena *a, const cJSON *objects, cJSON *notes)
{
	static const char *const used[] = { JOBSET_KIND, "ConfigMap", "Secret", "Service",
					    NULL };
	const cJSON *o;

	json_each(o, objects) {
		const char *kind = meta_kind(o), *name = meta_name(o);

		if (!str_in(kind, used))
			add(notes,
			    arena_printf(a,
					 "%s %s is not applied: no controller on this "
					 "machine handles it",
					 kind ? kind : "an object", name ? name : ""));
	}
}

struct row {
	const char *const *path;
	const char *field, *why;
};

/* Report the fields of the JobSet that have no meaning on one machine. */
static void report_jobset(struct arena *a, const cJSON *jobset, cJSON *notes)
{
	const struct row rows[] = {
		{ JSON_PATH("spec", "ttlSecondsAfterFinished"), "ttlSecondsAfterFinished",
		  "the most recent runs of each job are kept" },
		{ JSON_PATH("spec", "volumeClaimPolicies"), "volumeClaimPolicies",
		  "claims are local directories, kept until 'kftrainer "
		  "delete claim/NAME'" },
		{ JSON_PATH("spec", "managedBy"), "managedBy",
		  "there is no controller on this machine" },
		{ JSON_PATH("metadata", "annotations",
			    "alpha.jobset.sigs.k8s.io/exclusive-topology"),
		  "exclusive-topology", "this machine is the only node" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (json_at(jobset, rows[i].path))
			add(notes, arena_printf(a, "%s is not applied: %s", rows[i].field,
						rows[i].why));
	if (str_eq(json_str(jobset, "spec", "failurePolicy", "restartStrategy"),
		   "InPlaceRestart"))
		add(notes, "restartStrategy InPlaceRestart is treated as Recreate: pods "
			   "are recreated");
}

static cJSON *template_of(const cJSON *rjob)
{
	cJSON *ret = json_dup(json_get(rjob, "template", "spec", "template"));

	if (!ret)
		ret = cJSON_CreateObject();
	json_put_str(ret, json_str(rjob, "name"), "metadata", "labels",
		     "jobset.sigs.k8s.io/replicatedjob-name");
	return ret;
}

static void print_notes(const struct run *r, const cJSON *notes)
{
	const cJSON *note;

	json_each(note, notes)
		run_note(r, "%s", cJSON_GetStringValue(note));
}

int run_check(struct run *r, struct error *err)
{
	cleanup_json cJSON *notes = cJSON_CreateArray();
	cleanup_buf struct buf refused = { .max = sizeof(err->msg) };
	cleanup_arena struct arena a = { 0 };
	enum error_kind kind = ERR_NONE;
	const cJSON *rjob;

	report_objects(&a, r->opts->objects, notes);
	report_jobset(&a, r->jobset, notes);
	json_each(rjob, json_get((const cJSON *)r->jobset, "spec", "replicatedJobs")) {
		cleanup_json cJSON *tmpl = template_of(rjob);
		struct error one = { 0 };

		if (!kubelet_check(r->kubelet, tmpl, notes, &one))
			continue;
		kind = kind == ERR_NONE ? one.kind : kind;
		buf_printf(&refused, "%s%s", refused.len ? "\n" : "", one.msg);
	}
	if (kind != ERR_NONE)
		return error_set(err, kind, "%s",
				 refused.overflowed ? "too many errors to list"
						    : (const char *)refused.data);
	print_notes(r, notes);
	return 0;
}
