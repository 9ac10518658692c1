"""Which Triton these kernels were compiled, measured and tested with. Any other is refused."""

from importlib import metadata

TRITON = "3.9"
TESTED = "3.9.0"


def require_pinned_triton() -> None:
    """ValueError unless the installed Triton is the pinned one. Does not import it."""
    try:
        installed = metadata.version("triton")
    except metadata.PackageNotFoundError:
        installed = "missing"
    require_version(installed)


def require_version(installed: str) -> None:
    """ValueError that says which Triton is supported, unless `installed` is."""
    if not installed.startswith(f"{TRITON}."):
        raise ValueError(
            f"triton {installed} is not supported: the kernels are pinned to {TRITON}.x and "
            f"tested with {TESTED}; install triton=={TESTED}"
        )
