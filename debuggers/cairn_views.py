"""What cairn's objects look like in memory, and what a debugger shows of them.

    cairn_gdb.py  ---+                            +--- members: the names of the data members
                     +--- view(value) --- views --+
    cairn_lldb.py ---+       |                    +--- a function for each class
                             v
                       View(summary, children)

Knows no debugger: both bring a `Value`, a `Type` and a `Process` (below). Reads memory and debug
information only and never calls a function of the program, so core files are shown, too.

Whatever stands in memory, no view raises, loops for long or allocates much: it may be garbage, of
an object that has not begun or has ended. What cannot be read is shown as `<not readable: why>`.

Interface of a debugger, which raises Unreadable where it cannot answer:
    Value    type, address, member(name), integer(), target() of a pointer, children()
    Type     name (without const), size, align, fields(): [(name, offset, Type)], argument(i),
             nested(name), target() of a pointer or an array
    Process  read(address, size), at(address, Type), made(bytes, Type), find_type(name),
             symbol_at(address), address_of(symbol), locals(): [(name, Value)], pointer_size
"""
import re
import struct

# ---- members: class -> what the views call it: where it lies -------------------------------------
# A path leads through members and base classes. This is the one place that knows their names.
members = {
    "handle": {"raw": "raw_"},
    "slot_rows": {
        "slots": "slots_", "handles": "handles_", "rows": "rows_", "limbo": "limbo_.size_"},
    "polymorphic_store": {"types": "types_"},
    "typed_rows": {"slots": "slots_", "handles": "handles_", "rows": "rows_"},
    "open_types": {"entries": "entries_"},
    "any_rows_of": {"typed": "typed"},
    "slot_directory": {
        "slots": "slots_", "capacity": "capacity_", "live": "live_",
        "promised": "promised_count_", "worn_out": "worn_out_count_"},
    "stable_slot_map": {
        "begun": "slots_.begun_count_", "top": "slots_.top_", "ended": "slots_.ended_count_",
        "chunks": "slots_.table_.data", "chunk_count": "slots_.table_.size",
        "slots_log2": "slots_.rules_.slots_log2"},
    "stable_chunk_entry": {"state": "state", "objects": "objects"},
    "stable_iterator": {
        "slots": "slots_", "first": "first_", "left": "left_", "objects": "objects_"},
    "unique_handle": {"store": "store_", "handle": "handle_"},
    "shared_handle": {"store": "store_", "handle": "handle_"},
    "deferred_store": {"map": "map_", "waiting": "waiting_count_"},
    "shared_store": {"map": "map_", "cells": "cells_.blocks_", "cell_size": "cells_.cell_size_"},
    "packed_array": {"data": "rows_", "size": "size_", "capacity": "capacity_"},
    "table": {
        "base": "m_.base", "size": "m_.size", "pitch": "m_.pitch", "capacity": "m_.capacity"},
    "table_view": {"base": "base_", "pitch": "capacity_", "first": "first_", "size": "size_"},
    "table_row": {"base": "base_", "pitch": "capacity_", "index": "index_"},
    "split_ref": {"components": "components_"},
    "blocked_span": {"first": "first_", "block_size": "block_size_", "count": "count_"},
    "split_span": {"components": "components_", "count": "count_"},
    "index_iterator": {"view": "view_", "index": "index_"},
    "row_iterator": {"row": "row_"},
    "found_row": {"is_there": "is_there_", "row": "holder_.row"},
    "attached_column": {"data": "memory_.data_", "rows": "rows_", "row_count": "size"},
    "row_batches": {"rows": "rows_", "step": "step_"},
    "growable_memory": {"data": "data_", "size": "size_", "reserved": "reserved_"},
    "slice": {"data": "data_", "count": "count_"},
    "builder": {"begin": "begin_", "end": "end_", "limit": "limit_"},
    "string_pool": {"entries": "entries_", "room": "room_", "count": "count_"},
    "message_queue": {
        "cells": "cells_", "capacity": "capacity_", "head": "ring_.head_", "tail": "ring_.tail_"},
    "per_thread": {"first": "slots_.first", "count": "slots_.count", "shared": "shared_.value"},
    "arena": {"top": "region_.top_", "begin": "region_.begin_", "end": "region_.end_"},
    "virtual_arena": {"reserved_end": "reserved_end_"},
    "growing_arena": {
        "used": "used_", "spare": "spare_", "full_size": "full_size_", "held": "held_size_",
        "block_count": "block_count_"},
    "arena_high_end": {"low": "low_", "limit": "limit_"},
    "double_ended_arena": {"low": "low_", "high": "high_"},
    "frame_arena": {"arenas": "arenas_", "active": "active_"},
    "arena_scope": {"arena": "arena_", "newest": "newest_", "older": "older"},
    "marker": {"top": "at_.top"},
    "pool": {
        "latest": "latest_", "top": "top_", "floor": "floor_", "carve": "carve_",
        "stride": "stride_",
        "chunks": "chunks_", "chunk_count": "chunk_count_", "selected": "selected_",
        "slot_count": "slot_count_"},
    "pool_chunk": {"first": "first", "carved_end": "carved_end", "slot_count": "slot_count"},
    "concurrent_pool": {
        "slots": "slot_count_", "chunks": "chunks_", "chunk_count": "chunk_count_",
        "depot": "depot_", "caches": "caches"},
    "depot": {"full": "batches_"},
    "concurrent_heap": {"units": "units_", "cache_count": "cache_count"},
    "unit_store": {"size": "segment_size_"},
    "tagged_arenas": {
        "tags": "tag_count_", "blocks": "block_count_", "free": "free_count_",
        "size": "taken_size_"},
    "slot_chunk": {"free_count": "free_count"},
    "magazine": {"count": "count", "next": "next"},
    "cache": {"top": "top", "floor": "floor", "spare": "spare", "next": "next_of_owner"},
    "local_view": {"pool": "pool_"},
    "object_pool": {
        "stack": "slots_.stack_", "idle": "slots_.idle_count_", "blocks": "slots_.blocks_",
        "slot_size": "slots_.slot_size_", "state": "slots_.state_offset_",
        "first": "slots_.first_offset_", "built": "built_count_"},
    "object_block": {"next": "next", "count": "count"},
    "concurrent_object_pool": {"built": "built_", "count": "built_count_"},
    "concurrent_slot": {"mark": "mark", "next": "next"},
    "lease": {"object": "object_"},
    "node_pool": {"pools": "pools_"},
    "heap": {
        "count": "regions_.count_", "regions": "regions_.entries_",
        "joined": "bins_.books_.joined_end_", "ahead": "bins_.books_.ahead_",
        "left": "bins_.books_.left_"},
    "heap_entry": {"region": "region"},
    "relocatable_heap": {
        "base": "base_", "slots": "slots_", "size": "region_size_", "lowest": "map_.lowest_",
        "granules": "map_.granules_", "free": "map_.free_granules_",
        "entries": "map_.entries_.data_"},
    "object_entry": {
        "place": "place", "granules": "granules", "after": "after", "pins": "pins",
        "unused": "unused"},
    "relocatable": {"heap": "heap_", "handle": "handle_"},
    "frame_ptr": {"object": "object_"},
    "pinned": {"object": "object_"},
    "concurrent_relocatable_heap": {"heap": "heap_"},
    "held": {"word": "word_", "address": "address_"},
    "offset_heap": {
        "nodes": "nodes_", "node_count": "node_count_", "first": "first_", "live": "live_count_",
        "capacity": "capacity_"},
    "offset_node": {
        "offset": "offset", "size": "size", "next": "next", "generation": "generation",
        "kind": "kind"},
    "allocator_ref": {"self": "self_", "ops": "ops_"},
    "forwards": {"inner": "inner_"},
    "tracked": {
        "live_count": "tracker_.stats_.live_count", "live_size": "tracker_.stats_.live_size",
        "peak": "tracker_.stats_.peak_size", "name": "tracker_.options_.name"},
    "failing": {"requests": "request_count_", "refused": "refused_count_", "live": "live_size_"},
    "budget": {"live": "live_size_", "limit": "limit_size_", "refused": "refused_count_"},
    "guarded": {"live": "guard_.blocks_.count_", "quarantined": "guard_.quarantined_count_"},
    "named": {"name": "watch_.name_"},
    "collected_heap": {"region": "region_"},
    "collected_region": {
        "begin": "begin", "lives": "lives", "used": "used_size", "roots": "root_count",
        "type_count": "type_count", "phase": "now", "first_chunk": "first_chunk",
        "end_chunk": "end_chunk", "used_types": "used_types", "types": "types"},
    "type_record": {"type": "type", "chunks": "chunk_count"},
    "collected_type": {"name": "name", "length": "name_length"},
    "ref": {"name": "name_"},
    "root": {"object": "object"},
    "weak_ref": {"target": "target_", "life": "life_", "start": "start_"},
    "ref_array": {"buffer": "buffer_", "size": "size_"},
    "outer_ref": {"name": "name_", "heap": "heap_"},
    "traced": {"container": "container_"},
    "alignment": {"log2": "log2_"},
    "short_text": {"text": "text_", "size": "size_"},
}

