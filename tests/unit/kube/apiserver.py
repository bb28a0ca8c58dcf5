#!/usr/bin/env python3
"""An API server as small as the unit tests of kube/ need: any kind, in memory, over
plain HTTP on loopback. Prints its port; ends when its stdin does.

Objects have a resourceVersion, lists have pages, watches get what happened since, and
410 Gone when that is no longer known. POST /ctl tells it to misbehave; see Ctl."""
import copy, json, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

lock = threading.Condition()
objects, history = {}, []            # {path: object}, [(version, type, path, object)]
state = {'version': 100, 'floor': 0, 'generation': 0, 'fail': [], 'unserved': set(),
         'delay': 0, 'bookmark': 0, 'marked': 0, 'hold': False, 'of': '', 'expire': None,
         'error': 0, 'race': '', 'uid': None, 'patch': None, 'prune': '', 'stalled': set(), 'denied': set(), 'clock': 0,
         'lose': None, 'immutable': ''}
seen = {}                            # calls, by method and plural


def record(kind, path, obj):
    state['version'] += 1
    obj['metadata']['resourceVersion'] = str(state['version'])
    history.append((state['version'], kind, path, copy.deepcopy(obj)))
    lock.notify_all()


def merge(to, patch):
    for k, v in patch.items():
        if v is None:
            to.pop(k, None)
        elif isinstance(v, dict):
            to[k] = merge(to.get(k) if isinstance(to.get(k), dict) else {}, v)
        else:
            to[k] = v
    return to


