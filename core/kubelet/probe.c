/* probe.c - run probes and lifecycle hooks (kubelet/probe.h). */
#include "kubelet/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/pod.h"

struct probe {
	struct container *c;
	enum probe_type type;
	const cJSON *spec;
	bool passes, failed; /* after the thresholds */
	int64_t successes, failures;
	int64_t next, timeout_at; /* timeout_at: 0: no attempt is running */
	struct process exec;
	struct watch sock;
	bool http, asked;
	char answer[16]; /* "HTTP/1.1 200" */
	size_t answer_len;
	struct arena arena;
};

static const char *const probe_keys[] = { "startupProbe", "readinessProbe",
					  "livenessProbe" };

const char *probe_handler(const cJSON *probe)
{
	const char *scheme = json_str(probe, "httpGet", "scheme");

	if (json_get(probe, "exec"))
		return "exec";
	if (json_get(probe, "tcpSocket"))
		return "tcpSocket";
	if (json_get(probe, "httpGet") && !str_eq(scheme, "HTTPS"))
		return "httpGet";
	return NULL;
}

struct probe *probe_new(struct container *c, enum probe_type type)
{
	const cJSON *spec = json_at(c->spec, JSON_PATH(probe_keys[type]));
	struct probe *p;

	if (!spec || !probe_handler(spec))
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->c = c;
	p->type = type;
	p->spec = spec;
	p->sock.fd = -1;
	return p;
}

bool probe_busy(const struct probe *p)
{
	return p && process_alive(&p->exec);
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	arena_clear(&p->arena);
	free(p);
}

bool probe_passes(const struct probe *p)
{
	return !p || p->passes;
}

bool probe_failed(const struct probe *p)
{
	return p && p->failed;
}

/* As in the API server, 0 also means the default. */
static int64_t setting(const struct probe *p, const char *key, int64_t fallback)
{
	int64_t v = json_int_at(p->spec, JSON_PATH(key), 0);

	return v > 0 ? v : fallback;
}

void probe_begin(struct probe *p, int64_t now)
{
	if (!p)
		return;
	p->passes = p->type == PROBE_LIVENESS;
	p->failed = false;
	p->successes = p->failures = 0;
	p->next = now + clock_seconds_ms(setting(p, "initialDelaySeconds", 0));
	p->timeout_at = 0;
}

void probe_end(struct probe *p)
{
	if (!p)
		return;
	process_signal(&p->exec, SIGKILL);
	loop_unwatch(&p->c->pod->k->loop, &p->sock);
	p->timeout_at = 0;
	p->passes = false;
}

static void result(struct probe *p, bool ok)
{
	bool passed = p->passes, failed = p->failed;

	if (!p->timeout_at)
		return;
	p->timeout_at = 0;
	loop_unwatch(&p->c->pod->k->loop, &p->sock);
	p->next = clock_ms() + clock_seconds_ms(setting(p, "periodSeconds", 10));
	p->successes = ok ? p->successes + 1 : 0;
	p->failures = ok ? 0 : p->failures + 1;
	if (ok && p->successes >= setting(p, "successThreshold", 1))
		p->passes = true;
	if (!ok && p->failures >= setting(p, "failureThreshold", 3)) {
		p->passes = false;
		p->failed = p->type != PROBE_READINESS;
	}
	if (passed != p->passes || failed != p->failed)
		pod_changed(p->c->pod);
	pod_wake_at(p->c->pod, p->next);
}

/* ---- exec ------------------------------------------------------------------------- */

/* Run a command in the container's namespaces, environment and working directory. */
static int run_inside(struct container *c, struct arena *arena, struct process *to,
		      const cJSON *command, struct error *err)
{
	size_t n = (size_t)cJSON_GetArraySize(command), i = 0;
	const char **argv = arena_alloc(arena, (n + 1) * sizeof(*argv));
	struct sandbox_plan plan = c->process.plan;
	const cJSON *a;

	json_each(a, command)
		if (cJSON_IsString(a))
			argv[i++] = a->valuestring;
	if (i == 0)
		return error_set(err, ERR_INVALID, "exec: no command");
	plan.join = c->process.init_pid;
	plan.argv = argv;
	plan.cgroup[0] = plan.cgroup[1] = -1;
	return process_start(&c->pod->k->loop, to, &plan, err);
}

