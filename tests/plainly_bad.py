"""Records that are no row of a table with columns name, count, share, is_new, at and size, and why."""

NO_JSON = "the value is not one JSON value, or a field stands in it twice"
PLAINLY_BAD = {
    None: "the record has no value",
    b"": NO_JSON,
    b'{"name":"a"} x': NO_JSON,
    b'{"name":"a"': NO_JSON,
    b"NULL": NO_JSON,
    b'{"name":"\xff"}': "the value is not UTF-8",
    b'{"name":1}': "field name is string in the table, and a whole number here: 1",
    b'{"name":true}': "field name is string in the table, and a boolean here: true",
    b'{"count":"many"}': "field count is int in the table, and a string here: many",
    b'{"size":"' + 200 * "é".encode() + b'"}': "field size is bigint in the table, and a string here: " + 100 * "é",
    b'{"share":false,"name":"b"}': "field share is double in the table, and a boolean here: false",
    b'{"is_new":1}': "field is_new is boolean in the table, and a whole number here: 1",
    b'{"at":5,"size":""}': "field at is timestamp in the table, and a whole number here: 5",
    b'{"at":"n/a"}': "field at is timestamp in the table, which cannot be parsed from: n/a",
    b'{"at":"n/a","size":""}': "field size is bigint in the table, and a string here: ",
}
