/* podenv.c - build the environment and arguments of a container (kubelet/podenv.h). */
#include "kubelet/podenv.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/callerenv.h"
#include "kubelet/envfile.h"
#include "kubelet/ports.h"
#include "trainer/jax.h"
#include "trainer/peers.h"

enum { MAX_TEXT = 1 << 20, MAX_ENV = 20000, MAX_NO_PROXY = 32 << 10 };

struct env {
	struct arena *arena;
	const struct podenv_host *host;
	const struct podenv_pod *pod;
	struct map vars; /* the container's, without the caller's */
};

const cJSON *podenv_object(const struct podenv_host *host, const cJSON *pod,
			   const char *kind, const char *name)
{
	const char *ns = meta_namespace(pod);
	const cJSON *o;

	json_each(o, host->objects) {
		const char *theirs = meta_namespace(o);

		if (str_eq(meta_kind(o), kind) && str_eq(meta_name(o), name) &&
		    (!theirs || !ns || str_eq(theirs, ns)))
			return o;
	}
	return NULL;
}

bool podenv_data(const cJSON *object, const char *key, struct buf *out)
{
	bool secret = str_eq(meta_kind(object), "Secret");
	const char *text = json_str(object, secret ? "stringData" : "data", key);
	const char *base64 = json_str(object, secret ? "data" : "binaryData", key);
	struct error err;

	if (text) {
		buf_adds(out, text);
		return true;
	}
	return base64 && base64_decode(out, base64, strlen(base64), &err) == 0;
}

/* ---- $(NAME) ------------------------------------------------------------------ */

const char *podenv_expand(struct arena *arena, const char *text, const struct map *vars)
{
	cleanup_buf struct buf out = { .max = MAX_TEXT };

	if (!strchr(text, '$'))
		return text;
	for (const char *p = text; *p; p++) {
		const char *end;

		if (*p != '$' || !p[1]) {
			buf_add(&out, p, 1);
		} else if (p[1] == '$') {
			buf_adds(&out, "$");
			p++;
		} else if (p[1] == '(' && (end = strchr(p, ')')) != NULL) {
			const char *name = str_slice(arena, p + 2, (size_t)(end - p - 2));
			const char *value = map_get(vars, name);

			buf_adds(&out,
				 value ? value
				       : str_slice(arena, p, (size_t)(end - p + 1)));
			p = end;
		} else {
			buf_add(&out, p++, 2);
		}
	}
	return out.data ? arena_strdup(arena, (const char *)out.data) : "";
}

/* ---- names to addresses --------------------------------------------------------- */

static bool in_host_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

const char *podenv_names(struct arena *arena, const char *text, const struct map *names)
{
	cleanup_buf struct buf out = { .max = MAX_TEXT };

	if (!names || !strchr(text, '.'))
		return text;
	for (const char *p = text; *p;) {
		const char *end = p, *to;
		const char *word;

		while (in_host_name(*end))
			end++;
		if (end == p) {
			buf_add(&out, p++, 1);
			continue;
		}
		word = str_slice(arena, p, (size_t)(end - p));
		to = strchr(word, '.') ? map_get(names, word) : NULL;
		buf_adds(&out, to ? to : word);
		p = end;
	}
	return out.data ? arena_strdup(arena, (const char *)out.data) : "";
}

const char *podenv_peers(struct arena *arena, const char *text, const struct map *peers)
{
	cleanup_buf struct buf out = { .max = MAX_TEXT };

	for (const char *p = text; *p;) {
		const char *end = p, *port;

		while (in_host_name(*end))
			end++;
		port = *end == ':'
			       ? map_get(peers, str_slice(arena, p, (size_t)(end - p)))
			       : NULL;
		buf_add(&out, p, (size_t)(end - p));
		if (port) {
			buf_printf(&out, ":%s", port);
			end += 1 + strspn(end + 1, "0123456789");
		} else if (*end) {
			buf_add(&out, end++, 1);
		}
		p = end;
	}
	return out.data ? arena_strdup(arena, (const char *)out.data) : "";
}

