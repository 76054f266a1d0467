"""`tf.logging`: the logger "tensorflow" of the standard library."""

from __future__ import annotations

import logging

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL
_logger = logging.getLogger("tensorflow")
debug, info, warn, warning, error, fatal = (
    _logger.debug, _logger.info, _logger.warning, _logger.warning, _logger.error, _logger.critical,
)  # fmt: skip
set_verbosity, get_verbosity = _logger.setLevel, _logger.getEffectiveLevel
