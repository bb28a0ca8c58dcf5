#!/usr/bin/env python3
"""runtime supervise --export-to: the model of rank 0 is uploaded once all ranks have succeeded; ranks that fail, pods that
are lost or stopped meanwhile, exports that fail."""
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
from servers import PROGRAM, answers, clean_environ, free_port, scratch, start, versitygw
from supervised import Supervised, differ
from tap import check, finish, skip

gateway = versitygw()
if not gateway:
    skip("exports", "versitygw is not installed: tests/setup.sh store")
    finish()
clean_environ("AWS_")
os.environ.update(HOME=str(scratch), ROOT_ACCESS_KEY="kft", ROOT_SECRET_KEY="secretsecret")
(scratch / "s3/bucket").mkdir(parents=True)
KEY = scratch / "key"
subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", KEY], check=True, capture_output=True)
s3 = free_port()
server = start(s3, gateway, "--port", f"127.0.0.1:{s3}", "--quiet", "posix", str(scratch / "s3"))
silent = socket.create_server(("127.0.0.1", 0), backlog=64)  # accepts connections, and never answers
answers(*server)
TRAIN = """echo "rank $JOB_COMPLETION_INDEX trains, start $KFTRAINER_RESTART"
printf 'weights %s' "$JOB_COMPLETION_INDEX" > "$KFTRAINER_MODEL_DIR/model.bin"
"""


class Rank(Supervised):
    """A supervisor, one of two."""

    def __init__(self, rank, port, name, script=TRAIN, to="bucket", endpoint=s3, options=(), model=None):
        self.model = model or scratch / f"model-{name}-{rank}"
        super().__init__(
            [PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--ranks", "2", "--rank", str(rank), "--hub", "127.0.0.1",
             "--port", str(port), "--key", str(KEY), "--export-to", f"s3://{to}/{name}", "--export-uid", name, *options,
             "--", "sh", "-c", script],
            {"ENDPOINT": f"http://127.0.0.1:{endpoint}", "ACCESS_KEY_ID": "kft", "SECRET_ACCESS_KEY": "secretsecret",
             "KFTRAINER_MODEL_DIR": str(self.model), "JOB_COMPLETION_INDEX": str(rank)})


def both(name, **more):
    port = free_port()
    return [Rank(rank, port, name, **more) for rank in (0, 1)], port


def ends(ranks, *wanted):
    got = tuple(r.wait() for r in ranks)
    return "" if got == wanted else f"{got}, wanted {wanted}:\n" + "\n".join(r.text for r in ranks)


def starts(rank):
    return len(re.findall("^rank . trains", rank.text, re.M))


def stored(name):
    return {str(p.relative_to(scratch / "s3/bucket" / name)): p.read_text() for p in (scratch / "s3/bucket" / name).rglob("*") if p.is_file()}


def exporting(rank):
    """Until its export waits for the server that never answers."""
    while subprocess.run(["pgrep", "-P", str(rank.process.pid), "-f", "export-model"], capture_output=True).returncode:
        if rank.process.poll() is not None:
            return rank.text
        time.sleep(0.02)
    return ""


ranks, _ = both("good")
check("two ranks succeed", ends(ranks, 0, 0))
check("... the model of rank 0 is there, and nothing else", differ(stored("good"), {"model.bin": "weights 0"}))

ranks, _ = both("absent", to="absent", options=["--restarts", "3"])
check("a bucket that does not exist: rank 0 fails, nothing starts again", ends(ranks, 1, 0) or differ([starts(r) for r in ranks], [1, 1]))
check("... one line says why", differ(ranks[0].text.splitlines()[1:], ["kftrainer export-model: s3://absent/: no such bucket; check its name and ENDPOINT"]))
ranks, _ = both("absent")
check("... pods after it do not train again where the model is kept: they export", ends(ranks, 0, 0) or
      differ([starts(r) for r in ranks], [0, 0]) or differ(stored("absent"), {"model.bin": "weights 0"}))

ranks, _ = both("empty", script="true")
check("a script that leaves nothing: the job fails", ends(ranks, 1, 0) or ("" if "no file" in ranks[0].text else ranks[0].text))

script = TRAIN + '[ "$JOB_COMPLETION_INDEX" = 0 ] || { sleep 1; exit 3; }'
ranks, _ = both("fails", script=script)
check("another rank fails after rank 0 has succeeded: no export", ends(ranks, 0, 3) or differ(stored("fails"), {}))
script = TRAIN + '[ "$JOB_COMPLETION_INDEX" = 0 ] || [ "$KFTRAINER_RESTART" = 1 ] || exit 3'
ranks, _ = both("second", script=script, options=["--restarts", "1"])
check("... with a restart: the second attempt is exported", ends(ranks, 0, 0) or differ(starts(ranks[0]), 2) or
      differ(stored("second"), {"model.bin": "weights 0"}))

ranks, _ = both("stopped", endpoint=silent.getsockname()[1])
check("a pod that is stopped while it exports", exporting(ranks[0]))
check("... the other rank waits", differ(ranks[1].process.poll(), None))
ranks[0].process.terminate()
check("... ends as one that is to be replaced", differ(ranks[0].wait(), 143))
ranks[0] = Rank(0, int(ranks[0].process.args[ranks[0].process.args.index("--port") + 1]), "stopped", model=scratch / "model-new-pod")
check("... the next pod, without the model: all train again, and it exports", ends(ranks, 0, 0) or
      differ([starts(r) for r in ranks], [1, 2]) or differ(stored("stopped"), {"model.bin": "weights 0"}))

ranks, port = both("lost", endpoint=silent.getsockname()[1])
check("a pod that is lost while it exports", exporting(ranks[0]))
ranks[0].kill()
ranks[0] = Rank(0, port, "lost")
check("... the next pod, with the model on a volume: only the export is repeated", ends(ranks, 0, 0) or
      differ([starts(r) for r in ranks], [0, 1]) or differ(stored("lost"), {"model.bin": "weights 0"}))

ranks, port = both("other", endpoint=silent.getsockname()[1])
check("another rank is lost during the export", exporting(ranks[0]))
ranks[1].kill()
ranks[1] = Rank(1, port, "other")
check("... nobody trains again", exporting(ranks[0]) or differ([starts(r) for r in ranks], [1, 0]))
for r in ranks:
    r.kill()

for what, options, like in (
        ("a model's name with a line break", ["--export-arg=--register=mlflow+http://h", "--export-arg=--model=a\nb"], "has a control character"),
        ("no registry", ["--export-arg=--register=http://h"], "not a model registry"),
        ("a property without a value", ["--export-arg=--register=mlflow+http://h", "--export-arg=--property=x"], "expected NAME=VALUE")):
    ranks, _ = both("never", options=options)
    check(f"{what}: refused before it trains", ends(ranks, 2, 2) or ("" if like in ranks[0].text and not starts(ranks[0]) else ranks[0].text))
finish()
