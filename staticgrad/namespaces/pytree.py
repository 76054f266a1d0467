"""`torch.utils._pytree`: nested containers as leaves and a specification.

Lists, tuples, named tuples, dicts in their own order, ordered dicts, dicts with a default, deques, and classes that a program
registers; None is a leaf, as in PyTorch.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..ops.pytree import LEAF, Container, Structure, flatten, unflatten

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """How a registered class is taken apart, and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]


SUPPORTED_NODES: dict[Any, NodeDef] = {
    kind: NodeDef(kind, flatten, unflatten)
    for kind, flatten, unflatten in (
        (list, lambda x: (x, None), lambda items, _: [*items]),
        (tuple, lambda x: ([*x], None), lambda items, _: (*items,)),
        (namedtuple, lambda x: ([*x], type(x)), lambda items, kind: kind(*items)),
        (dict, lambda x: ([*x.values()], [*x]), lambda items, keys: dict(zip(keys, items, strict=True))),
        (OrderedDict, lambda x: ([*x.values()], [*x]), lambda items, keys: OrderedDict(zip(keys, items, strict=True))),
        (
            defaultdict,
            lambda x: ([*x.values()], [x.default_factory, [*x]]),
            lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
        ),
        (deque, lambda x: ([*x], x.maxlen), deque),
    )
}
"""Classes of containers, `namedtuple` for all of that kind, and those that programs register."""


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **named: Any) -> None:
    """Let objects of a class be containers: `flatten_fn(x)` gives items and a context, `unflatten_fn` an object of them.

    Raises ArgumentError for a class that is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ArgumentError(f"{cls} is already registered as pytree node. Overwriting the previous registration.")
    _register_pytree_node(cls, flatten_fn, unflatten_fn)


def _register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **named: Any) -> None:
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def _get_node_type(tree: Any) -> Any:
    """The key of an object in the table of containers, if it is one."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and isinstance(tree, tuple) and hasattr(kind, "_fields") else kind


def _items(kind: Any, context: Any, items: list[Any]) -> Any:
    """The object of a class with these items."""
    return SUPPORTED_NODES[kind].unflatten_fn(items, context)


def _rule(tree: Any) -> Container | None:
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES:
        return None
    items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return Container(_items, kind, context, [*items])


class TreeSpec:
    """A tree without its leaves. Equal for trees of one form."""

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]):
        self.structure: Structure = Container(_items, type, context, tuple([spec.structure for spec in children_specs]))

    @classmethod
    def of(cls, structure: Structure) -> TreeSpec:
        """The specification of a structure."""
        made = object.__new__(cls)
        made.structure = structure
        return made

    @property
    def type(self) -> Any:
        """The class of the container; None for a leaf."""
        return None if self.structure is LEAF else self.structure.like

    @property
    def context(self) -> Any:
        """The keys of a dict, or what the registered class gave."""
        return None if self.structure is LEAF else self.structure.keys

    def children(self) -> list[TreeSpec]:
        """The specifications of the items."""
        return [] if self.structure is LEAF else [TreeSpec.of(item) for item in self.structure.items]

    children_specs = property(children)

    @property
    def num_children(self) -> int:
        """The number of items."""
        return 0 if self.structure is LEAF else len(self.structure.items)

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.structure is LEAF else sum(child.num_leaves for child in self.children())

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        return 1 + sum(child.num_nodes for child in self.children())

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.structure is LEAF

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves. Raises ArgumentError for another number of them."""
        leaves = [*leaves]
        if len(leaves) != self.num_leaves:
            raise ArgumentError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items"
            )
        return unflatten(self.structure, leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree at the places of the leaves. Raises ArgumentError for another form."""
        parts: list[Any] = []
        self._part(self.structure, tree, parts)
        return parts

    def _part(self, structure: Structure, tree: Any, parts: list[Any]) -> None:
        if structure is LEAF:
            parts.append(tree)
            return
        found = _rule(tree)
        if found is None or found.like is not structure.like or len(found.items) != len(structure.items):
            raise ArgumentError(f"tree_map: the trees differ in form: {type(tree).__name__} where {structure.like} is expected")
        for own, item in zip(structure.items, found.items, strict=True):
            self._part(own, item, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and bool(self.structure == other.structure)

    def __hash__(self) -> int:
        return hash((self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        if self.structure is LEAF:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children()})"


def LeafSpec() -> TreeSpec:
    """The specification of a leaf."""
    return TreeSpec.of(LEAF)


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the specification. is_leaf: whether an object is taken as a leaf."""
    rule = _rule if is_leaf is None else lambda x: None if is_leaf(x) else _rule(x)
    leaves, structure = flatten(tree, rule)
    return leaves, TreeSpec.of(structure)


def tree_unflatten(leaves: Any, treespec: Any) -> Any:
    """The tree of a specification with these leaves, in PyTorch's order of arguments, or JAX's."""
    if isinstance(leaves, TreeSpec):
        leaves, treespec = treespec, leaves
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Any = None) -> Iterator[Any]:
    """The leaves in order."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The specification."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree of the results of a function of each leaf, and of the parts of other trees at its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(other) for other in rests)))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """Call a function with each leaf, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(kind: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function for objects of a type, or for which `kind` is true, and others as they are."""
    wanted = kind if callable(kind) and not isinstance(kind, type) else lambda x: isinstance(x, kind)
    return lambda func: lambda x: func(x) if wanted(x) else x


def tree_map_only(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map` of the leaves of a type; others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map_` of the leaves of a type."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of all leaves of a type."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(kind: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of any leaf of a type."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


__all__ = [
    "Context",
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_structure",
    "tree_unflatten",
]  # fmt: skip
