"""Lets torchrun of Debian 12 (torch 1.13) run on Python 3.11. Put this folder on PYTHONPATH.

Since Python 3.11 a Flag is iterated without its zero and its combinations, so
torch.distributed.elastic.multiprocessing.api.Std.from_str("0") finds nothing and
returns None. Here the name of every value is looked up instead. Other versions
of torch and Python are left alone; no file of the system is changed.
"""
import importlib.abc
import importlib.util
import sys

BROKEN = "torch.distributed.elastic.multiprocessing.api"


class _Loader(importlib.abc.Loader):
    def __init__(self, wrapped):
        self.wrapped = wrapped

    def create_module(self, spec):
        return self.wrapped.create_module(spec)

    def exec_module(self, module):
        self.wrapped.exec_module(module)
        std = module.Std
        from_str = std.from_str

        def repaired(vm):
            found = from_str(vm)
            if found is None:
                return std(int(vm))
            if isinstance(found, dict):
                pairs = (item.split(":") for item in vm.split(","))
                return {int(rank): std(int(value)) for rank, value in pairs}
            return found

        std.from_str = staticmethod(repaired)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != BROKEN:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            spec.loader = _Loader(spec.loader)
        return spec


if sys.version_info >= (3, 11):
    sys.meta_path.insert(0, _Finder())
