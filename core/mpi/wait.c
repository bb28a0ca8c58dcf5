/* wait.c - try all hosts in threads until they are ready (mpi/wait.h). */
#include "mpi/wait.h"

#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"

struct wait {
	const struct wait_conf *conf;
	struct wait_host *hosts;
	size_t n;
	pthread_mutex_t mutex;
	size_t next; /* guarded by the mutex; a host belongs to the thread that took it */
	struct utsname machine;
};

bool wait_is_own_name(const char *host, const char *own)
{
	size_t len = strcspn(own, ".");

	return len && !strncmp(host, own, len) && (!host[len] || host[len] == '.');
}

static struct wait_host *take_host(struct wait *w)
{
	struct wait_host *h;

	pthread_mutex_lock(&w->mutex);
	h = w->next < w->n ? &w->hosts[w->next++] : NULL;
	pthread_mutex_unlock(&w->mutex);
	return h;
}

static void use(const struct wait *w, struct wait_host *h, const struct peer_conf *conf,
		struct peer *peer)
{
	if (!w->conf->use)
		peer_close(peer);
	else if (w->conf->use(w->conf->ctx, (size_t)(h - w->hosts), conf, peer, &h->why))
		h->stage = PEER_COMMAND;
}

static void try_host(const struct wait *w, struct wait_host *h)
{
	struct peer_conf conf = w->conf->peer;
	struct peer peer = { .fd = -1 };

	if (wait_is_own_name(h->name, w->machine.nodename)) {
		h->stage = PEER_READY;
		return;
	}
	if (stop_requested() || clock_ms() >= conf.deadline)
		return;
	h->tried = true;
	conf.host = h->name;
	if (h->user)
		conf.user = h->user;
	if (!peer_open(&peer, &conf, &h->stage, &h->why))
		use(w, h, &conf, &peer);
}

static void *try_hosts(void *ctx)
{
	struct wait *w = ctx;
	struct wait_host *h;

	while ((h = take_host(w)))
		try_host(w, h);
	return NULL;
}

int wait_for_hosts(struct wait_host *hosts, size_t n, const struct wait_conf *conf,
		   struct error *err)
{
	struct wait w = { .conf = conf, .hosts = hosts, .n = n };
	pthread_t threads[WAIT_THREADS];
	struct error why = { 0 };
	size_t started = 0;

	uname(&w.machine);
	pthread_mutex_init(&w.mutex, NULL);
	while (started < n && started < WAIT_THREADS &&
	       !thread_start(&threads[started], try_hosts, &w, &why))
		started++;
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&w.mutex);
	if (!started)
		*err = why;
	return started ? 0 : -1;
}
