"""Loading of the Jinja templates that lay out generated files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

_PACKAGE = Path(__file__).resolve().parent.parent
_PLACES = (_PACKAGE / "_templates", _PACKAGE.parent / "templates")  # an installed wheel, a checkout


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
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
