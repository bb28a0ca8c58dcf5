/*
 * standin.h - a server in the API server's place, on loopback: the client that talks
 * to it is the real one. What it has is a list of paths; a path that is not listed is
 * 404. What was asked is kept, a line each: "GET /path" or "POST /path BODY".
 */
#ifndef TESTS_UNIT_MANAGER_STANDIN_H
#define TESTS_UNIT_MANAGER_STANDIN_H

#include <pthread.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "kube/kube.h"
#include "net/httpd.h"
#include "tests/unit/unit.h"

struct standin_answer {
	const char *path;
	int status;       /* 0: 200 */
	const char *body; /* YAML; NULL: {} */
};

struct standin {
	struct httpd *httpd;
	struct kube_config config;
	struct kube *kube;
	pthread_mutex_t lock;
	const struct standin_answer *answers; /* ends with { NULL } */
	struct buf asked;
	int calls; /* that have come, answered or not; atomic */
};

static inline cJSON *standin_doc(const char *yaml)
{
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;

	if (yaml_parse(&docs, yaml, strlen(yaml), &err))
		fail_msg("%s: %s", yaml, err.msg);
	return cJSON_DetachItemFromArray(docs, 0);
}

static inline void standin_handle(void *ctx, const struct httpd_request *req,
				  struct httpd_response *resp)
{
	struct standin *s = ctx;
	const struct standin_answer *a = s->answers;
	cleanup_json cJSON *body = NULL;

	__atomic_add_fetch(&s->calls, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&s->lock);
	buf_printf(&s->asked, "%s %s%s%s\n", req->method, req->path,
		   req->body_len ? " " : "", req->body ? (const char *)req->body : "");
	while (a && a->path && !str_eq(a->path, req->path))
		a++;
	pthread_mutex_unlock(&s->lock);
	resp->content_type = "application/json";
	if (a && a->path) {
		resp->status = a->status ? a->status : 200;
		body = standin_doc(a->body ? a->body : "{}");
	} else {
		resp->status = 404;
		body = standin_doc(
			"{kind: Status, reason: NotFound, message: it is not there}");
	}
	json_print(&resp->body, body);
}

static inline void standin_start(struct standin *s)
{
	struct httpd_conf conf = { .host = "127.0.0.1",
				   .handle = standin_handle,
				   .ctx = s };
	struct kube_opts opts = { .timeout_ms = 20000 };
	struct error err = { 0 };

	*s = (struct standin){ .asked = { .max = 1024 * 1024 } };
	pthread_mutex_init(&s->lock, NULL);
	if (httpd_start(&s->httpd, &conf, &err))
		fail_msg("%s", err.msg);
	s->config.server = arena_printf(&s->config.arena, "http://127.0.0.1:%d",
					httpd_port(s->httpd));
	s->config.proxy_url = "";
	if (kube_new(&s->kube, &s->config, &opts, &err))
		fail_msg("%s", err.msg);
}

/* What it has from now on; what was asked is forgotten. */
static inline void standin_set(struct standin *s, const struct standin_answer *answers)
{
	pthread_mutex_lock(&s->lock);
	s->answers = answers;
	buf_clear(&s->asked);
	buf_adds(&s->asked, "");
	pthread_mutex_unlock(&s->lock);
}

static inline void standin_stop(struct standin *s)
{
	kube_free(s->kube);
	httpd_stop(s->httpd, 1000);
	pthread_mutex_destroy(&s->lock);
	buf_release(&s->asked);
	kube_config_release(&s->config);
}

#endif
