/*
 * volume_cases.h - volumes at their mount paths, as a process sees them.
 *
 * test_volumes.c runs the cases as the user that it is, test_volumes_user.c as an
 * ordinary user.
 */
#ifndef TESTS_UNIT_KUBELET_VOLUME_CASES_H
#define TESTS_UNIT_KUBELET_VOLUME_CASES_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "tests/unit/kubelet/podtest.h"

bool no_namespaces;

static const char objects[] =
	"[{'kind':'ConfigMap','metadata':{'name':'cm','namespace':'ns'},'data':{'a.txt':'A\\n','b.txt':'B\\n'},'binaryData':{'bin':'AAH/'}},{'kind':'Secret','metadata':{'name':'key','namespace':'ns'},'data':{'id':'c2VjcmV0Cg=='},'stringData':{'pub':'public\\n'}}]";

static void open_with_objects(struct podtest *t)
{
	*t = (struct podtest){ 0 };
	t->objects = json_of(t, objects);
	podtest_open(t, NULL);
	if (no_namespaces || kubelet_isolation(t->k) == ISOLATION_NAMESPACES)
		return;
	podtest_close(t);
	print_message("# skip: this machine allows no mount namespaces\n");
	skip();
}

/* A pod with these volumes, and one container with these mounts. */
static const char *pod_with(struct podtest *t, const char *volumes, const char *mounts,
			    const char *text)
{
	return arena_printf(
		&t->arena,
		"{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{'b':'2',"
		"'a':'1'}},'spec':{'restartPolicy':'Never','volumes':[%s],"
		"'containers':[{'name':'c','volumeMounts':[%s],"
		"'command':['sh','-c','%s']}]}}",
		volumes, mounts, text);
}

/* Run it; its output. */
static const char *see(struct podtest *t, const char *volumes, const char *mounts,
		       const char *text)
{
	buf_clear(&t->lines);
	podtest_start(t, pod_with(t, volumes, mounts, text));
	podtest_wait(t, "p");
	if (!str_eq(phase_of(t, "p"), "Succeeded"))
		fail_msg("%s", json_text(kubelet_status(t->k, "p")));
	kubelet_remove(t->k, "p");
	return t->lines.data ? (const char *)t->lines.data : "";
}

/* Why it does not start. */
static const char *refusal(struct podtest *t, const char *volumes, const char *mounts)
{
	const char *text;

	podtest_start(t, pod_with(t, volumes, mounts, "true"));
	podtest_wait(t, "p");
	text = json_str(container_of(t, "p", "c"), "state", "terminated", "message");
	text = text ? arena_strdup(&t->arena, text) : "it ran";
	kubelet_remove(t->k, "p");
	return text;
}

/* The entries of a folder, to compare before and after. */
static const char *listing(struct podtest *t, const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	uint64_t sum = 0, n = 0;

	while (d && (e = readdir(d)) != NULL) {
		uint64_t h = 14695981039346656037ULL;

		for (const char *p = e->d_name; *p; p++)
			h = (h ^ (unsigned char)*p) * 1099511628211ULL;
		sum += h;
		n++;
	}
	if (d)
		closedir(d);
	return arena_printf(&t->arena, "%llu %llx", (unsigned long long)n,
			    (unsigned long long)sum);
}

static void test_config_map(void **state)
{
	struct podtest t;

	open_with_objects(&t);
	assert_string_equal(
		see(&t, "{'name':'v','configMap':{'name':'cm'}}",
		    "{'name':'v','mountPath':'/opt/kft-test/cm'}",
		    "cd /opt/kft-test/cm && ls && cat a.txt && od -An -tx1 bin "
		    "&& stat -c %a a.txt && (echo x >a.txt) 2>/dev/null || "
		    "echo read-only"),
		"p/c: a.txt\np/c: b.txt\np/c: bin\np/c: A\np/c:  00 01 ff\np/c: 644\n"
		"p/c: read-only\n");
	assert_string_equal(
		see(&t,
		    "{'name':'v','configMap':{'name':'cm','defaultMode':256,"
		    "'items':[{'key':'a.txt','path':'x/y'},{'key':'b.txt','path':'run',"
		    "'mode':493}]}}",
		    "{'name':'v','mountPath':'/opt/kft-test/cm'}",
		    "cd /opt/kft-test/cm && find . -type f | sort && stat -c %a x/y run"),
		"p/c: ./run\np/c: ./x/y\np/c: 400\np/c: 755\n");
	assert_string_equal(
		see(&t, "{'name':'v','configMap':{'name':'none','optional':true}}",
		    "{'name':'v','mountPath':'/opt/kft-test/cm'}", "ls /opt/kft-test/cm"),
		"");
	podtest_close(&t);
}

