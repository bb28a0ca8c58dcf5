/* podspec.c - edit pod templates and containers (trainer/podspec.h). */
#include "trainer/podspec.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "trainer/shape.h"

static const struct shape resource_field[] = { MEMBER("divisor", QUANTITY), { 0 } };
static const struct shape value_from[] = {
	MEMBER("resourceFieldRef", OBJECT, .of = resource_field),
	{ 0 },
};
const struct shape shape_env[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("value", STRING),
	MEMBER("valueFrom", OBJECT, .of = value_from),
	{ 0 },
};
static const struct shape claim[] = {
	MEMBER("name", STRING, .required = true),
	{ 0 },
};
const struct shape shape_resources[] = {
	MEMBER("limits", QUANTITIES),
	MEMBER("requests", QUANTITIES),
	MEMBER("claims", LIST, .of = claim, .max = 256),
	{ 0 },
};
const struct shape shape_metadata[] = {
	MEMBER("labels", MAP),
	MEMBER("annotations", MAP),
	{ 0 },
};
static const struct shape port[] = {
	MEMBER("name", STRING),
	MEMBER("containerPort", INT32),
	{ 0 },
};
static const struct shape mount[] = {
	MEMBER("name", STRING),
	MEMBER("mountPath", STRING),
	{ 0 },
};
static const struct shape container[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("image", STRING),
	MEMBER("command", STRINGS),
	MEMBER("args", STRINGS),
	MEMBER("env", LIST, .of = shape_env),
	MEMBER("envFrom", LIST),
	MEMBER("ports", LIST, .of = port),
	MEMBER("volumeMounts", LIST, .of = mount),
	MEMBER("resources", OBJECT, .of = shape_resources),
	MEMBER("restartPolicy", STRING),
	{ 0 },
};
static const struct shape downward_api[] = {
	MEMBER("items", LIST, .of = value_from),
	{ 0 },
};
static const struct shape projection[] = {
	MEMBER("downwardAPI", OBJECT, .of = downward_api),
	{ 0 },
};
static const struct shape projected[] = {
	MEMBER("sources", LIST, .of = projection),
	{ 0 },
};
static const struct shape empty_dir[] = { MEMBER("sizeLimit", QUANTITY), { 0 } };
static const struct shape claim_spec[] = {
	MEMBER("resources", OBJECT, .of = shape_resources),
	{ 0 },
};
const struct shape shape_claim_template[] = {
	MEMBER("spec", OBJECT, .of = claim_spec),
	{ 0 },
};
static const struct shape ephemeral[] = {
	MEMBER("volumeClaimTemplate", OBJECT, .of = shape_claim_template),
	{ 0 },
};
static const struct shape volume[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("emptyDir", OBJECT, .of = empty_dir),
	MEMBER("ephemeral", OBJECT, .of = ephemeral),
	MEMBER("downwardAPI", OBJECT, .of = downward_api),
	MEMBER("projected", OBJECT, .of = projected),
	{ 0 },
};
static const struct shape dns_config[] = { MEMBER("searches", STRINGS), { 0 } };
static const struct shape pod_claim[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("resourceClaimTemplateName", STRING),
	{ 0 },
};
static const struct shape pod_spec_shape[] = {
	MEMBER("containers", LIST, .of = container),
	MEMBER("initContainers", LIST, .of = container),
	MEMBER("volumes", LIST, .of = volume),
	MEMBER("resourceClaims", LIST, .of = pod_claim),
	MEMBER("overhead", QUANTITIES),
	MEMBER("resources", OBJECT, .of = shape_resources),
	MEMBER("priorityClassName", STRING),
	MEMBER("dnsConfig", OBJECT, .of = dns_config),
	{ 0 },
};
const struct shape shape_pod_template[] = {
	MEMBER("metadata", OBJECT, .of = shape_metadata),
	MEMBER("spec", OBJECT, .of = pod_spec_shape),
	{ 0 },
};

const char *podspec_element_name(const cJSON *element)
{
	return json_str(element, "name");
}

const cJSON *pod_containers_const(const cJSON *pod_spec)
{
	return json_get(pod_spec, "containers");
}

