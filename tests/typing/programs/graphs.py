"""Graphs in the style of TensorFlow 1."""

from typing import assert_type

import numpy as np

import staticgrad as sg
from staticgrad import optim

graph = sg.Graph()
with graph.as_default():
    x = sg.placeholder(sg.float32, (None, 3))
    w = sg.Variable(np.zeros((3, 2)), name="w")
    loss = sg.sum(sg.square(x @ w - 1))
    assert_type(loss, sg.Tensor)
    decay = w.assign_sub(0.1 * w)
    both = sg.group(decay, w.initializer)
    train = optim.SGD([w], lr=0.1).minimize(loss)
    for g in sg.gradients(loss, [w]):
        if g is not None:
            print(g.name, g.op)

with sg.Session(graph) as session:
    session.run(sg.global_variables_initializer())
    feed = {x: np.ones((4, 3))}
    assert_type(session.run(loss, feed), np.ndarray)
    assert_type(loss.eval(feed), np.ndarray)
    value, _ = session.run([loss, train], feed)
    session.run(both)
    print(session.plan(loss, feed).explain())
print(sg.to_text(graph), loss.graph is graph)
