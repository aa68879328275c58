"""Why a strategy failed, in TensorFlow's own words without its frames, node names and hints."""

from __future__ import annotations

import re

LONGEST = 600
# What stands around a reason in TensorFlow's messages, and what is put in its place.
_CLUTTER: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"^in user code:\n(?:.*\n)*?(?=    \w+(?:Error|Exception|Warning)?: )", ""),
        (r"^Graph execution error:\s*", ""),
        (r"^Detected at node \S+ defined at .*\n", ""),
        (r"^\s*(?:The op is created at:|Stack trace for op definition:)\s*$", ""),
        (r"^\s*File \"?[^\n]*$", ""),
        (r"\[_XlaMustCompile=[^\]]*\]", ""),
        (r"\{\{function_node [^}]*\}\}\s*", ""),
        (r"\s*\[\[.*?\]\]", ""),
        (r"(?<=\))\{\{node [^}]*\}\}", ""),
        (r"\{\{node ([^}]*)\}\}", r"\1"),
        (r"\s*\[Op:[^\]]*\](?: name:.*)?$", ""),
        (r"^\s*tf2xla conversion failed.*$", ""),
        (r"Run with TF_DUMP_GRAPH_PREFIX.*$", ""),
        (r"\n\s*\n+", "\n"),
    )
)


def reason(error: BaseException) -> str:
    """Returns the message of `error` without what only says where TensorFlow stood."""
    text = str(error).strip()
    for pattern, replacement in _CLUTTER:
        text = pattern.sub(replacement, text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines)[:LONGEST] or type(error).__name__
