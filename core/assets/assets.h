/*
 * assets.h - files embedded in the binary (assets.S, by .incbin).
 */
#ifndef ASSETS_ASSETS_H
#define ASSETS_ASSETS_H

#include <stddef.h>

struct asset {
	const char *name; /* "runtimes/torch-distributed.yaml", "schema.json" */
	const unsigned char *data;
	size_t len;
};

/* Sorted by name, but runtimes that only we have come last of theirs; ends with { NULL }. */
extern const struct asset assets[];

const struct asset *asset_find(const char *name); /* NULL when there is none */

#endif
