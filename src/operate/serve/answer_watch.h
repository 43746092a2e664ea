// Measures the answer to one text.
#pragma once

#include <optional>

#include "operate/serve/engine.h"

namespace hone {

// Its functions are called in this order: ready() by the caller, the others on the model's thread.
class AnswerWatch {
 public:
  // Both must outlive it.
  AnswerWatch(ModelStatistics& statistics, const std::optional<ModelLatencies>& latencies,
              const Clock& clock);
  void ready();     // the tokens are made, and wait
  void begins();    // they no longer wait
  void token();     // one more of the first sequence
  void computed();  // with success
  void answered();  // the answer is made

 private:
  double step(ModelStatistics::Part part);

  ModelStatistics& statistics_;
  const std::optional<ModelLatencies>& latencies_;
  const Clock& clock_;
  const double asked_;
  double last_;  // end of the last part
  double first_token_ = 0;
  int64_t tokens_ = 0;
};

}  // namespace hone
