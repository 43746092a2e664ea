// Types that the engines of served models share.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/core/error.h"
#include "operate/metrics/metrics.h"

namespace hone {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

struct EngineOptions {
  int64_t most_waiting = 256;  // requests that may wait; further ones are refused
};

struct EngineLoad {
  int64_t waiting = 0, running = 0;
  int64_t rows = 0, used_rows = 0;    // sequences that are decoded together
  int64_t pages = 0, used_pages = 0;  // of the KV cache
  double seconds = 0;                 // of computing
  int64_t prompt_tokens = 0, new_tokens = 0, requests = 0;
};

// Latencies of one model, in `metrics` with its name and version as labels.
struct ModelLatencies {
  ModelLatencies(Metrics& metrics, const MetricLabels& model);
  MetricHistogram& answer;       // from the request to the whole answer
  MetricHistogram& first_token;  // from the request to the first new token; not for beams
  MetricHistogram& per_token;    // between two new tokens, the mean of an answer
};
std::vector<double> latency_bounds();  // seconds

// Errors of requests without an answer: H3411, H3412 twice, H3414.
Error time_is_up();
Error engine_ends();
Error server_ends();
Error too_many_wait(int64_t waiting);

}  // namespace hone
