/*
 * kubeconfig.c - finds, merges and reads kubeconfig files (kube/kubeconfig.h). The keys
 * of `exec` are in exec.c, all others here.
 */
#include "kube/kubeconfig.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/yaml.h"
#include "crypto/x509.h"
#include "kube/account.h"
#include "kube/auth_provider.h"
#include "kube/exec.h"
#include "net/http.h"
#include "net/proxy.h"

#define MAX_CONFIG ((size_t)4 * 1024 * 1024)
#define MAX_SECRET ((size_t)1024 * 1024)

enum { MAX_FILES = 64, MAX_PROBLEMS = 5, MAX_PROBLEM = 8 * 1024 /* bytes */ };

struct source {
	const char *path, *dir;
	struct buf text;
	cJSON *doc; /* an object */
};

struct load {
	struct kube_config *to;
	const struct kube_config_flags *flags;
	struct source sources[MAX_FILES]; /* the first file that sets a value wins */
	size_t n;
	struct arena arena;
	struct buf problems; /* one line per problem, of the first MAX_PROBLEMS */
	size_t n_problems;
};

/* A named entry, such as clusters[i].cluster. `node` NULL: absent. */
struct entry {
	const struct source *source;
	const cJSON *node;
	const char *at; /* "clusters[2].cluster" */
};

static void problem(struct load *l, const struct source *s, const char *field,
		    const char *fmt, ...) PRINTF_LIKE(4, 5);
static void problem(struct load *l, const struct source *s, const char *field,
		    const char *fmt, ...)
{
	cleanup_yaml_places struct yaml_places *places = NULL;
	int line = 1, column = 1;
	char what[600];
	va_list ap;

	if (l->n_problems++ >= MAX_PROBLEMS)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	places = yaml_places(s->text.data, s->text.len);
	yaml_locate(places, 0, field, &line, &column);
	buf_printf(&l->problems, "%s%s:%d:%d: %s: %s", l->problems.len ? "\n" : "",
		   s->path, line, column, field, what);
}

/* "users[0].user.token", for problem(). */
static const char *in(struct load *l, const struct entry *e, const char *key)
{
	return arena_printf(&l->arena, "%s.%s", e->at, key);
}

static bool has_server(const struct load *l)
{
	return l->flags->server && *l->flags->server;
}

/* A string member of an entry; NULL when absent or empty. */
static const char *text_of(struct load *l, const struct entry *e, const char *key)
{
	const cJSON *node = json_get(e->node, key);

	if (node && !cJSON_IsString(node)) {
		problem(l, e->source, in(l, e, key), "must be a string");
		return NULL;
	}
	return node && *node->valuestring ? arena_strdup(&l->to->arena, node->valuestring)
					  : NULL;
}

/* ---- files ---- */

static int read_source(struct load *l, const char *path, struct error *err)
{
	struct source *s = &l->sources[l->n];
	cleanup_json cJSON *docs = NULL;

	if (l->n == MAX_FILES)
		return error_set(err, ERR_LIMIT, "more than %d kubeconfig files",
				 MAX_FILES);
	s->path = arena_strdup(&l->arena, path);
	s->dir = path_dir(&l->to->arena, path);
	s->text.max = MAX_CONFIG;
	l->n++;
	if (file_read(&s->text, path, err))
		return -1;
	if (!s->text.data)
		buf_adds(&s->text, "");
	if (yaml_parse(&docs, s->text.data, s->text.len, err))
		return error_wrap(err, "%s", path);
	s->doc = cJSON_DetachItemFromArray(docs, 0);
	if (!s->doc)
		s->doc = cJSON_CreateObject();
	if (!cJSON_IsObject(s->doc))
		return error_set(err, ERR_FORMAT, "%s:1:1: not a kubeconfig", path);
	return 0;
}

/* Files of $KUBECONFIG and ~/.kube/config may be absent; that of --kubeconfig may not. */
static int read_listed(struct load *l, const char *list, struct error *err)
{
	char **paths = str_split(&l->arena, list, ':', NULL);

	for (; *paths; paths++) {
		struct error why = { 0 };

		if (!**paths || !read_source(l, *paths, &why))
			continue;
		if (why.kind != ERR_NOT_FOUND) {
			*err = why;
			return -1;
		}
		l->n--;
	}
	return 0;
}

