// Makes messages of the OpenTelemetry protocol (OTLP), version 1, in protobuf: traces, metrics and logs. Times are in
// seconds since 1970.
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

// Names and values. Texts, numbers and booleans are sent with their type; other values are sent as JSON text.
using OtlpAttributes = std::vector<std::pair<std::string, OrderedJson>>;

// The trace and the parent of a span, as in W3C's traceparent; the ids are raw bytes.
struct TraceContext {
  std::string trace_id;   // 16 bytes
  std::string parent_id;  // 8 bytes; "": no parent
};
// Parses a traceparent "00-<32 hex>-<16 hex>-<2 hex>" from another program. If the text has another form, returns a new
// trace with a random id.
TraceContext trace_context(std::string_view traceparent);
std::string random_bytes(size_t bytes);  // for ids: never all zeros

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
  int status = 0;       // OTLP's status code: 0 unset, 1 ok, 2 error
  std::string message;  // description of the status
};

// Each of the next three functions returns one element of a request; otlp_request() makes a request from elements. A
// log line belongs to the span `span_id` of `trace`. A metric was read at `seconds`, and counts from `begin_seconds`.
std::string otlp_span(const OtlpSpan& span);
std::string otlp_log(const LogRecord& line, const TraceContext& trace, std::string_view span_id);
std::string otlp_metric(const Metrics::Reading& metric, double begin_seconds, double seconds);

// The body of a POST to /v1/traces, /v1/metrics or /v1/logs; the three bodies have the same form. `resource` are the
// attributes of the sender. All elements must be spans, all metrics, or all logs.
std::string otlp_request(const OtlpAttributes& resource, const std::vector<std::string>& elements);

}  // namespace hone
