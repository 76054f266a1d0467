"""NumPy arrays in compiled functions: reads, writes and memory that is shared agree with eager mode, call after call."""

from __future__ import annotations

import ctypes
import functools
import operator
import types

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("few_kernels")

MODES = {"default": {}, "strict": {"numerics": "strict"}, "split": {"on_break": "split"}}


def in_turn(items):
    """The items for ever, one per call."""
    return functools.partial(next, iter(items * 100))


def by_buffer(a):
    memoryview(a)[0] = 5.0


def by_iterator(a):
    for x in np.nditer(a, op_flags=["readwrite"]):
        x[...] = 2 * x + 1


def by_rows(a):
    for row in a.reshape(2, 3):
        row[0] += 9


def by_view(a):
    v = a[2:]
    v += 3


def by_method(a):
    fill = a.fill
    fill(4)


def by_method_of_a_ufunc(a):
    at = np.add.at
    at(a, [0, 0, 3], 2)


def by_flat(a):
    a.flat[2] = 5


def by_tensor(a):
    sg.from_numpy(a).add_(1)


def by_item_of_tensor(a):
    sg.as_tensor(a)[1] = 9


def swapped(a):
    a[0], a[1] = a[1], a[0]


def shuffled(a):
    np.random.default_rng(5).shuffle(a)


def in_place(a):
    a += 1
    a *= np.arange(6, dtype=a.dtype)


def of_items(a):
    for k in range(len(a)):
        a[k] = k + 3


def with_own_array(a):
    own = np.zeros(3, a.dtype)
    a[:3] = own
    own += 7
    a[3:] = own


WRITES = {
    "an item": lambda a: operator.setitem(a, 1, 7), "a method": lambda a: a.__setitem__(-1, 4),
    "a slice": lambda a: operator.setitem(a, slice(1, 3), [5, 6]), "all": lambda a: operator.setitem(a, ..., a * 2),
    "indices": lambda a: operator.setitem(a, [0, 2], 9), "a mask": lambda a: operator.setitem(a, a > 2, -1),
    "operator": lambda a: operator.iadd(a, 2), "in place": in_place, "items": of_items, "an own array": with_own_array,
    "add.at": lambda a: np.add.at(a, [0, 0, 3], 2), "out": lambda a: np.add(a, 1, out=a),
    "out by position": lambda a: np.multiply(a, 2, a), "out of a part": lambda a: np.sum(a.reshape(2, 3), 0, out=a[:3]),
    "out of a function": lambda a: np.clip(a, 0, 2, out=a), "out of a method": lambda a: a.cumsum(out=a),
    "out of accumulate": lambda a: np.add.accumulate(a.copy(), out=a), "copyto": lambda a: np.copyto(a, [1, 2, 3, 4, 5, 6]),
    "copyto where": lambda a: np.copyto(a, 0, where=a > 2), "put": lambda a: np.put(a, [1, 2], [8, 9]),
    "place": lambda a: np.place(a, a > 2, [3, 4]), "putmask": lambda a: np.putmask(a, a > 2, -3),
    "put_along_axis": lambda a: np.put_along_axis(a, np.array([1, 2]), 5, 0), "fill": lambda a: a.fill(4),
    "fill_diagonal": lambda a: np.fill_diagonal(a[:4].reshape(2, 2), 6), "partition": lambda a: a[::-1].partition(2),
    "sort": lambda a: a[::-1].sort(), "flat": by_flat, "a view": by_view,
    "reshape": lambda a: operator.setitem(a.reshape(2, 3), (1, 0), 4), "real": lambda a: operator.setitem(a.real, 1, 4),
    "another dtype": lambda a: operator.setitem(a.view("uint8"), slice(4), 1), "rows": by_rows, "split": lambda a:
    operator.setitem(np.split(a, 2)[1], ..., 1), "a buffer": by_buffer, "an iterator": by_iterator, "a swap": swapped,
    "a bound method": by_method, "a bound method of a ufunc": by_method_of_a_ufunc,
    "a shuffle": shuffled, "a tensor": by_tensor, "an item of a tensor": by_item_of_tensor, "nothing": lambda a: None,
}  # fmt: skip
READS = {
    "from_numpy": lambda a, x: x + sg.from_numpy(a), "tensor": lambda a, x: x + sg.tensor(a),
    "as_tensor": lambda a, x: x * sg.as_tensor(a), "an operand": lambda a, x: a * x, "a number": lambda a, x: x * float(a[1]),
    "NumPy": lambda a, x: x * np.tanh(a), "a view": lambda a, x: x * a[::-1], "a list": lambda a, x: x + sg.tensor([a, a])[0],
    "not at all": lambda a, x: x * 1,
}  # fmt: skip
ORDERS = ["before", "after", "both"]
PLACES = {
    "attribute": lambda box: box.array, "dict": lambda box: box.named["array"], "list": lambda box: box.listed[0],
    "made": lambda box: np.arange(6, dtype="float32"),
}  # fmt: skip