/* ---- valueFrom ------------------------------------------------------------------ */

/* "metadata.labels['a/b']": the key between the quotes, if `path` begins with `map`. */
static const char *subscript(struct arena *arena, const char *path, const char *map)
{
	const char *rest = str_after(path, map);
	size_t len = rest ? strlen(rest) : 0;

	if (len < 4 || !str_starts(rest, "['") || !str_ends(rest, "']"))
		return NULL;
	return str_slice(arena, rest + 2, len - 4);
}

int podenv_field(struct arena *arena, const struct podenv_host *host,
		 const struct podenv_pod *pod, const char *path, const char **ret,
		 struct error *err)
{
	const cJSON *p = pod->pod;
	const struct {
		const char *path, *value;
	} fields[] = {
		{ "metadata.name", meta_name(p) },
		{ "metadata.namespace", meta_namespace(p) },
		{ "metadata.uid", meta_uid(p) },
		{ "spec.nodeName", host->node_name },
		{ "spec.serviceAccountName", json_str(p, "spec", "serviceAccountName") },
		{ "status.hostIP", "127.0.0.1" },
		{ "status.hostIPs", "127.0.0.1" },
		{ "status.podIP", pod->ip },
		{ "status.podIPs", pod->ip },
	};
	const char *key;

	for (size_t i = 0; path && i < N_ELEMENTS(fields); i++) {
		if (!str_eq(path, fields[i].path))
			continue;
		*ret = fields[i].value ? fields[i].value : "";
		return 0;
	}
	if (path && (key = subscript(arena, path, "metadata.labels")) != NULL) {
		*ret = meta_label(p, key) ? meta_label(p, key) : "";
		return 0;
	}
	if (path && (key = subscript(arena, path, "metadata.annotations")) != NULL) {
		*ret = meta_annotation(p, key) ? meta_annotation(p, key) : "";
		return 0;
	}
	return error_set(err, ERR_INVALID,
			 "fieldRef.fieldPath: unsupported field path %s",
			 path ? path : "\"\"");
}

/* The container's request or limit; a missing limit is the node's capacity. */
static int resource_value(const struct podenv_host *host, const cJSON *container,
			  const char *list, const char *name, struct quantity *ret,
			  struct error *err)
{
	const cJSON *node = json_get(container, "resources", list, name);
	int64_t all = 0;

	if (!node && str_eq(list, "requests"))
		node = json_get(container, "resources", "limits", name);
	if (node)
		return quantity_of(ret, node, err);
	if (str_eq(list, "limits") && str_eq(name, "cpu"))
		all = host->cpus;
	else if (str_eq(list, "limits") && str_eq(name, "memory"))
		all = host->memory;
	*ret = (struct quantity){ .nano = (__int128)all * 1000000000 };
	return 0;
}

int podenv_resource(struct arena *arena, const struct podenv_host *host,
		    const cJSON *container, const cJSON *ref, const char **ret,
		    struct error *err)
{
	const char *resource = json_str(ref, "resource");
	const cJSON *divisor = json_get(ref, "divisor");
	struct quantity value, by = { .nano = 1000000000 };
	const char *list = "limits", *name = NULL;
	__int128 a, b;

	if (resource && (name = str_after(resource, "limits.")) == NULL) {
		list = "requests";
		name = str_after(resource, "requests.");
	}
	if (!name)
		return error_set(err, ERR_INVALID,
				 "resourceFieldRef.resource: unsupported resource %s",
				 resource ? resource : "\"\"");
	if (resource_value(host, container, list, name, &value, err) < 0 ||
	    (divisor && quantity_of(&by, divisor, err) < 0))
		return error_wrap(err, "resourceFieldRef %s", resource);
	/* cpu is counted in thousandths, everything else in whole units; rounded up */
	a = str_eq(name, "cpu") ? quantity_milli(&value) : quantity_ceil(&value);
	b = str_eq(name, "cpu") ? quantity_milli(&by) : quantity_ceil(&by);
	if (b <= 0)
		b = str_eq(name, "cpu") ? 1000 : 1;
	*ret = arena_printf(arena, "%lld", (long long)((a + b - 1) / b));
	return 0;
}

