"""PyTorch's paths of modules, and its questions about devices and precision that are not here."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import textwrap
import warnings

import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.interchange.serialization.storages import SerializationError
from staticgrad.namespaces.lookup.paths import HOMES, MOVED, home
from staticgrad.utils.data import RandomSampler
from tests.helpers import assert_close


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("distributions.categorical", "Categorical"),
        ("distributions.multivariate_normal", "MultivariateNormal"),
        ("distributions.normal", "Normal"),
        ("distributions.kl", "kl_divergence"),
        ("nn.modules", "Linear"),
        ("nn.modules.batchnorm", "_BatchNorm"),
        ("nn.modules.conv", "Conv2d"),
        ("nn.modules.loss", "_Loss"),
        ("nn.modules.module", "Module"),
        ("nn.parallel", "DataParallel"),
        ("optim.adamw", "AdamW"),
        ("optim.rmsprop", "RMSprop"),
        ("utils.data.dataloader", "DataLoader"),
        ("utils.data.dataset", "Dataset"),
        ("utils.data.sampler", "SubsetRandomSampler"),
        ("backends.cudnn", "benchmark"),
        ("accelerator", "is_available"),
        ("amp", "autocast"),
        ("distributed", "init_process_group"),
    ],
)
def test_paths(path, name):
    module = importlib.import_module(f"staticgrad.{path}")
    assert hasattr(module, name)
    found = sg
    for part in path.split("."):
        found = getattr(found, part)
    assert found is module


@pytest.mark.parametrize(
    ("statement", "expression"),
    [
        ("import staticgrad as torch", "torch.nn.functional.relu(torch.ones(2))"),
        ("import staticgrad.nn as nn", "nn.Linear(2, 3)"),
        ("import staticgrad.nn.functional as F", "F.cross_entropy"),
        ("import staticgrad.nn.init as init", "init.xavier_uniform_"),
        ("import staticgrad.nn.utils.rnn as rnn", "rnn.pad_sequence"),
        ("import staticgrad.nn.utils as utils", "utils.clip_grad_norm_"),
        ("import staticgrad.nn.utils.parametrize as parametrize", "parametrize.register_parametrization"),
        ("import staticgrad.optim as optim", "optim.SGD"),
        ("import staticgrad.optim.lr_scheduler as schedules", "schedules.OneCycleLR"),
        ("import staticgrad.optim.swa_utils as swa", "swa.AveragedModel"),
        ("from staticgrad.optim.rmsprop import *", "RMSprop"),
        ("import staticgrad as sg", "dir(sg.optim.rmsprop).index('RMSprop'), dir(sg.optim).index('LBFGS')"),
        ("from staticgrad.nn.utils import *", "prune.l1_unstructured, weight_norm"),
        (
            "import staticgrad.autograd.gradcheck, staticgrad as sg",
            "sg.autograd.gradcheck.__call__, sg.autograd.functional.vjp",
        ),
        ("import staticgrad.utils.data as data", "data.DataLoader"),
        ("import staticgrad.utils.checkpoint as checkpoint", "checkpoint.checkpoint"),
        ("import staticgrad.autograd as autograd", "autograd.grad"),
        ("import staticgrad.autograd.functional as functional", "functional.jacobian"),
        ("import staticgrad.func as func", "func.vmap"),
        ("import staticgrad.linalg as linalg", "linalg.inv"),
        ("import staticgrad.special as special", "special.erf"),
        ("import staticgrad.random as random", "random.manual_seed"),
        ("import staticgrad.distributions as distributions", "distributions.Normal(0.0, 1.0)"),
        ("import staticgrad.nn.parameter", "staticgrad.nn.parameter.Parameter"),
        ("from staticgrad import nn, optim", "nn.Module, optim.Adam"),
        ("from staticgrad.nn import functional", "functional.softmax"),
        ("from staticgrad.nn import functional as F, Parameter", "F.linear, Parameter"),
        ("from staticgrad.nn.utils.rnn import pack_padded_sequence", "pack_padded_sequence"),
        ("from staticgrad.autograd import Variable, Function", "Variable, Function"),
        ("from staticgrad.utils.data import DataLoader, TensorDataset", "DataLoader, TensorDataset"),
        ("from staticgrad.optim.lr_scheduler import StepLR", "StepLR"),
        ("from staticgrad.func import functional_call, vmap", "functional_call, vmap"),
        ("from staticgrad.distributions import Categorical", "Categorical"),
    ],
)
def test_import_statements_of_programs(statement, expression):
    names: dict[str, object] = {}
    exec(statement, names)
    assert eval(expression, names) is not None


def test_a_module_that_is_imported_alone_is_an_attribute_of_its_parents():
    """In a new process, because other tests have imported the modules already."""
    paths = ["nn.functional", "nn.utils.rnn", "optim.lr_scheduler", "utils.data", "func", "linalg", "special", "random"]
    paths += ["distributions", "autograd"]
    program = f"""
        import importlib, sys, staticgrad as torch
        for path in {paths}:
            found = torch
            for part in path.split("."):
                found = getattr(found, part)
            assert found is importlib.import_module("staticgrad." + path), path
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


