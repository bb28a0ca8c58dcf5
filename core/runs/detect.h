/*
 * detect.h - detect finished checkpoints in a directory.
 *
 * By the file that a library writes last, or by a rename:
 *
 *   checkpoint-N/trainer_state.json  Hugging Face Trainer (trainer.py, _save_checkpoint),
 *                                    unless checkpoint-is-incomplete.txt is there, too
 *   NAME/.metadata                   torch.distributed.checkpoint (filesystem.py, finish)
 *   NAME/random_states_0.pkl         Accelerate (checkpointing.py, save_accelerator_state),
 *                                    but for custom_checkpoint_N.pkl
 *   NAME.ckpt                        Lightning (fabric, cloud_io.py, _atomic_save)
 *   NAME                             renamed to this name
 *
 * Hidden and temporary names (".x", "tmp-x", "x.part") are never checkpoints.
 */
#ifndef RUNS_DETECT_H
#define RUNS_DETECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* Is dir/name a finished checkpoint? `renamed`: inotify(7) reported its rename. */
bool detect_finished(int dir, const char *name, bool renamed);

/*
 * Is it whole even if its writer was killed? A .ckpt may not be: some releases of Lightning
 * write it in place (pytorch-lightning#19970).
 */
bool detect_whole(int dir, const char *name, bool renamed);

struct detected {
	int64_t files;    /* number of files */
	int64_t newest;   /* their latest mtime, in ns since 1970 */
	int64_t finished; /* mtime of the file that its library writes last; or 0 */
	bool single;      /* a file, not a directory */
	bool incomplete;  /* marked so by its library */
};
/*
 * A hash of the names, sizes, inodes and mtimes of the files of dir/name. 0: it does not
 * exist, or is neither a file nor a directory.
 */
uint64_t detect_fingerprint(int dir, const char *name, struct detected *ret);

enum { DETECT_MAX_DEPTH = 32 }; /* of directories; deeper files are ignored */
/* Does a file or directory of this name, below a checkpoint, belong to it? */
bool detect_is_part(const char *name);
/*
 * Is it a regular file, or, below the checkpoint (depth > 0), a symbolic link to one? *st:
 * its lstat(2); becomes that of the link's target.
 */
bool detect_is_file(int dir, const char *name, int depth, struct stat *st);

/* Call each() with the entries of a directory whose names do not begin with a dot. */
void detect_each(int dir, void (*each)(void *ctx, const char *name), void *ctx);

#endif