static int read_sources(struct load *l, struct error *err)
{
	const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");

	if (l->flags->kubeconfig && *l->flags->kubeconfig)
		return read_source(l, l->flags->kubeconfig, err);
	if (list && *list)
		return read_listed(l, list, err);
	if (home && *home && *home == '/')
		return read_listed(l, path_join(&l->arena, home, ".kube/config"), err);
	return 0;
}

/* ---- entries ---- */

static const struct {
	const char *list, *member;
} sections[] = { { "clusters", "cluster" },
		 { "contexts", "context" },
		 { "users", "user" } };
enum section { CLUSTERS, CONTEXTS, USERS };

/* Each section is a list of objects with unique names. */
static void check_section(struct load *l, const struct source *s, enum section section)
{
	const char *list = sections[section].list;
	const cJSON *all = json_get(s->doc, list), *e;
	cleanup_map struct map names = { 0 };
	int i = 0;

	if (all && !cJSON_IsArray(all)) {
		problem(l, s, list, "must be a list");
		return;
	}
	json_each(e, all) {
		const char *at = arena_printf(&l->arena, "%s[%d]", list, i++);
		const char *name = json_str(e, "name");
		const cJSON *member = json_get(e, sections[section].member);

		if (!cJSON_IsObject(e) || !name) {
			problem(l, s, at, "must have a name");
			continue;
		}
		if (member && !cJSON_IsObject(member))
			problem(l, s,
				arena_printf(&l->arena, "%s.%s", at,
					     sections[section].member),
				"must be a mapping");
		if (map_put(&names, name, l))
			problem(l, s, arena_printf(&l->arena, "%s.name", at),
				"'%s' is there twice", name);
	}
}

/*
 * Refuse files of other kinds, such as a Secret: they are not a kubeconfig without
 * clusters.
 */
static void check_top(struct load *l, const struct source *s)
{
	static const struct {
		const char *key, *value; /* NULL: any string */
	} rows[] = { { "apiVersion", "v1" },
		     { "kind", "Config" },
		     { "current-context", NULL } };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const cJSON *node = json_get(s->doc, rows[i].key);
		const char *got = cJSON_GetStringValue(node);

		if (node && !got)
			problem(l, s, rows[i].key, "must be a string");
		else if (got && *got && rows[i].value && strcmp(got, rows[i].value))
			problem(l, s, rows[i].key,
				"'%.100s'; in a kubeconfig it must be %s", got,
				rows[i].value);
	}
}

static struct entry find_entry(struct load *l, enum section section, const char *name)
{
	const char *list = sections[section].list, *member = sections[section].member;

	for (size_t i = 0; i < l->n; i++) {
		const cJSON *e;
		int at = 0;

		json_each(e, json_get((const cJSON *)l->sources[i].doc, list)) {
			if (str_eq(json_str(e, "name"), name))
				return (struct entry){ &l->sources[i], e,
						       arena_printf(&l->arena,
								    "%s[%d].%s", list, at,
								    member) };
			at++;
		}
	}
	return (struct entry){ 0 };
}

/* "; there is a, b and c", or "; did you mean 'b'?" */
static const char *what_there_is(struct load *l, enum section section, const char *name)
{
	const char *names[101], *hint;
	const cJSON *e;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		json_each(e, json_get((const cJSON *)l->sources[i].doc,
				      sections[section].list))
			if (json_str(e, "name") && n < N_ELEMENTS(names) - 1)
				names[n++] = json_str(e, "name");
	names[n] = NULL;
	hint = name ? nearest_hint(&l->arena, name, names) : "";
	if (*hint)
		return hint;
	if (!n)
		return arena_printf(&l->arena, "; the file has no %s",
				    sections[section].list);
	return arena_printf(&l->arena, "; available: %s",
			    str_join(&l->arena, names, ", "));
}

/* ---- values ---- */

