"""Loading of the Jinja templates that lay out generated files."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any
from zlib import crc32

import jinja2

_PACKAGE = Path(__file__).resolve().parent.parent
_PLACES = (_PACKAGE / "_templates", _PACKAGE.parent / "templates")  # an installed wheel, a checkout
_LAYOUT: dict[str, Any] = {
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
    "optimized": False,  # or what filters make of constants would be compiled
}


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Compiled templates, kept where and when Python keeps compiled modules, if it can.

    Jinja asks whether a template's text is still what was compiled; the names tell how it was.
    """

    def __init__(self, folder: Path) -> None:
        how = crc32(repr((jinja2.__version__, _LAYOUT)).encode())
        super().__init__(str(Path(cache_from_source(str(folder / "_"))).parent), f"%s-{how:08x}.template")

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(parents=True, exist_ok=True)
                super().dump_bytecode(bucket)


def template_directory() -> Path:
    """The folder with `cuda/`, `opencl/`, ...; raises FileNotFoundError in a broken installation."""
    for place in _PLACES:
        if place.is_dir():
            return place
    raise FileNotFoundError("polygpu is installed without its templates")


@cache
def environment(folder: Path | None = None) -> jinja2.Environment:
    """Templates by their path below `folder`, if there is one, or the template folder.

    An undefined name in one is an error.
    """
    folders = (folder,) if folder else ()
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader((*folders, template_directory())),
        bytecode_cache=CompiledTemplates(template_directory()),
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        **_LAYOUT,
    )
