"""The default session of a thread, which `tensor.eval()` and `operation.run()` use."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import GraphError
from ..operators import frontends

if TYPE_CHECKING:
    from .session import Session


class Defaults(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Session] = []


defaults = Defaults()


def get_default_session() -> Session | None:
    """The session of the innermost `with` of this thread."""
    return defaults.sessions[-1] if defaults.sessions else None


def session_or_default(session: Session | None, what: str) -> Session:
    """The session given, else the default one. Raises GraphError when there is none."""
    chosen = session if session is not None else get_default_session()
    if chosen is None:
        raise GraphError(
            f"Cannot evaluate tensor using `{what}()`: No default session is registered.",
            f"use `with sess.as_default()` or pass an explicit session to `{what}(session=sess)`",
        )
    return chosen


def evaluate(fetch: Any, feed_dict: Mapping[Any, Any] | None = None, session: Session | None = None) -> Any:
    """`session.run(fetch, feed_dict)`, in the default session when none is given."""
    return session_or_default(session, "eval").run(fetch, feed_dict)


frontends.evaluate = evaluate
