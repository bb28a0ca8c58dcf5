#include "gpu/expect.h"
#include "tests/unit/unit.h"

static void test_builtin(void **state)
{
	cleanup_json cJSON *doc = gpu_expect_builtin();

	assert_non_null(doc);
	assert_true(gpu_expected(doc, "NVIDIA H100 80GB HBM3", "deviceToDevice") >
		    gpu_expected(doc, "NVIDIA H100 PCIe", "deviceToDevice"));
	assert_true(gpu_expected(doc, "NVIDIA H100 PCIe", "deviceToDevice") > 0);
	assert_true(gpu_expected(doc, "NVIDIA A100-SXM4-80GB", "hostToDevice") > 0);
	assert_true(gpu_expected(doc, "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
				 "hostToDevice") == 0);
	assert_true(gpu_expected(doc, "GeForce 256", "hostToDevice") == 0);
	assert_true(gpu_expected(doc, NULL, "hostToDevice") == 0);
	assert_true(gpu_expected(NULL, "NVIDIA H100", "hostToDevice") == 0);
	assert_true(gpu_expected(doc, "NVIDIA H100", "allReduce") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
