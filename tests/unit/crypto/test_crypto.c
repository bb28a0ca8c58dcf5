/*
 * AES-GCM, SHA-256 and SHA-1 as libmbedcrypto has them (vendor/mbedtls-nettle): the
 * vectors of NIST, in one piece and in pieces of every size, with what the CPU has
 * and, once more, without. X25519 (vendor/patches/mbedtls-x25519.patch): those of RFC
 * 7748, and what TLS must not accept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mbedtls/ecp.h>
#include <mbedtls/gcm.h>
#include <mbedtls/sha256.h>
#include <psa/crypto.h>

#include "base/xmalloc.h"
#include "crypto/crypto.h"
#include "crypto/digest.h"
#include "tests/unit/unit.h"

enum { MAX = 512, LONG = 100 * 1000 };

/* Hex. The spec's test cases (McGrew and Viega, GCM, B), then CAVP's gcmEncryptExtIV. */
static const struct vector {
	const char *key, *iv, *ad, *plain, *cipher, *tag;
} vectors[] = {
	{ "00000000000000000000000000000000", "000000000000000000000000", "",
	  "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78",
	  "ab6e47d42cec13bdf53a67b21257bddf" },
	{ "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
	  "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466"
	  "931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
	  "4d5c2af327cd64a62cf35abd2ba6fab4" },
	{ "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466"
	  "931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
	  "5bc94fbc3221a5db94fae95ae7121a47" },
	{ "feffe9928665731c6d6a8f9467308308", "cafebabefacedbad",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f"
	  "24b22b097544d4896b424989b5e1ebac0f07c23f4598",
	  "3612d2e79e3b0785561be14aaca2fccb" },
	{ "feffe9928665731c6d6a8f9467308308",
	  "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c9515680"
	  "9539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca701e4a9a4fba4"
	  "3c90ccdcb281d48c7c6fd62875d2aca417034c34aee5",
	  "619cc5aefffe0bfa462af43c1699d050" },
	{ "000000000000000000000000000000000000000000000000", "000000000000000000000000",
	  "", "00000000000000000000000000000000", "98e7247c07f0fe411c267e4384b0f600",
	  "2ff58d80033927ab8ef4d4587514f0fb" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbaddecaf888",
	  "",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
	  "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144"
	  "c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256",
	  "9924a7c8587336bfb118024db8674a14" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbaddecaf888",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144"
	  "c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
	  "2519498e80f1478f37ba55bd6d27618c" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbad",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "0f10f599ae14a154ed24b36e25324db8c566632ef2bbb34f8347280fc4507057fddc29df9a47"
	  "1f75c66541d4d4dad1c9e93a19a58e8b473fa0f062f7",
	  "65dcc57fcf623a24094fcca40d3533f8" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c",
	  "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c9515680"
	  "9539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "d27e88681ce3243c4830165a8fdcf9ff1de9a1d8e6b447ef6ef7b79828666e4581e79012af34"
	  "ddd9e2f037589b292db3e67c036745fa22e7e9b7373b",
	  "dcf566ff291c25bbb8568fc3d376a6d9" },
	{ "0000000000000000000000000000000000000000000000000000000000000000",
	  "000000000000000000000000", "", "00000000000000000000000000000000",
	  "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
	  "cafebabefacedbaddecaf888", "",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
	  "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590d"
	  "bb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
	  "b094dac5d93471bdec1a502270e3cc6c" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
	  "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590d"
	  "bb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
	  "76fc6ece0f4e1768cddf8853bb2d551b" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
	  "cafebabefacedbad", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "c3762df1ca787d32ae47c13bf19844cbaf1ae14d0b976afac52ff7d79bba9de0feb582d33934"
	  "a4f0954cc2363bc73f7862ac430e64abe499f47c9b1f",
	  "3a337dbf46a792c45e454913fe2ea8f2" },
	{ "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
	  "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c9515680"
	  "9539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c959568"
	  "09532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf40fc0c3b780f2"
	  "44452da3ebf1c5d82cdea2418997200ef82e44ae7e3f",
	  "a44a8266ee1c8eb0c8b5d4cf5ae9f19a" },
	{ "b5beefbdd23360f2dd1e6e3c1ddbfebf", "81a8494f85be635d71e5663789162494",
	  "f9ebf242b616a42e2057ede3b56b4c27349fed148817a710654de75d1cfc5f6304709b46ef1e"
	  "2ccb42f877c50f484f8a8c6b0a25cff61d9537c3fd0c69bbc6ef21cbec8986cbc9b6e87963b8"
	  "d9db91b7134afe69d3d9dec3a76b6c645f9c5528968f27396cc9e989d589369c90bbfefb249e"
	  "3fa416451bc3d6592cc5feefbd76",
	  "", "", "159a642185e0756d46f1db57af975fa3" },
	{ "839664bb6c352e64714254e4d590fb28", "5482db71d85039076a541aaba287e7f7",
	  "4d75a10ff29414c74d945da046ed45dc02783da28c1ee58b59cbc6f953dd09788b6d513f7366"
	  "be523e6c2d877c36795942690ce9543050f7ab6f6f647d262360994f7f892e9f59941a8d4406"
	  "19fda8aa20350be14c13d7924c0451c1489da9a0cafd759c3798776245170ad88dbceb3cacde"
	  "6ba122b656601ccb726e99d54115",
	  "752c7e877663d10f90e5c96cce2686f4aa846a12272a0aba399e860f2838827c7c718365e704"
	  "084fbe1e68adb27ad18e993c800da2e05bcaf44b651944bde766e7b3ac22f068b525dd0b80b4"
	  "90b3498d7b7199f60faf69fee338087f7a752fb52147034de8922a3ed73b512d9c741f7bac12"
	  "06e9b0871a970271f50688038ab7",
	  "c7ee1c32f8bc0181b53ce57f116e863481db6f21666ba3fa19bd99ce83eee2d573388a0459df"
	  "ede92e701982a9cc93d697f313062dbea9866526f1d720a128ab97452a35f458637116f7d929"
	  "4ffc76079539061dfeff9642a049db53d89f2480a6d74a05ff25d46d7048cc16d43f7888b5af"
	  "f9957b5dc828973afccff63bd42a",
	  "63c8aa731a60076725cd5f9973eeadb5" },
	{ "66ebdc2332276784a69b6bb137161210bac9f1d6a36d6a4c",
	  "647f41b60c6a579086ba8854d043495c",
	  "da26eebd04c27bbe7fa7b54b87d3b7227f056dd9c085fabfcb59ec665a257c6de68fd2c1c51a"
	  "ad5e6188e02a56f70aac49ba489802247ca327de57ea3cfa87e72cae7dd82b50341a2133b03c"
	  "d0027216fcd94cf43ec8a48e1c04145b597924b37f7977db3ff23b8edc913357037d0fe02afe"
	  "2bba6b91e27554edbfb77f51cc41",
	  "", "", "420b320c2d616a0b11a7605a84f88e26" },
	{ "263451f187b6dcab9d8dc4364217a483dd80c1d75f24fcea",
	  "6c4552b3a03152aa464e88fd5b14356d",
	  "435453a304fcd3c4bd6ab90d6ed8c54e6d21f75b9e56c9d48030499b04f6754cff628c4c9216"
	  "f7d8a0abed5b8b7ca128c099a7deab74ecfe2c4a494b30d74833f837d254aa00d75aa963ce9c"
	  "041f1916eb63d673a4af3f88817c65d4c86f5a3c28a67de2aaf75f08d1b628af333e518a7e99"
	  "d980571db608407d3f447563f2df",
	  "5e236c282eb4646fbd16a95eff2b27873f625a7e919237d75989a8a112ea80ce8db0b4aeaf5d"
	  "a59c3b22649dabb584284ab9673ba7edef59043eb8e99763643941a4788e7cf11bad63e13c9e"
	  "f08644044b76beef68928dac22975481da4afc723b3ab3b498189542cbdffbc3f467d190cd02"
	  "e9b36b6981122aa80cfa3aa3561f",
	  "12dea5ea9b54957c689c7c9c6a711e2880645109a4057fafe3b32727a60ee1e24f8450310d6b"
	  "8402c26b307bb0bf3cb7c6407270d95590efb938e6d77359666b11a7a3833a7122697e959645"
	  "d8e9d835e0bd39bdc30397115b4c348ea825c850c1e54a60a2522a6321e4b99fa2ad92152056"
	  "28c595b07c6ffed939c779d23ab2",
	  "585677e0f37ae13d886c38202c3860b7" },
	{ "43c9e209da3c1971d986a45b92f2fa0d2d155183730d21d71ed8e2284ec308e3",
	  "78bef655dfd8990b04d2a25678d7086d",
	  "9d8c6734546797c581b9b1d0d4f05b27fe0539bd01655d2d1a8a1489cdf804228753d77272bf"
	  "6ded19d47a6abd6281ea9591d4bcc1be222305fdf689c5faa4c11331cffbf42215469b81f61b"
	  "40415d81cc37161e5c0258a67642b9b8ac627d6e39f43e485e1ff522ac742a07defa3569aeb5"
	  "9990cb44c4f3d952f8119ff1111d",
	  "", "", "f15ddf938bbf52c2977adabaf4120de8" },
	{ "cd8ec237009eab590dbd9b31e76513dfa3501701b1a706982944441d996e1839",
	  "a3cae7aa59edb5f91ee21231002db8e2",
	  "45fa52a0e8321d82caea95bd9506f7331923e2aa95e9238908f3ff30e17a96389dfea75e225e"
	  "34e1605354eaaf999a950f469c6e2e8722da5ad9daded6722baca00e5d1b8e63266ad1b42cae"
	  "161b9c089f4ffdfbbaa2f1fb0245d1a4c306d46e215e8c6c6ae37652a8f6016f92adb7695d40"
	  "bde8c202ab9c2d70a96220b4b01b",
	  "9eef7c9a0fa3e9a7fcc4b2f9d210a97d6653ded7913f2fb2de825a0dfd78ae1cca68c040f232"
	  "8009fffe62937d630ee9d6e0e67bc12c38c0b3d035697d4c2311371aacf41cce0d523016ee43"
	  "6a47d93af0df77011131856d072c718c310f0995b71530d70a3da881481f46f21dda62e3e4c8"
	  "98bb9f819b22f816b7c4e2fb6729",
	  "833d58f0bbd735c6164ecaa295e95ad1143c564d24817d5f6dded5d2d9b2bed2dc05da4a8a16"
	  "e20fdf90f839370832f9ddc94e4e564db3ae647068537669b168cc418ea7d0e55b2bb8fd861f"
	  "9f893a3fdba6aace498bc6afe400fea6b2a8c58924c71ce5db98cfce835161a5cf6187870aa3"
	  "2f522d406c52f91c30543ea6aa16",
	  "c1df4ee60b10f79173032e9baaf04d3f" },
};

