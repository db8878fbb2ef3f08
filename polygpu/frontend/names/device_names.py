"""Names that mean something in generated files, whatever the target: a user's own function is renamed there.

They are those that the model gives a meaning (`floord`), the functions and types that CUDA C++ and OpenCL C
define, what the headers of the generated files declare or may declare, and what polygpu makes itself. Names
that a whole family reserves are patterns, so that a new release of a library finds its names taken.
"""

from __future__ import annotations

import re

from polygpu.frontend.names import mathematics

_MODEL = frozenset("min max floord floord_long offset_t barrier".split())

# The C library, POSIX and the extensions of glibc; C11 7.31 reserves more by their beginnings.
_LIBRARY = frozenset(
    """
    a64l abort access acct adjtime alarm aligned_alloc alloca arc4random arc4random_buf arc4random_uniform
    asctime asprintf assert at_quick_exit atexit atof atoi atol atoll basename bcmp bcopy brk bsearch btowc
    bzero calloc chdir chown chroot clearenv clearerr clock clone close closefrom confstr creat crypt
    ctermid ctime cuserid daemon daylight difftime div dprintf drand48 dup duplocale dysize eaccess ecvt
    environ erand48 errno execl execle execlp execv execve execvp execvpe exit explicit_bzero faccessat
    fchdir fchmod fchown fclose fcloseall fcvt fdatasync fdopen feof ferror fexecve fflush ffs ffsl ffsll
    fgetc fgetpos fgets fgetwc fgetws fileno flock flockfile fmemopen fopen fopencookie fork fpathconf
    fprintf fputc fputs fputwc fputws fread free freelocale freopen fscanf fseek fseeko fsetpos fsync ftell
    ftello ftruncate ftrylockfile funlockfile futimes fwide fwprintf fwrite fwscanf gcvt get_fence gmtime
    grantpt group_member i386 index initstate ioctl is_valid_event is_valid_reserve_id iscanonical iseqsig
    issignaling iszero itimerspec jrand48 kill l64a labs lchown lcong48 lconv ldiv link linkat linux llabs
    lldiv localeconv localtime lockf longjmp lrand48 lseek malloc mblen mbrlen mbrtowc mbsinit mbsnrtowcs
    mbsrtowcs mbstowcs mbtowc mkdtemp mkostemp mkostemps mkstemp mkstemps mktemp mktime mrand48 nanosleep
    newlocale nice nrand48 obstack_printf obstack_vprintf offsetof on_exit open open_memstream
    open_wmemstream openat optarg opterr optind optopt pathconf pause pclose perror poll popen
    posix_memalign posix_openpt pread printf profil pselect ptsname pwrite qecvt qfcvt qgcvt qsort
    quick_exit raise rand random range rawmemchr read readlink readv realloc reallocarray realpath remove
    rename renameat revoke rewind rindex rmdir rpmatch sbrk scanf secure_getenv seed48 seekdir select setjmp
    sigabbrev_np sigaction sigdescr_np signal sleep snprintf splice sprintf srand srand48 srandom sscanf
    stat stderr stdin stdout stpcpy stpncpy swab swapcontext swprintf swscanf symlink sync syncfs syscall
    sysconf system tempnam tgkill time timegm timelocal times timespec timespec_get timespec_getres timeval
    timex timezone tm tmpfile tmpnam truncate ttyname ttyslot tzname tzset ualarm umask uname ungetc ungetwc
    unix unlink unlinkat unlockpt unsetenv unshare uselocale usleep utime utimes va_arg va_copy va_end
    va_start valloc vasprintf vdprintf vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vprintf vscanf
    vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wait wait3 wait4 waitid waitpid wcpcpy
    wcpncpy wcrtomb wctob wctomb wcwidth wmemchr wmemcmp wmemcpy wmemmove wmempcpy wmemset wprintf write
    writev wscanf
    """.split()
)

# Mathematics of C23, POSIX, glibc, CUDA and OpenCL beside what regions may call, each also for other types.
_MATHEMATICS = frozenset(
    """
    acospi asinpi atan2pi atanpi canonicalize compoundn cospi cyl_bessel_i0 cyl_bessel_i1 dadd daddl ddiv
    dfma dmul drem dsqrt dsub erfcinv erfcx erfinv exp10 exp10m1 exp2m1 fadd fdiv fdivide ffma finite
    fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fminimum fminimum_mag fminimum_mag_num
    fminimum_num fminmag fmul fpclassify frexp fromfp fromfpx fsqrt fsub gamma getpayload ilogb j0 j1 jn
    lgamma_r llogb llrint llround log10p1 log2p1 logp1 modf nan nextdown nexttoward nextup norm norm3d
    norm4d normcdf normcdfinv pown powr rcbrt remquo rhypot rnorm rnorm3d rnorm4d rootn roundeven rsqrt
    scalb scalbln scalbn signbit significand sincos sincospi sinpi tanpi totalorder totalordermag ufromfp
    ufromfpx y0 y1 yn
    """.split()
) | frozenset(mathematics.FUNCTIONS)

