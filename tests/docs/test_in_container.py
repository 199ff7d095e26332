"""The Containerfile of `docs/deployment.md`, run in order in a folder of a test's own.

There is no container runtime here. What such a folder cannot be: an image that is pulled, packages
of Debian, another user; these steps are looked at and left out. `COPY` and `RUN` of remit's own
are done as they stand, with nothing else of this repository at hand.
"""

import json
import os
import shlex
import shutil
from collections.abc import Iterator

import httpx2
import pytest
from tests.docs.blocks import REPOSITORY
from tests.docs.server import Server, block, key_in

from remit.cli.supervisor import STOPS_WITHIN
from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Caller

pytestmark = pytest.mark.timeout(300)

Step = tuple[str, str]


def steps() -> Iterator[Step]:
    """Give each instruction of the Containerfile with what follows it."""
    for line in block("# Containerfile").text.splitlines()[1:]:
        if line:
            word, _, rest = line.partition(" ")
            yield word, rest


def stages() -> tuple[list[Step], list[Step]]:
    """Return what builds, and what becomes the image."""
    found = list(steps())
    second = [at for at, (word, _) in enumerate(found) if word == "FROM"][1]
    return found[1:second], found[second + 1 :]


def said(word: str) -> str:
    """Return what the image's stage says with *word*, which is there once."""
    (rest,) = [rest for name, rest in stages()[1] if name == word]
    return rest


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A folder in which the Containerfile was run, and the declaration mounted."""
    made = Server(tmp_path_factory.mktemp("image"))
    source = made.root / "src"
    source.mkdir()
    path = "export PATH=/opt/remit/bin:$PATH"
    for word, rest in stages()[0]:
        if word == "COPY":
            *names, there = rest.split()
            copy(names, source / there)
        elif word == "RUN":
            made.run(f"{path}\n{rest}", cwd=source)
            if "-m venv" in rest:
                made.bring_packages()
    shutil.rmtree(source)
    for word, rest in stages()[1]:
        if word == "RUN" and rest.startswith("useradd "):
            made.add_user(rest)
        elif word == "RUN" and not rest.startswith("apt-get update "):
            made.run(rest)
    made.write(block("# /var/lib/remit/remit.yaml"))
    return made


def copy(names: list[str], there: os.PathLike[str]) -> None:
    """Do one COPY, into the folder *there* or as it."""
    for name in names:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, there)
        else:
            shutil.copy(REPOSITORY / name, there)


def environ(image: Server) -> dict[str, str]:
    """Return what the image gives its processes."""
    path = said("ENV").removeprefix("PATH=").replace("$PATH", "/usr/bin:/bin")
    return {"HOME": str(image.state), "PATH": image.here(path)}


def is_healthy(image: Server) -> bool:
    """Return what the HEALTHCHECK says."""
    command = json.loads(image.here(said("HEALTHCHECK").partition(" CMD ")[2]))
    return image.runs(command, environ(image)).returncode == 0


def shown() -> list[list[str]]:
    """Return the `docker` commands of the page, each as its words."""
    return [shlex.split(line) for line in block("docker build").text.splitlines()]


def inside(beginning: str) -> list[str]:
    """Return what the one command that begins so runs in an image `remit`, or in `gateway`."""
    (words,) = [words for words in shown() if " ".join(words[1:]).startswith(beginning)]
    return words[words.index("remit" if words[1] == "run" else "gateway") + 1 :]


def test_nothing_but_source_lock_and_what_the_package_states_is_copied() -> None:
    copied = [rest for word, rest in stages()[0] if word == "COPY"]

    assert copied == ["requirements.lock ./", "pyproject.toml README.md LICENSE ./", "src ./src"]
    assert [rest for word, rest in stages()[1] if word == "COPY"] == [
        "--from=build /opt/remit /opt/remit"
    ]


def test_the_image_runs_as_nobody_special_with_one_volume_and_stops_by_sigterm() -> None:
    assert said("USER") == "remit"
    assert said("VOLUME") == said("WORKDIR") == "/var/lib/remit"
    assert said("STOPSIGNAL") == "SIGTERM"
    assert json.loads(said("CMD"))[:2] == ["remit", "serve"]


def test_the_commands_name_the_volume_the_declaration_and_enough_time_to_stop() -> None:
    run = [words for words in shown() if words[1] == "run"]

    for words in run:
        assert "remit:/var/lib/remit" in words
        assert "$PWD/remit.yaml:/var/lib/remit/remit.yaml:ro" in words
    (timeout,) = [words[words.index("--stop-timeout") + 1] for words in run if "-d" in words]
    assert int(timeout) > STOPS_WITHIN


async def test_the_image_serves_once_somebody_has_a_key(image: Server) -> None:
    command = json.loads(image.here(said("CMD")))
    refused = image.runs(command, environ(image))
    key = key_in(image.runs(inside("run --rm"), environ(image)).stdout)
    healthy = [is_healthy(image)]
    base = f"http://127.0.0.1:{image.port}"

    with image.serving(command, environ(image)):
        async with httpx2.AsyncClient(timeout=60, verify=TRUSTS_NOBODY) as http:
            await Caller(http, f"{base}/mcp", key).until_listed({"time__get_current_time"})
            named = await http.get(f"{base}/readyz", headers={"Host": "elsewhere.example.test"})
            foreign = await sign_in_from(http, base, "https://elsewhere.example.test")
            ours = await sign_in_from(http, base, "https://remit.example.test")
            metrics = await http.get(f"{base}/metrics")
        healthy += [is_healthy(image)]
        examined = image.runs(inside("exec gateway remit"), environ(image))
        admin = image.runs(inside("exec gateway cat"), environ(image))

    assert refused.returncode == 3
    assert "while nobody has a key" in refused.stderr
    assert healthy == [False, True]
    assert [answer.status_code for answer in (named, foreign, metrics)] == [200, 403, 401]
    assert ours.status_code != 403
    assert examined.returncode == 0, examined.stdout
    assert key_in(admin.stdout) != key


async def sign_in_from(http: httpx2.AsyncClient, base: str, origin: str) -> httpx2.Response:
    return await http.post(f"{base}/console/sign-in", headers={"Origin": origin}, data={"key": "x"})
