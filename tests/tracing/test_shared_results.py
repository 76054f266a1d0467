"""Memory that results share with arguments, with the state and with one another; arguments with a tape; effects before an
error. Programs run eagerly and in each mode, and what a caller sees has to be the same."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import GradientError, ShapeError, TraceError

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]
CALLS = 3


def segments(step: Callable[..., Any]) -> Any:
    """The step after a cut, so that it runs in segments."""

    @sg.compile(on_break="split")
    def cut(*args: Any) -> Any:
        if sg.zeros(()) > 1:
            raise AssertionError
        return step(*args)

    return cut


MODES: dict[str, Compile] = {
    "default": sg.compile,
    "strict": functools.partial(sg.compile, numerics="strict"),
    "split": functools.partial(sg.compile, on_break="split"),
    "segments": segments,
}
PROGRAMS: dict[str, Callable[[Compile, Any], Any]] = {}


def program(fn: Callable[[Compile, Any], Any]) -> Callable[[Compile, Any], Any]:
    """A function of what compiles, and of a maker of tensors of a dtype: it returns all that its caller sees."""
    PROGRAMS[fn.__name__] = fn
    return fn


def seen(x: Any) -> Any:
    if isinstance(x, sg.Tensor):
        return x.detach().numpy().tolist(), str(x.dtype), x.requires_grad, x.is_leaf
    return [seen(part) for part in x] if isinstance(x, (list, tuple)) else x


def maker(dtype: str) -> Callable[..., Any]:
    def make(*shape: int) -> Any:
        return sg.tensor(np.arange(1, 1 + np.prod(shape), dtype=dtype).reshape(shape))

    return make


# results ------------------------------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "part": lambda x: x[:1],
    "row": lambda x: x[1],
    "transposed": lambda x: x.t(),
    "transposed twice": lambda x: x.t().t()[0],
    "flat": lambda x: x.reshape(-1),
    "a reshape that copies": lambda x: x.t().reshape(-1),
    "parts of a reshape that copies": lambda x: ((y := x.t().reshape(-1))[:], y.detach(), y[1:]),
    "flat view": lambda x: x.view(-1),
    "new axis": lambda x: x[None],
    "expanded": lambda x: x.expand(2, 2, 3),
    "windows": lambda x: x.unfold(1, 2, 1),
    "diagonal": lambda x: x.diagonal(),
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "part of detached": lambda x: x.detach()[1:],
    "copy": lambda x: x.clone(),
    "copy of a part": lambda x: x[1:].clone(),
    "contiguous": lambda x: x.contiguous(),
    "chunks": lambda x: x.chunk(2),
    "overlapping": lambda x: (x[:, :2], x[:, 1:]),
    "itself and a part": lambda x: (x, x[0]),
    "computed, and a part": lambda x: (y := x * 2, y[0], y.detach()),
    "parts of what was computed": lambda x: ((y := x * 2)[:, :2], y[:, 1:]),
    "not in row-major order": lambda x: (y := x.t() * 2, y.t().reshape(-1), y.reshape(-1), y.contiguous(), y.t().contiguous()),
    "contiguous twice": lambda x: (x.reshape(3, 2).contiguous(), x.t().contiguous()),
    "gathered": lambda x: x[[0, 1]],
}


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("place", ["argument", "leaf", "result", "state"])
@pytest.mark.parametrize("mode", MODES)
def test_views(mode: str, place: str):
    """Each view of what a step is given, changed by its caller."""

    def run(compile: Compile, view: Callable[[Any], Any]) -> Any:
        found = []
        kept = maker("float32")(2, 3)
        step = compile((lambda x: view(kept)) if place == "state" else view)
        for _ in range(CALLS):
            x = kept if place == "state" else maker("float32")(2, 3)
            w = x.requires_grad_() if place in ("leaf", "result") else x
            x = w * 3 if place == "result" else w
            results = step(x)
            parts = results if isinstance(results, tuple) else (results,)
            found.append([part is x for part in parts])
            with sg.no_grad():
                for part in parts:
                    if part._data.flags.writeable:
                        part += 1
            found += [x.detach().clone(), [part.detach().clone() for part in parts], [p.requires_grad for p in parts]]
            if place in ("leaf", "result"):
                w.grad = None
                live = [part for part in parts if part.requires_grad]
                sum((p.sum() for p in live), (x * x).sum()).backward()
                found.append(w.grad)
        return found

    for name, view in VIEWS.items():
        assert seen(run(MODES[mode], view)) == seen(run(lambda step: step, view)), name


def test_views_of_other_extents():
    """One trace serves them; views follow."""

    def run(compile: Compile) -> Any:
        step = compile(lambda x: (y := x * 2, y[1:], x[1:], x.reshape(2, -1), y.detach(), y.expand(3, x.shape[0])))
        found = []
        for n in (4, 6, 8, 10, 12):
            x = maker("float32")(n)
            results = step(x)
            for part in results[:-1]:
                part.add_(1)
            found.append([x, results])
        return seen(found)

    step = sg.compile(lambda x: (x * 2, x[1:]))
    for n in (4, 6, 8, 10):
        step(maker("float32")(n))
    assert step.traces == 2
    assert run(sg.compile) == run(lambda step: step)


@program
def one_object_twice(compile: Compile, make: Any) -> Any:
    step = compile(lambda x: (y := x * 2, [y], {"y": y}))
    return [(a is b[0], a is c["y"]) for a, b, c in (step(make(3)) for _ in range(CALLS))]


@program
def kept_in_the_state(compile: Compile, make: Any) -> Any:
    state = type("State", (), {})()
    state.part = state.of = make(2)

    def step(x: Any) -> Any:
        y = x * 2
        state.part, state.of = y[1:], x[0]
        return y

    compiled, found = compile(step), []
    for _ in range(CALLS):
        x = make(3)
        y = compiled(x)
        state.part.add_(1)
        state.of.add_(5)
        found += [x, y]
    return found


@program
def returned_gradients(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()

    def step(x: Any, reset: bool) -> Any:
        if reset:
            w.grad = None
        (w * x).pow(2).sum().backward()
        return w.grad, w.grad[1:], w.grad.detach()

    compiled, found = compile(step), []
    for reset in (True, True, False, False, True):
        g, part, detached = compiled(make(3), reset)
        found.append(g is w.grad)
        part.add_(1)
        detached.mul_(2)
        found += [g.clone(), w.grad.clone()]
        w.grad.zero_()
        found.append(part.clone())
    return found


@program
def a_part_of_a_gradient(compile: Compile, make: Any) -> Any:
    def step(w: Any, x: Any) -> Any:
        (w * x).pow(2).sum().backward()
        return w.grad[1:]

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w = make(3).requires_grad_()
        for _ in range(2):
            part = compiled(w, make(3))
            part.add_(1)
            found += [part.clone(), w.grad.clone()]
    return found


@program
def gradients_of_results(compile: Compile, make: Any) -> Any:
    def step(x: Any) -> Any:
        leaf = (x * 2).detach().requires_grad_()
        y = leaf * x
        y.retain_grad()
        (y * y).sum().backward()
        return leaf, y

    compiled = compile(step)
    results = [compiled(make(3)) for _ in range(CALLS)]
    return [(leaf, leaf.grad, y, y.grad, y.retains_grad) for leaf, y in results]


@program
def retained_outside(compile: Compile, make: Any) -> Any:
    def step(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        return y

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w = make(3).requires_grad_()
        y = compiled(w)
        (g,) = sg.grad((y * y * y).sum(), w, create_graph=True)
        g.sum().backward()
        found += [y.retains_grad, y.grad, w.grad]
    return found


@program
def changed_views_of_tracked_results(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()
    step = compile(lambda x: (y := w * x, y[1:], w[1:]))
    found = []
    for _ in range(CALLS):
        w.grad = None
        y, part, of_leaf = step(make(3))
        part.mul_(3)
        (y * y).sum().backward()
        of_leaf.sum().backward()
        found += [y, part, w.grad]
    return found


@program
def taken_without_a_tape(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()

    def step(x: Any) -> Any:
        y = w * x
        with sg.no_grad():
            part = y[1:]
        return y, part

    compiled, found = compile(step), []
    for _ in range(CALLS):
        _, part = compiled(make(3))
        with pytest.raises(GradientError) as error:
            part.add_(1)
        found.append(error.value.summary)
    return found


@program
def views_with_hooks_and_leaves(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()

    def step(x: Any) -> Any:
        hooked, retained, leaf = w[1:], w[:2], x[1:]
        hooked.register_hook(lambda g: g * 2)
        retained.retain_grad()
        leaf.requires_grad_()
        (leaf * 3).sum().backward()
        return hooked, retained, leaf

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w.grad = None
        hooked, retained, leaf = compiled(make(3))
        (hooked.sum() + retained.pow(2).sum()).backward()
        found += [w.grad.clone(), retained.grad, leaf, leaf.grad]
    return found


@program
def gradients_that_share_memory(compile: Compile, make: Any) -> Any:
    a, b, c = (make(3).requires_grad_() for _ in range(3))

    def step(x: Any) -> Any:
        a.grad = b.grad = c.grad = None
        ((a + b) * x).sum().backward()
        b.grad = a.grad
        c.grad = x
        return c.grad, x * 2

    compiled, found = compile(step), []
    for _ in range(CALLS):
        x = make(3)
        given, _ = compiled(x)
        found += [given is x, c.grad is x, a.grad is b.grad]
        a.grad.add_(1)
        given.add_(1)
        found += [a.grad.clone(), b.grad.clone(), c.grad.clone()]
    return found


@program
def rebound_to_what_is_seen(compile: Compile, make: Any) -> Any:
    a, b, c, d = (make(3) for _ in range(4))

    def step(x: Any) -> Any:
        y = x * 2
        a.data = x
        b.data = y
        c.data = c.data * 2
        return y, d.sum()

    compiled, found = compile(step), []
    for _ in range(CALLS):
        x = make(3)
        y, _ = compiled(x)
        x.add_(1)
        y.add_(1)
        found += [part.clone() for part in (a, b, c)]
    return found


# iterators and other objects ----------------------------------------------------------------------------------------------

ITERATORS: dict[str, Callable[[Any], Any]] = {
    "generator": lambda x: (x * i for i in range(3)),
    "iterator": lambda x: iter([x * 2, x * 3]),
    "map": lambda x: map(x.mul, range(3)),
    "zip": lambda x: (pair[0] for pair in zip([x * 2], [x * 3], strict=True)),
    "filter": lambda x: filter(None, [x[0] * 4]),
    "reversed": lambda x: reversed([x * 1, x * 2]),
    "without tensors": lambda x: iter([1, 2]),
    "function": lambda x: (make() for make in [lambda: x * 2]),
    "partial": lambda x: (make() for make in [functools.partial(sg.add, x, 1)]),
    "set": lambda x: {x * 2},
}


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ITERATORS)
def test_iterators(name: str, mode: str):
    step, make = ITERATORS[name], maker("float32")
    compiled = MODES[mode](step)
    for _ in range(CALLS):
        assert seen([*compiled(make(3))]) == seen([*step(make(3))])


@pytest.mark.parametrize("name", sorted(ITERATORS.keys() - {"without tensors"}))
def test_iterators_are_refused_by_one_plan(name: str):
    with pytest.raises(TraceError, match="holds what it computed"):
        sg.compile(ITERATORS[name], on_break="error")(maker("float32")(3))


@program
def a_set_of_each_call(compile: Compile, make: Any) -> Any:
    step, found = compile(lambda x: ({1, 2}, x * 2)), []
    for i in range(CALLS):
        numbers, _ = step(make(3))
        found.append(sorted(numbers))
        numbers.add(9 + i)
    return found


# arguments ----------------------------------------------------------------------------------------------------------------


@program
def an_argument_with_a_tape(compile: Compile, make: Any) -> Any:
    told = []

    def step(x: Any, y: Any) -> Any:
        told.append((x.is_leaf, x.requires_grad, y.is_leaf))
        return (x * y).sum()

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w = make(3).requires_grad_()
        compiled(w * 3, w).backward()
        found.append(w.grad)
    return [*found, told[0]]


@program
def changed_with_a_tape(compile: Compile, make: Any) -> Any:
    def step(x: Any) -> Any:
        x.mul_(2)
        return x, x.pow(2).sum()

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w = make(3).requires_grad_()
        y = w * 3
        part = y[1:]
        same, loss = compiled(y)
        found += [same is y, y.grad_fn is not None, y, part]
        (g,) = sg.grad(loss + (y * part.sum()).sum(), w, create_graph=True)
        g.sum().backward()
        found += [g, w.grad]
    return found


@program
def overwritten_with_a_tape(compile: Compile, make: Any) -> Any:
    def step(x: Any) -> Any:
        x.zero_()
        return x + 1

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w = make(3).requires_grad_()
        y = w * 3
        z = compiled(y)
        (y.sum() + z.sum() + w.sum()).backward()
        found += [y, z, w.grad]
    return found


@program
def changed_by_what_requires_grad(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()

    def step(x: Any) -> Any:
        x[1:].mul_(w[1:])
        return x.sum()

    compiled, found = compile(step), []
    for _ in range(CALLS):
        w.grad = None
        x = make(3)
        loss = compiled(x)
        (loss + (x * x).sum()).backward()
        found += [x, w.grad]
    return found


@program
def changed_and_differentiated_inside(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()

    def step(x: Any) -> Any:
        x.mul_(w)
        (x * x).sum().backward()
        return x * 1

    compiled, found = compile(step), []
    for _ in range(CALLS):
        x = make(3)
        y = compiled(x)
        found += [x, y, w.grad.clone()]
        with pytest.raises(GradientError):
            x.pow(2).sum().backward()
    return found


@program
def a_buffer_written_by_what_requires_grad(compile: Compile, make: Any) -> Any:
    w, buffer = make(3).requires_grad_(), make(3)

    def step(x: Any) -> Any:
        buffer.copy_(w * x)
        return buffer.sum()

    compiled, found = compile(step), []
    for i in range(CALLS):
        if i != 1:
            buffer.detach_()
        loss = compiled(make(3))
        found += [buffer.clone(), buffer.requires_grad]
        if i == 1:  # through the value before, whose tape is freed
            with pytest.raises(GradientError):
                (loss + buffer.pow(2).sum()).backward()
        else:
            (loss + buffer.pow(2).sum()).backward()
        found.append(w.grad.clone())
    return found


@program
def a_kept_tape(compile: Compile, make: Any) -> Any:
    state = type("State", (), {})()
    state.h, w = make(3), make(3).requires_grad_()

    def step(x: Any) -> Any:
        state.h = sg.tanh(w * x * 0.1 + state.h)
        return state.h.sum()

    compiled, found = compile(step), []
    for _ in range(CALLS):
        loss = compiled(make(3))
        found += [loss.requires_grad, state.h.requires_grad]
    loss.backward()
    state.h = state.h.detach()
    again = compiled(make(3))
    return [*found, np.round(w.grad.numpy(), 5).tolist(), again.requires_grad]


@program
def read_after_a_copy_was_taken(compile: Compile, make: Any) -> Any:
    def step(x: Any) -> Any:
        flat = x.t().reshape(-1)
        x += 1
        y = x * 2
        other = y.t().reshape(-1)
        y += 1
        return flat + 0, other + 0, y

    compiled, found = compile(step), []
    for _ in range(CALLS):
        x = make(2, 3)
        found += [compiled(x), x]
    return found


@program
def overlapping_arguments(compile: Compile, make: Any) -> Any:
    def step(x: Any, y: Any) -> Any:
        x[1:].add_(1)
        y.mul_(2)
        return x + 0, y + 0, y[:1]

    compiled, found = compile(step), []
    for _ in range(CALLS):
        for pick in (lambda x: (x, x[1:]), lambda x: (x[:-1], x[1:]), lambda x: (x[1:], x)):
            x = make(4)
            *copies, part = compiled(*pick(x))
            part.add_(10)
            found += [copies, x]
    return found


@program
def data_changed_inside(compile: Compile, make: Any) -> Any:
    w = make(3).requires_grad_()

    def step(other: Any, x: Any) -> Any:
        w.data += x
        other.data += x
        y = other * 2
        y.data += x
        return (w * other * x).sum(), y

    compiled, found = compile(step), []
    for _ in range(CALLS):
        other = make(3).requires_grad_()
        w.grad = None
        loss, y = compiled(other, make(3))
        (loss + (y * y).sum()).backward()
        found += [w.detach().clone(), w.requires_grad, w.is_leaf, other, other.grad, w.grad, y]
    return found


# other memory -------------------------------------------------------------------------------------------------------------

OTHER_MEMORY: dict[str, str] = {
    "scaled": "w.data = w.data * 0.5; return x * 2",
    "read before and after": "y = (w * x).sum(); w.data = w.data * 0.5; return y.detach() + w.sum()",
    "a step by hand": "loss = (w * x).sum(); loss.backward(); w.data = w.data - 0.5 * w.grad; w.grad = None; return loss",
    "a kept gradient": "loss = (w * x).sum(); loss.backward(); w.data = w.data - 0.5 * w.grad; w.grad.zero_(); return loss",
    "an optimizer's step before": "opt.zero_grad(); (w * x).sum().backward(); opt.step(); w.data = w.data.clamp(-1, 1)",
    "a second derivative": "g, = sg.grad((w ** 3 * x).sum(), [w], create_graph=True); g2, = sg.grad(g.sum(), [w]); "
    "w.data = w.data - g2; return g2",
    "its own memory": "w.data -= 0.5 * x; return w * 2",
    "its own memory, with an alias": "h = w.detach(); w.data -= x; w.data.add_(1); return h, w.detach()",
    "a result": "y = x * 2; w.data = y; return y",
    "a stored value": "y = x * 2; s.v = y; w.data = y; return w * x",
    "a value that changes": "y = x * 2; w.data = y; y.add_(1); return w * 1",
    "a returned value, changed by the tensor": "y = x * 2; s.t.data = y; s.t.add_(1); return y",
    "two tensors in one memory": "y = x * 2; w.data = y; s.t.data = y; s.t.add_(1); return w * 1",
    "state": "w.data = s.t; return w * x",
    "state that changes": "w.data = s.t.data; s.t.add_(1); return w * x",
    "an argument": "w.data = x; return w * 1",
    "a view of an argument": "w.data = x.data[:]; return w * 1",
    "an alias that changes": "h = w.detach(); w.data = w.data * 0.5; h.add_(1); return h, w * 1",
    "an alias that changes, beside a view from before": "h = s.t.detach(); s.t.data = s.t.data * 2; h.add_(1); return s.u * 1",
    "changed before, beside a view from before": "s.t.add_(1); s.t.data = s.t.data * 2; return s.u * 1",
    "beside a view from before": "s.t.data = s.t.data * 2; return s.u * s.t[1:]",
    "a returned alias": "h = w.detach(); w.data = w.data * 0.5; return h",
    "a returned view on the tape": "v = w[:2]; w.data = w.data * 0.5; return v, w[1:]",
    "a returned view on the tape, of what changes before": "opt.zero_grad(); w.sum().backward(); v = w.view(3); opt.step(); "
    "w.data = w.data * 0.5; return v.detach()",
    "a stored view": "s.v = s.t[:2]; s.t.data = s.t.data * 2; return x * 1",
    "changed before": "w.data.add_(1); w.data = w.data * 0.5; return w * 1",
    "changed after": "w.data = w.data * 0.5; w.data.add_(1); return w * 1",
    "twice": "w.data = w.data * 0.5; w.data = w.data + 1; return w * 1",
    "twice, with aliases": "a = s.t.detach(); s.t.data = x * 2; b = s.t[:2]; s.t.data = x; a.add_(1); b.add_(1); return a, b",
    "swapped": "w.data, s.t.data = s.t.data, w.data; return w * x",
    "an argument's": "x.data = x.data * 0.5; return x * 1",
    "an argument's, stored": "s.v = x; x.data = x.data * 0.5; return x * 1",
    "an argument's, with views": "a = x[:2]; b = x[1:]; x.data = x.data * 0.5; a.add_(1); return x * 1, a, b",
    "an argument's, changed before": "x.add_(1); x.data = x.data * 0.5; return x * 1",
    "a detached tensor's": "d = w.detach(); d.data = d.data * 2; d.add_(1); return w * 1, d",
    "a view's": "v = s.t[:2]; v.data = v.data * 2; v.add_(1); s.v = v; return s.t + x",
    "a value's": "a = x * 2; b = x * 3; a.data = b; b.add_(1); return a, b",
    "a gradient's": "(w * x).sum().backward(); w.grad.data = w.grad.data * 2; return w.grad",
    "an attribute": "s.t = s.t * 2; return x + s.t",
    "an item": "s.l[0] = s.l[0] * 2; return x + s.l[0]",
    "a buffer": "m.b = m.b * 2; return x + m.b",
    "a parameter": "m.w = nn.Parameter(m.w.detach() * 0.5); return x + m.w.detach()",
    "in place": "w.data.copy_(x); s.t.mul_(2); return w * s.t",
    "an array": "s.t.data = sg.from_numpy(s.a); s.t.add_(1); return s.t * 1",
    "broadcast": "s.t.data = x[:1].expand(3); return s.t + x",
    "by a branch": "if x.sum() > 2: w.data = w.data * 0.5\nreturn w * x",
}
"""Steps after which tensors have other memory, or the same one."""


def of_text(text: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    lines = [f"    {line}" for part in text.split("\n") for line in (part.split("; ") if "if " not in part else [part])]
    exec("\n".join(["def step(x):", *lines]), names)
    step: Callable[[Any], Any] = names["step"]
    return step


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OTHER_MEMORY)
def test_other_memory(name: str, mode: str):
    """What a caller has held since before the call, and what it finds after it: values, and which of them share memory."""

    def run(compile: Compile, dtype: str) -> Any:
        make = maker(dtype)
        w, m = make(3).requires_grad_(), nn.Module()
        m.register_buffer("b", make(3))
        m.w = nn.Parameter(make(3))
        s = types.SimpleNamespace(t=make(3) * 2, l=[make(3) * 3], v=None, a=np.ones(3, dtype))
        s.u = s.t[1:]
        opt = optim.SGD([w], lr=0.5)
        step = compile(of_text(OTHER_MEMORY[name], {"sg": sg, "nn": nn, "w": w, "s": s, "m": m, "opt": opt}))
        held: list[Any] = [w.detach(), w.detach()[:2], w.detach().numpy(), w.data, s.l[0], m.b, m.w, s.t.numpy()]
        found = []
        for call in range(4):
            x = make(3) - call
            held += [x.detach(), x[1:], x.numpy()]
            result = step(x)
            held += [x, *(result if isinstance(result, tuple) else [result])]
            for y in result if isinstance(result, tuple) else ():
                if y.requires_grad:
                    y.sum().backward()
            now = [w, w.grad, s.t, s.u, s.l[0], s.v, m.b, m.w, *held]
            arrays = [y._data if isinstance(y, sg.Tensor) else y for y in now if y is not None]
            shared = [np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2)]
            found.append((seen([y.copy() if isinstance(y, np.ndarray) else y for y in now]), shared))
            held += [w.detach(), s.t.detach(), *([] if w.grad is None else [w.grad.detach()])]
        return found

    for dtype in ("float32", "float64"):
        expected, actual = run(lambda step: step, dtype), run(MODES[mode], dtype)
        for call, (a, b) in enumerate(zip(expected, actual, strict=True)):
            assert str(a) == str(b), f"call {call}, {dtype}"


@program
def a_copy_of_an_argument_that_is_a_view_of_another(compile: Compile, make: Any) -> Any:
    """Whether a reshape copies depends on the order in memory of the argument."""

    def step(x: Any, y: Any) -> Any:
        a, b = y.flatten(), y.reshape(3, 2)
        x.mul_(2)
        return a, b, y.flatten()

    compiled, found = compile(step), []
    for _ in range(CALLS):
        x = make(2, 3)
        for y in (x.t(), x[:, 1:], x.view(6)[:4], x):
            if y.numel() == 6:
                found.append([x, *compiled(x, y)])
    return found


@program
def a_detached_tensor_that_a_recorded_change_put_on_the_tape(compile: Compile, make: Any) -> Any:
    """It stays there when its memory is changed once more, by itself or by another."""
    found = []
    for again in (lambda x, d: d.fill_(2), lambda x, d: x.data.fill_(2), lambda x, d: None):

        def step(x: Any, again: Any = again) -> Any:
            d = x.detach()
            d.copy_(x * 3)
            with sg.no_grad():
                again(x, d)
            return d

        compiled = compile(step)
        for _ in range(CALLS):
            w = make(3).requires_grad_()
            y = w * 1
            d = compiled(y)
            found.append([d, y.detach().clone(), w])
    return found


@program
def results_whose_tape_the_function_has_freed(compile: Compile, make: Any) -> Any:
    """Of several shapes: a backward pass from all of them raises the error of each."""
    w = make(2, 3).requires_grad_()

    def step(x: Any) -> Any:
        y = w * x
        z = y * y
        z.sum().backward()
        return y.t() * 1, z, sg.relu(z)

    compiled, found = compile(step), []
    for _ in range(CALLS):
        results = compiled(make(2, 3))
        for roots in (results, results[1:], results[::-1]):
            with pytest.raises(GradientError, match="second time"):
                sum((x * x).sum() for x in roots).backward()
        found += [results, w.grad]
    return found


def test_old_memory_keeps_its_values():
    w = sg.tensor([2.0, 4.0], requires_grad=True)
    held, step = w.detach(), sg.compile(lambda: setattr(w, "data", w.data * 0.5))
    for _ in range(CALLS):
        step()
    assert (held.tolist(), w.tolist()) == ([2.0, 4.0], [0.25, 0.5])


# errors -------------------------------------------------------------------------------------------------------------------


@program
def what_a_step_did_before_it_raised(compile: Compile, make: Any) -> Any:
    w, log = make(3).requires_grad_(), []
    opt = optim.SGD([w], lr=0.5, momentum=0.5)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        log.append(len(log))
        x.add_(1)
        if len(log) % 2:
            raise KeyError("of the user")
        return x * 2

    compiled, found = compile(step), []
    for _ in range(2 * CALLS):
        x = make(3)
        try:
            found.append(compiled(x))
        except KeyError:
            found.append("raised")
        found += [x, w.detach().clone(), w.grad.clone(), [*log]]
    return found


@program
def random_numbers_before_an_error(compile: Compile, make: Any) -> Any:
    sg.manual_seed(3)

    def step(x: Any) -> Any:
        noise = sg.rand(3)
        return sg.cat([noise, x[0]])

    compiled, found = compile(step), []
    for _ in range(CALLS):
        with pytest.raises(ShapeError):
            compiled(make(3))
        found.append(sg.rand(2))
    return found


def test_a_trace_that_alone_raises_is_told():
    """Under on_break="error" the error of a trace which eager mode doesn't raise is a TraceError."""
    w = sg.zeros(2)

    def step(x: Any) -> Any:
        w.add_(1)
        if type(x) is not sg.Tensor:
            raise KeyError("a tensor of a trace")
        return x

    with pytest.raises(TraceError, match="not in eager mode"):
        sg.compile(step, on_break="error")(sg.ones(2))
    compiled = sg.compile(step)
    for i in range(CALLS):
        compiled(sg.ones(2))
        assert w.tolist() == [i + 2.0] * 2


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eagerly(name: str, mode: str, dtype: str):
    run = PROGRAMS[name]
    assert seen(run(MODES[mode], maker(dtype))) == seen(run(lambda step: step, maker(dtype)))


@pytest.mark.parametrize("mode", ["default", "strict"])
@pytest.mark.parametrize("which", ["argument", "captured"])
def test_a_backward_pass_that_computes_values_again_notices_changes(which: str, mode: str):
    """The first one of a function does, for a plan keeps no values before."""
    w, x = maker("float64")(3).requires_grad_(), maker("float64")(3).requires_grad_()
    y = MODES[mode](lambda x: sg.tanh(sg.tanh(x * w)))(x)
    with sg.no_grad():
        (x if which == "argument" else w).add_(1)
    with pytest.raises(GradientError, match="modified by an inplace operation"):
        y.sum().backward()
