"""List of a server's models by the provider's own library, for `doctor`.

The only module that imports the anthropic package (about 1 s and 55 MB): never at the top of another module, never in `serve`.
The environment has no effect on the library: credentials, profiles, headers and log level from ANTHROPIC_*, proxies, netrc, tracing.
"""

import logging

import anthropic
import httpx2

from chatsvc.engines.anthropic import faults
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.outbound.tls import client_context

TIMEOUT_S = 10.0


def _trim(request: httpx2.Request) -> None:
    """Remove the headers that describe this machine."""
    for name in [name for name in request.headers if name.startswith("x-stainless-")]:
        del request.headers[name]


def models(base_url: str, api_key: str) -> list[str]:
    """List the names of the models that a server offers this key. `base_url` is without `/v1`. Raises ModelFault.

    An on-prem server without such a list answers 404, which is the ModelFault `model_not_found`.
    """
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    headers = {} if api_key else {"Authorization": anthropic.Omit()}
    # httpx2's own: the library's would take a proxy from the environment all the same.
    http = httpx2.Client(
        trust_env=False, follow_redirects=False, timeout=TIMEOUT_S, verify=client_context(), event_hooks={"request": [_trim]}
    )
    with anthropic.Anthropic(
        # Exactly one credential, so that neither the environment nor a profile in the home directory is asked.
        api_key=api_key or "none",
        base_url=base_url,
        http_client=http,
        timeout=TIMEOUT_S,
        max_retries=0,
        default_headers=headers,  # type: ignore[arg-type]  # Omit, as the library documents it
        webhook_key="",
        open_telemetry=False,
    ) as client:
        # ANTHROPIC_CUSTOM_HEADERS is mixed into these whatever is passed, and would win over the credential.
        client._custom_headers = headers  # type: ignore[assignment]  # as above
        try:
            return [str(model.id) for model in client.models.list(limit=1000).data]
        except anthropic.APIStatusError as error:
            # `from None`: the library's errors carry the request, and with it the key.
            raise faults.of_status(error.status_code, error.response.headers, error.response.text) from None
        except anthropic.APITimeoutError:
            raise ModelFault("timeout") from None
        except anthropic.APIConnectionError as error:
            raise ModelFault("unreachable", type(error.__cause__ or error).__name__) from None
        except Exception as error:  # noqa: BLE001  # the library validates nothing: an unforeseen answer may make it stumble anywhere
            raise ModelFault("bad_response", type(error).__name__) from None
