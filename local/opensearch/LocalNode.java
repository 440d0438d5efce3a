import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

/**
 * One OpenSearch node in this process.
 *
 * <p>Arguments: the folder of opensearch.yml, then further settings of the form name=value.
 *
 * <p>The launcher of the distribution refuses to run as root, and containers and build machines
 * often are root. Its checks are meant for production; a Node itself has none.
 */
public final class LocalNode {
    private LocalNode() {}

    public static void main(String[] arguments) throws Exception {
        Path configuration = Path.of(arguments[0]);
        Settings.Builder settings = Settings.builder();
        for (String argument : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] pair = argument.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), configuration, () -> "local");
        LogConfigurator.setNodeName(Node.NODE_NAME_SETTING.get(environment.settings()));
        LogConfigurator.configure(environment);
        Node node = new Node(environment);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.start();
        Thread.currentThread().join();  // A node has daemon threads only: this keeps them alive.
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (Exception problem) {
            problem.printStackTrace();
        }
    }
}
