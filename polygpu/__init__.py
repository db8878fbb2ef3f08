"""polygpu: C loop nests in, CUDA, OpenCL or an emulated GPU out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from polygpu.compilation import Compilation

__version__ = "0.1.0"
__all__ = ["__version__", "compile"]


def compile(source: str | PathLike[str], **options: Any) -> Compilation:  # noqa: A001
    """Compiles the C file `source`; `options` are the fields of `polygpu.compilation.Options`.

    Loops without a pragma are offloaded as by `polygpu compile`, unless `offload` says otherwise.

    The result's `files` maps a suffix (`_host.c`, `_cuda.cu`) to its text, and its `certificates` say what
    was proved of each region. Raises `polygpu.support.diagnostics.Diagnosed` when the file cannot be
    compiled, or when its kernels are proved wrong.

        polygpu.compile("mm.c", target="emulator", device="8800gtx").files["_emulator.c"]
    """
    from os import fspath  # noqa: PLC0415

    from polygpu.compilation import Options  # noqa: PLC0415
    from polygpu.compiler import compile_certified  # noqa: PLC0415
    from polygpu.printing.dialects import default_offload  # noqa: PLC0415

    chosen = {"offload": default_offload(options.get("target", "cuda")), **options}
    return compile_certified(fspath(source), Options(**chosen))
