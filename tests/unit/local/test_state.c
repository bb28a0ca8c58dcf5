#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "kubelet/procid.h"
#include "local/state.h"
#include "local/state_impl.h"
#include "local/state_owned.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"
#include "trainer/podname.h"
#include "trainer/trainjob_status.h"

static char home[] = "/tmp/kftrainer-state-XXXXXX"; /* of this test program */

static bool is_running(const char *ns, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	const char *dir;

	return !state_dir(&a, &dir, ns, name, &err) && state_locked(dir);
}

/* A fresh state folder for each test. */
static int setup(void **state)
{
	static int n;
	struct arena a = { 0 };
	char *dir = arena_printf(&a, "%s/%d", home, n++);

	setenv("XDG_STATE_HOME", dir, 1);
	arena_clear(&a);
	return 0;
}

static const char *in_state(struct arena *a, const char *rest)
{
	return arena_printf(a, "%s/%s", getenv("XDG_STATE_HOME"), rest);
}

#define OBJECTS                                                                          \
	"[{'kind':'Secret','data':{'k':'c2VzYW1l'}},{'kind':'JobSet','metadata':{'name'" \
	":'j'},'spec':{"                                                                 \
	"'replicatedJobs':[{'name':'init','template':{'spec':{'completions':1,"          \
	"'template':{'spec':{'containers':[{'name':'init'}]}}}}},"                       \
	"{'name':'node','replicas':2,'template':{'spec':{'completions':2,'template':"    \
	"{'spec':{'initContainers':[{'name':'pre'}],'containers':[{'name':'node'},"      \
	"{'name':'side'}]}}}}},{'name':'one','template':{'metadata':{'labels':"          \
	"{'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}},'spec':{"            \
	"'template':{'spec':{'containers':[{'name':'x'}]}}}}}]}}]"

static void begin(struct state_run *run, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = parse(arena_printf(
		&a,
		"{'metadata':{'name':'%s'},'status':{'jobsStatus':[{'name':'node',"
		"'active':1}]}}",
		name));
	cleanup_json cJSON *objects = parse(OBJECTS);
	struct error err = { 0 };

	if (state_begin(run, "ns", name, tj, objects, &err))
		fail_msg("%s", err.msg);
}

