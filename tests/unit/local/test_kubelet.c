#include "tests/unit/local/kubelet_cases.h"

int main(void)
{
	const struct CMUnitTest tests[] = { KUBELET_CASES(NAMESPACES),
					    KUBELET_CASES(NONE) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
