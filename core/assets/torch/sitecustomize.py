"""Lets the torchrun of Debian's PyTorch run: 1.13 under Python 3.11 (Debian 12), 2.4 and later (Debian 13).

`kftrainer submit --local` puts its folder on PYTHONPATH of pods that need it (core/kubelet/torchfix.h).

1.13: torch.distributed.elastic looks its redirect option up by iterating over a Flag, which since Python 3.11 yields
neither the zero member nor the combined ones: "0", the default, becomes None, and torchrun dies of
"'NoneType' object has no attribute 'get'".
2.4: TCPStore uses libuv unless it is told not to, and Debian builds PyTorch without libuv: "use_libuv was requested".
MPI: nobody gives the ranks of mpirun a port, and DeepSpeed meets at 29500: two jobs of this machine would meet there.

Where the installed PyTorch has one of these faults it is corrected right after its module is loaded; nothing else
changes. A sitecustomize that would have been found without this one runs, too.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


def correct_redirects(module):
    """Wraps Std.from_str, which still refuses what is malformed."""
    std = module.Std
    if std.from_str("0") is not None:
        return
    original = std.from_str.__func__

    def from_str(cls, text):
        if isinstance(original(cls, text), dict):
            pairs = (pair.split(":") for pair in text.split(","))
            return {int(rank): cls(int(value)) for rank, value in pairs}
        return cls(int(text))

    std.from_str = classmethod(from_str)


def correct_store(module):
    """TCPStore without libuv where the build has none, also for callers that name the default; and, for what has no
    port of its own job (DeepSpeed over MPI always meets at 29500), on the port that this job has reserved.
    """
    store = module.TCPStore
    original = store.__init__
    own = os.environ.get("KFTRAINER_TORCH_PORT")

    def init(self, *args, **options):
        if own and args[1:2] == (29500,):
            args = (args[0], int(own), *args[2:])
        elif own and options.get("port") == 29500:
            options = {**options, "port": int(own)}
        try:
            original(self, *args, **options)
        except RuntimeError as error:
            if "without libuv" not in str(error):
                raise
            original(self, *args, **{**options, "use_libuv": False})

    store.__init__ = init


CORRECTIONS = {
    "torch.distributed.elastic.multiprocessing.api": correct_redirects,
    "torch.distributed.rendezvous": correct_store,
}


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        correct = CORRECTIONS.pop(name, None)
        if correct is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            correct(module)

        spec.loader.exec_module = exec_module
        return spec


def run_hidden():
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.origin:  # a folder of that name is no module
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, Finder())
run_hidden()
