"""The API reference: a page for each public header, in the words of the header.

Doxygen's XML says which names are declared where; the text of a page is the header's own: its first
screen, and above each declaration the comment that stands there. A declaration that directly follows a
commented one, without a blank line, shares its comment. What the standard library means by a name (begin,
value_type, a move constructor) is said once, in `usual`.

A public name with neither is undocumented; `undocumented` lists them, and the site is not built.
"""
import functools
import html
import pathlib
import re
import xml.etree.ElementTree as ET

root = pathlib.Path(__file__).resolve().parent.parent.parent
xml_folder = root / "build/docs/doxygen/xml"
# In the order of the sidebar: what users open first comes first.
layers = ["alloc", "containers", "owners", "movable", "collected", "debug", "std", "adapt", "testing", "core", "os", "storage"]
layer_words = {
    "core": "Words that everything else uses: alignment, handles, slices, asserts, the allocator interface.",
    "os": "Pages, threads and clocks: everything that a system does in its own way.",
    "storage": "What several containers stand on. Most programs do not include these.",
    "alloc": "Bytes in, bytes out: arenas, pools, heaps and what wraps them.",
    "movable": "Ranges that move, so that a region which is nearly full stays usable.",
    "owners": "Who ends an object: one owner, several, or a frame's budget.",
    "containers": "Objects: maps with handles, tables with a layout, pools that keep objects built.",
    "collected": "Objects that refer to each other in cycles, collected in a budget.",
    "debug": "Wrappers that find who leaks, who overruns, and who cannot cope with refusal.",
    "std": "The standard library on cairn's memory.",
    "adapt": "Other libraries on cairn's memory.",
    "testing": "For tests of programs that use cairn: the target cairn::testing.",
}
types_of_a_class = "The types that it names."   # all of them are one list
usual = {
    **dict.fromkeys(["value_type", "element_type", "key_type", "mapped_type", "size_type", "difference_type",
                     "reference", "const_reference", "pointer", "const_pointer", "iterator", "const_iterator",
                     "iterator_concept", "iterator_category", "hasher", "key_equal", "layout_type", "view_type",
                     "const_view_type", "handle_type", "options", "stats_type", "upstream_type", "allocator_type", "fit_type",
                     "growth", "map_type", "shared_type", "lease_type", "offset_type", "is_always_equal",
                     "propagate_on_container_copy_assignment", "propagate_on_container_move_assignment",
                     "propagate_on_container_swap", "rebind", "other", "reverse_iterator",
                     "const_reverse_iterator", "type", "object_type", "tag_type"], types_of_a_class),
    "begin": "The first element.", "cbegin": "The first element.", "end": "Behind the last element.",
    "cend": "Behind the last element.", "size": "How many there are.", "empty": "True when there are none.",
    "data": "The first element's address.", "front": "The first element. Requires: there is one.",
    "back": "The last element. Requires: there is one.", "get": "What it holds.", "swap": "Exchanges the two.",
    "clear": "Ends all elements; capacity stays.", "capacity": "How many fit without growth.",
    "upstream": "The allocator that it takes its memory from.",
    # Every allocator and wrapper (core/byte_allocator.hpp says what they promise).
    "allocate": "Bytes at an alignment, uninitialized. Returns: nullptr when they are refused; nothing has changed then.",
    "deallocate": "Takes a block back, with the size and the alignment that were asked for; nullptr is legal.",
    "try_resize": "Resizes a block where it is. Returns: false when that cannot be; nothing has changed then.",
    "good_size": "The bytes that a request of this size gets.",
    "usable_size": "The bytes of a live block that may be written.",
    "owns": "True when the address lies in its memory, allocated or not.",
    "is_last": "True when the block is the newest, which gives its bytes back and grows in place.",
    "mark": "A marker of everything that is live now.",
    "rewind": "Frees everything that was allocated after the marker; later markers are invalid then.",
    "reset": "Frees everything at once. Invalidates: every block and marker.",
    "validate": "Checks the invariant; a checked build stops with a sentence where it is broken.",
    "name": "The name that reports give it; nullptr: none.",
    "set_name": "Gives it a name for reports; the string is not copied. nullptr: none.",
    "stats": "What it holds, counted on demand.",
    "make_array": "An array of value-initialized objects; empty when memory is refused.",
    "make": "An object in its memory; nullptr when that is refused.",
    "destroy": "Ends an object and frees its memory; nullptr is legal.",
    # Wrappers of an allocator.
    "forwards": "Made of what its allocator is made of.",
    "try_charge": "Counts bytes that come from elsewhere. Returns: false when a limit refuses them.",
    "refund": "Takes bytes of try_charge() off the count.",
    "underlying": "The allocator that it wraps.", "inner": "The allocator that it wraps.",
    # Containers.
    "insert": "As emplace, with a copy or by moving from it.", "push_back": "As emplace_back, with a copy or by moving from it.",
    "pop_back": "Removes the last one. Requires: there is one.",
    # Fits (alloc/fit.hpp says what each is).
    "deferred_max": "Blocks of one class that may wait unmerged.", "deferred_share": "They may withhold one in so many bytes of the heap.", "deferred_size_max": "Nor may they withhold more bytes than this.",
    "block_size": "Granules that a block for a request gets.", "class_of_request": "The class whose blocks serve a request of so many granules.",
    "size_of_class": "Granules of the smallest block of a class.", "steps": "The classes of sizes.",
    "rbegin": "The last element, going back.", "rend": "In front of the first element.",
    "crbegin": "The last element, going back.", "crend": "In front of the first element.",
    "size_bytes": "How many bytes the elements have.",
    "used_size": "Bytes in use.", "free_size": "Bytes that are free.", "live_count": "How many are live.",
    "high_water_size": "The most bytes that were in use at one time.",
    "reset_high_water": "Lets the high water begin at what is in use now.",
    "lock": "Waits until it owns the mutex.", "try_lock": "Returns: false when another thread owns the mutex.",
    "unlock": "Requires: this thread owns the mutex.",
    "view": "All of it, as a view.", "c_str": "The text, ended by a 0.",
}
usual_operators = {
    "": "", "==": "Equality.", "!=": "Inequality.", "<=>": "Order.", "<": "Order.", ">": "Order.", "<=": "Order.",
    ">=": "Order.", "++": "The next one.", "--": "The one before.", "+": "So many further.",
    "-": "So many back, or the distance.", "+=": "So many further.", "-=": "So many back.",
    "*": "What it refers to.", "->": "What it refers to.", "[]": "The element with this number.",
    "=": "Assignment.", "bool": "True unless it is empty.", "&": "The address is refused, or a proxy's.",
    "()": "The call.",
}
member_kinds = {"function", "variable", "typedef", "enum", "friend"}


