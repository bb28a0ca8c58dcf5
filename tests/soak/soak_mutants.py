#!/usr/bin/python3
"""Do the tests notice what is wrong? Small changes, one at a time, to the sources of core/trainer, plugins,
core/kube, core/api, core/manager, core/apiserver, core/jobs and core/cache (who has which rows): a condition is
negated, a bound is off by one, a call is dropped. 90 of 100 must make unit or golden tests fail, or schedules of a
simulated world. Those that none noticed are shown: each is a test that is missing, or a change that makes no difference.

The rooms become one shared library, with ASan and UBSan, that all test programs use. The changed file alone
is compiled for a mutant, to a library that is loaded before it, and so replaces its functions and tables.
A change is shown to the programs that reach its line; which do is what the first run, without a change, counts.

    MUTANTS=200 SEED=... LANES=2 SCHEDULES=300 tests/soak/soak_mutants.py [FILE.c | FILE.c:LINE]...
"""
import collections
import concurrent.futures
import glob
import itertools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import worlds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ("core/trainer", "plugins", "core/kube", "core/api", "core/manager", "core/apiserver", "core/jobs", "core/cache")
# Of core/cache: what reads Parquet is compared with pyarrow instead (tests/cache).
OF_CACHE = [f"core/cache/{name}.c" for name in ("claim", "fleet", "fleet_poll", "holdings", "loans")]
SOURCES = [f"{room}/*.c" for room in ROOMS if room != "core/cache"] + OF_CACHE
# The worlds that a change of the room is shown to.
WORLDS = {"manager": ["jobs"], "jobs": ["jobs"], "apiserver": ["journal", "jobs"], "cache": ["cache"]}
SCHEDULES = int(os.environ.get("SCHEDULES") or 300)
WANTED = 0.9
BUILD = "build/mutants"
# ASan's own mapping counts as memory, so RSS is limited by ASan; a mutant may ask for all memory.
MEMORY_MIB = 2000

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
# Changes that no run can be counted on to notice: what is logged, a lock, memory that is a byte larger, what has no
# memory to free.
NO_DIFFERENCE = re.compile(r"^\t+(log_|pthread_mutex_|pthread_cond_destroy|va_end)\w*\("
                           r"|(alloc|calloc|realloc|reallocarray)\(.* \+ 1\b")
# Of two that are equal, either is the smaller and the larger: "a < b ? a : b", "if (a > b)", "b = a;".
SMALLER = re.compile(r"([\w.>-]+)( <=? | >=? )([\w.>-]+)(?: \? (?:\1 : \3|\3 : \1)\b|\)\n\t+\3 = \1;)")
# Nor is what only decides whether a line is logged.
DECIDES_LOG = re.compile(r"^\t+(?:else )?if \(.*\)\n\t+log_\w+\(")


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
        both = code + "\n" + (lines[number + 1] if number + 1 < len(lines) else "")
        if not code.startswith("\t") or NO_DIFFERENCE.search(code) or DECIDES_LOG.match(both):  # no function's inside
            continue
        equal = [match.span(2) for match in SMALLER.finditer(both)]
        for what, pattern, to in CHANGES:
            for match in pattern.finditer(code):
                begin, end = match.span()
                if (begin, end) in equal:
                    continue
                new = pattern.sub(to, line[begin:end]) if "\\" in to else to
                yield path, number, what, line[:begin] + new + line[end:]


def called(command, **more):
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)
    return done.returncode, done.stdout


def must(command):
    code, output = called(command)
    if code:
        sys.exit(f"1..1\nnot ok 1 - {command.split()[0]} runs\n# " + output[-3000:].replace("\n", "\n# "))
    return output


COUNTED = "-fprofile-instr-generate -fcoverage-mapping"
# What never comes true is not waited for as long as on a busy machine: the tests pass without a change.
PATIENCE_S = 15
MAKE = f"make --no-print-directory -j{os.cpu_count()} SANOUT={BUILD} SANMORE='-fPIC -g0 -DPATIENCE_S={PATIENCE_S} {COUNTED}'"


def of_makefile(*variables):
    """What variables of the Makefile are; for a shell, as quotes are in them."""
    rule = f"variables: ; @: $(foreach v,{' '.join(variables)},$(info =$(v)=$($(v))))"
    lines = must(f"{MAKE} --eval='{rule}' variables").splitlines()
    return dict(re.match(r"=(\w+)=(.*)", line).groups() for line in lines if re.match(r"=\w+=", line))


def room_of(path):
    return os.path.dirname(path).removeprefix("core/")


