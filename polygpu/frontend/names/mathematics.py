"""The C library's mathematical functions: result and argument types."""

from __future__ import annotations

_ONE = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p sqrt "
    "cbrt fabs floor ceil round trunc rint nearbyint erf erfc tgamma lgamma logb"
).split()
_TWO = "pow atan2 fmod hypot fmin fmax fdim copysign remainder nextafter".split()

Signature = tuple[str, tuple[str, ...]]


def _signatures() -> dict[str, Signature]:
    found: dict[str, Signature] = {
        "abs": ("int", ("int",)),
        "labs": ("long", ("long",)),
        "llabs": ("long long", ("long long",)),
    }
    for suffix, ctype in (("", "double"), ("f", "float")):
        found |= {name + suffix: (ctype, (ctype,)) for name in _ONE}
        found |= {name + suffix: (ctype, (ctype, ctype)) for name in _TWO}
        found["fma" + suffix] = (ctype, (ctype, ctype, ctype))
        found["ldexp" + suffix] = (ctype, (ctype, "int"))
        found["lrint" + suffix] = ("long", (ctype,))
        found["lround" + suffix] = ("long", (ctype,))
    return found


# Names of the C library, without `long double`.
FUNCTIONS: dict[str, Signature] = _signatures()

# Macros that work for any floating type.
CLASSIFICATIONS = frozenset({"isnan", "isinf", "isfinite", "signbit"})

LEAST_NORMAL = {"float": "0x1p-126f", "double": "0x1p-1022"}

# Functions that are read as loops.
OF_MEMORY = frozenset({"memset", "memcpy", "memmove"})

# Of complex numbers, by their names for double: what each is of the two parts. What follows are others of the
# library's, which it rounds in ways of its own.
PARTS = {"creal": "re", "cimag": "im"}
OF_PARTS = {"cabs": ("hypot", ("re", "im")), "carg": ("atan2", ("im", "re"))}  # C99, G.6
OTHER_COMPLEX = frozenset(
    "cacos casin catan ccos csin ctan cacosh casinh catanh ccosh csinh ctanh clog cpow csqrt cproj".split()
)

# Built-ins that the macros of <math.h> become: constants by their C spelling.
CONSTANTS = {
    "__builtin_inff": ("INFINITY", "float"),
    "__builtin_inf": ("INFINITY", "float"),
    "__builtin_huge_val": ("INFINITY", "float"),
    "__builtin_huge_valf": ("INFINITY", "float"),
    "__builtin_nanf": ("NAN", "float"),
    "__builtin_nan": ("NAN", "float"),
}
DOUBLE_CONSTANTS = frozenset({"__builtin_inf", "__builtin_huge_val", "__builtin_nan"})
_ALIASES = {"isinf_sign": "isinf"}


def library_name(name: str) -> str:
    """`__builtin_sqrtf` as the function that it stands for."""
    plain = name.removeprefix("__builtin_")
    return _ALIASES.get(plain, plain)


def is_known(name: str) -> bool:
    """Whether a user's function may call it as it is."""
    plain = library_name(name)
    return plain in FUNCTIONS or plain in CLASSIFICATIONS or name in CONSTANTS


def complex_name(name: str) -> tuple[str, str]:
    """`crealf` as the function for double that it is like, and the type of the parts that it takes."""
    plain = library_name(name)
    return (plain[:-1], "float") if plain.endswith("f") else (plain, "double")


def is_of_complex(name: str) -> bool:
    """Whether such a call is one of parts of complex numbers."""
    return complex_name(name)[0] in (*PARTS, *OF_PARTS, "conj", "cexp") or library_name(name) == "complex"
