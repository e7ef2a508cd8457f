"""The CEL runtime's references to Python's objects, put right.

cel-expr-python 0.1.3 keeps one reference too many to the arguments and to the result of every Python function that it
calls (PyCelFunctionAdapter::Invoke): some hundred bytes a call, for good. Whether it does is tried out, once; where it
does, the reference is given back as soon as the evaluation is over.

It also hands out `None` without a reference of its own (CelValueToPyObject): each null that an expression gives brings
Python 3.11 nearer to "Fatal Python error: deallocating None".
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from cel_expr_python import cel

_VARARGS = 1
"""METH_VARARGS: called with the tuple of arguments itself."""


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# PyObject_CallOneArg(callable, argument) has the shape of a METH_VARARGS function (self, arguments): as such a one it
# hands the tuple of arguments to its `self`. No other way leads to that tuple.
_METHOD = _Method(
    b"corrigible", ctypes.cast(ctypes.pythonapi.PyObject_CallOneArg, ctypes.c_void_p).value, _VARARGS, None
)
_DECREF = ctypes.pythonapi.Py_DecRef
_DECREF.argtypes = [ctypes.py_object]
_DECREF.restype = None
_NEW = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


_IMMORTAL = 1 << 60


def keep_none() -> None:
    """Make `None` outlive all who give back a reference that they never had. From Python 3.12 on it does (PEP 683)."""
    if sys.version_info < (3, 12):
        references = ctypes.c_ssize_t.from_address(id(None))
        if references.value < _IMMORTAL:
            references.value += 2 * _IMMORTAL


class _Surplus(NamedTuple):
    """References that the runtime keeps of each call."""

    arguments: int
    result: int


class _Owed(threading.local):
    """What the runtime was handed in evaluations that are not over yet."""

    def __init__(self) -> None:
        self.arguments: list[Any] = []
        self.results: list[Any] = []


_owed = _Owed()


def of_tuple(called: Callable[[tuple[Any, ...]], Any]) -> Any:
    """Return a function that calls another one with the tuple of its arguments, the one that its caller made."""
    return _NEW(ctypes.addressof(_METHOD), called, None)


def releasing(called: Callable[..., Any]) -> Any:
    """Return the function as the runtime is to be given it. What it keeps is released by `release`."""
    if surplus() == _Surplus(0, 0):
        return called

    def noted(arguments: tuple[Any, ...]) -> Any:
        _owed.arguments.append(arguments)
        result = called(*arguments)
        _owed.results.append(result)
        return result

    return of_tuple(noted)


def release() -> None:
    """Give back what the runtime kept in the evaluation that is over. No value of it may be used any more."""
    if _owed.arguments:
        extra = surplus()
        for objects, count in ((_owed.arguments, extra.arguments), (_owed.results, extra.result)):
            for _ in range(count):
                for one in objects:
                    _DECREF(one)
            objects.clear()


@functools.cache
def surplus() -> _Surplus:
    """Call a function through the runtime, and count what is left of it."""
    observed: list[Any] = []

    def probe(arguments: tuple[Any, ...]) -> Any:
        observed[:] = [arguments, [str(arguments)]]
        return observed[1]

    dyn = cel.Type.DYN
    overload = cel.Overload("corrigible_probe", dyn, [dyn], False, of_tuple(probe))
    extension = cel.CelExtension("corrigible_probe", [cel.FunctionDecl("probe", [overload])])
    env = cel.NewEnv(variables={"x": dyn}, extensions=[extension])
    activation = env.Activation({"x": {"a": "b"}})
    env.compile("size(probe(x))").eval(activation).plain_value()
    del activation, env, extension, overload
    # `observed` holds one reference, and getrefcount's own argument is the second.
    left = [sys.getrefcount(observed[index]) - 2 for index in (0, 1)]
    return _Surplus(*left) if all(count in (0, 1) for count in left) else _Surplus(0, 0)