static size_t bytes(unsigned char out[MAX], const char *hex)
{
	size_t n = strlen(hex) / 2;

	assert_true(n <= MAX);
	for (size_t i = 0; i < n; i++) {
		unsigned int v;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
		out[i] = (unsigned char)v;
	}
	return n;
}

/* A vector's parts as bytes, and a context with its key. */
struct gcm {
	mbedtls_gcm_context ctx;
	unsigned char iv[MAX], ad[MAX], plain[MAX], cipher[MAX], tag[MAX];
	size_t iv_len, ad_len, len;
};

static void gcm_open(struct gcm *g, const struct vector *v)
{
	unsigned char key[MAX];
	size_t n = bytes(key, v->key);

	memset(g, 0, sizeof(*g));
	g->iv_len = bytes(g->iv, v->iv);
	g->ad_len = bytes(g->ad, v->ad);
	g->len = bytes(g->plain, v->plain);
	assert_int_equal(bytes(g->cipher, v->cipher), g->len);
	assert_int_equal(bytes(g->tag, v->tag), 16);
	mbedtls_gcm_init(&g->ctx);
	assert_int_equal(mbedtls_gcm_setkey(&g->ctx, MBEDTLS_CIPHER_ID_AES, key,
					    (unsigned int)n * 8),
			 0);
}

