#include <regex.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "tests/golden/golden.h"

/*
 * What an API server, JobSet's webhook or a scheduler's CRD writes where
 * nothing is said. A value that says just that is taken away on both sides, and
 * then a map that nothing is left of. '*' stands for every element of a list or
 * of a map.
 */
static const struct given {
	const char *kind, *path, *value;
} givens[] = {
	{ "JobSet", "suspend", "false" },
	{ "JobSet", "network.enableDNSHostnames", "true" },
	{ "JobSet", "network.publishNotReadyAddresses", "true" },
	{ "JobSet", "network", "{}" },
	{ "JobSet", "successPolicy.operator", "\"All\"" },
	{ "JobSet", "successPolicy", "{}" },
	{ "JobSet", "startupPolicy.startupPolicyOrder", "\"AnyOrder\"" },
	{ "JobSet", "startupPolicy", "{}" },
	{ "JobSet", "failurePolicy.restartStrategy", "\"Recreate\"" },
	{ "JobSet", "volumeClaimPolicies.*.retentionPolicy.whenDeleted", "\"Delete\"" },
	{ "JobSet", "volumeClaimPolicies.*.retentionPolicy", "{}" },
	{ "JobSet", "replicatedJobs.*.groupName", "\"default\"" },
	{ "JobSet", "replicatedJobs.*.replicas", "1" },
	{ "JobSet", "replicatedJobs.*.template.spec.completionMode", "\"Indexed\"" },
	{ "JobSet", "replicatedJobs.*.template.spec.template.spec.restartPolicy",
	  "\"OnFailure\"" },
	{ "JobSet",
	  "replicatedJobs.*.template.spec.template.spec.containers.*.ports.*.protocol",
	  "\"TCP\"" },
	{ "JobSet",
	  "replicatedJobs.*.template.spec.template.spec.initContainers.*.ports.*.protocol",
	  "\"TCP\"" },
	{ "PodGroup", "queue", "\"default\"" },
};

/* Maps that mean nothing when they are empty, wherever they stand. */
static const char *const voids[] = { "metadata", "resources",   "status", "strategy",
				     "labels",   "annotations", NULL };

static void drop_given(cJSON *node, const char *path, const cJSON *value)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n = strcspn(path, ".");
	const char *key = str_slice(&arena, path, n);
	cJSON *child;

	if (str_eq(key, "*")) {
		json_each(child, node)
			drop_given(child, path + n + 1, value);
	} else if (path[n]) {
		drop_given(json_get(node, key), path + n + 1, value);
	} else if (node && json_equal(json_get(node, key), value)) {
		json_del(node, JSON_PATH(key));
	}
}

static void drop_givens(cJSON *spec, const char *kind)
{
	for (size_t i = 0; i < N_ELEMENTS(givens); i++) {
		struct error err = { 0 };
		cleanup_json cJSON *value = NULL;

		if (strcmp(kind, givens[i].kind))
			continue;
		if (json_parse(&value, givens[i].value, strlen(givens[i].value), &err))
			abort();
		drop_given(spec, givens[i].path, value);
	}
}

static bool is_nothing(const cJSON *node, const char *in)
{
	const char *s = cJSON_GetStringValue(node);

	if (cJSON_IsNull(node))
		return true;
	if (cJSON_IsObject(node) && !node->child)
		return str_in(node->string, voids);
	if (str_eq(in, "env"))
		return str_eq(node->string, "value") && s && !*s;
	if (str_eq(in, "resourceFieldRef"))
		return (str_eq(node->string, "containerName") && s && !*s) ||
		       (str_eq(node->string, "divisor") && str_eq(s, "0"));
	return false;
}

/* Spellings of nothing. `in`: the key of this map, or of the list it stands in. */
static void tidy(cJSON *node, const char *in)
{
	cJSON *child, *next;

	for (child = node ? node->child : NULL; child; child = next) {
		next = child->next;
		tidy(child, cJSON_IsArray(node) ? in : child->string);
		if (cJSON_IsObject(node) && is_nothing(child, in))
			cJSON_Delete(cJSON_DetachItemViaPointer(node, child));
	}
}

