/* ssh.c - runs a command over SSH with libssh2 (net/ssh.h). */
#include "net/ssh.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <libssh2.h>

#include "base/cleanup.h"
#include "base/sock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/keypair.h"

enum {
	WINDOW = 256 * 1024,
	PACKET = 32 * 1024,
	PIECE = 16 * 1024,
	PIECES = 64,              /* rounds of one ssh_pump(), which must return */
	MEMORY_MAX = 1024 * 1024, /* of one allocation of libssh2 */
	STATUS_UNKNOWN = -1,      /* vendor/patches/libssh2-exit-status.patch */
};

/* A call that libssh2 could not finish because the socket was full: repeat it. */
enum ssh_call {
	CALL_NONE,
	CALL_INPUT,
	CALL_END,
	CALL_SIGNAL,
	CALL_READ,
	CALL_READ_STDERR
};

struct ssh {
	int fd;
	LIBSSH2_SESSION *session;
	LIBSSH2_CHANNEL *channel;
	struct buf input;
	size_t sending; /* bytes of `input` passed to libssh2; 0: none */
	enum ssh_call blocked;
	bool input_ending, input_ended, ended;
	bool more;  /* libssh2 may have buffered data, which poll(2) does not report */
	int signum; /* signal to send; 0: none */
};

/* The signals of RFC 4254, 6.10. */
static const struct {
	const char *name;
	int signum;
} signals[] = {
	{ "ABRT", SIGABRT }, { "ALRM", SIGALRM }, { "FPE", SIGFPE },
	{ "HUP", SIGHUP },   { "ILL", SIGILL },   { "INT", SIGINT },
	{ "KILL", SIGKILL }, { "PIPE", SIGPIPE }, { "QUIT", SIGQUIT },
	{ "SEGV", SIGSEGV }, { "TERM", SIGTERM }, { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 },
};
enum { SIGNALS = N_ELEMENTS(signals) };

/* ---- errors --------------------------------------------------------------------- */

static const struct {
	int code;
	enum error_kind kind;
} kinds[] = {
	{ LIBSSH2_ERROR_SOCKET_SEND, ERR_IO },
	{ LIBSSH2_ERROR_SOCKET_RECV, ERR_IO },
	{ LIBSSH2_ERROR_SOCKET_DISCONNECT, ERR_IO },
	{ LIBSSH2_ERROR_TIMEOUT, ERR_TIMEOUT },
	{ LIBSSH2_ERROR_SOCKET_TIMEOUT, ERR_TIMEOUT },
	{ LIBSSH2_ERROR_KEX_FAILURE, ERR_UNSUPPORTED },
	{ LIBSSH2_ERROR_METHOD_NONE, ERR_UNSUPPORTED },
	{ LIBSSH2_ERROR_AUTHENTICATION_FAILED, ERR_DENIED },
	{ LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED, ERR_DENIED },
	{ LIBSSH2_ERROR_CHANNEL_FAILURE, ERR_DENIED },
	{ LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED, ERR_DENIED },
};

/* Check whether the peer has closed, which libssh2 does not always report. */
static bool is_gone(const struct ssh *s)
{
	return !recv(s->fd, &(char){ 0 }, 1, MSG_PEEK);
}

static int fail(const struct ssh *s, int rc, const char *what, struct error *err)
{
	enum error_kind kind = ERR_FORMAT;
	char *text = NULL;

	libssh2_session_last_error(s->session, &text, NULL, 0);
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (kinds[i].code == rc)
			kind = kinds[i].kind;
	if (kind == ERR_IO || (rc == LIBSSH2_ERROR_SOCKET_NONE && is_gone(s)))
		return error_set(err, ERR_IO, "%s: connection lost", what);
	return error_set(err, kind, "%s: %s (%d)", what, text && *text ? text : "failed",
			 rc);
}

/* ---- opening -------------------------------------------------------------------- */

/*
 * Allocate for libssh2. Zeroed, because libssh2 1.11.1 assumes a 0 after its copy of an
 * ECDSA key. Refuses sizes beyond a packet, which a peer may claim.
 */
static LIBSSH2_ALLOC_FUNC(allocate)
{
	(void)abstract;
	return count <= MEMORY_MAX ? calloc(1, count) : NULL;
}

