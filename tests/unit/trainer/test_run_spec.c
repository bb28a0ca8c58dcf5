/* The TrainJob as a run directory keeps it. */
#include "tests/unit/base/base_test.h"
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/run_spec.h"

#define TRAINJOB "apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, "

static void check_kept(const char *job, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *tj = doc(job);
	const char *text = run_spec_job(&arena, tj);
	cleanup_json cJSON *kept = doc(text);

	assert_false(strchr(text, '$'));
	assert_doc(kept, want);
}

/* Of a variable with a secret's name the value is left out, wherever it is. */
TEST(test_values_of_secrets)
{
	check_kept("{" TRAINJOB
		   "metadata: {name: a}, spec: {suspend: true, trainer: {env: ["
		   "{name: HF_TOKEN, value: s3cret}, {name: EPOCHS, value: '$(N)'}, "
		   "{name: aws_secret_access_key, value: s3cret}, "
		   "{name: API_KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]}, "
		   "initializer: {model: {env: [{name: PASSWORD, value: s3cret}]}}}}",
		   "{" TRAINJOB "metadata: {name: a}, spec: {trainer: {env: ["
		   "{name: HF_TOKEN}, {name: EPOCHS, value: '$(N)'}, "
		   "{name: aws_secret_access_key}, "
		   "{name: API_KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]}, "
		   "initializer: {model: {env: [{name: PASSWORD}]}}}}");
}

/* Of annotations and labels those of kftrainer that its user gives, and the queue. */
TEST(test_metadata)
{
	check_kept("{" TRAINJOB
		   "metadata: {name: a, namespace: ns, uid: u, resourceVersion: '1', "
		   "labels: {team: x, kueue.x-k8s.io/queue-name: q}, annotations: {"
		   "note: x, kftrainer.io/supervise: 'true', "
		   "kftrainer.io/supervision: x, kftrainer.io/submitted: x, "
		   "kftrainer.io/workspace-store: x, kftrainer.io/run-dir: 's3://a/b'}}, "
		   "spec: {}}",
		   "{" TRAINJOB "metadata: {name: a, namespace: ns, uid: u, "
		   "labels: {kueue.x-k8s.io/queue-name: q}, annotations: {"
		   "kftrainer.io/supervise: 'true', kftrainer.io/run-dir: 's3://a/b'}}, "
		   "spec: {}}");
}

/* ... also in what the user wrote. */
TEST(test_values_of_secrets_of_the_user)
{
	check_kept(
		"{" TRAINJOB "metadata: {name: a, annotations: {"
		"kubectl.kubernetes.io/last-applied-configuration: '{\"apiVersion\":"
		"\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"spec\":{\"trainer\":"
		"{\"env\":[{\"name\":\"TOKEN\",\"value\":\"s3cret\"}]}}}'}}, spec: {}}",
		"{" TRAINJOB "metadata: {name: a}, spec: {}, submitted: {" TRAINJOB
		"spec: {trainer: {env: [{name: TOKEN}]}}}}");
}

/* What a folder of Windows or of a desktop has in its name is said to be refused. */
TEST(test_characters_of_a_uri)
{
	static const char *const uris[] = { "file:///mnt/c/John Doe",
					    "file:///home/jos\u00e9", "file:///a$b" };
	struct error err = { 0 };
	struct run_spec s;

	for (size_t i = 0; i < N_ELEMENTS(uris); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *tj =
			doc(arena_printf(&a,
					 "{" TRAINJOB "metadata: {name: a, annotations: {"
					 "kftrainer.io/run-dir: '%s'}}, spec: {}}",
					 uris[i]));

		assert_int_equal(run_spec_of(&s, &a, tj, NULL, &err), -1);
		assert_non_null(strstr(err.msg, "in ASCII without spaces and $"));
	}
}

/* What is for a run directory is refused without one, unless it is of the runtime. */
TEST(test_options_of_no_run_directory)
{
	static const struct {
		const char *annotation, *refused; /* refused: NULL: it is not */
	} rows[] = {
		{ "keep-checkpoints: '5'", "keep-checkpoints: requires " },
		{ "run-dir-secret: s3", "run-dir-secret: requires " },
		{ "resume: 'true'", "resume: requires " },
		{ "resume: 'false'", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		cleanup_json cJSON *none = doc("{" TRAINJOB "metadata: {name: a}}");
		cleanup_json cJSON *of_runtime =
			doc(arena_printf(&a, "{kftrainer.io/%s}", rows[i].annotation));
		cleanup_json cJSON *tj = doc(arena_printf(
			&a,
			"{" TRAINJOB
			"metadata: {name: a, annotations: {kftrainer.io/%s}}}",
			rows[i].annotation));
		struct run_spec s;

		check_int(rows[i].annotation, run_spec_of(&s, &a, tj, NULL, &err),
			  rows[i].refused ? -1 : 0);
		if (rows[i].refused)
			assert_string_equal(err.msg, arena_printf(&a, "kftrainer.io/%s%s",
								  rows[i].refused,
								  RUN_DIR_ANNOTATION));
		assert_int_equal(run_spec_of(&s, &a, none, of_runtime, &err), 0);
	}
}

RUN_TESTS(NULL, NULL)
