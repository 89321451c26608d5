"""Numba kernels that are kept on disk where that is possible, and work where it is not.

numba keeps compiled code beside the package, or in the folder of the user, or in NUMBA_CACHE_DIR. Where none of them
can be written (a package of another user, a container without a home, a full disk) it fails, at the import or at
the first call; a kernel is then compiled anew by every process instead.

numba itself compiles a kernel again when its own file has changed. Here it is any file that holds a kernel or a
formula of one: all of them go into the stamp of each. Processes that start together (workers of joblib or of Dask,
ranks of torch.distributed) wait for the one that compiles, and read what it has written.

The first call on a machine waits for the compiler, so what can be left out is left out:

- code of an `inner` kernel is optimised once, in the kernel that Python calls, not at each step on the way there;
- kernels that allocate nothing do not count references to their arrays;
- numbers that are written in a call, as the 0 of ``f(x, 0)``, do not make a version of their own.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import ir
from llvmlite.binding import Linkage, parse_assembly
from numba import njit
from numba.core import event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock

from setloss.files import BusyFileError, only_writer

_log = logging.getLogger(__name__)

PACKAGE = Path(__file__).parent

FORMULAS = ("compilation.py", "plans/records.py", "setfunctions/tversky.py")
"""Files whose formulas and constants are compiled into kernels of other files."""

PATIENCE = 120.0
"""Seconds to wait for another process that compiles the same kernel, before it is compiled here too."""

MARK = b"from setloss.compilation import kernel"
"""What a file with kernels says."""

_ENVIRONMENT = "_ZN08NumbaEnv"
"""How names of variables begin in which numba keeps the Python objects that compiled code refers to."""


class _InnerLibrary(JITCodeLibrary):
    """The code of an inner kernel, as it is linked into others, and nothing that could run."""

    def _optimize_final_module(self) -> None:
        """Leave all optimisation to the kernels that link it; the machine gets room for the environments only."""
        code, runnable = self._final_module, self._codegen._create_empty_module(self.name)
        for function in code.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        for variable in code.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                place = ir.GlobalVariable(runnable, ir.PointerType(ir.IntType(8)), variable.name)
                place.linkage, place.initializer = "common", ir.Constant(place.value_type, None)
        self._shared_module, self._final_module = code, parse_assembly(str(runnable))


class _InnerCompiler(CompilerBase):
    """The usual steps of numba, into an `_InnerLibrary`."""

    def define_pipelines(self) -> list[Any]:
        library = _InnerLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def kernel(*, inner: bool = False, allocates: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` without the GIL and with NumPy's division, cached on disk if there is a place for it.

    An `inner` kernel is called by other kernels only. A kernel that makes arrays says that it `allocates`; the others
    take and cut arrays whose memory belongs to the caller, and return them only to kernels that do not allocate.
    """
    closed = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _InnerCompiler} if inner else {}
    fixed: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": allocates, **closed, **options}

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = njit(cache=True, **fixed)(function)
        except RuntimeError as error:
            _log.info("%s; it is compiled anew in every process", error)
            dispatcher = njit(**fixed)(function)
        _forget_literals(dispatcher)
        _stamp(dispatcher)
        _let_writing_fail(dispatcher)
        _let_one_process_compile(dispatcher)
        return dispatcher

    return compiled


def kernel_sources(package: Path = PACKAGE) -> list[Path]:
    """The files of the package that compiled code depends on."""
    found = {package / name for name in FORMULAS}
    return sorted(found | {path for path in package.rglob("*.py") if MARK in path.read_bytes()})


@cache
def _digest() -> bytes:
    """A digest of all kernel sources; empty where the package is not a folder."""
    digest = hashlib.sha256()
    try:
        for path in kernel_sources():
            digest.update(path.read_bytes())
    except OSError as error:
        _log.info("the sources of the kernels cannot be read: %s", error)
    return digest.digest()


def _stamp(dispatcher: Any) -> None:
    """Let the cache of a kernel be fresh only while all kernel sources are what they were."""
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = (file._source_stamp, _digest())


def _forget_literals(dispatcher: Any) -> None:
    """A call by another kernel with a number that is written there is a call with a number of that type."""
    template = dispatcher.get_call_template

    def of_types(arguments: Any, keywords: Any) -> Any:
        return template([types.unliteral(argument) for argument in arguments], keywords)

    dispatcher.get_call_template = of_types


def _let_writing_fail(dispatcher: Any) -> None:
    """A compiled kernel that cannot be written to disk is still a compiled kernel."""
    cache = getattr(dispatcher, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if cache is None or save is None:
        return

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            _log.info("a compiled kernel cannot be kept: %s", error)

    cache.save_overload = save_if_possible


def _let_one_process_compile(dispatcher: Any) -> None:
    """A kernel is looked for in the cache, compiled and written by one process at a time."""
    index = getattr(getattr(getattr(dispatcher, "_cache", None), "_cache_file", None), "_index_path", None)
    if index is None:
        return
    compile_at_once = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        if tuple(signature) in dispatcher.overloads:
            return compile_at_once(signature)
        # numba's own lock first, as it is taken by all threads that compile: nobody waits for it while holding a file
        with global_compiler_lock, _alone(Path(index)):
            return compile_at_once(signature)

    dispatcher.compile = compile_alone


_in_hand: set[Path] = set()
"""The kernels that this process compiles now, each with those that call it."""


@contextmanager
def _alone(index: Path) -> Iterator[None]:
    """Wait until no other process compiles this kernel, or for `PATIENCE` seconds."""
    if index in _in_hand:
        yield
        return
    _in_hand.add(index)
    try:
        with ExitStack() as held:
            with suppress(BusyFileError):
                held.enter_context(only_writer(index, PATIENCE))
            yield
    finally:
        _in_hand.discard(index)


class _Announcement(event.Listener):
    """Say once in a process that kernels are compiled, so that the wait of a first call has a reason."""

    said, running = False, 0

    def on_start(self, event: Any) -> None:
        self.running += 1
        name = event.data["dispatcher"].py_func.__module__
        if not self.said and str(name).startswith("setloss."):
            self.said = True
            _log.info("compiling kernels, once on this machine")

    def on_end(self, event: Any) -> None:
        self.running -= 1


_announcement = _Announcement()
event.register("numba:compile", _announcement)


def under_way() -> bool:
    """Whether a kernel is being compiled now, in any thread."""
    return _announcement.running > 0