static LIBSSH2_REALLOC_FUNC(reallocate)
{
	(void)abstract;
	return count <= MEMORY_MAX ? realloc(ptr, count) : NULL;
}

static LIBSSH2_FREE_FUNC(release)
{
	(void)abstract;
	free(ptr);
}

static void start_library(void)
{
	if (libssh2_init(0))
		abort(); /* fails only when out of memory */
}

static short wanted_events(const struct ssh *s)
{
	int directions = libssh2_session_block_directions(s->session);

	return (short)(POLLIN |
		       (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND ? POLLOUT : 0));
}

/* Wait after an unfinished call; 0: repeat it. */
static int wait_again(struct ssh *s, int rc, const char *what, int64_t deadline,
		      struct error *err)
{
	if (rc != LIBSSH2_ERROR_EAGAIN)
		return fail(s, rc, what, err);
	return sock_wait(s->fd, wanted_events(s), deadline, err)
		       ? error_wrap(err, "%s", what)
		       : 0;
}

static int prefer(struct ssh *s, const char *key_type, struct error *err)
{
	static const char others[] = "ecdsa-sha2-nistp521,ecdsa-sha2-nistp384,"
				     "ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256";
	cleanup_arena struct arena arena = { 0 };
	bool rsa = str_eq(key_type, "ssh-rsa");
	const struct {
		int method;
		const char *list;
	} prefs[] = {
		{ LIBSSH2_METHOD_KEX,
		  "ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,diffie-hellman-group14-sha256,ext-info-c,kex-strict-c-v00@openssh.com" },
		{ LIBSSH2_METHOD_HOSTKEY,
		  arena_printf(&arena, "%s,%s",
			       rsa ? "rsa-sha2-512,rsa-sha2-256" : key_type, others) },
		{ LIBSSH2_METHOD_CRYPT_CS, "aes128-ctr,aes192-ctr,aes256-ctr,"
					   "chacha20-poly1305@openssh.com" },
		{ LIBSSH2_METHOD_CRYPT_SC, "aes128-ctr,aes192-ctr,aes256-ctr,"
					   "chacha20-poly1305@openssh.com" },
		{ LIBSSH2_METHOD_MAC_CS,
		  "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,"
		  "hmac-sha2-256,hmac-sha2-512" },
		{ LIBSSH2_METHOD_MAC_SC,
		  "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,"
		  "hmac-sha2-256,hmac-sha2-512" },
	};

	for (size_t i = 0; i < N_ELEMENTS(prefs); i++) {
		int rc = libssh2_session_method_pref(s->session, prefs[i].method,
						     prefs[i].list);

		if (rc)
			return fail(s, rc, "ssh", err);
	}
	return 0;
}

/* The host key must be the job's, `line` in the form of authorized_keys. */
static int check_host_key(struct ssh *s, const char *line, struct error *err)
{
	cleanup_buf struct buf want = { .max = 8 * 1024 };
	const char *base64 = strchr(line, ' ') + 1;
	size_t len = 0;
	int type = 0;
	const char *got = libssh2_session_hostkey(s->session, &len, &type);

	if (base64_decode(&want, base64, strcspn(base64, "\n"), err))
		return -1;
	if (got && len == want.len && !memcmp(got, want.data, len))
		return 0;
	return error_set(err, ERR_UNTRUSTED, "the sshd's host key is not the job's key");
}

static int handshake(struct ssh *s, int64_t deadline, struct error *err)
{
	int rc;

	while ((rc = libssh2_session_handshake(s->session, s->fd)))
		if (wait_again(s, rc, "key exchange", deadline, err))
			return -1;
	return 0;
}

static int authenticate(struct ssh *s, const struct ssh_conf *conf, const char *line,
			int64_t deadline, struct error *err)
{
	int rc;

	while ((rc = libssh2_userauth_publickey_frommemory(
			s->session, conf->user, strlen(conf->user), line,
			strcspn(line, "\n"), conf->key_pem, strlen(conf->key_pem), NULL)))
		if (wait_again(s, rc, "the sshd", deadline, err))
			return err->kind == ERR_DENIED
				       ? error_set(err, ERR_DENIED,
						   "the sshd does not accept the job's "
						   "key for user %s",
						   conf->user)
				       : -1;
	return 0;
}

