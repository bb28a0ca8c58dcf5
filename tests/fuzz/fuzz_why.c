/*
 * Whatever documents a view is made of, there is a cause, and a paragraph that a terminal
 * can be shown. Input: YAML documents, put where their kind belongs.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "tests/fuzz/fuzz.h"
#include "ui/origin.h"
#include "why/foreign.h"
#include "why/timeline.h"
#include "why/why.h"

enum { MAX_DOCS = 200 };

static bool take(struct view *v, const uint8_t *data, size_t size)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, data, size, &err))
		return false;
	for (int i = 0; docs->child && i < MAX_DOCS; i++) {
		cJSON *doc = cJSON_DetachItemFromArray(docs, 0);

		if (cJSON_IsObject(doc) && str_eq(json_str(doc, "kind"), "Pod"))
			pod_slim(doc);
		view_add(v, doc);
	}
	return v->trainjob != NULL;
}

static void check_text(const char *text)
{
	cleanup_arena struct arena arena = { 0 };

	FUZZ_CHECK(str_eq(text, str_visible(&arena, text, true)));
	FUZZ_CHECK(strchr(text, '\n'));
}

static void check_timeline(const struct view *v)
{
	cleanup_json cJSON *list = timeline_of(v);
	int64_t last = 0;
	const cJSON *e;

	json_each(e, list) {
		FUZZ_CHECK(json_int(e, -1, "at") >= last);
		FUZZ_CHECK(json_str(e, "what") && json_str(e, "text"));
		last = json_int(e, 0, "at");
	}
}

static void check_yaml(const struct view *v)
{
	cleanup_buf struct buf html = { .max = 1 << 24 };

	origin_yaml(&html, v->trainjob, v->runtime);
	FUZZ_CHECK(html.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_view struct view v = { 0 };
	cleanup_json cJSON *why = NULL;
	cleanup_buf struct buf text = { .max = 1 << 20 };

	view_init(&v, "a", "bert");
	v.now = 1767229200;
	if (!take(&v, data, size))
		return 0;
	why = why_explain(&v);
	FUZZ_CHECK(json_get(why, "state") && json_get(why, "causes")->child);
	why_text(&text, why);
	check_text((const char *)text.data);
	check_timeline(&v);
	check_yaml(&v);
	return 0;
}
