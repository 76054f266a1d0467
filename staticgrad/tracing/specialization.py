"""A specialization: one trace of a function, its guards and its plan, and the work before and after a run."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.types import TensorType, shape_text
from ..compiler.execute.fastcall import Spec, Steps
from ..compiler.passes.rewrite import Pass
from ..compiler.passes.specialize import FunctionalGraph
from ..compiler.passes.symbolic_extents import Filler, now
from ..compiler.plan_store import Templates
from ..compiler.program import Program
from ..eager.calls.kernels import copied_as_it_lies
from ..eager.grad_mode import INFERRING, modes, watches_nan
from ..eager.sparse_gradients import sparse_gradient_of
from ..eager.tape import tick, touch
from ..eager.tensor import Structure, Tensor, wrap
from ..errors import GraphError, StaticgradError, TraceError
from ..ir import REGISTRY, Cell, Node, failing
from ..ops.custom_gradient import decision_op
from ..ops.operators import Symbol, append
from .arguments import ArrayKey, CallArguments, UnpackedArguments, inference
from .effects import Former
from .numbers import Condition, NumberFeeds, NumberKey
from .observer.state_watcher import StateWatcher
from .outputs import Build, Move, Results, fetched
from .result_tape import InferenceMarks, result_tape
from .sharing import apart, bounds, check, meets, pattern
from .step_loop import FALLBACK, fallback, make_fast_call
from .traced import Traced
from .traced_backward import DeferredGradientBinding, GradientBinding, fits
from .tracer import Tracer
from .views import memory_of

ndarray = np.ndarray


class _Buffers(dict[Cell, np.ndarray]):
    """The arrays of cells, which eager tensors own."""

    def __missing__(self, cell: Cell) -> np.ndarray:
        return cell.tensor._data


BUFFERS = _Buffers()


class Specialization:
    """See the module. It is made while its trace is active; `compile` makes its plan."""

    __slots__ = ("__dict__", "fast_call", "free", "grad_mode")  # every call reads these: slots are faster

    def __init__(
        self, call: CallArguments, tracer: Tracer, result: Any, observer: StateWatcher, numerics: str = "fast",
        passes: Sequence[Pass] = (), templates: Templates | None = None, saves: bool = False,
        budget: int | float | None = None,
    ):  # fmt: skip
        """saves: a plan whose results can be differentiated returns the values that their backward pass reads."""
        self.key = call.key
        self.called = 0
        """The number of the latest call that looked for it."""
        self.grad_mode = modes.now.grad
        self.owners: list[Tensor] = []
        self.own_grads: list[Tensor | None] = []
        """Tensors whose `.grad` a run sets, and their gradients after the run."""
        self.gradients = -1
        """`Structure.gradients` when all owners had their gradients."""
        self.bindings: dict[int, GradientBinding | DeferredGradientBinding] = {}
        """By the position in `owners`."""
        self.initial_grads: list[tuple[Tensor, Cell | None]] = []
        """(tensor, cell of its gradient at the start) for gradients that the step reads; None for no gradient."""
        self.given_grads: list[tuple[int, bool]] = []
        """(number of an argument, whether it has a gradient that is fed)"""
        self.given_after: list[tuple[int, Build | None]] = []
        """(number of an argument, what gives its gradient)"""
        self.shared_grads: list[tuple[Tensor | int, Build]] = []
        """(tensor, or the position of a result, what gives its gradient), of gradients that share memory with results,
        arguments or other gradients, and of results that have a gradient"""
        self.written_back: list[tuple[int, int, bool]] = []
        """(number of an argument, the fetch that is written to its memory, whether to its gradient's instead)"""
        self.numbers = {id(leaf): i for i, (_, leaf) in enumerate(tracer.arguments)}
        self.numerics = numerics
        self.results = Results(result, self.numbers, observer.log)
        self.own_results = len(self.results.fetches)
        """How many of the plan's results are the function's; values that its gradient needs follow."""
        self.effects = observer.effects
        for effect in self.effects:
            effect.build = self.results.kept(effect.values, observer.existed)
        changed = [effect.holder for effect in self.effects if type(effect.holder) is Former]
        self.formers = list(dict.fromkeys([*changed, *self.results.found]))
        """Containers of the state that a run changes and then replaces, or returns, or stores elsewhere."""
        owners = self._owners(tracer)
        moves = self._find_moves(tracer, owners)
        self.rebindings = [*moves.values()]
        self.moved = [tensor for tensor, leaf in tracer.captured.values() if id(leaf) in moves]
        """Tensors that the function reaches and gives other memory: each run is fed the arrays that they have by then."""
        self.results.share(owners, {id(value) for _, value in tracer.grads.values()})
        tracer.memory.check_picked([*self.results.fetches, *(x for _, x in tracer.grads.values() if isinstance(x, Traced))])
        self.results.seal()
        self.results.forget()
        self.fetches = list(self.results.fetches)
        for fetch in self.fetches:
            tracer.check_active(fetch)
            tracer.memory.check_view(fetch)
        self.assigns: list[tuple[Node, Any]] = []
        feeds = [leaf.origin for _, leaf in tracer.arguments]
        feeds += self._bind_initial_gradients(tracer)
        self._final_gradients(tracer, owners)
        self._changes(tracer, moves)
        members = tracer.members(call.sources, call.array_labels())
        check(members, tracer.places)
        tracer.memory.check_shared()
        observer.check_arrays(members)
        numbers = tracer.given_numbers
        self.first_length = len(feeds) + (0 if numbers is None else len(numbers.nodes))
        """The feed that has the first number that is an extent."""
        feeds += [] if numbers is None else [*numbers.nodes.values(), *numbers.lengths]
        feeds += [leaf.origin for _, leaf in tracer.captured.values() if id(leaf) in moves]
        self.number_feeds: NumberFeeds | None = None if numbers is None else numbers.finish()
        self.pinned: set[int] = set() if numbers is None else numbers.pinned()
        """Numbers of the call whose values the trace needed."""
        results = self.results.fetches
        own = [None if i in self.results.views else x for i, x in enumerate(results)]
        own += [None] * (len(self.fetches) - len(own))
        for number, at, into_grad in self.written_back:
            value = self.fetches[at]
            if not into_grad and not tracer.is_leaf(value.node) and isinstance(call.given[number], Tensor):
                own[at] = value
        self.retained = [i for i, x in enumerate(results) if x.requires_grad and x.retains_grad]
        """Results whose gradients are kept."""
        self.made = [i for i in self.results.views if tracer.leaves.get(results[i].node) is results[i]]
        """Views that the function made leaves."""
        self.hooked = [(i, hook) for i in self.results.views for hook in tracer.hooks.get(results[i].node, {}).values()]
        """Hooks of views."""
        checked = [node for node in tracer.graph.nodes if failing(node)]  # read or not
        self.tape, self.flags = result_tape(self, tracer, own, feeds, saves)
        self.marks = InferenceMarks(
            [x is not None and tracer.memory.is_inference(x.node) for x in own], modes.now.inference is not None
        )
        self.rewritten = [
            x for x, leaf in tracer.captured.values() if id(leaf) in moves and moves[id(leaf)].written is not None
        ]
        """Those of `moved` whose former memory a run changes before."""
        formers = [move.former for move in self.rebindings]
        self.results.early += [i for i, (base, _) in self.results.views.items() if base in formers]
        found = [self.results.views[move.place][0] for move in self.rebindings if move.place in self.results.views]
        self.lends = any(base in owners.values() for base in found)
        """Whether a tensor gets the memory of another one that a run finds: the next run asks whether it may share it."""
        self.settles = bool(self.results.views or self.shared_grads or self.retained)
        self.has_shared_views = bool(tracer.places)
        self.changed_arguments = {number for number, _, into_grad in self.written_back if not into_grad}
        self.changed_arguments |= {number for number, (_, leaf) in enumerate(tracer.arguments) if id(leaf) in moves}
        self.changed_grads = {number for number, _, into_grad in self.written_back if into_grad}
        effects = [append(tracer.graph, REGISTRY["assign"], pair, {}).node for pair in self.assigns]
        effects += checked
        self.checked = bool(checked)
        """Whether a run may raise an error for the values of its operands."""
        if tracer.decisions is not None:
            tracer.decisions.close()
        self.road: tuple[bool, ...] = () if tracer.decisions is None else tuple(tracer.decisions.outcomes)
        """The outcomes of its decisions."""
        self.returns_more = len(self.fetches) > len(self.results.fetches)
        """Whether the plan returns values that are no results of the function."""
        fetches = [fetch.node for fetch in self.fetches]
        self.program = Program(
            tracer.graph, fetches, feeds, effects, draws=tracer.graph.draws, numerics=numerics, passes=passes,
            templates=templates, budget=budget, kept=True,
        )  # fmt: skip
        self.captured = [tensor for tensor, _ in tracer.captured.values()]
        self.told = observer.log.told
        self.captured_ids = frozenset(map(id, [*self.captured, *self.told]))
        self.facts = [_fact(tensor) for tensor in self.captured]
        self.hooks = [(h, tuple(h)) for t in self.captured for h in (t._hooks, t._accumulated) if h is not None]
        self.written = [variable.attrs["cell"] for variable, _ in self.assigns]
        self.uncounted = {id(tensor) for tensor, leaf in tracer.captured.values() if id(leaf) not in tracer.memory.counted}
        """Captured tensors that change by way of `x.data` only, if at all."""
        self.uncounted_arguments = {i for i, (_, leaf) in enumerate(tracer.arguments) if id(leaf) not in tracer.memory.counted}
        self.uses_given = bool(self.results.uses_given or self.given_grads or self.given_after or self.changed_arguments)
        self.ordered = [_row_major(x) for x in call.given] if tracer.memory.ordered else None
        """Which arguments are row-major, where the trace depends on it."""
        self.guards = observer.close(self.captured_ids)
        self.number_places = [i for i, part in enumerate(call.parts) if isinstance(part, NumberKey)]
        """Where the fast call finds run-time numbers among its arguments. The arrays that they are fed as follow the others."""
        self.number_kinds = [part.kind for part in call.parts if isinstance(part, NumberKey)]
        self.unpacked = self._unpacked(call)
        self.inference: list[int] | None = None
        """Which arguments are of `inference_mode`, where the trace depends on it; see `arguments.inference`."""
        if tracer.tracked or tracer.memory.asks_inference:
            self.inference = [*map(inference, call.args if self.unpacked is None else self.unpacked.values)]
        self.inferring = tracer.memory.changes_inference and modes.now.inference is not None
        """Whether it is for calls inside `inference_mode` only."""
        self.specs, self.number_shapes = self._specs(call), self._number_shapes(call)
        self.fast_call: Callable[[tuple[Any, ...]], Any] = fallback
        self.reused = False
        """Whether it has served a call after that for which it was traced."""
        self.undo: Sequence[Callable[[], None]] = ()
        """Undoes the preparations of the trace, until it has run."""
        self.free = False
        """Whether the fast path needs no lock: it checks the guards, runs in one native call, and changes nothing else."""
        self.changes = self.reads = -1
        self.clock = 0
        for traced in (self.fetches, self.assigns, self.results.fetches):
            traced.clear()  # they keep the trace alive, with its graph and the arrays of the first call

    # the results of the trace -----------------------------------------------------------------------------------------

    def _owners(self, tracer: Tracer) -> dict[int, Build]:
        """What gives the eager tensor that a traced one stands for after a run, by id."""
        found: dict[int, Build] = {id(leaf): _argument(number) for number, (_, leaf) in enumerate(tracer.arguments)}
        wrappers = {id(tensor) for _, tensor in tracer.wrappers.values()}
        for tensor, leaf in tracer.captured.values():
            found[id(leaf)] = _captured(tensor, id(tensor) in wrappers)
        for key, grad in tracer.initial_grads.values():
            if grad is not None:
                found[id(grad)] = _gradient(_captured(key, False) if isinstance(key, Tensor) else found[id(key)])
        return found

    def _find_moves(self, tracer: Tracer, owners: dict[int, Build]) -> dict[int, Move]:
        """The tensors that get other memory, by id of what stands for them."""
        found = {}
        for target, memory in tracer.memory.moves.values():
            if id(target) in tracer.memory.given_up:
                found[id(target)] = move = Move(owners[id(target)], self.results.enter(memory))
                owners[id(tracer.memory.given_up[id(target)])] = move.former
        return found

    def _has_grad(self, owner: Tensor, grad: Tensor | None) -> None:
        self.owners.append(owner)
        self.own_grads.append(grad)

    def fetch(self, value: Any) -> int:
        """Have runs compute a value; its position among the results."""
        self.fetches.append(value)
        return len(self.fetches) - 1

    def _bind_initial_gradients(self, tracer: Tracer) -> list[Node]:
        """Bind or feed the gradients that the step reads at its start; returns the feeds."""
        feeds = []
        for key, leaf in tracer.initial_grads.values():
            if isinstance(key, Tensor):
                self.initial_grads.append((key, None if leaf is None else leaf.origin.attrs["cell"]))
                if leaf is not None and leaf.changed:
                    self.assigns.append((leaf.origin, leaf))
            elif id(key) in self.numbers and self._is_tensor(tracer, key):
                number = self.numbers[id(key)]
                self.given_grads.append((number, leaf is not None))
                if leaf is not None:
                    feeds.append(leaf.origin)
                    if leaf.changed:
                        self.written_back.append((number, self.fetch(leaf), True))
        return feeds

    def _is_tensor(self, tracer: Tracer, leaf: Any) -> bool:
        """Whether an argument is a tensor, which has a `.grad`."""
        return isinstance(tracer.arguments[self.numbers[id(leaf)]][0], Tensor)

    def _final_gradients(self, tracer: Tracer, owners: Mapping[int, Build]) -> None:
        """Find `.grad` after a run: None, a tensor of the user, the one at the start, one that others have, or a new one, which
        gets a binding."""
        times = Counter(id(value) for _, value in tracer.grads.values())
        known: dict[int, Build | None] = {}
        for key, value in tracer.grads.values():
            if value is not None and value is tracer.initial_grads.get(id(key), (None, None))[1]:
                continue
            if isinstance(value, Traced) and id(value) not in known:
                known[id(value)] = self._shared_gradient(tracer, value, owners, times[id(value)] > 1)
            shared = known.get(id(value))
            if not isinstance(key, Tensor):
                place = self.results.place(key)
                if id(key) in self.numbers and self._is_tensor(tracer, key):
                    self.given_after.append((self.numbers[id(key)], None if value is None else shared or self._fetched(value)))
                elif value is not None and place is not None:
                    self.shared_grads.append((place, shared or self._fetched(value)))
            elif value is None or isinstance(value, Tensor):
                self._has_grad(key, value)
            elif shared is not None:
                self.shared_grads.append((key, shared))
            else:
                self._bind_gradient(tracer, key, value)

    def _fetched(self, value: Any) -> Build:
        """What gives a value that runs compute for this."""
        return fetched(self.fetch(value))

    def _shared_gradient(self, tracer: Tracer, value: Traced, owners: Mapping[int, Build], several: bool) -> Build | None:
        """What gives a gradient that is a result as well, what `owners` give, or the gradient of several tensors; else None."""
        root, steps = memory_of(value, owners)
        if id(root) in owners:
            if steps:
                tracer.refuse("a gradient of the compiled function is a view of a tensor that it is given or reaches")
            return owners[id(root)]
        at = self.results.position(value)
        return fetched(at) if at is not None else self._fetched(value) if several else None

    def _bind_gradient(self, tracer: Tracer, key: Tensor, value: Any) -> None:
        """Bind a gradient. Of a sparse one only the parts are bound, where the step itself updates their rows."""
        name = f"{key.name if key.name else 'tensor'}.grad"
        sparse = sparse_gradient_of(value.node)
        updated = id(key) in tracer.captured and tracer.captured[id(key)][1].changed
        binding: GradientBinding | DeferredGradientBinding
        if sparse is None or not updated:
            tensor = wrap(np.zeros(key.shape, key.dtype))
            binding = GradientBinding(key, self._assigned(tracer, tensor, name, value))
        else:
            cells = []
            for i, part in enumerate(sparse.parts):
                place = wrap(np.zeros([*map(now, part.type.shape)], part.type.dtype))
                cells.append(self._assigned(tracer, place, f"{name} part {i}", Symbol(tracer.graph, part), part.type))
            binding = DeferredGradientBinding(key, sparse, cells)
            tensor = binding.tensor
        self.bindings[len(self.owners)] = binding
        self._has_grad(key, tensor)

    def _assigned(self, tracer: Tracer, tensor: Tensor, name: str, value: Any, kind: TensorType | None = None) -> Cell:
        variable = tracer.variable(tensor, name, kind).origin
        self.assigns.append((variable, value))
        return variable.attrs["cell"]

    def _changes(self, tracer: Tracer, moves: Mapping[int, Move]) -> None:
        """In-place changes of captured tensors, and of arguments. moves: those that get other memory, by id of their leaves."""
        for tensor, known in tracer.captured.values():
            leaf = tracer.memory.at_start(known)
            if leaf.changed:
                if leaf.requires_grad and not leaf.is_leaf and not tensor._tracked:
                    tracer.refuse(
                        f"{leaf.describe()}, a tensor that the function reaches, is changed in place by a value that requires "
                        "grad: it would have a tape after the call",
                        "change it under sg.no_grad(), or by a detach()",
                    )
                if known is leaf:
                    self.assigns.append((leaf.origin, leaf))
                else:
                    moves[id(known)].written = self.fetch(leaf)
        for number, (given, argument) in enumerate(tracer.arguments):
            former = tracer.memory.given_up.get(id(argument), argument)
            if former.changed:
                if not isinstance(given, (Tensor, ndarray)):
                    tracer.refuse(f"a compiled function can't change a {type(given).__name__} in place")
                if former is argument:
                    self.written_back.append((number, self.fetch(argument), False))
                else:
                    moves[id(argument)].written = self.fetch(former)

    def _specs(self, call: CallArguments) -> list[Spec] | None:
        """The properties of each argument that the fast call checks; None for arguments that need the slower path."""
        unpacked = self.unpacked
        values = unpacked.take() if unpacked is not None else []
        if call.distinct or any(type(x) is ndarray for x in self.told):
            return None
        if unpacked is None or self.uses_given or self.has_shared_views or (unpacked.checks and self.formers):
            return None
        parts = unpacked.parts
        if unpacked.checks and any(isinstance(part, NumberKey) for part in parts):
            return None
        if self.tape is not None and any(effect.build is not None for effect in self.effects):
            return None
        if self.ordered is not None and not all(self.ordered):
            return None
        if any(isinstance(part, ArrayKey) and (part.requires_grad or part.parameter) for part in parts):
            return None
        arrays = enumerate(call.arrays)
        specs = []
        for part, arg in zip(parts, values, strict=True):
            if isinstance(part, NumberKey):
                continue
            if isinstance(part, ArrayKey):
                _, array = next(arrays)
                specs.append(Spec(array.dtype, part.shape, bare=not part.tensor))
            else:
                specs.append(Spec(None, (), arg))
        if self.number_feeds is not None:
            specs += [Spec(x.dtype, x.shape) for x in self.number_feeds.arrays(call.numbers) or ()]
        return specs + [Spec(x.dtype, tuple(x.shape)) for x in self.moved]

    def _unpacked(self, call: CallArguments) -> UnpackedArguments | None:
        """The arguments without containers; None for those that need the slower path."""
        if call.kwargs or call.apart:
            return None
        try:
            return UnpackedArguments(call)
        except TypeError:
            return None

    def _number_shapes(self, call: CallArguments) -> list[tuple[int, ...]]:
        found = None if self.number_feeds is None else self.number_feeds.arrays(call.numbers)
        return [x.shape for x in found or ()]

    def numbers_suit(self, call: CallArguments) -> bool:
        """Whether the trace holds for the run-time numbers of a call, and the plan where some are extents."""
        if self.number_feeds is None:
            return True
        found = self.number_feeds.arrays(call.numbers)
        return found is not None and [x.shape for x in found] == self.number_shapes

    # other shapes ----------------------------------------------------------------------------------------------------

    def accepts(self, call: CallArguments) -> bool:
        """Whether the trace is valid for arguments of the same kind, whatever their extents: its guards hold."""
        return (
            self.grad_mode is modes.now.grad
            and not self.has_shared_views
            and self.suits(call.given)
            and (self.number_feeds is None or self.number_feeds.arrays(call.numbers) is not None)
            and self.holds()
            and self._same_hooks()
            and all((t._gradient is None) if cell is None else t._gradient is not None and fits(t._gradient, cell)
                    for t, cell in self.initial_grads)
        )  # fmt: skip

    def cells(self, prepared: FunctionalGraph, filler: Filler, first: bool) -> dict[Cell, Cell]:
        """Storage for the variables of the program with these extents. first: the tensors that the trace made are not in use
        yet."""
        made = {cell for binding in self.bindings.values() for cell in binding.cells}
        grads = {cell: holder for holder, cell in self.initial_grads if cell is not None}
        read = [node.attrs["cell"] for node in prepared.graph.nodes if node.op.leaf == "variable"]
        result = {}
        for cell in dict.fromkeys([*read, *(cell for cell, _ in prepared.assigns), *made, *grads]):
            kind, tensor = filler.type(cell.type), cell.tensor
            if cell in grads:
                tensor = grads[cell]._gradient
            elif cell in made and not first:
                tensor = wrap(np.zeros(kind.shape, kind.dtype))
            result[cell] = Cell(cell.name, kind, tensor=tensor)
        return result

    def again(
        self, call: CallArguments, program: Program, filler: Filler, cells: Mapping[Cell, Cell], first: bool
    ) -> Specialization:
        """This trace for a call with other extents, over storage of its own. first: of the call that was traced."""
        new = copy.copy(self)
        new.key, new.program = call.key, program
        new.bindings = {at: binding.again(filler, cells) for at, binding in self.bindings.items()}
        new.owners, new.own_grads = [*self.owners], [*self.own_grads]
        new.gradients = self.gradients = -1
        for at, binding in new.bindings.items():
            new.own_grads[at] = binding.tensor
        new.initial_grads = [(tensor, None if cell is None else cells[cell]) for tensor, cell in self.initial_grads]
        new.written = [cells[cell] for cell in self.written]
        new.effects = [effect.again(filler.number, first) for effect in self.effects]
        new.results = self.results.again(filler.attribute)
        new.unpacked = new._unpacked(call)
        new.specs, new.number_shapes = new._specs(call), new._number_shapes(call)
        new.tape = None if self.tape is None else self.tape.again(filler, cells)
        if first:
            for at, binding in self.bindings.items():
                self.own_grads[at] = None
                binding.release()
            for _, cell in self.initial_grads:
                if cell is not None:
                    cell.tensor = None
        return new

    # before a run -----------------------------------------------------------------------------------------------------

    def compile(self, call: CallArguments, traced: bool = True) -> None:
        """Make the plan and bind it. traced: just now. Raises TraceError when tensors share memory that the step writes."""
        self.plan = self.program.plan(*self.fed(call.arrays, call))
        if traced:
            self.guards.freeze()
        state = call.args[-1] if len(call.args) > call.own else None
        numbers = state is not None and state.numbers  # which only calls under the lock take
        changes = (
            self.written
            or self.owners
            or self.initial_grads
            or self.effects
            or self.formers
            or self.rebindings
            or self.results.one_at_a_time
        )
        self.free = self.plan.atomic and not (changes or numbers)
        self.bind(Structure.changes)
        self.sharing = self._sharing(call)

    def _sharing(self, call: CallArguments) -> tuple[Any, ...]:
        """How the arguments share memory that the step writes, with one another and with captured tensors."""
        if not (self.changed_arguments or self.changed_grads or self.updated or self.rewritten):
            return ()
        grads = [(call.given[n]._gradient._data, n in self.changed_grads) for n, fed in self.given_grads if fed]
        mine = [(array, number in self.changed_arguments) for number, array in enumerate(call.sources)] + grads
        moved = [(*bounds(x._data), x, any(x is other for other in self.rewritten)) for x in self.moved]
        return pattern(mine, call.given, [*self.places, *moved])

    def shares(self, call: CallArguments) -> bool:
        """Whether the arguments share memory as those of the trace did."""
        return self._sharing(call) == self.sharing

    def touches(self, array: ndarray) -> bool:
        """Whether a run changes memory of the array in place."""
        low, high = bounds(array)
        return any(changes and low < end and begin < high for begin, end, _, changes in self.places)

    def fed(self, arrays: list[ndarray], call: CallArguments) -> list[ndarray]:
        """The arrays, with those of the arguments' gradients and of the call's numbers."""
        more = [np.asarray(call.given[number]._gradient._data, order="C") for number, fed in self.given_grads if fed]
        if self.number_feeds is not None:
            numbers = self.number_feeds.arrays(call.numbers)
            assert numbers is not None  # the specialization was found for them
            more += numbers
        more += [x._data for x in self.moved]
        return [*arrays, *more] if more else arrays

    def take(self, call: CallArguments) -> list[ndarray]:
        """The arrays of any arguments, copied where the step writes their memory."""
        return self.fed([self.apart(array) for array in (call.sources if self.plan.strict else call.arrays)], call)

    def apart(self, array: ndarray) -> ndarray:
        """The array, or a copy where the step writes its memory."""
        low = array.__array_interface__["data"][0]
        return copied_as_it_lies(array) if meets(self.ranges, low, low + array.nbytes) else array

    def ready(self) -> bool:
        """Whether the guards hold. Binds the plan again where memory has moved."""
        changes = Structure.changes
        if not (self.guards.current() if self.changes == changes else self.holds()):
            return False
        if not self.gradients_ready():
            return False
        if self.changes != changes:
            self.bind(changes)
        return True

    def _same_hooks(self) -> bool:
        return all(tuple(hooks) == keys for hooks, keys in self.hooks)

    def unmoved(self) -> bool:
        """Whether hooks and initial gradients are those that the plan is bound to."""
        for hooks, keys in self.hooks:
            if tuple(hooks) != keys:
                return False
        return all(t._gradient is (None if cell is None else cell.tensor) for t, cell in self.initial_grads)

    def gradients_ready(self) -> bool:
        """Whether hooks and initial gradients fit. Other tensors that fit are bound at the next `bind`."""
        for hooks, keys in self.hooks:
            if tuple(hooks) != keys:
                return False
        for tensor, cell in self.initial_grads:
            g = tensor._gradient
            if cell is None:
                if g is not None:
                    return False
            elif g is not cell.tensor:
                if g is None or not fits(g, cell):
                    return False
                cell.tensor = g
                self.changes = -1  # until it is bound
                self.fast_call = fallback
        return True

    def holds(self) -> bool:
        """Whether guards, modules, optimizers and captured tensors are unchanged."""
        return [_fact(tensor) for tensor in self.captured] == self.facts and self.guards.holds() and not self._meets_arrays()

    def _meets_arrays(self) -> bool:
        """Whether a captured tensor has come to share memory with an array of which runs read or write the values in Python."""
        holders = [effect.holder for effect in self.effects] + [
            read.holder for read in self.guards.reads if read.kind == "contents"
        ]
        arrays = [x for x in holders if isinstance(x, ndarray)]
        return any(np.may_share_memory(array, tensor._data) for array in arrays for tensor in self.captured)

    def suits(self, given: Sequence[Any]) -> bool:
        """Whether no argument is a captured tensor, each has a gradient or not as in the trace, and the mode allows its
        changes."""
        if self.inferring and modes.now.inference is None:
            return False
        for x in given:
            if id(x) in self.captured_ids:
                return False
        if self.ordered is not None and [_row_major(x) for x in given] != self.ordered:
            return False
        for number, fed in self.given_grads:
            g = getattr(given[number], "_gradient", None)
            if (g is not None) is not fed or (g is not None and g._record is not None):
                return False
        return True

    def bind(self, changes: int) -> None:
        """Point the plan at the tensors' buffers, which may have moved. changes: `Structure.changes` when the guards were
        checked. Raises TraceError for tensors that share memory."""
        self.plan.alone(self.plan.bind, BUFFERS)
        written = [cell.tensor for cell in self.written]
        reached = [*(cell.tensor for cell in self.plan.builder.cells), *self.moved]
        self.ranges = apart([*written, *self.rewritten], reached)
        bindings = {id(cell.tensor) for binding in self.bindings.values() for cell in binding.cells}
        self.updated = [tensor for tensor in written if id(tensor) not in bindings]
        self.counted = [tensor for tensor in self.updated if id(tensor) not in self.uncounted]
        updated = set(map(id, self.updated))
        more = [cell.tensor for cell in self.plan.builder.cells if id(cell.tensor) not in bindings]
        self.places = [(*bounds(t._data), t, id(t) in updated) for t in {id(t): t for t in [*self.updated, *more]}.values()]
        self.changes = changes
        made = make_fast_call(self)
        self.fast_call = made if self.reused or made is fallback else partial(self._second_call, made)

    def _second_call(self, made: Callable[[tuple[Any, ...]], Any], given: tuple[Any, ...]) -> Any:
        """The fast call until it has served one."""
        result = made(given)
        if result is not FALLBACK:
            self.reused = True
            if self.fast_call is not fallback:  # the run has not taken it back
                self.fast_call = made
        return result

    def _renew_held(self) -> None:
        """Give the step new gradients in place of those that the user holds."""
        reads, renewed = Structure.reads, False
        try:
            for at, binding in self.bindings.items():
                if binding.held():
                    renewed = True
                    self.owners[at], self.own_grads[at] = binding.holder, binding.renew()
                    self.gradients = -1
        finally:
            if renewed:  # also after an allocation failed: earlier bindings were renewed
                self.bind(self.changes)
        self.reads = reads

    # the run ------------------------------------------------------------------------------------------------------------

    def execute(self, arrays: list[ndarray], given: Sequence[Any]) -> list[ndarray]:
        """One run of the plan on arrays that came from `given`. Nothing is changed when it raises an error of the package."""
        if self.written_back:
            self._check_writeable(given)
        if self.reads != Structure.reads:
            self._renew_held()
        return self.plan.run_watched(arrays, BUFFERS) if watches_nan() else self.plan.alone(self.plan.execute, arrays)

    def complete(self, results: list[ndarray], call: CallArguments, arrays: list[ndarray]) -> Any:
        """What follows the run of the plan, which has changed state: gradients, effects, and the results of the function."""
        self.undo = ()
        self.finish()
        return self._built(results, call, arrays)

    def missed(self) -> tuple[bool, ...] | None:
        """The first outcomes of the call whose fast call has just met another road than this one; None where there is none."""
        stopped = self.plan.stopped_at() if self.road else None
        if stopped is None or stopped.name != decision_op.name:
            return None
        number, _ = stopped.sizes[-2:]
        return (*self.road[:number], not self.road[number])

    def moves(self, read: Any) -> bool:
        """Whether a run itself changes the state of a guard."""
        return read is not None and (
            isinstance(read.holder, Condition) or any(effect.holder is read.holder for effect in self.effects)
        )

    def replay(self, tensors: Sequence[Any] = (), given: Sequence[Any] = (), containers: Sequence[Any] = ()) -> None:
        """Perform the function's effects on Python's state. containers: among the arguments."""
        self.results.release()
        for former in self.formers:
            former.find(containers)
        for effect in self.effects:
            effect.run(tensors, given)

    @property
    def steady(self) -> bool:
        """Whether steps can follow one another without checking guards: none changes the state that the next one reads."""
        after = {id(tensor): g for tensor, g in zip(self.owners, self.own_grads, strict=True)}
        same = all(
            after.get(id(tensor), None if cell is None else cell.tensor) is (None if cell is None else cell.tensor)
            for tensor, cell in self.initial_grads
        )
        alike = same and self.specs is not None and self.number_feeds is None and not self.effects and not self.road
        alike = alike and self.unpacked is not None and not self.unpacked.checks
        alike = alike and not (self.shared_grads or self.retained or self.made or self.hooked or self.rebindings)
        return alike and Steps.suit(self.plan)

    def run_steps(self, feeds: Any, before: int) -> tuple[list[ndarray], int]:
        """Steps on arrays at the addresses of `feeds`, up to one that raises an error of the code, which runs by itself: the
        stacked results, and how many steps there were."""
        if self.reads != Structure.reads:
            self._renew_held()
        addresses, ids, _ = feeds
        steps = Steps(self.plan, addresses, ids)
        try:
            self.plan.alone(steps.run, before)
        except StaticgradError as error:
            if isinstance(error, (MemoryError, GraphError)) or not self.plan.repeatable:
                raise
        finally:
            if steps.done:
                self.undo = ()
                self.finish()
        return [value[: steps.done] for value in steps.results], steps.done

    def finish(self) -> None:
        """Tell the tape which tensors were written, and set the gradients."""
        if self.counted:
            now = tick()
            if now != self.clock + 1:  # records made meanwhile may have read the memory that was written now
                for tensor in self.counted:
                    now = touch(tensor)
            self.clock = now
        owners, grads = self.owners, self.own_grads
        if owners and (self.gradients != Structure.gradients or owners[-1]._gradient is not grads[-1]):
            for tensor, g in zip(owners, grads, strict=True):
                tensor._gradient = g
            Structure.gradients += 1
            self.gradients = Structure.gradients

    def meets(self, args: Sequence[Any]) -> bool:
        """Whether an argument may share memory that a run writes before it gives it up."""
        arrays = [x._data if isinstance(x, Tensor) else x for x in args if isinstance(x, (Tensor, ndarray))]
        return any(np.may_share_memory(array, x._data) for x in self.rewritten for array in arrays)

    def rebind(self, tensors: list[Tensor], given: Sequence[Any]) -> None:
        """Give tensors other memory. The plan is not bound to the former."""
        changes = Structure.changes
        self.results.rebind(self.rebindings, tensors, given)
        if self.changes == changes and not self.lends:
            self.changes = Structure.changes

    def settle(self, tensors: list[Tensor], given: Sequence[Any] = ()) -> list[Tensor]:
        """Make results share memory, and set gradients that are results, and those of results."""
        self.results.join(tensors, given)
        for position in self.made:
            tensors[position].requires_grad_()
        for position, hook in self.hooked:
            tensors[position].register_hook(hook)
        for position in self.retained:
            tensors[position].retain_grad()
        for owner, build in self.shared_grads:
            (tensors[owner] if isinstance(owner, int) else owner)._gradient = build(tensors, given)
            Structure.gradients += 1
        return tensors

    def _built(self, arrays: list[ndarray], call: CallArguments, fed: Sequence[ndarray]) -> Any:
        """The results of a run, as the user's function returned them."""
        given = call.given
        tensors = [wrap(array) for array in arrays]
        if self.rebindings:
            self.rebind(tensors, given)
        if self.flags is not None:
            self.flags.set(tensors, given)
        if INFERRING or self.marks.inside:
            self.marks.set(tensors)
        if self.tape is not None:
            self.tape.record(tensors, fed, given)
        if self.uses_given:
            self._write_back(tensors, given)
        if self.settles:
            self.settle(tensors, given)
        if self.effects or self.formers:
            self.replay(tensors, given, [*call.containers.values()])
        if self.results.single:
            return tensors[0]
        return self.results.build(tensors, given)

    def built(self, tensors: list[Tensor], given: Sequence[Any]) -> Any:
        """The results of one of many steps."""
        if self.flags is not None:
            self.flags.set(tensors, given)
        if INFERRING or self.marks.inside:
            self.marks.set(tensors)
        return self.results.build(self.results.join(tensors, given), given)

    def _check_writeable(self, given: Sequence[Any]) -> None:
        for number, _, into_grad in self.written_back:
            x = given[number]._gradient if into_grad else given[number]
            array = x._data if isinstance(x, Tensor) else x
            if not isinstance(array, ndarray):
                raise TraceError(f"a compiled function can't change a {type(array).__name__} in place")
            if not array.flags.writeable:
                raise TraceError(
                    f"a compiled function can't change an argument of shape {array.shape} whose memory is read-only",
                    "pass a copy of it, or compute a new tensor from it",
                )

    def _write_back(self, tensors: list[Tensor], given: Sequence[Any]) -> None:
        for number, fetch, into_grad in self.written_back:
            x = given[number]._gradient if into_grad else given[number]
            if isinstance(x, Tensor) and tensors[fetch]._tracked:
                x.copy_(tensors[fetch])
            elif isinstance(x, Tensor):
                x._data[...] = tensors[fetch]._data
                if into_grad or number not in self.uncounted_arguments:
                    touch(x)
            else:
                x[...] = tensors[fetch]._data
        for number, build in self.given_after:
            if isinstance(given[number], Tensor):
                given[number].grad = None if build is None else build(tensors, given)


def _argument(number: int) -> Build:
    """An argument as a tensor."""
    return lambda tensors, given: x if isinstance(x := given[number], Tensor) else wrap(x)


def _captured(tensor: Tensor, wrapper: bool) -> Build:
    """A tensor of the state. wrapper: it was made for the memory of an array, so each result is another one."""
    return lambda tensors, given: tensor.detach() if wrapper else tensor


def _gradient(owner: Build) -> Build:
    return lambda tensors, given: owner(tensors, given)._gradient


def _fact(tensor: Tensor) -> tuple[Any, ...]:
    """The properties of a captured tensor that a trace depends on."""
    data = tensor._data
    hooks = (*(tensor._hooks or ()), *(tensor._accumulated or ()))
    return tensor._tracked, data.shape, data.dtype, data.flags.c_contiguous, data.flags.writeable, hooks


def difference(specialization: Specialization, call: CallArguments) -> str:
    """Why a specialization for a call with the same kinds of arguments did not apply, in words."""
    if specialization.number_feeds is not None and specialization.key == call.key:
        told = specialization.number_feeds.difference(call.numbers)
        if told:
            return told
    changed = specialization.guards.difference()
    if changed is not None:
        return changed
    names = ("requires_grad", "shape", "dtype", "being in row-major order", "being writeable", "hooks")
    for tensor, old in zip(specialization.captured, specialization.facts, strict=True):
        for name, a, b in zip(names, old, _fact(tensor), strict=True):
            if a != b:
                label = tensor.name if tensor.name else f"a tensor of shape {shape_text(tensor.shape)}"
                return f"{label}: {name} {b} instead of {a}" if name != "hooks" else f"{label} has other hooks"
    if specialization.grad_mode is not modes.now.grad:
        return f"grad mode is {'on' if modes.now.grad else 'off'}"
    if specialization.inferring and modes.now.inference is None:
        return "it changes a tensor of inference_mode, outside of that"
    for tensor, cell in specialization.initial_grads:
        if (tensor._gradient is None) is not (cell is None):
            label = tensor.name if tensor.name else f"a tensor of shape {shape_text(tensor.shape)}"
            return f"{label} has {'a gradient' if cell is None else 'no gradient'} at the start"
    return "the arguments have other gradients"


def _row_major(x: Any) -> bool:
    """Whether the elements of an argument lie in row-major order."""
    array = x._data if isinstance(x, Tensor) else x
    return not isinstance(array, ndarray) or array.flags.c_contiguous
