/*
 * cloud.h - settings, HTTP client and retries for all providers' credentials.
 */
#ifndef CLOUD_CLOUD_H
#define CLOUD_CLOUD_H

#include <stddef.h>

#include "net/http_retry.h"

/* Functions keep only `retry` and what it points to, which must live as long. */
struct cloud_conf {
	/* A setting's value; NULL or empty: unset. `ctx` is its first argument. */
	const char *(*env)(void *ctx, const char *name);
	void *ctx;
	struct http_retry_conf retry;
};

/* The variable's value; NULL: unset, empty, or no env. */
static inline const char *cloud_env(const struct cloud_conf *conf, const char *name)
{
	const char *value = conf->env ? conf->env(conf->ctx, name) : NULL;

	return value && *value ? value : NULL;
}

/*
 * A path of a setting as Python's programs read it: "~/" at its beginning, $NAME and
 * ${NAME} are replaced. Unset variables stay.
 */
const char *cloud_path(struct arena *arena, const struct cloud_conf *conf,
		       const char *path);

#endif
