/* podexec.c - the channels of a command in a pod (kube/podexec.h). */
#include "kube/podexec.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/kube_impl.h"
#include "net/websocket.h"

enum channel {
	STDIN,
	STDOUT,
	STDERR,
	ERROR,  /* a v1.Status, when the command has ended */
	RESIZE, /* {"Width":80,"Height":24} */
	CLOSE = 255,
};

enum {
	PATH_MOST = 256 * 1024,
	STATUS_MOST = 64 * 1024,
	OPEN_MS = 60000, /* the kubelet starts the command before the answer */
	PING_MS = 10000,
	SILENT_MS = 60000, /* client-go waits as long for the answer to a ping */
	CLOSE_MS = 2000,   /* for the server to close, after the status */
	HTTP_BAD_REQUEST = 400,
	HTTP_UNAUTHORIZED = 401,
	CODE_MOST = 255,
};

#define V5 "v5.channel.k8s.io"
#define V4 "v4.channel.k8s.io"

struct podexec {
	struct kube *kube;
	struct kube_attempt attempt;
	struct websocket *ws;
	bool can_close; /* v5 */
	struct buf status;
	enum channel channel; /* of the message that is being received */
	bool begun;           /* its channel is known */
	bool closed;
	int64_t status_ms, pinged_ms; /* 0: not yet */
	int64_t asked_ms; /* of the first ping since the last bytes; 0: none */
	int64_t wrote_ms; /* of the last message; 0: none */
	int (*on_output)(void *ctx, int fd, const char *data, size_t len,
			 struct error *err);
	void *ctx;
	char out[PODEXEC_PIECE + 1];
};

static int make_path(struct arena *arena, const struct podexec_want *want,
		     const char **ret, struct error *err)
{
	cleanup_buf struct buf path = { .max = PATH_MOST };

	buf_adds(&path, "/api/v1/namespaces/");
	http_escape(&path, want->ns);
	buf_adds(&path, "/pods/");
	http_escape(&path, want->pod);
	buf_adds(&path, "/exec?stdout=true");
	if (!want->terminal)
		buf_adds(&path, "&stderr=true");
	if (want->input)
		buf_adds(&path, "&stdin=true");
	if (want->terminal)
		buf_adds(&path, "&tty=true");
	buf_adds(&path, "&container=");
	http_escape(&path, want->container);
	for (const char *const *arg = want->argv; *arg; arg++) {
		buf_adds(&path, "&command=");
		http_escape(&path, *arg);
	}
	if (path.overflowed)
		return error_set(err, ERR_LIMIT,
				 "the command is too long: its URL exceeds %d bytes",
				 PATH_MOST);
	*ret = arena_strdup(arena, (char *)path.data);
	return 0;
}

static const char *const *with_protocols(struct arena *arena, const char *const *headers)
{
	size_t n = 0;
	const char **ret;

	while (headers[n])
		n++;
	ret = arena_alloc(arena, (n + 2) * sizeof(*ret));
	memcpy(ret, headers, n * sizeof(*ret));
	ret[n] = "Sec-WebSocket-Protocol: " V5 ", " V4;
	ret[n + 1] = NULL;
	return ret;
}

static int open_once(struct podexec *x, const struct kube_request *req, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct kube *k = x->kube;
	const struct http_request http = {
		.url = arena_printf(&arena, "%s%s", k->config.server, req->path),
		.headers = with_protocols(
			&arena, kube_headers(&arena, k, req, x->attempt.authorization)),
		.timeout_ms = OPEN_MS,
	};
	const char *protocol = NULL;

	if (websocket_open(&x->ws, x->attempt.conn->http, &http, &protocol, err))
		return -1;
	x->can_close = str_eq(protocol, V5);
	if (x->can_close || str_eq(protocol, V4))
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "the server speaks neither " V5 " nor " V4);
}

