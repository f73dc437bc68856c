"""lldb's formatters for cairn: `command script import cairn_lldb.py` shows maps, tables, arenas,
pools and heaps by their contents (docs/debugging.md). What is shown stands in cairn_views.py.

    (lldb) frame variable foes              slot_map of 2 objects { [1:5] = (hp = 20, ...) }
    (lldb) cairn_find foes target           the object, or why there is none
"""
import importlib
import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
writes_bytecode = not sys.dont_write_bytecode
sys.dont_write_bytecode = True   # a package that is removed leaves nothing behind
try:
    import cairn_views
    importlib.reload(cairn_views)   # another one may have been loaded: of another installed cairn
finally:
    sys.path.pop(0)
    sys.dont_write_bytecode = not writes_bytecode


class Type:
    def __init__(self, type, process):
        if not type.IsValid():
            raise cairn_views.Unreadable("a type is not in the debug information")
        self.type = type.GetCanonicalType().GetUnqualifiedType()
        self.process = process
        self.name = self.type.GetName()

    @property
    def size(self):
        return self.type.GetByteSize()

    @property
    def align(self):
        """As far as debug information tells: alignas() is not seen."""
        if hasattr(self.type, "GetByteAlign") and self.type.GetByteAlign():
            return self.type.GetByteAlign()
        if self.type.IsArrayType():
            return Type(self.type.GetArrayElementType(), self.process).align
        return max([field.align for _, _, field in self.fields()] + self.base_aligns()
                   or [min(self.size, 16) or 1])

    def base_aligns(self):
        return [Type(self.type.GetDirectBaseClassAtIndex(i).GetType(), self.process).align
                for i in range(self.type.GetNumberOfDirectBaseClasses())]

    def fields(self):
        all = [self.type.GetFieldAtIndex(i) for i in range(self.type.GetNumberOfFields())]
        return [(f.GetName(), f.GetOffsetInBytes(), Type(f.GetType(), self.process)) for f in all
                if f.GetName()]

    def argument(self, i):
        return Type(self.type.GetTemplateArgumentType(i), self.process)

    def nested(self, name):
        found = self.type.FindDirectNestedType(name)
        if found.IsValid():
            return Type(found, self.process)
        for i in range(self.type.GetNumberOfDirectBaseClasses()):
            return Type(self.type.GetDirectBaseClassAtIndex(i).GetType(), self.process).nested(name)
        return Type(self.process.target.FindFirstType(f"{self.name}::{name}"), self.process)

    def target(self):
        if self.type.IsArrayType():
            return Type(self.type.GetArrayElementType(), self.process)
        return Type(self.type.GetPointeeType(), self.process)


class Value:
    def __init__(self, value, process):
        value = value.GetNonSyntheticValue()
        if value.GetType().GetCanonicalType().IsReferenceType():
            value = value.Dereference().GetNonSyntheticValue()
        self.value, self.process = value, process
        self.type = Type(value.GetType(), process)

    @property
    def address(self):
        at = self.value.GetLoadAddress()
        if at == lldb.LLDB_INVALID_ADDRESS:
            raise cairn_views.Unreadable("it is in no memory")
        return at

    def member(self, name):
        found = self.value.GetChildMemberWithName(name)
        if not found.IsValid():
            raise cairn_views.Unreadable(f"There is no member named {name}")
        return Value(found, self.process)

    def integer(self):
        """A number, an address; of a class, an atomic or an edge, its bytes as a number."""
        error = lldb.SBError()
        if self.value.GetType().GetCanonicalType().GetTypeClass() in (
                lldb.eTypeClassClass, lldb.eTypeClassStruct, lldb.eTypeClassUnion):
            data = self.value.GetData().ReadRawData(error, 0, self.type.size)
            if not error.Success():
                raise cairn_views.Unreadable(str(error))
            return int.from_bytes(data, "little")
        number = self.value.GetValueAsUnsigned(error)
        if not error.Success():
            raise cairn_views.Unreadable(str(error))
        return number

    def target(self):
        if self.value.GetType().GetCanonicalType().IsPointerType():
            return Value(self.value.Dereference(), self.process)
        return self

    def children(self):
        """The fields and those of the base classes."""
        type = self.value.GetType().GetCanonicalType()
        # lldb leaves empty base classes out of the children: a base is known by its name.
        bases = {type.GetDirectBaseClassAtIndex(i).GetName()
                 for i in range(type.GetNumberOfDirectBaseClasses())}
        for i in range(self.value.GetNumChildren()):
            found = self.value.GetChildAtIndex(i)
            child = Value(found, self.process)
            if found.GetName() in bases:
                yield from child.children()
            else:
                yield found.GetName(), child


