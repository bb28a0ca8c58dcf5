/*
 * ui.h - the page of `kftrainer ui`: TrainJobs as HTML, for the browser of this user.
 */
#ifndef UI_UI_H
#define UI_UI_H

#include "kube/kube.h"

struct ui_conf {
	struct kube *kube; /* outlives the page; used by several threads */
	const char *ns;    /* NULL: all namespaces */
	int port;          /* 0: any */
	int64_t idle_ms;   /* stop after this time without a request; 0: never */
	/* Called once, with the URL to open: it has the token. */
	void (*on_ready)(void *ctx, const char *url);
	void *ctx;
};

/* Serve until stop_requested() or idle. ERR_IO: the port is in use. */
MUST_CHECK int ui_serve(const struct ui_conf *conf, struct error *err);

#endif
