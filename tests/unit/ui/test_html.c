/* Text from outside never becomes markup. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "ui/html.h"

static void check_text(const char *in, size_t len, const char *want)
{
	cleanup_buf struct buf out = { .max = 4096 };

	html_text(&out, in, len);
	assert_string_equal((char *)out.data, want);
}
#define TEXT(in, want) check_text(in, sizeof(in) - 1, want)

static void check_line(const char *in, const char *want)
{
	cleanup_buf struct buf out = { .max = 4096 };

	html_line(&out, in, strlen(in));
	assert_string_equal((char *)out.data, want);
}

TEST(markup_is_text)
{
	TEXT("<script>alert('1')</script>&\"",
	     "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;");
}

TEST(bytes_that_are_not_text)
{
	TEXT("a\0b", "a\xef\xbf\xbd"
		     "b");
	TEXT("\xff\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	TEXT("\033]8;;x\007", "\xef\xbf\xbd]8;;x\xef\xbf\xbd");
	TEXT("a\xe2\x80\xae"
	     "b",
	     "a\\u202eb");
	TEXT("\xd7\xa9\xd7\x9c\tx\n", "\xd7\xa9\xd7\x9c\tx\n");
}

TEST(colors_become_classes)
{
	check_line("\033[32mINFO \033[0mx", "<span class=\"f2\">INFO </span>x");
	check_line("\033[1;31;47m<b>", "<span class=\"f1 b7 bold\">&lt;b&gt;</span>");
	check_line("\033[90mgrey\033[39m.", "<span class=\"f8\">grey</span>.");
	check_line("\033[38;5;9mx\033[38;2;1;4;5my", "<span class=\"f9\">x</span>y");
	check_line("\033[38;5;200mx\033[m", "x");
	check_line("\033[1m\033[22mplain", "plain");
	check_line("\033[38m\033[48;2mx", "x");
	check_line("\033[99999999999999999999mx", "x");
	/* As kubernetes/dashboard#6774 and grafana#99527 have them. */
	check_line(
		"\033[0;39m\033[1;34m12:53 \033[34mINFO\033[0;39m \033[36mo.a\033[0;39m [x]",
		"<span class=\"f4 bold\">12:53 </span><span class=\"f4 bold\">INFO</span> <span class=\"f6\">o.a</span> [x]");
	check_line("\033[01;32m[00] INFO", "<span class=\"f2 bold\">[00] INFO</span>");
}

TEST(a_line_of_nothing_but_colors_stays_small)
{
	cleanup_buf struct buf in = { .max = 16384 }, out = { .max = 1 << 20 };

	for (int i = 0; i < 1600; i++)
		buf_printf(&in, "\033[%dmx", 31 + i % 5);
	html_line(&out, (char *)in.data, in.len);
	assert_in_range(out.len, 1600, 1600 + 200 * 26);
	assert_memory_equal(out.data + out.len - 3, "xxx", 3);
}

static void check_runs(const char *in, const char *want)
{
	cleanup_buf struct buf out = { .max = 4096 };

	html_line_json(&out, in, strlen(in));
	assert_string_equal((char *)out.data, want);
}

TEST(a_line_as_json_has_the_same_runs)
{
	check_runs("\033[32mINFO \033[0mx", ",[\"f2\",\"INFO \"],\"x\"");
	check_runs("a\033[1mb", ",\"a\",[\"bold\",\"b\"]");
	check_runs("say \"\\\"\t<i>", ",\"say \\\"\\\\\\\"\\t<i>\"");
	check_runs("\xff\xe2\x80\xae", ",\"\xef\xbf\xbd\\\\u202e\"");
}

TEST(text_as_json)
{
	cleanup_buf struct buf out = { .max = 4096 };

	html_json(&out, "two\nlines \001\"");
	html_json(&out, NULL);
	assert_string_equal((char *)out.data, "\"two\\nlines \xef\xbf\xbd\\\"\"\"\"");
}

RUN_TESTS(NULL, NULL)
