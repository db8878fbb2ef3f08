"""What a dialect is: a table of how a language spells what others spell differently, and of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """A language as strings; one with `files` is a target.

    `types` maps canonical C types to other spellings, `stored` those that differ again in memory;
    `calls` maps C's functions, and `floord` and `floord_long`, quotients rounded down in int and in
    long long. Formats take their parts by name; an empty one stands for nothing to print. `reserved` are
    words that a C program may use as names and this dialect may not, `functions` those it may not use as
    names of functions, beside the names that `polygpu.frontend` gives up everywhere.

    Files. `files` maps the suffix of each device file, the main one first, to its template, which is looked
    for below `templates`, then among polygpu's own. `printing.emit.template_values` says what templates are
    given. Names that the templates of a dialect define are those of polygpu's own or begin with `polygpu_`.

    Textures. CUDA: `__ldg`, the read-only data path, which is the texture unit's cache on every chip that
    nvcc 13 compiles for (compute capability 7.5 and later; texture references are gone, and texture objects
    take the same path). OpenCL: a plain `__global const` pointer that is `restrict`, which is what compilers
    need to know to take that path by themselves. Images would change what is computed, as they have no
    doubles and no 64-bit integers, limit the sizes, and lay rows out in their own way.
    """

    name: str  # of a target: what --target calls it
    files: Mapping[str, str] = field(default_factory=dict)
    templates: Path | None = None
    device: str = "generic"  # that is compiled for by default
    printer: str = ""  # "module:function" of (unit, device) -> texts by suffix, in place of templates
    counts: bool = False  # programs count what the device would do, instead of using one

    types: Mapping[str, str] = field(default_factory=dict)
    stored: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    builtins: Mapping[str, str] = field(default_factory=dict)
    long_suffix: str = "LL"
    float_functions: bool = True  # sqrtf beside sqrt
    restrict: str = "restrict"
    function: str = "static"
    maybe_unused: str = ""  # before `function` where nothing may call it
    global_space: str = ""
    shared_space: str = ""
    constant_space: str = ""  # of an argument
    constants_apart: bool = False  # constant arrays are no arguments but variables of the file
    texture_load: str = ""  # a load through the texture cache; "": the compiler chooses the path
    alignment: str = ""
    static_shared: int = 0  # bytes that a kernel of C++ may declare; more come with the launch; 0: all
    chunked_grids: bool = False  # a launch has no more blocks than the device's grid; else any number
    barrier: str = ""
    part_barrier: str = ""  # of the first `threads` threads behind those of `part` other parts of a block;
    # "": the launches of a loop of the host are never one
    unroll: str = ""
    wide_access: str = ""  # an aligned vector as an lvalue
    wide_value: str = ""
    vectors: Mapping[str, str] = field(default_factory=dict)  # type -> stem of its vector types
    scaled: str = ""  # a float times a constant of double, rounded to float; "": computed in double
    copy: str = ""  # one asynchronous copy of 4, 8 or 16 bytes from global to shared memory
    fragments: str = ""  # a multiply-add of a warp's tensor cores by its policy; "": there are none
    commit: str = ""
    wait: str = ""
    reserved: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()

    host: Dialect | None = None  # the language of the host code beside; None: the same
    host_region: str = "struct polygpu_region *region"  # what launchers take,
    host_region_argument: str = "&region"  # and get
    host_flag: str = "int"
    host_array: str = "{const}{type} *{name}"  # a device array
    weak: tuple[str, str] = ("__attribute__((weak))", "")  # around a definition that all device files have

    @property
    def host_language(self) -> Dialect:
        return self.host or self

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
