"""What may leave the machine in a report: environment by allow-list, texts without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# What decides how a stack behaves, and where a run came from. Everything else stays home.
ALLOWED_PREFIXES = (
    "CUDA_",
    "MKL_",
    "NCCL_",
    "NIXL_",
    "NVSHMEM_",
    "OMP_",
    "PDCHAOS_",
    "SGLANG_",
    "TORCH_",
    "TRITON_",
    "UCX_",
    "VLLM_",
)
ALLOWED_NAMES = frozenset(
    {
        "CI",
        "GITHUB_ACTIONS",
        "GITHUB_JOB",
        "GITHUB_REF_NAME",
        "GITHUB_REPOSITORY",
        "GITHUB_RUN_ATTEMPT",
        "GITHUB_RUN_ID",
        "GITHUB_RUN_NUMBER",
        "GITHUB_SERVER_URL",
        "GITHUB_SHA",
        "GITHUB_WORKFLOW",
        "PYTHONHASHSEED",
        "RUNNER_ARCH",
        "RUNNER_NAME",
        "RUNNER_OS",
    }
)
# Whole words of a name: CHUNK_TOKENS is a size, ADMIN_TOKEN is a secret.
SECRET_WORDS = frozenset(
    {"APIKEY", "AUTH", "COOKIE", "CREDENTIAL", "CREDENTIALS", "KEY", "PASS", "PASSWD", "PASSWORD"}
    | {"PRIVATE", "SECRET", "TOKEN"}
)
HIDDEN = "<redacted>"
_IN_TEXT = (
    re.compile(r"(?i)(\bbearer\s+)[^\s\"',}]+"),
    re.compile(r"(://[^/\s:@]+:)[^/\s@]+(?=@)"),
    re.compile(
        r"(?i)([\"']?\b[\w-]*(?:api[_-]?key|password|passwd|secret|token|cookie|authorization)\b"
        r"[\"']?\s*[=:]\s*[\"']?)(?!bearer\b)[^\s\"',}]+"
    ),
)


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Only what the allow-list names, in order; a secret's name keeps its place, not its value."""
    return {
        name: HIDDEN if _is_secret(name) else redacted_text(value)
        for name, value in sorted(environment.items())
        if name in ALLOWED_NAMES or name.startswith(ALLOWED_PREFIXES)
    }


def redacted_text(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without bearer tokens, passwords in URLs, `token=...` pairs, and these secrets."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    for pattern in _IN_TEXT:
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return text


def _is_secret(name: str) -> bool:
    return not SECRET_WORDS.isdisjoint(name.upper().split("_"))
