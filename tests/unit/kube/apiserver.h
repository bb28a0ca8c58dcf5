/*
 * apiserver.h - a client of tests/unit/kube/apiserver.py, which it starts and ends.
 */
#ifndef TEST_APISERVER_H
#define TEST_APISERVER_H

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kube/kube.h"
#include "tests/unit/base/base_test.h"

extern char **environ;

struct apiserver {
	pid_t pid;
	int in; /* closing it ends the server */
	char url[64];
	struct kube_config config;
	struct kube *kube;
};

static inline struct kube *apiserver_client(struct apiserver *s, int64_t timeout_ms)
{
	struct kube_opts opts = { .user_agent = "test",
				  .timeout_ms = timeout_ms,
				  .after_stop = true };
	struct error err = { 0 };
	struct kube *k = NULL;

	if (kube_new(&k, &s->config, &opts, &err))
		fail_msg("%s", err.msg);
	return k;
}

static inline void apiserver_start(struct apiserver *s)
{
	static char program[] = "python3", script[] = "tests/unit/kube/apiserver.py";
	char *const argv[] = { program, script, NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2], port = 0;
	FILE *f;

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	assert_int_equal(posix_spawnp(&s->pid, program, &actions, NULL, argv, environ),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	f = fdopen(out[0], "r");
	assert_int_equal(fscanf(f, "%d", &port), 1);
	fclose(f);
	s->in = in[1];
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d", port);
	s->config = (struct kube_config){ .server = s->url,
					  .ns = "default",
					  .proxy_url = "" };
	s->kube = apiserver_client(s, 0);
}

static inline void apiserver_stop(struct apiserver *s)
{
	kube_free(s->kube);
	close(s->in);
	waitpid(s->pid, NULL, 0);
}

/* Its answer, the caller's; `json` with ' for ". */
static inline cJSON *apiserver_ctl(struct apiserver *s, const char *json)
{
	char text[4096];
	struct error err = { 0 };
	cleanup_json cJSON *body = NULL;
	cJSON *ret = NULL;
	size_t i = 0;

	for (; json[i] && i + 1 < sizeof(text); i++)
		text[i] = (char)(json[i] == '\'' ? '"' : json[i]);
	text[i] = 0;
	body = doc_of(text);
	if (kube_call(s->kube, "POST", "/ctl", body, &ret, &err))
		fail_msg("%s: %s", json, err.msg);
	return ret;
}

static inline void apiserver_do(struct apiserver *s, const char *json)
{
	cJSON_Delete(apiserver_ctl(s, json));
}

/* How many calls there were: "GET pods", "watch pods". */
static inline int64_t apiserver_seen(struct apiserver *s, const char *what)
{
	cleanup_json cJSON *seen = apiserver_ctl(s, "{'op':'seen'}");

	return json_int(seen, 0, what);
}

#endif
