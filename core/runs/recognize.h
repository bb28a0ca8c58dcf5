/*
 * recognize.h - find out which entries of a directory are checkpoints that are finished.
 *
 * By what the libraries write last, or in one step:
 *
 *   checkpoint-N/trainer_state.json  Hugging Face Trainer (trainer.py, _save_checkpoint),
 *                                    unless checkpoint-is-incomplete.txt is there, too
 *   NAME/.metadata                   torch.distributed.checkpoint (filesystem.py, finish)
 *   NAME/random_states_0.pkl         Accelerate (checkpointing.py, save_accelerator_state),
 *                                    but for custom_checkpoint_N.pkl
 *   NAME.ckpt                        Lightning (fabric, cloud_io.py, _atomic_save)
 *   NAME                             whatever was renamed into place
 *
 * Names that begin with a dot, or that say that they are temporary, are none.
 */
#ifndef RUNS_RECOGNIZE_H
#define RUNS_RECOGNIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* `dir`: an open directory; `renamed`: it was seen how `name` got its name. */
bool recognize_finished(int dir, const char *name, bool renamed);

/*
 * Is it whole even if its writer was killed? Some releases of Lightning write a .ckpt
 * where it is (pytorch-lightning#19970).
 */
bool recognize_whole(int dir, const char *name, bool renamed);

/*
 * A number that changes when a file below dir/name does: its name, size or time. 0: there
 * is none.
 */
struct recognized {
	int64_t files, newest; /* how many; the last change, in ns since 1970 */
	int64_t finished;      /* that of the file that its library writes last; or 0 */
	bool single;           /* it is a file itself */
	bool incomplete;       /* its library says so */
};
uint64_t recognize_stamp(int dir, const char *name, struct recognized *ret);
/* Of what is below a checkpoint: this name, at most so many directories deep. */
enum { RECOGNIZE_DEPTH = 32 };
bool recognize_is_part(const char *name);
/* A file; below it (depth > 0) also a symbolic link to one. *st: lstat's, then the file's. */
bool recognize_is_file(int dir, const char *name, int depth, struct stat *st);

/* Each entry whose name has no dot in front. */
void recognize_each(int dir, void (*each)(void *ctx, const char *name), void *ctx);

#endif
