/*
 * env.h - read this process's environment, for callbacks such as store_conf.env.
 */
#ifndef CMD_ENV_H
#define CMD_ENV_H

#include <stdlib.h>
#include <string.h>

/*
 * NULL if unset or empty, as in upstream. Newlines at the end, which `echo` and files leave
 * in Secrets, are cut, in the environment itself. ctx is ignored.
 */
static inline const char *env_variable(void *ctx, const char *name)
{
	char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	while (len && (value[len - 1] == '\n' || value[len - 1] == '\r'))
		value[--len] = '\0';
	return len ? value : NULL;
}

#endif
