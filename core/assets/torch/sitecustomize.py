"""Lets the torchrun of PyTorch 1.13 run under Python 3.11 (both are Debian 12's).

`kftrainer submit --local` puts its folder on PYTHONPATH of pods that need it
(core/kubelet/torchfix.h). torch.distributed.elastic looks its redirect option up by iterating over a Flag, which since Python 3.11 yields neither the zero member
nor the combined ones: "0", the default, becomes None, and torchrun dies of
"'NoneType' object has no attribute 'get'". Where the installed PyTorch has that
fault its lookup is corrected right after the module is loaded; nothing else changes.
A sitecustomize that would have been found without this one runs, too.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

MODULE = "torch.distributed.elastic.multiprocessing.api"


def correct(std):
    """Wraps Std.from_str, which still refuses what is malformed."""
    if std.from_str("0") is not None:
        return
    original = std.from_str.__func__

    def from_str(cls, text):
        if isinstance(original(cls, text), dict):
            pairs = (pair.split(":") for pair in text.split(","))
            return {int(rank): cls(int(value)) for rank, value in pairs}
        return cls(int(text))

    std.from_str = classmethod(from_str)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            correct(module.Std)

        spec.loader.exec_module = exec_module
        return spec


def run_hidden():
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, Finder())
run_hidden()
