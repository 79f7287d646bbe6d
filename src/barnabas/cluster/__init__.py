"""What this broker knows of the cluster: who is alive, who leads what, how topics are configured."""
