/*
 * scripted.h - run scripted.py, a server on loopback that answers as it is told.
 * Scripts are JSON with ' for ".
 */
#ifndef TESTS_UNIT_NET_SCRIPTED_H
#define TESTS_UNIT_NET_SCRIPTED_H

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/str.h"
#include "net/http.h"
#include "tests/unit/base/base_test.h"

struct scripted {
	pid_t pid;
	int in; /* open: it lives */
	int port, control;
	struct http_client *client; /* for the control */
	struct arena arena;
	cJSON *log; /* the last one that was asked for */
};

static inline char *scripted_quotes(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return copy;
}

/* args: CERT KEY [CLIENT_CA], files; or NULL. */
static inline void scripted_start(struct scripted *s, const char *const *args)
{
	const char *argv[6] = { "python3", "tests/unit/net/scripted.py" };
	struct http_conf conf = { .proxy = "" };
	struct error err = { 0 };
	int in[2], out[2];
	char line[64] = "";
	FILE *f;

	*s = (struct scripted){ 0 };
	for (size_t n = 2; args && *args && n < 5; n++)
		argv[n] = *args++;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	s->pid = fork();
	if (!s->pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	f = fdopen(out[0], "r");
	assert_non_null(f);
	if (!fgets(line, sizeof(line), f) ||
	    sscanf(line, "%d %d", &s->port, &s->control) != 2)
		fail_msg("scripted.py does not start");
	fclose(f);
	assert_int_equal(http_client_new(&s->client, &conf, &err), 0);
}

static inline void scripted_stop(struct scripted *s)
{
	http_client_free(s->client);
	close(s->in);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	cJSON_Delete(s->log);
	arena_clear(&s->arena);
}

static inline const char *scripted_url(struct scripted *s, const char *scheme,
				       const char *path)
{
	return arena_printf(&s->arena, "%s://localhost:%d%s", scheme, s->port, path);
}

static inline void scripted_control(struct scripted *s, const char *method,
				    const char *body, struct http_response *ret)
{
	struct http_request req = {
		.method = method,
		.url = arena_printf(&s->arena, "http://127.0.0.1:%d/", s->control),
		.body = body,
		.body_len = body ? strlen(body) : 0,
	};
	struct error err = { 0 };

	if (http_do(s->client, &req, ret, &err))
		fail_msg("scripted.py: %s", err.msg);
}

static inline void scripted_script(struct scripted *s, const char *script)
{
	cleanup_http_response struct http_response resp = { 0 };

	scripted_control(s, "POST", scripted_quotes(&s->arena, script), &resp);
}

/* The requests since the script was put. Borrowed until the next call. */
static inline const cJSON *scripted_log(struct scripted *s)
{
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };

	scripted_control(s, "GET", NULL, &resp);
	cJSON_Delete(s->log);
	s->log = NULL;
	assert_int_equal(json_parse(&s->log, resp.body.data, resp.body.len, &err), 0);
	return s->log;
}

static inline const cJSON *scripted_request(struct scripted *s, int n)
{
	const cJSON *r = cJSON_GetArrayItem(scripted_log(s), n);

	if (!r)
		fail_msg("there was no request %d", n);
	return r;
}

static inline int scripted_count(struct scripted *s)
{
	return cJSON_GetArraySize(scripted_log(s));
}

#endif
