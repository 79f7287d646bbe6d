"""What Kafka keeps in the tree, one module for each part of it: encode and decode, pure."""