/* "Secret ns/name", without the parts that are unknown. */
static const char *object_text(const struct env *e, const char *kind, const char *name)
{
	const char *ns = meta_namespace(e->pod->pod);

	return arena_printf(e->arena, "%s %s%s%s", kind, ns ? ns : "", ns ? "/" : "",
			    name ? name : "\"\"");
}

/* configMapKeyRef, secretKeyRef. *ret remains NULL if the key is optional and absent. */
static int key_ref(struct env *e, const cJSON *ref, const char *kind, const char **ret,
		   struct error *err)
{
	const char *name = json_str(ref, "name"), *key = json_str(ref, "key");
	const char *what = object_text(e, kind, name);
	const cJSON *o = podenv_object(e->host, e->pod->pod, kind, name ? name : "");
	cleanup_buf struct buf b = { .max = MAX_TEXT };

	if (o && key && podenv_data(o, key, &b)) {
		if (buf_check(&b, key, err) < 0)
			return error_wrap(err, "%s %s", kind, name);
		if (b.data && strlen((const char *)b.data) != b.len)
			return error_set(err, ERR_INVALID,
					 "%s %s: key %s contains a NUL byte", kind, name,
					 key);
		*ret = b.data ? arena_strdup(e->arena, (const char *)b.data) : "";
		return 0;
	}
	if (o && key && json_str(o, "data", key))
		return error_set(err, ERR_FORMAT, "key %s in %s is not base64", key,
				 what);
	if (json_bool(ref, false, "optional"))
		return 0;
	if (o)
		return error_set(err, ERR_NOT_FOUND, "couldn't find key %s in %s",
				 key ? key : "\"\"", what);
	return error_set(
		err, ERR_NOT_FOUND,
		"%s not found: add it to the job's file or mark the reference optional",
		what);
}

static int file_ref(struct env *e, const cJSON *ref, const char **ret, struct error *err)
{
	const char *volume = json_str(ref, "volumeName"), *path = json_str(ref, "path");
	const char *key = json_str(ref, "key");
	bool optional = json_bool(ref, false, "optional");
	cleanup_buf struct buf text = { .max = MAX_TEXT };

	if (!volume || !path || !key || strchr(volume, '/') || strstr(path, ".."))
		return error_set(err, ERR_INVALID,
				 "fileKeyRef: volumeName, path and key are required, and "
				 "path must not contain ..");
	if (file_read(&text,
		      arena_printf(e->arena, "%s/%s/%s", e->pod->volumes, volume, path),
		      err) < 0)
		return optional && err->kind == ERR_NOT_FOUND
			       ? 0
			       : error_wrap(err, "fileKeyRef");
	if (envfile_get(e->arena, text.data ? (const char *)text.data : "", key, ret,
			err) < 0)
		return error_wrap(err, "fileKeyRef: %s in volume %s", path, volume);
	if (!*ret && !optional)
		return error_set(
			err, ERR_NOT_FOUND,
			"fileKeyRef: couldn't find key %s in file %s of volume %s", key,
			path, volume);
	return 0;
}

static int value_from(struct env *e, const cJSON *from, const char **ret,
		      struct error *err)
{
	const cJSON *ref;

	if ((ref = json_get(from, "fieldRef")) != NULL)
		return podenv_field(e->arena, e->host, e->pod, json_str(ref, "fieldPath"),
				    ret, err);
	if ((ref = json_get(from, "resourceFieldRef")) != NULL) {
		const char *name = json_str(ref, "containerName");
		const cJSON *c = e->pod->container;

		if (name)
			c = json_find_const(json_get(e->pod->pod, "spec", "containers"),
					    "name", name);
		if (!c)
			return error_set(err, ERR_NOT_FOUND,
					 "resourceFieldRef: container %s not found",
					 name);
		return podenv_resource(e->arena, e->host, c, ref, ret, err);
	}
	if ((ref = json_get(from, "configMapKeyRef")) != NULL)
		return key_ref(e, ref, "ConfigMap", ret, err);
	if ((ref = json_get(from, "secretKeyRef")) != NULL)
		return key_ref(e, ref, "Secret", ret, err);
	if ((ref = json_get(from, "fileKeyRef")) != NULL)
		return file_ref(e, ref, ret, err);
	return error_set(err, ERR_INVALID, "valueFrom has no source");
}

