"""The smallest host that can be: a store in memory and the loop around `decide`.

`story` is a function of the cases in this folder, not of the core: several calls against one fresh store.
"""

STEPS_MAX = 100


class Store:
    """Rows by collection and id; each is a dict with `id`, `revision`, `body`, `entries` and a `stamp`."""

    def __init__(self):
        self.rows = {}
        self.stamp = 0

    def answer(self, query):
        """The rows for a query, which is echoed."""
        found = []
        for row in self.rows.get(query["collection"], {}).values():
            keys = [row["id"]]
            if query["index"]:
                keys = [entry["key"] for entry in row["entries"] if entry["index"] == query["index"]]
            found += [(key.encode(), row["stamp"], key, row) for key in keys if inside(query, key)]
        found.sort(key=lambda item: item[:2], reverse=query.get("reverse", False))
        page = cut(query, found)
        rows = [
            {"id": row["id"], "key": key, "revision": row["revision"], "body": row["body"]}
            for _, _, key, row in page
        ]
        return {"query": query, "rows": rows, "more": len(found) > len(page)}

    def commit(self, decision, revision):
        """Applies the writes and keeps the audit records. `revision` is put in place of the next one, where it is given."""
        for write in decision["writes"]:
            rows = self.rows.setdefault(write["collection"], {})
            known = rows.get(write["id"], {"revision": 0})
            if known["revision"] != write["expected"]:
                raise AssertionError(f"revision of {write['collection']} {write['id']}")
            if write.get("body") is None:
                rows.pop(write["id"])
            else:
                following = write["expected"] + 1 if revision is None else revision
                self.put(rows, write["id"], following, write, known)
        for record in decision["audit"]:
            rows = self.rows.setdefault("audit", {})
            self.put(rows, f"{len(rows) + 1:016}", 1, record, {})

    def put(self, rows, name, revision, source, known):
        self.stamp += 1
        stamp = known.get("stamp", self.stamp)
        rows[name] = {
            "id": name, "revision": revision, "body": source["body"], "entries": source["entries"], "stamp": stamp,
        }


def cut(query, found):
    """The first ones, up to the limit; no more bytes of bodies than the bound, but always one."""
    page, size = found[: query["limit"]], 0
    for count, (_, _, _, row) in enumerate(page):
        size += len(row["body"].encode())
        if query.get("bytes") and count and size > query["bytes"]:
            return page[:count]
    return page


def unavailable(asked):
    """What a host answers that has no engine for policies."""
    return {**asked, "end": "unavailable", "verdict": None, "facts": []}


def inside(query, key):
    start, end, key = query["start"].encode(), query.get("end"), key.encode()
    return key == start if end is None else start <= key < end.encode()


class Unanswered(Exception):
    """The core gave no step: it refused the host, or trapped."""

    def __init__(self, answer):
        super().__init__(str(answer))
        self.answer = answer


def operate(call, store, args, revision=None):
    """Runs one operation to its end, by `call("decide", …)`: what was told in every step. Pages are committed in turn.

    Before each step but the first the instance is asked to go on by what is new, and must say the same.
    """
    steps, answers, evaluated, request = [], [], args.get("evaluated", []), args["request"]
    new = None
    while len(steps) < STEPS_MAX:
        resumed = None if new is None else call("resume", {"entropy": args["entropy"], **new})
        answer = call("decide", {**args, "request": request, "answers": answers, "evaluated": evaluated})
        if resumed is not None and resumed != answer:
            raise AssertionError(f"goes on to {resumed} and decides {answer}")
        if "ok" not in answer:
            raise Unanswered(answer)
        step = answer["ok"]
        steps.append(step)
        if step["kind"] == "needs":
            found = [store.answer(query) for query in step["queries"]]
            ended = [unavailable(asked) for asked in step["evaluations"]]
            new = {"found": [{"rows": one["rows"], "more": one["more"]} for one in found], "evaluated": ended}
            answers, evaluated = answers + found, evaluated + ended
            continue
        if step["kind"] == "wait":
            break
        store.commit(step["decision"], revision)
        cursor = step["decision"].get("proceed")
        if cursor is None:
            break
        # A continuation belongs to no trace.
        answers, evaluated, request, new = [], [], {**request, "cursor": cursor, "context": []}, None
    return {"rounds": len(steps), "steps": steps}


def story(call, args):
    """Performs the calls of a story: an answer whose `ok` has all steps of every call."""
    store, told = Store(), []
    try:
        for part in args["calls"]:
            request = {**args["common"]["request"], **part["request"]}
            told.append(operate(call, store, {**args["common"], "request": request}, part.get("stored_revision")))
    except Unanswered as unanswered:
        return unanswered.answer
    return {"ok": told}
