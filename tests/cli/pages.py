"""What tests/cli/test_docs.py and tests/local/test_docs.py share: the pages, and running their commands.

A block of `sh` is run, line by line as a person would, and has to succeed. In one of `console` the
lines that begin with "$ " are commands that need a cluster, a GPU or another program: examples.py
says what becomes of ours; of other programs they are only counted. A block of `text` has no commands.
"""
import glob
import os
import re
import shutil
import tempfile

from examples import KUBECONFIG, PROGRAM, ROOT, run_example, run_script, write
from tap import check

PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md"] + sorted(
    os.path.relpath(page, ROOT) for page in glob.glob(f"{ROOT}/docs/*.md"))
OTHERS = {"kubectl", "helm", "docker", "ctr", "make", "man", "pip", "apt", "sha256sum", "sed", "git", "grep", "skopeo"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """(kind, text) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def prose(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def commands(block):
    return [m[1] for m in re.finditer(r"^\$ ((?:.*\\\n)*.*)", block, re.M)]


def make_targets():
    text = read("Makefile")
    return set(re.findall(r"^([\w-]+):", text, re.M)) | set(" ".join(re.findall(r"\.PHONY:((?:.*\\\n)*.*)", text)).split())


def first_word(command):
    return re.sub(r"^(\w+=\S*\s+)*(\./)?", "", command).split()[0]


def variables(folder):
    return {"OMP_NUM_THREADS": "1", "HOME": f"{folder}/../home",
            "PATH": f"{folder}/../bin:/usr/bin:/bin"}


def run_block(text, folder):
    code, out, err = run_script("set -u\n" + text, folder, variables(folder))
    return f"status {code}\n{text}{out}{err}" if code else None


def run_console(block, folder):
    """Our own commands of it; the first problem, or None."""
    for command in commands(block):
        command = re.sub(r"\s+# .*", "", command)
        word = first_word(command)
        if word == "kftrainer":
            problem = run_example(command.replace("./kftrainer", "kftrainer"), folder, **variables(folder))
        elif word == "make":
            problem = {t for t in command.split()[1:] if "=" not in t} - make_targets()
        else:
            problem = None if word in OTHERS else f"$ {command}\nwhose is {word}?"
        if problem:
            return problem
    return None


def syntax_error(text):
    try:
        compile(text, "block", "exec")
    except SyntaxError as err:
        return str(err)
    return None


def run_page(page):
    """Its blocks in their order, in a folder of their own, as somebody who reads on."""
    with tempfile.TemporaryDirectory() as top:
        folder = f"{top}/page"
        for name in ("bin", "home", "page"):
            os.mkdir(f"{top}/{name}")
        os.symlink(PROGRAM, f"{top}/bin/kftrainer")
        shutil.copytree(f"{ROOT}/examples", f"{folder}/examples")
        write(f"{folder}/kubeconfig", KUBECONFIG)
        for i, (kind, text) in enumerate(blocks(read(page)), 1):
            what = f"{page}: block {i} ({kind})"
            if kind == "sh":
                check(f"{what} runs", run_block(text, folder))
            elif kind == "console":
                check(f"{what}: our commands are understood", run_console(text, folder))
            elif kind == "python":
                check(f"{what} is Python", syntax_error(text))
            else:
                found = re.search(r"^(\$ .*|kftrainer .*)", text, re.M)
                check(f"{what} has no commands", found and found[0] or (kind != "text" and f"kind '{kind}'") or None)


def needs_torch(page):
    return "import torch" in read(page)
