#include "operate/telemetry/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

TEST(Metrics, PrometheusTextHasHelpTypeAndEscapes) {
  Metrics m;
  m.gauge("hone_x", "What\nx is.", {{"name", "a\"b\\c\nd"}}).set(0.5);
  m.gauge("hone_x", "", {{"name", "e"}}).set(NAN);
  LiveMetric& n = m.counter("hone_n_total", "Number.");
  n.add(2);
  n.add(3);
  MetricHistogram& h = m.histogram("hone_s_seconds", "Time.", {0.1, 1});
  for (const double s : {0.05, 0.1, 0.5, 7.0}) h.observe(s);
  m.histogram("hone_s_seconds", "", {1}, {{"route", "a"}}).observe(2);
  EXPECT_EQ(&m.histogram("hone_s_seconds", "", {}), &h);
  EXPECT_EQ(prometheus_text(m),
            "# HELP hone_x What\\nx is.\n# TYPE hone_x gauge\n"
            "hone_x{name=\"a\\\"b\\\\c\\nd\"} 0.5\nhone_x{name=\"e\"} NaN\n"
            "# HELP hone_n_total Number.\n# TYPE hone_n_total counter\nhone_n_total 5.0\n"
            "# HELP hone_s_seconds Time.\n# TYPE hone_s_seconds histogram\n"
            "hone_s_seconds_bucket{le=\"0.1\"} 2\nhone_s_seconds_bucket{le=\"1.0\"} 3\n"
            "hone_s_seconds_bucket{le=\"+Inf\"} 4\nhone_s_seconds_sum 7.65\n"
            "hone_s_seconds_count 4\n"
            "hone_s_seconds_bucket{route=\"a\",le=\"1.0\"} 0\n"
            "hone_s_seconds_bucket{route=\"a\",le=\"+Inf\"} 1\n"
            "hone_s_seconds_sum{route=\"a\"} 2.0\nhone_s_seconds_count{route=\"a\"} 1\n");
}

}  // namespace
}  // namespace hone
