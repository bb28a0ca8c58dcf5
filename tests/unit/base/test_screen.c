/*
 * What a terminal would show: bars, cursors that go up, escapes; in pieces of any size.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/screen.h"
#include "base/str.h"
#include "tests/unit/unit.h"

enum { MAX = 1600 };

static void collect(void *ctx, const char *line, size_t len)
{
	buf_add(ctx, line, len);
	buf_adds(ctx, "|");
}

static void shown(const char *text, size_t len, size_t piece, const char *want)
{
	cleanup_buf struct buf got = { .max = 1 << 20 };
	struct screen s = { .on_line = collect, .ctx = &got, .max = MAX };

	buf_adds(&got, "");
	for (size_t i = 0; i < len; i += piece)
		screen_write(&s, text + i, len - i < piece ? len - i : piece);
	screen_end(&s);
	assert_string_equal((char *)got.data, want);
}

static const struct {
	const char *text, *want;
} texts[] = {
	{ "", "" },
	{ "a\nb\n\nc", "a|b||c|" },
	{ "a\r\nb\r\n\r\n", "a|b||" },
	{ "a\r\r\nb", "a|b|" },
	/* tqdm, curl, and one that ends without a newline */
	{ "\r 0%\r 50%\r100%\ndone\n", "100%|done|" },
	{ "x\n\r 0%\r 50%\r100%", "x|100%|" },
	{ "100%\r", "100%|" },
	{ "100%\r\r\r", "100%|" },
	{ "50%\r     \rdone\n", "done|" },
	{ "50%\r     \r\nx\n", "x|" },
	{ "50%\r     \r", "" },
	/* a line behind a bar of tqdm, of another process or the same */
	{ "\r 5%|#| 1/20 [00:01<00:19, 1.00it/s]step 1\n\r10%|#| 2/20 [00:02<00:18, "
	  "1.00it/s, x=[1]]step 2\nstep 3\n\n",
	  "step 1|step 2|step 3|10%|#| 2/20 [00:02<00:18, 1.00it/s, x=[1]]|" },
	{ "\rTrain: 5it [1:00:01, 1.00it/s]    Traceback\n  File\nE: x\n",
	  "Traceback|  File|E: x|Train: 5it [1:00:01, 1.00it/s]|" },
	{ "\r1/2 [00:01<00:01, 1it/s]a\n\r2/2 [00:02<00:00, 1it/s]\nb\n",
	  "a|2/2 [00:02<00:00, 1it/s]|b|" },
	{ "\r1/2 [00:01<?, ?it/s]a\nb\n\r1/2 [00:01<?, ?it/s]       \r\rc\n", "a|b|c|" },
	/* what is no such bar, or has text behind it by itself */
	{ "\r1/2 [00:01<00:01, 1it/s] a\r2/2 [00:02<00:00, 1it/s] b\n",
	  "2/2 [00:02<00:00, 1it/s] b|" },
	{ "at [10:30:00, Monday] a\n", "at [10:30:00, Monday] a|" },
	{ "\r1/2 [00:01<00:01, 1it/s\n", "1/2 [00:01<00:01, 1it/s|" },
	{ "\r [1:2] x\n", " [1:2] x|" },
	{ "\r [:::::, ] x\n\r [00:00", " [:::::, ] x| [00:00|" },
	/* pip, rich */
	{ "\033[?25l\r\033[2K 1 MB\r\033[2K 2 MB\033[?25h\nok\n", " 2 MB|ok|" },
	{ "50%\033[K\r60%\033[K\n", "60%|" },
	{ "50%\r\033[Kok\n", "ok|" },
	{ "50%\033[1000Dok\n", "ok|" },
	{ "50%\033[1G\033[0Kok\n", "ok|" },
	/* backspaces of old Keras, a spinner */
	{ "1/10\b\b\b\b\r2/10\n", "2/10|" },
	{ "work |\b/\b-\b \bdone\n", "work done|" },
	{ "caf\303\251\b\be\n", "cae|" },
	/* no escape passes, but colors */
	{ "\033[31mred\033[0m\n", "\033[31mred\033[0m|" },
	{ "red\r\033[0m\nx\n", "red\033[0m|x|" },
	{ "\033[38:2::1:2:3mx\033[m\n", "\033[38:2::1:2:3mx\033[m|" },
	{ "\033[2J\033[Ha\033[Hb\033]0;title\007c\033]2;t\033\\d\n", "a|bcd|" },
	{ "a\033Pq\nb\033(Bc\033cd\033[6ne\033[>0mf\033[?1049hg\n", "a|bcdefg|" },
	{ "a\033\033[31\033[1mb\033[3\nc\033\n", "a\033[1mb|c|" },
	{ "\302\2332J\302\240\303\251\302\n", "\\x9b2J\302\240\303\251\302|" },
	{ "\001\377\200\t\n", "\001\377\200\t|" },
	{ "a\033]never ended\nb\n", "a|b|" },
};

TEST(lines_do_not_depend_on_pieces)
{
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		for (size_t piece = 1; piece < 60; piece++)
			shown(texts[i].text, strlen(texts[i].text), piece, texts[i].want);
}

