"""Programs as tutorials of TensorFlow 1 write them: functions of `tf` that return what they print."""

from __future__ import annotations

import numpy as np


def weights(*shape):
    return (np.random.RandomState(sum(shape)).randn(*shape) * 0.3).astype("f4")


def deep_q(tf):
    """Two networks, a clipped loss, and a copy of the weights by an operation in a branch of `cond`."""
    random = np.random.RandomState(0)

    def network(scope):
        with tf.variable_scope(scope):
            state = tf.placeholder(tf.float32, [None, 4], name="state")
            hidden = tf.nn.relu(tf.matmul(state, tf.get_variable("w1", initializer=weights(4, 8))))
            return state, tf.matmul(hidden, tf.get_variable("w2", initializer=weights(8, 2)))

    (state, q), (later, target) = network("main"), network("target")
    action, wanted = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None])
    chosen = tf.gather_nd(q, tf.stack([tf.range(tf.shape(action)[0]), action], axis=1))
    error = chosen - wanted
    loss = tf.reduce_mean(tf.where(tf.abs(error) < 1.0, 0.5 * tf.square(error), tf.abs(error) - 0.5))
    mine = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="main")
    others = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="target")
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.RMSPropOptimizer(0.01, decay=0.95, epsilon=0.01)
    pairs = [(tf.clip_by_norm(g, 10.0), v) for g, v in optimizer.compute_gradients(loss, var_list=mine)]
    train = optimizer.apply_gradients(pairs, global_step=step)
    copy = tf.cond(tf.equal(step % 2, 0), lambda: tf.group(*[o.assign(m) for m, o in zip(mine, others)]), tf.no_op)  # noqa: B905
    out = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            states = random.rand(6, 4)
            best = session.run(target, {later: states}).max(1)
            feeds = {state: states, action: random.randint(0, 2, 6), wanted: random.rand(6) + 0.9 * best}
            out.append(session.run([train, loss], feeds)[1])
            session.run(copy)
            out.append(session.run(others[1])[0])
    return out


def towers(tf):
    """Towers that share variables, averaged gradients, a moving average."""
    random = np.random.RandomState(0)
    step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True))
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    gradients, names = [], []
    for i, (part, labels) in enumerate(zip(tf.split(x, 2), tf.split(y, 2))):  # noqa: B905
        with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}"), tf.variable_scope("net", reuse=i > 0):
            w = tf.get_variable("w", [4, 3], initializer=tf.constant_initializer(0.1))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(part, w))
            loss = tf.reduce_mean(losses, name="loss")
            names.append(loss.name)
            gradients.append(optimizer.compute_gradients(loss))
    mean = [
        (tf.reduce_mean(tf.concat([tf.expand_dims(g, 0) for g, _ in pairs], 0), 0), pairs[0][1])
        for pairs in zip(*gradients)  # noqa: B905
    ]
    average = tf.train.ExponentialMovingAverage(0.9, step)
    train = tf.group(optimizer.apply_gradients(mean, global_step=step), average.apply(tf.trainable_variables()))
    out = []
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: random.rand(8, 4), y: random.randint(0, 3, 8)})
        out += [session.run(tf.trainable_variables()[0]), *names, *[v.name for v in tf.global_variables()]]
    return out


def batch_norm(tf):
    """Moving averages of moments, updated in a branch on a placeholder of unknown rank."""
    random = np.random.RandomState(0)
    x, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.bool, name="training")
    with tf.variable_scope("bn"):
        mean, variance = tf.nn.moments(x, [0])
        average = tf.train.ExponentialMovingAverage(decay=0.5)

        def update():
            with tf.control_dependencies([average.apply([mean, variance])]):
                return tf.identity(mean), tf.identity(variance)

        now = tf.cond(training, update, lambda: (average.average(mean), average.average(variance)))
        y = tf.nn.batch_normalization(x, *now, tf.Variable(tf.zeros([3])), tf.Variable(tf.ones([3])), 1e-3)
    out = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for on in (True, True, False, False):
            out.append(session.run(y, {x: random.rand(4, 3), training: on}))
    return out


