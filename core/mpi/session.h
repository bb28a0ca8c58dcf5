/*
 * session.h - one connection to mpi-worker and the command it runs (private to core/mpi).
 *
 * A session never blocks. The worker's loop watches its descriptors: each is a source,
 * whose `wanted` has the events to wait for (0: none) after every session_ function. The
 * loop calls session_event() for events, session_reaped() when the command's process has
 * ended, session_tick() at `until`, and frees a session once session_is_over().
 */
#ifndef MPI_SESSION_H
#define MPI_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "crypto/psk.h"
#include "mpi/frame.h"

enum session_fd { SESSION_SOCKET, SESSION_STDIN, SESSION_STDOUT, SESSION_STDERR };
enum { SESSION_FDS = 4 };

enum session_state {
	SESSION_STRANGER, /* not authenticated */
	SESSION_COMMAND,  /* authenticated; receiving the command */
	SESSION_RUNNING,
	SESSION_LEAVING,   /* the EXIT frame is being sent */
	SESSION_LINGERING, /* EXIT is sent; waiting for the launcher to close */
	SESSION_GONE,      /* connection closed; ending the process group */
};

struct session;
struct session_source {
	struct session *session;
	enum session_fd which;
	int fd;                   /* -1: closed */
	uint32_t wanted, watched; /* EPOLLIN, EPOLLOUT; watched is the loop's */
};

struct session {
	struct session *next, *prev; /* the loop's list */
	enum session_state state;
	struct session_source sources[SESSION_FDS];
	char peer[48];
	int64_t until; /* of clock_ms(): when session_tick() is due; INT64_MAX: never */

	struct psk *psk; /* the worker's */
	struct psk_conn *tls;
	bool tls_wants_write;
	struct buf in, out;
	size_t sending; /* bytes of `out` passed to psk_write(); 0: none */

	struct frame_command command;
	pid_t pid;  /* 0: no command runs */
	int status; /* as of waitpid(2), once reaped */
	bool reaped;
	int64_t kill_at;     /* of clock_ms(), if GONE: when the group gets SIGKILL */
	struct buf to_stdin; /* .max: FRAME_WINDOW */
	bool stdin_ended;
	uint32_t owed;     /* credit for stdin, not sent yet */
	int64_t credit[2]; /* for stdout, stderr */
	char refusal[200]; /* why authentication failed; "": it did not */
};

/* Owns the socket from here on. */
struct session *session_new(struct psk *psk, int fd, const char *peer);
void session_free(struct session *s);

void session_event(struct session *s, enum session_fd which, uint32_t events);
void session_reaped(struct session *s, int status);
void session_tick(struct session *s);
/* Close the connection and end the group: SIGTERM, later SIGKILL. */
void session_end(struct session *s);
bool session_is_over(const struct session *s);

#endif
