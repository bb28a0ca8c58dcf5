#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "crypto/keypair.h"
#include "tests/unit/command.h"
#include "tests/unit/unit.h"

enum { MANY = 50 };

/*
 * Fifty different ones, and ssh-keygen finds in each private key the public one. Of
 * P-521's numbers every second has a leading zero among its 66 bytes, so that fifty
 * keys have seen the padding.
 */
TEST(test_ssh)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_map struct map seen = { 0 };
	struct command c = { 0 };
	struct error err = { 0 };

	command_setup(&c, "ssh-keygen");
	for (int i = 0; i < MANY; i++) {
		const char *private = NULL, *public = NULL;

		assert_int_equal(keypair_ssh(&a, &private, &public, &err), 0);
		assert_null(map_put(&seen, private, &c));
		assert_null(map_put(&seen, public, &c));
		assert_true(str_starts(private, "-----BEGIN EC PRIVATE KEY-----\n"));
		assert_true(str_ends(private, "-----END EC PRIVATE KEY-----\n"));
		command_file(&c, "id", private);
		command_file(&c, "id.pub", public);
		command_run(&c, "ssh-keygen -y -f id");
		assert_string_equal(c.text, public);
		command_run(&c, "ssh-keygen -l -f id.pub");
		assert_true(str_starts(c.text, "521 "));
	}
	command_release(&c);
}

/* The public half of what others made: ssh-keygen says the same. */
TEST(test_ssh_public)
{
	static const char *const made_by[] = {
		"openssl ecparam -name secp521r1 -genkey -noout -out id",
		"openssl ecparam -name secp384r1 -genkey -noout -out id",
		"openssl ecparam -name prime256v1 -genkey -noout -out id",
		"openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out id",
		"openssl genrsa -traditional -out id 2048",
		"openssl genrsa -out id 3072",
	};
	struct command c = { 0 };

	command_setup(&c, "ssh-keygen");
	for (size_t i = 0; i < N_ELEMENTS(made_by); i++) {
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		const char *public;
		char *pem;

		command_run(&c, made_by[i]);
		command_run(&c, "chmod 600 id; ssh-keygen -y -f id");
		pem = command_read(&c, "id");
		if (keypair_ssh_public(&a, pem, &public, &err))
			fail_msg("%s: %s", made_by[i], err.msg);
		assert_string_equal(public, c.text);
		free(pem);
	}
	command_release(&c);
}

TEST(test_ssh_public_of_no_key)
{
	static const char ed25519[] =
		"-----BEGIN PRIVATE KEY-----\n"
		"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
		"-----END PRIVATE KEY-----\n";
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	const char *public;

	assert_int_equal(keypair_ssh_public(&a, "", &public, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_int_equal(keypair_ssh_public(&a, ed25519, &public, &err), -1);
}

/* DER of a fixed length: 223 bytes, as Go's x509.MarshalECPrivateKey has it. */
TEST(test_ssh_shape)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	for (int i = 0; i < MANY; i++) {
		const char *private = NULL, *public = NULL, *blob;
		cleanup_buf struct buf der = { .max = 1024 }, key = { .max = 1024 },
				       text = { .max = 1024 };

		assert_int_equal(keypair_ssh(&a, &private, &public, &err), 0);
		for (const char *p = strchr(private, '\n'); *p && *p != '-'; p++)
			if (*p != '\n')
				buf_add(&text, p, 1);
		assert_int_equal(base64_decode(&der, (char *)text.data, text.len, &err),
				 0);
		assert_int_equal(der.len, 223);
		/* SEQUENCE, version 1, the number in 66 bytes. */
		assert_memory_equal(der.data, "\x30\x81\xdc\x02\x01\x01\x04\x42", 8);

		blob = str_after(public, "ecdsa-sha2-nistp521 ");
		assert_non_null(blob);
		assert_true(str_ends(blob, "\n") && !strchr(blob, ' '));
		assert_int_equal(base64_decode(&key, blob, strlen(blob) - 1, &err), 0);
		assert_int_equal(key.len, 4 + 19 + 4 + 8 + 4 + 133);
		assert_memory_equal(key.data + key.len - 137, "\0\0\0\x85\x04", 5);
		/* The point is the one that the private key's file ends with. */
		assert_memory_equal(key.data + key.len - 133, der.data + der.len - 133,
				    133);
	}
}

static bool z85_decode(unsigned char out[32], const char *text)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

	if (strlen(text) != 40)
		return false;
	for (int i = 0; i < 8; i++) {
		uint64_t v = 0;

		for (int j = 0; j < 5; j++) {
			const char *digit = strchr(digits, text[5 * i + j]);

			if (!digit)
				return false;
			v = v * 85 + (uint64_t)(digit - digits);
		}
		if (v > UINT32_MAX)
			return false;
		for (int j = 0; j < 4; j++)
			out[4 * i + j] = (unsigned char)(v >> (24 - 8 * j));
	}
	return true;
}

/* The test vector of ZMQ RFC 32 for the reader that the next test reads with. */
TEST(test_z85)
{
	static const unsigned char hello[] = { 0x86, 0x4f, 0xd2, 0x6f,
					       0xb5, 0x59, 0xf7, 0x5b };
	unsigned char out[32];

	assert_true(z85_decode(out, "HelloWorldHelloWorldHelloWorldHelloWorld"));
	for (size_t i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], hello[i % sizeof(hello)]);
	assert_false(z85_decode(out, "#####HelloWorldHelloWorldHelloWorldHello"));
}

TEST(test_curve)
{
	static const char prefix[] = "302e020100300506032b656e04220420"; /* RFC 8410 */
	cleanup_map struct map seen = { 0 };
	struct command c = { 0 };
	struct error err = { 0 };

	command_setup(&c, "openssl");
	for (int i = 0; i < MANY; i++) {
		char public[41], secret[41];
		unsigned char raw[32], want[32];
		cleanup_buf struct buf der = { .max = 200 }, pem = { .max = 400 };

		assert_int_equal(keypair_curve(public, secret, &err), 0);
		assert_null(map_put(&seen, public, &c));
		assert_null(map_put(&seen, secret, &c));
		assert_true(z85_decode(raw, secret));
		assert_true(z85_decode(want, public));
		assert_int_equal(hex_decode(&der, prefix, strlen(prefix), &err), 0);
		buf_add(&der, raw, sizeof(raw));
		buf_adds(&pem, "-----BEGIN PRIVATE KEY-----\n");
		base64_encode(&pem, der.data, der.len);
		buf_adds(&pem, "\n-----END PRIVATE KEY-----\n");
		command_file(&c, "id", (const char *)pem.data);
		buf_clear(&pem);
		base64_encode(&pem, want, sizeof(want));
		command_run(&c, "openssl pkey -in id -pubout -outform DER | tail -c 32 | "
				"base64 -w 0");
		assert_string_equal(c.text, pem.data);
	}
	command_release(&c);
}

RUN_TESTS(NULL, NULL)
