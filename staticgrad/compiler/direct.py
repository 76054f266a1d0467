"""From arguments to results in one native call, where the plan and the arguments allow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import StaticgradError
from .gate import Spec, gate

if TYPE_CHECKING:
    from .plan import Plan


def declined(*args: Any) -> None:
    """For plans that can't be called directly."""


def direct(plan: Plan, specs: Sequence[Spec], fill: Callable[[Any, int, Any], None], **options: Any) -> Callable[..., Any]:
    """A function of arguments that fit `specs`, which runs the plan on the state that it is bound to. It returns None,
    and nothing has been done, for other arguments, when a row reports an error, and while somebody else has the plan.

    fill(results, i, array): put an array into the results. options: of `gate`.
    """
    if plan.host_calls or plan.results.late:
        return declined
    call = gate(plan.control, specs, **options)
    if plan.simple and not plan.reads_numbers:
        return call
    simple, reads, read_numbers = plan.simple, plan.reads_numbers, plan.read_numbers

    def run(*args: Any) -> Any:
        if reads:
            read_numbers()
        results = call(*args)
        if results is None:
            plan.give_back()
        elif not simple:
            try:
                plan.finish(())
            except StaticgradError:
                plan.give_back()
                raise
            for i, view in plan.results.copies:
                fill(results, i, view.copy())
        return results

    return run
