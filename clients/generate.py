#!/usr/bin/env python3
"""Writes the clients' types of the server's responses from docs/openapi.json; with --check, only compares them."""

import html
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPESCRIPT = ROOT / "clients/typescript/src/wire.ts"
PYTHON = ROOT / "clients/python/src/restante/_wire.py"
GO = ROOT / "clients/go/restante/wire.go"
JAVA = ROOT / "clients/java/restante/src/main/java/io/github/restante/model"
WIDTH = 120
NOTE = "Written by clients/generate.py."

# What the clients show, in an order in which each type comes after those that it uses. Some have another name in a
# client, which has its own class Inbox or Message.
TYPES = [
    "Health", "Inbox", "Message", "Envelope", "Header", "Mailbox", "Otp", "Code", "Link", "AttachmentInfo",
    "ListUnsubscribe", "MessageDetails", "SendAccepted", "Fault", "FaultState", "Ended", "Arrived", "ArrivedMessages",
    "Refused", "Similar", "SmtpUse", "SendApisUse", "Explanation", "EventFilters", "Exchange", "Event",
]  # fmt: skip
CHECKS = [
    "Problem", "HtmlFeature", "HtmlSupport", "SpfCheck", "DkimCheck", "DmarcCheck", "Authentication", "MessageChecks",
]  # fmt: skip
"""Go and Java have their own types of these."""
TYPESCRIPT_NAMES = {
    "Inbox": "InboxFields", "Message": "MessageFields", "SendAccepted": "Sent", "Event": "InboxEvent",
}  # fmt: skip
GO_NAMES = {
    "Inbox": "InboxFields", "Message": "MessageFields", "MessageDetails": "Details", "Otp": "OTP",
    "SendAccepted": "Sent", "SmtpUse": "SMTPUse", "Event": "InboxEvent",
}  # fmt: skip
GO_WORDS = {"id": "ID", "url": "URL", "urls": "URLs", "otp": "OTP", "html": "HTML", "tls": "TLS", "smtp": "SMTP"}
JAVA_NAMES = {
    "Inbox": "InboxFields", "Message": "MessageFields", "MessageDetails": "Details", "SendAccepted": "Sent",
    "Event": "InboxEvent",
}  # fmt: skip
JAVA_WORDS = {"do": "action"}
"""Words of the language, and what is written instead."""
JAVA_WIDTH = 100
OPEN_FIELDS = {"missed_by"}
"""Lists of words to which a client adds its own, here the filters that only it applies."""
PYTHON_NAMES = {
    "Inbox": "InboxData", "Message": "MessageFields", "MessageDetails": "Details", "SendAccepted": "Sent",
    "Event": "InboxEvent",
}  # fmt: skip


def fields(schema):
    """The properties of a schema, each with whether it is required. Alternatives become one type with all of them."""
    if "oneOf" not in schema:
        required = schema.get("required", [])
        return {name: (field, name in required) for name, field in schema["properties"].items()}
    variants, found = schema["oneOf"], {}
    for name in dict.fromkeys(name for variant in variants for name in variant["properties"]):
        given = [variant["properties"][name] for variant in variants if name in variant["properties"]]
        field = dict(given[0])
        if "enum" in field:
            field["enum"] = list(dict.fromkeys(word for variant in given for word in variant["enum"]))
        if len(given) < len(variants) or any(variant.get("default") != field.get("default") for variant in given):
            field.pop("default", None)
        found[name] = field, all(name in variant["required"] for variant in variants)
    return found


def parts(field):
    """The alternatives of a field without null, and whether it may be null."""
    choices = field.get("anyOf", [field])
    kinds = [choice for choice in choices if choice.get("type") != "null"]
    null = len(kinds) < len(choices) or "null" in field.get("type", "")
    return kinds[0], null


def words(field):
    return [word for word in field.get("enum", [field.get("const")]) if word is not None]


def kind_of(field):
    kind = field.get("type")
    return next(name for name in kind if name != "null") if isinstance(kind, list) else kind


