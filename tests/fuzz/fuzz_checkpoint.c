/* A .complete of any bytes: what is read stays below its directory, and reads the same again. */
#include "runs/checkpoint.h"

#include "base/cleanup.h"
#include "base/relpath.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf out = { .max = 8 * 1024 * 1024 };
	struct checkpoint_manifest c, again;
	int64_t bytes = 0;

	if (checkpoint_read_manifest(&c, &arena, (const char *)data, size, IGNORED))
		return 0;
	FUZZ_CHECK(checkpoint_name_valid(c.head.name));
	checkpoint_print(&out, &c.head);
	for (int64_t i = 0; i < c.head.files; i++) {
		FUZZ_CHECK(!relpath_check(c.files[i].path, IGNORED));
		FUZZ_CHECK(c.files[i].rank < c.head.nodes && c.files[i].size >= 0);
		bytes += c.files[i].size;
		checkpoint_print_file(&out, &c.files[i]);
	}
	FUZZ_CHECK(bytes == c.head.bytes);
	FUZZ_CHECK(!checkpoint_read_manifest(&again, &arena, (const char *)out.data,
					     out.len, IGNORED));
	FUZZ_CHECK(!checkpoint_compare(&c.head, &again.head));
	return 0;
}
