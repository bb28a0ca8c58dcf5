/*
 * env.h - read this process's environment, for callbacks such as store_conf.env.
 */
#ifndef CMD_ENV_H
#define CMD_ENV_H

#include <stdlib.h>

/* NULL if unset or empty, as in upstream. ctx is ignored. */
static inline const char *env_variable(void *ctx, const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

#endif