static void test_secret(void **state)
{
	struct podtest t;

	open_with_objects(&t);
	assert_string_equal(
		see(&t, "{'name':'v','secret':{'secretName':'key'}}",
		    "{'name':'v','mountPath':'/root/.kft-ssh','readOnly':true}",
		    "cd /root/.kft-ssh && stat -c \\\"%a %n\\\" id pub && cat id"),
		"p/c: 600 id\np/c: 600 pub\np/c: secret\n");
	assert_non_null(strstr(refusal(&t, "{'name':'v','secret':{'secretName':'no'}}",
				       "{'name':'v','mountPath':'/opt/kft-test/s'}"),
			       "volume v: Secret no not found"));
	assert_non_null(
		strstr(refusal(&t,
			       "{'name':'v','secret':{'secretName':'key','items':["
			       "{'key':'id','path':'../../x'}]}}",
			       "{'name':'v','mountPath':'/opt/kft-test/s'}"),
		       "must be relative, without .."));
	podtest_close(&t);
}

static void test_projected_and_downward(void **state)
{
	struct podtest t;

	open_with_objects(&t);
	assert_string_equal(
		see(&t,
		    "{'name':'v','projected':{'sources':[{'configMap':{'name':'cm','items':[{'key':'a.txt','path':'a'}]}},{'secret':{'name':'key','items':[{'key':'id','path':'id'}]}},{'downwardAPI':{'items':[{'path':'labels','fieldRef':{'fieldPath':'metadata.labels'}},{'path':'cpu','resourceFieldRef':{'containerName':'c','resource':'requests.cpu'}}]}},{'serviceAccountToken':{'path':'token'}}]}}",
		    "{'name':'v','mountPath':'/opt/kft-test/all'}",
		    "cd /opt/kft-test/all && ls && cat a id labels && echo && cat cpu"),
		"p/c: a\np/c: cpu\np/c: id\np/c: labels\np/c: A\np/c: secret\n"
		"p/c: a=\"1\"\np/c: b=\"2\"\np/c: 0\n");
	podtest_close(&t);
}

static void test_empty_dir(void **state)
{
	struct podtest t;
	const char *spec =
		"{'metadata':{'name':'p'},'spec':{'restartPolicy':'Never','volumes':[{'name':'d'},{'name':'m','emptyDir':{'medium':'Memory'}}],'initContainers':[{'name':'i','command':['sh','-c','echo 1 >/opt/kft-test/d/x; echo 2 >/dev/shm/x'],'volumeMounts':[{'name':'d','mountPath':'/opt/kft-test/d'},{'name':'m','mountPath':'/dev/shm'}]}],'containers':[{'name':'c','command':['sh','-c','cat /kft-test-2/x/x /dev/shm/x; stat -f -c %T /dev/shm; ls /dev/shm'],'volumeMounts':[{'name':'d','mountPath':'/kft-test-2/x'},{'name':'m','mountPath':'/dev/shm'}]}]}}";

	open_with_objects(&t);
	assert_string_equal(podtest_run(&t, spec), "Succeeded");
	assert_lines(&t, "p/c: 1\np/c: 2\np/c: tmpfs\np/c: x\n");
	podtest_close(&t);
}

