/* why_objects.c - no controller acts on the job, or its objects are refused. */
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/pipeline.h"
#include "trainer/trainjob.h"
#include "why/foreign.h"
#include "why/why_impl.h"

#define CREATION_FAILED "TrainJobResourcesCreationFailed"
#define AWAITS_VOLCANO  "podgroup phase is Pending" /* releases before 1.9; why_gang() */
#define PROVIDER        "provider "
#define EXCLUSIVE       "alpha.jobset.sigs.k8s.io/exclusive-topology"

enum { MAX_MESSAGE = 4096 };

/*
 * Adds a cause, and returns true, if a finalizer of the object is set. That of a foreground
 * deletion is the garbage collector's, which waits for the objects below.
 */
static bool has_finalizer(struct why *w, const char *whose, const char *command,
			  const cJSON *obj)
{
	const cJSON *f;

	json_each(f, meta_finalizers(obj)) {
		if (!f->valuestring || str_eq(f->valuestring, "foregroundDeletion"))
			continue;
		why_add(w, "Finalizer", command,
			"%s finalizer %s has not been removed by its owner", whose,
			f->valuestring);
		return true;
	}
	return false;
}

/* The same of its deleted Jobs and JobSet, for which a foreground deletion waits. */
static bool has_finalizer_below(struct why *w)
{
	const cJSON *job;

	json_each(job, w->v->jobs)
		if (meta_is_deleted(job) &&
		    has_finalizer(w,
				  arena_printf(w->arena, "its Job %s's", meta_name(job)),
				  why_describe(w, "job", meta_name(job)), job))
			return true;
	return meta_is_deleted(w->v->jobset) &&
	       has_finalizer(w, "its JobSet's", why_describe(w, "jobset", w->v->name),
			     w->v->jobset);
}

void why_deleted(struct why *w)
{
	const cJSON *tj = w->v->trainjob, *pod, *late = NULL;
	const char *name;

	json_each(pod, w->v->pods)
		if (meta_is_deleted(pod))
			late = pod;
	name = late ? meta_name(late) : "";
	if (late && pod_has_ended(late) &&
	    has_finalizer(w,
			  arena_printf(w->arena, "its pod %s has ended, but its", name),
			  why_describe(w, "pod", name), late))
		return;
	if (late)
		why_add(w, "Deleting", why_describe(w, "pod", name),
			"its pods are terminating; %s still exists%s%s", name,
			pod_node(late) ? " on node " : "",
			pod_node(late) ? pod_node(late) : "");
	else if (!has_finalizer_below(w) &&
		 !has_finalizer(w, "its", why_describe(w, "trainjob", w->v->name), tj))
		why_add(w, "Deleting", NULL, "%lld of its pods remain",
			(long long)view_count(w->v).all);
}

/* "; then Job bert-node-0 fails: MESSAGE (REASON)"; "": nothing has been decided. */
static const char *what_follows(struct why *w)
{
	static const struct {
		const char *condition, *verb;
	} rows[] = { { "FailureTarget", "fails" },
		     { "SuccessCriteriaMet", "completes" } };
	const cJSON *job, *c;

	json_each(job, w->v->jobs)
		for (size_t i = 0; i < N_ELEMENTS(rows); i++)
			if ((c = condition_with(job, rows[i].condition, "True")))
				return arena_printf(w->arena, "; then Job %s %s: %s (%s)",
						    meta_name(job), rows[i].verb,
						    why_quote(w, condition_message(c)),
						    condition_reason(c));
	return "";
}

/* A Job ends, and JobSet replaces it, only when its pods are gone. */
void why_terminating(struct why *w)
{
	const cJSON *pod, *first = NULL;
	int64_t n = 0, gone_by, since;
	bool late;

	json_each(pod, w->v->pods) {
		first = !first && meta_is_deleted(pod) ? pod : first;
		n += meta_is_deleted(pod);
	}
	gone_by = pod_gone_by(first, &since);
	late = w->v->now > gone_by + VIEW_REACTION_SECONDS;
	if (!n || (w->state == WHY_SUSPENDED && !late))
		return;
	if (late && pod_has_ended(first) &&
	    has_finalizer(w,
			  arena_printf(w->arena, "its pod %s has ended, but its",
				       meta_name(first)),
			  why_describe(w, "pod", meta_name(first)), first))
		return;
	why_add(w, "PodsTerminating", why_describe(w, "pod", meta_name(first)),
		"%s%s, pod %s%s%s, %s been terminating for %s%s%s",
		n > 1 ? arena_printf(w->arena, "%lld pods, first ", (long long)n) : "",
		pod_step(w->arena, first), meta_name(first),
		pod_node(first) ? " on node " : "",
		pod_node(first) ? pod_node(first) : "", n > 1 ? "have" : "has",
		why_age(w, since),
		late ? ", longer than the grace period: does its node respond" : "",
		what_follows(w));
}

