"""gdb's printers for cairn: `source cairn_gdb.py` shows maps, tables, arenas, pools and heaps by
their contents (docs/debugging.md). What is shown stands in cairn_views.py.

    (gdb) print foes                        slot_map of 2 objects = {[1:5] = {hp = 20}, ...}
    (gdb) print $cairn_find(foes, target)   the object, or why there is none
"""
import importlib
import os
import sys

import gdb

# Not __file__, which is that of the outermost script where one sources another.
here = os.path.dirname(os.path.abspath(sys._getframe().f_code.co_filename))
sys.path.insert(0, here)
writes_bytecode = not sys.dont_write_bytecode
sys.dont_write_bytecode = True   # a package that is removed leaves nothing behind
try:
    import cairn_views
    importlib.reload(cairn_views)   # another one may have been loaded: of another installed cairn
finally:
    sys.path.pop(0)
    sys.dont_write_bytecode = not writes_bytecode


def plain(type):
    """Without typedefs, references, const and volatile."""
    type = type.strip_typedefs()
    while type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        type = type.target().strip_typedefs()
    return type.unqualified()


class Type:
    def __init__(self, type):
        self.type = plain(type)
        self.name = self.type.name or str(self.type)

    @property
    def size(self):
        return self.type.sizeof

    @property
    def align(self):
        return self.type.alignof or 1

    def fields(self):
        if self.type.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return []
        return [(f.name, f.bitpos // 8, Type(f.type)) for f in self.type.fields()
                if hasattr(f, "bitpos") and f.name]

    def argument(self, i):
        return Type(self.type.template_argument(i))

    def nested(self, name):
        return Type(gdb.lookup_type(f"{self.name}::{name}"))

    def target(self):
        return Type(self.type.target())


class Value:
    def __init__(self, value):
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        self.value = value
        self.type = Type(value.type)

    @property
    def address(self):
        if self.value.address is None:
            raise cairn_views.Unreadable("it is in no memory")
        return int(self.value.address)

    def member(self, name):
        try:
            return Value(self.value[name])
        except gdb.error as problem:
            raise cairn_views.Unreadable(str(problem).rstrip("."))

    def integer(self):
        """A number, an address; of a class, an atomic or an edge, its bytes as a number."""
        if self.type.type.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return int.from_bytes(process.read(self.address, self.type.size), "little")
        return int(self.value)

    def target(self):
        if self.value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            return Value(self.value.dereference())
        return self

    def children(self):
        """The fields and those of the base classes."""
        for field in self.type.type.fields():
            if field.is_base_class:
                yield from Value(self.value[field]).children()
            elif hasattr(field, "bitpos"):
                yield field.name, Value(self.value[field])


class Process:
    @property
    def pointer_size(self):
        return gdb.lookup_type("char").pointer().sizeof

    def read(self, address, size):
        try:
            return gdb.selected_inferior().read_memory(address, size).tobytes()
        except (gdb.error, OverflowError) as problem:
            raise cairn_views.Unreadable(str(problem).rstrip("."))

    def at(self, address, type):
        return Value(gdb.Value(address).cast(type.type.pointer()).dereference())

    def made(self, data, type):
        return Value(gdb.Value(data, type.type))

    def find_type(self, name):
        try:
            return Type(gdb.lookup_type(name))
        except gdb.error:
            return None

    def symbol_at(self, address):
        text = gdb.execute(f"info symbol {address}", to_string=True)
        return text.split(" in section ")[0].split(" + ")[0]

    def address_of(self, symbol):
        try:
            return int(gdb.parse_and_eval(f"(unsigned long) &'{symbol}'"))
        except gdb.error:
            return None

    def locals(self):
        try:
            frame = gdb.selected_frame()
            block = frame.block()
        except (gdb.error, RuntimeError):
            return
        seen = set()
        while block is not None:
            for symbol in block:
                if (symbol.is_variable or symbol.is_argument) and symbol.name not in seen:
                    seen.add(symbol.name)
                    try:
                        yield symbol.name, Value(symbol.value(frame))
                    except (gdb.error, RuntimeError):
                        pass
            if block.function is not None:
                return
            block = block.superblock


process = Process()
views = cairn_views.Views(process)


class Printer:
    def __init__(self, value):
        self.view = views.view(Value(value))

    def to_string(self):
        return self.view.summary

    def display_hint(self):
        return "array" if self.view.counted else None


class ParentPrinter(Printer):
    def children(self):
        for name, child in self.view.children():
            yield name, child.value if isinstance(child, Value) else child


class Lookup:
    """All printers under one name, that of `disable pretty-printer global cairn`."""
    name = "cairn"
    enabled = True
    subprinters = None

    def __call__(self, value):
        if plain(value.type).code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return None
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        if cairn_views.class_of(plain(value.type).name) not in cairn_views.views:
            return None
        printer = ParentPrinter(value)
        return printer if printer.view.make is not None else Printer(value)


class Find(gdb.Function):
    """$cairn_find(store, handle): the object that the handle names in a slot_map, slot_table,
    stable_slot_map, shared_store or relocatable_heap; or a string that says why there is none."""

    def __init__(self):
        super().__init__("cairn_find")

    def invoke(self, store, handle):
        store, handle = Value(store), Value(handle)
        found = views.find(store.target(), handle)
        return found.value if isinstance(found, Value) else found


def register(objfile=None):
    printers = gdb.pretty_printers if objfile is None else objfile.pretty_printers
    printers[:] = [p for p in printers if getattr(p, "name", "") != Lookup.name]
    printers.insert(0, Lookup())
    Find()


def allow_large_values():
    """gdb shows no value above 64 KiB by itself; the node_pool of a checked build has 150."""
    limit = gdb.parameter("max-value-size")   # None: unlimited
    if limit is not None and limit < 1 << 20:
        gdb.execute(f"set max-value-size {1 << 20}")


allow_large_values()
register(gdb.current_objfile())
