/* podrules.c - refuse pods that no Job can create (trainer/podrules.h). */
#include "trainer/podrules.h"

#include <ctype.h>
#include <string.h>

#include "api/names.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/commandrules.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

enum { PORT_MAX = 65535, PORT_NAME_MAX = 15, MODE_MAX = 0777, NANO = 1000000000 };

/* A field of the pod; its path is written only for an error. */
struct place {
	const struct place *up; /* NULL: the pod's spec */
	const char *member;
	int64_t element; /* of a list, or -1 */
};
#define MEMBER(at, name) (&(struct place){ at, name, -1 })

enum { N_LISTS = 2, MAX_SHOWN = 200 /* bytes of a word in a warning */ };
static const char *const lists[N_LISTS] = { "limits", "requests" };

struct check {
	struct field_errors *errs;
	cJSON *warnings;
	const cJSON *tj;
	const struct pod_set *ps;  /* NULL: of the TrainJob's own fields */
	struct json_index volumes; /* of the pod */
	struct json_index claims;  /* volumeClaimPolicies: JobSet adds their volumes */
	struct json_index names;   /* of init containers */
	struct json_index devices; /* resourceClaims of the pod */
	/* of spec.trainer: what the pods have from there */
	struct json_index amounts[N_LISTS], env;
};

static const char *path_of(struct check *c, const struct place *at)
{
	const char *path;

	if (!at)
		return "";
	path = field_child(c->errs, path_of(c, at->up), at->member);
	return at->element < 0 ? path : field_index(c->errs, path, (size_t)at->element);
}

/* The error of the TrainJob's field `path`; NULL: of what the pods come from. */
static void refuse_field(struct check *c, const char *path, const cJSON *value,
			 const struct place *at, const char *why)
{
	if (!path)
		path = json_get(c->tj, "spec", "runtimePatches") ? "spec.runtimePatches"
								 : "spec.runtimeRef";
	field_error_add(c->errs, FIELD_INVALID, path, value, POD_RULE "%s: %s: %s",
			c->ps->name, path_of(c, at), why);
}

static void refuse(struct check *c, const cJSON *value, const struct place *at,
		   const char *why)
{
	refuse_field(c, NULL, value, at, why);
}

/* ---- words and numbers ---- */

static const char *const restart_policies[] = { "OnFailure", "Never", NULL };
static const char *const dns_policies[] = { "ClusterFirst", "ClusterFirstWithHostNet",
					    "Default", "None", NULL };
static const char *const pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
static const char *const operators[] = { "Exists", "Equal", "Lt", "Gt", NULL };
static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute",
				       NULL };

/* The member is one of the words, or is absent or empty, as defaults apply to it. */
static void check_word(struct check *c, const struct place *at, const cJSON *of,
		       const char *member, const char *const *words)
{
	const char *word = json_str_at(of, JSON_PATH(member));
	struct arena *arena = &c->errs->arena;
	const char *all = *words;

	if (!word || !*word || str_in(word, words))
		return;
	while (*++words)
		all = arena_printf(arena, "%s, %s", all, *words);
	refuse(c, json_at(of, JSON_PATH(member)), MEMBER(at, member),
	       arena_printf(arena, "must be one of %s", all));
}

static void check_range(struct check *c, const struct place *at, const cJSON *of,
			const char *member, int64_t min, int64_t max)
{
	const cJSON *node = json_at(of, JSON_PATH(member));
	int64_t n;

	if (json_int_of(node, &n) && (n < min || n > max))
		refuse(c, node, MEMBER(at, member),
		       arena_printf(&c->errs->arena, "must be between %lld and %lld",
				    (long long)min, (long long)max));
}

/* Permissions are decimal in JSON: 420 is 0644. */
static void check_mode(struct check *c, const struct place *at, const cJSON *of,
		       const char *member)
{
	const cJSON *node = json_at(of, JSON_PATH(member));
	int64_t n;

	if (json_int_of(node, &n) && (n < 0 || n > MODE_MAX))
		refuse(c, node, MEMBER(at, member),
		       "must be between 0 and 0777 (511): write 0644 or 420");
}