void why_elsewhere(struct why *w)
{
	const struct view *v = w->v;
	const char *cluster = workload_cluster(v->workload);
	const cJSON *lost = condition_with(v->worker, "Active", "False");

	if (tj_is_ours(v->trainjob))
		return;
	if (cluster && lost) {
		why_add(w, "WorkerClusterLost",
			arena_printf(w->arena, "kubectl describe multikueuecluster %s",
				     cluster),
			"for %s Kueue has had no connection to cluster %s, which runs "
			"it; its status is out of date: %s",
			why_age(w, condition_since(lost)), cluster,
			why_quote(w, condition_message(lost)));
		return;
	}
	if (cluster) {
		why_add(w, "ManagedBy",
			why_describe(w, "workload", meta_name(v->workload)),
			"its pods run in cluster %s, which MultiKueue chose; use that "
			"cluster's kubeconfig to see %s",
			cluster, w->state == WHY_RUNNING ? "them" : "why they wait");
		return;
	}
	if (v->workload) /* why_queued() */
		return;
	why_add(w, "ManagedBy", why_describe(w, "trainjob", w->v->name),
		"spec.managedBy names another controller, so Kubeflow "
		"Trainer ignores the job; that controller must start it "
		"(MultiKueue does so in a worker cluster)");
}

/* A JobSet, or a Job without pods, that another controller manages. Not on this machine. */
void why_managed(struct why *w)
{
	const cJSON *spec = jobset_spec_of(w->v->jobset), *rjob;
	const char *manager = jobset_other_manager(spec), *job = NULL;

	json_each(rjob, jobset_jobs_const(spec)) {
		if (manager)
			break;
		job = json_str(rjob, "name");
		manager = rjob_other_manager(rjob);
	}
	if (!manager || w->v->is_local || w->v->pods->child)
		return;
	why_add(w, "ManagedBy", why_describe(w, "jobset", w->v->name),
		"%s to %s (managedBy in the runtime's template), which has created none; "
		"without such a controller remove managedBy",
		job ? arena_printf(w->arena, "job %s leaves its pods", job)
		    : "its JobSet leaves its Jobs",
		manager);
}

static const char *list_runtimes(const struct runtime_ref *ref)
{
	return runtime_ref_is_cluster(ref) ? "kubectl get clustertrainingruntimes"
					   : "kubectl get trainingruntimes%n";
}

void why_no_runtime(struct why *w)
{
	struct runtime_ref ref = tj_runtime_ref(w->v->trainjob);

	if (w->v->jobset || !view_is_missing(w->v, ref.kind))
		return;
	why_add(w, "RuntimeNotFound", list_runtimes(&ref),
		"the %s %s that it refers to does not exist%s%s", ref.kind, ref.name,
		runtime_ref_is_cluster(&ref) ? "" : " in namespace ",
		runtime_ref_is_cluster(&ref) ? "" : w->v->ns);
}

/*
 * The job's objects exist: only other programs still need the runtime. A run directory
 * has none.
 */
void why_runtime_gone(struct why *w)
{
	struct runtime_ref ref = tj_runtime_ref(w->v->trainjob);

	if (w->v->is_local || !view_is_missing(w->v, ref.kind) ||
	    !(w->v->jobset || w->state & (WHY_COMPLETE | WHY_FAILED)))
		return;
	why_add(w, "RuntimeGone", list_runtimes(&ref),
		"its %s %s has been deleted: the job no longer needs it, "
		"but list_jobs() of the Python SDK fails until the runtime "
		"exists again or the job is deleted",
		ref.kind, ref.name);
}

/* ---- refusals of the API server, by words of its messages ---- */

#define QUOTA_RACE                                                                 \
	"others create what a ResourceQuota counts at the same time; it is tried " \
	"again"

struct refusal {
	const char *in; /* words of the message */
	const char *reason;
	const char *what; /* NULL: the message suffices */
	const char *command;
};

