#!/usr/bin/env python3
"""README.md and docs/: their commands run, their links work, and their tables match the code.

Pages that train with PyTorch are run by tests/local/test_docs.py.
"""
import functools
import glob
import json
import os
import re

from examples import ROOT, output
from pages import PAGES, make_targets, needs_torch, prose, read, run_page
from tap import check, finish

OTHERS_OPTIONS = {"--admission-control-config-file", "--lines", "--release", "--previous", "--mca", "--status-include-resources",
                  "--nnodes", "--rdzv-endpoint", "--standalone"}
MAX_LINES = 150
STACK = "torch|transformers|accelerate|trl|peft|lightning|deepspeed"
# Words of why*.c that look like a reason and are none: kinds, phases, conditions, others' reasons.
NO_REASONS = set("""
Active Bound ClusterQueueIsInactive CreateContainerConfigError Deleted DeletionByPodGC DeletionByTaintManager Deployment
Evict EvictionByEvictionAPI ExceedsMaxQuota Failed FailedAttachVolume FailedCreate FailedCreatePodSandBox FailedMapVolume
FailedMount FailedScheduling FailedResourceClaimCreation FailedToRetrieveImagePullSecret FailureTarget False Informational Interrupted Job JobSet Kueue Lease LocalQueue
Killing Misconfigured NoMatchingFlavor Pending PersistentVolumeClaim Pod PodGroup PodGroupInitiallyScheduled PodsReadyTimeout
Preempting PreemptionByScheduler Queue QuotaReserved Ready ResourceClaim
ResourceClaimTemplate Shutdown Succeeded SuccessCriteriaMet Terminated TerminationByKubelet TrainJobResourcesCreationFailed True Unhealthy Unknown
WaitForFirstConsumer""".split())


# ---- what is said --------------------------------------------------------------------------------

def check_links(page):
    text, problems = prose(read(page)), []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)]*)?\)", text):
        if target.startswith("https://"):
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
        if not os.path.exists(os.path.join(ROOT, path)):
            problems.append(f"{target} does not exist")
        elif anchor and anchor[1:] not in [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-")
                                           for h in re.findall(r"^#+ (.*)", read(path), re.M)]:
            problems.append(f"{target}{anchor} is no heading")
    return problems


@functools.lru_cache
def names_of_files():
    """Ours: in build/ are clusters, whose nodes have the files of whole systems."""
    names = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name[0] != "." and (folder, name) != (ROOT, "build")]
        names.update(files)
    return names


def check_paths(page):
    """Files of ours that it names."""
    names = names_of_files()
    said = re.findall(r"`((?:cmd|core|plugins|tests|examples|vendor|gpu)/[\w./-]+|[\w-]+\.[ch])`", prose(read(page)))
    return [p for p in said if not (os.path.exists(os.path.join(ROOT, p)) if "/" in p else p in names)]


def all_options(path=()):
    text = output(*path, "--help")
    found = set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text, re.M))
    for title in ("Commands", "In a container"):
        for word in re.findall(rf"^{title}\n((?:  .*\n|\n)*)", text, re.M):
            for line in re.findall(r"^  ([\w-]+) ", word, re.M):
                found |= all_options((*path, line))
    return found


def every_option():
    """Also of the commands that are in no list."""
    return set().union(*map(all_options, ((), ("mpi-launch",), ("mpi-worker",))))


def check_options(page, options):
    return sorted(set(re.findall(r"(--[a-z][\w-]+)", " ".join(re.findall(r"`([^`]*)`", prose(read(page)))))) - options -
                  OTHERS_OPTIONS)


def table(page, heading):
    """The cells of the tables below a heading."""
    text = re.split(rf"^## {heading}$", read(page), flags=re.M)[1]
    text = re.split(r"^## ", text, flags=re.M)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()
            if line.startswith("| ")][1:]


