/* ui.c - the server of the page. */
#include "ui/ui.h"

#include <pthread.h>
#include <stdio.h>

#include "api/names.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "net/httpd.h"
#include "ui/gate.h"
#include "ui/job.h"
#include "ui/list.h"
#include "ui/page.h"

enum {
	MAX_BODY = 4096,
	MAX_NAME = 254,
	MAX_CONNECTIONS = 128,
	MAX_PAGES = 32, /* the most that wait for the API server at a time */
};

struct ui {
	const struct ui_conf *conf;
	struct gate gate;
	pthread_mutex_t lock; /* of the gate's token, and the rest */
	int64_t last_ms;
	int pages; /* the number being made */
};

/* "/jobs/NAMESPACE/NAME": names of Kubernetes, thus without escapes. */
static bool job_path(const char *path, char ns[MAX_NAME], char name[MAX_NAME])
{
	int end = 0;

	return sscanf(path, "/jobs/%253[a-z0-9.-]/%253[a-z0-9.-]%n", ns, name, &end) ==
		       2 &&
	       end && !path[end] && !name_label_invalid(ns) &&
	       !name_subdomain_invalid(name);
}

static bool send_asset(struct httpd_response *resp, const char *path)
{
	static const struct {
		const char *path, *asset, *type;
	} files[] = {
		{ "/page.css", "page/page.css", "text/css; charset=utf-8" },
		{ "/icon.svg", "page/icon.svg", "image/svg+xml" },
	};

	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		if (str_eq(path, files[i].path)) {
			const struct asset *a = asset_find(files[i].asset);

			resp->content_type = files[i].type;
			buf_add(&resp->body, a->data, a->len);
			return true;
		}
	return false;
}

static void route(struct ui *ui, const struct httpd_request *req,
		  struct httpd_response *resp)
{
	cleanup_arena struct arena arena = { 0 };
	char ns[MAX_NAME], name[MAX_NAME];
	struct error err = { 0 };
	int failed;

	if (str_eq(req->path, "/")) {
		const struct list_filter filter = list_filter_read(&arena, req->query);

		failed = list_page(&resp->body, ui->conf->kube, ui->conf->ns, &filter,
				   &err);
	} else if (job_path(req->path, ns, name)) {
		failed = job_page(&resp->body, ui->conf->kube, ns, name, &err);
	} else {
		failed = error_set(&err, ERR_NOT_FOUND, "There is no such page.");
	}
	if (!failed)
		return;
	resp->status = err.kind == ERR_NOT_FOUND ? 404
		       : err.kind == ERR_DENIED  ? 403
						 : 502;
	page_error(&resp->body, &err);
}

/* False: as many are being made as may be; the others can still be asked for. */
static bool begin_page(struct ui *ui)
{
	bool go_on;

	pthread_mutex_lock(&ui->lock);
	go_on = ui->pages < MAX_PAGES;
	ui->pages += go_on;
	pthread_mutex_unlock(&ui->lock);
	return go_on;
}

static void end_page(struct ui *ui)
{
	pthread_mutex_lock(&ui->lock);
	ui->pages--;
	ui->last_ms = clock_ms();
	pthread_mutex_unlock(&ui->lock);
}

static void answer(struct ui *ui, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct error err = { 0 };

	resp->status = 200;
	if (send_asset(resp, req->path))
		return;
	resp->content_type = "text/html; charset=utf-8";
	if (begin_page(ui)) {
		route(ui, req, resp);
		end_page(ui);
		return;
	}
	error_set(&err, ERR_BUSY,
		  "The API server is slow: %d pages wait for it. Reload this one later.",
		  MAX_PAGES);
	resp->status = 503;
	page_error(&resp->body, &err);
}

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct ui *ui = ctx;
	enum gate_verdict verdict;
	const char *why = "";

	resp->headers.max = 4096;
	gate_headers(&resp->headers);
	pthread_mutex_lock(&ui->lock);
	verdict = gate_judge(&ui->gate, req, &why);
	if (verdict != GATE_REFUSED)
		ui->last_ms = clock_ms();
	pthread_mutex_unlock(&ui->lock);
	if (verdict == GATE_REFUSED) {
		resp->status = 403;
		buf_adds(&resp->body, why);
	} else if (verdict == GATE_ENTER) {
		resp->status = 200;
		resp->content_type = "text/html; charset=utf-8";
		gate_set_cookie(&ui->gate, &resp->headers);
		page_enter(&resp->body);
	} else if (!str_eq(req->method, "GET") && !str_eq(req->method, "HEAD")) {
		resp->status = 405;
		buf_adds(&resp->headers, "Allow: GET, HEAD\r\n");
	} else {
		answer(ui, req, resp);
	}
}

static bool is_idle(struct ui *ui)
{
	int64_t last;

	pthread_mutex_lock(&ui->lock);
	last = ui->last_ms;
	pthread_mutex_unlock(&ui->lock);
	return ui->conf->idle_ms && clock_ms() - last >= ui->conf->idle_ms;
}

int ui_serve(const struct ui_conf *conf, struct error *err)
{
	struct ui ui = { .conf = conf,
			 .lock = PTHREAD_MUTEX_INITIALIZER,
			 .last_ms = clock_ms() };
	const struct httpd_conf http = { .host = "127.0.0.1",
					 .port = conf->port,
					 .max_body = MAX_BODY,
					 .max_connections = MAX_CONNECTIONS,
					 .max_per_peer = MAX_CONNECTIONS,
					 .handle = handle,
					 .ctx = &ui };
	struct httpd *d;
	char url[128];

	/* Until the gate knows the port, it refuses all. */
	if (gate_init(&ui.gate, err) || httpd_start(&d, &http, err))
		return -1;
	pthread_mutex_lock(&ui.lock);
	ui.gate.port = httpd_port(d);
	pthread_mutex_unlock(&ui.lock);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/?token=%s", ui.gate.port,
		 ui.gate.token);
	conf->on_ready(conf->ctx, url);
	while (!stop_wait(1000) && !is_idle(&ui))
		;
	httpd_stop(d, 0);
	return 0;
}
