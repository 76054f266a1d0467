"""Random steps with state: NumPy arrays, containers, views, modules, optimizers, a package's code, branches on what they hold.

    python -m tests.fuzz_state --count 20000 --seed 0 --jobs 2 [--torch]

A program is Python text: a world of objects, a step that reads and changes them, and changes between its calls. It runs eagerly
and compiled: with strict numerics, in segments, and, for every `--fast`-th program, with kernels. After each call results,
errors and the whole world have to be equal, with `--torch` also to those of PyTorch, for which the same text is a program.
Program number n of seed s is always the same one: `--first n --count 1 --seed s --show` prints it.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import linecache
import os
import random
import sysconfig
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

os.environ.setdefault("STATICGRAD_EAGER", "wait:1000")  # strict mode has the bits of eager mode's NumPy
import staticgrad as sg
from staticgrad.errors import DataDependentError, TraceError
from tests import fuzzing

HEADER = """\
import bisect, collections, heapq, itertools
import numpy as np

nn, optim = sg.nn, sg.optim
"""

PACKAGE = """\
import collections


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3).to(sg.float64)
        with sg.no_grad():
            self.lin.weight.copy_(sg.tensor([[.5, -.25, .125], [.25, .5, -.5], [0., 1., .25]], dtype=sg.float64))
            self.lin.bias.copy_(sg.tensor([.125, .25, -.5], dtype=sg.float64))
        self.n = 0
        self.seen = []
        self.extra = [sg.tensor([.5, .5, 2.], dtype=sg.float64)]
        self.register_buffer("total", sg.zeros(3, dtype=sg.float64))

    def forward(self, x):
        self.n += 1
        self.seen.append(self.n)
        del self.seen[:-3]
        self.total += x.detach()
        return self.lin(x) * self.n


SETTINGS = {"gain": 2}


class Twice:
    def __init__(self, value):
        SETTINGS["made"] = SETTINGS.get("made", 0) + 1
        self.value = value * SETTINGS["gain"]


def counted(fn):
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return fn(*args, **kwargs) * wrapper.calls

    wrapper.calls = 0
    return wrapper


@counted
def decorated(x):
    return x + SETTINGS["gain"]


def batches():
    k = 0
    while True:
        k += 1
        yield sg.tensor([k, .5, -k], dtype=sg.float64)


def train(optimizer, closure):
    optimizer.zero_grad()
    loss = closure()
    loss.backward()
    optimizer.step()
    return loss


class Meter:
    made = 0

    def __init__(self):
        self.sum, self.count, self.history = 0.0, 0, collections.deque(maxlen=3)

    def update(self, value):
        self.count += 1
        self.sum = self.sum + value
        self.history.append(self.count)

    @property
    def scale(self):
        return self.count * 0.5


def scaled(x, table, key="k"):
    table[key] = table.get(key, 0) + 1
    return x * table[key]


class Lion(optim.Optimizer):
    def __init__(self, params, lr=0.125):
        super().__init__(params, dict(lr=lr, beta=0.5))

    def step(self, closure=None):
        with sg.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["m"] = sg.zeros_like(p)
                    m = state["m"]
                    p.add_(sg.sign(m * group["beta"] + p.grad * (1 - group["beta"])), alpha=-group["lr"])
                    m.mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
