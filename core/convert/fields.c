/*
 * fields.c - grade every field of an input by a table (convert/job.h).
 *
 * A pattern is the field's path with R for the member that holds the replicas, * for a
 * replica type and [] for an index. The first matching row decides. A field without a row
 * remains if it is in the pod template, and is refused anywhere else, so that nothing is
 * dropped silently.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "convert/job.h"
#include "convert/names.h"
#include "trainer/api.h"
#include "trainer/podspec.h"

#define LEFT_TO_RUNTIME "the shared runtime decides"
#define SERVERS_OWN     "left out: a server sets it"
#define V1_IGNORED      "left out: V1 ignored it, too"
#define T               "spec.R.*.template"

struct field {
	struct v1_job *j;
	const struct role *role; /* NULL: no role, or one without pods */
	const char *path, *pattern;
	const char *parent, *key; /* the last two keys of the path */
	const cJSON *value;
	const cJSON *container; /* the container of the field, or NULL */
};

/* A judge's further result besides the grades of convert.h: this row does not apply. */
enum { NOT_THIS_RULE = -1 };

struct row {
	unsigned kinds;
	const char *pattern;
	int grade;
	const char *note; /* the note; NULL: none, the field remains */
	int (*judge)(const struct field *f, const char **note); /* instead of both */
	const char *shared; /* why it is lost with a shared runtime; NULL: as without */
};

static const char *text_of(const struct field *f)
{
	const char *s = cJSON_GetStringValue(f->value);

	return s ? s : "";
}

/* ---- replicas ---- */

static int judge_restart(const struct field *f, const char **note)
{
	const struct v1_job *j = f->j;

	if (j->kind->one_template && f->role != &j->roles[0] &&
	    !str_eq(f->role->restart, j->roles[0].restart)) {
		*note = arena_printf(j->arena, "all pods get the %s's: %s",
				     j->roles[0].name, j->roles[0].restart);
		return GRADE_APPROXIMATE;
	}
	if (!str_eq(text_of(f), "Always"))
		return GRADE_EXACT;
	*note = "a pod that has succeeded is not started again";
	return GRADE_APPROXIMATE;
}

static int judge_template_restart(const struct field *f, const char **note)
{
	*note = "left out: V1 overwrote it with the replica's restartPolicy";
	return str_eq(text_of(f), f->role->restart) ? NOT_THIS_RULE : GRADE_EXACT;
}

static int judge_env(const struct field *f, const char **note)
{
	switch (v1_env_owner(f->j, f->role, podspec_element_name(f->container),
			     podspec_element_name(f->value))) {
	case ENV_POLICYS:
		*note = "left out: the runtime's policy sets it";
		return GRADE_APPROXIMATE;
	case ENV_V1S:
		*note = "left out: V1 overwrote it, and so does the runtime";
		return GRADE_EXACT;
	default:
		return NOT_THIS_RULE;
	}
}

static int judge_port(const struct field *f, const char **note)
{
	bool is_it =
		f->j->kind->port && str_eq(json_str(f->value, "name"), f->j->kind->port);
	int64_t port = json_int(f->value, TRAINER_PORT, "containerPort");

	if (!is_it || f->j->kind->bit & (KIND_TENSORFLOW | KIND_PADDLE | KIND_MPI) ||
	    port == TRAINER_PORT)
		return NOT_THIS_RULE;
	*note = arena_printf(f->j->arena, "rank 0 listens on port %d", TRAINER_PORT);
	return GRADE_APPROXIMATE;
}

/* Is the text a host name, not a script, a path or the name of an object? */
static bool is_host(const struct field *f, const char *text)
{
	return !str_eq(f->key, "name") && !str_eq(f->key, "secretName") &&
	       !text[strcspn(text, " \t\n/")];
}

/* Grade the names in a text of a pod template; true: a note was added. */
static bool judge_text(const struct field *f)
{
	const char *text = text_of(f);
	struct renamed r = v1_rename_field(f->j, f->parent, f->key, text);

	if (str_eq(f->key, "fieldPath") && str_eq(text, "metadata.name"))
		r = (struct renamed){ text, GRADE_APPROXIMATE,
				      "the names of pods now end in random letters; a "
				      "pod's host name is JOB-ROLE-0-N" };
	if (r.why)
		v1_note(f->j, r.grade, f->path, f->value, r.why);
	else if (r.now != text)
		v1_note(f->j, GRADE_APPROXIMATE, f->path, f->value,
			arena_printf(f->j->arena, "%s %s",
				     is_host(f, text) ? "the pod is now called"
						      : "it is now",
				     r.now));
	return r.why || r.now != text;
}