def run(place, write, read, order, compiled, differentiated=False):
    """The results, gradients and arrays of some calls. The array is written, and then replaced, between them, too."""
    start = np.arange(6, dtype="float32")
    box = types.SimpleNamespace(array=start.copy(), named={"array": start.copy()}, listed=[start.copy()])

    def step(x):
        array = PLACES[place](box)
        y = read(array, x) if order != "after" else 0
        write(array)
        return y + 2 * read(array, x) if order != "before" else y

    fn, found = compiled(step), []
    for i in range(4):
        x = sg.tensor(np.full(6, i + 1, "float32"), requires_grad=differentiated)
        y = fn(x)
        if differentiated:
            (y * y).sum().backward()
            found.append(x.grad.numpy())
        array = PLACES[place](box)
        found += [y.detach().numpy(), array.copy()]
        array[2] = 50
        if i == 1:
            other = np.linspace(0, 1, 6, dtype="float32")
            box.array, box.named["array"], box.listed[0] = other, other, other
    return found


CASES = [
    (write, read, order, place)
    for write, read, order, place in zip(
        [name for name in WRITES for _ in READS],
        [*READS] * len(WRITES),
        [ORDERS[i % 3] for i in range(len(WRITES) * len(READS))],
        [[*PLACES][(i + i // 4) % 4] for i in range(len(WRITES) * len(READS))],
        strict=True,
    )
]


@pytest.mark.parametrize(("write", "read", "order", "place"), CASES)
def test_a_write_inside_is_the_one_of_eager_mode(write, read, order, place):
    number = CASES.index((write, read, order, place))
    settings = [*MODES.values()][(number + number // len(ORDERS)) % len(MODES)]
    differentiated = number % 2 == 0 and "a tensor" not in write  # whose changes eager mode does not count for another one
    want = run(place, WRITES[write], READS[read], order, lambda f: f, differentiated)
    found = run(place, WRITES[write], READS[read], order, lambda f: sg.compile(f, **settings), differentiated)
    assert_same(found, want)


@pytest.mark.parametrize("write", ["an item", "in place", "items", "out", "copyto", "fill", "sort", "add.at", "flat", "put"])
def test_writes_of_plain_numbers_are_repeated_without_a_cut(write):
    """What each run repeats is the call, so the plan stays one whatever the array holds."""
    array = np.arange(6, dtype="float32")
    want = array.copy()

    @functools.partial(sg.compile, on_break="error")
    def step(x):
        WRITES[write](array)
        return x * 2

    for i in range(4):
        step(sg.ones(3))
        WRITES[write](want)
        np.testing.assert_array_equal(array, want)
        array[i] = want[i] = 10 - i
    assert len(step.specializations) == 1


def returned_alone(compiled):
    fn = compiled(lambda: np.zeros(3))
    for _ in range(3):
        array = fn()
        yield array.copy()
        array[0] = 9


def returned(compiled):
    def step(x):
        array = np.arange(3.0)
        return x * 2, array, array

    fn = compiled(step)
    for _ in range(3):
        y, a, b = fn(sg.ones(3))
        yield [y, a.copy(), a is b]
        a[0] = 9


def returned_with_a_view(compiled):
    def step(x):
        array = np.zeros(3)
        return x * 2, array, array[1:]

    fn = compiled(step)
    for _ in range(3):
        _, a, b = fn(sg.ones(3))
        a[1] = 5
        yield b.copy()


def returned_with_a_tensor_of_its_memory(compiled):
    def step():
        array = np.zeros(3)
        return sg.from_numpy(array), array

    fn = compiled(step)
    for _ in range(3):
        y, a = fn()
        a[1] = 5
        yield y.clone()


def stored(compiled):
    box = types.SimpleNamespace(kept=[])

    def step(x):
        box.array = np.arange(6.0).reshape(2, 3)
        box.kept.append(box.array)
        box.array[0, 1] = 7
        return x * box.array[0]

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)).clone(), box.array.copy(), box.kept[-1] is box.array]
        box.array[0, 0] = 5


def memory_of_a_parameter(compiled):
    w = sg.nn.Parameter(sg.ones(3))
    array, optimizer = w.detach().numpy(), sg.optim.SGD([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        return x * float(array.sum())

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)), array.copy()]


def memory_of_a_captured_tensor(compiled):
    array = np.zeros(3, "float32")
    tensor = sg.from_numpy(array)

    def step(x):
        array[0] = 5
        y = tensor * x
        array[0] = 2
        return y

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)), array.copy()]


