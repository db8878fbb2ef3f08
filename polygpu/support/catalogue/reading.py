"""PG0xx: reading, preprocessing and parsing."""

from __future__ import annotations

from polygpu.support.catalogue.entry import Entry

READING = {
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
    "PG007": Entry(
        "a function that cannot be parsed",
        "The function uses an extension of the C compiler that is not understood here. It stays as it is; "
        "its\nloops are not considered.",
        "void f(int n) { void inner(void) { } for (...) ... }",
        "static void inner(void) { }\nvoid f(int n) { for (...) ... }",
    ),
}