/*
 * Why was the WebSocket refused? libcurl drops the text; the same request without an
 * upgrade, which starts nothing, gets it again, or else "Upgrade request required".
 */
static int explain(struct kube *k, const struct kube_request *req, struct error *err)
{
	struct http_response resp = { 0 };
	struct error why = { 0 };

	if (err->kind != ERR_UNSUPPORTED || err->code < HTTP_BAD_REQUEST)
		return error_wrap(err, "%s", req->what);
	if (!kube_send(k, req, &resp, &why))
		http_response_release(&resp);
	else if (!strstr(why.msg, "pgrade request required"))
		*err = why;
	return str_starts(err->msg, req->what) ? -1 : error_wrap(err, "%s", req->what);
}

static int open_as(struct podexec *x, const struct kube_request *req, struct error *err)
{
	for (int tries = 0;; tries++) {
		bool refused;

		if (kube_attempt_begin(x->kube, &x->attempt, err))
			return -1;
		if (!open_once(x, req, err))
			return 0;
		refused = err->code == HTTP_UNAUTHORIZED;
		if (!kube_attempt_end(x->kube, &x->attempt, refused) || tries)
			return explain(x->kube, req, err);
		*err = (struct error){ 0 };
	}
}

int podexec_open(struct podexec **ret, struct kube *k, const struct podexec_want *want,
		 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct kube_request req = { .method = "GET", .accept = "application/json, */*" };
	struct podexec *x;

	if (make_path(&arena, want, &req.path, err))
		return -1;
	req.what = arena_printf(&arena, "exec in pod %s/%s", want->ns, want->pod);
	x = xcalloc(1, sizeof(*x));
	x->kube = k;
	x->status.max = STATUS_MOST;
	if (open_as(x, &req, err)) {
		podexec_free(x);
		return -1;
	}
	*ret = x;
	return 0;
}

void podexec_free(struct podexec *x)
{
	if (!x)
		return;
	websocket_free(x->ws);
	if (x->attempt.conn)
		kube_attempt_end(x->kube, &x->attempt, false);
	buf_release(&x->status);
	free(x);
}

int podexec_fd(const struct podexec *x)
{
	return websocket_fd(x->ws);
}

/* ---- sending --------------------------------------------------------------------- */

bool podexec_is_sending(const struct podexec *x)
{
	return websocket_is_sending(x->ws);
}

static int send_on(struct podexec *x, enum channel channel, const void *data, size_t len,
		   struct error *err)
{
	x->wrote_ms = clock_ms();
	x->out[0] = (char)channel;
	memcpy(x->out + 1, data, len);
	return websocket_send(x->ws, x->out, len + 1, err);
}

int podexec_write(struct podexec *x, const void *data, size_t len, struct error *err)
{
	if (len > PODEXEC_PIECE)
		return error_set(err, ERR_LIMIT, "message too long");
	return send_on(x, STDIN, data, len, err);
}

int podexec_end_input(struct podexec *x, struct error *err)
{
	static const char which[] = { STDIN };

	if (!x->can_close)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the API server or the kubelet is older than Kubernetes "
			"1.30: the command is not told that its input has ended");
	return send_on(x, CLOSE, which, 1, err);
}

int podexec_resize(struct podexec *x, int columns, int rows, struct error *err)
{
	char text[64];

	snprintf(text, sizeof(text), "{\"Width\":%d,\"Height\":%d}", columns, rows);
	return send_on(x, RESIZE, text, strlen(text), err);
}

/* ---- receiving ------------------------------------------------------------------- */

static int on_message(void *ctx, const char *data, size_t len, bool first,
		      struct error *err)
{
	struct podexec *x = ctx;

	x->begun &= !first;
	if (len && !x->begun) {
		x->channel = (unsigned char)*data;
		x->begun = true;
		data++;
		len--;
	}
	if (!len)
		return 0;
	if (x->channel == STDOUT || x->channel == STDERR)
		return x->on_output(x->ctx, (int)x->channel, data, len, err);
	if (x->channel == ERROR)
		buf_add(&x->status, data, len);
	return 0;
}

