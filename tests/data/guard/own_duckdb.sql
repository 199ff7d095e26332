-- macros that run in the place of DuckDB's own functions; each of them tells a salary
CREATE SCHEMA other;
CREATE MACRO lower(a) AS (SELECT max(name) FROM salaries);
CREATE MACRO other.upper(a) AS (SELECT max(name) FROM main.salaries);
CREATE MACRO transform(a) AS (SELECT max(name) FROM salaries);
CREATE MACRO median(a) AS (SELECT max(name) FROM salaries);
CREATE MACRO sum(a) AS (SELECT max(name) FROM salaries);
CREATE MACRO list_value(a, b) AS (SELECT max(name) FROM salaries);
CREATE MACRO array_extract(a, b) AS (SELECT max(name) FROM salaries);
CREATE MACRO struct_pack(a) AS (SELECT max(name) FROM salaries);
CREATE MACRO date_part(a, b) AS (SELECT max(name) FROM salaries);
CREATE MACRO current_date() AS (SELECT max(name) FROM salaries);
CREATE MACRO "+"(a, b) AS (SELECT max(name) FROM salaries);
CREATE MACRO "||"(a, b) AS (SELECT max(name) FROM salaries);
CREATE MACRO "~~"(a, b) AS (SELECT max(name) FROM salaries);
CREATE MACRO range(a) AS TABLE SELECT name FROM salaries;
CREATE MACRO json_serialize_sql(a) AS (SELECT max(name) FROM salaries);
