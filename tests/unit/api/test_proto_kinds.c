/* What clients write in protobuf, against the documents that it stands for. */
#include "api/proto.h"
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "tests/unit/base/base_test.h"

/* A message: numbers, texts and messages, in a fixed order. */
struct piece {
	uint32_t number; /* 0: the end */
	const char *text;
	uint64_t value;
	const struct piece *inner;
	size_t len; /* of a text with NULs */
};
#define END                         \
	{                           \
		0, NULL, 0, NULL, 0 \
	}
#define NUMBER(n, v)                \
	{                           \
		n, NULL, v, NULL, 0 \
	}
#define TEXT(n, s)                           \
	{                                    \
		n, s, 0, NULL, sizeof(s) - 1 \
	}
#define INNER(n, ...)                                                     \
	{                                                                 \
		n, NULL, 0, (const struct piece[]){ __VA_ARGS__, END }, 0 \
	}
#define PIECES(...) ((const struct piece[]){ __VA_ARGS__, END })

static void put(struct buf *out, const struct piece *p)
{
	for (; p->number; p++) {
		struct buf inner = { .max = 65536 };

		if (p->inner) {
			put(&inner, p->inner);
			pb_put_bytes(out, p->number, inner.data ? inner.data : (void *)"",
				     inner.len);
			buf_release(&inner);
		} else if (p->text) {
			pb_put_bytes(out, p->number, p->text, p->len);
		} else {
			pb_put_uint(out, p->number, p->value);
		}
	}
}

static int read_pieces(cJSON **ret, const struct proto_field *fields,
		       const struct piece *pieces, struct error *err)
{
	cleanup_buf struct buf out = { .max = 65536 };

	buf_add(&out, "k8s\0", 4);
	put(&out, (const struct piece[]){ INNER(1, TEXT(1, "v1"), TEXT(2, "K")), END });
	put(&out, (const struct piece[]){ { 2, NULL, 0, pieces, 0 }, END });
	return proto_object(ret, out.data, out.len, fields, err);
}

#define TYPE "\"apiVersion\":\"v1\",\"kind\":\"K\""

static const struct row {
	const char *what, *want;
	const struct proto_field *fields;
	const struct piece *pieces;
} rows[] = {
	{ "as Go writes an empty one", "{" TYPE ",\"metadata\":{}}", proto_config_map,
	  PIECES(INNER(1, TEXT(1, ""), TEXT(2, ""), NUMBER(7, 0), TEXT(8, ""))) },
	{ "maps of texts and of bytes",
	  "{" TYPE ",\"data\":{\"a\":\"1\",\"\":\"\"},\"binaryData\":{\"b\":\"AP8=\","
	  "\"c\":\"\"},\"immutable\":false}",
	  proto_config_map,
	  PIECES(INNER(2, TEXT(1, "a"), TEXT(2, "1")), TEXT(2, ""),
		 INNER(3, TEXT(1, "b"), TEXT(2, "\0\xff")), INNER(3, TEXT(1, "c")),
		 NUMBER(4, 0)) },
	{ "metadata",
	  "{" TYPE ",\"metadata\":{\"generateName\":\"g-\",\"generation\":2,"
	  "\"deletionGracePeriodSeconds\":0,\"annotations\":{\"n\":\"\"},"
	  "\"ownerReferences\":[{\"kind\":\"T\",\"uid\":\"\",\"controller\":true}],"
	  "\"finalizers\":[\"a/b\",\"\"],\"managedFields\":[{\"manager\":\"m\","
	  "\"time\":\"2001-09-09T01:46:40Z\",\"fieldsV1\":{\"f:data\":{}}}]}}",
	  proto_namespace,
	  PIECES(INNER(1, TEXT(2, "g-"), NUMBER(7, 2), NUMBER(10, 0),
		       INNER(12, TEXT(1, "n")),
		       INNER(13, TEXT(1, "T"), TEXT(4, ""), NUMBER(6, 1)),
		       TEXT(14, "a/b"), TEXT(14, ""),
		       INNER(17, TEXT(1, "m"), INNER(4, NUMBER(1, 1000000000)),
			     INNER(7, TEXT(1, "{\"f:data\":{}}"))))) },
	{ "pointers keep what is empty",
	  "{" TYPE ",\"spec\":{\"holderIdentity\":\"\",\"leaseDurationSeconds\":0,"
	  "\"renewTime\":\"2001-09-09T01:46:40.000012Z\"}}",
	  proto_lease,
	  PIECES(INNER(2, TEXT(1, ""), NUMBER(2, 0), TEXT(3, ""),
		       INNER(4, NUMBER(1, 1000000000), NUMBER(2, 12999)))) },
	{ "ports by number and by name",
	  "{" TYPE ",\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":8080},"
	  "{\"port\":81,\"targetPort\":\"web\"},{\"port\":0,\"targetPort\":0,"
	  "\"nodePort\":-1}],\"publishNotReadyAddresses\":true}}",
	  proto_service,
	  PIECES(INNER(2,
		       INNER(1, NUMBER(3, 80), INNER(4, NUMBER(1, 0), NUMBER(2, 8080))),
		       INNER(1, NUMBER(3, 81), INNER(4, NUMBER(1, 1), TEXT(3, "web"))),
		       INNER(1, NUMBER(3, 0), TEXT(4, ""), NUMBER(5, (uint64_t)-1)),
		       NUMBER(13, 1))) },
	{ "a port with fields that it does not have, and some that are of another type",
	  "{" TYPE
	  ",\"spec\":{\"ports\":[{\"targetPort\":8080},{\"targetPort\":\"web\"}]}}",
	  proto_service,
	  PIECES(INNER(2,
		       INNER(1, INNER(4, NUMBER(2, 8080), NUMBER(3, 7), NUMBER(9, 7),
				      TEXT(9, "x"), TEXT(1, "x"))),
		       INNER(1, INNER(4, NUMBER(1, 1), TEXT(3, "web"), TEXT(2, "x"))))) },
	{ "options",
	  "{" TYPE
	  ",\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u\"},\"orphanDependents\":false,\"propagationPolicy\":\"Orphan\",\"dryRun\":[\"All\"]}",
	  proto_delete_options,
	  PIECES(NUMBER(1, 0), INNER(2, TEXT(1, "u")), NUMBER(3, 0), TEXT(4, "Orphan"),
		 TEXT(5, "All")) },
	{ "a review",
	  "{" TYPE
	  ",\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}",
	  proto_access_review,
	  PIECES(INNER(2, INNER(1, TEXT(1, ""), TEXT(2, "get"), TEXT(5, "pods")))) },
};

