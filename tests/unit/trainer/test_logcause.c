/* What log lines give away: trainer/logcause.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/logcause.h"

static void test_exceptions(void **state)
{
	static const struct {
		const char *line;
		bool is;
	} rows[] = {
		{ "ValueError: no such column", true },
		{ "torch.cuda.OutOfMemoryError: CUDA out of memory", true },
		{ "my.Exception: boom", true },
		{ "an Error without a colon", false },
		{ "Error:", false },
		{ "epoch 1", false },
		{ "", false },
		{ "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
		  false },
		{ "torch.distributed.elastic.multiprocessing.api.SignalException: 15",
		  false },
		{ "ChildFailedError: ", false },
		{ "SignalException: Process 7 got signal: 15 Error: ", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (log_is_exception(rows[i].line, strlen(rows[i].line)) != rows[i].is)
			fail_msg("%s", rows[i].line);
}

static void test_causes(void **state)
{
	static const struct {
		const char *line, *text, *word, *hint;
	} rows[] = {
		{ "ModuleNotFoundError: No module named 'a.b'",
		  "ModuleNotFoundError: No module named '", "a.b",
		  "Python module a.b is not installed for the interpreter that ran" },
		{ "[Errno 98] Address already in use", "ddress already in use", "",
		  "another process listens on the port that the script uses" },
		{ "OSError: [Errno 28] No space left on device",
		  "No space left on device", "", "a disk is full" },
		/* the better explanation, wherever it stands */
		{ "Connection reset by peer; CUDA out of memory", "CUDA out of memory",
		  "", "the GPU's memory is full: use a smaller batch, or more GPUs" },
		{ "Connection refused", "Connection refused", "",
		  "the peer does not listen: check the logs of the other ranks" },
		/* no end of the word; a text that is cut; none */
		{ "ModuleNotFoundError: No module named 'a.b", NULL, NULL, NULL },
		{ "No space left on devic", NULL, NULL, NULL },
		{ "loss: 0.5", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = 0;
		const char *word = "";
		const struct log_cause *c =
			log_cause_of(rows[i].line, strlen(rows[i].line), &word, &len);
		cleanup_arena struct arena a = { 0 };
		const char *of = str_slice(&a, word, len);
		cleanup_buf struct buf out = { .max = 1000 };

		if (!c != !rows[i].text)
			fail_msg("%s", rows[i].line);
		if (!c)
			continue;
		assert_string_equal(c->text, rows[i].text);
		assert_string_equal(of, rows[i].word);
		log_cause_hint(&out, c, of);
		assert_int_equal(out.len, strlen(rows[i].hint));
		assert_memory_equal(out.data, rows[i].hint, out.len);
	}
}

/* Whose failure it is: then the logs of others are worth a look. */
static void test_failures_of_a_peer(void **state)
{
	static const struct {
		const char *line;
		bool peer;
	} rows[] = {
		{ "NCCL error", true },
		{ "Connection refused", true },
		{ "RendezvousTimeoutError", true },
		{ "connectFullMesh failed", true },
		{ "ModuleNotFoundError: No module named 'a'", false },
		{ "MemoryError", false },
		{ "No space left on device", false },
		{ "Address already in use", false },
		{ "CUDA out of memory", false },
		{ "Name or service not known", false },
		{ "Temporary failure in name resolution", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *word;
		size_t len;
		const struct log_cause *c =
			log_cause_of(rows[i].line, strlen(rows[i].line), &word, &len);

		if (!c || c->peer != rows[i].peer)
			fail_msg("%s", rows[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_failures_of_a_peer),
	};

	return cmocka_run_group_tests_name("logcause", tests, NULL, NULL);
}