class Program:
    """A test program, the time it takes, and the processes that it starts."""

    def __init__(self, path, room):
        self.path, self.room, self.seconds, self.reached = path, room, 10.0, {}

    def failure(self, mutant, counts="/dev/null"):
        """Why it fails with the library of that folder, or None. Its processes write what they counted to counts."""
        limit = 2 * PATIENCE_S + 10 * self.seconds
        environ = dict(os.environ, LD_LIBRARY_PATH=f"{mutant}:{ROOT}/{BUILD}", LLVM_PROFILE_FILE=counts,
                       ASAN_OPTIONS=f"detect_leaks=1:detect_odr_violation=0:hard_rss_limit_mb={MEMORY_MIB}")
        begin = time.monotonic()
        with subprocess.Popen(["bash", "-c", f'ulimit -t {int(limit)}; exec "$0"', self.path], cwd=ROOT, env=environ,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                kill_group(process.pid)
        self.took = time.monotonic() - begin
        if code == 0:
            return None
        return f"did not end within {limit:.0f} s" if code is None else f"status {code}"

    def first_run(self, unchanged):
        """As failure(); notes how long it takes, and which lines of which files it reaches."""
        with tempfile.TemporaryDirectory() as folder:
            why = self.failure(unchanged, f"{folder}/%p-%m.profraw")
            self.seconds = self.took
            if not os.listdir(folder):  # all its processes ended by _exit(), or were killed
                return why
            report = must(f"llvm-profdata merge -sparse -o {folder}/all {folder}/*.profraw && llvm-cov export -format=lcov "
                          f"-instr-profile {folder}/all {BUILD}/librooms.so -object {unchanged}/libmutant.so {' '.join(ROOMS)}")
        self.reached = reached_in(report)
        return why


def reached_in(report):
    """path -> the numbers of the lines that were run, of lcov's report (geninfo(1))."""
    reached, lines = collections.defaultdict(set), set()
    for line in report.splitlines():
        what, _, value = line.partition(":")
        if what == "SF":
            lines = reached[os.path.relpath(value, ROOT)]
        elif what == "DA" and not value.endswith(",0"):
            lines.add(int(value.split(",")[0]))
    return {path: lines for path, lines in reached.items() if lines}


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Tests:
    """The programs, built against the shared library of all rooms."""

    def __init__(self, lanes):
        self.lanes, self.make = lanes, of_makefile("SAN", "SANLINK", "SANROOT", "LIBS", "ROOMS")
        self.make["SANLINK"] += " " + COUNTED
        self.needs = of_makefile(*(f"NEEDS_{room}" for room in self.make["ROOMS"].split()))
        changed = {os.path.basename(room) for room in ROOMS}
        # Not those that count work: a changed file is compiled without that.
        units = sorted(path for path in glob.glob("tests/unit/*/test_*.c", root_dir=ROOT)
                       if changed & self.known_to(path.split("/")[2]) and not path.endswith("/test_cost.c"))
        golden = sorted(glob.glob("tests/golden/*.c", root_dir=ROOT))
        rooms = [room for room in self.make["ROOMS"].split()
                 if glob.glob(f"core/{room}/*.[cS]", root_dir=ROOT) or glob.glob(f"{room}/*.[cS]", root_dir=ROOT)]
        archives = [f"{BUILD}/lib{room}.a" for room in rooms]
        must(f"{MAKE} {' '.join(archives)} {' '.join(f'{BUILD}/{path}.o' for path in units + golden)}")
        os.makedirs(f"{ROOT}/{BUILD}/unchanged", exist_ok=True)
        # To replace a file by itself makes no test fail.
        self.compiled([sorted(glob.glob(f"{room}/*.c", root_dir=ROOT))[0] for room in ROOMS], f"{BUILD}/unchanged")
        must(f"clang {self.make['SANLINK']} -shared -o {BUILD}/librooms.so -Wl,--whole-archive {' '.join(archives)} "
             "-Wl,--no-whole-archive")
        wanted = [(f"{BUILD}/tests/golden/golden", golden, "golden")]
        wanted += [(f"{BUILD}/{path[:-2]}", [path], path.split("/")[2]) for path in units]
        with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
            self.programs = list(pool.map(lambda program: self.linked(*program), wanted))

    def known_to(self, room):
        """The rooms that a room's tests are linked with."""
        return {room, *self.needs.get(f"NEEDS_{room}", "plugins trainer api assets base").split()}

    def linked(self, to, sources, room):
        must(f"clang {self.make['SANLINK']} -o {to} {' '.join(f'{BUILD}/{path}.o' for path in sources)} "
             f"-Wl,--no-as-needed {BUILD}/unchanged/libmutant.so {BUILD}/librooms.so -L{self.make['SANROOT']}/lib "
             f"-lcmocka {self.make['LIBS']} -lm")
        return Program(to, room)

    def compiled(self, sources, folder, include="."):
        """Makes the library that goes before the others; ValueError if it is no C."""
        code, output = called(f"clang {self.make['SAN']} -fPIC -w -I{include} {self.make['SANLINK']} -shared "
                              f"-Wl,-soname,libmutant.so -o {folder}/libmutant.so {' '.join(sources)}")
        if code:
            raise ValueError(output)

    def fail_unchanged(self):
        with concurrent.futures.ThreadPoolExecutor(self.lanes) as pool:
            failures = list(pool.map(lambda program: program.first_run(f"{ROOT}/{BUILD}/unchanged"), self.programs))
        if not any(program.reached for program in self.programs):
            return [f"no line was counted: {BUILD} is of other flags, remove it"]
        return [f"{program.path}: {why}" for program, why in zip(self.programs, failures) if why]

    def that_reach(self, path, number):
        """The programs that reach a line, those most likely to notice it first. A line of a table, and one that
        only processes reach that do not end by exit(), is reached by all that reach something in its file."""
        of_file = [program for program in self.programs if path in program.reached]
        room, stem = room_of(path), os.path.basename(path)[:-2]

        def rank(program):
            own = program.room == room
            return (not (own and stem.startswith(os.path.basename(program.path)[5:])), not own,
                    program.room != "golden", program.seconds)
        return sorted([program for program in of_file if number in program.reached[path]] or of_file, key=rank)

    def noticed(self, path, number, text, folder):
        """Which program fails, how; None if none does."""
        source = f"{folder}/{os.path.basename(path)}"
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        self.compiled([source], folder, os.path.dirname(path))
        for program in self.that_reach(path, number):
            why = program.failure(folder)
            if why:
                return f"{program.path.removeprefix(BUILD + '/tests/')}: {why}"
        for world in WORLDS.get(room_of(path), ()):
            why = worlds.first_failure(worlds.build(pathlib.Path(folder), f"build/rel/tests/sim/{world}", path, text), SCHEDULES)
            if why:
                return f"sim/{world}: seed {why[0]}: {why[1]}"
        return None


def tried(tests, mutant):
    """Whether the change was noticed; None if the compiler noticed."""
    path, number, what, new = mutant
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    old, lines[number] = lines[number], new
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            by = tests.noticed(path, number + 1, "\n".join(lines), folder)
        except ValueError:
            return None
    took = f" ({time.monotonic() - begin:.1f} s)"
    print(f"# {path}:{number + 1}: {what}: " + (f"noticed by {by}" if by else "NOT NOTICED") + took +
          ("" if by else f"\n#   - {old.strip()}\n#   + {new.strip()}"), flush=True)
    return bool(by)


def candidates(wanted):
    """All changes of the files named, or of the lines: FILE.c:LINE."""
    for name in wanted:
        path, _, line = name.partition(":")
        yield from (mutant for mutant in mutants_of(path) if not line or mutant[1] + 1 == int(line))


def main():
    count, seed = int(os.environ.get("MUTANTS") or 200), int(os.environ.get("SEED") or time.time())
    lanes = int(os.environ.get("LANES") or os.cpu_count())
    print(f"# seed {seed}", flush=True)
    os.chdir(ROOT)
    tests = Tests(lanes)
    failed = tests.fail_unchanged()
    if failed:
        print("1..1\nnot ok 1 - the tests pass without a change\n# " + "\n# ".join(failed))
        return 1
    must("make -s " + " ".join(sorted({f"build/rel/tests/sim/{world}" for some in WORLDS.values() for world in some})))
    mutants = list(candidates(sys.argv[1:] or sorted(path for some in SOURCES for path in glob.glob(some))))
    random.Random(seed).shuffle(mutants)
    results, waiting = [], iter(mutants)
    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        while len(results) < count:
            some = list(itertools.islice(waiting, count - len(results)))
            if not some:
                break
            results += [found for found in pool.map(lambda mutant: tried(tests, mutant), some) if found is not None]
    good = results and sum(results) >= WANTED * len(results)
    print(f"{'ok' if good else 'not ok'} 1 - {sum(results)} of {len(results)} changes were noticed, "
          f"of {len(mutants)} that there are\n1..1")
    return 0 if good else 1


sys.exit(main())
