"""`tf.train`: optimizers, learning rates, the global step, checkpoints."""
