"""The user's own functions: their names and meaning in generated files, and values read from their bodies."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.frontend.names.device_names import device_name
from polygpu.pipeline import compile_file
from polygpu.printing.dialects import CUDA, OPENCL
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import require_nvcc

# Distinct functions whose names mean something else to the C library, to a device language or to polygpu.
NAMES = """
floord floord_long min max abs round gamma y0 j1 div time index select step mix clamp dot length distance sign
mad rotate umin umax rsqrt norm saturate check upload download launch polygpu_extent polygpu_min pg_x c_sqrt
i2 region_0_k0 launch_region_0_k0 user_min w_n0 w_pitch offset_t dim3 float2 class kernel half global lanes
source exp10 fmaxf sincos strlen memory rand exit read write getline clock signal y_s y_tile popcount
""".split()
FUNCTION = """
{storage} int {name}(int a, int b)
{{
    int result = a * {number} + b;
    if (result > 99)
        result -= b;
    return result;
}}
"""


def named_program() -> str:
    storages = ("static", "", "static inline")
    definitions = "".join(
        FUNCTION.format(name=name, number=k + 2, storage=storages[k % 3]) for k, name in enumerate(NAMES)
    )
    calls = "".join(f"        w[{k}][i] = {name}(i, 9);\n" for k, name in enumerate(NAMES))
    return f"""
extern int printf(const char *, ...);
{definitions}
static int w[{len(NAMES)}][64], y[64];

static void region(int n)
{{
#pragma scop
    for (int i = 0; i < n; i++) {{
{calls}
        y[i] = min(max(i, 7), 3) + w[floord(0, 1)][i] + (min(i, 5) < 60 ? y[63 - i] : 0);
    }}
#pragma endscop
}}

int main(void)
{{
    region(40);
    for (int i = 0; i < 64; i++) {{
        printf("%d", y[i]);
        for (int k = 0; k < {len(NAMES)}; k++)
            printf(" %d", w[k][i]);
        printf("\\n");
    }}
}}
"""


def files(tmp_path: Path, text: str, target: str) -> dict[str, str]:
    (tmp_path / "program.c").write_text(text)
    found = compile_file(str(tmp_path / "program.c"), Options(target=target)).files
    for suffix, content in found.items():
        (tmp_path / f"program{suffix}").write_text(content)
    return found


def assert_the_same(tmp_path: Path, text: str) -> None:
    """The emulated program prints what the original does, and its device file is free of warnings."""
    files(tmp_path, text, "emulator")

    def printed(*sources: str) -> str:
        command = ["gcc", "-w", "-fno-builtin", "-ffp-contract=off", *sources, "-o", "program", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True).stdout

    strict = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "program_emulator.c"]
    subprocess.run(strict, cwd=tmp_path, check=True)
    assert printed("program_host.c", "program_emulator.c") == printed("program.c")


def test_any_name_can_be_that_of_a_function(tmp_path: Path) -> None:
    assert_the_same(tmp_path, named_program())


def test_any_name_can_be_that_of_a_function_in_cuda(tmp_path: Path) -> None:
    require_nvcc()
    files(tmp_path, named_program(), "cuda")
    command = ["nvcc", "-arch=sm_90", "-Werror=all-warnings", "-c", "program_cuda.cu", "-o", "device.o"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_functions_of_the_runtime_keep_their_names_to_themselves(tmp_path: Path) -> None:
    text = files(tmp_path, BODIES, "cuda")["_cuda.cu"]
    runtime = text[text.index("// The rest runs on the host.") :]
    names = re.findall(r"^(?:extern \"C\" |static )[^=;{\n]*?\b(\w+)\(", runtime, re.MULTILINE)
    assert {"check", "upload", "launch_main_0_k0", "write_profile"} <= set(names)
    assert [name for name in names if CUDA.spell_function(device_name(name)) == name] == []


@pytest.mark.parametrize(
    "name",
    """
    clamp degrees max min mix radians step smoothstep sign cross dot distance length normalize fast_length
    isequal isless isfinite any all bitselect select vload4 vstore_half convert_int_rte as_float atomic_add
    atom_inc async_work_group_copy prefetch vec_step shuffle2 printf read_imagef get_global_id barrier
    mem_fence abs_diff add_sat hadd rhadd clz mad_hi mad_sat mul_hi rotate sub_sat upsample popcount mad24
    mul24 acospi half_cos native_sqrt maxmag minmag nan pown powr rootn rsqrt sincos sinpi tanpi fract
    lgamma_r work_group_reduce_add sub_group_all ctz cospif float4 uint ulong2 size_t event_t kernel local
    """.split(),
)
def test_opencl_defines_more_functions_than_c(name: str) -> None:
    assert OPENCL.spell_function(device_name(name)) != name


def test_other_names_stay() -> None:
    names = "helper magnitude square relu sigmoid largest twice lerp narrow f g weight total ceild get_value"
    assert [device_name(name) for name in names.split()] == names.split()


def test_distinct_functions_stay_distinct() -> None:
    names = ["min", "user_min", "user_user_min", "min_", "user_", "user"]
    assert len({device_name(name) for name in names}) == len(names)


BODIES = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { N9 = 9, M4 = 4 };

static int hidden(int a)
{
    int s = 0;
    for (int N9 = 0; N9 < a; N9++)
        for (int M4 = N9; M4 < a; M4++)
            s += N9 * M4;
    return s + N9 * M4;
}

static int after(int a) { return ++a; }
static int doubled(int a) { return a = a * 2; }
static int twice_after(int a) { return after(a) * 2; }

static double safe(double a)
{
    if (isnan(a))
        return -INFINITY;
    return isinf(a) || !isfinite(a) ? 5 : signbit(a) ? NAN : a;
}

static int64_t mixed(int a, unsigned b)
{
    if (a > 3)
        return b;
    return a - 5;
}

static int narrowed(int a, unsigned b)
{
    if (a > 9)
        return b;
    else if (a > 3)
        return (a - 6) * 30L;
    return a - 5;
}

static long common(int a, unsigned b) { return a > 3 ? b : a - 5; }

int main(void)
{
    static int w[99];
    static double y[30] = {-1, 2, -3};
#pragma scop
    for (int i = 0; i < 20; i++) {
        w[i] = hidden(i) + after(i) * doubled(i) + twice_after(i);
        y[i] = safe(i % 3 == 0 ? y[i] / 0.0 : i % 3 == 1 ? y[i] : 0.0 / y[29]);
    }
#pragma endscop
#pragma scop
    for (int i = 0; i < 20; i++) {
        if (mixed(i, 9) < 0)
            w[i + 20] = 1;
        if (narrowed(i, 9) < 0)
            w[i + 40] = 1;
        w[i + 60] = common(i, 9) < 0;
        if (after(i) > 3)
            w[i] += 7;
    }
#pragma endscop
    for (int i = 0; i < 99; i++)
        printf("%d %.9g\n", w[i], fabs(y[i % 30]));
}
"""


