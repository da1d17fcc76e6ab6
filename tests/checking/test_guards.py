from __future__ import annotations

from pathlib import Path

import pytest

from maxkernel_tools.guards import inspect_source
from maxkernel_tools.records import KernelSource
from maxkernel_tools.records.findings import Severity
from tests.shared_data import shared_path

ROOT = Path(__file__).resolve().parents[2]


def codes(text: str) -> list[str]:
    return [item.code.value for item in inspect_source(KernelSource(text=text)) if item.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import subprocess", "integrity-forbidden-access"),
        ("from ctypes import CDLL", "integrity-forbidden-access"),
        ("import os\nKEY = os.environ['KEY']", "integrity-forbidden-access"),
        ("from os import environ", "integrity-forbidden-access"),
        ("import os as system\nsystem.getenv('A')", "integrity-forbidden-access"),
        ("def workload(x):\n    return open('reference.py')", "integrity-forbidden-access"),
        ("import importlib\nimportlib.import_module('o' + 's')", "integrity-forbidden-access"),
        ("x = (lambda: 0).__globals__", "integrity-forbidden-access"),
        ("import numpy as np\nnp.load('answers.npy')", "integrity-forbidden-access"),
        ("import jaxbench", "integrity-reference-call"),
        ("import jax\njax.jit = None", "integrity-tampering"),
        ("import jax\ndel jax.jit", "integrity-tampering"),
        ("import jax.numpy as jnp\nsetattr(jnp, 'dot', None)", "integrity-tampering"),
        ("import jax\nvars(jax)['jit'] = None", "integrity-tampering"),
        ("import jax\njax.__dict__.update(jit=None)", "integrity-tampering"),
        ("import jax\ndef w(x):\n    return jax.lax.platform_dependent(x, cpu=f, tpu=g)", "integrity-tampering"),
        ("import jax\ndef w(x):\n    return jax.pure_callback(f, x, x)", "integrity-host-callback"),
        ("from jax.experimental import pallas as pl\npl.pallas_call(f, interpret=True)", "integrity-interpret-left-on"),
        ("class A:\n    def __array__(self):\n        return 0", "integrity-output-type"),
        ("N = 0\ndef w(x):\n    global N\n    N += 1", "integrity-unstable-output"),
    ],
)
def test_a_rule_finds_its_case(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "import os.path\nNAME = os.path.join('a', 'b')",
        "import functools, math, dataclasses, typing, enum, operator, itertools, collections",
        "if __name__ == '__main__':\n    import os, time\n    print(os.environ, open('x'))",
        "def compile(x):\n    return x\ncompile(1)",
        "import jax\nx = jax.Array\nconfig = {}\nconfig['a'] = 1",
        "import jax.numpy as jnp\nclass A:\n    def __init__(self):\n        self.jnp = jnp",
        "try:\n    import foo\nexcept ImportError:\n    foo = None",
        "from jax.experimental import pallas as pl\npl.pallas_call(f, interpret=False)",
        "def body(o_ref, acc):\n    acc[...] += 1\n    o_ref[...] += acc[...]",
        "def w(x):\n    total = 0\n    for i in range(3):\n        total += i\n    return total",
        "import inspect\nif False:\n    pass" if False else "from importlib.metadata import version\nversion('jax')",
        "def workload(x:\n    syntax error is reported by loading",
    ],
)
def test_honest_text_passes(text: str) -> None:
    assert codes(text) == []


def test_a_fallback_is_refused_and_a_compatible_spelling_is_not() -> None:
    fallback = (
        "from jax.experimental import pallas as pl\n"
        "def kernel(x):\n    return pl.pallas_call(f)(x)\n"
        "def workload(x):\n    try:\n        return kernel(x)\n    except Exception:\n        return x + 1\n"
    )
    compatible = fallback.replace("return x + 1", "return pl.pallas_call(f, name='old')(x)")
    raising = fallback.replace("return x + 1", "raise ValueError('no') from None")
    assert codes(fallback) == ["integrity-fallback"]
    assert codes(compatible) == []
    assert codes(raising) == []


def test_every_handed_kernel_passes() -> None:
    found = {
        str(path): codes(path.read_text())
        for path in shared_path("cases", "kernels").glob("*/*.py")
        if codes(path.read_text())
    }
    assert found == {}


def test_every_reference_passes() -> None:
    references = list((ROOT / "jaxbench" / "tasks").glob("*/reference.py"))
    assert references
    assert {path.parent.name: codes(path.read_text()) for path in references if codes(path.read_text())} == {}
