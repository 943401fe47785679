"""The component through PyPI's wasmtime, loaded raw: no bindings were generated.

What wasmtime hands over is untagged where the classes of the cases differ and tagged where they do not, so results are
read by their declared types and never by what they look like. Nothing of it reaches a caller: answers are plain JSON.
"""

from wasmtime import Engine, Store, Trap, WasmtimeError
from wasmtime.component import (
    Component, F64, Linker, ListType, OptionType, Record, RecordType, ResultType, U32, Variant,
)

from corpus import Refused, number_of, text_of

PACKAGE, VERSION = "threadmesh:core", "0.2.0"
ERROR_FIELDS = {"group", "code", "retryable", "pointer", "detail"}
U32_MAX = 2**32 - 1

# function of the vectors: (interface, function of the interface, arguments)
TEXT, NOW = "(text)", "(now)"
FUNCTIONS = {
    "canonicalize": ("canonical-json", "canonicalize", [TEXT]),
    "digest": ("canonical-json", "digest", [TEXT]),
    "parse-time": ("canonical-json", "parse-time", [TEXT]),
    "check": ("documents", "check", ["kind", TEXT]),
    "describe": ("about", "describe", []),
    "kinds": ("documents", "kinds", []),
    "verify": ("attestation", "verify", ["document", "anchors", "expected", NOW]),
    "check-anchors": ("attestation", "check-anchors", ["anchors"]),
    "verify-disposition": ("attestation", "verify-disposition", ["document", "anchors", NOW]),
    "step": ("lifecycle", "step", ["machine", "state", "event"]),
    "check-reason": ("lifecycle", "check-reason", ["state", "reason"]),
    "check-combination": ("lifecycle", "check-combination", ["states"]),
    "decide": ("coordinator", "decide", ["request", "answers", "evaluated", NOW, "entropy"]),
    "resume": ("coordinator", "resume", ["entropy", "found", "evaluated"]),
    "check-principal": ("coordinator", "check-principal", ["principal"]),
    "operations": ("coordinator", "operations", []),
    "split": ("coordinator", "split", [TEXT]),
}


class Core:
    """One world of the component. `call` answers by the names of the conformance vectors."""

    def __init__(self, path):
        self.engine = Engine()
        self.component = Component.from_file(self.engine, str(path))
        kind = self.component.type
        self.imports = sorted(kind.imports(self.engine))
        self.exports = sorted(kind.exports(self.engine))
        self.fresh()

    def fresh(self):
        """A fresh instance."""
        self.store = Store(self.engine)
        self.instance = Linker(self.engine).instantiate(self.store, self.component)
        self.known = {}

    def has(self, function):
        """Whether this world has the function."""
        return function in FUNCTIONS and f"{PACKAGE}/{FUNCTIONS[function][0]}@{VERSION}" in self.exports

    def call(self, function, args):
        """Answers a call with `{"ok"}`, `{"error"}` or `{"trap"}`."""
        interface, name, parameters = FUNCTIONS[function]
        func, kind = self.function(interface, name)
        try:
            given = [argument(parameter, args) for parameter in parameters]
            lowered = [lower(ty, value) for (_, ty), value in zip(kind.params, given, strict=True)]
            result = func(self.store, *lowered)
        except Refused as refused:
            return refused.answer
        except UnicodeEncodeError:
            # A lone surrogate: wasmtime cannot write it as UTF-8, so nothing was called.
            return Refused("json-encoding").answer
        except (Trap, WasmtimeError) as trap:
            self.fresh()
            return {"trap": str(trap)}
        return lift_answer(function, kind.result, result)

    def function(self, interface, name):
        if (interface, name) not in self.known:
            outer = self.instance.get_export_index(self.store, f"{PACKAGE}/{interface}@{VERSION}")
            inner = self.instance.get_export_index(self.store, name, outer)
            func = self.instance.get_func(self.store, inner)
            self.known[interface, name] = (func, func.type(self.store))
        return self.known[interface, name]


# What a vector may leave out, by the name of the argument or of the member.
LEFT_OUT = {"bytes": 0, "context": [], "evaluated": [], "facts": [], "more": False, "reverse": False}


def argument(parameter, args):
    if parameter == TEXT:
        return text_of(args)
    if parameter == NOW:
        return number_of(args["now"])
    return args.get(parameter, LEFT_OUT[parameter]) if parameter in LEFT_OUT else args[parameter]


def camel(name):
    head, *rest = name.split("-")
    return head + "".join(part.capitalize() for part in rest)


def lower(ty, value):
    """JSON as wasmtime wants it for a parameter of this type."""
    if isinstance(ty, F64):
        return float(value)
    if isinstance(ty, U32):
        # wasmtime would wrap what does not fit.
        if not 0 <= value <= U32_MAX:
            raise Refused("host-misuse", f"{value} is no 32-bit number")
        return value
    if isinstance(ty, OptionType):
        return None if value is None else lower(ty.payload, value)
    if isinstance(ty, ListType):
        return [lower(ty.element, item) for item in value]
    if isinstance(ty, RecordType):
        record = Record()
        for name, field in ty.fields:
            setattr(record, name, lower(field, value.get(camel(name), LEFT_OUT.get(name))))
        return record
    return value


def lift(ty, value):
    """What wasmtime returned for a result of this type, as JSON."""
    if isinstance(value, Variant):
        value = value.payload
    if value is None:
        return None
    if isinstance(ty, OptionType):
        return lift(ty.payload, value)
    if isinstance(ty, ListType):
        return [lift(ty.element, item) for item in value]
    if isinstance(ty, RecordType):
        return {camel(name): lift(field, getattr(value, name)) for name, field in ty.fields}
    return value


def lift_answer(function, ty, value):
    if not isinstance(ty, ResultType):
        found = lift(ty, value)
        if function == "check-principal":
            return {"error": found} if found else {"ok": True}
        return {"ok": found}
    if isinstance(value, Variant):
        failed = value.tag == "err"
    else:
        failed = isinstance(value, Record) and set(vars(value)) == ERROR_FIELDS
    return {"error": lift(ty.err, value)} if failed else {"ok": lift(ty.ok, value)}
