"""A simulated world (docs/simulation.md) with a changed file, as released."""
import os
import pathlib
import re
import shlex
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def command(program, file, pattern):
    """The command of the Makefile that compiles the file, or links the world."""
    said = subprocess.run(["make", "-n", "V=1", "-W", file, program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return next(shlex.split(line) for line in said.splitlines() if re.search(pattern, line))


def changed(words, after):
    return [after.get(word, word) for word in words if word not in ("-MMD", "-MP", "-Werror")]


def build(directory, program, file, text):
    """The world with this text in place of the file's."""
    source, made = directory / "changed.c", directory / "changed.o"
    source.write_text(text)
    compile_, link = command(program, file, rf" -c .*{re.escape(file)}$"), command(program, file, rf" -o {program} ")
    subprocess.run(changed(compile_, {file: str(source), f"build/rel/{file}.o": str(made)}) + ["-w"], cwd=ROOT, check=True)
    link = [word for pattern in changed(link, {f"build/rel/{file}.o": str(made), program: str(directory / "world")})
            for word in ([str(p) for p in sorted(pathlib.Path("/").glob(pattern[1:]))] if "*" in pattern else [pattern])]
    subprocess.run(link, cwd=ROOT, check=True)
    return directory / "world"


def first_failure(program, schedules):
    """The first seed that fails, of those known and then of 1 on, and why; None if none does. It is not made shorter.
    A schedule that never ends, as with a lock that is not freed, has no seed."""
    limit = 120 + int(schedules)
    with subprocess.Popen(["timeout", "-s", "KILL", str(limit), program, "--schedules", str(schedules)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as ran:
        lines = (re.match(r"# seed (\d+): (.*)", line) for line in ran.stdout)
        found = next((line for line in lines if line), None)
        if not found and ran.wait() in (-signal.SIGKILL, 128 + signal.SIGKILL):
            return "?", f"did not end within {limit} s"
        try:
            os.killpg(ran.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return (found[1], found[2]) if found else None
