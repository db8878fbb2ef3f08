"""Every diagnostic's id, title and explanation, for `polygpu explain ID`.

PG0xx  reading, preprocessing and parsing      PG3xx  memory
PG1xx  regions: what they may contain          PG8xx  devices
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`bad` is C that draws the diagnostic, `good` what to write instead (both may be empty)."""

    title: str
    explanation: str
    bad: str = ""
    good: str = ""


_READING = {
    "PG001": Entry(
        "the source file cannot be read",
        "The file named on the command line does not exist or may not be read.",
    ),
    "PG002": Entry(
        "the preprocessor reports an error",
        "The C preprocessor (`cc -E`, or the built-in one where there is no compiler) rejects a "
        "directive.\n"
        "Pass the -I, -D and -include options that your build uses. Without a compiler only the "
        "standard\n"
        "headers' usual macros and types are built in.",
        '#include "config.h"   /* in ./include */',
        "polygpu compile -I include loop.c",
    ),
    "PG003": Entry(
        "the preprocessor reports a warning",
        "The C preprocessor warns; the compilation goes on.",
    ),
    "PG004": Entry(
        "syntax error",
        "The text is no C that can be parsed. `cc -fsyntax-only` gives a compiler's opinion of it.",
        "a[i] = ;",
        "a[i] = 0;",
    ),
    "PG005": Entry(
        "nested too deeply",
        "An expression or a block has more levels of nesting than can be analysed.",
        "x = ((((((((((...))))))))));",
        "t = (...);\nx = (t ...);",
    ),
    "PG006": Entry(
        "the C compiler cannot preprocess",
        "The compiler that should preprocess the source could not be started, or failed without saying why.",
    ),
}

_READING["PG007"] = Entry(
    "a function that cannot be parsed",
    "The function uses an extension of the C compiler that is not understood here. It stays as it is; its\n"
    "loops are not considered.",
    "void f(int n) { void inner(void) { } for (...) ... }",
    "static void inner(void) { }\nvoid f(int n) { for (...) ... }",
)

