/*
 * pod_token.h - tokens of this machine's pods, for the volume source serviceAccountToken:
 * of the namespace's account "default", bound to one pod (name and uid), for one
 * audience.
 *
 * They are signed with the server's key (apiserver_conf.pod_key), which the server stores
 * in its directory and passes to the processes that run pods. A token does not expire,
 * because the files of a volume are written once; it is valid while its pod exists in the
 * API.
 */
#ifndef APISERVER_POD_TOKEN_H
#define APISERVER_POD_TOKEN_H

#include "base/json.h"

/* Append a token to `out`. `pod` is a v1 Pod with namespace, name and uid. */
void pod_token_make(struct buf *out, const char *key, const cJSON *pod,
		    const char *audience);

struct pod_token {
	cJSON *claims; /* owns the strings; cJSON_Delete() it */
	const char *ns, *pod, *uid, *audience;
};
/* False: not a token of this key. */
bool pod_token_read(struct pod_token *ret, const char *key, const char *token);

#endif
