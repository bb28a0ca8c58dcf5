/*
 * answers.h - a server of one thread on loopback that answers each connection with the
 * next bytes of the input, which end with NUL, and closes it.
 */
#ifndef TESTS_FUZZ_ANSWERS_H
#define TESTS_FUZZ_ANSWERS_H

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

static struct {
	int fd, port;
	bool raw; /* the bytes are all of the answer; else its body after the status */
	pthread_mutex_t lock; /* guards what follows */
	const uint8_t *data;
	size_t len;
} answers = { .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

/* The request with its body: at most 64 KiB. */
static void answers_hear(int fd)
{
	static char text[64 * 1024];
	size_t len = 0, want = 0;

	while (len + 1 < sizeof(text) && (!want || len < want)) {
		ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);
		const char *end, *body;

		if (n <= 0)
			return;
		len += (size_t)n;
		text[len] = 0;
		end = strstr(text, "\r\n\r\n");
		body = strcasestr(text, "\r\nContent-Length:");
		if (end)
			want = (size_t)(end + 4 - text) +
			       (body && body < end ? strtoul(body + 17, NULL, 10) : 0);
	}
}

/* The first byte of an answer that is not raw: its status. */
static void answers_say(int fd)
{
	static const int statuses[] = { 200, 200, 400, 404 };
	size_t len = strnlen((const char *)answers.data, answers.len);
	int status = len ? statuses[*answers.data % 4] : 200;

	if (!answers.raw)
		dprintf(fd,
			"HTTP/1.1 %d OK\r\nMetadata-Flavor: Google\r\n"
			"Connection: close\r\n\r\n",
			status);
	if (len && write(fd, answers.data + !answers.raw, len - !answers.raw) < 0)
		len = answers.len;
	len += len < answers.len;
	answers.data += len;
	answers.len -= len;
}

static void *answers_run(void *ctx)
{
	char rest[4096];

	for (;;) {
		const struct timeval most = { .tv_sec = 1 };
		int fd = accept(answers.fd, NULL, NULL);

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
		answers_hear(fd);
		pthread_mutex_lock(&answers.lock);
		answers_say(fd);
		pthread_mutex_unlock(&answers.lock);
		shutdown(fd, SHUT_WR);
		while (read(fd, rest, sizeof(rest)) > 0)
			;
		close(fd);
	}
	return NULL;
}

/* The answers from now on: before the input is freed, none. */
static inline void answers_are(const uint8_t *data, size_t len, bool raw)
{
	pthread_mutex_lock(&answers.lock);
	answers.data = data;
	answers.len = len;
	answers.raw = raw;
	pthread_mutex_unlock(&answers.lock);
}

/* Start the server, once. */
static inline void answers_start(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	pthread_t thread;

	if (answers.fd >= 0)
		return;
	answers.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(!bind(answers.fd, (struct sockaddr *)&at, size));
	FUZZ_CHECK(!listen(answers.fd, 8));
	FUZZ_CHECK(!getsockname(answers.fd, (struct sockaddr *)&at, &size));
	answers.port = ntohs(at.sin_port);
	FUZZ_CHECK(!pthread_create(&thread, NULL, answers_run, NULL));
}

#endif
