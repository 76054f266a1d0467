"""Instructions that exchange arrays with other processes by calling MPI's C functions. As control-flow instructions they have
no chunks; their last word is the address of `exchange`.

    START    begins an exchange of buffers[0] into buffers[1]
    WAIT     waits for its end
    LOOK     lets MPI go on with the exchanges that have begun: it does so only when it is called
    MATCH    waits for the numbers of all plans (see `MINE`), and compares them

Their sizes are the state of the exchange, which its instructions share:

    FUNCTION      the address of a function of MPI's that begins an exchange, and its OPERANDS
    SENT          offsets of the operands that are the addresses of the buffers; 0 for none
    RECEIVED
    PAUSED        as in the state of a loop: whether WAIT stopped the driver for Python to handle signals, and SINCE when
    TEST          the address of MPI_Test; REQUEST, DONE_FLAG and MPI_STATUS are its operands
    ACTIVE        whether the exchange has begun and not ended
    ERROR         MPI's code of an error, or LATE, DIFFERENT, UNDER_WAY (a run that was broken off has not ended it)
    BEGUN         nanoseconds of the latest run: when the exchange began, when the plan began to wait for it, 0 if it did not
    WAITED        have to, and when the plan saw that it had ended
    ENDED
    TIMEOUT       the nanoseconds that the plan waits at most
    MINE          for MATCH, what identifies the plan and the number of its run, the address of the numbers that the processes
    FOUND         sent, and how many there are
    MEMBERS
    DIGEST        what MINE is made of: a digest of the plan's exchanges with the group, and the address of the number of
    COUNT_OF_GROUP  exchanges that have begun
"""

from ..backend import abi as t
from ..backend.runtime_builtins import call_3, call_8, entry, nanoseconds, pause, peek, poke, yield_cpu


def over(state):
    """Whether the exchange has ended, by an error too."""
    if peek(state + t.ACTIVE) == 0:
        return 1
    poke(state + t.DONE_FLAG, 0)
    error = call_3(peek(state + t.TEST), state + t.REQUEST, state + t.DONE_FLAG, state + t.MPI_STATUS) & t.INT
    if error == 0 and peek(state + t.DONE_FLAG) & t.INT == 0:
        return 0
    poke(state + t.ERROR, error)
    poke(state + t.ACTIVE, 0)
    poke(state + t.ENDED, nanoseconds())
    return 1


def begin(state, buffers):
    """Begin the exchange. Returns 0 for an error."""
    if peek(state + t.ACTIVE) != 0:
        poke(state + t.ERROR, t.UNDER_WAY)
        return 0
    if peek(state + t.SENT) != 0:
        poke(state + peek(state + t.SENT), peek(buffers))
    if peek(state + t.RECEIVED) != 0:
        poke(state + peek(state + t.RECEIVED), peek(buffers + 8))
    if peek(state + t.COUNT_OF_GROUP) != 0:
        count = peek(peek(state + t.COUNT_OF_GROUP)) + 1
        poke(peek(state + t.COUNT_OF_GROUP), count)
        poke(state + t.MINE, peek(state + t.DIGEST) + count * 4294967296)
    poke(state + t.PAUSED, 0)
    poke(state + t.WAITED, 0)
    poke(state + t.BEGUN, nanoseconds())
    at = state + t.OPERANDS
    error = call_8(
        peek(state + t.FUNCTION), peek(at), peek(at + 8), peek(at + 16), peek(at + 24), peek(at + 32), peek(at + 40),
        peek(at + 48), peek(at + 56),
    ) & t.INT  # fmt: skip
    poke(state + t.ERROR, error)
    poke(state + t.ACTIVE, 1 if error == 0 else 0)
    return 1 if error == 0 else 0


def await_end(state):
    """Wait for the end. Returns 0 for an error, and for a pause."""
    paused = peek(state + t.PAUSED)
    poke(state + t.PAUSED, 0)
    if over(state) == 0:
        if paused == 0:
            poke(state + t.WAITED, nanoseconds())
            poke(state + t.SINCE, peek(state + t.WAITED))
        looks = 0
        while over(state) == 0:
            pause()
            looks += 1
            if looks % t.LOOKS == 0:
                now = nanoseconds()
                if now - peek(state + t.WAITED) > peek(state + t.TIMEOUT):
                    poke(state + t.ERROR, t.LATE)
                    return 0
                if now - peek(state + t.SINCE) > t.PAUSE:
                    poke(state + t.SINCE, now)
                    poke(state + t.PAUSED, 1)
                    return 0
                yield_cpu()  # the other process may need it
    return 1 if peek(state + t.ERROR) == 0 else 0


def match(state):
    """Whether all processes sent the same number."""
    for i in range(peek(state + t.MEMBERS)):
        if peek(peek(state + t.FOUND) + 8 * i) != peek(state + t.MINE):
            poke(state + t.ERROR, t.DIFFERENT)
            return 0
    return 1


@entry
def exchange(instruction, r):
    """Run such an instruction. Returns the next one, or -1 - r to stop the driver."""
    operation, buffers, state = peek(instruction + 24), peek(instruction + 8), peek(instruction + 16)
    if operation == t.LOOK:
        over(state)
        return r + 1
    if operation == t.START:
        fine = begin(state, buffers)
    else:
        fine = await_end(state)
        if fine != 0 and operation == t.MATCH:
            fine = match(state)
    return r + 1 if fine != 0 else -1 - r