# What a debugger may not be told: where the library has no debug information, there is none of
# classes that only the library looks into.
directory_slot = struct.Struct("<II")      # directory_slot: word, value
heap_region = struct.Struct("<III")        # region: granules, free ones, offset of the blocks
heap_header = struct.Struct("<II")         # block_header: size and bits, previous
arena_block = struct.Struct("<QQQQ")       # growing_arena::block: next, size, serial, top
string_entry = struct.Struct("<QII")       # string_pool::entry: text, size, hash
object_state = struct.Struct("<II")        # object_slots::state: tag, position
offset_kinds = ["unused", "free", "used", "pinned", "moving", "reserved"]
collector_phases = ["idle", "marking", "marking", "before collecting", "sweeping"]
collected_chunk = 16384
vacant = 0x8000_0000
none32 = 0xFFFF_FFFF
granule = 16
free_bit, deferred_bit = 1 << 30, 1 << 31
skew_lines = 5
line = 64                                  # 128 on Apple's arm64 (core/alignment.hpp)

children_max = 2000     # of one object
steps_max = 20000       # of one walk through memory
text_max = 200          # characters of a string


class Unreadable(Exception):
    pass


class View:
    """What is shown: a summary, and children: (name, Value or str), made when they are asked for.
    `counted`: the children are an array: their names say nothing."""

    def __init__(self, summary, children=None, counted=False):
        self.summary = summary
        self.make = children
        self.counted = counted

    def children(self):
        """At most children_max; what fails on the way ends the list."""
        if self.make is None:
            return
        try:
            for n, child in enumerate(self.make()):
                if n == children_max:
                    yield "...", "and more"
                    return
                yield child
        except Exception as problem:
            yield "...", not_readable(problem)


def not_readable(problem):
    return f"<not readable: {problem}>"


class Members:
    """The members of a value, by the names that the table above gives them."""

    def __init__(self, value, of):
        self._value, self._of = value, of

    def __getattr__(self, what):
        path = members[self._of][what]
        at = self._value
        for name in path.split("."):
            at = at.member(name)
            if class_of(at.type.name) == "moved":  # a number that is 0 after it was moved from
                at = at.member("value_")
        return at

    def integer(self, what):
        return self.__getattr__(what).integer()

    def has(self, what):
        try:
            getattr(self, what)
            return True
        except Exception:
            return False


