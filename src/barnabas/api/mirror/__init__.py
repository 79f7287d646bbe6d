"""Copies topics of one or several clusters into another one: at least once, by threads of this process.

    source (a consumer per stream) ─► stream (a thread) ─► target (a producer per stream)
                 ▲                                              │
                 └─────────── offsets of what was ◄─────────────┘ acknowledged

`barnabas mirror` is its command. For large sites there is the mirror on Spark: `barnabas.pipeline.mirror`.

Source: operations documentation, mirroring data between clusters; kafka-mirror-maker's options.
"""
