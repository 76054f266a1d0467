"""Names in nested scopes and in scopes that are entered again: a function of `tf`, and the names that TensorFlow gives."""

from __future__ import annotations


def names(tf):
    found = []

    def note(*things):
        found.extend(x if isinstance(x, str) else x.name for x in things)

    def add():
        return tf.add(1.0, 2.0)

    def variable(name="v"):
        return tf.get_variable(name, [1])

    with tf.Graph().as_default() as graph:
        with tf.variable_scope("a") as a:
            note(variable(), a.original_name_scope)
            with tf.variable_scope("b") as b:
                note(variable(), add())
        with tf.variable_scope("a", reuse=True) as again:
            note(again.original_name_scope, add(), variable())
            with tf.variable_scope("b") as inner:
                note(inner.original_name_scope, add())
        with tf.variable_scope(a) as again:
            note(again.name, again.original_name_scope, add())
        with tf.variable_scope("x"):
            with tf.variable_scope(a) as moved:
                note(moved.name, add())
            with tf.variable_scope(b, reuse=True) as moved:
                note(moved.name, add(), variable())
            for _ in range(2):
                with tf.variable_scope(None, default_name="d") as default:
                    note(default.name, variable("w"), add())
        with tf.variable_scope("x"), tf.variable_scope(None, default_name="d") as default:
            note(default.name, variable("u"))
        for _ in range(2):
            with tf.variable_scope(None, "d") as default:
                note(default.name, add())
        with tf.name_scope("n"), tf.variable_scope("m"):
            note(variable(), add(), tf.Variable(1.0, name="V"))
        with tf.name_scope("n") as scope, tf.name_scope("n"):
            note(add())
        with tf.name_scope(scope):
            note(add(), add())
        with tf.name_scope("p"), tf.name_scope(None):
            note(add())
        with tf.name_scope(None, "default", [tf.constant(1.0)]):
            note(add())
        note(tf.Variable(1.0), tf.Variable(1.0), *(graph.unique_name(n) for n in ("foo", "foo", "foo_1", "FOO")))
        note(graph.unique_name("foo", mark_as_used=False), tf.constant(1.0, name="c"), tf.placeholder(tf.float32, name="c"))
        for auxiliary in (True, True, False):
            with tf.variable_scope("q", reuse=tf.AUTO_REUSE, auxiliary_name_scope=auxiliary):
                note(variable(), add())
        with tf.variable_scope("a/b/c"):
            note(variable(), add())
        made = tf.make_template("made", lambda x: x * variable("w"))
        other = tf.make_template("made", lambda x: x * variable("w"))
        note(made(tf.constant([1.0])), made(tf.constant([1.0])), other(tf.constant([1.0])), *tf.global_variables()[-2:])
        x = tf.placeholder(tf.float32, [4])
        y = tf.reduce_sum(x * x)
        note(*(tf.gradients(y, x)[0].name.split("/")[0] for _ in range(2)))
        with tf.name_scope("k"):
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            note(optimizer.minimize(tf.reduce_sum(tf.Variable([1.0]))), tf.group(y), tf.no_op())
        with tf.variable_scope("slots"):
            v = tf.Variable([1.0])
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v), var_list=[v])
        note(tf.global_variables()[-1], tf.global_variables_initializer())
        note(tf.cond(tf.constant(True), lambda: x, lambda: x + 1).name.split("/")[0])
        note(tf.split(x, 2)[1], tf.unstack(x)[3], tf.split(x, 2)[1].op, x / 2.0, -x, x[0], x > 1.0, 1.0 + x)
        note(tf.get_variable_scope(), tf.Variable(3.0).read_value())
    return found


NAMES = [
    "a/v:0", "a/", "a/b/v:0", "a/b/Add:0", "a_1/", "a_1/Add:0", "a/v:0", "a_1/b/", "a_1/b/Add:0", "a", "a/", "a_2/Add:0", "a",
    "x/a/Add:0", "a/b", "x/b/Add:0", "a/b/v:0", "x/d", "x/d/w:0", "x/d/Add:0", "x/d_1", "x/d_1/w:0", "x/d_1/Add:0", "x/d",
    "x/d/u:0", "d", "d/Add:0", "d_1", "d_1/Add:0", "m/v:0", "n/m/Add:0", "n/m/V:0", "n_1/n/Add:0", "n_1/Add:0", "n_1/Add_1:0",
    "Add:0", "default/Add:0", "Variable:0", "Variable_1:0", "foo", "foo_1", "foo_1_1", "FOO_2", "foo_3", "c:0", "c_1:0",
    "q/v:0", "q/Add:0", "q/v:0", "q_1/Add:0", "q/v:0", "Add_1:0", "a/b/c/v:0", "a/b/c/Add:0", "made/mul:0", "made_1/mul:0",
    "made_2/mul:0", "made/w:0", "made_1/w:0", "gradients", "gradients_1", "k/GradientDescent", "k/group_deps", "k/NoOp",
    "slots/slots/Variable/Momentum:0", "init", "cond", "split:1", "unstack:3", "split_1", "truediv:0", "Neg:0",
    "strided_slice:0", "Greater:0", "add_2:0", "", "read:0",
]  # fmt: skip
