/*
 * events.h - a schedule: events in the order of a virtual clock, and choices of a seed.
 *
 * The clock is clock_ms(); it moves from event to event. Every choice is a throw of
 * dice of which 0 is the calmest, so a schedule that fails is made shorter by zeros in
 * place of its choices.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct sim;

int64_t sim_dice(struct sim *s, int64_t sides); /* 0 to sides - 1 */
uint64_t sim_number(const struct sim *s);       /* the seed */
void sim_after(struct sim *s, int64_t ms, void (*run)(void *ctx), void *ctx);
bool sim_step(struct sim *s); /* run the next event; false: there is none */

void sim_note(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);   /* trace */
void sim_broken(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3); /* a fault */
bool sim_is_broken(const struct sim *s);

struct sim_conf {
	const char *name;
	void (*world)(struct sim *s); /* runs a schedule */
	uint64_t schedules;           /* how many, unless --schedules says it */
	const struct sim_seed {
		uint64_t seed;
		const char *fault; /* that it found */
	} * known;                 /* ends with { 0 } */
	bool forks;                /* each schedule in a process of its own */
};
/*
 * The program: [--seed N] [--schedules N] [--trace]. Its exit status. --seed: this one, or
 * the first of --schedules. --trace: print what happens. With the sanitizers a fiftieth,
 * of other seeds.
 */
int sim_main(const struct sim_conf *conf, int argc, char **argv);

#endif
