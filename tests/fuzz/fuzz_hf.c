/*
 * What comes from outside to hf://, by the first byte: 'u' a URI (what is taken has a
 * valid name, a revision, a folder that stays inside), 'l' a header Link, else a page of
 * the hub's list (what is listed stays below the target, has a size and a sum, and is
 * there once).
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/relpath.h"
#include "base/str.h"
#include "store/hf_tree.h"
#include "store/hf_uri.h"
#include "tests/fuzz/fuzz.h"

static void fuzz_uri(struct arena *arena, const char *text)
{
	struct hf_repo r = { 0 };
	struct error err = { 0 }, ignored = { 0 };

	if (hf_repo_parse(&r, arena, text, true, &err)) {
		FUZZ_CHECK(err.kind && *err.msg);
		return;
	}
	FUZZ_CHECK(str_eq(r.kind, "models") || str_eq(r.kind, "datasets"));
	FUZZ_CHECK(hf_id_valid(r.id) && *r.revision && !strstr(r.id, ".."));
	FUZZ_CHECK(!*r.folder || !relpath_check(r.folder, &ignored));
}

static void fuzz_page(const void *data, size_t size, const char *folder)
{
	struct hf_tree_want want = { .folder = folder };
	struct store_listing l = { 0 };
	struct error err = { 0 };

	if (hf_tree_page(&l, data, size, &want, &err) || hf_tree_end(&l, &err)) {
		FUZZ_CHECK(err.kind && *err.msg);
		store_listing_release(&l);
		return;
	}
	for (size_t i = 0; i < l.n; i++) {
		const struct store_object *o = &l.objects[i];

		FUZZ_CHECK(*o->path); /* the engine checks where it leads */
		FUZZ_CHECK(o->size >= -1 && o->size <= STORE_MAX_SIZE);
		FUZZ_CHECK(!o->sum == (o->digest == STORE_DIGEST_NONE));
		FUZZ_CHECK(!o->sum ||
			   strlen(o->sum) == (o->digest == STORE_SHA256 ? 64 : 40));
		FUZZ_CHECK(i == 0 || strcmp(l.objects[i - 1].path, o->path) < 0);
		FUZZ_CHECK(!*folder || str_starts(o->path, folder));
	}
	store_listing_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text, *next;

	if (!size)
		return 0;
	text = str_slice(&arena, (const char *)data + 1, size - 1);
	if (*data == 'u')
		fuzz_uri(&arena, text);
	else if (*data == 'l') {
		next = hf_tree_next(&arena, text);
		FUZZ_CHECK(!next || strstr(text, next));
	} else
		fuzz_page(data + 1, size - 1, *data == 'd' ? "data" : "");
	return 0;
}
