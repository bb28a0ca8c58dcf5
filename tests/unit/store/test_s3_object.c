/* Pages of ListObjectsV2, ETags: what is read of an S3 server's answers. */
#include "base/str.h"
#include "store/s3_list.h"
#include "store/s3_object.h"
#include "store/s3_put.h"
#include "tests/unit/base/base_test.h"

#define KEY(k)     "<Contents><Key>" k "</Key><Size>1</Size></Contents>"
#define PAGE(rest) "<ListBucketResult xmlns='urn:x'>" rest "</ListBucketResult>"
#define END        "<IsTruncated>false</IsTruncated>"

TEST(test_pages)
{
	static const struct {
		const char *name, *xml, *keys, *error; /* keys: with '|' between */
	} rows[] = {
		{ "empty", PAGE(END), "", NULL },
		{ "plain", PAGE(END KEY("a+b") KEY("c%20d")), "a+b|c%20d", NULL },
		{ "blanks at the ends", PAGE(END KEY(" a") KEY("b ") KEY("\n c\n")),
		  " a|b |c", NULL },
		{ "escaped",
		  PAGE(KEY("a+b%2Bc%2F%C3%A9") "<EncodingType>url</EncodingType>" END),
		  "a b+c/\xc3\xa9", NULL },
		{ "entities", PAGE(END KEY("&lt;&amp;&#x41;")), "<&A", NULL },
		{ "prefixes",
		  "<s:L xmlns:s='u'><s:IsTruncated>false</s:IsTruncated><s:Contents>"
		  "<s:Key>a</s:Key><s:Size>0</s:Size></s:Contents></s:L>",
		  "a", NULL },
		{ "owner's key is none",
		  PAGE(END "<CommonPrefixes><Key>x</Key></CommonPrefixes>"), "", NULL },
		{ "no size", PAGE(END "<Contents><Key>a</Key></Contents>"), NULL,
		  "without a size" },
		{ "no key", PAGE(END "<Contents><Size>1</Size></Contents>"), NULL,
		  "without a key" },
		{ "negative", PAGE("<Contents><Size>-1</Size></Contents>"), NULL, "-1" },
		{ "NUL", PAGE(END KEY("a%00") "<EncodingType>url</EncodingType>"), NULL,
		  "%00" },
		{ "other", "<html><body/></html>", NULL, "not an S3 listing" },
		{ "none", "", NULL, "invalid XML" },
		{ "cut", "<ListBucketResult><Contents>", NULL, "invalid XML" },
		{ "two roots", PAGE(END) "<x/>", NULL, "invalid XML" },
		{ "entities of its own",
		  "<!DOCTYPE a [<!ENTITY e 'x'>]>" PAGE(KEY("&e;")), NULL,
		  "document type" },
		{ "deep", "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", NULL,
		  "deeper" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_buf struct buf keys = { .max = 1000 };
		struct s3_page page = { 0 };
		struct error err = { 0 };
		int rc = s3_page_read(&page, &arena, rows[i].xml, strlen(rows[i].xml),
				      &err);

		check_int(rows[i].name, rc, rows[i].error ? -1 : 0);
		if (rc && !strstr(err.msg, rows[i].error))
			fail_msg("%s: %s", rows[i].name, err.msg);
		buf_adds(&keys, "");
		for (size_t k = 0; k < page.n; k++)
			buf_printf(&keys, "%s%s", k ? "|" : "", page.entries[k].key);
		if (!rc)
			check_text(rows[i].name, (char *)keys.data, rows[i].keys);
	}
}

TEST(test_page_goes_on)
{
	static const char xml[] =
		PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken> t/=+ "
		     "</NextContinuationToken>"
		     "<Contents><Key>k</Key><ETag>&quot;abc-2&quot;</"
		     "ETag><Size>9223372036854775807"
		     "</Size></Contents>");
	cleanup_arena struct arena arena = { 0 };
	struct s3_page page;
	struct error err = { 0 };

	assert_int_equal(s3_page_read(&page, &arena, xml, sizeof(xml) - 1, &err), 0);
	assert_true(page.truncated);
	check_text("token", page.next, " t/=+ ");
	check_text("etag", page.entries[0].etag, "abc-2");
	assert_true(page.entries[0].size == INT64_MAX);
}

TEST(test_etags)
{
	static const struct {
		const char *etag;
		int parts;
	} rows[] = {
		{ "d41d8cd98f00b204e9800998ecf8427e", 0 },
		{ "D41D8CD98F00B204E9800998ECF8427E-10000", 10000 },
		{ "d41d8cd98f00b204e9800998ecf8427e-1", 1 },
		{ "d41d8cd98f00b204e9800998ecf8427e-0", -1 },
		{ "d41d8cd98f00b204e9800998ecf8427e-10001", -1 },
		{ "d41d8cd98f00b204e9800998ecf8427e-", -1 },
		{ "d41d8cd98f00b204e9800998ecf8427e0", -1 },
		{ "d41d8cd98f00b204e9800998ecf8427g", -1 },
		{ "d41d", -1 },
		{ "", -1 },
	};
	const struct s3_part parts[] = { { .md5 = "5d41402abc4b2a76b9719d911017c592" },
					 { .md5 = "7d793037a0760186574b0282f2f435e7" } };
	char etag[64];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_int(rows[i].etag, s3_etag_parts(rows[i].etag), rows[i].parts);
	s3_multipart_etag(parts, 2, etag); /* of "hello" and "world", by md5sum */
	check_text("two parts", etag, "065947336a2f2a95ba8899f3675c3be6-2");
}

RUN_TESTS(NULL, NULL)
