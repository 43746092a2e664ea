// Counts and times of a served model, as Triton counts them.
//   https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_statistics.md
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

namespace hone {

struct CountedTime {
  int64_t count = 0;
  double seconds = 0;
  void add(double more) {
    ++count;
    seconds += more;
  }
};

// Any thread uses it.
class ModelStatistics {
 public:
  enum Part {
    success,         // a request with an answer, from its texts to the last of their answers
    fail,            // a request without one; those of clients that left are not counted
    queue,           // a text that waited for its place
    compute_input,   // the tokens of a text were made
    compute_infer,   // the model computed it, with others
    compute_output,  // its answer was made of tokens or logits
    kParts,
  };
  // A run of the model: the parts of its time, for the number of sequences in it.
  struct Execution {
    int64_t sequences = 0;
    double input = 0, infer = 0, output = 0;
  };
  struct Batch {
    CountedTime input, infer, output;
  };
  struct Reading {
    std::array<CountedTime, kParts> parts;
    std::map<int64_t, Batch> batches;   // by sequences
    int64_t texts = 0, executions = 0;  // texts that were answered
    double last_ended = 0;              // of a request: seconds since 1970; 0: there was none
  };

  void add(Part part, double seconds);
  // A request, with `texts` answered texts.
  void ended(Part success_or_fail, double seconds, int64_t texts, double wall_seconds);
  void add(const Execution& e);
  Reading read() const;

 private:
  mutable std::mutex mutex_;
  Reading now_;
};

}  // namespace hone