/* The PEM of KEY-data, in base64, or of the file that KEY names; NULL: neither. */
static const char *pem_of(struct load *l, const struct entry *e, const char *key)
{
	const char *data_key = arena_printf(&l->arena, "%s-data", key);
	const char *data = text_of(l, e, data_key), *file = text_of(l, e, key);
	cleanup_buf struct buf bare = { .max = 2 * MAX_SECRET };
	cleanup_buf struct buf pem = { .max = MAX_SECRET };
	struct error why = { 0 };
	const char *ret = NULL;

	if (data) {
		for (const char *p = data; *p; p++)
			if (!strchr(" \t\r\n", *p))
				buf_add(&bare, p, 1);
		if (bare.data && base64_decode(&pem, (char *)bare.data, bare.len, &why)) {
			problem(l, e->source, in(l, e, data_key), "not base64");
			return NULL;
		}
	} else if (!file) {
		return NULL;
	} else if (file_read(&pem, path_join(&l->arena, e->source->dir, file), &why)) {
		problem(l, e->source, in(l, e, key), "%s", why.msg);
		return NULL;
	}
	if (!pem.data)
		buf_adds(&pem, "");
	ret = arena_strdup(&l->to->arena, (char *)pem.data);
	explicit_bzero(pem.data, pem.cap);
	if (bare.data)
		explicit_bzero(bare.data, bare.cap);
	return ret;
}

/* Report invalid PEM in KEY-data, or in the file of KEY. */
static void pem_problem(struct load *l, const struct entry *e, const char *key,
			const struct error *why)
{
	const char *data_key = arena_printf(&l->arena, "%s-data", key);
	const char *file = json_str(e->node, key), *data = json_str(e->node, data_key);

	if (data && *data)
		problem(l, e->source, in(l, e, data_key), "%s", why->msg);
	else
		problem(l, e->source, in(l, e, key), "%s: %s", file ? file : "",
			why->msg);
}

static bool flag_of(struct load *l, const struct entry *e, const char *key)
{
	const cJSON *node = json_get(e->node, key);

	if (node && !cJSON_IsBool(node))
		problem(l, e->source, in(l, e, key), "must be true or false");
	return cJSON_IsTrue(node);
}

/* The server's URL. Without a scheme: https if TLS is configured, as in client-go. */
static const char *server_url(struct kube_config *to, const char *given)
{
	char *url = arena_strdup(&to->arena, given);

	url[str_length_before(url, '/')] = 0;
	if (strstr(url, "://")) {
		for (char *p = url; *p != ':'; p++)
			*p = (char)tolower((unsigned char)*p);
		return url;
	}
	return arena_printf(&to->arena, "%s://%s",
			    to->ca_pem || to->cert_pem || to->insecure ? "https" : "http",
			    url);
}

static void read_cluster(struct load *l, const struct entry *e)
{
	struct kube_config *to = l->to;
	const char *server = text_of(l, e, "server");
	struct error why = { 0 };
	struct proxy proxy;

	to->ca_pem = pem_of(l, e, "certificate-authority");
	if (to->ca_pem && !text_of(l, e, "certificate-authority-data"))
		to->ca_file = path_join(&to->arena, e->source->dir,
					text_of(l, e, "certificate-authority"));
	if (to->ca_pem && x509_check_bundle(to->ca_pem, &why))
		pem_problem(l, e, "certificate-authority", &why);
	to->tls_server_name = text_of(l, e, "tls-server-name");
	if (to->tls_server_name && !http_is_server_name(to->tls_server_name))
		problem(l, e->source, in(l, e, "tls-server-name"),
			"must be a host name or an IP address, without scheme and port");
	to->proxy_url = text_of(l, e, "proxy-url");
	if (to->proxy_url && proxy_parse(&proxy, &l->arena, to->proxy_url, &why))
		problem(l, e->source, in(l, e, "proxy-url"), "%s", why.msg);
	to->insecure = flag_of(l, e, "insecure-skip-tls-verify");
	if (to->insecure && to->ca_pem)
		problem(l, e->source, in(l, e, "insecure-skip-tls-verify"),
			"not together with a certificate-authority");
	if (has_server(l))
		return;
	if (!server)
		problem(l, e->source, in(l, e, "server"),
			"the API server's address is not set");
	else if (http_server_fault(server_url(to, server)))
		problem(l, e->source, in(l, e, "server"), "%s",
			http_server_fault(server_url(to, server)));
	to->server = server;
}

