#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gpu/discover.h"
#include "gpu/health.h"
#include "gpu/helper.h"
#include "tests/unit/unit.h"

static cJSON *parse(const char *text)
{
	cJSON *doc = NULL;
	struct error err;

	assert_int_equal(json_parse(&doc, text, strlen(text), &err), 0);
	return doc;
}

/* Two devices, one that is broken, one with two instances. */
static const char four[] =
	"{\"devices\": [{\"uuid\": \"GPU-a0\", \"name\": \"A\", \"usable\": true},"
	"{\"uuid\": \"GPU-a1\", \"name\": \"A\", \"usable\": true},"
	"{\"uuid\": \"GPU-b2\", \"name\": \"A\", \"usable\": true,"
	" \"remappedRows\": {\"failed\": 1}},"
	"{\"uuid\": \"GPU-c3\", \"name\": \"A\", \"usable\": true,"
	" \"mig\": [{\"uuid\": \"MIG-x\"}, {\"uuid\": \"MIG-y\"}]}]}";

TEST(test_ids)
{
	static const struct {
		const char *value, *ids; /* NULL: refused */
	} rows[] = {
		{ NULL, "GPU-a0 GPU-a1 MIG-x MIG-y" },
		{ "", "" },
		{ "-1", "" },
		{ "1,0", "GPU-a1 GPU-a0" },
		{ "1,-1,0", "GPU-a1" },
		{ "1,7,0", "GPU-a1" },
		{ "0,0,GPU-a0", "GPU-a0" },
		{ "2", "" }, /* broken */
		{ "3", "MIG-x" },
		{ " MIG-y , GPU-a1", "MIG-y GPU-a1" },
		{ "GPU-c", "MIG-x" },
		{ "MIG-GPU-c3/1/0", "MIG-GPU-c3/1/0" },
		{ "GPU-a", NULL },
		{ "GPU-z", NULL },
		{ "MIG-", NULL },
		{ "zero", NULL },
	};
	cleanup_json cJSON *doc = parse(four);

	unsetenv("CUDA_DEVICE_ORDER");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *const *ids = NULL;
		struct error err;
		int result = gpu_ids(&a, &ids, doc, rows[i].value, &err);

		assert_int_equal(result, rows[i].ids ? 0 : -1);
		if (rows[i].ids)
			assert_string_equal(str_join(&a, ids, " "), rows[i].ids);
	}
}

/* CUDA numbers unlike devices by speed: a number says nothing then. */
TEST(test_numbers_of_unlike_devices)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *doc = parse(
		"{\"devices\": [{\"uuid\": \"GPU-a\", \"name\": \"A\", \"usable\": true},"
		"{\"uuid\": \"GPU-b\", \"name\": \"B\", \"usable\": true}]}");
	const char *const *ids = NULL;
	struct error err;

	assert_int_equal(gpu_ids(&a, &ids, doc, "1", &err), 0);
	assert_string_equal(str_join(&a, ids, " "), "1");
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	assert_int_equal(gpu_ids(&a, &ids, doc, "1", &err), 0);
	assert_string_equal(str_join(&a, ids, " "), "GPU-b");
	unsetenv("CUDA_DEVICE_ORDER");
}

TEST(test_findings)
{
	static const struct {
		const char *device, *check; /* the first, or NULL */
		enum gpu_grade grade;
		bool fault;
	} rows[] = {
		{ "{}", NULL, GPU_PASS, false },
		{ "{\"error\": \"lost\"}", NULL, GPU_PASS, true },
		{ "{\"ecc\": {\"corrected\": 9}}", NULL, GPU_PASS, false },
		{ "{\"ecc\": {\"uncorrected\": 1}}", "ecc", GPU_FATAL, true },
		{ "{\"remappedRows\": {\"pending\": 1}}", "remapped-rows", GPU_RETRY,
		  false },
		{ "{\"remappedRows\": {\"failed\": 1}}", "remapped-rows", GPU_FATAL,
		  true },
		{ "{\"retiredPages\": {\"uncorrected\": 2}}", "retired-pages",
		  GPU_WARNING, false },
		{ "{\"pcie\": {\"width\": 8, \"maxWidth\": 16}}", "pcie", GPU_WARNING,
		  false },
		{ "{\"nvlinks\": {\"active\": 0, \"total\": 4}}", NULL, GPU_PASS, false },
		{ "{\"nvlinks\": {\"active\": 3, \"total\": 4}}", "nvlink", GPU_WARNING,
		  false },
		{ "{\"throttle\": [\"idle\", \"power-cap\"]}", NULL, GPU_PASS, false },
		{ "{\"throttle\": [\"hw-thermal\"]}", "throttle", GPU_WARNING, false },
		{ "{\"ecc\": 7, \"throttle\": [1], \"pcie\": []}", NULL, GPU_PASS,
		  false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *device = parse(rows[i].device);
		struct gpu_finding found[GPU_FINDINGS_MAX];
		size_t n = gpu_findings(device, found);

		assert_int_equal(n, rows[i].check ? 1 : 0);
		if (n) {
			assert_string_equal(found[0].check, rows[i].check);
			assert_int_equal(found[0].grade, rows[i].grade);
		}
		assert_int_equal(gpu_fault(device) != NULL, rows[i].fault);
	}
}

/* Of a helper that is not ours: another version, an old answer, a length that lies. */
TEST(test_replies)
{
	static const struct {
		struct gpu_reply head;
		const char *text, *like; /* NULL: accepted */
	} rows[] = {
		{ { GPU_WIRE_VERSION, 7, GPU_DONE, 2 }, "{}", NULL },
		{ { GPU_WIRE_VERSION + 1, 7, GPU_DONE, 2 }, "{}", "version" },
		{ { GPU_WIRE_VERSION, 6, GPU_DONE, 2 }, "{}", "request 6" },
		{ { GPU_WIRE_VERSION, 7, GPU_DONE, 3 }, "{}", "bytes" },
		{ { GPU_WIRE_VERSION, 7, GPU_DONE, UINT32_MAX }, "{}", "bytes" },
		{ { GPU_WIRE_VERSION, 7, GPU_DONE, 2 }, "[]", "no object" },
		{ { GPU_WIRE_VERSION, 7, GPU_DONE, 2 }, "{]", "GPU helper" },
		{ { GPU_WIRE_VERSION, 7, 99, 2 }, "{}", "GPU helper" },
		{ { GPU_WIRE_VERSION, 7, GPU_FAILED, 39 },
		  "{\"library\": \"l\", \"call\": \"c\", \"code\": 9}",
		  "l: c:  (9)" },
		{ { GPU_WIRE_VERSION, 7, GPU_NO_SYMBOL, 28 },
		  "{\"library\": \"l\", \"call\": 3}  ",
		  "l: symbol" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		unsigned char data[200];
		size_t len = strlen(rows[i].text);
		struct gpu_reply head = rows[i].head;
		cleanup_json cJSON *doc = NULL;
		struct error err = { 0 };

		if (head.status == GPU_FAILED || head.status == GPU_NO_SYMBOL)
			head.len = (uint32_t)len;
		memcpy(data, &head, sizeof(head));
		memcpy(data + sizeof(head), rows[i].text, len);
		assert_int_equal(gpu_reply_parse(&doc, data, sizeof(head) + len, 7, &err),
				 rows[i].like ? -1 : 0);
		if (rows[i].like)
			assert_non_null(strstr(err.msg, rows[i].like));
	}
}

RUN_TESTS(NULL, NULL)
