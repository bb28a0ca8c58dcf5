/*
 * exec.c - runs exec credential plugins and decodes their ExecCredential.
 *
 * A plugin inherits standard error, to prompt the user, and standard input only if
 * interactiveMode allows it and it is a terminal.
 */
#include "kube/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "crypto/x509.h"
#include "kube/kubeconfig.h"

/* RUN_MS is enough for a login in a browser; client-go has no limit. */
enum { MAX_OUTPUT = 1024 * 1024, RUN_MS = 10 * 60 * 1000, MAX_WORDS = 1000 };

#define GROUP "client.authentication.k8s.io/"

extern char **environ;

static const char *const modes[] = { "Never", "IfAvailable", "Always", NULL };

static bool is_list(const cJSON *list)
{
	return !list || (cJSON_IsArray(list) && cJSON_GetArraySize(list) <= MAX_WORDS);
}

/* True for a string, or null, which Go decodes as "". */
static bool is_text(const cJSON *node)
{
	return !node || cJSON_IsNull(node) || cJSON_IsString(node);
}

static const char *text_of(const cJSON *node)
{
	return cJSON_IsString(node) ? node->valuestring : "";
}

static bool are_texts(const cJSON *list)
{
	const cJSON *e;

	json_each(e, list)
		if (!is_text(e))
			return false;
	return is_list(list);
}

static bool are_variables(const cJSON *list)
{
	const cJSON *e;

	json_each(e, list) {
		const char *name = json_str(e, "name");

		if (!name || !*name || !is_text(json_get(e, "value")))
			return false;
	}
	return is_list(list);
}

#define V1ALPHA1 GROUP "v1alpha1"

const char *exec_validate(const cJSON *exec, const char **ret_field)
{
	static const char *const versions[] = { GROUP "v1", GROUP "v1beta1", NULL };
	const char *version = json_str(exec, "apiVersion");
	const char *mode = json_str(exec, "interactiveMode");
	const char *command = json_str(exec, "command");

	*ret_field = "";
	if (!cJSON_IsObject(exec))
		return "must be a mapping";
	*ret_field = "command";
	if (!command || !*command)
		return "missing: the program to run";
	*ret_field = "apiVersion";
	if (str_eq(version, V1ALPHA1))
		return V1ALPHA1 " was removed in Kubernetes 1.24; use " GROUP
				"v1beta1 or v1, and a plugin that prints it";
	if (!version || !str_in(version, versions))
		return "must be " GROUP "v1 or " GROUP "v1beta1";
	*ret_field = "interactiveMode";
	if (mode && *mode ? !str_in(mode, modes) : !strcmp(version, GROUP "v1"))
		return "must be Never, IfAvailable or Always";
	*ret_field = "args";
	if (!are_texts(json_get(exec, "args")))
		return "must be a list of strings";
	*ret_field = "env";
	if (!are_variables(json_get(exec, "env")))
		return "must be a list of name and value, both strings";
	*ret_field = "provideClusterInfo";
	if (json_get(exec, *ret_field) && !cJSON_IsBool(json_get(exec, *ret_field)))
		return "must be true or false";
	return NULL;
}

/* ---- the environment of the plugin ---- */

static void put_cluster(cJSON *spec, const struct kube_config *c)
{
	cleanup_buf struct buf ca = { .max = 4 * MAX_OUTPUT };

	json_put_str(spec, c->server, "cluster", "server");
	if (c->tls_server_name)
		json_put_str(spec, c->tls_server_name, "cluster", "tls-server-name");
	if (c->insecure)
		json_put_bool(spec, true, "cluster", "insecure-skip-tls-verify");
	if (c->ca_pem) {
		base64_encode(&ca, c->ca_pem, strlen(c->ca_pem));
		json_put_str(spec, ca.data ? (char *)ca.data : "", "cluster",
			     "certificate-authority-data");
	}
	if (c->proxy_url)
		json_put_str(spec, c->proxy_url, "cluster", "proxy-url");
	if (c->exec_config)
		json_put(spec, json_dup(c->exec_config), "cluster", "config");
}

