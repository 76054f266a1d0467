"""Module: parameters, buffers and modules under names, and a `forward`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from ..base import signals
from ..base.devices import check_device, is_device
from ..base.types import INEXACT, DTypeLike, as_dtype
from ..eager import Tensor
from ..eager.inplace import tracer
from ..eager.tensor import Structure
from ..errors import ArgumentError, DTypeError, TraceError
from ..operators import Symbol, check_change, state
from ..operators import Tensor as AnyTensor
from ..tracing.module_settings import settings_of
from .members import Members
from .module_hooks import EVERY_AFTER, EVERY_BEFORE, HookHandle, call_with_hooks, entry
from .parameter import Parameter, clear_gradients, is_buffer, mark
from .state_dict import IncompatibleKeys, StateDictError, detached, load

PARAMETER, BUFFER, MODULE = "parameter", "buffer", "child module"
EXTRA = "_extra_state"
EXPECTED = {PARAMETER: "nn.Parameter or None", BUFFER: "Tensor or None", MODULE: "Module or None"}
PLAIN = (bool, int, float, str, tuple, type(None))


Arguments = ParamSpec("Arguments")
Output = TypeVar("Output", covariant=True)


class Forward(Protocol[Arguments, Output]):
    """A module as its call sees it: a call takes and gives what `forward` does, in the subclass that defines it."""

    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks: dict[int, Callable[..., Any]]

    def forward(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Output: ...


class Module:
    """Base of everything that holds parameters; write `__init__` and `forward`, call the module.

    Assigning a Parameter (or any leaf tensor that requires grad) or a Module to an attribute registers it. They live in
    the instance's `__dict__` as other attributes do; `_roles` says, in order of registration, which of them count.
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
    _roles: dict[str, str]
    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks: dict[int, Callable[..., Any]]

    def __init__(self) -> None:
        self.__dict__.update(_roles={}, _forward_hooks={}, _forward_pre_hooks={}, training=True)

    # running --------------------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self: Forward[Arguments, Output], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Output:
        if not self._forward_pre_hooks and not self._forward_hooks and not EVERY_BEFORE and not EVERY_AFTER:
            return self.forward(*args, **kwargs)
        output: Output = call_with_hooks(self, args, kwargs)
        return output

    def compile(self, **settings: Any) -> None:
        """Compile `forward` in place, with the settings of `sg.compile`. The module stays what it is; its hooks run outside."""
        from ..tracing import compile

        self.forward = compile(self.forward, **settings)  # type: ignore[method-assign]

    def _under_compile(self, forward: Any) -> Module:
        """What `sg.compile` gives for the module. forward: its call, compiled."""
        made: Module = signals.module("staticgrad.nn.optimized_module").OptimizedModule(self, forward)
        return made

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook(module, args)` before `forward`; a tuple, or one value, that it returns replaces the arguments.

        prepend: before the hooks that are there. with_kwargs: `hook(module, args, kwargs)`, which returns None or both.
        """
        return HookHandle(self._forward_pre_hooks, entry(hook, "forward", with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook(module, args, output)` after `forward`; a returned value other than None replaces the output.

        prepend: before the hooks that are there. with_kwargs: `hook(module, args, kwargs, output)`. always_call: even where
        `forward` raises.
        """
        return HookHandle(self._forward_hooks, entry(hook, "forward", with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)`, two tuples, when the gradients of the module's arguments are computed;
        a returned tuple replaces grad_input. Values that are no tensors, or have no gradient, are None."""
        return HookHandle(self._forward_pre_hooks, entry(hook, "backward"), prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_output)`, a tuple, before the backward pass of the module; a returned tuple replaces it."""
        return HookHandle(self._forward_pre_hooks, entry(hook, "backward_pre"), prepend)

    # members --------------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_roles" not in own:
            raise ArgumentError(
                f"cannot assign {name!r} before Module.__init__() call", "call super().__init__() first in __init__"
            )
        if isinstance(value, Tensor) and is_buffer(value):
            self.register_buffer(name, value, vars(value)["_persistent"])
            return
        if isinstance(value, Symbol) and state.tracer is not None:  # perhaps of this package, whose frames are not observed
            state.tracer.set_attribute(self, name, value)
        role, wanted = own["_roles"].get(name), _role_of(value)
        if wanted is None and role is None:
            # by its type: a number of a trace says that it is one of Python's, but has no value to compare
            read = issubclass(type(value), (*PLAIN, Tensor)) and name in settings_of(type(self))
            counted = read or hasattr(type(self), name)  # a method of its own
            if counted and (name not in own or not _same(own[name], value)):
                Structure.changes += 1
            object.__setattr__(self, name, value)
            return
        if wanted is None:  # a registered name stays registered
            self._check_kept(name, role, value)
            if isinstance(value, Symbol):
                object.__setattr__(self, name, value)
                return
            wanted = role
        self._put(name, value, wanted)

    def _check_kept(self, name: str, role: str, value: Any) -> None:
        if isinstance(value, Symbol):
            if role == BUFFER and state.tracer is not None:  # whose runs write it back
                return
            raise TraceError(
                f"cannot assign a traced value as {role} {name!r}", f"change it in place: self.{name}.copy_(value)"
            )
        if value is not None and not (role == BUFFER and isinstance(value, Tensor)):
            kind = type(value).__name__
            raise ArgumentError(f"cannot assign {kind!r} as {role} {name!r} ({EXPECTED[role]} expected)")

    def _put(self, name: str, value: Any, role: str) -> None:
        own = self.__dict__
        if own.get(name, own) is value and own["_roles"].get(name) == role:
            return
        if own["_roles"].get(name) != BUFFER or role != BUFFER:
            check_change(self, f"{role} {name!r} of a {type(self).__name__} is set")
        if isinstance(value, Tensor):
            if role == PARAMETER:
                mark(value)
            value.name = value.name if value.name else name
        elif isinstance(value, Module):
            for kind in (PARAMETER, BUFFER):  # paths become names
                deque(value._named(kind, name, True, True), 0)
        own[name] = value
        own["_roles"][name] = role
        Structure.changes += 1

    def __delattr__(self, name: str) -> None:
        role = self._roles.get(name)
        if role is not None:
            check_change(self, f"{role} {name!r} of a {type(self).__name__} is deleted")
            del self._roles[name]
        if role is not None or hasattr(type(self), name) or name in settings_of(type(self)):
            Structure.changes += 1
        object.__delattr__(self, name)

    def _register(self, name: str, value: Any, role: str) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"{role} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            raise ArgumentError(f'{role} name can\'t be empty or contain ".", got {name!r}')
        if hasattr(self, name) and name not in self._roles:
            raise ArgumentError(f"attribute {name!r} already exists")
        self._put(name, value, role)

    def register_parameter(self, name: str, param: AnyTensor | None) -> None:
        """Add a parameter (None: a name that may get one later). Raises ArgumentError for a bad name or value."""
        if param is not None and not (isinstance(param, Tensor) and param.is_leaf):
            raise ArgumentError(
                f"cannot assign {type(param).__name__!r} as parameter {name!r} ({EXPECTED[PARAMETER]} expected)",
                "a parameter is a leaf: it is not the result of an operation",
            )
        self._register(name, param, PARAMETER)

    def register_buffer(self, name: str, tensor: AnyTensor | None, persistent: bool = True) -> None:
        """Add a tensor that is saved with the module, unless it is not `persistent`, but not trained. Raises ArgumentError."""
        if isinstance(tensor, Symbol):
            check_change(None, f"buffer {name!r} of a {type(self).__name__} is registered")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentError(f"cannot assign {type(tensor).__name__!r} as buffer {name!r} ({EXPECTED[BUFFER]} expected)")
        self._register(name, tensor, BUFFER)
        transient = self.__dict__.setdefault("_non_persistent_buffers_set", set())
        (transient.discard if persistent else transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under a name that need not be an identifier. Raises ArgumentError."""
        if module is not None and not isinstance(module, Module):
            raise ArgumentError(f"{type(module).__name__} is not a Module subclass")
        self._register(name, module, MODULE)

    register_module = add_module

    def _own(self, role: str) -> Iterator[tuple[str, Any]]:
        """The members of one role that are there, by name. A copy that is being made has none yet."""
        own = self.__dict__
        return ((name, own[name]) for name, r in list(own.get("_roles", {}).items()) if r == role and own[name] is not None)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Direct children, each once."""
        seen: set[int] = set()
        for name, child in self._own(MODULE):
            if id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Module]:
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
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers by dotted path, a shared one once where duplicates are removed."""
        return self._named(BUFFER, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; this one for "". Raises AttributeError."""
        found: Module = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            child = getattr(found, name)
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
        if strict and owner._roles.get(name) != MODULE:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        owner.add_module(name, module)

    def _member(self, target: str, role: str) -> Tensor:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if owner._roles.get(name) != role:
            kind = "an nn.Parameter" if role == PARAMETER else "a buffer"
            raise AttributeError(f"{type(owner).__name__}: `{name}` is not {kind}")
        tensor: Tensor = getattr(owner, name)
        return tensor

    def get_parameter(self, target: str) -> Tensor:
        """The parameter at a dotted path. Raises AttributeError."""
        return self._member(target, PARAMETER)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path. Raises AttributeError."""
        return self._member(target, BUFFER)

    @property
    def _parameters(self) -> Members:
        """This module's own parameters by name, as PyTorch's dict of this name: changes of it are changes of the module."""
        return Members(self, PARAMETER)

    @property
    def _buffers(self) -> Members:
        return Members(self, BUFFER)

    @property
    def _modules(self) -> Members:
        return Members(self, MODULE)

    def structure(self) -> tuple[tuple[str, Hashable], ...]:
        """(path, fact) for all that a trace of this module depends on beside the values of its tensors: equal
        structures give equal traces."""
        from ..tracing.guards import TensorFact  # with the tracer, which asks

        facts: list[tuple[str, Hashable]] = [("hooks of all modules", (*EVERY_BEFORE, None, *EVERY_AFTER))]
        for path, module in self.named_modules():
            facts.append((path, (type(module).__name__, id(module))))
            facts.append((_joined(path, "forward hooks"), (*module._forward_pre_hooks, None, *module._forward_hooks)))
            roles, settings = module._roles, settings_of(type(module))
            for name, value in module.__dict__.items():
                read = name in roles or name in settings  # all other reads are seen, and guarded
                if isinstance(value, Tensor) and read:
                    fact = TensorFact((id(value), value.shape, str(value.dtype), value.requires_grad))
                    facts.append((_joined(path, name), fact))
                elif issubclass(type(value), PLAIN) and read and _hashable(value):
                    facts.append((_joined(path, name), value))
                elif hasattr(type(module), name) and callable(value):  # instead of a method of the class
                    facts.append((_joined(path, name), value if _hashable(value) else id(value)))
        return tuple(facts)

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
        integer buffers stay. Raises DTypeError for a dtype that isn't floating, DeviceError for a device but the CPU."""
        dtype = kwargs.get("dtype")
        check_device(kwargs.get("device"))
        for value in args:
            if isinstance(value, Tensor):
                dtype = value.dtype
            elif is_device(value):
                check_device(value)
            elif value is not None and not isinstance(value, bool):
                dtype = value
        if dtype is None:
            return self
        dtype = as_dtype(dtype)
        if dtype.kind not in INEXACT:
            raise DTypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype}")
        for tensor in [*self.parameters(), *self.buffers()]:
            if tensor.dtype.kind in ("f", dtype.kind) and tensor.dtype != dtype:  # complex ones don't become real
                g: Any = tensor.grad
                tensor.grad = None
                tensor.data = tensor._data.astype(dtype)
                tensor.grad = None if g is None else Tensor(g._data.astype(dtype))
        return self

    def float(self) -> Self:
        """`to(float32)`."""
        return self.to("float32")

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """The module itself, which is on the CPU. Raises DeviceError for another device."""
        check_device(device)
        return self

    def share_memory(self) -> Self:
        """The module itself: worker processes get copies."""
        return self

    def double(self) -> Self:
        """`to(float64)`."""
        return self.to("float64")

    def type(self, dst_type: DTypeLike) -> Self:
        """`to(dst_type)`."""
        return self.to(dst_type)

    def half(self) -> Self:
        """Raises DTypeError: there is no float16."""
        raise DTypeError("Module.half(): float16 is not supported", "use float32: module.float()")

    def bfloat16(self) -> Self:
        """Raises DTypeError: there is no bfloat16."""
        raise DTypeError("Module.bfloat16(): bfloat16 is not supported", "use float32: module.float()")

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
        found: dict[str, Tensor] = {} if place is None else place
        self._save(found, given.get("prefix", prefix), given.get("keep_vars", keep_vars))
        return found

    def _save(self, found: dict[str, Tensor], prefix: str, keep: bool) -> None:
        for hook in self._hooks("state_dict_pre"):
            hook(self, prefix, keep)
        own = dict(self._saved_members(prefix))
        found.update(own if keep else detached(own))
        if type(self).get_extra_state is not Module.get_extra_state:
            found[f"{prefix}{EXTRA}"] = self.get_extra_state()
        for name, child in self._own(MODULE):
            child._save(found, f"{prefix}{name}.", keep)
        for hook in self._hooks("state_dict_post"):
            hook(self, found, prefix, {})

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values in, cast to each tensor's dtype. Returns the missing and the unexpected keys.

        assign is accepted; values are copied, so that optimizers and compiled steps keep their tensors. Hooks are called
        before, with a copy of the dict that they may change, and after. Raises StateDictError, before anything is changed,
        for a shape that differs, for what a hook reports, and with `strict` for a missing or an unexpected key.

        Examples:
            >>> source, target = nn.Linear(3, 2), nn.Linear(3, 2)
            >>> target.load_state_dict(source.state_dict())
            <All keys matched successfully>
            >>> (target.weight == source.weight).all().item()
            True
        """
        modules = list(self.named_modules())
        if any(module._hooks("load_pre") for _, module in modules) and isinstance(state_dict, Mapping):
            values, errors = dict(state_dict), list[str]()
            for path, module in modules:
                for hook in module._hooks("load_pre"):
                    hook(module, values, f"{path}." if path else "", {}, strict, [], [], errors)
            if errors:
                raise StateDictError(f"Error(s) in loading state_dict for {type(self).__name__}:", *errors)
            state_dict = values
        extra = {_joined(path, EXTRA): m for path, m in modules if type(m).set_extra_state is not Module.set_extra_state}
        result = load(type(self).__name__, dict(self._places("")), state_dict, strict, extra)
        for key, module in extra.items():
            if key in state_dict:
                module.set_extra_state(state_dict[key])
        for _, module in modules:
            for hook in module._hooks("load_post"):
                hook(module, result)
        return result

    def get_extra_state(self) -> Any:
        """What a subclass saves beside its tensors, under "_extra_state"; it writes `set_extra_state` too."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Take over what `get_extra_state` gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _hooks(self, kind: str) -> tuple[Callable[..., Any], ...]:
        return tuple(self.__dict__.get("_saving_hooks", {}).get(kind, {}).values())

    def _add_hook(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        hooks = self.__dict__.setdefault("_saving_hooks", {}).setdefault(kind, {})
        return HookHandle(hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` takes this module's part."""
        return self._add_hook("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after it; the hook may change the dict."""
        return self._add_hook("state_dict_post", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before
        values are loaded; it may change the dict, and add errors."""
        return self._add_hook("load_pre", hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> HookHandle:
        return self._add_hook("load_pre", hook if with_module else lambda module, *args: hook(*args))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, incompatible_keys)` after values were loaded; it may change the lists."""
        return self._add_hook("load_post", hook)

    def _saved_members(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        transient = self.__dict__.get("_non_persistent_buffers_set", ())
        for role in (PARAMETER, BUFFER):
            for name, tensor in self._own(role):
                if name not in transient:
                    yield prefix + name, tensor

    def _places(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        yield from self._saved_members(prefix)
        for name, child in self._own(MODULE):
            yield from child._places(f"{prefix}{name}.")

    # text -------------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The settings, as they appear in `repr`."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._own(MODULE)]
        extra = self.extra_repr().split("\n")
        if not lines and len(extra) == 1:
            return f"{self._get_name()}({extra[0]})"
        body = "\n  ".join((extra if extra != [""] else []) + lines)
        return f"{self._get_name()}(\n  {body}\n)"


def _role_of(value: Any) -> str | None:
    if isinstance(value, Module):
        return MODULE
    if isinstance(value, Tensor) and (isinstance(value, Parameter) or (value.requires_grad and value.is_leaf)):
        return PARAMETER
    return None


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
