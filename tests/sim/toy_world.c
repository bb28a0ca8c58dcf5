/*
 * toy_world.c - the smallest world, with a fault in it: clients that count together.
 *
 * Each reads a number, and writes one more: of two at the same time, one is lost. What
 * tests/sim/test_traces.sh shows to be found, and shortened to the two clients.
 */
#include "tests/sim/events.h"

enum { CLIENTS = 6, STEPS = 4 };

struct toy {
	struct sim *sim;
	int number, written;
	struct client {
		struct toy *toy;
		int i, steps, read;
	} clients[CLIENTS];
};

static void on_read(void *ctx);

static void on_write(void *ctx)
{
	struct client *c = ctx;

	c->toy->number = c->read + 1;
	c->toy->written++;
	sim_note(c->toy->sim, "client %d writes %d", c->i, c->toy->number);
	if (c->toy->number != c->toy->written)
		sim_broken(c->toy->sim, "%d writes made %d", c->toy->written,
			   c->toy->number);
	if (--c->steps)
		sim_after(c->toy->sim, 1 + sim_dice(c->toy->sim, 100), on_read, c);
}

static void on_read(void *ctx)
{
	struct client *c = ctx;

	c->read = c->toy->number;
	sim_note(c->toy->sim, "client %d reads %d", c->i, c->read);
	sim_after(c->toy->sim, sim_dice(c->toy->sim, 3), on_write, c);
}

static void world(struct sim *sim)
{
	struct toy toy = { .sim = sim };
	int n = 1 + (int)sim_dice(sim, CLIENTS);

	for (int i = 0; i < n; i++) {
		toy.clients[i] = (struct client){ &toy, i, 1, 0 };
		toy.clients[i].steps += (int)sim_dice(sim, STEPS);
		sim_after(sim, 1 + 200 * i + sim_dice(sim, 1000), on_read,
			  &toy.clients[i]);
	}
	while (!sim_is_broken(sim) && sim_step(sim))
		;
}

int main(int argc, char **argv)
{
	static const struct sim_seed known[] = { { 0 } };
	const struct sim_conf conf = { "counting", world, 1000, known, false };

	return sim_main(&conf, argc, argv);
}
