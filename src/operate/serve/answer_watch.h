// Measures the times of a server's answer to one text: to tokenize it, to wait, to compute and to convert the result.
#pragma once

#include <optional>

#include "operate/serve/engine.h"

namespace hone {

// Construct the object when the request arrives. Then call its functions in the order below: ready() on the request's
// thread, the others on the model's thread.
class AnswerWatch {
 public:
  // `statistics`, `latencies` and `clock` must outlive the object. If `latencies` is nullopt, only `statistics` get the
  // times.
  AnswerWatch(ModelStatistics& statistics, const std::optional<ModelLatencies>& latencies,
              const Clock& clock);
  void ready();     // the text is tokenized and begins to wait
  void begins();    // the model begins to work on the text
  void token();     // the model has generated one more token of the first sequence
  void computed();  // the model has computed the whole answer, without an error
  void answered();  // the answer is converted to text or labels

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
