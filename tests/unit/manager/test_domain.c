/* The cluster's domain, from what a kubelet writes into a pod's resolv.conf. */
#include <unistd.h>

#include "base/file.h"
#include "manager/domain.h"
#include "tests/unit/unit.h"

TEST(test_search_lines)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "search ns.svc.cluster.local svc.cluster.local cluster.local\n"
		  "nameserver 10.96.0.10\noptions ndots:5\n",
		  "cluster.local" },
		{ "nameserver 10.0.0.1\n"
		  "search ns.svc.k8s.example svc.k8s.example k8s.example corp.example",
		  "k8s.example" },
		{ "search\tns.svc.a\tsvc.a a\n", "a" },
		{ "search svc.a\nsearch svc.b\n", "b" },
		{ "search corp.example\n", NULL },
		{ "search svc.\n", NULL },
		{ "search ns.svc.a\n", NULL },
		{ "# search svc.a\n", NULL },
		{ "", NULL },
	};
	char path[] = "/tmp/domain-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct arena arena = { 0 };
		struct error err = { 0 };
		const char *got;

		assert_int_equal(
			file_write(path, rows[i].text, strlen(rows[i].text), 0600, &err),
			0);
		got = domain_in(&arena, path);
		if (rows[i].want ? !got || strcmp(got, rows[i].want) : got != NULL)
			fail_msg("row %zu: %s", i, got ? got : "nothing");
		arena_clear(&arena);
	}
	unlink(path);
}

TEST(test_no_file)
{
	struct arena arena = { 0 };

	assert_null(domain_in(&arena, "/nonexistent/resolv.conf"));
	arena_clear(&arena);
}

RUN_TESTS(NULL, NULL)
