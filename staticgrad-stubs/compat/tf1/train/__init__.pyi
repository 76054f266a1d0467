"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..meta_graph import export_meta_graph as export_meta_graph
from ..summary import summary_iterator as summary_iterator
from ..train.cluster import ClusterSpec as ClusterSpec
from ..train.cluster import Server as Server
from ..train.cluster import SyncReplicasOptimizer as SyncReplicasOptimizer
from ..train.cluster import replica_device_setter as replica_device_setter
from ..train.decay import ExponentialMovingAverage as ExponentialMovingAverage
from ..train.decay import assert_global_step as assert_global_step
from ..train.decay import cosine_decay as cosine_decay
from ..train.decay import cosine_decay_restarts as cosine_decay_restarts
from ..train.decay import create_global_step as create_global_step
from ..train.decay import exponential_decay as exponential_decay
from ..train.decay import get_global_step as get_global_step
from ..train.decay import get_or_create_global_step as get_or_create_global_step
from ..train.decay import global_step as global_step
from ..train.decay import inverse_time_decay as inverse_time_decay
from ..train.decay import linear_cosine_decay as linear_cosine_decay
from ..train.decay import natural_exp_decay as natural_exp_decay
from ..train.decay import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from ..train.decay import piecewise_constant as piecewise_constant
from ..train.decay import piecewise_constant_decay as piecewise_constant_decay
from ..train.decay import polynomial_decay as polynomial_decay
from ..train.hooks import CheckpointSaverHook as CheckpointSaverHook
from ..train.hooks import CheckpointSaverListener as CheckpointSaverListener
from ..train.hooks import FeedFnHook as FeedFnHook
from ..train.hooks import FinalOpsHook as FinalOpsHook
from ..train.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from ..train.hooks import LoggingTensorHook as LoggingTensorHook
from ..train.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from ..train.hooks import NanTensorHook as NanTensorHook
from ..train.hooks import ProfilerHook as ProfilerHook
from ..train.hooks import SecondOrStepTimer as SecondOrStepTimer
from ..train.hooks import SessionRunArgs as SessionRunArgs
from ..train.hooks import SessionRunContext as SessionRunContext
from ..train.hooks import SessionRunHook as SessionRunHook
from ..train.hooks import SessionRunValues as SessionRunValues
from ..train.hooks import StepCounterHook as StepCounterHook
from ..train.hooks import StopAtStepHook as StopAtStepHook
from ..train.hooks import SummarySaverHook as SummarySaverHook
from ..train.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from ..train.optimizers import AdagradDAOptimizer as AdagradDAOptimizer
from ..train.optimizers import AdagradOptimizer as AdagradOptimizer
from ..train.optimizers import AdamOptimizer as AdamOptimizer
from ..train.optimizers import AdamWOptimizer as AdamWOptimizer
from ..train.optimizers import FtrlOptimizer as FtrlOptimizer
from ..train.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from ..train.optimizers import MomentumOptimizer as MomentumOptimizer
from ..train.optimizers import Optimizer as Optimizer
from ..train.optimizers import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from ..train.optimizers import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from ..train.optimizers import RMSPropOptimizer as RMSPropOptimizer
from ..train.saver import Checkpoint as Checkpoint
from ..train.saver import CheckpointManager as CheckpointManager
from ..train.saver import CheckpointOptions as CheckpointOptions
from ..train.saver import NewCheckpointReader as NewCheckpointReader
from ..train.saver import Saver as Saver
from ..train.saver import VocabInfo as VocabInfo
from ..train.saver import checkpoint_exists as checkpoint_exists
from ..train.saver import checkpoints_iterator as checkpoints_iterator
from ..train.saver import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from ..train.saver import get_checkpoint_mtimes as get_checkpoint_mtimes
from ..train.saver import get_checkpoint_state as get_checkpoint_state
from ..train.saver import import_meta_graph as import_meta_graph
from ..train.saver import init_from_checkpoint as init_from_checkpoint
from ..train.saver import latest_checkpoint as latest_checkpoint
from ..train.saver import list_variables as list_variables
from ..train.saver import load_checkpoint as load_checkpoint
from ..train.saver import load_variable as load_variable
from ..train.saver import remove_checkpoint as remove_checkpoint
from ..train.saver import update_checkpoint_state as update_checkpoint_state
from ..train.saver import warm_start as warm_start
from ..train.saver import write_graph as write_graph
from ..train.supervised import ChiefSessionCreator as ChiefSessionCreator
from ..train.supervised import MonitoredSession as MonitoredSession
from ..train.supervised import MonitoredTrainingSession as MonitoredTrainingSession
from ..train.supervised import Scaffold as Scaffold
from ..train.supervised import SessionCreator as SessionCreator
from ..train.supervised import SessionManager as SessionManager
from ..train.supervised import SingularMonitoredSession as SingularMonitoredSession
from ..train.supervised import Supervisor as Supervisor
from ..train.supervised import WorkerSessionCreator as WorkerSessionCreator
from ..train.supervised import basic_train_loop as basic_train_loop
from ..train.threads import Coordinator as Coordinator
from ..train.threads import LooperThread as LooperThread
from ..train.threads import QueueRunner as QueueRunner
from ..train.threads import add_queue_runner as add_queue_runner
from ..train.threads import batch as batch
from ..train.threads import batch_join as batch_join
from ..train.threads import input_producer as input_producer
from ..train.threads import limit_epochs as limit_epochs
from ..train.threads import maybe_batch as maybe_batch
from ..train.threads import maybe_batch_join as maybe_batch_join
from ..train.threads import maybe_shuffle_batch as maybe_shuffle_batch
from ..train.threads import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from ..train.threads import range_input_producer as range_input_producer
from ..train.threads import shuffle_batch as shuffle_batch
from ..train.threads import shuffle_batch_join as shuffle_batch_join
from ..train.threads import slice_input_producer as slice_input_producer
from ..train.threads import start_queue_runners as start_queue_runners
__all__ = [
    "AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer", "AdamWOptimizer", "Checkpoint",
    "CheckpointManager", "CheckpointOptions", "CheckpointSaverHook", "CheckpointSaverListener", "ChiefSessionCreator",
    "ClusterSpec", "Coordinator", "ExponentialMovingAverage", "FeedFnHook", "FinalOpsHook", "FtrlOptimizer",
    "GlobalStepWaiterHook", "GradientDescentOptimizer", "LoggingTensorHook", "LooperThread", "MomentumOptimizer",
    "MonitoredSession", "MonitoredTrainingSession", "NanLossDuringTrainingError", "NanTensorHook", "NewCheckpointReader",
    "Optimizer", "ProfilerHook", "ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer", "QueueRunner",
    "RMSPropOptimizer", "Saver", "Scaffold", "SecondOrStepTimer", "Server", "SessionCreator", "SessionManager",
    "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues", "SingularMonitoredSession",
    "StepCounterHook", "StopAtStepHook", "SummarySaverHook", "Supervisor", "SyncReplicasOptimizer", "VocabInfo",
    "WorkerSessionCreator", "add_queue_runner", "assert_global_step", "basic_train_loop", "batch", "batch_join",
    "checkpoint_exists", "checkpoints_iterator", "cosine_decay", "cosine_decay_restarts", "create_global_step",
    "exponential_decay", "export_meta_graph", "generate_checkpoint_state_proto", "get_checkpoint_mtimes",
    "get_checkpoint_state", "get_global_step", "get_or_create_global_step", "global_step", "import_meta_graph",
    "init_from_checkpoint", "input_producer", "inverse_time_decay", "latest_checkpoint", "limit_epochs",
    "linear_cosine_decay", "list_variables", "load_checkpoint", "load_variable", "maybe_batch", "maybe_batch_join",
    "maybe_shuffle_batch", "maybe_shuffle_batch_join", "natural_exp_decay", "noisy_linear_cosine_decay",
    "piecewise_constant", "piecewise_constant_decay", "polynomial_decay", "range_input_producer", "remove_checkpoint",
    "replica_device_setter", "shuffle_batch", "shuffle_batch_join", "slice_input_producer", "start_queue_runners",
    "summary_iterator", "update_checkpoint_state", "warm_start", "write_graph",
]
