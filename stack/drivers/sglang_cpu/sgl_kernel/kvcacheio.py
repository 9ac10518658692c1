"""Names that SGLang imports at the top of a module and never calls on a CPU."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*_args, **_kwargs):
        raise NotImplementedError(f"sgl_kernel.kvcacheio.{name} has no CPU stand-in")

    return absent
