"""What a read through the constant or the texture cache costs: in how many parts a request is served.

A request comes from a half-warp on CC 1.x, from a warp on later chips. The same rules run in the emulator,
written in C, on what the lanes really access.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygpu.model.device import Device
from polygpu.model.kernel import ArraySpace
from polygpu.perf.coalescing import Address
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CachedReads:
    """The rule of one cache: a request of `lanes` has a part for each distinct `granule` of bytes.

    The constant cache serves one address at a time, whichever lanes want it (CUDA C Programming Guide 4.2,
    5.3.2, constant memory), so its granule is 1. That of the texture cache is a line.
    """

    lanes: int
    granule: int

    @staticmethod
    def of(device: Device, space: ArraySpace) -> CachedReads:
        """The rule of the constant or texture cache of `device`."""
        return CachedReads(device.request_lanes, 1 if space == "constant" else device.texture_line)

    def parts(self, addresses: Sequence[Address]) -> int:
        """Distinct addresses, or lines, of one request; 0 when no lane is active.

        `addresses` are those of the lanes' words in bytes, aligned to the size of the word, which is not
        larger than a line.
        """
        return len({address // self.granule for address in addresses if address is not None})
