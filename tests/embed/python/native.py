"""Asks the native driver every vector and writes what it answers: a line of canonical text per vector.

Usage: native.py DRIVER… < nothing > native.jsonl. The driver is described in spec/conformance/README.md.
"""

import json
import subprocess
import sys

from corpus import Refused, canonical, text_of, vectors
from scenario import scenario
from store import story


# What is made of several calls of `decide`.
PERFORMED = {"scenario": scenario, "story": story}


class Driver:
    """A driver: JSON lines on standard input and output."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.calls = 0

    def call(self, function, args):
        self.calls += 1
        line = json.dumps({"id": self.calls, "function": function, "args": args}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if reply.pop("id") != self.calls:
            raise AssertionError(f"the driver answered another call than {line}")
        return reply

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def answer(driver, vector):
    """The driver's answer; nothing where JSON cannot carry the arguments."""
    args = vector["args"]
    if vector.get("native") is False:
        return None
    if vector["function"] in PERFORMED:
        return PERFORMED[vector["function"]](driver.call, args)
    reply = driver.call(vector["function"], args)
    try:
        text_of({"text": "", **args})
    except Refused as refused:
        # No host calls the core with such bytes; the sentence is each host's own.
        if reply.get("error", {}).get("code") == "json-encoding":
            return refused.answer
    return reply


def main():
    driver = Driver(sys.argv[1:])
    for file, vector in vectors():
        reply = answer(driver, vector)
        if reply is not None:
            print(canonical({"answer": reply, "file": file, "name": vector["name"]}))
    status = driver.close()
    if status != 0:
        sys.exit(f"the driver ended with {status}")


main()
