/*
 * exec.c - credential plugins: the keys of a user's `exec` and of ExecCredential
 * stand here.
 *
 * The plugin's standard error is ours, so that it can speak to the user; standard
 * input is only passed on where its settings allow it and there is a terminal.
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
#include "kube/kubeconfig.h"

enum { MAX_OUTPUT = 1024 * 1024, RUN_MS = 60 * 1000, MAX_WORDS = 1000 };

#define GROUP "client.authentication.k8s.io/"

extern char **environ;

static const char *const modes[] = { "Never", "IfAvailable", "Always", NULL };

/* A list whose elements each are a string, or have one under each of the keys. */
static bool is_list_of(const cJSON *list, const char *const *keys)
{
	const cJSON *e;

	if (!list)
		return true;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MAX_WORDS)
		return false;
	json_each(e, list) {
		if (!*keys && !cJSON_IsString(e))
			return false;
		for (const char *const *key = keys; *key; key++)
			if (!cJSON_IsString(json_get(e, *key)))
				return false;
	}
	return true;
}

const char *exec_problem(const cJSON *exec, const char **ret_field)
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
	if (!version || !str_in(version, versions))
		return "must be " GROUP "v1 or " GROUP "v1beta1";
	*ret_field = "interactiveMode";
	if (mode ? !str_in(mode, modes) : !strcmp(version, GROUP "v1"))
		return "must be Never, IfAvailable or Always";
	*ret_field = "args";
	if (!is_list_of(json_get(exec, "args"), JSON_PATH(NULL)))
		return "must be a list of strings";
	*ret_field = "env";
	if (!is_list_of(json_get(exec, "env"), JSON_PATH("name", "value")))
		return "must be a list of name and value";
	return NULL;
}

/* ---- the environment of the plugin ---- */

static bool is_interactive(const cJSON *exec)
{
	return !str_eq(json_str(exec, "interactiveMode"), "Never") &&
	       isatty(STDIN_FILENO);
}

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

/* Later settings of one name win: ours come last, and the old ones are left out. */
static char **environment(struct arena *arena, const struct kube_config *c, char *info)
{
	const cJSON *list = json_get(c->exec, "env"), *e;
	size_t n = 0, max = (size_t)cJSON_GetArraySize(list) + 2;
	char **ret;

	for (char **p = environ; *p; p++)
		max++;
	ret = arena_alloc(arena, max * sizeof(*ret));
	json_each(e, list)
		ret[n++] = arena_printf(arena, "%s=%s", json_str(e, "name"),
					json_str(e, "value"));
	ret[n++] = arena_printf(arena, "KUBERNETES_EXEC_INFO=%s", info);
	for (char **p = environ; *p; p++) {
		size_t len = strcspn(*p, "="), ours = 0;

		for (; ours < n; ours++)
			if (!strncmp(ret[ours], *p, len) && ret[ours][len] == '=')
				break;
		if (ours == n)
			ret[n++] = *p;
	}
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
		ret[n++] = arena_strdup(arena, e->valuestring);
	return ret;
}

static int spawn(pid_t *ret, char **argv, char **envp, int out, bool interactive)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	posix_spawn_file_actions_init(&actions);
	if (!interactive)
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
						 O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	spawn_attr(&attr, SPAWN_INHERIT, 0);
	rc = posix_spawnp(ret, argv[0], &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Until the end of its output; -1 with err when it must not go on. */
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
			return error_set(err, ERR_TIMEOUT, "did not exit within %d s",
					 RUN_MS / 1000);
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

/* It has closed its output: it ends soon, or is killed. */
static int reap(pid_t pid, int64_t deadline, bool failed)
{
	int status = 0;

	if (failed)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, failed ? 0 : WNOHANG) == 0) {
		if (deadline && clock_ms() > deadline)
			kill(pid, SIGKILL);
		clock_sleep_ms(2);
	}
	return status;
}

static int run_plugin(struct buf *out, const struct kube_config *c, bool interactive,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *info = exec_info(c, interactive);
	char **argv = arguments(&arena, c);
	int64_t deadline = interactive ? 0 : clock_ms() + RUN_MS;
	const char *hint = json_str(c->exec, "installHint");
	int fds[2], status, rc;
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
	status = reap(pid, deadline, rc != 0);
	if (rc)
		return -1;
	if (WIFSIGNALED(status))
		return error_set(err, ERR_DENIED, "killed by signal %d",
				 WTERMSIG(status));
	if (WEXITSTATUS(status))
		return error_set(err, ERR_DENIED, "exited with status %d",
				 WEXITSTATUS(status));
	return 0;
}

/* ---- what it answers ---- */

static bool is_line(const char *s)
{
	return !strpbrk(s, "\r\n");
}

static int read_credential(struct kube_credential *ret, const cJSON *doc,
			   const char *version, struct error *err)
{
	const char *token = json_str(doc, "status", "token");
	const char *cert = json_str(doc, "status", "clientCertificateData");
	const char *key = json_str(doc, "status", "clientKeyData");
	const char *expires = json_str(doc, "status", "expirationTimestamp");
	struct kube_credential got = { 0 };

	if (!str_eq(json_str(doc, "kind"), "ExecCredential") ||
	    !str_eq(json_str(doc, "apiVersion"), version))
		return error_set(err, ERR_FORMAT, "printed no ExecCredential of %s",
				 version);
	if (!cert != !key)
		return error_set(err, ERR_FORMAT,
				 "printed a certificate without its key, or a key alone");
	if ((!token || !*token) && !cert)
		return error_set(err, ERR_FORMAT,
				 "printed neither a token nor a certificate");
	if (token && !is_line(token))
		return error_set(err, ERR_FORMAT, "its token has more than one line");
	if (expires && time_parse(&got.expires, expires, err))
		return error_wrap(err, "status.expirationTimestamp");
	got.token = token && *token ? arena_strdup(&got.arena, token) : NULL;
	got.cert_pem = arena_strdup(&got.arena, cert);
	got.key_pem = arena_strdup(&got.arena, key);
	*ret = got;
	return 0;
}

static int ask(struct kube_credential *ret, const struct kube_config *c,
	       struct error *err)
{
	cleanup_buf struct buf out = { .max = MAX_OUTPUT };
	cleanup_json cJSON *doc = NULL;
	bool interactive = is_interactive(c->exec);
	struct error why = { 0 };
	int rc;

	if (str_eq(json_str(c->exec, "interactiveMode"), "Always") && !interactive)
		return error_set(
			err, ERR_DENIED,
			"needs a terminal on standard input (interactiveMode: Always)");
	if (run_plugin(&out, c, interactive, err))
		return -1;
	rc = json_parse(&doc, out.data ? (char *)out.data : "", out.len, &why);
	if (out.data)
		explicit_bzero(out.data, out.len);
	if (rc)
		return error_set(err, ERR_FORMAT, "printed no JSON");
	return read_credential(ret, doc, json_str(c->exec, "apiVersion"), err);
}

int kube_exec_credential(struct kube_credential *ret, const struct kube_config *c,
			 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *field;
	const char *what = c->exec ? exec_problem(c->exec, &field) : "missing";

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
