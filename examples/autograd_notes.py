"""Notes on autograd, as a program: each section prints what PyTorch prints, line for line.

    python examples/autograd_notes.py

With the imports changed to PyTorch's it runs there, too.
"""

import re
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

import staticgrad as torch
import staticgrad.nn as nn
from staticgrad.autograd import Function, Variable


def title(text):
    print(f"\n# {text}")


def fails(action):
    """Print the beginning of the error that `action` raises; versions of PyTorch differ in what follows."""
    try:
        action()
    except RuntimeError as error:
        print("RuntimeError:", re.split(r"[.,:](?:\s|$)", str(error).splitlines()[0])[0])


def name(node):
    return None if node is None else node.name().rpartition("::")[2]


def leaves():
    title("Leaves: tensors that no recorded operation made")
    a = torch.tensor([1.0, 2.0])
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = a * w
    print(a.is_leaf, a.requires_grad, a.grad_fn)
    print(w.is_leaf, w.requires_grad, w.grad_fn)
    print(y.is_leaf, y.requires_grad, name(y.grad_fn))
    print(y)
    d = y.detach()
    print(d.is_leaf, d.requires_grad, d)
    c = w.clone()
    print(c.is_leaf, c)
    moved = torch.tensor([1.0], requires_grad=True).to("cpu")
    print(moved.is_leaf)  # nothing to do: the same tensor
    print(nn.Parameter(torch.zeros(2)).is_leaf)
    fails(lambda: setattr(y, "requires_grad", False))
    print(torch.ones(2).requires_grad_())


def graph():
    title("grad_fn: the operation that made a tensor, and the way back to the leaves")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor(2.0, requires_grad=True)
    y = (x * b + 1).exp()
    z = y.mean()
    node, depth = z.grad_fn, 0
    while node is not None:
        print(f"{'  ' * depth}{name(node)}", [name(n) for n, _ in node.next_functions])
        node = node.next_functions[0][0] if node.next_functions else None
        depth += 1
    assert z.grad_fn is not None
    print(z.grad_fn.name(), z.grad_fn.next_functions[0][0].name())
    multiplied = (x * b).grad_fn
    assert multiplied is not None
    accumulated = multiplied.next_functions[0][0]
    print(name(accumulated), accumulated.variable is x, accumulated.next_functions)
    m = x.view(3, 1)
    for result in (x + b, x - b, x / b, -x, x**2, x.sum(), x.mean(), x.prod(), x.sin(), x.exp(), x.log(), x.sqrt(), x.tanh(),
                   x.sigmoid(), x.relu(), x.abs(), x.softmax(0), x.cumsum(0), x.clamp(0, 2), x.double(), x.clone(), m, x[1:],
                   x.unsqueeze(0), m.squeeze(), m.permute(1, 0), x.expand(2, 3), m @ m.permute(1, 0), torch.cat([x, x]),
                   torch.where(x > 1, x, b)):  # fmt: skip
        assert result.grad_fn is not None
        print(result.grad_fn.name(), end=" ")
    print()


def draw():
    title("The graph as text for Graphviz")
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([0.5, 0.5], requires_grad=True)
    loss = ((w * 3 + b) ** 2).sum()
    names, seen, lines = {id(w): "w", id(b): "b"}, {}, []

    def visit(node):
        if node not in seen:
            seen[node] = f"n{len(seen)}"
            leaf = names.get(id(node.variable)) if hasattr(node, "variable") else None
            lines.append(f'  {seen[node]} [label="{leaf or name(node)}"]')
            for following, _ in node.next_functions:
                if following is not None:
                    visit(following)
                    lines.append(f"  {seen[following]} -> {seen[node]}")

    visit(loss.grad_fn)
    print("digraph {", *lines, "}", sep="\n")


