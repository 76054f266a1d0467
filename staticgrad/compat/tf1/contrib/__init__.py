"""`tf.contrib`: the names that tutorials use."""
