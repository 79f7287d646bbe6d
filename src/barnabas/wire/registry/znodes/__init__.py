"""Contents of Kafka's nodes, one module for each part of the tree: encode and decode, pure."""
