/*
 * Archives from outside: whatever is read is within its limits, and an entry that is
 * written again is read again as the same.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/relpath.h"
#include "base/str.h"
#include "pack/pack.h"
#include "pack/tar.h"
#include "tests/fuzz/fuzz.h"

struct source {
	const uint8_t *data;
	size_t len;
};

static int take(void *ctx, void *data, size_t len, size_t *ret_len, struct error *err)
{
	struct source *s = ctx;
	size_t n = len < s->len ? len : s->len;

	memcpy(data, s->data, n);
	s->data += n;
	s->len -= n;
	*ret_len = n;
	return 0;
}

static void check_again(const struct tar_entry *e)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf header = { .max = 1 << 20 };
	struct source s;
	struct tar_reader r = { .read = take, .ctx = &s };
	struct tar_entry again;
	struct error err = { 0 };
	bool end;

	tar_header(&header, e);
	FUZZ_CHECK(!header.overflowed && header.len % TAR_BLOCK == 0);
	FUZZ_CHECK((int64_t)header.len == tar_header_size(e));
	s = (struct source){ header.data, header.len };
	FUZZ_CHECK(!tar_next(&r, &a, &again, &end, &err) && !end);
	FUZZ_CHECK(str_eq(again.path, e->path) && again.type == e->type);
	FUZZ_CHECK(again.size == e->size && str_eq(again.target, e->target));
	FUZZ_CHECK(e->type != TAR_FILE || again.executable == e->executable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	struct source s = { data, size };
	struct tar_reader r = { .read = take, .ctx = &s };
	struct error err = { 0 }, bad = { 0 };
	struct tar_entry e;
	unsigned char piece[100];
	bool end = false;

	for (int i = 0; i < 1000 && !tar_next(&r, &a, &e, &end, &err) && !end; i++) {
		size_t n = 1, sum = 0;

		FUZZ_CHECK(e.path && strlen(e.path) <= TAR_MAX_PATH && e.size >= 0);
		FUZZ_CHECK((e.type == TAR_LINK) == (e.target != NULL));
		FUZZ_CHECK(e.type == TAR_FILE || e.size == 0);
		if (!relpath_check(e.path, &bad) && (!e.target || *e.target))
			check_again(&e);
		if (e.target && pack_link_stays(e.target, 0))
			FUZZ_CHECK(*e.target != '/' && !str_starts(e.target, "../"));
		while (n && !tar_read(&r, piece, sizeof(piece), &n, &err))
			sum += n;
		FUZZ_CHECK(sum <= (uint64_t)e.size);
	}
	return 0;
}
