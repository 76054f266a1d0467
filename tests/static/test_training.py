"""The main use, end to end: a model written with placeholders, trained by hand-written updates."""

import numpy as np

from staticgrad.operators import F
from staticgrad.static import Session, Variable, assign_sub, global_variables_initializer, gradients, group, placeholder


def test_linear_regression():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(256, 3)).astype(np.float32)
    truth = np.array([[1.0], [-2.0], [0.5]], np.float32)
    target = data @ truth + 3

    x = placeholder(np.float32, (None, 3), name="x")
    t = placeholder(np.float32, (None, 1), name="t")
    w, b = Variable(np.zeros((3, 1)), dtype=np.float32, name="w"), Variable([0.0], name="b")
    loss = F.mean((x @ w + b - t) ** 2)
    grads = gradients(loss, [w, b])
    train = group(*(assign_sub(v, 0.1 * g) for v, g in zip((w, b), grads, strict=True)))

    own_w, own_b, expected = np.zeros((3, 1)), np.zeros(1), []
    with Session() as sess:
        sess.run(global_variables_initializer())
        losses = []
        for i in range(60):
            rows = slice(32 * i % 256, 32 * i % 256 + (32 if i % 7 else 20))  # batch sizes differ
            value, _ = sess.run([loss, train], {x: data[rows], t: target[rows]})
            losses.append(value)
            error = data[rows] @ own_w + own_b - target[rows]
            expected.append((error**2).mean())
            own_w -= 0.1 * 2 * data[rows].T @ error / len(error)
            own_b -= 0.1 * 2 * error.mean(axis=0)
        np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(w.eval(), truth, atol=1e-2)
        np.testing.assert_allclose(b.eval(), [3], atol=1e-2)


def test_newton_by_gradients_of_gradients():
    x = Variable(3.0, dtype=np.float64)
    y = F.exp(x) - 2 * x
    (slope,) = gradients(y, x)
    (curvature,) = gradients(slope, x)
    step = x.assign_sub(slope / curvature)
    with Session() as sess:
        sess.run(global_variables_initializer())
        for _ in range(10):
            sess.run(step)
        np.testing.assert_allclose(x.eval(), np.log(2), rtol=1e-12)
