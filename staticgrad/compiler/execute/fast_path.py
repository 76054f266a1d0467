"""The fast path: from arguments to results in one native call, where plan and arguments allow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..backend.abi import FASTCALL
from .fastcall import Spec, fast_call

if TYPE_CHECKING:
    from .plan import Plan


def declined(*args: Any) -> None:
    """The fast path of plans that have none."""


def fast_path(plan: Plan, specs: Sequence[Spec], **options: Any) -> Callable[..., Any]:
    """A function of arguments that fit `specs`, which runs the plan on the state that it is bound to.

    It returns None, and nothing has happened, for other arguments, when an instruction reports an error, and while the plan is
    in use. options: those of `fast_call`.
    """
    if not FASTCALL or not plan.simple or plan.results.late:
        return declined
    call: Callable[..., Any] = fast_call(plan.control, specs, **options)
    if not plan.reads_numbers:
        return call
    read_numbers, give_back, busy = plan.read_numbers, plan.give_back, plan.busy

    def run(*args: Any) -> Any:
        if busy[0]:  # the run in progress keeps its numbers
            return None
        read_numbers()
        results = call(*args)
        if results is None:
            give_back()
        return results

    return run