static const struct refusal refusals[] = {
	{ "exceeded quota: ", "ResourceQuota",
	  "a ResourceQuota of the namespace is used up",
	  "kubectl describe resourcequota%n" },
	{ "failed quota: ", "ResourceQuota",
	  "a ResourceQuota counts what they do not request",
	  "kubectl describe resourcequota%n" },
	{ "status unknown for quota: ", "ResourceQuota",
	  "a ResourceQuota of the namespace has not been calculated yet",
	  "kubectl describe resourcequota%n" },
	{ "Operation cannot be fulfilled on resourcequotas ", "ResourceQuota", QUOTA_RACE,
	  "kubectl describe resourcequota%n" },
	{ "Operation cannot be fulfilled on clusterresourcequotas", "ResourceQuota",
	  QUOTA_RACE, "kubectl get clusterresourcequotas" },
	{ "resource quota evaluation timed out", "ResourceQuota",
	  "the API server is too slow to evaluate the ResourceQuotas of the namespace",
	  NULL },
	{ "insufficient quota to match these scopes", "ResourceQuota",
	  "their priority class needs a ResourceQuota with a scope for it",
	  "kubectl describe resourcequota%n" },
	{ "usage per ", "LimitRange", "a LimitRange of the namespace does not allow them",
	  "kubectl describe limitrange%n" },
	{ "limit to request ratio per ", "LimitRange",
	  "a LimitRange of the namespace does not allow them",
	  "kubectl describe limitrange%n" },
	{ "violates PodSecurity", "PodSecurity",
	  "the namespace's Pod Security level does not allow them",
	  "kubectl get namespace -o yaml%n" },
	{ "any security context constraint", "SecurityContextConstraints",
	  "no SecurityContextConstraints of OpenShift allow them to their service "
	  "account",
	  "kubectl get scc" },
	{ "because it is being terminated", "NamespaceTerminating",
	  "the namespace is being deleted", "kubectl get namespace -o yaml%n" },
	{ "denied request: ", "PolicyDenied", "a ValidatingAdmissionPolicy refuses them",
	  "kubectl get validatingadmissionpolicies" },
	{ "pod rejected: RuntimeClass", "RuntimeClassNotFound",
	  "their runtime class does not exist", "kubectl get runtimeclasses" },
	{ "denied the request", "WebhookDenied", "an admission webhook refuses them",
	  NULL },
	{ "failed calling webhook", "WebhookUnreachable",
	  "an admission webhook does not answer", NULL },
	{ "error looking up service account", "ServiceAccountNotFound",
	  "their service account does not exist", "kubectl get serviceaccounts%n" },
	{ "metadata.labels: Invalid value: \"-", "CreationFailed",
	  "JobSet copies their negative priority into a label, which is refused: upgrade "
	  "JobSet, or use another class",
	  "kubectl get priorityclasses" },
	{ "no PriorityClass with name", "PriorityClassNotFound",
	  "their priority class does not exist", "kubectl get priorityclasses" },
	{ "resources.requests: Invalid value", "LimitRange",
	  "a request exceeds its limit, which is the default of a LimitRange of the "
	  "namespace where the job sets none",
	  "kubectl describe limitrange%n" },
	{ JOBSET_MISSING, "JobSetNotInstalled", JOBSET_MISSING,
	  "kubectl get crd jobsets.jobset.x-k8s.io" },
	{ PODGROUP_MISSING_TEXT, "PodGroupNotInstalled", NULL,
	  "kubectl get crds | grep podgroups" },
	{ PODGROUP_UNSERVED_TEXT, "PodGroupNotServed", NULL,
	  "kubectl api-versions | grep ^scheduling.k8s.io" },
};

static const struct refusal *refusal_of(const char *message)
{
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++)
		if (strstr(message, refusals[i].in))
			return &refusals[i];
	return NULL;
}

/*
 * OpenShift names each of its constraints, of which an account may use few: only what
 * those object to. If it may use none: all, as they are.
 */
static const char *usable_constraints(struct why *w, const char *message)
{
	static const char unusable[] =
		": Forbidden: not usable by user or serviceaccount";
	char *text = str_slice(w->arena, message, strnlen(message, MAX_MESSAGE));
	char *at, *end, *start;

	while ((at = strstr(text, unusable))) {
		end = at + strlen(unusable);
		start = NULL;
		for (char *p = text; (p = strstr(p, PROVIDER)) && p < at; p++)
			start = p;
		if (!start)
			break;
		if (start - text > 2 && start[-2] == ',')
			start -= 2;
		else if (str_starts(end, ", "))
			end += 2;
		memmove(start, end, strlen(end) + 1);
	}
	return strstr(text, PROVIDER) ? text : message;
}

