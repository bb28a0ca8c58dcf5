#include "tests/unit/kubelet/volume_cases.h"

int main(void)
{
	const struct CMUnitTest tests[] = { VOLUME_CASES };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