class Process:
    def __init__(self, target):
        self.target = target
        self.process = target.GetProcess()

    @property
    def pointer_size(self):
        return self.target.GetAddressByteSize()

    def read(self, address, size):
        if not 0 <= address < 1 << 64:
            raise cairn_views.Unreadable(f"Cannot access memory at address {hex(address)}")
        error = lldb.SBError()
        data = self.process.ReadMemory(address, size, error) if size else b""
        if data is None or len(data) != size:
            raise cairn_views.Unreadable(f"Cannot access memory at address {hex(address)}")
        return data

    def at(self, address, type):
        return Value(self.target.CreateValueFromAddress(
            "value", lldb.SBAddress(address, self.target), type.type), self)

    def made(self, data, type):
        return Value(self.target.CreateValueFromData("value", self.data(data), type.type), self)

    def data(self, bytes):
        made = lldb.SBData()
        made.SetData(lldb.SBError(), bytes, self.target.GetByteOrder(), self.pointer_size)
        return made

    def find_type(self, name):
        found = self.target.FindFirstType(name)
        return Type(found, self) if found.IsValid() else None

    def symbol_at(self, address):
        return self.target.ResolveLoadAddress(address).GetSymbol().GetName()

    def address_of(self, symbol):
        for context in self.target.FindSymbols(symbol):
            at = context.GetSymbol().GetStartAddress().GetLoadAddress(self.target)
            if at != lldb.LLDB_INVALID_ADDRESS:
                return at
        return None

    def locals(self):
        frame = self.process.GetSelectedThread().GetSelectedFrame()
        for value in frame.GetVariables(True, True, False, True):
            yield value.GetName(), Value(value, self)


def view_of(value):
    process = Process(value.GetTarget())
    try:
        return process, cairn_views.Views(process).view(Value(value, process))
    except Exception as problem:
        return process, cairn_views.View(cairn_views.not_readable(problem))


def summary(value, _dictionary):
    return view_of(value)[1].summary


class Children:
    """What lldb asks for the children of an object. They are made one after the other."""

    def __init__(self, value, _dictionary):
        self.value = value
        self.update()

    def update(self):
        """Looks at nothing: lldb calls this for each value that a view only passes by."""
        self.rest = None
        self.made = []
        return False

    def make_up_to(self, count):
        if self.rest is None:
            self.process, view = view_of(self.value)
            self.rest = view.children()
        for name, child in self.rest:
            self.made.append(self.named(name, child))
            if len(self.made) >= count:
                return

    def named(self, name, child):
        """lldb gives a name when it makes a value."""
        target = self.process.target
        if isinstance(child, str):
            text = child.encode() + b"\0"
            type = target.GetBasicType(lldb.eBasicTypeChar).GetArrayType(len(text))
            return target.CreateValueFromData(name, self.process.data(text), type)
        type, at = child.type.type, child.value.GetLoadAddress()
        if at != lldb.LLDB_INVALID_ADDRESS:
            return target.CreateValueFromAddress(name, lldb.SBAddress(at, target), type)
        return target.CreateValueFromData(name, child.value.GetData(), type)

    def num_children(self, limit=cairn_views.children_max):
        self.make_up_to(limit)
        return len(self.made)

    def has_children(self):
        self.make_up_to(1)
        return bool(self.made)

    def get_child_at_index(self, index):
        self.make_up_to(index + 1)
        return self.made[index] if 0 <= index < len(self.made) else None

    def get_child_index(self, name):
        self.make_up_to(cairn_views.children_max)
        return next((i for i, child in enumerate(self.made) if child.GetName() == name), -1)


def find(debugger, command, result, _dictionary):
    """cairn_find STORE HANDLE: the object that the handle names in a slot_map, slot_table,
    stable_slot_map, shared_store or relocatable_heap; or why there is none. Both are variables, or
    members of variables."""
    words = command.split()
    if len(words) != 2:
        result.SetError("cairn_find STORE HANDLE")
        return
    target = debugger.GetSelectedTarget()
    frame = target.GetProcess().GetSelectedThread().GetSelectedFrame()
    process = Process(target)
    store, handle = (frame.GetValueForVariablePath(word) for word in words)
    for word, value in zip(words, (store, handle)):
        if not value.IsValid():
            result.SetError(f"there is no {word} here")
            return
    found = cairn_views.Views(process).find(Value(store, process).target(), Value(handle, process))
    result.AppendMessage(str(found.value) if isinstance(found, Value) else found)


def __lldb_init_module(debugger, _dictionary):
    prefix = r"^cairn::(v[0-9]+_[0-9]+[a-z_]*::)?(detail::)?"
    here = __name__
    for name in cairn_views.views:
        outer = cairn_views.inside.get(name)
        pattern = (f'"{prefix}({"|".join(outer)})(<.*>)?::{name}$"' if outer else
                   f'"{prefix}{name}(<.*>)?$"')
        debugger.HandleCommand(f"type summary add -w cairn -p -e -F {here}.summary -x {pattern}")
        debugger.HandleCommand(f"type synthetic add -w cairn -p -l {here}.Children -x {pattern}")
    debugger.HandleCommand("type category enable cairn")
    debugger.HandleCommand(f"command script add -o -f {here}.find cairn_find")