const cJSON *pod_init_containers_const(const cJSON *pod_spec)
{
	return json_get(pod_spec, "initContainers");
}

cJSON *pod_containers(cJSON *pod_spec)
{
	return json_get(pod_spec, "containers");
}

cJSON *pod_init_containers(cJSON *pod_spec)
{
	return json_list(pod_spec, "initContainers");
}

cJSON *pod_container(cJSON *pod_spec, const char *name)
{
	return json_find(json_get(pod_spec, "containers"), "name", name);
}

cJSON *pod_init_container(cJSON *pod_spec, const char *name)
{
	return json_find(json_get(pod_spec, "initContainers"), "name", name);
}

cJSON *pod_any_container(cJSON *pod_spec, const char *name)
{
	cJSON *ret = pod_container(pod_spec, name);

	return ret ? ret : pod_init_container(pod_spec, name);
}

const char *pod_priority_class(const cJSON *pod_spec)
{
	const char *name = json_str(pod_spec, "priorityClassName");

	return name && *name ? name : NULL;
}

const char *pod_spec_scheduler(const cJSON *pod_spec)
{
	return json_str(pod_spec, "schedulerName");
}

const cJSON *pod_spec_group(const cJSON *pod_spec)
{
	return json_get(pod_spec, "schedulingGroup");
}

void pod_set_group(cJSON *pod_spec, const char *podgroup)
{
	json_put_str(pod_spec, podgroup, "schedulingGroup", "podGroupName");
}

void pod_spec_copy_placement(cJSON *to, const cJSON *pod_spec)
{
	static const char *const keys[] = { "nodeSelector", "tolerations", "affinity",
					    "topologySpreadConstraints" };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		json_put(to, json_dup(json_get(pod_spec, keys[i])), keys[i]);
}

void pod_set_volume(cJSON *pod_spec, cJSON *take_volume)
{
	json_upsert(json_list(pod_spec, "volumes"), "name", take_volume);
}

static void drop_named(cJSON *list, const char *name)
{
	cJSON *element, *next;

	for (element = list ? list->child : NULL; element; element = next) {
		next = element->next;
		if (str_eq(json_str(element, "name"), name))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, element));
	}
}

void pod_drop_volume(cJSON *pod_spec, const char *name)
{
	drop_named(json_get(pod_spec, "volumes"), name);
}

void pod_drop_init_container(cJSON *pod_spec, const char *name)
{
	drop_named(json_get(pod_spec, "initContainers"), name);
}

void pod_template_label(cJSON *pod_template, const char *key, const char *value)
{
	json_put_str(pod_template, value, "metadata", "labels", key);
}

void pod_template_annotate(cJSON *pod_template, const char *key, const char *value)
{
	json_put_str(pod_template, value, "metadata", "annotations", key);
}

cJSON *podspec_volume(const char *name)
{
	cJSON *ret = cJSON_CreateObject();

	json_put_str(ret, name, "name");
	return ret;
}

cJSON *podspec_volume_item(const char *key, const char *path, int mode)
{
	cJSON *ret = cJSON_CreateObject();

	json_put_str(ret, key, "key");
	json_put_str(ret, path, "path");
	if (mode >= 0)
		json_put_int(ret, mode, "mode");
	return ret;
}

cJSON *container_new(const char *name, const char *image)
{
	cJSON *ret = cJSON_CreateObject();

	json_put_str(ret, name, "name");
	if (*image)
		json_put_str(ret, image, "image");
	return ret;
}

void container_set_image(cJSON *c, const char *image)
{
	json_put_str(c, image, "image");
}

/* Kubernetes' typed clients omit an empty list: the image's own command is used. */
static void set_words(cJSON *c, const char *key, const cJSON *words)
{
	if (words && words->child)
		json_put(c, json_dup(words), key);
	else
		json_del(c, JSON_PATH(key));
}

void container_set_command(cJSON *c, const cJSON *command)
{
	set_words(c, "command", command);
}

void container_set_args(cJSON *c, const cJSON *args)
{
	set_words(c, "args", args);
}

const cJSON *container_command(const cJSON *c)
{
	return json_get(c, "command");
}

