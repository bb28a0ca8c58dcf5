#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "local/run.h"
#include "local/state.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"

/* Real processes: sh, true, sleep. A container's script sees its folder as $D. */

static char home[] = "/tmp/kftrainer-run-XXXXXX";
static bool flat; /* the second time: as where namespaces are not allowed */

/* ---- a job, and what is seen of it ---------------------------------------------------- */

struct game {
	struct buf lines, progress, notes, details;
	struct local_result *result;
	struct error err;
	int rc;
};

static void on_progress(void *ctx, const char *line)
{
	struct game *g = ctx;

	buf_printf(&g->progress, "%s\n", line);
}

static void on_note(void *ctx, const char *line)
{
	struct game *g = ctx;

	buf_printf(&g->notes, "%s\n", line);
}

static void on_detail(void *ctx, const char *line)
{
	struct game *g = ctx;

	buf_printf(&g->details, "%s\n", line);
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct game *g = ctx;

	buf_printf(&g->lines, "%s: %.*s\n", prefix, (int)len, line);
}

static void setup_game(struct game *g)
{
	*g = (struct game){ .lines.max = 65536,
			    .progress.max = 65536,
			    .notes.max = 65536,
			    .details.max = 65536 };
	g->result = xcalloc(1, sizeof(*g->result));
	/* so that ->data is a string */
	buf_adds(&g->lines, "");
	buf_adds(&g->progress, "");
	buf_adds(&g->notes, "");
	buf_adds(&g->details, "");
}

static void end_game(struct game *g)
{
	buf_release(&g->lines);
	buf_release(&g->progress);
	buf_release(&g->notes);
	buf_release(&g->details);
	free(g->result);
}

/* clang-format off */
/* A replicatedJob that trains: pods, more of the Job's spec, restartPolicy, script. */
#define JOB_(name, n, rest, job, policy, script)                                      \
	"{'name':'" name "'," rest "'template':{'metadata':{'labels':"                 \
	"{'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}},'spec':{"          \
	"'parallelism':" n ",'completions':" n "," job "'template':{'spec':{"          \
	"'terminationGracePeriodSeconds':2,'restartPolicy':'" policy "','containers':"  \
	"[{'name':'" name "','command':['sh','-c','" script "']}]}}}}}"
#define NODES(n, script) JOB_("node", n, "", "'backoffLimit':0,", "Never", script)
#define OBJECTS(spec, rjobs) \
	"[{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'j'}," \
	"'spec':{" spec "'replicatedJobs':[" rjobs "]}}]"
/* clang-format on */

static void play_with(struct game *g, const char *name, const char *spec,
		      const char *text, const struct local_controller *controller)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *objects = parse(text);
	cleanup_json cJSON *tj = parse(arena_printf(
		&a,
		"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob',"
		"'metadata':{'name':'%s','namespace':'ns','uid':'of-its-API',"
		"'creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{%s}}",
		name, spec));
	struct local_run_opts opts = {
		.ns = "ns",
		.name = name,
		.trainjob = tj,
		.objects = objects,
		.controller = controller,
		.workdir = getenv("D"),
		.no_namespaces = flat,
		.observer = { .on_progress = on_progress,
			      .on_line = on_line,
			      .on_note = on_note,
			      .on_detail = on_detail,
			      .ctx = g },
	};

	g->rc = local_run(&opts, g->result, &g->err);
}

/* Run it; `spec` is the TrainJob's. */
static void play(struct game *g, const char *name, const char *spec, const char *text)
{
	play_with(g, name, spec, text, NULL);
}

static void run(struct game *g, const char *name, const char *text)
{
	setup_game(g);
	play(g, name, "", text);
	if (g->rc)
		fail_msg("%s", g->err.msg);
}

static void has(const struct buf *b, const char *want)
{
	if (!strstr((const char *)b->data, want))
		fail_msg("have: %s\nwant: %s", b->data, want);
}

static void report_has(const struct game *g, const char *want)
{
	if (!strstr(g->result->report, want))
		fail_msg("have: %s\nwant: %s", g->result->report, want);
}

