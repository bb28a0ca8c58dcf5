/*
 * pod_token.h - tokens of pods of this machine's API, as a kubelet gets them for the volume
 * source serviceAccountToken: of the namespace's account "default", bound to one pod (name
 * and uid), for one audience.
 *
 * The server tells them by its key (apiserver_conf.pod_key), which it keeps in its directory
 * and gives to the processes that run pods. In place of a lifetime, a token is good as long
 * as the API has that pod: the files of a volume are written once.
 */
#ifndef APISERVER_POD_TOKEN_H
#define APISERVER_POD_TOKEN_H

#include "base/json.h"

/* Adds it. `pod`: a v1 Pod with namespace, name and uid. */
void pod_token_make(struct buf *out, const char *key, const cJSON *pod,
		    const char *audience);

struct pod_token {
	cJSON *claims; /* owns the strings: to be deleted */
	const char *ns, *pod, *uid, *audience;
};
/* False: not of this key. */
bool pod_token_read(struct pod_token *ret, const char *key, const char *token);

#endif
