"""The Python of a virtual environment of tests/setup.sh."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def folder(name):
    done = subprocess.run([ROOT / "tests/setup.sh", "venv", name], check=True, capture_output=True, text=True)
    return pathlib.Path(done.stdout.strip())


def use(name, also=None):
    """Returns in that environment's Python; in another, runs this program again by it.

    With `also` a second time, with that environment's packages before its own.
    """
    if "KFT_VENV" in os.environ:
        return
    python = folder(name) / "bin/python"
    runs = [{"KFT_VENV": name}]
    if also:
        packages, = folder(also).glob("lib/python*/site-packages")
        runs.append({"KFT_VENV": also, "TAP_PREFIX": f"{also}: ", "PYTHONPATH": str(packages)})
    codes = [subprocess.run([python, *sys.argv], env={**os.environ, **env}).returncode for env in runs[:-1]]
    if any(codes):
        sys.exit(1)
    os.execve(python, [python, *sys.argv], {**os.environ, **runs[-1]})
