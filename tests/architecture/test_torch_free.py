"""The pytest process imports no torch: neither by reading the code nor by running it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, sources
from tests.architecture.torch_free import chain_to

LIMIT_S = 60


def modules(root: Path, *folders: str) -> list[str]:
    names = (source.name.removesuffix(".py") for source in sources(root, folders))
    return sorted(name.replace("/", ".").removesuffix(".__init__") for name in names)


@pytest.mark.parametrize("heavy", ["torch", "triton"])
def test_nothing_that_pytest_imports_leads_to(heavy: str) -> None:
    roots = [one for one in modules(ROOT, "chaos", "faults", "suites") if "__main__" not in one]
    assert "chaos.pytest_plugin" in roots
    assert chain_to(heavy, roots, ROOT) == []


def test_a_plugin_that_is_loaded_for_real_has_not_loaded_torch() -> None:
    look = (
        "import sys, chaos.pytest_plugin, chaos.commands.up;"
        "print([one for one in ('torch', 'triton', 'numpy') if one in sys.modules])"
    )
    child = subprocess.run(
        [sys.executable, "-c", look],
        cwd=ROOT,
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.stdout.strip(), child.returncode) == ("[]", 0), child.stderr


@pytest.mark.parametrize(
    ("middle", "found"),
    [
        ("import torch", ["chaos.door", "stack.page", "torch"]),
        ("from torch.nn import Linear", ["chaos.door", "stack.page", "torch.nn"]),
        ("try:\n    import torch\nexcept ImportError:\n    pass", None),
        ("class Page:\n    import torch", None),
        ("from stack.engine.knobs import KNOBS", None),
    ],
)
def test_a_chain_is_found_however_it_is_hidden(
    middle: str, found: list[str] | None, tmp_path: Path
) -> None:
    _tree(tmp_path, {"chaos/door": "from stack.page import Page", "stack/page": middle})
    _tree(tmp_path, {"stack/engine/__init__": "import torch", "stack/engine/knobs": ""})
    chain = chain_to("torch", ["chaos.door"], tmp_path)
    assert chain != []
    assert found is None or chain[: len(found)] == found


@pytest.mark.parametrize(
    "middle",
    ["def start():\n    import torch", "if TYPE_CHECKING:\n    import torch", "import torchless"],
)
def test_what_does_not_run_at_import_is_no_chain(middle: str, tmp_path: Path) -> None:
    _tree(tmp_path, {"chaos/door": "import stack.page", "stack/page": middle})
    assert chain_to("torch", ["chaos.door"], tmp_path) == []


def _tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
