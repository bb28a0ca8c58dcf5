/* nobody.h - give up root: the tests that follow run as an ordinary user. */
#ifndef TESTS_UNIT_KUBELET_NOBODY_H
#define TESTS_UNIT_KUBELET_NOBODY_H

#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static inline int become_nobody(void)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	     setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -1;
	/* As after a login: /proc/self belongs to the user. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

#endif
