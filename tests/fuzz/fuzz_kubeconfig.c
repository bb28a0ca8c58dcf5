/*
 * A kubeconfig of any bytes is read or refused with words; what is read names a
 * server, and what is called a header's value is one line.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kube/kubeconfig.h"
#include "tests/fuzz/fuzz.h"

static bool is_line(const char *s)
{
	return !s || !strpbrk(s, "\r\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	struct kube_config_flags flags = {
		.kubeconfig = arena_printf(&arena, "/proc/self/fd/%d", fd),
	};
	cleanup_kube_config struct kube_config c = { 0 };
	struct error err = { 0 };

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (kube_config_load(&c, &flags, &err)) {
		FUZZ_CHECK(err.kind && *err.msg);
		return 0;
	}
	FUZZ_CHECK(str_starts(c.server, "http://") || str_starts(c.server, "https://"));
	FUZZ_CHECK(c.ns && !str_ends(c.server, "/"));
	FUZZ_CHECK(is_line(c.token) && is_line(c.impersonate) &&
		   is_line(c.impersonate_uid));
	FUZZ_CHECK(!c.ca_pem || !c.insecure);
	return 0;
}