static void read_groups(struct load *l, const struct entry *e)
{
	const cJSON *groups = json_get(e->node, "as-groups"), *g;
	bool good = cJSON_IsArray(groups);
	size_t n = 0;
	const char **list;

	if (!groups)
		return;
	list = arena_alloc(&l->to->arena,
			   ((size_t)cJSON_GetArraySize(groups) + 1) * sizeof(*list));
	json_each(g, groups) {
		good &= cJSON_IsString(g) && !strpbrk(g->valuestring, "\r\n");
		if (good)
			list[n++] = arena_strdup(&l->to->arena, g->valuestring);
	}
	if (!good)
		problem(l, e->source, in(l, e, "as-groups"), "must be a list of strings");
	l->to->impersonate_groups = list;
}

/* Escape a key for a header's name: '%' and bytes outside RFC 9110's token as %XX. */
static const char *header_key(struct load *l, const char *key)
{
	static const char token[] = "!#$&'*+-.^_`|~";
	cleanup_buf struct buf out = { .max = 10000 };

	for (const unsigned char *p = (const unsigned char *)key; *p; p++)
		if ((*p < 0x80 && isalnum(*p)) || strchr(token, *p))
			buf_add(&out, p, 1);
		else
			buf_printf(&out, "%%%02X", *p);
	return arena_strdup(&l->to->arena, out.data ? (char *)out.data : "");
}

static void read_extra(struct load *l, const struct entry *e)
{
	const cJSON *extra = json_get(e->node, "as-user-extra"), *values, *v;
	bool good = !extra || cJSON_IsObject(extra);
	const char **list;
	size_t n = 0, max = 1;

	json_each(values, extra)
		max += (size_t)cJSON_GetArraySize(values);
	list = arena_alloc(&l->to->arena, max * sizeof(*list));
	json_each(values, extra) {
		good &= cJSON_IsArray(values);
		json_each(v, values) {
			const char *text = cJSON_GetStringValue(v);

			good &= text && !strpbrk(text, "\r\n");
			if (good)
				list[n++] = arena_printf(
					&l->to->arena, "Impersonate-Extra-%s: %s",
					header_key(l, values->string), text);
		}
	}
	if (!good)
		problem(l, e->source, in(l, e, "as-user-extra"),
			"must be a mapping to lists of strings");
	l->to->impersonate_extra = extra ? list : NULL;
}

/* A header's value is one line. */
static const char *line_of(struct load *l, const struct entry *e, const char *key)
{
	const char *s = text_of(l, e, key);

	if (s && strpbrk(s, "\r\n")) {
		problem(l, e->source, in(l, e, key), "must be one line");
		return NULL;
	}
	return s;
}

static void read_client(struct load *l, const struct entry *e)
{
	struct kube_config *to = l->to;
	struct error why = { 0 };
	bool of_key;

	to->cert_pem = pem_of(l, e, "client-certificate");
	to->key_pem = pem_of(l, e, "client-key");
	if (l->n_problems)
		return;
	if (!to->cert_pem) { /* a key alone is no identity, as in clientcmd */
		str_wipe(to->key_pem);
		to->key_pem = NULL;
	} else if (!to->key_pem) {
		problem(l, e->source, e->at, "client-key is missing");
	} else if (x509_check_client(to->cert_pem, to->key_pem, &of_key, &why)) {
		pem_problem(l, e, of_key ? "client-key" : "client-certificate", &why);
	}
}

static void read_provider(struct load *l, const struct entry *e)
{
	const char *what = auth_provider_token(
		&l->to->arena, json_get(e->node, "auth-provider"), &l->to->token);

	if (what)
		problem(l, e->source, in(l, e, "auth-provider"), "%s", what);
}

