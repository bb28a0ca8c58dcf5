/* A submission against an API server: all is asked about before anything is stored. */
#include "client/submit.h"

#include "tests/unit/client/outcome_test.h"

#define JOB                                                                      \
	"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {" \
	"name: one}\nspec: {runtimeRef: {name: torch-distributed}}\n"
#define CONFIG "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n---\n"

struct world {
	struct apiserver server;
	char file[64];
	struct told told;
	struct submit_conf conf;
	struct submission s;
	struct error err;
};

static void begin(struct world *w, const char *text)
{
	int fd;

	*w = (struct world){ .file = "/tmp/kftrainer-submit-XXXXXX" };
	fd = mkstemp(w->file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	w->conf.job.file = w->file;
	w->conf.job.default_ns = "team";
	w->conf.out = told_outcomes(&w->told);
	apiserver_start(&w->server);
	if (submission_read(&w->s, w->server.kube, &w->conf, &w->err))
		fail_msg("%s", w->err.msg);
}

static void end(struct world *w)
{
	submission_release(&w->s);
	apiserver_stop(&w->server);
	unlink(w->file);
}

TEST(test_asked_then_stored)
{
	struct world w;

	begin(&w, CONFIG JOB);
	assert_int_equal(submission_jobs(&w.s), 1);
	assert_int_equal(submission_dry_run(&w.s, &w.err), 0);
	assert_int_equal(w.s.refused + w.s.exist, 0);
	assert_int_equal(objects_of(&w.server, "trainjobs"), 0);
	assert_int_equal(objects_of(&w.server, "configmaps"), 0);
	assert_string_equal(w.told.text, "");
	assert_int_equal(submission_send(&w.s, &w.err), 0);
	assert_string_equal(w.told.text, "ConfigMap team/settings: created\n"
					 "TrainJob team/one: created\n");
	assert_int_equal(objects_of(&w.server, "trainjobs"), 1);
	end(&w);
}

TEST(test_a_name_that_is_taken)
{
	const struct kube_write plain = { 0 };
	cleanup_json cJSON *other = NULL;
	struct world w;

	begin(&w, CONFIG JOB);
	other = meta_new("trainer.kubeflow.org/v1alpha1", "TrainJob", "team", "one");
	assert_int_equal(kube_create(w.server.kube, other, &plain, NULL, &w.err), 0);
	assert_int_equal(submission_dry_run(&w.s, &w.err), 0);
	assert_int_equal(w.s.exist, 1);
	assert_int_equal(w.s.refused, 0);
	assert_non_null(
		strstr(w.told.text, ":7:12: TrainJob team/one already exists: see"));
	end(&w);
	begin(&w, JOB);
	json_put_str(other, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp");
	assert_int_equal(kube_create(w.server.kube, other, &plain, NULL, &w.err), 0);
	assert_int_equal(submission_dry_run(&w.s, &w.err), 0);
	assert_int_equal(w.s.exist, 1);
	assert_non_null(strstr(w.told.text, "TrainJob team/one is still being deleted: "
					    "submit again once it is gone"));
	end(&w);
}

/* What an API server would prune, with its place and what was meant. */
TEST(test_own_warnings)
{
	struct world w;

	begin(&w,
	      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
	      "metadata: {name: one}\nspec:\n  runtimeRef: {name: torch-distributed}\n"
	      "  trainer: {numNode: 2}\n");
	assert_int_equal(submission_dry_run(&w.s, &w.err), 0);
	assert_int_equal(w.s.refused, 0);
	assert_non_null(strstr(w.told.text, ":6:13: spec.trainer.numNode"));
	assert_non_null(strstr(w.told.text, "numNodes"));
	end(&w);
}

/* Refused after all: what was created before is deleted again. */
TEST(test_taken_back)
{
	struct world w;

	begin(&w, CONFIG JOB);
	assert_int_equal(submission_dry_run(&w.s, &w.err), 0);
	apiserver_do(&w.server, "{'op':'fail','status':422,'n':1,'of':'POST trainjobs'}");
	assert_int_equal(submission_send(&w.s, &w.err), 0);
	assert_int_equal(w.s.refused, 1);
	assert_int_equal(objects_of(&w.server, "configmaps"), 0);
	assert_non_null(strstr(w.told.text, "ConfigMap team/settings: deleted again\n"));
	end(&w);
}

/* The way to the API server is no fault of the file. */
TEST(test_a_server_that_fails)
{
	struct world w;

	begin(&w, JOB);
	apiserver_do(&w.server, "{'op':'unserved','on':true,'plural':'trainjobs'}");
	assert_int_equal(submission_dry_run(&w.s, &w.err), -1);
	assert_int_equal(w.err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(w.err.msg, "kftrainer install"));
	assert_int_equal(w.s.refused, 0);
	end(&w);
	begin(&w, JOB);
	apiserver_do(&w.server, "{'op':'fail','status':500,'n':1,'of':'POST trainjobs',"
				"'why':'etcdserver: mvcc: database space exceeded'}");
	assert_int_equal(submission_dry_run(&w.s, &w.err), -1);
	assert_non_null(strstr(w.err.msg, "exceeded; etcd stores nothing until space is "
					  "freed"));
	end(&w);
}

RUN_TESTS(NULL, NULL)
