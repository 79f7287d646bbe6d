import java.util.Scanner;

/** Does what tools do to the process that runs them: each of its arguments is one deed. */
public final class OddTool {
    private static int count;

    private OddTool() {}

    public static void main(String[] deeds) throws InterruptedException {
        for (String deed : deeds) {
            try {
                perform(deed);
            } catch (RuntimeException error) {
                System.out.println("caught " + error.getMessage());
            }
        }
    }

    private static void perform(String deed) throws InterruptedException {
        switch (deed) {
            case "count" -> System.out.println(++count);
            case "echo" -> System.out.println(new Scanner(System.in, "UTF-8").nextLine());
            case "exit" -> System.exit(3);
            case "exit-elsewhere" -> {
                new Thread(() -> System.exit(4)).start();
                Thread.sleep(600_000);
            }
            case "fail" -> throw new Error("as told");
            case "hook" -> Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            case "hang" -> Thread.sleep(600_000);
            case "linger" -> new Thread(OddTool::linger).start();
            case "set" -> System.setProperty("odd", "yes");
            case "get" -> System.out.println(System.getProperty("odd"));
            default -> throw new IllegalArgumentException(deed);
        }
    }

    private static void linger() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException error) {
            return;
        }
        System.out.println("lingered");
    }
}