# Functions and words of CUDA C++ and of OpenCL C.
_DEVICE = frozenset(
    """
    abs_diff add_sat address all any ballot bit_reverse bitfield_extract_signed bitfield_extract_unsigned
    bitfield_insert bitselect capture_event_profiling_info clamp clock64 clz create_user_event cross ctz
    degrees distance dot dot_acc_sat fast_distance fast_length fast_normalize float2double fma4 fract hadd
    kernel_exec launch length libraryPropertyType llmax llmin longlong mad mad24 mad_hi mad_sat maxmag
    mem_fence minmag mix mul24 mul_hi nanosleep normalize popcount prefetch printf radians release_event
    retain_event rhadd rotate saturate set_user_event_status shfl shuffle shuffle2 sign smoothstep step
    sub_sat syncthreads syncthreads_and syncthreads_count syncthreads_or threadfence trap uchar uint ullmax
    ullmin ulong ulonglong umax umin umul24 upsample ushort vec_step wait_group_events warpSize
    """.split()
)

_FAMILIES = re.compile(
    "|".join(
        (
            r"_\w*|(?:str|mem|wcs)[a-z]\w*|\w+_t|[A-Z][A-Z0-9]*(?:_\w*)?",  # C 7.1.3, 7.31; macros
            r"is(?:w?(?:al|cntrl|digit|graph|lower|pr|pu|space|upper|xdigit|blank|ctype)|ascii)\w*",
            r"is(?:nan|inf|finite|normal|greater|less|equal|notequal|ordered|unordered|subnormal|valid|atty)\w*",
            r"to(?:w?(?:upper|lower|ctrans)|ascii|_global|_local|_private|_addr)\w*",
            r"(?:get|set|put)[a-z]+\w*|(?:clock|timer|pthread|omp|sched|sem|epoll)_\w+|fd_\w+|va_list",
            r"\w+_(?:r|l|unlocked|np|rtn|rte|rtp|rtz|data|file_name|errhandling|perror)|\w+(?:64|at2)",
            r"(?:f32|f64|f128)x?\w+|u_(?:char|short|int|long)|(?:be|le)\d\dtoh|hto[bl]e\d\d",
            r"u?(?:char|short|int|long|longlong)\d+\w*|(?:float|double|half|dim)\d+\w*",  # vector types
            r"cuda\w+|cu[A-Z]\w*|CU\w+|make_\w+|atom(?:ic)?[A-Z_]\w*|tex\w+|surf\w+|nv\w+",
            r"\w+2(?:int|uint|ll|ull|float|double)|arm_\w+|intel_\w+|amd_\w+|cl_\w+|cl[A-Z]\w*",
            r"get_(?:default|enqueued|fence|global|group|image|kernel|local|max|num|pipe|sub|work|current)_\w+",
            r"(?:convert|as|async|sub_group|work_group|native|half|ndrange|read|write|enqueue)_\w+",
            r"(?:vload|vstore|dot|image)(?:_\w+)?|vload\w+|vstore\w+",
            r"(?:polygpu|pg|user)(?:_\w*)?|c_\w+",  # renamed functions, and those of polygpu
            r"[a-z]\d+|\w+_(?:k|n|s)\d*|\w+_of_\w+|(?:launch|device|block|thread)_\w+",  # its other names
            r"\w+_(?:tile|first|slot|next|pitch|row|column|in|u|g)",
        )
    )
)
_OTHER_TYPES = re.compile(r"(?:f|l|f16|f32|f64|f128|f32x|f64x)$")


def device_name(name: str) -> str:
    """The name of a user's function in generated files: distinct functions have distinct names."""
    return f"user_{name}" if is_taken(name) else name


def is_taken(name: str) -> bool:
    """Whether a generated file may give the name another meaning."""
    known = name in _MODEL or name in _LIBRARY or name in _DEVICE
    return known or bool({name, _OTHER_TYPES.sub("", name)} & _MATHEMATICS or _FAMILIES.fullmatch(name))
