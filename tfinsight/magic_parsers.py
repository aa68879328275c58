"""The parsers of the magics, made from the tables of options; their help is the documentation."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

from IPython.core.error import UsageError

from tfinsight.options import GRAPH_OPTIONS, MAP_OPTIONS, Option

_MAP_HELP = (
    "Measure every sensible way of mapping a function over elements.\n\n"
    "On top of a cell that calls tf.map_fn or tf.vectorized_map, anywhere below it:\n"
    "    %%mapcost\n    y = tf.map_fn(f, x)\n\n"
    "For a function and elements by name, as a cell or as a line:\n"
    "    %%mapcost --fn f --over x\n    %mapcost f x"
)
_GRAPH_HELP = (
    "Run a cell eagerly, as a graph and compiled with XLA, and show what each stage did.\n\n"
    "On top of any cell that computes with TensorFlow, a training step or model.fit included:\n"
    "    %%graphcompare\n    z = tf.nn.relu(x @ w + b)\n    tf.reduce_mean(z)\n\n"
    "Imports, definitions and what makes variables, models or datasets run once; a comment line\n"
    "# measure in the cell sets the border yourself. For an expression, as a line:\n"
    "    %graphcompare step(x, y)"
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")


def map_parser() -> argparse.ArgumentParser:
    """Returns the parser of both forms of `mapcost`."""
    words = "in the line form: the function and the elements"
    return _parser("%%mapcost", _MAP_HELP, words, MAP_OPTIONS)


def graph_parser() -> argparse.ArgumentParser:
    """Returns the parser of both forms of `graphcompare`; the expression is no part of it."""
    return _parser("%%graphcompare", _GRAPH_HELP, "in the line form: an expression", GRAPH_OPTIONS)


def words(magic: str, line: str) -> list[str]:
    """Splits a magic's line as a shell does.

    Raises:
        UsageError: a quotation mark is not closed.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%{magic}: {error} in: {line}") from None


def split_expression(line: str, options: Sequence[Option]) -> tuple[str, str]:
    """Splits the line `[options] expression` into the options and the expression as written."""
    takes_value = {flag: o.metavar is not None for o in options for flag in o.flags}
    position, rest = 0, line
    while (word := rest.split(maxsplit=1)[:1]) and word[0].startswith("-"):
        flag = word[0].split("=")[0]
        begin = line.index(word[0], position)
        position = begin + len(word[0])
        if takes_value.get(flag) and "=" not in word[0] and line[position:].split():
            value = line[position:].split(maxsplit=1)[0]
            position = line.index(value, position) + len(value)
        rest = line[position:]
    return line[:position], rest.strip()


def _parser(
    name: str, description: str, names: str, options: Sequence[Option]
) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=name,
        add_help=False,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=description,
    )
    parser.add_argument("names", nargs="*", help=names)
    for option in options:
        _add(parser, option)
    parser.add_argument("-h", "--help", action="store_true", help="show this and run nothing")
    return parser


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    if option.metavar is None:
        parser.add_argument(*option.flags, help=option.help, action="store_true")
        return

    def convert(text: str) -> Any:
        try:
            return option.convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    parser.add_argument(*option.flags, help=option.help, metavar=option.metavar, type=convert)
