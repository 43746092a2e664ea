// Counts and times of a served model, defined as in Triton's statistics extension.
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

// Any thread may use it.
class ModelStatistics {
 public:
  // The times that are counted: `success` and `fail` once for each request, the others once for each text.
  enum Part {
    success,  // an answered request: the time until the last of its texts is answered
    // A request that ended with an error. A request whose client left is not counted.
    fail,
    queue,           // waiting until the model begins to work on the text
    compute_input,   // tokenizing the text
    compute_infer,   // computing with the model, perhaps together with other texts
    compute_output,  // making the answer from tokens or logits
    kParts,          // the number of parts
  };
  // One run of the model. `input`, `infer` and `output` are the seconds before, during and after the computation.
  struct Execution {
    int64_t sequences = 0;
    double input = 0, infer = 0, output = 0;
  };
  // The times of all runs with the same number of sequences.
  struct Batch {
    CountedTime input, infer, output;
  };
  struct Reading {
    std::array<CountedTime, kParts> parts;  // by Part
    // Number of sequences -> times of the runs with this number.
    std::map<int64_t, Batch> batches;
    int64_t texts = 0, executions = 0;  // answered texts; runs of the model
    // End of the last request, in seconds since 1970; 0: there was none.
    double last_ended = 0;
  };

  void add(Part part, double seconds);
  // Counts a request that ended at `wall_seconds` (since 1970) and took `seconds`. `texts`: its answered texts.
  void ended(Part success_or_fail, double seconds, int64_t texts, double wall_seconds);
  void add(const Execution& e);
  Reading read() const;

 private:
  mutable std::mutex mutex_;
  Reading now_;
};

}  // namespace hone
