#include "gpu/expect.h"
#include "tests/unit/unit.h"

TEST(test_builtin)
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

RUN_TESTS(NULL, NULL)
