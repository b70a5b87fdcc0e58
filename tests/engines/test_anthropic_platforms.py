"""Claude on the platforms of clouds: which requests reach them, and with which credentials."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import httpx2
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from chatsvc.engines import EngineError
from chatsvc.engines.anthropic import Provider, client, provider
from chatsvc.outbound.egress import Egress
from tests.engines.conftest import KEY, Make
from tests.engines.model_server import ModelServer, fails
from tests.engines.test_anthropic import TURN, past

MODEL = replace(TURN, model="claude-haiku-5-5", history=past("Is there parking?", "Yes."))


async def test_foundry_gets_its_own_key_and_the_prompt_for_a_hosted_model(server: ModelServer, make: Make) -> None:
    assert (await make(platform="foundry", base_url=f"{server.url}/anthropic/v1").reply(MODEL)).text == "Hello."
    assert server.seen[-1].path == "/anthropic/v1/messages"
    assert KEY in (
        server.headers.get("x-api-key"),
        server.headers.get("api-key"),
        server.headers.get("Authorization", "").removeprefix("Bearer "),
    )
    assert "cache_control" in str(server.body["system"])


async def test_bedrock_gets_its_own_key_and_the_model_in_the_address(server: ModelServer, make: Make) -> None:
    engine = make(platform="bedrock", region="eu-central-1")
    assert (await engine.reply(MODEL)).text == "Hello."
    assert server.seen[-1].path == "/model/claude-haiku-5-5/invoke"
    assert server.headers["Authorization"] == f"Bearer {KEY}"
    assert not [name for name in server.headers if name.lower().startswith("x-stainless")]
    assert "model" not in server.body
    server.always = fails(429)
    with pytest.raises(EngineError, match="rate_limited"):
        await engine.reply(MODEL)


@pytest.fixture
async def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """A stand-in for Google's server of tokens, with a service account of it. Gives the grants that were asked for."""
    grants: list[str] = []

    async def token(request: web.Request) -> web.Response:
        grants.append(str((await request.post())["grant_type"]))
        return web.json_response({"access_token": "token-of-google", "expires_in": 3600, "token_type": "Bearer"})

    app = web.Application()
    app.router.add_post("/token", token)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    private = rsa.generate_private_key(65537, 2048)
    key = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    account = {"type": "service_account", "project_id": "p", "private_key_id": "k", "client_email": "bot@p", "private_key": key}
    (tmp_path / "account.json").write_text(json.dumps({**account, "token_uri": f"http://127.0.0.1:{runner.addresses[0][1]}/token"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    yield grants
    await runner.cleanup()


async def test_vertex_gets_a_token_of_the_machines_account(server: ModelServer, make: Make, google: list[str]) -> None:
    engine = make(platform="vertex", base_url=f"{server.url}/v1", api_key=None, region="europe-west1", project="p")
    assert [(await engine.reply(MODEL)).text for _ in range(2)] == ["Hello."] * 2
    assert server.seen[-1].path == "/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude-haiku-5-5:rawPredict"
    assert server.headers["Authorization"] == "Bearer token-of-google"
    assert len(google) == 1


async def test_a_machine_without_credentials_is_a_fault_of_the_key(
    server: ModelServer, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    engine = make(platform="vertex", base_url=server.url, api_key=None, region="europe-west1", project="p")
    with pytest.raises(EngineError, match="provider_auth: DefaultCredentialsError"):
        await engine.reply(MODEL)
    assert server.seen == []


@pytest.mark.parametrize(("platform", "package"), [("bedrock", "boto3"), ("vertex", "google.auth")])
async def test_a_platform_whose_packages_are_not_installed_says_what_to_install(
    make: Make, monkeypatch: pytest.MonkeyPatch, platform: str, package: str
) -> None:
    def not_there(name: str) -> None:
        assert name == package
        if "." in name:
            raise ModuleNotFoundError(name)

    monkeypatch.setattr(provider, "find_spec", not_there)
    engine = make(platform=platform, base_url="https://api.anthropic.com", api_key=None, region="r", project="p")
    for act in (engine.start(), engine.reply(MODEL)):
        with pytest.raises(EngineError, match=rf"not_configured: .* pip install 'chatsvc\[{platform}\]'"):
            await act


@pytest.mark.parametrize(
    ("platform", "region", "url"),
    [
        ("bedrock", "eu-central-1", "https://bedrock-runtime.eu-central-1.amazonaws.com"),
        ("vertex", "global", "https://aiplatform.googleapis.com/v1"),
        ("vertex", "europe-west1", "https://europe-west1-aiplatform.googleapis.com/v1"),
    ],
)
async def test_the_address_of_a_platform_is_that_of_its_region_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, platform: str, region: str, url: str
) -> None:
    for name in ("ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "AWS_REGION", "CLOUD_ML_REGION"):
        monkeypatch.setenv(name, "http://evil.example.com")
    connection = client.Client(Provider.of("https://api.anthropic.com", None, platform, region, "p"), Egress())
    assert connection.url == url
    await connection.close()


async def test_a_signed_request_goes_out_with_every_header_that_was_signed(server: ModelServer) -> None:
    async with aiohttp.ClientSession() as session:
        transport = client._Transport(session)
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as library:
            for signature, is_sent in (({"X-Amz-Date": "20261128T000000Z"}, True), ({}, False)):
                await library.post(server.url, json={}, headers={"X-Stainless-Os": "Linux", **signature})
                assert ("X-Stainless-Os" in server.headers) is is_sent