def written_by_numpy_of_a_tensor(compiled):
    w = sg.ones(3)

    def step(x):
        w.numpy()[0] = 5
        h = x * w
        h.numpy()[1] += 1
        return h * 2

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)), w.clone()]


def structured(compiled):
    records = np.zeros(3, [("x", "f4"), ("n", "i4")])

    def step(x):
        records["n"] += 1
        records[0]["x"] = 2
        records["x"][1] = 5
        return x * float(records["n"][0])

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)), records.tolist()]


def resized(compiled):
    array = np.zeros(3, "float32")

    def step(x):
        array.resize(5, refcheck=False)
        return x * array.size

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)), array.shape]
        array.resize(3, refcheck=False)


def a_tensor_in_an_array_of_objects(compiled):
    objects = np.array([None, None], dtype=object)

    def step(x):
        objects[0] = h = x * 2
        return h

    fn = compiled(step)
    for i in range(3):
        yield [fn(sg.ones(3) * i), objects[0].clone()]


def errors_that_are_caught(compiled):
    array, caught = np.zeros(3, "float32"), []

    def step(x):
        try:
            array[0] = 1
            array[7] = 1
        except IndexError:
            caught.append(1)
        return x * 2

    fn = compiled(step)
    for _ in range(3):
        yield [fn(sg.ones(3)), array.copy(), len(caught)]
        array[0] = 0


def a_write_before_an_error(compiled):
    array = np.zeros(3, "float32")

    def step(x):
        array[0] += 1
        if array[0] > 2:
            raise ValueError("the end")
        return x * 2

    fn = compiled(step)
    for _ in range(4):
        try:
            fn(sg.ones(3))
        except ValueError:
            yield "raised"
        yield array.copy()


def replaced(compiled):
    box = types.SimpleNamespace(array=np.zeros(3, "float32"))

    def step(x):
        box.array = box.array * 0.9 + x.numpy()
        return x * box.array

    fn = compiled(step)
    for i in range(4):
        yield [fn(sg.ones(3) * i), box.array.copy()]


def in_arguments(compiled):
    def step(x, arrays):
        arrays[0][1] = 4
        return x * 2

    fn = compiled(step)
    for i in range(3):
        arrays = [np.zeros(3, "float32")]
        yield [fn(sg.ones(3) * i, arrays), arrays[0].copy()]


