/* auth.c - check bearer tokens against a file (cache/auth.h). */
#include "cache/auth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"

enum { MAX_TOKEN = 16 * 1024, SAME_MS = 60 * 1000 };

struct auth {
	const char *path;
	pthread_mutex_t lock; /* guards the members below */
	char *token;
	struct stat read; /* stat of the file when it was read */
	struct log_last logged;
};

static int read_token(struct auth *a, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_TOKEN };
	cleanup_arena struct arena arena = { 0 };
	const char *token;
	size_t n;

	if (file_read(&text, a->path, err))
		return -1;
	token = str_slice(&arena, (const char *)text.data, text.len);
	n = strcspn(token, " \t\r\n");
	if (!n || token[n + strspn(token + n, " \t\r\n")])
		return error_set(err, ERR_INVALID, "%s: want one token, without spaces",
				 a->path);
	free(a->token);
	a->token = xstrdup(str_slice(&arena, token, n));
	return 0;
}

/* With the lock held: read the file again if it has changed. */
static void look_again(struct auth *a)
{
	struct error err = { 0 };
	struct stat now;

	if (stat(a->path, &now) || file_is_same(&now, &a->read))
		return;
	if (!read_token(a, &err))
		a->read = now;
	else if (log_is_news(&a->logged, err.msg, SAME_MS))
		log_warn("cannot read the new token; the previous one stays in use",
			 LOG_ERR(&err));
}

static int judge(void *ctx, const char *peer, const char *authorization,
		 struct error *err)
{
	struct auth *a = ctx;
	bool right;

	pthread_mutex_lock(&a->lock);
	look_again(a);
	right = authorization && bearer_is(authorization, a->token);
	pthread_mutex_unlock(&a->lock);
	if (right)
		return 0;
	return error_set(err, ERR_INVALID,
			 authorization ? "invalid bearer token"
				       : "a bearer token is required: send the header "
					 "authorization");
}

static const char *authorization(void *ctx, struct arena *arena)
{
	struct auth *a = ctx;
	const char *value;

	pthread_mutex_lock(&a->lock);
	look_again(a);
	value = arena_printf(arena, "Authorization: Bearer %s", a->token);
	pthread_mutex_unlock(&a->lock);
	return value;
}

int auth_new(struct auth **ret, const char *path, struct error *err)
{
	struct auth *a = xcalloc(1, sizeof(*a));

	a->path = path;
	pthread_mutex_init(&a->lock, NULL);
	if (read_token(a, err)) {
		auth_free(a);
		return -1;
	}
	*ret = a;
	return 0;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a->token);
	free(a);
}

struct cache_auth auth_callbacks(struct auth *a)
{
	return (struct cache_auth){ .judge = judge, .header = authorization, .ctx = a };
}
