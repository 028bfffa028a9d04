"""Methods generated from the declared endpoints; `methods.pyi` has their signatures for editors and type checkers."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Generic, TypeVar

from alpha_results_client.declared import ENDPOINTS, Endpoint
from alpha_results_client.suggestions import did_you_mean
from alpha_results_client.values import format_value

F = TypeVar("F")


class ClientMethods(Generic[F]):
    """Endpoints of the service."""


class RunMethods(Generic[F]):
    """Endpoints of one alpha's run."""


def make_method(name: str, endpoint: Endpoint) -> Callable[..., Any]:
    """Return the method of an endpoint; on an asynchronous client it returns an awaitable."""
    signature = inspect.Signature(
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            inspect.Parameter(
                x.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if x.positional else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if x.required else x.default,
                annotation=x.kind,
            )
            for x in endpoint.arguments
        ],
        return_annotation="F" if endpoint.collection else "dict[str, Any]",
    )

    def method(*args: Any, **kwargs: Any) -> Any:
        unknown = [key for key in kwargs if key not in signature.parameters]
        if unknown:
            # A parameter of the API, such as `from`, has an argument of another name.
            renamed = {x.parameter: x.name for x in endpoint.arguments}
            hint = did_you_mean(renamed.get(unknown[0], unknown[0]), signature.parameters)
            raise TypeError(f"{endpoint.method}() has no argument {unknown[0]!r}{hint}")
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{endpoint.method}(): {error}") from None
        bound.apply_defaults()
        client = bound.arguments["self"]
        values = {x.parameter: format_value(x.name, bound.arguments[x.name]) for x in endpoint.arguments}
        path = {key: values.pop(key) or "" for key in endpoint.in_path if key in values}
        return client._answer(name, path, values)  # noqa: SLF001 - of the same package

    lines = [endpoint.summary]
    if endpoint.arguments:
        lines += ["", "Parameters", "----------"]
        for x in endpoint.arguments:
            lines += [x.name, f"    {x.meaning}"]
    method.__name__ = endpoint.method
    method.__doc__ = "\n".join(lines)
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


for _name, _endpoint in ENDPOINTS.items():
    _owner = RunMethods if "alpha" in _endpoint.in_path else ClientMethods
    _method = make_method(_name, _endpoint)
    _method.__qualname__ = f"{_owner.__name__}.{_endpoint.method}"
    setattr(_owner, _endpoint.method, _method)

AsyncClientMethods, AsyncRunMethods = ClientMethods, RunMethods