/* "exceeded quota: q, ..." from `pods "x" is forbidden: exceeded quota: q, ...`. */
static const char *refusal_text(struct why *w, const struct refusal *r,
				const char *message)
{
	const char *forbidden = strstr(message, "is forbidden: ");
	const char *at = r ? strstr(message, r->in) : NULL;
	const char *text = forbidden ? forbidden + strlen("is forbidden: ") : message;

	if (at && str_eq(r->reason, "ResourceQuota"))
		text = at;
	if (at && str_eq(r->reason, "SecurityContextConstraints"))
		text = usable_constraints(w, text);
	return why_quote(w, text);
}

static void add_refusal(struct why *w, const char *what, const char *message,
			const char *command)
{
	const struct refusal *r = refusal_of(message);
	const char *words = refusal_text(w, r, message);
	bool repeats = r && str_eq(words, r->what);
	const char *kind = r && r->what ? r->what : "";

	why_add(w, r ? r->reason : "CreationFailed",
		r && r->command ? r->command : command, "%s cannot be created%s%s%s%s",
		what, *kind ? ": " : "", kind, repeats ? "" : ": ", repeats ? "" : words);
}

/* The JobSet exists and has the TrainJob's spec.suspend: what kept it from that is over. */
static bool is_created(const struct view *v)
{
	return v->jobset && jobset_suspended(v->jobset) == tj_suspend(v->trainjob);
}

static bool lacks_pods(const cJSON *job)
{
	return job_active(job) + job_ended(job) < job_parallelism(job_spec(job));
}

static const cJSON *named(const cJSON *list, const char *name)
{
	const cJSON *obj;

	json_each(obj, list)
		if (str_eq(meta_name(obj), name))
			return obj;
	return NULL;
}

bool why_is_over(const struct why *w, const cJSON *event)
{
	const cJSON *job = named(w->v->jobs, event_object(event));
	const cJSON *pod = named(w->v->pods, event_object(event));

	if (str_eq(event_kind(event), TRAINJOB_KIND))
		return str_eq(event_reason(event), CREATION_FAILED) && is_created(w->v);
	if (str_eq(event_kind(event), "Job"))
		return str_eq(event_reason(event), "FailedCreate") && job &&
		       !lacks_pods(job);
	return str_eq(event_reason(event), "FailedScheduling") && pod && pod_node(pod);
}

void why_creation_failed(struct why *w)
{
	static const char prefix[] = "TrainJob resources reconciliation failed: ";
	const cJSON *e =
		view_event(w->v, TRAINJOB_KIND, w->v->name, CREATION_FAILED, true);
	const cJSON *jobset = w->v->jobset;
	const char *message, *rest;

	if (!e || is_created(w->v))
		return;
	message = event_message(e);
	rest = str_after(message, prefix);
	if (view_is_missing(w->v, tj_runtime_ref(w->v->trainjob).kind) && !jobset)
		return; /* why_no_runtime() */
	add_refusal(w, "its objects", rest ? rest : message,
		    why_describe(w, "trainjob", w->v->name));
}

/* ---- a command that would train wrongly ---- */

/* The warning of admission, which only who created the job has seen. */
void why_launcher(struct why *w)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	const struct plugin_env env = { 0 };
	const struct pipeline pipeline = { plugins, &env };
	const cJSON *warning;
	const char *fault;

	if (!w->v->runtime)
		return;
	pipeline_validate(&pipeline, NULL, w->v->trainjob, w->v->runtime, &errs,
			  warnings);
	json_each(warning, warnings) {
		fault = str_after(warning->valuestring, PIPELINE_COMMAND);
		if (fault)
			why_add(w, "WrongLauncher", NULL,
				"its command would train wrongly: %s", fault);
	}
}

/* ---- no controller ---- */

static const char *controller_fault(struct why *w)
{
	const struct view *v = w->v;
	int64_t renewed = lease_renewed(v->lease);

	if (view_is_missing(v, "Deployment") && view_is_missing(v, "Lease"))
		return "the cluster has neither its Deployment nor its Lease: is it "
		       "installed (kftrainer install)?";
	if (v->lease && renewed >= 0 && v->now - renewed > 2 * lease_seconds(v->lease))
		return arena_printf(w->arena, "its Lease, of %s, was last renewed %s ago",
				    *lease_holder(v->lease) ? lease_holder(v->lease)
							    : "nobody",
				    why_age(w, renewed));
	if (v->lease && !*lease_holder(v->lease))
		return "its Lease has no holder";
	if (v->deployment && !foreign_deployment_available(v->deployment))
		return "its Deployment has no available pod";
	return NULL;
}

