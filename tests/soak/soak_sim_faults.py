#!/usr/bin/python3
"""Faults that are put back, one at a time: the simulated world of their subject finds each by a seed of its table `known`
or within 10,000 schedules.

Most were there once, or are a change of one condition. The seed that finds a fault is shown: after a change of the
world, those of its table `known` are read here. A fault whose text is no longer in the file fails, too: change it.

    [SCHEDULES=10000] tests/soak/soak_sim_faults.py [proof | WORLD | WORDS OF A FAULT]...

proof: those of the table PROOF, at least one for each promise and each kind of fault.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from worlds import ROOT, build, first_failure

SCHEDULES = os.environ.get("SCHEDULES", "10000")
CACHE = [
    ("a worker sends what it has of a ticket's rows", "core/cache/holdings.c", 'else if (has_all(it, rows))', 'else if (true)'),
    ('lent rows are freed when their worker returns', "core/cache/fleet.c", 'wait > STAY_MS ? wait : STAY_MS', '0'),
    ('a second return does not count from its own beginning', "core/cache/fleet.c", '\t\tr->back_ms = 0;\n', '\t\t;\n'),
    ('lent rows that all workers failed to load are not tried again', "core/cache/loans.c", '(all && clock_ms() - l->moved_ms < FAILED_MS)', 'all'),
    ('the last worker that is left is not told to try again', "core/cache/loans.c", 'l->again = to == l->holder;', 'l->again = false;'),
    ('rows are not read while a worker without rows is away', "core/cache/fleet.c", 'return (a.first > b.first ? a.first : b.first) < (a.end < b.end ? a.end : b.end);', 'return a.first < b.end && b.first < a.end;'),
    ('a worker keeps the rows that were lent to it', "core/cache/loans.c", '!a.differs && !a.at', '!a.differs'),
    ('what a worker does not name of its loans is still there', "core/cache/loans.c", 'if (!is_of(a->at, l)) {\n\t\ta->differs = true;\n\t\tl->ready = false;', 'if (a->differs || !is_of(a->at, l)) {\n\t\ta->differs = true;'),
    ('a read that goes on begins at the first row again', "core/cache/plan.c", 'r.first = (r.first + c->start) % n;', 'r.first = r.first % n;'),
    ('padding is forgotten at the end of the table', "core/cache/plan.c", 'add_part(&p, 0, r.end - n);', ''),
    ('the rows of an assignment before are not freed', "core/cache/holdings.c", '\tset_release(&old);\n}', '}'),
    ('a worker with other rows is not assigned its own', "core/cache/fleet.c", '!has_rows(r, doc);\n\t}', 'false;\n\t}'),
    ('a ticket has all rows that are lent, not only those of the shard', "core/cache/fleet.c", 'add_holder(to, l->holder, clip(rows, l->rows))', 'add_holder(to, l->holder, l->rows)'),
    ('rows of a lost worker are lent to nobody', "core/cache/fleet.c", 'if (!ready && is_gone(r))', 'if (false)'),
    ('endpoints are in the wrong order', "core/cache/head.c", 'for (size_t i = 0; i < who->n; i++)', 'for (size_t i = who->n; i--;)'),
    ('one row too many of a message is sent', "core/cache/reading.c", 'if (some.end - some.first < msg->n)', 'if (some.end - some.first + 1 < msg->n)'),
    ('lent rows of a worker that is not ready are announced', "core/cache/loans.c", '!(l->ready && l->holder->ready)', '!l->holder->ready'),
    ('lent rows are announced before their new holder has them', "core/cache/loans.c", '\tl->ready = false;\n\tl->error[0] = 0;', '\tl->error[0] = 0;'),
    ('a loan is not moved', "core/cache/loans.c", '\tl->holder = to;\n', ''),
    ('a reader goes to the next location after it got rows', "core/cache/client.c", '(r->begun || ', '('),
    ('a load that was interrupted is reported as failed', "core/cache/holdings.c", 'if (take_table || err->kind != ERR_STOPPED)', 'if (true)'),
    ('rows are lent before all workers had theirs', "core/cache/fleet.c", 'r->unanswered_ms && has_begun(r->fleet) &&', 'r->unanswered_ms &&'),
    ('the time without an answer is counted since the first silence ever', "core/cache/fleet.c", '\tr->unanswered_ms = 0;\n\ttrouble[0] = 0;', '\ttrouble[0] = 0;'),
    ('a worker is ready with rows that were divided anew during its poll', "core/cache/fleet.c", 'ready = ready && has_polled_rows(r);', 'ready = ready;'),
    ('rows of a table that was replaced are kept', "core/cache/holdings.c", ' &&\n\t       str_eq(a->table, b->table)', ''),
    ('a ticket reads rows of another table', "core/cache/holdings.c", 'return !t->table.iov_len || !table ||', 'return true || !table ||'),
    ('the head accepts rows of another table', "core/cache/fleet.c", '(!table || str_eq(table, r->fleet->table_name)) &&', ''),
    ('a head that restarts waits for ever for a worker that is gone', "core/cache/fleet.c", 'r->fleet->resumed || is_resumed(r, doc, state)', 'false'),
    ('a head that starts lends rows as if it had restarted', "core/cache/fleet.c", 'return !r->assigned && str_eq', 'return str_eq'),
    ('a worker loads files that the head has not seen', "core/cache/holdings.c", '\tif (table_rows(t) != h->now.total)', '\tif (1) return 0;\n\tif (table_rows(t) != h->now.total)'),
    ("rows are lent to upstream's workers", "core/cache/loans.c", 'return r->ready && !r->upstream;', 'return r->ready;'),
    ('loans move from workers that have them', "core/cache/loans.c", '(l->holder->ready && !l->error[0]) || !to ||', '!to ||'),
    ('rows that cannot be loaded are tried again without a pause', "core/cache/fleet.c", 'if (clock_ms() - r->failed_ms < FAILED_MS)', 'if (false)'),
    ('rows that cannot be loaded are never tried again', "core/cache/fleet.c", '\tr->failed_ms = 0;\n\treturn true;', '\treturn !has_rows(r, doc);'),
    ('all workers are needed for each shard', "core/cache/fleet.c", 'if (r->ready || (has_begun(f) && !concerns(r, rows)) ||', 'if (r->ready ||'),
    ('a worker obeys a head that has died', "core/cache/claim.c", 'if (!same && c->secret && silent < SILENT_MS)', 'if (false)'),
    ('a worker never obeys a head that has restarted', "core/cache/claim.c", 'if (!same && c->secret && silent < SILENT_MS)', 'if (!same && c->secret)'),
    ("a head's claim ends while it calls", "core/cache/claim.c", '\tif (secret)\n\t\tc->called_ms = clock_ms();', ''),
    ('all rows are loaded again at each assignment', "core/cache/holdings.c", '\tif (!is_same_table(now, old))\n\t\treturn;', '\treturn;'),
    ('after an interruption nothing is loaded', "core/cache/holdings.c", '\t\th->cancel = h->stopping;\n', ''),
    ('workers are ready with rows that are no longer theirs', "core/cache/fleet.c", '\t\tf->remotes[i].ready = false;\n', ''),
    ('loans of rows that were divided anew remain', "core/cache/fleet.c", '\t\tloans_end(&f->remotes[i]);\n\t}\n\tf->by_files', '\t}\n\tf->by_files'),
]
CONTROLLER = [
    ('a job that is too late is complete, too', "core/trainer/trainjob_status.c", 'if (!status_is_exceeded(status)) {\n\t\tcopy_condition(status, jobset, "Completed", COND_COMPLETE);', 'copy_condition(status, jobset, "Completed", COND_COMPLETE);\n\tif (!status_is_exceeded(status)) {'),
    ('a lost answer to the write of the snapshot stops the job', "core/manager/reconcile_runtime.c", '\t*p->memory->written.snapshot = 0;\n', ''),
    ('pods are listed before TrainJobs', "core/manager/work.c", 'if (store && informer_synced(store))', 'if (store)'),
    ('the end of a TrainJob is written to another of its name', "core/manager/reconcile_status.c", 'add_step(steps, "test", "/metadata/uid", cJSON_CreateString(meta_uid(p->tj)));', ''),
    ('a status is written to another of its name', "core/manager/reconcile_status.c", '= patch_of_uid(p, change);', '= status_finished(tj_status(p->tj)) ? patch_of_uid(p, change) : cJSON_CreateObject();\n\tif (!cJSON_IsArray(patch)) json_put(patch, json_dup(change), "status");'),
    ('a Lease is taken before it has expired', "core/kube/lease.c", 'return left > 0 ? left : 0;', 'return left > 8000 ? left : 0;'),
    ('a controller that was frozen writes before it looks at its Lease', "core/kube/kube.c", 'if (!k->opts.may_write || ', 'if (true || '),
    ('a Lease is taken that another has just taken', "core/kube/lease.c", 'json_put_str(doc, l->conf.identity, HOLDER);', 'json_put_str(doc, l->conf.identity, HOLDER); json_del(doc, JSON_PATH("metadata", "resourceVersion"));'),
    ('the TrainJob of a pod is asked for once', "core/manager/work.c", 'return keep_trying(w->conf.watch, &ref, &ret, IGNORED) ? NULL : ret;', 'return kube_get(w->conf.watch, &ref, &ret, IGNORED) ? NULL : ret;'),
    ('a pass that failed is not repeated', "core/manager/work.c", '\tworkqueue_retry(c->queue, key);\n}', '\t(void)0;\n}'),
    ('watches wait on when the API server answers again', "core/manager/watch.c", 'if (atomic_load(&w->sources[i].failed))', 'if (false)'),
    ('the pass that ends a job in time is repeated after the back-off of those before', "core/manager/reconcile.c", '\tif (status_is_exceeded(tj_status(p->tj)))\n\t\tpass_requeue_after(p, LATE_MS);\n', ''),
    ('a pass that asks for another does not get it', "core/manager/work.c", 'workqueue_add_after(c->queue, key, after_ms);', ''),
    ('what is gone when a kind is listed anew is remembered', "core/kube/informer.c", '\ton_answer(inf);\n\tsweep(inf);', '\ton_answer(inf);'),
    ('a watch that is too old goes on', "core/kube/kube_list.c", '\t\terr->kind = ERR_EXPIRED;\n\t\treturn -1;', '\t\treturn error_clear_if(err, err->kind);'),
    ('a watch that was cut misses a change', "core/kube/informer.c", '\tinf->heard = false;\n', '\tinf->heard = false;\n\tif (inf->version && clock_ms() % 7 == 3) { char v[24]; snprintf(v, sizeof(v), "%lld", strtoll(inf->version, NULL, 10) + 1); set_version(inf, v); }\n'),
    ('an old TrainJob in the cache is believed', "core/manager/reconcile.c", 'meta_version_number(p->tj) < p->memory->written.trainjob_version', 'false'),
    ('the JobSet of another is taken', "core/manager/reconcile.c", 'take && pass_check_owner(take, p->tj, &not_ours)', 'take && false && pass_check_owner(take, p->tj, &not_ours)'),
    ('what was known of a TrainJob is believed of the next of its name', "core/manager/reconcile.c", 'if (!str_eq(p->memory->uid, meta_uid(p->tj))) {', 'if (!p->memory->uid) {'),
    ('objects are made for a TrainJob that is gone', "core/manager/reconcile_objects.c", 'if (!live || !str_eq(meta_uid(live), meta_uid(p->tj)) || meta_is_deleted(live))', 'if (false)'),
    ('a Secret is made anew', "core/manager/reconcile_objects.c", 'if (str_eq(ref.kind, "ConfigMap")) /* users create', 'if (str_eq(ref.kind, "Secret")) {\n\t\t*ret = NULL;\n\t\treturn 0;\n\t}\n\tif (str_eq(ref.kind, "ConfigMap")) /* users create'),
    ('the snapshot of the runtime is not used', "core/manager/reconcile_runtime.c", '\tif (existing && *p->memory->written.snapshot)\n\t\treturn read_known(p, existing, ret, err);\n\tif (existing && p->jobset.own)\n\t\treturn read_unknown(p, existing, ret, err);', ''),
    ('a finished job is built again', "core/manager/reconcile.c", 'if (status_finished(status)) {\n\t\tp->memory->stale_passes = 0; /* nothing is built any more */', 'if (false) {\n\t\tp->memory->stale_passes = 0;'),
    ('an object is replaced whatever it has become', "core/manager/reconcile_objects.c", '\tpass_write_precondition(obj, existing);\n\tif (kube_apply(', '\tif (kube_apply('),
    ('two workers have the same job', "core/kube/workqueue.c", '\tif (!it->processing)\n\t\tenqueue(q, it);', '\tif (!it->lane)\n\t\tenqueue(q, it);'),
    ('a change during a pass is forgotten', "core/kube/workqueue.c", '\tif (it->dirty)\n\t\tenqueue(q, it);\n\telse', ''),
    ('changes by others are taken for our own', "core/manager/watch.c", '(is_status_same(old, current) || is_our_write(s, current))', 'true'),
    ('a JobSet that is gone is not noticed', "core/manager/watch.c", '\tif (is_unchanged(old, current, NULL) ||\n\t    (!old && current && !jobset_has_status(current)))', '\tif (is_unchanged(old, current, NULL) || !old || !current)'),
    ('a snapshot that was made of a later runtime is not known', "core/manager/reconcile_runtime.c", 'str_eq(meta_annotation(p->jobset.own, SNAPSHOT_ANNOTATION), digest)', 'false'),
    ('a deadline is not waited for', "core/manager/reconcile_end.c", 'pass_requeue_after(p, left < DEADLINE_CHECK_MS ? left : DEADLINE_CHECK_MS);', ''),
    ('a finished job is deleted before its time', "core/manager/reconcile_end.c", '\tif (left <= 0)\n\t\treturn delete_trainjob', '\tif (left <= 3)\n\t\treturn delete_trainjob'),
    ('the time of a finished job is not waited for', "core/manager/reconcile_end.c", '\tpass_requeue_after(p, left < TTL_CHECK_MS ? left : TTL_CHECK_MS);', ''),
    ('a conflict is not tried again', "core/manager/reconcile.c", 'if (why.kind == ERR_CONFLICT) {\n\t\t\tpass_requeue_after(p, BACKOFF_MS);', 'if (why.kind == ERR_CONFLICT) {'),
    ('a job is too late before its resume is in effect', "core/manager/reconcile_end.c", '\t    status_is_true(status, COND_SUSPENDED) || !text ||', '\t    !text ||'),
    ('a JobSet that went by its own TTL is made again', "core/manager/watch.c", 'jobset_finished(gone) ? gone : NULL', 'NULL'),
    ('pods of a job that is too late run on', "core/manager/reconcile_status.c", 'if (status_is_exceeded(tj_status(p->tj)) && objects_delete_jobset(p, NULL, err))\n\t\treturn -1;', 'if (status_is_exceeded(tj_status(p->tj)) && !status_finished(p->status.before) && objects_delete_jobset(p, NULL, err))\n\t\t*err = (struct error){ 0 };'),
    ('a job that a queue moved while its runtime changed is stuck', "core/manager/reconcile_runtime.c", 'if (jobset_suspended(now)) {\n\t\tdrop_placement', 'if (false) {\n\t\tdrop_placement'),
    ('a status is computed from one that a write without an answer replaced', "core/manager/reconcile_status.c", 'rc && (pass_no_answer(err) || err->kind == ERR_CONFLICT);', 'rc && err->kind == ERR_CONFLICT;'),
]
JOURNAL = [
    ('a change is acknowledged before it is on the disk', "core/apiserver/storage.c", 'int rc = s->journal ? journal_sync(s->journal, err) : 0;', 'int rc = 0;\n\t(void)err;'),
    ('a sync covers what was written during it', "core/apiserver/journal.c", 'j->synced = covers;', 'j->synced = j->added;'),
    ('a log that is not on the disk takes the place of the old one', "core/apiserver/journal.c", '\tif (fdatasync(fd))\n', '\tif (false)\n'),
    ('a sync that failed is forgotten', "core/apiserver/journal.c", 'j->failed |= bad;', ''),
    ('a record follows one whose write failed', "core/apiserver/journal.c", 'bool back = !ftruncate(j->fd, j->size) &&\n\t\t\t    lseek(j->fd, j->size, SEEK_SET) == j->size;', 'bool back = true;'),
    ('a write that failed forgets that a sync did', "core/apiserver/journal.c", 'j->failed |= !back;', 'j->failed = !back;'),
    ('what is read at the start is not written again', "core/apiserver/storage.c", 's->unwritten = s->journal && journal_report(s->journal)->records;', 's->unwritten = false;'),
    ('what a crash tore is taken for what was acknowledged', "core/apiserver/journal.c", 'if (!has_marks || mark_of(body, get32(start + i)) > at)', 'if (true)'),
    ('damage of what was acknowledged is cut off', "core/apiserver/journal.c", 'if (was_on_disk(start, len, at, has_marks))', 'if (false)'),
    ('a bookmark has the version of a change that was not sent', "core/apiserver/watch.c", '\treturn !rc && w->bookmarks', '\tif (!rc && idle && w->bookmarks && now >= w->bookmark_at)\n\t\tw->version = storage_version(w->x.server->storage);\n\treturn !rc && w->bookmarks'),
    ('a change is seen before it is on the disk', "core/apiserver/storage.c", 'pending = version > s->committed;', 'pending = false;'),
]
# What users are promised, the kind of fault that breaks it, and the change. *: the CHANGELOG names it as mended.
SUPERVISE = [
    ('what a rank answered to the hub before counts', "core/supervise/hub.c", 'has_started(h, r) ? r->state.acked : 0', 'r->state.acked'),
    ('a new rank is ready, which may still get an order of the epoch before', "core/supervise/hub.c", 'return r->joined && r->state.phase == ready && r->state.epoch == h->order.epoch;', 'return r->joined && (r->state.phase == PEER_NEW || (r->state.phase == ready && r->state.epoch == h->order.epoch));'),
    ('the hub does not wait for a rank that was away as all succeeded', "core/supervise/hub.c", 'return h->freed_at + HUB_AWAY_MAX_MS;', 'continue;'),
    ('the hub ends before a late rank has the last order', "core/supervise/hub.c", 'h->freed_at = now; /* it gets that order now */', ';'),
    ('a pod that is deleted before all have succeeded has succeeded', "core/supervise/decide.c", 'return s->stop_requested && !status && !s->free && !s->alone;', 'return false;'),
    ('a command that was killed for good is a pod that was lost', "core/supervise/decide.c", 'if (as_lost && ', 'if (false && '),
    ('a new hub does not learn the epoch', "core/supervise/hub.c", 'if (epoch > h->order.epoch)', 'if (false)'),
    ('a new hub does not learn the restarts', "core/supervise/hub.c", 'if (s->counted > h->order.counted)', 'if (false)'),
]
PROOF = [
    ("nothing acknowledged is lost", "a crash before the sync", 'a change is acknowledged before it is on the disk'),
    ("nothing acknowledged is lost", "a sync that fails *", 'what is read at the start is not written again'),
    ("a server starts after any crash", "a torn write *", 'what a crash tore is taken for what was acknowledged'),
    ("each row once, or an error", "a worker that is lost, and back between two calls", 'lent rows are freed when their worker returns'),
    ("each row once, or an error", "a file that is replaced", 'a ticket reads rows of another table'),
    ("an end is for ever", "an end in the moment of the deadline *", 'a job that is too late is complete, too'),
    ("no status claims more than its JobSet", "a job that is replaced *", 'the end of a TrainJob is written to another of its name'),
    ("all ends once faults stop", "an answer that is lost *", 'a lost answer to the write of the snapshot stops the job'),
    ("an end is for ever", "an answer that is lost, and a watch that lags *", 'a status is computed from one that a write without an answer replaced'),
    ("no job ends before its time", "a write that is refused *", 'a job is too late before its resume is in effect'),
    ("all ends once faults stop", "a write that is refused", 'a pass that failed is not repeated'),
    ("a Secret never changes", "an object that is there", 'a Secret is made anew'),
    ("two leaders never write", "a leader that is cut off", 'a Lease is taken before it has expired'),
    ("no JobSet of another is taken", "an object of the same name", 'the JobSet of another is taken'),
    ("no job runs twice", "a JobSet that is gone", 'a finished job is built again'),
    ("no job runs twice", "an end that no pass has seen *", 'a JobSet that went by its own TTL is made again'),
    ("all ends once faults stop", "a queue, and no leader *", 'a job that a queue moved while its runtime changed is stuck'),
    ("a job that is too late ends", "a read that fails *", 'the pass that ends a job in time is repeated after the back-off of those before'),
    ("a job that is too late ends", "a deletion that is refused (trainer#3994)", 'pods of a job that is too late run on'),
    ("a job that is too late ends", "watches that reach nobody *", 'watches wait on when the API server answers again'),
    ("a lost node is reported", "a controller that dies", 'pods are listed before TrainJobs'),
]
FAULTS = [("journal", *fault) for fault in JOURNAL] + [("cache", *fault) for fault in CACHE] + [("jobs", *fault) for fault in CONTROLLER] + [("supervise", *fault) for fault in SUPERVISE]


def seed_of(fault):
    """What the world says of it."""
    world, _, file, before, after = fault
    text = (ROOT / file).read_text()
    if before not in text:
        return None, f"{file} has no {before!r}"
    with tempfile.TemporaryDirectory() as name:
        program = build(pathlib.Path(name), f"build/rel/tests/sim/{world}", file, text.replace(before, after, 1))
        return first_failure(program, SCHEDULES) or (None, f"no schedule of {SCHEDULES} shows it")


def is_chosen(fault):
    return any(w == fault[0] or w in fault[1] or (w == "proof" and fault[1] in (p[2] for p in PROOF)) for w in sys.argv[1:])


chosen = [f for f in FAULTS if len(sys.argv) < 2 or is_chosen(f)]
subprocess.run(["make", "-s"] + sorted({f"build/rel/tests/sim/{f[0]}" for f in chosen}), cwd=ROOT, check=True)
bad = 0
for number, fault in enumerate(chosen, 1):
    seed, why = seed_of(fault)
    bad += seed is None
    print(f"{'ok' if seed else 'not ok'} {number} - {fault[1]}: {'seed ' + seed + ', ' if seed else ''}{why}", flush=True)
print(f"1..{len(chosen)}\n# {len(chosen) - bad} of {len(chosen)} found")
sys.exit(bad > 0)