def typescript_type(field):
    field, null = parts(field)
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        kind = TYPESCRIPT_NAMES.get(name, name)
    elif words(field):
        kind = " | ".join(json.dumps(word) for word in words(field))
    elif kind_of(field) == "array":
        item = typescript_type(field["items"])
        kind = f"({item})[]" if "|" in item else f"{item}[]"
    else:
        kind = {"integer": "number"}.get(kind_of(field), kind_of(field))
    return f"{kind} | null" if null else kind


def comment(text):
    if len(line := f"  /** {text} */") <= WIDTH:
        return line
    wrapped = textwrap.wrap(text, WIDTH - len("   * "))
    return "\n".join(["  /**", *(f"   * {line}" for line in wrapped), "   */"])


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def typescript(schemas):
    lines = [f"/** The types of the server's responses, with JavaScript field names. {NOTE} */"]
    for name in TYPES + CHECKS:
        lines += ["", f"/** {schemas[name].get('description', 'The server answers.')} */"]
        lines.append(f"export interface {TYPESCRIPT_NAMES.get(name, name)} {{")
        for field, (schema, required) in fields(schemas[name]).items():
            if "description" in schema:
                lines.append(comment(schema["description"]))
            kind = "string[]" if field in OPEN_FIELDS else typescript_type(schema)
            head = f"  {camel(field)}{'' if required else '?'}:"
            if len(f"{head} {kind};") > WIDTH:
                kind = "".join(f"\n    | {part}" for part in kind.split(" | "))
                lines.append(f"{head}{kind};")
            else:
                lines.append(f"{head} {kind};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def python_type(field):
    field, null = parts(field)
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        kind = PYTHON_NAMES.get(name, name)
    elif words(field):
        kind = f"Literal[{', '.join(json.dumps(word) for word in words(field))}]"
    elif kind_of(field) == "array":
        # The client adds its own words to such a list.
        kind = "tuple[str, ...]" if words(field["items"]) else f"tuple[{python_type(field['items'])}, ...]"
    elif field.get("format") == "date-time":
        kind = "datetime"
    else:
        kind = {"integer": "int", "string": "str", "boolean": "bool"}[kind_of(field)]
    return f"{kind} | None" if null else kind


def python_field(name, schema, required):
    # A word of Python gets an underscore, which the decoder removes.
    name, kind = "from_" if name == "from" else name, python_type(schema)
    if required:
        line = f"    {name}: {kind}"
    elif "default" in schema:
        line = f"    {name}: {kind} = {schema['default']!r}"
    else:
        line = f"    {name}: {kind.removesuffix(' | None')} | None = None"
    if len(line) > WIDTH:
        head, words = line.removesuffix("]").split("Literal[")
        line = f"{head}Literal[\n" + "".join(f"        {word},\n" for word in words.split(", ")) + "    ]"
    return line


def python(schemas):
    lines = [
        f'"""The responses of the server as frozen dataclasses. {NOTE}"""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "from datetime import datetime",
        "from typing import Literal",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(PYTHON_NAMES.get(name, name) for name in TYPES + CHECKS)),
        "]",
    ]
    for name in TYPES + CHECKS:
        lines += ["", "", "@dataclass(frozen=True)", f"class {PYTHON_NAMES.get(name, name)}:"]
        lines += [f'    """{schemas[name].get("description", "The server answers.")}"""', ""]
        found = fields(schemas[name])
        # Fields with a default come last.
        for field in sorted(found, key=lambda field: not found[field][1]):
            lines.append(python_field(field, *found[field]))
    return "\n".join(lines) + "\n"


def go_name(name):
    return "".join(GO_WORDS.get(word, word.capitalize()) for word in name.split("_"))


def go_type(field, required):
    """A pointer for what may be null or absent, except a text, which is then empty, and a number that is not sent."""
    field, null = parts(field)
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        kind = GO_NAMES.get(name, name)
    elif kind_of(field) == "array":
        return f"[]{go_type(field['items'], True)}"
    elif field.get("format") == "date-time":
        kind = "time.Time"
    else:
        kind = {"integer": "int", "string": "string", "boolean": "bool", None: "string"}[kind_of(field)]
    return kind if kind in ("string", "int") or (required and not null) else f"*{kind}"


def go_comment(text, indent):
    lines = textwrap.wrap(text, WIDTH - len(indent) - len("// "))
    return [f"{indent}// {line}" for line in lines]


