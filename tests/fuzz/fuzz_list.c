/*
 * A list comes out the same however it is cut, and when all of it is JSON, its
 * objects are the elements of "items" and the rest is the list without them.
 */
#include <string.h>

#include "api/split.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

static int on_item(void *ctx, char *text, size_t len, struct error *err)
{
	buf_add(ctx, text, len);
	buf_adds(ctx, "\n");
	return 0;
}

static void run(const uint8_t *data, size_t size, size_t step, struct buf *items,
		struct buf *around)
{
	struct split s = { .item = { .max = SIZE_MAX / 4 },
			   .around = { .max = SIZE_MAX / 4 },
			   .on_item = on_item,
			   .ctx = items };
	struct error err = { 0 };

	for (size_t at = 0; at < size; at += step)
		FUZZ_CHECK(!split_feed(&s, data + at, size - at < step ? size - at : step,
				       &err));
	buf_add(around, s.around.data ? s.around.data : (const void *)"", s.around.len);
	buf_release(&s.item);
	buf_release(&s.around);
}

/* The rest, with the objects as "items" again, is the list. */
static void check_parts(cJSON *list, const struct buf *items, const struct buf *around)
{
	cleanup_json cJSON *rest = NULL;
	struct error err = { 0 };
	const char *text = items->data ? (char *)items->data : "";
	const cJSON *e;

	FUZZ_CHECK(!json_parse(&rest, around->data, around->len, &err));
	json_each(e, json_get((const cJSON *)list, "items")) {
		cleanup_json cJSON *got = NULL;
		const char *newline = strchr(text, '\n');

		FUZZ_CHECK(newline);
		FUZZ_CHECK(!json_parse(&got, text, (size_t)(newline - text), &err));
		FUZZ_CHECK(json_equal(got, e));
		text = newline + 1;
	}
	FUZZ_CHECK(!*text);
	json_put(list, cJSON_CreateArray(), "items");
	FUZZ_CHECK(json_equal(rest, list));
}

static bool has_plain_objects(const cJSON *list, const uint8_t *data, size_t size)
{
	const cJSON *items = json_get(list, "items"), *e;

	if (!cJSON_IsObject(list) || !cJSON_IsArray(items) || memchr(data, '\n', size) ||
	    !memmem(data, size, "\"items\"", 7))
		return false;
	json_each(e, items) {
		if (!cJSON_IsObject(e))
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf items = { .max = SIZE_MAX / 4 },
			       around = { .max = SIZE_MAX / 4 };
	cleanup_buf struct buf items2 = { .max = SIZE_MAX / 4 },
			       around2 = { .max = SIZE_MAX / 4 };
	cleanup_json cJSON *list = NULL;
	struct error err = { 0 };

	if (!size)
		return 0;
	run(data, size, size, &items, &around);
	run(data, size, 1 + data[0] % 7, &items2, &around2);
	FUZZ_CHECK(items.len == items2.len && around.len == around2.len);
	FUZZ_CHECK(!items.len || !memcmp(items.data, items2.data, items.len));
	FUZZ_CHECK(!memcmp(around.data, around2.data, around.len));
	if (!json_parse(&list, data, size, &err) && has_plain_objects(list, data, size))
		check_parts(list, &items, &around);
	return 0;
}
