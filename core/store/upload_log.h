/*
 * upload_log.h - our unfinished multipart uploads: .kftrainer/uploads.jsonl of the
 * directory.
 *
 * After a kill, the next run from the same directory resumes the uploads it finds here;
 * other clients' uploads are left alone. If the file cannot be written, or another
 * process uploads from the directory, nothing is logged. It is untrusted when it is read
 * back: the server lists the parts, and each is compared with our bytes.
 */
#ifndef STORE_UPLOAD_LOG_H
#define STORE_UPLOAD_LOG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"

struct upload_log {
	struct arena arena;
	struct map ids; /* upload id by object */
	int state, fd;  /* -1: nothing is logged */
};

void upload_log_open(struct upload_log *b, const char *folder);
/* `delete`: no upload is unfinished. */
void upload_log_close(struct upload_log *b, bool delete);

/* `object`: "s3://bucket/key". NULL: none. */
const char *upload_log_find(const struct upload_log *b, const char *object);
void upload_log_add(struct upload_log *b, const char *object,
		    const char *id); /* any thread */

#endif