static void exec_changed(void *ctx)
{
	struct probe *p = ctx;

	if (p->exec.state != PROCESS_ENDED)
		return;
	result(p, !p->exec.failed && p->exec.code == 0);
	pod_wake_at(p->c->pod, p->next); /* even if it timed out: the next may be due */
}

/* ---- tcpSocket, httpGet ------------------------------------------------------------ */

/* A number, or the name of a port of the container. */
static int port_of(const struct probe *p, const cJSON *node)
{
	int64_t port = 0;
	const char *name = cJSON_GetStringValue(node);
	const cJSON *list = json_get(p->c->spec, "ports");
	struct error err;

	if (name && str_int(&port, name, 1, 65535, &err) == 0)
		return (int)port;
	if (name)
		return (int)json_int(json_find_const(list, "name", name), 0,
				     "containerPort");
	return node && json_int_of(node, &port) && port > 0 && port < 65536 ? (int)port
									    : 0;
}

static void ask(struct probe *p)
{
	cleanup_buf struct buf b = { .max = 16384 };
	const cJSON *get = json_get(p->spec, "httpGet"), *h;
	const char *path = json_str(get, "path");

	buf_printf(&b, "GET %s%s HTTP/1.1\r\nHost: %s\r\n",
		   str_starts(path ? path : "", "/") ? "" : "/", path ? path : "",
		   p->c->pod->ip);
	json_each(h, json_get(get, "httpHeaders"))
		buf_printf(&b, "%s: %s\r\n",
			   json_str(h, "name") ? json_str(h, "name") : "X",
			   json_str(h, "value") ? json_str(h, "value") : "");
	buf_adds(&b, "User-Agent: kube-probe/1.34\r\nConnection: close\r\n\r\n");
	if (b.overflowed ||
	    send(p->sock.fd, b.data, b.len, MSG_NOSIGNAL) != (ssize_t)b.len)
		result(p, false);
	p->asked = true;
}

static int watch_again(struct probe *p, bool for_writing)
{
	struct loop *l = &p->c->pod->k->loop;
	int fd = fcntl(p->sock.fd, F_DUPFD_CLOEXEC, 0);
	struct error err;

	loop_unwatch(l, &p->sock);
	return fd < 0 ? -1 : loop_watch(l, &p->sock, fd, for_writing, &err);
}

int probe_http_status(const char *answer, size_t len)
{
	static const char line[] = "HTTP/1.d ddd"; /* d: a digit */
	int code = 0;

	for (size_t i = 0; i < strlen(line); i++) {
		bool digit = line[i] == 'd';

		if (i == len)
			return -1;
		if (digit ? answer[i] < '0' || answer[i] > '9' : answer[i] != line[i])
			return 0;
		if (digit && i >= strlen("HTTP/1.d "))
			code = code * 10 + answer[i] - '0';
	}
	return code;
}

static void socket_ready(void *ctx)
{
	struct probe *p = ctx;
	int failed = 0, status;
	socklen_t len = sizeof(failed);
	ssize_t n;

	if (!p->asked) {
		getsockopt(p->sock.fd, SOL_SOCKET, SO_ERROR, &failed, &len);
		if (failed || !p->http) {
			result(p, !failed);
			return;
		}
		ask(p);
		if (p->sock.fd >= 0 && watch_again(p, false) < 0)
			result(p, false);
		return;
	}
	n = recv(p->sock.fd, p->answer + p->answer_len,
		 sizeof(p->answer) - 1 - p->answer_len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	p->answer_len += n > 0 ? (size_t)n : 0;
	status = probe_http_status(p->answer, p->answer_len);
	if (n > 0 && status < 0)
		return;
	result(p, status >= 200 && status < 400);
}

static bool dial(struct probe *p, const char *host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port) };
	struct error err;
	int fd;

	if (str_eq(host, "localhost"))
		host = "127.0.0.1";
	if (!port || inet_pton(AF_INET, host ? host : p->c->pod->ip, &a.sin_addr) != 1)
		return false;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	if (connect(fd, (const void *)&a, sizeof(a)) < 0 && errno != EINPROGRESS) {
		close(fd);
		return false;
	}
	p->sock = (struct watch){ .fd = -1, .ready = socket_ready, .ctx = p };
	p->asked = false;
	p->answer_len = 0;
	return loop_watch(&p->c->pod->k->loop, &p->sock, fd, true, &err) == 0;
}

