/* rerun.c - send changed files, follow the command (client/rerun.h). */
#include "client/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "pack/receive.h"

enum { PIECE = 16 * 1024, SAID_MAX = 900 };

struct rerun {
	const struct rerun_want *want;
	struct buf text; /* of the manifest */
	struct manifest manifest;
	size_t files;
	int ends[2]; /* ours, and the session's standard input */
	pthread_t thread;
	struct error failed; /* the thread's, other than a lost connection */
	struct buf in;
	bool started, ended;
	struct rerun_end end;
	char refused[SAID_MAX]; /* a supervisor's reason for a refusal; or "" */
	char said[SAID_MAX];    /* the session's standard error */
	pthread_mutex_t lock;   /* of the rest */
	pthread_cond_t changed;
	unsigned char *needs; /* a bit for each; NULL: not known yet */
	bool over;
};

/* ---- the thread ---- */

static bool send_frame(const struct rerun *r, char type, const void *data, size_t len)
{
	unsigned char frame[FRAME_HEADER + PIECE];
	size_t at = 0;

	receive_header(frame, type, len);
	if (len)
		memcpy(frame + FRAME_HEADER, data, len);
	while (at < FRAME_HEADER + len) {
		ssize_t n = send(r->ends[0], frame + at, FRAME_HEADER + len - at,
				 MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool send_text(const struct rerun *r, char type, const void *data, size_t len)
{
	const char *p = data;
	bool ok = true;

	for (size_t n; ok && len; p += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		ok = send_frame(r, type, p, n);
	}
	return ok;
}

static bool send_args(const struct rerun *r)
{
	char *const *args = r->want->args;
	bool ok = true;

	for (; ok && args && *args; args++)
		ok = send_text(r, 'A', *args, strlen(*args) + 1);
	return ok;
}

static bool wait_for_needs(struct rerun *r)
{
	bool ok;

	pthread_mutex_lock(&r->lock);
	while (!r->needs && !r->over)
		pthread_cond_wait(&r->changed, &r->lock);
	ok = !r->over;
	pthread_mutex_unlock(&r->lock);
	return ok;
}

static bool is_needed(const struct rerun *r, size_t i)
{
	return r->needs[i / 8] >> i % 8 & 1;
}

static int send_file(struct rerun *r, int root, size_t i, struct error *err)
{
	const char *path = r->manifest.list[i].path;
	cleanup_fd int fd = openat(root, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	const unsigned char number[4] = { 0, (unsigned char)(i >> 16),
					  (unsigned char)(i >> 8), (unsigned char)i };
	char data[PIECE];
	ssize_t n = 0;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (!send_frame(r, 'F', number, sizeof(number)))
		return 0;
	while ((n = read(fd, data, sizeof(data))) > 0)
		if (!send_frame(r, 'D', data, (size_t)n))
			return 0;
	return n ? error_errno(err, errno, "%s", path) : 0;
}

static int send_all(struct rerun *r, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *path = r->want->path;
	struct stat st;
	cleanup_fd int root = open(
		!stat(path, &st) && S_ISDIR(st.st_mode) ? path : path_dir(&arena, path),
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return error_errno(err, errno, "%s", path);
	if (!send_args(r) || !send_text(r, 'M', r->text.data, r->text.len) ||
	    !send_frame(r, 'B', NULL, 0) || !wait_for_needs(r))
		return 0;
	for (size_t i = 0; i < r->manifest.n; i++)
		if (is_needed(r, i) && send_file(r, root, i, err))
			return -1;
	send_frame(r, 'G', NULL, 0);
	return 0;
}

static void *send_in_thread(void *ctx)
{
	struct rerun *r = ctx;

	if (send_all(r, &r->failed)) {
		error_wrap(&r->failed, "%s", r->want->path);
		shutdown(r->ends[0], SHUT_RDWR); /* the session ends */
	}
	return NULL;
}

/* ---- begin ---- */

static int list(struct rerun *r, struct error *err)
{
	size_t bytes = 0;

	for (char *const *arg = r->want->args; arg && *arg; arg++)
		bytes += strlen(*arg) + 1;
	if (bytes > RECEIVE_ARGS)
		return error_set(
			err, ERR_LIMIT,
			"the arguments are longer than %d KiB; put them in a file",
			RECEIVE_ARGS >> 10);
	r->text.max = MANIFEST_TEXT;
	r->in.max = FRAME_HEADER + FRAME_MAX + PIECE;
	if (manifest_make(&r->text, r->want->path, &r->want->includes, err) ||
	    manifest_parse(&r->manifest, (const char *)r->text.data, r->text.len, err))
		return -1;
	for (size_t i = 0; i < r->manifest.n; i++)
		r->files += r->manifest.list[i].type == TAR_FILE;
	return 0;
}

static void release(struct rerun *r)
{
	for (int i = 0; i < 2; i++)
		if (r->ends[i] >= 0)
			close(r->ends[i]);
	buf_release(&r->text);
	buf_release(&r->in);
	manifest_release(&r->manifest);
	free(r->needs);
	free(r);
}

int rerun_begin(struct rerun **ret, const struct rerun_want *want, struct error *err)
{
	struct rerun *r = xcalloc(1, sizeof(*r));
	int rc;

	r->want = want;
	r->ends[0] = r->ends[1] = -1;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	rc = list(r, err);
	if (!rc && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, r->ends))
		rc = error_errno(err, errno, "socketpair");
	if (!rc)
		rc = thread_start_quiet(&r->thread, send_in_thread, r, err);
	if (rc)
		release(r);
	else
		*ret = r;
	return rc;
}

int rerun_input(const struct rerun *r)
{
	return r->ends[1];
}

/* ---- the session's output ---- */

static void take_needs(struct rerun *r, const struct receive_frame *f)
{
	size_t size = r->manifest.n / 8 + 1, sent = 0;
	unsigned char *needs = xcalloc(1, size);

	memcpy(needs, f->data, f->len < size ? f->len : size);
	for (size_t i = 0; i < r->manifest.n; i++) {
		if (r->manifest.list[i].type != TAR_FILE)
			needs[i / 8] &= (unsigned char)~(1u << i % 8);
		sent += needs[i / 8] >> i % 8 & 1;
	}
	if (r->want->on_send)
		r->want->on_send(r->want->ctx, sent, r->files);
	pthread_mutex_lock(&r->lock);
	if (r->needs) /* a second time: not ours */
		free(needs);
	else
		r->needs = needs;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void copy_text(char *to, size_t size, const unsigned char *text, size_t len)
{
	snprintf(to, size, "%.*s", (int)(len < size ? len : size), (const char *)text);
}

/* The command continues without its client. */
static int end_started(struct rerun *r, struct error *err)
{
	r->ended = true;
	shutdown(r->ends[0], SHUT_RDWR);
	return error_set(err, ERR_STOPPED, "started");
}

static int take(struct rerun *r, const struct receive_frame *f, struct error *err)
{
	switch (f->type) {
	case 'N':
		take_needs(r, f);
		return 0;
	case 'S':
		r->started = true;
		return r->want->start_only ? end_started(r, err) : 0;
	case 'O':
	case 'R':
		return r->want->start_only
			       ? 0
			       : r->want->on_output(r->want->ctx, f->type == 'O' ? 1 : 2,
						    (const char *)f->data, f->len, err);
	case 'X':
		r->ended = f->len > 0;
		r->end.code = f->len ? f->data[0] : 0;
		if (f->len > 1)
			copy_text(r->end.text, sizeof(r->end.text), f->data + 1,
				  f->len - 1);
		return 0;
	case '!':
		copy_text(r->refused, sizeof(r->refused), f->data, f->len);
		return 0;
	default:
		return error_set(err, ERR_FORMAT,
				 "the supervisor says what this program does not know: "
				 "it has another version");
	}
}

int rerun_read(struct rerun *r, int fd, const char *data, size_t len, struct error *err)
{
	size_t at = 0, used;
	struct receive_frame f;

	if (fd != STDOUT_FILENO) {
		size_t has = strlen(r->said);

		copy_text(r->said + has, sizeof(r->said) - has,
			  (const unsigned char *)data, len);
		return 0;
	}
	for (size_t n; len; data += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		buf_add(&r->in, data, n);
		at = 0;
		do {
			if (receive_next(&f, &used, r->in.data + at, r->in.len - at,
					 err) ||
			    (used && take(r, &f, err)))
				return -1;
			at += used;
		} while (used);
		buf_drop(&r->in, at);
	}
	return 0;
}

/* ---- the end ---- */

static int explain(const struct rerun *r, struct error *err)
{
	size_t said = strlen(r->said);

	while (said && r->said[said - 1] == '\n')
		said--;
	if (r->failed.kind)
		*err = r->failed;
	else if (*r->refused)
		error_set(err, ERR_CONFLICT, "%s", r->refused);
	else if (err->kind)
		return -1;
	else if (said)
		error_set(err, ERR_IO, "%.*s", (int)said, r->said);
	else if (r->started)
		error_set(err, ERR_IO,
			  "the command was started again or stopped by another, or the "
			  "connection to it was lost");
	else
		error_set(err, ERR_IO, "rank 0's supervisor has gone");
	return -1;
}

int rerun_finish(struct rerun *r, struct rerun_end *ret, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	shutdown(r->ends[0], SHUT_RDWR);
	pthread_join(r->thread, NULL);
	if (r->ended)
		*ret = r->end;
	else
		rc = explain(r, err);
	release(r);
	return rc;
}