const cJSON *container_args(const cJSON *c)
{
	return json_get(c, "args");
}

const cJSON *container_env(const cJSON *c)
{
	return json_get(c, "env");
}

const cJSON *container_resources(const cJSON *c)
{
	return json_get(c, "resources");
}

const cJSON *container_limits(const cJSON *c)
{
	const cJSON *limits = json_get(c, "resources", "limits");

	return cJSON_IsObject(limits) ? limits : NULL;
}

const char *pod_runtime_class(const cJSON *pod_spec)
{
	return json_str(pod_spec, "runtimeClassName");
}

const char *container_image(const cJSON *c)
{
	return json_str(c, "image");
}

void podspec_spell_divisors(cJSON *doc)
{
	cJSON *child;

	json_each(child, doc) {
		if (cJSON_IsObject(child) && str_eq(child->string, "resourceFieldRef") &&
		    !json_get(child, "divisor"))
			json_put_str(child, "0", "divisor");
		podspec_spell_divisors(child);
	}
}

static void upsert_env(cJSON *c, cJSON *take_var)
{
	json_upsert(json_list(c, "env"), "name", take_var);
}

void container_set_env(cJSON *c, const char *name, const char *value)
{
	cJSON *var = cJSON_CreateObject();

	json_put_str(var, name, "name");
	json_put_str(var, value, "value");
	upsert_env(c, var);
}

void container_set_env_field(cJSON *c, const char *name, const char *field_path)
{
	cJSON *var = cJSON_CreateObject();

	json_put_str(var, name, "name");
	json_put_str(var, field_path, "valueFrom", "fieldRef", "fieldPath");
	upsert_env(c, var);
}

void container_set_env_int(cJSON *c, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	container_set_env(c, name, text);
}

void container_default_env(cJSON *c, const char *name, const char *value)
{
	if (!json_find_const(json_get(c, "env"), "name", name))
		container_set_env(c, name, value);
}

/* The variable as Kubernetes' typed clients write it: one source, without defaults. */
static cJSON *canonical_env(const cJSON *given)
{
	cleanup_field_errors struct field_errors none = {
		0
	}; /* the document has passed shape_check() */
	cJSON *var = json_dup(given);

	drop_nulls(var);
	shape_canonical(&none, "", var, shape_env);
	if (!json_get(var, "valueFrom")) {
		if (!json_get(var, "value"))
			json_put_str(var, "", "value");
		return var;
	}
	json_del(var, JSON_PATH("value"));
	if (str_eq(json_str(var, "valueFrom", "fieldRef", "apiVersion"), "v1"))
		json_del(var, JSON_PATH("valueFrom", "fieldRef", "apiVersion"));
	return var;
}

void container_merge_env(cJSON *c, const cJSON *env)
{
	cleanup_map struct map there = { 0 };
	const cJSON *given;
	cJSON *list, *var;

	if (!env || !env->child)
		return;
	list = json_list(c, "env");
	json_each(var, list) {
		const char *name = json_str(var, "name");

		if (name && !map_get(&there, name))
			map_put(&there, name, var);
	}
	json_each(given, env) {
		const char *name = json_str(given, "name");
		cJSON *was = name ? map_get(&there, name) : NULL;

		var = canonical_env(given);
		if (name)
			map_put(&there, name, var);
		if (was)
			cJSON_ReplaceItemViaPointer(list, was, var);
		else
			cJSON_AddItemToArray(list, var);
	}
}

bool container_has_env_from(const cJSON *c)
{
	return cJSON_GetArraySize(json_get(c, "envFrom")) > 0;
}

void container_env_from_secret(cJSON *c, const char *secret)
{
	cJSON *source = cJSON_CreateObject();

	json_put_str(source, secret, "secretRef", "name");
	cJSON_AddItemToArray(json_list(c, "envFrom"), source);
}

cJSON *container_beside(const cJSON *from, const char *name)
{
	static const char *const own[] = {
		"command",        "args",         "ports",      "livenessProbe",
		"readinessProbe", "startupProbe", "lifecycle",  "stdin",
		"stdinOnce",      "tty",          "workingDir", "restartPolicy",
		"resizePolicy"
	};
	cJSON *c = json_dup(from);

	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		json_del(c, JSON_PATH(own[i]));
	json_put_str(c, name, "name");
	container_log_on_error(c);
	return c;
}

