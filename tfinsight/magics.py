"""`%%mapcost`, `%%graphcompare` and `%tfinsight`: parse, understand the cell, call the API, display."""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import os
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import display

from tfinsight.allocator_switch import request_full_coverage
from tfinsight.magic_parsers import graph_parser, map_parser, split_expression, words
from tfinsight.options import (
    DEFAULT_BUDGET_S,
    GRAPH_OPTIONS,
    MAP_OPTIONS,
    graph_options,
    map_options,
)

if TYPE_CHECKING:
    from tfinsight.report import Report

COMPLETED = ("%%mapcost", "%mapcost", "%%graphcompare", "%graphcompare")
_PACKAGE = os.path.dirname(__file__) + os.sep


@magics_class
class TfinsightMagics(Magics):
    """The magics of one shell; holds the last report."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.shell: InteractiveShell = shell
        self.last: Report | None = None
        self.coverage = request_full_coverage()

    @no_var_expand
    @line_cell_magic
    def mapcost(self, line: str, cell: str | None = None) -> None:
        """Measures a map; the documentation that users see is made from the parser, below."""
        parser = map_parser()
        given = parser.parse_args(words("mapcost", line))
        if given.help:
            print(parser.format_help())  # noqa: T201 - what was asked for
            return
        from tfinsight.map_cell import MapChoice, named_workload, run_and_understand

        _line_names(given, cell)
        choice = MapChoice(given.fn, given.over, given.call, given.batched, given.also or ())
        options = map_options(vars(given))
        namespace = self.shell.user_ns
        with _usage_errors("mapcost"):
            _check_before(options, choice)
            if cell is None:
                workload = named_workload(namespace, choice)
            else:
                parsed = self._cell("mapcost", line, cell)
                with self._shown_from(parsed.filename):
                    workload = run_and_understand(parsed, namespace, choice)
        from tfinsight.api import measure_map

        self._measure("mapcost", functools.partial(measure_map, workload, options), given)

    @no_var_expand
    @line_cell_magic
    def graphcompare(self, line: str, cell: str | None = None) -> None:
        """Compares executions; the documentation that users see is made from the parser, below."""
        parser = graph_parser()
        expression = ""
        if cell is None:
            line, expression = split_expression(line, GRAPH_OPTIONS)
        given = parser.parse_args(words("graphcompare", line))
        if given.help:
            print(parser.format_help())  # noqa: T201 - what was asked for
            return
        if given.names:
            raise UsageError(
                f"%%graphcompare: unexpected `{given.names[0]}`; options come before the expression"
            )
        if cell is None and not expression:
            raise UsageError(
                "%graphcompare: expected an expression, as in: %graphcompare step(x, y)"
            )
        from tfinsight.api import measure_graph
        from tfinsight.graph_cell import run_and_split
        from tfinsight.strategies.graph_rows import check_names

        options = graph_options(vars(given))
        with _usage_errors("graphcompare"):
            check_names(options.strategies, options.baseline, options.also, options.mixed)
            text = f"{expression};" if cell is None else cell
            parsed = self._cell("graphcompare", line, text)
            with self._shown_from(parsed.filename):
                workload = run_and_split(parsed, self.shell.user_ns, options.also)
        self._measure("graphcompare", functools.partial(measure_graph, workload, options), given)

    @line_magic
    def tfinsight(self, line: str) -> Report | None:
        """Shows the last report (`%tfinsight last`) or this machine's figures (`%tfinsight env`)."""
        wanted = line.strip()
        if wanted == "last":
            if self.last is None:
                raise UsageError(
                    "%tfinsight last: there is no report yet; run a cell under %%mapcost or %%graphcompare"
                )
            return self.last
        if wanted == "env":
            from tfinsight.api import current_environment
            from tfinsight.render.text import render_environment

            print(render_environment(current_environment()))  # noqa: T201 - what was asked for
            return None
        raise UsageError(f"%tfinsight: expected `last` or `env`, not `{wanted}`")

    def after_cell(self, _: Any) -> None:
        """Gives the environment back as it was once TensorFlow has created its devices."""
        self.coverage.settle()

    def _measure(
        self, magic: str, measure: Callable[[Any], Report], given: argparse.Namespace
    ) -> None:
        from tfinsight.api import MeasurementError, MeasurementInterrupted

        progress = self._progress(given.quiet, given.budget or DEFAULT_BUDGET_S)
        try:
            with _usage_errors(magic):
                report = measure(progress)
        except MeasurementInterrupted as stopped:
            self._show(stopped.report, progress, given)
            text = f"KeyboardInterrupt: {stopped}"
            _show_as(stopped, lambda: [text])
            raise
        except MeasurementError as stopped:
            self._show(stopped.report, progress, given)
            raise
        except BaseException:
            progress.clear()
            raise
        self._show(report, progress, given)

    def _progress(self, quiet: bool, budget_s: float) -> Any:
        from tfinsight.render.progress import NoProgress, TerminalProgress

        if quiet:
            return NoProgress()
        if not hasattr(self.shell, "kernel"):
            return TerminalProgress(budget_s)
        from tfinsight.render.widgets import LiveReport

        live = LiveReport(budget_s)
        display(live)
        return live

    def _show(self, report: Report, progress: Any, given: argparse.Namespace) -> None:
        self.last = report
        if given.output:
            self.shell.user_ns[given.output] = report
        if hasattr(progress, "show"):
            progress.show(report)
        else:
            progress.clear()
        if not given.quiet:
            display(report)
        if given.save:
            report.save(given.save)

    @contextlib.contextmanager
    def _shown_from(self, filename: str) -> Iterator[None]:
        """Lets an error of the cell's own be shown as without the magic, tfinsight's frames left out."""
        try:
            yield
        except Exception as error:
            trace = _frames_from(error.__traceback__, filename)
            if trace is not None:
                shown = self.shell.InteractiveTB.structured_traceback
                _show_as(error, functools.partial(shown, type(error), error, trace, tb_offset=0))
            raise

    def _cell(self, magic: str, line: str, text: str) -> Any:
        """Registers the cell's source in the shell's cache, line numbers as in the notebook."""
        from tfinsight.cell import Cell

        compiler = self.shell.compile
        code = f"# %%{magic} {line}\n" + self.shell.transform_cell(text)
        filename = compiler.cache(code, self.shell.execution_count, raw_code=code)
        tree = self.shell.transform_ast(compiler.ast_parse(code, filename))
        return Cell(
            text=text,
            filename=filename,
            tree=tree,
            compile_tree=lambda tree, name, mode: compile(
                tree, name, mode, compiler.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            ),
            register=lambda text: str(compiler.cache(text, self.shell.execution_count, text)),
            source=code,
            shows_last=not DisplayHook.semicolon_at_end_of_expression(text),
        )


