#!/usr/bin/env python3
"""kftrainer.1 and the tables of options say the same; the examples in both really work."""
import base64
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
PAGE = os.path.join(ROOT, "kftrainer.1")
tests = failures = 0


def check(what, problem):
    """One test, passed when there is no problem to tell."""
    global tests, failures
    tests += 1
    print("not ok" if problem else "ok", tests, "-", what)
    if problem:
        failures += 1
        print("\n".join("# " + line for line in str(problem).splitlines()))


def output(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True).stdout


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
    """(path, its help, is it built) of every command and those below it."""
    text = output(*path, "--help")
    titles = ("Commands", "In a container", "Not built yet")
    if path:
        yield " ".join(path), text, "not built yet" not in text.splitlines()[2]
    for title in titles:
        for line in section(text, title):
            yield from commands((*path, line.split()[0]))


def options_of_help(text):
    """--name -> does it take a value?"""
    found = {}
    for line in section(text, "Options"):
        match = re.match(r"  (?:-(\w), |    )--([\w-]+)(\[=\S*| [A-Z]\S*)?(?:  |$)", line)
        if match and match[2] != "help":
            found[match[2]] = (match[1], bool(match[3]))
    return found


def options_of_page():
    """The same from the page, by its .Ss of each command."""
    found, here = {}, None
    for line in open(PAGE, encoding="utf-8"):
        if line.startswith((".Ss ", ".Sh ")):
            here = None
            if line.startswith(".Ss kftrainer "):
                here = found.setdefault(line.removeprefix(".Ss kftrainer ").strip(), {})
        match = re.match(r"\.It Fl (?:(\w) , )?-([\w-]+)( Ar| Ns Op)?", line)
        if match and here is not None:
            here[match[2]] = (match[1], bool(match[3]))
    return found


def later_of_page():
    text = open(PAGE, encoding="utf-8").read()
    return set(re.findall(r"^\.Cm ([\w-]+) [,.]$", text.split(".Ss Not built yet")[1].split("Their")[0], re.M))


def examples_of_page():
    """Command lines that begin with "$ "; a backslash continues one."""
    text = open(PAGE, encoding="utf-8").read().split(".Sh EXAMPLES")[1].replace("\\e\n", "\\\n")
    lines = re.sub(r"^\.Dl ", "", text, flags=re.M)
    return [m[1] for m in re.finditer(r"^\$ ((?:.*\\\n)*.*)", lines, re.M)]


def examples_of_help(text):
    return "\n".join(line[2:] for line in section(text, "Examples")).replace("\\\n", "\0").splitlines()


def run_examples(lines, folder):
    """Run them as a person would, in a folder with the files they name. The first problem, or None."""
    for line in lines:
        line = line.replace("\0", "\\\n")
        # kubectl is not here: what it is given has to be YAML with something in it.
        script = line.replace("| kubectl apply --server-side -f -", "| grep '^kind: ' >/dev/null")
        script = script.replace("source <(", "bash -n <(").replace("| source", "| grep complete >/dev/null")
        if "logs -f" not in line:
            script += "\n"
        done = subprocess.run(["bash", "-c", "set -eo pipefail\n" + script], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=environment(folder))
        # Nor is there a cluster, which is said once the options are understood; jobs are this machine's then.
        if done.returncode and not re.search("no kubeconfig|this machine|no such folder here", done.stderr):
            return f"$ {line}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
    return None


def environment(folder):
    return dict(os.environ, HOME=folder, KUBECONFIG="", XDG_STATE_HOME=f"{folder}/state", PATH=f"{folder}/bin:/usr/bin:/bin")


JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [sh, -c, "echo rank $PET_NODE_RANK"]}
"""


def make_folder(folder):
    """The files that the examples name; `torchrun` only has to be found."""
    os.makedirs(f"{folder}/bin")
    os.makedirs(f"{folder}/.zsh/completions")
    os.symlink(PROGRAM, f"{folder}/bin/kftrainer")
    with open(f"{folder}/bin/torchrun", "w", encoding="utf-8") as script:
        script.write("#!/bin/sh\n[ \"$A\" = b ] && [ $PET_NNODES = 2 ] && [ $PET_NPROC_PER_NODE = 2 ]\n")
    os.chmod(f"{folder}/bin/torchrun", 0o755)
    with open(f"{folder}/job.yaml", "w", encoding="utf-8") as job:
        job.write(JOB)
    os.mkdir(f"{folder}/code")
    with open(f"{folder}/code/train.py", "w", encoding="utf-8") as code:
        code.write("print('hello')\n")
    made = json.loads(output("submit", "--dry-run=client", "-o", "json", "-q", "--runtime", "torch-distributed",
                             "--workspace", f"{folder}/code", "--", "true"))
    with open(f"{folder}/workspace.tar.zst", "wb") as archive:
        archive.write(base64.b64decode(made["items"][0]["binaryData"]["workspace.tar.zst"]))
    mine = output("runtime", "get", "torch-distributed")
    for name in ("my-runtime.yaml", "my-runtimes.yaml"):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as runtime:
            runtime.write(mine)
    subprocess.run([PROGRAM, "submit", "--local", "-q", "job.yaml"], cwd=folder, env=environment(folder),
                   capture_output=True, check=False)


def main():
    page, everything = options_of_page(), list(commands())
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True)
    check("mandoc has nothing to say", lint.stdout + lint.stderr)
    built = {path: options_of_help(text) for path, text, is_built in everything if is_built and path != "runtime"}
    check("the page has every command", sorted(set(built) - set(page)))
    check("every command of the page is there", sorted(set(page) - set(built)))
    for path, options in built.items():
        of_page = page.get(path, {})
        check(f"{path}: the page has every option", sorted(o for o in options if o not in of_page))
        check(f"{path}: every option of the page is there", sorted(o for o in of_page if o not in options))
        check(f"{path}: letters and values agree",
              [f"--{o}: {options[o]} in the table, {of_page[o]} in the page" for o in options
               if o in of_page and options[o] != of_page[o]])
    later = {path for path, _, is_built in everything if not is_built}
    check("the page lists what is not built yet", later ^ later_of_page() or None)
    check("there are options at all", None if sum(map(len, built.values())) > 40 else built)
    for path, text, _ in everything:
        check(f"{path}: --help fits 80 columns", [line for line in text.splitlines() if len(line) > 80])
    with tempfile.TemporaryDirectory() as folder:
        make_folder(folder)
        for path, text, is_built in everything:
            if is_built and examples_of_help(text):
                check(f"{path}: the examples of --help work", run_examples(examples_of_help(text), folder))
        check("the examples of the page work", run_examples(examples_of_page(), folder))
    print(f"1..{tests}")
    sys.exit(1 if failures else 0)


main()
