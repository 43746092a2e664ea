// The engine of a served model: a thread that works on jobs of other threads.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "operate/serve/model_statistics.h"
#include "operate/telemetry/metrics.h"

namespace hone {

using Deadline = double;  // seconds of the engine's clock
inline constexpr Deadline kNoDeadline = std::numeric_limits<double>::infinity();

struct EngineOptions {
  int64_t most_waiting = 256;             // requests that wait for a place; more are refused
  Clock* clock = &system_clock();         // of deadlines and latencies
  ModelStatistics* statistics = nullptr;  // gets each execution; outlives the engine
};

struct EngineLoad {
  int64_t waiting = 0, running = 0;
  int64_t rows = 0, used_rows = 0;    // sequences that are decoded together
  int64_t pages = 0, used_pages = 0;  // of the KV cache
  double seconds = 0;                 // of computing
  int64_t prompt_tokens = 0, new_tokens = 0, requests = 0;
};

// The base class of engines. Each subclass adds a submit(), which returns the tickets for cancel().
class Engine {
 public:
  virtual ~Engine() = default;
  // Cancels a job; its callbacks are not called. Does nothing if the job is done.
  virtual void cancel(uint64_t ticket) = 0;
  // Ends every waiting and running job with H3412. Later jobs are refused with it.
  virtual void stop() = 0;
  virtual EngineLoad load() const = 0;
  // Stops, and waits until the engine's thread has ended: no callback of a job runs afterwards. May
  // be called repeatedly, from any thread except the engine's.
  void join();

 protected:
  // Starts run() on the thread, once. The destructor of a subclass calls join() before its members
  // are destroyed.
  void start();

 private:
  virtual void run() = 0;  // until stop()
  std::thread thread_;
  std::once_flag joined_;
};

// Times of one model, in `metrics` with its name and version as labels.
struct ModelLatencies {
  ModelLatencies(Metrics& metrics, const MetricLabels& model);
  MetricHistogram& answer;       // from the request to the whole answer
  MetricHistogram& first_token;  // from the request to the first new token; not for beams
  MetricHistogram& per_token;    // between two new tokens, the mean of an answer
};
std::vector<double> latency_bounds();  // seconds

// Errors of requests without an answer: H3411, H3412 twice, H3417, H3414, H3419.
Error time_is_up();
Error engine_ends();
Error server_ends();
Error still_loading();
Error too_many_wait(int64_t waiting);
Error no_memory();

}  // namespace hone
