-- mysql < deploy/mysql/accounts.sql      as an administrator; safe to repeat
--
-- Two accounts with no more than they need. They are locked, so there is no password to forget; set one and unlock:
--
--   ALTER USER 'broker'@'%' IDENTIFIED BY '...' ACCOUNT UNLOCK;
--   ALTER USER 'broker_migrate'@'%' IDENTIFIED BY '...' ACCOUNT UNLOCK;
--
-- Where the server demands a good password from the start, put IDENTIFIED BY '...' into CREATE USER.

CREATE DATABASE IF NOT EXISTS broker CHARACTER SET utf8mb4;

-- `broker serve` and `broker work`: rows, and nothing but rows.
CREATE USER IF NOT EXISTS 'broker'@'%' ACCOUNT LOCK;
GRANT SELECT, INSERT, UPDATE, DELETE ON broker.* TO 'broker'@'%';

-- `broker db upgrade`: the tables too.
CREATE USER IF NOT EXISTS 'broker_migrate'@'%' ACCOUNT LOCK;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES ON broker.* TO 'broker_migrate'@'%';