static void read_user(struct load *l, const struct entry *e)
{
	struct kube_config *to = l->to;
	const char *file = text_of(l, e, "tokenFile");

	read_client(l, e);
	to->token = line_of(l, e, "token");
	if (file)
		to->token_file = path_join(&to->arena, e->source->dir, file);
	to->username = text_of(l, e, "username");
	to->password = text_of(l, e, "password");
	if (to->username && (to->token || to->token_file))
		problem(l, e->source, e->at,
			"both a token and a username: specify only one");
	to->impersonate = line_of(l, e, "as");
	to->impersonate_uid = line_of(l, e, "as-uid");
	read_groups(l, e);
	read_extra(l, e);
	if (!to->impersonate &&
	    (to->impersonate_uid || to->impersonate_groups || to->impersonate_extra))
		problem(l, e->source, e->at,
			"as-uid, as-groups and as-user-extra need as");
	if (json_get(e->node, "auth-provider") && !to->token && !file)
		read_provider(l, e);
}

/* The cluster's extension for exec plugins (ExecCluster.config), or NULL. */
static const cJSON *exec_config(const struct entry *cluster)
{
	return json_get(json_find_const(json_get(cluster->node, "extensions"), "name",
					"client.authentication.k8s.io/exec"),
			"extension");
}

static void read_exec(struct load *l, const struct entry *user,
		      const struct entry *cluster)
{
	const cJSON *exec = json_get(user->node, "exec"), *config;
	const char *what, *field;
	struct kube_config *to = l->to;

	if (!exec)
		return;
	what = exec_validate(exec, &field);
	if (what) {
		problem(l, user->source,
			arena_printf(&l->arena, "%s.exec%s%s", user->at,
				     *field ? "." : "", field),
			"%s", what);
		return;
	}
	to->doc = cJSON_CreateObject();
	to->exec = json_put(to->doc, json_dup(exec), "exec");
	config = exec_config(cluster);
	if (config)
		to->exec_config = json_put(to->doc, json_dup(config), "config");
	to->dir = user->source->dir;
}

/* ---- the chosen context ---- */

static struct entry member_of(const struct entry *e, enum section section)
{
	static const cJSON nothing = { .type = cJSON_Object };
	const cJSON *node = json_get(e->node, sections[section].member);

	return (struct entry){ e->source, node ? node : &nothing, e->at };
}

/* Follow a context's reference; absent is fine, dangling is not. */
static bool follow(struct load *l, const struct entry *context, enum section section,
		   struct entry *ret)
{
	const char *key = sections[section].member, *name = text_of(l, context, key);
	struct entry e;

	if (!name)
		return false;
	e = find_entry(l, section, name);
	if (!e.node) {
		problem(l, context->source, in(l, context, key), "no %s '%s'%s", key,
			name, what_there_is(l, section, name));
		return false;
	}
	*ret = member_of(&e, section);
	return true;
}

static void read_context(struct load *l, const struct entry *context)
{
	struct entry cluster = { 0 }, user = { 0 };
	const cJSON *named = json_get(context->node, "cluster");

	l->to->ns = text_of(l, context, "namespace");
	if (follow(l, context, CLUSTERS, &cluster))
		read_cluster(l, &cluster);
	else if ((!named || str_eq(cJSON_GetStringValue(named), "")) && !has_server(l))
		problem(l, context->source, in(l, context, "cluster"),
			"missing: name a cluster");
	if (follow(l, context, USERS, &user)) {
		read_user(l, &user);
		read_exec(l, &user, &cluster);
	}
}

/* The first file that names a current context. */
static const char *current_context(const struct load *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *name =
			json_str((const cJSON *)l->sources[i].doc, "current-context");

		if (name && *name)
			return name;
	}
	return NULL;
}

static int choose(struct load *l, struct error *err)
{
	const char *flag = l->flags->context, *name;
	struct entry context;

	name = flag && *flag ? flag : current_context(l);
	if (!name && has_server(l))
		return 0;
	if (!name)
		return error_set(err, ERR_INVALID,
				 "%s: current-context is not set; pass --context%s",
				 l->sources[0].path, what_there_is(l, CONTEXTS, NULL));
	context = find_entry(l, CONTEXTS, name);
	if (!context.node)
		return error_set(err, ERR_INVALID, "%s: no context '%s'%s",
				 l->sources[0].path, name,
				 what_there_is(l, CONTEXTS, name));
	l->to->context = arena_strdup(&l->to->arena, name);
	context = member_of(&context, CONTEXTS);
	read_context(l, &context);
	return 0;
}

