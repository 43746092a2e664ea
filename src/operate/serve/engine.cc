#include "operate/serve/engine.h"

#include "operate/serve/errors.h"

namespace hone {

void Engine::start() {
  thread_ = std::thread([this] { run(); });
}

void Engine::join() {
  stop();
  std::call_once(joined_, [this] {
    if (thread_.joinable()) thread_.join();
  });
}

std::vector<double> latency_bounds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

ModelLatencies::ModelLatencies(Metrics& metrics, const MetricLabels& model)
    : answer(metrics.histogram("hone_serve_answer_seconds",
                               "Time from a question to a model to its whole answer.",
                               latency_bounds(), model)),
      first_token(metrics.histogram("hone_serve_time_to_first_token_seconds",
                                    "Time from a question to the first new token.",
                                    latency_bounds(), model)),
      per_token(metrics.histogram("hone_serve_time_per_token_seconds",
                                  "Mean time between two new tokens of an answer.",
                                  latency_bounds(), model)) {}

Error time_is_up() {
  return Error(err::kServeLate, "the time for this request is over")
      .todo("ask for fewer new tokens, or start the server with a longer --request_timeout");
}
Error engine_ends() {
  return Error(err::kServeEnds, "the model is being unloaded").todo("send the request again");
}
Error server_ends() {
  return Error(err::kServeEnds, "the server ends and loads no more models")
      .todo("send the request again when it has started again");
}
Error no_memory() {
  return Error(err::kServeNoMemory, "there is no memory for this request")
      .todo("send the request again, or a smaller one");
}
Error still_loading() {
  return Error(err::kServeLoading, "models are being loaded")
      .todo("send the request again; GET /readyz has status 200 when all are loaded");
}
Error too_many_wait(int64_t waiting) {
  return Error(err::kServeBusy, fmt::format("{} requests wait already", waiting))
      .todo("send the request again later, or start the server with a larger --max_queue");
}

}  // namespace hone