static const cJSON *volume_of(const cJSON *pod_spec, const cJSON *m)
{
	return json_find_const(json_get(pod_spec, "volumes"), "name",
			       json_str(m, "name"));
}

static bool is_memory(const cJSON *v)
{
	return str_eq(json_str(v, "emptyDir", "medium"), "Memory");
}

cJSON *container_writable_paths(const cJSON *pod_spec, const cJSON *c)
{
	static const char *const fixed[] = { "configMap", "secret", "projected",
					     "downwardAPI", "image" };
	cJSON *paths = cJSON_CreateArray();
	const cJSON *m;

	json_each(m, json_get(c, "volumeMounts")) {
		const cJSON *v = volume_of(pod_spec, m);
		const char *path = json_str(m, "mountPath");
		bool writable =
			v && path && !is_memory(v) && !json_bool(m, false, "readOnly");

		for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
			writable = writable && !json_get(v, fixed[i]);
		if (writable)
			cJSON_AddItemToArray(paths, cJSON_CreateString(path));
	}
	return paths;
}

const char *container_shm_size(const cJSON *pod_spec, const cJSON *c)
{
	const cJSON *m =
		json_find_const(json_get(c, "volumeMounts"), "mountPath", "/dev/shm");
	const cJSON *v = volume_of(pod_spec, m);

	return is_memory(v) ? json_str(v, "emptyDir", "sizeLimit") : NULL;
}

void container_add_port(cJSON *c, int number)
{
	cJSON *e, *list = json_list(c, "ports"), *take = cJSON_CreateObject();

	json_put_int(take, number, "containerPort");
	json_each(e, list) {
		if (json_int(e, -1, "containerPort") == number) {
			cJSON_ReplaceItemViaPointer(list, e, take);
			return;
		}
	}
	cJSON_AddItemToArray(list, take);
}

void container_mount(cJSON *c, const char *volume_name, const char *path, bool read_only)
{
	cJSON *take = cJSON_CreateObject();

	json_put_str(take, volume_name, "name");
	json_put_str(take, path, "mountPath");
	if (read_only)
		json_put_bool(take, true, "readOnly");
	json_upsert(json_list(c, "volumeMounts"), "mountPath", take);
}

bool container_mounts(const cJSON *c, const char *volume_name)
{
	return json_find_const(json_get(c, "volumeMounts"), "name", volume_name);
}

void pod_add_search(cJSON *pod_spec, const char *domain)
{
	cJSON *e, *list = json_list(pod_spec, "dnsConfig", "searches");

	json_each(e, list)
		if (str_eq(cJSON_GetStringValue(e), domain))
			return;
	cJSON_AddItemToArray(list, cJSON_CreateString(domain));
}

static bool any_mounts(const cJSON *containers, const char *volume_name)
{
	const cJSON *c;

	json_each(c, containers)
		if (container_mounts(c, volume_name))
			return true;
	return false;
}

bool pod_has_volume(const cJSON *pod_spec, const char *name)
{
	return json_find_const(json_get(pod_spec, "volumes"), "name", name);
}

bool pod_mounts(const cJSON *pod_spec, const char *volume_name)
{
	return any_mounts(pod_containers_const(pod_spec), volume_name) ||
	       any_mounts(pod_init_containers_const(pod_spec), volume_name);
}

void container_default_workdir(cJSON *c, const char *path)
{
	const char *dir = json_str(c, "workingDir");

	if (!dir || !*dir)
		json_put_str(c, path, "workingDir");
}

void container_move_workdir(cJSON *c, const char *from, const char *to)
{
	if (str_eq(json_str(c, "workingDir"), from))
		json_put_str(c, to, "workingDir");
}

void container_drop_mount(cJSON *c, const char *volume_name)
{
	drop_named(json_get(c, "volumeMounts"), volume_name);
}

void container_log_on_error(cJSON *c)
{
	json_put_str(c, "FallbackToLogsOnError", "terminationMessagePolicy");
}

