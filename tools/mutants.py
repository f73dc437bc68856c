"""What tools/mutate changes: finds the places of a C++ file that have mutants, and writes the file with
all of them in it, each asleep (tests/mutants/mutant.hpp).

It reads tokens and brackets, not the language; the committed format (tools/format) is what it relies
on: binary operators have a space on both sides, blocks open after a space, initializers do not.
"""
import bisect
import hashlib
import re
from dataclasses import dataclass

operators = {  # operator: (name in mutant.hpp, what it becomes)
    "<": ("less", "<="), "<=": ("less_equal", "<"), ">": ("greater", ">="),
    ">=": ("greater_equal", ">"), "==": ("equal", "!="), "!=": ("unequal", "=="),
    "+": ("plus", "-"), "-": ("minus", "+"), "*": ("times", "+"), "/": ("divided", "*"),
    "%": ("remainder", "+"), "&": ("bit_and", "|"), "|": ("bit_or", "&"), "^": ("bit_xor", "&"),
    "<<": ("shift_left", ">>"), ">>": ("shift_right", "<<"),
}
operator = re.compile(r"(?<=\s)(<<|>>|<=|>=|==|!=|<|>|\+|-|\*|/|%|&|\||\^)(?=\s)")
backwards = re.compile(r"\bfor \([\w:]+ (\w+) = ([^;()]+); \1 != 0; --\1\) \{([^{}]*)\}")
opening, closing = "([{", ")]}"
not_an_expression = re.compile(
    r"(return|break|continue|throw|goto|using|else|do|case|default|if|for|while|switch|static|const|auto|"
    r"constexpr|static_assert|typename|struct|class|friend|public|private|protected|co_\w+|try|"
    r"static_cast<void>|\(void\))\b|\(void\)|[\w:]+(<[^;=()]*>)?[\w:]*\s*[*&]*\s+[*&]?\w+|\w+:\s")
# What is there for a sanitizer, a clock or a count of steps, and what is an assert by another name.
unnoticed = re.compile(r"\w*poison\w*\(|prefetch\w*\(|CAIRN_ASSERT\(|static_assert\(|touch\(|"
                       r"\bcheck_\w+\(|\bexpect_\w+\(|std::atomic_signal_fence|\+\+taken")


@dataclass
class mutant:
    file: str
    line: int          # from 1
    text: str          # the line, without its indentation
    change: str        # "< -> <="
    nth: int           # of the same change in a line of the same text, from 0
    edits: list        # (where, what is replaced, by what; {n} is the number)
    elsewhere: bool = False  # perhaps no code of this build: the compiler's to evaluate, or behind #if
    number: int = 0

    @property
    def name(self):    # stays while the line stays, wherever it moves to in its file
        key = f"{self.file}\0{self.text}\0{self.change}\0{self.nth}"
        return hashlib.sha256(key.encode()).hexdigest()[:8]


def masked(text):
    """The text with everything blanked that is no code, or code of the compiler's time alone."""
    out = list(text)

    def blank(begin, end):
        for i in range(begin, end):
            if out[i] != "\n":
                out[i] = " "

    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                       r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
    for m in token.finditer(text):
        blank(*m.span())
    code = "".join(out)
    for m in re.finditer(r"\[\[.*?\]\]", code, re.S):
        blank(*m.span())
    code = "".join(out)
    # What runs only where a sanitizer watches.
    for m in re.finditer(r"\bif constexpr \(\w*poison\w*\)\s*\{", code):
        blank(m.end(), matching(code, m.end() - 1))
    code = "".join(out)
    calls = re.compile(r"\b(CAIRN_ASSERT|static_assert|noexcept|sizeof|alignof|alignas|decltype|requires|"
                       r"if constexpr|__builtin_assume\w*|offsetof)\s*\(")
    for m in calls.finditer(code):
        blank(m.end(), matching(code, m.end() - 1))
    for m in re.finditer(r"poison\w*\([^;]*;", code):
        begin = max(code.rfind(c, 0, m.start()) for c in ";{}") + 1  # of the statement
        if "{" not in m[0] and ")" in m[0]:
            blank(begin, m.end())
    for m in re.finditer(r"\b(template(\s+\w+)?|requires)\s*<", code):
        blank(m.end(), angle(code, m.end() - 1))
    code = "".join(out)
    for m in re.finditer(r"\b(concept|using|enum|case|requires)\b[^;{]*|\boperator\s*[^\w\s(]+", code):
        blank(m.start(), m.end())
    for m in re.finditer(r"(?:^|(?<=[;{}]))\s*(?:static |inline )*constexpr [^;(){}]*(?<!operator)(=|\{)[^;]*;",
                         code):
        makes_it_in_a_lambda = re.search(r"=\s*\[", code[m.start():m.end(1) + 2])
        if "(" not in code[m.start():m.start(1)] and not makes_it_in_a_lambda:
            blank(m.start(), m.end())
    return "".join(out)