def environment(tf):
    """A step of a simulation by py_func, kept in a variable before a value is computed of it."""
    state = [np.zeros(3, "f4"), 0]

    def move(action):
        state[1] += 1
        state[0] = (state[0] * 0.9 + action * 0.1).astype("f4")
        return state[0], np.float32(-np.sum(state[0] ** 2)), np.bool_(state[1] % 2 == 0)

    action = tf.placeholder(tf.float32, [3])
    seen, reward, done = tf.py_func(move, [action], [tf.float32, tf.float32, tf.bool], name="step")
    seen.set_shape([3])
    reward.set_shape([])
    last = tf.Variable(tf.zeros([3]), trainable=False)
    w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
    with tf.control_dependencies([tf.assign(last, seen)]):
        value = tf.matmul(tf.expand_dims(last.read_value(), 0), w)
    loss = tf.reduce_mean(tf.square(value - reward))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    out = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            out += session.run([loss, reward, done, train], {action: [1.0, 2.0, 3.0]})[:3]
    return [*out, state[1]]


def averaged_evaluation(tf):
    """A second model whose variables a custom getter replaces by their averages."""
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 3])

    def model(reuse=None, getter=None):
        with tf.variable_scope("model", reuse=reuse, custom_getter=getter):
            return tf.matmul(x, tf.get_variable("w", initializer=weights(3, 2)))

    y = model()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.nn.l2_loss(y))
    average = tf.train.ExponentialMovingAverage(0.8)
    with tf.control_dependencies([train]):
        train = average.apply(tf.trainable_variables())

    def getter(getter, name, *args, **kwargs):
        variable = getter(name, *args, **kwargs)
        return average.average(variable) or variable

    smooth = model(True, getter)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: random.rand(4, 3)})
        return [*session.run([y, smooth], {x: np.ones((1, 3))}), *sorted(average.variables_to_restore())]


def assignments_in_branches(tf):
    """Assignments in branches, nested ones too, and reads after them."""
    a, b, n = tf.Variable(1.0), tf.Variable([1.0, 2.0]), tf.Variable(0)
    p = tf.placeholder(tf.bool, [])

    def grown():
        with tf.control_dependencies([a.assign_add(1.0)]):
            return a.read_value() * 2.0

    first = tf.cond(p, grown, lambda: b.assign(b + 10.0)[0] * 1.0)
    counted = tf.cond(p, lambda: tf.cond(n > 1, lambda: tf.assign(n, 0), lambda: tf.assign_add(n, 1)), lambda: tf.identity(n))
    out = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for on in (True, False, True):
            out += [session.run(first, {p: on}), session.run(a), session.run(b)]
        for on in (True, True, False, True):
            out += [session.run(counted, {p: on}), session.run(n)]
    return out


def assignments_in_loops(tf):
    """Assignments that the results of a body wait for, read by the condition, nested in loops and branches; one for which
    nothing waits."""
    v, w = tf.Variable(1.0), tf.Variable(np.zeros(3, "f4"))

    def add(i):
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return tf.identity(i + 1)

    def rows(i):
        chosen = tf.cond(tf.equal(i % 2, 0), lambda: tf.assign_add(v, 1.0), lambda: tf.constant(0.0))
        with tf.control_dependencies([tf.scatter_add(w, [i % 3], [1.0]), chosen]):
            return i + tf.while_loop(lambda j: j < 1, add, [tf.constant(0)])

    def idle(i):
        tf.assign_add(v, 100.0)
        return i + 1

    def item(x):
        with tf.control_dependencies([tf.assign_add(v, x)]):
            return x * 2

    zero = tf.constant(0)
    fetches = [
        tf.while_loop(lambda i: v.read_value() < 5.0, add, [zero], parallel_iterations=1),
        tf.while_loop(lambda i: i < 5, rows, [zero]),
        tf.while_loop(lambda i: i < 5, idle, [zero]),
        tf.map_fn(item, tf.constant([1.0, 2.0, 3.0])),
    ]
    with tf.control_dependencies([tf.assign(v, 10.0)]):
        fetches.append(tf.cond(tf.constant(False), lambda: tf.assign_add(v, 1.0), lambda: tf.identity(v)))
    out = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for fetch in fetches * 2:
            out += [session.run(fetch), session.run(v), session.run(w)]
    return out


