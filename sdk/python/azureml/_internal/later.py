"""Names of later features: they can be imported, and say what is missing when they are called."""

from typing import Any, Dict


def not_yet(feature: str, what: str) -> NotImplementedError:
    """Example: `raise not_yet("web services", "Model.deploy")`"""
    return NotImplementedError(
        "{} needs the feature '{}', which this version of Lathe does not have yet; see docs/user/sdk.md".format(
            what, feature
        )
    )


def later_class(feature: str, name: str, **attributes: Any) -> type:
    """A class that cannot be made yet; its class-level calls say so, too. Example: `later_class("images", "Image")`"""

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise not_yet(feature, name)

    class Later(type):
        """So that `AksWebservice.deploy_configuration(...)` also answers."""

        def __getattr__(cls, attribute: str) -> Any:
            if attribute.startswith("_"):
                raise AttributeError(attribute)

            def refuse_call(*_args: Any, **_kwargs: Any) -> Any:
                raise not_yet(feature, "{}.{}".format(name, attribute))

            return refuse_call

    doc = "Comes with the feature '{}'. Calling it raises NotImplementedError that says so.".format(feature)
    body = dict(attributes, __init__=refuse, __doc__=doc)  # type: Dict[str, Any]
    return Later(name, (), body)


def later_function(feature: str, name: str) -> Any:
    """A function that cannot be called yet."""

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise not_yet(feature, name)

    refuse.__name__ = name
    refuse.__doc__ = "Comes with the feature '{}'. Calling it raises NotImplementedError that says so.".format(feature)
    return refuse
