"""A resolved condition → a mask over rows; a row without a value in a comparison is not kept by it."""

import operator as op
from collections.abc import Callable

import numpy as np

from aggregation.query.columns import Column, Mask, recoded
from aggregation.query.resolved import ColumnRef, Condition, Every, PairTest, ValueTest
from aggregation.query.schema import ColumnType

_COMPARE: dict[str, Callable[..., Mask]] = {
    "=": op.eq,
    "!=": op.ne,
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
}


def condition_mask(condition: Condition, column_of: Callable[[ColumnRef], Column]) -> Mask:
    """Which rows the condition keeps. Recursion is as deep as the expression's parentheses, which are limited."""
    if isinstance(condition, ValueTest):
        return _value_mask(column_of(condition.ref), condition)
    if isinstance(condition, PairTest):
        return _pair_mask(column_of(condition.left), condition.operator, column_of(condition.right))
    combine = np.logical_and if isinstance(condition, Every) else np.logical_or
    mask = condition_mask(condition.terms[0], column_of)
    for term in condition.terms[1:]:
        combine(mask, condition_mask(term, column_of), out=mask)
    return mask


def _value_mask(column: Column, test: ValueTest) -> Mask:
    compare = _COMPARE[test.operator]
    if column.type is ColumnType.STRING:
        kept = np.array([bool(compare(name, test.value)) for name in (*column.categories, "")], np.bool_)
        mask = kept[column.values.astype(np.int64, copy=False)]
    else:
        mask = compare(column.values, test.value)
    return mask if column.valid is None else mask & column.valid


def _pair_mask(left: Column, operator: str, right: Column) -> Mask:
    if left.type is ColumnType.STRING:
        categories = tuple(sorted({*left.categories, *right.categories}))
        mask = _COMPARE[operator](recoded(left, categories), recoded(right, categories))
    else:
        mask = _COMPARE[operator](left.values, right.values)
    for column in (left, right):
        if column.valid is not None:
            mask = mask & column.valid
    return mask
