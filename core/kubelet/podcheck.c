/* podcheck.c - refuse pods that cannot run, list ignored fields (kubelet/kubelet.h). */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/pod.h"
#include "kubelet/ports.h"
#include "kubelet/probe.h"
#include "kubelet/torchfix.h"

/* ---- GPUs ------------------------------------------------------------------------ */

static int64_t container_gpus(const cJSON *container)
{
	const cJSON *node = json_get(container, "resources", "limits", "nvidia.com/gpu");
	struct quantity q;
	struct error err;

	if (!node)
		node = json_get(container, "resources", "requests", "nvidia.com/gpu");
	if (!node)
		return 0;
	if (quantity_of(&q, node, &err) < 0 || q.nano < 0)
		return -1;
	return quantity_ceil(&q);
}

/*
 * Containers run side by side and share the pod's devices; init containers run one at a
 * time (as the scheduler counts).
 */
int64_t pod_gpus(const cJSON *pod)
{
	int64_t sum = 0, most = 0, n;
	const cJSON *c;

	json_each(c, json_get(pod, "spec", "containers")) {
		if ((n = container_gpus(c)) < 0 || n > 100000)
			return -1;
		sum += n;
	}
	json_each(c, json_get(pod, "spec", "initContainers")) {
		if ((n = container_gpus(c)) < 0 || n > 100000)
			return -1;
		if (str_eq(json_str(c, "restartPolicy"), "Always"))
			sum += n;
		else if (n > most)
			most = n;
	}
	return sum > most ? sum : most;
}

/* ---- notes ----------------------------------------------------------------------- */

struct row {
	const char *field, *why;
};

static const struct row pod_fields[] = {
	{ "nodeSelector", "this machine is the only node" },
	{ "affinity", "this machine is the only node" },
	{ "tolerations", "this machine is the only node" },
	{ "topologySpreadConstraints", "this machine is the only node" },
	{ "runtimeClassName", "no container runtime is used" },
	{ "securityContext", "processes run as the calling user" },
	{ "shareProcessNamespace", "each container has its own PID namespace" },
	{ "hostPID", "each container has its own PID namespace" },
	{ "hostIPC", "each container has its own IPC namespace" },
	{ "serviceAccountName", "pods cannot access an API server" },
	{ "priorityClassName", "there is no scheduler on this machine" },
	{ "schedulerName", "there is no scheduler on this machine" },
	{ "schedulingGates", "there is no scheduler on this machine" },
	{ "dnsConfig", "this machine's resolver is used" },
	{ "overhead", "there is no scheduler on this machine" },
	{ "resources", "pod-level limits are not supported" },
	{ "readinessGates", "no controller sets them" },
	{ "resourceClaims", "there are no resource drivers on this machine" },
	{ "os", "this machine's operating system is used" },
};

/* One line is for the fields of the container and of its pod. */
static const struct row user_fields[] = {
	{ "securityContext", "processes run as the calling user" },
};

static const struct row container_fields[] = {
	{ "volumeDevices", "block volumes are not supported" },
	{ "resizePolicy", "resources are not resized" },
	{ "terminationMessagePath", "the message is in the log" },
	{ "restartPolicyRules", "the pod's restartPolicy applies" },
};

/* Unless kubelet_opts.terminal. */
static const struct row terminal_fields[] = {
	{ "stdin", "standard input is empty" },
	{ "tty", "output goes through a pipe" },
};