def from_numpy_of_an_argument(compiled):
    def step(x, array):
        tensor = sg.from_numpy(array)
        tensor[1] = x.sum().numpy().item()
        return x * tensor

    fn = compiled(step)
    for i in range(3):
        array = np.arange(3.0, dtype="float32")
        yield [fn(sg.ones(3) * i, array), array]


def written_before_the_backward_pass(compiled):
    array, p = np.arange(6, dtype="float32"), sg.nn.Parameter(sg.ones(6))

    def step(x, given):
        return ((x * array).tanh() * p * sg.tensor(array) * given).sum()

    fn = compiled(step)
    for i in range(4):
        x, given = sg.tensor(np.full(6, 0.1 * (i + 1), "float32"), requires_grad=True), np.arange(6, dtype="float32")
        p.grad = None
        loss = fn(x, given)
        array[...] = np.roll(array, 1) + 1
        given[...] = 9
        yield [loss, *[g.clone() for g in sg.grad(loss, [x, p])]]


def a_tensor_that_changes_before_the_backward_pass(compiled):
    w = sg.ones(3)
    fn = compiled(lambda x: (x * sg.exp(w)).sum())
    for i in range(3):
        x = sg.tensor([0.5, 1.0, 2.0], requires_grad=True)
        loss = fn(x)
        if i:  # the first backward pass computes values again, and refuses those of other tensors
            w.add_(1)
        yield sg.grad(loss, [x])[0]


def tensors_of_arguments(compiled):
    kept = []

    def step(x, a, b):
        kept.append(sg.from_numpy(a))
        kept.append(sg.as_tensor(b))
        return x * a, kept[0], kept[-1]

    fn = compiled(step)
    for i in range(3):
        a, b = np.arange(3, dtype="float32") + i, np.ones(3, "float32")
        y, first, last = fn(sg.ones(3), a, b)
        a[0] = b[0] = 9
        first.add_(1)
        last.add_(1)
        yield [y, a, b, last is kept[-1], kept[-2].clone(), first is kept[0]]


def tensors_in_items(compiled):
    array = np.zeros(4, "float32")

    def step(x):
        loss = (x * 2).sum()
        array[1] = loss
        array[2:] = x[:2]
        array.fill(loss) if loss > 6 else np.copyto(np.zeros(3, "float32"), x)
        return loss

    fn = compiled(step)
    for i in range(3):
        yield [fn(sg.ones(3) * i), array.copy()]


def written_by_a_buffer(compiled):
    buffer = bytearray(12)
    array = np.frombuffer(buffer, "float32")

    def step(x):
        buffer[:4] = np.float32(3).tobytes()
        return x * sg.from_numpy(array)

    fn = compiled(step)
    for i in range(3):
        yield fn(sg.ones(3) * i).clone()
        buffer[:4] = bytes(4)


def written_by_address(compiled):
    array = np.arange(4, dtype="float32")

    def step(x):
        ctypes.memset(array.ctypes.data, 0, 4)
        return x * array

    fn = compiled(step)
    for i in range(3):
        yield [fn(sg.ones(4) * i), array.copy()]
        array[0] = 7