/* ---- environment and arguments -------------------------------------------------- */

static void set(struct env *e, const char *name, const char *value)
{
	map_put(&e->vars, name, (void *)(uintptr_t)value);
}

/* Valid names since kubelet 1.34: printable ASCII except '='. */
static bool name_ok(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (*name < ' ' || *name > '~' || *name == '=')
			return false;
	return true;
}

/* Skip keys that are not valid names, as kubelet does. */
static void add_entry(struct env *e, const char *prefix, const cJSON *object,
		      const char *key)
{
	cleanup_buf struct buf b = { .max = MAX_TEXT };
	const char *var = arena_printf(e->arena, "%s%s", prefix ? prefix : "", key);

	if (name_ok(var) && podenv_data(object, key, &b) && !b.overflowed)
		set(e, var, b.data ? arena_strdup(e->arena, (const char *)b.data) : "");
}

static int add_all(struct env *e, const cJSON *from, struct error *err)
{
	bool secret = json_get(from, "secretRef") != NULL;
	const cJSON *ref = json_get(from, secret ? "secretRef" : "configMapRef");
	const char *kind = secret ? "Secret" : "ConfigMap", *name = json_str(ref, "name");
	const cJSON *o = podenv_object(e->host, e->pod->pod, kind, name ? name : "");
	const cJSON *entry;

	if (!o && json_bool(ref, false, "optional"))
		return 0;
	if (!o)
		return error_set(err, ERR_NOT_FOUND,
				 "envFrom: %s not found: add it to the job's file or "
				 "mark the reference optional",
				 object_text(e, kind, name));
	json_each(entry, json_get(o, "data"))
		add_entry(e, json_str(from, "prefix"), o, entry->string);
	if (secret)
		json_each(entry, json_get(o, "stringData"))
			add_entry(e, json_str(from, "prefix"), o, entry->string);
	return 0;
}

static int add_var(struct env *e, const cJSON *item, struct error *err)
{
	const char *name = json_str(item, "name"), *value = json_str(item, "value");
	const cJSON *from = json_get(item, "valueFrom");

	if (!name || !name_ok(name))
		return error_set(err, ERR_INVALID, "env: invalid variable name \"%s\"",
				 name ? name : "");
	if (value && *value) {
		if (e->host->port_from)
			value = port_replace(e->arena, name, value, e->host->port_from,
					     e->host->port_to);
		value = podenv_expand(e->arena, value, &e->vars);
		if (e->host->peers && str_eq(name, TF_CONFIG))
			value = podenv_peers(e->arena, value, e->host->peers);
	} else if (from) {
		value = NULL;
		if (value_from(e, from, &value, err) < 0)
			return error_wrap(err, "env %s", name);
		if (!value)
			return 0;
	}
	set(e, name, podenv_names(e->arena, value ? value : "", e->host->names));
	return 0;
}

static int expand_args(struct env *e, struct podenv *ret, struct error *err)
{
	const char *const lists[] = { "command", "args" };
	size_t n = 0;
	const char **argv;
	const cJSON *a;

	for (size_t i = 0; i < 2; i++)
		n += (size_t)cJSON_GetArraySize(
			json_at(e->pod->container, JSON_PATH(lists[i])));
	argv = arena_alloc(e->arena, (n + 1) * sizeof(*argv));
	n = 0;
	for (size_t i = 0; i < 2; i++) {
		json_each(a, json_at(e->pod->container, JSON_PATH(lists[i]))) {
			const char *text = cJSON_GetStringValue(a);

			if (!text)
				return error_set(err, ERR_INVALID, "%s: not a string",
						 lists[i]);
			if (e->host->port_from)
				text = port_replace(e->arena, NULL, text,
						    e->host->port_from, e->host->port_to);
			text = podenv_expand(e->arena, text, &e->vars);
			argv[n++] = podenv_names(e->arena, text, e->host->names);
		}
	}
	ret->argv = argv;
	return 0;
}

