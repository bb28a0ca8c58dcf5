/*
 * alone.h - see from its output that a job's processes each train alone.
 *
 * A launcher or library that ignores what the runtime sets makes every process rank 0 of
 * a world of 1; such a job ends complete. Two processes of one job whose output says so,
 * while none says otherwise, are the sign. Lines about groups within a world do not
 * count.
 */
#ifndef LOGTEXT_ALONE_H
#define LOGTEXT_ALONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALONE_REASON "TrainsAlone" /* of events and of `why` */

/* The advice that follows the sign that was seen. */
#define ALONE_REMEDY                                                                       \
	"if they should train one model together, each trains alone: start the script "    \
	"with torchrun (--launcher torchrun), without its --standalone and --nnodes, and " \
	"on CPUs set ACCELERATE_USE_CPU=true for accelerate"

enum { ALONE_TEXT_SIZE = 600 };

/* `{ 0 }`: nothing is known yet. */
struct alone {
	char text[ALONE_TEXT_SIZE]; /* the sign that was seen, and the remedy; "": none */
	char first[64], quote[120];
	int lines; /* read so far; the sign is in the first ones */
	bool ended;
};

/* The number of processes that the line says a job has; -1: it says nothing of it. */
int64_t alone_world_size(const char *line, size_t len);

/*
 * Read a line of the process that is shown as `prefix`. True, once: it is the second one
 * that is alone, and no sign was known.
 */
bool alone_line(struct alone *a, const char *prefix, const char *line, size_t len);
/* Another sign, such as an event of the controller. True, once: none was known. */
bool alone_set(struct alone *a, const char *text);

#endif
