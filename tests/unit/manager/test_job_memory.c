/* What is kept of a TrainJob between two passes: by a clock of the test's own. */

#include "manager/job_memory.h"
#include "tests/unit/unit.h"

/* A few changes are undone at once, those of a writer that does not give up each second. */
TEST(test_others_that_do_not_give_up_are_slowed)
{
	struct job_memories n;
	int64_t now = 1000000;

	job_memories_init(&n);
	assert_int_equal(job_memory_changed(&n, "a/none", now), 0);
	job_memory_of(&n, "a/b");
	for (int i = 0; i < OTHERS_BURST; i++)
		assert_int_equal(job_memory_changed(&n, "a/b", now), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(job_memory_changed(&n, "a/b", now), OTHERS_MS);
	assert_int_equal(job_memory_of(&n, "a/b")->foreign_changes, OTHERS_BURST + 1000);
	job_memory_of(&n, "a/other");
	assert_int_equal(job_memory_changed(&n, "a/other", now), 0);
	now += OTHERS_MS;
	assert_int_equal(job_memory_changed(&n, "a/b", now), 0);
	assert_int_equal(job_memory_changed(&n, "a/b", now), OTHERS_MS);
	now += OTHERS_BURST * OTHERS_MS;
	for (int i = 0; i < OTHERS_BURST; i++)
		assert_int_equal(job_memory_changed(&n, "a/b", now), 0);
	job_memories_release(&n);
}

RUN_TESTS(NULL, NULL)