static int setup(struct ssh *s, const struct ssh_conf *conf, int64_t deadline,
		 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *line;

	if (keypair_ssh_public(&arena, conf->key_pem, &line, err) ||
	    prefer(s, arena_printf(&arena, "%.*s", (int)strcspn(line, " "), line), err) ||
	    handshake(s, deadline, err) ||
	    (!conf->any_host_key && check_host_key(s, line, err)))
		return -1;
	return authenticate(s, conf, line, deadline, err);
}

int ssh_open(struct ssh **ret, int fd, const struct ssh_conf *conf, int64_t deadline,
	     struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ssh *s;

	pthread_once(&once, start_library);
	s = xcalloc(1, sizeof(*s));
	s->fd = fd;
	s->input.max = SSH_INPUT_MAX;
	s->session = libssh2_session_init_ex(allocate, release, reallocate, NULL);
	if (!s->session)
		abort(); /* out of memory */
	libssh2_session_set_blocking(s->session, 0);
	if (setup(s, conf, deadline, err)) {
		ssh_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void ssh_free(struct ssh *s)
{
	if (!s)
		return;
	libssh2_session_disconnect(s->session, "");
	/* Shut down first: libssh2 does not free data that it is still sending. */
	shutdown(s->fd, SHUT_RDWR);
	for (int i = 0; i < 10 && libssh2_session_free(s->session); i++)
		;
	buf_release(&s->input);
	free(s);
}

int ssh_exec(struct ssh *s, const char *command, int64_t deadline, struct error *err)
{
	size_t len = strlen(command);
	int rc;

	if (len > SSH_COMMAND_MAX)
		return error_set(err, ERR_LIMIT,
				 "the command has %zu bytes; an sshd takes at most %d",
				 len, SSH_COMMAND_MAX);
	while (!(s->channel = libssh2_channel_open_ex(s->session, "session", 7, WINDOW,
						      PACKET, NULL, 0)))
		if (wait_again(s, libssh2_session_last_errno(s->session),
			       "the sshd opens no session", deadline, err))
			return -1;
	while ((rc = libssh2_channel_process_startup(s->channel, "exec", 4, command,
						     (unsigned)len)))
		if (wait_again(s, rc, "the sshd does not run the command", deadline, err))
			return -1;
	return 0;
}

/* ---- input ---------------------------------------------------------------------- */

void ssh_input(struct ssh *s, const void *data, size_t len)
{
	buf_add(&s->input, data, len);
}

size_t ssh_input_room(const struct ssh *s)
{
	return s->input_ending ? 0 : SSH_INPUT_MAX - s->input.len;
}

void ssh_end_input(struct ssh *s)
{
	s->input_ending = true;
}

void ssh_signal(struct ssh *s, int signum)
{
	s->signum = signum;
}

static const char *signal_name(int signum)
{
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i].signum == signum)
			return signals[i].name;
	return "TERM";
}

/* ---- pump ----------------------------------------------------------------------- */

/*
 * Handle a negative result: 0 if nothing more is possible now. A call stopped by a full
 * socket must be repeated next, with the same arguments, so that libssh2 sends the rest
 * of its packet.
 */
static int call_failed(struct ssh *s, enum ssh_call call, int rc, struct error *err)
{
	s->blocked = CALL_NONE;
	if (rc != LIBSSH2_ERROR_EAGAIN)
		return fail(s, rc, "ssh", err);
	if (wanted_events(s) & POLLOUT)
		s->blocked = call;
	return 0;
}

/* True: the command has ended, and its input is discarded. */
static bool is_input_closed(ssize_t rc)
{
	return rc == LIBSSH2_ERROR_CHANNEL_CLOSED || rc == LIBSSH2_ERROR_CHANNEL_EOF_SENT;
}

static int send_input(struct ssh *s, struct error *err)
{
	while (s->input.len) {
		ssize_t n;

		if (!s->sending)
			s->sending = s->input.len < PIECE ? s->input.len : PIECE;
		n = libssh2_channel_write(s->channel, (char *)s->input.data, s->sending);
		if (n < 0 && !is_input_closed(n))
			return call_failed(s, CALL_INPUT, (int)n, err);
		s->blocked = CALL_NONE;
		if (n < 0)
			n = (ssize_t)s->input.len;
		s->sending = 0;
		buf_drop(&s->input, (size_t)n);
	}
	return 0;
}