TEST(messages_become_documents)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *got = NULL;
		cleanup_free char *text = NULL;
		struct error err = { 0 };

		if (read_pieces(&got, rows[i].fields, rows[i].pieces, &err))
			fail_msg("%s: %s", rows[i].what, err.msg);
		text = json_text(got);
		check_text(rows[i].what, text, rows[i].want);
	}
}

static const struct refused {
	const char *what, *message;
	const struct piece *pieces;
} refused[] = {
	{ "a key that is no text", "invalid text",
	  PIECES(INNER(2, TEXT(1, "\xff"), TEXT(2, "1"))) },
	{ "a value with a NUL", "invalid text", PIECES(INNER(2, TEXT(2, "a\0b"))) },
	{ "a map of numbers", "data is of another type", PIECES(NUMBER(2, 1)) },
	{ "a bool as text", "immutable is of another type", PIECES(TEXT(4, "x")) },
	{ "an entry cut short", "cut short", PIECES(TEXT(2, "\x0a\x7f")) },
	{ "fields that are no JSON", "1:1",
	  PIECES(INNER(1, INNER(17, INNER(7, TEXT(1, "?"))))) },
	{ "fields that are cut",
	  "1:", PIECES(INNER(1, INNER(17, INNER(7, TEXT(1, "{"))))) },
	{ "a finalizer of bytes", "invalid text", PIECES(INNER(1, TEXT(14, "\xc3("))) },
};

TEST(test_refused)
{
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		cleanup_json cJSON *got = NULL;
		struct error err = { 0 };

		if (!read_pieces(&got, proto_config_map, refused[i].pieces, &err))
			fail_msg("%s: is read", refused[i].what);
		assert_null(got);
		if (!strstr(err.msg, refused[i].message))
			fail_msg("%s: %s", refused[i].what, err.msg);
	}
}

TEST(test_how_an_object_begins)
{
	assert_true(proto_is_object("k8s\0", 4));
	assert_true(proto_is_object("k8s\0abc", 7));
	assert_false(proto_is_object("k8s", 3));
	assert_false(proto_is_object("k8s:", 4));
	assert_false(proto_is_object("{\"a\":1}", 7));
	assert_false(proto_is_object("", 0));
}

RUN_TESTS(NULL, NULL)
