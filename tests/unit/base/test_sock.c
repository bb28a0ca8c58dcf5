/* Addresses of a host and a port. */
#include "base/sock.h"
#include "tests/unit/base/base_test.h"

TEST(hosts_and_ports)
{
	static const struct {
		const char *text, *host, *port; /* host NULL: refused */
	} rows[] = {
		{ "a.b:80", "a.b", "80" },
		{ ":80", "", "80" },
		{ "10.0.0.1:", "10.0.0.1", "" },
		{ "[fd00::1]:80", "fd00::1", "80" },
		{ "[fe80::1%eth0]:80", "fe80::1%eth0", "80" },
		{ "[10.0.0.1]:80", "10.0.0.1", "80" }, /* as Go's net.SplitHostPort */
		{ "::1:80", "::1", "80" },
		{ ":::80", "::", "80" },
		{ "a", NULL, NULL },
		{ "", NULL, NULL },
		{ "fd00::1", NULL, NULL },
		{ "[::1]", NULL, NULL },
		{ "[::1", NULL, NULL },
		{ "a:b:80", NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *host = NULL, *port = NULL;

		if (sock_split(&a, rows[i].text, &host, &port) != !!rows[i].host)
			fail_msg("%s", rows[i].text);
		if (!rows[i].host)
			continue;
		assert_string_equal(host, rows[i].host);
		assert_string_equal(port, rows[i].port);
	}
}

RUN_TESTS(NULL, NULL)
