/*
 * kubelet_cases.h - what holds of a pod, whoever runs it and however.
 *
 * test_kubelet.c runs them as the user that it is, with namespaces and, where that
 * matters, without; test_kubelet_user.c as an ordinary user, where that matters.
 */
#ifndef TESTS_UNIT_KUBELET_KUBELET_CASES_H
#define TESTS_UNIT_KUBELET_KUBELET_CASES_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/screen.h"
#include "tests/unit/kubelet/podtest.h"

bool no_namespaces;

static bool isolated(const struct podtest *t)
{
	return kubelet_isolation(t->k) == ISOLATION_NAMESPACES;
}

static void test_output(void **state)
{
	struct podtest t = { 0 };
	cleanup_buf struct buf log = { .max = 4096 };
	struct error err;
	const cJSON *c;

	podtest_open(&t, NULL);
	assert_string_equal(
		podtest_run(&t,
			    script(&t, "", "", "echo one; echo two >&2; printf three")),
		"Succeeded");
	assert_lines(&t, "p/c: one\np/c: two\np/c: three\n");
	assert_int_equal(
		file_read(&log, path_join(&t.arena, t.dir, "logs/p/c.log"), &err), 0);
	assert_string_equal((char *)log.data, "one\ntwo\nthree\n");
	c = container_of(&t, "p", "c");
	assert_string_equal(json_str(c, "state", "terminated", "reason"), "Completed");
	assert_int_equal(json_int(c, -1, "state", "terminated", "exitCode"), 0);
	assert_true(t.status_calls >= 1);
	podtest_close(&t);
}

static void test_long_and_binary_lines(void **state)
{
	struct podtest t = { 0 };
	struct stat st;

	podtest_open(&t, NULL);
	podtest_run(
		&t,
		script(&t, "", "",
		       "head -c 1000000 /dev/zero | tr \\\\\\\\0 x; echo; "
		       "printf \\\\\\\\0\\\\\\\\377; echo; head -c 300000 /dev/zero"));
	/* cut at 64 KiB; NUL and other bytes as they are */
	assert_int_equal(t.lines.len, 3 * strlen("p/c: \n") + 65536 + 2 + 65536 +
					      2 * strlen(SCREEN_CUT));
	assert_int_equal(stat(path_join(&t.arena, t.dir, "logs/p/c.log"), &st), 0);
	assert_int_equal(st.st_size, 1000001 + 3 + 300001);
	assert_int_equal(st.st_mode & 0777, 0600);
	podtest_close(&t);
}

static void test_how_it_ends(void **state)
{
	static const struct {
		const char *container; /* its members besides the name */
		int code, signal;
		const char *reason, *message;
	} rows[] = {
		{ "'command':['sh','-c','exit 3']", 3, 0, "Error", NULL },
		{ "'command':['sh','-c','kill -9 $$$$']", 137, 9, "Error",
		  "killed by signal 9" },
		{ "'command':['sh','-c','kill -SEGV $$$$']", 139, 11, "Error",
		  "killed by signal 11" },
		{ "'command':['no-such-program']", 127, 0, "StartError",
		  "command not found: no-such-program" },
		{ "'command':['/no/such/program','x']", 127, 0, "StartError",
		  "command not found: /no/such/program" },
		{ "'command':['/etc/passwd']", 126, 0, "StartError",
		  "not executable: /etc/passwd" },
		{ "'command':['/etc']", 126, 0, "StartError",
		  "directory, not a program: /etc" },
		{ "'command':['./no-interpreter']", 127, 0, "StartError",
		  "script whose interpreter (#! line) is not there: ./no-interpreter" },
		{ "'command':['no-interpreter'],'env':[{'name':'PATH','value':'/none:.'}]",
		  127, 0, "StartError",
		  "script whose interpreter (#! line) is not there: ./no-interpreter" },
		{ "'command':['no-format'],'env':[{'name':'PATH','value':'/none:.'}]",
		  126, 0, "StartError", "neither a program nor" },
		{ "'command':['passwd'],'env':[{'name':'PATH','value':'/etc:/none'}]",
		  126, 0, "StartError", "not executable: /etc/passwd" },
		{ "'command':['./windows']", 127, 0, "StartError",
		  "script with the line ends of Windows: ./windows" },
		{ "'command':['./no-format']", 126, 0, "StartError",
		  "neither a program nor" },
		{ "'command':['./marked']", 126, 0, "StartError",
		  "script with a byte order mark before its #! line: ./marked" },
		{ "'command':['true'],'workingDir':'/no/such/folder'", 128, 0,
		  "StartError",
		  "working directory /no/such/folder: No such file or directory" },
	};
	struct podtest t = { 0 };
	struct error err;

	podtest_open(&t, NULL);
	assert_int_equal(file_write(path_join(&t.arena, t.dir, "no-interpreter"),
				    "#!/no/such/sh\n", 14, 0755, &err),
			 0);
	assert_int_equal(file_write(path_join(&t.arena, t.dir, "windows"),
				    "#!/bin/sh\r\nexit\r\n", 17, 0755, &err),
			 0);
	assert_int_equal(file_write(path_join(&t.arena, t.dir, "marked"),
				    "\xef\xbb\xbf#!/bin/sh\n", 13, 0755, &err),
			 0);
	assert_int_equal(file_write(path_join(&t.arena, t.dir, "no-format"), "hello\n", 6,
				    0755, &err),
			 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *pod = arena_printf(
			&t.arena,
			"{'metadata':{'name':'p%zu'},'spec':{'restartPolicy':'Never',"
			"'containers':[{'name':'c',%s}]}}",
			i, rows[i].container);
		const char *name = arena_printf(&t.arena, "p%zu", i), *message;
		const cJSON *s;

		assert_string_equal(podtest_run(&t, pod),
				    rows[i].code ? "Failed" : "Succeeded");
		s = json_get(container_of(&t, name, "c"), "state", "terminated");
		message = json_str(s, "message");
		if (json_int(s, -1, "exitCode") != rows[i].code ||
		    json_int(s, 0, "signal") != rows[i].signal ||
		    !str_eq(json_str(s, "reason"), rows[i].reason) ||
		    (rows[i].message && !(message && strstr(message, rows[i].message))))
			fail_msg("row %zu: %s", i, json_text(s));
	}
	podtest_close(&t);
}

