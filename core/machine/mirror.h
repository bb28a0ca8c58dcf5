/*
 * mirror.h - shows the runs of `submit --local` in the API of `controller --local`.
 *
 * They communicate only through files. A run writes its objects into its directory
 * (state.h, state_owned.h) and knows no server. The server watches the directories
 * (inotify): every answer includes what changed before the request, and watches see
 * changes at once. Directories that other hosts write are polled every 5 s.
 *
 * Objects of runs have LOCAL_RUN_ANNOTATION; the manager and the backend ignore them.
 * Clients can read them and their logs, set the TrainJob's spec.suspend, and delete it,
 * which ends the run; other writes are refused (403). Ended runs remain visible.
 *
 * A name belongs to its first user: while a run has it, creating a TrainJob of that name
 * is a 409 AlreadyExists; while the server has a TrainJob of that name, a run is not
 * shown. `submit --local` refuses the name of a server's job (state_owned_check()).
 */
#ifndef MACHINE_MIRROR_H
#define MACHINE_MIRROR_H

#include "apiserver/apiserver.h"
#include "base/json.h"

struct mirror;

/* `api` must outlive mirror_stop(). */
MUST_CHECK int mirror_start(struct mirror **ret, struct apiserver *api,
			    struct error *err);
/* Bring the objects up to date; cheap if nothing changed. NULL is fine. */
void mirror_sync(struct mirror *m);
bool mirror_has(const cJSON *obj); /* is it an object of a run? */
/* Admission of a write to a run's object. -1: refused, code 403. */
MUST_CHECK int mirror_check(const cJSON *old, const cJSON *obj, struct error *err);
/* apiserver_conf.write and .remove, of any object. */
MUST_CHECK int mirror_write(const cJSON *old, const cJSON *obj, struct error *err);
MUST_CHECK int mirror_remove(const cJSON *obj, struct error *err);
void mirror_stop(struct mirror *m);

#endif
