"""The dialects: CUDA C++, OpenCL C 1.2, the plain C99 of host code; and which of them are targets.

A package adds one of its own with an entry point of the group `polygpu.dialects` that is its `Dialect`, a
program with `register`.
"""

from __future__ import annotations

from polygpu.printing.dialect import Dialect, words

GROUP = "polygpu.dialects"

_LANES = {
    "float": "float", "double": "double", "int": "int", "unsigned int": "uint", "short": "short",
    "unsigned short": "ushort", "char": "char", "signed char": "char", "unsigned char": "uchar",
}  # fmt: skip
_STEMS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")

_CPP = words("""
    alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class co_await co_return
    co_yield compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit
    export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public reinterpret_cast requires static_assert static_cast template this thread_local throw true try
    typeid typename using virtual wchar_t xor xor_eq
""")
_CUDA_NAMES = words("""
    threadIdx blockIdx blockDim gridDim warpSize dim3 min max floord floord_long offset_t
    shared_memory lanes
""") | {f"{stem}{n}" for stem in (*_STEMS, "longlong", "ulonglong") for n in (1, 2, 3, 4)}
_OPENCL_NAMES = words("""
    kernel global local constant private generic read_only write_only read_write half bool true false uchar
    ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t quad complex imaginary event_t sampler_t pipe
    image1d_t image2d_t image3d_t min max floord floord_long offset_t lanes
""") | {f"{stem}{n}" for stem in (*_STEMS, "half") for n in (2, 3, 4, 8, 16)}
_HOST_NAMES = words("""
    region description kernels kernel wide grid grid_x grid_y grid_z from_x from_y from_z block cl
    scalar_names scalar_values called_with PROFILED_SIZES
""") | (
    _RUNTIME := words("""
    name_device write_kernel write_region write_profile write_sizes open_profile
    profile_launch profile_sizes profiled_device
    open_region close_region check allocate hold image_of upload download begin_launch end_launch
    set_argument open_kernel run_kernel find_device device_of open_device close_device status_text
    build_program print_build_log source
""")
)

C = Dialect("c")  # the user's own

HOST_C = Dialect(
    name="c",
    calls={"min": "polygpu_min", "max": "polygpu_max", "floord": "polygpu_floord",
           "floord_long": "polygpu_floord"},
    reserved=_CPP | _HOST_NAMES,
)  # fmt: skip

CUDA = Dialect(
    name="cuda",
    files={"_cuda.cu": "cuda/file.cu.j2"},
    types={"_Bool": "bool", "long": "long long", "unsigned long": "unsigned long long"},
    calls={"labs": "llabs"},
    builtins={
        **{f"thread_{d}": f"(int)threadIdx.{d}" for d in "xyz"},
        **{f"block_{d}": f"(int)blockIdx.{d}" for d in "xyz"},
    },
    restrict="__restrict__",
    function="static __device__",
    maybe_unused="[[maybe_unused]]",
    shared_space="__shared__ ",
    constants_apart=True,
    texture_load="__ldg(&{place})",
    alignment="__align__({bytes}) ",
    static_shared=48 * 1024,
    chunked_grids=True,
    barrier="__syncthreads();",
    part_barrier="polygpu_sync_part({part}, {threads});",
    unroll="#pragma unroll",
    wide_access="*reinterpret_cast<{const}{vector} *>(&{place})",
    wide_value="make_{vector}({lanes})",
    vectors={**_LANES, "long": "longlong", "long long": "longlong", "unsigned long": "ulonglong",
             "unsigned long long": "ulonglong"},
    scaled="polygpu_scaled({value}, {constant}, {high}f, {low}f, {least}f)",
    copy="__pipeline_memcpy_async(&{target}, &{source}, {bytes});",
    fragments="polygpu_multiply_{policy}({parts});",
    commit="__pipeline_commit();",
    wait="__pipeline_wait_prior({pending});",
    reserved=_CPP | _CUDA_NAMES,
    functions=_RUNTIME,
    host_region="polygpu_region &region",
    host_region_argument="region",
    host_flag="bool",
    weak=('extern "C" {\n__attribute__((weak))', "\n}"),
)  # fmt: skip

OPENCL = Dialect(
    name="opencl",
    files={"_opencl.c": "opencl/file.c.j2", "_opencl.cl": "opencl/file.cl.j2"},
    types={"_Bool": "bool", "signed char": "char", "long long": "long",
           "unsigned long long": "unsigned long"},
    stored={"_Bool": "unsigned char"},
    calls={"abs": "(int)abs", "labs": "(long)abs", "llabs": "(long)abs", "nearbyint": "rint"},
    builtins={
        **{f"thread_{d}": f"(int)get_local_id({i})" for i, d in enumerate("xyz")},
        **{f"block_{d}": f"(int)get_group_id({i})" for i, d in enumerate("xyz")},
    },
    long_suffix="L",
    float_functions=False,
    function="",
    global_space="__global ",
    shared_space="__local ",
    constant_space="__constant ",
    alignment="__attribute__((aligned({bytes}))) ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    unroll="#pragma unroll",
    wide_access="*({const}{space}{vector} *)&{place}",
    wide_value="({vector})({lanes})",
    vectors={**_LANES, "long": "long", "long long": "long", "unsigned long": "ulong",
             "unsigned long long": "ulong"},
    reserved=_OPENCL_NAMES,
    host=C,
    host_array="cl_mem {name}",
)  # fmt: skip

EMULATOR = Dialect(
    name="emulator",
    files={"_emulator.c": "emulator/emulator.c.j2"},
    device="8800gtx",
    printer="polygpu.printing.emulator.program:print_files",
    counts=True,
)

_registered: dict[str, Dialect] = {}


def default_offload(target: str) -> str:
    """What `polygpu compile` does with loops that nobody marked: what counts is there to see them run."""
    return "always" if find(target).counts else "auto"


def register(dialect: Dialect) -> None:
    """Makes `dialect` a target. Raises ValueError where it has no files, or its name is another's."""
    if not dialect.files:
        raise ValueError(f"the dialect {dialect.name} has no files")
    if _registered.setdefault(dialect.name, dialect) != dialect:
        raise ValueError(f"there are two dialects {dialect.name}")


def find(name: str) -> Dialect:
    """The target of that name. Raises ValueError where there is none."""
    if name not in _registered:
        _register_installed()
    if name not in _registered:
        raise ValueError(f"no target {name}; there are {', '.join(_registered)}")
    return _registered[name]


def registered() -> tuple[Dialect, ...]:
    """All targets, polygpu's own first."""
    _register_installed()
    return tuple(_registered.values())


def _register_installed() -> None:
    """Registers what installed packages bring along; looking for them takes a while."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - polygpu's own dialects do without

    for point in entry_points(group=GROUP):
        register(point.load())


for _own in (CUDA, OPENCL, EMULATOR):
    register(_own)
