#!/usr/bin/env python3
"""kftrainer.1 and the tables of options say the same; the examples in both really work."""
import os
import re
import subprocess
import sys
import tempfile

from examples import PROGRAM, ROOT, environment, make_folder, output, run_examples
from tap import check, finish

HIDDEN = {(): ("mpi-launch", "mpi-worker"), ("runtime",): ("carry", "unpack-workspace")}  # in no list, but in the page
PAGE = os.path.join(ROOT, "kftrainer.1")

# Of examples about jobs: those that are refused where the jobs are this machine's.
NOT_OF_THIS_MACHINE = {"--step initializer": 1, "-n team-a": 1, "condition=Suspended": 1, "--for running": 1}


def section(text, title):
    """The indented lines below a heading of --help."""
    lines, there = [], False
    for line in text.splitlines():
        if line == title:
            there = True
        elif there and line and not line.startswith(" "):
            break
        elif there and line:
            lines.append(line)
    return lines


def commands(path=()):
    """(path, its help) of every command and those below it."""
    text = output(*path, "--help")
    titles = ("Commands", "In a container")
    if path:
        yield " ".join(path), text
    for title in titles:
        for line in section(text, title):
            yield from commands((*path, line.split()[0]))
    for hidden in HIDDEN.get(path, ()):
        yield from commands((*path, hidden))


def options_of_help(text):
    """--name -> does it take a value?"""
    found = {}
    for line in section(text, "Options"):
        match = re.match(r"  (?:-(\w), |    )--([\w-]+)(\[=\S*| [A-Z]\S*)?(?:  |$)", line)
        if match and match[2] != "help":
            found[match[2]] = (match[1], bool(match[3]))
    return found


def options_of_page():
    """The same from the page, by its .Ss of each command; COMMON OPTIONS by their names there."""
    found, here, common = {}, None, {}
    text = open(PAGE, encoding="utf-8").read()
    for line in re.sub(r"\.Sx COMMON OPTIONS\n\.Fl", ".common", text).splitlines():
        if line.startswith((".Ss ", ".Sh ")):
            here = None
            if line.startswith(".Ss kftrainer "):
                here = found.setdefault(line.removeprefix(".Ss kftrainer ").strip(), {})
            elif line == ".Sh COMMON OPTIONS":
                here = common
        if line.startswith(".common ") and here is not None:
            here.update({name.lstrip("-"): None for name in line.split()[1:] if name not in ",."})
        match = re.match(r"\.It Fl (?:(\w) , )?-([\w-]+)( Ar| Ns Op)?", line)
        if match and here is not None:
            here[match[2]] = (match[1], bool(match[3]))
    letters = {letter: name for name, (letter, _) in common.items() if letter}
    for options in found.values():
        for name in [name for name, value in options.items() if value is None]:
            del options[name]
            options[letters.get(name, name)] = common[letters.get(name, name)]
    return found


def examples_of_page():
    """Command lines that begin with "$ "; a backslash continues one."""
    text = open(PAGE, encoding="utf-8").read().split(".Sh EXAMPLES")[1].replace("\\e\n", "\\\n")
    lines = re.sub(r"^\.Dl ", "", text, flags=re.M)
    return [m[1] for m in re.finditer(r"^\$ ((?:.*\\\n)*.*)", lines, re.M)]


def examples_of_help(text):
    return "\n".join(line[2:] for line in section(text, "Examples")).replace("\\\n", "\0").splitlines()


def run_here(lines, folder):
    """Of commands about jobs, which may be this machine's: they have to find theirs."""
    problems = []
    for line in lines:
        made = [subprocess.run([PROGRAM, "submit", "--local", "-q", "--name", name, "job.yaml"], cwd=folder,
                               env=environment(folder), capture_output=True, check=False) for name in ("bert", "gpt", "digits")]
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment(folder), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        want = next((code for words, code in NOT_OF_THIS_MACHINE.items() if words in line), 0)
        if done.returncode != want or any(m.returncode for m in made):
            problems.append(f"$ {line}\nstatus {done.returncode} instead of {want}\n{done.stdout}{done.stderr}")
    return "".join(problems)


def main():
    page, everything = options_of_page(), list(commands())
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True)
    check("mandoc has nothing to say", lint.stdout + lint.stderr)
    built = {path: options_of_help(text) for path, text in everything if path not in ("runtime", "cache-serve")}
    check("the page has every command", sorted(set(built) - set(page)))
    check("every command of the page is there", sorted(set(page) - set(built)))
    for path, options in built.items():
        of_page = page.get(path, {})
        check(f"{path}: the page has every option", sorted(o for o in options if o not in of_page))
        check(f"{path}: every option of the page is there", sorted(o for o in of_page if o not in options))
        check(f"{path}: letters and values agree",
              [f"--{o}: {options[o]} in the table, {of_page[o]} in the page" for o in options
               if o in of_page and options[o] != of_page[o]])
    check("there are options at all", None if sum(map(len, built.values())) > 40 else built)
    for path, text in everything:
        check(f"{path}: --help fits 80 columns", [line for line in text.splitlines() if len(line) > 80])
    with tempfile.TemporaryDirectory() as folder:
        make_folder(folder)
        for path, text in everything:
            if examples_of_help(text):
                check(f"{path}: the examples of --help work", run_examples(examples_of_help(text), folder))
        for path in ("delete", "get", "logs", "wait", "why"):
            lines = examples_of_help(output(path, "--help"))
            check(f"{path}: and those about jobs, on this machine", run_here(lines, folder))
        check("the examples of the page work", run_examples(examples_of_page(), folder))
    finish()


main()
