"""The command `tfinsight`: runs the main job on built-in real data, and what shells need of it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PATCH = STRIDE = 32


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
        return status
    except (ValueError, OSError) as error:
        print(f"tfinsight {given.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"tfinsight {given.command}: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tfinsight", description=(__doc__ or "").split(": ")[1])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="measure a function of the patches of a photograph, and write the report",
        description="Measure every sensible way of mapping a function over the patches of a photograph.",
    )
    demo.add_argument(
        "--out", type=Path, help="where to write the HTML report; default: a new folder for it"
    )
    demo.add_argument("--budget", type=float, default=20.0, help="seconds to measure; default: 20")
    demo.set_defaults(run=lambda given: run_demo(given.out, given.budget))
    words = "print the rules that mask in nbval what varies in reports"
    sanitize = commands.add_parser("nbval-sanitize", help=words, description=words.capitalize())
    sanitize.add_argument("--out", type=Path, help="write them to this file instead")
    sanitize.set_defaults(run=lambda given: write_rules(given.out))
    return parser


def write_rules(out: Path | None) -> int:
    """Prints the rules for nbval, or writes them to a file."""
    from tfinsight.render.same import sanitize_file

    if out is None:
        print(sanitize_file(), end="")
    else:
        out.write_text(sanitize_file(), "utf-8")
    return 0


def run_demo(out: Path | None, budget: float) -> int:
    """Maps `describe_patch` over the patches of a photograph, prints the report and writes it."""
    from tfinsight.allocator_switch import request_full_coverage
    from tfinsight.api import mapcost

    request_full_coverage()
    patches = photograph_patches()
    print(f"Mapping describe_patch over {len(patches)} patches of a photograph ...\n", flush=True)
    report = mapcost(describe_patch, patches, budget=budget)
    path = out or Path(tempfile.mkdtemp(prefix="tfinsight-")) / "demo.html"
    report.save(str(path))
    print(report.to_text())
    print(f"\nThe same with pictures, to open in a browser: {path.resolve()}")
    return 0


def photograph_patches() -> Any:
    """Returns the patches of a photograph that matplotlib ships.

    Returns:
        float32 tensor `[patches, 32, 32, 3]`, values 0 to 1.
    """
    import tensorflow as tf
    from matplotlib.cbook import get_sample_data

    path = str(get_sample_data("grace_hopper.jpg", asfileobj=False))
    photograph = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.convert_image_dtype(photograph, tf.float32)
    sizes, strides = [1, PATCH, PATCH, 1], [1, STRIDE, STRIDE, 1]
    patches = tf.image.extract_patches(image[None], sizes, strides, [1, 1, 1, 1], "VALID")
    return tf.reshape(patches, [-1, PATCH, PATCH, 3])


def describe_patch(patch: Any) -> Any:
    """Standardizes one patch, finds its edges and returns a few statistics of them.

    Args:
        patch: float32 tensor `[height, width, 3]`.

    Returns:
        float32 tensor `[4]`: mean and largest strength of the edges, and the share of strong ones
        along and across.
    """
    import tensorflow as tf

    standardized = tf.image.per_image_standardization(patch)
    grey = tf.reduce_mean(standardized, axis=-1)
    edges = tf.image.sobel_edges(grey[None, :, :, None])[0, :, :, 0]
    strength = tf.norm(edges, axis=-1)
    strong = tf.cast(tf.abs(edges) > 1.0, tf.float32)
    shares = tf.reduce_mean(strong, axis=[0, 1])
    return tf.stack([tf.reduce_mean(strength), tf.reduce_max(strength), shares[0], shares[1]])