/* Where a mount point may be missing; the machine has what it had afterwards. */
static void test_mount_points(void **state)
{
	static const char *const paths[] = { "/kft-test-top",     "/kft-test-top/a/b/c",
					     "/etc/kft-test/mpi", "/root/.kft-test",
					     "/usr/lib/kft-test", "/mnt/kft-test",
					     "/etc/ssl/kft-test", "/var/run/kft-test/x" };
	static const char *const folders[] = { "/",        "/etc", "/root",
					       "/usr/lib", "/mnt", "/run" };
	const char *before[6], *mounts = "";
	struct podtest t;

	open_with_objects(&t);
	for (size_t i = 0; i < 6; i++)
		before[i] = listing(&t, folders[i]);
	for (size_t i = 0; i < 8; i++) {
		const char *m =
			arena_printf(&t.arena, "{'name':'v','mountPath':'%s'}", paths[i]);

		assert_string_equal(
			see(&t, "{'name':'v','configMap':{'name':'cm'}}", m,
			    arena_printf(&t.arena,
					 "cat %s/a.txt; pwd; echo out >>kept; "
					 "test -s /etc/passwd && ls /usr/bin/env "
					 "/proc/self/stat",
					 paths[i])),
			arena_printf(&t.arena,
				     "p/c: A\np/c: %s\np/c: /proc/self/stat\n"
				     "p/c: /usr/bin/env\n",
				     t.dir));
		mounts = arena_printf(&t.arena, "%s%s%s", mounts, *mounts ? "," : "", m);
	}
	assert_string_equal(
		see(&t, "{'name':'v','configMap':{'name':'cm'}}", mounts,
		    "cat /kft-test-top/a/b/c/a.txt /etc/ssl/kft-test/b.txt "
		    "/var/run/kft-test/x/a.txt /root/.kft-test/b.txt; ls kept"),
		"p/c: A\np/c: B\np/c: A\np/c: B\np/c: kept\n");
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(listing(&t, folders[i]), before[i]);
	podtest_close(&t);
}

/* In the working directory the mount point is made, so that results beside it stay. */
static void test_in_working_folder(void **state)
{
	struct podtest t;

	open_with_objects(&t);
	see(&t, "{'name':'v'}",
	    arena_printf(&t.arena, "{'name':'v','mountPath':'%s/data/set'}", t.dir),
	    "echo in >data/set/x; echo beside >data/y; echo result >z");
	assert_true(file_exists(path_join(&t.arena, t.dir, "data/y")));
	assert_true(file_exists(path_join(&t.arena, t.dir, "z")));
	assert_true(file_exists(path_join(&t.arena, t.dir, "data/set")));
	assert_false(file_exists(path_join(&t.arena, t.dir, "data/set/x")));
	podtest_close(&t);
}

static void test_nested_and_sub_paths(void **state)
{
	struct podtest t;

	open_with_objects(&t);
	assert_string_equal(
		see(&t, "{'name':'v'},{'name':'cm','configMap':{'name':'cm'}}",
		    "{'name':'cm','mountPath':'/opt/kft-test/d/conf/inner'},"
		    "{'name':'v','mountPath':'/opt/kft-test/d'},"
		    "{'name':'cm','mountPath':'/opt/kft-test/d/"
		    "one.txt','subPath':'b.txt'},"
		    "{'name':'cm','mountPath':'/etc/kft-test.conf','subPath':'a.txt'},"
		    "{'name':'v','mountPath':'/opt/kft-test/e','subPath':'made/here'}",
		    "cat /opt/kft-test/d/conf/inner/a.txt "
		    "/opt/kft-test/d/one.txt /etc/kft-test.conf; touch "
		    "/opt/kft-test/e/f; ls /opt/kft-test/d/made/here"),
		"p/c: A\np/c: B\np/c: A\np/c: f\n");
	assert_non_null(strstr(
		refusal(&t, "{'name':'v'}",
			"{'name':'v','mountPath':'/opt/kft-test/d','subPath':'../x'}"),
		"subPath \"../x\" must be relative"));
	podtest_close(&t);
}

