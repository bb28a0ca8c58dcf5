/* Documents of files: Lists, places, and how many errors are told. */
#include "tests/unit/spec/spec_test.h"

#include "api/meta.h"
#include "spec/input.h"

TEST(test_lists_are_their_items)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_input struct input in = { 0 };
	struct error err = { 0 };

	write_text("list.yaml", "kind: ConfigMap\nmetadata: {name: a}\n---\n"
				"apiVersion: v1\nkind: List\nitems:\n"
				"- metadata: {name: b}\n"
				"- apiVersion: v1\n  kind: List\n  items:\n"
				"  - metadata: {name: c}\n");
	assert_int_equal(input_read(&in, "list.yaml", &err), 0);
	assert_int_equal(in.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(meta_name(in.docs[i].obj),
				    ((const char *[]){ "a", "b", "c" })[i]);
	assert_string_equal(doc_place(&arena, &in.docs[0], "metadata.name"),
			    "list.yaml:2:12: ");
	assert_string_equal(doc_place(&arena, &in.docs[2], "metadata.name"),
			    "list.yaml:11:16: ");
}

TEST(test_json_objects_and_typed_lists)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_input struct input in = { 0 };
	struct error err = { 0 };

	write_text("stream.json",
		   "{\"kind\": \"X\",\n"
		   " \"metadata\": {\"n\\u0061me\": \"a\"}}{\"apiVersion\": \"v9\", "
		   "\"kind\": \"YList\", \"items\": [\n"
		   "{\"metadata\": {\"name\": \"b\"}}, {\"kind\": \"Z\", \"metadata\": "
		   "{\"name\": \"c\"}}]}\n"
		   "{\"kind\": \"YList\", \"items\": null}\n"
		   "---\n"
		   "metadata: {name: d}\n");
	assert_int_equal(input_read(&in, "stream.json", &err), 0);
	assert_int_equal(in.n, 4);
	assert_string_equal(meta_kind(in.docs[1].obj), "Y");
	assert_string_equal(meta_api_version(in.docs[1].obj), "v9");
	assert_string_equal(meta_kind(in.docs[2].obj), "Z");
	for (size_t i = 0; i < 4; i++) {
		static const char *const places[] = { "2:15", "3:15", "3:57", "6:12" };

		assert_string_equal(doc_place(&arena, &in.docs[i], "metadata.name"),
				    arena_printf(&arena, "stream.json:%s: ", places[i]));
	}
}

TEST(test_what_cannot_be_read)
{
	static const struct {
		const char *name, *text, *says;
		enum error_kind kind;
	} rows[] = {
		{ "none.yaml", NULL, "none.yaml", ERR_INVALID },
		{ "empty.yaml", "# nothing\n", "empty.yaml: ", ERR_INVALID },
		{ "bad.yaml", "a: [\n", "bad.yaml:2:1: ", ERR_FORMAT },
		{ "twice.yaml", "a: 1\na: 2\n", "twice.yaml:2:1: ", ERR_FORMAT },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_input struct input in = { 0 };
		struct error err = { 0 };

		if (rows[i].text)
			write_text(rows[i].name, rows[i].text);
		assert_int_equal(input_read(&in, rows[i].name, &err), -1);
		if (!str_starts(err.msg, rows[i].says) || err.kind != rows[i].kind)
			fail_msg("%s: kind %d: %s", rows[i].name, err.kind, err.msg);
	}
}

TEST(test_known_kinds)
{
	static const struct {
		const char *text;
		bool known;
		const char *error; /* of what is nearly ours; NULL: none */
	} rows[] = {
		{ JOB_HEAD, true, NULL },
		{ "apiVersion: v1\nkind: ConfigMap\n", false, NULL },
		{ "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJb\n", false,
		  "did you mean 'TrainJob'?" },
		{ "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: PyTorchJob\n", false,
		  "set apiVersion to kubeflow.org/v1 (MPIJob: v2beta1), then turn it into a "
		  "TrainJob with 'kftrainer convert'" },
		{ "apiVersion: trainer.kubeflow.org/v1\nkind: TrainJob\n", false,
		  "trainer.kubeflow.org/v1alpha1" },
		{ "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", false,
		  "kftrainer convert" },
		{ "kind: TrainJob\n", false, "apiVersion" },
		{ "apiVersion: v1\n", false, "kind" },
	};
	cleanup_schema struct schema *schema = NULL;
	struct error err = { 0 };

	assert_int_equal(input_schema(&schema, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_input struct input in = { 0 };
		struct lines lines = { 0 };
		const struct reporter to = { add_line, &lines };

		write_text("kind.yaml", rows[i].text);
		assert_int_equal(input_read(&in, "kind.yaml", &err), 0);
		assert_int_equal(doc_is_known(&in.docs[0], schema), rows[i].known);
		assert_int_equal(doc_report(&in.docs[0], "", &to), rows[i].error != NULL);
		assert_int_equal(lines.n, rows[i].error != NULL);
		if (rows[i].error && !strstr(lines.text, rows[i].error))
			fail_msg("%s: %s", rows[i].text, lines.text);
	}
}

/* A file with more errors than anybody reads: the rest is counted. */
TEST(test_many_errors)
{
	cleanup_input struct input in = { 0 };
	struct lines lines = { 0 };
	const struct reporter to = { add_line, &lines };
	struct error err = { 0 };

	write_text("many.yaml", JOB_HEAD);
	assert_int_equal(input_read(&in, "many.yaml", &err), 0);
	for (int i = 0; i < INPUT_ERRORS_MAX + 7; i++)
		field_error_add(&in.docs[0].errs, FIELD_INVALID, "kind", NULL, "%d", i);
	assert_int_equal(doc_report(&in.docs[0], "oh: ", &to), INPUT_ERRORS_MAX + 7);
	assert_int_equal(lines.n, INPUT_ERRORS_MAX);
	assert_true(str_starts(lines.text, "oh: many.yaml:2:1: kind: Invalid value: "));
	assert_false(doc_may_report(&in.docs[0]));
	lines = (struct lines){ 0 };
	input_report_rest(&in, &to);
	assert_string_equal(lines.text, "many.yaml: 8 more errors\n");
	input_report_rest(&in, &to);
	assert_int_equal(lines.n, 1);
	lines = (struct lines){ 0 };
	assert_false(doc_may_report(&in.docs[0]));
	input_report_rest(&in, &to);
	assert_string_equal(lines.text, "many.yaml: 1 more error\n");
}

RUN_TESTS(enter_folder, leave_folder)