def growing_arrays(tf):
    """Arrays whose size is a tensor or that grow, in loops and raw_rnn; tensors in bodies whose shape is fed."""
    x, n = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int32, [None])
    steps = tf.transpose(x, [1, 0, 2])
    rows, weight = tf.shape(n)[0], tf.Variable(weights(5, 2))
    source = tf.TensorArray(tf.float32, size=tf.shape(steps)[0], clear_after_read=False).unstack(steps)

    class Cell:
        output_size = state_size = 2

        def zero_state(self, batch_size, dtype):
            return tf.zeros([batch_size, 2], dtype)

        def __call__(self, inputs, state, scope=None):
            out = tf.tanh(tf.matmul(tf.concat([inputs, state], 1), weight))
            return out, out

    cell = Cell()

    def decide(time, output, state, total):
        following = cell.zero_state(rows, tf.float32) if output is None else state
        emitted = tf.zeros([2]) if output is None else output * 2
        total = tf.constant(0.0) if output is None else total + tf.reduce_sum(output)
        ended = time >= n
        x = tf.cond(tf.reduce_all(ended), lambda: tf.zeros([rows, 3]), lambda: source.read(time))
        return ended, x, following, emitted, total

    made, last, total = tf.nn.raw_rnn(cell, decide)
    out = made.stack()
    _, grown, _ = tf.while_loop(
        lambda i, a, s: s < tf.reduce_sum(out**2), lambda i, a, s: (i + 1, a.write(i, s * 2), s + 0.5),
        [tf.constant(0), tf.TensorArray(tf.float32, size=0, dynamic_size=True), tf.constant(0.0)],
    )  # fmt: skip
    _, ones = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y + tf.fill([tf.shape(y)[0], 2], 1.0)), [tf.constant(0), last]
    )
    pair = tf.TensorArray(tf.float32, size=0, dynamic_size=True).write(0, last[0]).write(1, last[1])
    slope = tf.gradients(tf.reduce_sum(out**2), x)[0]
    fetches = [out, last, total, grown.stack(), grown.size(), ones, pair.stack(), slope]
    values, found = np.random.RandomState(1).randn(2, 4, 3), []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for lengths in ([2, 3], [4, 1]):
            found += session.run(fetches, {x: values, n: lengths})
    return found


def python_in_bodies(tf):
    """py_func with a declared shape, printing and checks in a loop and in a branch."""
    x, n = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.int32, [])

    def doubled(value):
        return (value * 2 + 1).astype("f4")

    def body(i, x):
        y = tf.py_func(doubled, [x], tf.float32)
        y.set_shape([3])
        y = tf.Print(y, [i, y], "values: ")
        with tf.control_dependencies([tf.Assert(tf.reduce_all(y < 100.0), [y])]):
            return i + 1, tf.identity(y)

    def called():
        y = tf.numpy_function(lambda value: value.sum(keepdims=True), [x], tf.float32)
        y.set_shape([1])
        return y

    _, out = tf.while_loop(lambda i, x: i < n, body, [tf.constant(0), x])
    chosen = tf.cond(n > 2, called, lambda: tf.zeros([1]))
    found = []
    with tf.Session() as session:
        for count in (3, 1):
            found += session.run([out, chosen], {x: [1.0, 2.0, 3.0], n: count})
        try:
            session.run(out, {x: [1.0, 2.0, 3.0], n: 9})
        except tf.errors.InvalidArgumentError as error:
            found.append("assertion failed: [63 95 127]" in str(error))
    return found


def unknown_ranks(tf):
    """Loops and branches over a tensor whose rank only the run knows, and their gradients."""
    x = tf.placeholder(tf.float32)
    count, doubled = tf.while_loop(
        lambda i, v: tf.less(tf.reduce_sum(v), 100.0), lambda i, v: [i + 1, v * 2.0], [tf.constant(0), x]
    )
    chosen = tf.cond(tf.reduce_mean(x) > 1.0, lambda: x * 10.0, lambda: x - 1.0)
    several = tf.case([(tf.reduce_sum(x) > 5.0, lambda: x), (tf.reduce_sum(x) > 1.0, lambda: -x)], default=lambda: x * 0.0)
    fetches = [count, doubled, chosen, several, tf.map_fn(lambda v: v * v, x), tf.scan(lambda s, v: s + v, x)]
    fetches += tf.gradients(chosen, x) + tf.gradients(doubled, x)
    with tf.Session() as session:
        return [value for given in ([1.0, 2.0], [[1.0, 0.5], [0.2, 0.1]]) for value in session.run(fetches, {x: given})]


