// Writes quota_sums.json: what Rate, TokenBucket and QuotaUtils of Kafka 2.7.2 make of random events.
//     jshell --class-path "$(ls <its jars>/*.jar | tr "\n" ":")" quota_sums.jsh
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.common.metrics.stats.*;
import org.apache.kafka.common.MetricName;
import java.util.*;
import java.util.concurrent.TimeUnit;
String run(long seed, int samples, int windowS, double limit, double mean, int meanGapMs, boolean tokens, boolean negative) throws Exception {
  Metrics m = new Metrics();
  Sensor s = m.sensor("x");
  MetricConfig c = new MetricConfig().timeWindow(windowS, TimeUnit.SECONDS).samples(samples).quota(new Quota(limit, !tokens));
  MetricName n = m.metricName("q", "g");
  if (tokens) s.add(n, new TokenBucket(), c); else s.add(n, new Rate(), c);
  Random r = new Random(seed);
  long now = 1700000000000L;
  StringBuilder b = new StringBuilder();
  b.append("{\"samples\":"+samples+",\"window_ms\":"+windowS*1000+",\"limit\":"+limit+",\"tokens\":"+tokens+",\"steps\":[");
  for (int i = 0; i < 120; i++) {
    now += r.nextInt(4) == 0 ? 0 : r.nextInt(25) == 0 ? r.nextInt(windowS * 1000 * samples * 2) : r.nextInt(2 * meanGapMs);
    double v = tokens ? 1 + r.nextInt((int)(2*mean)) : Math.round(2 * mean * r.nextDouble());
    if (negative && r.nextInt(5) == 0) v = -v;
    long t = 0;
    try { s.record(v, now, true); } catch (QuotaViolationException e) {
      if (tokens) t = Math.round(-e.value() / e.bound() * 1000); else t = kafka.utils.QuotaUtils.throttleTime(e, now);
    }
    double measured = ((KafkaMetric) m.metrics().get(n)).measurable().measure(c, now);
    if (i > 0) b.append(",");
    b.append("["+(now-1700000000000L)+","+v+","+t+","+measured+"]");
  }
  b.append("]}");
  return b.toString();
}
var out = new java.io.PrintWriter("quota_sums.json");
out.println("[");
out.println(run(1, 11, 1, 1000, 8000, 400, false, false)+",");
out.println(run(2, 11, 1, 50000, 20000, 300, false, false)+",");
out.println(run(3, 2, 1, 1000, 800, 700, false, false)+",");
out.println(run(4, 3, 5, 4096, 9000, 1500, false, true)+",");
out.println(run(5, 1, 1, 100, 90, 300, false, false)+",");
out.println(run(6, 11, 1, 2.5, 4, 900, true, false)+",");
out.println(run(7, 5, 2, 0.1, 1, 4000, true, false)+",");
out.println(run(8, 11, 1, 100, 40, 500, true, false)+"");
out.println("]");
out.close();
/exit
