/*
 * proto.h - decode protobuf objects of built-in kinds into documents with the fields of a
 * table. Other fields, such as managedFields, are skipped.
 *
 * There are separate tables for objects that clients write, with all fields that clients
 * may set.
 *
 * An object is "k8s\0" and a runtime.Unknown (apimachinery, pkg/runtime). An event of a
 * watch is four bytes of length, most significant first, and a metav1.WatchEvent. Values
 * are those of the JSON encoding; empty strings and times are omitted.
 *
 * ERR_FORMAT: not such an object, or truncated; ERR_LIMIT: beyond json_parse()'s limits.
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
	PROTO_TEXT, /* a string, even if empty */
	PROTO_INT,
	PROTO_NONZERO, /* an integer; omitted if 0 */
	PROTO_BOOL,
	PROTO_TRUE, /* a bool; omitted if false */
	PROTO_TIME,
	PROTO_MICRO_TIME,
	PROTO_MAP,           /* of strings */
	PROTO_BYTES,         /* a map of bytes: base64 */
	PROTO_STRINGS,       /* a list of strings */
	PROTO_INT_OR_STRING, /* intstr.IntOrString */
	PROTO_JSON,          /* metav1.FieldsV1 */
	PROTO_OBJECT,        /* with `fields` */
	PROTO_LIST,          /* of objects, with `fields` */
};

struct proto_field {
	uint32_t number; /* 0: the end of the table */
	enum proto_type type;
	const char *name;
	const struct proto_field *fields;
};
extern const struct proto_field proto_pod[]; /* the fields of a pod that are read */

/* Objects that clients write; proto_kinds.c. */
extern const struct proto_field proto_namespace[], proto_config_map[], proto_secret[],
	proto_service[], proto_event_object[], proto_lease[], proto_delete_options[],
	proto_access_review[], proto_rules_review[], proto_self_review[],
	proto_token_review[];

bool proto_is_object(const void *data, size_t len);
/* A metav1.Status is always decoded as such. fields NULL: only apiVersion and kind. */
MUST_CHECK int proto_object(cJSON **ret, const void *data, size_t len,
			    const struct proto_field *fields, struct error *err);

size_t proto_length(const uint8_t head[PROTO_HEAD]);
/* An event without its length, as {"type": ..., "object": ...}; owned by the caller. */
MUST_CHECK int proto_event(cJSON **ret, const void *data, size_t len,
			   const struct proto_field *fields, struct error *err);

#endif
