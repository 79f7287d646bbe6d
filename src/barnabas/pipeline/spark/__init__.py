"""Setup of Spark, local or remote: Java, the session, jars."""
