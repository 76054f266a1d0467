"""Modules that have no file under their public names."""

from typing import assert_type

import staticgrad as sg
import staticgrad.autograd.functional
import staticgrad.fft
import staticgrad.func
import staticgrad.linalg as LA
from staticgrad import autograd, fft, func, linalg, safetensors, special
from staticgrad.amp import autocast
from staticgrad.autograd import Function
from staticgrad.special import erf

x = sg.ones(3, 3)
assert_type(sg.fft.fft(x), sg.Tensor)
assert_type(staticgrad.fft.rfft(x), sg.Tensor)
assert_type(fft.ifft(x), sg.Tensor)
assert_type(sg.linalg.inv(x), sg.Tensor)
assert_type(LA.inv(x), sg.Tensor)
assert_type(linalg.det(x), sg.Tensor)
assert_type(special.erf(x), sg.Tensor)
assert_type(erf(x), sg.Tensor)
staticgrad.autograd.functional.jacobian(sg.exp, x)
autograd.functional.hessian(sg.sum, x)
func.vmap(sg.exp)(x)
staticgrad.func.grad(sg.sum)
safetensors.save_file({"x": x}, "x.safetensors")
with autocast("cpu"):
    Function.apply(x)
sg.fft.fftt(x)  # error: has no attribute "fftt"
LA.inverse(x)  # error: has no attribute "inverse"
sg.random.seed()
sg.version.__version__
