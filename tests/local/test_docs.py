#!/usr/bin/env python3
"""The commands of README.md and docs/ in pages that train with PyTorch, in the order of each page."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from pages import PAGES, needs_torch, run_page  # pylint: disable=wrong-import-position
from tap import check, finish, skip  # pylint: disable=wrong-import-position

pages = [page for page in PAGES if needs_torch(page)]
check("some pages train with PyTorch", None if pages else PAGES)
torch = subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode == 0
for page in pages:
    if torch:
        run_page(page)
    else:
        skip(f"{page}: its commands", "PyTorch is not installed")
finish()