TfinsightMagics.mapcost.__doc__ = map_parser().format_help()
TfinsightMagics.graphcompare.__doc__ = graph_parser().format_help()


def _line_names(given: argparse.Namespace, cell: str | None) -> None:
    """Moves the names of the line form to where `--fn` and `--over` put them."""
    if not given.names and cell is not None:
        return
    if cell is not None:
        raise UsageError(
            f"%%mapcost: unexpected `{given.names[0]}`; name the function and the elements with "
            "--fn FUNCTION --over ELEMENTS"
        )
    if given.names:
        if given.fn or given.over or len(given.names) < 2:
            raise UsageError("%mapcost: expected a function and elements, as in: %mapcost f x")
        given.fn, given.over = given.names[0], " ".join(given.names[1:])
    elif not (given.fn and given.over):
        raise UsageError("%mapcost: expected a function and elements, as in: %mapcost f x")


def _check_before(options: Any, choice: Any) -> None:
    """Checks all that does not need the cell's names, so that a slip costs no run of the cell."""
    from tfinsight.strategies import check_names

    choice.check()
    check_names(options.strategies, options.baseline, options.also)


@contextlib.contextmanager
def _usage_errors(magic: str) -> Iterator[None]:
    from tfinsight.errors import WorkloadError

    try:
        yield
    except WorkloadError as error:
        raise UsageError(f"%%{magic}: {error}") from None


def _show_as(error: BaseException, lines: Callable[[], list[str]]) -> None:
    """Sets how IPython shows an error: it asks the exception itself for this method."""
    with contextlib.suppress(AttributeError, TypeError):  # some exceptions take no attributes
        error._render_traceback_ = lines  # type: ignore[attr-defined]


def _frames_from(trace: types.TracebackType | None, filename: str) -> types.TracebackType | None:
    """Returns the part of a traceback that begins in `filename`, without tfinsight's own frames."""
    kept: list[types.TracebackType] = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if (kept or name == filename) and not name.startswith(_PACKAGE):
            kept.append(trace)
        trace = trace.tb_next
    chain = None
    for part in reversed(kept):
        chain = types.TracebackType(chain, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return chain


def completions(_: Any, event: Any) -> Sequence[str]:
    """Returns what can follow in a line that begins with a magic."""
    from tfinsight.strategies import EXECUTIONS, GRID
    from tfinsight.strategies.graph_rows import graph_rows

    of_graphs = "graphcompare" in event.line.split(maxsplit=1)[0]
    previous = event.line[: len(event.line) - len(event.symbol)].split()[-1:]
    if previous and previous[0] in ("-s", "--strategies", "--baseline"):
        if of_graphs:
            return [*(row.id for row in graph_rows((), None, "fit")), "as-written"]
        mappings = dict.fromkeys(row.mapping for row in GRID)
        return [*(row.id for row in GRID), *mappings, *EXECUTIONS, "as-written"]
    options = GRAPH_OPTIONS if of_graphs else MAP_OPTIONS
    for option in options:
        if option.choices and previous and previous[0] in option.flags:
            return option.choices
    if event.symbol.startswith("-"):
        return [flag for option in options for flag in option.flags if flag.startswith("--")]
    return []  # the notebook's own names are completed by IPython


def register(shell: InteractiveShell) -> None:
    """Adds the magics to a shell; asks for complete memory figures while that is still possible."""
    magics = TfinsightMagics(shell)
    shell.register_magics(magics)
    for key in COMPLETED:
        shell.set_hook("complete_command", completions, str_key=key)
    shell.events.register("post_run_cell", magics.after_cell)
    if magics.coverage.outcome == "too late":
        print(  # noqa: T201 - the one line that a user must know
            "tfinsight: memory figures are incomplete in this kernel. For complete ones, restart it "
            "and load tfinsight before TensorFlow first computes something."
        )


def unregister(shell: InteractiveShell) -> None:
    """Takes the magics out of a shell."""
    manager = shell.magics_manager
    magics = manager.registry.pop(TfinsightMagics.__name__, None)
    for kind in ("cell", "line"):
        for name in ("mapcost", "graphcompare", "tfinsight"):
            manager.magics[kind].pop(name, None)
    for key in COMPLETED:
        shell.strdispatchers["complete_command"].strs.pop(key, None)
    if magics is not None:
        shell.events.unregister("post_run_cell", magics.after_cell)
        magics.coverage.withdraw()
