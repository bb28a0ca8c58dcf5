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
#include "client/jobs.h"
#include "net/httpd.h"
#include "ui/act.h"
#include "ui/form.h"
#include "ui/gate.h"
#include "ui/job.h"
#include "ui/list.h"
#include "ui/live.h"
#include "ui/page.h"
#include "ui/zip.h"

enum {
	MAX_BODY = 4096,
	MAX_NAME = 254,
	MAX_CONNECTIONS = 64,
	MAX_PAGES = 32, /* the most that wait for the API server at a time */
};

struct ui {
	const struct ui_conf *conf;
	struct gate gate;
	struct live *live;
	pthread_mutex_t lock; /* of the gate's token, and the rest */
	int64_t last_ms;
	int pages; /* the number being made */
};

/* The job that a path names: names of Kubernetes, thus without escapes. */
struct job_path {
	char ns[MAX_NAME], name[MAX_NAME];
	enum act act; /* N_ACTS: none */
};

/* "/jobs/NAMESPACE/NAME" or "/jobs/NAMESPACE/NAME/suspend" */
static bool read_job_path(const char *path, struct job_path *ret)
{
	int end = 0;

	ret->act = N_ACTS;
	return sscanf(path, "/jobs/%253[a-z0-9.-]/%253[a-z0-9.-]%n", ret->ns, ret->name,
		      &end) == 2 &&
	       end &&
	       (!path[end] ||
		(path[end] == '/' && act_read(path + end + 1, &ret->act))) &&
	       !name_label_invalid(ret->ns) && !name_subdomain_invalid(ret->name);
}

static bool send_asset(struct httpd_response *resp, const char *path)
{
	static const struct {
		const char *path, *asset, *type;
	} files[] = {
		{ "/page.css", "page/page.css", "text/css; charset=utf-8" },
		{ "/live.css", "page/live.css", "text/css; charset=utf-8" },
		{ "/uplot.css", "page/uplot.css", "text/css; charset=utf-8" },
		{ "/page.js", "page/page.js", "text/javascript; charset=utf-8" },
		{ "/uplot.js", "page/uplot.js", "text/javascript; charset=utf-8" },
		{ "/favicon.ico", "page/icon.svg", "image/svg+xml" },
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

/* The page that asks for an act, or the act and where it leads. */
static int act(struct ui *ui, const struct job_path *path,
	       const struct httpd_request *req, struct httpd_response *resp,
	       struct error *err)
{
	struct kube *k = ui->conf->kube;
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *job = NULL;

	if (job_get(k, path->ns, path->name, &job, err))
		return -1;
	if (!str_eq(req->method, "POST"))
		return act_confirm_page(&resp->body, k, job, path->act, ui->gate.csrf,
					err);
	if (act_do(k, job, path->act, form_value(&arena, (const char *)req->body, "uid"),
		   err))
		return -1;
	resp->status = 303;
	if (path->act == ACT_DELETE)
		buf_adds(&resp->headers, "Location: /\r\n");
	else
		buf_printf(&resp->headers, "Location: /jobs/%s/%s\r\n", path->ns,
			   path->name);
	return 0;
}

static int job(struct ui *ui, const struct job_path *path, struct buf *out,
	       struct error *err)
{
	struct error no_logs = { 0 };
	const struct job_page page = { .kube = ui->conf->kube,
				       .ns = path->ns,
				       .name = path->name,
				       .read_only = ui->conf->read_only,
				       .no_logs = &no_logs };

	if (ui->conf->logs)
		(void)!ui->conf->logs(ui->conf->ctx, path->name, &no_logs);
	return job_page(out, &page, err);
}

static int status_of(const struct error *err)
{
	switch (err->kind) {
	case ERR_NOT_FOUND:
		return 404;
	case ERR_DENIED:
		return 403;
	case ERR_CONFLICT:
		return 409;
	default:
		return 502;
	}
}

static void route(struct ui *ui, const struct httpd_request *req,
		  struct httpd_response *resp)
{
	cleanup_arena struct arena arena = { 0 };
	struct job_path path;
	struct error err = { 0 };
	int failed;

	if (str_eq(req->path, "/")) {
		const struct list_filter filter = list_filter_read(&arena, req->query);

		failed = list_page(&resp->body, ui->conf->kube, live_board(ui->live),
				   ui->conf->ns, &filter, &err);
	} else if (!read_job_path(req->path, &path) ||
		   (ui->conf->read_only && path.act != N_ACTS)) {
		failed = error_set(&err, ERR_NOT_FOUND, "There is no such page.");
	} else if (path.act != N_ACTS) {
		failed = act(ui, &path, req, resp, &err);
	} else {
		failed = job(ui, &path, &resp->body, &err);
	}
	if (!failed)
		return;
	resp->status = status_of(&err);
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
	if (send_asset(resp, req->path) || live_handle(ui->live, req, resp))
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

/* GET is, and the POST of a form of ours; otherwise `resp` says why not. */
static bool is_allowed(const struct ui *ui, const struct httpd_request *req,
		       struct httpd_response *resp)
{
	cleanup_arena struct arena arena = { 0 };
	struct job_path path;
	bool may_post = !ui->conf->read_only && read_job_path(req->path, &path) &&
			path.act != N_ACTS;

	if (str_eq(req->method, "GET") || str_eq(req->method, "HEAD"))
		return true;
	if (!may_post || !str_eq(req->method, "POST")) {
		resp->status = 405;
		buf_printf(&resp->headers, "Allow: GET, HEAD%s\r\n",
			   may_post ? ", POST" : "");
		return false;
	}
	if (httpd_header(req, "Origin") &&
	    gate_csrf(&ui->gate, form_value(&arena, (const char *)req->body, "csrf")))
		return true;
	resp->status = 403;
	buf_adds(&resp->body, "Only the forms of this page change something. "
			      "Open the job, and try again.\n");
	return false;
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
	verdict = gate_check(&ui->gate, req, &why);
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
	} else if (is_allowed(ui, req, resp)) {
		answer(ui, req, resp);
	}
	zip_body(req, resp);
}

static bool is_idle(struct ui *ui)
{
	int64_t last;

	bool busy = live_busy(ui->live);

	live_tick(ui->live);
	pthread_mutex_lock(&ui->lock);
	if (busy)
		ui->last_ms = clock_ms();
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
	if (gate_init(&ui.gate, err) || live_start(&ui.live, conf, err))
		return -1;
	if (httpd_start(&d, &http, err)) {
		live_free(ui.live);
		return -1;
	}
	pthread_mutex_lock(&ui.lock);
	ui.gate.port = httpd_port(d);
	pthread_mutex_unlock(&ui.lock);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/?token=%s", ui.gate.port,
		 ui.gate.token);
	conf->on_ready(conf->ctx, url);
	while (!stop_wait(1000) && !is_idle(&ui))
		;
	live_stop(ui.live);
	httpd_stop(d, 0);
	live_free(ui.live);
	return 0;
}
