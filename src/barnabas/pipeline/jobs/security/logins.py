"""Credential stuffing: names and passwords that leaked elsewhere are tried here, one after another.

Two shapes of it. From one address: many names that never get in, beside few that do. From many addresses, a few names
each: any one of them might be a clumsy household, but in the same hours there are many such households. An office whose
people mistype passwords all day, and get in then, is neither; nor is who has forgotten his own password.

`password_guessing` is the third: many tries at few names, as SSH servers see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def login_figures(logins: DataFrame, least_strange_names: int) -> DataFrame:
    """Count what each address tried.

    Args:
        logins: Attempts and failures of each address and user by hour (`unit`), with the first and the last of them.
        least_strange_names: So many names that never got in make an address strange.

    Returns:
        A row for each address. `campaign_addresses` says how many strange addresses failed in the hour of its failures
        in which there were most, itself included; `campaign_names` how many names they tried in it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    tried = (
        logins.repartition("address")
        .groupBy("address", "user")
        .agg(
            F.sum("events").alias("attempts"),
            F.sum("failures").alias("failures"),
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
        )
    )
    is_in = F.col("failures") < F.col("attempts")
    figures = tried.groupBy("address").agg(
        F.sum("attempts").alias("attempts"),
        F.sum("failures").alias("failures"),
        F.count("*").alias("names_tried"),
        F.sum(is_in.cast("int")).alias("names_let_in"),
        F.sum((~is_in).cast("int")).alias("names_never_let_in"),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )
    figures = figures.withColumn("failure_share", F.round(F.col("failures") / F.col("attempts"), 3)).localCheckpoint()
    strange = figures.where(is_strange(least_strange_names)).select("address")
    hours = logins.where("failures > 0").join(strange, "address", "left_semi").repartition("unit")
    # Of each address and of each user in an hour one row counts.
    first = {
        name: F.row_number().over(Window.partitionBy("unit", name).orderBy("first_seen")) == 1
        for name in ("address", "user")
    }
    hour = Window.partitionBy("unit")
    campaigns = (
        hours.select("unit", "address", *(is_first.alias(f"is_first_{name}") for name, is_first in first.items()))
        .select(
            "address",
            F.count_if("is_first_address").over(hour).alias("campaign_addresses"),
            F.count_if("is_first_user").over(hour).alias("campaign_names"),
        )
        .groupBy("address")
        .agg(F.max(F.struct("campaign_addresses", "campaign_names")).alias("_campaign"))
        .select("address", "_campaign.*")
    )
    return figures.join(campaigns, "address", "left")


def is_strange(least_names: int) -> str:
    """Return the condition: several names, and hardly one of them gets in."""
    return f"names_never_let_in >= {least_names} AND names_let_in <= 0.34 * names_tried"


def find_credential_stuffing(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge addresses by what `login_figures` gives."""
    least_names = int(parameters["stuffing_names"])
    strange = is_strange(int(parameters["strange_names"]))
    signs = (
        Sign(
            "many_names",
            3,
            f"names_never_let_in >= {least_names}",
            "concat('tried ', names_tried, ' names, ', names_never_let_in, ' of which never got in from there')",
        ),
        Sign(
            "hardly_lets_in",
            2,
            "failure_share >= 0.6 AND names_let_in <= 0.34 * names_tried",
            "concat(failures, ' of ', attempts, ' attempts failed')",
        ),
        Sign(
            "campaign",
            3,
            f"{strange} AND campaign_addresses >= {int(parameters['campaign_addresses'])}",
            "concat('is one of ', campaign_addresses, ' addresses that tried ', campaign_names, "
            "' names within an hour, several each, and hardly got in')",
        ),
        Sign(
            "each_once",
            1,
            "names_tried >= 3 AND attempts <= 2 * names_tried",
            "concat('goes from name to name: ', round(attempts / names_tried, 1), ' attempts each')",
        ),
    )
    guessing = (
        Sign(
            "many_failures",
            3,
            f"failures >= {int(parameters['guessing_failures'])} AND attempts > 2 * names_tried",
            "concat(failures, ' attempts failed at ', names_tried, ' names')",
        ),
        Sign("never_lets_in", 2, "failure_share >= 0.95", "concat(attempts - failures, ' succeeded')"),
    )
    lapse_hours = int(parameters["lapse_hours"])
    return judge(figures, Rule("'credential_stuffing'", signs, 5), "address", ("address",), lapse_hours).unionByName(
        judge(figures, Rule("'password_guessing'", guessing, 5), "address", ("address",), lapse_hours)
    )