/* "Complete", "Failed/FailedJobs" */
static void expect_state(const char *name, const char *want)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = NULL;
	struct error err = { 0 };
	const cJSON *c;
	const char *have = "";

	assert_int_equal(state_get(&tj, "ns", name, &err), 0);
	json_each(c, json_get((const cJSON *)tj, "status", "conditions"))
		if (str_eq(json_str(c, "status"), "True"))
			have = arena_printf(&a, "%s/%s", json_str(c, "type"),
					    json_str(c, "reason"));
	assert_string_equal(have, want);
}

/* ---- ends ------------------------------------------------------------------------------- */

static void test_success(void **state)
{
	cleanup_json cJSON *tj = NULL;
	struct error err = { 0 };
	struct game g;
	const cJSON *job;

	run(&g, "ok", OBJECTS("", NODES("2", "echo hello $JOB_COMPLETION_INDEX")));
	assert_int_equal(g.result->exit_code, 0);
	assert_string_equal(g.result->report, "");
	has(&g.lines, "node-0: hello 0\n");
	has(&g.lines, "node-1: hello 1\n");
	has(&g.progress, "pods starting: node 0/2\n");
	expect_state("ok", "Complete/AllJobsCompleted");
	assert_int_equal(state_get(&tj, "ns", "ok", &err), 0);
	job = json_get((const cJSON *)tj, "status", "jobsStatus")->child;
	assert_string_equal(json_str(job, "name"), "node");
	assert_int_equal(json_int(job, -1, "succeeded"), 1);
	assert_int_equal(json_int(job, -1, "active"), 0);
	assert_string_equal(json_str(tj, "metadata", "uid"), "of-its-API");
	assert_string_equal(json_str(tj, "metadata", "creationTimestamp"),
			    "2026-01-01T00:00:00Z");
	end_game(&g);
}

static void test_first_failing_rank(void **state)
{
	struct game g;

	run(&g, "fails",
	    OBJECTS("",
		    NODES("2", "if [ $JOB_COMPLETION_INDEX = 1 ]; then echo boom >&2; "
			       "exit 3; fi; trap : TERM; sleep 30 & wait; exit 9")));
	assert_int_equal(g.result->exit_code, 3);
	assert_false(g.result->interrupted);
	report_has(&g, "node-1 failed first, after ");
	report_has(&g, "s: exit code 3\nlast line:\n    boom\nlogs: ");
	expect_state("fails", "Failed/FailedJobs");
	end_game(&g);
}

/* Launchers look after their processes now and then: the victim's may end first. */
static void test_cause_on_another_rank(void **state)
{
	struct game g;

	run(&g, "victim",
	    OBJECTS("",
		    NODES("2", "if [ $JOB_COMPLETION_INDEX = 1 ]; then echo ValueError: "
			       "boom; touch $D/gone; sleep 30; fi; until [ -e $D/gone ]; "
			       "do sleep 0.01; done; sleep 0.1; echo RuntimeError: "
			       "Connection closed by peer; exit 5")));
	assert_int_equal(g.result->exit_code, 5);
	report_has(&g, "node-1 failed first, after ");
	report_has(&g,
		   "error: ValueError: boom\nnode-0 then lost that peer: exit code 5\n");
	end_game(&g);
}

static void test_command_not_found(void **state)
{
	struct game g;

	run(&g, "missing",
	    "[{'kind':'JobSet','metadata':{'name':'j'},'spec':{'replicatedJobs':[{'name':"
	    "'node','template':{'spec':{'backoffLimit':0,'template':{'spec':{"
	    "'restartPolicy':'Never','containers':[{'name':'node','command':"
	    "['no-such-command-here']}]}}}}}]}}]");
	assert_int_equal(g.result->exit_code, 127);
	report_has(&g, "exit code 127");
	report_has(&g, "no-such-command-here");
	report_has(&g, "hint: command not found");
	end_game(&g);
}

static void test_killed_by_signal(void **state)
{
	struct game g;

	run(&g, "segv", OBJECTS("", NODES("1", "kill -SEGV $$$$")));
	assert_int_equal(g.result->exit_code, 139);
	report_has(&g, "killed by SIGSEGV (signal 11)");
	end_game(&g);
}

/* ---- policies, with processes ------------------------------------------------------------ */

static void test_depends_on(void **state)
{
	struct game g;

	run(&g, "deps",
	    OBJECTS("",
		    JOB_("first", "1", "", "", "Never", "sleep 0.1; echo 1 >> $D/order") "," JOB_(
			    "second", "1",
			    "'dependsOn':[{'name':'first','status':'Complete'}],", "",
			    "Never", "cat $D/order; echo 2")));
	assert_int_equal(g.result->exit_code, 0);
	has(&g.lines, "second-0: 1\nsecond-0: 2\n");
	end_game(&g);
}