/* torchrun's own count stops at one MIG instance and queries a driver that may hang. */
static void set_processes(struct env *e)
{
	const char *ids = e->pod->gpus;
	size_t n = 0;

	if (!str_eq(map_get(&e->vars, "PET_NPROC_PER_NODE"), "auto") ||
	    !(str_starts(ids, "GPU-") || str_starts(ids, "MIG-")))
		return;
	str_split(e->arena, ids, ',', &n);
	set(e, "PET_NPROC_PER_NODE", arena_printf(e->arena, "%zu", n));
}

/*
 * The pod's devices. A container may select some of them by number: as in a cluster, its
 * own devices are numbered from 0.
 */
static void set_gpus(struct env *e)
{
	const char *own = map_get(&e->vars, "CUDA_VISIBLE_DEVICES");
	size_t n = 0;
	char **ids, **picks;

	if (!e->pod->gpus)
		return;
	if (!own) {
		set(e, "CUDA_VISIBLE_DEVICES", e->pod->gpus);
		set_processes(e);
		return;
	}
	if (!*e->pod->gpus)
		return;
	ids = str_split(e->arena, e->pod->gpus, ',', &n);
	picks = str_split(e->arena, own, ',', NULL);
	for (size_t i = 0; picks[i]; i++) {
		int64_t pick;
		struct error err;

		if (str_int(&pick, str_trim(e->arena, picks[i]), 0, (int64_t)n - 1,
			    &err) < 0)
			return;
		picks[i] = ids[pick];
	}
	set(e, "CUDA_VISIBLE_DEVICES",
	    str_join(e->arena, (const char *const *)picks, ","));
}

/* A variable of the container, else of the caller; NULL: not set. */
static const char *value_of(const struct env *e, const char *name)
{
	const char *value = map_get(&e->vars, name);

	for (size_t i = 0; !value && e->host->environ && e->host->environ[i]; i++) {
		const char *rest = str_after(e->host->environ[i], name);

		if (rest && *rest == '=')
			value = rest + 1;
	}
	return value;
}

static bool has_proxy(const struct env *e)
{
	static const char *const names[] = { "http_proxy", "https_proxy", "all_proxy",
					     "grpc_proxy", "HTTP_PROXY",  "HTTPS_PROXY",
					     "ALL_PROXY",  "GRPC_PROXY" };
	const char *value;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if ((value = value_of(e, names[i])) && *value)
			return true;
	return false;
}

/* Domains first: readers compare suffixes, but addresses and short names as a whole. */
static const char *job_hosts(struct env *e)
{
	cleanup_buf struct buf b = { .max = MAX_NO_PROXY };
	const char *domain = "", *ip = "", *dot;

	buf_printf(&b, "localhost,127.0.0.0/8,127.0.0.1,::1,.svc,.cluster.local,%s,%s",
		   e->pod->hostname, e->pod->ip);
	map_each(m, e->host->peer_names) {
		dot = strchr(m->key, '.');
		if (dot && !str_eq(dot, domain) && b.len < MAX_NO_PROXY / 2)
			buf_printf(&b, ",%s", domain = dot);
	}
	map_each(m, e->host->peer_names) {
		if (b.len > MAX_NO_PROXY - 300)
			break;
		if (!strchr(m->key, '.'))
			buf_printf(&b, ",%s", m->key);
		if (!str_eq(m->value, ip))
			buf_printf(&b, ",%s", ip = m->value);
	}
	return arena_strdup(e->arena, (const char *)b.data);
}

