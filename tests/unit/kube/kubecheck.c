/*
 * kubecheck - informer, lease and events against a real API server; no unit test, but
 * what tests/cluster/test_kube.sh runs. Says what happens, a line each, until SIGTERM.
 *
 *   kubecheck KUBECONFIG watch SELECTOR            ConfigMaps: "ADDED ns/name VALUE"
 *   kubecheck KUBECONFIG lead NAMESPACE NAME ID    "leads", "lost", "holder ID"
 *   kubecheck KUBECONFIG events NAMESPACE NAME N   records events on a ConfigMap, and ends
 */
#include <inttypes.h>
#include <poll.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "kube/event.h"
#include "kube/informer.h"
#include "kube/lease.h"

static const char *value(const cJSON *obj)
{
	const char *v = json_str(obj, "data", "v");

	return v ? v : "-";
}

static void on_event(void *ctx, const cJSON *was, const cJSON *is)
{
	const cJSON *obj = is ? is : was;

	printf("%s %s/%s %s\n",
	       !was ? "ADDED"
	       : is ? "MODIFIED"
		    : "DELETED",
	       meta_namespace(obj), meta_name(obj), value(obj));
}

static void on_error(void *ctx, const struct error *err)
{
	printf("error: %s\n", err->msg);
}

static int watch(struct kube *k, char **args, struct error *err)
{
	struct informer_conf conf = { .kube = k,
				      .api_version = "v1",
				      .kind = "ConfigMap",
				      .select = { .label_selector = args[0], .page = 2 },
				      .on_event = on_event,
				      .on_error = on_error };
	struct informer *inf;
	int rc;

	if (informer_start(&inf, &conf, err))
		return -1;
	rc = informer_wait(inf, INT32_MAX, err);
	if (rc == 0)
		printf("synced %zu\n", informer_count(inf));
	while (rc == 0 && !stop_wait(-1))
		;
	informer_stop(inf);
	return rc;
}

static void on_holder(void *ctx, const char *holder)
{
	printf("holder %s\n", holder);
}

static int lead(struct kube *k, char **args, struct error *err)
{
	struct lease_conf conf = { .kube = k,
				   .ns = args[0],
				   .name = args[1],
				   .identity = args[2],
				   .duration_ms = 15000,
				   .renew_ms = 10000,
				   .retry_ms = 1000,
				   .on_change = on_holder,
				   .on_error = on_error };
	struct lease *l;
	int rc;

	if (lease_new(&l, &conf, err))
		return -1;
	rc = lease_acquire(l, err);
	if (rc == 0) {
		struct pollfd fds[] = { { .fd = lease_lost_fd(l), .events = POLLIN },
					{ .fd = stop_fd(), .events = POLLIN } };

		printf("leads %" PRId64 "\n", clock_ms());
		while (!stop_requested() && !fds[0].revents)
			poll(fds, 2, -1);
		printf(fds[0].revents ? "lost %" PRId64 "\n" : "stopped %" PRId64 "\n",
		       clock_ms());
	}
	lease_free(l);
	return rc == 0 || err->kind == ERR_STOPPED ? 0 : -1;
}

static int events(struct kube *k, char **args, struct error *err)
{
	struct kube_ref ref = { "v1", "ConfigMap", args[0], args[1] };
	struct event e = { .warning = true,
			   .reason = "Again",
			   .action = "Reconciling",
			   .message = "the same" };
	struct event_recorder *r;
	cleanup_json cJSON *about = NULL;
	char text[64];
	long n = strtol(args[2], NULL, 10);

	if (kube_get(k, &ref, &about, err) ||
	    event_recorder_new(&r,
			       &(struct event_recorder_conf){
				       .kube = k,
				       .component = "trainer-trainjob-controller",
				       .on_drop = on_error },
			       err))
		return -1;
	for (long i = 1; i <= n; i++) {
		event_record(r, about, &e);
		snprintf(text, sizeof(text), "%ld pods", i);
		event_record(r, about,
			     &(struct event){ .reason = "Pods",
					      .message = text,
					      .series = "Pods" });
		if (i % 10 == 0)
			clock_sleep_ms(50);
	}
	event_recorder_free(r, 30 * 1000);
	return 0;
}

static int run(char **argv, struct error *err)
{
	static const struct {
		const char *name;
		int (*run)(struct kube *k, char **args, struct error *err);
		int timeout_ms; /* short: an API server that is gone is noticed at once */
	} modes[] = {
		{ "watch", watch, 1500 },
		{ "lead", lead, 1500 },
		{ "events", events, 60 * 1000 },
	};
	struct kube_config_flags flags = { .kubeconfig = argv[1] };
	cleanup_kube_config struct kube_config config = { 0 };
	struct kube_opts opts = { .user_agent = "kubecheck" };
	struct kube *k;
	size_t i = 0;
	int rc;

	while (i < N_ELEMENTS(modes) && strcmp(argv[2], modes[i].name))
		i++;
	if (i == N_ELEMENTS(modes))
		return error_set(err, ERR_USAGE, "%s: not a mode", argv[2]);
	opts.timeout_ms = modes[i].timeout_ms;
	opts.after_stop = modes[i].run != watch;
	if (stop_setup(err) || kube_config_load(&config, &flags, err) ||
	    kube_new(&k, &config, &opts, err))
		return -1;
	rc = modes[i].run(k, argv + 3, err);
	kube_free(k);
	return rc;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4 || run(argv, &err) == 0)
		return 0;
	if (err.kind == ERR_STOPPED)
		return 0;
	printf("failed: %s\n", err.msg);
	return 1;
}