class Ctl:
    """Each with the lock held; what it returns is the answer."""
    def cut(self, _):                # end all watches in order
        state['generation'] += 1
        lock.notify_all()

    def hold(self, arg):             # new watches wait until that is over
        state['hold'] = arg['on']
        lock.notify_all()

    def compact(self, _):            # whoever watches from before now is too late
        state['floor'] = state['version']
        history.clear()

    def forget(self, arg):           # gone without an event
        objects.pop(arg['path'])
        state['version'] += 1

    def fail(self, arg):             # the next n calls but watches: that status; 0: cut off
        state['fail'] = [arg['status']] * arg['n']
        state['why'] = arg.get('why', 'because')
        state['of'] = arg.get('of', '')  # of these only: 'PUT', 'GET jobsets'

    def lose(self, arg):             # calls `of` are done, and `patch` of `path`, but get 504; no watch shows `plural`
        state['lose'] = arg if 'of' in arg else None
        Ctl().hold({'on': False})

    def expire(self, arg):           # the next continue token, or that after so many; meanwhile that path goes
        state['expire'] = arg['forget']
        state['good'] = arg.get('after', 0)

    def error(self, arg):            # the next watch is an ERROR event of that code
        state['error'] = arg['code']

    def serve_kueue(self, _):        # its API is installed
        state['kueue'] = True

    def unserved(self, arg):
        (state['unserved'].add if arg['on'] else state['unserved'].discard)(arg['plural'])
        state['generation'] += 1
        lock.notify_all()

    def stall(self, arg):            # lists of that plural wait until that is over
        (state['stalled'].add if arg['on'] else state['stalled'].discard)(arg['plural'])
        lock.notify_all()

    def deny(self, arg):             # nobody may read that plural
        (state['denied'].add if arg['on'] else state['denied'].discard)(arg['plural'])
        state['generation'] += 1
        lock.notify_all()

    def delay(self, arg):            # answer calls that late
        state['delay'] = arg['seconds']

    def bookmark(self, _):           # to the watch, at a version of its own
        state['version'] += 1
        state['bookmark'] += 1
        lock.notify_all()
        lock.wait_for(lambda: state['marked'] == state['bookmark'])

    def race(self, arg):             # somebody else writes to it just before each PATCH, `patch` once, or makes it anew
        state['race'] = arg['plural']
        state['uid'] = arg.get('uid')
        state['patch'] = arg.get('patch')

    def immutable(self, arg):        # what JobSet's webhook refuses to change, in that namespace
        state['immutable'] = arg['namespace']

    def clock(self, arg):            # the Date of answers is so many seconds off
        state['clock'] = arg['seconds']

    def prune(self, arg):            # a CRD that drops these of a status, and takes none without more
        state['prune'] = arg['member']

    def seen(self, _):
        return dict(seen)

    def objects(self, arg):          # of a plural, in order of their paths
        return {'items': [o for p, o in sorted(objects.items())
                          if p.split('/')[-2] == arg['plural']]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + state['clock'])

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_):
        pass

    def answer(self, code, body):
        self.send(code, 'application/json', json.dumps(body).encode())

    def text(self, body):
        self.send(200, 'text/plain', body.encode())

    def send(self, code, kind, data):
        self.send_response(code)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def status(self, code, reason, message='because'):
        self.answer(code, {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure',
                           'code': code, 'reason': reason, 'message': message})

    def handle_call(self):
        url = urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        data = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        body = json.loads(data) if data else None
        if url.path == '/ctl':
            with lock:
                self.answer(200, getattr(Ctl(), body['op'])(body) or {})
            return
        parts = url.path.strip('/').split('/')
        at = 2 if parts[0] == 'api' else 3
        if len(parts) <= at:         # which groups and kinds there are
            if 'kueue.x-k8s.io' in parts and state.get('kueue'):
                version = 'kueue.x-k8s.io/v1beta2'
                workloads = {'name': 'workloads', 'kind': 'Workload', 'namespaced': True}
                return self.answer(200, {'preferredVersion': {'groupVersion': version},
                                         'resources': [workloads]})
            if parts == ['apis', 'resource.k8s.io', 'v1']:
                return self.answer(200, {'resources': [
                    {'name': 'resourceslices', 'kind': 'ResourceSlice', 'namespaced': False},
                    {'name': 'resourceclaims', 'kind': 'ResourceClaim', 'namespaced': True}]})
            return self.status(404, 'NotFound')
        if parts[at] == 'namespaces' and len(parts) > at + 2:
            at += 2
        plural, names = parts[at], parts[at + 1:]
        watch = query.get('watch') in ('1', 'true')
        with lock:
            what = ('watch' if watch else self.command) + ' ' + plural + ('/log' if names[1:] == ['log'] else '')
            call = what + ('/status' if names[1:] == ['status'] else '')
            seen[what] = seen.get(what, 0) + 1
            fails = not watch and call.startswith(state['of'])
            fail = state['fail'].pop() if state['fail'] and fails else None
            late = 0 if watch else state['delay']
        time.sleep(late)
        if fail == 0:
            self.close_connection = True
            return
        if fail:
            self.status(fail, 'Whatever', state['why'])
            return
        if plural in state['unserved']:
            self.answer(404, {'kind': 'Status', 'code': 404, 'message':
                              'the server could not find the requested resource'})
            return
        if plural in state['denied'] and self.command == 'GET':
            return self.status(403, 'Forbidden', f'{plural} is forbidden: User "u" cannot list')
        if watch:
            self.watch(plural, int(query['resourceVersion']))
        elif names[1:] == ['log']:   # what an annotation of the pod says
            with lock:
                self.text(objects[url.path.removesuffix('/log')]['metadata']['annotations']['log'])
        elif not names and self.command == 'GET':
            self.list(plural, query)
        else:
            with lock:
                lost = state['lose'] if state['lose'] and call == state['lose']['of'] else None
                if lost:
                    state.update(hold=plural, generation=state['generation'] + 1)
                    record('MODIFIED', lost['path'], merge(objects[lost['path']], lost['patch']))
                    self.answer = lambda *_: None
                self.one(url.path, plural, body, 'dryRun' in query)
                if lost:
                    del self.answer
                    self.status(504, 'Timeout')

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_call

    def list(self, plural, query):
        with lock:
            lock.wait_for(lambda: plural not in state['stalled'])
            if query.get('continue') and state['expire'] and state['good']:
                state['good'] -= 1
            elif query.get('continue') and state['expire']:
                Ctl().forget({'path': state['expire']})
                state['expire'] = None
                return self.status(410, 'Expired')
            paths = sorted(p for p in objects if p.split('/')[-2] == plural)
            start = int(query.get('continue') or 0)
            end = start + int(query.get('limit') or 10**9)
            meta = {'resourceVersion': str(state['version'])}
            if end < len(paths):
                meta['continue'] = str(end)
            self.answer(200, {'kind': 'List', 'apiVersion': 'v1', 'metadata': meta,
                              'items': [objects[p] for p in paths[start:end]]})

    def refused(self, was, body):    # a precondition that does not hold
        want = (body or {}).get('preconditions') or (body or {}).get('metadata') or {}
        if not was:                  # an apply with a version creates, one with a uid not
            return self.command == 'PATCH' and 'uid' in want
        have = was['metadata']
        return any(want.get(k, have[k]) != have[k] for k in ('uid', 'resourceVersion'))

    def one(self, path, plural, body, dry):
        if self.command == 'POST':
            path += '/' + body['metadata']['name']
        path = path.removesuffix('/status')
        was = objects.get(path)
        if was and self.command == 'PATCH' and plural == 'jobsets' and was['metadata']['namespace'] == state['immutable']:
            jobs = merge(copy.deepcopy(was), body)['spec']['replicatedJobs']
            if jobs != was['spec']['replicatedJobs']:
                return self.status(422, 'Invalid', 'admission webhook "vjobset.kb.io" denied the request: '
                                   'spec.replicatedJobs: Invalid value: field is immutable')
        if dry and was and self.command == 'PATCH':
            return self.answer(200, merge(copy.deepcopy(was), body))
        if dry and not (was and self.command == 'POST'):
            return self.answer(200, body)
        if was and self.command == 'PATCH' and plural == state['race']:
            if state['uid'] and 'DeadlineExceeded' in json.dumps(body):
                spec = {k: v for k, v in was['spec'].items() if k != 'activeDeadlineSeconds'}
                was = {'metadata': {**was['metadata'], 'uid': state['uid']}, 'spec': spec}
                objects[path] = was
            if state['patch']:
                was = objects[path] = merge(copy.deepcopy(was), state['patch'])
                state['patch'] = None
            record('MODIFIED', path, was)
        if isinstance(body, list):   # a JSON Patch of what a manager sends: tests, then the status or members of it
            have = {'/metadata/uid': was['metadata']['uid'], '/status': was.get('status')}
            if any(s['op'] == 'test' and s['value'] != have[s['path']] for s in body):
                return self.status(422, 'Invalid', 'the server rejected our request due to an error in our request')
            if any(s['op'] == 'add' and s['path'] == '/status' for s in body):
                was = {k: v for k, v in was.items() if k != 'status'}
            body = {'status': {k: v for s in body if s['op'] != 'test' for k, v in
                               (s['value'] if s['path'] == '/status' else {s['path'][8:]: s.get('value')}).items()}}
        if self.command in ('PATCH', 'DELETE') and self.refused(was, body):
            return self.status(409, 'Conflict')
        if self.headers.get('Content-Type') == 'application/apply-patch+yaml' and not was:
            body['metadata'].update(uid='uid-%d' % state['version'], generation=1)
            objects[path] = body
            record('ADDED', path, body)
            return self.answer(201, body)
        if self.command == 'POST':
            if was:
                gone = 'object is being deleted: ' if 'deletionTimestamp' in was['metadata'] else ''
                return self.status(409, 'AlreadyExists', gone + 'it already exists')
            body['metadata'].setdefault('uid', 'uid-%d' % state['version'])
            objects[path] = body
            record('ADDED', path, body)
        elif not was:
            return self.status(404, 'NotFound')
        elif self.command == 'DELETE':
            body = objects.pop(path)
            record('DELETED', path, body)
        elif self.command == 'PUT':
            version = body['metadata'].get('resourceVersion')
            if version and version != was['metadata']['resourceVersion']:
                return self.status(409, 'Conflict')
            objects[path] = body
            record('MODIFIED', path, body)
        elif self.command == 'PATCH':
            spec = copy.deepcopy(was.get('spec'))
            body = merge(copy.deepcopy(was), body)
            for member in state['prune'].split(','):
                body.get('status', {}).pop(member, None)
            if state['prune'] and body.get('status') == {}:
                return self.status(422, 'Invalid', 'status: Invalid value: 0: status in body should have at least 1 properties')
            objects[path] = body
            if body.get('spec') != spec:
                body['metadata']['generation'] = body['metadata'].get('generation', 0) + 1
            record('MODIFIED', path, body)
        else:
            body = was
        return self.answer(200, body)

    def chunk(self, type_, obj):
        data = json.dumps({'type': type_, 'object': obj}).encode() + b'\n'
        for piece in (data[:20], data[20:]):
            self.wfile.write(b'%x\r\n%s\r\n' % (len(piece), piece))
            self.wfile.flush()

    def watch(self, plural, version):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        with lock:
            lock.wait_for(lambda: state['hold'] not in (True, plural))
            generation, marks = state['generation'], state['marked']
            error, state['error'] = state['error'], 0
            if error:
                self.chunk('ERROR', {'kind': 'Status', 'code': error, 'message': 'because'})
            elif version < state['floor']:
                self.chunk('ERROR', {'kind': 'Status', 'code': 410, 'reason': 'Expired',
                                     'message': 'too old resource version'})
            else:
                self.follow(plural, version, generation, marks)
        self.wfile.write(b'0\r\n\r\n')

    def follow(self, plural, version, generation, marks):
        while state['generation'] == generation:
            for v, type_, path, obj in list(history):
                if v > version:
                    version = v
                    if path.split('/')[-2] == plural:
                        self.chunk(type_, obj)
            if state['bookmark'] > marks:
                marks, version = state['bookmark'], state['version']
                self.chunk('BOOKMARK', {'kind': 'x', 'metadata':
                                        {'resourceVersion': str(version)}})
                state['marked'] = marks
                lock.notify_all()
            lock.wait()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):      # a client that went away
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(*_)


server = Server(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
