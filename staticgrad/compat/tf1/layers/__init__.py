"""`tf.layers`: layers as objects, and as functions that make and call one."""