static void test_environment(void **state)
{
	struct podtest t = { 0 };
	const char *pod;

	t.objects = json_of(
		&t, "[{'kind':'ConfigMap','metadata':{'name':'cm','namespace':'ns'},"
		    "'data':{'a':'from cm'}},"
		    "{'kind':'Secret','metadata':{'name':'s','namespace':'ns'},"
		    "'data':{'token':'aHVudGVyMg=='}}]");
	setenv("CALLERS", "callers", 1);
	setenv("BOTH", "callers", 1);
	podtest_open(&t, NULL);
	pod = "{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{'l/x':'label'},'annotations':{'batch.kubernetes.io/job-completion-index':'1'}},'spec':{'restartPolicy':'Never','hostname':'host-1','containers':[{'name':'c','envFrom':[{'prefix':'P_','configMapRef':{'name':'cm'}}],'env':[{'name':'BOTH','value':'pods'},{'name':'A','value':'$(P_a), $(BOTH)'},{'name':'RANK','valueFrom':{'fieldRef':{'fieldPath':'metadata.annotations[\\\"batch.kubernetes.io/job-completion-index\\\"]'}}},{'name':'TOKEN','valueFrom':{'secretKeyRef':{'name':'s','key':'token'}}}],'command':['sh','-c','echo $0: $CALLERS $BOTH $A $RANK $TOKEN $HOSTNAME'],'args':['arg-$(RANK)-$(NONE)-$$(A)']}]}}";
	pod = arena_strdup(&t.arena, pod);
	for (char *p = (char *)(uintptr_t)pod; (p = strstr(p, "\\\"")) != NULL;) {
		/* a quotation mark inside of a path is a single one */
		p[0] = 1;
		p[1] = 2;
	}
	{
		cleanup_buf struct buf b = { .max = 8192 };

		for (const char *p = pod; *p; p++) {
			if (*p == 1)
				buf_adds(&b, "\\u0027");
			else if (*p != 2)
				buf_add(&b, p, 1);
		}
		assert_string_equal(podtest_run(&t, (const char *)b.data), "Succeeded");
	}
	assert_lines(
		&t,
		"p/c: arg-1-$(NONE)-$(A): callers pods from cm, pods 1 hunter2 host-1\n");
	podtest_close(&t);
}