def is_public_header(file):
    """A header directly in a layer, or in testing."""
    parts = pathlib.PurePath(file.removeprefix("testing/")).parts
    return parts[:2] == ("include", "cairn") and len(parts) == 4 and parts[2] in layers


def is_header(file):
    return file.startswith(("include/", "testing/include/"))


def included_as(file):
    """include/cairn/alloc/arena.hpp -> cairn/alloc/arena.hpp"""
    return file.removeprefix("testing/").removeprefix("include/")


class source:
    """A header, and what stands around a line of it."""
    cache = {}

    def __new__(cls, file):
        if file not in cls.cache:
            made = cls.cache[file] = super().__new__(cls)
            made.lines = (root / file).read_text().split("\n")
        return cls.cache[file]

    def essay(self):
        """The comment that the file begins with, without its marks."""
        out = []
        for line in self.lines:
            if not line.startswith("//"):
                break
            out.append(line[3:] if line.startswith("// ") else line[2:])
        return out

    def statement(self, line):
        """(first, last) of the lines, counted from 0, of the declaration that has `line`."""
        first = line
        while first > 0:
            above = self.lines[first - 1].strip()
            code = above.split("//")[0].rstrip()
            if not code or code[-1] in ";{}" or (code[-1] == ":" and not code.endswith("::")) or above.startswith("#"):
                break
            first -= 1
        last, depth = line, 0
        for last in range(line, min(line + 40, len(self.lines))):
            code = self.lines[last].split("//")[0]
            for k, c in enumerate(code):
                if c in "([":
                    depth += 1
                elif c in ")]":
                    depth -= 1
                elif c in ";{" and depth == 0 and not re.search(r"=\s*$|[\w>]$", code[:k].rstrip()[-1:] + " " if c == "{" and "=" in code[:k] else ""):
                    return first, last
        return first, last

    def signature(self, first, last):
        """The declaration without its body."""
        text = "\n".join(l.split("//")[0].rstrip() for l in self.lines[first:last + 1])
        out, depth = [], 0
        for k, c in enumerate(text):
            if c in "(<[":
                depth += 1
            elif c in ")>]":
                depth -= 1
            if depth <= 0 and (c == ";" or (c == "{" and not re.search(r"[=,(]\s*$", text[:k]))):
                break
            out.append(c)
        text = "".join(out).rstrip()
        # The initializers of a constructor are its body.
        text = re.sub(r"\)((?:\s*noexcept(?:\([^)]*\))?)?)\s*\n?\s*:\s+\w[\s\S]*$", r")\1", text)
        shift = min((len(l) - len(l.lstrip()) for l in text.split("\n") if l.strip()), default=0)
        text = "\n".join(l[shift:] for l in text.split("\n"))
        return re.sub(r"\[\[gnu::\w+(\([^)]*\))?\]\]\s*", "", text).strip()

    def whole(self, first):
        """A declaration with its body, as it stands."""
        last, depth = first, 0
        for last in range(first, len(self.lines)):
            code = self.lines[last].split("//")[0]
            depth += code.count("{") - code.count("}")
            if depth == 0 and ";" in code:
                break
        lines = self.lines[first:last + 1]
        shift = min(len(l) - len(l.lstrip()) for l in lines if l.strip())
        return "\n".join(l[shift:] for l in lines)

    def comment(self, first, last):
        """The comment above the declaration, or behind it."""
        out = []
        k = first - 1
        while k >= 0 and self.lines[k].startswith("#") and not self.lines[k].startswith("#include"):
            k -= 1
        while k >= 0 and self.lines[k].strip().startswith("//"):
            out.insert(0, re.sub(r"^\s*///? ?", "", self.lines[k]))
            k -= 1
        behind = re.search(r"[;{}]\s*//+ ?(.*)$", self.lines[last])
        if behind:
            out.append(behind[1])
            for more in self.lines[last + 1:]:
                if not re.match(r"\s{20,}// ", more):
                    break
                out.append(more.split("// ", 1)[1])
        return out

    def shares_with_the_one_above(self, first):
        k = first - 1
        while k > 0 and self.lines[k].startswith(("#el", "#if")):
            k -= 1
        above = self.lines[k].strip() if first else ""
        return bool(above) and not above.startswith(("//", "#")) and above[-1] in ";}"

    def is_private(self, line):
        """Doxygen calls the members of a private struct without a name public, and those of a class that
        has a specialization with a requires-clause. Labels and heads stand one step to the left."""
        left = len(self.lines[line]) - len(self.lines[line].lstrip()) - 4
        for k in range(line, -1, -1):
            text = self.lines[k]
            found = re.match(r"(public|private|protected):|(class|struct|union)\b[^;]*$", text.lstrip())
            if found and len(text) - len(text.lstrip()) <= left:
                if re.match(r"(struct|union) \{", text.lstrip()):
                    left -= 4  # what is true of the struct is true of its members
                    continue
                return found[1] == "private" or found[2] == "class"
        return False


