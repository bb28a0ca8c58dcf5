#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

TEST(test_callers_list)
{
	static const struct {
		const char *value, *ids;
	} rows[] = {
		{ "", "" },
		{ "0", "0" },
		{ "2,0", "2 0" },
		{ " 1 , 3 ", "1 3" },
		{ "-1", "" },
		{ "0,-1,2", "0" }, /* nothing counts after an entry that is none */
		{ "GPU-8932f937-d72c,MIG-a1/2/0", "GPU-8932f937-d72c MIG-a1/2/0" },
		{ "NoDevFiles", "" },
	};
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(
			str_join(&a, gpu_visible_from(&a, rows[i].value, "/nowhere"),
				 " "),
			rows[i].ids);
}

TEST(test_device_files)
{
	char dir[] = "/tmp/gpu-test-XXXXXX";
	static const char *const files[] = { "nvidia0", "nvidia2", "nvidiactl",
					     "nvidia-uvm" };
	cleanup_arena struct arena a = { 0 };
	struct error err;

	assert_non_null(mkdtemp(dir));
	assert_string_equal(str_join(&a, gpu_visible_from(&a, NULL, dir), " "), "");
	for (size_t i = 0; i < 4; i++)
		close(open(path_join(&a, dir, files[i]), O_CREAT | O_WRONLY, 0600));
	assert_string_equal(str_join(&a, gpu_visible_from(&a, NULL, dir), " "), "0 1");
	assert_string_equal(str_join(&a, gpu_visible_from(&a, "", dir), " "), "");
	assert_int_equal(dir_remove(dir, &err), 0);
}

RUN_TESTS(NULL, NULL)
