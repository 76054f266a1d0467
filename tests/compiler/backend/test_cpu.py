"""Code for another CPU than this one: the same results, without the instructions that it lacks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from staticgrad.compiler.backend import cpu

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import numpy as np
import staticgrad as sg
from staticgrad.compiler.backend import code_generation, cpu

rng = np.random.default_rng(0)
for m, k, n in ((1, 7, 5), (130, 260, 70)):
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-11)):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        step = sg.compile(lambda a, b: (sg.tanh(a @ b), (a.T @ sg.exp(-((a @ b) ** 2))).sum(0)), wait=True)
        found = step(a, b)
        product = a.astype("float64") @ b.astype("float64")
        np.testing.assert_allclose(found[0].numpy(), np.tanh(product), rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(found[1].numpy(), (a.T @ np.exp(-product**2)).sum(0), rtol=tolerance, atol=tolerance * m)
        assert step.plan.host_calls == 0
text = '''
define void @f(ptr noalias %x, ptr noalias %y) {
  br label %l
l:
  %i = phi i64 [0, %0], [%j, %l]
  %p = getelementptr float, ptr %x, i64 %i
  %q = getelementptr float, ptr %y, i64 %i
  %v = load float, ptr %p
  %w = fadd float %v, 1.0
  store float %w, ptr %q
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, 4096
  br i1 %c, label %l, label %e
e:
  ret void
}
'''
print(cpu.BYTES, cpu.REGISTERS)
print(code_generation.machine().emit_assembly(code_generation.optimized(text)))
"""
REGISTERS = {"x86-64-v2": "xmm", "x86-64-v3": "ymm", "x86-64-v4": "zmm"}


def run(kind: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "STATICGRAD_CPU": kind, "STATICGRAD_EAGER": "wait:1000", "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.parametrize("kind", cpu.KINDS)
def test_code_for_a_kind_of_cpu(kind):
    *expected, feature = cpu.KINDS[kind]
    if not cpu.has(feature):
        pytest.skip(f"this CPU has no {feature}")
    done = run(kind)
    assert done.returncode == 0, done.stderr
    first, _, code = done.stdout.partition("\n")
    assert first.split() == [str(number) for number in expected]
    used = {name for name in REGISTERS.values() if name in code}
    assert max(used) == REGISTERS[kind]


@pytest.mark.parametrize(
    ("machine", "features", "expected"),
    [
        ("x86_64", "sse4_2 avx2 avx512f", (64, 32)),
        ("x86_64", "sse4_2 avx2", (32, 16)),
        ("x86_64", "sse4.2", (16, 16)),
        ("x86_64", "", (16, 16)),
        ("aarch64", "asimd", (16, 32)),
        ("aarch64", "avx512f", (16, 32)),
        ("riscv64", "", (16, 16)),
    ],
)
def test_vectors_of_a_machine(monkeypatch, machine, features, expected):
    """An emulated CPU shows the features of its host."""
    monkeypatch.setattr(cpu, "CHOSEN", "native")
    monkeypatch.setattr(cpu.platform, "machine", lambda: machine)
    monkeypatch.setattr(cpu, "description", lambda: features)
    assert cpu._vectors() == expected


def test_a_kind_that_nobody_knows():
    done = run("pentium", "import staticgrad.compiler.backend.cpu")
    assert done.returncode == 1
    assert "STATICGRAD_CPU is native or one of x86-64-v2, x86-64-v3, x86-64-v4, got 'pentium'" in done.stderr


def test_instructions_of_one_architecture_have_a_twin():
    """Generated code that names an instruction of x86 names one of arm64 for the same thing, or leaves it to LLVM."""
    texts = {file: file.read_text(encoding="utf-8") for file in (ROOT / "staticgrad").rglob("*.py")}
    x86 = {file.name: len(re.findall(r"llvm\.x86\.", text)) for file, text in texts.items() if "llvm.x86." in text}
    arm = {file.name: len(re.findall(r"llvm\.aarch64\.", text)) for file, text in texts.items() if "llvm.aarch64." in text}
    assert x86 == arm
    assert sum(x86.values()) > 0
