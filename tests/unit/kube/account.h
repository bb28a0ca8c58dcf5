/*
 * account.h - the folder that Kubernetes mounts into a pod: namespace, CA and token of its
 * service account.
 */
#ifndef TEST_ACCOUNT_H
#define TEST_ACCOUNT_H

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/file.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

/*
 * Makes the folder, which only this process and its children see, in namespaces of its
 * own. 1 if this machine lets nobody mount one.
 */
static inline int account_make(void)
{
	struct error err = { 0 };

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/run", "tmpfs", 0, NULL))
		return 1;
	return dir_make(ACCOUNT, 0700, &err);
}

#endif
