"""Functions of the C library that do what a kernel cannot: what that is, and what to do about it."""

from __future__ import annotations

from polygpu.frontend.text.ended import ASSERTS, EXITS

_ENDS = "'{0}' ends the program from within a region", "test that before or behind the region, not in it"
_ASSERTS = (
    "'assert' may end the program from within a region",
    "compile this file with -D NDEBUG, and its program too, or test that before the region",
)
_PRINTS = (
    "'{0}' prints within a region: lines would come in any order",
    "end the region before the call, or keep the values in an array and print that behind the region",
)
_READS = "'{0}' reads a file within a region", "read it into an array before the region"
_DRAWS = (
    "'{0}' has another result each time it is called: a region has no order of calls",
    "fill an array with its results before the region",
)
_ALLOCATES = "'{0}' is called in a region: kernels allocate no memory", "do that before or behind the region"
_CLASSES = (
    "'{0}' is called in a region: its result depends on the locale",
    "compare the character with others, or look it up in an array of 256 results",
)

_OF: dict[str, tuple[str, str]] = {
    name: words
    for names, words in (
        (EXITS, _ENDS),
        (ASSERTS, _ASSERTS),
        ("printf fprintf vprintf vfprintf puts fputs putchar putc fputc fwrite fflush perror", _PRINTS),
        ("scanf fscanf getchar getc fgetc fgets fread feof", _READS),
        ("rand random drand48 lrand48 mrand48 erand48 rand_r time clock gettimeofday", _DRAWS),
        ("malloc calloc realloc free aligned_alloc posix_memalign strdup", _ALLOCATES),
        ("isalpha isdigit isalnum isspace isupper islower ispunct isprint iscntrl", _CLASSES),
        ("isgraph isxdigit isblank toupper tolower __ctype_b_loc", _CLASSES),
    )
    for name in names.split()
}


def reason(name: str) -> tuple[str, str] | None:
    """Why a function of the library cannot be called, and what else to do; None if it is none of these."""
    known = _OF.get(name)
    return None if known is None else (known[0].format(name), known[1])
