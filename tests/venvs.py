"""The Python of a virtual environment of tests/setup.sh."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def use(name):
    """Returns in that environment's Python; in another, runs this program again by it."""
    if "KFT_VENV" in os.environ:
        return
    venv = subprocess.run([ROOT / "tests/setup.sh", "venv", name], check=True, capture_output=True, text=True).stdout
    python = venv.strip() + "/bin/python"
    os.execve(python, [python, *sys.argv], {**os.environ, "KFT_VENV": "1"})
