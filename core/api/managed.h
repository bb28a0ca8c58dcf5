/*
 * managed.h - an object's metadata.managedFields, and other unused lists,
 * taken out of its text.
 *
 * They are half of what an API server sends: what is not parsed costs nothing.
 */
#ifndef API_MANAGED_H
#define API_MANAGED_H

#include <stddef.h>

/*
 * In place; returns the new length. `depth` is how many '{' stand before the key:
 * 2 in an object, 3 in a watch event. Only text as apimachinery prints it, without
 * spaces, is looked into, and nothing is checked: what is not found, or is no JSON,
 * stays as it is, for json_parse().
 */
size_t managed_cut(char *text, size_t len, int depth);
/* The same of a list of that name (at most 63 bytes) in spec. */
size_t list_cut(char *text, size_t len, const char *name, int depth);

#endif
