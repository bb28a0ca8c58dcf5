/* The same as an ordinary user, who has no rights but in a user namespace. */
#include "tests/unit/kubelet/nobody.h"
#include "tests/unit/kubelet/volume_cases.h"

int main(void)
{
	const struct CMUnitTest tests[] = { VOLUME_CASES };

	if (become_nobody() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