def backward():
    title("backward: gradients of the leaves")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    print(x.grad)
    y.sum().backward()
    print(x.grad)
    x.grad = None
    y = x * x
    fails(lambda: y.backward())
    y.backward(gradient=torch.tensor([1.0, 0.1, 0.01]))
    print(x.grad)
    y = x**3
    y.backward(torch.ones_like(y))  # added to the gradient that is there
    print(x.grad)
    fails(lambda: torch.ones(2).sum().backward())
    fails(lambda: (x * x).backward(torch.ones(2)))
    a = torch.tensor(3.0, requires_grad=True)
    b = torch.tensor(4.0, requires_grad=True)
    torch.autograd.backward([a * b, a + b], [torch.tensor(1.0), torch.tensor(10.0)])
    print(a.grad, b.grad)


def twice():
    title("A second backward pass needs retain_graph")
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    y.backward(retain_graph=True)
    y.backward()
    print(x.grad)
    try:
        y.backward()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
    z = (x + 1).sum()  # nothing is saved, so nothing is freed
    z.backward()
    z.backward()
    print(x.grad)


def accumulation():
    title("Gradients accumulate until they are cleared")
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    for _ in range(3):
        (w * 3).sum().backward()
        print(w.grad)
    assert w.grad is not None
    w.grad.zero_()
    print(w.grad)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * 3).sum().backward()
    optimizer.step()
    print(w)
    optimizer.zero_grad()
    print(w.grad)
    model = nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    assert model.bias is not None
    print(model.weight.grad, model.bias.grad)
    model.zero_grad()
    print([p.grad for p in model.parameters()])


def hooks():
    title("Hooks see gradients on their way, and may replace them")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    handle = x.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: print("gradient of y:", g))
    y.pow(2).sum().backward()
    print(y.grad, x.grad)
    handle.remove()
    x.grad = None
    (x * 3).sum().backward()
    print(x.grad)
    layer = nn.Linear(2, 2, bias=False)
    layer.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer.register_forward_hook(lambda module, inputs, output: print("forward:", inputs[0].tolist(), output.tolist()))
    layer(torch.tensor([1.0, 1.0]))


def inplace():
    title("In-place changes of values that a gradient needs")
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    fails(lambda: w.add_(1))
    y = w.exp()
    y.add_(1)
    fails(lambda: y.sum().backward())
    y = w * 2
    y.add_(1)  # the product does not need its result
    y.sum().backward()
    print(w.grad)
    x = torch.ones(3, requires_grad=True)
    z = x * 1
    z[0] = 5.0
    (z * z).sum().backward()
    print(z.tolist(), x.grad)
    with torch.no_grad():
        w -= 0.5
    print(w, w._version)


def grad():
    title("autograd.grad: gradients as results, of any order")
    x = torch.tensor(2.0, requires_grad=True)
    y = x**4
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    print(first.item(), second.item(), third.item(), x.grad)
    print(first.requires_grad, third.requires_grad)
    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    print(torch.autograd.grad((a * a).sum(), [a, b], allow_unused=True))
    g = torch.autograd.grad((a**3).sum(), a, create_graph=True)[0]
    g.norm().backward()  # the gradient of a function of a gradient
    print(a.grad)


