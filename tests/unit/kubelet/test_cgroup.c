/* Limits hold where control groups can be made (as root); elsewhere pods say so. */
#include "tests/unit/kubelet/podtest.h"

#include <signal.h>
#include <sys/resource.h>

#include "kubelet/cgroup.h"

bool no_namespaces;

static bool can_limit(void)
{
	struct cgroup_root root = { 0 };
	bool can;

	cgroup_open(&root);
	can = root.memory && root.cpu;
	cgroup_close(&root);
	return can;
}

static void need_limits(void)
{
	if (can_limit())
		return;
	print_message("# skip: this user cannot create control groups\n");
	skip();
}

static const char *limited(struct podtest *t, const char *limits, const char *text)
{
	return script(t, "",
		      arena_printf(&t->arena, "'resources':{'limits':{%s}},", limits),
		      text);
}

/* An awk that takes so many megabytes; when it is killed the shell fails. */
static const char *take(struct podtest *t, int megabytes)
{
	static const char awk[] =
		"BEGIN { s = \"x\"; while (length(s) < 1000000) s = s s;"
		" while (n < m) t[n++] = s n }\n";
	struct error err;

	assert_int_equal(file_write(path_join(&t->arena, t->dir, "take"), awk,
				    strlen(awk), 0600, &err),
			 0);
	return arena_printf(&t->arena, "awk -v m=%d -f take && exit 0; exit 1",
			    megabytes);
}

TEST(test_memory)
{
	struct podtest t = { 0 };
	const cJSON *s;

	need_limits();
	podtest_open(&t, NULL);
	podtest_run(&t, limited(&t, "'memory':'48Mi'", take(&t, 400)));
	s = json_get(container_of(&t, "p", "c"), "state", "terminated");
	assert_string_equal(json_str(s, "reason"), "OOMKilled");
	assert_non_null(strstr(json_str(s, "message"), "memory limit"));
	kubelet_remove(t.k, "p");
	podtest_run(&t, limited(&t, "'memory':'512Mi'", take(&t, 40)));
	assert_string_equal(phase_of(&t, "p"), "Succeeded");
	podtest_close(&t);
}

/* A container that is killed by hand while another one runs out of memory. */
TEST(test_not_its_memory)
{
	struct podtest t = { 0 };
	struct error err;
	const cJSON *s;

	need_limits();
	podtest_open(&t, NULL);
	podtest_start(
		&t,
		"{'metadata':{'name':'q'},'spec':{'restartPolicy':'Never','containers':[{'name':'c','command':['sh','-c','until [ -e gone ]; do sleep 0.05; done; kill -9 $$$$']}]}}");
	UNTIL(str_eq(phase_of(&t, "q"), "Running"), podtest_poll(&t));
	podtest_run(&t, limited(&t, "'memory':'48Mi'", take(&t, 400)));
	s = json_get(container_of(&t, "p", "c"), "state", "terminated");
	assert_string_equal(json_str(s, "reason"), "OOMKilled");
	assert_int_equal(
		file_write(path_join(&t.arena, t.dir, "gone"), "", 0, 0600, &err), 0);
	podtest_wait(&t, "q");
	s = json_get(container_of(&t, "q", "c"), "state", "terminated");
	assert_string_equal(json_str(s, "reason"), "Error");
	assert_int_equal(json_int(s, 0, "signal"), SIGKILL);
	podtest_close(&t);
}

/* A tenth of a processor: a second of work takes ten. */
static int64_t children_cpu_ms(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * (int64_t)1000 +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* However busy the machine is, CPU time of 50m takes 20 times as long. */
TEST(test_cpu)
{
	struct podtest t = { 0 };
	int64_t start = clock_ms(), used = children_cpu_ms();

	need_limits();
	podtest_open(&t, NULL);
	podtest_run(&t, limited(&t, "'cpu':'50m'",
				"i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"));
	used = children_cpu_ms() - used;
	assert_true(used > 10);
	if (clock_ms() - start < 5 * used)
		fail_msg("%lld ms of CPU in %lld ms", (long long)used,
			 (long long)(clock_ms() - start));
	podtest_close(&t);
}

/* We stay where we are, and no group is left. */
TEST(test_nothing_is_left)
{
	struct podtest t = { 0 };
	cleanup_buf struct buf before = { .max = 65536 }, after = { .max = 65536 };
	char command[200];
	struct error err;

	need_limits();
	assert_int_equal(file_read(&before, "/proc/self/cgroup", &err), 0);
	podtest_open(&t, NULL);
	podtest_run(&t, limited(&t, "'memory':'64Mi','cpu':1", "cat /proc/self/cgroup"));
	assert_non_null(strstr((char *)t.lines.data, "/kftrainer-"));
	podtest_close(&t);
	assert_int_equal(file_read(&after, "/proc/self/cgroup", &err), 0);
	assert_string_equal((char *)after.data, (char *)before.data);
	snprintf(command, sizeof(command),
		 "test -z \"$(find /sys/fs/cgroup -name 'kftrainer-%d-*' 2>/dev/null)\"",
		 (int)getpid());
	assert_int_equal(system(command), 0);
}

/* Where they cannot be set a note says so, and the pod runs. */
TEST(test_notes)
{
	struct podtest t = { 0 };
	cJSON *notes = cJSON_CreateArray(), *doc;
	struct error err = { 0 };
	const cJSON *note;
	const char *pod;
	int said = 0;

	podtest_open(&t, NULL);
	pod = limited(&t, "'memory':'64Mi','cpu':1", "true");
	doc = json_of(&t, pod);
	assert_int_equal(kubelet_check(t.k, doc, notes, &err), 0);
	assert_int_equal(kubelet_check(t.k, doc, notes, &err), 0);
	/* Others say what there is instead of namespaces, where there are none. */
	json_each(note, notes)
		said += str_starts(cJSON_GetStringValue(note), "p/c: ");
	assert_int_equal(said, can_limit() ? 0 : 2);
	if (said)
		assert_string_equal(notes->child->valuestring,
				    "p/c: resources.limits.cpu is not applied: this user "
				    "cannot create control groups");
	assert_string_equal(podtest_run(&t, pod), "Succeeded");
	cJSON_Delete(doc);
	cJSON_Delete(notes);
	podtest_close(&t);
}

RUN_TESTS(NULL, NULL)
