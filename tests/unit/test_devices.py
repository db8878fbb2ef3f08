import re
from pathlib import Path

import pytest

from polygpu import devices
from polygpu.support.catalogue import CATALOGUE
from polygpu.support.diagnostics import Diagnosed

SHIPPED = Path(devices.__file__).parent


def test_names_and_aliases() -> None:
    assert devices.names() == ("8800gtx", "generic", "gtx285", "h100")
    assert devices.load("G80") is not None
    assert devices.load("geforce-8800-gtx") == devices.load("8800gtx")


@pytest.mark.parametrize("name", devices.names())
def test_every_constant_has_a_source_and_every_cost_a_unit(name: str) -> None:
    device = devices.load(name)
    of_tensor_cores = {f"tensor_{policy}" for policy in device.tensor_cores.split()}
    assert set(device.costs) == {*devices.COSTS, *of_tensor_cores} <= set(device.units)
    assert all(device.sources[key] for key in device.costs if device.costs[key])
    assert all(text.endswith(("(high)", "(medium)", "(low)")) for text in device.sources.values())


def test_published_peaks() -> None:
    """Peak rates and bandwidths as the manufacturer states them, from clock and widths."""
    gtx, gt200, h100 = (devices.load(n) for n in ("8800gtx", "gtx285", "h100"))
    peak = [d.multiprocessors * d.clock * d.costs["flops_per_cycle"] / 1e9 for d in (gtx, gt200, h100)]
    assert peak == pytest.approx([345.6, 708.5, 66900], rel=1e-3)
    assert gtx.bandwidth == 384 / 8 * 900e6 * 2
    assert gt200.bandwidth == pytest.approx(512 / 8 * 1242e6 * 2, rel=1e-3)


def test_tensor_cores_of_a_device_have_costs(tmp_path: Path) -> None:
    text = (SHIPPED / "h100.toml").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(re.sub("\ntensor_half = .*", "", text))
    assert "costs.tensor_half is missing" in _rejection(str(file))[1]
    file.write_text(
        re.sub('\ntensor_cores = { value = "[a-z0-9 ]*"', '\ntensor_cores = { value = "tf32"', text)
    )
    assert devices.load(str(file)).costs["tensor_half"] > 0


def test_limits_of_compute_capability_9() -> None:
    h100 = devices.load("h100")
    assert (h100.shared_per_multiprocessor, h100.shared_per_block) == (228 * 1024, 227 * 1024)
    assert h100.max_grid == (2**31 - 1, 65535, 65535)
    assert h100.asynchronous_copies and h100.widest_access == 16 and h100.banks == 32


def test_a_users_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (SHIPPED / "generic.toml").read_text().replace('name = "generic"', 'name = "mine"')
    file.write_text("".join(_bare(line) for line in text.splitlines(True)))
    mine = devices.load(str(file))
    assert mine.name == "mine"
    assert mine.max_block == devices.load("generic").max_block
    assert mine.costs == devices.load("generic").costs
    assert mine.sources["clock"] == "device file"


def _bare(line: str) -> str:
    """`key = { value = 1, unit = ... }` as `key = 1`."""
    key, _, rest = line.partition(" = { value = ")
    return f"{key} = {rest.partition(', unit')[0]}\n" if rest else line


def _rejection(name: str) -> tuple[str, str]:
    with pytest.raises(Diagnosed) as error:
        devices.load(name)
    (diagnostic,) = error.value.diagnostics
    return diagnostic.id, f"{diagnostic.message}; {diagnostic.help}"


def test_unknown_name_lists_the_known_ones() -> None:
    assert _rejection("9900gtx") == (
        "PG801",
        "unknown device '9900gtx'; known devices: 8800gtx, generic, gtx285, h100; or a TOML file",
    )


def test_missing_and_broken_files(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert _rejection(str(missing)) == (
        "PG802",
        f"cannot read device file '{missing}': No such file or directory; ",
    )
    broken = tmp_path / "broken.toml"
    broken.write_text("name = \n")
    assert _rejection(str(broken))[0] == "PG802"
    empty = tmp_path / "empty.toml"
    empty.write_text('name = "x"\n')
    assert _rejection(str(empty)) == ("PG803", f"device file '{empty}' has no table [limits]; ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("warp = {", "wrap = {", "limits.warp is missing; limits.wrap is not known"),
        ("banks = { value = 16", 'banks = { value = "16"', "limits.banks is not an integer of at least 0"),
        ("clock = { value = 1350000000.0", "clock = { value = 0", "limits.clock must be positive"),
        ('rule = { value = "cc10"', 'rule = { value = "cc11"', "limits.rule is none of cc10, cc13, sector"),
        ("warp = { value = 32", "warp = { value = 64", "limits.warp is not 32"),
        ("banks = { value = 16", "banks = { value = 128", "limits.banks is more than 64"),
        ("bank_bytes = { value = 4", "bank_bytes = { value = 6", "limits.bank_bytes is no power of two"),
        ("request_lanes = { value = 16", "request_lanes = { value = 64", "request_lanes is more than 32"),
        (
            "largest_transaction = { value = 128",
            "largest_transaction = { value = 256",
            "limits.largest_transaction is none of (32, 64, 128)",
        ),
        (
            "request_lanes = { value = 16",
            "request_lanes = { value = 4",
            "limits.smallest_transaction is more than a request of the narrowest words takes",
        ),
        (
            "latency = { value = 420.0",
            "latency = { value = -1",
            "costs.latency is not a number of at least 0",
        ),
    ],
)
def test_bad_values(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (SHIPPED / "geforce_8800_gtx.toml").read_text()
    assert text.count(f"\n{old}") == 1
    file = tmp_path / "bad.toml"
    file.write_text(text.replace(f"\n{old}", f"\n{new}"))
    identity, rendered = _rejection(str(file))
    assert identity == "PG803" and message in rendered


def test_every_rejection_is_explained() -> None:
    raised = set(re.findall(r'"(PG\d+)"', (SHIPPED / "__init__.py").read_text()))
    assert raised == {number for number in CATALOGUE if number.startswith("PG8")}
