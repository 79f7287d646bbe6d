"""The generated messages: one module per API and one per data schema, loaded on first use."""
