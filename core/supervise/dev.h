/*
 * dev.h - a job in development: `kftrainer rerun` sends files to all ranks and starts the
 * command again.
 *
 * The supervisor of rank 0 listens on a socket in PACK_RECEIVED of the directory: only a
 * process of the same user in its container can connect, by `kftrainer runtime rerun`. It
 * passes the bytes of such a session on to the receivers of all ranks (pack/receive.h), a
 * thread in each supervisor, and their answers back. Nothing changes before all ranks have
 * everything; then all commands are stopped, each rank swaps its files, and all start.
 *
 * To the session, in frames:
 *
 *   N  numbers of files that some rank needs: once, when all have said so
 *   S  the command has started; then O and R: rank 0's output (supervise/relay.h)
 *   X  the run has ended: exit code (1 byte), and why
 *   !  the rerun failed, for this reason
 *
 * From a rank to the hub, besides a receiver's answers: Y: its files are swapped.
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

/* Before the command starts. Both remain the caller's, and must remain. */
MUST_CHECK int dev_open(struct dev **ret, const struct dev_conf *conf, struct star *star,
			struct error *err);
struct follower *dev_follower(struct dev *d);
int dev_fd(const struct dev *d);        /* readable: dev_step() is due */
int64_t dev_until(const struct dev *d); /* of clock_ms(): it is due then, too */
/* resting: no process of the command is left, and its output has been passed on. */
void dev_step(struct dev *d, bool resting);
/* The command with the arguments of the last rerun, for its next start. */
char *const *dev_command(struct dev *d);
void dev_started(struct dev *d);

#endif
