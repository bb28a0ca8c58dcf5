/*
 * dev.h - a job in development: `kftrainer rerun` sends files to all ranks and restarts the
 * command.
 *
 * The supervisor of rank 0 listens on a socket in PACK_RECEIVED of the directory: only a
 * process of the same user in the same container can connect, by `kftrainer runtime rerun`.
 * The bytes of such a session are forwarded to the receivers of all ranks (pack/receive.h),
 * a thread in each supervisor, and their answers are returned. No file changes before all
 * ranks have all files; then all commands are stopped, each rank swaps its files, and all
 * commands start.
 *
 * Frames to the session:
 *
 *   N  the numbers of the files that any rank needs: once, after the answers of all ranks
 *   S  the command has started; then O and R: the output of rank 0 (supervise/relay.h)
 *   X  the run has ended: exit code (1 byte), and the reason
 *   !  the rerun failed, and the reason
 *
 * From a rank to the hub, besides the receiver's answers: Y: its files are swapped.
 */
#ifndef SUPERVISE_DEV_H
#define SUPERVISE_DEV_H

#include "supervise/relay.h"
#include "supervise/star.h"

struct dev;

struct dev_conf {
	const char *dir;
	uint32_t rank, ranks;
	char *const *argv; /* the command */
};

/* Call it before the command starts. The caller keeps conf and star valid. */
MUST_CHECK int dev_open(struct dev **ret, const struct dev_conf *conf, struct star *star,
			struct error *err);
struct follower *dev_follower(struct dev *d);
int dev_fd(const struct dev *d);        /* readable: call dev_step() */
int64_t dev_until(const struct dev *d); /* call it also at that clock_ms() */
/* idle: no process of the command is left, and its output has been copied. */
void dev_step(struct dev *d, bool idle);
/* The arguments for the next start: the command, with the arguments of the last rerun. */
char *const *dev_command(struct dev *d);
void dev_started(struct dev *d);

#endif