def matching(code, at):
    """Where the bracket at `at` closes."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in opening) - (code[i] in closing)
        if depth == 0:
            return i
    return len(code)


def angle(code, at):
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == "<") - (code[i] == ">" and code[i - 1] != "-")
        if depth == 0:
            return i
    return len(code)


def bodies(code):
    """[begin, end) of every function's body, lambdas within them included; whether it is constexpr."""
    found, i, head = [], 0, 0
    while i < len(code):
        c = code[i]
        if c in ";}":
            head = i + 1
        elif c == "(":
            i = matching(code, i)
        elif c == "{":
            before = code[head:i]
            if not before.endswith((" ", "\n")) or re.search(r"(=|return)\s*$", before):
                i = matching(code, i)       # an initializer
            elif re.search(r"\bconstexpr\b[^;()]*=\s*\[[^\]]*\]\s*$", before):
                end = matching(code, i)     # a lambda that makes a constant
                found.append((i + 1, end, True))
                i, head = end, end + 1
            elif re.match(r"\s*(template\s*<.*?>\s*)?(namespace|struct|class|union|enum|extern)\b",
                          before, re.S) or ")" not in before:
                head = i + 1                # a scope
            else:
                end = matching(code, i)
                found.append((i + 1, end, "constexpr" in before or "consteval" in before))
                i, head = end, end + 1
        i += 1
    return found


def operand(code, at, step):
    """How far the operand of && or || beside `at` goes: its other end."""
    i, depth = at, 0
    enter, leave = (opening, closing) if step > 0 else (closing, opening)
    while 0 <= i < len(code):
        c = code[i]
        if depth == 0:
            two = code[i:i + 2] if step > 0 else code[max(i - 1, 0):i + 1]
            if c in leave or c in ";,?{}" or two in ("&&", "||"):
                break
            if c == ":" and code[i - 1] != ":" and code[i + 1] != ":":
                break
            if assigns(code, i) or step < 0 and code[max(i - 5, 0):i + 1] == "return":
                break
        depth += (c in enter) - (c in leave)
        i += step
    return i


def assigns(code, i):
    return code[i] == "=" and code[i + 1].isspace() and code[i - 1] not in "=<>!" or \
        code[i - 2:i + 1] in ("<<=", ">>=")


def trimmed(code, begin, end):
    while begin < end and code[begin].isspace():
        begin += 1
    while begin < end and code[end - 1].isspace():
        end -= 1
    return begin, end


