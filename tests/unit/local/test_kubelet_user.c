/* The same as an ordinary user, who has no rights but in a user namespace. */
#include <grp.h>
#include <sys/prctl.h>

#include "tests/unit/local/kubelet_cases.h"

enum { NOBODY = 65534 };

int main(void)
{
	const struct CMUnitTest tests[] = { KUBELET_CASES(NAMESPACES),
					    NONE(test_killed) };

	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	     setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return 1;
	/* As after a login: /proc/self belongs to the user. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
