// Messages of the OpenTelemetry protocol, version 1: traces, metrics and logs.
//   https://github.com/open-telemetry/opentelemetry-proto/tree/main/opentelemetry/proto
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/json.h"
#include "base/core/log.h"
#include "operate/telemetry/metrics.h"

namespace hone {

// Names and values: texts, numbers and booleans; other values are sent as their JSON.
using OtlpAttributes = std::vector<std::pair<std::string, OrderedJson>>;

// The trace and the parent of a span, as in W3C's traceparent: ids as bytes.
struct TraceContext {
  std::string trace_id;   // 16 bytes
  std::string parent_id;  // 8 bytes; "": no parent
};
// Parses "00-<32 hex>-<16 hex>-<2 hex>" of another program; a new trace if the text has another
// form.
TraceContext trace_context(std::string_view traceparent);
std::string random_bytes(size_t bytes);

struct OtlpEvent {
  double seconds = 0;
  std::string name;
  OtlpAttributes attributes;
};
struct OtlpSpan {
  std::string trace_id, span_id, parent_id, name;
  double begin_seconds = 0, end_seconds = 0;
  OtlpAttributes attributes;
  std::vector<OtlpEvent> events;
  int status = 0;  // 0 unset, 1 good, 2 an error
  std::string message;
};

// Each returns one element of a request; otlp_request() makes a request of them.
std::string otlp_span(const OtlpSpan& span);
std::string otlp_log(const LogRecord& line, const TraceContext& trace, std::string_view span_id);
std::string otlp_metric(const Metrics::Reading& metric, double begin_seconds, double seconds);

// Body of a POST to /v1/traces, /v1/metrics or /v1/logs; the three have the same form.
std::string otlp_request(const OtlpAttributes& resource, const std::vector<std::string>& elements);

}  // namespace hone
