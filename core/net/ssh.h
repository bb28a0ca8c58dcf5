/*
 * ssh.h - one command run by an sshd (libssh2; RFC 4251 to 4254), client side.
 *
 * A struct ssh works on a connected, non-blocking socket that stays the caller's. Opening
 * it and starting the command wait, until a deadline of clock_ms(). After that nothing
 * waits: what is to be sent is queued, and ssh_pump() moves what can be moved.
 *
 * Authentication is by one private key in PEM, ECDSA or RSA (the mbedTLS backend has no
 * Ed25519). The server is who it claims to be when its host key is that same key, as
 * for all nodes of an MPI job; host certificates and SHA-1 are not offered.
 *
 * Two threads may use two of them.
 */
#ifndef NET_SSH_H
#define NET_SSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	/* RFC 4253, 6.1: what every sshd takes is a packet of 32,768 bytes. */
	SSH_COMMAND_MAX = 32768 - 18,
	SSH_INPUT_MAX = 64 * 1024,
};

struct ssh;
struct ssh_conf {
	const char *user;
	const char *key_pem;
	bool any_host_key;
};

enum ssh_stream { SSH_STDOUT, SSH_STDERR };

/*
 * ERR_UNTRUSTED: another host key; ERR_DENIED: the key or the user is refused;
 * ERR_FORMAT: the peer breaks the protocol, or the key is none; ERR_UNSUPPORTED: no
 * algorithm in common, a key of another kind; ERR_TIMEOUT, ERR_IO.
 */
MUST_CHECK int ssh_open(struct ssh **ret, int fd, const struct ssh_conf *conf,
			int64_t deadline, struct error *err);
/* Shuts the socket down, and so ends what runs. NULL is fine. */
void ssh_free(struct ssh *s);

/* Once. ERR_LIMIT: longer than SSH_COMMAND_MAX; ERR_DENIED. */
MUST_CHECK int ssh_exec(struct ssh *s, const char *command, int64_t deadline,
			struct error *err);

/* At most ssh_input_room() bytes; nothing after its end. */
void ssh_input(struct ssh *s, const void *data, size_t len);
size_t ssh_input_room(const struct ssh *s);
void ssh_end_input(struct ssh *s);
/* RFC 4254, 6.9 has names for some signals; what it has no name for is SIGTERM. */
void ssh_signal(struct ssh *s, int signum);

/* stream: SSH_STDOUT or SSH_STDERR. */
typedef void ssh_output(void *ctx, int stream, const void *data, size_t len);

/* Everything that can be sent and received now. -1: the connection is lost. */
MUST_CHECK int ssh_pump(struct ssh *s, ssh_output *output, void *ctx, struct error *err);
/* What to poll(2) the socket for before the next ssh_pump(). */
short ssh_events(const struct ssh *s);

/* The command is over and its output was handed on. */
bool ssh_ended(const struct ssh *s);
/*
 * Once ssh_ended(): its exit status, 128 + N for a signal, as shells say it. ERR_IO: the
 * server closed without saying how the command ended.
 */
MUST_CHECK int ssh_status(const struct ssh *s, int *ret_status, struct error *err);

#endif