def test_there_is_no_accelerator():
    assert not sg.accelerator.is_available()
    assert sg.accelerator.current_accelerator() is None
    assert sg.accelerator.device_count() == 0
    with pytest.raises(sg.DeviceError, match=r"^Torch not compiled with CUDA enabled"):
        sg.cuda.FloatTensor(2)


def test_autocast_changes_nothing_where_it_is_off():
    with pytest.warns(UserWarning, match="CPU Autocast only supports"):
        plain = sg.amp.autocast("cpu", dtype=sg.float32)
    with sg.autocast("cpu", enabled=False), plain:
        assert (sg.ones(2) @ sg.ones(2)).dtype == sg.float32
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling"):
        context = sg.autocast("cuda")
    assert context(abs)(-1) == 1


def test_a_scaler_steps_with_gradients_as_they_are():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = sg.amp.GradScaler()
    with warnings.catch_warnings():
        scaler = sg.amp.GradScaler(enabled=False)
    w = sg.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.5)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert_close(w, sg.full((2,), 0.5))
    assert (scaler.get_scale(), scaler.state_dict()) == (1.0, {})


def test_data_parallel_calls_its_module():
    model = nn.DataParallel(nn.Linear(2, 3))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    x = sg.ones(4, 2)
    assert_close(model(x), model.module(x))
    assert_close(nn.parallel.data_parallel(model.module, x), model.module(x))
    with pytest.raises(sg.DeviceError):
        nn.DataParallel(nn.Linear(2, 3), device_ids=[0])


def test_a_sampler_without_end_is_drawn_in_pieces():
    sampler = RandomSampler(range(5), replacement=True, num_samples=10**10)
    numbers = [n for n, _ in zip(sampler, range(3000), strict=False)]
    assert len(sampler) == 10**10
    assert set(numbers) == set(range(5))


def test_a_module_that_is_made_on_demand_can_be_imported():
    assert importlib.import_module("staticgrad.onnx").export is sg.onnx.export


@pytest.mark.parametrize("path", [*HOMES, "autograd.function", "func.derivatives", "serialization.files", "utils.data"])
def test_a_module_has_its_public_name_and_that_of_its_place(path):
    assert importlib.import_module(f"staticgrad.{path}") is importlib.import_module(f"staticgrad.{home(path)}")


@pytest.mark.parametrize("path", MOVED)
def test_a_former_module_is_the_one_that_has_its_contents(path):
    assert importlib.import_module(f"staticgrad.{path}") is importlib.import_module(f"staticgrad.{MOVED[path]}")


def test_modules_are_found_under_either_name_first():
    """In new processes. The second name makes no second module."""
    for first, second in (("autograd.function", home("autograd.function")), (home("func.modules"), "func.modules")):
        program = f"""
            import importlib, sys, staticgrad
            one, two = importlib.import_module("staticgrad.{first}"), importlib.import_module("staticgrad.{second}")
            assert one is two
            assert staticgrad.autograd.Function is staticgrad.namespaces.autograd.function.Function
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


def test_pickles_name_modules_as_they_were():
    data = pickle.dumps(SerializationError, 0).replace(b"staticgrad.interchange.serialization", b"staticgrad.serialization")
    assert b"staticgrad.serialization.storages" in data
    assert pickle.loads(data) is SerializationError
