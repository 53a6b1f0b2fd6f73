"""Judges behind Azure's OpenAI: deployments of a resource, with addresses and a key header of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError


def azure_openai(
    deployment: str,
    *,
    base_url: str,
    api_key: str | None,
    timeout: float,
    api_key_env: str,
    headers: Mapping[str, str] | None = None,
) -> OpenAICompatible:
    """Return the backend for ``deployment`` of the Azure resource at ``base_url`` (``https://NAME.openai.azure.com``).

    With an API version (``?api-version=`` in the URL, AZURE_API_VERSION or OPENAI_API_VERSION), requests go to the
    deployment's own address. Without an API version, they go to the v1 API. An address with a path is used unchanged.
    Raises ConfigError for an address that names no resource.
    """
    return OpenAICompatible(
        deployment,
        base_url=_address(base_url, deployment),
        headers={**({"api-key": api_key} if api_key else {}), **(headers or {})},
        lists_models=False,  # the server lists models, while deployments have names of their own
        timeout=timeout,
        api_key_env=api_key_env,
    )


def _address(base_url: str, deployment: str) -> str:
    parts = urlsplit(base_url.strip())
    if "RESOURCE" in parts.netloc:
        raise ConfigError(
            "azure/ judges need the address of your resource: a base URL, AZURE_OPENAI_ENDPOINT or AZURE_API_BASE."
        )
    usual = os.environ.get("AZURE_API_VERSION") or os.environ.get("OPENAI_API_VERSION") or ""
    version = parse_qs(parts.query).get("api-version", [usual])[0]
    if parts.path.strip("/"):
        path = parts.path
    else:
        path = f"/openai/deployments/{quote(deployment, safe='')}" if version else "/openai/v1"
    query = parts.query or (f"api-version={quote(version)}" if version else "")
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))
