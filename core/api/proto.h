/*
 * proto.h - objects of built-in kinds as the API server encodes them in protobuf, into
 * documents of the fields in a table. Everything else, managedFields above all, is
 * skipped unread.
 *
 * An object is "k8s\0" and a runtime.Unknown (apimachinery, pkg/runtime). An event of a
 * watch is four bytes of length, most significant first, and a metav1.WatchEvent. Values
 * are those of the JSON encoding; strings and times that are empty are left out.
 *
 * ERR_FORMAT: not that, or cut short; ERR_LIMIT: more than json_parse() accepts.
 */
#ifndef API_PROTO_H
#define API_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define PROTO_TYPE "application/vnd.kubernetes.protobuf"

enum { PROTO_HEAD = 4 }; /* bytes of an event's length */

enum proto_type {
	PROTO_STRING,
	PROTO_INT,
	PROTO_BOOL,
	PROTO_TIME,
	PROTO_MAP,    /* of strings */
	PROTO_OBJECT, /* with `fields` */
	PROTO_LIST,   /* of such objects */
};

struct proto_field {
	uint32_t number; /* 0: the end of the table */
	enum proto_type type;
	const char *name;
	const struct proto_field *fields;
};
extern const struct proto_field proto_pod[];

bool proto_is_object(const void *data, size_t len);
/* A metav1.Status is read as such, whatever the fields; NULL: apiVersion and kind alone. */
MUST_CHECK int proto_object(cJSON **ret, const void *data, size_t len,
			    const struct proto_field *fields, struct error *err);

size_t proto_length(const uint8_t head[PROTO_HEAD]);
/* Without its head. {"type": ..., "object": ...} */
MUST_CHECK int proto_event(cJSON **ret, const void *data, size_t len,
			   const struct proto_field *fields, struct error *err);

#endif
