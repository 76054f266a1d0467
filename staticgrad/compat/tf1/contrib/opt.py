"""`tf.contrib.opt`: optimizers with weight decay."""

from ..train.optimizers import AdamWOptimizer

__all__ = ["AdamWOptimizer"]
