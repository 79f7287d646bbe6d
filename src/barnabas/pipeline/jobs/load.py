"""Load: any topics into the warehouse, one table per topic, each record once.

A batch contains records of all topics. It is read and parsed once, and committed to the tables of its topics. A commit
stores the end offsets of its rows, the cluster's id and the last record of each partition. So a load that has lost its
checkpoint resumes from the tables. It also detects a topic that was deleted and created again, and another cluster
under the same address.

A row has a column for each field of the record's JSON object, and the record's position (`_topic`, `_partition`,
`_offset`, `_timestamp`). A topic of an event type starts with that type's columns, any other topic with the fields of
its first records. A new field becomes a new column. A record that does not fit the type of a column goes to the topic's
dead-letter topic with the reason.

Beside a running load, a second run of this job can load older records (`--as backfill --until ...`): each run has its
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
