"""Credential stuffing: attempts to log in with names and passwords that leaked elsewhere, one after another.

It has two forms. From one address: many names that never log in, and few that do. From many addresses with a few names
each: one such address might be a household that mistypes passwords, but many in the same hours are a campaign. Two
cases do not count: an office whose users mistype passwords but then log in, and a user with a forgotten password.

`password_guessing` is a third form: many attempts with few names, as on SSH servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def login_figures(logins: DataFrame, least_strange_names: int) -> DataFrame:
    """Count the login attempts of each address.

    Args:
        logins: Attempts and failures of each address and user by hour (`unit`), with the times of the first and last.
        least_strange_names: Number of names without a successful login that makes an address strange (suspicious).

    Returns:
        A row for each address. For a strange address, `campaign_addresses` is the number of strange addresses with
        failures in the same hour, itself included, and `campaign_names` the number of names that failed there. The
        hour is the one with the most such addresses.
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
    # Count one row for each address, and one for each user, in an hour.
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
    """Return the condition of a strange address: several names that never log in, and few that do."""
    return f"names_never_let_in >= {least_names} AND names_let_in <= 0.34 * names_tried"


def find_credential_stuffing(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Judge addresses by the result of `login_figures`."""
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