static int judge_worker_command(const struct field *f, const char **note)
{
	if (!f->role || !str_eq(f->role->rjob, NODE) ||
	    !str_eq(json_str(f->value, "name"), f->role->container))
		return NOT_THIS_RULE;
	if (!json_get(f->value, "command") && !json_get(f->value, "args"))
		return NOT_THIS_RULE;
	*note = v1_mpi_transport(f->j) ? "the command becomes mpi-worker"
				       : "the command becomes /usr/sbin/sshd -De: the "
					 "launcher reaches it by ssh";
	return GRADE_LOST;
}

static int judge_exec(const struct field *f, const char **note)
{
	*note = v1_mpi_transport(f->j)
			? "workers are reached by mpi-launch, not by kubectl exec"
			: "workers are reached by ssh, not by kubectl exec: their "
			  "image needs sshd";
	return GRADE_APPROXIMATE;
}

/* ---- runPolicy ---- */

static int judge_clean(const struct field *f, const char **note)
{
	if (f->value != v1_clean_pod_policy(f->j)) {
		*note = "left out: runPolicy.cleanPodPolicy overrides it, as in V1";
		return GRADE_EXACT;
	}
	if (str_eq(text_of(f), "All")) {
		*note = "the JobSet and its pods are deleted 60 s after the end, or "
			"after ttlSecondsAfterFinished if that is shorter";
		return GRADE_APPROXIMATE;
	}
	if (str_eq(text_of(f), "Running") || !*text_of(f)) {
		*note = "left out: this is what JobSet does";
		return GRADE_EXACT;
	}
	*note = "pods that still run when the job ends are deleted; finished ones stay";
	return GRADE_LOST;
}

static int judge_backoff(const struct field *f, const char **note)
{
	if (f->j->kind->bit == KIND_MPI2)
		return GRADE_EXACT;
	for (size_t i = 0; i < f->j->n_roles; i++)
		if (!str_eq(f->j->roles[i].restart, "Never")) {
			*note = "limits each Job of the JobSet, not all pods together";
			return GRADE_APPROXIMATE;
		}
	*note = "left out: restartPolicy Never allows no failure, as in V1";
	return GRADE_EXACT;
}

static int judge_min_available(const struct field *f, const char **note)
{
	int64_t n = json_int(f->j->policy, 0, "schedulingPolicy", "minAvailable");

	if (v1_gang_of(f->j) == GANG_NONE) {
		*note = "left out: the job names no scheduler; set podGroupPolicy "
			"in the runtime";
		return GRADE_LOST;
	}
	*note = n == f->j->pods
			? "left out: a gang always consists of all pods"
			: arena_printf(f->j->arena, "a gang consists of all pods: %lld",
				       (long long)f->j->pods);
	return n == f->j->pods ? GRADE_EXACT : GRADE_LOST;
}

static int judge_schedule_timeout(const struct field *f, const char **note)
{
	if (v1_gang_of(f->j) != GANG_VOLCANO)
		return GRADE_EXACT;
	*note = "left out: queue and priorityClass select Volcano, which "
		"has no such timeout";
	return GRADE_LOST;
}

/* ---- specs ---- */

static int judge_procs(const struct field *f, const char **note)
{
	if (v1_numeric_procs(f->j))
		return GRADE_EXACT;
	if (str_eq(text_of(f), "gpu") &&
	    json_int(f->j->job, 0, "spec", "trainer", "numProcPerNode")) {
		*note = arena_printf(
			f->j->arena,
			"numProcPerNode is %lld, the GPUs that a pod requests",
			(long long)json_int(f->j->job, 0, "spec", "trainer",
					    "numProcPerNode"));
		return GRADE_APPROXIMATE;
	}
	*note = "left out: the default is the number of GPUs that a pod requests, else "
		"its CPUs, else 1";
	return GRADE_APPROXIMATE;
}