static void test_host_path(void **state)
{
	struct podtest t;
	const char *file, *volume;
	struct error err;
	static const struct {
		const char *path, *type, *message;
	} rows[] = {
		{ "there", "File", NULL },
		{ "there", "", NULL },
		{ "there", "Directory", "is not a directory" },
		{ "there", "Socket", "is not a socket" },
		{ "made/by/pod", "DirectoryOrCreate", NULL },
		{ "made/file", "FileOrCreate", NULL },
		{ "none", "File", "No such file" },
		{ "none", "", "No such file" },
		{ "there", "Nonsense", "unknown type Nonsense" },
	};

	open_with_objects(&t);
	file = path_join(&t.arena, t.dir, "there");
	assert_int_equal(file_write(file, "host\n", 5, 0644, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		volume = arena_printf(
			&t.arena, "{'name':'v','hostPath':{'path':'%s/%s','type':'%s'}}",
			t.dir, rows[i].path, rows[i].type);
		if (!rows[i].message)
			see(&t, volume, "{'name':'v','mountPath':'/opt/kft-test/h'}",
			    "test -e /opt/kft-test/h");
		else if (!strstr(refusal(&t, volume,
					 "{'name':'v','mountPath':'/opt/kft-test/h'}"),
				 rows[i].message))
			fail_msg("row %zu", i);
	}
	volume = arena_printf(&t.arena, "{'name':'v','hostPath':{'path':'%s'}}", t.dir);
	see(&t, volume, "{'name':'v','mountPath':'/opt/kft-test/h'}",
	    "echo new >/opt/kft-test/h/new");
	assert_true(file_exists(path_join(&t.arena, t.dir, "new")));
	assert_string_equal(
		see(&t, volume,
		    "{'name':'v','mountPath':'/opt/kft-test/h','readOnly':true}",
		    "echo x 2>/dev/null >/opt/kft-test/h/more || echo read-only"),
		"p/c: read-only\n");
	assert_string_equal(
		see(&t, "{'name':'v','hostPath':{'path':'/'}}",
		    "{'name':'v','mountPath':'/opt/kft-test/h','subPath':'etc'}",
		    "test -e /opt/kft-test/h/hostname && echo etc"),
		"p/c: etc\n");
	podtest_close(&t);
}

/* A claim is a folder of the run: the next pod finds what this one wrote. */
static void test_claim(void **state)
{
	struct podtest t;
	const char *v = "{'name':'v','persistentVolumeClaim':{'claimName':'data'}}";
	const char *m = "{'name':'v','mountPath':'/kft-test-workspace/set'}";

	open_with_objects(&t);
	see(&t, v, m, "echo kept >/kft-test-workspace/set/x");
	assert_string_equal(see(&t, v, m, "cat /kft-test-workspace/set/x"),
			    "p/c: kept\n");
	podtest_close(&t);
}

static void test_refused_paths(void **state)
{
	static const struct {
		const char *path, *message;
	} rows[] = {
		{ "/a/../../etc", "must not contain .." },
		{ "..", "must not contain .." },
		{ "/", "cannot mount over the root directory" },
		{ "//", "cannot mount over the root directory" },
		{ "/proc", "cannot mount over system" },
		{ "/proc/sys/kernel", "cannot mount over system" },
		{ "//proc", "cannot mount over system" },
		{ "/./proc/1", "cannot mount over system" },
		{ "/.", "cannot mount over the root directory" },
		{ "/a:b", "must not contain ':'" },
		{ "", "required" },
		{ "/etc/passwd", "is a file, but the volume is a directory" },
		{ "/etc/passwd/x", "is not a directory" },
	};
	struct podtest t;

	open_with_objects(&t);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *m = arena_printf(&t.arena, "{'name':'v','mountPath':'%s'}",
					     rows[i].path);

		if (!strstr(refusal(&t, "{'name':'v'}", m), rows[i].message))
			fail_msg("%s: %s", rows[i].path, refusal(&t, "{'name':'v'}", m));
	}
	assert_non_null(strstr(refusal(&t, "{'name':'v','nfs':{'server':'s','path':'/'}}",
				       "{'name':'v','mountPath':'/opt/kft-test/n'}"),
			       "volume v: nfs: not supported on this machine"));
	podtest_close(&t);
}

/* A volume may hide the folder in which the others are. */
static void test_hidden_sources(void **state)
{
	struct podtest t;

	open_with_objects(&t);
	assert_string_equal(
		see(&t,
		    "{'name':'tmp','emptyDir':{}},{'name':'v','configMap':{'name':'cm'}}",
		    "{'name':'tmp','mountPath':'/tmp'},{'name':'v','mountPath':'/opt/kft-test/cm'},{'name':'v','mountPath':'/tmp/cm'}],'workingDir':'/','x':[",
		    "ls /tmp; cat /opt/kft-test/cm/a.txt /tmp/cm/b.txt; touch "
		    "/tmp/kft-test-x"),
		"p/c: cm\np/c: A\np/c: B\n");
	assert_false(file_exists("/tmp/kft-test-x"));
	podtest_close(&t);
}

