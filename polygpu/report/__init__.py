"""What the commands show: compilations, runs and devices, as text, JSON and on a terminal."""

from polygpu.report.device import device_table
from polygpu.report.explain import explain
from polygpu.report.facts_json import facts_json
from polygpu.report.text import inspect_text

__all__ = ["device_table", "explain", "facts_json", "inspect_text"]