/* The namespace, in every string and key. */
static char *without_namespace(struct arena *arena, const char *s)
{
	char *out = arena_strdup(arena, "");
	const char *at;

	for (; (at = strstr(s, NAMESPACE)); s = at + strlen(NAMESPACE))
		out = arena_printf(arena, "%s%s%s", out,
				   str_slice(arena, s, (size_t)(at - s)),
				   NAMESPACE_SHORT);
	return arena_printf(arena, "%s%s", out, s);
}

static cJSON *renamed(const cJSON *node)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *child;
	cJSON *copy;

	if (cJSON_IsString(node))
		return cJSON_CreateString(without_namespace(&arena, node->valuestring));
	if (!cJSON_IsObject(node) && !cJSON_IsArray(node))
		return json_dup(node);
	copy = cJSON_IsObject(node) ? cJSON_CreateObject() : cJSON_CreateArray();
	json_each(child, node) {
		if (cJSON_IsArray(node))
			cJSON_AddItemToArray(copy, renamed(child));
		else
			cJSON_AddItemToObject(copy,
					      without_namespace(&arena, child->string),
					      renamed(child));
	}
	return copy;
}

/* ---- facts in place of text that may be worded otherwise ---------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp((*(cJSON *const *)a)->valuestring,
		      (*(cJSON *const *)b)->valuestring);
}

cJSON *sorted_set(cJSON *take_strings)
{
	size_t n = (size_t)cJSON_GetArraySize(take_strings), i = 0;
	cleanup_free cJSON **all = xcalloc(n + 1, sizeof(cJSON *));
	cJSON *out = cJSON_CreateArray();

	while (take_strings->child)
		all[i++] = cJSON_DetachItemViaPointer(take_strings, take_strings->child);
	cJSON_Delete(take_strings);
	qsort(all, n, sizeof(*all), by_text);
	for (i = 0; i < n; i++) {
		if (i && str_eq(all[i]->valuestring, all[i - 1]->valuestring)) {
			cJSON_Delete(all[i - 1]);
			all[i - 1] = NULL;
		}
	}
	for (i = 0; i < n; i++)
		if (all[i])
			cJSON_AddItemToArray(out, all[i]);
	return out;
}

struct fact {
	const char *name, *pattern;
	int group; /* of the pattern: what counts */
};

/* What a flux script decides; its wording is its own. */
static const struct fact flux_facts[] = {
	{ "hosts",
	  "[a-z0-9][-a-z0-9.]*-[a-z0-9]+-0-\\[[0-9,-]+\\]"
	  "(,[a-z0-9][-a-z0-9.]*-\\[[0-9,-]+\\])*",
	  0 },
	{ "leadHost", "[a-z0-9][-a-z0-9]*-[a-z0-9]+-0-0\\b", 0 },
	{ "connect", "tcp://%h\\.[^\"'[:space:]]+", 0 },
	{ "bind", "tcp://[^%\"'[:space:]][^\"'[:space:]]+", 0 },
	{ "port", "default_port[[:space:]]*=[[:space:]]*([0-9]+)", 1 },
	{ "queuePolicy", "queue-policy[[:space:]]*=[[:space:]]*\"?([A-Za-z0-9_-]+)", 1 },
	{ "resourceSpec", "--cores=[^[:space:]]+([[:space:]]+--gpus?=[^[:space:]]+)?",
	  0 },
	{ "runTasks",
	  "-N[[:space:]]+[0-9]+[[:space:]]+-n[[:space:]]+[0-9]+"
	  "([[:space:]]+-g[[:space:]]+[0-9]+)?",
	  0 },
};

