/*
 * yaml.h - parse and print the YAML that users write for Kubernetes.
 *
 * Follows sigs.k8s.io/yaml (YAML 1.1 scalars as go-yaml v2 resolves them, then
 * JSON): yes/no/on/off are booleans, 0o17 and 017 octal, 1_000 a number only
 * where go-yaml takes it, ~ and empty null, timestamps stay strings, keys that
 * are numbers or booleans become strings. Several documents, anchors, aliases,
 * merge keys (<<), block scalars. An empty document is left out. As kubectl reads
 * it, a text may begin with JSON objects, one after another or separated by '---';
 * in JSON a trailing comma is an error. UTF-8, or UTF-16 with a byte order mark.
 *
 * Errors are "line:column: what", all lines and columns from 1; the caller puts
 * the file's name in front. Refused: equal keys twice in a mapping, unknown
 * tags, aliases to nothing, recursive aliases (ERR_FORMAT); more than
 * YAML_MAX_DEPTH levels, YAML_MAX_BYTES of input or YAML_MAX_NODES nodes after
 * expansion of aliases (ERR_LIMIT).
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/cleanup.h"
#include "base/json.h"

enum { YAML_MAX_DEPTH = 200, YAML_MAX_NODES = 1000000 };
#define YAML_MAX_BYTES ((size_t)16 * 1024 * 1024)

/* *ret: an array of the documents, in order; the caller's. JSON is YAML, too. */
MUST_CHECK int yaml_parse(cJSON **ret, const void *data, size_t len, struct error *err);

/* The place of each field in a text. NULL: the text does not parse. */
struct yaml_places;
struct yaml_places *yaml_places(const void *data, size_t len);
void yaml_places_free(struct yaml_places *places); /* NULL is fine */

/*
 * Where the field `path` ("spec.trainer.env[2].name", "metadata.labels[a/b]",
 * as field errors write it) of document `doc` (from 0, empty ones not counted)
 * stands. When the field itself is absent: the nearest existing ancestor.
 * false: there is no such document; places may be NULL. Fields in the order of
 * the text take one pass over it. One thread at a time.
 */
bool yaml_locate(struct yaml_places *places, int doc, const char *path, int *ret_line,
		 int *ret_column);

CLEANUP(yaml_places, struct yaml_places *, yaml_places_free);
#define cleanup_yaml_places __attribute__((cleanup(cleanup_yaml_placesp)))

/*
 * Block style, keys in the document's order, two spaces; strings quoted only
 * where they would be read back as something else. yaml_parse() of it gives an
 * equal document.
 */
void yaml_print(struct buf *out, const cJSON *doc);

#endif