/* What a killed run left in memory goes when the next one comes. */
static void test_stale_memory(void **state)
{
	struct podtest t;
	const char *dir, *hidden;
	struct error err;

	open_with_objects(&t);
	dir = arena_printf(&t.arena, "/dev/shm/kftrainer-%u-stale", (unsigned)geteuid());
	/* Hidden first, as no other test that runs now may sweep it half made. */
	hidden = arena_printf(&t.arena, "/dev/shm/.kftrainer-%u-stale",
			      (unsigned)geteuid());
	assert_int_equal(dir_make(path_join(&t.arena, hidden, "p"), 0700, &err), 0);
	assert_int_equal(rename(hidden, dir), 0);
	kubelet_free(t.k);
	assert_int_equal(dir_remove(t.dir, &err), 0);
	podtest_open(&t, NULL);
	assert_false(file_exists(dir));
	podtest_close(&t);
}

/* A secret is nowhere on the disk, and gone with the pod. */
static void test_secrets_are_in_memory(void **state)
{
	struct podtest t;
	char command[300];

	open_with_objects(&t);
	podtest_start(&t,
		      pod_with(&t,
			       "{'name':'v','secret':{'secretName':'key'}},"
			       "{'name':'w','projected':{'sources':[{'configMap':"
			       "{'name':'cm'}},{'secret':{'name':'key'}}]}}",
			       "{'name':'w','mountPath':'/opt/kft-test/w'},"
			       "{'name':'v','mountPath':'/opt/kft-test/s'}",
			       "cat /opt/kft-test/s/id /opt/kft-test/w/id; sleep 100"));
	UNTIL(t.lines.len, podtest_poll(&t));
	snprintf(command, sizeof(command), "test -z \"$(grep -rl secret %s/run)\"",
		 t.dir);
	assert_int_equal(system(command), 0);
	kubelet_remove(t.k, "p");
	podtest_close(&t);
	assert_int_equal(system("test -z \"$(grep -rl '^secret$' /dev/shm/kftrainer-$(id "
				"-u)-* 2>/dev/null)\""),
			 0);
}

/* Without mount namespaces a link stands in where nothing is, else it is refused. */
static void test_links(void **state)
{
	struct podtest t;
	cJSON *notes = cJSON_CreateArray(), *doc;
	const char *free_path, *m;
	struct error err = { 0 };

	no_namespaces = true;
	open_with_objects(&t);
	free_path = arena_printf(&t.arena, "%s/links/at", t.dir);
	m = arena_printf(&t.arena, "{'name':'v','mountPath':'%s'}", free_path);
	assert_string_equal(see(&t, "{'name':'v','configMap':{'name':'cm'}}", m,
				arena_printf(&t.arena, "cat %s/a.txt", free_path)),
			    "p/c: A\n");
	assert_false(file_exists(path_join(&t.arena, t.dir, "links")));
	assert_string_equal(see(&t, "{'name':'v','emptyDir':{'medium':'Memory'}}",
				"{'name':'v','mountPath':'/dev/shm'}",
				"test -d /dev/shm && echo fine"),
			    "p/c: fine\n");
	assert_non_null(
		strstr(refusal(&t, "{'name':'v'}", "{'name':'v','mountPath':'/etc'}"),
		       "mountPath /etc needs a mount namespace"));
	doc = json_of(&t, pod_with(&t, "{'name':'v'}", "{'name':'v','mountPath':'/etc'}",
				   "true"));
	assert_int_equal(kubelet_check(t.k, doc, notes, &err), -1);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	assert_non_null(
		strstr(err.msg, "p/c: volume v: mountPath /etc needs a mount namespace"));
	cJSON_Delete(doc);
	doc = json_of(&t, pod_with(&t, "{'name':'v'}", m, "true"));
	assert_int_equal(kubelet_check(t.k, doc, notes, &err), 0);
	cJSON_Delete(doc);
	cJSON_Delete(notes);
	podtest_close(&t);
	no_namespaces = false;
}

#define VOLUME_CASES                                                                   \
	cmocka_unit_test(test_config_map), cmocka_unit_test(test_secret),              \
		cmocka_unit_test(test_projected_and_downward),                         \
		cmocka_unit_test(test_empty_dir), cmocka_unit_test(test_mount_points), \
		cmocka_unit_test(test_in_working_folder),                              \
		cmocka_unit_test(test_nested_and_sub_paths),                           \
		cmocka_unit_test(test_host_path), cmocka_unit_test(test_claim),        \
		cmocka_unit_test(test_refused_paths),                                  \
		cmocka_unit_test(test_hidden_sources),                                 \
		cmocka_unit_test(test_stale_memory),                                   \
		cmocka_unit_test(test_secrets_are_in_memory),                          \
		cmocka_unit_test(test_links)

#endif
