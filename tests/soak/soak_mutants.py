#!/usr/bin/python3
"""Do the tests notice what is wrong? Small changes, one at a time, to a copy of the sources of core/trainer,
plugins, core/kube and core/api: a condition is negated, a bound is off by one, a call is dropped. 90 of 100
must make unit or golden tests fail. Those that no test noticed are shown: each is a test that is missing,
or a change that makes no difference.

    MUTANTS=200 SEED=... tests/soak/soak_mutants.py [FILE.c]...
"""
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ("core/trainer", "plugins", "core/kube", "core/api")
WANTED = 0.9

# What is looked for in a line without its strings, and what stands there afterwards.
CHANGES = [
    ("a condition is negated", re.compile(r"\b(if|while) \((.*)\)( \{)?$"), r"\1 (!(\2))\3"),
    ("== is !=", re.compile(r" == "), " != "),
    ("!= is ==", re.compile(r" != "), " == "),
    ("&& is ||", re.compile(r" && "), " || "),
    ("|| is &&", re.compile(r" \|\| "), " && "),
    ("< is <=", re.compile(r" < "), " <= "),
    ("<= is <", re.compile(r" <= "), " < "),
    ("> is >=", re.compile(r" > "), " >= "),
    (">= is >", re.compile(r" >= "), " > "),
    ("one more", re.compile(r" \+ 1\b"), " + 2"),
    ("one less", re.compile(r" - 1\b"), " - 2"),
    ("true is false", re.compile(r"\btrue\b"), "false"),
    ("false is true", re.compile(r"\bfalse\b"), "true"),
    ("an error is none", re.compile(r"\breturn -1;"), "return 0;"),
    ("a call is dropped", re.compile(r"^(\t+)[a-z]\w*\(.*\);$"), r"\1;"),
]


def code_of(line):
    """The line with its strings and characters blotted out, and nothing of a comment."""
    if re.match(r"\s*(/\*|\*|//|#)", line):
        return ""
    line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', lambda m: m[0][0] + "\1" * (len(m[0]) - 2) + m[0][0], line)
    return re.sub(r"/\*.*", lambda m: "\1" * len(m[0]), line)


def mutants_of(path):
    """(path, line number, what, new line) for each change that the file has room for."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines):
        code = code_of(line)
        if not code.startswith("\t"):  # no function's inside
            continue
        for what, pattern, to in CHANGES:
            for match in pattern.finditer(code):
                begin, end = match.span()
                new = pattern.sub(to, line[begin:end]) if "\\" in to else to
                yield path, number, what, line[:begin] + new + line[end:]


# A mutant may never end, or ask for all memory there is: that is noticed, too.
CPU_SECONDS, WALL_SECONDS, MEMORY_MIB = 120, 300, 2000


def make(folder, *targets):
    script = f'ulimit -t {CPU_SECONDS}; exec make --no-print-directory -j2 "$@"'
    environ = dict(os.environ, LIMIT=str(WALL_SECONDS),
                   ASAN_OPTIONS=f"detect_leaks=1:abort_on_error=0:hard_rss_limit_mb={MEMORY_MIB}")
    done = subprocess.run(["bash", "-c", script, "make", *targets], cwd=folder, env=environ, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def room_of(path):
    return os.path.dirname(path).removeprefix("core/")


def noticed(folder, path):
    """Which tests fail, or None; ValueError if it is no program."""
    room = room_of(path)
    code, output = make(folder, f"build/san/lib{room}.a")
    if code:
        raise ValueError(output)
    for targets in (("unit", f"ROOM={room}"), ("golden",), ("unit",)):
        if make(folder, *targets)[0]:
            return " ".join(targets)
    return None


def copy_of_tree(folder):
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout.split("\0"):
        if name:
            os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(folder, name), follow_symlinks=False)
    if os.path.isdir(os.path.join(ROOT, "build/san")):
        shutil.copytree(os.path.join(ROOT, "build/san"), os.path.join(folder, "build/san"), symlinks=True,
                        copy_function=shutil.copy2)


def try_one(folder, mutant):
    path, number, what, new = mutant
    full = os.path.join(folder, path)
    with open(full, encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    old, lines[number] = lines[number], new
    with open(full, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    try:
        by = noticed(folder, path)
    finally:
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"# {path}:{number + 1}: {what}: " + (f"noticed by make {by}" if by else "NOT NOTICED"), flush=True)
    if not by:
        print(f"#   - {old.strip()}\n#   + {new.strip()}", flush=True)
    return bool(by)


def main():
    count, seed = int(os.environ.get("MUTANTS") or 200), int(os.environ.get("SEED") or time.time())
    print(f"# seed {seed}")
    os.chdir(ROOT)
    files = sys.argv[1:] or sorted(path for room in ROOMS for path in glob.glob(f"{room}/*.c"))
    mutants = [mutant for path in files for mutant in mutants_of(path)]
    random.Random(seed).shuffle(mutants)
    tried = found = 0
    with tempfile.TemporaryDirectory() as folder:
        copy_of_tree(folder)
        code, output = make(folder, "unit", "golden")
        if code:
            print("1..1\nnot ok 1 - the tests pass without a change\n# " + output[-2000:].replace("\n", "\n# "))
            return 1
        for mutant in mutants:
            if tried == count:
                break
            try:
                found += try_one(folder, mutant)
                tried += 1
            except ValueError:
                continue  # the compiler noticed
    good = tried and found >= WANTED * tried
    print(f"{'ok' if good else 'not ok'} 1 - {found} of {tried} changes were noticed, of {len(mutants)} that there are\n1..1")
    return 0 if good else 1


sys.exit(main())
