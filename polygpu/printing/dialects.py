"""The C dialects as tables of strings: CUDA C++, OpenCL C 1.2, and the plain C99 of host code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one language spells what the others spell differently.

    `types` maps canonical C types to other spellings, `stored` those that differ again in memory;
    `calls` maps C's functions. Formats take their parts by name; an empty one stands for nothing to
    print. `reserved` are words that a C program may use as names and this dialect may not, `functions`
    those it may not use as names of functions, beside the names that `polygpu.frontend` gives up everywhere.

    Textures. CUDA: `__ldg`, the read-only data path, which is the texture unit's cache on every chip that
    nvcc 13 compiles for (compute capability 7.5 and later; texture references are gone, and texture objects
    take the same path). OpenCL: a plain `__global const` pointer that is `restrict`, which is what compilers
    need to know to take that path by themselves. Images would change what is computed, as they have no
    doubles and no 64-bit integers, limit the sizes, and lay rows out in their own way.
    """

    name: str
    types: Mapping[str, str] = field(default_factory=dict)
    stored: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    builtins: Mapping[str, str] = field(default_factory=dict)
    long_suffix: str = "LL"
    float_functions: bool = True  # sqrtf beside sqrt
    restrict: str = "restrict"
    function: str = "static"
    global_space: str = ""
    shared_space: str = ""
    constant_space: str = ""  # of an argument
    constants_apart: bool = False  # constant arrays are no arguments but variables of the file
    texture_load: str = ""  # a load through the texture cache; "": the compiler chooses the path
    alignment: str = ""
    barrier: str = ""
    unroll: str = ""
    wide_access: str = ""  # an aligned vector as an lvalue
    wide_value: str = ""
    vectors: Mapping[str, str] = field(default_factory=dict)  # type -> stem of its vector types
    copy: str = ""  # one asynchronous copy of 4, 8 or 16 bytes from global to shared memory
    commit: str = ""
    wait: str = ""
    reserved: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()

    def type(self, ctype: str) -> str:
        """The spelling of a canonical type, or of a structure's name."""
        return self.types.get(ctype, ctype)

    def stored_type(self, ctype: str) -> str:
        """The spelling in arrays and arguments."""
        return self.stored.get(ctype) or self.types.get(ctype) or " ".join(map(self.spell, ctype.split()))

    def spell(self, name: str) -> str:
        """A user's name, with `_` appended to words of the dialect: distinct names stay distinct."""
        return f"{name}_" if name.rstrip("_") in self.reserved else name

    def spell_function(self, name: str) -> str:
        """The name of a user's function."""
        return f"{name}_" if name.rstrip("_") in self.reserved | self.functions else name


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


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
    name_device write_string write_kernel write_region write_profile write_sizes open_profile
    profile_launch profile_sizes profiled_device
    open_region close_region check allocate upload download begin_launch end_launch set_argument open_kernel
    run_kernel find_device device_of open_device close_device status_text build_program print_build_log source
""")
)

HOST_C = Dialect(
    name="c",
    calls={"min": "polygpu_min", "max": "polygpu_max", "floord": "polygpu_floord"},
    reserved=_CPP | _HOST_NAMES,
)

CUDA = Dialect(
    name="cuda",
    types={"_Bool": "bool", "long": "long long", "unsigned long": "unsigned long long"},
    calls={"labs": "llabs"},
    builtins={
        **{f"thread_{d}": f"(int)threadIdx.{d}" for d in "xyz"},
        **{f"block_{d}": f"(int)blockIdx.{d}" for d in "xyz"},
    },
    restrict="__restrict__",
    function="[[maybe_unused]] static __device__",
    shared_space="__shared__ ",
    constants_apart=True,
    texture_load="__ldg(&{place})",
    alignment="__align__({bytes}) ",
    barrier="__syncthreads();",
    unroll="#pragma unroll",
    wide_access="*reinterpret_cast<{const}{vector} *>(&{place})",
    wide_value="make_{vector}({lanes})",
    vectors={**_LANES, "long": "longlong", "long long": "longlong", "unsigned long": "ulonglong",
             "unsigned long long": "ulonglong"},
    copy="__pipeline_memcpy_async(&{target}, &{source}, {bytes});",
    commit="__pipeline_commit();",
    wait="__pipeline_wait_prior({pending});",
    reserved=_CPP | _CUDA_NAMES,
    functions=_RUNTIME,
)  # fmt: skip

OPENCL = Dialect(
    name="opencl",
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
)  # fmt: skip