def input_pipeline(tf):
    """Queues filled by threads, for two epochs."""
    x, y = np.arange(20, dtype="f4").reshape(10, 2), np.arange(10, dtype="i4")
    row, label = tf.train.slice_input_producer([x, y], num_epochs=2, shuffle=False)
    rows, labels = tf.train.batch([row, label], 4, allow_smaller_final_batch=True)
    w = tf.Variable(tf.zeros([2, 1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(rows, w) - tf.cast(tf.expand_dims(labels, 1), tf.float32)))
    train = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
    out = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
        try:
            while not coordinator.should_stop():
                out += session.run([loss, labels, train])[:2]
        except tf.errors.OutOfRangeError:
            out.append("done")
        finally:
            coordinator.request_stop()
        coordinator.join(threads)
    return out


def rows_of_tables(tf):
    """Steps with the gradients of gathered rows, clipped: optimizers leave other rows alone."""
    out = []
    for make in (
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.AdamOptimizer(0.1),
        lambda: tf.train.RMSPropOptimizer(0.1),
        lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1),
    ):
        with tf.Graph().as_default():
            table, ids = tf.Variable(np.arange(12, dtype="f4").reshape(6, 2) / 10), tf.placeholder(tf.int32, [None])
            optimizer = make()
            ((g, v),) = optimizer.compute_gradients(tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2))
            (clipped,), norm = tf.clip_by_global_norm([g], 1.0)
            train = optimizer.apply_gradients([(clipped, v)])
            out.append(isinstance(g, tf.IndexedSlices) and isinstance(clipped, tf.IndexedSlices))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                out += [*session.run(g, {ids: [1, 1, 3]}), session.run(tf.convert_to_tensor(g), {ids: [1, 1, 3]})]
                out += [session.run([norm, train], {ids: rows})[0] for rows in ([1, 1, 3], [0, 2, 2], [5, 1, 5])]
                out.append(session.run(table))
    return out


def own_gradients(tf):
    """custom_gradient alone, twice, in a loop and in a branch; gradients by override of a type."""

    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    def flipped(op, g):
        return [-g * op.inputs[0]]

    def squared(op, g):
        return g * 2 * op.inputs[0]

    names = [f"{kind} of {id(log1pexp)}" for kind in ("Flip", "Square")]
    for name, fn in zip(names, (flipped, squared)):  # noqa: B905
        tf.RegisterGradient(name)(fn)
    x = tf.placeholder(tf.float32, [None])
    with tf.get_default_graph().gradient_override_map({"Identity": names[0], "PyFunc": names[1]}):
        turned = tf.identity(x)
        called = tf.py_func(lambda a: (a * a).astype("f4"), [x], tf.float32)
    y = log1pexp(x)
    (slope,) = tf.gradients(y, x)
    looped = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, log1pexp(v)), [0, x])[1]
    branch = tf.cond(tf.reduce_sum(x) > 0, lambda: log1pexp(x), lambda: x)
    fetches = [y, slope, *(tf.gradients(t, x)[0] for t in (slope, turned * turned, called, looped, branch))]
    with tf.Session() as session:
        return session.run(fetches, {x: [1.0, 2.0, -1.0]})


def feedable_iterators(tf):
    """Two data sets, one of them of py_func, behind one handle."""
    first = tf.data.Dataset.from_tensor_slices(np.arange(4, dtype="f4")).map(lambda v: v * 2).batch(2).repeat()
    second = tf.data.Dataset.range(4).map(lambda i: tf.py_func(lambda k: np.float32(k) * 10, [i], tf.float32)).batch(2)
    handle = tf.placeholder(tf.string, shape=[])
    element = tf.data.Iterator.from_string_handle(handle, first.output_types, first.output_shapes).get_next()
    one, other = first.make_one_shot_iterator(), second.make_initializable_iterator()
    out = []
    with tf.Session() as session:
        handles = session.run([one.string_handle(), other.string_handle()])
        session.run(other.initializer)
        out += [session.run(element, {handle: handles[k]}) for k in (0, 1, 0, 1)]
        try:
            session.run(element, {handle: handles[1]})
        except tf.errors.OutOfRangeError:
            out.append("end")
    return out


PROGRAMS = {
    fn.__name__: fn
    for fn in (
        deep_q, towers, batch_norm, environment, averaged_evaluation, assignments_in_branches,
        assignments_in_loops, growing_arrays, python_in_bodies, unknown_ranks, input_pipeline, rows_of_tables,
        own_gradients, feedable_iterators,
    )
}  # fmt: skip