/* White space as one blank, --gpus as --gpu. */
static char *plain(struct arena *arena, const char *s, size_t len)
{
	char *out = str_slice(arena, s, len), *to = out, *gpus;

	for (char *from = out; *from; from++) {
		bool blank = strchr(" \t\n", *from) != NULL;

		if (!blank)
			*to++ = *from;
		else if (to > out && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = 0;
	gpus = strstr(out, "--gpus=");
	if (gpus)
		memmove(gpus + 5, gpus + 6, strlen(gpus + 6) + 1);
	return out;
}

static cJSON *matches(const char *text, const struct fact *fact)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *found = cJSON_CreateArray();
	regmatch_t m[4];
	regex_t re;

	if (regcomp(&re, fact->pattern, REG_EXTENDED))
		abort();
	for (; !regexec(&re, text, 4, m, 0); text += m[0].rm_eo) {
		const regmatch_t *g = &m[fact->group];

		cJSON_AddItemToArray(
			found, cJSON_CreateString(plain(&arena, text + g->rm_so,
							(size_t)(g->rm_eo - g->rm_so))));
	}
	regfree(&re);
	return sorted_set(found);
}

static cJSON *script_facts(const char *text)
{
	cJSON *facts = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(flux_facts); i++) {
		cJSON *found = matches(text, &flux_facts[i]);

		if (found->child)
			json_put(facts, found, flux_facts[i].name);
		else
			cJSON_Delete(found);
	}
	return facts;
}

/* The keys here are placeholders: what counts is that there is a text in each place. */
static cJSON *key_facts(const char *text)
{
	cJSON *facts = cJSON_CreateObject();

	json_put_bool(facts, str_ends(text, "\n"), "finalNewline");
	return facts;
}

static cJSON *curve_facts(const char *text)
{
	static const struct fact of[] = {
		{ "sections", "^[a-z]+$", 0 },
		{ "name", "^[[:space:]]+name = \"(.*)\"$", 1 },
		{ "keys", "^[[:space:]]+(public|secret)-key = \"[^\"]{40}\"$", 1 },
	};
	cleanup_arena struct arena arena = { 0 };
	cJSON *facts = key_facts(text);
	char **lines = str_split(&arena, text, '\n', NULL);

	for (size_t i = 0; lines[i]; i++)
		for (size_t k = 0; k < N_ELEMENTS(of); k++) {
			cleanup_json cJSON *found = matches(lines[i], &of[k]);

			while (found->child)
				cJSON_AddItemToArray(
					json_list(facts, of[k].name),
					cJSON_DetachItemViaPointer(found, found->child));
		}
	return facts;
}

static cJSON *text_facts(const char *title, const char *key, const char *text)
{
	if (str_ends(title, "-flux-entrypoint") && str_ends(key, ".sh"))
		return script_facts(text);
	if (str_eq(key, "curve.cert"))
		return curve_facts(text);
	if (str_starts(key, "ssh-p"))
		return key_facts(text);
	return cJSON_CreateString(text);
}

/* What of upstream's facts about keys a placeholder can have. */
static cJSON *expected_facts(const char *key, const cJSON *facts)
{
	cJSON *out;

	if (!str_starts(key, "ssh-p") && !str_eq(key, "curve.cert"))
		return json_dup(facts);
	out = cJSON_CreateObject();
	json_put(out, json_dup(json_get(facts, "finalNewline")), "finalNewline");
	if (!str_eq(key, "curve.cert"))
		return out;
	json_put(out, json_dup(json_get(facts, "sections")), "sections");
	cJSON_AddItemToArray(json_list(out, "name"), json_dup(json_get(facts, "name")));
	cJSON_AddItemToArray(json_list(out, "keys"), cJSON_CreateString("public"));
	cJSON_AddItemToArray(json_list(out, "keys"), cJSON_CreateString("secret"));
	return out;
}

/* ---- objects ------------------------------------------------------------------------ */

const char *object_title(struct arena *arena, const cJSON *obj)
{
	const char *group = meta_api_version(obj);
	const char *kind = meta_kind(obj);

	if (!str_eq(kind, "PodGroup"))
		return arena_printf(arena, "%s/%s", kind, meta_name(obj));
	return arena_printf(arena, "%s.%s/%s", kind,
			    str_slice(arena, group, strcspn(group, "/")), meta_name(obj));
}

