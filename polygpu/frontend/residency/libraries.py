"""What functions of the C library do to memory of the user's."""

from __future__ import annotations

from polygpu.frontend.names.mathematics import is_known, library_name

# They touch nothing but what they are given by value, or memory that is nobody's yet.
_FREE = frozenset(
    """
    abs labs llabs clock rand srand drand48 srand48 lrand48 toupper tolower malloc isalnum isalpha isblank
    iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit calloc aligned_alloc
    omp_get_wtime omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_set_num_threads putchar
    fflush difftime nan div ldiv __builtin_expect __assert_fail __assert_rtn abort
    """.split()
)
# They read what pointers among their arguments point to.
_READ = frozenset(
    "printf puts fputs fprintf strlen strcmp strncmp atoi atof atol atoll getenv putc fputc".split()
)
# They write that, too.
_WRITE = frozenset(
    """
    gettimeofday clock_gettime time getrusage memset memcpy memmove strcpy strncpy sprintf snprintf strtol
    strtod frexp frexpf modf modff sincos sincosf
    """.split()
)


def behaviour(name: str) -> str:
    """What it does to memory that pointers lead to: "free" of all, "reads" or "writes"; "" where unknown."""
    plain = library_name(name)
    if plain in _FREE or name in _FREE or is_known(name):
        return "free"
    return "reads" if plain in _READ else "writes" if plain in _WRITE else ""
