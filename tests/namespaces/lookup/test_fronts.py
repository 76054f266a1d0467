"""This library under the names `torch` and `tensorflow`: imports, versions, what is put back, and what is missing."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

import staticgrad as sg
from staticgrad.command_line.steps import Steps
from staticgrad.namespaces.lookup.paths import PATHS
from staticgrad.namespaces.lookup.private import TorchVersion

ROOT = Path(__file__).resolve().parents[3]


def test_modules_of_a_front_that_is_closed_are_its_own(monkeypatch):
    for name in ("torch", "torch.optim"):  # as those of PyTorch, where it has been imported
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    with sg.as_torch() as torch:
        pass
    assert torch.optim.Adam is sg.optim.Adam
    assert torch.nn.functional.relu is sg.functional.relu
    assert "torch" not in sys.modules or sys.modules["torch"] is not torch


def test_torch_is_this_library_inside_and_is_put_back_outside():
    others = {name: sys.modules.pop(name) for name in [*sys.modules] if name == "torch" or name.startswith("torch.")}
    mine = sys.modules["torch"] = types.ModuleType("torch")
    try:
        with sg.as_torch() as front:
            import torch
            import torch.nn.functional as F
            from torch.optim import Adam

            assert front is torch
            assert torch is not mine
            assert torch.Tensor is sg.Tensor
            assert issubclass(torch.TypedStorage, torch.UntypedStorage)  # which Lightning imports
            assert F.relu is sg.nn.functional.relu
            assert Adam is sg.optim.Adam
            with sg.as_torch() as again:
                assert again is torch
            assert sys.modules["torch"] is torch
        assert sys.modules["torch"] is mine
        assert not [name for name in sys.modules if name.startswith("torch.")]
    finally:
        del sys.modules["torch"]
        sys.modules.update(others)


def test_version_is_pytorchs():
    with sg.as_torch() as torch:
        assert torch.__version__ == "2.13.0+staticgrad"
        assert torch.__version__ >= "1.5.0"
        assert torch.__version__ > "2.5"
        assert torch.__version__ < (3, 0)
        assert importlib.metadata.version("torch") == torch.__version__
        assert importlib.util.find_spec("torch") is not None
        assert torch.version.cuda is None
    assert sg.__version__ == sg.version.__version__ != "2.13.0+staticgrad"


@pytest.mark.parametrize(
    ("a", "b", "less"),
    [
        ("2.13.0", "2.5", False),
        ("1.9", "1.10", True),
        ("2.0", "2.0.0", False),
        ("2.1.0rc1", "2.1.1", True),
        ("2.1+cpu", "2.2", True),
    ],
)
def test_versions_compare_by_their_numbers(a, b, less):
    assert (TorchVersion(a) < b) is less
    assert (TorchVersion(a) >= b) is not less


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_path_of_the_table_can_be_imported_under_both_names(path):
    with sg.as_torch():
        module = importlib.import_module(f"torch.{path}")
        assert isinstance(module, types.ModuleType)
        assert dir(module)
    assert importlib.import_module(f"staticgrad.{path}") is not None


@pytest.mark.parametrize("path", ["_dynamo.utils", "ao", "distributed.fsdp", "fx", "nn.quantized", "quantization"])
def test_what_is_missing_is_imported_and_raises_on_use(path):
    with sg.as_torch():
        module = importlib.import_module(f"torch.{path}.some.module")
        kind = module.Something

        class Own(kind):
            pass

        assert not isinstance(sg.ones(1), kind)
        for use in (kind, Own, kind.method, lambda: kind[int]()):
            with pytest.raises(sg.UnsupportedError, match=rf"^torch\.{re.escape(path)}\.some\.module\.Something"):
                use()


def test_what_pytorch_lacks_too_is_no_module_and_no_attribute():
    with sg.as_torch() as torch:
        for name in ("torch.nonsense", "torch.nn.nonsense", "torch.optim.adam.more", "torch.tracing", "torch.eager"):
            with pytest.raises(ModuleNotFoundError, match=name.rpartition(".")[0]):
                importlib.import_module(name)
        assert not hasattr(torch, "nonsense")
        with pytest.raises(AttributeError, match=r"module 'torch\.nn' has no attribute 'Lineaar'; .* 'Linear'"):
            torch.nn.Lineaar  # noqa: B018


def test_what_is_set_on_the_front_stays_there():
    with sg.as_torch() as torch:
        torch.nn.Linear = None
        torch.anything = 3
    assert sg.nn.Linear is not None
    assert not hasattr(sg, "anything")
    with sg.as_torch() as torch:
        assert torch.nn.Linear is sg.nn.Linear


def test_a_function_keeps_its_name_beside_the_module_of_that_name():
    with sg.as_torch() as torch:
        from torch.autograd.gradcheck import gradcheck
        from torch.nn.utils.weight_norm import weight_norm

        assert gradcheck is torch.autograd.gradcheck
        assert weight_norm is torch.nn.utils.weight_norm


def test_a_compiled_step_of_a_program_is_traced_once():
    with sg.as_torch() as torch:
        import torch.nn.functional as F

        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        @torch.compile
        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(torch.tanh(model(x)), y)
            loss.backward()
            optimizer.step()
            return loss

        x, y = torch.ones(4, 3), torch.zeros(4, 2)
        losses = [step(x, y).item() for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert len(step.recompiles) <= 1


PROGRAM = """
    import argparse, sys
    import torch
    from helper import Net

    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.ones(4, 3), torch.zeros(4, 2)
    total = 0.0
    for i in range(steps):
        if i % 2:
            continue
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
        print(f"{i} {loss.item():.4f}")
    print(__name__, sys.argv[1:], f"{total:.4f}")
