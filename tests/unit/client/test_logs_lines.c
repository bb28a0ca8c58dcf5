/*
 * A log in pieces, broken off and taken up again anywhere: each line once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/logs_lines.h"
#include "tests/unit/unit.h"

enum { MAX = 100 };

static void collect(void *ctx, const char *line, size_t len)
{
	buf_add(ctx, line, len);
	buf_adds(ctx, "|");
}

/* What is shown of `text`, given in pieces of so many bytes. */
static void shown(const char *text, size_t piece, bool timestamps, const char *want)
{
	cleanup_buf struct buf got = { .max = 1 << 20 };
	struct log_lines l = {
		.on_line = collect, .ctx = &got, .max = MAX, .timestamps = timestamps
	};

	buf_adds(&got, "");
	log_lines_begin(&l);
	for (size_t i = 0, len = strlen(text); i < len; i += piece)
		log_lines_feed(&l, text + i, len - i < piece ? len - i : piece);
	log_lines_end(&l);
	log_lines_release(&l);
	assert_string_equal((char *)got.data, want);
}

#define A   "2026-01-31T23:59:59.000000001Z "
#define B   "2026-01-31T23:59:59.1+00:00 "
#define X10 "xxxxxxxxxx"
#define X40 X10 X10 X10 X10
#define X60 X40 X10 X10
static const struct {
	const char *text, *want, *stamped;
} texts[] = {
	{ "", "", "" },
	{ A "a\n" A "\n" B "b", "a||b|", A "a|" A "|" B "b|" },
	{ A "a\r\n", "a|", A "a|" },
	{ A "\r 0%\r 9%\r10%\n" B "b\033[2J\n", "10%|b|", A "10%|" B "b|" },
	{ A " 0%\r 9%", " 9%|", A " 9%|" },

	{ "no stamp\n\n2026-01-31T23:59:59Z\n", "no stamp||2026-01-31T23:59:59Z|",
	  "no stamp||2026-01-31T23:59:59Z|" },
	{ "2026-99-31T23:59:59Z x\n2026-01-31T23:59:59 x\n",
	  "2026-99-31T23:59:59Z x|2026-01-31T23:59:59 x|",
	  "2026-99-31T23:59:59Z x|2026-01-31T23:59:59 x|" },
	{ A X60 X60 "\n" A "b\n", X60 X40 " ... [line truncated]|b|",
	  A X60 X40 " ... [line truncated]|" A "b|" },
	{ A X60 X40 "\n" A "b\n", X60 X40 "|b|", A X60 X40 "|" A "b|" },
};

TEST(lines_do_not_depend_on_pieces)
{
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		for (size_t piece = 1; piece < 130; piece++) {
			shown(texts[i].text, piece, false, texts[i].want);
			shown(texts[i].text, piece, true, texts[i].stamped);
		}
}

/* Two bars, of which the upper one is a line before the cursor goes up to it. */
TEST(bar_above_another_bar)
{
	shown(A "out 0\n" B "\rin 0\033[A\rout 1\n" B "\rin 1\n", 1000, false,
	      "out 1|in 1|");
}

/* ---- a kubelet: a log of which it gives what is not older than a second ------------- */

enum { N_LINES = 400 };

struct line {
	int64_t sec;
	long nsec;
	char text[64];
};

/* Stamps that are often equal, and sometimes a little older than the one before. */
static void write_log(struct line *log, unsigned seed)
{
	int64_t t = 1000LL * 1000 * 1000 * 1000;

	srand(seed);
	for (int i = 0; i < N_LINES; i++) {
		int64_t at;

		t += rand() % 3 ? 0 : rand() % (seed % 5 ? 80000000 : 1500000000);
		at = t - (rand() % 8 ? 0 : rand() % 5000);
		log[i].sec = at / 1000000000;
		log[i].nsec = (long)(at % 1000000000);
		snprintf(log[i].text, sizeof(log[i].text), "line %d", i);
	}
}

/* The answer from `since` on, of lines [from, to), as text. */
static void answer(struct buf *out, const struct line *log, int from, int to,
		   int64_t since)
{
	char second[TIME_TEXT_SIZE];

	for (int i = from; i < to; i++)
		if (log[i].sec >= since) {
			time_text(log[i].sec, second);
			buf_printf(out, "%.19s.%09ldZ %s\n", second, log[i].nsec,
				   log[i].text);
		}
}

struct expect {
	int next;
};

static void in_order(void *ctx, const char *line, size_t len)
{
	struct expect *e = ctx;
	char want[64];

	snprintf(want, sizeof(want), "line %d", e->next++);
	if (strlen(want) != len || memcmp(line, want, len))
		fail_msg("'%.*s' instead of '%s'", (int)len, line, want);
}

