/* The same as an ordinary user, who has no rights but in a user namespace. */
#include "tests/unit/kubelet/kubelet_cases.h"
#include "tests/unit/kubelet/nobody.h"

int main(void)
{
	const struct CMUnitTest tests[] = { KUBELET_CASES(NAMESPACES),
					    NONE(test_killed) };

	if (become_nobody() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
