/* Random bytes differ from call to call (base/random.h). */
#include "base/random.h"
#include "tests/unit/unit.h"

TEST(test_random)
{
	unsigned char a[64] = { 0 }, b[64] = { 0 };
	struct error err = { 0 };

	assert_int_equal(random_bytes(a, sizeof(a), &err), 0);
	assert_int_equal(random_bytes(b, sizeof(b), &err), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_int_equal(random_bytes(a, 0, &err), 0);
}

RUN_TESTS(NULL, NULL)