TEST(test_gcm_whole)
{
	for (size_t i = 0; i < N_ELEMENTS(vectors); i++) {
		unsigned char out[MAX], tag[16];
		struct gcm g;

		gcm_open(&g, &vectors[i]);
		assert_int_equal(mbedtls_gcm_crypt_and_tag(
					 &g.ctx, MBEDTLS_GCM_ENCRYPT, g.len, g.iv,
					 g.iv_len, g.ad, g.ad_len, g.plain, out, 16, tag),
				 0);
		assert_memory_equal(out, g.cipher, g.len);
		assert_memory_equal(tag, g.tag, 16);
		/* In place, as TLS does it; a short tag is the beginning of the whole. */
		assert_int_equal(mbedtls_gcm_auth_decrypt(&g.ctx, g.len, g.iv, g.iv_len,
							  g.ad, g.ad_len, g.tag, 12, out,
							  out),
				 0);
		assert_memory_equal(out, g.plain, g.len);
		mbedtls_gcm_free(&g.ctx);
	}
}

/* One bit anywhere, and nothing comes out. */
TEST(test_gcm_forged)
{
	static const unsigned char none[MAX];

	for (size_t i = 0; i < N_ELEMENTS(vectors); i++) {
		unsigned char out[MAX];
		struct gcm g;

		gcm_open(&g, &vectors[i]);
		for (int what = 0; what < 4; what++) {
			unsigned char *at[] = { g.cipher, g.ad, g.tag, g.iv };
			size_t len[] = { g.len, g.ad_len, 16, g.iv_len };

			if (len[what] == 0)
				continue;
			at[what][len[what] - 1] ^= 0x10;
			memset(out, 1, sizeof(out));
			assert_int_equal(mbedtls_gcm_auth_decrypt(
						 &g.ctx, g.len, g.iv, g.iv_len, g.ad,
						 g.ad_len, g.tag, 16, g.cipher, out),
					 MBEDTLS_ERR_GCM_AUTH_FAILED);
			assert_memory_equal(out, none, g.len);
			at[what][len[what] - 1] ^= 0x10;
		}
		mbedtls_gcm_free(&g.ctx);
	}
}

