/* A list into its objects, wherever its text is cut. */
#include <stdio.h>

#include "api/split.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"

static const struct row {
	const char *list, *items /* each ends with ; */, *around;
} rows[] = {
	{ "{\"kind\":\"A\",\"items\":[{\"a\":1},{\"b\":[{}]}],\"z\":2}",
	  "{\"a\":1};{\"b\":[{}]};", "{\"kind\":\"A\",\"items\":[],\"z\":2}" },
	{ "{\"items\":[]}", "", "{\"items\":[]}" },
	{ " { \"items\" : [ {} , {} ] } ", "{};{};", " { \"items\" : [    ] } " },
	/* what is deep, before, after, and without them */
	{ "{\"metadata\":{\"a\":{\"b\":[{}]}},\"items\":[{}],\"c\":{\"d\":{\"e\":{}}}}",
	  "{};",
	  "{\"metadata\":{\"a\":{\"b\":[{}]}},\"items\":[],\"c\":{\"d\":{\"e\":{}}}}" },
	{ "{\"a\":{\"b\":{\"c\":{}}}}", "", "{\"a\":{\"b\":{\"c\":{}}}}" },
	/* the member "items" of the list, and no other */
	{ "{\"kinds\":[{\"a\":1}],\"items\":[{}]}", "{};",
	  "{\"kinds\":[{\"a\":1}],\"items\":[]}" },
	{ "{\"items\":{\"x\":[{\"a\":1}]}}", "", "{\"items\":{\"x\":[{\"a\":1}]}}" },
	{ "{\"a\":{\"items\":[{}]},\"itemsitems\":[{}],\"item\":[{}]}", "",
	  "{\"a\":{\"items\":[{}]},\"itemsitems\":[{}],\"item\":[{}]}" },
	{ "{\"items\":[{\"items\":[{},{}]}],\"b\":[{}]}", "{\"items\":[{},{}]};",
	  "{\"items\":[],\"b\":[{}]}" },
	/* what strings hold is no structure */
	{ "{\"a\":\"\\\\\",\"b\":\"\\\"[{\",\"items\":[{\"c\":\"}]\\\"},{\\\\\"},{}]}",
	  "{\"c\":\"}]\\\"},{\\\\\"};{};",
	  "{\"a\":\"\\\\\",\"b\":\"\\\"[{\",\"items\":[]}" },
	/* no list */
	{ "{\"items\":[1,\"x\"]}", "", "{\"items\":[1\"x\"]}" },
	{ "}}]", "", "}}]" },
	{ "", "", "" },
};

static int keep(void *ctx, char *text, size_t len, struct error *err)
{
	buf_add(ctx, text, len);
	buf_adds(ctx, ";");
	return 0;
}

static void feed(struct split *s, const char *text, size_t len)
{
	struct error err = { 0 };

	if (split_feed(s, text, len, &err))
		fail_msg("%.*s: %s", (int)len, text, err.msg);
}

static void expect(const struct buf *b, const char *want, const char *what)
{
	if (strcmp((char *)b->data, want))
		fail_msg("%s: wanted %s, got %s", what, want, (char *)b->data);
}

/* In one piece, in two for each place there is, and byte by byte. */
TEST(test_lists)
{
	cleanup_buf struct buf items = { .max = 1000 };
	struct split s = {
		.item.max = 1000, .around.max = 1000, .on_item = keep, .ctx = &items
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *r = &rows[i];
		size_t len = strlen(r->list);

		for (size_t cut = 0; cut <= len + 1; cut++) {
			split_reset(&s);
			buf_clear(&items);
			if (cut <= len) {
				feed(&s, r->list, cut);
				feed(&s, r->list + cut, len - cut);
			} else {
				for (size_t at = 0; at < len; at++)
					feed(&s, r->list + at, 1);
			}
			expect(&items, r->items, r->list);
			expect(&s.around, r->around, r->list);
		}
	}
	buf_release(&s.item);
	buf_release(&s.around);
}

static int refuse(void *ctx, char *text, size_t len, struct error *err)
{
	++*(int *)ctx;
	return error_set(err, ERR_INVALID, "no more");
}

static void expect_refusal(struct split *s, const char *list, const char *want)
{
	struct error err = { 0 };

	split_reset(s);
	assert_int_equal(split_feed(s, list, strlen(list), &err), -1);
	if (!strstr(err.msg, want))
		fail_msg("%s: wanted %s, got %s", list, want, err.msg);
}

TEST(test_what_ends_it)
{
	cleanup_buf struct buf items = { .max = 1000 };
	struct split s = {
		.item.max = 20, .around.max = 20, .on_item = keep, .ctx = &items
	};
	int calls = 0;

	expect_refusal(&s, "{\"items\":[{\"a\":\"123456789012345\"}]}",
		       "an object of the list");
	expect_refusal(&s, "{\"items\":[{\"a\":\"123456789012345",
		       "an object of the list");
	expect_refusal(&s, "{\"a\":\"123456789012345\"}", "around the objects");
	s.on_item = refuse;
	s.ctx = &calls;
	expect_refusal(&s, "{\"items\":[{},{}]}", "no more");
	assert_int_equal(calls, 1);
	buf_release(&s.item);
	buf_release(&s.around);
}

RUN_TESTS(NULL, NULL)
