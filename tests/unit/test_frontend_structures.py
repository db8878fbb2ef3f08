"""Structures of one name in several blocks of a file: each array has its own on the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from tests.unit.emulated import printed

PROGRAM = """#include <stdio.h>
struct P { float x, y; };
typedef struct { short a; float b; } T;
static float r[8];
static void first(void)
{
    typedef struct { float T; double b; } T;
    T q[8];
    for (int i = 0; i < 8; i++) q[i].b = i + 0.125;
    for (int i = 0; i < 8; i++) r[i] += q[i].b;
    printf("%g %g\\n", q[3].b, q[7].b);
}
static void second(struct P *p, const struct P *other, T *t)
{
    for (int i = 0; i < 8; i++) p[i].y = other[i].x + i;
    for (int i = 0; i < 8; i++) t[i].b += p[i].y;
}
int main(void)
{
    struct P g[8] = {{1, 2}};
    T t[8] = {{1, 2}};
    { struct P { int y; float x; } p[8];
      for (int i = 0; i < 8; i++) p[i].y = i;
      for (int i = 0; i < 8; i++) r[i] = p[i].y;
      printf("%d\\n", p[3].y); }
    { struct P { double y; } q[8];
      for (int i = 0; i < 8; i++) q[i].y = i + 0.25;
      for (int i = 0; i < 8; i++) r[i] += q[i].y;
      printf("%g %g\\n", q[3].y, q[7].y); }
    { struct P { float x, y; } q[8];
      for (int i = 0; i < 8; i++) { q[i].x = i; q[i].y = r[i] + 0.25; }
      for (int i = 0; i < 8; i++) r[i] += q[i].y + q[i].x; }
    first();
    second(g, g, t);
    for (int i = 0; i < 8; i++) printf("%g %g %g %g\\n", r[i], g[i].x, g[i].y, t[i].b);
}
"""


def test_each_has_its_own_layout(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator"))
    for suffix, text in done.files.items():
        (tmp_path / f"program{suffix}").write_text(text)
    found, _ = printed(tmp_path, "program_host.c", "program_emulator.c")
    assert found == printed(tmp_path, "program.c")[0]


@pytest.mark.parametrize("target", ["emulator", "cuda", "opencl"])
def test_definitions_have_different_names(target: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    done = compile_file(str(tmp_path / "program.c"), Options(target=target))
    structures = {a.structure for r in done.regions for a in r.scop.arrays if a.structure}
    assert len(structures) == len({s.name for s in structures}) == 5
    device = "".join(text for suffix, text in done.files.items() if suffix != "_host.c")
    for structure in structures:
        kept = structure.name == structure.in_source
        assert (structure.name in device, structure.name in done.files["_host.c"]) == (True, kept)
