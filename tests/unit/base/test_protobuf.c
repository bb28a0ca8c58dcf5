#include "base/cleanup.h"
#include "base/protobuf.h"
#include "tests/unit/unit.h"

#define BYTES(...)                                                             \
	(struct iovec)                                                         \
	{                                                                      \
		(uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }) \
	}

/* The examples of encoding.md: 150 as field 1; "testing" as field 2; and of fixed sizes. */
TEST(test_fields)
{
	static const uint8_t message[] = { 0x08, 0x96, 0x01, 0x12, 7, 't', 'e', 's', 't',
					   'i',  'n',  'g',  0x1d, 1, 0,   0,   0,   0x21,
					   2,    0,    0,    0,    0, 0,   0,   0x80 };
	struct pb_reader r = pb_read(message, sizeof(message));
	struct error err = { 0 };
	struct pb_field f[4];

	for (size_t i = 0; i < 4; i++) {
		assert_true(pb_more(&r));
		assert_int_equal(pb_next(&r, &f[i], &err), 0);
		assert_int_equal(f[i].number, i + 1);
		assert_int_equal(f[i].data != NULL, i == 1);
	}
	assert_false(pb_more(&r));
	assert_int_equal(f[0].value, 150);
	assert_int_equal(f[1].len, 7);
	assert_memory_equal(f[1].data, "testing", 7);
	assert_int_equal(f[2].value, 1);
	assert_true(f[3].value == 0x8000000000000002);
}

TEST(test_bytes)
{
	const struct {
		struct iovec message;
		const char *want; /* of field 1; NULL: ERR_FORMAT */
	} rows[] = {
		{ { NULL, 0 }, "" },
		{ BYTES(0x12, 1, 'x'), "" },
		{ BYTES(0x0a, 0), "" },
		{ BYTES(0x0a, 1, 'a', 0x12, 1, 'x'), "a" },
		{ BYTES(0x0a, 1, 'a', 0x0a, 2, 'b', 'c'), "bc" },
		{ BYTES(0x0a, 1, 'a', 0x08, 5), "" }, /* the last one is a number */
		{ BYTES(0x0a, 1, 'a', 0x12), NULL },  /* cut short, after it */
		{ BYTES(0x0a, 2, 'a'), NULL },
		{ BYTES(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		  NULL },
		{ BYTES(0x02, 0), NULL }, /* field 0 */
		{ BYTES(0x0b), NULL },    /* a group */
		{ BYTES(0x09, 1, 2, 3), NULL },
		{ BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1),
		  NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		struct iovec got;
		int rc = pb_bytes(&got, rows[i].message, 1, &err);

		if ((rc == 0) != (rows[i].want != NULL))
			fail_msg("row %zu: %d, %s", i, rc, err.msg);
		if (rc) {
			assert_int_equal(err.kind, ERR_FORMAT);
			continue;
		}
		assert_int_equal(got.iov_len, strlen(rows[i].want));
		if (got.iov_len)
			assert_memory_equal(got.iov_base, rows[i].want, got.iov_len);
	}
}

TEST(test_written)
{
	cleanup_buf struct buf out = { .max = 1000 };
	struct error err = { 0 };
	struct pb_field f;
	struct pb_reader r;
	struct iovec text;

	pb_put_uint(&out, 1000, UINT64_MAX);
	pb_put_str(&out, 3, "text");
	r = pb_read(out.data, out.len);
	assert_int_equal(pb_next(&r, &f, &err), 0);
	assert_int_equal(f.number, 1000);
	assert_true(f.value == UINT64_MAX);
	assert_int_equal(pb_bytes(&text, (struct iovec){ out.data, out.len }, 3, &err),
			 0);
	assert_int_equal(text.iov_len, 4);
	assert_memory_equal(text.iov_base, "text", 4);
}

RUN_TESTS(NULL, NULL)