/*
 * True: no clusters and no chosen context, as tools leave a kubeconfig when they delete
 * the last cluster. clientcmd's "empty configuration", the same as no file.
 */
static bool is_empty(const struct load *l)
{
	const char *flag = l->flags->context;
	bool contexts = false;

	for (size_t i = 0; i < l->n; i++) {
		const cJSON *doc = l->sources[i].doc;

		if (cJSON_GetArraySize(json_get(doc, "clusters")))
			return false;
		contexts |= cJSON_GetArraySize(json_get(doc, "contexts")) > 0;
	}
	return !(flag && *flag) && !(contexts && current_context(l));
}

static int fail_empty(const struct load *l, struct error *err)
{
	static const char todo[] = "pass --kubeconfig FILE, or run jobs on this machine "
				   "(submit --local)";

	if (!l->n)
		return error_set(
			err, ERR_NOT_FOUND,
			"no kubeconfig: neither $KUBECONFIG nor ~/.kube/config exists; %s",
			todo);
	return error_set(err, ERR_NOT_FOUND, "no kubeconfig: %s has no clusters; %s",
			 l->sources[0].path, todo);
}

static void apply_flags(struct kube_config *to, const struct kube_config_flags *flags)
{
	if (flags->ns && *flags->ns)
		to->ns = arena_strdup(&to->arena, flags->ns);
	if (flags->server && *flags->server)
		to->server = flags->server;
	if (!to->ns)
		to->ns = account_namespace(&to->arena);
	if (to->server)
		to->server = server_url(to, to->server);
}

static int fail_problems(struct load *l, struct error *err)
{
	if (l->n_problems > MAX_PROBLEMS)
		buf_printf(&l->problems, "\n%zu more error%s",
			   l->n_problems - MAX_PROBLEMS,
			   l->n_problems == MAX_PROBLEMS + 1 ? "" : "s");
	return error_set(err, ERR_INVALID, "%s", (char *)l->problems.data);
}

static int load(struct load *l, struct error *err)
{
	if (read_sources(l, err))
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		check_top(l, &l->sources[i]);
		for (int s = CLUSTERS; s <= USERS; s++)
			check_section(l, &l->sources[i], (enum section)s);
	}
	if (l->n_problems)
		return fail_problems(l, err);
	if (is_empty(l) && !has_server(l)) {
		if (!account_exists())
			return fail_empty(l, err);
		kube_config_release(l->to);
		return kube_config_in_cluster(l->to, err);
	}
	if (!is_empty(l) && choose(l, err))
		return -1;
	return l->n_problems ? fail_problems(l, err) : 0;
}

/* Remove credentials, which are never sent without TLS, as in clientcmd. */
static void drop_credentials(struct kube_config *c)
{
	str_wipe(c->token);
	str_wipe(c->password);
	c->token = c->token_file = NULL;
	c->username = c->password = NULL;
	c->exec = NULL;
}

int kube_config_load(struct kube_config *ret, const struct kube_config_flags *flags,
		     struct error *err)
{
	static const struct kube_config_flags none;
	struct kube_config to = { 0 };
	struct load l = { .to = &to,
			  .flags = flags ? flags : &none,
			  .problems = { .max = MAX_PROBLEMS * MAX_PROBLEM } };
	int rc = load(&l, err);
	const char *fault;

	if (!rc) {
		apply_flags(&to, l.flags);
		fault = http_server_fault(to.server);
		if (fault)
			rc = error_set(err, ERR_INVALID, "the API server's address is %s",
				       fault);
		else if (str_starts(to.server, "http://"))
			drop_credentials(&to);
	}
	for (size_t i = 0; i < l.n; i++) {
		cJSON_Delete(l.sources[i].doc);
		buf_release(&l.sources[i].text);
	}
	buf_release(&l.problems);
	arena_clear(&l.arena);
	if (rc) {
		kube_config_release(&to);
		return -1;
	}
	*ret = to;
	return 0;
}

void kube_config_release(struct kube_config *c)
{
	str_wipe(c->key_pem);
	str_wipe(c->token);
	str_wipe(c->password);
	cJSON_Delete(c->doc);
	arena_clear(&c->arena);
	*c = (struct kube_config){ 0 };
}
