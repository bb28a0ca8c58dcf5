#!/usr/bin/env python3
"""export-model to hf://: against hub_put.py, which huggingface_hub, upstream's client, has to be able to upload to first."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
from hub_put import TOKEN, Hub
from tap import check, finish, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-hfput-"))


def run(uri, env=None, argv=(), what="m"):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "AWS_"))} | {
        "HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HOME": str(scratch), "NO_PROXY": "*", "no_proxy": "*"}
    base = {k: v for k, v in (base | (env or {})).items() if v is not None}
    r = subprocess.run([PROGRAM, "export-model", scratch / what, "--uri", uri, *argv], env=base, capture_output=True,
                       text=True, timeout=600)
    return r.returncode, (r.stdout + r.stderr).replace(TOKEN, "THE TOKEN WAS SHOWN")


def problem(want, prefix=""):
    got = hub.files
    want = {prefix + k: v for k, v in want.items()}
    return hub.wrong or ("" if got == want else f"{sorted(got)}, wanted {sorted(want)}")


hub = Hub()
files = {"config.json": b'{"a": 1}\n', "model.safetensors": os.urandom(13_000_001), "sub/small.safetensors": b"weights",
         "sub/\u00e4 b+c.txt": b"x\n", "empty.txt": b"", "tokens.bin": os.urandom(6_000_000)}
for name, data in files.items():
    (scratch / "m" / name).parent.mkdir(parents=True, exist_ok=True)
    (scratch / "m" / name).write_bytes(data)

venv = subprocess.run([ROOT / "tests/setup.sh", "venv", "store"], capture_output=True, text=True).stdout.strip()
if os.path.exists(venv + "/.done"):
    r = subprocess.run([venv + "/bin/python", "-c", "import sys, huggingface_hub as h; h.HfApi(endpoint=sys.argv[1], "
                        f"token='{TOKEN}').upload_folder(repo_id='org/m', folder_path=sys.argv[2])", hub.url,
                        str(scratch / "m")], capture_output=True, text=True, timeout=600,
                       env=os.environ | {"HF_HUB_DISABLE_XET": "1", "HOME": str(scratch), "NO_PROXY": "*", "no_proxy": "*"})
    check("the stand-in satisfies huggingface_hub", problem(files) if r.returncode == 0 else r.stderr[-600:])
else:
    skip("the stand-in satisfies huggingface_hub", "tests/setup.sh store has not run")

hub.clear()
status, said = run("hf://org/m")
check("a folder: small files in the commit, others by LFS, basic and in parts", problem(files) if status == 0 else said)
check("one commit, at main", "" if hub.commits == [("/api/models/org/m/commit/main", 6)] else hub.commits)
check("bytes go in as many requests as there are parts", "" if hub.puts == 5 else hub.puts)
status, said = run("hf://org/m")
check("unchanged files are not sent again, nor committed",
      "" if status == 0 and "; 0 B sent" in said and len(hub.commits) == 1 and hub.puts == 5 else (said, hub.commits))
(scratch / "m/config.json").write_bytes(b"{}")
files["config.json"] = b"{}"
status, said = run("hf://org/m")
check("what has changed is", problem(files) if status == 0 and hub.commits[-1][1] == 1 else (said, hub.commits))
objects = dict(hub.objects)
hub.clear()
hub.objects = objects
status, said = run("hf://datasets/org/d@dev%2Fx/deep")
check("a data set, a revision, a folder; objects that the hub has are not sent",
      said if status else problem(files, "deep/") or
      ("" if hub.commits == [("/api/datasets/org/d/commit/dev/x", 6)] and hub.puts == 0 else (hub.commits, hub.puts)))
hub.clear()
hub.objects = objects
status, said = run("hf://org/m@a#b/c#/d?%20")
check("a folder and a revision with # in them", said if status else problem(files, "c#/d?%20/") or
      ("" if hub.commits == [("/api/models/org/m/commit/a#b", 6)] else hub.commits))
hub.clear()
status, said = run("hf://org/m/d/c.json", what="m/config.json")
check("one file, to just that path", said if status else "" if hub.files == {"d/c.json": b"{}"} else hub.files)
status, said = run("hf://org/m", what="m/config.json")
check("... which needs a name", "" if status == 1 and "expected hf://ORG/NAME/PATH" in said else (status, said))
hub.clear()
status, said = run("hf://org/m", argv=["--allow", "*.json"])
check("patterns", said if status else problem({"config.json": b"{}"}))
hub.clear()
hub.busy = 1
status, said = run("hf://org/m", argv=["--retries", "1"])
check("a hub that is busy once is retried", said if status else problem(files))
hub.clear()
hub.busy = 100
status, said = run("hf://org/m", argv=["--retries", "1"])
check("one that stays so: as often as --retries says", "" if status == 1 and "tried 2 times" in said and hub.busy == 98
      else (hub.busy, said))
hub.clear()

# ---- commits: what is asked once, and what is not ----
for what, how in (("504", 504), ("a connection that breaks", 1)):
    hub.clear()
    hub.lose = how
    status, said = run("hf://org/m")
    check(f"a commit whose answer gets lost ({what}) is not made twice",
          said if status else problem(files) or ("" if len(hub.commits) == 1 else hub.commits))
hub.clear()
hub.commit_busy = 1
status, said = run("hf://org/m")
check("a commit that was not made is retried", said if status else problem(files) or ("" if len(hub.commits) == 1 else hub.commits))
check("a commit says what it is on", "" if hub.parents == ["0" * 40] else hub.parents)
hub.clear()
hub.rival = 2
status, said = run("hf://org/m")
check("another commit in between: ours is made on top of it", said if status else
      problem(files | {"rival": b"0"}) or ("" if len(hub.commits) == 1 and len(set(hub.parents)) == 3 else (hub.commits, hub.parents)))
hub.clear()
hub.lose, hub.rival = 504, 0
objects_then = hub.move


def lost_and_moved():
    objects_then()
    if hub.lose == 504:
        hub.files["rival"] = b"x"
        objects_then()


hub.move = lost_and_moved
status, said = run("hf://org/m")
hub.move = objects_then
check("a lost response, and another commit on top of ours: ours is not made twice",
      said if status else problem(files | {"rival": b"x"}) or ("" if len(hub.commits) == 1 else hub.commits))

# ---- a folder that somebody else writes to, too ----
hub.clear()
outside = scratch / "outside"
shutil.copytree(scratch / "m/sub", outside)
(outside / "small.safetensors").write_bytes(b"SECRETS")
hub.swap = (scratch / "m/sub", outside)
status, said = run("hf://org/m")
check("a folder that becomes a link while it is sent leads nowhere",
      "" if status == 1 and b"SECRETS" not in hub.objects.values() and not hub.commits else (status, said, hub.commits))
os.unlink(scratch / "m/sub")
shutil.move(str(scratch / "m/sub") + ".was", scratch / "m/sub")

# ---- files that change, hubs that count oddly ----
big = scratch / "m/z.bin"
for what, chunk in (("whole", 0), ("in parts", 40_000_000)):
    hub.clear()
    big.write_bytes(os.urandom(64_000_000))
    hub.chunk, hub.shrink = chunk, big
    status, said = run("hf://org/m", argv=["--allow", "z.bin", "--retries", "1"])
    check(f"a file that is truncated while it is uploaded {what} is an error, no SIGBUS",
          "" if status == 1 and "z.bin changed during the upload" in said and not hub.commits else (status, said))
big.write_bytes(os.urandom(7_000_000))
for chunk, good in ((2**63 - 1, True), (2**63 - 7_000_000, True), (1, False), (2**63, False), (0, True)):
    hub.clear()
    hub.chunk = chunk
    status, said = run("hf://org/m", argv=["--allow", "z.bin"])
    check(f"a chunk size of {chunk}", (said if status else problem({"z.bin": big.read_bytes()})) if good else
          ("" if status == 1 and "chunk_size" in said else (status, said)))
big.unlink()
hub.clear()
for what, env, words in (("no token", {"HF_TOKEN": None}, "HF_TOKEN"), ("a wrong one", {"HF_TOKEN": "hf_x"}, "HF_TOKEN"),
                         ("no hub", {"HF_ENDPOINT": "nowhere"}, "HF_ENDPOINT")):
    status, said = run("hf://org/m", env)
    check("refused: " + what, "" if status and words in said and len(said.splitlines()) <= 2 else said)
shutil.rmtree(scratch, ignore_errors=True)
finish()
