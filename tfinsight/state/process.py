"""What measuring itself changes in the process, kept and put back: one literal list."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight import tensorflow_private

# The seed that is in force while measuring. Putting back the state of TensorFlow's own stream would
# not help, since its counters sit in cached kernels; under another seed other kernels are used.
MEASURING_SEED = 0x7F1
_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (tf.config.functions_run_eagerly, tf.config.run_functions_eagerly),
    (tf.config.get_soft_device_placement, tf.config.set_soft_device_placement),
    (tf.config.optimizer.get_jit, tf.config.optimizer.set_jit),
    (
        tf.config.experimental.get_synchronous_execution,
        tf.config.experimental.set_synchronous_execution,
    ),
    (
        tf.config.experimental.tensor_float_32_execution_enabled,
        tf.config.experimental.enable_tensor_float_32_execution,
    ),
    (tensorflow_private.optimizer_options, tensorflow_private.set_optimizer_options),
    (os.getcwd, os.chdir),
    (gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
)


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Puts settings, seeds, log levels, warning filters and gradient tapes back at the end.

    Until then gradient tapes of the user's record nothing, functions run as graphs even where the
    user had them run eagerly, and TensorFlow's and all other random streams are others.
    """
    undo = contextlib.ExitStack()
    try:
        for keep in (_settings, _environment, _log_levels, _random_streams):
            undo.callback(keep())
        undo.enter_context(warnings.catch_warnings())
        undo.enter_context(tensorflow_private.paused_tapes())
        undo.enter_context(tensorflow_private.other_seed(MEASURING_SEED))
        tf.config.run_functions_eagerly(False)
        yield
    finally:
        with deferred_interrupts():
            undo.close()


def reseed(seed: int = MEASURING_SEED) -> None:
    """Starts TensorFlow's stream of op seeds anew, so that every call begins alike."""
    tensorflow_private.restart_op_seeds(seed)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Lets the block end before an interrupt is raised: half a restored state is worth nothing."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[Any] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if arrived and callable(previous):
            previous(*arrived[0])


def _settings() -> Callable[[], None]:
    saved = [(get, put, get()) for get, put in _SETTINGS]

    def restore() -> None:
        for get, put, value in saved:
            if get() != value:
                put(value)

    return restore


def _environment() -> Callable[[], None]:
    saved = dict(os.environ)

    def restore() -> None:
        for name in os.environ.keys() - saved.keys():
            del os.environ[name]
        os.environ.update({n: v for n, v in saved.items() if os.environ.get(n) != v})

    return restore


def _log_levels() -> Callable[[], None]:
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    saved = [(x, x.level) for x in loggers if isinstance(x, logging.Logger)]

    def restore() -> None:
        for logger, level in saved:
            if logger.level != level:
                logger.setLevel(level)

    return restore


def _random_streams() -> Callable[[], None]:
    python, numpy = random.getstate(), np.random.get_state()

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(numpy)

    return restore
