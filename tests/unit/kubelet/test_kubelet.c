/* Pods as the user that this is; and what does not depend on who runs them. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/unit/kubelet/kubelet_cases.h"

/* Of a log file that cannot grow, a line says so; the pod goes on. */
static void test_full_disk(void **state)
{
	struct podtest t = { 0 };
	struct rlimit old, small;

	podtest_open(&t, NULL);
	podtest_start(&t,
		      script(&t, "", "",
			     "sleep 0.2; for i in 1 2 3 4 5 6; do echo line $i; done"));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 10;
	setrlimit(RLIMIT_FSIZE, &small);
	podtest_wait(&t, "p");
	setrlimit(RLIMIT_FSIZE, &old);
	assert_string_equal(phase_of(&t, "p"), "Succeeded");
	assert_non_null(strstr((char *)t.lines.data, "log file cannot be written"));
	assert_non_null(strstr((char *)t.lines.data, "p/c: line 6\n"));
	podtest_close(&t);
}

/* First at once, then after a second. */
static void test_restarts(void **state)
{
	struct podtest t = { 0 };
	const cJSON *c;

	podtest_open(&t, NULL);
	assert_string_equal(
		podtest_run(
			&t,
			"{'metadata':{'name':'p'},'spec':{'restartPolicy':'OnFailure','containers':[{'name':'c','command':['sh','-c','echo x >>count; echo run $(wc -l <count); test $(wc -l <count) = 3']}]}}"),
		"Succeeded");
	assert_lines(&t, "p/c: run 1\np/c: run 2\np/c: run 3\n");
	c = container_of(&t, "p", "c");
	assert_int_equal(json_int(c, -1, "restartCount"), 2);
	assert_int_equal(json_int(c, -1, "lastState", "terminated", "exitCode"), 1);
	assert_int_equal(json_int(c, -1, "state", "terminated", "exitCode"), 0);
	podtest_close(&t);
}

static void test_init_containers(void **state)
{
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	podtest_run(
		&t,
		"{'metadata':{'name':'p'},'spec':{'restartPolicy':'Never','initContainers':[{'name':'i1','command':['sh','-c','sleep 0.1; echo first']},{'name':'i2','command':['echo','second']}],'containers':[{'name':'c','command':['echo','third']}]}}");
	assert_string_equal(phase_of(&t, "p"), "Succeeded");
	assert_lines(&t, "p/i1: first\np/i2: second\np/c: third\n");
	buf_clear(&t.lines);
	podtest_run(
		&t,
		"{'metadata':{'name':'q'},'spec':{'restartPolicy':'Never','initContainers':[{'name':'i1','command':['false']}],'containers':[{'name':'c','command':['echo','never']}]}}");
	assert_string_equal(phase_of(&t, "q"), "Failed");
	assert_int_equal(t.lines.len, 0);
	assert_string_equal(
		json_str(container_of(&t, "q", "c"), "state", "waiting", "reason"),
		"PodInitializing");
	podtest_close(&t);
}

static void test_deadline(void **state)
{
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	podtest_run(&t,
		    script(&t,
			   "'activeDeadlineSeconds':1,'terminationGracePeriodSeconds':1,",
			   "", "sleep 100"));
	assert_string_equal(phase_of(&t, "p"), "Failed");
	assert_string_equal(json_str(kubelet_status(t.k, "p"), "reason"),
			    "DeadlineExceeded");
	podtest_close(&t);
}

