"""Load: any topics into the warehouse, a table per topic, each record once.

A batch of all the topics is read and parsed once, and committed to the tables whose topics have records in it. The
commit holds the offsets that the rows end at, the cluster's id and what was read last, so a load that has lost its
checkpoint goes on from the tables alone, and a topic that was deleted and made anew, or another cluster under the same
address, is noticed.

A row is the record's JSON object, a column for each of its fields, and where the record stands (`_topic`, `_partition`,
`_offset`, `_timestamp`). A topic of an activity type begins with that type's columns, another one with those that its
first records have. A field that comes later becomes a new column; a record in which a field has another type than its
column goes to the topic's dead letters with the reason.

Beside a running load another run of this job may fill in what is older (`--as backfill --until ...`): each run has its
own progress in the tables.
"""

from barnabas.pipeline.job import Job, TableOutput, TopicInput

JOB = Job(
    name="load",
    does="loads any topics into the warehouse, a table per topic",
    inputs=(TopicInput("*", None),),
    outputs=(TableOutput("*"),),
    transform=None,
)