static void test_restart_in_place(void **state)
{
	struct game g;

	run(&g, "onfailure",
	    OBJECTS("", JOB_("node", "1", "", "'backoffLimit':3,", "OnFailure",
			     "test -e $D/was || { touch $D/was; exit 4; }; echo again")));
	assert_int_equal(g.result->exit_code, 0);
	has(&g.lines, "node-0: again\n");
	has(&g.notes, "node-0 failed; restarting it (restart 1)\n");
	end_game(&g);
}

static void test_jobset_restart(void **state)
{
	struct game g;

	run(&g, "restart",
	    OBJECTS("'failurePolicy':{'maxRestarts':2},",
		    NODES("2",
			  "echo x >> $D/n; if [ $JOB_COMPLETION_INDEX = 0 ]; then "
			  "sleep 0.2; test $(wc -l < $D/n) -gt 4; else sleep 0.4; fi")));
	assert_int_equal(g.result->exit_code, 0);
	has(&g.notes, "restart 1 of the job: recreating all pods\n");
	has(&g.notes, "restart 2 of the job: recreating all pods\n");
	expect_state("restart", "Complete/AllJobsCompleted");
	end_game(&g);
}

static void test_out_of_restarts(void **state)
{
	struct game g;

	run(&g, "norestart",
	    OBJECTS("'failurePolicy':{'maxRestarts':1},", NODES("1", "exit 7")));
	assert_int_equal(g.result->exit_code, 7);
	report_has(&g, "node-0 failed first");
	report_has(&g, "ReachedMaxRestarts: jobset failed due to reaching max number of "
		       "restarts (first failed job: j-node-0)");
	expect_state("norestart", "Failed/ReachedMaxRestarts");
	end_game(&g);
}

/* ---- its controller ------------------------------------------------------------------------ */

/* Says that the deadline has passed once the pod runs and it is called for that. */
struct clerk {
	int passes, failures, pods, gone;
	int64_t due_ms;
	bool deleted;
	char active[16]; /* pods, when it was called last */
};

static int clerk_pass(void *ctx, const cJSON *jobset_status, struct local_pass *ret,
		      struct error *err)
{
	struct clerk *c = ctx;

	if (c->failures && c->failures--)
		return error_set(err, ERR_BUSY, "not now");
	c->passes++;
	if (c->pods && !c->due_ms)
		c->due_ms = clock_ms() + 200;
	c->deleted = c->due_ms && clock_ms() >= c->due_ms;
	ret->after_ms = c->due_ms && !c->deleted ? c->due_ms - clock_ms() : 0;
	ret->deleted = c->deleted;
	ret->trainjob = parse(
		c->deleted
			? "{'kind':'TrainJob','metadata':{'name':'late','namespace':'ns'},'status':{'conditions':[{'type':'Failed','status':'True','reason':'DeadlineExceeded','message':'too late'}]}}"
			: "{'kind':'TrainJob','metadata':{'name':'late','namespace':'ns'}}");
	ret->events = parse("[{'metadata':{'name':'e'},'reason':'Passed'}]");
	snprintf(c->active, sizeof(c->active), "%d",
		 (int)json_int(
			 json_get(jobset_status, "replicatedJobsStatus")
				 ? json_get(jobset_status, "replicatedJobsStatus")->child
				 : NULL,
			 0, "active"));
	return 0;
}

static void clerk_pod(void *ctx, const cJSON *old, const cJSON *now)
{
	struct clerk *c = ctx;

	c->pods += !old;
	c->gone += !now;
}

static void count_events(const char *job, int least)
{
	cleanup_buf struct buf text = { .max = 65536 };
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	int n = 0;

	if (file_read(&text,
		      arena_printf(&a, "%s/kftrainer/jobs/ns/%s/latest/events",
				   getenv("XDG_STATE_HOME"), job),
		      &err))
		fail_msg("%s", err.msg);
	for (const char *p = (const char *)text.data; (p = strstr(p, "Passed")); p++)
		n++;
	if (n < least)
		fail_msg("%d events: %s", n, text.data);
}