static int send_end(struct ssh *s, struct error *err)
{
	int rc = libssh2_channel_send_eof(s->channel);

	if (rc && !is_input_closed(rc))
		return call_failed(s, CALL_END, rc, err);
	s->blocked = CALL_NONE;
	s->input_ended = true;
	return 0;
}

static int send_signal(struct ssh *s, struct error *err)
{
	const char *name = signal_name(s->signum);
	int rc = libssh2_channel_signal_ex(s->channel, name, strlen(name));

	if (rc && !is_input_closed(rc))
		return call_failed(s, CALL_SIGNAL, rc, err);
	s->blocked = CALL_NONE;
	s->signum = 0;
	return 0;
}

static int read_stream(struct ssh *s, int stream, ssh_output *output, void *ctx,
		       struct error *err)
{
	int id = stream == SSH_STDERR ? SSH_EXTENDED_DATA_STDERR : 0;
	char data[PIECE];

	for (int i = 0; i < PIECES; i++) {
		ssize_t n = libssh2_channel_read_ex(s->channel, id, data, sizeof(data));

		if (n < 0)
			return call_failed(
				s, stream == SSH_STDERR ? CALL_READ_STDERR : CALL_READ,
				(int)n, err);
		s->blocked = CALL_NONE;
		if (!n)
			return 0;
		output(ctx, stream, data, (size_t)n);
	}
	s->more = true;
	return 0;
}

/* Set `ended` once all is read and the server has closed: the exit status has arrived. */
static int check_end(struct ssh *s, struct error *err)
{
	int rc;

	if (libssh2_channel_eof(s->channel) != 1)
		return 0;
	rc = libssh2_channel_wait_closed(s->channel);
	if (rc && rc != LIBSSH2_ERROR_EAGAIN)
		return fail(s, rc, "ssh", err);
	s->ended = !rc;
	return 0;
}

static int send_queued(struct ssh *s, enum ssh_call call, struct error *err)
{
	if (call == CALL_SIGNAL)
		return s->signum ? send_signal(s, err) : 0;
	if (call == CALL_INPUT)
		return send_input(s, err);
	if (!s->input_ending || s->input_ended || s->input.len)
		return 0;
	return send_end(s, err);
}

int ssh_pump(struct ssh *s, ssh_output *output, void *ctx, struct error *err)
{
	static const enum ssh_call order[] = { CALL_SIGNAL, CALL_INPUT, CALL_END,
					       CALL_READ, CALL_READ_STDERR };

	s->more = false;
	for (size_t i = 0; i < N_ELEMENTS(order); i++) {
		enum ssh_call call = order[i];
		int stream = call == CALL_READ ? SSH_STDOUT : SSH_STDERR;

		if (s->blocked && s->blocked != call)
			continue;
		if (call < CALL_READ ? send_queued(s, call, err)
				     : read_stream(s, stream, output, ctx, err))
			return -1;
	}
	/*
	 * A read may also receive data of other streams: reading stderr may receive
	 * stdout after its turn. Read again, because the server may wait for a larger
	 * window.
	 */
	s->more |= libssh2_poll_channel_read(s->channel, 1);
	return s->blocked || s->more ? 0 : check_end(s, err);
}

short ssh_events(const struct ssh *s)
{
	if (s->blocked)
		return POLLOUT;
	return (short)(POLLIN | (s->more ? POLLOUT : 0));
}

/* ---- its end -------------------------------------------------------------------- */

bool ssh_ended(const struct ssh *s)
{
	return s->ended;
}

static int signal_number(const char *name)
{
	for (int i = 0; i < SIGNALS; i++)
		if (str_eq(signals[i].name, name))
			return signals[i].signum;
	return SIGKILL;
}

int ssh_status(const struct ssh *s, int *ret_status, struct error *err)
{
	int status = libssh2_channel_get_exit_status(s->channel);
	char *name = NULL;

	libssh2_channel_get_exit_signal(s->channel, &name, NULL, NULL, NULL, NULL, NULL);
	if (!name && status == STATUS_UNKNOWN)
		return error_set(err, ERR_IO,
				 "the sshd does not say how the command ended");
	*ret_status = name ? 128 + signal_number(name) : status & 0xff;
	if (name)
		libssh2_free(s->session, name);
	return 0;
}