static int judge_elastic_size(const struct field *f, const char **note)
{
	const struct role *workers = v1_role(f->j, "Worker");
	int64_t n;

	*note = arena_printf(f->j->arena, "the size of the job is fixed: %lld nodes",
			     (long long)f->j->pods);
	return json_int_of(f->value, &n) && workers && n == workers->n
		       ? GRADE_EXACT
		       : GRADE_APPROXIMATE;
}

static int judge_dynamic(const struct field *f, const char **note)
{
	*note = "a worker that fails does not stop the others, but the job fails at the "
		"end unless worker 0 or the chief succeeds";
	return cJSON_IsTrue(f->value) ? GRADE_APPROXIMATE : NOT_THIS_RULE;
}

/* An empty status is exact: Go programs write `status: {}`. */
static int judge_status(const struct field *f, const char **note)
{
	const cJSON *e;

	json_each(e, f->value)
		if (!cJSON_IsNull(e) &&
		    (e->child || !(cJSON_IsObject(e) || cJSON_IsArray(e)))) {
			*note = "left out: it belongs to the V1 job";
			return GRADE_APPROXIMATE;
		}
	return GRADE_EXACT;
}

static int judge_creation(const struct field *f, const char **note)
{
	if (str_eq(text_of(f), "AtStartup"))
		*note = "left out: the launcher starts at once by default";
	return GRADE_EXACT;
}

/* The only container that every pod of a shared runtime has is "node". */
static int judge_container(const struct field *f, const char **note)
{
	*note = LEFT_TO_RUNTIME;
	return f->j->conf->shared && f->role &&
			       !str_eq(json_str(f->value, "name"), f->role->container)
		       ? GRADE_LOST
		       : NOT_THIS_RULE;
}

static int judge_service_name(const struct field *f, const char **note)
{
	const char *now = v1_rename_in_text(f->j, text_of(f)).now;

	*note = arena_printf(f->j->arena, "the pod is now called %s", now);
	return now == text_of(f) ? GRADE_EXACT : GRADE_APPROXIMATE;
}

