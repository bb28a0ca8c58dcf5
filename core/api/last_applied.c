/* last_applied.c - the annotation of `kubectl apply` (api/last_applied.h). */
#include "api/last_applied.h"

#include <string.h>

#include "api/meta.h"
#include "api/typed.h"
#include "base/cleanup.h"
#include "base/str.h"

static cJSON *annotated(const struct node *type, const cJSON *live)
{
	const char *text = meta_annotation(live, LAST_APPLIED);
	cleanup_json cJSON *ret = NULL;

	if (!text || !*text || json_parse(&ret, text, strlen(text), IGNORED))
		return NULL;
	if (!cJSON_IsObject(ret) ||
	    !str_eq(meta_api_version(ret), meta_api_version(live)) ||
	    !str_eq(meta_kind(ret), meta_kind(live)) ||
	    typed_check(type, ret, true, IGNORED))
		return NULL;
	return STEAL(ret);
}

cJSON *last_applied_fields(const struct node *type, const cJSON *live)
{
	cleanup_json cJSON *was = annotated(type, live);
	cleanup_typed_changes struct typed_changes c = { 0 };
	cleanup_json cJSON *all = NULL, *unchanged = NULL;

	if (!was)
		return NULL;
	typed_compare(type, was, live, NULL, &c);
	all = typed_fields(type, was);
	unchanged = fieldset_difference(all, c.modified);
	return fieldset_difference(unchanged, c.removed);
}

/* ---- update ------------------------------------------------------------------------ */

static void sort(cJSON *doc)
{
	cJSON *c;

	if (cJSON_IsObject(doc))
		fieldset_sort(doc);
	json_each(c, doc)
		sort(c);
}

/* As Go's encoding/json: keys sorted, HTML characters escaped, a newline at the end. */
static void encode(struct buf *out, const cJSON *config)
{
	cleanup_json cJSON *doc = json_dup(config);
	cleanup_free char *text = NULL;

	json_del(doc, JSON_PATH("metadata", "annotations", LAST_APPLIED));
	sort(doc);
	text = json_text(doc);
	for (const char *p = text; *p; p++)
		if (strchr("<>&", *p))
			buf_printf(out, "\\u%04x", (unsigned)*p);
		else
			buf_add(out, p, 1);
	buf_adds(out, "\n");
}

static size_t size_of(const cJSON *annotations)
{
	const cJSON *a;
	size_t n = 0;

	json_each(a, annotations)
		n += strlen(a->string) + (cJSON_IsString(a) ? strlen(a->valuestring) : 0);
	return n;
}

void last_applied_update(cJSON *obj, const cJSON *config)
{
	const char *old = meta_annotation(obj, LAST_APPLIED);
	cleanup_buf struct buf text = { .max = META_ANNOTATIONS_MAX };

	if (!old || !*old)
		return;
	encode(&text, config);
	if (!text.overflowed)
		meta_set_annotation(obj, LAST_APPLIED, (const char *)text.data);
	if (text.overflowed || size_of(meta_annotations(obj)) > META_ANNOTATIONS_MAX)
		json_del(obj, JSON_PATH("metadata", "annotations", LAST_APPLIED));
}
