/*
 * mirror.h - the runs of `submit --local` among the objects of `controller --local`.
 *
 * They see each other by files alone. A run writes what it consists of into its directory
 * (state.h, state_owned.h) and knows no server. The server watches the directories
 * (inotify): what has changed there is read before the next request is answered, and at
 * once for watches. Directories that other hosts write are looked at every 5 s.
 *
 * Objects of runs have LOCAL_RUN_ANNOTATION, and neither the manager nor the backend works
 * on them. Clients read them, their logs as well, change the TrainJob's spec.suspend and
 * delete it, which ends the run; other writes are refused (403). Ended runs are read from
 * what they stored.
 *
 * A name is its first user's: while a run has it, creating a TrainJob of that name is a 409
 * AlreadyExists; while the server has a TrainJob of that name, a run is not shown. A job
 * that a server has run is refused to `submit --local` (state_owned_check()).
 */
#ifndef LOCAL_MIRROR_H
#define LOCAL_MIRROR_H

#include "apiserver/apiserver.h"
#include "base/json.h"

struct mirror;

/* The API is the caller's, until mirror_stop(). */
MUST_CHECK int mirror_start(struct mirror **ret, struct apiserver *api,
			    struct error *err);
/* Bring the objects up to date; cheap if nothing has changed. NULL is fine. */
void mirror_sync(struct mirror *m);
bool mirror_has(const cJSON *obj); /* is it an object of a run? */
/* Admission of a change of a run's object: -1, 403. */
MUST_CHECK int mirror_check(const cJSON *old, const cJSON *obj, struct error *err);
/* apiserver_conf.write and .remove, of any object. */
MUST_CHECK int mirror_write(const cJSON *old, const cJSON *obj, struct error *err);
MUST_CHECK int mirror_remove(const cJSON *obj, struct error *err);
void mirror_stop(struct mirror *m);

#endif
