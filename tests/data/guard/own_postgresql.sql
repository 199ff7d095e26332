-- what a database can have of its own that runs in the place of PostgreSQL's own things; each of it
-- tells a salary, or changes one
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TYPE place AS (street text, city text);
CREATE DOMAIN grade AS int;
CREATE TABLE moods (id int, mood mood, place place, grade grade, name text, past mood[]);
INSERT INTO moods VALUES (1, 'glad', ROW('High Street', 'Ely'), 7, 'Ann', '{sad}');
CREATE FUNCTION told() RETURNS text LANGUAGE sql SECURITY DEFINER
  AS $$ SELECT name FROM public.salaries $$;
CREATE FUNCTION leak(orders) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION leak(place) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION leak(mood) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION leak(int) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION bump(orders) RETURNS int LANGUAGE sql SECURITY DEFINER
  AS $$ UPDATE public.salaries SET amount = amount + 1 RETURNING 1 $$;
CREATE FUNCTION lower(orders) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION lower(mood) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION similarity(text, text) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION text(mood) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION double(int) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION within(int) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION cube(int) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION of_two(int, int) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
CREATE FUNCTION of_mood(mood) RETURNS int LANGUAGE sql AS 'SELECT length(public.told())';
CREATE OPERATOR <-> (LEFTARG = int, RIGHTARG = int, FUNCTION = of_two);
CREATE CAST (orders AS text) WITH FUNCTION leak(orders);
CREATE CAST (place AS text) WITH FUNCTION leak(place);
CREATE CAST (mood AS int) WITH FUNCTION of_mood(mood);
CREATE SCHEMA "PG_CATALOG";
CREATE FUNCTION "PG_CATALOG".upper(text) RETURNS text LANGUAGE sql AS 'SELECT public.told()';