static void in_pieces(struct gcm *g, int mode, const unsigned char *in,
		      unsigned char *out, size_t piece, unsigned char tag[16])
{
	size_t n;

	assert_int_equal(mbedtls_gcm_starts(&g->ctx, mode, g->iv, g->iv_len), 0);
	for (size_t at = 0; at < g->ad_len; at += piece) {
		n = g->ad_len - at < piece ? g->ad_len - at : piece;
		assert_int_equal(mbedtls_gcm_update_ad(&g->ctx, g->ad + at, n), 0);
	}
	for (size_t at = 0; at < g->len; at += piece) {
		size_t some = g->len - at < piece ? g->len - at : piece;

		assert_int_equal(
			mbedtls_gcm_update(&g->ctx, in + at, some, out + at, some, &n),
			0);
		assert_int_equal(n, some);
	}
	assert_int_equal(mbedtls_gcm_finish(&g->ctx, NULL, 0, &n, tag, 16), 0);
	assert_int_equal(n, 0);
}

TEST(test_gcm_pieces)
{
	for (size_t i = 0; i < N_ELEMENTS(vectors); i++) {
		struct gcm g;

		gcm_open(&g, &vectors[i]);
		for (size_t piece = 1; piece <= 130; piece++) {
			unsigned char out[MAX] = { 0 }, tag[16] = { 0 };

			in_pieces(&g, MBEDTLS_GCM_ENCRYPT, g.plain, out, piece, tag);
			assert_memory_equal(out, g.cipher, g.len);
			assert_memory_equal(tag, g.tag, 16);
			in_pieces(&g, MBEDTLS_GCM_DECRYPT, out, out, piece, tag);
			assert_memory_equal(out, g.plain, g.len);
			assert_memory_equal(tag, g.tag, 16);
		}
		mbedtls_gcm_free(&g.ctx);
	}
}