static void test_config_errors(void **state)
{
	static const struct {
		const char *container, *message;
	} rows[] = {
		{ "'env':[{'name':'A','valueFrom':{'configMapKeyRef':{'name':'no','key':'k'}}}]",
		  "env A: ConfigMap ns/no not found" },
		{ "'env':[{'name':'A','valueFrom':{'configMapKeyRef':{'name':'cm','key':'k'}}}]",
		  "env A: couldn't find key k in ConfigMap ns/cm" },
		{ "'env':[{'name':'A','valueFrom':{'secretKeyRef':{'name':'no','key':'k'}}}]",
		  "env A: Secret ns/no not found" },
		{ "'envFrom':[{'secretRef':{'name':'no'}}]",
		  "envFrom: Secret ns/no not found" },
		{ "'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'metadata.nope'}}}]",
		  "unsupported field path metadata.nope" },
		{ "'env':[{'name':'A=B','value':'x'}]", "invalid variable name" },
		{ "'volumeMounts':[{'name':'v','mountPath':'/tmp/kubelet-test-x'}]",
		  "volume \"v\" not found" },
	};
	struct podtest t = { 0 };

	t.objects = json_of(
		&t, "[{'kind':'ConfigMap','metadata':{'name':'cm','namespace':'ns'},"
		    "'data':{'a':'b'}}]");
	podtest_open(&t, NULL);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const cJSON *e;

		podtest_run(&t, script(&t, "",
				       arena_printf(&t.arena, "%s,", rows[i].container),
				       "true"));
		assert_string_equal(phase_of(&t, "p"), "Failed");
		assert_string_equal(json_str(kubelet_status(t.k, "p"), "reason"),
				    "CreateContainerConfigError");
		e = json_get(container_of(&t, "p", "c"), "state", "terminated");
		assert_string_equal(json_str(e, "reason"), "CreateContainerConfigError");
		assert_int_equal(json_int(e, -1, "exitCode"), 128);
		if (!strstr(json_str(e, "message"), rows[i].message))
			fail_msg("row %zu: %s", i, json_str(e, "message"));
		kubelet_remove(t.k, "p");
		assert_null(kubelet_status(t.k, "p"));
	}
	/* Whatever the restart policy: nobody will put it right. */
	assert_string_equal(
		podtest_run(&t, "{'metadata':{'name':'q'},'spec':{'restartPolicy':"
				"'Always','containers':[{'name':'c','command':['true'],"
				"'envFrom':[{'configMapRef':{'name':'no'}}]}]}}"),
		"Failed");
	podtest_close(&t);
}

