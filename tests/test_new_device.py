"""A chip is a file: one that polygpu does not know compiles, runs, counts and is timed by its own numbers."""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import cli, devices
from polygpu.compilation import Compilation, Options
from polygpu.perf.coalescing import Coalescing
from polygpu.perf.predict import predict
from polygpu.pipeline import compile_file
from tests.emulated import FLAGS
from tests.profiles import KernelProfile, read_profile

SHIPPED = Path(devices.__file__).parent

# Half the banks, transactions of 64 bytes at most, quarter-warps, few warps, slow division.
CHANGES = {
    "name": '"nothing-yet"',
    "banks": 8,
    "request_lanes": 8,
    "largest_transaction": 64,
    "narrowest_coalesced": 4,
    "allocation_alignment": 512,
    "multiprocessors": 3,
    "warps_per_multiprocessor": 10,
    "threads_per_multiprocessor": 320,
    "max_threads_per_block": 256,
    "max_block": "[256, 256, 64]",
    "shared_per_multiprocessor": 12288,
    "shared_per_block": 12288,
    "clock": 1.0e9,
    "divide": 100.0,
}
EXTENTS = (70, 45, 37)


def changed(text: str, **changes: object) -> str:
    """A device file with other values; the rest of each entry stays."""
    for key, value in changes.items():
        text, count = re.subn(
            rf"(?m)^({key} = )(\{{ value = )?(\[.*?\]|\".*?\"|[\w.+-]+)",
            lambda m, value=value: f"{m[1]}{m[2] or ''}{value}",  # type: ignore[misc]
            text,
        )
        assert count == 1, key
    return text


@pytest.fixture
def chip(tmp_path: Path) -> str:
    file = tmp_path / "nothing-yet.toml"
    file.write_text(changed((SHIPPED / "geforce_8800_gtx.toml").read_text(), **CHANGES))
    return str(file)


def test_the_command_runs_on_it(chip: str, capfd: pytest.CaptureFixture[str]) -> None:
    source = str(programs.source_of("mm"))
    arguments = ["run", "--target", "emulator", "--device", chip, "--check", source, "--", "70", "45", "37"]
    assert cli.invoke(arguments) == 0
    report = capfd.readouterr().err
    assert "prints what the original prints, to the bit" in report
    assert "of 10 warps" in report


def built(kernel: str, device: str, folder: Path) -> tuple[Compilation, dict[str, KernelProfile]]:
    compilation = compile_file(str(programs.source_of(kernel)), Options(target="emulator", device=device))
    files = {suffix: folder / f"{kernel}{suffix}" for suffix in ("_host.c", "_emulator.c")}
    for suffix, path in files.items():
        path.write_text(compilation.files[suffix])
    made = folder / kernel
    programs.call(("gcc", *FLAGS, *files.values(), "-o", made, "-lm"))
    count = len(programs.parameters_of(kernel))
    programs.run(made, EXTENTS[:count], POLYGPU_PROFILE=str(folder / "profile.json"))
    regions = read_profile(folder / "profile.json").regions
    return compilation, {k.name: k for r in regions for k in r.kernels}


@pytest.mark.parametrize("kernel", ["mm", "mv", "transpose", "jacobi-2d"])
def test_its_counts_are_predicted(kernel: str, chip: str, tmp_path: Path) -> None:
    compilation, _ = built(kernel, chip, tmp_path)
    names = dict(zip(programs.parameters_of(kernel), EXTENTS, strict=False))
    (region,) = compilation.regions
    found = predict(region.region, compilation.device, names)
    document = json.loads((tmp_path / "profile.json").read_text())
    assert not found.inexact
    assert [found.record] == [r for r in document["regions"] if r["name"] == found.record["name"]]


def test_its_numbers_count(chip: str, tmp_path: Path) -> None:
    """Requests of quarter-warps move 32 bytes where they coalesce, and twice as many of them are made."""
    device = devices.load(chip)
    assert Coalescing.of(device).period == 8 * 16
    _, here = built("transpose", chip, tmp_path)
    _, there = built("transpose", "8800gtx", tmp_path)
    for kernel in here.values():
        counted = kernel.counters
        assert counted["bytes"] == 32 * counted["transactions_32"] > 0
        requests = sum(k.counters["requests"] for k in there.values())
        assert counted["requests"] > 1.5 * requests


def test_every_number_is_shown(chip: str, capfd: pytest.CaptureFixture[str]) -> None:
    """`polygpu devices` prints each value of a file, with its unit and source."""
    assert cli.invoke(["devices", chip]) == 0
    output = capfd.readouterr().out
    lines = {line.split()[0]: line for line in output.splitlines() if line.startswith("  ")}
    text = Path(chip).read_text()
    entries = re.findall(r'(?m)^(\w+) = \{ value = .*?, unit = "(.*)", source = "(.*)", conf', text)
    assert len(entries) > 60
    for key, unit, source in entries:
        assert unit in lines[key]
        assert source in lines[key]


@pytest.mark.parametrize("kernel", ["mm", "mv", "jacobi-2d", "heat-3d", "trisolv", "durbin"])
def test_rules_choose_blocks_that_a_chip_has_threads_for(kernel: str, tmp_path: Path) -> None:
    file = tmp_path / "narrow.toml"
    file.write_text(changed((SHIPPED / "h100.toml").read_text(), max_threads_per_block=64))
    compiled = compile_file(str(programs.source_of(kernel)), Options(device=str(file), level=1))
    blocks = [prod(k.block) for r in compiled.regions for k in r.region.kernels]
    assert blocks and max(blocks) <= 64
