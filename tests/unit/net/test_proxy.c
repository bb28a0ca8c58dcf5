#include "net/proxy.h"

#include <stdlib.h>

#include "base/str.h"
#include "tests/unit/base/base_test.h"

static const char *const names[] = { "HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
				     "http_proxy",  "ALL_PROXY",   "all_proxy",
				     "NO_PROXY",    "no_proxy",    "REQUEST_METHOD" };

static int clear_environment(void **state)
{
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		unsetenv(names[i]);
	return 0;
}

static void test_urls(void **state)
{
	static const struct {
		const char *url, *want, *shown, *message;
	} rows[] = {
		{ "http://p:3128", "http://p:3128", "p:3128", NULL },
		{ "HTTP://p", "http://p:80", "p:80", NULL },
		{ "https://p/x?y#z", "https://p:443", "p:443", NULL },
		{ "socks5://p", "socks5h://p:1080", "p:1080", NULL },
		{ "socks5h://[::1]:1", "socks5h://[::1]:1", "[::1]:1", NULL },
		{ "http://u:p%40ss@p:1", "http://u:p%40ss@p:1", "p:1", NULL },
		{ "http://u:a@b@@p", "http://u:a%40b%40@p:80", "p:80", NULL },
		{ "socks4://p:1", NULL, NULL, "unsupported scheme 'socks4'; expected " },
		{ "ftp://p", NULL, NULL, "unsupported scheme 'ftp'" },
		{ "://p", NULL, NULL, "unsupported scheme ''" },
		{ "p:3128", NULL, NULL, "not a URL of a proxy; expected http://" },
		{ "", NULL, NULL, "not a URL of a proxy" },
		{ "http://", NULL, NULL, "not a URL of a proxy; expected http://[USER" },
		{ "http://geheim@", NULL, NULL, "not a URL of a proxy" },
		{ "http://geheim@:1", NULL, NULL, "not a URL of a proxy" },
		{ "http://p:0", NULL, NULL, "not a URL of a proxy" },
		{ "http://p:geheim", NULL, NULL, "not a URL of a proxy" },
		{ "http://a:b:1", NULL, NULL, "not a URL of a proxy" },
		{ "http://[::1", NULL, NULL, "not a URL of a proxy" },
		{ "http://p x:1", NULL, NULL, "not a URL of a proxy" },
		{ "http://geheim\r\n@p:1", NULL, NULL, "not a URL of a proxy" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		struct proxy got;
		int rc = proxy_parse(&got, &a, rows[i].url, &err);

		check_int(rows[i].url, rc, rows[i].message ? -1 : 0);
		check_text(rows[i].url, got.url, rows[i].want);
		check_text(rows[i].url, got.shown, rows[i].shown);
		if (rows[i].message && !strstr(err.msg, rows[i].message))
			fail_msg("%s: %s", rows[i].url, err.msg);
		assert_null(strstr(err.msg, "geheim"));
	}
}

/* As Go's httpproxy decides. */
static void test_no_proxy(void **state)
{
	static const struct {
		const char *no_proxy, *host, *port;
		bool direct;
	} rows[] = {
		{ "", "example.com", "443", false },
		{ "", "localhost", "443", true },
		{ "", "foo.localhost", "443", false },
		{ "", "127.9.9.9", "443", true },
		{ "", "[::1]", "443", true },
		{ "*", "example.com", "443", true },
		{ " a , * ", "example.com", "443", true },
		{ "*example.com", "example.com", "443", false },
		{ "example.com", "a.EXAMPLE.com", "443", true },
		{ "example.com", "xexample.com", "443", false },
		{ ".example.com", "example.com", "443", false },
		{ "*.example.com", "a.b.example.com", "443", true },
		{ "*.example.com", "example.com", "443", false },
		{ "example.com:6443", "example.com", "6443", true },
		{ "example.com:6443", "example.com", "443", false },
		{ "example.com:", "example.com", "443", true },
		{ ".", "example.com", "443", false },
		{ ":443", "example.com", "443", false },
		{ "10.0.0.0/8", "10.1.2.3", "443", true },
		{ "10.0.0.0/8", "11.1.2.3", "443", false },
		{ "10.0.0.0/8", "[::ffff:10.1.2.3]", "443", true },
		{ "192.168.1.4/31", "192.168.1.5", "443", true },
		{ "192.168.1.4/31", "192.168.1.6", "443", false },
		{ "0.0.0.0/0", "[fd00::1]", "443", false },
		{ "::/0", "10.1.2.3", "443", false },
		{ "fd00::/8", "[fd00::1]", "443", true },
		{ "10.0.0.0/33", "10.0.0.1", "443", false },
		{ "10.1.2.3", "10.1.2.3", "443", true },
		{ "10.1.2.3:80", "10.1.2.3", "443", false },
		{ "[fd00::1]:443", "[fd00::1]", "443", true },
		{ "fd00::1", "[fd00::1]", "443", true },
		{ "2.3", "10.1.2.3", "443", false },
	};

	setenv("HTTPS_PROXY", "p:1", 1);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct proxy_target t = { "https", rows[i].host, rows[i].port, false };
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		struct proxy got;

		setenv("NO_PROXY", rows[i].no_proxy, 1);
		assert_int_equal(proxy_of_environment(&got, &a, &t, &err), 0);
		if (!got.url != rows[i].direct)
			fail_msg("'%s', %s: %s", rows[i].no_proxy, rows[i].host, got.url);
	}
}

