#include "crypto/digest.h"
#include "tests/unit/unit.h"

/* FIPS 180-4's and RFC 1321's own examples; the CRCs' check values. */
static const struct {
	enum digest_type type;
	const char *text, *hex;
} rows[] = {
	{ DIGEST_SHA256, "",
	  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ DIGEST_SHA256, "abc",
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ DIGEST_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ DIGEST_SHA1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ DIGEST_SHA1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
	{ DIGEST_MD5, "", "d41d8cd98f00b204e9800998ecf8427e" },
	{ DIGEST_MD5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
	{ DIGEST_CRC32C, "", "00000000" },
	{ DIGEST_CRC32C, "123456789", "e3069283" },
	{ DIGEST_CRC32, "123456789", "cbf43926" },
	{ DIGEST_CRC64NVME, "123456789", "ae8b14860a799888" },
};

TEST(known_digests)
{
	char hex[DIGEST_HEX_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct digest *d = digest_new(rows[i].type);

		assert_string_equal(digest_hex_of(rows[i].type, rows[i].text,
						  strlen(rows[i].text), hex),
				    rows[i].hex);
		for (int again = 0; again < 2; again++) {
			for (const char *p = rows[i].text; *p; p++)
				digest_add(d, p, 1);
			assert_string_equal(digest_end_hex(d, hex), rows[i].hex);
		}
		digest_add(d, "x", 1);
		digest_reset(d);
		digest_add(d, rows[i].text, strlen(rows[i].text));
		assert_string_equal(digest_end_hex(d, hex), rows[i].hex);
		digest_free(d);
	}
}

RUN_TESTS(NULL, NULL)
