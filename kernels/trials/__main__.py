"""The child that runs trials: reads names, one per line, and answers each with one line of JSON.

Natively on a GPU, else (or with PDCHAOS_KERNELS=interpret) in the interpreter. It ends when its
input does, and dies with its parent.
"""

import ctypes
import json
import os
import signal
import sys

import torch

from kernels.pin import require_pinned_triton

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    native = torch.cuda.is_available() and os.environ.get("PDCHAOS_KERNELS") != "interpret"
    if not native:
        os.environ["TRITON_INTERPRET"] = "1"  # before the first import of Triton
        torch.set_num_threads(1)
    # Only now, since how Triton starts depends on the line above.
    from kernels.trials.catalogue import catalogue  # noqa: PLC0415 - see above

    require_pinned_triton()
    if not native:
        from kernels import interpreter  # noqa: PLC0415 - see above

        interpreter.install()
    device = "cuda" if native else "cpu"
    trials = catalogue()
    say({"device": torch.cuda.get_device_name() if native else "interpreter", "names": [*trials]})
    for line in sys.stdin:
        name = line.strip()
        try:
            say({"name": name, **trials[name](name, device).as_json()})
        except Exception as error:  # noqa: BLE001 - the child's top: the parent judges what it says
            say({"name": name, "crash": f"{type(error).__name__}: {error}"})


def say(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
