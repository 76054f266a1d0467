"""`tf.data`: data sets, whose elements feed a graph by `get_next()`."""
