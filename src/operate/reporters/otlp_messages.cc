#include "operate/reporters/otlp_messages.h"

#include <array>
#include <charconv>
#include <random>

#include "base/core/protobuf.h"

namespace hone {
namespace {

namespace wire = protobuf;
constexpr int kCumulative = 2;  // AggregationTemporality

std::string fixed(int field, uint64_t x) { return wire::key(field, 1) + wire::little_endian(x); }
std::string nanoseconds(int field, double seconds) {
  return fixed(field, static_cast<uint64_t>(seconds * 1e6) * 1000);
}

// AnyValue: 1 string, 2 bool, 3 int, 4 double
std::string any_value(const OrderedJson& v) {
  if (v.is_string()) return wire::bytes(1, v.get_ref<const std::string&>());
  if (v.is_boolean()) return wire::number(2, v.get<bool>() ? 1 : 0);
  if (v.is_number_integer()) return wire::number(3, v.get<int64_t>());
  if (v.is_number()) return wire::real(4, v.get<double>());
  return wire::bytes(1, dump_json(v));
}

// KeyValue: 1 key, 2 value
std::string attribute(int field, std::string_view name, const OrderedJson& value) {
  return wire::bytes(field, wire::bytes(1, name) + wire::bytes(2, any_value(value)));
}
std::string attributes(int field, const OtlpAttributes& all) {
  std::string s;
  for (const auto& [name, value] : all) s += attribute(field, name, value);
  return s;
}

// The UCUM unit in a metric's name.
std::string_view unit_of(std::string_view name) {
  if (name.ends_with("_total")) name.remove_suffix(6);
  for (const auto& [end, unit] : {std::pair<std::string_view, std::string_view>{"_seconds", "s"},
                                  {"_bytes", "By"},
                                  {"_ratio", "1"},
                                  {"_watts", "W"},
                                  {"_joules", "J"},
                                  {"_celsius", "Cel"}})
    if (name.ends_with(end)) return unit;
  return "";
}

std::string number_point(const MetricLabels& labels, double value, double begin, double now) {
  std::string p = nanoseconds(2, begin) + nanoseconds(3, now) + wire::real(4, value);
  for (const auto& [name, label] : labels) p += attribute(7, name, label);
  return p;
}

std::string histogram_point(const MetricLabels& labels, const MetricHistogram::Reading& h,
                            double begin, double now) {
  std::string counts, bounds, marks;
  for (const auto& [name, label] : labels) marks += attribute(9, name, label);
  for (const uint64_t n : h.counts) counts += wire::little_endian(n);
  for (const double b : h.bounds) bounds += wire::little_endian(b);
  return nanoseconds(2, begin) + nanoseconds(3, now) + fixed(4, h.count) + wire::real(5, h.sum) +
         wire::bytes(6, counts) + wire::bytes(7, bounds) + marks;
}

// The bytes that pairs of hexadecimal digits say; "" when they are others or all are zero.
std::string from_hex(std::string_view digits) {
  std::string out;
  bool any = false;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    const char* end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, value, 16).ptr != end) return "";
    any = any || value != 0;
    out += static_cast<char>(value);
  }
  return any ? out : "";
}

}  // namespace

std::string random_bytes(size_t bytes) {
  std::random_device device;
  std::string s(bytes, '\0');
  for (char& c : s) c = static_cast<char>(device() & 0xff);
  if (s.find_first_not_of('\0') == std::string::npos) s.back() = 1;  // an id of zeros is none
  return s;
}

TraceContext trace_context(std::string_view t) {
  if (t.size() >= 55 && t[2] == '-' && t[35] == '-' && t[52] == '-' && t.substr(0, 2) != "ff") {
    TraceContext given{from_hex(t.substr(3, 32)), from_hex(t.substr(36, 16))};
    if (!given.trace_id.empty() && !given.parent_id.empty()) return given;
  }
  return {random_bytes(16), ""};
}

std::string otlp_span(const OtlpSpan& s) {
  constexpr int kInternal = 1;  // SpanKind
  std::string m = wire::bytes(1, s.trace_id) + wire::bytes(2, s.span_id);
  if (!s.parent_id.empty()) m += wire::bytes(4, s.parent_id);
  m += wire::bytes(5, s.name) + wire::number(6, kInternal) + nanoseconds(7, s.begin_seconds) +
       nanoseconds(8, s.end_seconds) + attributes(9, s.attributes);
  for (const OtlpEvent& e : s.events)
    m += wire::bytes(
        11, nanoseconds(1, e.seconds) + wire::bytes(2, e.name) + attributes(3, e.attributes));
  std::string status;
  if (!s.message.empty()) status += wire::bytes(2, s.message);
  if (s.status != 0) status += wire::number(3, s.status);
  return m + wire::bytes(15, status);
}

std::string otlp_log(const LogRecord& line, const TraceContext& trace, std::string_view span_id) {
  // SeverityNumber: DEBUG 5, INFO 9, WARN 13, ERROR 17
  constexpr std::array<int, 4> kSeverity = {17, 13, 9, 5};
  std::string m = nanoseconds(1, line.wall_seconds) +
                  wire::number(2, kSeverity[static_cast<size_t>(line.level)]) +
                  wire::bytes(3, severity_of(line.level)) +
                  wire::bytes(5, any_value(std::string(line.message)));
  if (line.step >= 0) m += attribute(6, "step", line.step);
  if (!line.data.empty()) {
    const auto data = parse_ordered_json("{" + std::string(line.data) + "}", "a line of the log");
    if (data.ok())
      for (const auto& [name, value] : data->items()) m += attribute(6, name, value);
  }
  return m + wire::bytes(9, trace.trace_id) + wire::bytes(10, span_id) +
         nanoseconds(11, line.wall_seconds);
}

std::string otlp_metric(const Metrics::Reading& metric, double begin, double now) {
  std::string m = wire::bytes(1, metric.name) + wire::bytes(2, metric.help);
  if (const std::string_view unit = unit_of(metric.name); !unit.empty()) m += wire::bytes(3, unit);
  std::string points;
  if (metric.kind == Metrics::Kind::histogram) {
    for (const auto& [labels, h] : metric.histograms)
      points += wire::bytes(1, histogram_point(labels, h, begin, now));
    return m + wire::bytes(9, points + wire::number(2, kCumulative));
  }
  for (const auto& [labels, value] : metric.values)
    points += wire::bytes(1, number_point(labels, value, begin, now));
  if (metric.kind == Metrics::Kind::gauge) return m + wire::bytes(5, points);
  return m + wire::bytes(7, points + wire::number(2, kCumulative) + wire::number(3, 1));
}

std::string otlp_request(const OtlpAttributes& resource, const std::vector<std::string>& elements) {
  // ResourceSpans, ...Metrics, ...Logs: 1 resource, 2 scope_...; ScopeSpans, ...: 1 scope, 2
  // elements
  std::string scoped = wire::bytes(1, wire::bytes(1, "hone"));
  for (const std::string& e : elements) scoped += wire::bytes(2, e);
  return wire::bytes(1, wire::bytes(1, attributes(1, resource)) + wire::bytes(2, scoped));
}

}  // namespace hone
