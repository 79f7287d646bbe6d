import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * A REST catalog over one in SQLite, whose file and warehouse are named. Prints its port; ends with its input.
 */
public class RestCatalog {
    public static void main(String[] arguments) throws Exception {
        // One connection, as the catalog leaves a read open on that which has looked for its tables.
        Map<String, String> properties = Map.of(
            "type", "jdbc", "uri", "jdbc:sqlite:" + arguments[0], "warehouse", arguments[1], "clients", "1");
        Catalog catalog = CatalogUtil.buildIcebergCatalog("backend", properties, new Configuration());
        ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
        context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        server.setHandler(context);
        server.start();
        System.out.println(connector.getLocalPort());
        while (System.in.read() >= 0) {
        }
        server.stop();
    }
}
