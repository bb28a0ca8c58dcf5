/* jobs_world.c - the schedules of world one (jobs.h). */
#include "tests/sim/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"

static struct world *current;
static struct apiserver *server; /* as it is when a schedule begins */
static int64_t start_ms;

/* UIDs are numbers in order, a map's secret is 0, and dice are the seed's. */
ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags)
{
	int64_t n = !current                  ? 0
		    : !flags                  ? ++current->random
		    : len == sizeof(uint32_t) ? sim_dice(current->sim, INT32_MAX)
					      : 0;

	memset(data, 0, len);
	memcpy(data, &n, len < sizeof(n) ? len : sizeof(n));
	return (ssize_t)len;
}

/* As different as real ones, which take as long as all else together. */
int __wrap_keypair_ssh(struct arena *arena, const char **ret_private_pem,
		       const char **ret_authorized_key, struct error *err);
int __wrap_keypair_ssh(struct arena *arena, const char **ret_private_pem,
		       const char **ret_authorized_key, struct error *err)
{
	int64_t n = ++current->random;

	*ret_private_pem = arena_printf(arena, "private %lld\n", (long long)n);
	*ret_authorized_key = arena_printf(arena, "public %lld\n", (long long)n);
	return 0;
}

int64_t calm_for(const struct world *w)
{
	return clock_ms() - start_ms - FAULTS_MS;
}

bool is_calm(const struct world *w)
{
	return calm_for(w) >= 0;
}

bool percent(struct world *w, int n)
{
	return n && !is_calm(w) && sim_dice(w->sim, 100) >= 100 - n;
}

const cJSON *seen_get(struct world *w, struct seen *s, const char *resource,
		      const char *name)
{
	struct stored *now;

	if (!*s->key)
		snprintf(s->key, sizeof(s->key), "%s/default/%s", resource, name);
	now = storage_get(w->api->storage, s->key);
	if (now != s->stored) {
		cJSON_Delete(s->doc);
		s->doc = now ? stored_read(now) : NULL;
	}
	stored_unref(s->stored);
	s->stored = now;
	return s->doc;
}

const cJSON *trainjob_of(struct job *j)
{
	return seen_get(j->w, &j->trainjob, "trainjobs." TRAINER_GROUP, j->name);
}

const cJSON *jobset_of(struct job *j)
{
	return object_of(j, JOBSET);
}

struct job *job_named(struct world *w, const char *path)
{
	for (int i = 0; i < w->n_jobs; i++)
		if (strstr(path, w->jobs[i].name))
			return &w->jobs[i];
	return NULL;
}

static void check_all(struct world *w)
{
	for (int i = 0; i < w->n_jobs; i++)
		if (w->jobs[i].changed)
			rules_check(&w->jobs[i]);
}

/* Every 5 s. True: nothing is left to do. */
static bool look_around(struct world *w)
{
	int done = 0;

	for (int i = 0; i < w->n_jobs; i++) {
		if (calm_for(w) > CALM_MS && clock_ms() - w->leads_since > CALM_MS)
			rules_check_calm(&w->jobs[i]);
		done += rules_job_is_done(&w->jobs[i]);
	}
	return done == w->n_jobs && calm_for(w) > CALM_MS;
}

/*
 * The first 12 s are for what is still under way. A pass that failed long ago may be
 * repeated later: the wait begins again, a few times. True: it was long enough.
 */
static bool is_at_rest(struct world *w)
{
	bool calls = w->calls > w->rest_calls;

	if (w->rest_ms && clock_ms() - w->rest_ms > 12000 && calls && w->late++ == 3)
		sim_broken(w->sim, "%lld calls once all has ended",
			   (long long)(w->calls - w->rest_calls));
	if (!w->rest_ms || (clock_ms() - w->rest_ms > 12000 && calls))
		w->rest_ms = clock_ms();
	if (clock_ms() - w->rest_ms <= 12000)
		w->rest_calls = w->calls;
	return clock_ms() - w->rest_ms > REST_MS;
}

