"""From arguments to results in one native call, where the plan and the arguments allow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..backend.abi import FASTCALL
from .fastcall import Spec, gate

if TYPE_CHECKING:
    from .plan import Plan


def declined(*args: Any) -> None:
    """For plans that can't be called directly."""


def direct(plan: Plan, specs: Sequence[Spec], **options: Any) -> Callable[..., Any]:
    """A function of arguments that fit `specs`, which runs the plan on the state that it is bound to. It returns None,
    and nothing has been done, for other arguments, when a row reports an error, and while somebody else has the plan.

    options: of `gate`.
    """
    if not FASTCALL or not plan.simple or plan.results.late:
        return declined
    call: Callable[..., Any] = gate(plan.control, specs, **options)
    if not plan.reads_numbers:
        return call
    read_numbers, give_back, busy = plan.read_numbers, plan.give_back, plan.busy

    def run(*args: Any) -> Any:
        if busy[0]:  # the numbers of the run that is under way stay what they are
            return None
        read_numbers()
        results = call(*args)
        if results is None:
            give_back()
        return results

    return run
