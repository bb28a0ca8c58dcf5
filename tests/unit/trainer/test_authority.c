/* URIs of servers and buckets that there cannot be are refused before a job runs. */
#include "tests/unit/base/base_test.h"
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/authority.h"
#include "trainer/export_spec.h"
#include "trainer/run_spec.h"
#include "trainer/track_spec.h"

TEST(test_servers)
{
	static const struct {
		const char *text;
		bool server, bucket;
	} rows[] = {
		{ "h", true, true },
		{ "h.example.com/x:y", true, true },
		{ "my_host-1:1", true, false },
		{ "h:65535/a/b", true, false },
		{ "10.0.0.1:5000", true, false },
		{ "[::1]:80/x", true, false },
		{ "[fe80::1]", true, false },
		{ "", false, false },
		{ "/x", false, false },
		{ "h:", false, false },
		{ "h:0", false, false },
		{ "h:65536", false, false },
		{ "h:000080", false, false },
		{ "h:8o", false, false },
		{ "h:80:90", false, false },
		{ ":80", false, false },
		{ "[]:80", false, false },
		{ "[::1", false, false },
		{ "[::1]x", false, false },
		{ "a[b", false, false },
		{ "a b", false, false },
		{ "h?x", false, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		check_int(rows[i].text, authority_is_server(rows[i].text),
			  rows[i].server);
		check_int(rows[i].text, authority_is_bucket(rows[i].text),
			  rows[i].bucket);
	}
}

static cJSON *annotated(struct arena *a, const char *more)
{
	return doc(arena_printf(a,
				"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
				"TrainJob, metadata: {name: a, annotations: {%s}}}",
				more));
}

TEST(test_annotations)
{
	static const struct {
		const char *annotations;
		bool taken;
	} rows[] = {
		{ "kftrainer.io/run-dir: 's3://b-1/x'", true },
		{ "kftrainer.io/run-dir: 's3:///x'", false },
		{ "kftrainer.io/run-dir: 'gs://b:1/x'", false },
		{ "kftrainer.io/run-dir: 'hf://org/name'", true },
		{ "kftrainer.io/run-dir: 'hf:///name'", false },
		{ "kftrainer.io/run-dir: 'file:///x'", true },
		{ "kftrainer.io/track: 'mlflow+http://h:5000/p/e'", true },
		{ "kftrainer.io/track: 'mlflow+http://h:99999/e'", false },
		{ "kftrainer.io/track: 'mlflow+http:///e'", false },
		{ "kftrainer.io/export-to: 's3://b'", true },
		{ "kftrainer.io/export-to: 's3://b/x?y#z'", true },
		{ "kftrainer.io/export-to: 's3:///x'", false },
		{ "kftrainer.io/export-to: 'gs://b:80/x'", false },
		{ "kftrainer.io/export-to: 'hf://org/name@main'", true },
		{ "kftrainer.io/export-to: 's3://b', kftrainer.io/register: "
		  "'mlflow+https://h/p'",
		  true },
		{ "kftrainer.io/export-to: 's3://b', kftrainer.io/register: "
		  "'mlflow+https://h:x'",
		  false },
		{ "kftrainer.io/export-to: 's3://b', kftrainer.io/register: "
		  "'model-registry://h/x?y'",
		  false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *tj = annotated(&a, rows[i].annotations);
		struct export_spec export;
		struct track_spec track;
		struct run_spec run;

		check_int(rows[i].annotations,
			  !run_spec_of(&run, &a, tj, NULL, IGNORED) &&
				  !track_spec_of(&track, &a, tj, NULL, IGNORED) &&
				  !export_spec_of(&export, &a, tj, NULL, IGNORED),
			  rows[i].taken);
	}
}

RUN_TESTS(NULL, NULL)