def go_field(name, schema, required):
    text = schema.get("description", "")
    if found := words(parts(schema)[0]):
        text = f"{text} One of {', '.join(found)}.".strip()
    omit = "" if required else ",omitempty"
    return [*go_comment(text, "\t"), f'\t{go_name(name)} {go_type(schema, required)} `json:"{name}{omit}"`']


def go(schemas):
    lines = [f"// The responses of the server. {NOTE}", "", "package restante", "", 'import "time"']
    for name in TYPES:
        own = GO_NAMES.get(name, name)
        lines += ["", *go_comment(f"{own}: {schemas[name].get('description', 'The server answers.')}", "")]
        lines.append(f"type {own} struct {{")
        for field, found in fields(schemas[name]).items():
            lines += go_field(field, *found)
        lines.append("}")
    return "\n".join(lines) + "\n"


def java_type(field, required):
    """An object for what may be null or absent."""
    field, null = parts(field)
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return JAVA_NAMES.get(name, name)
    if kind_of(field) == "array":
        return f"List<{java_type(field['items'], False)}>"
    if field.get("format") == "date-time":
        return "Instant"
    kind = {"integer": "int", "string": "String", "boolean": "boolean", None: "String"}[kind_of(field)]
    return kind if required and not null else {"int": "Integer", "boolean": "Boolean"}.get(kind, kind)


def java_name(field):
    return JAVA_WORDS.get(field, camel(field))


def java_comment(text, first=" * ", rest=" * "):
    text = re.sub("`([^`]*)`", r"{@code \1}", html.escape(text, quote=False)).replace("\n", " ")
    return textwrap.wrap(text, JAVA_WIDTH, initial_indent=first, subsequent_indent=rest,
                         break_on_hyphens=False, break_long_words=False)  # fmt: skip


def java_head(own, parameters):
    """The head of a record, broken into lines as google-java-format does."""
    head, joined = f"public record {own}(", ", ".join(parameters)
    if len(f"{head}{joined}) {{}}") <= JAVA_WIDTH:
        return [f"{head}{joined}) {{}}"]
    if len(f"    {joined}) {{}}") <= JAVA_WIDTH:
        return [head, f"    {joined}) {{}}"]
    return [head, *(f"    {one}," for one in parameters[:-1]), f"    {parameters[-1]}) {{}}"]


def java(name, schema):
    """The file of one record."""
    own = JAVA_NAMES.get(name, name)
    lines, parameters = ["/**", *java_comment(f"{schema.get('description', 'The server answers.')} {NOTE}"), " *"], []
    for field, (found, required) in fields(schema).items():
        text = found.get("description", "")
        if chosen := words(parts(found)[0]):
            text = f"{text} One of {', '.join(chosen)}.".strip()
        lines += java_comment(f"@param {java_name(field)} {text}", rest=" *     ")
        annotation = f'@JsonProperty("{field}") ' if field in JAVA_WORDS else ""
        parameters.append(f"{annotation}{java_type(found, required)} {java_name(field)}")
    body = [*lines, " */", *java_head(own, parameters)]
    used = [("@JsonProperty", "import com.fasterxml.jackson.annotation.JsonProperty;")]
    used += [("Instant", "import java.time.Instant;"), ("List<", "import java.util.List;")]
    imports = [line for kind, line in used if any(kind in parameter for parameter in parameters)]
    package = ["package io.github.restante.model;", ""]
    return JAVA / f"{own}.java", "\n".join([*package, *imports, *([""] if imports else []), *body]) + "\n"


def main():
    """Writes or checks all files."""
    schemas = json.loads((ROOT / "docs/openapi.json").read_text())["components"]["schemas"]
    java_files = [java(name, schemas[name]) for name in TYPES]
    outdated = []
    for path, text in (
        (TYPESCRIPT, typescript(schemas)), (PYTHON, python(schemas)), (GO, go(schemas)), *java_files
    ):  # fmt: skip
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            outdated.append(str(path.relative_to(ROOT)))
    if outdated:
        sys.exit(f"out of date: {', '.join(outdated)}. Run clients/generate.py")


main()
