#include "operate/reporters/otlp_messages.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

std::string otlp_hex(std::string_view bytes) {
  std::string s;
  for (const char c : bytes) s += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return s;
}

// Bytes of opentelemetry-proto 1.45.2 for the same messages.
TEST(OtlpMessages, BytesAreThoseOfTheClient) {
  OtlpSpan s;
  s.trace_id = "0123456789abcdef";
  s.span_id = "01234567";
  s.parent_id = "76543210";
  s.name = "train";
  s.begin_seconds = 1.5;
  s.end_seconds = 2.5;
  s.attributes = {{"step", 3}, {"loss", 2.5}};
  s.status = 2;
  s.message = "no";
  EXPECT_EQ(otlp_hex(otlp_request({{"service.name", "hone"}}, {otlp_span(s)})),
            "0a8e010a180a160a0c736572766963652e6e616d6512060a04686f6e6512720a060a04686f6e"
            "6512680a10303132333435363738396162636465661208303132333435363722083736353433"
            "3231302a05747261696e300139002f6859000000004100f90295000000004a0a0a0473746570"
            "120218034a110a046c6f737312092100000000000004407a0612026e6f1802");
  Metrics::Reading total{"steps_total", "Steps.", Metrics::Kind::counter, {}, {}};
  total.values.emplace_back(MetricLabels{{"k", "v"}}, 3);
  EXPECT_EQ(otlp_hex(otlp_metric(total, 1, 2)),
            "0a0b73746570735f746f74616c120653746570732e3a2b0a251100ca9a3b0000000019009435"
            "77000000002100000000000008403a080a016b12030a017610021801");
  const Metrics::Reading times{
      "t_seconds", "T.", Metrics::Kind::histogram, {}, {{{}, {{1.0}, {1, 1}, 5.5, 2}}}};
  EXPECT_EQ(otlp_hex(otlp_metric(times, 1, 2)),
            "0a09745f7365636f6e64731202542e1a01734a440a401100ca9a3b0000000019009435770000"
            "0000210200000000000000290000000000001640321001000000000000000100000000000000"
            "3a08000000000000f03f1002");
  const LogRecord line{LogLevel::kWarning, 1.5, 4, "hm", "\"rate\":0.5"};
  EXPECT_EQ(otlp_hex(otlp_log(line, {"0123456789abcdef", ""}, "01234567")),
            "09002f685900000000100d1a075741524e494e472a040a02686d320a0a047374657012021804"
            "32110a0472617465120921000000000000e03f4a103031323334353637383961626364656652"
            "08303132333435363759002f685900000000");
}

TEST(OtlpMessages, ATraceContinuesThatOfTheCaller) {
  const TraceContext given =
      trace_context("00-30313233343536373839616263646566-3031323334353637-01");
  EXPECT_EQ(given.trace_id, "0123456789abcdef");
  EXPECT_EQ(given.parent_id, "01234567");
  for (const char* wrong : {"", "00-30", "00-00000000000000000000000000000000-3031323334353637-01",
                            "00-3031323334353637383961626364656x-3031323334353637-01"}) {
    const TraceContext made = trace_context(wrong);
    EXPECT_EQ(made.trace_id.size(), 16u) << wrong;
    EXPECT_EQ(made.parent_id, "") << wrong;
  }
}

}  // namespace
}  // namespace hone