"""
HELPER = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x):
            return torch.tanh(self.layer(x))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "helper.py").write_text(textwrap.dedent(HELPER))
    return tmp_path


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    import os

    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "staticgrad", *arguments], capture_output=True, text=True, cwd=cwd, env=env)


def test_a_program_is_run_as_it_is_eagerly_and_compiled(folder):
    eager = command("torch", "program.py", "--steps", "6", cwd=folder)
    assert eager.returncode == 0, eager.stderr
    lines = eager.stdout.splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("__main__ ['--steps', '6']")
    compiled = command("torch", "--compile", "program.py", "--steps", "6", cwd=folder)
    assert compiled.stdout == eager.stdout
    assert "staticgrad: compiled program.py:17-20" in compiled.stderr
    module = command("torch", "-m", "program", "--steps", "6", cwd=folder)
    assert module.stdout == eager.stdout


def test_an_error_of_a_program_is_shown_from_its_own_lines(folder):
    (folder / "wrong.py").write_text("import torch\n\n\ndef f():\n    return torch.ones(2) @ torch.ones(3)\n\n\nf()\n")
    for options in ((), ("--compile",)):
        done = command("torch", *options, "wrong.py", cwd=folder)
        assert done.returncode == 1
        lines = done.stderr.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert 'wrong.py", line 8, in <module>' in lines[1]
        assert "ShapeError" in done.stderr
    assert command("torch", "nothing.py", cwd=folder).returncode == 2


def test_the_first_steps_are_compared(folder):
    done = command("torch", "--compare", "3", "program.py", "--steps", "20", cwd=folder)
    assert "step  " in done.stdout, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[-3:]]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    for row in rows:
        assert float(row[1]) == pytest.approx(float(row[2]), rel=1e-5)


UNNAMED = """
    import torch
    from torch import nn

    class Trainer:
        def __init__(self):
            self.net = nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def run(self, scale):
            for x in torch.ones(4, 2, 3):
                self.opt.zero_grad()
                self.loss = self.net(x).square().mean()
                {call}
                self.opt.step()

    torch.manual_seed(0)
    Trainer().run(2.0)
    raise SystemExit(0)
