"""Physics: potentials with forces, simulations that are differentiated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

MOLECULES, ATOMS, KINDS, WIDTH, CENTERS, CUTOFF, LAYERS = 16, 21, 4, 64, 50, 5.0, 2


def trajectories() -> Arrays:
    rng = np.random.default_rng(0)
    place = rng.normal(0, 1.5, (ATOMS, 3)) + rng.normal(0, 0.1, (4, MOLECULES, ATOMS, 3))
    a, b = np.nonzero(~np.eye(ATOMS, dtype=bool))
    first = np.arange(MOLECULES)[:, None] * ATOMS
    data = {
        "place": place.reshape(4, -1, 3), "energy": rng.normal(0, 1, (4, MOLECULES)),
        "force": rng.normal(0, 0.3, (4, MOLECULES * ATOMS, 3)), "kinds": rng.normal(0, 1, (KINDS, WIDTH)),
    }  # fmt: skip
    ints = {"source": (first + a).ravel(), "target": (first + b).ravel(), "kind": rng.integers(0, KINDS, ATOMS)}
    ints["kind"] = np.tile(ints["kind"], MOLECULES)
    p = weights(rng, out0=(32, WIDTH), out0_bias=(32,), out1=(1, 32), out1_bias=(1,))
    for i in range(LAYERS):
        shapes = {"f0": (WIDTH, CENTERS), "f1": (WIDTH, WIDTH), "in": (WIDTH, WIDTH), "a": (WIDTH, WIDTH), "b": (WIDTH, WIDTH)}
        for name, shape in shapes.items():
            p |= weights(rng, **{f"{name}{i}": shape, f"{name}{i}_bias": (WIDTH,)})
    return (
        {name: value.astype(np.float32) for name, value in data.items()}
        | {name: value.astype(np.int32) for name, value in ints.items()}
        | p
    )


def potential(torch: Any, p: Any, c: Any, place: Any, energy: Any, force: Any) -> Any:
    F = torch.nn.functional

    def layer(name: str, x: Any) -> Any:
        return F.linear(x, p[name], p[name + "_bias"])

    def softplus(x: Any) -> Any:
        return F.softplus(x) - math.log(2)

    def total(place: Any) -> Any:
        distance = torch.sqrt(((place[c["source"]] - place[c["target"]]) ** 2).sum(-1) + 1e-12)
        offset = torch.linspace(0, CUTOFF, CENTERS)
        basis = torch.exp(-0.5 / (CUTOFF / CENTERS) ** 2 * (distance.unsqueeze(-1) - offset) ** 2)
        cut = (0.5 * (torch.cos(distance * math.pi / CUTOFF) + 1) * (distance < CUTOFF).float()).unsqueeze(-1)
        h = F.embedding(c["kind"], p["kinds"])
        for i in range(LAYERS):
            filters = layer(f"f1{i}", softplus(layer(f"f0{i}", basis))) * cut
            messages = layer(f"in{i}", h)[c["source"]] * filters
            received = torch.zeros(MOLECULES * ATOMS, WIDTH).index_add(0, c["target"], messages)
            h = h + layer(f"b{i}", softplus(layer(f"a{i}", received)))
        found = layer("out1", softplus(layer("out0", h))).view(MOLECULES, ATOMS).sum(1)
        return found.sum(), found

    gradient, found = torch.func.grad(total, has_aux=True)(place)
    return F.mse_loss(found, energy) + 10 * F.mse_loss(-gradient, force)


def potential_jax(jax: Any, p: Any, c: Any, place: Any, energy: Any, force: Any) -> Any:
    jnp = jax.numpy

    def layer(name: str, x: Any) -> Any:
        return x @ p[name].T + p[name + "_bias"]

    def softplus(x: Any) -> Any:
        return jax.nn.softplus(x) - math.log(2)

    def total(place: Any) -> Any:
        distance = jnp.sqrt(((place[c["source"]] - place[c["target"]]) ** 2).sum(-1) + 1e-12)
        offset = jnp.linspace(0, CUTOFF, CENTERS)
        basis = jnp.exp(-0.5 / (CUTOFF / CENTERS) ** 2 * (distance[:, None] - offset) ** 2)
        cut = (0.5 * (jnp.cos(distance * math.pi / CUTOFF) + 1) * (distance < CUTOFF))[:, None]
        h = p["kinds"][c["kind"]]
        for i in range(LAYERS):
            filters = layer(f"f1{i}", softplus(layer(f"f0{i}", basis))) * cut
            messages = layer(f"in{i}", h)[c["source"]] * filters
            received = jax.ops.segment_sum(messages, c["target"], MOLECULES * ATOMS)
            h = h + layer(f"b{i}", softplus(layer(f"a{i}", received)))
        found = layer("out1", softplus(layer("out0", h))).reshape(MOLECULES, ATOMS).sum(1)
        return found.sum(), found

    gradient, found = jax.grad(total, has_aux=True)(place)
    return ((found - energy) ** 2).mean() + 10 * ((gradient + force) ** 2).mean()


workload(
    "potential", "SchNet: energies and forces of 16 molecules of 21 atoms, two interactions of 64", trajectories, potential,
    potential_jax, group=1, inputs=("place", "energy", "force"), constants=("source", "target", "kind"),
)  # fmt: skip

ROBOTS, SIDE, STEPS, WAVES, DT = 16, 8, 40, 10, 0.01
MASSES = SIDE * SIDE


def robots() -> Arrays:
    """Masses on a grid, springs between neighbors along both axes and one diagonal."""
    rng = np.random.default_rng(0)
    grid = np.arange(MASSES).reshape(SIDE, SIDE)
    pairs = ((grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1]), (grid[1:, 1:], grid[:-1, :-1]))
    left, right = (np.concatenate([pair[i].ravel() for pair in pairs]).astype(np.int32) for i in range(2))
    rest = np.stack([grid // SIDE, grid % SIDE], -1).reshape(MASSES, 2) * 0.1
    place = rest + np.array([0, 0.2]) + rng.normal(0, 0.005, (4, ROBOTS, MASSES, 2))
    length = np.linalg.norm(rest[left] - rest[right], axis=-1)
    found = {"place": place, "speed": rng.normal(0, 0.05, (4, ROBOTS, MASSES, 2)), "length": length}
    found["stiffness"] = np.full(len(left), 5.0)
    return (
        {name: value.astype(np.float32) for name, value in found.items()}
        | {"left": left, "right": right}
        | weights(rng, w0=(64, 4 * MASSES + WAVES), w0_bias=(64,), w1=(len(left), 64), w1_bias=(len(left),))
    )


def mass_springs(torch: Any, p: Any, c: Any, place: Any, speed: Any) -> Any:
    F = torch.nn.functional
    left, right, k = c["left"], c["right"], p["stiffness"] * 100
    times = torch.arange(STEPS, dtype=torch.float32)[:, None] * DT * 20
    waves = torch.sin(times + torch.arange(WAVES, dtype=torch.float32) * (2 * math.pi / WAVES))
    start = place.mean(1)[:, 0]

    def cell(state: Any, x: Any) -> Any:
        place, speed = state
        around = place - place.mean(1, keepdim=True)
        seen = torch.cat([x[0].expand(ROBOTS, WAVES), around.flatten(1), speed.flatten(1)], 1)
        act = torch.tanh(F.linear(torch.tanh(F.linear(seen, p["w0"], p["w0_bias"])), p["w1"], p["w1_bias"]))
        difference = place[:, left] - place[:, right]
        distance = torch.sqrt((difference**2).sum(-1) + 1e-8)
        pull = ((distance - c["length"] * (1 + 0.1 * act)) * k / distance).unsqueeze(-1) * difference
        force = torch.zeros(ROBOTS, MASSES, 2).index_add(1, left, -pull).index_add(1, right, pull)
        force = force - speed * 2.0 * torch.sigmoid(-place[..., 1:] * 200)
        height = place[..., 1]
        up = 500 * torch.relu(-height) - 9.8
        force = force + torch.stack([torch.zeros(ROBOTS, MASSES), up], -1)
        speed = speed * math.exp(-DT) + DT * force
        return (place + DT * speed, speed), None

    (place, _), _ = scan(torch, cell, (place, speed), (waves,))
    return (start - place.mean(1)[:, 0]).mean()


def mass_springs_jax(jax: Any, p: Any, c: Any, place: Any, speed: Any) -> Any:
    jnp = jax.numpy
    left, right, k = c["left"], c["right"], p["stiffness"] * 100
    times = jnp.arange(STEPS, dtype=jnp.float32)[:, None] * DT * 20
    waves = jnp.sin(times + jnp.arange(WAVES, dtype=jnp.float32) * (2 * math.pi / WAVES))
    start = place.mean(1)[:, 0]

    def cell(state: Any, wave: Any) -> Any:
        place, speed = state
        around = place - place.mean(1, keepdims=True)
        seen = (jnp.broadcast_to(wave, (ROBOTS, WAVES)), around.reshape(ROBOTS, -1), speed.reshape(ROBOTS, -1))
        hidden = jnp.tanh(jnp.concatenate(seen, 1) @ p["w0"].T + p["w0_bias"])
        act = jnp.tanh(hidden @ p["w1"].T + p["w1_bias"])
        difference = place[:, left] - place[:, right]
        distance = jnp.sqrt((difference**2).sum(-1) + 1e-8)
        pull = ((distance - c["length"] * (1 + 0.1 * act)) * k / distance)[..., None] * difference
        force = jnp.zeros((ROBOTS, MASSES, 2)).at[:, left].add(-pull).at[:, right].add(pull)
        force = force - speed * 2.0 * jax.nn.sigmoid(-place[..., 1:] * 200)
        height = place[..., 1]
        up = 500 * jax.nn.relu(-height) - 9.8
        force = force + jnp.stack([jnp.zeros((ROBOTS, MASSES)), up], -1)
        speed = speed * math.exp(-DT) + DT * force
        return (place + DT * speed, speed), None

    (place, _), _ = jax.lax.scan(cell, (place, speed), waves)
    return (start - place.mean(1)[:, 0]).mean()


workload(
    "springs", "16 robots of 64 masses and 161 springs with a network as controller, 40 steps", robots, mass_springs,
    mass_springs_jax, group=1, inputs=("place", "speed"), constants=("left", "right", "length"),
)  # fmt: skip
