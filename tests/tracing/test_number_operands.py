"""Numbers of a run, and NumPy's scalars, as operands: each brings the dtype that it brings in eager mode."""

import operator

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import DivisionError, DTypeError

pytestmark = pytest.mark.usefixtures("few_kernels")

MODES = {"default": {}, "strict": {"numerics": "strict"}, "split": {"on_break": "split"}}
OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)
TENSORS = {
    "bool": sg.tensor([True, True]),
    "uint8": sg.tensor([2, 3], dtype=sg.uint8),
    "int32": sg.tensor([2, 3], dtype=sg.int32),
    "int64": sg.tensor([2, 3]),
    "float32": sg.tensor([2.0, 3.0]),
    "float64": sg.tensor([2.0, 3.0], dtype=sg.float64),
}


def found(value):
    return [(np.asarray(x).tolist(), str(x.dtype)) for x in value]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TENSORS)
def test_a_number_of_the_run_beside_a_tensor(dtype, mode):
    def step(x, t):
        whole, real = x.sum().long().item(), x.sum().item()
        return [y for op in operators for n in (whole, real) for y in (op(n, t), op(t, n))]

    operators = [op for op in OPERATORS if not (op is operator.sub and dtype == "bool")]  # which PyTorch refuses
    f = sg.compile(step, **MODES[mode])
    for numbers in ([1.0, 2.0], [2.0, 3.0]):
        assert found(f(sg.tensor(numbers), TENSORS[dtype])) == found(step(sg.tensor(numbers), TENSORS[dtype]))


ERRORS = {
    "number // False": (lambda x: x.sum().long().item() // sg.tensor([True, False]), DivisionError),
    "tensor // 0": (lambda x: sg.tensor([1, 2]) // x.sum().long().item(), DivisionError),
    "tensor % 0": (lambda x: sg.tensor([1, 2]) % x.sum().long().item(), DivisionError),
    "tensor ** -1": (lambda x: sg.tensor([1, 2]) ** (x.sum().long().item() - 1), DTypeError),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ERRORS)
def test_integers_without_a_result(name, mode):
    step, error = ERRORS[name]
    for f in (step, sg.compile(step, **MODES[mode])):
        for _ in range(2):
            with pytest.raises(error):
                f(sg.zeros(2))


LOOPS = {
    "scan": lambda a: sg.scan(lambda total, row: (total + row, None), a[0, 0], a[:, 1])[0],
    "scan of rows": lambda a: sg.scan(lambda total, row: (total + row, total), a[0], a),
    "while_loop": lambda a: sg.while_loop(lambda k, total: k < 2, lambda k, total: (k + 1, total + a[0, 1]), (0, a[0, 0])),
    "cond": lambda a: sg.cond(sg.as_tensor(a).sum() > 0, lambda: a[0, 0], lambda: a[0, 1]),
    "both": lambda a: sg.scan(lambda total, row: (total * row, total), a[0, 0], sg.as_tensor(a)[:, 0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LOOPS)
def test_a_scalar_of_an_array_enters_a_loop(name, mode, dtype):
    f = sg.compile(LOOPS[name], **MODES[mode])

    def flat(value):
        return [part for x in value for part in flat(x)] if isinstance(value, tuple) else [] if value is None else [value]

    for scale in (1, 2):
        a = np.array([[1.0, 2.0], [3.0, 4.0]], dtype) * np.dtype(dtype).type(scale)
        assert found(flat(f(a))) == found(flat(LOOPS[name](a)))
