"""Puts all mutants of a file into it: each function becomes a `match` over the number of the active mutant."""

import re
from collections import defaultdict

ACTIVE = """
#[doc(hidden)]
#[allow(missing_docs, clippy::all)]
pub fn __mutant() -> u32 {
    static ACTIVE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ACTIVE.get_or_init(|| std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0))
}
"""
"""The function that the crate gets; 0 is the code as it is."""
SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|\bb?r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'""", re.S)
"""Comments and literals, whose braces do not count."""
OPAQUE = re.compile(r"->\s*impl\s+(.+?)(?:\s*\+\s*(?:'\w+|use<.*>))*\s*$", re.S)
"""What a function returns if only its compiler knows the type, as in `-> impl Trait + '_`."""
MARK = re.compile(r"\n|/\*(BEGIN|END)-MUTANT-(\d+)\*/")


def instrumented(text, mutants):
    """The file with its mutants, and those that a `match` cannot have: in constants and where a type is opaque."""
    at, edits, left = positions(text), [], []
    functions = defaultdict(list)
    for mutant in mutants:
        if mutant["function"] is None:
            left.append(mutant)
        else:
            functions[at(mutant["function"]["span"])].append(mutant)
    for (start, end), found in functions.items():
        body = body_start(text, start, end)
        signature = SKIPPED.sub("", text[start:body]) if body else "const fn"
        is_nested = any(start <= other[0] and other[1] <= end and other != (start, end) for other in functions)
        boxed = box_of(signature)
        if is_nested or "const fn" in signature or boxed is None and re.search(r"->.*\bimpl\b", signature, re.S):
            left += found
            continue
        arms = [arm(text, at(mutant["span"]), mutant, (body + 1, end - 1), boxed) for mutant in found]
        edits.append((body + 1, end - 1, choice(arms, value(text[body + 1 : end - 1], boxed))))
    for start, end, code in sorted(edits, reverse=True):
        text = text[:start] + code + text[end:]
    return text, left


def positions(text):
    """Converts the lines and columns of a span into offsets."""
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    offset = lambda place: lines[place["line"] - 1] + place["column"] - 1
    return lambda span: (offset(span["start"]), offset(span["end"]))


def box_of(signature):
    """Arms of different types become one `Box<dyn Trait>`, if what it borrows can be named: one argument at most."""
    opaque = OPAQUE.search(signature)
    borrowed = signature[: opaque.start()].count("&") if opaque else 0
    if opaque is None or borrowed > 1 or re.search(r"\bimpl\b.*->|\bfn \w+<[^>]*\w:", signature, re.S):
        return None
    lifetime = " + '_" if re.search("[&']", signature) and "use<>" not in signature else ""
    return f"Box<dyn {opaque[1]}{lifetime}>"


def body_start(text, start, end):
    """Where the braces of a function begin."""
    blank = SKIPPED.sub(lambda found: " " * len(found[0]), text[start:end])
    name, depth = re.search(r"\bfn\s", blank), 0
    for index in range(name.start() if name else len(blank), len(blank)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(blank[index], 0)
        if blank[index] == "{" and depth == 0:
            return start + index
    return None


def arm(text, span, mutant, place, boxed):
    """The body of a function with one mutant."""
    number = mutant["number"]
    body = value(text[place[0] : span[0]] + mutant["replacement"] + text[span[1] : place[1]], boxed)
    return f"{number}u32 => {{/*BEGIN-MUTANT-{number}*/{body}\n}}/*END-MUTANT-{number}*/\n"


def value(body, boxed):
    return f"Box::new({{{body}\n}}) as {boxed}" if boxed else body


def choice(arms, body):
    return "match crate::__mutant() {\n" + "".join(arms) + "_ => {" + body + "\n}}\n"


def lines_of_mutants(text):
    """The first line, the last line and the number of each mutant in an instrumented file."""
    line, begin, lines = 1, 0, []
    for mark in MARK.finditer(text):
        if mark[1] is None:
            line += 1
        elif mark[1] == "BEGIN":
            begin = line
        else:
            lines.append((begin, line, int(mark[2])))
    return lines