_REGIONS = {
    "PG100": Entry(
        "nothing to offload",
        "The file has no region: no `#pragma scop`, and no loop nest whose bounds and subscripts "
        "are affine\n"
        "(sums of iterators and parameters times constants). The warnings before this message say "
        "what is in\n"
        "the way in each loop.",
        "while (p) { p->x *= 2; p = p->next; }",
        "for (int i = 0; i < n; i++)\n    x[i] *= 2;",
    ),
    "PG101": Entry(
        "a loop bound is not affine",
        "The bounds of a loop must be sums of outer iterators and parameters times constants, with "
        "`/` and `%`\n"
        "by constants, min and max: only then are all iterations known before the loop starts.",
        "for (int i = 0; i < n; i++)\n    for (int j = 0; j < end[i]; j++)\n        a[i][j] = 0;",
        "for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n        if (j < end[i])\n"
        "            a[i][j] = 0;",
    ),
    "PG102": Entry(
        "the subscript of a write is not affine",
        "Where a statement writes must be known at compile time: sums of iterators and parameters times\n"
        "constants. Reads may have any subscript.",
        "for (int i = 0; i < n; i++)\n    a[index[i]] = b[i];",
        "for (int i = 0; i < n; i++)\n    a[i] = b[inverse[i]];",
    ),
    "PG103": Entry(
        "the step of a loop is not constant",
        "The header must add the same constant in every iteration.",
        "for (int i = 1; i < n; i *= 2)\n    a[i] = 0;",
        "for (int k = 0; k < log2n; k++)   /* host loop */\n    ...",
    ),
    "PG104": Entry(
        "the form of a loop's header",
        "A loop sets one integer iterator, compares it with `<`, `<=`, `>` or `>=` against affine "
        "bounds\n"
        "(several joined with &&), and adds a constant.",
        "for (i = 0; i != n; i++)\n    a[i] = 0;",
        "for (i = 0; i < n; i++)\n    a[i] = 0;",
    ),
    "PG105": Entry(
        "an iterator is changed in its loop",
        "Only the loop's header may change the iterator.",
        "for (int i = 0; i < n; i++) {\n    a[i] = 0;\n    i++;\n}",
        "for (int i = 0; i < n; i += 2)\n    a[i] = 0;",
    ),
    "PG106": Entry(
        "an iterator's value is used after its loop",
        "The value that a loop leaves in its iterator is not computed on the device.",
        "for (i = 0; i < n; i++)\n    a[i] = 0;\nlast = i;",
        "for (i = 0; i < n; i++)\n    a[i] = 0;\nlast = n > 0 ? n : 0;",
    ),
    "PG110": Entry(
        "unbalanced pragmas",
        "`#pragma scop` and `#pragma endscop` come in pairs, both in the same block of the same function.",
        "for (...) {\n#pragma scop\n    for (...) ...\n}\n#pragma endscop",
        "for (...) {\n#pragma scop\n    for (...) ...\n#pragma endscop\n}",
    ),
    "PG111": Entry(
        "regions do not nest",
        "A `#pragma scop` or `#pragma endscop` stands within a region.",
        "#pragma scop\n#pragma scop\nfor (...) ...\n#pragma endscop\n#pragma endscop",
        "#pragma scop\nfor (...) ...\n#pragma endscop",
    ),
    "PG112": Entry(
        "a region or loop without statements",
        "There is no assignment in it, so that nothing can be offloaded.",
    ),
    "PG113": Entry(
        "the region's text cannot be replaced",
        "The host file is the source with each region replaced by a call. That needs the region's "
        "text in the\n"
        "source itself: not in an included file, not produced by a macro, and, where no pragmas "
        "mark it, without\n"
        "#if directives inside.",
        "#define LOOP for (int i = 0; i < n; i++)\nLOOP a[i] = 0;",
        "#pragma scop\nfor (int i = 0; i < n; i++)\n    a[i] = 0;\n#pragma endscop",
    ),
    "PG114": Entry(
        "a variable of the region is used after it",
        "The region becomes a call, so that what it declares is gone after it.",
        "#pragma scop\nfloat s = 0;\nfor (...) s += a[i];\n#pragma endscop\nprint(s);",
        "float s;\n#pragma scop\ns = 0;\nfor (...) s += a[i];\n#pragma endscop\nprint(s);",
    ),
    "PG115": Entry(
        "two variables of one name",
        "An array's size names a variable that another variable of the same name hides in the region.",
        "void f(int n, float a[n][n])\n{\n    { int n = 3;\n#pragma scop\n    ... a[i][n] ...",
        "{ int width = 3;\n#pragma scop\n    ... a[i][width] ...",
    ),
    "PG120": Entry(
        "goto in a region",
        "Which statements run must be known from loops and conditions alone.",
        "if (a[i] < 0) goto next;\nb[i] = a[i];\nnext:;",
        "if (!(a[i] < 0))\n    b[i] = a[i];",
    ),
    "PG121": Entry(
        "break in a region",
        "How often a loop runs must be known when it starts.",
        "for (int i = 0; i < n; i++) {\n    if (a[i] == 0) break;\n    b[i] = 1 / a[i];\n}",
        "for (int i = 0; i < first_zero; i++)\n    b[i] = 1 / a[i];",
    ),
    "PG122": Entry(
        "continue in a region",
        "Write it as a condition around the rest of the body.",
        "if (i == j) continue;\na[i][j] = 0;",
        "if (i != j)\n    a[i][j] = 0;",
    ),
    "PG123": Entry(
        "return in a region",
        "A region has one end.",
        "#pragma scop\nfor (...) ...\nreturn;\n#pragma endscop",
        "#pragma scop\nfor (...) ...\n#pragma endscop\nreturn;",
    ),
    "PG124": Entry(
        "while or do in a region",
        "How often a loop runs must be known when it starts.",
        "while (i < n) {\n    a[i] = 0;\n    i++;\n}",
        "for (int i = 0; i < n; i++)\n    a[i] = 0;",
    ),
    "PG125": Entry(
        "switch in a region",
        "Write it as a chain of if and else.",
        "switch (k[i]) {\ncase 0: a[i] = 1; break;\ndefault: a[i] = 2;\n}",
        "if (k[i] == 0)\n    a[i] = 1;\nelse\n    a[i] = 2;",
    ),
    "PG126": Entry(
        "a declaration that a region cannot have",
        "Functions, types, static and extern variables are declared before it.",
        "#pragma scop\nstatic float s;\n...",
        "static float s;\n#pragma scop\n...",
    ),
    "PG127": Entry(
        "inline assembly in a region",
        "Assembly for the host's processor means nothing to the device.",
        'asm volatile("prefetcht0 %0" :: "m"(a[i]));',
        "",
    ),
}

