import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.hadoop.hive.shims.ShimLoader;

/**
 * Hive's metastore, of the jars that come with Spark, over a Derby database in the directory that is named. Prints its
 * port once it serves; ends with its input.
 */
public class HiveMetastore {
    public static void main(String[] arguments) throws Exception {
        String directory = arguments[0];
        System.setProperty("derby.system.home", directory);
        // Of two commits at the same moment one waits for the other's end, and that one for the first's: in seconds.
        System.setProperty("derby.locks.deadlockTimeout", "1");
        System.setProperty("hive.hmshandler.retry.interval", "100ms");
        // Every configuration that the server makes for itself has these, too.
        System.setProperty("javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + directory + "/db;create=true");
        System.setProperty("datanucleus.schema.autoCreateAll", "true");
        System.setProperty("datanucleus.connectionPoolingType", "none");
        System.setProperty("hive.metastore.schema.verification", "false");
        System.setProperty("hive.metastore.warehouse.dir", directory + "/warehouse");
        HiveConf configuration = new HiveConf();
        TxnDbUtil.setConfValues(configuration);
        // The tables of locks, which are not made by themselves.
        TxnDbUtil.prepDb(configuration);
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        Thread server = new Thread(() -> {
            try {
                HiveMetaStore.startMetaStore(port, ShimLoader.getHadoopThriftAuthBridge(), configuration);
            } catch (Throwable error) {
                error.printStackTrace();
                System.exit(1);
            }
        });
        server.setDaemon(true);
        server.start();
        while (true) {
            try (Socket socket = new Socket("127.0.0.1", port)) {
                break;
            } catch (ConnectException error) {
                Thread.sleep(20);
            }
        }
        System.out.println(port);
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }
}
