"""This machine's processes by a mark in their environment."""
import os


def marked(mark):
    """(PID, words of the command line) of each whose environment contains it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = os.fsdecode(file.read()).split("\0")
        except OSError:
            continue
        if mark.encode() in environment:
            found.append((int(pid), words))
    return found