def ticked(cells):
    return [word for cell in cells for word in re.findall(r"`([^`]*)`", cell)]


def differ(said, true):
    """None, or which of the two sets lacks what."""
    return [f"missing: {x}" for x in sorted(set(true) - set(said))] + [f"not so: {x}" for x in sorted(set(said) - set(true))]


def check_why():
    words, causes = set(), set()
    for path in sorted(glob.glob(f"{ROOT}/core/why/why*.c")):
        with open(path, encoding="utf-8") as file:
            words |= set(re.findall(r'"([A-Z][A-Za-z]+)"', file.read()))
    words |= set(re.findall(r'_REASON "(\w+)"', read("core/logtext/alone.h")))
    causes = set(re.findall(r'reason = "(\w+)",\s*\.fails|\{ "(\w+)", \.fails', read("core/trainer/podcause.c")))
    causes = {a or b for a, b in causes} | set(re.findall(r'\.reason = "(\w+)", \.fails = true', read("core/trainer/podcause.c")))
    text = read("docs/troubleshoot.md")
    said = {w for row in re.findall(r"^\| (`.*?) \|", text, re.M) for w in re.findall(r"`(\w+)`", row)}
    check("why: words that are no reasons are still in the code", NO_REASONS - words)
    check("docs/troubleshoot.md has every reason of why", differ(said, (words - NO_REASONS) | causes))
    check("there are reasons at all", None if len(said) > 40 else said)


def check_settings():
    true = re.findall(r'^\t(?:SETTING|CHECKED|MAP)\("([\w.]+)"', read("core/manager/config.c"), re.M)
    said = ticked(row[0] for row in table("docs/admin.md", "Settings"))
    check("docs/admin.md has every setting", differ(said, true))
    check("there are settings at all", None if len(true) > 25 else true)


