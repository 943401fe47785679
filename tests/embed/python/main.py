"""The vectors through PyPI's wasmtime.

Usage: main.py CORE VERIFIER NATIVE, where NATIVE has the lines of native.py.
"""

import json
import sys
import time
from pathlib import Path

from component import Core
from corpus import vectors
from report import Report
from scenario import scenario
from store import story


def read_native(path):
    """The native answers by (file, name): their text is cut out, not written again."""
    with Path(path).open(encoding="utf-8", newline="\n") as lines:
        return dict(map(cut, lines))


def cut(line):
    value = json.loads(line)
    return (value["file"], value["name"]), line[len('{"answer":') : line.rindex(',"file":')]


# What is made of several calls of `decide`.
PERFORMED = {"scenario": scenario, "story": story}


def run_world(report, label, core, native):
    """Asks one world everything that it can answer."""
    report.check(label, f"world {label}", f"imports {core.imports}" if core.imports else None)
    for file, vector in vectors():
        function = vector["function"]
        if function in PERFORMED and core.has("decide"):
            report.vector(file, vector, PERFORMED[function](core.call, vector["args"]), native)
        elif core.has(function):
            report.vector(file, vector, core.call(function, vector["args"]), native)
        else:
            report.leave(file.split("/")[0], f"not in world {label}")


def main():
    core_path, verifier_path, native_path = sys.argv[1:]
    native = read_native(native_path)
    report = Report("python")
    for label, path in (("core", core_path), ("verifier", verifier_path)):
        start = time.monotonic()
        core = Core(path)
        loaded = time.monotonic()
        run_world(report, label, core, native)
        print(f"python: world {label}: loaded in {loaded - start:.1f} s, asked in {time.monotonic() - loaded:.1f} s")
    sys.exit(report.close())


main()
