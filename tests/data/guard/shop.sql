CREATE TABLE customers (id int PRIMARY KEY, name text, email text);
CREATE TABLE orders (
  id int PRIMARY KEY, customer_id int, total numeric(10, 2), status text, placed timestamp
);
CREATE TABLE salaries (id int PRIMARY KEY, name text, amount int);
INSERT INTO customers VALUES (1, 'Ann', 'ann@example.org'), (2, 'Bob', 'bob@example.org');
INSERT INTO orders VALUES
  (1, 1, 5.50, 'open', '2026-01-02 03:04:05'),
  (2, 1, 20, 'paid', '2026-02-03 04:05:06'),
  (3, 2, 7, 'open', '2026-03-04 05:06:07'),
  (4, 2, 90, 'paid', '2026-04-05 06:07:08');
INSERT INTO salaries VALUES (1, 'SECRET', 123456);
