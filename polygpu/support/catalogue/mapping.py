"""PG3xx: memory, decisions, and what the mapping to the device makes of a loop."""

from __future__ import annotations

from polygpu.support.catalogue.entry import Entry

MAPPING = {
    "PG301": Entry(
        "an array of unknown size with a data-dependent subscript",
        "Any element may be read, so the whole array is copied to the device: its size must be declared.",
        "void f(int n, float *a, int *k) { ... a[k[i]] ... }",
        "void f(int n, float a[n], int *k) { ... a[k[i]] ... }",
    ),
    "PG302": Entry(
        "a subscript is out of bounds",
        "An iteration exists in which the subscript is outside of the declared array.",
        "float a[100];\nfor (int i = 0; i <= 100; i++)\n    a[i] = 0;",
        "float a[100];\nfor (int i = 0; i < 100; i++)\n    a[i] = 0;",
    ),
    "PG303": Entry(
        "a decision is not understood",
        "--decide 'KEY(...)' takes a decision that the compiler would take otherwise, for all nests that\n"
        "have what it names, or behind a place for one: '14: unroll(4)' is for the statement or the loop\n"
        "on line 14, 'f: unroll(4)' for the function f, or the loop with the label f,\n"
        "'#pragma polygpu unroll(4)' for the loop behind it.\n"
        "Loops and arrays have the names of the source.\n"
        "  expand(t: i j, s: none) temporaries with an element for each iteration of loops, or not\n"
        "  split(15), fuse(12, 15) statements with which a kernel begins, or that one kernel runs: by lines\n"
        "  sequential(i)           parallel loops that a thread runs by itself\n"
        "  order(i, -j)            the parallel loops, the lanes' last; -j runs backwards\n"
        "  inner(l, -k)            the loops that a thread runs, the outermost first\n"
        "  tile(i: 64, k: 16)      points of a block along a parallel loop, iterations between two copies\n"
        "  threads(i: 8)           threads of a block along a parallel loop\n"
        "  deal(i: cyclic)         how they share a tile: cyclic, blocked, grouped, or so many at once\n"
        "  hold(C)                 arrays whose elements stay in registers\n"
        "  stage(A, B[k][j]: k)    arrays or references in shared memory: a tile of k, or all of the block\n"
        "  buffer(ring: 3)         how staged tiles follow each other: none, prefetch, or a ring\n"
        "  wide(16), loads(2)      bytes that a lane copies at once; loads in flight meanwhile, or all\n"
        "  unroll(4)               iterations of innermost loops in a row, or full, none, auto\n"
        "  pad(1), pad(A: 1)       elements of padding on the rows of staged arrays, or auto\n"
        "  registers(20)           registers of a thread, which the model takes instead of its estimate\n"
        "  constant(A), texture(B) arrays that are read through that cache",
        "polygpu compile --decide 'tiles(i: 64)' mm.c",
        "polygpu compile --decide 'tile(i: 64, j: 128) threads(i: 8, j: 16)' mm.c",
    ),
    "PG304": Entry(
        "a decision is not possible for a nest or for the device",
        "The device limits the threads of a block, in all and in each dimension, the registers of a\n"
        "thread and the bytes of an access; `polygpu devices NAME` lists the limits. A tile must be a\n"
        "multiple of the threads that share it, an order names each parallel loop once, loads(N) is about\n"
        "copies that are waited for: buffer(none), and inner(...) keeps every dependence.\n"
        "What split(...) moves to a later kernel supplies nothing of the one before; nests that are fused\n"
        "have as many parallel loops, and exchange values only inside of a thread.",
        "polygpu compile --device 8800gtx --decide 'tile(i: 64, j: 64) threads(i: 64, j: 64)' mm.c",
        "polygpu compile --device 8800gtx --decide 'tile(i: 64, j: 64) threads(i: 16, j: 16)' mm.c",
    ),
    "PG305": Entry(
        "shared arrays are larger than the device's shared memory",
        "The tiles that were asked for need more shared memory than a block of the device has.",
        "polygpu compile --device 8800gtx --decide 'tile(i: 16, j: 16, k: 512)' mm.c",
        "polygpu compile --device 8800gtx --decide 'tile(i: 16, j: 16, k: 32)' mm.c",
    ),
    "PG306": Entry(
        "a loop never ends",
        "The bounds leave the iterator free in one direction, so the loop has no last iteration.",
        "for (int i = 0; i >= 0; i++)\n    a[i] = 0;",
        "for (int i = 0; i < n; i++)\n    a[i] = 0;",
    ),
    "PG307": Entry(
        "an inner dimension of an array has no size",
        "Addresses need the size of every dimension but the first.",
        "void f(int n, float a[n][]) { ... }",
        "void f(int n, float a[][n]) { ... }",
    ),
    "PG308": Entry(
        "the time budget ended the search for a better schedule",
        "Components that were left take the schedule of isl's scheduler, which is legal and parallel but\n"
        "does not ask for coalescing, or the source's own order where isl took too long as well.\n"
        "--time-budget SECONDS gives each region more time.",
        "polygpu compile --time-budget 0.01 large.c",
        "polygpu compile --time-budget 30 large.c",
    ),
    "PG309": Entry(
        "a nest found without a pragma has no parallel loop",
        "Every loop carries a dependence, so one thread of the device would do all the work, more slowly\n"
        "than the host. The loops stay on the host; `#pragma scop` around them offloads them all the same.",
        "for (int i = 0; i < n; i++)\n    s += a[i];",
        "for (int i = 0; i < n; i++)\n    b[i] = a[i] * a[i];",
    ),
    "PG310": Entry(
        "an array cannot go through shared memory, or stay in registers",
        "stage(A, B) names arrays or references that the kernel reads at affine places of elements that lie\n"
        "in a box of constant size, and does not write. hold(C) names arrays of which each point of the\n"
        "parallel loops owns one element alone.",
        "polygpu compile --device 8800gtx --decide 'hold(A)' mm.c",
        "polygpu compile --device 8800gtx --decide 'hold(C) stage(A, B)' mm.c",
    ),
    "PG311": Entry(
        "a loop of unknown length cannot be unrolled fully",
        "unroll(full) is about innermost loops of constant length, such as those over a staged tile.",
        "polygpu compile --decide 'stage() unroll(full)' mm.c",
        "polygpu compile --decide 'stage() unroll(4)' mm.c",
    ),
    "PG312": Entry(
        "an assumption is not understood",
        "--assume NAME=NUMBER compiles a region for one value of an integer that it reads. Tests and clamps\n"
        "that this value makes superfluous disappear; a call with another value runs the original loop.",
        "polygpu compile --assume n%16=0 mm.c",
        "polygpu compile --assume n=4096 --assume m=4096 --assume p=4096 mm.c",
    ),
    "PG313": Entry(
        "an array cannot be read through the constant or texture cache",
        "constant(A, B) and texture(A) name arrays that a kernel reads and does not write; they stay in\n"
        "global memory where that is not possible. The texture cache takes any such array.\n"
        "Constant memory takes what no kernel of the region writes, if its size is known at compile time\n"
        "(--assume gives the sizes of a region) and as long as it fits, all regions of a file together.\n"
        "Tiles that are copied asynchronously to shared memory bypass both caches.",
        "polygpu compile --decide 'constant(y)' mv.c",
        "polygpu compile --decide 'constant(y)' --assume n=512 --assume m=512 mv.c",
    ),
    "PG314": Entry(
        "isl finds no code for these loops, or no size of an array, in reasonable time",
        "Bounds, tests and strides together have so many cases that code for them is out of reach, in the\n"
        "order of the schedule and in that of the source. Fewer tests in the loops, strides of 1 or\n"
        "separate loops for separate cases make it simple, as do arrays declared with their sizes.",
        "for (int j = n - i; j < 7; j += 2)\n    if ((i + n) % 2 == 0 || 3 * j > n) a[2 * j + i] += b[j][i];",
        "for (int j = 0; j < 7; j++)\n    a[j] += b[j][i];",
    ),
    "PG315": Entry(
        "isl finds no code for a better schedule",
        "A schedule with more parallel loops was found, but bounds, tests and strides together have so many\n"
        "cases that code for it is out of reach, as in a wavefront of reversed and strided loops. The loops\n"
        "run in the source's order. Simpler subscripts, strides of 1 or separate loops for separate cases\n"
        "make it simple; where isl has only run out of time, --time-budget SECONDS gives it more.",
        "for (int j = 0; j < 4; j += 3)  // compiled with --assume n=7 --assume m=5\n"
        "    for (int k = 0; k < m; k++) {\n"
        "        a[i][j + 1] += a[n - 2 - i][j];\n"
        "        for (int l = i; l >= j; l--)\n"
        "            a[i][l] *= 0.5f;\n"
        "    }",
        "for (int j = 0; j < 4; j++)\n"
        "    for (int k = 0; k < m; k++) {\n"
        "        a[i][j + 1] += a[n - 2 - i][j];\n"
        "        for (int l = i; l >= j; l--)\n"
        "            a[i][l] *= 0.5f;\n"
        "    }",
    ),
    "PG316": Entry(
        "a value below 0 is taken as unsigned",
        "Next to an unsigned value, C converts a signed one to unsigned: -1 becomes 4294967295, and i < n\n"
        "is false. The difference of two unsigned values wraps around in the same way. Where that depends\n"
        "on sizes, it is tested at run time, and the original loop takes over; here it happens whenever\n"
        "the loop is reached.",
        "void f(unsigned n, float *a) { ... for (int i = -1; i < n; i++) a[i + 1] = 0; ... }",
        "void f(unsigned n, float *a) { ... for (int i = -1; i < (int)n; i++) a[i + 1] = 0; ... }",
    ),
    "PG317": Entry(
        "a value does not fit into its type",
        "An iterator of type char goes from 127 to -128, so that a loop that counts on never ends or ends\n"
        "early. Kernels count in int: a loop over more than 2^31 elements needs one that counts in 64 bits.\n"
        "Where that depends on sizes, it is tested at run time, and the original loop takes over; here it\n"
        "happens whenever the loop is reached.",
        "for (char i = 0; i < 200; i++) a[i] = 0;",
        "for (int i = 0; i < 200; i++) a[i] = 0;",
    ),
    "PG330": Entry(
        "a loop runs in one thread of the device",
        "Each iteration needs what the one before computed, so nothing in the loop can run at the same\n"
        "time. The loop is offloaded all the same, because loops around or beside it are faster there. The\n"
        "order of floating-point operations is the source's: a sum into a scalar is such a chain.",
        "for (int i = 0; i < n; i++)\n    s += a[i] * b[i];",
        "for (int j = 0; j < m; j++)\n    for (int i = 0; i < n; i++)\n        s[j] += a[i] * b[i][j];",
    ),
    "PG331": Entry(
        "nothing can be predicted for a --size",
        "Counts and times are predicted for values of the integer scalars that a region uses: names of the\n"
        "source, whose values the compiler does not know. Sizes that are macros are set with -D. Predicting\n"
        "needs numpy, which `pip install 'polygpu[predict]'` brings.",
        "polygpu inspect mm.c --size N=1000",
        "polygpu inspect mm.c --size n=1000,m=500",
    ),
}