static void note(cJSON *notes, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void note(cJSON *notes, const char *fmt, ...)
{
	char text[600];
	const cJSON *old;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_each(old, notes)
		if (str_eq(cJSON_GetStringValue(old), text))
			return;
	cJSON_AddItemToArray(notes, cJSON_CreateString(text));
}

/* Does the field request anything? An empty object does not. */
static bool has_value(const cJSON *node)
{
	return node && !cJSON_IsNull(node) && !cJSON_IsFalse(node) &&
	       !((cJSON_IsObject(node) || cJSON_IsArray(node)) && !node->child);
}

static void report_fields(cJSON *notes, const cJSON *of, const struct row *rows, size_t n,
			  const char *where)
{
	for (size_t i = 0; i < n; i++)
		if (has_value(json_at(of, JSON_PATH(rows[i].field))))
			note(notes, "%s%s is not applied: %s", where, rows[i].field,
			     rows[i].why);
}

static void report_resources(const struct kubelet *k, cJSON *notes, const cJSON *c,
			     const char *where)
{
	struct cgroup_root *root = (struct cgroup_root *)(uintptr_t)&k->cgroups;
	const cJSON *limits = json_get(c, "resources", "limits"), *r;
	bool cpu = json_get(limits, "cpu") != NULL,
	     memory = json_get(limits, "memory") != NULL;

	if (cpu || memory)
		cgroup_open(root);
	if (cpu && !root->cpu)
		note(notes, "%sresources.limits.cpu is not applied: %s", where,
		     root->version ? "no control group for cpu" : root->why);
	if (memory && !root->memory)
		note(notes, "%sresources.limits.memory is not applied: %s", where,
		     root->version ? "no control group for memory" : root->why);
	json_each(r, limits)
		if (!str_eq(r->string, "cpu") && !str_eq(r->string, "memory") &&
		    !str_eq(r->string, "nvidia.com/gpu"))
			note(notes,
			     "%sresources.limits.%s is not applied: this machine does "
			     "not manage this resource",
			     where, r->string);
	if (k->n_gpus && container_gpus(c) == 0)
		note(notes,
		     "%ssees no GPU (CUDA_VISIBLE_DEVICES is empty), as in a cluster: it "
		     "requests no nvidia.com/gpu",
		     where);
}

static void report_probes(cJSON *notes, const cJSON *c, const char *where)
{
	static const char *const probes[] = { "startupProbe", "readinessProbe",
					      "livenessProbe" };
	static const char *const hooks[] = { "postStart", "preStop" };

	for (size_t i = 0; i < 3; i++) {
		const cJSON *p = json_at(c, JSON_PATH(probes[i]));

		if (p && !probe_handler(p))
			note(notes,
			     "%s%s is not applied: only exec, tcpSocket and httpGet "
			     "over HTTP are",
			     where, probes[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		const cJSON *h = json_at(c, JSON_PATH("lifecycle", hooks[i]));

		if (h && !hook_handler(h))
			note(notes,
			     "%slifecycle.%s is not applied: only exec and sleep are",
			     where, hooks[i]);
	}
	if (json_get(c, "lifecycle", "stopSignal"))
		note(notes, "%slifecycle.stopSignal is not applied: SIGTERM is sent",
		     where);
}

static void report_volumes(const struct kubelet *k, cJSON *notes, const cJSON *pod)
{
	const cJSON *v, *s;

	json_each(v, json_get(pod, "spec", "volumes")) {
		const char *name = json_str(v, "name"), *claim;

		name = name ? name : "";
		if ((claim = json_str(v, "persistentVolumeClaim", "claimName")) != NULL)
			note(notes,
			     "volume %s: claim %s is a local directory, kept after the "
			     "run (%s/%s)",
			     name, claim, k->opts.claims, claim);
		if (json_get(v, "ephemeral"))
			note(notes,
			     "volume %s: the ephemeral volume is a directory of this run",
			     name);
		if (json_get(v, "emptyDir", "sizeLimit"))
			note(notes, "volume %s: emptyDir.sizeLimit is not applied", name);
		if (str_eq(json_str(v, "emptyDir", "medium"), "Memory") && !k->memory_dir)
			note(notes,
			     "volume %s: emptyDir.medium Memory is not applied: no "
			     "writable tmpfs",
			     name);
		json_each(s, json_get(v, "projected", "sources"))
			if ((json_get(s, "serviceAccountToken") && !k->opts.pod_key) ||
			    json_get(s, "clusterTrustBundle"))
				note(notes,
				     "volume %s: projected %s is not applied: no API server",
				     name, s->child->string);
	}
}

/* ---- what cannot run ------------------------------------------------------------- */

static const char *where_of(char *to, size_t size, const cJSON *pod, const cJSON *c)
{
	const char *job = meta_name(pod), *name = json_str(c, "name");

	if (!job)
		job = meta_label(pod, "jobset.sigs.k8s.io/replicatedjob-name");
	snprintf(to, size, "%s%s%s: ", job ? job : "", job ? "/" : "",
		 name ? name : "container");
	return to;
}

static int check_volumes(const struct kubelet *k, const cJSON *pod, const cJSON *c,
			 const char *where, struct error *err)
{
	const cJSON *list = json_get(pod, "spec", "volumes"), *m;

	json_each(m, json_get(c, "volumeMounts")) {
		const char *name = json_str(m, "name"), *path = json_str(m, "mountPath");
		const cJSON *volume = json_find_const(list, "name", name ? name : "");
		const char *why = mount_path_refusal(path);

		if (why)
			return error_set(err, ERR_INVALID,
					 "%svolumeMounts: mountPath \"%.200s\": %s",
					 where, path ? path : "", why);
		if (!volume)
			return error_set(err, ERR_INVALID,
					 "%svolumeMounts: volume \"%.80s\" not found",
					 where, name ? name : "");
		why = volume_missing(&k->host, pod, volume);
		if (why)
			return error_set(err, ERR_NOT_FOUND,
					 "%svolume %s: %s %s not found: add it to the "
					 "job's file or mark it optional",
					 where, name, volume_source(volume)->string, why);
		why = volume_refusal(volume);
		if (why)
			return error_set(err, ERR_UNSUPPORTED, "%svolume %s: %s: %s",
					 where, name, volume_source(volume)->string, why);
		if (kubelet_isolation(k) == ISOLATION_NONE &&
		    !symlink_possible(volume, path))
			return error_set(err, ERR_UNSUPPORTED,
					 "%svolume %s: mountPath %s needs a mount "
					 "namespace, which this machine does not allow, "
					 "and cannot be a symbolic link",
					 where, name, path);
	}
	return 0;
}

/*
 * Refuse references to missing ConfigMaps, Secrets and keys: unlike in a cluster, they
 * cannot appear later. Files of variables (fileKeyRef) do not exist before the run.
 */
static int check_config(const struct kubelet *k, const cJSON *pod, const cJSON *c,
			cJSON *notes, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *copy = json_dup(c);
	struct podenv_pod p = { .pod = pod, .container = copy, .ip = "", .hostname = "" };
	cJSON *item, *next, *list = json_get(copy, "env");
	const char *foreign;
	struct podenv env;
	char where[400];

	where_of(where, sizeof(where), pod, c);
	for (item = list ? list->child : NULL; item; item = next) {
		next = item->next;
		if (json_get(item, "valueFrom", "fileKeyRef"))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
	}
	if (podenv_build(&a, &k->host, &p, &env, err) < 0)
		return error_wrap(err, "%.*s", (int)strlen(where) - 2, where);
	if (k->opts.torch_fix && torchfix_named(&env) && torchfix_needed(&env))
		note(notes, TORCHFIX_NOTE);
	foreign = torchfix_foreign(&a, &env);
	if (foreign)
		note(notes, "%s", foreign);
	return 0;
}

static int check_container(const struct kubelet *k, const cJSON *pod, const cJSON *c,
			   cJSON *notes, struct error *err)
{
	char where[400];
	const char *image = json_str(c, "image");

	where_of(where, sizeof(where), pod, c);
	if (!json_get(c, "name"))
		return error_set(err, ERR_INVALID, "%sname: required", where);
	if (!json_get(c, "command") || !json_get(c, "command")->child)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%sno command: image %s is not pulled locally, so its default "
			"command is unknown; set the container's command (the trainer's: "
			"after '--', or spec.trainer.command)",
			where, image ? image : "");
	if (container_gpus(c) < 0)
		return error_set(err, ERR_INVALID,
				 "%sresources: nvidia.com/gpu: not a count", where);
	if (check_volumes(k, pod, c, where, err) < 0 ||
	    check_config(k, pod, c, notes, err) < 0)
		return -1;
	report_fields(notes, c, user_fields, N_ELEMENTS(user_fields), "");
	report_fields(notes, c, container_fields, N_ELEMENTS(container_fields), where);
	if (!k->opts.terminal)
		report_fields(notes, c, terminal_fields, N_ELEMENTS(terminal_fields),
			      where);
	report_resources(k, notes, c, where);
	report_probes(notes, c, where);
	return 0;
}

/* The setting of the kernel that keeps users from creating namespaces: " (a.b=0)", or "". */
static const char *setting_against(struct arena *arena)
{
	static const struct {
		const char *name, *file, *value;
	} settings[] = {
		{ "user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0" },
		{ "kernel.unprivileged_userns_clone",
		  "/proc/sys/kernel/unprivileged_userns_clone", "0" },
		{ "kernel.apparmor_restrict_unprivileged_userns",
		  "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1" },
	};

	for (size_t i = 0; i < N_ELEMENTS(settings); i++)
		if (str_eq(file_first_line(arena, settings[i].file), settings[i].value))
			return arena_printf(arena, " (%s=%s)", settings[i].name,
					    settings[i].value);
	return "";
}

static void note_isolation(const struct kubelet *k, cJSON *notes)
{
	cleanup_arena struct arena a = { 0 };

	if (kubelet_isolation(k) == ISOLATION_NONE)
		note(notes,
		     "no namespaces on this machine%s: pods see each other's processes, "
		     "and addresses replace pod names",
		     k->opts.no_namespaces ? "" : setting_against(&a));
	else if (!(k->kind & SANDBOX_PID))
		note(notes, "no PID namespaces on this machine: pods see each other's "
			    "processes");
}

int kubelet_check(const struct kubelet *k, const cJSON *pod, cJSON *notes,
		  struct error *err)
{
	static const char *const lists[] = { "initContainers", "containers" };
	int64_t gpus = pod_gpus(pod);
	char where[400];
	const cJSON *c;

	for (size_t i = 0; i < 2; i++)
		json_each(c, json_at(pod, JSON_PATH("spec", lists[i])))
			if (check_container(k, pod, c, notes, err) < 0)
				return -1;
	if (gpus > (int64_t)k->n_gpus)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%srequests %lld nvidia.com/gpu, but this machine has %zu%s",
			where_of(where, sizeof(where), pod,
				 json_get(pod, "spec", "containers")
					 ? json_get(pod, "spec", "containers")->child
					 : NULL),
			(long long)gpus, k->n_gpus,
			k->opts.served ? "" : "; '--gpu 0' runs it without GPUs");
	report_fields(notes, json_get(pod, "spec"), pod_fields, N_ELEMENTS(pod_fields),
		      "");
	report_volumes(k, notes, pod);
	note_isolation(k, notes);
	if (k->one_address)
		note(notes, "all pods share the address 127.0.0.1");
	if (ports_loopback_is_down())
		note(notes, "the loopback interface is down: processes cannot reach each "
			    "other; run 'ip link set lo up'");
	return 0;
}
