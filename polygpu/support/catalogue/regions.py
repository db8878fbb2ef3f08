"""PG100 to PG127: regions, their loops and their statements."""

from __future__ import annotations

from polygpu.support.catalogue.entry import Entry

REGIONS = {
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
        "source itself: not in an included file, not produced by a macro, and without #define, #undef "
        "or #include\n"
        "inside, which hold for the text after it too. Where no pragmas mark it, it is also without #if "
        "directives,\n"
        "and where it ends is hidden by no macro.",
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
    "PG116": Entry(
        "a loop in an OpenMP construct",
        "A region runs once, called by one thread. Loops that several threads may come to stay on the "
        "host:\n"
        "those in an OpenMP construct, and those of functions that are called in one. `omp parallel for` "
        "and\n"
        "`omp simd` directly before a loop that is offloaded are dropped with it. A region between "
        "pragmas may\n"
        "stand in `omp single`, `master`, `masked`, `critical` and `ordered`, but not directly in another "
        "construct.",
        "#pragma omp parallel\n{\n#pragma omp for\n    for (int i = 0; i < n; i++) ...\n}",
        "#pragma omp parallel for\nfor (int i = 0; i < n; i++) ...",
    ),
    "PG117": Entry(
        "a register variable",
        "What a region writes is passed by its address, and C lets nobody take that of a register variable.",
        "register float s = 0;\n#pragma scop\nfor (...) s += a[i];\n#pragma endscop",
        "float s = 0;\n#pragma scop\nfor (...) s += a[i];\n#pragma endscop",
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
