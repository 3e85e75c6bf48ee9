"""Settings as papers state them: "= 4 * B" is a formula over the variables of a table and its data."""

import ast
import math
import operator
from collections.abc import Mapping
from typing import Any

OPERATIONS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
FUNCTIONS: dict[str, Any] = {"floor": math.floor, "sqrt": math.sqrt, "max": max, "min": min}


class FormulaError(ValueError):
    """What is wrong with a formula of a settings file."""


def evaluated(value: Any, variables: Mapping[str, Any]) -> Any:
    """The value with every formula in it, however deep, replaced by its result."""
    if isinstance(value, str) and value.startswith("="):
        return _result(value[1:].strip(), variables)
    if isinstance(value, Mapping):
        return {name: evaluated(inner, variables) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [evaluated(inner, variables) for inner in value]
    return value


def mentions(value: Any, name: str) -> bool:
    """Whether a formula anywhere in the value uses the variable."""
    if isinstance(value, str):
        return value.startswith("=") and name in _names(value[1:].strip())
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(mentions(one, name) for one in inner)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)}


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"{text!r} is no formula") from error


def _result(text: str, variables: Mapping[str, Any]) -> Any:
    def of(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name) if name in variables:
                return variables[name]
            case ast.UnaryOp(op=op, operand=inner) if type(op) in OPERATIONS:
                return OPERATIONS[type(op)](of(inner))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
                return OPERATIONS[type(op)](of(left), of(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                return FUNCTIONS[name](*map(of, args))
        raise FormulaError(f"{text!r}: {ast.unparse(node)!r} is neither a number nor one of {', '.join(variables)}")

    return of(_parsed(text))