static char *exec_info(const struct kube_config *c, bool interactive)
{
	cleanup_json cJSON *info = cJSON_CreateObject();

	json_put_str(info, json_str(c->exec, "apiVersion"), "apiVersion");
	json_put_str(info, "ExecCredential", "kind");
	json_put_bool(info, interactive, "spec", "interactive");
	if (json_bool(c->exec, false, "provideClusterInfo"))
		put_cluster(json_get(info, "spec"), c);
	return json_text(info);
}

/* ---- running it ---- */

/* The index of a variable in the first n entries; n: there is none. */
static size_t find_variable(char **list, size_t n, const char *variable)
{
	size_t len = strcspn(variable, "="), i = 0;

	for (; i < n; i++)
		if (!strncmp(list[i], variable, len) && list[i][len] == '=')
			break;
	return i;
}

/*
 * The plugin's environment: ours, overridden by `env` of the settings (the last value of
 * a name wins, as in Go's os/exec), overridden by KUBERNETES_EXEC_INFO.
 */
static char **environment(struct arena *arena, const struct kube_config *c, char *info)
{
	const cJSON *list = json_get(c->exec, "env"), *e;
	size_t n = 0, at, max = (size_t)cJSON_GetArraySize(list) + 2;
	char **ret;

	for (char **p = environ; *p; p++)
		max++;
	ret = arena_alloc(arena, max * sizeof(*ret));
	ret[n++] = arena_printf(arena, "KUBERNETES_EXEC_INFO=%s", info);
	json_each(e, list) {
		char *variable = arena_printf(arena, "%s=%s", json_str(e, "name"),
					      text_of(json_get(e, "value")));

		at = find_variable(ret, n, variable);
		if (at)
			ret[at] = variable;
		n += at == n;
	}
	for (char **p = environ; *p; p++)
		if (find_variable(ret, n, *p) == n)
			ret[n++] = *p;
	return ret;
}

static char **arguments(struct arena *arena, const struct kube_config *c)
{
	const cJSON *list = json_get(c->exec, "args"), *e;
	const char *command = json_str(c->exec, "command");
	char **ret =
		arena_alloc(arena, ((size_t)cJSON_GetArraySize(list) + 2) * sizeof(*ret));
	size_t n = 0;

	ret[n++] = strchr(command, '/') && c->dir ? path_join(arena, c->dir, command)
						  : arena_strdup(arena, command);
	json_each(e, list)
		ret[n++] = arena_strdup(arena, text_of(e));
	return ret;
}

static int spawn(pid_t *ret, char **argv, char **envp, int out, bool interactive)
{
	const struct spawn plugin = { .path = argv[0],
				      .argv = argv,
				      .envp = envp,
				      .fds = { interactive ? 0 : -1, out, 2 } };

	return spawn_program(ret, &plugin);
}

static int fail_late(struct error *err)
{
	return error_set(err, ERR_TIMEOUT, "did not exit within %d s", RUN_MS / 1000);
}

/* Read the plugin's output until EOF, the deadline (0: none) or a stop of the process. */
static int read_output(struct buf *out, int fd, int64_t deadline, struct error *err)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };
	char chunk[4096];
	ssize_t n;

	for (;;) {
		int64_t left = deadline ? deadline - clock_ms() : 60 * 1000;

		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		if (left <= 0)
			return fail_late(err);
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (!fds[0].revents)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "read");
		if (!n)
			return 0;
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
		explicit_bzero(chunk, sizeof(chunk));
		if (buf_check(out, "its output", err))
			return -1;
	}
}

/* Wait for the plugin to exit, until the deadline (0: none) or a stop of the process. */
static int reap(int *ret_status, pid_t pid, int64_t deadline, struct error *err)
{
	while (waitpid(pid, ret_status, WNOHANG) == 0) {
		if (stop_wait(2))
			return error_set(err, ERR_STOPPED, "stopped");
		if (deadline && clock_ms() > deadline)
			return fail_late(err);
	}
	return 0;
}

