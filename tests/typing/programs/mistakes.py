"""Mistakes that a type checker reports: each line that ends in `error:` has the text that mypy's report holds."""

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim

x = sg.tensor([1.0, 2.0])
x.resahpe(3)  # error: "Tensor" has no attribute "resahpe"
x.squeeze(1, 2)  # error: Too many
x.sum(axes=1)  # error: Unexpected keyword argument "axes"
x.sum(0).resahpe(3)  # error: "Tensor" has no attribute "resahpe"
x.add_()  # error: Missing positional argument "other"
x.requires_grad_(True, True)  # error: Too many
(x + 1).resahpe(3)  # error: "Tensor" has no attribute "resahpe"
sg.exp(x, x)  # error: Too many positional arguments for "exp"
sg.exp("a")  # error: incompatible type "str"
sg.tanhh(x)  # error: Module has no attribute "tanhh"
sg.reshape()  # error: Missing positional argument "input"
sg.zeros(3, dtype=4)  # error: incompatible type "int"
F.cross_entropy(x)  # error: Missing positional argument "target"
F.gelu(x, x)  # error: incompatible type "Tensor"; expected "str"
nn.Linear(3)  # error: Missing positional argument "out_features"
nn.Linear(3, 4)(x, x)  # error: Too many
nn.Linear(3, 4).wieght  # error: "Linear" has no attribute "wieght"
optim.SGD(nn.Linear(3, 4).parameters(), learning_rate=0.1)  # error: Unexpected keyword argument "learning_rate"


@sg.compile
def step(x: sg.Tensor, n: int) -> sg.Tensor:
    return x * n


step(x)  # error: Missing positional argument "n"
step(x, "a")  # error: incompatible type "str"
step(x, 1).resahpe(3)  # error: "Tensor" has no attribute "resahpe"
step.plam  # error: has no attribute "plam"
step.plan.explian()  # error: "Plan" has no attribute "explian"

sg.placeholder()  # error: Missing positional argument "dtype"
sg.Session().rnu(x)  # error: "Session" has no attribute "rnu"
