"""Groups of processes that exchange arrays, through MPI.

A group has a number, by which ops name it: all processes make their groups in one order, so the number means the same group in
each of them. mpi4py is imported where a launcher started several processes. One process by itself is a group of size 1, whose
exchanges are copies, and needs no MPI.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import time
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, StaticgradError, user_line
from .interpreter import is_installed, need
from .types import Shape, shape_text

if TYPE_CHECKING:
    from .process_watch import Watch

LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
"""What the launchers of Open MPI, MPICH, Intel's MPI and SLURM tell each process that they start: the number of processes."""
OPS = {
    "sum": "SUM", "avg": "SUM", "product": "PROD", "min": "MIN", "max": "MAX", "band": "BAND", "bor": "BOR", "bxor": "BXOR",
}  # fmt: skip
"""How values are combined, and MPI's name for it."""
TIMEOUT = 1800.0
"""Seconds that a process waits for the others where a program sets no time, as PyTorch's do."""
ENDED = 1.0
"""Seconds that a process waits for one that has come to the end of the program: the last exchange may be on its way."""
PROMPT = 0.001
"""Seconds of waiting after which a process sleeps between two looks: others may need its CPU."""


divided: dict[int, int] = {}
"""By the id of a parameter whose gradient goes to one process alone, the rank of that one. An optimizer that knows nothing of
it would leave the parameter as it is in the others. The entry goes with the parameter."""


class DistError(StaticgradError, RuntimeError):
    """Processes that train together can't do what they are asked to.

    Examples:
        A call of `sg.distributed.all_reduce` before `init_process_group`.
    """


class Told(NamedTuple):
    """An exchange, as members tell each other of it. what, line: in words, and the user's line. function, reduction, root,
    table: of an exchange by a plan, as of `Exchange`; dtype, shape: of what a member sends."""

    what: str
    line: str
    function: str = ""
    reduction: str = ""
    root: int = 0
    dtype: str = ""
    shape: tuple[int, ...] = ()
    table: int = -1


IDLE = Told("nothing, since it has no input left", "")
"""What a member tells that has no inputs, and takes part in the exchanges of others' plans ..."""
STOPS = IDLE._replace(root=1)
"""... or ends the loop of all."""


EXHAUSTED = "exhausted all inputs."
OTHERS_EXHAUSTED = "Detected at least one rank that exhausted inputs. Throwing across all ranks."


class Agreed(DistError):
    """Members have other numbers of rows, and have agreed on one: the call begins anew, with another plan. No user sees it."""


