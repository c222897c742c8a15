-- SPDX-License-Identifier: MIT
-- The tables of a directory as views, for the other recipes:
--
--	SET VARIABLE dir = 'tables';
--	.read scripts/sql/duckdb.sql
--	.read scripts/sql/top_paths.sql

CREATE OR REPLACE VIEW launches AS FROM read_parquet(getvariable('dir') || '/launches/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW device AS FROM read_parquet(getvariable('dir') || '/device/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW paths AS FROM read_parquet(getvariable('dir') || '/paths/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW frames AS FROM read_parquet(getvariable('dir') || '/frames/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW processes AS FROM read_parquet(getvariable('dir') || '/processes/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW ranges AS FROM read_parquet(getvariable('dir') || '/ranges/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW calls AS FROM read_parquet(getvariable('dir') || '/calls/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW samples AS FROM read_parquet(getvariable('dir') || '/samples/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW waits AS FROM read_parquet(getvariable('dir') || '/waits/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW allocations AS FROM read_parquet(getvariable('dir') || '/allocations/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW metrics AS FROM read_parquet(getvariable('dir') || '/metrics/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW windows AS FROM read_parquet(getvariable('dir') || '/windows/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW losses AS FROM read_parquet(getvariable('dir') || '/losses/*/*.parquet', hive_partitioning = true);
