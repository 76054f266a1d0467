"""What loops and branches refuse, in which words, and at which line."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import staticgrad as sg

C, X = np.ones((2, 3), np.float32), np.ones((5, 2, 3), np.float32)


def grows(c, x):
    return sg.scan(lambda h, v: (sg.concatenate([h, v]), None), c, x)


def widens(c, x):
    return sg.scan(lambda h, v: (h.astype(sg.float64), None), c, x)


def restructures(c, x):
    return sg.scan(lambda h, v: ((h, h), None), c, x)


def no_pair(c, x):
    return sg.scan(lambda h, v: h, c, x)


def while_grows(c, x):
    return sg.while_loop(lambda h: h.sum() < 100, lambda h: sg.concatenate([h, h]), [c])


def while_widens(c, x):
    return sg.while_loop(lambda h: h.sum() < 100, lambda h: h.astype(sg.float64) * 2, [c])


def while_restructures(c, x):
    return sg.while_loop(lambda h: h.sum() < 100, lambda h: (h, h), [c])


def vague(c, x):
    return sg.while_loop(lambda h: h < 100, lambda h: h + 1, [c])


def vague_branch(c, x):
    return sg.cond(c > 0, lambda: c, lambda: c)


def uncallable(c, x):
    return sg.cond(c.sum() > 0, c, lambda: c)


def uncallable_else(c, x):
    return sg.cond(True, lambda: c, None)


def uncallable_scan(c, x):
    return sg.scan(3, c, length=0)


def uncallable_test(c, x):
    return sg.while_loop(False, lambda h: h, c)


def uncallable_body(c, x):
    return sg.while_loop(lambda h: h.sum() < 0, c, c)


def no_length(c, x):
    return sg.scan(lambda h, v: (h, None), c)


def lengths(c, x):
    return sg.scan(lambda h, v: (h, None), c, (x, x[:2]))


def scalar_items(c, x):
    return sg.scan(lambda h, v: (h, None), c, x.sum())


def nonsense(c, x):
    return sg.scan(lambda h, v: (h, None), c, x, checkpoint_every=0)


def backwards(c, x):
    return sg.scan(lambda h, _: (h + x[0], None), c, length=-1)


def half(c, x):
    return sg.scan(lambda h, _: (h + x[0], None), c, length=2.5)


def yes(c, x):
    return sg.scan(lambda h, _: (h + x[0], None), c, length=True)


def worded(c, x):
    return sg.scan(lambda h, v: (h, None), c, x, checkpoint_every="2")


def halved(c, x):
    return sg.scan(lambda h, v: (h, None), c, x, checkpoint_every=2.5)


def while_half(c, x):
    return sg.while_loop(lambda h: h.sum() < 0, lambda h: h, c, max_steps=2.5)


def while_below(c, x):
    return sg.while_loop(lambda h: h.sum() < 0, lambda h: h, c, max_steps=-1)


def standing(c, x):
    """A block of no iterations would be repeated for ever."""
    return sg.while_loop(lambda h: h.sum() < 0, lambda h: h, c, checkpoint_every=0)


EVERYWHERE = {
    grows: (sg.ShapeError, "The shape for carry is not an invariant for the loop. It enters the loop with shape (2, 3), but "
                           "has shape (4, 3) after one iteration."),
    widens: (sg.DTypeError, "The dtype for carry is not an invariant for the loop. It enters the loop with dtype float32, but "
                            "has dtype float64 after one iteration."),
    restructures: (sg.ArgumentError, "The two structures don't have the same nested structure."),
    no_pair: (sg.ArgumentError, "scan: the body has to return a pair (carry, y), got "),
    while_grows: (sg.ShapeError, "The shape for loop_vars[0] is not an invariant for the loop. It enters the loop with shape "
                                 "(2, 3), but has shape (4, 3) after one iteration."),
    while_widens: (sg.DTypeError, "The dtype for loop_vars[0] is not an invariant for the loop."),
    while_restructures: (sg.ArgumentError, "The two structures don't have the same nested structure."),
    vague: (sg.ShapeError, "while_loop: the condition has to be a scalar, got shape (2, 3)"),
    vague_branch: (sg.ShapeError, "cond: pred has to be a scalar, got shape (2, 3)"),
    uncallable: (sg.ArgumentError, "true_fn must be callable."),
    uncallable_else: (sg.ArgumentError, "false_fn must be callable."),
    uncallable_scan: (sg.ArgumentError, "scan: fn must be callable."),
    uncallable_test: (sg.ArgumentError, "while_loop: cond must be callable."),
    uncallable_body: (sg.ArgumentError, "while_loop: body must be callable."),
    no_length: (sg.ArgumentError, "scan: with no xs the number of iterations has to be given"),
    lengths: (sg.ShapeError, "scan got values with different leading axis sizes: (5, 2, 3), (2, 2, 3)"),
    scalar_items: (sg.ShapeError, "scan: xs need a leading axis to walk along, got a 0-d tensor"),
    nonsense: (sg.ArgumentError, "scan: checkpoint_every is a number of iterations, at least 1, got 0"),
    backwards: (sg.ArgumentError, "scan: length is a number of iterations, at least 0, got -1"),
    half: (sg.ArgumentError, "scan: length is a number of iterations, at least 0, got 2.5"),
    yes: (sg.ArgumentError, "scan: length is a number of iterations, at least 0, got True"),
    worded: (sg.ArgumentError, "scan: checkpoint_every is a number of iterations, at least 1, got '2'"),
    halved: (sg.ArgumentError, "scan: checkpoint_every is a number of iterations, at least 1, got 2.5"),
    while_half: (sg.ArgumentError, "while_loop: max_steps is a number of iterations, at least 0, got 2.5"),
    while_below: (sg.ArgumentError, "while_loop: max_steps is a number of iterations, at least 0, got -1"),
    standing: (sg.ArgumentError, "while_loop: checkpoint_every is a number of iterations, at least 1, got 0"),
}  # fmt: skip


def eager(program):
    return program(sg.tensor(C), sg.tensor(X))


def compiled(program):
    return sg.compile(program)(sg.tensor(C), sg.tensor(X))


def session(program):
    with sg.Graph().as_default():
        return program(sg.placeholder(sg.float32, C.shape), sg.placeholder(sg.float32, X.shape))


MODES = [eager, compiled, session]


def refused(program, error, text, mode):
    with pytest.raises(error) as caught:
        mode(program)
    assert caught.value.summary.startswith(text)
    assert caught.value.where.file == __file__
    return caught.value


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", EVERYWHERE)
def test_bad_programs(program, mode):
    refused(program, *EVERYWHERE[program], mode)


def branches_differ(c, x):
    return sg.cond(c.sum() > 0, lambda: c, lambda: c[0])


def branches_differ_in_dtype(c, x):
    return sg.cond(c.sum() > 0, lambda: c, lambda: c > 0)


def branches_differ_in_structure(c, x):
    return sg.cond(c.sum() > 0, lambda: (c, c), lambda: c)


IN_GRAPHS = {
    branches_differ: (sg.ShapeError, "Incompatible return shapes of true_fn and false_fn: result is (2, 3) and (3,)"),
    branches_differ_in_dtype: (sg.DTypeError, "Incompatible return types of true_fn and false_fn: result is float32 and bool"),
    branches_differ_in_structure: (sg.ArgumentError, "Incompatible return structures of true_fn and false_fn: "),
}


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("program", IN_GRAPHS)
def test_bad_programs_in_graphs(program, mode):
    refused(program, *IN_GRAPHS[program], mode)


def test_a_y_that_changes_its_structure():
    kinds = iter([lambda v: v, lambda v: (v,)])
    error = refused(lambda c, x: sg.scan(lambda h, v: (h, next(kinds)(v)), c, x[:2]), sg.ArgumentError,
                    "The two structures don't have the same nested structure.", eager)  # fmt: skip
    assert "scan: y was * in the iterations before, and is (*,) now" in str(error)


def test_a_body_that_changes_what_is_outside():
    """A graph has no place for it: a compiled function refuses it, or runs in segments, where it is eager mode's loop."""
    total = sg.zeros(2, 3)

    def step(c, x):
        def body(h, v):
            total.add_(v)
            return h, None

        return sg.scan(body, c, x)

    with pytest.raises(sg.TraceError, match="its body changes a tensor from outside"):
        sg.compile(step, on_break="error")(C, X)
    found = []
    for fn in (step, sg.compile(step)):
        total.zero_()
        fn(C, X)
        fn(C, X)
        found.append(total.numpy().copy())
    np.testing.assert_array_equal(found[1], found[0])
    assert found[0].any()


