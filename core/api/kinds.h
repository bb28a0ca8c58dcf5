/*
 * kinds.h - the resource names of the kinds that this program uses, without discovery.
 */
#ifndef API_KINDS_H
#define API_KINDS_H

#include <stdbool.h>

struct kind {
	const char *api_version, *kind, *plural;
	bool namespaced;
};

const struct kind *kind_find(const char *api_version,
			     const char *kind); /* NULL: unknown */

#endif
