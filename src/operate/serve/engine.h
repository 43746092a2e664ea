// The base of the engines of served models. An engine is a thread that computes the jobs that other threads submit.
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

using Deadline = double;  // a time of the engine's clock, in seconds
inline constexpr Deadline kNoDeadline = std::numeric_limits<double>::infinity();

struct EngineOptions {
  // Limit for waiting jobs. If this number of jobs waits, a new request is refused with H3414.
  int64_t most_waiting = 256;
  Clock* clock = &system_clock();  // the clock of deadlines and latencies
  // Counts each run of the model. Must outlive the engine. Null: runs are not counted.
  ModelStatistics* statistics = nullptr;
};

struct EngineLoad {
  int64_t waiting = 0, running = 0;  // jobs that wait; jobs that the engine computes
  // rows: the number of sequences that one run of the model can hold. used_rows: the number in use.
  int64_t rows = 0, used_rows = 0;
  // pages: the number of pages of the KV cache; 0: the model has no cache. used_pages: the number in use.
  int64_t pages = 0, used_pages = 0;
  double seconds = 0;  // seconds of computing since the start
  // Totals since the start: tokens of prompts, generated tokens, and computed jobs.
  int64_t prompt_tokens = 0, new_tokens = 0, requests = 0;
};

// The base class of engines. Each subclass adds a submit(), which returns a ticket for cancel().
class Engine {
 public:
  virtual ~Engine() = default;
  // Cancels a job. If the job waits, no callback of the job is called after this. If the job is being computed, a
  // TextEngine drops it before the next step and does not call `done`; a BatchEngine finishes it and calls `done`. Does
  // nothing if the job is done.
  virtual void cancel(uint64_t ticket) = 0;
  // Makes every waiting and running job end with H3412, and returns at once. Later jobs are refused with H3412. (A
  // BatchEngine finishes the jobs that it is computing.)
  virtual void stop() = 0;
  virtual EngineLoad load() const = 0;
  // Calls stop(), and waits until the engine's thread has ended: no callback of a job runs afterwards. May
  // be called repeatedly, from any thread except the engine's.
  void join();

 protected:
  // Starts the thread, which calls run(). Call start() once. The destructor of a subclass must call join(), because
  // run() uses the members of the subclass.
  void start();

 private:
  virtual void run() = 0;  // works on jobs until stop()
  std::thread thread_;
  std::once_flag joined_;
};

// Histograms of the latencies of one model, in seconds. They are created in `metrics`, which must outlive them. Their
// labels are `model`: the name and version of the model.
struct ModelLatencies {
  ModelLatencies(Metrics& metrics, const MetricLabels& model);
  MetricHistogram& answer;       // from the request to the whole answer
  MetricHistogram& first_token;  // from the request to the first new token; not for beam search
  MetricHistogram& per_token;    // mean time between two new tokens, one value for each answer
};
std::vector<double> latency_bounds();  // upper bounds of the histograms' ranges, in seconds

// Errors of requests that get no answer.
Error time_is_up();                    // H3411: the request took longer than its time limit
Error engine_ends();                   // H3412: the model is being unloaded
Error server_ends();                   // H3412: the server ends and loads no more models
Error still_loading();                 // H3417: the first models are still being loaded
Error too_many_wait(int64_t waiting);  // H3414: this number of requests waits already
Error no_memory();                     // H3419: memory for the request could not be allocated

}  // namespace hone
