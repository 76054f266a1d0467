"""The detection of NaN in gradients, under PyTorch's module name; see `eager/grad_mode.py`."""

from ...eager.grad_mode import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