static bool attempt(struct probe *p)
{
	const cJSON *exec = json_get(p->spec, "exec");
	const cJSON *get = json_get(p->spec, "httpGet");
	const cJSON *target = get ? get : json_get(p->spec, "tcpSocket");
	struct error err;

	if (exec) {
		p->exec.on_change = exec_changed;
		p->exec.ctx = p;
		arena_clear(&p->arena);
		return run_inside(p->c, &p->arena, &p->exec, json_get(exec, "command"),
				  &err) == 0;
	}
	p->http = get != NULL;
	return dial(p, json_str(target, "host"), port_of(p, json_get(target, "port")));
}

static void earlier(int64_t *wake, int64_t when)
{
	if (*wake < 0 || when < *wake)
		*wake = when;
}

void probe_sync(struct probe *p, int64_t now, int64_t *ret_wake)
{
	if (!p || p->failed)
		return;
	if (p->timeout_at && now >= p->timeout_at) {
		process_signal(&p->exec, SIGKILL);
		result(p, false);
	}
	/* A probe killed on timeout may take a moment to exit. */
	if (!p->timeout_at && now >= p->next && !process_alive(&p->exec) && !p->failed) {
		p->timeout_at = now + clock_seconds_ms(setting(p, "timeoutSeconds", 1));
		if (!attempt(p))
			result(p, false);
	}
	if (p->timeout_at)
		earlier(ret_wake, p->timeout_at);
	else if (p->next > now)
		earlier(ret_wake, p->next);
}

/* ---- hooks ------------------------------------------------------------------------- */

struct hook {
	struct container *c;
	bool running, failed;
	int64_t until; /* sleep: the time of its end */
	struct process exec;
	struct arena arena;
};

static const char *const hook_keys[] = { "postStart", "preStop" };

const char *hook_handler(const cJSON *hook)
{
	if (json_get(hook, "exec"))
		return "exec";
	return json_get(hook, "sleep") ? "sleep" : NULL;
}

static void hook_changed(void *ctx)
{
	struct hook *h = ctx;

	if (h->exec.state != PROCESS_ENDED)
		return;
	h->running = false;
	h->failed = h->exec.failed || h->exec.code != 0;
	pod_changed(h->c->pod);
}

bool hook_begin(struct container *c, enum hook_type type, int64_t now)
{
	const cJSON *spec = json_at(c->spec, JSON_PATH("lifecycle", hook_keys[type]));
	struct error err;
	struct hook *h;

	if (!spec || !hook_handler(spec) || (c->hook && process_alive(&c->hook->exec)))
		return false;
	if (!c->hook)
		c->hook = xcalloc(1, sizeof(*c->hook));
	h = c->hook;
	arena_clear(&h->arena);
	h->c = c;
	h->until = 0;
	h->failed = false;
	h->running = true;
	if (json_get(spec, "sleep")) {
		h->until = now + clock_seconds_ms(json_int(spec, 0, "sleep", "seconds"));
		return true;
	}
	h->exec.on_change = hook_changed;
	h->exec.ctx = h;
	if (run_inside(c, &h->arena, &h->exec, json_get(spec, "exec", "command"), &err) <
	    0) {
		h->running = false;
		h->failed = true;
	}
	return true;
}

bool hook_running(const struct container *c)
{
	return c->hook && c->hook->running;
}

bool hook_failed(const struct container *c)
{
	return c->hook && c->hook->failed;
}

void hook_sync(struct container *c, int64_t now, int64_t *ret_wake)
{
	struct hook *h = c->hook;

	if (!h || !h->running || !h->until)
		return;
	if (now < h->until) {
		earlier(ret_wake, h->until);
		return;
	}
	h->running = false;
	pod_changed(c->pod);
}

void hook_end(struct container *c)
{
	if (!c->hook)
		return;
	process_signal(&c->hook->exec, SIGKILL);
	c->hook->running = c->hook->failed = false;
}

bool hook_busy(const struct container *c)
{
	return c->hook && process_alive(&c->hook->exec);
}

void hook_free(struct container *c)
{
	if (c->hook)
		arena_clear(&c->hook->arena);
	free(c->hook);
	c->hook = NULL;
}