/* "NAME=VALUE ..." */
static void set_all(const char *settings)
{
	cleanup_arena struct arena a = { 0 };
	char **list = str_split(&a, settings, ' ', NULL);

	clear_environment(NULL);
	for (; *list && **list; list++) {
		char *value = strchr(*list, '=');

		*value++ = '\0';
		setenv(*list, value, 1);
	}
}

static void test_variables(void **state)
{
	static const struct {
		const char *settings, *scheme, *want; /* URL and variable, or the error */
		bool all;
	} rows[] = {
		{ "", "https", "", false },
		{ "HTTPS_PROXY=a:1 https_proxy=b:1", "https", "http://a:1 HTTPS_PROXY",
		  false },
		{ "HTTPS_PROXY= https_proxy=b:1", "https", "http://b:1 https_proxy",
		  false },
		{ "HTTP_PROXY=a:1", "https", "", false },
		{ "HTTP_PROXY=a:1", "http", "http://a:1 HTTP_PROXY", false },
		{ "http_proxy=a:1", "http", "http://a:1 http_proxy", false },
		{ "HTTPS_PROXY=socks5://a", "https", "socks5h://a:1080 HTTPS_PROXY",
		  false },
		{ "ALL_PROXY=a:1", "https", "", false },
		{ "ALL_PROXY=a:1", "https", "http://a:1 ALL_PROXY", true },
		{ "ALL_PROXY=a:1 https_proxy=b:1", "https", "http://b:1 https_proxy",
		  true },
		{ "HTTPS_PROXY=a:1 NO_PROXY=x no_proxy=h", "https",
		  "http://a:1 HTTPS_PROXY", false },
		{ "HTTPS_PROXY=a:1 NO_PROXY= no_proxy=h", "https", "", false },
		{ "HTTP_PROXY=a:1 REQUEST_METHOD=GET", "http",
		  "HTTP_PROXY: not used in a CGI program (REQUEST_METHOD is set), where "
		  "a client can set it",
		  false },
		{ "HTTPS_PROXY=a:1 REQUEST_METHOD=GET", "https", "http://a:1 HTTPS_PROXY",
		  false },
		{ "HTTPS_PROXY=quic://a", "https",
		  "HTTPS_PROXY: unsupported scheme 'quic'; expected http, "
		  "https or socks5",
		  false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct proxy_target t = { rows[i].scheme, "h", "443", rows[i].all };
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		struct proxy got;
		const char *text = err.msg;

		set_all(rows[i].settings);
		if (!proxy_of_environment(&got, &a, &t, &err))
			text = got.url ? arena_printf(&a, "%s %s", got.url, got.setting)
				       : "";
		check_text(rows[i].settings, text, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test_setup(test_no_proxy, clear_environment),
		cmocka_unit_test_setup(test_variables, clear_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