static const struct row rows[] = {
	{ KIND_MPI, "apiVersion", GRADE_APPROXIMATE, NULL, judge_exec, NULL },
	{ KIND_ALL, "apiVersion", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "kind", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "status", GRADE_EXACT, NULL, judge_status, NULL },
	{ KIND_ALL, "metadata.name", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "metadata.namespace", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "metadata.labels", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL,
	  "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
	  GRADE_APPROXIMATE, "left out: kubectl wrote it", NULL, NULL },
	{ KIND_ALL, "metadata.annotations.*", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "metadata.ownerReferences", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "metadata.finalizers", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "metadata.uid", GRADE_APPROXIMATE, SERVERS_OWN, NULL, NULL },
	{ KIND_ALL, "metadata.resourceVersion", GRADE_APPROXIMATE, SERVERS_OWN, NULL,
	  NULL },
	{ KIND_ALL, "metadata.generation", GRADE_APPROXIMATE, SERVERS_OWN, NULL, NULL },
	{ KIND_ALL, "metadata.creationTimestamp", GRADE_APPROXIMATE, SERVERS_OWN, NULL,
	  NULL },
	{ KIND_ALL, "metadata.deletionTimestamp", GRADE_APPROXIMATE, SERVERS_OWN, NULL,
	  NULL },
	{ KIND_ALL, "metadata.deletionGracePeriodSeconds", GRADE_APPROXIMATE, SERVERS_OWN,
	  NULL, NULL },
	{ KIND_ALL, "metadata.selfLink", GRADE_APPROXIMATE, SERVERS_OWN, NULL, NULL },
	{ KIND_ALL, "metadata.managedFields", GRADE_APPROXIMATE, SERVERS_OWN, NULL,
	  NULL },

	{ KIND_ALL, "spec.R.*.replicas", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "spec.R.*.restartPolicy", GRADE_EXACT, NULL, judge_restart,
	  LEFT_TO_RUNTIME },
	{ KIND_ALL, T ".apiVersion", GRADE_EXACT, V1_IGNORED, NULL, NULL },
	{ KIND_ALL, T ".kind", GRADE_EXACT, V1_IGNORED, NULL, NULL },
	{ KIND_ALL, T ".spec.restartPolicy", GRADE_EXACT, NULL, judge_template_restart,
	  NULL },
	{ KIND_ALL, T ".spec.hostname", GRADE_LOST, "JobSet names the pods", NULL, NULL },
	{ KIND_ALL, T ".spec.subdomain", GRADE_LOST, "JobSet names the service", NULL,
	  NULL },
	{ KIND_ALL, T ".spec.containers[].env[]", GRADE_EXACT, NULL, judge_env, NULL },
	{ KIND_ALL, T ".spec.containers[].ports[]", GRADE_EXACT, NULL, judge_port, NULL },
	{ KIND_ALL, T ".spec.containers[]", GRADE_EXACT, NULL, judge_container, NULL },
	{ KIND_MPI, T ".spec.containers[]", GRADE_EXACT, NULL, judge_worker_command,
	  NULL },

	{ KIND_ALL, "spec.runPolicy.cleanPodPolicy", GRADE_EXACT, NULL, judge_clean,
	  LEFT_TO_RUNTIME },
	{ KIND_ALL, "spec.runPolicy.ttlSecondsAfterFinished", GRADE_EXACT, NULL, NULL,
	  NULL },
	{ KIND_ALL, "spec.runPolicy.activeDeadlineSeconds", GRADE_APPROXIMATE,
	  "counts from when the TrainJob is created or resumed, and deletes the pods",
	  NULL, NULL },
	{ KIND_ALL, "spec.runPolicy.backoffLimit", GRADE_APPROXIMATE, NULL, judge_backoff,
	  LEFT_TO_RUNTIME },
	{ KIND_ALL, "spec.runPolicy.suspend", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "spec.runPolicy.managedBy", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_ALL, "spec.runPolicy.schedulingPolicy.minAvailable", GRADE_LOST, NULL,
	  judge_min_available, LEFT_TO_RUNTIME },
	{ KIND_ALL, "spec.runPolicy.schedulingPolicy.queue", GRADE_EXACT, NULL, NULL,
	  LEFT_TO_RUNTIME },
	{ KIND_ALL, "spec.runPolicy.schedulingPolicy.priorityClass", GRADE_APPROXIMATE,
	  "also becomes the pods' priority", NULL, LEFT_TO_RUNTIME },
	{ KIND_ALL, "spec.runPolicy.schedulingPolicy.minResources", GRADE_LOST,
	  "the requests of all pods are used instead", NULL, LEFT_TO_RUNTIME },
	{ KIND_ALL, "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", GRADE_EXACT,
	  NULL, judge_schedule_timeout, LEFT_TO_RUNTIME },

	{ KIND_PYTORCH, "spec.nprocPerNode", GRADE_EXACT, NULL, judge_procs, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.minReplicas", GRADE_APPROXIMATE, NULL,
	  judge_elastic_size, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.maxReplicas", GRADE_APPROXIMATE, NULL,
	  judge_elastic_size, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.maxRestarts", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.nProcPerNode", GRADE_EXACT, NULL, NULL,
	  NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.rdzvHost", GRADE_EXACT, NULL,
	  judge_service_name, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.rdzvPort", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.rdzvBackend", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.rdzvId", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.rdzvConf", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.standalone", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PYTORCH, "spec.elasticPolicy.metrics", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_PADDLE, "spec.elasticPolicy", GRADE_EXACT, V1_IGNORED, NULL, NULL },
	{ KIND_TENSORFLOW, "spec.successPolicy", GRADE_EXACT, NULL, NULL,
	  LEFT_TO_RUNTIME },
	{ KIND_TENSORFLOW, "spec.enableDynamicWorker", GRADE_EXACT, NULL, judge_dynamic,
	  LEFT_TO_RUNTIME },
	{ KIND_MPI | KIND_MPI2, "spec.slotsPerWorker", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_MPI, "spec.cleanPodPolicy", GRADE_EXACT, NULL, judge_clean,
	  LEFT_TO_RUNTIME },
	{ KIND_MPI, "spec.mainContainer", GRADE_EXACT, NULL, NULL, NULL },
	{ KIND_MPI2, "spec.sshAuthMountPath", GRADE_EXACT, NULL, NULL, LEFT_TO_RUNTIME },
	{ KIND_MPI2, "spec.runLauncherAsWorker", GRADE_EXACT, NULL, NULL,
	  LEFT_TO_RUNTIME },
	{ KIND_MPI2, "spec.launcherCreationPolicy", GRADE_EXACT, NULL, judge_creation,
	  LEFT_TO_RUNTIME },
	{ KIND_MPI2, "spec.mpiImplementation", GRADE_EXACT, NULL, NULL, LEFT_TO_RUNTIME },
};

static bool fits(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (len > 2 && str_ends(pattern, ".*"))
		return !strncmp(pattern, path, len - 1);
	return str_eq(pattern, path);
}

/* false: no row applies; grade the members instead. */
static bool judged(const struct field *f)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];
		const char *note = row->note;
		int grade = row->grade;

		if (!(row->kinds & f->j->kind->bit) || !fits(row->pattern, f->pattern))
			continue;
		if (f->j->conf->shared && row->shared) {
			v1_note(f->j, GRADE_LOST, f->path, f->value, row->shared);
			return true;
		}
		if (row->judge)
			grade = row->judge(f, &note);
		if (grade == NOT_THIS_RULE)
			continue;
		if (note &&
		    (grade != GRADE_EXACT || !row->judge || str_starts(note, "left out")))
			v1_note(f->j, (enum grade)grade, f->path, f->value, note);
		return true;
	}
	return false;
}