static cJSON *copied(cJSON *to, const cJSON *from, const char *key)
{
	const cJSON *node = json_get(from, key);

	return node ? json_put(to, json_dup(node), key) : NULL;
}

static void copy_meta(cJSON *to, const cJSON *obj)
{
	const cJSON *meta = json_get(obj, "metadata");
	cJSON *out = json_obj(to, "metadata"), *ref;

	copied(out, meta, "labels");
	copied(out, meta, "annotations");
	copied(out, meta, "finalizers");
	json_each(ref, copied(out, meta, "ownerReferences"))
		json_del(ref, JSON_PATH("uid"));
	if (meta_is(obj, "trainer.kubeflow.org", "TrainJob"))
		json_del(out, JSON_PATH("ownerReferences"));
}

static void copy_data(cJSON *to, const cJSON *obj)
{
	cleanup_arena struct arena arena = { 0 };
	const char *title = object_title(&arena, obj);
	bool secret = str_eq(meta_kind(obj), "Secret");
	const cJSON *value;
	struct error err;

	json_each(value, json_get(obj, "data")) {
		cleanup_buf struct buf text = { .max = 1 << 20 };

		if (!secret)
			buf_adds(&text, value->valuestring);
		else if (base64_decode(&text, value->valuestring,
				       strlen(value->valuestring), &err))
			buf_printf(&text, "not base64: %s", err.msg);
		json_put(to,
			 text_facts(title, value->string,
				    text.data ? (const char *)text.data : ""),
			 "data", value->string);
	}
	copied(to, obj, "immutable");
	if (copied(to, obj, "type") && str_eq(json_str(to, "type"), "Opaque"))
		json_del(to, JSON_PATH("type"));
}

/* The clock's times: a recording has "<time of step 2>" or the like. */
static void settle_time(cJSON *patch)
{
	const char *time = json_str(patch, "time");

	if (time && (*time == '<' || str_eq(time, NOW)))
		json_put_str(patch, "<now>", "time");
}

static void finish(cJSON *obj, const char *kind)
{
	cJSON *patch;

	if (str_eq(kind, "TrainJob")) {
		json_each(patch, json_get(obj, "spec", "runtimePatches"))
			settle_time(patch);
	} else {
		tidy(obj, NULL);
		drop_givens(json_get(obj, "spec"), kind);
	}
	if (json_get(obj, "metadata") && !json_get(obj, "metadata")->child)
		json_del(obj, JSON_PATH("metadata"));
}

cJSON *normal_got(const cJSON *obj)
{
	cleanup_json cJSON *out = cJSON_CreateObject();
	cJSON *plain_names;

	copy_meta(out, obj);
	copied(out, obj, "spec");
	copy_data(out, obj);
	plain_names = renamed(out);
	finish(plain_names, meta_kind(obj));
	return plain_names;
}

cJSON *normal_expected(const char *title, const cJSON *obj)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *out, *value;
	const cJSON *facts;

	if (str_ends(title, "-runtime-snapshot") || !cJSON_IsObject(obj))
		return NULL;
	out = json_dup(obj);
	json_del(out, JSON_PATH("status"));
	json_del(out, JSON_PATH("metadata", "fieldManagers"));
	json_each(facts, json_get(obj, "data")) {
		value = expected_facts(facts->string, facts);
		json_put(out, value, "data", facts->string);
	}
	if (str_eq(json_str(out, "type"), "Opaque"))
		json_del(out, JSON_PATH("type"));
	finish(out, str_slice(&arena, title, strcspn(title, "./")));
	return out;
}

cJSON *errors_of_message(const char *message)
{
	static const struct fact error = {
		"error",
		"(^|[[ ,{])((spec|metadata|status)[A-Za-z0-9_.\"/-]*([][A-Za-z0-9_.\"/-])*: (Invalid value|Forbidden|Required value|Duplicate value|Unsupported value|Too many|Too long|Internal error|Not found))",
		2
	};

	return matches(message ? message : "", &error);
}
