/* Finds an embedded file: assets.h. */
#include "assets/assets.h"

#include <string.h>

/* assets.S writes the table as three words of 8 bytes an entry. */
_Static_assert(sizeof(struct asset) == 24 && offsetof(struct asset, len) == 16,
	       "assets.S knows another struct asset");

const struct asset *asset_find(const char *name)
{
	const struct asset *a = assets;

	while (a->name && strcmp(a->name, name))
		a++;
	return a->name ? a : NULL;
}
