"""A GPU as a data file describes it: limits, rules, and (for the model) costs with their sources."""

from __future__ import annotations

from dataclasses import field

from polygpu.support.dataclass import dataclass

WARP = 32  # threads of a warp on all devices: its active lanes are the bits of a word


@dataclass(frozen=True, slots=True)
class Device:
    """Sizes in bytes, clocks in Hz. `rule` is the coalescing rule: "cc10", "cc13" or "sector"."""

    name: str
    title: str
    compute_capability: str
    rule: str
    request_lanes: int  # lanes of one memory request: a half-warp of 16, or a warp of 32
    smallest_transaction: int  # with global memory
    largest_transaction: int
    narrowest_coalesced: int  # bytes of the narrowest word that rule "cc10" coalesces
    spare_transactions: int  # beyond the fewest possible, with which a request counts as coalesced
    warp: int
    banks: int
    bank_bytes: int  # of one word of a bank
    multiprocessors: int
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    threads_per_multiprocessor: int
    warps_per_multiprocessor: int
    blocks_per_multiprocessor: int
    registers_per_multiprocessor: int
    max_registers_per_thread: int
    register_granularity: int
    register_granularity_unit: str  # "block" or "warp"
    shared_per_multiprocessor: int
    shared_per_block: int
    shared_granularity: int
    shared_reserved: int  # bytes a block loses to the system (CC 1.x: indices), arguments apart
    arguments_in_shared: bool
    argument_bytes: int  # that a kernel may have
    constant_bytes: int
    device_memory: int
    doubles: bool
    calibrated: bool  # whether modelled times tell choices apart
    asynchronous_copies: bool
    widest_access: int  # bytes
    allocation_alignment: int  # of arrays in device memory
    l2_bytes: int
    clock: float
    bandwidth: float  # B/s at the pins
    costs: dict[str, float]  # named constants of the timing model; units in the device file
    sources: dict[str, str]  # where each value comes from
    units: dict[str, str] = field(default_factory=dict)
    margin: float = 0.03  # share of the modelled time that a choice must gain over what rules choose
    warp_granularity: int = 1  # warps are allocated in multiples of this
    pointer_bytes: int = 8  # of an address in device memory
    registers_reserved: int = 4  # a compiler's, beside the values that live at once
    shared_operands: bool = False  # arithmetic reads shared memory without a register for value or address
    loads_ahead: int = 12  # iterations of an innermost loop whose loads a compiler issues together
    texture_line: int = 32  # bytes that a miss of the texture cache fetches
    texture_cache: int = 8192  # bytes of it that serve one multiprocessor
    tensor_cores: str = ""  # the policies of its products: tf32, half, bfloat16, double
    single_broadcast: bool = False  # shared memory broadcasts one word a step (CC 1.x), else any number
