"""Where the numbers are made: versions, machine, devices, settings."""

from __future__ import annotations

import datetime as dt
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import tensorflow as tf

from tfinsight.records import Coverage, Environment

PACKAGES = ("tensorflow", "keras", "numpy", "ipython", "ipywidgets", "matplotlib")
# Environment variables that change what TensorFlow does and so belong to the numbers.
VARIABLES = ("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS", "TF_NUM_INTRAOP_THREADS")


def measured_device() -> str:
    """Returns the device whose memory is measured: the first GPU if there is one, else the CPU."""
    return "GPU:0" if tf.config.list_logical_devices("GPU") else "CPU:0"


def environment(device: str, coverage: Coverage) -> Environment:
    """Describes this process and machine.

    Args:
        device: what `measured_device` returned.
        coverage: which allocations its memory figures include.
    """
    return Environment(
        versions={"python": platform.python_version(), **_package_versions()},
        platform=platform.platform(terse=True) + f" {platform.machine()}",
        processor=_processor(),
        cores=_cores(),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        devices=tuple(d.name.split("device:")[-1] for d in tf.config.list_logical_devices()),
        device=device,
        coverage=coverage,
        settings=_settings(),
        created=dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
    )


def _package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _settings() -> dict[str, str]:
    settings = {
        "intra-op threads": str(
            tf.config.threading.get_intra_op_parallelism_threads() or "default"
        ),
        "inter-op threads": str(
            tf.config.threading.get_inter_op_parallelism_threads() or "default"
        ),
        "functions run eagerly": str(tf.config.functions_run_eagerly()),
        "automatic XLA": str(tf.config.optimizer.get_jit() or "off"),
        "soft placement": str(tf.config.get_soft_device_placement()),
    }
    keras = sys.modules.get("keras")  # not loaded for this alone
    if keras is not None:
        settings["mixed precision"] = str(keras.config.dtype_policy().name)
    return settings | {name: os.environ[name] for name in VARIABLES if name in os.environ}