"""


@pytest.mark.parametrize(("call", "factor"), [("self.loss.backward()", 1.0), ("(self.loss * scale).backward()", 2.0)])
def test_a_loss_without_a_name_is_recorded(tmp_path, call, factor):
    text = textwrap.dedent(UNNAMED)
    (tmp_path / "program.py").write_text(text.replace("{call}", call))
    done = command("torch", "--compare", "9", "program.py", cwd=tmp_path)
    first, second = ([float(x) for x in line.split()[1:3]] for line in done.stdout.splitlines()[-4:-2])
    assert first[0] == pytest.approx(first[1])
    assert second[0] == pytest.approx(second[1])
    assert 0 < second[0] < first[0]
    (tmp_path / "program.py").write_text(text.replace("{call}", f"{call}; print(self.loss.item() * {factor})"))
    printed = command("torch", "program.py", cwd=tmp_path).stdout.split()
    assert [float(x) for x in printed[:2]] == pytest.approx([first[0], second[0]], rel=1e-5)


WITH = """
    from contextlib import nullcontext
    import torch

    def train():
        torch.manual_seed(0)
        x, w = torch.randn(8, 3), torch.ones(3, requires_grad=True)
        for step in range(3):
            w.grad = None
            with nullcontext((w, 2.0)) as (weight, scale):
                loss = 0.0
                for k in range(2):
                    out = (x * weight).sum(1) * scale
                    loss = loss + (out**2).mean()
                loss.backward()
            print(f"{loss.item():.4f} {w.grad.sum().item():.4f}")

    train()
"""


MAIN = """
    import torch

    if __name__ == "__main__":
        torch.manual_seed(0)
        w = torch.ones(3, requires_grad=True)
        for epoch in range(2):
            for x in torch.ones(2, 3):
                loss = (x * w).square().sum()
                loss.backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
                w.grad = None
                print(f"{loss.item():.4f}")
"""


def test_steps_of_a_main_program_under_an_if(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(MAIN))
    eager, compiled = (command("torch", *options, "program.py", cwd=tmp_path) for options in ((), ("--compile",)))
    assert "compiled program.py:9-13" in compiled.stderr
    assert compiled.stdout == eager.stdout == "3.0000\n1.9200\n1.2288\n0.7864\n"


LOGS = """
    import time
    import torch

    def train(steps, w):
        begin = time.time()
        for step in range(steps):
            if step >= 0:
                loss = (torch.ones(3) * w).square().sum()
                half = loss / 2
                if step % 2 == 0:
                    print("loss", f"{loss.item():.4f}", "half", round(half.item(), 4), step, time.time() >= begin)
                {between}
                loss.backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
                w.grad = None

    train(4, torch.ones(3, requires_grad=True))
"""


@pytest.mark.parametrize(
    ("between", "said"), [("pass", "compiled program.py:9-17"), ("print(w.sum().item())", "left as it is program.py:14-17")]
)
def test_lines_that_say_something_before_a_backward_pass_wait_where_they_say_the_same_later(tmp_path, between, said):
    (tmp_path / "program.py").write_text(textwrap.dedent(LOGS).replace("{between}", between))
    eager, compiled = (command("torch", *options, "program.py", cwd=tmp_path) for options in ((), ("--compile",)))
    assert said in compiled.stderr
    assert compiled.stdout == eager.stdout
    assert eager.stdout.startswith("loss 3.0000 half 1.5 0 True\n")


def test_names_that_a_step_binds_inside_are_its_own(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(WITH))
    eager, compiled = (command("torch", *options, "program.py", cwd=tmp_path) for options in ((), ("--compile",)))
    assert "compiled program.py" in compiled.stderr
    assert compiled.stdout == eager.stdout != ""


DATA = """
import random
import numpy as np
import torch
from sklearn.datasets import make_moons

rng = np.random.default_rng(0)

def batch():
    return torch.tensor([random.random()])

w = torch.ones(1, requires_grad=True)
for t in range(3):
    x = MADE
    loss = (w * x).sum()
    loss.backward()