_CONTENTS = {
    "PG130": Entry(
        "a function that cannot run on the device",
        "A region may call the functions of <math.h> and functions defined in the same file that "
        "only compute\n"
        "a number from numbers: no pointers, no global variables, no input or output, no recursion.",
        'for (int i = 0; i < n; i++)\n    printf("%f\\n", a[i]);',
        "static float square(float x) { return x * x; }\n...\nfor (int i = 0; i < n; i++)\n"
        "    a[i] = square(b[i]);",
    ),
    "PG131": Entry(
        "a function pointer",
        "Which function is called must be known at compile time.",
        "a[i] = f->apply(b[i]);",
        "a[i] = square(b[i]);",
    ),
    "PG132": Entry(
        "wrong number of arguments",
        "The call does not fit the function.",
        "a[i] = pow(x);",
        "a[i] = pow(x, 2);",
    ),
    "PG140": Entry(
        "a type that the device does not have",
        "Regions compute with integers up to 64 bits, float and double, and structures of these.",
        "long double s = 0;",
        "double s = 0;",
    ),
    "PG141": Entry(
        "an array, pointer or structure as a whole",
        "Statements of a region name single elements.",
        "p = a;",
        "p[i] = a[i];",
    ),
    "PG142": Entry(
        "a volatile variable",
        "Each access to it would have to happen on the host, in order.",
        "volatile float *a;",
        "float *a;",
    ),
    "PG143": Entry(
        "an atomic variable",
        "The device's parallelism is the compiler's: plain variables suffice.",
        "_Atomic int count;",
        "int count;",
    ),
    "PG144": Entry(
        "a name without a visible declaration",
        "What the name stands for is not in a file of yours.",
        "a[i] = timezone;",
        "long zone = timezone;\n#pragma scop\n...\na[i] = zone;",
    ),
    "PG145": Entry(
        "rows that lie anywhere in memory",
        "An array of pointers has its rows at unrelated addresses; the device wants one block of memory.",
        "float **a;\n... a[i][j] ...",
        "float (*a)[m];\n... a[i][j] ...",
    ),
    "PG146": Entry(
        "a structure that cannot be copied to the device",
        "Its members must be numbers or arrays of numbers with constant sizes, laid out as C does "
        "by default:\n"
        "no pointers, unions or bit-fields, no packed or aligned attribute.",
        "struct node { float x; struct node *next; };",
        "struct point { float x, y; };",
    ),
    "PG147": Entry(
        "the expression does not fit the declaration", "Too many subscripts, or a member that does not exist."
    ),
    "PG148": Entry(
        "a variable subscript within a structure",
        "Array members are accessed with constant subscripts.",
        "for (int k = 0; k < 3; k++)\n    s += p[i].v[k];",
        "s += p[i].v[0] + p[i].v[1] + p[i].v[2];",
    ),
    "PG149": Entry(
        "memory read as another type",
        "Each array has one element type in a region.",
        "((int *)a)[i] = 0;",
        "a[i] = 0;",
    ),
    "PG150": Entry(
        "a side effect within an expression",
        "Assign and increment in statements of their own.",
        "a[i] = b[k++];",
        "a[i] = b[k];\nk++;",
    ),
    "PG151": Entry(
        "a comma within an expression",
        "Write two statements.",
        "a[i] = (t = 1, t + 1);",
        "t = 1;\na[i] = t + 1;",
    ),
    "PG152": Entry(
        "an initialiser that a region cannot have",
        "Set the elements in a loop, or before the region.",
        "float w[1000] = {0};",
        "for (int k = 0; k < 1000; k++)\n    w[k] = 0;",
    ),
    "PG153": Entry(
        "an expression that a region cannot have", "Compute it before the region and use the result."
    ),
    "PG154": Entry(
        "the address of an object",
        "Pointers are not computed on the device.",
        "p = &a[i];",
        "p[k] = a[i + k];",
    ),
    "PG155": Entry(
        "a statement without effect",
        "It changes nothing, so it is probably not what was meant.",
        "a[i] == 0;",
        "a[i] = 0;",
    ),
    "PG157": Entry(
        "a pointer changed in a region",
        "Subscript the pointer instead of moving it.",
        "for (int i = 0; i < n; i++)\n    *p++ = 0;",
        "for (int i = 0; i < n; i++)\n    p[i] = 0;",
    ),
    "PG160": Entry(
        "the row size of an array is not affine",
        "All dimensions but the first must have sizes that are constants, or sums of variables "
        "times constants\n"
        "that the function does not change.",
        "float (*a)[n * m];",
        "int row = n * m;\nfloat (*a)[row];",
    ),
    "PG161": Entry(
        "the rows of a flattened array cannot be told apart",
        "`a[i * n + j]` is read as `a[i][j]` with rows of n elements, under the condition 0 <= j < "
        "n that is\n"
        "tested when the program runs. Here the part that would be j cannot be tested.",
        "x += a[i * n + index[j]];",
        "declare `float (*a)[n]` and write a[i][index[j]]",
    ),
    "PG170": Entry(
        "a loop within a data-dependent if",
        "Put the if inside the loop.",
        "if (a[i] > 0)\n    for (int j = 0; j < n; j++)\n        b[i][j] = 0;",
        "for (int j = 0; j < n; j++)\n    if (a[i] > 0)\n        b[i][j] = 0;",
    ),
    "PG171": Entry(
        "an array within a data-dependent if",
        "Declare it before the if.",
        "if (a[i] > 0) {\n    float t[2];\n    ...",
        "float t[2];\nif (a[i] > 0) {\n    ...",
    ),
    "PG180": Entry(
        "a region was found", "Without pragmas the maximal affine loop nests become regions; this names one."
    ),
    "PG181": Entry(
        "a loop is not offloaded",
        "The note after it says what is in the way; it stays as it is on the host.",
    ),
    "PG182": Entry(
        "loops in an included file",
        "Only the file that is compiled is searched for loops, because only its text\n"
        "is replaced in the host file.",
    ),
}