def test_bodies_keep_their_meaning(tmp_path: Path) -> None:
    assert_the_same(tmp_path, BODIES)


FLOATS = r"""
#include <math.h>
#include <stdio.h>

static void region(int n, int third, int w[restrict 99], float x[restrict 99])
{
#pragma scop
    for (int i = 0; i < 30; i++)
        w[i] += (i < floorf(n / 3.0f) - third) + 2 * (i + 16777217 > fminf(n, 100000000));
#pragma endscop
#pragma scop
    for (int i = 0; i < 30; i++)
        w[i] += (int)x[(int)fminf(n, 100000000) - n + 9];
#pragma endscop
#pragma scop
    for (int i = 0; i < 30; i++)
        if (fmaxf(i, n) == 16777216 && fmax((float)n, i) == 16777216)
            w[i] += 40;
#pragma endscop
#pragma scop
    for (int i = 0; i < 30; i++)
        if (i + n > fmin(16777217.0f, i + 16777217) || floor((double)(float)n / 2) < ceilf((n + i) / 2.0f))
            w[i] += 80;
#pragma endscop
#pragma scop
    for (int i = floor((double)n / 3.0) - third; i <= fmin(ceil((double)n / 4), 29); i++)
        w[i + 20] += x[(int)fmax(i, 3) + 20];
#pragma endscop
}

int main(void)
{
    int sizes[] = {16777215, 16777217, 16777219, 33554435, 7};
    for (int k = 0; k < 5; k++) {
        static int w[99];
        float x[99];
        for (int i = 0; i < 99; i++)
            x[i] = i * 2;
        region(sizes[k], sizes[k] / 3 - k, w, x);
        for (int i = 0; i < 60; i++)
            printf("%d\n", w[i]);
    }
}
"""


def test_floats_do_not_hold_every_int(tmp_path: Path) -> None:
    assert_the_same(tmp_path, FLOATS)


@pytest.mark.parametrize("bound", ["floorf((float)n / 3)", "fmaxf(n, 3)", "ceil((float)n / 3)"])
def test_no_loop_starts_at_a_float(bound: str, tmp_path: Path) -> None:
    text = FLOATS.replace("floor((double)n / 3.0)", bound)
    with pytest.raises(Diagnosed) as caught:
        files(tmp_path, text, "emulator")
    assert [error.id for error in caught.value.diagnostics] == ["PG101"]