/* Where the output lies a little before the input, and counters that carry over. */
TEST(test_gcm_long)
{
	unsigned char *a = xmalloc(LONG + 64), *b = xmalloc(LONG + 64), tag[2][16];
	struct gcm g;

	gcm_open(&g, &vectors[3]);
	for (size_t len = LONG - 17; len < LONG; len++) {
		for (size_t i = 0; i < len; i++)
			a[i] = (unsigned char)(i * 7 + len);
		memcpy(b + 8, a, len);
		assert_int_equal(mbedtls_gcm_crypt_and_tag(&g.ctx, MBEDTLS_GCM_ENCRYPT,
							   len, g.iv, g.iv_len, NULL, 0,
							   a, a, 16, tag[0]),
				 0);
		assert_int_equal(mbedtls_gcm_crypt_and_tag(&g.ctx, MBEDTLS_GCM_ENCRYPT,
							   len, g.iv, g.iv_len, NULL, 0,
							   b + 8, b, 16, tag[1]),
				 0);
		assert_memory_equal(a, b, len);
		assert_memory_equal(tag[0], tag[1], 16);
	}
	mbedtls_gcm_free(&g.ctx);
	free(a);
	free(b);
}

TEST(test_gcm_refused)
{
	unsigned char key[32] = { 0 }, data[32] = { 0 }, tag[16];
	mbedtls_gcm_context ctx;
	size_t n;

	mbedtls_gcm_init(&ctx);
#ifdef MBEDTLS_GCM_ALT /* mbedTLS's own takes a context without a key, and Camellia */
	assert_int_not_equal(mbedtls_gcm_starts(&ctx, MBEDTLS_GCM_ENCRYPT, data, 12), 0);
	assert_int_not_equal(
		mbedtls_gcm_setkey(&ctx, MBEDTLS_CIPHER_ID_CAMELLIA, key, 128), 0);
#endif
	assert_int_not_equal(mbedtls_gcm_setkey(&ctx, MBEDTLS_CIPHER_ID_AES, key, 129),
			     0);
	assert_int_equal(mbedtls_gcm_setkey(&ctx, MBEDTLS_CIPHER_ID_AES, key, 256), 0);
	assert_int_not_equal(mbedtls_gcm_starts(&ctx, MBEDTLS_GCM_ENCRYPT, data, 0), 0);
	assert_int_equal(mbedtls_gcm_starts(&ctx, MBEDTLS_GCM_ENCRYPT, data, 12), 0);
	assert_int_equal(mbedtls_gcm_update(&ctx, data, 16, data, 15, &n),
			 MBEDTLS_ERR_GCM_BUFFER_TOO_SMALL);
	assert_int_not_equal(mbedtls_gcm_update(&ctx, data, 16, data + 1, 16, &n), 0);
	assert_int_not_equal(mbedtls_gcm_finish(&ctx, NULL, 0, &n, tag, 3), 0);
	assert_int_not_equal(mbedtls_gcm_finish(&ctx, NULL, 0, &n, tag, 17), 0);
	mbedtls_gcm_free(&ctx);
}