static const char *with_hosts(struct env *e, const char *list, const char *hosts)
{
	if (!list || !*list)
		return hosts;
	return str_eq(list, "*") ? list : arena_printf(e->arena, "%s,%s", list, hosts);
}

/*
 * gRPC (JAX, TensorFlow), requests and others would ask the caller's proxy for the pods'
 * own addresses, and wait.
 */
static void set_no_proxy(struct env *e)
{
	const char *lower = value_of(e, "no_proxy"), *upper = value_of(e, "NO_PROXY");
	const char *grpc = value_of(e, "no_grpc_proxy"), *hosts;

	if (!e->host->peer_names || !has_proxy(e))
		return;
	hosts = job_hosts(e);
	lower = lower && *lower ? lower : upper;
	upper = upper && *upper ? upper : lower;
	set(e, "no_proxy", with_hosts(e, lower, hosts));
	set(e, "NO_PROXY", with_hosts(e, upper, hosts));
	if (grpc)
		set(e, "no_grpc_proxy", with_hosts(e, grpc, hosts));
}

static void set_absent(struct env *e, const char *name, const char *value)
{
	if (!value_of(e, name))
		set(e, name, value);
}

/* The number that the text begins with, as in "2" and "1:4"; 0: none. */
static int64_t leading_number(const char *text)
{
	int64_t n = 0;

	for (; text && *text >= '0' && *text <= '9' && n < 1000000; text++)
		n = 10 * n + (*text - '0');
	return n;
}

/* torchrun's processes in this pod: those of its option, else the runtime's; 0: unknown. */
static int64_t processes(const struct env *e, const char *const *argv)
{
	static const char *const names[] = { "--nproc-per-node", "--nproc_per_node" };
	int64_t ret = leading_number(map_get(&e->vars, "PET_NPROC_PER_NODE"));

	for (size_t i = 0; argv[i]; i++)
		for (size_t k = 0; k < N_ELEMENTS(names); k++) {
			const char *rest = str_after(argv[i], names[k]);

			if (rest && *rest == '=')
				ret = leading_number(rest + 1);
			else if (rest && !*rest)
				ret = leading_number(argv[i + 1]);
		}
	return ret;
}

/*
 * The nodes of a local job share this machine: torchrun's own value, 1 if a node has
 * several processes and else every core, is too small or too large. It does not print a
 * banner when there is one.
 */
static void set_threads(struct env *e, const char *const *argv)
{
	int64_t nodes = leading_number(map_get(&e->vars, "PET_NNODES")), cores;
	int64_t n = nodes ? processes(e, argv) : 0;
	struct quantity limit;
	const cJSON *cpu = json_get(e->pod->container, "resources", "limits", "cpu");

	if (!n)
		return;
	cores = e->host->cpus / nodes;
	if (cpu && !quantity_of(&limit, cpu, IGNORED) && quantity_ceil(&limit) < cores)
		cores = quantity_ceil(&limit);
	cores = cores / n;
	set_absent(e, "OMP_NUM_THREADS",
		   arena_printf(e->arena, "%lld", (long long)(cores < 1 ? 1 : cores)));
}

/*
 * The caller may be in an allocation of Slurm: each of its pods would be process 0 of 1 to
 * JAX, or lack a variable.
 */
static void set_jax(struct env *e)
{
	const char *gpus;
	size_t n;

	if (!map_get(&e->vars, JAX_ADDRESS) || !map_get(&e->vars, JAX_PROCESSES) ||
	    !map_get(&e->vars, JAX_PROCESS) || map_get(&e->vars, JAX_RECOGNIZED))
		return;
	for (const struct jax_variable *v = jax_cluster; v->name; v++)
		set(e, v->name, podenv_expand(e->arena, v->value, &e->vars));
	gpus = value_of(e, "CUDA_VISIBLE_DEVICES");
	str_split(e->arena, gpus ? gpus : "", ',', &n);
	set_absent(e, JAX_DEVICE_IDS, jax_device_ids(e->arena, (int64_t)n));
}

