"""`sg.from_torch`: programs of PyTorch trained here, step by step beside PyTorch, and faster than its eager mode."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import functional as F
from tests.helpers import assert_close, raised

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def cases() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    from tests.interchange.torch_export import models

    torch.manual_seed(0)
    return {
        "resnet": (models.ResNet(), torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))),
        "lstm": (models.CharLSTM(), torch.randint(0, 40, (16, 24)), torch.randint(0, 40, (16, 24))),
        "gpt": (models.GPT(), torch.randint(0, 65, (8, 32)), torch.randint(0, 65, (8, 32))),
    }


class Pair:
    """A module here and its twin in PyTorch, each with a training step."""

    def __init__(self, name: str):
        torch = pytest.importorskip("torch")
        self.module, self.x, self.target = cases()[name]
        self.twin = copy.deepcopy(self.module)
        self.ours = sg.from_torch(self.module, (self.x,))
        self.args = sg.from_dlpack(self.x), sg.from_dlpack(self.target)
        optimizer = sg.optim.SGD(self.ours.parameters(), lr=0.02, momentum=0.9)
        theirs = torch.optim.SGD(self.twin.parameters(), lr=0.02, momentum=0.9)

        @sg.compile(fullgraph=True)
        def step(x, target):
            y = self.ours(x)
            loss = F.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        self.step, self.optimizer, self.loss = step, theirs, torch.nn.functional.cross_entropy

    def their_step(self) -> float:
        y = self.twin(self.x)
        loss = self.loss(y.reshape(-1, y.shape[-1]), self.target.reshape(-1))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


@pytest.mark.parametrize("name", ["resnet", "lstm", "gpt"])
def test_programs_train_as_in_pytorch(name: str):
    pair = Pair(name)
    eager = pair.ours(pair.args[0])
    assert_close(eager, pair.module(pair.x).detach().numpy(), 1e-5)
    pair.twin.load_state_dict(pair.module.state_dict())  # the two calls above changed the statistics
    for _ in range(5):
        assert abs(pair.step(*pair.args).item() - pair.their_step()) < 1e-5
    assert pair.step.plan.host_calls == 0
    for (key, ours), theirs in zip(pair.module.named_parameters(), pair.twin.parameters(), strict=True):
        assert_close(ours.detach().numpy(), theirs.detach().numpy(), 1e-5, what=key)  # the module's own memory was trained
    for side in (pair.ours, pair.module, pair.twin):
        side.eval()
    assert_close(pair.ours(pair.args[0]), pair.twin(pair.x).detach().numpy(), 3e-5)


@pytest.mark.parametrize("name", ["resnet", "lstm", "gpt"])
def test_compiled_programs_are_faster_than_pytorch(name: str):
    pair = Pair(name)
    pair.step(*pair.args)
    sg.wait_for_kernels()
    best = [np.inf, np.inf]
    for _ in range(20):
        for i, run in enumerate((lambda: pair.step(*pair.args), pair.their_step)):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    assert best[0] < best[1]


def test_structures_flags_and_dynamic_extents():
    torch = pytest.importorskip("torch")
    from tests.interchange.torch_export.models import Several

    torch.manual_seed(0)
    module = Several()
    batch = torch.export.Dim("batch", min=2, max=64)
    x, image = torch.randn(5, 4, 4), torch.randn(4, 4, 6, 6)
    ours = sg.from_torch(module, (x, image), dynamic_shapes={"x": {1: batch}, "image": {0: batch}})
    ours.eval()
    module.eval()
    for rows in (4, 3):
        given = torch.randn(5, rows, 4), torch.randn(rows, 4, 6, 6)
        found = ours(*[sg.tensor(a.numpy().copy()) for a in given])
        expected = module(*[a.clone() for a in given])
        assert_close(found["y"], expected["y"].detach().numpy(), 1e-5)
        assert_close(found["rest"][0], expected["rest"][0].detach().numpy(), 1e-5)
        for have, want in zip(found["rest"][1], expected["rest"][1], strict=True):
            assert_close(have, want.detach().numpy(), 1e-5)
    ours.train()
    assert (ours(sg.tensor(x.numpy()), sg.tensor(image.numpy()))["y"] == 0).any()
    with raised(sg.ShapeError, "x: the module was exported for (5, ?, 4), got (6, 4, 4)"):
        ours(sg.ones(6, 4, 4), sg.ones(4, 4, 6, 6))
    with raised(sg.ArgumentError, "the module takes"):
        ours(sg.ones(5, 4, 4))


def test_what_is_not_supported_is_named():
    torch = pytest.importorskip("torch")

    class Odd(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.aten.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)

    with raised(
        sg.GraphError, "from_torch: the operator aten.fake_quantize_per_tensor_affine.default is not supported"
    ) as caught:
        sg.from_torch(Odd(), (torch.ones(2),))
    assert "test_module.py" in str(caught.value)
    with raised(sg.ArgumentError, "from_torch: expected a torch.nn.Module, got int"):
        sg.from_torch(3)
    with raised(sg.DTypeError, "from_torch: weight is torch.bfloat16"):
        sg.from_torch(torch.nn.Linear(2, 2).bfloat16(), (torch.ones(1, 2).bfloat16(),))


def test_a_program_in_a_session():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    ours = sg.from_torch(module, (torch.ones(4, 3),))
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (4, 3))
        y = ours(x)
        (slope,) = sg.gradients([sg.sum(y)], [sg.trainable_variables()[0]])
        with sg.Session(graph=graph) as session:
            session.run(sg.global_variables_initializer())
            value, found = session.run([y, slope], {x: np.ones((4, 3), "float32")})
    expected = module(torch.ones(4, 3))
    assert_close(value, expected.detach().numpy(), 1e-5)
    expected.sum().backward()
    assert_close(found, module[0].weight.grad.numpy(), 1e-5)
