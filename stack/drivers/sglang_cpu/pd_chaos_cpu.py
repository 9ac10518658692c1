"""An SGLang plugin: lets the prefill role run on a machine without an accelerator.

Without it prefill's scheduler dies at its first request: the KV sender asks for its page indices
in pinned memory and for a CUDA event. With `supports_host_tensor_indices` off it takes the plain
path. The hook is SGLang's own plugin entry point; none of its source is edited.
"""

SENDER = "sglang.srt.disaggregation.mooncake.conn.MooncakeKVSender.__init__"


def _take_the_plain_path(_result, sender, *_args, **_kwargs):
    sender.supports_host_tensor_indices = False


def register():
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(SENDER, _take_the_plain_path, HookType.AFTER)
