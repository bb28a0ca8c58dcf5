/*
 * ssh.h - run one command by an sshd (libssh2; RFC 4251 to 4254).
 *
 * A struct ssh uses a connected, non-blocking socket owned by the caller. Opening it
 * and starting the command block until a deadline of clock_ms(). After that nothing
 * blocks: input is queued, and ssh_pump() sends and receives what is possible.
 *
 * Authentication is by one private key in PEM, ECDSA or RSA (the mbedTLS backend has no
 * Ed25519). The server is authentic if its host key is the same key, as on all nodes of
 * an MPI job; host certificates and SHA-1 are not offered.
 *
 * Thread-safe for different structs.
 */
#ifndef NET_SSH_H
#define NET_SSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	/* RFC 4253, 6.1: every sshd accepts packets of 32,768 bytes. */
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
 * ERR_UNTRUSTED: another host key; ERR_DENIED: the key or the user was refused;
 * ERR_FORMAT: a protocol error, or not a key; ERR_UNSUPPORTED: no common algorithm, or
 * another kind of key; ERR_TIMEOUT, ERR_IO.
 */
MUST_CHECK int ssh_open(struct ssh **ret, int fd, const struct ssh_conf *conf,
			int64_t deadline, struct error *err);
/* Shuts the socket down, which ends the command. NULL is fine. */
void ssh_free(struct ssh *s);

/* Start the command; call it once. ERR_LIMIT: longer than SSH_COMMAND_MAX; ERR_DENIED. */
MUST_CHECK int ssh_exec(struct ssh *s, const char *command, int64_t deadline,
			struct error *err);

/* Queue at most ssh_input_room() bytes of input; none after ssh_end_input(). */
void ssh_input(struct ssh *s, const void *data, size_t len);
size_t ssh_input_room(const struct ssh *s);
void ssh_end_input(struct ssh *s);
/* Signals without a name in RFC 4254, 6.9 are sent as SIGTERM. */
void ssh_signal(struct ssh *s, int signum);

/* stream: SSH_STDOUT or SSH_STDERR. */
typedef void ssh_output(void *ctx, int stream, const void *data, size_t len);

/* Send and receive everything possible without blocking. -1: the connection is lost. */
MUST_CHECK int ssh_pump(struct ssh *s, ssh_output *output, void *ctx, struct error *err);
/* The events to poll(2) for before the next ssh_pump(). */
short ssh_events(const struct ssh *s);

/* The command has ended, and all of its output was passed on. */
bool ssh_ended(const struct ssh *s);
/*
 * Once ssh_ended(): its exit status, 128 + N for signal N, as in shells. ERR_IO: the
 * server closed without an exit status.
 */
MUST_CHECK int ssh_status(const struct ssh *s, int *ret_status, struct error *err);

#endif