# ---- text ----------------------------------------------------------------------------------------
def counted(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size_text(size):
    """As size_text() of cairn/std/text.hpp."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            break
        size /= 1024
    else:
        unit = "EiB"
    return f"{int(size)} {unit}" if size == int(size) else f"{size:.1f} {unit}"


def named(text, name):
    return f'{text} "{name}"' if name else text


def hexadecimal(address):
    return f"0x{address:x}"


# ---- types ---------------------------------------------------------------------------------------
own_name = re.compile(r"^(?:(?:const|volatile|class|struct|union) )*(cairn::(?:v\d+_\d+\w*::)?)"
                      r"(?:detail::)?(\w+)(?:<.*>)?(?:::(\w+))?$", re.DOTALL)
inside = {"marker": ("arena", "growing_arena", "virtual_arena", "arena_high_end"),   # classes in classes
          "local_view": ("concurrent_pool",)}


def class_of(name):
    """cairn::v0_1_checked::slot_map<int>: slot_map; of another library: None."""
    found = own_name.match(name or "")
    if not found:
        return None
    outer, inner = found.group(2), found.group(3)
    return outer if inner is None else inner if outer in inside.get(inner, ()) else None


def namespace_of(name):
    """cairn::v0_1_checked:: of the name of one of its types."""
    return own_name.match(name).group(1)


def arguments(name):
    """The template arguments in the name of a type, as text."""
    start = name.find("<")
    if start < 0:
        return []
    result, depth, begin = [], 0, start + 1
    for at in range(start + 1, len(name)):
        c = name[at]
        if c in "<({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
        elif c == ">":
            if depth == 0:
                result.append(name[begin:at].strip())
                break
            depth -= 1
        elif c == "," and depth == 0:
            result.append(name[begin:at].strip())
            begin = at + 1
    return result


def number(text):
    found = re.search(r"(\d+)[uUlL]*$", text)
    return int(found.group(1)) if found else None


class Views:
    def __init__(self, process):
        self.process = process
        self.layouts = {}   # name of a table type -> how its rows are read
        self.fields = {}    # name of a type of the program -> its fields

    # ---- entry points ----------------------------------------------------------------------------
    def view(self, value):
        """The view of a value of one of cairn's types."""
        try:
            kind = class_of(value.type.name)
            return views[kind](self, value)
        except Exception as problem:
            return View(not_readable(problem))

    def find(self, store, handle):
        """What `handle` names in `store`, or a sentence."""
        try:
            name = class_of(handle.type.name)
            if name in ("unique_handle", "shared_handle"):
                handle = Members(handle, name).handle
            index, generation = self.handle_parts(handle)[:2]
            if index is None:
                return "null: it names nothing"
            return self.locate(store, index, generation, self.handle_parts(handle)[2])
        except Exception as problem:
            return not_readable(problem)

    # ---- memory ----------------------------------------------------------------------------------
    def word(self, address):
        size = self.process.pointer_size
        return int.from_bytes(self.process.read(address, size), "little")

    def unpack(self, what, address):
        return what.unpack(self.process.read(address, what.size))

    def check(self, address, count, size, what):
        """Raises where `count` elements of `size` bytes are no memory of this process."""
        if count == 0:
            return
        if count * size >= 1 << 47 or address == 0 or count < 0:
            raise Unreadable(f"{count} {what} at {hexadecimal(address)}")
        self.process.read(address, 1)
        self.process.read(address + (count - 1) * size, 1)

    def elements(self, address, count, element, name="[{}]"):
        def make():
            for i in range(count):
                yield name.format(i), self.process.at(address + i * element.size, element)
        return make

    def string(self, address):
        """The text at `address`, up to its 0."""
        if address == 0:
            return ""
        text = b""
        while len(text) < text_max and b"\0" not in text:
            try:
                text += self.process.read(address + len(text), 16 - (address + len(text)) % 16)
            except Exception:
                break
        return text.split(b"\0")[0][:text_max].decode("utf-8", "replace")

    def name_of(self, value):
        """The name that a checked build knows an allocator by."""
        try:
            name = self.string(Members(value, "named").integer("name"))
        except Exception:
            return ""
        return "" if name.startswith("cairn ") else name   # that of a mapping

    # ---- handles ---------------------------------------------------------------------------------
    def bits_of(self, of):
        """(bits, index bits, user bits) of a handle type, or of a policy, by its name."""
        given = [number(a) for a in arguments(of)]
        if class_of(of.split("<")[0]) == "handle":
            given = given[1:]
            bits, index, user = (given + [None] * 3)[:3]
        else:
            bits, index, _, _, user = (given + [None] * 5)[:5]
        bits = bits or 64
        return bits, index or {64: 32, 32: 20, 16: 10}[bits], user or 0

    def bits_in(self, store):
        """The same of the handles of a map."""
        for policy in arguments(store.type.name)[1:]:
            if class_of(policy.split("<")[0]) == "slot_policy":
                return self.bits_of(policy.split("::tagged")[0])
        return self.bits_of(store.type.nested("handle_type").name)

    def split(self, raw, bits):
        """index, generation, user of the bits of a handle."""
        bits, index_bits, user_bits = bits
        generation_bits = min(31, bits - index_bits - user_bits)
        return (raw & ((1 << index_bits) - 1), raw >> index_bits & ((1 << generation_bits) - 1),
                raw >> (bits - user_bits) if user_bits else None)

    def handle_parts(self, handle):
        if class_of(handle.type.name) == "offset_allocation":
            index, generation = handle.member("index").integer(), handle.member(
                "generation").integer()
            return (None, None, None) if index == none32 else (index, generation, None)
        raw = Members(handle, "handle").integer("raw")
        if raw == 0:
            return None, None, None
        return self.split(raw, self.bits_of(handle.type.name))

    def handle_text(self, index, generation, user=None):
        """As handle_text() of cairn/std/text.hpp."""
        if index is None:
            return "null"
        return f"{index}:{generation}" + (f":{user}" if user is not None else "")

    def handle(self, value):
        parts = self.handle_parts(value)
        text = self.handle_text(*parts)
        if parts[0] is None or class_of(value.type.name) == "offset_allocation":
            return View(text)
        found = {"alive in": [], "promised by": [], "not in": []}
        for name, store in self.maps_in_scope(value):
            try:
                at = self.locate(store, *parts)
                found["alive in" if not isinstance(at, str) else "promised by"
                      if at.startswith("promised") else "not in"].append(name)
            except Exception:
                pass
        where = next((state for state, names in found.items() if names), None)
        return View(f"{text}, {where} {', '.join(found[where])}" if where else text)

    def maps_in_scope(self, handle):
        """The local variables that give out handles of this type, and members of local objects and
        of *this that do."""
        wanted = arguments(handle.type.name)
        for name, value in self.stores_in_scope():
            try:
                given = arguments(value.type.name)
                if given[0] == wanted[0] and self.bits_in(value) == self.bits_of(handle.type.name):
                    yield name, value
            except Exception:
                pass

    def stores_in_scope(self):
        maps = ("slot_map", "slot_table", "stable_slot_map", "polymorphic_store")
        for name, value in self.process.locals():
            try:
                if class_of(value.type.name) in maps:
                    yield name, value
                    continue
                prefix = "" if name == "this" else name + "."
                if name == "this":
                    value = value.target()
                if class_of(value.type.name) is None:
                    for field, _, type in self.fields_of(value.type):
                        if class_of(type.name) in maps:
                            yield prefix + field, value.member(field)
            except Exception:
                pass

    def fields_of(self, type):
        if type.name not in self.fields:
            self.fields[type.name] = type.fields()
        return self.fields[type.name]

    # ---- stores ----------------------------------------------------------------------------------
    def locate(self, store, index, generation, user=None):
        """The object of (index, generation) in a store: a Value; or a sentence: it is gone."""
        if class_of(store.type.name) == "polymorphic_store":
            return self.in_polymorphic_store(store, index, generation, user)
        return stores[class_of(store.type.name)](self, store, index, generation)

    def stale(self, index, word, generation):
        life = word & ~vacant
        if life == generation:
            return f"promised: slot {index} has no object yet"
        if life == 0:
            return f"stale: slot {index} is worn out, the handle is of life {generation}"
        state = f"free, its next life is {life}" if word & vacant else f"in life {life}"
        return f"stale: slot {index} is {state}, the handle is of life {generation}"

    def slot_value(self, directory, index, generation):
        """The value of a slot of a directory: a number; or a sentence."""
        m = Members(directory, "slot_directory")
        capacity = m.integer("capacity")
        if index >= capacity:
            return f"of another map: slot {index} of {capacity}"
        word, value = self.unpack(directory_slot, m.integer("slots") + index * directory_slot.size)
        if word == generation:
            return value
        return self.stale(index, word, generation)

    def in_slot_rows(self, store, index, generation):
        m = Members(store, "slot_rows")
        row = self.slot_value(m.slots, index, generation)
        return row if isinstance(row, str) else self.row_of(store, row)

    def row_of(self, store, row):
        rows = Members(store, "slot_rows").rows
        if class_of(rows.type.name) == "table":
            return self.row(rows.type, *self.table_parts(rows), row)
        return self.packed_row(rows, row)

    def slot_rows(self, value):
        kind = class_of(value.type.name)
        m = Members(value, "slot_rows")
        rows = m.rows
        is_table = class_of(rows.type.name) == "table"
        size = Members(rows, "table" if is_table else "packed_array").integer("size")
        handles = m.integer("handles")
        bits = self.bits_in(value)
        width = bits[0] // 8
        self.check(handles, size, width, "handles")
        noun = "row" if is_table else "object"
        text = f"{kind} of {counted(size, noun)}"
        text += self.beside(("promised", m.slots, "slot_directory"),
                            ("worn_out", m.slots, "slot_directory"),
                            ("limbo", value, "slot_rows"))

        def make():
            for i in range(size):
                raw = int.from_bytes(self.process.read(handles + i * width, width), "little")
                name = self.handle_text(*self.split(raw, bits))
                yield f"[{name}]", self.row_of(value, i)
        return View(text, make)

    def rows_by_type(self, store):
        """(slots, handles, rows) of each type of a polymorphic_store, by its number. None: of a type
        of an open store that has no debug information."""
        types = Members(store, "polymorphic_store").types
        if class_of(types.type.name) != "open_types":
            return self.typed_rows(types)
        entries = Members(types, "open_types").entries
        m = Members(entries, "packed_array")
        element, data, found = entries.type.argument(0), m.integer("data"), []
        base, own = arguments(store.type.name)[0], namespace_of(store.type.name)
        self.check(data, m.integer("size"), element.size, "types")
        for i in range(m.integer("size")):
            at = self.process.at(data + i * element.size, element)
            mark = arguments(self.process.symbol_at(at.member("mark").integer()))
            known = mark and self.process.find_type(f"{own}detail::any_rows_of<{base}, {mark[0]}>")
            if known:
                rows = self.process.at(at.member("rows").integer(), known)
                found += self.typed_rows(Members(rows, "any_rows_of").typed)
            else:
                found.append(None)
        return found

    def typed_rows(self, value):
        """The same of the base classes of `value` that are the rows of a type."""
        names, found, parts = members["typed_rows"], [], {}
        for name, child in value.children():
            parts[name] = child
            if name == names["rows"]:
                found.append((parts[names["slots"]], parts[names["handles"]], child))
        return found

    def in_polymorphic_store(self, store, index, generation, user):
        types = self.rows_by_type(store)
        if user >= len(types) or types[user] is None:
            return f"of another store: type {user} of {len(types)}"
        slots, _, rows = types[user]
        row = self.slot_value(slots, index, generation)
        return row if isinstance(row, str) else self.packed_row(rows, row)

    def packed_row(self, rows, row):
        element = rows.type.argument(0)
        data = Members(rows, "packed_array").integer("data")
        return self.process.at(data + row * element.size, element)

    def polymorphic_store(self, value):
        types = self.rows_by_type(value)
        sizes = [Members(t[2], "packed_array").integer("size") if t else 0 for t in types]
        bits = self.bits_in(value)
        width = bits[0] // 8

        def make():
            for number, (t, size) in enumerate(zip(types, sizes)):
                if t is None:
                    continue
                handles = t[1].integer()
                self.check(handles, size, width, "handles")
                for i in range(size):
                    raw = int.from_bytes(self.process.read(handles + i * width, width), "little")
                    index, generation, _ = self.split(raw, bits)
                    name = self.handle_text(index, generation, number)
                    yield f"[{name}]", self.packed_row(t[2], i)
        return View(f"polymorphic_store of {counted(sum(sizes), 'object')}"
                    f" of {counted(len(types), 'type')}", make)

    def beside(self, *counts):
        words = {"promised": "promised", "worn_out": "worn out", "limbo": "retired"}
        text = ""
        for what, value, kind in counts:
            count = Members(value, kind).integer(what)
            if count:
                text += f", {count} {words[what]}"
        return text

    def slot_directory(self, value):
        m = Members(value, "slot_directory")
        live, capacity = m.integer("live"), m.integer("capacity")
        self.check(m.integer("slots"), capacity, directory_slot.size, "slots")
        text = f"slot_directory of {counted(live, 'live slot')}, capacity {capacity}"
        text += self.beside(("promised", value, "slot_directory"),
                            ("worn_out", value, "slot_directory"))

        def make():
            for i in range(capacity):
                word, slot = self.unpack(directory_slot, m.integer("slots") + i * 8)
                if not word & vacant:
                    yield f"[{i}:{word}]", str(slot)
        return View(text, make)

    # chunk i of a stable_slot_map: where its generations are, where its objects are
    def stable_chunks(self, value):
        m = Members(value, "stable_slot_map")
        table, count = m.integer("chunks"), m.integer("chunk_count")
        entry = m.chunks.type.target()
        self.check(table, count, entry.size, "chunks")
        words = (1 << m.integer("slots_log2")) // 64
        for i in range(count):
            chunk = Members(self.process.at(table + entry.size * i, entry), "stable_chunk_entry")
            header = chunk.state.type.target().size
            yield chunk.integer("state") + header + 4 * 8 * words, chunk.integer("objects")

    def in_stable(self, store, index, generation):
        m = Members(store, "stable_slot_map")
        element = store.type.argument(0)
        slot_count = 1 << m.integer("slots_log2")
        first = 0
        for lives, objects in self.stable_chunks(store):
            if index < first + slot_count:
                slot = index - first
                word = int.from_bytes(self.process.read(lives + 4 * slot, 4), "little")
                if word == generation:
                    return self.process.at(objects + slot * element.size, element)
                return self.stale(index, word, generation)
            first += slot_count
        return f"of another map: slot {index} of {first}"

    def stable_slot_map(self, value):
        m = Members(value, "stable_slot_map")
        element = value.type.argument(0)
        size = (m.integer("begun") + m.integer("top") - m.integer("ended")) % 2**64
        self.check(m.integer("chunks"), m.integer("chunk_count"), 16, "chunks")
        count = m.integer("chunk_count")
        if size > count << 12:
            raise Unreadable(f"{size} objects in {count} chunks")

        def make():
            slot_count = 1 << m.integer("slots_log2")
            first = 0
            for lives, objects in self.stable_chunks(value):
                words = struct.unpack(f"<{slot_count}I", self.process.read(lives, 4 * slot_count))
                for slot, generation in enumerate(words):
                    if not generation & vacant:
                        yield (f"[{first + slot}:{generation}]",
                               self.process.at(objects + slot * element.size, element))
                first += slot_count
        return View(f"stable_slot_map of {counted(size, 'object')} in {counted(count, 'chunk')}",
                    make)

    def stable_iterator(self, value):
        m = Members(value, "stable_iterator")
        left = m.integer("left")
        if left == 0:
            return View("at the end")
        bit = (left & -left).bit_length() - 1
        element = value.type.argument(0)
        at = m.integer("objects") + bit * element.size
        return View(f"at slot {m.integer('first') + bit}",
                    lambda: [("[object]", self.process.at(at, element))])

    def owner(self, value):
        """unique_handle, shared_handle, relocatable: a store and a handle."""
        kind = class_of(value.type.name)
        m = Members(value, kind)
        parts = self.handle_parts(m.handle)
        if parts[0] is None:
            return View("null")
        store = m.heap if kind == "relocatable" else m.store
        text = self.handle_text(*parts)
        if store.integer() == 0:
            return View(f"{text} of no store")
        found = self.locate(store.target(), *parts[:2])
        if isinstance(found, str):
            return View(f"{text}, {found}")
        if kind == "shared_handle":
            text += f", {counted(self.owner_count(store.target(), parts[0]), 'owner')}"
        if kind == "relocatable":
            found = self.process.at(found.address, value.type.argument(0))
        return View(text, lambda: [("[object]", found)])

    def owner_count(self, store, index):
        m = Members(store, "shared_store")
        first_count = 64
        block = (index // first_count + 1).bit_length() - 1
        cells = self.word(m.cells.address + block * self.process.pointer_size)
        first = ((1 << block) - 1) * first_count
        cell = cells + (index - first) * m.integer("cell_size")
        return int.from_bytes(self.process.read(cell, 4), "little")

    def in_shared_store(self, store, index, generation):
        return self.locate(Members(store, "shared_store").map, index, generation)

    def in_deferred_store(self, store, index, generation):
        return self.locate(Members(store, "deferred_store").map, index, generation)

    def deferred_store(self, value):
        m = Members(value, "deferred_store")
        view, waiting = self.view(m.map), m.integer("waiting")
        text = f", of which {waiting} wait" if waiting else ""
        return View(f"deferred_store over {view.summary}{text}", view.children)

    def shared_store(self, value):
        held = Members(value, "shared_store").map
        view = self.view(held)
        return View(f"shared_store over {view.summary}", view.children)

    # ---- rows ------------------------------------------------------------------------------------
    def table_parts(self, table):
        m = Members(table, "table")
        return m.integer("base"), m.integer("pitch")

    def columns(self, type):
        """How a row is read from a table<Row, Layout>, or a view of one: what row() wants."""
        if type.name not in self.layouts:
            self.layouts[type.name] = self.read_layout(type)
        return self.layouts[type.name]

    def read_layout(self, type):
        row = type.argument(0)
        layout = arguments(type.name)[1] if len(arguments(type.name)) > 1 else "cairn::soa"
        kind = class_of(layout)
        if kind not in ("soa", "aos", "split_soa", "aosoa"):
            raise Unreadable(f"rows in a layout of your own, {layout}")
        fields = row.fields()
        if kind == "aos" or not fields:
            return {"kind": kind, "row": row, "fields": None, "text": kind}
        lanes = number(arguments(layout)[0]) if kind == "aosoa" else 0
        # The columns as the compiler wrote them down, where they can be found; else as computed
        # from the types: field<K, split<T>> is not seen then.
        stated = self.stated_columns(type, row, layout)
        columns, pieces = [], []

        def add(size, align):
            columns.append((size, align))
            return len(columns) - 1
        for name, offset, field in fields:
            count = 1
            if lanes == 0:
                known = stated and stated(len(columns))
                if known:
                    if 0 < known < field.size and field.size % known == 0:
                        count = field.size // known
                elif kind == "split_soa":
                    count = self.component_count(field)
            part = field.size // count
            for i in range(count):
                column = add(part, min(field.align, part) if count > 1 else field.align)
                pieces.append((column, offset + i * part, part))
        before, at = [], 0
        widest = max([line] + [align for _, align in columns])
        for size, align in columns:
            if lanes:
                whole = size * lanes
                wanted = max(min(whole & -whole, line), align)
                at = -(-at // wanted) * wanted
            before.append(at)
            at += size * (lanes or 1)
        return {"kind": kind, "row": row, "fields": pieces, "lanes": lanes, "before": before,
                "sizes": [size for size, _ in columns],
                "text": kind + (f"<{lanes}>" if lanes else ""),
                "block_size": -(-at // widest) * widest, "skew": skew_lines * widest}

    def component_count(self, field):
        parts = field.fields()
        if not 2 <= len(parts) <= 16 or field.name.startswith("std::"):
            return 1
        first = parts[0][2]
        alike = all(part.name == first.name and not part.fields() for _, _, part in parts)
        return len(parts) if alike and first.size * len(parts) == field.size else 1

    def stated_columns(self, type, row, layout):
        """column number -> bytes of an element, from layout_of<Row, Layout>::columns."""
        inside = type.name[type.name.index("<"):]
        for text in (inside, re.sub(r"\b(\d+)(?=[,>])", r"\1ul", inside)):
            space = namespace_of(type.name) + "detail::"
            at = self.process.address_of(f"{space}layout_of{text}::columns")
            if at is not None:
                entry = self.process.find_type(space + "column_desc")   # begins with `size`
                size = entry.size if entry is not None else 6 * 8

                def stated(column):
                    try:
                        return self.word(at + column * size)
                    except Exception:
                        return None
                return stated
        return None

    def row(self, type, base, pitch, i):
        """Row i as a Row."""
        layout = self.columns(type)
        row = layout["row"]
        if layout["fields"] is None:
            return self.process.at(base + i * row.size, row)
        made = bytearray(row.size)
        lanes = layout["lanes"]
        for column, offset, size in layout["fields"]:
            before, element = layout["before"][column], layout["sizes"][column]
            if lanes:
                at = base + before + i // lanes * layout["block_size"] + i % lanes * element
            else:
                at = base + pitch * before + column * layout["skew"] + i * element
            made[offset:offset + size] = self.process.read(at, size)
        return self.process.made(bytes(made), row)

    def rows(self, type, base, pitch, first, size):
        def make():
            for i in range(size):
                yield f"[{i}]", self.row(type, base, pitch, first + i)
        return make

    def table(self, value):
        m = Members(value, "table")
        base, size, pitch = m.integer("base"), m.integer("size"), m.integer("pitch")
        layout = self.columns(value.type)
        self.check(base, size, max(1, layout["row"].size), "rows")
        if size > m.integer("capacity"):
            raise Unreadable(f"{size} rows in room for {m.integer('capacity')}")
        text = f"table of {counted(size, 'row')}, {layout['text']}"
        text += f", capacity {m.integer('capacity')}"
        return View(text, self.rows(value.type, base, pitch, 0, size), counted=True)

    def table_view(self, value):
        m = Members(value, "table_view")
        size, base = m.integer("size"), m.integer("base")
        layout = self.columns(value.type)
        self.check(base, size, 1, "rows")
        return View(f"table_view of {counted(size, 'row')}, {layout['text']}", self.rows(
            value.type, base, m.integer("pitch"), m.integer("first"), size), counted=True)

    def table_row(self, value):
        m = Members(value, "table_row")
        if m.has("base"):
            row = self.row(value.type, m.integer("base"), m.integer("pitch"), m.integer("index"))
            return View(f"row {m.integer('index')}", lambda: [("[row]", row)])

        def make():
            for name, field in value.children():
                yield name, field
        return View("row", make)

    def split_ref(self, value):
        element = value.type.argument(0)
        components = Members(value, "split_ref").components
        size = self.process.pointer_size
        count = components.type.size // size
        made = b"".join(self.process.read(self.word(components.address + i * size),
                                          element.size // count) for i in range(count))
        return View("split", lambda: [("[value]", self.process.made(made, element))])

    def span(self, value):
        kind = class_of(value.type.name)
        m = Members(value, kind)
        element, count = value.type.argument(0), m.integer("count")
        lanes = number(arguments(value.type.name)[1]) if kind == "blocked_span" else 0
        kind = "strided_span" if lanes == 1 else kind
        if kind == "split_span":
            size = self.process.pointer_size
            parts = m.components.type.size // size
            columns = [self.word(m.components.address + i * size) for i in range(parts)]
            part = element.size // parts
            self.check(columns[0], count, part, "elements")

            def make():
                for i in range(count):
                    made = b"".join(self.process.read(c + i * part, part) for c in columns)
                    yield f"[{i}]", self.process.made(made, element)
        else:
            first = m.integer("first")
            self.check(first, count, 1, "elements")

            def make():
                for i in range(count):
                    at = i // lanes * m.integer("block_size") + i % lanes * element.size
                    yield f"[{i}]", self.process.at(first + at, element)
        return View(f"{kind} of {count}", make, counted=True)

    def index_iterator(self, value):
        m = Members(value, "index_iterator")
        index, viewed = m.integer("index"), m.view
        v = Members(viewed, "table_view")
        rows = viewed.type
        if class_of(rows.name) == "rows_with_handles":  # of a slot_table
            rows = rows.argument(0)
        if class_of(rows.name) != "table_view":
            return View(f"at {index}")
        if not 0 <= index < v.integer("size"):
            return View(f"at {index}: the end")
        row = self.row(rows, v.integer("base"), v.integer("pitch"),
                       v.integer("first") + index)
        return View(f"at {index}", lambda: [("[row]", row)])

    def row_batches(self, value):
        m = Members(value, "row_batches")
        rows, step = m.rows, m.integer("step")
        view = self.view(rows) if class_of(rows.type.name) in views else None
        of = f" of {view.summary}" if view else ""
        return View(f"row_batches{of}, {step} rows each", lambda: [("[rows]", rows)])

    def attached_column(self, value):
        m = Members(value, "attached_column")
        element = value.type.argument(0)
        rows = m.rows
        if rows.integer() == 0:
            return View("attached_column of no table")
        size = Members(rows.target(), "attached_column").integer("row_count")
        return self.array(f"attached_column of {size}", m.integer("data"), size, element)

    # ---- arrays ----------------------------------------------------------------------------------
    def array(self, text, address, count, element):
        self.check(address, count, element.size, "elements")
        return View(text, self.elements(address, count, element), counted=True)

    def packed_array(self, value):
        m = Members(value, "packed_array")
        size, capacity = m.integer("size"), m.integer("capacity")
        if size > capacity:
            raise Unreadable(f"{size} objects in room for {capacity}")
        return self.array(f"packed_array of {size}, capacity {capacity}", m.integer("data"), size,
                          value.type.argument(0))

    def slice(self, value):
        m = Members(value, "slice")
        return self.array(f"slice of {m.integer('count')}", m.integer("data"), m.integer("count"),
                          value.type.argument(0))

    def builder(self, value):
        m = Members(value, "builder")
        element = value.type.argument(0)
        begin, end, limit = m.integer("begin"), m.integer("end"), m.integer("limit")
        size = (end - begin) // element.size
        return self.array(f"builder of {size}, room for {(limit - begin) // element.size}", begin,
                          size, element)

    def growable_memory(self, value):
        m = Members(value, "growable_memory")
        text = f"{size_text(m.integer('size'))} at {hexadecimal(m.integer('data'))}"
        if m.integer("reserved"):
            text += f", {size_text(m.integer('reserved'))} reserved"
        return View(text)

    def pointer(self, value):
        """Something that is a pointer to an object, or nothing."""
        kind = class_of(value.type.name)
        m = Members(value, kind)
        at = m.row if kind == "row_iterator" else m.object
        if at.integer() == 0:
            return View("null")
        return View(hexadecimal(at.integer()), lambda: [("[object]", at.target())])

    def found_row(self, value):
        m = Members(value, "found_row")
        if m.integer("is_there") == 0:
            return View("null")
        return View("found", lambda: [("[row]", m.row)])

    def string_pool(self, value):
        m = Members(value, "string_pool")
        entries, room, count = m.integer("entries"), m.integer("room"), m.integer("count")
        self.check(entries, room, string_entry.size, "entries")
        if count > room:
            raise Unreadable(f"{count} strings in {room} entries")

        def make():
            shown = 0
            for i in range(min(room, steps_max)):
                text, size, _ = self.unpack(string_entry, entries + i * string_entry.size)
                if text != 0:
                    word = self.process.read(text, min(size, text_max)).decode("utf-8", "replace")
                    yield f"[{shown}]", f'"{word}"' + ("..." if size > text_max else "")
                    shown += 1
        return View(f"string_pool of {counted(count, 'string')}", make, counted=True)

    def message_queue(self, value):
        m = Members(value, "message_queue")
        head, tail, capacity = m.integer("head"), m.integer("tail"), m.integer("capacity")
        count = tail - head
        if not 0 <= count <= capacity or capacity & (capacity - 1):
            raise Unreadable(f"{count} messages in room for {capacity}")
        cell = m.cells.type.target()
        self.check(m.integer("cells"), capacity, cell.size, "cells")
        offset = next((at for name, at, _ in cell.fields() if name == "message"), 8)

        def make():
            message = value.type.argument(0)
            for i in range(count):
                at = m.integer("cells") + ((head + i) & (capacity - 1)) * cell.size
                yield f"[{i}]", self.process.at(at + offset, message)
        return View(f"message_queue of {count}, capacity {capacity}", make, counted=True)

    def per_thread(self, value):
        m = Members(value, "per_thread")
        element = value.type.argument(0)
        slot = m.first.type.target()
        first, count = m.integer("first"), m.integer("count")
        self.check(first, count, slot.size, "slots")

        def make():
            for i in range(count):
                yield f"[{i}]", self.process.at(first + i * slot.size, element)
            yield "[shared]", m.shared
        return View(f"per_thread of {count}", make)

    # ---- arenas ----------------------------------------------------------------------------------
    def edges(self, arena):
        m = Members(arena, "arena")
        begin, top, end = m.integer("begin"), m.integer("top"), m.integer("end")
        if not begin <= top <= end:
            raise Unreadable(f"an arena from {hexadecimal(begin)} to {hexadecimal(end)}")
        return begin, top, end

    def arena(self, value):
        begin, top, end = self.edges(value)
        text = f"{named('arena', self.name_of(value))}: {size_text(top - begin)} of "
        return View(text + f"{size_text(end - begin)} used")

    def virtual_arena(self, value):
        begin, top, end = self.edges(value)
        reserved = Members(value, "virtual_arena").integer("reserved_end")
        text = named("virtual_arena", self.name_of(value))
        return View(f"{text}: {size_text(top - begin)} used, {size_text(end - begin)} committed, "
                    f"{size_text(reserved - begin)} reserved")

    def growing_arena(self, value):
        begin, top, _ = self.edges(value)
        m = Members(value, "growing_arena")
        used, blocks = m.integer("full_size") + top - begin, m.integer("block_count")
        if blocks:
            self.process.read(m.integer("used") or m.integer("spare"), arena_block.size)

        def make():
            n = 0
            for chain, word in ((m.integer("used"), "full"), (m.integer("spare"), "spare")):
                while chain != 0 and n < children_max:
                    next_block, size, _, _ = self.unpack(arena_block, chain)
                    is_current = chain <= begin < chain + size and word == "full"
                    state = "current" if is_current else word
                    yield f"[{n}]", f"{state}, {size_text(size)} at {hexadecimal(chain)}"
                    chain, n = next_block, n + 1
        return View(f"{named('growing_arena', self.name_of(value))}: {size_text(used)} used, "
                    f"{size_text(m.integer('held'))} in {counted(blocks, 'block')}", make,
                    counted=True)

    def arena_high_end(self, value):
        m = Members(value, "arena_high_end")
        _, _, end = self.edges(m.low.target())
        return View(f"arena_high_end: {size_text(m.integer('limit') - end)} used")

    def double_ended_arena(self, value):
        m = Members(value, "double_ended_arena")
        begin, top, end = self.edges(m.low)
        limit = Members(m.high, "arena_high_end").integer("limit")
        if not end <= limit:
            raise Unreadable("the ends of the arena")
        return View(f"double_ended_arena: {size_text(top - begin)} low and "
                    f"{size_text(limit - end)} high of {size_text(limit - begin)} used")

    def frame_arena(self, value):
        m = Members(value, "frame_arena")
        arenas = m.arenas
        element = arenas.type.target()
        count, active = arenas.type.size // element.size, m.integer("active")

        def make():
            for i in range(count):
                name = f"[{i}]" + (" active" if i == active else "")
                yield name, self.process.at(arenas.address + i * element.size, element)
        return View(f"frame_arena of {counted(count, 'arena')}", make)

    def arena_scope(self, value):
        m = Members(value, "arena_scope")
        at, count = m.newest, 0
        while at.integer() != 0 and count < steps_max:
            at, count = at.target().member(members["arena_scope"]["older"]), count + 1
        return View(f"arena_scope: {counted(count, 'object')} to destroy",
                    lambda: [("[arena]", m.arena.target())])

    def marker(self, value):
        return View(f"marker at {hexadecimal(Members(value, 'marker').integer('top'))}")

    # ---- pools -----------------------------------------------------------------------------------
    def pool_chunks(self, value):
        m = Members(value, "pool")
        chunk = m.chunks.type.target()
        count, chunks = m.integer("chunk_count"), m.integer("chunks")
        self.check(chunks, count, chunk.size, "chunks")
        for i in range(count):
            c = Members(self.process.at(chunks + i * chunk.size, chunk), "pool_chunk")
            end = m.integer("carve") if i == m.integer("selected") else c.integer("carved_end")
            yield c.integer("first"), end

    def pool(self, value):
        kind = class_of(value.type.name)
        m = Members(value, "pool")
        stride = m.integer("stride")
        latest = m.integer("latest")  # free, in front of the stack
        stacked = (m.integer("top") - m.integer("floor")) // self.process.pointer_size
        free = stacked + (latest != 0)
        slots = m.integer("slot_count")
        if stride == 0 or m.integer("chunk_count") > slots or not 0 <= free <= slots:
            raise Unreadable(f"{free} free slots of {slots}")
        carved = 0
        for n, (first, end) in enumerate(self.pool_chunks(value)):
            if n == steps_max or not first <= end:
                raise Unreadable("the chunks of a pool")
            carved += (end - first) // stride
        live = carved - free
        if not 0 <= live <= slots:
            raise Unreadable(f"{live} live slots of {slots}")
        text = (f"{named(kind, self.name_of(value))}: {live} of {counted(slots, 'slot')} taken, "
                f"{size_text(stride)} each")
        if kind != "pool_of":
            return View(text)
        element = value.type.argument(0)

        def make():
            size, floor = self.process.pointer_size, m.integer("floor")
            known = min(stacked, 1 << 20)
            stack = self.process.read(floor, known * size) if known else b""
            waiting = set(int.from_bytes(stack[i:i + size], "little")
                          for i in range(0, len(stack), size))
            waiting.add(latest)
            n = 0
            for first, end in self.pool_chunks(value):
                for at in range(first, end, stride):
                    if at not in waiting:
                        yield f"[{n}]", self.process.at(at, element)
                        n += 1
        return View(text, make, counted=True)

    def concurrent_counts(self, value):
        """Live slots and all slots. Exact where no thread is inside."""
        m = Members(value, "concurrent_pool")
        size = self.process.pointer_size
        # lldb 19 packs the members of a class that clang described in another unit only, where one
        # is aligned to a cache line: these are always.
        aligned = lambda v: self.process.at(-(-v.address // line) * line, v.type)
        slots, free, steps = m.integer("slots"), 0, 0
        chunks, chunk = m.integer("chunks"), m.chunks.type.target().target()
        self.check(chunks, m.integer("chunk_count"), size, "chunks")
        for i in range(m.integer("chunk_count")):
            at = self.process.at(self.word(chunks + i * size), chunk)
            free += Members(at, "slot_chunk").integer("free_count")
        full = Members(aligned(m.depot), "depot").full
        magazine, at = full.type.target(), full.integer()
        while at != 0:
            b = Members(self.process.at(at, magazine), "magazine")
            free, at, steps = free + b.integer("count"), b.integer("next"), steps + 1
            if steps > steps_max:
                raise Unreadable("the magazines of a pool")
        cache, at = self.process.find_type(namespace_of(value.type.name) + "detail::pool_cache"), \
            m.integer("caches")
        while at != 0 and cache:
            c = Members(self.process.at(at, cache), "cache")
            spare = self.process.at(aligned(c.spare).integer(), magazine)
            free += (c.integer("top") - c.integer("floor")) // size
            free += Members(spare, "magazine").integer("count")
            at, steps = c.integer("next"), steps + 1
            if steps > steps_max:
                raise Unreadable("the caches of a pool")
        live = slots - free
        if not 0 <= live <= slots:
            raise Unreadable(f"{live} live slots of {slots}")
        return live, slots

    def pointee(self, atomic):
        """T of an atomic<T*>."""
        return atomic.type.argument(0).target()

    def concurrent_pool(self, value):
        live, slots = self.concurrent_counts(value)
        kind = class_of(value.type.name)
        return View(f"{named(kind, self.name_of(value))}: {live} of {counted(slots, 'slot')} taken")

    def concurrent_heap(self, value):
        m = Members(value, "concurrent_heap")
        # As the depot of a pool: aligned to a cache line, whatever lldb says.
        units = self.process.at(-(-m.units.address // line) * line, m.units.type)
        size = Members(units, "unit_store").integer("size")
        caches = counted(m.integer("cache_count"), "cache")
        return View(f"{named('concurrent_heap', self.name_of(value))}: {size_text(size)} in "
                    f"segments, {caches}")

    def tagged_arenas(self, value):
        m = Members(value, "tagged_arenas")
        return View(f"tagged_arenas: {counted(m.integer('tags'), 'tag')} with "
                    f"{counted(m.integer('blocks'), 'block')}, {m.integer('free')} free, "
                    f"{size_text(m.integer('size'))} taken")

    def local_view(self, value):
        held = Members(value, "local_view").pool
        if held.integer() == 0:
            return View("null")
        return View("local_view", lambda: [("[pool]", held.target())])

    def object_pool(self, value):
        m = Members(value, "object_pool")
        element = value.type.argument(0)
        idle, built = m.integer("idle"), m.integer("built")
        if idle > built or (built and m.integer("slot_size") < element.size):
            raise Unreadable(f"{idle} idle objects of {built}")
        self.check(m.integer("stack"), idle, self.process.pointer_size, "idle objects")

        def make():
            size, n, steps = self.process.pointer_size, 0, 0
            block_type = m.blocks.type.target()
            block = m.integer("blocks")
            while block != 0 and steps < steps_max:
                b = Members(self.process.at(block, block_type), "object_block")
                for i in range(min(b.integer("count"), steps_max)):
                    slot = block + m.integer("first") + i * m.integer("slot_size")
                    tag, position = self.unpack(object_state, slot + m.integer("state"))
                    steps += 1
                    if tag == 0 or (position < idle and
                                    self.word(m.integer("stack") + position * size) == slot):
                        continue
                    yield f"[{n}]", self.process.at(slot, element)
                    n += 1
                block = b.integer("next")
        return View(f"object_pool: {built - idle} live, {idle} idle", make, counted=True)

    def concurrent_object_pool(self, value):
        m = Members(value, "concurrent_object_pool")
        element = value.type.argument(0)
        live_mark = (value.address >> 3 & 0xFFFF_FFFF | 2) & ~1 | 1
        slot = m.built.integer()
        slot_type = self.pointee(m.built)
        live, built = [], 0
        while slot != 0:
            s = Members(self.process.at(slot, slot_type), "concurrent_slot")
            if s.integer("mark") == live_mark:
                live.append(slot)
            slot, built = s.integer("next"), built + 1
            if built > steps_max:
                raise Unreadable("the objects of a pool")

        def make():
            for n, at in enumerate(sorted(live)):
                yield f"[{n}]", self.process.at(at, element)
        return View(f"concurrent_object_pool: {len(live)} live, {built - len(live)} idle", make,
                    counted=True)

    def node_pool(self, value):
        pools = Members(value, "node_pool").pools
        element = pools.type.argument(0)
        count = pools.type.size // element.size

        def make():
            for i in range(count):
                yield f"[{i}]", self.process.at(pools.address + i * element.size, element)
        return View(f"node_pool of {counted(count, 'pool')}", make, counted=True)

    # ---- heaps -----------------------------------------------------------------------------------
    def heap_regions(self, value):
        m = Members(value, "heap")
        count = m.integer("count")
        if count > 64:
            raise Unreadable(f"{count} regions")
        entries = m.regions
        entry = entries.type.target()
        for i in range(count):
            at = self.process.at(entries.address + i * entry.size, entry)
            region = Members(at, "heap_entry").integer("region")
            yield region, *self.unpack(heap_region, region)

    def heap(self, value):
        m = Members(value, "heap")
        total, free, regions = 0, 0, 0
        for _, granules, free_granules, _ in self.heap_regions(value):
            total += granules
            free += free_granules
            regions += 1
        # A fit whose freed blocks do not wait has no such numbers.
        waiting = 0
        if m.has("joined"):
            waiting = (m.integer("joined") - m.integer("ahead") - m.integer("left")) & 0x7FFF_FFFF
        used = total - free - waiting
        if not (0 <= free <= total and 0 <= used):
            raise Unreadable(f"{free} free granules of {total}")
        text = (f"{named('heap', self.name_of(value))}: {size_text(used * granule)} of "
                f"{size_text(total * granule)} used")
        if waiting:
            text += f", {size_text(waiting * granule)} waiting"
        if regions != 1:
            text += f", {counted(regions, 'region')}"

        def make():
            n = 0
            for region, end, _, blocks_offset in self.heap_regions(value):
                base, g = region + blocks_offset, 0
                while g < end:
                    word, _ = self.unpack(heap_header, base + g * granule)
                    size = word & free_bit - 1
                    if size == 0 or g + size > end:
                        yield f"[{n}]", f"<corrupt header at {hexadecimal(base + g * granule)}>"
                        return
                    state = ("free" if word & free_bit else
                             "waiting" if word & deferred_bit else "used")
                    yield f"[{n}]", (f"{state}, {size_text(size * granule - 8)} at "
                                     f"{hexadecimal(base + g * granule + 8)}")
                    g, n = g + size, n + 1
        return View(text, make, counted=True)

    def in_relocatable_heap(self, heap, index, generation):
        m = Members(heap, "relocatable_heap")
        place = self.slot_value(m.slots, index, generation)
        if isinstance(place, str):
            return place
        return self.process.at(m.integer("base") + 8 * place, self.process.find_type("char"))

    def relocatable_heap(self, value):
        m = Members(value, "relocatable_heap")
        total, free = m.integer("granules"), m.integer("free")
        live = Members(m.slots, "slot_directory").integer("live")
        if free > total or live > total:
            raise Unreadable(f"{free} free granules of {total}")

        def make():
            entry = self.process.find_type(namespace_of(value.type.name) + "detail::object_entry")
            slots = Members(m.slots, "slot_directory").integer("slots")
            at, n = m.integer("lowest"), 0
            while at != none32 and n < children_max:
                e = Members(self.process.at(m.integer("entries") + at * entry.size, entry),
                            "object_entry")
                word, _ = self.unpack(directory_slot, slots + at * directory_slot.size)
                size = e.integer("granules") * granule - e.integer("unused")
                text = (f"{size_text(size)} at "
                        f"{hexadecimal(m.integer('base') + e.integer('place') * granule)}")
                yield f"[{at}:{word}]", text + (", pinned" if e.integer("pins") else "")
                at, n = e.integer("after"), n + 1
        return View(f"relocatable_heap: {counted(live, 'object')}, "
                    f"{size_text((total - free) * granule)} of {size_text(total * granule)} used",
                    make)

    def concurrent_relocatable_heap(self, value):
        view = self.view(Members(value, "concurrent_relocatable_heap").heap)
        return View("concurrent_" + view.summary, view.children)

    def typed_pointer(self, value):
        """frame_ptr, pinned, lease: `object_` is a pointer to what they stand for."""
        at = Members(value, class_of(value.type.name)).object
        if at.integer() == 0:
            return View("null")
        if at.type.target().name == "void":
            return View(hexadecimal(at.integer()))
        return View(hexadecimal(at.integer()), lambda: [("[object]", at.target())])

    def held(self, value):
        word = Members(value, "held").word
        if word.integer() == 0:
            return View("null")
        at = word.target().member(members["held"]["address"]).integer()
        element = value.type.argument(0)
        if element.name == "void":
            return View(hexadecimal(at))
        return View(hexadecimal(at), lambda: [("[object]", self.process.at(at, element))])

    def offset_heap(self, value):
        m = Members(value, "offset_heap")
        capacity, live, count = m.integer("capacity"), m.integer("live"), m.integer("node_count")
        node = m.nodes.type.target()
        self.check(m.integer("nodes"), count, node.size, "ranges")
        if live > count:
            raise Unreadable(f"{live} allocations in {count} nodes")

        def make():
            at, steps = m.integer("first"), 0
            while at != none32 and steps < children_max:
                n = Members(self.process.at(m.integer("nodes") + at * node.size, node),
                            "offset_node")
                kind = n.integer("kind")
                state = offset_kinds[kind] if kind < len(offset_kinds) else str(kind)
                name = (f"[{at}:{n.integer('generation')}]" if kind not in (0, 1) else "[free]")
                yield name, f"{state}, {n.integer('size')} at {n.integer('offset')}"
                at, steps = n.integer("next"), steps + 1
        return View(f"offset_heap: {counted(live, 'allocation')} in {capacity}", make)

    # ---- references and wrappers -----------------------------------------------------------------
    def allocator_ref(self, value):
        m = Members(value, "allocator_ref")
        at, ops = m.integer("self"), m.integer("ops")
        symbol = self.process.symbol_at(ops) or ""
        found = re.search(r"allocator_ops_of<(.*?)>?\s*$", symbol, re.DOTALL)
        if not found:
            return View(f"to {hexadecimal(at)}, of an unknown type")
        name = arguments(symbol[symbol.index("allocator_ops_of"):] + ">")[0]
        type = self.process.find_type(name)
        text = f"to {class_of(name) or name} at {hexadecimal(at)}"
        if type is None or class_of(name) not in views:
            return View(text)
        return View(text, lambda: [("[allocator]", self.process.at(at, type))])

    def inner(self, value, text):
        inside = Members(value, "forwards").inner
        return View(text, lambda: [("[inner]", inside)])

    def wrapper(self, value):
        return self.inner(value, class_of(value.type.name))

    def tracked(self, value):
        m = Members(value, "tracked")
        name = named("tracked", self.string(m.integer("name")))
        return self.inner(value, f"{name}: {size_text(m.integer('live_size'))} in "
                          f"{counted(m.integer('live_count'), 'block')}, "
                          f"peak {size_text(m.integer('peak'))}")

    def failing(self, value):
        m = Members(value, "failing")
        return self.inner(value, f"failing: {m.integer('refused')} of "
                          f"{counted(m.integer('requests'), 'request')} refused, "
                          f"{size_text(m.integer('live'))} live")

    def budget(self, value):
        m = Members(value, "budget")
        return self.inner(value, f"budget: {size_text(m.integer('live'))} of "
                          f"{size_text(m.integer('limit'))} live, {m.integer('refused')} refused")

    def guarded(self, value):
        m = Members(value, "guarded")
        return self.inner(value, f"guarded: {counted(m.integer('live'), 'block')} live, "
                          f"{m.integer('quarantined')} in quarantine")

    def alignment(self, value):
        log2 = Members(value, "alignment").integer("log2")
        return View(str(1 << log2) if log2 < 64 else not_readable(f"2^{log2}"))

    def short_text(self, value):
        m = Members(value, "short_text")
        text = self.process.read(m.text.address, min(m.integer("size"), 47))
        return View('"' + text.decode("utf-8", "replace") + '"')

    # ---- collected objects -----------------------------------------------------------------------
    def region(self, of, address):
        """The collected_region that `address` lies in: at a multiple of 4 GiB."""
        kind = self.process.find_type(namespace_of(of.type.name) + "detail::collected_region")
        return Members(self.process.at(address & ~0xFFFF_FFFF, kind), "collected_region")

    def ref(self, value):
        """Without the object: in a graph with cycles there would be no end."""
        name = Members(value, "ref").integer("name")
        return View(hexadecimal(value.address & ~0xFFFF_FFFF | name) if name else "null")

    def root(self, value):
        at = Members(value, "root").integer("object")
        if at == 0:
            return View("null")
        element = value.type.argument(0)
        return View(hexadecimal(at), lambda: [("[object]", self.process.at(at, element))])

    def weak_ref(self, value):
        m = Members(value, "weak_ref")
        at = m.integer("target")
        if at == 0:
            return View("null")
        region = self.region(value, at)
        place = (m.integer("start") - region.integer("begin")) // granule
        life = int.from_bytes(self.process.read(region.integer("lives") + 4 * place, 4), "little")
        gone = "" if life == m.integer("life") else ", which is gone"
        return View(f"weak, to {hexadecimal(at)}{gone}")

    def outer_ref(self, value):
        m = Members(value, "outer_ref")
        name = m.integer("name")
        return View(hexadecimal(m.integer("heap") << 32 | name) if name else "null")

    def traced(self, value):
        inner = Members(value, "traced").container
        return View("traced", lambda: [("[container]", inner)])

    def ref_array(self, value):
        m = Members(value, "ref_array")
        upper, buffer = value.address & ~0xFFFF_FFFF, m.integer("buffer")
        size = m.integer("size") if buffer else 0
        if size:
            self.check(upper | buffer, size, 4, "references")

        def make():
            for i in range(size):
                word = self.process.read((upper | buffer) + 4 * i, 4)
                name = int.from_bytes(word, "little")
                yield f"[{i}]", hexadecimal(upper | name) if name else "null"
        return View(f"ref_array: {counted(size, 'reference')}", make, counted=True)

    def collected_heap(self, value):
        at = Members(value, "collected_heap").integer("region")
        if at == 0:
            return View("collected_heap: it has no memory")
        r = self.region(value, at)
        count, phase = r.integer("type_count"), r.integer("phase")
        if count > 128 or phase >= len(collector_phases):
            raise Unreadable(f"{count} types, phase {phase}")
        chunks = r.integer("end_chunk") - r.integer("first_chunk")

        def make():
            record = self.process.find_type(namespace_of(value.type.name) + "detail::type_record")
            numbers = self.process.read(r.used_types.address, count)
            for number in numbers:
                t = Members(self.process.at(r.types.address + number * record.size, record),
                            "type_record")
                of = Members(t.type.target(), "collected_type")
                text = self.process.read(of.integer("name"), min(of.integer("length"), text_max))
                yield (text.decode("utf-8", "replace"),
                       f"{counted(t.integer('chunks'), 'chunk')}")
        return View(f"collected_heap: {size_text(r.integer('used'))} of "
                    f"{size_text(chunks * collected_chunk)} used, "
                    f"{counted(r.integer('roots'), 'root')}, {counted(count, 'type')}, "
                    f"{collector_phases[phase]}", make)

views = {
    "handle": Views.handle,
    "offset_allocation": Views.handle,
    "slot_map": Views.slot_rows,
    "slot_table": Views.slot_rows,
    "polymorphic_store": Views.polymorphic_store,
    "slot_directory": Views.slot_directory,
    "stable_slot_map": Views.stable_slot_map,
    "stable_iterator": Views.stable_iterator,
    "unique_handle": Views.owner,
    "shared_handle": Views.owner,
    "deferred_store": Views.deferred_store,
    "shared_store": Views.shared_store,
    "packed_array": Views.packed_array,
    "table": Views.table,
    "table_view": Views.table_view,
    "table_row": Views.table_row,
    "split_ref": Views.split_ref,
    "blocked_span": Views.span,
    "split_span": Views.span,
    "index_iterator": Views.index_iterator,
    "selected_fields": Views.index_iterator,
    "row_iterator": Views.pointer,
    "found_row": Views.found_row,
    "attached_column": Views.attached_column,
    "row_batches": Views.row_batches,
    "growable_memory": Views.growable_memory,
    "slice": Views.slice,
    "builder": Views.builder,
    "string_pool": Views.string_pool,
    "message_queue": Views.message_queue,
    "per_thread": Views.per_thread,
    "arena": Views.arena,
    "virtual_arena": Views.virtual_arena,
    "growing_arena": Views.growing_arena,
    "arena_high_end": Views.arena_high_end,
    "double_ended_arena": Views.double_ended_arena,
    "frame_arena": Views.frame_arena,
    "arena_scope": Views.arena_scope,
    "marker": Views.marker,
    "pool": Views.pool,
    "pool_of": Views.pool,
    "concurrent_pool": Views.concurrent_pool,
    "concurrent_pool_of": Views.concurrent_pool,
    "concurrent_heap": Views.concurrent_heap,
    "tagged_arenas": Views.tagged_arenas,
    "local_view": Views.local_view,
    "object_pool": Views.object_pool,
    "concurrent_object_pool": Views.concurrent_object_pool,
    "lease": Views.typed_pointer,
    "node_pool": Views.node_pool,
    "heap": Views.heap,
    "relocatable_heap": Views.relocatable_heap,
    "relocatable": Views.owner,
    "frame_ptr": Views.typed_pointer,
    "pinned": Views.typed_pointer,
    "concurrent_relocatable_heap": Views.concurrent_relocatable_heap,
    "held": Views.held,
    "basic_offset_heap": Views.offset_heap,
    "collected_heap": Views.collected_heap,
    "ref": Views.ref,
    "root": Views.root,
    "weak_ref": Views.weak_ref,
    "ref_array": Views.ref_array,
    "outer_ref": Views.outer_ref,
    "traced": Views.traced,
    "allocator_ref": Views.allocator_ref,
    "tracked": Views.tracked,
    "failing": Views.failing,
    "budget": Views.budget,
    "guarded": Views.guarded,
    "hardened": Views.wrapper,
    "locked": Views.wrapper,
    "monotonic": Views.wrapper,
    "array_recycler": Views.wrapper,
    "or_abort": Views.wrapper,
    "alignment": Views.alignment,
    "short_text": Views.short_text,
}

# What finds an object by its handle.
stores = {
    "slot_map": Views.in_slot_rows,
    "slot_table": Views.in_slot_rows,
    "polymorphic_store": Views.in_polymorphic_store,
    "stable_slot_map": Views.in_stable,
    "deferred_store": Views.in_deferred_store,
    "shared_store": Views.in_shared_store,
    "relocatable_heap": Views.in_relocatable_heap,
}