/* ---- resources ---- */

static bool is_native(const char *name)
{
	return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

static bool may_overcommit(const char *name)
{
	return is_native(name) && !str_starts(name, "hugepages-");
}

struct amount {
	int list; /* of `lists` */
	const struct place *at;
	const cJSON *node;
	struct quantity q;
};

static void refuse_amount(struct check *c, const struct amount *a, const char *why)
{
	const char *name = a->node->string, *path = NULL;

	if (!field_errors_full(c->errs) && json_index_get(&c->amounts[a->list], name))
		path = arena_printf(&c->errs->arena,
				    "spec.trainer.resourcesPerNode.%s.%s", lists[a->list],
				    name);
	refuse_field(c, path, a->node,
		     MEMBER(MEMBER(MEMBER(a->at, "resources"), lists[a->list]), name),
		     why);
}

static void warn(struct check *c, const struct place *at, const char *what)
{
	struct arena *arena = &c->errs->arena;
	const char *of = c->ps ? arena_printf(arena, POD_RULE "%s: ", c->ps->name) : "";

	cJSON_AddItemToArray(c->warnings,
			     cJSON_CreateString(arena_printf(arena, "%s%s: %s", of,
							     path_of(c, at), what)));
}

/*
 * An API server accepts it; it warns of fractions, so also of 1.1Gi, which does no harm.
 * Container runtimes start nothing with so little memory.
 */
static void warn_of_bytes(struct check *c, const struct amount *a)
{
	const char *why = a->q.nano % NANO ? "is no whole number of bytes"
					   : "is a number of bytes, too few to start";
	const struct place *list = MEMBER(MEMBER(a->at, "resources"), lists[a->list]);
	char text[QUANTITY_TEXT_SIZE];

	warn(c, MEMBER(list, "memory"),
	     arena_printf(&c->errs->arena, "%s %s: the suffix for megabytes is M or Mi",
			  quantity_text(&a->q, text), why));
}

static bool is_standard(const char *name)
{
	static const char *const names[] = { "cpu", "memory", "ephemeral-storage", NULL };

	return strchr(name, '/') || str_in(name, names) || str_starts(name, "hugepages-");
}

static void check_amount(struct check *c, const struct amount *a)
{
	const char *name = a->node->string;

	if (!is_standard(name))
		refuse_amount(c, a,
			      "is no resource: use cpu, memory, ephemeral-storage, "
			      "hugepages-SIZE, or a name with a domain, such as "
			      "nvidia.com/gpu");
	else if (a->q.nano < 0)
		refuse_amount(c, a, "must be greater than or equal to 0");
	else if (!is_native(name) && a->q.nano % NANO)
		refuse_amount(c, a, "must be an integer: devices are not divided");
	else if (str_eq(name, "memory") && a->q.nano && a->q.nano / NANO < 1 << 20 &&
		 (a->q.nano % NANO || str_eq(lists[a->list], "limits")))
		warn_of_bytes(c, a);
}

/* Errors that the limit has, too, are reported for the limit only. */
static void check_request(struct check *c, const struct amount *a,
			  struct json_index *limits)
{
	const char *name = a->node->string;
	const cJSON *limit = json_index_get(limits, name);
	char text[QUANTITY_TEXT_SIZE];
	struct quantity q;
	struct error err;
	int order;

	if (limit && quantity_of(&q, limit, &err))
		return;
	order = limit ? quantity_cmp(&a->q, &q) : 1;
	if (order)
		check_amount(c, a);
	if (!limit && !may_overcommit(name))
		refuse_amount(c, a, "needs a limit, too: it cannot be overcommitted");
	if (limit && (may_overcommit(name) ? order > 0 : order != 0))
		refuse_amount(c, a,
			      arena_printf(&c->errs->arena,
					   "must be %sequal to its limit %s",
					   may_overcommit(name) ? "less than or " : "",
					   quantity_text(&q, text)));
}

static void check_claims(struct check *c, const struct place *at, const cJSON *container)
{
	static const char of_job[] = "spec.trainer.resourcesPerNode.claims";
	struct place place = { MEMBER(at, "resources"), "claims", 0 };
	const cJSON *claim;

	json_each(claim, container_claims(container)) {
		const char *name = podspec_element_name(claim);

		if (!json_index_get(&c->devices, name ? name : "")) {
			bool given =
				!field_errors_full(c->errs) &&
				json_find_const(
					json_get(tj_resources_per_node(c->tj), "claims"),
					"name", name ? name : "");

			refuse_field(c, given ? of_job : NULL, claim, &place,
				     "resourceClaims of the pod has no such claim");
		}
		place.element++;
	}
}

static void check_resources(struct check *c, const struct place *at,
			    const cJSON *resources)
{
	cleanup_json_index struct json_index limits = { .of = json_get(resources,
								       "limits") };
	const cJSON *node;
	struct error err;

	for (int i = 0; i < N_LISTS; i++)
		json_each(node, json_at(resources, JSON_PATH(lists[i]))) {
			struct amount a = { i, at, node, { 0 } };

			if (cJSON_IsNull(node) || quantity_of(&a.q, node, &err))
				continue; /* other rules refuse it */
			if (i == 0)
				check_amount(c, &a);
			else
				check_request(c, &a, &limits);
		}
}

/* ---- containers ---- */

static size_t count_members(const cJSON *of, const char *but)
{
	const cJSON *node;
	size_t n = 0;

	json_each(node, of)
		n += !str_eq(node->string, but) && !cJSON_IsNull(node);
	return n;
}

static void refuse_env(struct check *c, const cJSON *env, const struct place *at,
		       const char *why)
{
	const char *name = json_str(env, "name");
	bool given = json_index_get(&c->env, name ? name : "");

	refuse_field(c, given ? "spec.trainer.env" : NULL, env, at, why);
}

static void check_env(struct check *c, const struct place *at, const cJSON *env)
{
	const char *name = json_str(env, "name"), *value = json_str(env, "value");
	const cJSON *from = json_get(env, "valueFrom");

	if (!name || !*name || strchr(name, '='))
		refuse_env(c, env, at, "the name must not be empty or contain '='");
	if (from && value && *value)
		refuse_env(c, env, at, "value and valueFrom exclude each other");
	if (from && count_members(from, NULL) != 1)
		refuse_env(c, env, at, "valueFrom must have one source");
}

/* IANA_SVC_NAME. */
static bool is_port_name(const char *name)
{
	size_t len = strlen(name);

	return len <= PORT_NAME_MAX && !name_label_invalid(name) &&
	       strspn(name, "0123456789-") < len && !strstr(name, "--");
}

static void check_port(struct check *c, const struct place *at, const cJSON *port)
{
	const char *name = json_str(port, "name");

	check_range(c, at, port, "containerPort", 1, PORT_MAX);
	check_range(c, at, port, "hostPort", 0, PORT_MAX);
	if (name && *name && !is_port_name(name))
		refuse(c, json_get(port, "name"), at,
		       "the name must be of at most 15 lower case letters, digits and "
		       "'-', with a letter");
}

static bool leaves(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (str_starts(p, "..") && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

static void check_mount(struct check *c, const struct place *at, const cJSON *mount)
{
	const char *name = json_str(mount, "name"), *path = json_str(mount, "mountPath");
	const char *sub = json_str(mount, "subPath");

	name = name ? name : "";
	if (!json_index_get(&c->volumes, name) && !json_index_get(&c->claims, name))
		refuse(c, json_get(mount, "name"), at, "the pod has no such volume");
	if (!path || !*path)
		refuse(c, mount, at, "mountPath is required");
	if (sub && (*sub == '/' || leaves(sub)))
		refuse(c, json_get(mount, "subPath"), at,
		       "subPath must be relative, without '..'");
}

static void check_probe(struct check *c, const struct place *at, const cJSON *probe)
{
	static const char *const numbers[] = { "initialDelaySeconds", "timeoutSeconds",
					       "periodSeconds", "successThreshold",
					       "failureThreshold" };
	static const char *const handlers[] = { "exec", "grpc", "httpGet", "tcpSocket" };
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(handlers); i++)
		n += json_at(probe, JSON_PATH(handlers[i])) != NULL;
	if (probe && n != 1)
		refuse(c, probe, at, "must have one of exec, grpc, httpGet, tcpSocket");
	for (size_t i = 0; i < N_ELEMENTS(numbers); i++)
		check_range(c, at, probe, numbers[i], 0, INT32_MAX);
}

static void check_each(struct check *c, const struct place *at, const cJSON *of,
		       const char *member,
		       void (*one)(struct check *, const struct place *, const cJSON *))
{
	struct place place = { at, member, 0 };
	const cJSON *node;

	json_each(node, json_at(of, JSON_PATH(member))) {
		one(c, &place, node);
		place.element++;
	}
}

/* Pasted from a page: for a shell, and for YAML, these are letters. */
static bool is_curly_quoted(const char *word)
{
	static const char *const quotes[] = { "\xe2\x80\x98", "\xe2\x80\x99",
					      "\xe2\x80\x9c", "\xe2\x80\x9d" };

	for (size_t i = 0; word && i < N_ELEMENTS(quotes); i++)
		if (str_starts(word, quotes[i]))
			return true;
	return false;
}

/* Of the first such word: a list may have 100,000, and an answer is limited. */
static void warn_of_quotes(struct check *c, const struct place *at,
			   const cJSON *container, const char *member)
{
	struct place word = { at, member, 0 };
	const cJSON *node = json_at(container, JSON_PATH(member));

	node = cJSON_IsArray(node) ? node->child : NULL;
	while (node && !is_curly_quoted(cJSON_GetStringValue(node))) {
		node = node->next;
		word.element++;
	}
	if (node)
		warn(c, &word,
		     arena_printf(
			     &c->errs->arena,
			     "%s begins with a curly quote, which quotes "
			     "nothing: use \" or '",
			     str_at_most(&c->errs->arena, node->valuestring, MAX_SHOWN)));
}

static size_t words_of(const cJSON *list, const char **ret)
{
	size_t n = 0;
	const cJSON *node;

	if (cJSON_IsArray(list))
		json_each(node, list)
			ret[n++] = cJSON_GetStringValue(node);
	return n;
}

static size_t count_words(const cJSON *list)
{
	return cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
}

static void warn_of_command(struct check *c, const struct place *at,
			    const cJSON *container)
{
	const cJSON *command = json_at(container, JSON_PATH("command"));
	const cJSON *args = json_at(container, JSON_PATH("args"));
	size_t n = count_words(command);
	cleanup_free const char **words =
		xcalloc(n + count_words(args) + 1, sizeof(*words));
	struct command_fault fault;
	size_t all;

	if (!words_of(command, words))
		return;
	all = n + words_of(args, words + n);
	if (command_fault_find(&c->errs->arena, words, all, &fault))
		warn(c,
		     &(struct place){ at, fault.word < n ? "command" : "args",
				      (int64_t)(fault.word - (fault.word < n ? 0 : n)) },
		     fault.text);
}

/* Why no container runtime takes it as an image, as distribution/reference reads it. */
static const char *image_invalid(const char *image)
{
	const char *first = strchr(image, '/'), *last = strrchr(image, '/');
	const char *path = first ? first + 1 : image, *tag = last ? last : image;

	if (strstr(image, "://"))
		return "has a scheme";
	if (image[strcspn(image, " \t\r\n")])
		return "has a space";
	for (; *path && *path != '@' && (*path != ':' || path < tag); path++)
		if (isupper((unsigned char)*path))
			return "has a capital before its tag";
	return NULL;
}

/* An API server accepts any; the kubelet then says InvalidImageName. */
static void warn_of_image(struct check *c, const struct place *at, const cJSON *container)
{
	const char *image = json_str_at(container, JSON_PATH("image"));
	const char *why = image ? image_invalid(image) : NULL;

	if (why)
		warn(c, MEMBER(at, "image"),
		     arena_printf(&c->errs->arena, "\"%s\" is no name of an image: it %s",
				  str_at_most(&c->errs->arena, image, MAX_SHOWN), why));
}

/* Of the first, as of quotes. What the pods have from spec.trainer is warned of there. */
static void warn_of_env(struct check *c, const struct place *at, const cJSON *of)
{
	struct place variable = { at, "env", 0 };
	const cJSON *node;

	json_each(node, json_at(of, JSON_PATH("env"))) {
		const char *name = json_str(node, "name"), *found = NULL;

		/* huggingface_hub replaces variables in its own. */
		if (name && !str_starts(name, "HF_") &&
		    !(c->ps && json_index_get(&c->env, name)))
			found = command_variable_in(&c->errs->arena,
						    json_str(node, "value"));
		if (found)
			return warn(
				c, &variable,
				arena_printf(&c->errs->arena,
					     "no shell replaces %.100s: write $(NAME) "
					     "for a variable before it in env; those "
					     "of the image are known to a shell only, "
					     "in sh -c 'export %.100s=...; COMMANDS'",
					     found, name));
		variable.element++;
	}
}

/* Of a container, or of spec.trainer, whose fields have the same names. */
static void warn_of_program(struct check *c, const struct place *at, const cJSON *of)
{
	warn_of_image(c, at, of);
	warn_of_command(c, at, of);
	warn_of_env(c, at, of);
	warn_of_quotes(c, at, of, "command");
	warn_of_quotes(c, at, of, "args");
}

static void check_container(struct check *c, const struct place *at,
			    const cJSON *container)
{
	static const char *const probes[] = { "startupProbe", "readinessProbe",
					      "livenessProbe" };
	const char *name = podspec_element_name(container);
	const char *why = name_label_invalid(name ? name : "");

	if (why)
		refuse(c, json_get(container, "name"), MEMBER(at, "name"), why);
	warn_of_program(c, at, container);
	check_word(c, at, container, "imagePullPolicy", pull_policies);
	check_resources(c, at, container_resources(container));
	check_claims(c, at, container);
	check_each(c, at, container, "env", check_env);
	check_each(c, at, container, "ports", check_port);
	check_each(c, at, container, "volumeMounts", check_mount);
	for (size_t i = 0; i < N_ELEMENTS(probes); i++)
		check_probe(c, MEMBER(at, probes[i]),
			    json_at(container, JSON_PATH(probes[i])));
}

static void check_regular(struct check *c, const struct place *at, const cJSON *container)
{
	const char *name = podspec_element_name(container);

	if (name && json_index_get(&c->names, name))
		refuse(c, json_get(container, "name"), at,
		       "an init container has the same name");
	check_container(c, at, container);
}

/* ---- pods ---- */

static void check_item(struct check *c, const struct place *at, const cJSON *item)
{
	check_mode(c, at, item, "mode");
}

static void check_source(struct check *c, const struct place *at, const cJSON *source)
{
	check_mode(c, at, source, "defaultMode");
	check_each(c, at, source, "items", check_item);
}

static void check_projection(struct check *c, const struct place *at,
			     const cJSON *projection)
{
	const cJSON *source;

	json_each(source, projection)
		check_each(c, MEMBER(at, source->string), source, "items", check_item);
}

static void check_volume(struct check *c, const struct place *at, const cJSON *volume)
{
	const char *name = podspec_element_name(volume);
	const char *why = name_label_invalid(name ? name : "");
	const cJSON *source;

	if (why)
		refuse(c, json_get(volume, "name"), MEMBER(at, "name"), why);
	if (count_members(volume, "name") > 1)
		refuse(c, volume, at, "may not have more than one source");
	json_each(source, volume)
		if (cJSON_IsObject(source))
			check_source(c, MEMBER(at, source->string), source);
	check_each(c, MEMBER(at, "projected"), json_get(volume, "projected"), "sources",
		   check_projection);
}

static void check_toleration(struct check *c, const struct place *at,
			     const cJSON *toleration)
{
	check_word(c, at, toleration, "operator", operators);
	check_word(c, at, toleration, "effect", effects);
}

/* Keys of annotations may be in any case; their values have no rules. */
static void check_metadata(struct check *c, const char *member)
{
	const cJSON *metadata = json_get(c->ps->pod_template, "metadata"), *node;
	const struct place *at = MEMBER(MEMBER(NULL, "metadata"), member);
	bool labels = str_eq(member, "labels");

	json_each(node, json_at(metadata, JSON_PATH(member))) {
		char *key = arena_strdup(&c->errs->arena, node->string);
		const char *why;

		for (char *p = key; !labels && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		why = name_key_invalid(key);
		if (!why && labels && cJSON_IsString(node))
			why = name_value_invalid(node->valuestring);
		if (why)
			refuse(c, node, MEMBER(at, node->string), why);
	}
}

/* JobSet sets OnFailure where a template has none. */
static void check_failure_policy(struct check *c)
{
	const cJSON *policy = json_get(c->ps->job_spec, "podFailurePolicy");

	if (policy && !cJSON_IsNull(policy) &&
	    !str_eq(json_str(c->ps->pod_spec, "restartPolicy"), "Never"))
		refuse(c, json_get(c->ps->pod_spec, "restartPolicy"),
		       MEMBER(NULL, "restartPolicy"),
		       "must be Never, as the Job has a podFailurePolicy");
}

static void check_pod(struct check *c)
{
	const cJSON *spec = c->ps->pod_spec, *node;
	const char *why;

	check_metadata(c, "labels");
	check_metadata(c, "annotations");
	check_word(c, NULL, spec, "restartPolicy", restart_policies);
	check_failure_policy(c);
	check_word(c, NULL, spec, "dnsPolicy", dns_policies);
	json_each(node, json_get(spec, "nodeSelector")) {
		why = name_key_invalid(node->string);
		if (!why && cJSON_IsString(node))
			why = name_value_invalid(node->valuestring);
		if (why)
			refuse(c, node,
			       MEMBER(MEMBER(NULL, "nodeSelector"), node->string), why);
	}
	check_each(c, NULL, spec, "tolerations", check_toleration);
	check_each(c, NULL, spec, "volumes", check_volume);
	check_each(c, NULL, spec, "initContainers", check_container);
	check_each(c, NULL, spec, "containers", check_regular);
}

/* The names of the volumes that JobSet makes of volumeClaimPolicies. */
static cJSON *claim_volumes(const cJSON *jobset_spec)
{
	cJSON *names = cJSON_CreateObject();
	const cJSON *policy, *claim;

	json_each(policy, json_get(jobset_spec, "volumeClaimPolicies"))
		json_each(claim, json_get(policy, "templates"))
			if (json_str(claim, "metadata", "name"))
				cJSON_AddTrueToObject(
					names, json_str(claim, "metadata", "name"));
	return names;
}

void podrules_validate(struct info *info, const cJSON *tj, struct field_errors *errs,
		       cJSON *warnings)
{
	cleanup_json cJSON *claims = claim_volumes(info->jobset_spec);
	struct check own = { .errs = errs, .warnings = warnings, .tj = tj };

	warn_of_program(&own, MEMBER(NULL, "spec.trainer"), tj_trainer(tj));
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];
		struct check c = {
			.errs = errs,
			.warnings = warnings,
			.tj = tj,
			.ps = ps,
			.volumes = { .of = json_get(ps->pod_spec, "volumes"),
				     .key = "name" },
			.claims = { .of = claims },
			.names = { .of = pod_init_containers_const(ps->pod_spec),
				   .key = "name" },
			.env = { .of = tj_env(tj), .key = "name" },
			.devices = { .of = pod_claims(ps->pod_spec), .key = "name" },
		};

		for (int k = 0; k < N_LISTS; k++)
			c.amounts[k].of =
				json_at(tj_resources_per_node(tj), JSON_PATH(lists[k]));
		check_pod(&c);
		for (int k = 0; k < N_LISTS; k++)
			json_index_release(&c.amounts[k]);
		json_index_release(&c.volumes);
		json_index_release(&c.claims);
		json_index_release(&c.names);
		json_index_release(&c.devices);
		json_index_release(&c.env);
	}
}
