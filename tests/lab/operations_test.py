#!/usr/bin/env python3
"""Each public operation of a container is measured by an experiment of the lab, or has a reason here.

Usage: tests/lab/operations_test.py ROOT
The operations are read from the headers: the names of public member functions of the container and of the
classes that it takes them from. An experiment measures an operation where it calls it.
Exit status 0: all are; 1: one is not, a reason is for an operation that is no more, or the search finds nothing.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
containers = {  # container: the headers and classes that its operations come from, and who measures them
    "packed_array": ([("packed_array.hpp", "packed_array")], ["operations"]),
    "slot_map": ([("slot_map.hpp", "slot_rows"), ("slot_map.hpp", "slot_map")], ["operations", "row-idioms"]),
    "slot_table": ([("slot_table.hpp", "slot_table")], ["operations", "aos-soa"]),
    "stable_slot_map": ([("stable_slot_map.hpp", "stable_slot_map")], ["operations"]),
    "table": ([("table.hpp", "table"), ("table/view.hpp", "table_view")], ["operations", "aos-soa", "row-idioms"]),
    "polymorphic_store": ([("polymorphic_store.hpp", "polymorphic_store")], ["operations", "virtual-calls"]),
    "string_pool": ([("string_pool.hpp", "string_pool")], ["operations"]),
    "object_pool": ([("object_pool.hpp", "object_pool")], ["operations", "object-pool"]),
    "concurrent_object_pool": ([("concurrent_object_pool.hpp", "concurrent_object_pool")], ["operations", "object-pool"]),
    "message_queue": ([("message_queue.hpp", "message_queue")], ["messages"]),
    "attached_column": ([("attached_column.hpp", "attached_column")], ["attached"]),
}
reasons = {
    "it reads or writes a few words": """
        size empty capacity max_size upstream data begin end cbegin cend rbegin rend crbegin crend front back at row view
        subview base column column_of padded_size memory_size slot_count live_count idle_count
        object_count miss_count pending_count worn_out_slot_count generations_left step_count_max chunk_count
        stats is_promised dense_index handle_at handles fault_of values contains swap operator= operator[] decltype type_count approximate_count is_attached""",
    "it is for tests and for one who looks for a defect": "validate ask",
    "it is another name of an operation that is measured": """
        emplace insert emplace_back push_back emplace_from emplace_growing emplace_in_room reserve_with for_each_in_chunk
        for_each_batch each for_each swap_erase acquire release rows permute_with""",
    "an attached column moves as a column of its table, where it is measured": "shrink_to_fit",
    "a program calls it where a slot has had all of its lives": "recycle_slots",
    "a thread calls it once, at its end": "release_this_thread",
}


def public_names(header, class_name):
    """The public member functions of a class, by its formatted text: members are four columns in."""
    text = (root / "include/cairn/containers" / header).read_text()
    heads = list(re.finditer(r"^(class|struct) (?:\[\[[^\]]*\]\] )?" + class_name + r"\b[^;{]*\{$", text, re.M))
    if not heads:
        sys.exit(f"{header} has no class {class_name}")
    head = max(heads, key=lambda h: text.index("\n};", h.end()) - h.end())   # not the forward declaration
    public, names = head[1] == "struct", set()
    for line in text[head.end():text.index("\n};", head.end())].split("\n"):
        if line.strip() in ("public:", "private:", "protected:"):
            public = line.strip() == "public:"
        elif public and re.match(r"    [^ /}#:]", line) and "= delete" not in line:
            line = re.sub(r"\[\[.*?\]\]+", "", line)
            named = re.match(r"\s*using [\w:<>, ]+::(\w+);", line) or re.search(r"(\boperator(?:\[\]|[-=<>!+*]+)|\b\w+)\(", line)
            if named and not re.match(r"\s*(using \w+ =|friend|requires|explicit|CAIRN_ASSERT|static_assert|constexpr \w+\()", line):
                names.add(named[1])
    return {n for n in names - {class_name, "requires", "noexcept"} if not re.search(r"_(type|memory)$", n)}


measured = {e: (root / f"lab/experiments/{e}.cpp").read_text() for _, experiments in containers.values() for e in experiments}
reason_of = {name: why for why, names in reasons.items() for name in names.split()}
failures, seen, count = [], set(), 0
for container, (classes, experiments) in containers.items():
    names = set().union(*(public_names(*c) for c in classes))
    if len(names) < 4:
        failures.append(f"{container}: only {sorted(names)} found: the headers are written in another way")
    for name in sorted(names):
        count += 1
        seen.add(name)
        called = any(re.search(r"(\.|->|cairn::)(template )?" + re.escape(name) + r"\b", measured[e]) for e in experiments)
        if not called and name not in reason_of:
            failures.append(f"{container}::{name}: {' and '.join(experiments)} do not call it, and no reason says why")
no_containers = "batches field layout pool_hooks slot_policy".split()
failures += [f"{path.name} is neither a container of this test nor one of {no_containers}"
             for path in sorted((root / "include/cairn/containers").glob("*.hpp"))
             if path.stem not in containers and path.stem not in no_containers]
failures += [f"'{name}' has a reason and is no operation of a container" for name in reason_of.keys() - seen]
print("\n".join(failures) or f"{count} operations of {len(containers)} containers are measured or have a reason")
sys.exit(bool(failures))