/* FIPS 180-4's examples. */
static const struct {
	enum digest_type type;
	const char *text;
	size_t times;
	const char *sum;
} sums[] = {
	{ DIGEST_SHA256, "", 1,
	  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ DIGEST_SHA256, "abc", 1,
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ DIGEST_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ DIGEST_SHA256, "a", 1000000,
	  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	{ DIGEST_SHA1, "", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
	{ DIGEST_SHA1, "abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ DIGEST_SHA1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
	{ DIGEST_SHA1, "a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f" },
};

TEST(test_sums)
{
	for (size_t i = 0; i < N_ELEMENTS(sums); i++) {
		cleanup_digest struct digest *d = digest_new(sums[i].type);
		char hex[DIGEST_HEX_SIZE];
		size_t len = strlen(sums[i].text), all = len * sums[i].times;
		char *text = xmalloc(all + 1);

		for (size_t j = 0; j < sums[i].times; j++)
			memcpy(text + j * len, sums[i].text, len);
		assert_string_equal(digest_hex_of(sums[i].type, text, all, hex),
				    sums[i].sum);
		for (size_t piece = 1; piece<200; piece += all> 1000 ? 61 : 1) {
			for (size_t at = 0; at < all; at += piece)
				digest_add(d, text + at,
					   all - at < piece ? all - at : piece);
			assert_string_equal(digest_end_hex(d, hex), sums[i].sum);
		}
		free(text);
	}
}

/* TLS takes a hash's value on the way: a copy goes on where the first one stood. */
TEST(test_clone)
{
	static const unsigned char sha224_abc[28] = {
		0x23, 0x09, 0x7d, 0x22, 0x34, 0x05, 0xd8, 0x22, 0x86, 0x42,
		0xa4, 0x77, 0xbd, 0xa2, 0x55, 0xb3, 0x2a, 0xad, 0xbc, 0xe4,
		0xbd, 0xa0, 0xb3, 0xf7, 0xe3, 0x6c, 0x9d, 0xa7,
	};
	unsigned char out[2][32];

	for (int is224 = 0; is224 < 2; is224++) {
		mbedtls_sha256_context a, b;

		mbedtls_sha256_init(&a);
		mbedtls_sha256_init(&b);
		assert_int_equal(mbedtls_sha256_starts(&a, is224), 0);
		assert_int_equal(mbedtls_sha256_update(&a, (const unsigned char *)"a", 1),
				 0);
		mbedtls_sha256_clone(&b, &a);
		assert_int_equal(mbedtls_sha256_finish(&a, out[0]), 0);
		assert_int_equal(
			mbedtls_sha256_update(&b, (const unsigned char *)"bc", 2), 0);
		assert_int_equal(mbedtls_sha256_finish(&b, out[1]), 0);
		assert_int_equal(
			mbedtls_sha256((const unsigned char *)"abc", 3, out[0], is224),
			0);
		assert_memory_equal(out[0], out[1], is224 ? 28 : 32);
		if (is224)
			assert_memory_equal(out[0], sha224_abc, sizeof(sha224_abc));
		mbedtls_sha256_free(&a);
		mbedtls_sha256_free(&b);
	}
}

/* ---- X25519 ---- */

/* RFC 7748, 5.2 and 6.1; scalars are clamped below. */
static const struct {
	const char *scalar, *point, *product;
} products[] = {
	{ "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
	  "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
	  "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552" },
	{ "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
	  "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
	  "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957" },
	{ "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
	  "0900000000000000000000000000000000000000000000000000000000000000",
	  "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f" },
	{ "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
	  "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
	  "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742" },
};

/* -> 0 and the product, or mbedTLS's error. */
static int multiply(const char *scalar, const char *point, unsigned char product[32])
{
	unsigned char d[MAX], p[MAX];
	mbedtls_ecp_keypair key;
	mbedtls_ecp_point from, to;
	size_t len;
	int rc;

	bytes(d, scalar);
	d[0] &= 248;
	d[31] = (unsigned char)((d[31] & 127) | 64);
	bytes(p, point);
	mbedtls_ecp_keypair_init(&key);
	mbedtls_ecp_point_init(&from);
	mbedtls_ecp_point_init(&to);
	assert_int_equal(mbedtls_ecp_read_key(MBEDTLS_ECP_DP_CURVE25519, &key, d, 32), 0);
	rc = mbedtls_ecp_point_read_binary(&key.private_grp, &from, p, 32);
	if (!rc)
		rc = mbedtls_ecp_mul(&key.private_grp, &to, &key.private_d, &from,
				     crypto_random, NULL);
	if (!rc)
		rc = mbedtls_ecp_point_write_binary(&key.private_grp, &to,
						    MBEDTLS_ECP_PF_COMPRESSED, &len,
						    product, 32);
	mbedtls_ecp_point_free(&to);
	mbedtls_ecp_point_free(&from);
	mbedtls_ecp_keypair_free(&key);
	return rc;
}

TEST(test_x25519)
{
	unsigned char got[32], want[MAX];

	for (size_t i = 0; i < N_ELEMENTS(products); i++) {
		bytes(want, products[i].product);
		assert_int_equal(multiply(products[i].scalar, products[i].point, got), 0);
		assert_memory_equal(got, want, 32);
	}
}

/*
 * Points of small order, whose product says nothing of the secret (section 6.1), in
 * every form that 255 bits can have: 0, 1, two of order 8, p - 1, p, p + 1.
 */
static const char *const small_order[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

TEST(test_x25519_small_order)
{
	unsigned char got[32];
	char high[65];

	for (size_t i = 0; i < N_ELEMENTS(small_order); i++) {
		assert_int_not_equal(multiply(products[0].scalar, small_order[i], got),
				     0);
		/* The highest bit does not count. */
		snprintf(high, sizeof(high), "%.62s%02x", small_order[i],
			 0x80u | (unsigned)strtoul(small_order[i] + 62, NULL, 16));
		assert_int_not_equal(multiply(products[0].scalar, high, got), 0);
	}
}

/* Where TLS 1.3 has it computed: a peer's point of small order is not used. */
TEST(test_x25519_small_order_from_a_peer)
{
	psa_key_attributes_t how = PSA_KEY_ATTRIBUTES_INIT;
	psa_key_id_t key;
	unsigned char point[MAX], secret[32];
	size_t len;

	psa_set_key_usage_flags(&how, PSA_KEY_USAGE_DERIVE);
	psa_set_key_algorithm(&how, PSA_ALG_ECDH);
	psa_set_key_type(&how, PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_MONTGOMERY));
	psa_set_key_bits(&how, 255);
	assert_int_equal(psa_crypto_init(), PSA_SUCCESS);
	assert_int_equal(psa_generate_key(&how, &key), PSA_SUCCESS);
	bytes(point, products[0].point);
	assert_int_equal(psa_raw_key_agreement(PSA_ALG_ECDH, key, point, 32, secret,
					       sizeof(secret), &len),
			 PSA_SUCCESS);
	for (size_t i = 0; i < N_ELEMENTS(small_order); i++) {
		bytes(point, small_order[i]);
		assert_int_not_equal(psa_raw_key_agreement(PSA_ALG_ECDH, key, point, 32,
							   secret, sizeof(secret), &len),
				     PSA_SUCCESS);
	}
	psa_destroy_key(key);
	mbedtls_psa_crypto_free();
}

/* nettle reads there what the CPU is to have: nothing. */
TEST(test_plain_cpu)
{
	static const char name[] = "NETTLE_FAT_OVERRIDE";
	pid_t pid;
	int status;

	if (getenv(name))
		return;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		setenv(name, "", 1);
		execl("/proc/self/exe", "test_crypto", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

RUN_TESTS(NULL, NULL)