# ---- words to Markdown ---------------------------------------------------------------------------------

# "Cost: ...", "While iterating: ...": each is a paragraph. Four words at most, the first with a capital.
label = re.compile(r"^([A-Z][A-Za-z0-9-]*(?: [a-z0-9]+){0,3}):(?:\s+(.*))?$")


def is_column(line):
    """A list in columns: "emplace(args)    constructs in place"."""
    return bool(re.search(r"^(?!\w+:)\S.*?\S {3,}\S", line))


def is_drawing(line):
    return bool(re.search(r"\+-|-\+|\|.*\||\^|-->|<--|^\s{5,}\S|={3,}|_{3,}", line))


def as_text(line):
    """Names in code keep their letters; nothing of it is Markdown's."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(p if p.startswith("`") else re.sub(r"([\\*_#\[\]|])", r"\\\1", html.escape(p, quote=False)) for p in parts)


def as_markdown(lines):
    out, paragraph, drawing = [], [], []

    def end_paragraph():
        if paragraph:
            out.append(" ".join(paragraph) + "\n")
            paragraph.clear()

    def end_drawing():
        while drawing and not drawing[-1].strip():
            drawing.pop()
        if drawing:
            shift = min(len(l) - len(l.lstrip()) for l in drawing if l.strip())
            out.append("```text\n" + "\n".join(l[shift:] for l in drawing) + "\n```\n")
            drawing.clear()

    after_label = False
    for line in lines:
        found = label.match(line.strip()) if not line.startswith("     ") else None
        if not line.strip():
            end_paragraph()
            after_label = False
            if drawing:
                drawing.append(line)
        elif found:
            end_drawing(), end_paragraph()
            paragraph.append(f"**{found[1]}:** {as_text(found[2] or '')}".rstrip())
            after_label = True
        elif re.match(r"(- |\d+\. )", line.strip()) and not drawing:
            end_paragraph()
            paragraph.append(as_text(line.strip()[:2]).replace("\\", "") + as_text(line.strip()[2:]))
            after_label = True
        elif (drawing or not paragraph) and (is_drawing(line) or is_column(line)) and not after_label:
            end_paragraph()
            drawing.append(line)
        else:
            end_drawing()
            paragraph.append(as_text(line.strip()))
    end_drawing(), end_paragraph()
    return "\n".join(out)


# ---- names ----------------------------------------------------------------------------------------------

# Where a word of several classes is said at length, best first: the others mean the same.
donors = ["table_view", "slot_map", "packed_array", "stable_slot_map", "pool", "arena", "growing_arena", "object_pool",
          "concurrent_object_pool", "heap", "shared_store", "offset_heap", "basic_offset_heap"]


class reference:
    def __init__(self):
        self.compounds = {}       # by id
        for file in xml_folder.glob("*.xml"):
            for c in ET.parse(file).getroot().iter("compounddef"):
                self.compounds[c.get("id")] = c
        self.undocumented = []    # "file:line name"
        self.pages = {}           # header: [(kind, name)]
        self.name_count = 0
        self.lent = {}            # by name: (class, comment) of a donor
        for donor in reversed(donors):
            for c in self.compounds.values():
                if c.get("kind") == "class" and c.find("compoundname").text == f"cairn::{donor}":
                    for m in self.members(c):
                        file, line = self.place(m)
                        text = source(file)
                        comment = self.comment_of(text, *text.statement(line))
                        if comment:
                            self.lent[m.find("name").text] = donor, comment

    @staticmethod
    def place(element):
        at = element.find("location")
        if at is None:
            return None, 0
        file, line = at.get("declfile") or at.get("file"), at.get("declline") or at.get("line")
        return file, int(line) - 1

    def members(self, compound, seen=None):
        """Public ones, with those of the bases that are inside."""
        seen = set() if seen is None else seen
        out = []
        for m in compound.iter("memberdef"):
            name = m.find("name").text or ""
            if m.get("prot") != "public" or m.get("kind") not in member_kinds or m.get("kind") == "friend" and "operator" not in name:
                continue
            file, line = self.place(m)
            if name.startswith(("~", "@")) or name.endswith("_") or \
                    is_header(file) and source(file).is_private(line):
                continue
            out.append(m)
        for base in compound.findall("basecompoundref"):
            inner = self.compounds.get(base.get("refid"))
            if inner is not None and base.get("prot") == "public" and base.get("refid") not in seen and \
                    "detail" in inner.find("compoundname").text:
                seen.add(base.get("refid"))
                out += self.members(inner, seen)
        return out

    @staticmethod
    def comment_of(text, first, last):
        """Its own, or the one of the declarations that it directly follows."""
        comment = text.comment(first, last)
        while not comment and first > 0 and text.shares_with_the_one_above(first):
            above = first - 1
            while text.lines[above].startswith("#"):
                above -= 1
            first, last = text.statement(above)
            comment = text.comment(first, last)
        return comment

    def said(self, file, line, name, owner):
        """(signature, comment or None) of what is declared there."""
        text = source(file)
        first, last = text.statement(line)
        comment = self.comment_of(text, first, last)
        if not comment and owner and name in self.lent and self.lent[name][0] != owner:
            donor, words = self.lent[name]
            comment = [f"As in `{donor}`:", *words]
        if not comment:
            op = re.fullmatch(r"operator\s*(.+)", name)
            plain = re.sub(r"<.*", "", name)
            if plain in usual:
                comment = [usual[plain]]
            elif op:
                comment = [usual_operators.get(op[1], "A conversion, where nothing is lost." if re.match(r"[\w:]", op[1]) else "")]
            elif owner and plain == re.sub(r"<.*", "", owner.split("::")[-1]):
                what = text.signature(first, last)
                comment = ["Not to be copied." if "delete" in "\n".join(text.lines[first:last + 1]) else
                           "From another one, which is left empty." if "&&" in what else
                           "A copy." if "const " + plain + "&" in what else "Made of its parts."]
            if comment == [""]:
                comment = None
        return text.signature(first, last), comment or None

    def write_member(self, m, owner, out):
        file, line = self.place(m)
        if file is None or not is_header(file):
            return
        name = m.find("name").text
        signature, comment = self.said(file, line, name, owner)
        self.name_count += 1
        if comment is None:  # an overload for constant objects, mostly
            comment = next((c for c, those in reversed(out) if c and name in (n for n, _ in those)), None)
        if comment is None:
            self.undocumented.append(f"{file}:{line + 1}: {owner + '::' if owner else ''}{name}")
        if out and out[-1][0] == comment and comment is not None:
            out[-1][1].append((name, signature))
        else:
            out.append((comment, [(name, signature)]))

    @staticmethod
    def print_members(groups, depth):
        text = []
        types = [t for c, those in groups if c == [types_of_a_class] for t in those]
        for comment, those in [g for g in groups if g[0] != [types_of_a_class]] + ([([types_of_a_class], types)] if types else []):
            if comment == [types_of_a_class]:
                text += [f"{'#' * depth} Types\n", "```cpp\n" + "\n".join(dict.fromkeys(s + ";" for _, s in those)) + "\n```\n"]
                continue
            names = list(dict.fromkeys(re.sub(r"\s+", " ", n) for n, _ in those))
            heading = ", ".join(names)
            text.append(f"{'#' * depth} {as_text(heading)}\n")
            text.append("```cpp\n" + "\n".join(dict.fromkeys(s + ";" for _, s in those)) + "\n```\n")
            text.append(as_markdown(comment or []))
        return text

    def write_class(self, compound, depth=2):
        name = compound.find("compoundname").text.removeprefix("cairn::")
        name = public_names().get(name, name)
        file, line = self.place(compound)
        # (A fit's index is what the concept of fits says.)
        if re.search(r"detail|<|@|::index$", name) or not is_public_header(file):
            return []
        self.pages.setdefault(file, []).append((compound.get("kind"), name))
        self.name_count += 1
        text_of = source(file)
        first, last = text_of.statement(line)
        comment = text_of.comment(first, first)
        out = [f"{'#' * depth} {compound.get('kind')} {as_text(name)}\n",
               "```cpp\n" + text_of.signature(first, last) + ";\n```\n", as_markdown(comment)]
        groups, members = [], self.members(compound)
        if members and all(m.get("kind") == "variable" for m in members) and compound.find("basecompoundref") is None:
            self.name_count += len(members)
            return [out[0], "```cpp\n" + text_of.whole(first) + "\n```\n", out[2]]
        for m in members:
            self.write_member(m, name, groups)
        out += self.print_members(groups, depth + 1)
        for inner in compound.findall("innerclass"):
            if inner.get("prot") == "public":
                out += self.write_class(self.compounds[inner.get("refid")], min(depth + 1, 5))
        return out

    def page(self, file, tests):
        """The page of a public header."""
        layer, name = file.split("/")[-2:]
        out = [f"# {name.removesuffix('.hpp')}\n", f"```cpp\n#include <{included_as(file)}>\n```\n",
               as_markdown(source(file).essay())]
        groups, classes = [], []
        for c in self.compounds.values():
            name = c.find("compoundname").text.removeprefix("cairn::")
            if c.get("kind") in ("class", "struct", "union", "concept") and self.place(c)[0] == file and \
                    ("::" not in name or name in public_names()):
                classes.append((self.place(c)[1], c))
        own = {c.find("compoundname").text.removeprefix("cairn::") for _, c in classes}
        for m in self.compounds["namespacecairn"].iter("memberdef"):
            # (A function named as a class is a deduction guide.)
            if self.place(m)[0] == file and not (m.find("name").text or "@").startswith("@") and m.find("name").text not in own:
                self.write_member(m, "", groups)
                self.pages.setdefault(file, []).append((m.get("kind"), m.find("name").text))
        for _, c in sorted(classes, key=lambda e: e[0]):
            out += self.write_class(c)
        if groups:
            out += ["## Functions and constants\n" if classes else ""] + self.print_members(groups, 3 if classes else 2)
        out.append(f"[The header](../../source/{file}.txt){{ .md-button }}" +
                   "".join(f" · [{pathlib.PurePath(t).stem}](../../source/{t}.txt)" for t in tests) + "\n")
        return "\n".join(out)


@functools.cache
def public_names():
    """Of a struct of cairn::detail that a class names for its users: `using options = detail::pool_options;`."""
    names = {}
    for header in sorted((root / "include/cairn").rglob("*.hpp")):
        for alias, inside in re.findall(r"^    using (options|stats_type) = (detail::\w+)\b", header.read_text(), re.M):
            names.setdefault(inside, f"{header.stem}::{alias}")
    return names


def tests_of(file, all_tests):
    """The tests of the same name first, then up to five others that include the header."""
    stem = pathlib.PurePath(file).stem
    line = f"#include <{included_as(file)}>"
    own = [t for t in all_tests if re.fullmatch(rf"{stem}(_\w+)?_test", pathlib.PurePath(t).stem)]
    others = [t for t in all_tests if t not in own and line in (root / t).read_text()]
    return own[:6] + others[:max(0, 5 - len(own))]