/* The status is the last message: CLOSE_MS after it, the connection need not be closed. */
static void record_end(struct podexec *x)
{
	cleanup_json cJSON *status = NULL;

	if (!x->status_ms && x->status.len &&
	    !json_parse(&status, x->status.data, x->status.len, IGNORED))
		x->status_ms = clock_ms();
}

static int keep_alive(struct podexec *x, struct error *err)
{
	int64_t now = clock_ms();

	if (x->asked_ms <= websocket_heard_ms(x->ws))
		x->asked_ms = 0;
	if (x->status_ms || websocket_is_sending(x->ws)) {
		x->asked_ms = 0;
		return 0;
	}
	/* Pings wait behind input that the command does not read: silence proves nothing. */
	if (x->wrote_ms > websocket_pong_ms(x->ws))
		x->asked_ms = 0;
	if (x->asked_ms && now - x->asked_ms > SILENT_MS)
		return error_set(err, ERR_IO, "the server has not answered for %d s",
				 SILENT_MS / 1000);
	if (now - x->pinged_ms < PING_MS)
		return 0;
	x->pinged_ms = now;
	x->asked_ms = x->asked_ms ? x->asked_ms : now;
	websocket_ping(x->ws);
	return 0;
}

int podexec_step(struct podexec *x,
		 int (*on_output)(void *ctx, int fd, const char *data, size_t len,
				  struct error *err),
		 void *ctx, struct error *err)
{
	x->on_output = on_output;
	x->ctx = ctx;
	websocket_continue(x->ws);
	if (websocket_receive(x->ws, on_message, x, &x->closed, err)) {
		record_end(x);
		if (!x->status_ms || err->kind != ERR_IO)
			return -1;
		*err = (struct error){ 0 };
		x->closed = true;
		return 0;
	}
	record_end(x);
	if (!x->closed)
		return keep_alive(x, err);
	if (x->status_ms)
		return 0;
	return error_set(err, ERR_IO, "the server closed the connection");
}

bool podexec_has_ended(const struct podexec *x)
{
	return x->closed || (x->status_ms && clock_ms() - x->status_ms > CLOSE_MS);
}

static int exit_code(const cJSON *status, int *ret)
{
	const cJSON *cause;
	int64_t code;

	json_each(cause, json_get(status, "details", "causes"))
		if (str_eq(json_str(cause, "reason"), "ExitCode") &&
		    json_str(cause, "message") &&
		    !str_int(&code, json_str(cause, "message"), 0, CODE_MOST, IGNORED)) {
			*ret = (int)code;
			return 0;
		}
	return -1;
}

/* A shell's exit code for the container runtime's message; 0: another failure. */
static int code_of(const char *message)
{
	if (strstr(message, "executable file not found") ||
	    strstr(message, "no such file or directory"))
		return PODEXEC_NOT_FOUND;
	return strstr(message, "permission denied") ? PODEXEC_NOT_EXECUTABLE : 0;
}

int podexec_status(const void *json, size_t len, int *ret_code, struct error *err)
{
	cleanup_json cJSON *status = NULL;
	const char *message;

	if (json_parse(&status, json, len, err))
		return error_wrap(err, "the end of the command");
	if (str_eq(json_str(status, "status"), "Success")) {
		*ret_code = 0;
		return 0;
	}
	if (!exit_code(status, ret_code))
		return 0;
	message = json_str(status, "message");
	message =
		message ? message : "the command failed, and the server does not say why";
	error_set(err, ERR_IO, "%s", message);
	err->code = code_of(message);
	return -1;
}

int podexec_result(const struct podexec *x, int *ret_code, struct error *err)
{
	return podexec_status(x->status.data, x->status.len, ret_code, err);
}