/* It is asked again when it said so, and when it fails; its JobSet is gone: all pods end. */
static void test_controller_deletes(void **state)
{
	struct clerk clerk = { .failures = 1 };
	const struct local_controller controller = { .pass = clerk_pass,
						     .on_pod = clerk_pod,
						     .ctx = &clerk };
	struct game g;

	setup_game(&g);
	play_with(&g, "late", "", OBJECTS("", NODES("1", "sleep 60")), &controller);
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.result->exit_code, 1);
	report_has(&g, "DeadlineExceeded: too late");
	expect_state("late", "Failed/DeadlineExceeded");
	has(&g.notes, "cannot update the TrainJob: not now; trying again\n");
	assert_int_equal(clerk.pods, 1);
	assert_true(clerk.passes > 2);
	count_events("late", 3);
	end_game(&g);
}

/* ---- refused ------------------------------------------------------------------------------ */

static void expect_refused(const char *name, const char *spec, const char *objects,
			   enum error_kind kind, const char *want)
{
	struct game g;

	setup_game(&g);
	play(&g, name, spec, objects);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.err.kind, kind);
	if (!strstr(g.err.msg, want))
		fail_msg("have: %s\nwant: %s", g.err.msg, want);
	end_game(&g);
}

/* Numbers that no clock reaches mean "for ever", not a moment in the past. */
static void test_numbers_beyond_any_clock(void **state)
{
#define MOST "9223372036854775807"
	struct game g;

	setup_game(&g);
	play(&g, "most", "'activeDeadlineSeconds':" MOST,
	     "[{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet',"
	     "'metadata':{'name':'j'},'spec':{'replicatedJobs':[{'name':'node',"
	     "'template':{'spec':{'template':{'spec':{'restartPolicy':'Never',"
	     "'terminationGracePeriodSeconds':" MOST ",'activeDeadlineSeconds':" MOST
	     ",'containers':[{'name':'a','command':['true'],'resources':{'limits':{'cpu':'9E'}},'lifecycle':{'postStart':{'sleep':{'seconds':" MOST
	     "}}}},{'name':'b','command':['sleep','0.1'],'startupProbe':{'exec':{'command':['false']},'periodSeconds':" MOST
	     ",'initialDelaySeconds':" MOST ",'timeoutSeconds':" MOST "}}]}}}}}]}}]");
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.result->exit_code, 0);
	end_game(&g);
}

static void test_refused(void **state)
{
	cleanup_json cJSON *tj = NULL;
	struct error err = { 0 };

	expect_refused("r", "", "[]", ERR_INVALID, "no JobSet to run");
	/* both, at once */
	expect_refused("r", "",
		       OBJECTS("", "{'name':'a','template':{'spec':{'template':{'spec':{"
				   "'containers':[{'name':'x','image':'i'}]}}}}},{'name':"
				   "'b','template':{'spec':{'template':{'spec':{"
				   "'containers':[{'name':'y','image':'i'}]}}}}}"),
		       ERR_UNSUPPORTED, "b/y: no command");
	assert_int_equal(state_get(&tj, "ns", "r", &err), -1);
}

static void test_notes(void **state)
{
	struct game g;

	run(&g, "notes",
	    "[{'kind':'PodGroup','metadata':{'name':'pg'}},{'kind':'JobSet','metadata':"
	    "{'name':'j'},'spec':{'ttlSecondsAfterFinished':5,'replicatedJobs':["
	    "{'name':'node','template':{'spec':{'template':{'spec':{'nodeSelector':"
	    "{'a':'b'},'containers':[{'name':'node','env':[{'name':'PET_MASTER_PORT',"
	    "'value':'29500'}],'command':['true']}]}}}}}]}}]");
	assert_int_equal(g.result->exit_code, 0);
	has(&g.notes, "PodGroup pg is not applied");
	has(&g.notes, "ttlSecondsAfterFinished is not applied");
	has(&g.notes, "nodeSelector is not applied");
	has(&g.details, "port 29500 is mapped to ");
	assert_null(strstr((char *)g.notes.data, "port "));
	end_game(&g);
}

/* ---- many, and signals ---------------------------------------------------------------------- */

static void test_many_pods(void **state)
{
	struct game g;

	run(&g, "many", OBJECTS("", NODES("40", "true")));
	assert_int_equal(g.result->exit_code, 0);
	end_game(&g);
}