static int run_plugin(struct buf *out, const struct kube_config *c, bool interactive,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *info = exec_info(c, interactive);
	char **argv = arguments(&arena, c);
	int64_t deadline = interactive ? 0 : clock_ms() + RUN_MS;
	const char *hint = json_str(c->exec, "installHint");
	int fds[2], status = 0, rc;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return error_errno(err, errno, "pipe");
	rc = spawn(&pid, argv, environment(&arena, c, info), fds[1], interactive);
	close(fds[1]);
	if (rc) {
		close(fds[0]);
		error_errno(err, rc, "cannot be started");
		if (hint && (rc == ENOENT || rc == EACCES))
			error_set(err, ERR_NOT_FOUND, "cannot be started: %s\n%s",
				  strerror(rc), str_visible(&arena, hint, true));
		return -1;
	}
	rc = read_output(out, fds[0], deadline, err);
	close(fds[0]);
	if (rc || reap(&status, pid, deadline, err)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1;
	}
	if (WIFSIGNALED(status))
		return error_set(err, ERR_DENIED, "killed by signal %d",
				 WTERMSIG(status));
	if (WEXITSTATUS(status))
		return error_set(err, ERR_DENIED, "exited with status %d",
				 WEXITSTATUS(status));
	return 0;
}

/* ---- ExecCredential ---- */

/* `kind` may be absent; apiVersion must be the one in the kubeconfig. */
static int check_type(const cJSON *doc, const char *version, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *kind = json_str(doc, "kind"), *got = json_str(doc, "apiVersion");

	if (!cJSON_IsObject(doc))
		return error_set(
			err, ERR_FORMAT,
			"printed no ExecCredential: expected an object in JSON on "
			"standard output, and nothing else");
	if (kind && *kind && strcmp(kind, "ExecCredential") != 0)
		return error_set(err, ERR_FORMAT,
				 "printed kind '%.100s', expected ExecCredential",
				 str_visible(&arena, kind, false));
	if (!got || !*got)
		return error_set(
			err, ERR_FORMAT,
			"printed an ExecCredential without apiVersion, expected %s",
			version);
	if (strcmp(got, version) != 0)
		return error_set(
			err, ERR_FORMAT,
			"printed an ExecCredential of %.100s, but the kubeconfig's "
			"exec.apiVersion is %s; set both to the same",
			str_visible(&arena, got, false), version);
	return 0;
}

/* A member of the status; "" for absent and null, as in Go. */
static int status_text(const char **ret, const cJSON *doc, const char *key,
		       struct error *err)
{
	const cJSON *node = json_get(doc, "status", key);

	if (!is_text(node))
		return error_set(err, ERR_FORMAT, "status.%s: must be a string", key);
	*ret = text_of(node);
	return 0;
}

/* Read the expiry; 0: never. Year 1 is Go's zero time, the same as null. */
static int read_expiry(int64_t *ret, const cJSON *doc, struct error *err)
{
	static const int64_t year_1 = -62135596800;
	const char *key = "expirationTimestamp", *text;
	const cJSON *node = json_get(doc, "status", key);

	*ret = 0;
	if (!node || cJSON_IsNull(node))
		return 0;
	if (status_text(&text, doc, key, err))
		return -1;
	if (time_parse(ret, text, err))
		return error_wrap(err, "status.%s", key);
	*ret = *ret == year_1 ? 0 : *ret ? *ret : 1;
	return 0;
}

/* Certificate and key must both be absent, or match. */
static int check_pair(const char *cert, const char *key, struct error *err)
{
	bool of_key;

	if (!*cert != !*key)
		return error_set(err, ERR_FORMAT,
				 "printed a certificate without its key, or a key alone");
	if (*cert && x509_check_client(cert, key, &of_key, err))
		return error_wrap(err, "status.%s",
				  of_key ? "clientKeyData" : "clientCertificateData");
	return 0;
}