void container_soften(cJSON *c)
{
	json_del(c, JSON_PATH("securityContext"));
}

void container_harden(cJSON *c)
{
	const char *const all[] = { "ALL" };

	json_put_bool(c, false, "securityContext", "allowPrivilegeEscalation");
	json_put(c, cJSON_CreateStringArray(all, 1), "securityContext", "capabilities",
		 "drop");
	json_put_str(c, "RuntimeDefault", "securityContext", "seccompProfile", "type");
}

void container_copy_size(cJSON *c, const cJSON *from)
{
	static const char *const lists[] = { "limits", "requests" };
	static const char *const names[] = { "cpu", "memory" };

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++)
			json_put(
				c,
				json_dup(json_get(from, "resources", lists[i], names[k])),
				"resources", lists[i], names[k]);
}

void container_set_resource(cJSON *c, const char *name, const char *quantity)
{
	json_put_str(c, quantity, "resources", "limits", name);
	json_put_str(c, quantity, "resources", "requests", name);
}

void container_copy_image(cJSON *c, const cJSON *from)
{
	json_put(c, json_dup(json_get(from, "image")), "image");
	json_put(c, json_dup(json_get(from, "imagePullPolicy")), "imagePullPolicy");
}

void container_copy_user(cJSON *c, const cJSON *from)
{
	static const char *const names[] = { "runAsUser", "runAsGroup", "runAsNonRoot" };

	for (size_t i = 0; i < 3; i++)
		json_put(c, json_dup(json_get(from, "securityContext", names[i])),
			 "securityContext", names[i]);
}

void container_probe_port(cJSON *c, int number, int period_seconds)
{
	cJSON *probe = cJSON_CreateObject();

	json_put_int(probe, number, "tcpSocket", "port");
	json_put_int(probe, period_seconds, "periodSeconds");
	json_put(c, probe, "readinessProbe");
}

void container_move_probes(cJSON *c, int number)
{
	static const char *const probes[] = { "startupProbe", "readinessProbe",
					      "livenessProbe" };

	for (size_t i = 0; i < 3; i++)
		if (json_get(c, probes[i], "tcpSocket"))
			json_put_int(c, number, probes[i], "tcpSocket", "port");
}

const char *podspec_env_value(const cJSON *env, const char *name)
{
	return json_str(json_find_const(env, "name", name), "value");
}

const cJSON *pod_claims(const cJSON *pod_spec)
{
	return json_get(pod_spec, "resourceClaims");
}

const char *pod_claim_template(const cJSON *pod_spec, const char *name)
{
	return json_str(json_find_const(pod_claims(pod_spec), "name", name),
			"resourceClaimTemplateName");
}

void pod_add_claim(cJSON *pod_spec, const cJSON *from)
{
	static const char *const keys[] = { "name", "resourceClaimName",
					    "resourceClaimTemplateName" };
	cJSON *copy = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		json_put(copy, json_dup(json_get(from, keys[i])), keys[i]);
	json_upsert(json_list(pod_spec, "resourceClaims"), "name", copy);
}

const cJSON *container_claims(const cJSON *c)
{
	return json_get(c, "resources", "claims");
}

void container_add_claim(cJSON *c, const char *name)
{
	cJSON *entry;

	if (json_find_const(container_claims(c), "name", name))
		return;
	entry = cJSON_CreateObject();
	json_put_str(entry, name, "name");
	cJSON_AddItemToArray(json_list(c, "resources", "claims"), entry);
}

/*
 * In a pod's command "$(NAME)" is a variable and "$$" a dollar. Our words are literal, so
 * every "$" before "$" or "(" is doubled.
 */
const char *podspec_literal(struct arena *arena, const char *word)
{
	cleanup_buf struct buf text = { .max = SIZE_MAX };
	const char *dollar;

	for (; (dollar = strchr(word, '$')); word = dollar + 1) {
		buf_add(&text, word, (size_t)(dollar + 1 - word));
		if (dollar[1] == '$' || dollar[1] == '(')
			buf_adds(&text, "$");
	}
	if (!text.len)
		return word;
	buf_adds(&text, word);
	return arena_strdup(arena, (const char *)text.data);
}
