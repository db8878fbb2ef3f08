"""PG130 to PG182: what the expressions and declarations of a region may be; which loops become regions."""

from __future__ import annotations

from polygpu.support.catalogue.entry import Entry

CONTENTS = {
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
        "that neither the function nor what it calls changes.",
        "float (*a)[n * m];",
        "int row = n * m;\nfloat (*a)[row];",
    ),
    "PG161": Entry(
        "the rows of a flattened array cannot be told apart",
        "`a[i * n + j]` is read as `a[i][j]` with rows of n elements, under the condition 0 <= j < "
        "n that is\n"
        "tested when the program runs. Here the part that would be j cannot be tested, or never fits.",
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