_MEMORY = {
    "PG309": Entry(
        "a nest found without a pragma has no parallel loop",
        "Every loop carries a dependence, so one thread of the device would do all the work, more slowly\n"
        "than the host. The loops stay on the host; `#pragma scop` around them offloads them all the same.",
        "for (int i = 0; i < n; i++)\n    s += a[i];",
        "for (int i = 0; i < n; i++)\n    b[i] = a[i] * a[i];",
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
    "PG308": Entry(
        "the time budget ended the search for a better schedule",
        "Components that were left take the schedule of isl's scheduler, which is legal and parallel but\n"
        "does not ask for coalescing. --time-budget SECONDS gives more time.",
        "polygpu compile --time-budget 0.01 large.c",
        "polygpu compile --time-budget 30 large.c",
    ),
    "PG303": Entry(
        "a decision is not understood",
        "--decide KEY=VALUE takes a decision that the compiler would take otherwise, for all kernels or,\n"
        "written KERNEL:KEY=VALUE, for one. Keys: tile and threads (sizes along the parallel loops,\n"
        "outermost first), deal (cyclic, blocked, grouped), step (iterations between copies of staged\n"
        "tiles), buffering (none, prefetch, ring), stages (of a ring), stage (on, off, or the arrays that\n"
        "go through shared memory: A+B), loads (in flight while a tile is copied: a number, or all), pad\n"
        "(elements, or auto), unroll (iterations of innermost loops in a row: a number, full or none) and\n"
        "registers (of a thread, which the model takes instead of its estimate).",
        "polygpu compile --decide tiles=64 mm.c",
        "polygpu compile --decide tile=64x128 --decide threads=8x16 mm.c",
    ),
    "PG304": Entry(
        "a block of threads is not possible",
        "The device limits the threads of a block, in all and in each dimension, and a tile must be a\n"
        "multiple of the threads that share it. `polygpu devices NAME` lists the limits.",
        "polygpu compile --device 8800gtx --decide tile=64x64 --decide threads=64x64 mm.c",
        "polygpu compile --device 8800gtx --decide tile=64x64 --decide threads=16x16 mm.c",
    ),
    "PG305": Entry(
        "shared arrays are larger than the device's shared memory",
        "The tiles that were asked for need more shared memory than a block of the device has.",
        "polygpu compile --device 8800gtx --decide tile=16x16 --decide step=512 mm.c",
        "polygpu compile --device 8800gtx --decide tile=16x16 --decide step=32 mm.c",
    ),
    "PG310": Entry(
        "an array cannot go through shared memory",
        "--decide stage=A+B names arrays that the kernel reads at affine places of elements that lie in a\n"
        "box of constant size, and does not write.",
        "polygpu compile --device 8800gtx --decide stage=C mm.c",
        "polygpu compile --device 8800gtx --decide stage=A+B mm.c",
    ),
    "PG311": Entry(
        "a loop of unknown length cannot be unrolled fully",
        "--decide unroll=full is about innermost loops of constant length, such as those over a staged tile.",
        "polygpu compile --decide stage=off --decide unroll=full mm.c",
        "polygpu compile --decide stage=off --decide unroll=4 mm.c",
    ),
    "PG312": Entry(
        "an assumption is not understood",
        "--assume NAME=NUMBER compiles a region for one value of an integer that it reads. Tests and clamps\n"
        "that this value makes superfluous disappear; a call with another value runs the original loop.",
        "polygpu compile --assume n%16=0 mm.c",
        "polygpu compile --assume n=4096 --assume m=4096 --assume p=4096 mm.c",
    ),
    "PG301": Entry(
        "an array of unknown size with a data-dependent subscript",
        "Any element may be read, so the whole array is copied to the device: its size must be declared.",
        "void f(int n, float *a, int *k) { ... a[k[i]] ... }",
        "void f(int n, float a[n], int *k) { ... a[k[i]] ... }",
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
    "PG302": Entry(
        "a subscript is out of bounds",
        "An iteration exists in which the subscript is outside of the declared array.",
        "float a[100];\nfor (int i = 0; i <= 100; i++)\n    a[i] = 0;",
        "float a[100];\nfor (int i = 0; i < 100; i++)\n    a[i] = 0;",
    ),
}

_DEVICES = {
    "PG801": Entry(
        "there is no such device",
        "`polygpu devices` lists the known ones; a path to a TOML file names any other.",
    ),
    "PG802": Entry(
        "the device file cannot be read", "It does not exist, may not be read, or is not valid TOML."
    ),
    "PG803": Entry(
        "the device file does not describe a device",
        "A value is missing, has the wrong type or is not known: the tables [limits] and [costs] need every\n"
        "value that `polygpu devices NAME` shows, each bare or as a table of value, unit, source and\n"
        "confidence. Warps have 32 threads. Lanes of a request, bytes of a bank's word, of the narrowest\n"
        "and widest access and of the alignment are powers of two; a transaction moves 32, 64 or 128 bytes;\n"
        "there are 64 banks at most.",
    ),
}

CATALOGUE: dict[str, Entry] = _READING | _REGIONS | _CONTENTS | _MEMORY | _DEVICES