"""

PARTS = "{'h': sg.tensor([2., .25, -.5], dtype=sg.float64), 'l': [sg.tensor([1., 1., .5], dtype=sg.float64)], 'c': 1})"
WORLD = {
    "w": "sg.tensor([.5, -1., .25], dtype=sg.float64, requires_grad=True)",
    "b": "sg.tensor([.125, .75, -.5], dtype=sg.float64, requires_grad=True)",
    "buf": "sg.tensor([1., 2., -1.], dtype=sg.float64)",
    "arr": "np.array([.5, 1.5, -2.])",
    "iarr": "np.array([2, 0, 1])",
    "nums": "[1, 3, 2]",
    "items": "[sg.tensor([1., .5, 2.], dtype=sg.float64)]",
    "d": "{'k': 2, 'z': 1}",
    "od": "collections.OrderedDict(a=1, b=2, c=3)",
    "dd": "collections.defaultdict(int, a=1)",
    "dq": "collections.deque([1., 2.], maxlen=4)",
    "st": "{1, 2}",
    "ctr": "collections.Counter(a=2)",
    "obj": "types.SimpleNamespace(n=1, t=sg.tensor([.25, .5, 1.], dtype=sg.float64), a=np.array([1., 2., 4.]), l=[1], parts="
    + PARTS,
    "m": "pkg.Counting()",
    "meter": "pkg.Meter()",
    "it": "itertools.cycle([np.array([1., 2., 3.]), np.array([.5, .25, -1.])])",
    "rng": "np.random.default_rng(0)",
    "mat": "np.arange(9.0).reshape(3, 3) / 8",
    "view": "buf[:]",
    "window": "buf[1:]",
    "ud": "collections.UserDict(a=1, b=2)",
    "table": "{1: 2}",
    "chain": "collections.ChainMap({'k': 1}, {'k': 2, 'w': 0})",
    "heap": "[1, 3, 2]",
    "gen": "pkg.batches()",
    "opt": "None",
}
OPTIMIZERS = ("optim.SGD([w, b], lr=.125)", "optim.SGD([w], lr=.125, momentum=.5)", "optim.Adam([w, b], lr=.125)",
              "pkg.Lion([w, b])", "optim.SGD([w], lr=.25, weight_decay=.125)")  # fmt: skip


def forms(text: str) -> list[str]:
    """One form a line, in which a line break is written as in a string."""
    return [line.replace(r"\n", "\n") for line in text.strip().splitlines()]


T = "<T>"  # a tensor of shape (3,)
N = "<N>"  # a number of Python
TENSORS = forms(r"""
w
b
buf
items[-1]
obj.t
m.total
m.lin.bias
sg.from_numpy(arr)
sg.tensor(arr)
sg.as_tensor(arr)
sg.from_numpy(obj.a)
sg.tensor(nums[:3] + [1.] * (3 - len(nums[:3])), dtype=sg.float64)
buf[iarr]
w[[2, 0, 1]]
sg.from_numpy(next(it))
w.detach()
buf.flip(0)
w.data
obj.parts["h"]
view
window
obj.parts["l"][0]
m.extra[-1]
sg.from_numpy(mat[0])
sg.tensor([dq[0], dq[-1], 1.0], dtype=sg.float64)
sg.stack([w, b])[obj.n % 2]
next(gen)
sg.from_numpy(np.sort(arr))
""")
NUMBERS = forms(r"""
len(nums)
nums[0]
nums[-1]
obj.n
m.n
d['k']
d.get('q', 3)
sum(od.values())
dd['b']
len(dq)
dq[-1]
len(st)
max(st)
ctr['a']
float(arr[0])
int(iarr[1])
arr.sum()
len(items)
meter.scale
meter.count
next(iter(od))  == 'b'
sum(m.seen)
obj.l[-1]
1.5
2
rng.integers(3)
len(opt.param_groups[0]['params'])
opt.param_groups[0]['lr']
mat[1, 2]
mat.mean()
obj.parts["c"]
ud["a"]
len(m.extra)
table.get(obj.n, 5)
chain["k"]
heap[0]
pkg.SETTINGS["gain"]
pkg.Meter.made
m.lin.in_features
sum(1 for _ in d)
arr.argmax()
len(last) if isinstance(last, (list, tuple)) else 1
""")
COMPUTE = forms(r"""
NEW = <T> + <T>
NEW = <T> * <T>
NEW = <T> * <N>
NEW = sg.tanh(<T>)
NEW = <T> - <N>
NEW = (<T> + <T>) * 0.5
NEW = sg.where(<T> > 0, <T>, <T>)
NEW = <T>.clone()
NEW = m(<T>)
NEW = pkg.scaled(<T>, d)
NEW = pkg.scaled(<T>, dd, 'p')
NEW = <T> * next(it)
NEW = arr * <T>.detach()
NEW = <T>.sum() * <T>
NEW = <T>[1:].sum() + <T>
a = np.zeros(3); a[1] = <N>\nNEW = <T> + sg.from_numpy(a)
a = arr.copy(); a[[0, 2]] += 1\nNEW = <T> * sg.tensor(a)
a = sg.zeros(3, dtype=sg.float64); a[0] = <N>\nNEW = <T> + a
NEW = <T>.view(3, 1)[:, 0]
NEW = pkg.Twice(<T>).value
NEW = pkg.decorated(<T>)
NEW = <T>.reshape(3, 1).t()[0]
NEW = sg.cat([<T>[:1], <T>[1:]])
NEW = <T> + sg.tensor([x_ * 1.0 for x_ in sorted(st)[:3]] + [0.5] * (3 - len(sorted(st)[:3])), dtype=sg.float64)
NEW = sum([t_ for t_ in items], <T>)
NEW = (lambda q: q * <N>)(<T>)
def inner(q, k=obj.n):\n    return q * k\nNEW = inner(<T>)
NEW = <T> * mat[:, 1].sum()
NEW = sg.from_numpy(mat) @ <T> if mat.shape == (3, 3) else <T> * 2
buffer_ = np.empty(3); np.copyto(buffer_, arr); buffer_ *= 2\nNEW = <T> + sg.from_numpy(buffer_)
keep = []\nfor k_ in range(2):\n    keep.append(<T> * k_)\nNEW = keep[0] + keep[1]
NEW = <T>.exp().log() if obj.n % 2 else <T>.abs()
NEW = sg.zeros(3, dtype=sg.float64).index_add(0, sg.from_numpy(iarr), <T>)
NEW = <T>.masked_fill(<T> > <N>, 0.25)
pairs = dict(zip("ab", [<T>, <T>]))\nNEW = pairs["a"] - pairs.pop("b")
""")
CHANGES = forms(r"""
arr[1] = <N>
arr[:2] += 1
arr *= 0.5
np.add.at(arr, [0, 0], 1.0)
np.copyto(arr, obj.a)
arr.sort()
arr.fill(<N>)
np.multiply(arr, 2, out=arr)
arr[arr > 1] = 0.5
arr[iarr] = obj.a
obj.a[0] += 1
obj.a = arr.copy()
np.negative(obj.a, out=obj.a)
iarr[:] = iarr[::-1].copy()
arr.put([0], [<N>])
arr.flat[2] = <N>
nums.append(<N>)
nums.insert(0, 4)
nums[0] = <N>
nums[:] = nums[-2:]
nums.reverse()
nums.sort()
nums.extend([5, 6])
if len(nums) > 2: nums.pop(0)
del nums[2:]
nums += [1]
nums.clear(); nums.append(2)
d['k'] = <N>
d.update(k=d['k'] + 1)
d.pop('z', None)
d.setdefault('q', 7)
d['z'] = d.pop('z', 0) + 1
d |= {'q': 2}
od.move_to_end('a')
od['b'] = od.pop('b')
od.move_to_end('c', last=False)
dd['x'] += 1
dd['b']
dq.append(<N>)
dq.rotate(1)
dq.appendleft(3.0)
if len(dq) > 1: dq.popleft()
dq.extend([1.0, 4.0])
st.add(int(<N>) % 7)
st.discard(1); st.add(3)
st |= {4}
ctr.update(['a', 'b'])
ctr['a'] += 2
ctr.subtract(a=1)
obj.n += 1
obj.n = <N>
obj.l.append(len(obj.l))
obj.l = [<N>]
setattr(obj, 'n', obj.n * 2)
m.n = 0
m.seen.append(2)
meter.update(<N>)
next(it)
obj.t = <T>.detach()
items.append(<T>.detach())\ndel items[:-3]
items[-1] = <T>.detach() * 2
buf.add_(<T>.detach())
buf[0] = <N>
buf[:2].mul_(0.5)
buf.copy_(<T>.detach())
buf[[0, 2]] = <T>.detach()[:2]
w.data.mul_(0.5)
w.data[0] = <N>
obj.t.mul_(0.5)
with sg.no_grad():\n    w.sub_(0.125 * <T>)
m.total.zero_()
opt.param_groups[0]['lr'] *= 0.5
opt.param_groups[0]['lr'] = 0.25
buf.numpy()[1] = 2
sg.from_numpy(arr).mul_(2)
w.requires_grad_(not w.requires_grad)\nw.requires_grad_(True)
opt.zero_grad()
m.eval()
m.train()
items.append(items.pop(0))
obj.t, buf2 = buf.clone(), obj.t
mat[1] = arr
mat[:, 0] += 1
mat[0, 1] = <N>
mat.T[2] = 0.5
mat -= mat.mean()
np.fill_diagonal(mat, <N>)
mat.sort(axis=1)
np.clip(mat, -1, 1, out=mat)
np.put(arr, [0, 1], [2.0, 1.0])
np.place(arr, arr > 1, [0.75])
arr[::2] = obj.a[::2]
arr[...] = obj.a
arr.itemset(0, 1.0) if hasattr(arr, "itemset") else None
np.subtract.at(arr, iarr, 0.5)
arr[[True, False, True]] = <N>
arr.partition(1)
window.mul_(0.5)
view.add_(1)
view[0] = <N>
obj.parts["l"].append(buf * 1)\ndel obj.parts["l"][:-2]
obj.parts["h"] = <T>.detach()
obj.parts["c"] += 1
obj.parts.update(c=3, h=<T>.detach())
obj.parts = {**obj.parts, "c": 0}
m.extra.append(<T>.detach())\ndel m.extra[:-3]
ud["a"] = <N>
ud.pop("b", None)
ud.update(b=2)
table[obj.n] = <N>
table.clear(); table[1] = 2
chain["k"] = <N>
chain.maps[1]["w"] = 3
heapq.heappush(heap, obj.n)
heap and len(heap) > 2 and heapq.heappop(heap)
bisect.insort(nums, 2)
pkg.SETTINGS["gain"] = <N>
pkg.SETTINGS.setdefault("x", 0)
pkg.Meter.made += 1
d.popitem() if len(d) > 2 else d.update(w=1)
od.popitem(last=False) if len(od) > 2 else od.update(c=3, a=1)
od.update(b=<N>)
dq.extendleft([2.0, 1.0])
dq[0] = <N>
dq.reverse()
del dq[0]; dq.append(1.5)
st.update({5, 6})
st.remove(max(st)); st.add(1)
st.symmetric_difference_update({1, 2}); st.add(0)
ctr += {"b": 1} and __import__("collections").Counter(b=1)
ctr.pop("b", None)
nums.remove(nums[0]); nums.append(3)
nums[1:1] = [7]
nums[:2] = []; nums.append(1)
nums *= 2; del nums[3:]
items[:] = items[-1:]
items.insert(0, items[-1] + 1); del items[2:]
items.reverse()
vars(obj)["n"] = 2
obj.__dict__.update(n=3)
delattr(obj, "tmp") if hasattr(obj, "tmp") else setattr(obj, "tmp", 1)
m.lin.bias.data.mul_(0.5)
m.lin.bias = nn.Parameter(m.lin.bias.detach() * 0.5)
m.total = m.total * 0.5
m.lin.weight.requires_grad_(False)
m.lin.weight.requires_grad_(True)
w.grad = None
b.grad = <T>.detach().clone()
opt.param_groups[0]["params"].reverse()
opt.state.clear()
opt.param_groups[0].setdefault("tag", 1)
rng.shuffle(iarr)
arr += rng.random(3)
w.data = w.data * 0.5
w.data = <T>.detach() * 2
b.data -= 0.125 * <T>.detach()
buf.data = buf.data + 1
buf.data = <T>.detach()
obj.t.data = obj.t.data * 0.5\nobj.t.add_(1)
obj.t.data = <T>.data
obj.t.data, buf.data = buf.data, obj.t.data
obj.t.data = sg.from_numpy(obj.a)
obj.t, items[-1] = items[-1], obj.t
items[-1].data = obj.t.data * 2
m.total.data = <T>.detach() + 1
m.lin.bias.data = m.lin.bias.data * 0.5
for p_ in (w, b):\n    p_.data = p_.data - 0.25 * (p_.data * p_.data)
h_ = buf.detach()\nbuf.data = buf.data * 0.5\nh_.add_(1)
h_ = obj.t[1:]\nobj.t.data = obj.t.data * 2\nh_.mul_(0.5)
if w.grad is not None: w.grad = w.grad * 0.5
buf.set_(buf * 2) if False else buf.neg_()
buf.zero_().add_(1)
buf.detach()[1:].fill_(<N>)
""")
GLOBALS = ("d", "st", "nums", "arr", "mat", "ctr")  # names that a statement above rebinds by an augmented assignment
INSIDE = forms(r"""
lst.append(<T>)
dct['r'] = <T>
dct.update(s=<N>)
dct.pop('u', None)
lst.pop(0) if lst else None
lst.append(<N>)
x.add_(1)
x[1:].mul_(0.5)
x[0] = <N>
ax[1] = <N>
ax += 1
dct['t'].add_(1)
lst.reverse()
dct['n'] = dct.get('n', 0) + 1
lst.extend([<T>, <T>])
lst.insert(0, <T>)
lst[0] = <T>
lst[:] = [<T>]
del lst[:]
lst.sort(key=lambda t_: float(t_.sum())) if all(hasattr(t_, "sum") for t_ in lst) else None
dct.setdefault("k", []).append(<N>)
dct["n"], dct["m"] = <N>, <T>
del dct["t"]; dct["t"] = <T>
dct.clear(); dct["t"] = <T>
ax[:2] = arr[:2]
np.add(ax, 1, out=ax)
np.add.at(ax, [0, 0], 1)
x.copy_(<T>.detach())
x.zero_()
x[[0, 2]] = 0.5
x.data = x.data * 0.5
x.data = <T>.detach()
dct["t"].data = dct["t"].data + 1
y_ = <T> * 2; obj.t.data = y_.detach(); y_.detach().add_(1)
y_ = x[:2]; y_.add_(1)
lst[-1].add_(1) if lst and hasattr(lst[-1], "add_") and not lst[-1].requires_grad else None
""")
LEARN = forms(r"""
loss = (<T> * w).sum()\nloss.backward()
loss = (m(<T>) * b).sum() + (w * <T>).sum()\nopt.zero_grad()\nloss.backward()\nopt.step()
g, = sg.autograd.grad((w * w * <T>).sum(), [w])\nNEW = g
w.grad = None
loss = (w * <T> + b).sum() ** 2\nloss.backward()\nopt.step()\nopt.zero_grad()
loss = (sg.from_numpy(next(it)) * w).sum()\nloss.backward()
if w.grad is not None: NEW_ = w.grad.sum(); buf.add_(NEW_)
with sg.no_grad():\n    w.copy_(w * 0.5)
loss = sum(((<T> * p_).sum() for p_ in (w, b)))\nloss.backward()
loss = (w * <T>).sum()\nloss.backward(retain_graph=True)\nloss.backward()
h_ = w * <T>\nh_.retain_grad()\nh_.sum().backward()\nNEW = h_.grad
g, = sg.autograd.grad((w ** 3 * <T>).sum(), [w], create_graph=True)\nNEW, = sg.autograd.grad(g.sum(), [w])
pkg.train(opt, lambda: (w * <T>).sum() + (b * b).sum())
hook_ = w.register_hook(lambda g_: g_ * 2)\n(w * <T>).sum().backward()\nhook_.remove()
opt.zero_grad(set_to_none=False)
for p_ in (w, b):\n    if p_.grad is not None:\n        p_.grad.mul_(0.5)
""")
FAILS = forms(r"""
f_ = <T>[sg.tensor([int(<N>) % 5, 0, 1])]
f_ = <T>[(<T> * 2).long()]
f_ = sg.tensor([6, 4, 2]) // sg.tensor([int(<N>) % 3, 1, 2])
f_ = sg.tensor([2, 1, 2]) ** sg.tensor([int(<N>) % 3 - 1, 1, 2])
f_ = sg.linalg.inv(sg.diag(<T>.detach()))
f_ = nn.functional.embedding(sg.tensor([int(<N>) % 4]), <T>.detach().reshape(3, 1))
f_ = sg.gather(<T>, 0, sg.tensor([int(<N>) % 4, 1]))
obj.t = sg.linalg.cholesky(sg.diag(<T>.detach() + 0.5))[0]
buf.add_(buf[sg.tensor([int(<N>) % 4, 0, 1])])
buf[(<T>.detach().abs() * 3).long()] = 1.5
w.data[sg.tensor([int(<N>) % 4])] = 0.5
items.append(<T>.detach()[sg.tensor([0, int(<N>) % 5, 1])]); del items[:-3]
loss = nn.functional.cross_entropy((<T> * w).reshape(1, 3), sg.tensor([int(<N>) % 4]))\nloss.backward()
arr[int(<N>) % 4] += 1
""")
"""What may fail for its values."""
TESTS = forms(r"""
<N> > 2
<N> % 2 == 0
len(nums) > 3
'q' in d
2 in st
arr[0] > 1
obj.n < 3
<T>.sum() > 0.5
m.n % 2
not lst
't' in dct
dq
next(iter(od)) == 'a'
mat[0, 0] > 0
table
chain["k"] > 1
heap[0] < 2
isinstance(last, list)
pkg.SETTINGS["gain"] == 2
hasattr(obj, "tmp")
w.grad is None
x.sum() > 1
any(t_.sum() > 2 for t_ in items)
ax[0] > 1
""")
RETURNS = forms(r"""
[<V>]
(<V>, <N>)
{'a': <V>, 'n': <N>}
(<V>, <V>)
<V>
<V>[1:]
(x, <V>)
x[:2]
[<V>, nums, obj]
dct
None
(<V>.sum(), arr)
lst
(ax, <V>)
(<V>, x)
mat
obj
(view, <V>)
buf
(w.grad, <V>)
items
{"d": d, "v": <V>}
tuple(items)
(<V>, len(lst), sorted(dct))
x
(x.view(3), <V>.t() if <V>.ndim == 2 else <V>)
""")
HOLDS = forms(r"""
w.detach()
w.data
w.detach().numpy()
w.detach()[1:]
b.detach()
buf
buf.detach()
buf[:2]
buf.numpy()
obj.t
obj.t.detach()
obj.t[1:]
obj.a
items[-1]
items[-1].detach()
list(items)
m.total
m.total.detach()
m.lin.bias.detach()
m.lin.weight.detach().numpy()
m.extra[-1]
dict(obj.parts)
obj.parts["h"].detach()
obj.parts["l"][0][:2]
w.grad
None if b.grad is None else b.grad.detach()
arr
arr[1:]
view
window.detach()
last
last.detach() if isinstance(last, sg.Tensor) else None
list(last) if isinstance(last, (list, tuple)) else None
opt.state.get(w, {}).get("momentum_buffer")
""")
"""What the caller holds from before a call on."""


@dataclass(frozen=True)
class Program:
    """world: the text of each object that is there; step: statements; between: changes before each call but the first;
    held: what the caller takes before each call, and looks at after this one and all others."""

    world: tuple[tuple[str, str], ...]
    step: tuple[str, ...]
    result: str
    between: tuple[tuple[str, ...], ...]
    packaged: bool = False
    label: str = ""
    held: tuple[tuple[str, ...], ...] = ()

    def text(self) -> str:
        step = function("step(x, ax, lst, dct)", [*self.step, f"return {self.result}"])
        taken = "".join(f"# held from before call {i} on: {', '.join(texts)}\n" for i, texts in enumerate(self.held) if texts)
        return step + "".join(function(f"before_{i}()", changes) for i, changes in enumerate(self.between)) + taken


def function(head: str, statements: Sequence[str]) -> str:
    body = "\n".join(statements) or "pass"
    rebound = [f"global {name}\n" for name in GLOBALS if any(f"{name} {op}=" in body for op in "+|*")]
    return f"def {head}:\n{indent(''.join(rebound) + body)}\n\n\n"


def draw(seed: int, number: int) -> Program:
    """Program `number` of a seed."""
    rng = random.Random(f"{seed}/{number}")
    made: list[str] = []

    def fill(form: str, inside: bool) -> str:
        while T in form or N in form or "<V>" in form:
            local = (
                [*made[-4:] * 3, "x", "x", "sg.from_numpy(ax)", "dct['t']", "lst[0]" if rng.random() < 0.1 else "x"]
                if inside
                else []
            )
            form = form.replace(T, rng.choice([*local, *TENSORS]), 1)
            form = form.replace("<V>", rng.choice(made or ["x"]), 1)
            form = form.replace(N, rng.choice(NUMBERS), 1)
        return form

    def statement(depth: int = 0) -> str:
        kind = rng.choices(["compute", "change", "inside", "learn", "branch", "loop", "try"], [6, 6, 2, 2, 1.5, 0.7, 0.4])[0]
        if depth and kind in ("branch", "loop", "try"):
            kind = "change"
        if kind == "compute" or (kind == "learn" and depth):
            name = f"v{len(made)}"
            text = fill(rng.choice(COMPUTE), True).replace("NEW", name)
            if depth:
                return text.replace(name, "t")
            made.append(name)
            return text
        if kind == "learn":
            text = fill(rng.choice(LEARN), True)
            if "NEW =" in text:
                text = text.replace("NEW", f"v{len(made)}")
                made.append(f"v{len(made)}")
            return text.replace("NEW_", "s")
        if kind == "branch":
            test = fill(rng.choice(TESTS), True)
            yes, no = indent(statement(1)), indent(statement(1))
            return f"if {test}:\n{yes}" + (f"\nelse:\n{no}" if rng.random() < 0.5 else "")
        if kind == "loop":
            return f"for i in range({rng.choice(['2', 'len(nums) % 3', 'obj.n % 3', 'len(st)'])}):\n{indent(statement(1))}"
        if kind == "try":
            error = rng.choice(["raise ValueError('no')", "d['missing']", "nums[99]"])
            attempt = indent(f"{statement(1)}\nif {fill(rng.choice(TESTS), True)}:\n    {error}")
            return f"try:\n{attempt}\nexcept (ValueError, LookupError):\n    obj.n += 1"
        return fill(rng.choice(INSIDE if kind == "inside" else CHANGES), True)

    steps = [statement() for _ in range(rng.randint(2, 7))]
    if rng.random() < 0.1:
        steps.insert(rng.randint(0, len(steps)), fill("if <N> % 3 == 2: raise RuntimeError('stop')", True))
    errors = random.Random(f"{seed}/{number}/errors")
    for _ in range(errors.choice([0, 0, 0, 1, 2])):
        form = errors.choice(FAILS)
        for place, texts in ((T, ["x", *TENSORS]), (N, NUMBERS)):
            while place in form:
                form = form.replace(place, errors.choice(texts), 1)
        steps.insert(errors.randint(0, len(steps)), form)
    between = tuple(
        tuple(fill(rng.choice(CHANGES), False) for _ in range(rng.choice([0, 0, 1, 1, 2])))
        for _ in range(rng.choice([3, 4, 6]))
    )
    if rng.random() < 0.3:
        between = tuple((*c, "if isinstance(last, sg.Tensor) and not last.requires_grad: last.add_(1)") for c in between)
    world = tuple((name, text if name != "opt" else rng.choice(OPTIMIZERS)) for name, text in WORLD.items())
    result, packaged = fill(rng.choice(RETURNS), True), rng.random() < 0.3
    held = tuple(tuple(rng.sample(HOLDS, rng.choice([0, 1, 2, 4]))) for _ in range(len(between) + 1))
    return Program(world, tuple(steps), result, between, packaged, f"seed {seed}, program {number}", held)


def indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


# running --------------------------------------------------------------------------------------------------------------------


SITE = os.path.join(sysconfig.get_path("purelib"), "fuzzed_package")


def enter(text: str, file: str, names: dict[str, Any]) -> None:
    """Run a file's text in a namespace."""
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), names)


