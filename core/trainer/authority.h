/*
 * authority.h - the server or bucket of a URI that a TrainJob names: what no server or
 * bucket can be called is refused before the job runs.
 */
#ifndef TRAINER_AUTHORITY_H
#define TRAINER_AUTHORITY_H

#include <stdbool.h>

/* Does `text`, the URI after its scheme, begin with HOST[:PORT], to its end or a '/'? */
bool authority_is_server(const char *text);
/* ... with the name of a bucket of S3 or Google Cloud Storage? */
bool authority_is_bucket(const char *text);

#endif
