/*
 * local_api.h - `controller --local`: this machine's own API, for kubectl and the SDK.
 */
#ifndef MACHINE_LOCAL_API_H
#define MACHINE_LOCAL_API_H

#include "manager/config.h"

struct local_api_opts {
	const char
		*listen;  /* "ADDRESS:PORT", "ADDRESS" or ":PORT"; NULL: 127.0.0.1, any */
	int64_t idle_ms;  /* end after that time without requests and runs; 0: never */
	const char *data; /* directory; NULL: $XDG_STATE_HOME/kftrainer/server */
	void (*on_ready)(const char *kubeconfig_path); /* once requests are answered */
};

/* Serve until SIGTERM or until idle; returns the exit code. */
int local_api_run(const struct local_api_opts *opts, struct manager_config *config,
		  struct error *err);

#endif
