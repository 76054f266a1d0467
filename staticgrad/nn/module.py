"""Module: parameters, buffers and modules under names, and a `forward`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar, cast

from ..base import interpreter
from ..base.devices import check_device, is_meta
from ..base.dtypes import as_dtype
from ..base.types import INEXACT, DTypeLike
from ..eager import Tensor, empty, no_grad
from ..eager.inplace import tracer
from ..eager.tensor import Structure
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, NoDataError, TraceError
from ..ops.operators import F, MetaTensor, Operators, Symbol, as_array, check_change, on_meta, state
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators.conversions import parse_to
from ..tracing.settings import settings_of
from .module_hooks import EVERY, HookHandle, OptionHandle, WithModule, backward_hook, call_with_hooks, registered
from .parameter import Parameter, clear_gradients, is_buffer, mark, on_device
from .state_dict import (
    BUFFER,
    MODULE,
    PARAMETER,
    ROLES,
    TABLES,
    Hooks,
    IncompatibleKeys,
    Loading,
    Members,
    StateDictError,
    detached,
    fitting,
    new_state_dict,
    refuse_unexpected,
)

EXTRA = "_extra_state"
EXPECTED = {
    PARAMETER: "torch.nn.Parameter or None", BUFFER: "torch.nn.Buffer, torch.Tensor or None", MODULE: "torch.nn.Module or None",
}  # fmt: skip
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
PLAIN = (bool, int, float, str, tuple, type(None))
STORED: Any = (Tensor, MetaTensor)
"""The classes of members that are tensors."""


Arguments = ParamSpec("Arguments")
Output = TypeVar("Output", covariant=True)


class Forward(Protocol[Arguments, Output]):
    """A module as its call sees it: a call takes and gives what `forward` does, in the subclass that defines it."""

    _hook_ids: dict[int, None]

    def forward(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Output: ...


class Module:
    """Base of everything that holds parameters; write `__init__` and `forward`, call the module.

    Assigning a Parameter or a Module to an attribute registers it. `_parameters`,
    `_buffers` and `_modules` are dicts of them in order of registration, see `Members`.
    The members, `training`, hooks and the settings that the library's layers read are counted in `Structure` when they
    change; what the user's code reads in a compiled step is a guard by itself.

    Examples:
        >>> class Scale(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = nn.Parameter(sg.tensor([2.0]))
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> model = nn.Sequential(nn.Linear(3, 2), Scale())
        >>> [(name, p.shape) for name, p in model.named_parameters()]
        [('0.weight', torch.Size([2, 3])), ('0.bias', torch.Size([2])), ('1.factor', torch.Size([1]))]
        >>> model(sg.zeros((5, 3))).shape
        torch.Size([5, 2])
    """

    training: bool
    _parameters: Members
    """This module's own parameters by name."""
    _buffers: Members
    _modules: Members
    _non_persistent_buffers_set: set[str]
    _hook_ids: dict[int, None]
    """The hooks that a call looks for."""
    _forward_hooks: Hooks
    _forward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _version = 1
    dump_patches = False
    call_super_init = False
    """Whether `__init__` calls that of the next class, with all arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            refuse_unexpected(self, args, kwargs)
        present: dict[int, None] = {}
        self.__dict__.update(
            training=True, _hook_ids=present, _parameters=Members(self, PARAMETER), _buffers=Members(self, BUFFER),
            _non_persistent_buffers_set=set(), _backward_pre_hooks=Hooks(present), _backward_hooks=Hooks(present),
            _is_full_backward_hook=None, _forward_hooks=Hooks(present), _forward_hooks_with_kwargs={},
            _forward_hooks_always_called={}, _forward_pre_hooks=Hooks(present), _forward_pre_hooks_with_kwargs={},
            _state_dict_hooks={}, _state_dict_pre_hooks={}, _load_state_dict_pre_hooks={}, _load_state_dict_post_hooks={},
            _modules=Members(self, MODULE),
        )  # fmt: skip
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the attributes of another module, or those of a pickled one."""
        own = self.__dict__
        if "_parameters" not in own:
            Module.__init__(self)
        own.update(state)
        for table, role in ROLES.items():
            own[table] = Members(self, role, own[table])
        own["_hook_ids"] = {}
        for name in HOOKS:
            own[name] = Hooks(own["_hook_ids"], own[name])

    # running --------------------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes: each module writes its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self: Forward[Arguments, Output], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Output:
        if not (self._hook_ids or EVERY):
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    _call_impl = __call__

    def compile(self, **settings: Any) -> None:
        """Compile `forward` in place, with the settings of `sg.compile`. The module stays what it is; its hooks run outside."""
        from ..tracing import compile

        self.forward = compile(self.forward, **settings)  # type: ignore[method-assign]

    def _under_compile(self, forward: Any) -> Module:
        """What `sg.compile` gives for the module. forward: its call, compiled."""
        return interpreter.module("staticgrad.nn.containers").OptimizedModule(self, forward)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook(module, args)` before `forward`; a tuple, or one value, that it returns replaces the arguments.

        prepend: before the hooks that are there. with_kwargs: `hook(module, args, kwargs)`, which returns None or both.
        """
        return OptionHandle(self._forward_pre_hooks, hook, prepend, [self._forward_pre_hooks_with_kwargs] * with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook(module, args, output)` after `forward`; a returned value other than None replaces the output.

        prepend: before the hooks that are there. with_kwargs: `hook(module, args, kwargs, output)`. always_call: even where
        `forward` raises.
        """
        options = [self._forward_hooks_with_kwargs] * with_kwargs + [self._forward_hooks_always_called] * always_call
        return OptionHandle(self._forward_hooks, hook, prepend, options)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)`, two tuples, when the gradients of the module's arguments are computed;
        a returned tuple replaces grad_input. Values that are no tensors, or have no gradient, are None."""
        return backward_hook(self, hook, prepend, full=True)

    def register_backward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """As `register_full_backward_hook`; a module has hooks of one of the two kinds. Raises GradientError."""
        return backward_hook(self, hook, False, full=False)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_output)`, a tuple, before the backward pass of the module; a returned tuple replaces it."""
        return HookHandle(self._backward_pre_hooks, hook, prepend)

    # members --------------------------------------------------------------------------------------------------------

    if not TYPE_CHECKING:  # checkers, which know the annotated members, report others as mistakes

        def __getattr__(self, name: str) -> Any:
            """A member that is no entry of `__dict__`: the class has an attribute of its name that failed, or a user's dict is
            in the place of one of the module's."""
            own = self.__dict__
            for table in ROLES:
                if name in own.get(table, ()):
                    return own[table][name]
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_parameters" not in own:
            kind = "parameters" if isinstance(value, Parameter) else "module" if isinstance(value, Module) else None
            if kind is not None:
                raise ModuleInitError(
                    f"cannot assign {kind} before Module.__init__() call", "call super().__init__() first in __init__"
                )
            object.__setattr__(self, name, value)
            return
        if isinstance(value, STORED) and is_buffer(value):
            self.register_buffer(name, value, vars(value)["_persistent"])
            return
        if isinstance(value, Symbol) and state.tracer is not None:  # perhaps of this package, whose frames are not observed
            state.tracer.set_attribute(self, name, value)
        role, wanted = self._role(name), _role_of(value)
        if wanted is None and role is None:
            if name in ROLES or name in HOOKS:
                self._set_table(name, value)
                return
            # by its type: a number of a trace says that it is one of Python's, but has no value to compare
            read = issubclass(type(value), (*PLAIN, Tensor)) and name in settings_of(type(self))
            counted = read or hasattr(type(self), name)  # a method of its own
            if counted and (name not in own or not _same(own[name], value)):
                Structure.changes += 1
            object.__setattr__(self, name, value)
            return
        if (
            wanted == PARAMETER != role and hasattr(type(self), name) and hasattr(self, name)
        ):  # a property may have no value yet
            raise MemberNameError(f"attribute '{name}' already exists", f"it is one of class {type(self).__name__}")
        if role == PARAMETER != wanted and value is not None:
            self._check_kept(name, PARAMETER, value)
        if wanted == PARAMETER and type(self).register_parameter is not REGISTER:  # a package has its own
            for other in (BUFFER, MODULE):
                dict.pop(own[TABLES[other]], name, None)
            own.pop(name, None)
            self.register_parameter(name, value)
            return
        if wanted is None:  # a registered name stays registered
            self._check_kept(name, cast("str", role), value)
            if isinstance(value, Symbol) and not isinstance(value, MetaTensor):
                object.__setattr__(self, name, value)
                return
            wanted = cast("str", role)
        self._put(name, registered(self, name, value, wanted), wanted)

    def _role(self, name: str) -> str | None:
        """What a member is; None for other attributes."""
        own = self.__dict__
        for table, role in ROLES.items():
            if name in own[table]:
                return role
        return None

    def _set_table(self, name: str, value: Any) -> None:
        """Set `_parameters` or another dict of the module: it takes over the items of `value`."""
        check_change(self, f"{name} of a {type(self).__name__} is set")
        own = self.__dict__
        if name in HOOKS:
            for key in own[name]:
                own["_hook_ids"].pop(key, None)
            own[name] = Hooks(own["_hook_ids"], value)
        else:
            former = own[name]
            for key in former:
                if own.get(key, own) is former[key]:
                    del own[key]
            own[name] = Members(self, ROLES[name], value)
        Structure.changes += 1

    def _check_kept(self, name: str, role: str, value: Any) -> None:
        if isinstance(value, Symbol) and not isinstance(value, MetaTensor):
            if role == BUFFER and state.tracer is not None:  # whose runs write it back
                return
            raise TraceError(
                f"cannot assign a traced value as {role} {name!r}", f"change it in place: self.{name}.copy_(value)"
            )
        if value is not None and not (role == BUFFER and isinstance(value, STORED)):
            raise ArgumentTypeError(f"cannot assign '{type_text(value)}' as {role} '{name}' ({EXPECTED[role]} expected)")

    def _put(self, name: str, value: Any, role: str) -> None:
        own = self.__dict__
        table = own[TABLES[role]]
        if table.get(name, own) is value and own.get(name, value) is value:
            return
        if role != BUFFER or name not in table:
            check_change(self, f"{role} {name!r} of a {type(self).__name__} is set")
        if isinstance(value, STORED):
            if role == PARAMETER:
                mark(value)
            value.name = value.name if value.name else name
        elif isinstance(value, Module):
            for kind in (PARAMETER, BUFFER):  # paths become names
                deque(value._named(kind, name, True, True), 0)
        for other in ROLES:
            if other != TABLES[role] and name in own[other]:
                dict.__delitem__(own[other], name)
        if role != BUFFER:
            own["_non_persistent_buffers_set"].discard(name)
        if isinstance(table, Members):
            table.enter(self, name, value)
        else:  # somebody's own dict
            table[name] = value
        Structure.changes += 1

    def _drop(self, table: Members, name: str) -> None:
        if name not in table:
            raise KeyError(name)
        check_change(self, f"{table._role} {name!r} of a {type(self).__name__} is deleted")
        table.leave(self, name)
        Structure.changes += 1

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        for table in ROLES:
            if name in own.get(table, ()):
                own["_non_persistent_buffers_set"].discard(name)
                del own[table][name]
                return
        if hasattr(type(self), name) or name in settings_of(type(self)):
            Structure.changes += 1
        object.__delattr__(self, name)

    def _check_name(self, name: str, role: str) -> None:
        """Raises AttributeError before `Module.__init__`, ArgumentError for a name that a member can't have."""
        word = role.rpartition(" ")[2]
        if "_parameters" not in self.__dict__:
            raise ModuleInitError(
                f"cannot assign {word} before Module.__init__() call", "call super().__init__() first in __init__"
            )
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{word} name should be a string. Got {type_text(name)}")
        if "." in name:
            raise MemberNameError(f'{word} name can\'t contain "."' + (f", got: {name}" if role == MODULE else ""))
        if not name:
            raise MemberNameError(f'{word} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[TABLES[role]]:
            raise MemberNameError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: AnyTensor | None) -> None:
        """Add a parameter (None: a name that may get one later). Raises ArgumentError for a bad name or value."""
        self._check_name(name, PARAMETER)
        if param is not None and not isinstance(param, Parameter):
            raise ArgumentTypeError(
                f"cannot assign '{type_text(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)",
                "write nn.Parameter(tensor), or register_buffer for a tensor that isn't trained",
            )
        if param is not None and not param.is_leaf:
            raise ArgumentError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
                f"'{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._put(name, registered(self, name, param, PARAMETER), PARAMETER)

    def register_buffer(self, name: str, tensor: AnyTensor | None, persistent: bool = True) -> None:
        """Add a tensor that is saved with the module, unless it is not `persistent`, but not trained. Raises ArgumentError."""
        if isinstance(tensor, Symbol):
            check_change(None, f"buffer {name!r} of a {type(self).__name__} is registered")
        self._check_name(name, BUFFER)
        if tensor is not None and not isinstance(tensor, STORED):
            raise ArgumentTypeError(
                f"cannot assign '{type_text(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._put(name, registered(self, name, tensor, BUFFER), BUFFER)
        transient = self.__dict__["_non_persistent_buffers_set"]
        (transient.discard if persistent else transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under a name that need not be an identifier. Raises ArgumentError."""
        if module is not None and not isinstance(module, Module):
            raise ArgumentTypeError(f"{type_text(module)} is not a Module subclass")
        self._check_name(name, MODULE)
        self._put(name, registered(self, name, module, MODULE), MODULE)

    register_module = add_module

    def _own(self, role: str) -> Iterator[tuple[str, Any]]:
        """The members of one role that are there, by name. A copy that is being made has none yet."""
        members = self.__dict__.get(TABLES[role], {})
        return ((name, value) for name, value in list(members.items()) if value is not None)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Direct children, each once."""
        seen: set[Module] = set()
        for name, child in self._own(MODULE):
            if child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """The modules that are its direct members."""
        return (child for _, child in self.named_children())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module (under the name `prefix`) and all below it, each once (where its duplicates are removed), by dotted
        path. memo: modules that are left out, to which those found are added."""
        seen: set[Any] = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, child in self._own(MODULE):
            yield from child.named_modules(seen, _joined(prefix, name), remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all modules within it, each once."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def _named(self, role: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(None, prefix, once) if recurse else [(prefix, self)]:
            for name, tensor in module._own(role):
                if not once or id(tensor) not in seen:
                    seen.add(id(tensor))
                    full = _joined(path, name)
                    if full.endswith(tensor.name):  # given by a module below: the longest path wins
                        tensor.name = full
                    yield full, tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Parameters by dotted path, a shared one once where duplicates are removed; the path becomes the tensor's `name`."""
        return self._named(PARAMETER, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """The parameters, of the modules within it too unless `recurse` is False."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers by dotted path, a shared one once where duplicates are removed."""
        return self._named(BUFFER, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, of the modules within it too unless `recurse` is False."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; this one for "". Raises AttributeError."""
        found: Module = self
        for name in target.split(".") if target else ():
            child = found._modules.get(name)
            if child is None and not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            child = getattr(found, name) if child is None else child
            if not isinstance(child, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
            found = child
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path. strict: there has to be one. Raises AttributeError, ArgumentError."""
        path, _, name = target.rpartition(".")
        if not name:
            raise ArgumentError("Cannot set the submodule without a target name!")
        owner = self.get_submodule(path)
        if strict and name not in owner._modules:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        owner.add_module(name, module)

    def _member(self, target: str, role: str) -> Tensor:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        members = owner.__dict__[TABLES[role]]
        if name not in members:
            kind = "an nn.Parameter" if role == PARAMETER else "a buffer"
            raise AttributeError(f"{type(owner).__name__}: `{name}` is not {kind}")
        return members[name]

    def get_parameter(self, target: str) -> Tensor:
        """The parameter at a dotted path. Raises AttributeError."""
        return self._member(target, PARAMETER)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path. Raises AttributeError."""
        return self._member(target, BUFFER)

    def structure(self) -> tuple[tuple[str, Hashable], ...]:
        """(path, fact) for all that a trace of this module depends on beside the values of its tensors: equal
        structures give equal traces."""
        from ..tracing.guards import TensorFact  # with the tracer, which asks

        facts: list[tuple[str, Hashable]] = [("hooks of all modules", tuple(EVERY))]
        for path, module in self.named_modules():
            facts.append((path, (type(module).__name__, id(module))))
            own = module.__dict__
            facts.append((_joined(path, "hooks"), tuple([tuple(own[hooks]) for hooks in HOOKS])))
            settings = settings_of(type(module))
            for name, value in (*own.items(), *module._hidden()):
                read = name in settings or module._role(name)  # all other reads are seen, and guarded
                if isinstance(value, Tensor) and read:
                    fact = TensorFact((id(value), value.shape, str(value.dtype), value.requires_grad))
                    facts.append((_joined(path, name), fact))
                elif issubclass(type(value), PLAIN) and read and _hashable(value):
                    facts.append((_joined(path, name), value))
                elif hasattr(type(module), name) and callable(value):  # instead of a method of the class
                    facts.append((_joined(path, name), value if _hashable(value) else id(value)))
        return tuple(facts)

    def _hidden(self) -> list[tuple[str, Any]]:
        """The members that are no entries of `__dict__`."""
        own = self.__dict__
        return [(name, value) for table in ROLES for name, value in own[table].items() if name not in own]

    def _named_members(
        self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """What `get_members_fn(module)` gives, as pairs of names and values, of all modules by dotted path."""
        seen: set[Any] = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in get_members_fn(module):
                if value is not None and value not in seen:
                    if remove_duplicate:
                        seen.add(value)
                    yield _joined(path, name), value

    def _replicate_for_data_parallel(self) -> Self:
        """A module with dicts of members of its own, which has no parameters yet."""
        replica = self.__new__(type(self))
        replica.__setstate__(self.__dict__)
        replica._parameters = {}  # type: ignore[assignment]
        return replica

    # changing all of it -----------------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn(module)` on the children first, then on this module."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below (Dropout reads it). Raises ArgumentError for a mode that is not a bool."""
        if not isinstance(mode, bool):
            raise ArgumentError("training mode is expected to be boolean")
        trace = tracer()
        for module in self.modules():
            if trace is not None:
                trace.set_attribute(module, "training", mode)
            module.training = mode
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (False) or unfreeze all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters (or fill them with zeros)."""
        clear_gradients(self.parameters(), set_to_none)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """`to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`: cast floating parameters and buffers in place;
        integer buffers stay. memory_format=channels_last: those of four axes lie in that order. Raises DTypeError for a dtype
        that isn't floating, DeviceError for a device but the CPU and meta, NoDataError from meta to the CPU."""
        place, dtype, _, _, order = parse_to(*args, **kwargs)
        if place is not None:
            try:
                self._apply(lambda x: x.to(place))  # type: ignore[arg-type, return-value]
            except NoDataError as error:
                raise NoDataError(
                    f"{error.summary} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device.",
                    *error.details,
                ) from None
        if order is not None:
            axes = 5 if str(order).endswith("3d") else 4
            self._apply(lambda x: x.to(memory_format=order) if x.ndim == axes else x)  # type: ignore[arg-type, return-value]
        if dtype is None:
            return self
        dtype = as_dtype(dtype)
        if dtype.kind not in INEXACT:
            raise DTypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype}")
        return self._apply(lambda x: _cast(x, dtype))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Let each parameter and buffer, here and below, have the value `fn(tensor)`, and each gradient likewise. What moves or
        casts modules does it by this method, so a subclass that overrides it has a part in `to`, `double` and the like."""
        for child in self.children() if recurse else ():
            child._apply(fn)
        for role in (PARAMETER, BUFFER):
            for name, tensor in self._own(role):
                with no_grad():
                    changed = fn(tensor)
                    if isinstance(changed, MetaTensor) != isinstance(tensor, MetaTensor):
                        self._put(name, on_device(tensor, changed), role)
                    elif changed is not tensor:
                        g: Any = tensor.grad
                        tensor.grad = None
                        tensor.data = changed
                        tensor.grad = None if g is None else fn(g)
        return self

    def float(self) -> Self:
        """`to(float32)`."""
        return self.to("float32")

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """The module with tensors of that device, whose values are yet to be written where they were on device meta. Raises
        DeviceError for a device but the CPU and meta."""
        if is_meta(device):
            return self._apply(on_meta, recurse)
        check_device(device)
        return self._apply(lambda x: empty(x.shape, dtype=x.dtype) if isinstance(x, MetaTensor) else x, recurse)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that processes share: see `Tensor.share_memory_`."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def double(self) -> Self:
        """`to(float64)`."""
        return self.to("float64")

    def type(self, dst_type: DTypeLike) -> Self:
        """`to(dst_type)`."""
        return self.to(dst_type)

    def half(self) -> Self:
        """`to(float16)`."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """`to(bfloat16)`."""
        return self.to("bfloat16")

    def cpu(self) -> Self:
        """The module itself, which is on the CPU."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """Raises DeviceError: there is only the CPU."""
        check_device("cuda")
        return self

    # saving -----------------------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """All parameters and persistent buffers, detached, by dotted path; a shared one under each of its names.

        The tensors have the memory of the module's, so training changes them, and writing one changes the module:
        `copy.deepcopy(model.state_dict())` keeps the values of now. destination: a dict to add to. prefix: how paths begin.
        keep_vars: the tensors themselves. Hooks are called before and after each module's part. What a Session trained lies in
        the Session: `load_state_dict(sess.run(dict(model.named_parameters())))` brings it here.
        """
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        if len(args) == 1 and isinstance(args[0], str):
            given = {"prefix": args[0]}
        place = given.get("destination", destination)
        found: dict[str, Tensor] = new_state_dict() if place is None else place
        self._save(found, given.get("prefix", prefix), given.get("keep_vars", keep_vars))
        return found

    def _save(self, found: dict[str, Tensor], prefix: str, keep: bool) -> None:
        own = {"version": self._version}
        if (metadata := getattr(found, "_metadata", None)) is not None:
            metadata[prefix[:-1]] = own
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep)
        self._save_to_state_dict(found, prefix, keep)
        for name, child in self._own(MODULE):
            child.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep)
        for hook in tuple(self._state_dict_hooks.values()):
            hook(self, found, prefix, own)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Add the members of this module alone to a state dict; a subclass may add more."""
        own = dict(self._saved_members(prefix))
        destination.update(own if keep_vars else detached(own))
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[f"{prefix}{EXTRA}"] = self.get_extra_state()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values in, cast to each tensor's dtype. Returns the missing and the unexpected keys.

        assign: the tensors of the dict themselves become the members, with their dtypes; optimizers keep the former ones.
        Hooks are called before, with a copy of the dict that they may change, and after. Raises StateDictError, before anything
        is changed, for a shape that differs, for what a hook reports, and with `strict` for a missing or an unexpected key.

        Examples:
            >>> source, target = nn.Linear(3, 2), nn.Linear(3, 2)
            >>> target.load_state_dict(source.state_dict())
            <All keys matched successfully>
            >>> (target.weight == source.weight).all().item()
            True
        """
        if not isinstance(state_dict, Mapping):
            raise StateDictError(
                f"Expected state_dict to be dict-like, got {type(state_dict).__name__}.",
                "pass model.state_dict(), or sg.load(path) of a file that has one",
            )
        modules, loading = list(self.named_modules(remove_duplicate=False)), Loading(state_dict, assign)
        metadata = getattr(state_dict, "_metadata", None) or {}
        for path, module in modules:
            prefix = f"{path}." if path else ""
            own = dict(metadata.get(path, {}), **({"assign_to_params_buffers": True} if assign else {}))
            module._load_from_state_dict(loading, prefix, own, True, loading.missing, loading.unexpected, loading.errors)
        result = loading.write(type(self).__name__, strict)
        for module in {id(module): module for _, module in modules}.values():
            for hook in tuple(module._load_state_dict_post_hooks.values()):
                hook(module, result)
        return result

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Take over the values of this module's own members from a state dict, in which their names begin with `prefix`; the
        three lists take what is wrong. Inside `load_state_dict` the values are written once all modules are done, and none
        if one has an error. A subclass that overrides it may change the dict before."""
        others = prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(self, state_dict, *others) if isinstance(hook, WithModule) else hook(state_dict, *others)
        places, extra = dict(self._saved_members(prefix)), f"{prefix}{EXTRA}"
        known = [*places, *[extra] * (type(self).set_extra_state is not Module.set_extra_state)]
        if strict:
            missing_keys += [name for name in known if name not in state_dict]
            for key in state_dict:
                child = key[len(prefix) :].partition(".")
                if key.startswith(prefix) and not (child[0] in self._modules if child[1] else key in known):
                    unexpected_keys.append(key)
        whole = state_dict if isinstance(state_dict, Loading) else Loading({})
        whole.found += fitting(state_dict, places, error_msgs, whole.assign)
        if whole.assign:
            whole.assigned += [(self, name[len(prefix) :], state_dict[name]) for name in places if name in state_dict]
        whole.extra += [(self, state_dict[extra])] if extra in known and extra in state_dict else []
        if whole is not state_dict and not error_msgs:
            whole.write("", False)

    def _assign(self, name: str, value: Any) -> None:
        """A tensor as the parameter or buffer of this name, which trains as the former one did."""
        former = getattr(self, name)
        if isinstance(former, Parameter):
            given = value if isinstance(value, Operators) else as_array(value)
            value = given if isinstance(given, Parameter) else Parameter(given, former.requires_grad)
            value.requires_grad_(former.requires_grad)
        setattr(self, name, value if isinstance(value, Operators) else Tensor(as_array(value)))

    def get_extra_state(self) -> Any:
        """What a subclass saves beside its tensors, under "_extra_state"; it writes `set_extra_state` too."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Take over what `get_extra_state` gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` takes this module's part."""
        return HookHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after it; the hook may change the dict."""
        return HookHandle(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before
        values are loaded; it may change the dict, and add errors."""
        return self._register_load_state_dict_pre_hook(hook, True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> HookHandle:
        return HookHandle(self._load_state_dict_pre_hooks, WithModule(hook) if with_module and callable(hook) else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, incompatible_keys)` after values were loaded; it may change the lists."""
        return HookHandle(self._load_state_dict_post_hooks, hook)

    def _saved_members(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        for role in (PARAMETER, BUFFER):
            for name, tensor in self._own(role):
                if role == PARAMETER or name not in self._non_persistent_buffers_set:
                    yield prefix + name, tensor

    # text -------------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The settings, as they appear in `repr`."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        extra = self.extra_repr().split("\n")
        if not lines and len(extra) == 1:
            return f"{self._get_name()}({extra[0]})"
        body = "\n  ".join((extra if extra != [""] else []) + lines)
        return f"{self._get_name()}(\n  {body}\n)"


REGISTER = Module.register_parameter


def _role_of(value: Any) -> str | None:
    return MODULE if isinstance(value, Module) else PARAMETER if isinstance(value, Parameter) else None


class ModuleInitError(ArgumentError, AttributeError):
    """A member is given to a module before `Module.__init__` has run.

    broken:  def __init__(self): self.lin = nn.Linear(2, 3); super().__init__()
    fixed:   def __init__(self): super().__init__(); self.lin = nn.Linear(2, 3)
    """


class MemberNameError(ArgumentError, KeyError):
    """A name that a member of a module can't have.

    broken:  net.register_buffer("forward", sg.zeros(1))
    fixed:   net.register_buffer("forward_count", sg.zeros(1))
    """


def _cast(x: Tensor, dtype: Any) -> Tensor:
    """A floating tensor in another dtype; complex ones don't become real."""
    return F.astype(x, dtype).detach() if x.dtype.kind in ("f", dtype.kind) and x.dtype != dtype else x  # type: ignore[return-value]


def type_text(value: Any) -> str:
    """The type of an object as PyTorch's errors name it."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _same(old: Any, new: Any) -> bool:
    if old is new:
        return True
    return type(old) is type(new) and isinstance(new, PLAIN) and _hashable(new) and _hashable(old) and repr(old) == repr(new)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


__all__ = ["Module"]