static void finish(struct state_run *run)
{
	cleanup_json cJSON *tj =
		parse("{'metadata':{'name':'x'},'status':{'conditions':[{'type':"
		      "'Complete','status':'True'}]}}");
	struct error err = { 0 };

	assert_int_equal(state_save(run, tj, true, &err), 0);
	state_end(run);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

static void test_runs_are_private(void **state)
{
	cleanup_buf struct buf text = { .max = 65536 };
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	struct state_run run;

	begin(&run, "x");
	assert_true(is_running("ns", "x"));
	assert_int_equal(mode_of(in_state(&a, "kftrainer")), 0700);
	assert_int_equal(mode_of(run.dir), 0700);
	assert_int_equal(mode_of(run.logs), 0700);
	assert_int_equal(mode_of(path_join(&a, run.dir, "trainjob.json")), 0600);
	assert_int_equal(mode_of(path_join(&a, run.dir, "objects.json")), 0600);
	assert_int_equal(file_read(&text, path_join(&a, run.dir, "objects.json"), &err),
			 0);
	assert_non_null(strstr((char *)text.data, "\"Secret\""));
	assert_non_null(strstr((char *)text.data, "\"k\": \"\""));
	assert_null(strstr((char *)text.data, "c2VzYW1l"));
	assert_int_equal(mode_of(in_state(&a, "kftrainer/jobs/ns/x/latest")), 0700);
	finish(&run);
	assert_false(is_running("ns", "x"));
}

static void test_one_run_at_a_time(void **state)
{
	cleanup_json cJSON *tj = parse("{}"), *objects = parse("[]");
	struct state_run run, other;
	struct error err = { 0 };

	begin(&run, "x");
	assert_int_equal(state_begin(&other, "ns", "x", tj, objects, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_string_equal(err.msg,
			    "job x in namespace ns is already running on this machine");
	assert_int_equal(state_begin(&other, "other", "x", tj, objects, &err), 0);
	state_end(&other);
	finish(&run);
	begin(&run, "x");
	finish(&run);
}

static void test_get(void **state)
{
	cleanup_json cJSON *one = NULL;
	struct state_run a;
	struct error err = { 0 };

	begin(&a, "a");
	finish(&a);
	assert_int_equal(state_get(&one, "ns", "a", &err), 0);
	assert_string_equal(
		json_str(json_get(one, "status", "conditions")->child, "type"),
		"Complete");
}

/* What a pod has written, at that time. */
static void write_log(const struct state_run *run, int64_t time)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_join(&a, run->logs, "pod");
	const char *path = path_join(&a, dir, "node.log");
	const struct timespec times[2] = { { .tv_sec = time }, { .tv_sec = time } };
	struct error err = { 0 };

	assert_int_equal(dir_make(dir, 0700, &err), 0);
	assert_int_equal(file_write(path, "x", 1, 0600, &err), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/*
 * A process that is gone holds no lock, and nobody wrote how its job ended: it ended when it
 * was heard last.
 */
static void test_killed_run_reads_as_interrupted(void **state)
{
	cleanup_json cJSON *tj = NULL;
	const cJSON *c;
	struct state_run run;
	struct error err = { 0 };

	begin(&run, "x");
	assert_int_equal(state_get(&tj, "ns", "x", &err), 0);
	assert_null(json_get(tj, "status", "conditions"));
	cJSON_Delete(STEAL(tj));
	write_log(&run, 4102444800); /* 2100-01-01 */
	state_end(&run);
	assert_int_equal(state_get(&tj, "ns", "x", &err), 0);
	c = json_get((const cJSON *)tj, "status", "conditions")->child;
	assert_string_equal(json_str(c, "type"), "Failed");
	assert_string_equal(json_str(c, "status"), "True");
	assert_string_equal(json_str(c, "reason"), "Interrupted");
	assert_string_equal(json_str(c, "message"), "the process was killed");
	assert_string_equal(json_str(c, "lastTransitionTime"), "2100-01-01T00:00:00Z");
	c = json_get((const cJSON *)tj, "status", "jobsStatus")->child;
	assert_int_equal(json_int(c, -1, "active"), 0);
}

static bool reads_suspended(const char *name)
{
	cleanup_json cJSON *tj = NULL;
	struct error err = { 0 };

	assert_int_equal(state_get(&tj, "ns", name, &err), 0);
	return json_bool((const cJSON *)tj, false, "spec", "suspend");
}

/* What was asked for is read at once, whatever the process that runs it does. */
static void test_suspend(void **state)
{
	const struct state_owner owner = { home, "u", 1 };
	struct state_run run;
	struct error err = { 0 };

	assert_int_equal(state_suspend("ns", "x", true, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	begin(&run, "x");
	assert_false(reads_suspended("x"));
	assert_int_equal(state_suspend("ns", "x", true, &err), 0);
	assert_true(state_suspended(run.dir) && reads_suspended("x"));
	assert_int_equal(state_suspend("ns", "x", true, &err), 0);
	assert_int_equal(state_suspend("ns", "x", false, &err), 0);
	assert_int_equal(state_suspend("ns", "x", false, &err), 0);
	assert_false(state_suspended(run.dir) || reads_suspended("x"));
	assert_int_equal(state_own(&run, "ns", "x", &owner, &err), 0);
	assert_int_equal(state_suspend("ns", "x", true, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	finish(&run);
	assert_int_equal(state_suspend("ns", "x", true, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
}

/* A server ends the run of a JobSet that is suspended: the job has not failed. */
static void test_suspended_by_its_server(void **state)
{
	static const struct {
		const char *server, *reason, *want;
	} rows[] = {
		{ "here", NULL, "Suspended" },
		{ "here", "Interrupted", "Suspended" }, /* by the server's SIGTERM */
		{ "here", "FailedJobs", "Failed" },
		{ "gone", "Interrupted", "Failed" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *tj = NULL, *ended = NULL;
		const char *name = arena_printf(&a, "x%zu", i);
		struct state_owner owner = { home, "u", 1 };
		struct state_run run;
		struct error err = { 0 };

		if (str_eq(rows[i].server, "gone"))
			owner.server = "/no/such/server";
		begin(&run, name);
		assert_int_equal(state_own(&run, "ns", name, &owner, &err), 0);
		assert_int_equal(state_get(&ended, "ns", name, &err), 0);
		if (rows[i].reason)
			status_fail(json_obj(ended, "status"), rows[i].reason, "m",
				    "2026-01-01T00:00:00Z");
		assert_int_equal(state_save(&run, ended, true, &err), 0);
		state_owned_suspend(state_owned(&a, owner.server, "ns", name));
		state_end(&run);
		assert_int_equal(state_get(&tj, "ns", name, &err), 0);
		assert_string_equal(json_str(tj, "status", "state"), rows[i].want);
		assert_true(json_bool(tj, false, "spec", "suspend"));
	}
}

static void test_not_found(void **state)
{
	struct error err = { 0 };
	cJSON *tj = NULL;

	assert_int_equal(state_get(&tj, "ns", "x", &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_null(tj);
}

static void test_history_is_kept_for_ten_runs(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	char *first = NULL, *second = NULL;

	for (int i = 0; i < STATE_KEEP_RUNS + 1; i++) {
		begin(&run, "x");
		if (!i)
			first = arena_strdup(&a, run.dir);
		if (i == 1)
			second = arena_strdup(&a, run.dir);
		finish(&run);
	}
	assert_false(file_exists(first));
	assert_true(file_exists(second));
}

/* As when the clock is set back, and with many runs in a second. */
static void test_a_run_is_newer_than_the_last_one(void **state)
{
	static const char *const rows[][2] = {
		{ "20990101T000000Z-001", "20990101T000000Z-002" },
		{ "20990101T000000Z-999", "20990101T000001Z-001" },
	};
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct state_run run;
		const char *dir;

		begin(&run, "x");
		dir = path_join(&a, run.job_dir, rows[i][0]);
		assert_int_equal(rename(run.dir, dir), 0);
		state_end(&run);
		begin(&run, "x");
		assert_string_equal(path_base(run.dir), rows[i][1]);
		assert_string_equal(state_newest(&a, run.job_dir), run.dir);
		finish(&run);
		assert_int_equal(state_remove("ns", "x", &err), 0);
	}
}

/* What a killed run had no time to remove: volumes, which may hold secrets. */
static void test_pods_of_killed_runs_go(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run killed, next;
	struct error err = { 0 };
	char *pods, *claims, *log;

	begin(&killed, "x");
	pods = path_join(&a, killed.dir, "pods");
	claims = path_join(&a, killed.dir, "claims");
	log = path_join(&a, killed.logs, "kept");
	assert_int_equal(dir_make(path_join(&a, pods, "p.1/volumes/v"), 0700, &err), 0);
	assert_int_equal(dir_make(claims, 0700, &err), 0);
	assert_int_equal(file_write(log, "", 0, 0600, &err), 0);
	close(killed.lock);
	killed.lock = -1;
	begin(&next, "x");
	assert_false(file_exists(pods));
	assert_true(file_exists(claims) && file_exists(log));
	finish(&next);
	state_end(&killed);
}

static void test_cancelled_run_leaves_nothing(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct state_run run;
	char *before;

	begin(&run, "x");
	state_cancel(&run);
	assert_false(file_exists(in_state(&a, "kftrainer/jobs/ns/x")));
	begin(&run, "x");
	before = arena_strdup(&a, run.dir);
	finish(&run);
	begin(&run, "x");
	state_cancel(&run);
	assert_true(file_exists(before));
	assert_true(
		file_exists(in_state(&a, "kftrainer/jobs/ns/x/latest/trainjob.json")));
}

/* ---- what can be wrong with the folder ------------------------------------------- */

static void expect_refused(const char *ns, const char *name, const char *part)
{
	cleanup_json cJSON *tj = parse("{}"), *objects = parse("[]");
	struct state_run run;
	struct error err = { 0 };

	if (!state_begin(&run, ns, name, tj, objects, &err))
		fail_msg("%s: begun", part);
	if (!strstr(err.msg, part))
		fail_msg("have: %s\nwant: ...%s", err.msg, part);
	assert_null(strchr(err.msg, '\n'));
}

static void *close_later(void *fd)
{
	clock_sleep_ms(200);
	close(*(int *)fd);
	return NULL;
}

/* Two commands delete a job at once: the second waits for the first, and has nothing to do. */
static void test_removed_by_another(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *lock = in_state(&a, "kftrainer/jobs/ns/x/lock");
	struct error err = { 0 };
	struct state_run run;
	pthread_t other;
	pid_t child;
	int taken;

	begin(&run, "x");
	finish(&run);
	child = fork();
	if (!child) {
		char text[PROCID_SIZE];
		const char *self = procid_self(text);

		_exit(file_write(lock, self, strlen(self), 0600, &err) != 0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	taken = state_try_lock(in_state(&a, "kftrainer/jobs/ns/x"));
	assert_true(taken >= 0);
	assert_int_equal(state_stop("ns", "x", 0, &err), -1);
	assert_non_null(strstr(err.msg, "its process was not found"));
	assert_int_equal(pthread_create(&other, NULL, close_later, &taken), 0);
	assert_int_equal(state_stop("ns", "x", 1000, &err), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(state_remove("ns", "x", &err), 0);
}

/* Of a server's run that is removed while another one begins under the same name. */
static void test_lock_of_another(void **state)
{
	static const struct state_owner owner = { "/server", "u", 1 };
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	struct state_run run;
	int taken;

	begin(&run, "x");
	assert_int_equal(state_own(&run, "ns", "x", &owner, &err), 0);
	state_end(&run);
	taken = state_try_lock(in_state(&a, "kftrainer/jobs/ns/x"));
	assert_true(taken >= 0);
	state_owned_remove(state_owned(&a, "/server", "ns", "x"));
	state_owned_sweep();
	assert_null(state_owned(&a, "/server", "ns", "x"));
	assert_true(is_running("ns", "x"));
	close(taken);
	state_owned_sweep();
	assert_false(file_exists(in_state(&a, "kftrainer/jobs/ns/x")));
}

/* ---- claims ----------------------------------------------------------------------------- */

static cJSON *mounting(const char *claim)
{
	cleanup_arena struct arena a = { 0 };

	return parse(arena_printf(
		&a,
		"{'kind':'JobSet','metadata':{'name':'j','namespace':'ns'},'spec':{"
		"'replicatedJobs':[{'name':'node','template':{'spec':{'template':{"
		"'spec':{'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':"
		"'%s'}}],'containers':[{'name':'node'}]}}}}}]}}",
		claim));
}

static void make_claim(const char *name)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = in_state(&a, arena_printf(&a, "kftrainer/claims/ns/%s", name));
	struct error err = { 0 };

	assert_int_equal(dir_make(dir, 0700, &err), 0);
	assert_int_equal(file_write(path_join(&a, dir, "data"), "x", 1, 0600, &err), 0);
}

static bool has_claim(const char *name)
{
	cleanup_arena struct arena a = { 0 };

	return file_exists(
		in_state(&a, arena_printf(&a, "kftrainer/claims/ns/%s/data", name)));
}

static void add_claim(void *ctx, const cJSON *claim, const struct error *failure)
{
	const char *users = meta_annotation(claim, CLAIM_USERS_ANNOTATION);

	buf_printf(ctx, "%s: %s;", meta_name(claim),
		   failure ? failure->msg
		   : users ? users
			   : "deleted");
}

static const char *remove_unused(struct arena *a)
{
	cleanup_buf struct buf text = { .max = 4096 };
	struct error err = { 0 };

	assert_int_equal(state_claims_remove_unused("ns", add_claim, &text, &err), 0);
	return text.len ? arena_strdup(a, (const char *)text.data) : "";
}

static void *remove_in_thread(void *ctx)
{
	cleanup_arena struct arena a = { 0 };

	return strdup(remove_unused(&a));
}

static char run_failed[] = "failed";

static void *begin_in_thread(void *ctx)
{
	cleanup_json cJSON *tj = parse("{}"), *objects = parse("[]");
	struct error err = { 0 };

	cJSON_AddItemToArray(objects, mounting("c"));
	if (state_begin(ctx, "ns", "j", tj, objects, &err))
		return run_failed;
	return NULL;
}

enum {
	MEANWHILE_MS = 100
}; /* for what must not happen in it, on a machine of any load */

/* A job that is recorded while claims are deleted is seen, or waits: none is in between. */
static void test_claims_are_locked(void **state)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *jobset = mounting("c");
	const char *server = in_state(&a, "server");
	struct state_run run = { .lock = -1 };
	struct error err = { 0 };
	pthread_t thread;
	void *ret;
	int lock;

	assert_int_equal(dir_make(server, 0700, &err), 0);
	make_claim("c");
	make_claim("d");
	lock = state_claims_lock("ns", LOCK_SH); /* a job is being recorded */
	assert_int_not_equal(lock, -1);
	assert_int_equal(pthread_create(&thread, NULL, remove_in_thread, NULL), 0);
	clock_sleep_ms(MEANWHILE_MS);
	assert_true(has_claim("c") && has_claim("d"));
	state_claims_wait(server, jobset);
	close(lock);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_string_equal(ret, "c: j;d: deleted;");
	free(ret);
	assert_true(has_claim("c") && !has_claim("d"));

	state_claims_wait_end(server, "ns", "j");
	lock = state_claims_lock("ns", LOCK_EX); /* claims are being deleted */
	assert_int_equal(pthread_create(&thread, NULL, begin_in_thread, &run), 0);
	clock_sleep_ms(MEANWHILE_MS);
	assert_false(file_exists(in_state(&a, "kftrainer/jobs/ns/j/latest")));
	close(lock);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_null(ret);
	assert_string_equal(remove_unused(&a), "c: j;");
	state_end(&run);
}

/* What a process that was killed has left, and a file of users that cannot be read. */
static void test_claims_that_are_left(void **state)
{
	static const char *const unreadable[] = { "{", "{\"claims\": {}}", NULL };
	const char *left, *file;
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	make_claim("c");
	file = in_state(&a, "kftrainer/claims/ns/.waiting/0.j");
	assert_int_equal(dir_make(path_dir(&a, file), 0700, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(unreadable); i++) {
		if (unreadable[i]) {
			assert_int_equal(file_write(file, unreadable[i],
						    strlen(unreadable[i]), 0600, &err),
					 0);
		} else {
			assert_int_equal(unlink(file), 0);
			assert_int_equal(mkfifo(file, 0600), 0);
		}
		assert_string_equal(remove_unused(&a), "c: 0.j (cannot be read);");
	}
	assert_int_equal(unlink(file), 0);
	left = in_state(&a, "kftrainer/claims/ns/.removed/b.1.2/x");
	assert_int_equal(dir_make(left, 0700, &err), 0);
	assert_string_equal(remove_unused(&a), "c: deleted;");
	assert_false(file_exists(left) || has_claim("c"));
	assert_string_equal(remove_unused(&a), "");
}

static void test_bad_folders(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	const char *claims;

	assert_int_equal(dir_make(in_state(&a, "kftrainer/jobs"), 0700, &err), 0);
	assert_int_equal(symlink("/tmp", in_state(&a, "kftrainer/jobs/ns")), 0);
	expect_refused("ns", "x",
		       "kftrainer/jobs/ns is a symbolic link, not a directory");
	assert_int_equal(unlink(in_state(&a, "kftrainer/jobs/ns")), 0);
	assert_int_equal(file_write(in_state(&a, "kftrainer/jobs/ns"), "", 0, 0600, &err),
			 0);
	expect_refused("ns", "x", "kftrainer/jobs/ns is not a directory");
	expect_refused("..", "x", "\"..\" is not a valid namespace name");
	expect_refused("ns", "a/b", "\"a/b\" is not a valid job name");
	setenv("XDG_STATE_HOME", "state", 1);
	expect_refused("ns", "x", "XDG_STATE_HOME is \"state\": want an absolute path");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_int_equal(state_claims_dir(&a, &claims, "ns", &err), 0);
	assert_string_equal(claims,
			    arena_printf(&a, "%s/.local/state/kftrainer/claims/ns",
					 getpwuid(geteuid())->pw_dir));
	setenv("HOME", "here", 1);
	expect_refused("ns", "x", "HOME is \"here\"; set HOME or XDG_STATE_HOME");
	setenv("HOME", "/proc/nowhere", 1);
	expect_refused(
		"ns", "x",
		"cannot store local jobs; set XDG_STATE_HOME to a directory that you "
		"can write: /proc/nowhere");
	setenv("XDG_STATE_HOME", "/dev/full", 1);
	expect_refused("ns", "x", "can write: /dev/full");
}

static int write_text(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0;
}

/* In a child, where the state folder is a full disk. 0: refused as it should be. */
static int on_a_full_disk(void)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *tj = parse("{}"), *objects = parse("[]");
	const char *dir = in_state(&a, ""), *uids = arena_printf(&a, "0 %u 1", getuid());
	const char *gids = arena_printf(&a, "0 %u 1", getgid());
	struct state_run run;
	struct error err = { 0 };

	if (dir_make(dir, 0700, &err) || unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
	    write_text("/proc/self/uid_map", uids) ||
	    write_text("/proc/self/setgroups", "deny") ||
	    write_text("/proc/self/gid_map", gids) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=256k"))
		return 77;
	if (!state_begin(&run, "ns", "x", tj, objects, &err))
		return 1;
	return strstr(err.msg, "No space left on device") == NULL;
}

static void test_full_disk(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(on_a_full_disk());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no user namespaces here */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The topmost folder may be a link to a disk with more room. */
static void test_linked_root(void **state)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	struct state_run run;

	assert_int_equal(dir_make(in_state(&a, "elsewhere"), 0700, &err), 0);
	assert_int_equal(symlink("elsewhere", in_state(&a, "kftrainer")), 0);
	begin(&run, "x");
	finish(&run);
	assert_true(file_exists(in_state(&a, "elsewhere/jobs/ns/x/latest")));
}

/* Names that begin alike: only one reading has a replica, an index and a suffix. */
static void test_place_of_a_name(void **state)
{
	static const struct {
		const char *pod, *step;
		int replica, index;
	} rows[] = {
		{ "j-node-1-2-abcde", "node", 1, 2 },
		{ "j-node-1-0-2-abcde", "node-1", 0, 2 },
		{ "j-node-0-abcde", "node", 0, -1 },
		{ "j-node-0-2-abcd", NULL, 0, 0 },
		{ "j-other-0-2-abcde", NULL, 0, 0 },
		{ "k-node-0-2-abcde", NULL, 0, 0 },
		{ "j-node", NULL, 0, 0 },
	};
	cleanup_json cJSON *jobset =
		parse("{'metadata':{'name':'j'},'spec':{'replicatedJobs':"
		      "[{'name':'node'},{'name':'node-1'}]}}");

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct podname p = { 0 };

		assert_int_equal(podname_parse(&p, jobset, rows[i].pod),
				 rows[i].step != NULL);
		if (!rows[i].step)
			continue;
		assert_string_equal(p.step, rows[i].step);
		assert_int_equal(p.replica, rows[i].replica);
		assert_int_equal(p.index, rows[i].index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_runs_are_private, setup),
		cmocka_unit_test_setup(test_one_run_at_a_time, setup),
		cmocka_unit_test_setup(test_get, setup),
		cmocka_unit_test_setup(test_killed_run_reads_as_interrupted, setup),
		cmocka_unit_test_setup(test_not_found, setup),
		cmocka_unit_test_setup(test_suspend, setup),
		cmocka_unit_test_setup(test_suspended_by_its_server, setup),
		cmocka_unit_test_setup(test_removed_by_another, setup),
		cmocka_unit_test_setup(test_history_is_kept_for_ten_runs, setup),
		cmocka_unit_test_setup(test_a_run_is_newer_than_the_last_one, setup),
		cmocka_unit_test_setup(test_pods_of_killed_runs_go, setup),
		cmocka_unit_test_setup(test_cancelled_run_leaves_nothing, setup),
		cmocka_unit_test_setup(test_lock_of_another, setup),
		cmocka_unit_test_setup(test_claims_are_locked, setup),
		cmocka_unit_test_setup(test_claims_that_are_left, setup),
		cmocka_unit_test_setup(test_bad_folders, setup),
		cmocka_unit_test_setup(test_full_disk, setup),
		cmocka_unit_test_setup(test_linked_root, setup),
		cmocka_unit_test_setup(test_place_of_a_name, setup),
	};
	struct error err = { 0 };
	int failed;

	if (!mkdtemp(home))
		return 1;
	failed = cmocka_run_group_tests_name("state", tests, NULL, NULL);
	return dir_remove(home, &err) || failed;
}
