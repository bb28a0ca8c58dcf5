/*
 * What is shown of reported progress. Digits: keras#1203, neuralfit#5, detectron2#1923 (a
 * loss or a rate shown as 0.000), pytorch-lightning#4971 (80808423243.000), pymc#1541.
 */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/progress_line.h"

#define JOB(status)    "{status: {trainerStatus: {" status "}}}"
#define METRICS(list)  JOB("metrics: [" list "]")
#define M(name, value) "{name: \"" name "\", value: \"" value "\"}"

TEST(test_a_line)
{
	static const struct {
		const char *job, *want;
	} rows[] = {
		{ "{}", "running" },
		{ JOB(""), "running" },
		{ JOB("progressPercentage: 0"), "running: 0 %" },
		{ JOB("estimatedRemainingSeconds: 190"), "running: 3m10s left" },
		{ JOB("progressPercentage: 45, estimatedRemainingSeconds: 190, metrics: "
		      "[" M("loss", "1.2345") "]"),
		  "running: 45 %, loss 1.23, 3m10s left" },
		{ METRICS(M("loss", "nan")), "running: loss NaN" },
		{ JOB("progressPercentage: 99, estimatedRemainingSeconds: 0"),
		  "running: 99 %, 0s left" },
		{ JOB("progressPercentage: 100, estimatedRemainingSeconds: 0"),
		  "running: 100 %" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *job = doc(rows[i].job);

		assert_string_equal(progress_line(&arena, job), rows[i].want);
	}
}

TEST(test_metrics)
{
	static const struct {
		const char *list, *want;
	} rows[] = {
		{ "", "" },
		{ M("loss", "0.00004730001"), "loss 4.73e-05" },
		{ M("lr", "0.00025"), "lr 0.00025" },
		{ M("loss", "80808423243"), "loss 8.08e+10" },
		{ M("loss", "0.884"), "loss 0.884" },
		{ M("loss", "12345.678"), "loss 12346" },
		{ M("loss", "-3"), "loss -3" },
		{ M("total_steps", "123456789"), "total_steps 123456789" },
		{ M("tokens", "1234567890"), "tokens 1.23e+09" },
		{ M("loss", "1e999") "," M("a", "-Infinity"), "loss inf, a -inf" },
		{ M("loss", "tensor(0.5012, device='cuda:0')"), "loss 0.501" },
		{ M("loss", "tensor(nan)"), "loss NaN" },
		{ M("a", "0x10") "," M("b", "1.5x") "," M("c", "nan(1)"),
		  "a 0x10, b 1.5x, c nan(1)" },
		{ M("a", "+") "," M("b", "e") "," M("c", "."), "a +, b e, c ." },
		{ M("note", "a long text that says much"), "note a long te..." },
		/* the order */
		{ M("epoch", "1") "," M("eval_loss", "2") "," M("loss", "3"),
		  "loss 3, eval_loss 2, epoch 1" },
		{ M("a", "1") "," M("b", "2") "," M("c", "3") "," M("Train/Loss", "4"),
		  "Train/Loss 4, a 1, b 2" },
		{ M("a", "1") "," M("b", "2") "," M("c", "3") "," M("grad_norm", "nan"),
		  "grad_norm NaN, a 1, b 2" },
		{ M("lossy", "1") "," M("los", "2") "," M("loss", "3"),
		  "loss 3, lossy 1, los 2" },
		/* a stranger's bytes */
		{ M("a\\e[2Jb", "1\\e[H"), "a\\x1b[2Jb 1\\x1b[H" },
		{ M("a\\tb\\nc", "1"), "a b\\x0ac 1" },
		{ M("\\u202eabc", "1"), "\\u202eabc 1" },
		{ M("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1"),
		  "aaaaaaaaaaaaaaaaaaaaa... 1" },
		{ M("éééééééééééééé", "1"), "éééééééééé... 1" },
		{ M("aaaaaaaaaaaaaaaaaaaaaaaa",
		    "xxxxxxxxxxxx") "," M("bbbbbbbbbbbbbbbbbbbbbbbb",
					  "yyyyyyyyyyyy") "," M("cccccccc", "1"),
		  "aaaaaaaaaaaaaaaaaaaaaaaa xxxxxxxxxxxx, cccccccc 1" },
		/* objects that only a damaged store can have */
		{ "1, {name: a}, {value: b}, {name: '', value: ''}, {name: 1, value: 2}",
		  "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *text = arena_printf(&arena, METRICS("%s"), rows[i].list);
		cleanup_json cJSON *job = doc(text);

		assert_string_equal(progress_metrics(&arena, job), rows[i].want);
	}
}

TEST(test_lines_that_are_printed)
{
	static const struct {
		int64_t at;
		const char *line;
		bool want;
	} rows[] = {
		{ 0, "pods starting: node 0/2, ps 0/1", true },
		{ 0, "pods starting: node 0/2, ps 0/1", false },
		{ 0, "pods starting: node 0/2, ps 1/1", true },
		{ 1, "running", true },
		{ 2, "running: 1 %, loss 3", true },
		{ 3, "running: 1 %, loss 2", false },
		{ 4, "running: 10 %, loss 2", true },
		{ 5, "running: 10 %, loss NaN", true },
		{ 6, "running: 10 %, loss NaN, 3s left", false },
		{ 7, "running: 10 %", false },
		{ 60005, "running: 10 %", true },
		{ 60006, "running: 1/2 pods ready", true },
		{ 60007, "running: 2/2 pods ready", true },
		{ 60008, "running: 10 %", true },
		{ 60009, "job-2: running: 10 %", true },
		{ 60010, "job-2: running: 10 %, 1s left", false },
		{ 60011, "running: loss 3", true },
		{ 60012, "running: loss 2", false },
	};
	struct progress_pace pace = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (progress_is_due(&pace, rows[i].line, rows[i].at) != rows[i].want)
			fail_msg("%s", rows[i].line);
}

TEST(test_a_nan_stays)
{
	struct progress_pace pace = { 0 };

	assert_false(progress_turns_nan(&pace, "running: 1 %, loss 2"));
	assert_true(progress_turns_nan(&pace, "running: 2 %, loss NaN, 3s left"));
	assert_false(progress_turns_nan(&pace, "running: 3 %, loss NaN"));
	assert_false(progress_turns_nan(&pace, "running: 4 %, loss 2, info x"));
	assert_true(progress_turns_nan(&pace, "running: 4 %, loss -inf"));
}

TEST(test_many_percentages)
{
	struct progress_pace pace = { 0 };
	int printed = 0;

	for (int i = 0; i <= 100; i++) {
		char line[50];

		snprintf(line, sizeof(line), "running: %d %%", i);
		printed += progress_is_due(&pace, line, i * 100);
	}
	assert_in_range(printed, 20, 22);
	assert_true(progress_is_due(&pace, "running", 10000));
	assert_true(progress_is_due(&pace, "running: 3 %", 110 * 1000));
}

RUN_TESTS(NULL, NULL)