static void test_hostile_pods(void **state)
{
	static const char *const pods[] = {
		"{'metadata':{'name':'../../tmp/x'},'spec':{'containers':[]}}",
		"{'metadata':{'name':'..'},'spec':{'containers':[]}}",
		"{'metadata':{'name':'a/b'},'spec':{'containers':[]}}",
		"{'metadata':{'name':''},'spec':{'containers':[]}}",
		"{'metadata':{},'spec':{'containers':[]}}",
		"{'metadata':{'name':'p'},'spec':{'hostname':'a b','containers':[]}}",
		"{'metadata':{'name':'p'},'spec':{'containers':[{'name':'../c'}]}}",
		"{'metadata':{'name':'p'},'spec':{'containers':[{}]}}",
		"{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'A'}]}}",
	};
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	for (size_t i = 0; i < N_ELEMENTS(pods); i++) {
		cJSON *doc = json_of(&t, pods[i]);
		struct error err = { 0 };

		assert_int_equal(kubelet_start(t.k, doc, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		cJSON_Delete(doc);
	}
	podtest_close(&t);
}

/* More than the kernel takes at once is an error of that container, no more. */
static void test_huge_environment(void **state)
{
	struct podtest t = { 0 };
	cleanup_buf struct buf b = { .max = 64 << 20 };
	const cJSON *s;

	podtest_open(&t, NULL);
	buf_adds(
		&b,
		"{'metadata':{'name':'p'},'spec':{'restartPolicy':'Never','containers':[{"
		"'name':'c','command':['true'],'env':[");
	for (int i = 0; i < 2500; i++) {
		buf_printf(&b, "%s{'name':'V%d','value':'", i ? "," : "", i);
		for (int j = 0; j < 100; j++)
			buf_adds(&b, "0123456789");
		buf_adds(&b, "'}");
	}
	buf_adds(&b, "]}]}}");
	podtest_run(&t, (const char *)b.data);
	s = json_get(container_of(&t, "p", "c"), "state", "terminated");
	assert_int_equal(json_int(s, -1, "exitCode"), 126);
	assert_non_null(strstr(json_str(s, "message"), "too long"));
	podtest_close(&t);
}

/* Devices that no other run on this machine has. */
static const char *gpu_id(struct podtest *t, const char *name)
{
	return arena_printf(&t->arena, "GPU-test-%d-%s", (int)getpid(), name);
}

static const char *gpu_pod(struct podtest *t, const char *name, int n, const char *text)
{
	return arena_printf(
		&t->arena,
		"{'metadata':{'name':'%s'},'spec':{'restartPolicy':'Never',"
		"'containers':[{'name':'c','resources':{'limits':{'nvidia.com/gpu':%d}},"
		"'command':['sh','-c','%s']}]}}",
		name, n, text);
}

static void test_gpus(void **state)
{
	struct podtest t = { 0 };
	const char *first = gpu_id(&t, "a"), *second = gpu_id(&t, "b");
	const char *const ids[] = { first, second, gpu_id(&t, "c"), NULL };
	const char *both = arena_printf(&t.arena, "%s,%s", first, second);
	cJSON *notes = cJSON_CreateArray(), *doc;
	struct error err = { 0 };

	podtest_open(&t, ids);
	podtest_start(&t, gpu_pod(&t, "a", 2,
				  "echo $CUDA_VISIBLE_DEVICES; while ! test -e go; do "
				  "sleep 0.02; done"));
	podtest_start(&t, gpu_pod(&t, "b", 2, "echo $CUDA_VISIBLE_DEVICES"));
	podtest_run(&t, script(&t, "", "", "echo none=$CUDA_VISIBLE_DEVICES."));
	assert_string_equal(phase_of(&t, "b"), "Pending");
	assert_string_equal(
		json_str(json_find_const(json_get(kubelet_status(t.k, "b"), "conditions"),
					 "type", "PodScheduled"),
			 "reason"),
		"Unschedulable");
	assert_string_equal(json_str(kubelet_status(t.k, "b"), "message"),
			    "waiting for 2 nvidia.com/gpu: this machine has 3, 1 free");
	assert_int_equal(file_write(path_join(&t.arena, t.dir, "go"), "", 0, 0644, &err),
			 0);
	podtest_wait(&t, "a");
	podtest_wait(&t, "b");
	assert_string_equal(phase_of(&t, "b"), "Succeeded");
	assert_non_null(
		strstr((char *)t.lines.data, arena_printf(&t.arena, "a/c: %s\n", both)));
	assert_non_null(
		strstr((char *)t.lines.data, arena_printf(&t.arena, "b/c: %s\n", both)));
	assert_non_null(strstr((char *)t.lines.data, "p/c: none=.\n"));
	doc = json_of(&t, gpu_pod(&t, "big", 4, "true"));
	assert_int_equal(kubelet_check(t.k, doc, notes, &err), -1);
	assert_string_equal(err.msg,
			    "big/c: requests 4 nvidia.com/gpu, but this machine has 3; "
			    "'--gpu 0' runs it without GPUs");
	cJSON_Delete(doc);
	cJSON_Delete(notes);
	podtest_close(&t);
}

/* A device has one user among all runs of this machine. */
static void test_gpus_of_two_runs(void **state)
{
	struct podtest a = { 0 }, b = { 0 };
	const char *const ids[] = { gpu_id(&a, "a"), NULL };

	podtest_open(&a, ids);
	podtest_open(&b, ids);
	podtest_start(&a, gpu_pod(&a, "a", 1, "sleep 100"));
	podtest_start(&b, gpu_pod(&b, "b", 1, "echo $CUDA_VISIBLE_DEVICES"));
	podtest_poll(&b);
	assert_string_equal(json_str(kubelet_status(b.k, "b"), "reason"),
			    "Unschedulable");
	kubelet_stop(a.k, "a", 0);
	podtest_wait(&a, "a");
	podtest_wait(&b, "b");
	assert_lines(&b, arena_printf(&b.arena, "b/c: %s\n", ids[0]));
	podtest_close(&a);
	podtest_close(&b);
}

/* Without a readiness probe: ready as soon as it runs. */
static void test_ready_at_once(void **state)
{
	struct podtest t = { 0 };
	const cJSON *conditions;

	podtest_open(&t, NULL);
	podtest_start(&t, script(&t, "", "", "sleep 100"));
	UNTIL(ready(&t), podtest_poll(&t));
	conditions = json_get(kubelet_status(t.k, "p"), "conditions");
	assert_string_equal(
		json_str(json_find_const(conditions, "type", "Ready"), "status"), "True");
	podtest_close(&t);
}

static _Noreturn void answer_all(int fd)
{
	for (;;) {
		char request[2000] = "";
		const char *answer = "HTTP/1.1 503 Busy\r\n\r\n";
		int c = accept(fd, NULL, NULL);

		if (read(c, request, sizeof(request) - 1) > 0 &&
		    str_starts(request, "GET /ok HTTP/1.1\r\nHost: 127."))
			answer = "HTTP/1.1 200 OK\r\n\r\n";
		send(c, answer, strlen(answer), MSG_NOSIGNAL);
		close(c);
	}
}

/* A server that says 200 to /ok and 503 to the rest. */
static pid_t serve(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (const void *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 10), 0);
	assert_int_equal(getsockname(fd, (void *)&a, &len), 0);
	*ret_port = ntohs(a.sin_port);
	pid = fork();
	if (pid == 0)
		answer_all(fd);
	close(fd);
	return pid;
}

static void test_network_probes(void **state)
{
	static const struct {
		const char *probe;
		bool passes;
	} rows[] = {
		{ "'httpGet':{'host':'127.0.0.1','port':%d,'path':'/ok'}", true },
		{ "'httpGet':{'host':'127.0.0.1','port':%d,'path':'ok'}", true },
		{ "'httpGet':{'host':'localhost','port':'web','path':'/ok'},'x':%d",
		  true },
		{ "'httpGet':{'host':'127.0.0.1','port':%d,'path':'/'}", false },
		{ "'tcpSocket':{'host':'127.0.0.1','port':%d}", true },
		{ "'tcpSocket':{'host':'127.0.0.1','port':1},'x':%d", false },
		{ "'tcpSocket':{'host':'no address','port':%d}", false },
		{ "'tcpSocket':{'host':'127.0.0.1','port':'none'},'x':%d", false },
	};
	struct podtest t = { 0 };
	int port;
	pid_t pid = serve(&port);

	podtest_open(&t, NULL);
	/* A startup probe that fails ends the container: so both answers are seen. */
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *at = strstr(rows[i].probe, "%d");
		const char *probe =
			arena_printf(&t.arena, "%.*s%d%s", (int)(at - rows[i].probe),
				     rows[i].probe, port, at + 2);

		podtest_start(
			&t,
			script(&t, "'terminationGracePeriodSeconds':0,",
			       arena_printf(&t.arena,
					    "'ports':[{'name':'web','containerPort':%d}],"
					    "'startupProbe':{%s,'failureThreshold':1},",
					    port, probe),
			       "sleep 100"));
		UNTIL(ready(&t) || ended(&t, "p"), podtest_poll(&t));
		if (ready(&t) != rows[i].passes)
			fail_msg("row %zu", i);
		kubelet_remove(t.k, "p");
		UNTIL(!kubelet_status(t.k, "p"), podtest_poll(&t));
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	podtest_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KUBELET_CASES(NAMESPACES),
		KUBELET_CASES(NONE),
		cmocka_unit_test_setup(test_full_disk, with_namespaces),
		cmocka_unit_test_setup(test_restarts, with_namespaces),
		cmocka_unit_test_setup(test_init_containers, with_namespaces),
		cmocka_unit_test_setup(test_deadline, with_namespaces),
		cmocka_unit_test_setup(test_config_errors, with_namespaces),
		cmocka_unit_test_setup(test_hostile_pods, with_namespaces),
		cmocka_unit_test_setup(test_huge_environment, with_namespaces),
		cmocka_unit_test_setup(test_gpus, with_namespaces),
		cmocka_unit_test_setup(test_gpus_of_two_runs, with_namespaces),
		cmocka_unit_test_setup(test_ready_at_once, with_namespaces),
		cmocka_unit_test_setup(test_network_probes, with_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
