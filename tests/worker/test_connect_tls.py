"""A Temporal that takes TLS only: the standard variables bring a worker through, and whatever is wrong with them is named.

The dev server speaks no TLS, so one connection to it is wrapped in TLS here, with client certificates asked for.
"""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support import Harness, until
from tests.worker.test_main import refusal, start
from worker.pollers import has_worker

LOOPBACK = ipaddress.ip_address("127.0.0.1")


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates for 127.0.0.1 that hold for an hour."""

    folder: Path
    name: x509.Name
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def of(cls, folder: Path) -> "Authority":
        """A new one, whose own certificate is `ca.pem`."""
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, folder.name)])
        made = cls(folder, name, ec.generate_private_key(ec.SECP256R1()))
        folder.mkdir()
        made._write("ca", made.key, name, x509.BasicConstraints(ca=True, path_length=None))
        return made

    @property
    def certificate(self) -> Path:
        """What those who trust it are given."""
        return self.folder / "ca.pem"

    def pair(self, name: str) -> Pair:
        """A certificate of this authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        return self._write(name, key, subject, x509.SubjectAlternativeName([x509.IPAddress(LOOPBACK)]))

    def _write(
        self, name: str, key: ec.EllipticCurvePrivateKey, subject: x509.Name, extension: x509.ExtensionType
    ) -> Pair:
        now = datetime.datetime.now(datetime.UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self.key, hashes.SHA256())
        )
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        pair.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return pair


@asynccontextmanager
async def tls_in_front_of(port: int, authority: Authority) -> AsyncIterator[str]:
    """The address of a door to `port` that takes TLS with a certificate of the authority, and nothing else."""
    pair = authority.pair("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(carry(reader, behind_writer), carry(behind_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as door:
        yield f"127.0.0.1:{door.sockets[0].getsockname()[1]}"


async def test_a_worker_with_a_certificate_runs_turns_through_tls(harness: Harness, tmp_path: Path) -> None:
    """Authority, certificate and key by the variables that the CLI reads too."""
    authority = Authority.of(tmp_path / "authority")
    client = authority.pair("client")
    async with tls_in_front_of(harness.server.port, authority) as address:
        process = await start(
            tmp_path,
            TEMPORAL_ADDRESS=address,
            TEMPORAL_TLS_SERVER_CA_CERT_PATH=str(authority.certificate),
            TEMPORAL_TLS_CLIENT_CERT_PATH=str(client.certificate),
            TEMPORAL_TLS_CLIENT_KEY_PATH=str(client.key),
            TURNHOLD_TASK_QUEUE=harness.task_queue,
            OPENAI_BASE_URL=harness.model.base_url,
        )
        try:

            async def polling() -> bool:
                return await has_worker(harness.client, harness.task_queue)

            await until(polling)
            harness.model.say("Through.")
            turn = await harness.turns.start("Go")

            assert (await turn.result()).response_text == "Through."
        finally:
            process.terminate()
            await process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("wrong", ["no TLS at all", "another authority", "no certificate of its own"])
async def test_whatever_is_wrong_with_tls_is_named(harness: Harness, tmp_path: Path, wrong: str) -> None:
    """Within ten seconds, with the settings to look at."""
    authority, other = Authority.of(tmp_path / "authority"), Authority.of(tmp_path / "other")
    client = authority.pair("client")
    trusted = other if wrong == "another authority" else authority
    environment = {
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(trusted.certificate),
        "TEMPORAL_TLS_CLIENT_CERT_PATH": str(client.certificate),
        "TEMPORAL_TLS_CLIENT_KEY_PATH": str(client.key),
    }
    if wrong == "no TLS at all":
        environment = {}
    elif wrong == "no certificate of its own":
        environment = {"TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(trusted.certificate)}
    async with tls_in_front_of(harness.server.port, authority) as address:
        said = await refusal(await start(tmp_path, TEMPORAL_ADDRESS=address, **environment))

    assert address in said
    assert "TLS settings" in said
