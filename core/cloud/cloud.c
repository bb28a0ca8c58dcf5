/* Looks up settings; see cloud.h. */
#include "cloud/cloud.h"

const char *cloud_env(const struct cloud_conf *conf, const char *name)
{
	const char *value = conf->env ? conf->env(conf->ctx, name) : NULL;

	return value && *value ? value : NULL;
}
