"""Counts what was checked, by group, and says so."""

from collections import Counter

from corpus import canonical, fault
from scenario import unexpected

SHOWN_MAX = 20
LETTERS_MAX = 2000


class Report:
    def __init__(self, host):
        self.host = host
        self.passed = Counter()
        self.failed = Counter()
        self.left = Counter()

    def check(self, group, name, problem):
        """One check: `problem` says what is wrong, or is empty."""
        if not problem:
            self.passed[group] += 1
            return
        self.failed[group] += 1
        if self.failed.total() <= SHOWN_MAX:
            print(f"{self.host}: {name}: {problem}"[:LETTERS_MAX])

    def vector(self, file, vector, answer, native):
        """One vector: the answer is what the vector expects, and has the same text as the native one."""
        name = f"{file}: {vector['name']}"
        told = canonical(answer)
        problem = fault(vector, answer)
        if problem is None and vector["function"] == "scenario":
            problem = unexpected(vector["args"], answer["ok"])
        known = native.get((file, vector["name"]))
        if problem is None and vector.get("native") is not False and told != known:
            problem = f"natively {known}"
        self.check(file.split("/")[0], name, problem and f"{problem}, answered {told}")

    def leave(self, group, why):
        """A vector that this host is not asked."""
        self.left[group, why] += 1

    def close(self):
        """Prints the numbers; the last line is the sum. Returns the exit status."""
        for group in sorted({*self.passed, *self.failed}):
            print(f"{self.host}: {group}: {self.passed[group]} right, {self.failed[group]} wrong")
        for (group, why), count in sorted(self.left.items()):
            print(f"{self.host}: {group}: {count} not asked: {why}")
        print(f"{self.passed.total()} passed, {self.failed.total()} failed")
        return 1 if self.failed.total() else 0