#define UP "\033[A"
TEST(cursor_up)
{
	/* in pieces, the first state of the upper lines was reported before the cursor went up */
	const char *nested = "\rout 0\n\rin 0" UP "\rout 1\n\rin 1" UP
			     "\rout 2\n\rin 2" UP "\n\nend\n";
	const char *down = "\033[99A1\n2\n3\n4\n5\n6\n7\n8\n9\n\n\n\n\n\n\n16\n17\n18\n";
	const char *rich = "a\nb\nc\r\033[2K" UP "\033[2K" UP "\033[2Ka1\nb1\nc1\n";

	shown(nested, strlen(nested), strlen(nested), "out 2|in 2|end|");
	shown(nested, strlen(nested), 1, "out 0|out 2|in 2|end|");
	shown(rich, strlen(rich), strlen(rich), "a1|b1|c1|");
	shown(rich, strlen(rich), 1, "a|b|a1|b1|c1|");
	shown("a\033[99999999999999999999Ab\n", 26, 26, "b|a|");
	/* down again, past the last row */
	shown(down, strlen(down), strlen(down), "1|2|3|4|5|6|7|8|9|16|17|18|");
}

/* After a block of bars, lines come at once again. */
TEST(forgets_the_cursor)
{
	cleanup_buf struct buf got = { .max = 1 << 20 };
	struct screen s = { .on_line = collect, .ctx = &got, .max = MAX };

	screen_write(&s, "1\n2" UP "\r1\n", 9);
	for (int i = 0; i < 40; i++)
		screen_write(&s, "x\n", 2);
	screen_write(&s, "last\n", 5);
	assert_non_null(strstr((char *)got.data, "last"));
	screen_release(&s);
}

static void state_is(struct screen *s, const char *text, const char *want, bool bar)
{
	const char *got;
	size_t len = 0;
	bool is_bar = false;

	screen_write(s, text, strlen(text));
	got = screen_state(s, &len, &is_bar);
	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(got, want, len);
	assert_int_equal(is_bar, bar);
}

TEST(states_of_unfinished_lines)
{
	cleanup_buf struct buf got = { .max = 1 << 20 };
	struct screen s = { .on_line = collect, .ctx = &got, .max = MAX };

	state_is(&s, "a\n", NULL, false);
	state_is(&s, "Loading...", "Loading...", false);
	state_is(&s, "\r 1%", " 1%", true);
	state_is(&s, "\r 2%\r", " 2%", true);
	state_is(&s, "\n", NULL, false);
	screen_tag(&s, "T ", 2);
	state_is(&s, " 3%\r 4%", "T  4%", true);
	screen_tag(&s, "U ", 2);
	state_is(&s, "\nb", "U b", false);
	screen_end(&s);
	assert_string_equal((char *)got.data, "a| 2%|T  4%|U b|");
}

/* A line of states without end needs no memory; a long one is cut and says so. */
TEST(memory_of_a_line_is_bounded)
{
	cleanup_buf struct buf got = { .max = 1 << 20 };
	struct screen s = {
		.on_line = collect, .ctx = &got, .max = MAX, .mark = " [cut]"
	};
	char zeros[1000];

	memset(zeros, '\r', sizeof(zeros));
	for (int i = 0; i < 1000; i++) {
		screen_write(&s, zeros, sizeof(zeros));
		screen_write(&s, "50% of it", 9);
	}
	assert_true(s.rows[0].text.cap < 20000);
	memset(zeros, 'x', sizeof(zeros));
	for (int i = 0; i < 1000; i++)
		screen_write(&s, zeros, sizeof(zeros));
	screen_write(&s, "\nb\n", 3);
	assert_int_equal(got.len, MAX + 6 + 1 + 2);
	assert_string_equal((char *)got.data + MAX, " [cut]|b|");
	screen_release(&s);
}

/* A character that is cut is not shown in part, however the pieces divide it. */
TEST(a_cut_between_characters)
{
	static const char of_three[] = "\xed\x95\x9c";
	char text[MAX + 100];

	for (size_t before = 0; before < 4; before++)
		for (size_t piece = 1; piece < 9; piece++) {
			cleanup_buf struct buf got = { .max = 1 << 20 };
			struct screen s = { .on_line = collect, .ctx = &got, .max = MAX };

			memset(text, 'x', before);
			for (size_t i = before; i < sizeof(text); i++)
				text[i] = of_three[(i - before) % 3];
			for (size_t i = 0; i < sizeof(text); i += piece)
				screen_write(&s, text + i,
					     sizeof(text) - i < piece ? sizeof(text) - i
								      : piece);
			screen_end(&s);
			assert_int_equal(got.len, before + (MAX - before) / 3 * 3 + 1);
			assert_true(utf8_valid(got.data, got.len));
		}
}

TEST(as_text)
{
	cleanup_arena struct arena a = { 0 };

	assert_string_equal(screen_text(&a, "plain \n text"), "plain \n text");
	assert_string_equal(
		screen_text(&a, "\033[1mx\033[0m\r 50%\r\033[31m100%\nno\033["),
		"100%\nno");
	assert_string_equal(screen_text(&a, "\033]0;title\007"), "");
}

/* Any bytes, in any pieces: the same lines, unless the cursor goes up. */
TEST(random_bytes_in_random_pieces)
{
	static const char bytes[] = "ab \n\r\b\033[]0;12mKJHDG\\\007\302\233\303\251";

	for (unsigned seed = 1; seed < 3000; seed++) {
		cleanup_buf struct buf want = { .max = 1 << 20 };
		struct screen s = { .on_line = collect, .ctx = &want, .max = MAX };
		char text[60];

		srand(seed);
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = bytes[(size_t)rand() % (sizeof(bytes) - 1)];
		buf_adds(&want, "");
		screen_write(&s, text, sizeof(text));
		screen_end(&s);
		shown(text, sizeof(text), 1 + seed % 7, (char *)want.data);
	}
}

RUN_TESTS(NULL, NULL)