static void test_names(void **state)
{
	struct podtest t = { 0 };
	struct error err;
	const char *ip;

	podtest_open(&t, NULL);
	assert_int_equal(kubelet_add_name(t.k, "p",
					  (const char *[]){ "j-node-0-0.j", NULL }, &err),
			 0);
	assert_int_equal(kubelet_add_name(t.k, "q",
					  (const char *[]){ "j-node-0-1.j", NULL }, &err),
			 0);
	podtest_run(
		&t,
		script(&t, "'hostname':'j-node-0-0','subdomain':'j',",
		       "'env':[{'name':'ADDR','value':'j-node-0-1.j'},"
		       "{'name':'URL','value':'tcp://j-node-0-1.j:29500/x'}],",
		       "hostname; getent hosts $ADDR | cut -d\\\" \\\" -f1; echo $URL"));
	ip = json_str(kubelet_status(t.k, "p"), "podIP");
	assert_true(str_starts(ip, "127."));
	assert_false(str_eq(ip, "127.0.0.1"));
	if (isolated(&t)) {
		const char *prefix =
			str_slice(&t.arena, ip, (size_t)(strrchr(ip, '.') - ip));

		assert_lines(&t, arena_printf(&t.arena,
					      "p/c: j-node-0-0\np/c: %s.2\n"
					      "p/c: tcp://j-node-0-1.j:29500/x\n",
					      prefix));
	} else {
		assert_null(strstr((char *)t.lines.data, "j-node-0-1.j"));
		assert_non_null(strstr((char *)t.lines.data, ".2:29500/x\n"));
	}
	podtest_close(&t);
}

/* The pod that takes another's place has its name in DNS, and so its address. */
static void test_names_stay(void **state)
{
	struct podtest t = { 0 };
	struct error err;
	const char *first;
	const char *const names[] = { "j-node-0-0.j", NULL };

	podtest_open(&t, NULL);
	assert_int_equal(kubelet_add_name(t.k, "j-node-0-0-aaaaa", names, &err), 0);
	podtest_run(
		&t,
		"{'metadata':{'name':'j-node-0-0-aaaaa'},'spec':{'restartPolicy':'Never',"
		"'hostname':'j-node-0-0','subdomain':'j',"
		"'containers':[{'name':'c','command':['false']}]}}");
	first = arena_strdup(&t.arena,
			     json_str(kubelet_status(t.k, "j-node-0-0-aaaaa"), "podIP"));
	podtest_run(
		&t,
		"{'metadata':{'name':'j-node-0-0-bbbbb'},'spec':{'restartPolicy':'Never',"
		"'hostname':'j-node-0-0','subdomain':'j',"
		"'containers':[{'name':'c','command':['false']}]}}");
	assert_string_equal(json_str(kubelet_status(t.k, "j-node-0-0-bbbbb"), "podIP"),
			    first);
	assert_int_equal(kubelet_add_name(t.k, "j-node-0-0-ccccc", names, &err), 0);
	podtest_run(
		&t,
		"{'metadata':{'name':'j-node-0-0-ccccc'},'spec':{'restartPolicy':'Never',"
		"'containers':[{'name':'c','command':['false']}]}}");
	assert_string_equal(json_str(kubelet_status(t.k, "j-node-0-0-ccccc"), "podIP"),
			    first);
	podtest_close(&t);
}

static void test_port(void **state)
{
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	kubelet_map_port(t.k, 29500, 31234);
	podtest_run(
		&t,
		script(&t, "",
		       "'env':[{'name':'PET_MASTER_PORT','value':'29500'},"
		       "{'name':'JAX_COORDINATOR_ADDRESS','value':'a.b:29500'},"
		       "{'name':'MINE','value':'29500'},"
		       "{'name':'URL','value':'http://x:$(PET_MASTER_PORT)'}],"
		       "'args':['--rdzv_endpoint=n.j:29500','--port=29500'],",
		       "echo $PET_MASTER_PORT $JAX_COORDINATOR_ADDRESS $MINE $URL $0 $1"));
	assert_lines(&t, "p/c: 31234 a.b:31234 29500 http://x:31234 "
			 "--rdzv_endpoint=n.j:31234 --port=29500\n");
	podtest_close(&t);
}

/* A sidecar runs before the work begins, does not keep the pod, and gets TERM. */
static void test_sidecar(void **state)
{
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	podtest_run(
		&t,
		"{'metadata':{'name':'p'},'spec':{'restartPolicy':'Never','initContainers':[{'name':'side','restartPolicy':'Always','command':['sh','-c','trap \\u0022echo bye; exit 0\\u0022 TERM; echo here; touch here; while :; do sleep 0.05; done']}],'containers':[{'name':'c','command':['sh','-c','while ! test -e here; do sleep 0.02; done; echo work']}]}}");
	assert_string_equal(phase_of(&t, "p"), "Succeeded");
	assert_lines(&t, "p/side: here\np/c: work\np/side: bye\n");
	podtest_close(&t);
}