"""
OUTSIDE = ["batch()", "torch.tensor(rng.normal(size=1))", "torch.tensor(np.random.rand(1))", "torch.tensor(make_moons(4)[0])"]


@pytest.mark.parametrize("made", [*OUTSIDE, "torch.rand(1)"])
def test_leading_lines_that_make_data_are_no_part_of_a_step(made):
    steps = Steps("compiled")
    steps.code(DATA.replace("MADE", made), "program.py")
    assert steps.found == ["program.py:15-16  x -> loss" if made in OUTSIDE else "program.py:14-16   -> loss"]


READS = {
    "": "loss", "print(x)": "x, loss", "def report():\n    return loss + x": "loss, x", "x += 1": "x, loss", "del x": "x, loss",
    "print(globals())": "loss, x", "module.eval()": "loss",
}  # fmt: skip


@pytest.mark.parametrize("reads", READS)
def test_a_step_has_the_results_that_the_file_reads(reads):
    steps = Steps("compiled")
    steps.code(DATA.replace("MADE", "torch.rand(1)") + reads, "program.py")
    assert steps.found == [f"program.py:14-16   -> {READS[reads]}"]


TRANSFORMED = """import torch
from torch.func import grad_and_value, vmap
from torch.func import grad as gradient

def fit(w, xs):
    for x in xs:
        w = w - 0.1 * torch.func.grad(loss)(w, x)
        print(w)
    return w

step = vmap(grad_and_value(loss))
step(w, x)
for t in range(3):
    x = torch.rand(1)
    g, value = step(w, x)
    w = w - 0.1 * g
    print(value.item())
for t in range(3):
    BODY
"""


@pytest.mark.parametrize(("body", "more"), [
    ("g = gradient(loss)(w, x)", ["program.py:19-19   -> g"]), ("g = vmap(loss)(w, x)", []), ("g = grad(loss)(w, x)", []),
])  # fmt: skip
def test_calls_of_transformed_functions_in_loops_are_steps_where_there_is_no_backward(body, more):
    steps = Steps("compiled")
    steps.code(TRANSFORMED.replace("BODY", body), "program.py")
    assert steps.found == ["program.py:7-7  w, x -> w", "program.py:14-16  w -> value, w, x", *more]
    steps = Steps("compiled")
    steps.code(TRANSFORMED.replace("BODY", "gradient(loss)(w, x).backward()"), "program.py")
    assert steps.found == ["program.py:19-19   -> staticgrad_loss"]


def test_gradients_that_are_reset_before_data_are_made_are_reset_outside_of_the_step():
    steps = Steps("compiled")
    steps.code(DATA.replace("    x = MADE", "    optimizer.zero_grad()\n    x = batch()"), "program.py")
    assert steps.found == ["program.py:16-17  x -> loss"]


DRAWS = """
    import random
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import distributions as D, nn, optim
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence
    from torch.utils.data import DataLoader, Dataset, TensorDataset, WeightedRandomSampler, random_split

    torch.set_default_dtype(torch.DTYPE)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 8, 2, dropout=0.5, batch_first=True)
            self.gru = nn.GRU(4, 4, 2, dropout=0.5)
            self.block = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.25, batch_first=True)
            self.out = nn.Sequential(nn.Dropout(0.5), nn.Linear(8, 1), nn.AlphaDropout(0.2))
            nn.init.trunc_normal_(self.out[1].weight, std=0.5)

        def forward(self, x):
            packed = pack_sequence([x[0].expand(3, -1), x[1].expand(1, -1)])
            x = x + pad_packed_sequence(self.gru(packed)[0])[0].sum()
            return self.out(self.block(self.lstm(x[:, None].expand(-1, 3, -1))[0])[:, -1])

    class Noisy(Dataset):
        def __init__(self, examples):
            self.examples = examples

        def __len__(self):
            return len(self.examples)

        def __getitem__(self, i):
            x, y = self.examples[i]
            return x + torch.rand(1) + random.random() + float(np.random.rand()), y

    torch.manual_seed(3)
    net = Net()
    opt = optim.SGD(net.parameters(), lr=0.1)
    examples, rest = random_split(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), [16, 8])
    sampler = WeightedRandomSampler([0.5, 1.0] * 8, 16)
    share = D.Beta(torch.tensor(2.0), torch.tensor(3.0))
    own = torch.Generator().manual_seed(5)
    for x, y in DataLoader(Noisy(examples), batch_size=4, sampler=sampler, num_workers=1, generator=own):
        opt.zero_grad()
        chosen = D.Categorical(logits=torch.zeros(4, 3)).sample()
        loss = ((net(x) - y) ** 2).mean() + share.sample() * chosen.float().mean()
        loss.backward()
        opt.step()