static bool in_template(const struct field *f)
{
	return str_starts(f->pattern, T);
}

/* Grade V1's labels in a selector, the downward API or kubectl -l; true: note added. */
static bool judge_operator_label(const struct field *f)
{
	static const char label[] = "metadata.labels['";
	const char *text = text_of(f), *in;
	bool found = strstr(text, "training.kubeflow.org/") != NULL;

	if (str_starts(f->pattern, T ".metadata"))
		return false;
	if (str_eq(f->parent, "matchLabels"))
		found |= v1_is_operator_label(f->key);
	else if (str_eq(f->key, "key"))
		found |= v1_is_operator_label(text);
	else if (str_eq(f->key, "fieldPath") && (in = str_after(text, label)))
		found |= v1_is_operator_label(in);
	if (found)
		v1_note(f->j, GRADE_LOST, f->path, f->value, V1_NEW_LABELS);
	return found;
}

/* true: the field has a note, and gets no other. */
static bool judge_names(const struct field *f, bool leaf)
{
	return judge_operator_label(f) || (leaf && judge_text(f) && !f->j->conf->shared);
}

static void walk(const struct field *f);

static void walk_members(const struct field *f)
{
	const cJSON *e;
	size_t i = 0;
	bool roles = str_eq(f->pattern, "spec.R");

	json_each(e, f->value) {
		struct field child = *f;
		const char *key = e->string;
		const char *in_pattern = roles ? "*" : key;

		child.value = e;
		if (cJSON_IsArray(f->value)) {
			child.path = arena_printf(f->j->arena, "%s[%zu]", f->path, i++);
			child.pattern = arena_printf(f->j->arena, "%s[]", f->pattern);
			if (str_eq(f->pattern, T ".spec.containers"))
				child.container = e;
			walk(&child);
			continue;
		}
		child.parent = f->key;
		child.key = key;
		if (str_eq(f->pattern, "spec") && str_eq(key, f->j->kind->roles_key))
			in_pattern = "R";
		child.path = *f->path
				     ? arena_printf(f->j->arena,
						    strchr(key, '.') ? "%s[%s]" : "%s.%s",
						    f->path, key)
				     : key;
		child.pattern = *f->pattern ? arena_printf(f->j->arena, "%s.%s",
							   f->pattern, in_pattern)
					    : key;
		if (roles)
			child.role = v1_role(f->j, key);
		if (roles && !child.role)
			v1_note(f->j, GRADE_EXACT, child.path, e,
				"left out: it has no replicas");
		else
			walk(&child);
	}
}

static void walk(const struct field *f)
{
	bool leaf = !cJSON_IsObject(f->value) && !cJSON_IsArray(f->value);

	if (cJSON_IsNull(f->value) || judged(f))
		return;
	if (in_template(f) && judge_names(f, leaf))
		return;
	if (f->j->conf->shared && in_template(f) && leaf &&
	    !v1_shared_carries(f->j, f->role, f->pattern))
		v1_note(f->j, GRADE_LOST, f->path, f->value, LEFT_TO_RUNTIME);
	if (leaf && !in_template(f))
		v1_refuse(f->j, f->path, f->value, "there is no conversion rule for it");
	walk_members(f);
}

void v1_grade_fields(struct v1_job *j)
{
	walk(&(struct field){ .j = j, .path = "", .pattern = "", .value = j->obj });
}