def test_a_value_that_leaves_a_body():
    with sg.Graph().as_default():
        kept = []

        def body(h, v):
            kept.append(h * 2)
            return h + v, None

        sg.scan(body, sg.placeholder(sg.float32, C.shape), sg.placeholder(sg.float32, X.shape))
        with pytest.raises(sg.GraphError, match="is a value inside the body of a loop or branch"):
            kept[0] + 1


def test_an_error_in_a_body_leaves_the_graph_as_it_was():
    with sg.Graph().as_default() as graph:
        c, x = sg.placeholder(sg.float32, C.shape), sg.placeholder(sg.float32, X.shape)
        before = len(graph)
        with pytest.raises(sg.ShapeError):
            grows(c, x)
        assert [n.op.name for n in graph.nodes[before:] if not n.op.leaf] == []


def test_an_index_out_of_range_inside_a_loop():
    @sg.compile
    def pick(c, i):
        return sg.scan(lambda h, v: (h + sg.take(c, v, 0), None), c[0], i)[0]

    i = np.array([0, 1, 7, 1])
    with pytest.raises(sg.IndexRangeError, match="index 7 is out of range for axis 0 with extent 2") as caught:
        pick(C, i)
    assert caught.value.where.file == __file__
    np.testing.assert_array_equal(pick(C, i % 2).numpy(), np.full(3, 5.0))


NO_ROOM = """
import resource
import numpy as np
import staticgrad as sg

@sg.compile
def slope(x, n):
    x = x.detach().requires_grad_()
    y, _ = sg.while_loop(lambda h, i: i < n, lambda h, i: (sg.tanh(h * 1.01), i + 1), [x, sg.zeros((), dtype=sg.int64)])
    return sg.autograd.grad(y.sum(), [x])[0]

x = sg.from_numpy(np.linspace(0, 1, 100_000))
small = slope(x, sg.tensor(3)).numpy()
with open("/proc/self/statm") as pages:
    before = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (before + 200_000_000, resource.RLIM_INFINITY))
try:
    slope(x, sg.tensor(1000))
except sg.OutOfMemoryError as error:
    assert isinstance(error, MemoryError)
    print(error)
assert np.array_equal(slope(x, sg.tensor(3)).numpy(), small)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits address space as Linux does")
def test_a_loop_that_keeps_more_than_there_is_memory():
    """A clear error, memory given back, and the function goes on working."""
    found = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    assert re.search(r"its stacks have [\d.]+ MB and need more, and there is no memory for that", found.stdout)
    assert "<string>:9" in found.stdout
