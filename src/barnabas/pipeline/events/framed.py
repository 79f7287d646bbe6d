"""Reads values that a schema registry's serializers have framed, as JSON texts.

| field | type | meaning |
| --- | --- | --- |
| magic | byte | 0 |
| schema id | int32, big-endian | of the writer's schema |
| body | the rest | Avro's binary encoding, or a JSON text (JSON Schema) |

Each id that a batch has is decoded by its own schema. What is bad: no frame, an id without a schema that can be used, a
body that does not decode. Bytes behind an Avro body are not seen.

Source: Confluent's documentation: Wire format; Spark 4.0, `from_avro`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from barnabas.pipeline.events.schema_registry import AVRO, JSON, NoSuchSchemaError, RegistryError, SchemaRegistry

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

TEXT, WHY = "_text", "_why"
_ID = "_schema_id"
_FRAME_BYTES = 5
# More ids in one batch are no ids: each is asked for.
_MOST_IDS = 100
_AS_WRITTEN = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def unframed(records: DataFrame, registry: SchemaRegistry) -> tuple[DataFrame, list[StructField]]:
    """Decode framed values.

    Args:
        records: A column `value`, and any others.
        registry: Where the schemas are.

    Returns:
        The records with `_text`, the value as JSON, and `_why`, null where it is good; and the fields of the Avro
        schemas, whose types say more than JSON does.

    Raises:
        RegistryError: the registry failed, and is to be waited for.
    """
    from pyspark.sql import functions as F

    value, schema_id = F.col("value"), F.col(_ID)
    is_framed = (F.octet_length(value) >= _FRAME_BYTES) & (F.substring(value, 1, 1) == F.lit(b"\0"))
    number = F.conv(F.hex(F.substring(value, 2, _FRAME_BYTES - 1)), 16, 10).cast("bigint")
    framed = records.withColumn(_ID, F.when(is_framed, number))
    ids = [row[0] for row in framed.where(schema_id.isNotNull()).select(_ID).distinct().limit(_MOST_IDS).collect()]
    body = F.substring(value, _FRAME_BYTES + 1, 1 << 30)
    text = F.lit(None).cast("string")
    why = F.concat(F.lit("the batch has too many schema ids; one is "), schema_id.cast("string"))
    fields: list[StructField] = []
    failure = ""
    for each in sorted(ids):
        reason = failure
        if not failure:
            try:
                own_text, own_fields = _decoded(framed, body, schema_id == each, each, registry)
                text = F.when(schema_id == each, own_text).otherwise(text)
                fields += own_fields
                reason = f"the value is not what its schema {each} says"
            except NoSuchSchemaError as error:
                reason = str(error)
            except RegistryError as error:
                if registry.is_waited_for:
                    raise
                # Once is enough: what hangs would hold the batch for each of its ids.
                reason = failure = str(error)
        why = F.when(schema_id == each, F.lit(reason)).otherwise(why)
    no_frame = F.concat(F.lit("the value has no schema registry's frame: "), F.substring(F.hex(value), 1, 80))
    why = F.when(value.isNull(), F.lit("the record has no value")).when(~is_framed, no_frame).otherwise(why)
    decoded = framed.withColumn(TEXT, text).withColumn(WHY, F.when(F.col(TEXT).isNull(), why))
    return decoded.drop(_ID), fields


def _decoded(
    records: DataFrame, body: Column, is_own: Column, schema_id: int, registry: SchemaRegistry
) -> tuple[Column, list[StructField]]:
    """Return the JSON text of bodies of one schema, null where they do not decode, and the schema's fields."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro
    from pyspark.sql.types import StructType

    kind, schema = registry.schema(schema_id)
    if kind == JSON:
        return F.try_validate_utf8(body.cast("string")), []
    if kind != AVRO:
        raise NoSuchSchemaError(f"schema {schema_id} is of the kind {kind}; AVRO and JSON are read")
    try:
        # A record of one field is encoded as that field is. So what does not decode can be told from a record of nulls.
        wrapper = {"type": "record", "name": "Framed", "fields": [{"name": "value", "type": json.loads(schema)}]}
        found = from_avro(F.when(is_own, body), json.dumps(wrapper), {"mode": "PERMISSIVE"})["value"]
        data_type = records.select(found.alias("found")).schema["found"].dataType
    except (ValueError, RecursionError, PySparkException, Py4JJavaError):
        raise NoSuchSchemaError(f"schema {schema_id} is no Avro schema that Spark can read") from None
    if not isinstance(data_type, StructType):
        raise NoSuchSchemaError(f"schema {schema_id} is no record's")
    return F.to_json(found, _AS_WRITTEN), list(data_type.fields)