UNSHOWN = ("it", "rng", "opt", "gen")
"""Objects whose state shows in what the calls after it give."""


class Scene:
    """A program's own objects. library: staticgrad, or PyTorch."""

    def __init__(self, program: Program, library: Any, wrap: Callable[[Any], Any] = lambda fn: fn):
        package = types.ModuleType("fuzzed_package")
        vars(package).update(sg=library, nn=library.nn, optim=library.optim)
        enter(PACKAGE, os.path.join(SITE, "__init__.py"), vars(package))
        self.names: dict[str, Any] = {"sg": library, "types": types, "pkg": package, "last": None}
        exec(HEADER, self.names)
        for name, text in program.world:
            self.names[name] = eval(text, self.names)
        self.program = program
        file = os.path.join(SITE, "step.py") if program.packaged else f"<{program.label}>"
        enter(program.text(), file, self.names)
        self.step = wrap(self.names["step"])
        self.calls = 0
        self.held: list[Any] = []

    def call(self) -> Any:
        """What a call gave or raised, and the world after it, as plain data."""
        sg_ = self.names["sg"]
        i, self.calls = self.calls, self.calls + 1
        change: Any = None
        if i:
            try:
                self.names[f"before_{i - 1}"]()
            except Exception as error:
                change = f"raises {builtin_base(error)}"
        k = i % 3
        x = sg_.tensor([1.0 + k, -0.5, 0.25 * k], dtype=sg_.float64)
        ax, lst = np.array([0.5, 1.0 + k, -1.0]), [sg_.tensor([2.0, 0.5, k], dtype=sg_.float64)]
        dct = {"t": sg_.tensor([0.5, 1.0, -k], dtype=sg_.float64), "u": k}
        if self.program.held:
            self.held += [eval(text, self.names) for text in self.program.held[i]]
            self.held += [x.detach(), x[1:], x.numpy(), ax[:2], lst[0].detach(), dct["t"].numpy()]
        with np.errstate(all="ignore"):
            try:
                result = self.step(x, ax, lst, dct)
            except (TraceError, DataDependentError):
                raise
            except Exception as error:
                result = f"raises {builtin_base(error)}"
        self.names["last"] = result
        seen: dict[int, int] = {}
        state = {name: plain(self.names[name], seen) for name, _ in self.program.world if name not in UNSHOWN}
        state["opt"] = plain([dict(sorted(g.items())) for g in self.names["opt"].param_groups], seen)
        package = self.names["pkg"]
        slots = [self.names["opt"].state.get(self.names[p]) or {} for p in ("w", "b")]  # a step count is of one or of all
        state["slots"] = [{k: float(v) if k == "step" else plain(v, seen) for k, v in sorted(x.items())} for x in slots]
        state["package"] = plain([package.SETTINGS, package.Meter.made, package.decorated.calls], seen)
        state["held"] = plain(self.held, seen)
        state["memory"] = shared(
            [result, x, ax, lst, dct, *self.held, *(self.names[name] for name in ("w", "b", "buf", "items"))]
        )
        return {"change": change, "result": plain(result, seen), "arguments": plain([x, ax, lst, dct], seen), **state}