"""


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pytorch_draws_the_same_numbers(dtype, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(textwrap.dedent(DRAWS).replace("DTYPE", dtype))
    done = command("torch", "--compare", "4", "program.py", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stdout


def test_a_tensorflow_program_is_run_as_it_is(tmp_path):
    program = """
        import tensorflow as tf
        from tensorflow.python.framework import ops

        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        loss = tf.reduce_sum(w * w)
        train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                session.run(train)
            print(session.run(loss), ops.get_default_graph() is tf.get_default_graph(), tf.__version__)
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    done = command("tf1", "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.125 True 1.15.5\n"


def test_the_texts_of_a_dtype_and_of_the_class_of_tensors_are_pytorchs_inside():
    with sg.as_torch() as torch:
        x = torch.ones(2)
        assert str(type(x)) == "<class 'torch.Tensor'>"
        assert str(x.dtype) == f"{x.dtype}" == repr(x.dtype) == "torch.float32"
        assert repr(x.double()) == "tensor([1., 1.], dtype=torch.float64)"
        members = torch.nn.ParameterList([torch.nn.Parameter(x)])
        assert "[torch.float32 of size 2]" in repr(members)
    assert str(x.dtype) == f"{x.dtype}" == "float32"
    assert str(type(x)) == "<class 'staticgrad.Tensor'>"


def test_private_names_that_packages_import():
    with sg.as_torch() as torch:
        from torch.distributions.constraints import _GreaterThan, _Interval, _Real
        from torch.distributions.kl import _KL_REGISTRY
        from torch.nn.init import _calculate_fan_in_and_fan_out, _no_grad_trunc_normal_
        from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
        from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
        from torch.nn.modules.dropout import _DropoutNd
        from torch.nn.modules.module import _global_forward_hooks
        from torch.nn.modules.pooling import _AvgPoolNd, _MaxPoolNd
        from torch.nn.modules.transformer import _get_activation_fn, _get_clones
        from torch.storage import TypedStorage, UntypedStorage

        assert all(issubclass(kind, torch.distributions.constraints.Constraint) for kind in (_GreaterThan, _Interval, _Real))
        assert (torch.distributions.Normal, torch.distributions.Normal) in _KL_REGISTRY
        assert _calculate_fan_in_and_fan_out(torch.ones(2, 3, 4)) == (12, 8)
        assert _no_grad_trunc_normal_(torch.ones(2), 0.0, 1.0, -2.0, 2.0).shape == (2,)
        assert isinstance(torch.nn.InstanceNorm1d(2), _NormBase)
        assert not isinstance(torch.nn.InstanceNorm1d(2), _BatchNorm)
        assert isinstance(torch.nn.ConvTranspose1d(1, 1, 1), _ConvTransposeNd)
        assert issubclass(_ConvTransposeNd, _ConvNd)
        assert isinstance(torch.nn.Dropout3d(), _DropoutNd)
        assert _global_forward_hooks == {}
        assert isinstance(torch.nn.MaxPool2d(2), _MaxPoolNd)
        assert isinstance(torch.nn.AvgPool2d(2), _AvgPoolNd)
        assert len(_get_clones(torch.nn.ReLU(), 2)) == 2
        assert _get_activation_fn("relu") is torch.nn.functional.relu
        assert isinstance(torch.ones(1).storage(), TypedStorage)
        assert isinstance(torch.ones(1).untyped_storage(), UntypedStorage)


def test_the_front_has_itself_as_a_member_and_parts_of_pytorch_that_are_not_built():
    with sg.as_torch() as torch:
        assert torch.torch is torch
        assert not torch.distributed.rpc.is_available()
        assert not hasattr(torch.distributed.rpc, "api")
        assert not torch.onnx.is_in_onnx_export()
        assert not torch.profiler.kineto_available()
        assert torch.amp.custom_fwd(cast_inputs=torch.float32, device_type="cuda")(len).__wrapped__ is len
        assert torch.cuda.amp.custom_bwd(len) is len


def test_arguments_of_to_are_read_as_pytorch_does():
    with sg.as_torch() as torch:
        parse = torch._C._nn._parse_to
        assert parse("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
        assert parse(torch.zeros(1, dtype=torch.float64), True) == (None, torch.float64, True, None)
        assert parse(device="cpu", non_blocking=True) == (torch.device("cpu"), None, True, None)
        with pytest.raises(sg.DeviceError):
            parse("cuda")


STARTED = {
    "torch": """
import torch, torch.multiprocessing as mp
class Net(torch.nn.Linear):
    pass
def work(rank, queue, x):
    queue.put((rank, torch.__file__, type(x.a).__module__, float(x.a.weight.detach().sum())))
class Box:
    def __init__(self, a):
        self.a = a
if __name__ == "__main__":
    import sys
    net = Net(2, 1)
    net.weight.data.fill_(1.5)
    mp.set_start_method(sys.argv[1])
    queue = mp.Queue()
    processes = [mp.Process(target=work, args=(rank, queue, Box(net))) for rank in range(2)]
    [p.start() for p in processes]
    print(sorted(queue.get() for p in processes))
    [p.join() for p in processes]
    print([p.exitcode for p in processes])
""",
    "tf1": """
import multiprocessing as mp
import tensorflow as tf
def work(rank, queue):
    with tf.Session() as sess:
        queue.put((rank, tf.__file__, "__mp_main__", float(sess.run(tf.constant(3.0)))))
if __name__ == "__main__":
    import sys
    mp.set_start_method(sys.argv[1])
    queue = mp.Queue()
    processes = [mp.Process(target=work, args=(rank, queue)) for rank in range(2)]
    [p.start() for p in processes]
    print(sorted(queue.get() for p in processes))
    [p.join() for p in processes]
    print([p.exitcode for p in processes])
""",
}


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("front", STARTED)
def test_processes_that_are_started_anew_have_the_front(front: str, method: str, tmp_path: Path):
    """Before they import the program's file, whatever way it is started."""
    program = tmp_path / "program.py"
    program.write_text(STARTED[front], encoding="utf-8")
    command = [sys.executable, "-m", "staticgrad", front, str(program), method]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    results, codes = done.stdout.splitlines()
    assert codes == "[0, 0]"
    for i, (rank, file, kind, value) in enumerate(ast.literal_eval(results)):
        assert (rank, kind, value) == (i, "__mp_main__", 3.0)
        assert Path(file).is_relative_to(Path(sg.__file__).parent)


def test_a_process_without_a_front_gets_none(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing as mp, sys, staticgrad as sg\n"
        "def work():\n    sys.exit(int(any(type(f).__name__ == 'TorchFront' for f in sys.meta_path)))\n"
        "if __name__ == '__main__':\n    with sg.as_torch():\n        pass\n"
        "    p = mp.get_context('spawn').Process(target=work)\n    p.start()\n    p.join()\n    sys.exit(p.exitcode)\n",
        encoding="utf-8",
    )
    assert subprocess.run([sys.executable, str(program)], check=False).returncode == 0


def test_a_front_may_be_open_when_the_process_ends():
    program = "import staticgrad as sg; sg.as_torch().__enter__(); front = sg.as_torch(); front.__enter__(); import torch"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_are_imported_when_they_are_asked_for_are_found_in_a_fresh_process(tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "from torch.jit import ScriptModule\nfrom torch import nn\nassert not isinstance(nn.ReLU(), ScriptModule)\n"
    )
    done = command("torch", "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