static void test_stop(void **state)
{
	struct podtest t = { 0 };
	const cJSON *s;

	podtest_open(&t, NULL);
	/* the polite one */
	podtest_start(&t, script(&t, "", "",
				 "trap \\\"echo bye; exit 7\\\" TERM; echo here; "
				 "while :; do sleep 0.05; done"));
	UNTIL(t.lines.len && str_eq(phase_of(&t, "p"), "Running"), podtest_poll(&t));
	kubelet_stop(t.k, "p", -1);
	podtest_wait(&t, "p");
	assert_string_equal(phase_of(&t, "p"), "Failed");
	s = json_get(container_of(&t, "p", "c"), "state", "terminated");
	assert_int_equal(json_int(s, -1, "exitCode"), 7);
	assert_lines(&t, "p/c: here\np/c: bye\n");
	kubelet_remove(t.k, "p");
	assert_null(kubelet_status(t.k, "p"));
	/* the deaf one */
	buf_clear(&t.lines);
	podtest_start(&t, script(&t, "", "",
				 "trap : TERM; echo here; while :; do sleep 0.05; done"));
	UNTIL(t.lines.len, podtest_poll(&t));
	kubelet_stop(t.k, "p", 100);
	podtest_wait(&t, "p");
	s = json_get(container_of(&t, "p", "c"), "state", "terminated");
	assert_int_equal(json_int(s, -1, "exitCode"), 137);
	assert_int_equal(json_int(s, -1, "signal"), 9);
	podtest_close(&t);
}

/* ---- nothing is left behind ------------------------------------------------------------ */

/* Is there a process of which the command line holds the mark? */
static bool anybody(const char *mark)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "grep -lsa -e %s /proc/[0-9]*/cmdline 2>/dev/null | grep "
		 "-v self >/dev/null",
		 mark);
	return system(command) == 0;
}

static const char *mark_of(struct podtest *t)
{
	static unsigned n;

	/* A number for sleep(1) that nobody else uses; not on the grep's command line whole. */
	return arena_printf(&t->arena, "54%d%03u", (int)getpid() % 100000, n++);
}

/* A daemon that the command leaves goes with it, and does not hold the output. */
static void test_leftovers(void **state)
{
	struct podtest t = { 0 };
	const char *mark;

	podtest_open(&t, NULL);
	mark = mark_of(&t);
	podtest_run(
		&t,
		script(&t, "", "",
		       arena_printf(&t.arena,
				    "(setsid sleep %s &) ; (setsid setsid sleep %s &); "
				    "sleep 0.1; echo done",
				    mark, mark)));
	assert_lines(&t, "p/c: done\n");
	assert_false(
		anybody(arena_printf(&t.arena, "%.3s[%c]%s", mark, mark[3], mark + 4)));
	podtest_close(&t);
}

