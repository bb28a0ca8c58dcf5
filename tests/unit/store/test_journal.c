#include <stdlib.h>

#include "base/cleanup.h"
#include "crypto/digest.h"
#include "store/journal.h"
#include "store/verify.h"
#include "tests/unit/unit.h"

enum { SIZE = 1000 };
static const unsigned char id[JOURNAL_ID_SIZE] = "whose",
			   other[JOURNAL_ID_SIZE] = "another's";

static void add(struct buf *b, int64_t from, int64_t to)
{
	const struct range r = { .from = from, .to = to, .crc = (uint32_t)from };
	unsigned char record[JOURNAL_RECORD_SIZE];

	journal_record(record, &r);
	buf_add(b, record, sizeof(record));
}

static void begin(struct buf *b)
{
	unsigned char header[JOURNAL_HEADER_SIZE];

	journal_header(header, id, SIZE);
	buf_add(b, header, sizeof(header));
}

TEST(test_round)
{
	cleanup_buf struct buf b = { .max = 4096 };
	cleanup_free struct range *list = NULL;

	begin(&b);
	add(&b, 500, 600);
	add(&b, 0, 100);
	add(&b, 100, 200);
	add(&b, 900, 1000);
	assert_int_equal(journal_parse(b.data, b.len, id, SIZE, &list), 4);
	assert_int_equal(list[0].from, 0);
	assert_int_equal(list[1].to, 200);
	assert_int_equal(list[2].from, 500);
	assert_int_equal(list[2].crc, 500);
	assert_int_equal(list[3].to, 1000);
}

/* What is wrong is passed over, what is about something else does not count at all. */
TEST(test_hostile)
{
	cleanup_buf struct buf b = { .max = 4096 };
	struct range *list = NULL;

	begin(&b);
	add(&b, 0, 100);
	add(&b, 50, 150);   /* overlaps */
	add(&b, 900, 1001); /* beyond the end */
	add(&b, 300, 300);  /* nothing */
	add(&b, -5, 10);
	add(&b, 200, 300);
	b.data[b.len - 24] ^= 1; /* its sum is wrong */
	add(&b, 400, 500);
	buf_add(&b, "cut off", 7);
	assert_int_equal(journal_parse(b.data, b.len, id, SIZE, &list), 2);
	assert_int_equal(list[0].from, 0);
	assert_int_equal(list[1].from, 400);
	free(list);
	assert_int_equal(journal_parse(b.data, b.len, other, SIZE, &list), 0);
	assert_int_equal(journal_parse(b.data, b.len, id, SIZE + 1, &list), 0);
	assert_int_equal(journal_parse(b.data, b.len, id, -1, &list), 0);
	assert_int_equal(journal_parse(b.data, 63, id, SIZE, &list), 0);
	assert_int_equal(journal_parse(b.data, 0, id, SIZE, &list), 0);
	b.data[3] ^= 1;
	assert_int_equal(journal_parse(b.data, b.len, id, SIZE, &list), 0);
}

/* "hello\n" as git, md5sum, sha256sum and S3 name it; in pieces of any size. */
TEST(test_verify)
{
	static const struct {
		enum store_digest digest;
		int64_t part_size;
		const char *sum;
		bool right;
	} rows[] = {
		{ STORE_SHA256, 0,
		  "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
		  true },
		{ STORE_SHA256, 0,
		  "5891B5B522D5DF086D0FF0B110FBD9D21BB4FC7163AF34D08286A2E846F6BE03",
		  true },
		{ STORE_SHA256, 0,
		  "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be04",
		  false },
		{ STORE_SHA256, 0, "5891", false },
		{ STORE_GIT_SHA1, 0, "ce013625030ba8dba906f756967f9e9ca394464a", true },
		{ STORE_MD5, 0, "b1946ac92492d2347c6235b4d2611184", true },
		{ STORE_MD5, 0, "b1946ac92492d2347c6235b4d2611184-1", false },
		{ STORE_MD5_PARTS, 6, "1ba8e3a71ded9ea0bc0bd1c3ee5f1db8-1", false },
		{ STORE_CRC32C, 0, "353dd8be", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		for (size_t piece = 1; piece < 7; piece++) {
			const struct store_object o = { .size = 6,
							.digest = rows[i].digest,
							.sum = rows[i].sum,
							.part_size = rows[i].part_size };
			struct verify *v = verify_new(&o);

			assert_non_null(v);
			for (size_t at = 0; at < 6; at += piece)
				verify_add(v, &"hello\n"[at],
					   piece < 6 - at ? piece : 6 - at);
			assert_int_equal(verify_end(v), rows[i].right);
			verify_free(v);
		}
}

/* A multipart ETag: the MD5 of the parts' MD5s, whatever the parts' size. */
TEST(test_parts)
{
	static const char text[] = "0123456789";

	for (int64_t size = 1; size <= 11; size++) {
		struct digest *all = digest_new(DIGEST_MD5);
		unsigned char raw[DIGEST_MAX];
		char hex[DIGEST_HEX_SIZE], sum[80];
		struct store_object o = { .size = 10,
					  .digest = STORE_MD5_PARTS,
					  .sum = sum,
					  .part_size = size };
		struct verify *v;
		int n = 0;

		for (int64_t at = 0; at < 10; at += size, n++) {
			size_t len = (size_t)(10 - at < size ? 10 - at : size);

			digest_add(all, raw, digest_of(DIGEST_MD5, text + at, len, raw));
		}
		snprintf(sum, sizeof(sum), "%s-%d", digest_end_hex(all, hex), n);
		digest_free(all);
		for (size_t piece = 1; piece <= 10; piece++) {
			v = verify_new(&o);
			for (size_t at = 0; at < 10; at += piece)
				verify_add(v, text + at,
					   piece < 10 - at ? piece : 10 - at);
			assert_true(verify_end(v));
			verify_free(v);
		}
	}
}

TEST(test_nothing)
{
	struct store_object o = { .size = 6, .digest = STORE_MD5_PARTS, .sum = "x-1" };

	assert_null(verify_new(&o)); /* nobody knows the parts */
	o.digest = STORE_SHA256;
	o.size = -1;
	assert_null(verify_new(&o));
	o.size = 6;
	o.sum = NULL;
	assert_null(verify_new(&o));
	verify_free(NULL);
}

RUN_TESTS(NULL, NULL)
