"""What is compiled, and for how long it is kept."""

import time
from functools import partial
from weakref import WeakKeyDictionary

import numba
import nutpie
import pytensor

from pseudopost._source import digest_of_modules

# Samplers by the form of their model, to serve other data too; the oldest goes first.
SAMPLERS = {}
MAX_SAMPLERS = 8
# Functions of a model by name, as long as the model lives.
FUNCTIONS = WeakKeyDictionary()

compiled = partial(
    numba.njit, error_model="numpy", fastmath={"contract", "nsz", "reassoc", "arcp"}
)


def kept_on_disk(function):
    """Compile once a machine, if Numba finds a folder to write to, and without a lock.

    Numba sees a change of the function's module; the name says which others it had.
    """
    digest = digest_of_modules(function.__module__)[:12]
    function.__qualname__ = f"{function.__name__}_{digest}"
    try:
        return compiled(nogil=True, cache=True)(function)
    except RuntimeError:
        return compiled(nogil=True)(function)


def sampler(form, model, var_names, say):
    """Return the compiled sampler of a model of this form; `say` tells of compiling."""
    if form not in SAMPLERS:
        say("compiling the model, once per session ...")
        start = time.perf_counter()
        made = nutpie.compile_pymc_model(model, var_names=var_names)
        say(f"compiled in {time.perf_counter() - start:.0f} s")
        if len(SAMPLERS) == MAX_SAMPLERS:
            del SAMPLERS[next(iter(SAMPLERS))]
        SAMPLERS[form] = made
    return SAMPLERS[form]


def once(model, key, make):
    """Return ``make()``, called at the first time that this key is seen of a model."""
    known = FUNCTIONS.setdefault(model, {})
    if key not in known:
        known[key] = make()
    return known[key]


def function(inputs, output):
    """Compile a graph that is evaluated too seldom to be optimised."""
    return pytensor.function(
        inputs, output, mode="FAST_COMPILE", on_unused_input="ignore"
    )