def builtin_base(error: Exception) -> str:
    """What both libraries' errors are: a class of Python's own."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def is_tensor(x: Any) -> bool:
    return hasattr(x, "requires_grad") and hasattr(x, "detach")


def plain(x: Any, seen: dict[int, int]) -> Any:
    """Plain data: values, types, order and which objects are one."""
    if x is None or isinstance(x, (bool, int, float, str, bytes)):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if id(x) in seen:
        return ("again", seen[id(x)])
    seen[id(x)] = len(seen)
    KEEP.append(x)
    if is_tensor(x):
        flags = (x.requires_grad, x.is_leaf) if x.requires_grad else ()
        grad = x.grad if x.is_leaf else None
        return ("tensor", np.array(x.detach().numpy()), *flags, None if grad is None else np.array(grad.detach().numpy()))
    if isinstance(x, np.ndarray):
        return ("array", x.copy())
    if isinstance(x, dict):
        return (kind_of(x), [(k if isinstance(k, str) else plain(k, seen), plain(v, seen)) for k, v in x.items()])
    if isinstance(x, (set, frozenset)):
        return ("set", sorted(x))
    if isinstance(x, (list, tuple, collections.deque)):
        return (kind_of(x), [plain(v, seen) for v in x])
    if hasattr(x, "named_modules"):
        return (
            "module",
            {k: plain(getattr(x, k), seen) for k in ("n", "seen", "total", "training", "extra")},
            plain(x.lin.weight, seen),
            plain(x.lin.bias, seen),
        )
    return (type(x).__name__, plain(vars(x), seen))


KEEP: list[Any] = []


def shared(x: Any) -> list[tuple[int, int]]:
    """Which of the arrays and tensors in a list share memory, by their numbers."""
    found: list[tuple[Any, np.ndarray]] = []

    def look(x: Any) -> None:
        if isinstance(x, np.ndarray):
            found.append((x, x))
        elif is_tensor(x):
            found.append((x, x.detach().numpy()))
        elif isinstance(x, (list, tuple)):
            for part in x:
                look(part)
        elif isinstance(x, dict):
            look([*x.values()])

    look(x)
    pairs = itertools.combinations(enumerate(found), 2)
    return [(i, j) for (i, (x, a)), (j, (y, b)) in pairs if x is not y and np.shares_memory(a, b)]


def kind_of(x: Any) -> str:
    return next(k.__name__ for k in type(x).__mro__ if k.__module__ in ("builtins", "collections"))


def same(a: Any, b: Any, exact: bool) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        if exact:
            return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-11, equal_nan=True))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y, exact) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k], exact) for k in a)
    if isinstance(a, float) and isinstance(b, (int, float)) and not exact:
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-11, equal_nan=True))
    return type(a) is type(b) and (a == b or (a != a and b != b))


def differences(a: dict[str, Any], b: dict[str, Any], exact: bool) -> list[str]:
    return [f"{k}: {a[k]!r}\n    but: {b[k]!r}" for k in a if not same(a[k], b[k], exact)]


MODES: dict[str, tuple[dict[str, Any], bool]] = {
    "strict": ({"numerics": "strict"}, True),
    "segments": ({"numerics": "strict", "on_break": "split"}, True),
    "fast": ({}, False),
    "fast segments": ({"on_break": "split"}, False),
}


def check(program: Program, fast: bool, torch: Any = None, counts: Counter[str] | None = None, modes: Any = None) -> str | None:
    """How a program differs between the modes, in words; None for not at all."""
    modes = MODES if modes is None else modes
    counts = Counter() if counts is None else counts
    calls = len(program.between) + 1
    scene = Scene(program, sg)
    expected = [scene.call() for _ in range(calls)]
    if torch is not None:
        scene = Scene(program, torch)
        for call in range(calls):
            theirs = scene.call()
            if any(str(theirs[k]).startswith("raises") for k in ("result", "change")):
                counts["torch refuses"] += 1  # as arithmetic with NumPy's arrays, which may be earlier than an error of ours
                break
            found = differences(expected[call], theirs, False)
            if found:
                return f"torch, call {call}: eager " + "\n  ".join(found)
        else:
            counts["torch"] += 1
    for mode, (options, exact) in modes.items():
        if not (exact or fast):
            continue
        scene = Scene(program, sg, lambda fn, options=options: sg.compile(fn, **options))
        for call in range(calls):
            try:
                found = differences(expected[call], scene.call(), exact)
            except (TraceError, DataDependentError):
                counts[f"{mode} refuses"] += 1
                break
            if found:
                return f"{mode}, call {call}: eager " + "\n  ".join(found)
        else:
            counts[mode] += 1
        KEEP.clear()
    return None


# shrinking --------------------------------------------------------------------------------------------------------------------


def smaller(program: Program) -> Iterator[Program]:
    for i in reversed(range(len(program.step))):
        yield replace(program, step=program.step[:i] + program.step[i + 1 :])
    if len(program.between) > 1:
        yield replace(program, between=program.between[:-1], held=program.held[:-1])
        yield replace(program, between=program.between[1:], held=program.held[1:])
    for i, changes in enumerate(program.between):
        for j in range(len(changes)):
            yield replace(program, between=(*program.between[:i], changes[:j] + changes[j + 1 :], *program.between[i + 1 :]))
    if program.result != "None":
        yield replace(program, result="None")
    for i, texts in enumerate(program.held):
        for j in range(len(texts)):
            yield replace(program, held=(*program.held[:i], texts[:j] + texts[j + 1 :], *program.held[i + 1 :]))
    if program.packaged:
        yield replace(program, packaged=False)


def kind(found: str | None) -> str:
    """The mode, and what differs first."""
    return "" if found is None else found.split(",")[0] + found.split(": eager ")[-1].split(":")[0].split(" ")[0]


def examine(seed: int, number: int, fast: int, torch: Any = None, counts: Counter[str] | None = None) -> str | None:
    program = draw(seed, number)
    kernels = fast > 0 and number % fast == 0

    def found(p: Program) -> str | None:
        try:
            return check(p, kernels, torch)
        except Exception as error:
            return f"raises, {type(error).__name__}: {error}"

    differs = check(program, kernels, torch, counts) and fuzzing.examined(program, found, smaller, kind)
    if not differs:
        return None
    small, text = differs
    where = " (packaged)" if small.packaged else ""
    return f"# {small.label}{where}, opt = {dict(small.world)['opt']}\n{small.text()}# {text}\n"


def _examined(seed: int, number: int, options: argparse.Namespace, counts: Counter[str]) -> str | None:
    torch = None
    if options.torch:
        import torch

        torch.set_num_threads(1)
    return examine(seed, number, options.fast, torch, counts)


def main(argv: Sequence[str] | None = None) -> int:
    parser = fuzzing.parser(__doc__)
    parser.add_argument("--torch", action="store_true", help="compare with PyTorch, too")
    return fuzzing.run(parser.parse_args(argv), _examined, lambda seed, number: draw(seed, number).text())


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    raise SystemExit(main())