/* Read with breaks at any byte; `first`: where a --tail begins. */
static void read_broken(const struct line *log, int first)
{
	struct expect e = { first };
	struct log_lines l = {
		.on_line = in_order, .ctx = &e, .max = 1000, .partial = first > 0
	};

	for (int tries = 0; tries < 30; tries++) {
		cleanup_buf struct buf text = { .max = 1 << 20 };
		int64_t since = log_lines_since(&l);
		int to = tries == 29 ? N_LINES : first + rand() % (N_LINES - first);
		size_t len;

		buf_adds(&text, "");
		answer(&text, log, since < 0 ? first : 0, to, since);
		len = tries < 29 && text.len ? (size_t)rand() % text.len : text.len;
		log_lines_begin(&l);
		log_lines_feed(&l, (char *)text.data, len);
	}
	log_lines_end(&l);
	assert_int_equal(e.next, N_LINES);
}

TEST(no_line_is_lost_or_repeated_after_a_break)
{
	struct line log[N_LINES];

	for (unsigned seed = 0; seed < 200; seed++) {
		write_log(log, seed);
		read_broken(log, 0);
	}
}

/* What the tail left out comes with the second it began in, and is not shown. */
TEST(broken_tail)
{
	struct line log[N_LINES];

	for (unsigned seed = 0; seed < 200; seed++) {
		write_log(log, seed);
		for (int i = 1; i < N_LINES; i++) /* no two equal, in order */
			if (log[i].sec * 1000000000 + log[i].nsec <=
			    log[i - 1].sec * 1000000000 + log[i - 1].nsec) {
				log[i].sec = log[i - 1].sec;
				log[i].nsec = log[i - 1].nsec + 1;
			}
		read_broken(log, (int)(seed * 37 % N_LINES / 2));
	}
}

/* The file was rotated while nobody read: the old lines do not come again. */
TEST(rotated)
{
	cleanup_buf struct buf got = { .max = 1000 };
	struct log_lines l = { .on_line = collect, .ctx = &got, .max = MAX };

	log_lines_begin(&l);
	log_lines_feed(&l, A "1\n" A "2\n" B "3\n", strlen(A A B) + 6);
	log_lines_begin(&l);
	log_lines_feed(&l, "2026-01-31T23:59:59.5Z 4\n2026-01-31T23:59:59.5Z 5\n", 50);
	log_lines_end(&l);
	assert_string_equal((char *)got.data, "1|2|3|4|5|");
}

/* Broken off within a bar: its states go on, and the line is there once. */
TEST(broken_bar)
{
	static const char log[] = A "1\n" A "\r10%\r20%\r30%\n" B "2\n";

	for (size_t at = 0; at < sizeof(log) * sizeof(log); at++) {
		cleanup_buf struct buf got = { .max = 1000 };
		struct log_lines l = { .on_line = collect, .ctx = &got, .max = MAX };

		log_lines_begin(&l);
		log_lines_feed(&l, log, at / sizeof(log));
		log_lines_begin(&l);
		log_lines_feed(&l, log, at % sizeof(log));
		log_lines_begin(&l);
		log_lines_feed(&l, log, sizeof(log) - 1);
		log_lines_end(&l);
		assert_string_equal((char *)got.data, "1|30%|2|");
	}
}

static void collect_bytes(void *ctx, const char *data, size_t len)
{
	buf_add(ctx, data, len);
}

/* Every byte once, wherever it was broken off. */
TEST(no_byte_is_lost_or_repeated_after_a_break)
{
	static const char log[] = A "1\n" A "\r10%\r\033[2J\0\r30%\r\n" B "2";
	static const char want[] = "1\n\r10%\r\033[2J\0\r30%\r\n2";

	for (size_t at = 0; at < sizeof(log); at++) {
		cleanup_buf struct buf got = { .max = 1000 };
		struct log_lines l = {
			.on_bytes = collect_bytes, .ctx = &got, .max = MAX, .raw = true
		};

		log_lines_begin(&l);
		log_lines_feed(&l, log, at);
		log_lines_begin(&l);
		log_lines_feed(&l, log, sizeof(log) - 1);
		log_lines_end(&l);
		assert_int_equal(got.len, sizeof(want) - 1);
		assert_memory_equal(got.data, want, got.len);
	}
}

/* Of several logs: lines, and a long one in pieces. */
TEST(raw_lines)
{
	cleanup_buf struct buf got = { .max = 1000 };
	struct log_lines l = { .on_line = collect, .ctx = &got, .max = MAX, .raw = true };

	log_lines_begin(&l);
	log_lines_feed(&l, A X60 X60 "\n" A "a\rb", 2 * strlen(A) + 124);
	log_lines_end(&l);
	assert_string_equal((char *)got.data, X60 X40 "|" X10 X10 "|a\rb|");
}

RUN_TESTS(NULL, NULL)