/* Programs ask their terminal for these; here the caller has it. */
static void set_terminal(struct env *e)
{
	const char *no = value_of(e, "NO_COLOR");

	if (!e->host->columns)
		return;
	/* tqdm reads them only together */
	if (!value_of(e, "COLUMNS"))
		set_absent(e, "LINES", arena_printf(e->arena, "%d", e->host->rows));
	set_absent(e, "COLUMNS", arena_printf(e->arena, "%d", e->host->columns));
	if (!no || !*no)
		set_absent(e, "FORCE_COLOR", "1");
}

/* The caller's variables that the container does not set, then the container's. */
static void merge_environ(struct env *e, struct podenv *ret)
{
	size_t n = 0;
	const char **envp;

	while (e->host->environ && e->host->environ[n])
		n++;
	envp = arena_alloc(e->arena, (n + e->vars.n + 1) * sizeof(*envp));
	n = 0;
	for (size_t i = 0; e->host->environ && e->host->environ[i]; i++) {
		const char *var = e->host->environ[i], *eq = strchr(var, '=');
		const char *name =
			eq ? str_slice(e->arena, var, (size_t)(eq - var)) : NULL;

		if (name && !map_get(&e->vars, name) && !callerenv_is_hidden(name))
			envp[n++] = var;
	}
	map_each(v, &e->vars)
		envp[n++] =
			arena_printf(e->arena, "%s=%s", v->key, (const char *)v->value);
	ret->envp = envp;
}

static int fill(struct env *e, struct podenv *ret, struct error *err)
{
	const cJSON *item;
	size_t n = 0;

	set(e, "HOSTNAME", e->pod->hostname);
	json_each(item, json_get(e->pod->container, "envFrom"))
		if (add_all(e, item, err) < 0)
			return -1;
	json_each(item, json_get(e->pod->container, "env")) {
		if (++n > MAX_ENV)
			return error_set(err, ERR_LIMIT, "env: more than %d variables",
					 MAX_ENV);
		if (add_var(e, item, err) < 0)
			return -1;
	}
	set_gpus(e);
	set_no_proxy(e);
	set_absent(e, "PYTHONUNBUFFERED", "1");
	set_jax(e);
	set_terminal(e);
	if (expand_args(e, ret, err) < 0)
		return -1;
	set_threads(e, ret->argv);
	merge_environ(e, ret);
	return 0;
}

int podenv_build(struct arena *arena, const struct podenv_host *host,
		 const struct podenv_pod *pod, struct podenv *ret, struct error *err)
{
	struct env e = { .arena = arena, .host = host, .pod = pod };
	struct podenv made = { 0 };
	int rc = fill(&e, &made, err);

	map_release(&e.vars, NULL);
	if (rc == 0)
		*ret = made;
	return rc;
}

const char *podenv_value(const struct podenv *env, const char *name)
{
	for (size_t i = 0; env->envp[i]; i++) {
		const char *rest = str_after(env->envp[i], name);

		if (rest && *rest == '=')
			return rest + 1;
	}
	return NULL;
}

void podenv_set(struct arena *arena, struct podenv *env, const char *name,
		const char *value)
{
	const char *before = podenv_value(env, name), **envp;
	size_t n = 0, kept = 0;

	while (env->envp[n])
		n++;
	envp = arena_alloc(arena, (n + 2) * sizeof(*envp));
	for (size_t i = 0; i < n; i++)
		if (!before || env->envp[i] + strlen(name) + 1 != before)
			envp[kept++] = env->envp[i];
	envp[kept++] = arena_printf(arena, "%s=%s", name, value);
	envp[kept] = NULL;
	env->envp = envp;
}

void podenv_prepend(struct arena *arena, struct podenv *env, const char *name,
		    const char *dir)
{
	const char *before = podenv_value(env, name);

	podenv_set(arena, env, name,
		   before && *before ? arena_printf(arena, "%s:%s", dir, before) : dir);
}