class Communicator:
    """One group. ranks: those of its members among all processes, in the group's order; mpi: mpi4py's communicator, None for
    a process by itself and for a process that is no member; rank: this process's in the group, -1 for no member; timeout:
    seconds that a member waits for the others to begin an exchange."""

    def __init__(self, number: int, ranks: tuple[int, ...], mpi: Any, rank: int, timeout: float = TIMEOUT):
        self.number = number
        self.ranks = ranks
        self.mpi = mpi
        self.rank = rank
        self.timeout = timeout
        self.count = np.zeros(1, np.int64)
        """How many exchanges have begun, all of a plan counted as one; plans count, too."""
        self.writer: Any = None
        """The thread that writes checkpoints, once there was one."""
        self.tables: list[Callable[[int], None]] = []
        """Of each table whose rows travel, what is told how many all processes can send."""
        self._channel: Communicator | None = None

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.ranks)

    def channel(self) -> Communicator:
        """The same group, for exchanges in another thread that are none of the program's order. All members call it. Raises
        DistError for an MPI that one thread alone may use."""
        if self._channel is None:
            mpi = self.mpi
            if mpi is not None:
                from mpi4py import MPI

                if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
                    raise DistError("this MPI serves one thread alone", "save without another thread: checkpoint.save")
                mpi = mpi.Dup()
            self._channel = Communicator(self.number, self.ranks, mpi, self.rank, self.timeout)
        return self._channel

    def meet(self, name: str, values: np.ndarray | None = None, *how: Any, timeout: float | None = None) -> None:
        """Wait until all members begin the same exchange, as each of them has to: MPI would wait forever, or mix up values.

        name, values, how: of what the members compare; timeout: in place of the group's. Raises DistError where they differ, in
        all members and before anything is exchanged, and where a member has not come within the timeout.
        """
        what = text_of(name, *how) if values is None else text_of(name, *how, of=(values.dtype, values.shape))
        if not self._alike(what, timeout):
            line = user_line()
            raise self.differ(self.learn([Told(what, "" if line is None else f"{line[0]}:{line[1]}")]))

    def _alike(self, what: str, timeout: float | None = None) -> bool:
        """Whether all members, for which this one waits, have come with such an exchange."""
        if self.mpi is None:
            return True
        mine = np.array([self.number_of_next(digest([what]))])
        found = np.empty(self.size, mine.dtype)
        self._await(self.mpi.Iallgather(mine, found), what, timeout)
        return not (found != mine).any()

    def _await(self, request: Any, what: str, timeout: float | None = None) -> None:
        """Wait for the end of an exchange. Raises DistError as `check` does."""
        longest, since = self.timeout if timeout is None else timeout, time.monotonic()
        while not request.Test():
            waited = time.monotonic() - since
            self.check(what, waited, longest)
            time.sleep(0 if waited < PROMPT else PROMPT)

    def accompany(self, values: np.ndarray, told: Told) -> bool:
        """`all_reduce` with "sum", of a member without inputs. Where the others come with a plan, it takes part in the plan's
        exchanges, with values that change nothing, and returns False. told: IDLE or STOPS."""
        if self._alike(text_of("all_reduce", "sum", of=(values.dtype, values.shape))):
            self._combine(values, "sum")
            return True
        for each in self.plan_beside_idle(self.learn([told])):
            self._await(self._with_nothing(each), each.what)
        return False

    def plan_beside_idle(self, all_of_them: Sequence[Sequence[Told]]) -> Sequence[Told]:
        """The exchanges of the plan with which all members come that have inputs. Raises DistError where they differ, where
        there are no others than those, and where a value of a member without inputs is to go to all."""
        going = [theirs for theirs in all_of_them if theirs[0].what != IDLE.what]
        if any(theirs[0] == STOPS for theirs in all_of_them):
            raise DistError(f"Rank {self.rank} {EXHAUSTED}" if all_of_them[self.rank][0] == STOPS else OTHERS_EXHAUSTED)
        plan = going[0]
        if len({tuple([(each.what, each.function) for each in theirs]) for theirs in going}) > 1 or not plan[0].function:
            raise self.differ(all_of_them)
        for each in plan:
            if each.function == "Ibcast" and all_of_them[each.root][0] == IDLE:
                raise DistError(
                    f"{each.what}: rank {self.ranks[each.root]} has no input left, and would have to send a value of this step",
                    f"at {each.line}",
                    "call the step without sg.compile inside the context",
                )
        return plan

    def _with_nothing(self, told: Told) -> Any:
        """Begin an exchange of others' plans with values that change nothing. Returns MPI's request."""
        from mpi4py import MPI

        dtype = np.dtype(told.dtype)
        sent = np.full(told.shape, neutral(told.reduction, dtype) if told.table < 0 or dtype.kind == "f" else -1, dtype)
        match told.function:
            case "Iallgather":
                return self.mpi.Iallgather(plain(sent), plain(np.empty((self.size, *told.shape), dtype)))
            case "Ialltoall":
                return self.mpi.Ialltoall(plain(sent), plain(np.empty_like(sent)))
            case "Ibcast":
                return self.mpi.Ibcast(plain(sent), told.root)
            case "Iallreduce":
                return self.mpi.Iallreduce(plain(sent), plain(np.empty_like(sent)), getattr(MPI, OPS[told.reduction]))
            case "Ireduce":
                return self.mpi.Ireduce(plain(sent), plain(np.empty_like(sent)), getattr(MPI, OPS[told.reduction]), told.root)
            case "Ireduce_scatter_block":
                out = np.empty(told.shape[1:], dtype)
                return self.mpi.Ireduce_scatter_block(plain(sent), plain(out), getattr(MPI, OPS[told.reduction]))
        raise AssertionError(told.function)

    def number_of_next(self, of: int) -> int:
        """What members compare before they exchange: a digest of one exchange, or of all of a plan, and its number."""
        self.count += 1
        return of | self.exchanges << 32

    def check(self, what: str, waited: float, longest: float) -> None:
        """Look at the others while one waits for them. what: for what; waited, longest: seconds so far, and at most. Raises
        DistError where another process has failed or ended, or has not come within the time."""
        if watch is None:
            if waited > longest:
                raise self.late(what, longest)
            return
        if watch.failure is not None:
            raise DistError(f"{what}: {watch.failure}")
        if waited > ENDED and (crossed := watch.crossed(self.number, self.exchanges, what, waited)):
            raise DistError(
                f"{what}: {len(crossed)} processes wait for each other",
                *crossed,
                "all processes perform the exchanges of all groups in the same order",
            )
        if waited > longest or (waited > ENDED and watch.ended_for(self.ranks) > ENDED):
            raise self.late(what, longest)

    def late(self, what: str, longest: float, *details: str) -> DistError:
        """The error of a member that waited so many seconds."""
        return DistError(
            f"{what}: not all of the ranks {list(self.ranks)} came to exchange {self.exchanges} within {longest:g} s",
            *details,
            *([] if watch is None else watch.whereabouts(self.number, self.ranks)),
            "all processes of a group perform the same exchanges in the same order; "
            "init_process_group(timeout=timedelta(...)) says how long they wait for each other",
        )

    def learn(self, mine: Sequence[Told]) -> list[list[Told]]:
        """What all members are about to exchange, which have found that it is not the same; each of them calls this."""
        self.count += 1
        told = np.frombuffer(pickle.dumps(list(mine)), np.uint8)
        sizes = np.empty(self.size, np.int64)
        what = "comparison of different exchanges"
        self._await(self.mpi.Iallgather(np.array([len(told)]), sizes), what)
        found = np.empty(int(sizes.sum()), np.uint8)
        self._await(self.mpi.Iallgatherv(told, [found, sizes.tolist()]), what)
        return [pickle.loads(part.tobytes()) for part in np.split(found, np.cumsum(sizes)[:-1])]

    def agree_on_rows(self, all_of_them: Sequence[Sequence[Told]]) -> bool:
        """Whether members differ only in how many rows of their tables travel. Tells these tables how many all can send."""
        most: dict[int, list[int]] = {}
        for each in zip_longest(*all_of_them):
            if None in each or len({told._replace(what="", line="", shape=told.shape[1:]) for told in each}) > 1:
                return False
            if each[0].table >= 0:
                most.setdefault(each[0].table, []).extend(told.shape[0] for told in each)
            elif len({told.what for told in each}) > 1:
                return False
        for table, rows in most.items():
            if len({*rows}) > 1:
                self.tables[table](rounded_up(max(rows)))
        return True

    def differ(self, all_of_them: Sequence[Sequence[Told]]) -> DistError:
        """The error of members that are at different exchanges, which they have told each other."""
        whats = [[told.what for told in theirs] for theirs in all_of_them]
        first = next((i for i, each in enumerate(zip_longest(*whats)) if len({*each}) > 1), 0)
        at = [[*theirs[first : first + 1], Told("nothing more", "")][0] for theirs in all_of_them]
        told = [", ".join(filter(None, (each.what, each.line))) for each in at]
        return DistError(
            f"processes are at different exchanges ({self.exchanges - 1} of the group)\n"
            + "\n".join(f"  rank {rank}: {each}" for rank, each in zip(self.ranks, told, strict=True)),
            "all processes of a group perform the same exchanges, of equal shapes and dtypes, in the same order",
        )

    @property
    def exchanges(self) -> int:
        """How many have begun."""
        return int(self.count[0])

    @property
    def native(self) -> bool:
        """Whether plans call MPI themselves, also where processes are supposed to be there."""
        return self.mpi is not None or (self.size > 1 and is_installed("mpi4py"))

    @property
    def supposed(self) -> bool:
        """Whether the other members are only supposed to be there."""
        return self.mpi is None and self.size > 1

    @property
    def present(self) -> int:
        """The number of members, 1 without MPI."""
        return 1 if self.mpi is None else self.size

    @property
    def handle(self) -> int:
        """The handle by which MPI's C functions know the members."""
        from mpi4py import MPI

        return int(MPI._handleof(MPI.COMM_SELF if self.mpi is None else self.mpi))

    # each of these takes an array that is contiguous, in row-major order, and writes into it or into `out`

    def all_reduce(self, values: np.ndarray, op: str) -> None:
        """Combine the arrays of all members in place, element by element."""
        self.meet("all_reduce", values, op)
        self._combine(values, op)

    def _combine(self, values: np.ndarray, op: str) -> None:
        if self.mpi is not None:
            from mpi4py import MPI

            self.mpi.Allreduce(MPI.IN_PLACE, plain(values), getattr(MPI, OPS[op]))
        if op == "avg":
            average(values, self.size)

    def reduce(self, values: np.ndarray, op: str, root: int) -> None:
        """As `all_reduce`, in the array of the member `root` alone."""
        self.meet("reduce", values, op, "to", root)
        if self.mpi is not None:
            from mpi4py import MPI

            sent = MPI.IN_PLACE if self.rank == root else plain(values)
            self.mpi.Reduce(sent, plain(values) if self.rank == root else None, getattr(MPI, OPS[op]), root)
        if op == "avg" and self.rank == root:
            average(values, self.size)

    def broadcast(self, values: np.ndarray, root: int) -> None:
        """Give all members the values of `root`."""
        self.meet("broadcast", values, "from", root)
        if self.mpi is not None:
            self.mpi.Bcast(plain(values), root)

    def all_gather(self, values: np.ndarray, out: np.ndarray) -> None:
        """Put the values of member i into `out[i]`, for all."""
        self.meet("all_gather", values)
        if self.mpi is None:
            out[...] = values
        else:
            self.mpi.Allgather(plain(values), plain(out))

    def reduce_scatter(self, values: np.ndarray, out: np.ndarray, op: str) -> None:
        """Combine the arrays `values[i]` of all members, for member i."""
        self.meet("reduce_scatter", values, op)
        if self.mpi is None:
            out[...] = values[0]
        else:
            from mpi4py import MPI

            self.mpi.Reduce_scatter_block(plain(values), plain(out), getattr(MPI, OPS[op]))
        if op == "avg":
            average(out, self.size)

    def all_to_all(self, values: np.ndarray, out: np.ndarray) -> None:
        """Put the part `values[rank]` of member i into `out[i]`."""
        self.meet("all_to_all", values)
        if self.mpi is None:
            out[...] = values
        else:
            self.mpi.Alltoall(plain(values), plain(out))

    def gather(self, values: np.ndarray, out: np.ndarray | None, root: int) -> None:
        """Put the values of member i into `out[i]` of the member `root`."""
        self.meet("gather", values, "to", root)
        if self.mpi is None:
            assert out is not None
            out[...] = values
        else:
            self.mpi.Gather(plain(values), None if out is None else plain(out), root)

    def scatter(self, values: np.ndarray | None, out: np.ndarray, root: int) -> None:
        """Give member i the part `values[i]` of the member `root`."""
        self.meet("scatter", out, "from", root)
        if self.mpi is None:
            assert values is not None
            out[...] = values[0]
        else:
            self.mpi.Scatter(None if values is None else plain(values), plain(out), root)


