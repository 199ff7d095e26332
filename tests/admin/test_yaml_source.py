"""Reading files: lines of everything, and one clear problem for whatever is no document."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.admin.yaml_source import Source, read_file, read_text
from remit.errors import DeclarationError, Problem


def problem_of(text: str) -> Problem:
    with pytest.raises(DeclarationError) as caught:
        read_text(text, file="remit.yaml")
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def refused(path: Path) -> Problem:
    with pytest.raises(DeclarationError) as caught:
        read_file(path)
    assert len(caught.value.problems) == 1
    problem = caught.value.problems[0]
    assert problem.file == str(path)
    assert "\n" not in str(problem)
    return problem


def test_every_key_and_every_list_item_has_its_line() -> None:
    text = "version: '1.0'\nroles:\n  designer:\n    tools:\n      git:\n        - a\n        - b\n"

    positions = read_text(text).positions

    assert positions["version"] == 1
    assert positions["roles.designer.tools.git"] == 5
    assert positions["roles.designer.tools.git[0]"] == 6
    assert positions["roles.designer.tools.git[1]"] == 7


def test_json_is_read_with_lines_too_even_indented_with_tabs() -> None:
    text = '{\n\t"roles": {\n\t\t"r": {"allow": [\n\t\t\t"a/b"\n\t\t]}\n\t}\n}\n'

    source = read_text(text)

    assert source.data == {"roles": {"r": {"allow": ["a/b"]}}}
    assert source.positions["roles.r.allow[0]"] == 4


@given(
    st.dictionaries(
        st.text(max_size=20),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=10,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_json_writes_is_read_back_as_it_was(data: dict[str, object]) -> None:
    assert read_text(json.dumps(data)).data == data


def test_characters_beyond_the_first_plane_survive_jsons_escapes() -> None:
    assert json.dumps("😀") in (text := '{"a": "\\ud83d\\ude00", "b": "\\\\ud83d\\\\ude00"}')
    assert read_text(text).data == {"a": "😀", "b": "\\ud83d\\ude00"}


def test_words_and_numbers_that_only_look_special_stay_texts() -> None:
    text = "a: [on, no, 0755, 1_000, 12:30, 2026-11-27, 0x10, .inf, nan, 1e999, '8', -, +1]"
    assert read_text(text).data["a"] == [
        *("on", "no", "0755", "1_000", "12:30", "2026-11-27", "0x10", ".inf", "nan", "1e999"),
        *("8", "-", "+1"),
    ]
    plain = "a: [true, False, ~, null, 8, -1, 1.5, 1e3, -.5]"
    assert read_text(plain).data["a"] == [True, False, None, None, 8, -1, 1.5, 1000.0, -0.5]


def test_keys_are_texts_as_written() -> None:
    assert list(read_text("on: 1\n1.0: 2\n~: 3\n'': 4").data) == ["on", "1.0", "~", ""]


def test_a_number_of_any_length_is_no_trouble() -> None:
    assert read_text("a: " + "9" * 5000).data["a"] == "9" * 5000


def test_standard_tags_are_understood() -> None:
    assert read_text("a: !!str 8\nb: !!int '8'\nc: ! 8").data == {"a": "8", "b": 8, "c": "8"}


def test_anchors_aliases_and_merge_keys_work() -> None:
    text = (
        "base: &base {x: 1, y: 2}\n"
        "other: &other {y: 3, z: 4}\n"
        "a: *base\n"
        "b:\n  <<: [*base, *other]\n  x: 9\n"
    )

    source = read_text(text)

    assert source.data["a"] == {"x": 1, "y": 2}
    assert source.data["b"] == {"x": 9, "y": 2, "z": 4}
    assert source.problems == ()


def test_a_key_given_twice_is_named_with_both_lines() -> None:
    source = read_text("roles:\n  a: 1\n  b: 2\n  a: 3\nroles: {}\n", file="remit.yaml")

    assert [(p.code, p.line, p.file) for p in source.problems] == [
        ("duplicate-key", 4, "remit.yaml"),
        ("duplicate-key", 5, "remit.yaml"),
    ]
    assert "lines 2 and 4" in source.problems[0].message
    assert "'roles.a'" in source.problems[0].message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a:\n\tb: 1\n", 2, "tab"),
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: 'x\n", 2, "not valid YAML"),
        ("a: b: c\n", 1, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("- a\n- b\n", 1, "a list"),
        ("\n\njust text\n", 3, "a single value"),
        ("a: 1\nb: *nobody\n", 2, "'nobody'"),
        ("a: &a [1, *a]\n", 1, "contains itself"),
        ("a: !!python/object/apply:os.system [id]\n", 1, "tag"),
        ("a: !secret x\n", 1, "tag"),
        ("a: 1\n[1]: 2\n", 2, "cannot be a key"),
        ("a: &a x\n*a : 1\n", 2, "alias cannot be a key"),
        ("a: 1\nb:\n  <<: 3\n", 3, "`<<`"),
        ("a: 1\nb: \x07\n", 2, "control character"),
        ("%YAML 9.9\n---\na: 1\n", 1, "not valid YAML"),
        ('a: "\\ud83d"\n', 1, "not valid YAML"),
    ],
)
def test_what_is_no_document_is_said_in_one_line(text: str, line: int, words: str) -> None:
    problem = problem_of(text)

    assert problem.line == line
    assert problem.file == "remit.yaml"
    assert words in problem.message
    assert "\n" not in str(problem)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "null\n", "--- ~\n"])
def test_an_empty_document_is_said_to_be_empty(text: str) -> None:
    assert problem_of(text).code == "empty-file"


def test_nesting_without_end_is_refused() -> None:
    for text in ("a: " + "[" * 100_000, "a: " + "{x: " * 5000, "- " * 3000):
        assert problem_of(text).code in ("too-large", "not-yaml")


def test_aliases_cannot_hide_how_deep_they_nest() -> None:
    lines = ["a0: &a0 " + "[" * 40 + "]" * 40]
    lines += [f"a{n}: &a{n} " + "[" * 40 + f"*a{n - 1}" + "]" * 40 for n in range(1, 100)]

    assert problem_of("\n".join(lines)).code == "too-large"


def test_a_billion_laughs_are_refused_and_cost_little() -> None:
    lists = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lists += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    merges = ["a0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(100)) + "}"]
    merges += [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 99)}]" for n in range(1, 300)]
    texts = [f"big: &b '{'x' * 100_000}'", *[f"k{n}: *b" for n in range(1000)]]

    for lines in (lists, merges, texts):
        assert problem_of("\n".join(lines)).code == "too-large"


def test_a_missing_file_a_folder_and_a_device_are_told_apart(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "nothing.yaml").message
    assert "folder" in refused(tmp_path).message
    os.mkfifo(tmp_path / "pipe")
    assert "regular" in refused(tmp_path / "pipe").message
    assert refused(Path("\0")).code == "unreadable-file"
    (tmp_path / "file").touch()
    assert "cannot be read" in refused(tmp_path / "file" / "below").message


@pytest.mark.parametrize(
    ("raw", "code", "line"),
    [
        ("a: ä\n".encode("utf-16"), "wrong-encoding", 1),
        ("a: 1\nb: ä\n".encode("latin-1"), "wrong-encoding", 2),
        (b"a: 1\n\x00\x00", "not-text", 2),
        (b"\x89PNG\r\n\x1a\n\x00", "wrong-encoding", 1),
        (b"", "empty-file", 0),
        (b"#" * (10 * 1024 * 1024 + 1), "too-large", 0),
    ],
)
def test_a_file_in_the_wrong_encoding_or_size_is_said_to_be_so(
    tmp_path: Path, raw: bytes, code: str, line: int
) -> None:
    path = tmp_path / "remit.yaml"
    path.write_bytes(raw)

    problem = refused(path)

    assert (problem.code, problem.line) == (code, line)


def test_a_byte_order_mark_of_utf_8_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "remit.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: '1.0'\r\n")

    assert read_file(path).data == {"version": "1.0"}


@given(st.text() | st.text(alphabet="a1 \n\t:-[]{}&*!|>'\"#%@,?<~"))
def test_any_text_is_a_document_or_a_refusal(text: str) -> None:
    try:
        source = read_text(text)
    except DeclarationError:
        return
    assert isinstance(source, Source)
    json.dumps(source.data)
