"""The vectors and how answers are written down and judged: the same for every Python program here.

An answer is an object with one of the members `ok`, `error` and `trap`. Its canonical text is what hosts are compared by:
members sorted by name, nothing between them, members that are null left out, whole numbers without a fraction.
"""

import base64
import json
from pathlib import Path

EMBED = Path(__file__).resolve().parent.parent
ROOT = EMBED.parent.parent
INTEGER_MAX = 2**53 - 1


class Refused(Exception):
    """What a host refuses before it calls the core, with the core's own code."""

    def __init__(self, code, detail=""):
        super().__init__(detail or code)
        group = "host" if code == "host-misuse" else "input"
        self.answer = {"error": {"group": group, "code": code, "retryable": False, "pointer": "", "detail": detail}}


def vectors():
    """Yields (file, vector) of every conformance vector and of the cases of this folder, in a fixed order."""
    folder = ROOT / "spec" / "conformance"
    paths = sorted(folder.glob("*/*.json"), key=lambda path: path.relative_to(folder).as_posix())
    for path in [*paths, *sorted((EMBED / "cases").glob("*.json"))]:
        name = f"{path.parent.name}/{path.name}"
        for vector in json.loads(path.read_text("utf-8"))["vectors"]:
            yield name, vector


def canonical(value, nulls=False):
    """The canonical text of an answer or of a part of one; with `nulls`, members that are null are kept."""
    if isinstance(value, dict):
        names = sorted(name for name, part in value.items() if nulls or part is not None)
        members = (f"{json.dumps(name, ensure_ascii=False)}:{canonical(value[name], nulls)}" for name in names)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(part, nulls) for part in value) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) <= INTEGER_MAX:
        value = int(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def text_of(args):
    """The text that a vector gives as a string, as bytes or as a repetition."""
    if "bytes_base64url" in args:
        given = args["bytes_base64url"]
        try:
            return base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("json-encoding") from None
    if "text_repeat" in args:
        repeat = args["text_repeat"]
        return repeat.get("head", "") + repeat["unit"] * repeat["times"] + repeat.get("tail", "")
    return args["text"]


def number_of(value):
    """A number, or one that JSON cannot write: `{"$number": "NaN"}`."""
    return float(value["$number"]) if isinstance(value, dict) else float(value)


def refusal(vector, answer):
    """The refusal in an answer, if any: of a step or of a frame also one that comes back as a value."""
    value = answer.get("ok")
    if vector["function"] == "decide" and value:
        return (value.get("decision") or {}).get("problem") or {}
    if vector["function"] == "split" and value:
        response = None if value["batch"] else value["calls"][0].get("response")
        return json.loads(response)["error"]["data"] if response else {}
    return answer.get("error", {})


def fault(vector, answer):
    """What is wrong with the answer to a vector, or nothing."""
    if "error" in vector:
        error = refusal(vector, answer)
        fits = all(error.get(name) == vector["error"][name] for name in ("code", "pointer") if name in vector["error"])
        return None if fits and error else f"expected {canonical(vector['error'])}"
    if "ok" not in answer:
        return "expected to be accepted"
    if vector.get("ok", True) is not True and canonical(vector["ok"]) != canonical(answer["ok"]):
        return f"expected {canonical(vector['ok'])}"
    missing = [part for part in vector.get("contains", []) if part not in canonical(answer)]
    return f"expected to contain {missing}" if missing else None
