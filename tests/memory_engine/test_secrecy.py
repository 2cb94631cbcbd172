from __future__ import annotations

import pytest

from memory_engine.secrecy import has_secret


@pytest.mark.parametrize(
    "statement",
    [
        "my db password is hunter2-EXAMPLE and the key is sk-test-EXAMPLE0000000000000000",
        "Authorization: Bearer eyJEXAMPLE.eyJEXAMPLE.sig",
        "password: swordfish",
        "the API key is abcd1234efgh",
        "API_KEY=abcd1234efgh",
        "postgres://admin:hunter2@db.acme.io/app",
        "https://x.dev/cb?token=abcdef123456",
        "-----BEGIN RSA PRIVATE KEY-----",
        "use ghp_0123456789abcdef0123",
        "AKIAIOSFODNN7EXAMPLE is the key id",
        "密码是 hunter2",
        "mein Passwort: geheim99",
        "my secret is swordfish",
        "pin: 1234",
        "access token = 9f8e7d6c5b",
    ],
)
def test_the_value_of_a_credential_is_found(statement: str) -> None:
    assert has_secret(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "We removed the API key field from the form.",
        "token: process.env.APP_TOKEN",
        "The password policy asks for 12 characters.",
        "Remember to rotate keys.",
        "Never log secrets.",
        "The password is stored in Vault",
        "API_KEY=${API_KEY}",
        "The token is required",
        "Our secret sauce is patience",
        "The staging build id is ZQ7X4M2K",
        "The pin layout is on page 4",
        "see https://x.dev/a?page=2",
        "a cask-aged whisky",
        "Our auth is OAuth",
        "The token is a JWT",
        "The tokens are 4000 a day",
        "Passwords are 12 characters long",
    ],
)
def test_talking_about_credentials_is_no_secret(statement: str) -> None:
    assert not has_secret(statement)