def rounded_up(rows: int) -> int:
    """A number of rows that some more find room in, so that few plans serve ever other numbers."""
    step = 1 << max(rows.bit_length() - 4, 0)
    return -(-rows // step) * step


def neutral(reduction: str, dtype: np.dtype) -> Any:
    """The value that leaves others as they are where it is combined with them."""
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    match reduction:
        case "product":
            return 1
        case "band":
            return ~dtype.type(0)
        case "min":
            return True if dtype.kind == "b" else np.inf if limits is None else limits.max
        case "max":
            return False if dtype.kind == "b" else -np.inf if limits is None else limits.min
    return 0


def text_of(name: str, *how: Any, of: tuple[np.dtype, Shape] | None = None) -> str:
    """What members of a group compare. of: dtype and shape of the values."""
    return " ".join([name, *map(str, how), *([] if of is None else ["of", str(of[0]), shape_text(of[1])])])


def digest(texts: Sequence[str]) -> int:
    """32 bits that differ where such texts do."""
    return zlib.crc32("\n".join(texts).encode())


class Functions:
    """MPI's C functions, and what they take for dtypes and ways of combining values."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._library = ctypes.CDLL(MPI.__file__)  # symbols of the library that it was linked with are found, too

    def address(self, name: str) -> int:
        """Of a function by its name without MPI_."""
        return ctypes.cast(getattr(self._library, f"MPI_{name}"), ctypes.c_void_p).value or 0

    def dtype(self, of: np.dtype) -> int:
        return int(self._mpi._handleof(self._mpi._typedict[plain(np.empty(0, of)).dtype.char]))

    def op(self, name: str) -> int:
        """0 for no way of combining."""
        return int(self._mpi._handleof(getattr(self._mpi, OPS[name]))) if name else 0


@cache
def functions() -> Functions:
    """Those of the MPI that this process runs in."""
    return Functions()


def owners(sizes: Sequence[int], processes: int) -> list[int]:
    """For each of values of these sizes the process that owns it: the largest first, each to the one with the least so far."""
    held, found = [0] * processes, [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        found[i] = held.index(min(held))
        held[found[i]] += sizes[i]
    return found


def average(values: np.ndarray, size: int) -> None:
    """Divide a sum over members in place, integers with rounding down."""
    if values.dtype.kind in "fc":
        values /= size
    else:
        values //= size


def plain(values: np.ndarray) -> np.ndarray:
    """The array as MPI takes it: it has no booleans of NumPy's."""
    return values.view(np.uint8) if values.dtype == np.bool_ else values


groups: dict[int, Communicator] = {}
"""The groups that exist, by number; 0 is all processes."""
_count = 0
supposed = 1
"""The number of members of the group of a process by itself: `staticgrad scale` plans for more than there are."""
watch: Watch | None = None
"""What the processes learn of each other's failures. None in a process by itself, and for an MPI that serves one thread."""


def group(number: int) -> Communicator:
    """The group of a number. Raises DistError where there is none."""
    found = groups.get(number)
    if found is None:
        raise DistError(
            "Default process group has not been initialized, please make sure to call init_process_group."
            if not number
            else f"process group {number} was destroyed"
        )
    return found


def launched() -> int:
    """The number of processes that a launcher of MPI started; 0 without one."""
    return max((int(os.environ[name]) for name in LAUNCHED if os.environ.get(name, "").isdigit()), default=0)


def start(timeout: float = TIMEOUT) -> Communicator:
    """Make the group of all processes. timeout: in seconds. Raises MissingExtra without mpi4py, and ArgumentError for
    processes of another launcher than MPI's."""
    if launched() > 1:
        need("mpi4py", "mpi")
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        made = Communicator(0, tuple(range(world.size)), world, world.rank, timeout)
        _watch_others(MPI)
    else:
        if int(os.environ.get("WORLD_SIZE") or 1) > 1:
            raise ArgumentError(
                f"init_process_group: WORLD_SIZE is {os.environ['WORLD_SIZE']}, and no MPI started this process",
                "start it with `staticgrad launch -n N train.py`, or with mpirun",
            )
        made = Communicator(0, tuple(range(supposed)), None, 0)
    groups[0] = made
    return made


def _watch_others(mpi: Any) -> None:
    global watch
    if watch is None and mpi.Query_thread() >= mpi.THREAD_MULTIPLE:
        from .process_watch import Watch

        watch = Watch(mpi, lambda: {number: (found.exchanges, found.ranks) for number, found in [*groups.items()]})


def divide(ranks: Sequence[int], timeout: float | None = None) -> Communicator:
    """A group of some of all processes, each of which calls this. ranks: in ascending order; timeout: in seconds, None for
    that of the group of all."""
    global _count
    world = group(0)
    _count += 1
    mine = ranks.index(world.rank) if world.rank in ranks else -1
    mpi = None
    world.meet("new_group", None, list(ranks))
    if world.mpi is not None:
        from mpi4py import MPI

        mpi = world.mpi.Split(0 if mine >= 0 else MPI.UNDEFINED, mine)
        mpi = None if mine < 0 else mpi
    made = groups[_count] = Communicator(_count, tuple(ranks), mpi, mine, world.timeout if timeout is None else timeout)
    return made


def end(number: int) -> None:
    """Forget a group; 0: all groups."""
    for found in [*groups] if number == 0 else [number]:
        gone = groups.pop(found)
        if found and gone.mpi is not None:
            gone.mpi.Free()


# what takes part in a loop in which processes have different numbers of inputs, and what it does there -------------------


class JoinHook:
    """What a process does that has no input left."""

    def main_hook(self) -> None:
        """Perform the exchanges of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Once all processes have no input left. is_last_joiner: whether this one was among the last."""


class JoinConfig(NamedTuple):
    """What the context tells those that take part. first: whether this one tells the others that a process goes on."""

    enable: bool = False
    throw: bool = False
    first: bool = False


class Joinable:
    """A base class of what can take part, such as `DistributedDataParallel`."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = JoinConfig()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does. kwargs: those of `Join`."""
        raise NotImplementedError

    @property
    def join_device(self) -> Any:
        """Where it exchanges: the CPU."""
        raise NotImplementedError

    @property
    def join_process_group(self) -> Any:
        """The group of its exchanges."""
        raise NotImplementedError