static int read_credential(struct kube_credential *ret, const cJSON *doc,
			   const char *version, struct error *err)
{
	const char *token, *cert, *key;
	int64_t expires;

	if (check_type(doc, version, err))
		return -1;
	if (!cJSON_IsObject(json_get(doc, "status")))
		return error_set(err, ERR_FORMAT,
				 "printed an ExecCredential without status");
	if (status_text(&token, doc, "token", err) ||
	    status_text(&cert, doc, "clientCertificateData", err) ||
	    status_text(&key, doc, "clientKeyData", err) ||
	    read_expiry(&expires, doc, err) || check_pair(cert, key, err))
		return -1;
	if (!*token && !*cert)
		return error_set(err, ERR_FORMAT,
				 "printed neither a token nor a certificate");
	if (strpbrk(token, "\r\n"))
		return error_set(err, ERR_FORMAT, "its token has more than one line");
	*ret = (struct kube_credential){ .expires = expires };
	ret->token = *token ? arena_strdup(&ret->arena, token) : NULL;
	ret->cert_pem = *cert ? arena_strdup(&ret->arena, cert) : NULL;
	ret->key_pem = *key ? arena_strdup(&ret->arena, key) : NULL;
	return 0;
}

/* Parse JSON, which begins with '{', or YAML, as apimachinery's decoder does. */
static int parse_answer(cJSON **ret, const struct buf *out, struct error *err)
{
	const char *text = out->data ? (char *)out->data : "";
	cleanup_json cJSON *docs = NULL;
	struct error why = { 0 };

	if (!text[strspn(text, " \t\r\n")])
		return error_set(err, ERR_FORMAT, "printed nothing on standard output");
	if (text[strspn(text, " \t\r\n")] == '{') {
		if (!json_parse(ret, text, out->len, &why))
			return 0;
	} else if (!yaml_parse(&docs, text, out->len, &why)) {
		*ret = cJSON_DetachItemFromArray(docs, 0);
		return 0;
	}
	/* The parser's message is left out: it may contain parts of the secret. */
	return error_set(
		err, ERR_FORMAT,
		"printed no JSON: expected an ExecCredential on standard output, "
		"and nothing else");
}

int exec_decode(struct kube_credential *ret, const struct buf *out, const char *version,
		struct error *err)
{
	cleanup_json cJSON *doc = NULL;

	if (parse_answer(&doc, out, err))
		return -1;
	return read_credential(ret, doc, version, err);
}

static int ask(struct kube_credential *ret, const struct kube_config *c,
	       struct error *err)
{
	cleanup_buf struct buf out = { .max = MAX_OUTPUT };
	const char *mode = json_str(c->exec, "interactiveMode");
	bool interactive = !str_eq(mode, "Never") && isatty(STDIN_FILENO);
	int rc;

	if (str_eq(mode, "Always") && !interactive)
		return error_set(
			err, ERR_DENIED,
			"needs a terminal on standard input (interactiveMode: Always)");
	if (run_plugin(&out, c, interactive, err))
		return -1;
	rc = exec_decode(ret, &out, json_str(c->exec, "apiVersion"), err);
	if (out.data)
		explicit_bzero(out.data, out.len);
	return rc;
}

int kube_exec_credential(struct kube_credential *ret, const struct kube_config *c,
			 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *field;
	const char *what = c->exec ? exec_validate(c->exec, &field) : "missing";

	if (what)
		return error_set(err, ERR_INVALID, "exec plugin: %s", what);
	if (ask(ret, c, err))
		return error_wrap(
			err, "exec plugin %s",
			str_visible(&arena, json_str(c->exec, "command"), false));
	return 0;
}

void kube_credential_release(struct kube_credential *c)
{
	str_wipe(c->token);
	str_wipe(c->key_pem);
	arena_clear(&c->arena);
	*c = (struct kube_credential){ 0 };
}
