"""One figure of `make bench`: a line of JSON on stdout, which figures.py makes a row of docs/figures.md of."""
import json


def number(value):
    """Three digits of what was measured: more are not repeatable."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else value
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 if value < 1 else 1}f}"


def row(name, value, unit, conditions, target="", peer="", theirs=None):
    """theirs: what `peer` did of the same unit in the same run. Target: what to hold, in words."""
    found = {"name": name, "value": number(value), "unit": unit, "conditions": conditions, "target": target}
    if theirs is not None:
        found.update(peer=peer, peer_value=number(theirs), ratio=f"{value / theirs:.2g}" if theirs > 0 else "?")
    print(json.dumps(found, ensure_ascii=False), flush=True)


def lacks(name, why):
    """A figure that this machine cannot give, and why."""
    print(json.dumps({"name": name, "lacks": why}), flush=True)