class Cube(Function):
    """x**3, with its gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


class ClippedReLU(Function):
    """min(max(x, 0), most)."""

    @staticmethod
    def forward(ctx, x, most):
        ctx.save_for_backward(x)
        ctx.most = most
        return x.clamp(min=0, max=most)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x > 0) & (x < ctx.most)).to(grad_output.dtype), None


def function():
    title("Function: an operation with a gradient of one's own")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Cube.apply(x)
    print(y)
    y.sum().backward()
    print(x.grad)
    x = torch.tensor(3.0, requires_grad=True)
    (first,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
    print(first.item(), torch.autograd.grad(first, x)[0])
    v = torch.tensor([-1.0, 0.5, 3.0], requires_grad=True)
    out = ClippedReLU.apply(v, 2.0)
    out.sum().backward()
    print(out.tolist(), v.grad)


def no_grad():
    title("no_grad, and what volatile was")
    w = torch.tensor([2.0], requires_grad=True)
    with torch.no_grad():
        y = w * 3
    print(y, y.requires_grad, y.grad_fn)
    with torch.no_grad(), torch.enable_grad():
        print((w * 3).requires_grad)

    @torch.no_grad()
    def predict(x):
        return x * w

    print(predict(torch.ones(1)))
    torch.set_grad_enabled(False)
    print((w * 2).requires_grad, torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    fails(lambda: y.backward())
    v = Variable(torch.ones(2), requires_grad=True)
    print(v, type(v) is torch.Tensor, isinstance(v, torch.Tensor))
    (v * v).sum().backward()
    print(v.grad, v.data)
    fails(lambda: v.numpy())


def fit_line():
    title("y = 5x, fitted by gradient descent")
    x = torch.arange(1.0, 6.0)
    y = 5 * x
    w = torch.zeros(1, requires_grad=True)
    for epoch in range(10):
        loss = ((w * x - y) ** 2).mean()
        loss.backward()
        gradient = w.grad
        assert gradient is not None
        with torch.no_grad():
            w -= 0.01 * gradient
        gradient.zero_()
        print(f"epoch {epoch}: w = {w.item():.4f}, loss = {loss.item():.4f}")


class TwoLayers(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden)
        self.output = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))


def regression():
    title("Two layers that predict a number, on scikit-learn's diabetes data")
    data: Any = load_diabetes()
    rng = np.random.default_rng(0)
    x = torch.from_numpy(data.data / data.data.std(0)).float()
    y = torch.from_numpy((data.target - data.target.mean()) / data.target.std()).float().view(-1, 1)
    model = TwoLayers(x.shape[1], 16)
    for p in model.parameters():
        p.data = torch.from_numpy(rng.normal(0, 0.2, tuple(p.shape))).float()
    print(model)
    print([(n, list(p.shape)) for n, p in model.named_parameters()])
    print("parameters:", sum(p.numel() for p in model.parameters()))
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(1, 51):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}")
    with torch.no_grad():
        residual = y - model(x)
    print(f"explained variance: {1 - (residual.var() / y.var()).item():.3f}")


class RNNCell(nn.Module):
    """h' = tanh(W x + U h)."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.i2h = nn.Linear(inputs, hidden)
        self.h2h = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x, h):
        return torch.tanh(self.i2h(x) + self.h2h(h))


def recurrent():
    title("A recurrent cell: one set of weights, used at every step")
    cell = RNNCell(2, 3)
    for k, p in enumerate(cell.parameters()):
        p.data = torch.linspace(-0.5, 0.5, p.numel()).view(p.shape) * (k + 1)
    h = torch.zeros(1, 3)
    sequence = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]])
    for x in sequence:
        h = cell(x, h)
        print(h)
    loss = h.pow(2).sum()
    loss.backward()
    print(f"loss {loss.item():.4f}")
    for n, p in cell.named_parameters():
        print(n, p.grad)
    built_in = nn.RNNCell(2, 3)
    assert cell.i2h.bias is not None
    assert built_in.bias_ih is not None
    assert built_in.bias_hh is not None
    built_in.weight_ih.data, built_in.weight_hh.data = cell.i2h.weight.data, cell.h2h.weight.data
    built_in.bias_ih.data, built_in.bias_hh.data = cell.i2h.bias.data, torch.zeros(3)
    h = torch.zeros(1, 3)
    for x in sequence:
        h = built_in(x, h)
    print(h.detach())


def main():
    torch.manual_seed(0)
    for section in (leaves, graph, draw, backward, twice, accumulation, hooks, inplace, grad, function, no_grad, fit_line,
                    regression, recurrent):  # fmt: skip
        section()


if __name__ == "__main__":
    main()
