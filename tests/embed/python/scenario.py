"""Performs the scenarios of the conformance vectors, described in spec/conformance/README.md, against a store in memory."""

import json

from corpus import canonical
from store import Store, Unanswered, operate


class Missing(Exception):
    """Nothing was kept under the name that a step wants."""


def scenario(call, args):
    """Performs the steps: an answer whose `ok` has, for each, what every `decide` told, or why there was no call."""
    start = call("parse-time", {"text": args["start"]})
    if "ok" not in start:
        return start
    store, kept, told, offset = Store(), {}, [], 0
    try:
        for index, step in enumerate(args["steps"]):
            offset = step.get("at", offset)
            try:
                request = request_of(args, step, kept)
            except Missing as missing:
                told.append({"skipped": str(missing)})
                continue
            entropy = f"{index + 1:064x}"
            given = {"request": request, "now": start["ok"] + offset, "entropy": entropy}
            entry = operate(call, store, {**given, "evaluated": step.get("evaluated", [])})
            told.append(entry)
            keep(step, entry, kept)
    except Unanswered as unanswered:
        return unanswered.answer
    return {"ok": told}


def request_of(args, step, kept):
    params = step["text"] if "text" in step else canonical(substitute(step["params"], kept), nulls=True)
    request = {"operation": step["method"], "params": params, "instance": step.get("instance", "host-1")}
    if "context" in step:
        request["context"] = step["context"]
    if step.get("as") is not None:
        principal = {"tenant": "default", "authentication": f"authn_{step['as']}-session", **args["principals"][step["as"]]}
        request["principal"] = principal
    return request


def substitute(value, kept):
    """The value with every `{"$var": name}` replaced by what was kept under the name."""
    if isinstance(value, list):
        return [substitute(item, kept) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("$var"), str):
        if value["$var"] not in kept:
            raise Missing(value["$var"])
        return kept[value["$var"]]
    return {name: substitute(part, kept) for name, part in value.items()}


def decision(entry):
    """The first decision of a call: what its caller was answered with."""
    decided = (step["decision"] for step in entry.get("steps", []) if step["kind"] == "ready")
    return next(decided, None)


def keep(step, entry, kept):
    answered = decision(entry)
    for name, pointer in step.get("keep", {}).items():
        found = answered and look(json.loads(answered["response"]), pointer)
        if found is not None:
            kept[name] = found


def look(value, pointer):
    """What a JSON Pointer leads to, or nothing."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value


def unexpected(args, told):
    """The first step whose caller was answered with another status, code or pointer than expected, or nothing."""
    for index, (step, entry) in enumerate(zip(args["steps"], told, strict=True)):
        answered = decision(entry)
        if answered is None:
            return f"step {index + 1}: no decision"
        refused = answered["status"] == "refused"
        if refused != ("error" in step):
            return f"step {index + 1}: {answered['response']}"
        data = json.loads(answered["response"]).get("data", {}) if refused else {}
        if any(data[name] != step["error"][name] for name in ("code", "pointer") if refused and name in step["error"]):
            return f"step {index + 1}: {answered['response']}"
    return None