/* kill -9 of the whole program: the kernel ends every pod. */
static void test_killed(void **state)
{
	struct podtest t = { 0 };
	const char *mark, *pattern;
	pid_t pid;
	int fds[2];
	char dir[64] = "";
	struct error err;

	mark = mark_of(&t);
	pattern = arena_printf(&t.arena, "%.3s[%c]%s", mark, mark[3], mark + 4);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		podtest_open(&t, NULL);
		podtest_start(&t, script(&t, "", "",
					 arena_printf(&t.arena,
						      "(setsid sleep %s &) ; sleep 0.2; "
						      "echo here; sleep %s",
						      mark, mark)));
		UNTIL(t.lines.len, podtest_poll(&t));
		if (write(fds[1], t.dir, strlen(t.dir)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(read(fds[0], dir, sizeof(dir) - 1) > 0);
	assert_true(anybody(pattern));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EVENTUALLY(!anybody(pattern));
	close(fds[0]);
	close(fds[1]);
	arena_clear(&t.arena);
	assert_int_equal(dir_remove(dir, &err), 0);
}

static void test_many(void **state)
{
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	for (int i = 0; i < 40; i++)
		podtest_start(
			&t,
			arena_printf(
				&t.arena,
				"{'metadata':{'name':'p%d'},'spec':{'restartPolicy':'Never','containers':[{'name':'c','command':['echo','%d']}]}}",
				i, i));
	for (int i = 0; i < 40; i++) {
		const char *name = arena_printf(&t.arena, "p%d", i);

		podtest_wait(&t, name);
		assert_string_equal(phase_of(&t, name), "Succeeded");
		assert_non_null(strstr((char *)t.lines.data,
				       arena_printf(&t.arena, "p%d/c: %d\n", i, i)));
	}
	podtest_close(&t);
}

/* ---- what is wrong ---------------------------------------------------------------------- */

/* Said once, however many pods are alike; what cannot run is refused by name. */
static void test_check(void **state)
{
	static const struct {
		const char *spec, *container, *note;
	} rows[] = {
		{ "'nodeSelector':{'a':'b'},", "",
		  "nodeSelector is not applied: this machine is the only node" },
		{ "'nodeSelector':{},", "", NULL },
		{ "'securityContext':{'runAsUser':0},", "",
		  "securityContext is not applied: processes run as the calling user" },
		{ "", "'securityContext':{'runAsUser':0},",
		  "securityContext is not applied: processes run as the calling user" },
		{ "", "'tty':true,",
		  "p/c: tty is not applied: output goes through a pipe" },
		{ "", "'tty':false,", NULL },
		{ "", "'readinessProbe':{'grpc':{'port':1}},",
		  "p/c: readinessProbe is not applied: only exec, tcpSocket and httpGet "
		  "over HTTP are" },
		{ "", "'readinessProbe':{'tcpSocket':{'port':1}},", NULL },
		{ "", "'lifecycle':{'preStop':{'httpGet':{'port':1}}},",
		  "p/c: lifecycle.preStop is not applied: only exec and sleep are" },
		{ "'volumes':[{'name':'v','emptyDir':{'sizeLimit':'1Gi'}}],", "",
		  "volume v: emptyDir.sizeLimit is not applied" },
		{ "'volumes':[{'name':'v','projected':{'sources':[{'serviceAccountToken':{}}]}}],",
		  "",
		  "volume v: projected serviceAccountToken is not applied: "
		  "no API server" },
		{ "", "'resources':{'limits':{'amd.com/gpu':1}},",
		  "p/c: resources.limits.amd.com/gpu is not applied: this machine does "
		  "not manage this resource" },
	};
	struct podtest t = { 0 };
	struct error err = { 0 };
	cJSON *doc;

	podtest_open(&t, NULL);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cJSON *notes = cJSON_CreateArray(), *n;
		bool found = !rows[i].note;

		doc = json_of(&t, script(&t, rows[i].spec, rows[i].container, "true"));
		assert_int_equal(kubelet_check(t.k, doc, notes, &err), 0);
		assert_int_equal(kubelet_check(t.k, doc, notes, &err), 0);
		json_each(n, notes)
			found |= str_eq(n->valuestring, rows[i].note);
		if (!found ||
		    cJSON_GetArraySize(notes) != !!rows[i].note + (isolated(&t) ? 0 : 1))
			fail_msg("row %zu: %s", i, json_text(notes));
		cJSON_Delete(notes);
		cJSON_Delete(doc);
	}
	doc = json_of(
		&t,
		"{'spec':{'containers':[{'name':'c','image':'repo/x:1','args':['a']}]}}");
	assert_int_equal(kubelet_check(t.k, doc, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	assert_string_equal(
		err.msg,
		"c: no command: image repo/x:1 is not pulled locally, so its "
		"default command is unknown; set the container's command (the trainer's: "
		"after '--', or spec.trainer.command)");
	cJSON_Delete(doc);
	/* What nobody will make: said before anything starts. */
	doc = json_of(&t, script(&t, "",
				 "'env':[{'name':'A','valueFrom':{'secretKeyRef':"
				 "{'name':'hf','key':'token'}}}],",
				 "true"));
	assert_int_equal(kubelet_check(t.k, doc, NULL, &err), -1);
	assert_string_equal(err.msg, "p/c: env A: Secret ns/hf not found: add it to the "
				     "job's file or mark the reference optional");
	cJSON_Delete(doc);
	doc = json_of(&t,
		      script(&t, "'volumes':[{'name':'v','configMap':{'name':'cm'}}],",
			     "'volumeMounts':[{'name':'v','mountPath':'/kft-test'}],",
			     "true"));
	assert_int_equal(kubelet_check(t.k, doc, NULL, &err), -1);
	assert_string_equal(err.msg, "p/c: volume v: configMap cm not found: add it to "
				     "the job's file or mark it optional");
	cJSON_Delete(doc);
	podtest_close(&t);
}

/* ---- probes and hooks ------------------------------------------------------------------- */

static bool ready(struct podtest *t)
{
	return json_bool(container_of(t, "p", "c"), false, "ready");
}

static void test_readiness(void **state)
{
	struct podtest t = { 0 };

	podtest_open(&t, NULL);
	podtest_start(&t,
		      script(&t, "'terminationGracePeriodSeconds':0,",
			     "'readinessProbe':{'exec':{'command':['test','-e','ready']},"
			     "'periodSeconds':1},",
			     "echo here; sleep 0.3; touch ready; sleep 100"));
	UNTIL(t.lines.len, podtest_poll(&t));
	assert_false(ready(&t));
	UNTIL(ready(&t), podtest_poll(&t));
	kubelet_stop(t.k, "p", -1);
	podtest_wait(&t, "p");
	podtest_close(&t);
}

static void test_liveness(void **state)
{
	struct podtest t = { 0 };
	const cJSON *s;

	podtest_open(&t, NULL);
	podtest_run(
		&t,
		script(&t, "'terminationGracePeriodSeconds':1,",
		       "'livenessProbe':{'exec':{'command':['false']},'periodSeconds':1,"
		       "'failureThreshold':1},",
		       "sleep 100"));
	s = json_get(container_of(&t, "p", "c"), "state", "terminated");
	assert_int_equal(json_int(s, -1, "exitCode"), 143);
	podtest_close(&t);
}

/* Also a shell's child that hangs: it is gone when the next attempt begins. */
static void test_probe_that_hangs(void **state)
{
	static const char *const probes[] = { "livenessProbe", "startupProbe" };

	for (size_t i = 0; i < 2; i++) {
		cleanup_buf struct buf b = { .max = 100 };
		struct podtest t = { 0 };
		struct error err;
		const cJSON *s;

		podtest_open(&t, NULL);
		podtest_run(
			&t,
			script(&t, "'terminationGracePeriodSeconds':1,",
			       arena_printf(&t.arena,
					    "'%s':{'exec':{'command':['sh','-c','echo x "
					    ">>tries; sleep 1000; true']},"
					    "'periodSeconds':1,'failureThreshold':2},",
					    probes[i]),
			       "sleep 100"));
		s = json_get(container_of(&t, "p", "c"), "state", "terminated");
		assert_int_equal(json_int(s, -1, "exitCode"), 143);
		assert_int_equal(file_read(&b, path_join(&t.arena, t.dir, "tries"), &err),
				 0);
		assert_string_equal((char *)b.data, "x\nx\n");
		podtest_close(&t);
	}
}

static void test_hooks(void **state)
{
	struct podtest t = { 0 };
	struct error err;
	cleanup_buf struct buf b = { .max = 100 };

	podtest_open(&t, NULL);
	podtest_start(
		&t,
		script(&t, "",
		       "'lifecycle':{'postStart':{'exec':{'command':['sh','-c','until [ -e up ]; do sleep 0.01; done; echo post >>h']}},'preStop':{'exec':{'command':['sh','-c','echo pre >>h']}}},",
		       "trap \\\"echo term >>h; exit 0\\\" TERM; touch up; "
		       "while :; do sleep 0.05; done"));
	UNTIL(ready(&t), podtest_poll(&t));
	kubelet_stop(t.k, "p", -1);
	podtest_wait(&t, "p");
	assert_int_equal(file_read(&b, path_join(&t.arena, t.dir, "h"), &err), 0);
	assert_string_equal((char *)b.data, "post\npre\nterm\n");
	podtest_close(&t);
}

/* ---- all of them ------------------------------------------------------------------------ */

static int with_namespaces(void **state)
{
	no_namespaces = false;
	return 0;
}

static int without_namespaces(void **state)
{
	no_namespaces = true;
	return 0;
}

/* clang-format off */
#define NAMESPACES(f) { "namespaces: " #f, f, with_namespaces, NULL, NULL }
#define NONE(f) { "none: " #f, f, without_namespaces, NULL, NULL }

#define KUBELET_CASES(HOW) \
	HOW(test_output), \
	HOW(test_long_and_binary_lines), \
	HOW(test_how_it_ends), \
	HOW(test_environment), \
	HOW(test_names), \
	HOW(test_names_stay), \
	HOW(test_port), \
	HOW(test_sidecar), \
	HOW(test_stop), \
	HOW(test_leftovers), \
	HOW(test_killed), \
	HOW(test_many), \
	HOW(test_check), \
	HOW(test_readiness), \
	HOW(test_liveness), \
	HOW(test_probe_that_hangs), \
	HOW(test_hooks)
/* clang-format on */

#endif