def find(file, text):
    """The mutants of a file, in its order."""
    code, found = masked(text), []
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    lines = text.splitlines()
    at_line = {}
    behind_if, depth = [False], 0
    for words in lines:
        depth += bool(re.match(r"\s*#\s*if", words)) - bool(re.match(r"\s*#\s*endif", words))
        behind_if.append(depth > 0)

    def add(at, change, *edits):
        line = bisect.bisect_right(starts, at)
        words = lines[line - 1].strip()
        key = (words, change)
        nth = at_line.get(key, 0)
        at_line[key] = nth + 1
        found.append(mutant(file, line, words, change, nth, list(edits), constant or behind_if[line]))

    def wrap(begin, end, function):  # an expression becomes an argument
        begin, end = trimmed(code, begin, end)
        return (begin, "", f"mutant::{function}({{n}}, "), (end, "", ")")

    for begin, end, constant in bodies(code):
        for m in operator.finditer(code, begin, end):
            if code[:m.start()].endswith("... ") or code.startswith(" ...", m.end()):
                continue  # a fold has no operands of its own
            name, other = operators[m[1]]
            add(m.start(), f"{m[1]} -> {other}", (m.end(), "", f" mutant::{name}({{n}}) {m[1]}"))
        for m in re.compile(r"(?<=\s)(&&|\|\|)(?=\s)").finditer(code, begin, end):
            function = "yes" if m[1] == "&&" else "no"
            value = "true" if m[1] == "&&" else "false"
            left = operand(code, m.start() - 1, -1) + 1
            right = operand(code, m.end(), 1)
            add(m.start(), f"a {m[1]} b -> {value} {m[1]} b", *wrap(left, m.start(), function))
            add(m.start(), f"a {m[1]} b -> a {m[1]} {value}", *wrap(m.end(), right, function))
        for m in re.compile(r"\b(if|while)\s*\(").finditer(code, begin, end):
            first, last = m.end(), matching(code, m.end() - 1)
            first = max(first, code.rfind(";", first, last) + 1)
            condition = code[first:last]
            if re.match(r"\s*(const |auto|[\w:<>]+[*&]* [*&]?\w+ = )", condition) or not condition.strip():
                continue
            if re.search(r"[\w:>]+[*&]* \*?\w+ = ", condition):
                continue
            if m[1] == "while" or "&&" in condition:
                changes = [("no", "false")]
            elif "||" in condition:
                changes = [("yes", "true")]
            else:
                changes = [("yes", "true"), ("no", "false")]
            for function, value in changes:
                add(m.start(), f"{m[1]} ({value})", *wrap(first, last, function))
        for m in re.compile(r"\bfor\s*\(").finditer(code, begin, end):
            last = matching(code, m.end() - 1)
            parts = [i for i in range(m.end(), last) if code[i] == ";"]
            if len(parts) == 2 and code[parts[0] + 1:parts[1]].strip():
                add(m.start(), "for (; false;)", *wrap(parts[0] + 1, parts[1], "no"))
        for m in backwards.finditer(code, begin, end):
            indices = list(re.finditer(rf"\[({m[1]} - 1)\]", m[3]))
            if len(indices) == 1:
                first = m.start(3) + indices[0].start(1)
                last = m.start(3) + indices[0].end(1)
                add(m.start(), "last to first -> first to last", (first, "", "mutant::other({n}, "),
                    (last, "", f", {m[2].strip()} - {m[1]})"))
        for m in re.compile(r"(?<=\s)\?(?=\s)").finditer(code, begin, end):
            left = operand_of_ternary(code, m.start() - 1)
            add(m.start(), "c ? -> !c ?", *wrap(left, m.start(), "flipped"))
        for m in re.compile(r"\breturn (true|false);").finditer(code, begin, end):
            other = "false" if m[1] == "true" else "true"
            add(m.start(), f"return {other}", *wrap(m.start(1), m.end(1), "flipped"))
        for m in re.compile(r"(?<![\w.'])(\d+)(?:[uUlLzZ]*)(?![\w.'])").finditer(code, begin, end):
            add(m.start(), f"{m[1]} -> {int(m[1]) + 1}", *wrap(m.start(), m.end(), "number"))
        order = r"(?:std::memory_order_|\b(?:detail::)?memory_order::)(acquire|release|acq_rel|seq_cst)\b"
        for m in re.compile(order).finditer(code, begin, end):
            add(m.start(), f"{m[1]} -> relaxed", *wrap(m.start(), m.end(), "order"))
        for first, last in statements(code, begin, end):
            add(first, "removed", (first, "", "if (mutant::kept({n})) { "), (last, "", " }"))
    found.sort(key=lambda m: m.edits[0][0])
    return found


def operand_of_ternary(code, at):
    i, depth = at, 0
    while i >= 0:
        c = code[i]
        if depth == 0:
            if c in "([{;,?}":
                break
            if c == ":" and code[i - 1] != ":" and code[i + 1] != ":":
                break
            if assigns(code, i) or code[max(i - 5, 0):i + 1] == "return":
                break
        depth += (c in closing) - (c in opening)
        i -= 1
    return i + 1


def statements(code, begin, end):
    """Expression statements: [first, last) with their semicolons."""
    i, head, depth = begin, begin, 0
    while i < end:
        c = code[i]
        if c in "([":
            i = matching(code, i)
            # A lambda's body in an argument list has statements of its own; they are left alone.
        elif c == "{" and code[i - 1] not in " \n":
            i = matching(code, i)
        elif c in "{}":
            head = i + 1
        elif c == ";":
            first, last = trimmed(code, head, i + 1)
            words = code[first:last]
            if last - first > 2 and not not_an_expression.match(words) and not unnoticed.search(words):
                yield first, last
            head = i + 1
        i += 1


def with_mutants(text, mutants):
    """The text with the mutants in it, by their numbers. Edits at one place: inner ones first."""
    opens, closes = {}, {}
    for m in mutants:
        whole = m.edits[-1][0] - m.edits[0][0]
        for k, (at, _, put) in enumerate(m.edits):
            put = put.replace("{n}", str(m.number))
            if len(m.edits) == 2 and k == 1:
                closes.setdefault(at, []).append((whole, put))
            else:
                opens.setdefault(at, []).append((whole, put))
    out, last = [], 0
    for at in sorted(set(opens) | set(closes)):
        out.append(text[last:at])
        out += [put for _, put in sorted(closes.get(at, []), key=lambda e: e[0])]
        out += [put for _, put in sorted(opens.get(at, []), key=lambda e: -e[0])]
        last = at
    out.append(text[last:])
    return "".join(out)