PROGRAMS = [
    returned_alone, returned, returned_with_a_view, returned_with_a_tensor_of_its_memory, stored, memory_of_a_parameter,
    memory_of_a_captured_tensor, written_by_numpy_of_a_tensor, structured, resized, a_tensor_in_an_array_of_objects,
    errors_that_are_caught, a_write_before_an_error, replaced, in_arguments, from_numpy_of_an_argument,
    tensors_in_items, written_by_a_buffer, written_by_address,
    tensors_of_arguments, written_before_the_backward_pass, a_tensor_that_changes_before_the_backward_pass,
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_with_arrays(program, mode):
    assert_same([*program(lambda f: sg.compile(f, **MODES[mode]))], [*program(lambda f: f)])


def test_a_first_backward_pass_notices_a_tensor_that_has_changed():
    w, x = sg.ones(3), sg.tensor([0.5, 1.0, 2.0], requires_grad=True)
    loss = sg.compile(lambda x: (x * sg.exp(w)).sum())(x)
    w.add_(1)
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        loss.backward()


def test_arrays_that_no_tensor_can_hold_are_refused_as_in_eager_mode():
    for array in (np.array([1, 2], dtype=object), np.array(["a"]), np.ones(2, "longdouble")):
        for fn in (sg.tensor, sg.compile(lambda array=array: sg.tensor(array))):
            with pytest.raises(sg.DTypeError):
                fn(array)


def unpacked(a):
    first, second, *_ = a
    return float(first) - float(second)


def filled(a):
    own = np.zeros(6, "float32")
    own[:] = a
    return own


VALUES = {
    "a list": lambda a: list(a)[1], "a flat item": lambda a: a.flat[1], "sorted": lambda a: float(sorted(a)[0]),
    "max": lambda a: float(max(a)), "a comparison": lambda a: 2.0 if a[0] in a[1:] else 3.0, "unpacking": unpacked,
    "text": lambda a: float(f"{a[0]:.3f}"), "bytes": lambda a: float(len(set(a.tobytes()))), "pairs": lambda a:
    sum(float(p) * float(q) for p, q in zip(a, a[::-1], strict=True)), "another array": filled,
    "an own array": lambda a: np.copyto(own := np.zeros(6, "float32"), a) or own, "stack": lambda a: np.stack([a, a])[0],
    "an index of an own array": lambda a: np.arange(100.0)[a.astype(int)].sum(), "Tensor": lambda a: sg.Tensor(a),
    "lists": lambda a: sg.tensor([[a[0], 1.0], [2.0, a[1]]]).sum(), "rows": lambda a: sg.tensor([[a], [a]]).sum(),
    "full": lambda a: sg.full((6,), a[0]), "a mask": lambda a: sg.masked_select(sg.arange(6.0), a > 3).sum(),
    "lerp": lambda a: sg.lerp(sg.ones(6), sg.zeros(6), a), "frombuffer": lambda a: sg.frombuffer(a, dtype=sg.float32),
    "threshold": lambda a: sg.nn.functional.threshold(a, 2.5, 0.0), "fill": lambda a: sg.fill(a, float(a[2])),
    "celu": lambda a: sg.nn.functional.celu(a, a[:1] + 1), "hardtanh": lambda a: sg.nn.functional.hardtanh(a, 1.0, 3.0),
    "searchsorted": lambda a: sg.searchsorted(sg.arange(6.0), a),
    "scipy": lambda a: pytest.importorskip("scipy.special").expit(a),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_of_an_array_that_changes_between_calls(name):
    array = np.arange(6, dtype="float32")

    def step(x):
        return x * VALUES[name](array)

    fn = sg.compile(step)
    for i in range(4):
        x = sg.ones(6) * (i + 1)
        assert_same(fn(x), step(x))
        array[...] = np.roll(array, 1)
        array[3] += 0.5


@pytest.mark.parametrize("options", [{}, {"numerics": "strict"}, {"on_break": "split"}], ids=str)
@pytest.mark.parametrize("step", [lambda a, t: a.fill(1.5), lambda a, t: t.add_(float(a.sum()))], ids=["written", "read"])
@pytest.mark.parametrize("shared", [sg.from_numpy, lambda array: sg.as_tensor(array).data], ids=["from_numpy", "as_tensor"])
def test_a_tensor_that_comes_to_share_memory_with_an_array(shared, step, options):
    """Between two calls the tensor gets the memory of an array that the step reads or writes in Python."""

    def history(wrap):
        array, tensor = np.ones(3), sg.zeros(3, dtype=sg.float64)

        def run():
            step(array, tensor)
            tensor.mul_(0.5)

        run, found = wrap(run), []
        for call in range(6):
            if call == 3:
                tensor.data = shared(array)
            run()
            found.append((array.tolist(), tensor.tolist()))
        return found

    assert history(lambda fn: sg.compile(fn, **options)) == history(lambda fn: fn)
