"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..lookup import HashTable as HashTable
from ..lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from ..lookup import LookupInterface as LookupInterface
from ..lookup import MutableHashTable as MutableHashTable
from ..lookup import TextFileIndex as TextFileIndex
from ..lookup import TextFileInitializer as TextFileInitializer
from ..lookup import index_table_from_file as index_table_from_file
from ..lookup import index_table_from_tensor as index_table_from_tensor
from ..lookup import index_to_string_table_from_file as index_to_string_table_from_file
from ..lookup import index_to_string_table_from_tensor as index_to_string_table_from_tensor
__all__ = [
    "HashTable", "KeyValueTensorInitializer", "LookupInterface", "MutableHashTable", "TextFileIndex", "TextFileInitializer",
    "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]
