"""`tf.contrib.slim`: the layers, losses, metrics and variables of `tf.contrib`, and loops that train and evaluate."""

from __future__ import annotations

from .. import losses as losses
from .. import metrics as metrics
from ..framework import add_arg_scope as add_arg_scope
from ..framework import add_model_variable as add_model_variable
from ..framework import arg_scope as arg_scope
from ..framework import arg_scoped_arguments as arg_scoped_arguments
from ..framework import assign_from_checkpoint as assign_from_checkpoint
from ..framework import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from ..framework import assign_from_values as assign_from_values
from ..framework import assign_from_values_fn as assign_from_values_fn
from ..framework import create_global_step as create_global_step
from ..framework import current_arg_scope as current_arg_scope
from ..framework import filter_variables as filter_variables
from ..framework import get_global_step as get_global_step
from ..framework import get_local_variables as get_local_variables
from ..framework import get_model_variables as get_model_variables
from ..framework import get_or_create_global_step as get_or_create_global_step
from ..framework import get_trainable_variables as get_trainable_variables
from ..framework import get_unique_variable as get_unique_variable
from ..framework import get_variables as get_variables
from ..framework import get_variables_by_name as get_variables_by_name
from ..framework import get_variables_by_suffix as get_variables_by_suffix
from ..framework import get_variables_to_restore as get_variables_to_restore
from ..framework import global_variable as global_variable
from ..framework import has_arg_scope as has_arg_scope
from ..framework import local_variable as local_variable
from ..framework import model_variable as model_variable
from ..framework import variable as variable
from ..framework import zero_initializer as zero_initializer
from ..layers import *
from . import evaluation as evaluation
from . import learning as learning
