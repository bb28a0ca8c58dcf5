/*
 * podexec.h - run a command in a container of a pod: pods/exec of the API server, over a
 * WebSocket (subprotocols v5.channel.k8s.io and v4.channel.k8s.io), as kubectl exec does.
 *
 * Kubernetes: staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go; each
 * message begins with the number of its channel. Only v5 has a message that closes
 * standard input.
 * One thread uses a connection. Needs the rights to get and create pods/exec.
 */
#ifndef KUBE_PODEXEC_H
#define KUBE_PODEXEC_H

#include "base/cleanup.h"
#include "kube/kube.h"

struct podexec;

enum { PODEXEC_PIECE = 32 * 1024 }; /* most that podexec_write() takes */

struct podexec_want {
	const char *ns, *pod, *container;
	const char *const *argv; /* ends with NULL */
	bool input;              /* the command has a standard input */
	bool terminal;           /* a terminal: its errors are part of its output */
};

/*
 * Start the command. Errors as in kube.h; ERR_DENIED has the API server's message;
 * ERR_UNSUPPORTED: the server, or a proxy before it, opens no WebSockets; ERR_LIMIT: the
 * command is too long for a URL.
 */
MUST_CHECK int podexec_open(struct podexec **ret, struct kube *k,
			    const struct podexec_want *want, struct error *err);
void podexec_free(struct podexec *x);
CLEANUP(podexec, struct podexec *, podexec_free);
#define cleanup_podexec __attribute__((cleanup(cleanup_podexecp)))

/* To poll: for reading, and for writing while podexec_is_sending(). */
int podexec_fd(const struct podexec *x);
bool podexec_is_sending(const struct podexec *x);

/* Each sends one message, and not while podexec_is_sending(). */
MUST_CHECK int podexec_write(struct podexec *x, const void *data, size_t len,
			     struct error *err);
/* ERR_UNSUPPORTED: the connection has v4, which has no message for this. */
MUST_CHECK int podexec_end_input(struct podexec *x, struct error *err);
MUST_CHECK int podexec_resize(struct podexec *x, int columns, int rows,
			      struct error *err);

/*
 * Send and receive without blocking; call it when the descriptor is ready, at least every
 * PODEXEC_STEP_MS, and once at the start. on_output: fd is 1 or 2; its -1 ends the call.
 * ERR_IO: the connection broke, or the server sent nothing for a minute.
 */
enum { PODEXEC_STEP_MS = 5000 };
MUST_CHECK int podexec_step(struct podexec *x,
			    int (*on_output)(void *ctx, int fd, const char *data,
					     size_t len, struct error *err),
			    void *ctx, struct error *err);

/* Has the command ended? podexec_result() is for after that. */
bool podexec_has_ended(const struct podexec *x);
/*
 * *ret_code: the command's exit code. ERR_IO: the container runtime could not start or
 * attach to it; the message has the reason, err->code one of these, or 0.
 */
enum { PODEXEC_NOT_EXECUTABLE = 126, PODEXEC_NOT_FOUND = 127 };
MUST_CHECK int podexec_result(const struct podexec *x, int *ret_code, struct error *err);

/* The result of a v1.Status, the last message; pure, for podexec_result() and tests. */
MUST_CHECK int podexec_status(const void *json, size_t len, int *ret_code,
			      struct error *err);

#endif
