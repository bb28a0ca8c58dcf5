/* Host files of the implementations, whose own name is no other host. */
#include "mpi/hostfile.h"

#include "base/cleanup.h"
#include "mpi/wait.h"
#include "tests/unit/base/base_test.h"

static int parse(struct hostfile *ret, struct arena *arena, const char *text,
		 struct error *err)
{
	return hostfile_parse(ret, arena, text, strlen(text), err);
}

static const char *describe(struct arena *a, const struct hostfile *f)
{
	const char *text = "";

	for (size_t i = 0; i < f->n; i++)
		text = arena_printf(a, "%s%s%s%s%s", text, i ? " " : "",
				    f->hosts[i].user ? f->hosts[i].user : "",
				    f->hosts[i].user ? "@" : "", f->hosts[i].name);
	return text;
}

static const struct {
	const char *text, *wanted;
} rows[] = {
	{ "a", "a" },
	{ "j-launcher-0-0.j slots=1\nj-node-0-0.j slots=1\n",
	  "j-launcher-0-0.j j-node-0-0.j" },
	{ "j-node-0-0.j.ns.svc:8\r\nj-node-0-1.j.ns.svc:8\r\n",
	  "j-node-0-0.j.ns.svc j-node-0-1.j.ns.svc" },
	{ "# a comment\n\n  \t\n b max_slots=8 slots = 4 # its GPUs\n#c\n", "b" },
	{ "10.0.0.1 slots=2\nfd00::1\nfe80::1%eth0\n", "10.0.0.1 fd00::1 fe80::1%eth0" },
	{ "me@a slots=1\na:2\nb\na\n", "me@a b" },
	{ "a slots=4 numa=x\nb binding=user:0\n", "a b" },
};

TEST(test_forms)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct hostfile f;

		if (parse(&f, &arena, rows[i].text, &err))
			fail_msg("%s: %s", rows[i].text, err.msg);
		assert_string_equal(describe(&arena, &f), rows[i].wanted);
	}
}

static const struct {
	const char *text, *says;
} bad[] = {
	{ "", "contains no hosts" },
	{ "# a\n\n", "contains no hosts" },
	{ "a\nb slots=x\n",
	  "line 2: invalid slots 'slots=x': expected a number, as in slots=4" },
	{ "a slots=",
	  "line 1: invalid slots 'slots=': expected a number, as in slots=4" },
	{ "a slots=99999999999",
	  "line 1: invalid slots 'slots=99999999999': expected a number, as in slots=4" },
	{ "a:b\n",
	  "line 1: invalid number of processes 'b': expected a number, as in host:4" },
	{ "a:\n",
	  "line 1: invalid number of processes '': expected a number, as in host:4" },
	{ ":4\n", "line 1: invalid host name ':4'" },
	{ "@a\n", "line 1: invalid host name '@a'" },
	{ "^a\n", "line 1: invalid host name '^a'" },
	{ "^me@a\n", "line 1: invalid host name '^me@a'" },
	{ "a@@b\n", "line 1: invalid host name 'a@@b'" },
	{ "me@\n", "line 1: invalid host name 'me@'" },
	{ "-oProxyCommand=x\n", "line 1: invalid host name "
				"'-oProxyCommand=x'" },
	{ "a;reboot\n", "line 1: invalid host name 'a;reboot'" },
};

TEST(test_bad_files)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct hostfile f;

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		err = (struct error){ 0 };
		if (!parse(&f, &arena, bad[i].text, &err))
			fail_msg("accepted: %s", bad[i].text);
		assert_string_equal(err.msg, bad[i].says);
	}
	assert_int_equal(hostfile_parse(&f, &arena, "a\0b", 3, &err), -1);
	assert_string_equal(err.msg, "not a text file: contains a NUL byte");
}

TEST(test_ten_thousand_lines)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = HOSTFILE_MAX };
	struct error err = { 0 };
	struct hostfile f;

	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "n-node-0-%d.n slots=8\n", i % 9000);
	assert_int_equal(hostfile_parse(&f, &arena, (char *)text.data, text.len, &err),
			 0);
	assert_int_equal(f.n, 9000);
	assert_string_equal(f.hosts[8999].name, "n-node-0-8999.n");
}

TEST(test_own_name)
{
	assert_true(wait_is_own_name("j-launcher-0-0", "j-launcher-0-0"));
	assert_true(wait_is_own_name("j-launcher-0-0.j", "j-launcher-0-0"));
	assert_true(wait_is_own_name("j-launcher-0-0.j.ns.svc", "j-launcher-0-0.other"));
	assert_false(wait_is_own_name("j-launcher-0-01", "j-launcher-0-0"));
	assert_false(wait_is_own_name("j-launcher-0", "j-launcher-0-0"));
	assert_false(wait_is_own_name("a", ""));
}

RUN_TESTS(NULL, NULL)