static void await(const char *path)
{
	EVENTUALLY(file_exists(path));
}

/* A child that runs a job; returns when the job's process has written `file`. */
static pid_t run_in_child(const char *name, const char *objects, const char *file)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = path_join(&a, getenv("D"), file);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		struct error err = { 0 };
		struct game g;

		setup_game(&g);
		if (stop_setup(&err))
			_exit(99);
		play(&g, name, "", objects);
		_exit(g.rc ? 98 : g.result->exit_code);
	}
	await(path);
	return pid;
}

static int exit_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_interrupted(void **state)
{
	pid_t pid;

	pid = run_in_child(
		"int",
		OBJECTS("", NODES("2", "trap \\\"echo bye > $D/bye-"
				       "$JOB_COMPLETION_INDEX; exit 1\\\" TERM; "
				       "touch $D/up-$JOB_COMPLETION_INDEX; "
				       "while :; do sleep 0.05; done")),
		"up-1");
	kill(pid, SIGINT);
	assert_int_equal(exit_of(pid), 130);
	expect_state("int", "Failed/Interrupted");
	/* it was told, and had its time */
	assert_int_equal(access("bye-1", F_OK), 0);
}

static void test_impatient(void **state)
{
	pid_t pid;

	pid = run_in_child(
		"imp",
		"[{'kind':'JobSet','metadata':{'name':'j'},'spec':{"
		"'replicatedJobs':[{'name':'node','template':{'spec':{'template':{"
		"'spec':{'terminationGracePeriodSeconds':600,'containers':[{'name':"
		"'node','command':['sh','-c','trap \\\"touch $D/told\\\" TERM INT; "
		"touch $D/imp; while :; do sleep 0.1; done']}]}}}}}]}}]",
		"imp");
	kill(pid, SIGINT);
	await("told");
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGINT);
	assert_int_equal(exit_of(pid), 130);
	expect_state("imp", "Failed/Interrupted");
}

/* The lock is free as soon as the process is gone, and the job's processes are gone, too. */
static void test_killed(void **state)
{
	struct stat before = { 0 }, now;
	pid_t pid;

	pid = run_in_child(
		"kill9",
		OBJECTS("", NODES("1", "while :; do echo x >> beat; sleep 0.01; done")),
		"beat");
	kill(pid, SIGKILL);
	assert_int_equal(exit_of(pid), -SIGKILL);
	assert_int_equal(stat("beat", &now), 0);
	UNTIL(now.st_size == before.st_size, {
		before = now;
		clock_sleep_ms(200);
		assert_int_equal(stat("beat", &now), 0);
	});
	expect_state("kill9", "Failed/Interrupted");
}

static void test_runs_already(void **state)
{
	pid_t pid;

	pid = run_in_child("twice", OBJECTS("", NODES("1", "touch twice; sleep 60")),
			   "twice");
	expect_refused("twice", "", OBJECTS("", NODES("1", "true")), ERR_EXISTS,
		       "job twice in namespace ns is already running on this machine");
	kill(pid, SIGTERM);
	assert_int_equal(exit_of(pid), 143);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_success),
		cmocka_unit_test(test_first_failing_rank),
		cmocka_unit_test(test_cause_on_another_rank),
		cmocka_unit_test(test_command_not_found),
		cmocka_unit_test(test_killed_by_signal),
		cmocka_unit_test(test_depends_on),
		cmocka_unit_test(test_restart_in_place),
		cmocka_unit_test(test_jobset_restart),
		cmocka_unit_test(test_out_of_restarts),
		cmocka_unit_test(test_controller_deletes),
		cmocka_unit_test(test_numbers_beyond_any_clock),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_many_pods),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_impatient),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_runs_already),
	};
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	int failed = 0;

	if (!mkdtemp(home))
		return 1;
	for (int i = 0; i < 2; i++) {
		const char *dir = path_join(&a, home, i ? "flat" : "namespaces");

		flat = i;
		if (setenv("XDG_STATE_HOME", path_join(&a, dir, "state"), 1) ||
		    setenv("D", path_join(&a, dir, "work"), 1) ||
		    dir_make(getenv("D"), 0700, &err) || chdir(getenv("D")))
			return 1;
		failed += cmocka_run_group_tests_name(
			i ? "run, without namespaces" : "run", tests, NULL, NULL);
	}
	return dir_remove(home, &err) || failed;
}
