/*
 * probe.h - probes and lifecycle hooks of a container.
 *
 * Follows k8s.io/kubernetes pkg/kubelet/prober: exec, tcpSocket and httpGet,
 * initialDelaySeconds, periodSeconds (10), timeoutSeconds (1), successThreshold
 * (1), failureThreshold (3). Until the startup probe succeeds the others wait.
 * Not applied: grpc, httpGet over HTTPS; such a probe is ignored. Hooks: exec and
 * sleep; httpGet and tcpSocket are not applied.
 */
#ifndef KUBELET_PROBE_H
#define KUBELET_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

struct container;
enum probe_type { PROBE_STARTUP, PROBE_READINESS, PROBE_LIVENESS, PROBE_TYPES };

/* NULL when the container has none, or one that is not applied. */
struct probe *probe_new(struct container *c, enum probe_type type);
bool probe_busy(const struct probe *p); /* a process of the probe still exists */
void probe_free(struct probe *p);       /* outside the loop, when not busy */

void probe_begin(struct probe *p, int64_t now); /* the container has started */
void probe_end(struct probe *p);                /* the container has ended */

/* Do the step that is due; lowers *ret_wake to the time of the next one. */
void probe_sync(struct probe *p, int64_t now, int64_t *ret_wake);

/*
 * The beginning of an HTTP server's answer: its status code; 0: no such answer; -1: more
 * bytes are needed.
 */
int probe_http_status(const char *answer, size_t len);

bool probe_passes(const struct probe *p); /* true for NULL */
/* Has failureThreshold been reached, so that the container must be killed? */
bool probe_failed(const struct probe *p);

/* The member with the handler, such as "exec", if it is applied; else NULL. */
const char *probe_handler(const cJSON *probe);
const char *hook_handler(const cJSON *hook);

enum hook_type { HOOK_POST_START, HOOK_PRE_STOP };

/* Start the hook; false: the container has no such hook that is applied. */
bool hook_begin(struct container *c, enum hook_type type, int64_t now);
bool hook_running(const struct container *c);
bool hook_failed(const struct container *c);
void hook_sync(struct container *c, int64_t now, int64_t *ret_wake);
void hook_end(struct container *c); /* the container has ended */
bool hook_busy(const struct container *c);
void hook_free(struct container *c); /* outside the loop, when not busy */

#endif