static void set_dice(struct world *w)
{
	struct sim *sim = w->sim;

	w->n_jobs = 1 + (int)sim_dice(sim, JOBS);
	w->n_controllers = 1 + (int)(sim_dice(sim, 6) + 1) / 3;
	w->refuse = sim_dice(sim, 2) ? (int)sim_dice(sim, 20) : 0;
	w->lose = sim_dice(sim, 2) ? (int)sim_dice(sim, 20) : 0;
	w->cut = sim_dice(sim, 2) ? (int)sim_dice(sim, 50) : 0;
	w->lag_ms = sim_dice(sim, 2) ? sim_dice(sim, 5000) : 0;
	w->rich = sim_number(sim) % 4 == 2;
	if (!w->rich)
		return;
	w->jobset_ms = clock_ms() + (sim_dice(sim, 4) == 3 ? sim_dice(sim, 20000) : 0);
	w->extras_ms = clock_ms() + (sim_dice(sim, 2) ? sim_dice(sim, 20000) : 0);
	controller_config.gate_scheduling = sim_dice(sim, 2);
	controller_config.gate_trainjob_status = sim_dice(sim, 2);
	controller_config.local_ca = "a certificate";
}

static void jobs_world(struct sim *sim)
{
	struct world w = { .sim = sim, .api = server, .leads_since = INT64_MAX };
	int64_t next = 0;

	current = &w;
	start_ms = clock_ms();
	set_dice(&w);
	users_make_runtimes(&w);
	for (int i = 0; i < w.n_jobs; i++) {
		struct job *j = &w.jobs[i];

		j->w = &w;
		j->i = i;
		snprintf(j->name, sizeof(j->name), "job-%d", i);
		snprintf(j->path, sizeof(j->path),
			 "/apis/" TRAINER_API_VERSION "/namespaces/default/trainjobs/%s",
			 j->name);
		snprintf(j->jobset_path, sizeof(j->jobset_path),
			 "/apis/" JOBSET_API_VERSION "/namespaces/default/jobsets/%s",
			 j->name);
	}
	controllers_start(&w);
	for (int i = 0; i < w.n_jobs; i++)
		users_start(&w.jobs[i]);
	while (!sim_is_broken(sim) && calm_for(&w) < END_MS && sim_step(sim)) {
		check_all(&w);
		if (clock_ms() < next)
			continue;
		next = clock_ms() + 5000;
		if (!look_around(&w))
			w.rest_ms = 0;
		else if (is_at_rest(&w))
			break;
	}
	for (int i = 0; i < w.n_jobs; i++)
		rules_check_settled(&w.jobs[i]);
	if (w.calls > (int64_t)CALLS * w.n_jobs)
		sim_broken(sim, "%lld calls", (long long)w.calls);
	w.over = true;
}

static const struct sim_seed known[] = {
	{ 52, "a controller that takes over lists pods before TrainJobs" },
	{ 53, "a job is resumed after its time, and its JobSet is refused" },
	{ 123, "a new TrainJob gets the end of one of its name before it" },
	{ 169, "a job completes in the moment of its deadline" },
	{ 736, "a TrainJob of another controller gets the status of one before it" },
	{ 1447, "the answer to the write of a runtime snapshot is lost" },
	{ 12552, "the answer to the write of a status is lost, and the watch lags" },
	{ 9004227, "a job's deadline passes while its objects cannot be made" },
	{ 2013, "a lost snapshot is made of a runtime that changes again" },
	{ 352, "a queue moves a job, and its runtime changes, while nobody leads" },
	{ 40019737, "a new TrainJob fails as the one of its name before it did" },
	{ 13692, "reading the TrainJob of a pod is refused once" },
	{ 1400002848, "watches wait on when the API server answers again" },
	{ 701128, "the pass that ends a job in time fails once, as those before it" },
	{ 0, NULL },
};

int main(int argc, char **argv)
{
	static const struct sim_conf conf = { "controller", jobs_world, 1500, known,
					      true };
	const struct apiserver_conf api = { .max_events = 64 };
	char **errors;

	if (apiserver_new(&server, &api, IGNORED) ||
	    manager_config_load(&controller_config, NULL, NULL, &errors, IGNORED))
		return 1;
	return sim_main(&conf, argc, argv);
}
