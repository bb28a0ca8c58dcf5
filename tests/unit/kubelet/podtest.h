/*
 * podtest.h - run pods on a real kubelet and look at what became of them.
 *
 * Pods are written as JSON with ' for ", so that they can be read.
 */
#ifndef TESTS_UNIT_KUBELET_PODTEST_H
#define TESTS_UNIT_KUBELET_PODTEST_H

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/kubelet.h"
#include "tests/unit/unit.h"

struct podtest {
	struct arena arena;
	const char *dir;
	struct kubelet *k;
	cJSON *objects;
	struct buf lines; /* "pod/container: line\n" */
	int status_calls;
};

/* The mode of the test at hand: see kubelet_cases.h. */
extern bool no_namespaces;

static inline const char *quotes(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

static inline cJSON *json_of(struct podtest *t, const char *text)
{
	const char *q = quotes(&t->arena, text);
	cJSON *doc = NULL;
	struct error err = { 0 };

	if (json_parse(&doc, q, strlen(q), &err) < 0)
		fail_msg("%s in %s", err.msg, q);
	return doc;
}

static inline void podtest_line(void *ctx, const char *pod, const char *container,
				const char *line, size_t len)
{
	struct podtest *t = ctx;

	buf_printf(&t->lines, "%s/%s: ", pod, container);
	buf_add(&t->lines, line, len);
	buf_adds(&t->lines, "\n");
}

static inline void podtest_status(void *ctx, const char *pod)
{
	struct podtest *t = ctx;

	t->status_calls++;
}

static inline void podtest_open(struct podtest *t, const char *const *gpus)
{
	char template[] = "/tmp/kubelet-test-XXXXXX";
	struct kubelet_opts o = { .on_line = podtest_line, .on_status = podtest_status };
	struct error err = { 0 };

	assert_non_null(mkdtemp(template));
	t->dir = arena_strdup(&t->arena, template);
	t->lines.max = 64 << 20;
	o.dir = path_join(&t->arena, t->dir, "run");
	o.log_dir = path_join(&t->arena, t->dir, "logs");
	o.workdir = t->dir;
	o.no_namespaces = no_namespaces;
	o.gpus = gpus;
	o.objects = t->objects;
	o.ctx = t;
	if (kubelet_new(&t->k, &o, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void podtest_close(struct podtest *t)
{
	struct error err = { 0 };

	kubelet_free(t->k);
	assert_int_equal(dir_remove(t->dir, &err), 0);
	cJSON_Delete(t->objects);
	buf_release(&t->lines);
	arena_clear(&t->arena);
}

static inline void podtest_start(struct podtest *t, const char *pod)
{
	cJSON *doc = json_of(t, pod);
	struct error err = { 0 };

	if (kubelet_start(t->k, doc, &err) < 0)
		fail_msg("%s", err.msg);
	cJSON_Delete(doc);
}

static inline void podtest_poll(struct podtest *t)
{
	struct error err = { 0 };

	if (kubelet_poll(t->k, 10000, -1, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline const char *phase_of(struct podtest *t, const char *pod)
{
	return json_str(kubelet_status(t->k, pod), "phase");
}

static inline bool ended(struct podtest *t, const char *pod)
{
	return str_eq(phase_of(t, pod), "Succeeded") ||
	       str_eq(phase_of(t, pod), "Failed");
}

static inline void podtest_wait(struct podtest *t, const char *pod)
{
	UNTIL(ended(t, pod), podtest_poll(t));
}

/* Run one pod to its end; its phase. */
static inline const char *podtest_run(struct podtest *t, const char *pod)
{
	cJSON *doc = json_of(t, pod);
	const char *name = arena_strdup(&t->arena, json_str(doc, "metadata", "name"));

	cJSON_Delete(doc);
	podtest_start(t, pod);
	podtest_wait(t, name);
	return phase_of(t, name);
}

/* A pod p with one container c that runs a shell script. */
static inline const char *script(struct podtest *t, const char *more_spec,
				 const char *more_container, const char *text)
{
	return arena_printf(
		&t->arena,
		"{'metadata':{'name':'p','namespace':'ns','uid':'u-1'},'spec':{"
		"'restartPolicy':'Never',%s 'containers':[{'name':'c',%s"
		"'command':['sh','-c','%s']}]}}",
		more_spec, more_container, text);
}

static inline const cJSON *container_of(struct podtest *t, const char *pod,
					const char *name)
{
	const cJSON *s = kubelet_status(t->k, pod);
	const cJSON *c = json_find_const(json_get(s, "containerStatuses"), "name", name);

	return c ? c
		 : json_find_const(json_get(s, "initContainerStatuses"), "name", name);
}

#define assert_lines(t, text) \
	assert_string_equal((t)->lines.data ? (const char *)(t)->lines.data : "", text)

#endif
