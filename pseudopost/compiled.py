"""What is compiled, and for how long it is kept."""

import time
from functools import partial
from weakref import WeakKeyDictionary

import numba
import nutpie
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from pseudopost._source import digest_of_modules

# Samplers by the form of their model, to serve other data too; the oldest goes first.
SAMPLERS = {}
MAX_SAMPLERS = 8
# Functions of a model by name, as long as the model lives.
FUNCTIONS = WeakKeyDictionary()

compiled = partial(
    numba.njit, error_model="numpy", fastmath={"contract", "nsz", "reassoc", "arcp"}
)


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


class CompiledOp(Op):
    """PyTensor's wrapper around a function that Numba compiles.

    A subclass has the compiled `function`, the types of its `outputs`, its `pullback`
    if it is differentiated, and `plain` if it is differentiated twice: the same
    outputs, as many as are needed, as PyTensor would write them.
    """

    __props__ = ()

    def make_node(self, *inputs):
        """Declare the outputs."""
        inputs = [pt.as_tensor(value) for value in inputs]
        return Apply(self, inputs, [kind() for kind in self.outputs(*inputs)])

    def perform(self, node, inputs, outputs):
        """Run without compilation."""
        values = self.function(*inputs)
        values = values if len(outputs) > 1 else (values,)
        for output, value in zip(outputs, values, strict=True):
            output[0] = value


@register_funcify_default_op_cache_key(CompiledOp)
def _compile(op, **kwargs):
    # PyTensor keeps compiled code on disk, and would use it after the code has changed.
    code = digest_of_modules(op.function.py_func.__module__)
    return op.function, int(code[:15], 16)


def plain(graph):
    """Write a graph with the plain forms of its :class:`CompiledOp` nodes."""
    nodes = {
        v.owner
        for v in ancestors([graph])
        if v.owner and isinstance(v.owner.op, CompiledOp)
    }
    forms = {}
    for node in nodes:
        forms |= dict(zip(node.outputs, node.op.plain(*node.inputs), strict=False))
    return graph_replace([graph], forms, strict=False)[0]
