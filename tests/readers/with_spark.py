"""Reads an exported table by Spark, in an environment without this project: prints one JSON object."""

import json
import sys

import snowpark_connect_deps_iceberg as jars
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

(runtime,) = jars.get_jars_dir().glob("iceberg-spark-runtime-3.5_2.12-*.jar")
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars", str(runtime))
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()
)
table = spark.read.format("iceberg").load(sys.argv[1])
sums = table.groupBy("alpha_id", "book").agg(
    f.count("*"), f.sum("market_pnl"), f.min("date").cast("string"), f.max("date").cast("string")
)
one = table.where("alpha_id = 'Test_full' AND book = 'long_only'")
answer = {
    "columns": table.columns,
    "sums": [list(row) for row in sums.collect()],
    "rows_of_one": one.count(),
}
spark.stop()
sys.stdout.write("\n" + json.dumps(answer))
