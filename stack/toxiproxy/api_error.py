"""What the API answers when it cannot do what was asked."""

from __future__ import annotations


class ApiError(Exception):
    """An HTTP status and the words that go with it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def body(self) -> dict[str, object]:
        return {"error": self.message, "status": self.status}


def bad_body(why: str) -> ApiError:
    return ApiError(400, f"bad request body: {why}")


def missing_field(name: str) -> ApiError:
    return ApiError(400, f"missing required field: {name}")


def invalid_stream() -> ApiError:
    return ApiError(400, "stream was invalid, can be either upstream or downstream")


def invalid_toxic_type() -> ApiError:
    return ApiError(400, "invalid toxic type")


def proxy_not_found() -> ApiError:
    return ApiError(404, "proxy not found")


def toxic_not_found() -> ApiError:
    return ApiError(404, "toxic not found")


def proxy_exists() -> ApiError:
    return ApiError(409, "proxy already exists")


def toxic_exists() -> ApiError:
    return ApiError(409, "toxic already exists")