void why_no_controller(struct why *w)
{
	const struct view *v = w->v;
	const cJSON *own = view_event(v, TRAINJOB_KIND, v->name, NULL, false);
	const char *fault, *ns;

	if (v->jobset || own || why_job_age(w) < VIEW_REACTION_SECONDS ||
	    view_is_missing(v, tj_runtime_ref(v->trainjob).kind) ||
	    tj_status(v->trainjob) || !tj_is_ours(v->trainjob))
		return;
	fault = controller_fault(w);
	ns = meta_namespace(v->deployment ? v->deployment : v->lease);
	why_add(w, "ControllerNotRunning",
		arena_printf(w->arena, "kubectl get pods -n %s",
			     ns ? ns : "kubeflow-system"),
		"the Kubeflow Trainer controller has not processed it for %s: it has "
		"neither a status nor a JobSet%s%s",
		why_age(w, v->now - why_job_age(w)), fault ? "; " : "",
		fault ? fault : "");
}

void why_no_jobset_controller(struct why *w)
{
	const struct view *v = w->v;
	int64_t since = foreign_time(meta_created(v->jobset));

	if (!v->jobset || v->jobs->child || jobset_suspended(v->jobset) ||
	    jobset_other_manager(jobset_spec_of(v->jobset)) ||
	    v->now - since < VIEW_REACTION_SECONDS || jobset_has_status(v->jobset) ||
	    view_event(v, JOBSET_KIND, v->name, NULL, false))
		return;
	why_add(w, "JobSetControllerNotRunning",
		"kubectl get pods -A -l control-plane=controller-manager",
		"the JobSet controller has not processed the JobSet for %s: it has "
		"neither a status nor Jobs; is the controller running?",
		why_age(w, since));
}

/* ---- pods ---- */

/* JobSet's exclusive placement: a Job's other pods are refused until its first has a node. */
static bool awaits_leader(const char *message)
{
	return strstr(message, "follower pod node selector") ||
	       strstr(message, "leader pod not yet scheduled") ||
	       strstr(message, "expected 1 leader pod");
}

/* A Job with such pods, or NULL. */
static const cJSON *job_of_followers(const struct view *v)
{
	const cJSON *job, *e;

	json_each(job, v->jobs) {
		e = view_event(v, "Job", meta_name(job), "FailedCreate", true);
		if (e && awaits_leader(event_message(e)) && lacks_pods(job))
			return job;
	}
	return NULL;
}

void why_gang_of_followers(struct why *w)
{
	const cJSON *job = job_of_followers(w->v);

	if (!job || !why_gang_is_incomplete(w))
		return;
	w->gang_covered = true;
	why_add(w, "GangOfFollowers", why_describe(w, "job", meta_name(job)),
		"its gang waits until all its pods exist, and JobSet creates the other "
		"pods of a Job only when its first has a node (annotation " EXCLUSIVE
		"): remove one of the two from the runtime");
}

void why_followers(struct why *w)
{
	const cJSON *job = job_of_followers(w->v);

	if (job && !w->gang_covered)
		why_add(w, "AwaitsLeader", why_describe(w, "job", meta_name(job)),
			"JobSet creates the other pods of a Job only when its first has "
			"a node (annotation " EXCLUSIVE ")");
}

/* Jobs report pods that they cannot create by events; JobSets do the same for Jobs. */
void why_pods_refused(struct why *w)
{
	const struct view *v = w->v;
	const cJSON *job, *e;

	json_each(job, v->jobs) {
		e = view_event(v, "Job", meta_name(job), "FailedCreate", true);
		if (!e || awaits_leader(event_message(e)) ||
		    strstr(event_message(e), AWAITS_VOLCANO) || !lacks_pods(job))
			continue;
		add_refusal(w, arena_printf(w->arena, "%sits pods", why_gang_needs(w)),
			    event_message(e), why_describe(w, "job", meta_name(job)));
		return;
	}
	e = v->jobset ? view_event(v, JOBSET_KIND, v->name, NULL, true) : NULL;
	if (e && !v->jobs->child)
		add_refusal(w, "the Jobs of its JobSet", event_message(e),
			    why_describe(w, "jobset", v->name));
}