def check_metrics():
    true = set()
    for path in glob.glob(f"{ROOT}/core/*/*.c"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for found in re.finditer(r"static const struct metric \w+ = \{(.*?)\};|const struct metric \w+ = \{(.*?)\};"
                                 r"|print_one\(out, (.*?),", text, re.S):
            true |= set(re.findall(r'"([a-z_]+_[a-z_]+)"', next(g for g in found.groups() if g))[:1])
    said = ticked(row[0] for row in table("docs/admin.md", "Metrics") if "metric" not in row[0])
    said = [name for name in said if "(" not in name and "{" not in name and " " not in name]
    check("docs/admin.md has every metric", differ(said, true))
    check("there are metrics at all", None if len(true) > 25 else true)


def check_rights():
    objects = json.loads(output("install", "--controller", "-o", "json"))["items"]
    name = "kubeflow-trainer-controller-manager"
    rules = [rule for o in objects if o["kind"] in ("ClusterRole", "Role") and o["metadata"]["name"] == name
             for rule in o["rules"] if "resourceNames" not in rule or "secrets" not in rule["resources"]]
    rows, problems = table("docs/admin.md", "Rights"), []
    for rule in rules:
        for resource in rule["resources"]:
            row = next((r for r in rows if re.search(rf"(^|[ ,]){resource}($|[ ,])", r[0])), None)
            lacks = [verb for verb in rule["verbs"] if not row or verb not in row[1]]
            if lacks:
                problems.append(f"{resource}: {', '.join(lacks)}")
    check("docs/admin.md has every right of the controller", problems)
    resources = {r for rule in rules for r in rule["resources"]}
    for row in rows:
        named = [r for r in resources if re.search(rf"(^|[ ,]){r}($|[ ,])", row[0])]
        true = {verb for rule in rules if set(rule["resources"]) & set(named) for verb in rule["verbs"]}
        problems += [f"{row[0]}: {verb}" for verb in set(re.findall(r"[a-z]+", row[1])) - true]
    check("... and no other", problems)


def check_figures():
    """docs/figures.md is written by `make bench`; README quotes it, and no other page has figures of its own."""
    rows = [cells[:3] for cells in map(lambda line: [cell.strip() for cell in line.strip("|").split(" | ")],
                                       read("docs/figures.md").splitlines()) if len(cells) == 5 and set(cells[0]) != {"-"}]
    page = {name: (ours, theirs.split(" (")[0]) for name, ours, theirs in rows}
    text = read("README.md")
    quoted = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([^|]*) \|$", text.split("| | kftrainer | upstream |")[1].split("\n\n")[0], re.M)
    wrong = [f"{name}: {ours}, {theirs}: {page.get(name)}" for name, ours, theirs in quoted if page.get(name) != (ours, theirs)]
    check("README.md quotes docs/figures.md", wrong or (None if len(quoted) > 2 else quoted))
    size = re.search(r"static binary of (\d+) MB", text)[1]
    check("... and the size of the binary", None if f"{float(page['binary'][0].split()[0]):.0f}" == size else (size, page["binary"]))
    figure = r"\d[\d,.]* (?:[KMG]B|ms|MB/s|s of CPU|cores)\b"
    for name in ["CHANGELOG.md"] + [p for p in PAGES if p not in ("README.md", "docs/figures.md")]:
        check(f"{name}: no figures that are not in docs/figures.md", re.findall(f".*{figure}.*", prose(read(name))))


def versions():
    newest, kubernetes, controllers = (read(f"tests/cluster/go/{x}/go.mod") for x in ("kubernetes", "schedulers", "controllers"))
    # A module's last line is its replacement, if it has one.
    found = [re.findall(rf"{module} v([\d.]+)", text)[-1] for module, text in
             (("k8s.io/kubernetes", newest), ("k8s.io/kubernetes", kubernetes), ("helm.sh/helm/v3", kubernetes), ("sigs.k8s.io/jobset", controllers),
              ("sigs.k8s.io/kueue", controllers), ("sigs.k8s.io/lws", controllers), ("sigs.k8s.io/scheduler-plugins", kubernetes),
              ("github.com/apache/yunikorn-k8shim", kubernetes), ("volcano.sh/apis", kubernetes))]
    found += re.findall(r"^[\d.]+ kubeflow(?:_trainer_api)?==([\d.]+)", read("tests/cluster/sdk/wheels.txt"), re.M)
    for venv in ("python", "mlx", "stack"):
        found += re.findall(rf"^(?:jax|xgboost-cpu|mlx|{STACK})==([\d.]+)", read(f"tests/setup/{venv}.txt"), re.M)
    return found


def main():
    options = every_option()
    check("the documents are there", None if len(PAGES) >= 11 and len(options) > 60 else (PAGES, options))
    for page in PAGES:
        lines = read(page).count("\n")
        if page != "docs/figures.md":  # a row for each figure that `make bench` takes
            check(f"{page}: at most {MAX_LINES} lines", lines if lines > MAX_LINES else None)
        check(f"{page}: its links lead somewhere", check_links(page))
        check(f"{page}: the files that it names exist", check_paths(page))
        check(f"{page}: options that it names exist", check_options(page, options))
        unknown = set(re.findall(r"`make (\w+)", read(page))) - make_targets()
        check(f"{page}: targets of make that it names exist", unknown)
    check_why()
    check_settings()
    check_metrics()
    check_rights()
    check_figures()
    text = read("docs/support.md")
    check("docs/support.md has the versions that are tested", [v for v in versions() if not re.search(rf"\b{re.escape(v)}\b", text)])
    text = read("docs/stacks.md")
    stack = re.findall(rf"^(?:{STACK})==([\d.]+)", read("tests/setup/stack.txt"), re.M)
    check("docs/stacks.md has the releases that it was tried with", [v for v in stack if not re.search(rf"\b{re.escape(v)}\b", text)])
    for page in PAGES:
        if not needs_torch(page):
            run_page(page)
    finish()


main()
