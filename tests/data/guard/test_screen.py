"""The screen finds what would leave its place, and lets honest text pass (S2.33)."""

import time

import pytest

from remit.data.guard.screen import fingerprint_of, screen_values

HOSTILE = [
    "' OR '1'='1",
    "' or 1=1 --",
    "admin'--",
    "admin' #",
    "admin'/*",
    "x') OR ('a'='a",
    "1 OR 1=1",
    "1) or (1=1",
    "-1 UNION SELECT username, password FROM users",
    "' UNION ALL SELECT NULL, NULL --",
    "'/**/union/**/select/**/1,2",
    "' /*!50000UNION*/ /*!50000SELECT*/ 1",
    "x'; DROP TABLE users; --",
    "1; DROP TABLE users",
    "; drop table users --",
    "a'; DELETE FROM orders WHERE 'a'='a",
    "a'; update users set admin = 1 --",
    "a'; exec xp_cmdshell('dir')",
    "' AND (SELECT COUNT(*) FROM users) > 0 --",
    "' and exists (select 1)",
    "1 and sleep(5)",
    "1' and sleep(5) and '1'='1",
    "'; SELECT pg_sleep(10) --",
    "' || (select version()) || '",
    "' || pg_sleep(5) || '",
    "1; WAITFOR DELAY '0:0:5'",
    "benchmark(10000000, md5(1))",
    "' having 1=1 --",
    "' order by 5--",
    '" or ""="',
    '" or 1=1 --',
    "' or true--",
    "' or 'x' like 'x",
    "admin'or 1=1 --",
    "\uff07 or 1=1 --",
    "' \n\tor\n1=1",
    "1 or true",
    "' or name is not null --",
    "x' and 1 between 0 and 2 --",
    "foo'; copy users to '/tmp/x' --",
]
HONEST = [
    "O'Brien",
    "d'Artagnan and Rosa O'Neill or Sons = family",
    "drop by the union table; select one",
    "Please select all from the menu; update me when it is set",
    "The workers' union -- founded 1880 -- or what is left of it",
    "the boys' -- and girls' -- room",
    "Rock 'n' Roll",
    "it's 5 o'clock and 3 = lucky",
    "if x == 'a' or y == 'b': return 1",
    "SELECT name FROM users WHERE id = 1; -- the query that we discussed",
    "call sleep(5) between two tries",
    "'quoted' and then some",
    'He said "no" or "maybe"',
    "50% off; 3 for 2",
    "Route 66 or Route 1",
    "1 or 2 eggs",
    "C# and -- dashes",
    "a -- b",
    "#1 in sales",
    "5; 6; 7",
    "10 and 20 are numbers",
    "price > 5 and price < 10",
    "union select committee",
    "user@example.org",
    "{{x}} $1 ?1 %s",
    "'",
    "''",
    "",
    "🙂 or 🙃",
    "L'union et l'ordre",
    '{"a": "it\'s", "b": [1, 2]}',
    "6' 2\" or taller",
    "12\" and 7' singles",
    "create table manners; then sit down",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_would_leave_its_place_is_found(text: str) -> None:
    assert fingerprint_of(text)


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_passes(text: str) -> None:
    assert fingerprint_of(text) == ""


@pytest.mark.parametrize("part", ["'#", "'--", "') /*", "x; drop table " + "#" * 180])
def test_a_text_takes_the_time_of_its_length_and_not_of_its_square(part: str) -> None:
    # S2.33: whoever may run one query must not stop the others with a value of it
    def seconds(length: int) -> float:
        text = part * (length // len(part)) + "a"
        began = time.process_time()
        fingerprint_of(text)
        return time.process_time() - began

    short = min(seconds(10_000) for _ in range(3))

    assert min(seconds(200_000) for _ in range(2)) < 100 * max(short, 0.001)


def test_the_finding_names_the_parameter_and_nothing_of_the_value() -> None:
    finding = screen_values({"n": 5, "who": ["ann", "secret' or 1=1 --"], "none": None})

    assert finding is not None
    assert (finding.parameter, finding.fingerprint) == ("who", "quote:tautology")
    assert screen_values({"n": 5, "who": ["ann"], "none": None}) is None
