import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * One name node and one data node in the directory that is named. Prints the name node's port, then does what is asked
 * for line by line and answers each with "done"; ends with its input.
 */
public class MiniCluster {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new HdfsConfiguration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        configuration.set("dfs.replication", "1");
        configuration.set("dfs.permissions.enabled", "false");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
        try {
            cluster.waitActive();
            // After so long a writer that was killed holds its file no longer; a minute by default.
            cluster.setLeasePeriod(5_000, 60_000);
            System.out.println(cluster.getNameNodePort());
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                switch (line) {
                    case "restart data node":
                        cluster.restartDataNode(0, true);
                        cluster.waitActive();
                        break;
                    case "restart name node":
                        cluster.restartNameNode(true);
                        cluster.setLeasePeriod(5_000, 60_000);
                        break;
                    default:
                        throw new IllegalArgumentException(line);
                }
                System.out.println("done");
            }
        } finally {
            cluster.shutdown();
        }
    }
}
