"""The reference: public names, out of their signatures and docstrings in the sources, and options of commands."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator

from documents.tree import ROOT
from torchrun_jsc.endpoint import parser

if TYPE_CHECKING:
    import argparse

PACKAGE = ROOT / "python" / "torchrun_jsc"
#: Where the public names are defined.
FILES = ("_core.pyi", "resolve.py", "fixes.py", "cli.py", "errors.py")
#: Special methods, as they are used.
SPECIAL = {"__len__": "len({})", "__getitem__": "{}[index]"}


def endpoint_options() -> str:
    """Return a table of the options of ``python -m torchrun_jsc.endpoint``."""
    actions = [action for action in parser()._actions if action.dest != "help"]
    rows = [f"| `{_option(action)}` | {action.help} |" for action in actions]
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def _option(action: argparse.Action) -> str:
    """The option, with what argparse calls its value if it takes one."""
    name = action.option_strings[0]
    return name if action.nargs == 0 else f"{name} {action.metavar or action.dest.upper()}"


def names() -> str:
    """Return a section for each public name, in the order of ``__all__``."""
    nodes = {node.name: node for file in FILES for node in _definitions(_tree(file))}
    return "\n".join(_section(nodes[name]) for name in _public() if not name.startswith("__"))


def _tree(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def _definitions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in tree.body:
        # The endpoint is looked up by a function of the same name in both: the last file counts.
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node


def _public() -> list[str]:
    for node in _tree("__init__.py").body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            found: list[str] = ast.literal_eval(node.value)
            return found
    raise AssertionError("no __all__")


def _section(node: ast.FunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.FunctionDef):
        return f"### `{node.name}`\n\n```text\n{_signature(node)}\n```\n\n{_text(node)}\n"
    bases = " and a ".join(f"`{ast.unparse(base)}`" for base in node.bases)
    first = next((member for member in _members(node) if member.name in ("__new__", "__init__")), None)
    call = f"\n\n```text\n{_signature(first, node.name)}\n```" if first else ""
    kind = f"\n\nIs a {bases}." if bases else ""
    rows = [row for member in _members(node) for row in _row(member)]
    members = "\n\n| | |\n|---|---|\n" + "\n".join(rows) if rows else ""
    return f"### `{node.name}`{call}{kind}\n\n{_text(node)}{members}\n"


def _members(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [member for member in node.body if isinstance(member, ast.FunctionDef)]


def _row(member: ast.FunctionDef) -> list[str]:
    """A row of a class's table; nothing for what goes without saying."""
    # A bar would end the cell.
    returns = ": `{}`".format(ast.unparse(member.returns).replace("|", "\\|")) if member.returns else ""
    text = _text(member).replace("\n\n- ", " ").replace("\n", " ")
    if member.name in SPECIAL:
        return [f"| `{SPECIAL[member.name].format('…')}`{returns} | {text} |"]
    if member.name.startswith("__") or not text:
        return []
    is_property = any(ast.unparse(decorator) == "property" for decorator in member.decorator_list)
    arguments = "" if is_property else "({})".format(", ".join(arg.arg for arg in member.args.args[1:]))
    return [f"| `{member.name}{arguments}`{returns} | {text} |"]


def _signature(node: ast.FunctionDef, name: str | None = None) -> str:
    """One line, or one for each parameter where it would be long."""
    arguments = re.sub(r"(: [^,=]+)=", r"\1 = ", ast.unparse(node.args))
    if name is not None:
        arguments = re.sub(r"^(cls|self)(, )?", "", arguments)
    head, end = name or node.name, "" if name or node.returns is None else f" -> {ast.unparse(node.returns)}"
    line = f"{head}({arguments}){end}"
    if len(line) <= 100:
        return line
    separate = re.sub(r", (?![^\[]*\])", ",\n    ", arguments)
    return f"{head}(\n    {separate},\n){end}"


def _text(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The docstring as Markdown: its fields become a list."""
    text = ast.get_docstring(node) or ""
    text = re.sub(r":(?:func|meth|data|class):`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text.replace("``", "`"))
    text = re.sub(r"^:param (\w+):", r"- `\1`:", text, flags=re.MULTILINE)
    text = re.sub(r"^:returns:", "- Returns", text, flags=re.MULTILINE)
    text = re.sub(r"^:raises (\w+):", r"- Raises `\1`", text, flags=re.MULTILINE)
    # A list begins after an empty line, and a line that goes on is indented in it.
    return re.sub(r"(?<=[^\n])\n    (?=\S)", "\n  ", text)
